#include "touchstone/sim/mechanism.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/model/validate.hpp"
#include "touchstone/sim/closure.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/mechanism_rows.hpp"
#include "touchstone/sim/reference_weights.hpp"

namespace touchstone {
namespace {

constexpr double kHeld = 1e12;   // what a held dof weighs, of its own inertia
constexpr int kMostRows = 1200;  // that mobility decomposes

// --- move_to ---
constexpr double kFirstStep = 0.05, kLargestStep = 0.2;  // m or rad of an actuated joint
constexpr double kSmallestStep = 1e-7;                   // of the way: below it the target is out of reach
constexpr double kFarthest = 0.5;   // m or rad: largest motion of a dof in a step, beyond it another branch is near
constexpr double kPredicted = 0.2;  // of that: how far from where it was expected
constexpr int kMostSteps = 20000;
constexpr int kStepIterations = 20;

// --- mobility ---
constexpr int kSamples = 3;
constexpr double kSampleMotion = 0.1;  // m

void require_joint(const Model& model, int joint) {
  if (joint < 0 || joint >= model.njoint) throw Error("joint {} does not exist; the model has {}", joint, model.njoint);
}

void require_scalar(const Model& model, int joint) {
  require_joint(model, joint);
  const Joint& element = model.joints[at(joint)];
  if (dof_count(element.type) == 1) return;
  throw InputError({.where = {model.file, element.origin.line, fmt::format("joint '{}'", element.name)},
                    .message = fmt::format("a {} joint has no single coordinate to move", to_string(element.type)),
                    .remedy = "choose hinges, slides or screws, and hold others where they are (held)"});
}

void require_coordinate(const Model& model, const Drive& drive) {
  const auto count = static_cast<int>(model.loop_joints.size());
  if (drive.loop_joint < 0 || drive.loop_joint >= count)
    throw Error("loop joint {} does not exist; the model has {}", drive.loop_joint, count);
  const LoopJoint& joint = model.loop_joints[at(drive.loop_joint)];
  const auto coordinates = static_cast<int>(joint.coordinates.size());
  if (joint.type != LoopJointType::kSpherical && drive.coordinate >= 0 && drive.coordinate < coordinates) return;
  throw InputError(
      {.where = origin_of(model, ElementKind::kLoopJoint, drive.loop_joint),
       .message = joint.type == LoopJointType::kSpherical
                      ? "a spherical joint has no single coordinate to move"
                      : fmt::format("coordinate {} does not exist; it has {}", drive.coordinate, coordinates),
       .remedy = "choose a coordinate of another loop joint, or a joint of a tree"});
}

// What keeps a coordinate of a loop joint where the constant says.
Equality drive_of(const Drive& drive) {
  Equality e;
  e.type = EqualityType::kJoint;
  e.a = drive.loop_joint;
  e.coordinate_a = drive.coordinate;
  e.b = -1;
  e.polynomial = {};
  return e;
}

std::vector<Drive> drives_of(const std::vector<int>& joints) {
  std::vector<Drive> drives;
  drives.reserve(joints.size());
  for (const int joint : joints) drives.push_back({.joint = joint});
  return drives;
}

}  // namespace

void ClosureOptions::validate(const Model& model) const {
  if (!(tolerance >= 1e-9)) throw Error("closure: tolerance is {} m; give at least 1e-9", tolerance);
  if (max_iterations < 0) throw Error("closure: max_iterations is {}; give zero or more", max_iterations);
  for (const int joint : held) {
    if (joint < 0 || joint >= model.njoint)
      throw Error("closure: held joint {} does not exist; the model has {}", joint, model.njoint);
  }
}

bool has_loops(const Model& model) { return !model.equalities.empty() || !model.loop_joints.empty(); }

Mechanism::Mechanism(const ModelPtr& model)
    : Mechanism(model, model != nullptr ? model->defaults : throw Error("Mechanism: there is no model")) {}

Mechanism::Mechanism(ModelPtr model, const Parameters& parameters)
    : model_(std::move(model)), parameters_(std::make_unique<const Parameters>(parameters)) {
  if (model_ == nullptr) throw Error("Mechanism: there is no model");
  weights_ = std::make_unique<ReferenceWeights>(*model_);
  closure_ = std::make_unique<LoopClosure>(*model_);
}

Mechanism::Mechanism(Mechanism&&) noexcept = default;
Mechanism& Mechanism::operator=(Mechanism&&) noexcept = default;
Mechanism::~Mechanism() = default;

std::vector<int> Mechanism::held_dofs(const ClosureOptions& options) const {
  std::vector<int> dofs;
  for (const int joint : options.held) {
    const int first = model_->joint_dof[at(joint)];
    for (int k = 0; k < dof_count(model_->joints[at(joint)].type); ++k) dofs.push_back(first + k);
  }
  return dofs;
}

// The factor of the metric at a configuration, in the closure's data.
void Mechanism::set_metric(const State& state, const ClosureOptions& options) {
  const Model& model = *model_;
  Data& data = closure_->data();
  const std::vector<int> held = held_dofs(options);
  if (options.metric == ClosureMetric::kMass) {
    forward_kinematics(model, *parameters_, state, data);
    crba(model, *parameters_, data);
    VectorX shift = VectorX::Zero(model.nv);
    for (const int dof : held) shift[dof] = kHeld * data.M[model.row_start[at(dof)] + model.row_length[at(dof)] - 1];
    if (factorize(model, shift, data)) return;
  }
  data.L.setZero();
  data.D_inverse = weights_->dof_length.array().square().inverse();
  for (const int dof : held) data.D_inverse[dof] = 0.0;
}

ClosureReport Mechanism::run(State& state, const ClosureOptions& options) {
  set_metric(state, options);
  std::vector<double> kept;
  for (const int joint : options.held) {
    const int q = model_->joint_q[at(joint)];
    for (int k = 0; k < configuration_size(model_->joints[at(joint)].type); ++k) kept.push_back(state.q[q + k]);
  }
  const ClosureResult result = closure_->run(
      *parameters_, *weights_,
      {.tolerance = options.tolerance, .max_iterations = options.max_iterations, .limits = options.limits}, state);
  remember_loop_joints(*model_, closure_->data(), state);
  std::size_t next = 0;  // rounding has moved them, by nothing that counts
  for (const int joint : options.held) {
    const int q = model_->joint_q[at(joint)];
    for (int k = 0; k < configuration_size(model_->joints[at(joint)].type); ++k) state.q[q + k] = kept[next++];
  }
  ClosureReport report{.closed = result.closed, .iterations = result.iterations, .error = result.error};
  const Constraints& rows = closure_->rows();
  for (int block = 0; block < rows.count(); ++block) {
    const double error = closure_->error_of(block);
    if (error > options.tolerance) report.open.push_back({name_of(block), error});
  }
  std::stable_sort(report.open.begin(), report.open.end(),
                   [](const OpenConstraint& a, const OpenConstraint& b) { return a.error > b.error; });
  return report;
}

std::string Mechanism::name_of(int block) const {
  const Constraint& one = closure_->rows().list[at(block)];
  if (one.index >= 0) return describe(*model_, closure_->rows(), {}, block);
  const Equality& e = closure_->driven()[at(-1 - one.index)];
  return fmt::format("the value of loop joint '{}'", model_->loop_joints[at(e.a)].name);
}

ClosureReport Mechanism::close(State& state, const ClosureOptions& options) {
  options.validate(*model_);
  state.validate(*model_);
  return run(state, options);
}

// After run(), which has left the coordinates of loop joints in the state.
double Mechanism::value_of(const State& state, const Drive& drive) const {
  if (drive.joint >= 0) return state.q[model_->joint_q[at(drive.joint)]];
  return state.loop_q[model_->loop_coordinate[at(drive.loop_joint)] + drive.coordinate];
}

// The `number`-th of those that are loop joints.
void Mechanism::drive_to(const Drive& drive, std::size_t number, double value, State& state) {
  if (drive.joint >= 0) {
    state.q[model_->joint_q[at(drive.joint)]] = value;
  } else {
    const LoopJoint& joint = model_->loop_joints[at(drive.loop_joint)];
    closure_->driven()[number].polynomial[0] = value - joint.coordinates[at(drive.coordinate)].reference;
  }
}

// Continuation: the actuated joints go straight to their values in steps, the others are expected to go on as in the
// step before (secant), then loops are closed with the actuated ones held. A step is halved where loops do not close,
// where a dof moves far, or ends up far from where it was expected: it may be on another branch then. So a mechanism
// passes through a configuration where branches meet (a flat parallelogram) on the one that it came on.
ClosureReport Mechanism::move_to(State& state, std::span<const Drive> drives, const std::vector<double>& values,
                                 const ClosureOptions& options) {
  const Model& model = *model_;
  options.validate(model);
  state.validate(model);
  if (drives.size() != values.size()) throw Error("move_to: {} joints, but {} values", drives.size(), values.size());
  ClosureOptions held = options;
  for (std::size_t i = 0; i < drives.size(); ++i) {
    if (!std::isfinite(values[i])) throw Error("move_to: value {} is {}", i, values[i]);
    if (drives[i].joint < 0) {
      require_coordinate(model, drives[i]);
      continue;
    }
    require_scalar(model, drives[i].joint);
    held.held.push_back(drives[i].joint);
  }
  closure_->driven().clear();
  ClosureReport report = run(state, held);  // the start must be on a branch
  ClosureOptions step_options = held;
  step_options.max_iterations = std::min(held.max_iterations, kStepIterations);
  std::vector<double> start;
  double farthest = 0.0;
  for (std::size_t i = 0; i < drives.size(); ++i) {
    start.push_back(value_of(state, drives[i]));
    farthest = std::max(farthest, std::abs(values[i] - start[i]));
    if (drives[i].joint < 0) closure_->driven().push_back(drive_of(drives[i]));
  }
  double done = 0.0, length = farthest > kFirstStep ? kFirstStep / farthest : 1.0;
  const double most = farthest > kLargestStep ? kLargestStep / farthest : 1.0;
  VectorX rate = VectorX::Zero(model.nv), motion(model.nv), off(model.nv);
  State next = state, expected = state;
  int iterations = report.iterations;
  for (int k = 0; report.closed && done < 1.0 && k < kMostSteps && length >= kSmallestStep; ++k) {
    const double to = std::min(1.0, done + length);
    integrate(model, state.q, rate, to - done, expected.q);
    for (std::size_t i = 0, loops = 0; i < drives.size(); ++i) {
      drive_to(drives[i], loops, start[i] + to * (values[i] - start[i]), expected);
      if (drives[i].joint < 0) ++loops;
    }
    next = expected;
    const ClosureReport step = run(next, step_options);
    iterations += step.iterations;
    difference(model, state.q, next.q, motion);
    difference(model, expected.q, next.q, off);
    // Without an expectation everything is unexpected.
    const double surprise = done > 0.0 ? kPredicted * kFarthest : kFarthest;
    if (!step.closed || motion.lpNorm<Eigen::Infinity>() > kFarthest || off.lpNorm<Eigen::Infinity>() > surprise) {
      report.open = step.open;
      report.error = step.error;
      length *= 0.5;
      continue;
    }
    rate = motion / (to - done);
    done = to;
    state.q = next.q;
    state.loop_q = expected.loop_q = next.loop_q;
    length = std::min(most, 1.5 * length);
    if (done == 1.0) report = step;
  }
  closure_->driven().clear();
  report.closed = report.closed && done == 1.0;
  report.reached = done;
  report.iterations = iterations;
  return report;
}

ClosureReport Mechanism::move_to(State& state, const std::vector<int>& joints, const std::vector<double>& values,
                                 const ClosureOptions& options) {
  for (const int joint : joints) require_joint(*model_, joint);
  return move_to(state, drives_of(joints), values, options);
}

MatrixX Mechanism::project_velocities(const State& state, const MatrixX& velocities, const ClosureOptions& options) {
  options.validate(*model_);
  state.validate(*model_);
  if (velocities.rows() != model_->nv)
    throw Error("project_velocities: {} rows, but the model has {} dofs", velocities.rows(), model_->nv);
  set_metric(state, options);
  closure_->update(*parameters_, *weights_, state, false);
  closure_->solve_rows();
  MatrixX V = velocities;
  RowFactor(*model_, *closure_, rows_of_loops(closure_->rows())).project(*model_, closure_->data(), V);
  for (const int dof : held_dofs(options)) V.row(dof) = velocities.row(dof);
  return V;
}

// Limits that are reached join the loops where the velocity runs into them, and leave where they would pull.
void Mechanism::project_velocity(State& state, const ClosureOptions& options) {
  options.validate(*model_);
  state.validate(*model_);
  set_metric(state, options);
  closure_->update(*parameters_, *weights_, state, options.limits);
  closure_->solve_rows();
  const std::vector<int> loops = rows_of_loops(closure_->rows()), limits = rows_at_limits(closure_->rows());
  const MatrixX J = dense_rows(*model_, closure_->rows(), limits, false);
  std::vector<char> holds(limits.size(), 0);
  const double nothing = 1e-12 * std::max(1.0, state.v.lpNorm<Eigen::Infinity>());
  MatrixX V = state.v;
  for (std::size_t round = 0; round <= 4 * limits.size(); ++round) {
    std::vector<int> rows = loops, held;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      if (holds[i] == 0) continue;
      rows.push_back(limits[i]);
      held.push_back(static_cast<int>(i));
    }
    V = state.v;
    const VectorX multipliers =
        RowFactor(*model_, *closure_, rows).project(*model_, closure_->data(), V).tail(static_cast<int>(held.size()));
    const VectorX rate = J * V;
    Eigen::Index worst = 0;
    if (limits.empty()) break;
    if (rate.minCoeff(&worst) < -nothing) {
      holds[at(static_cast<int>(worst))] = 1;
    } else if (!held.empty() && multipliers.minCoeff(&worst) < 0.0) {
      holds[at(held[at(static_cast<int>(worst))])] = 0;
    } else {
      break;
    }
  }
  const VectorX old = state.v;
  state.v = V.col(0);
  for (const int dof : held_dofs(options)) state.v[dof] = old[dof];
}

MechanismJacobian Mechanism::jacobian(const State& state, const std::vector<int>& joints,
                                      const ClosureOptions& options) {
  for (const int joint : joints) require_joint(*model_, joint);
  return jacobian(state, drives_of(joints), options);
}

// Joints of trees are held at their rates, coordinates of loop joints have rows whose rates are given.
MechanismJacobian Mechanism::jacobian(const State& state, std::span<const Drive> drives,
                                      const ClosureOptions& options) {
  const Model& model = *model_;
  state.validate(model);
  ClosureOptions held = options;
  std::vector<int> dof_of;  // of each column; -1: a coordinate of a loop joint
  closure_->driven().clear();
  for (const Drive& drive : drives) {
    if (drive.joint < 0) {
      require_coordinate(model, drive);
      closure_->driven().push_back(drive_of(drive));
      dof_of.push_back(-1);
      continue;
    }
    require_joint(model, drive.joint);
    held.held.push_back(drive.joint);
    const int first = model.joint_dof[at(drive.joint)];
    for (int k = 0; k < dof_count(model.joints[at(drive.joint)].type); ++k) dof_of.push_back(first + k);
  }
  held.validate(model);
  set_metric(state, held);
  closure_->update(*parameters_, *weights_, state, false);
  closure_->solve_rows();
  const std::vector<int> rows = rows_of_loops(closure_->rows());
  const auto columns = static_cast<Eigen::Index>(dof_of.size());
  MatrixX V = MatrixX::Zero(model.nv, columns), rates = MatrixX::Zero(static_cast<Eigen::Index>(rows.size()), columns);
  Eigen::Index row = rates.rows() - static_cast<Eigen::Index>(closure_->driven().size());
  for (Eigen::Index k = 0; k < columns; ++k) {
    if (const int dof = dof_of[at(static_cast<int>(k))]; dof >= 0) {
      V(dof, k) = 1.0;
    } else {
      rates(row, k) = closure_->rows().row_length[at(rows[at(static_cast<int>(row))])];
      ++row;
    }
  }
  const MatrixX wanted = V;
  const RowFactor factor(model, *closure_, rows);
  factor.project(model, closure_->data(), rates, V);
  for (const int dof : held_dofs(held)) V.row(dof) = wanted.row(dof);
  closure_->driven().clear();
  MechanismJacobian result;
  result.J = V;
  result.error = (factor.J * V - rates).colwise().lpNorm<Eigen::Infinity>();
  result.free = model.nv - static_cast<int>(held_dofs(held).size()) - factor.rank;
  return result;
}

Mobility Mechanism::mobility(const State& state) {
  state.validate(*model_);
  const ClosureOptions options{.metric = ClosureMetric::kPlain};
  Mobility result{.dofs = model_->nv};
  set_metric(state, options);
  closure_->update(*parameters_, *weights_, state, false);
  result.error = closure_->error();
  std::vector<int> rows = rows_of_loops(closure_->rows());
  result.rows = static_cast<int>(rows.size());
  if (rows.empty()) return result;
  if (result.rows > kMostRows || model_->nv > kMostRows) {
    result.known = false;
    return result;
  }
  closure_->solve_rows();
  const RowFactor here(*model_, *closure_, rows);
  result.rank = result.generic_rank = here.rank;
  std::mt19937_64 random(1);
  ClosureOptions nearby = options;
  nearby.limits = false;
  for (int k = 0; k < kSamples; ++k) {
    MatrixX V(model_->nv, 1);
    for (int i = 0; i < model_->nv; ++i) V(i, 0) = 2.0 * std::generate_canonical<double, 53>(random) - 1.0;
    V = V.array() / weights_->dof_length.array();
    State other = state;
    set_metric(state, options);
    here.project(*model_, closure_->data(), V);
    const double size = (V.array() * weights_->dof_length.array()).matrix().lpNorm<Eigen::Infinity>();
    if (!(size > 0.0)) break;
    integrate(*model_, state.q, V.col(0), kSampleMotion / size, other.q);
    if (!run(other, nearby).closed) continue;
    VectorX moved(model_->nv);
    difference(*model_, state.q, other.q, moved);
    // What has come back is the same configuration: a structure that gives way to first order only.
    if ((moved.array() * weights_->dof_length.array()).matrix().lpNorm<Eigen::Infinity>() < 0.1 * kSampleMotion)
      continue;
    closure_->update(*parameters_, *weights_, other, false);
    closure_->solve_rows();
    rows = rows_of_loops(closure_->rows());
    if (static_cast<int>(rows.size()) != result.rows) continue;
    result.generic_rank = std::max(result.generic_rank, RowFactor(*model_, *closure_, rows).rank);
    ++result.samples;
  }
  return result;
}

}  // namespace touchstone
