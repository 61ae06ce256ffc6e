#include "touchstone/sim/mechanism.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <Eigen/SVD>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/closure.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/reference_weights.hpp"

namespace touchstone {
namespace {

constexpr double kHeld = 1e12;       // what a held dof weighs, of its own inertia
constexpr double kRankShare = 1e-6;  // of the largest singular value: what is below counts as zero
constexpr int kMostRows = 1200;      // that mobility decomposes
constexpr double kAtLimit = 1e-6;    // m or rad: nearer than this a limit is reached

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

// The rows of a closure, scaled to metres, as a matrix with its singular values.
struct RowFactor {
  MatrixX J;       // rows x nv
  MatrixX U;       // rows x rank
  VectorX values;  // rank: singular values of Y'
  int rank = 0;

  // `rows`: which of them. Needs the metric in closure.data().
  RowFactor(const Model& model, LoopClosure& closure, const std::vector<int>& rows);
  // V <- V - A^-1 J' (J A^-1 J')^+ J V; returns the multipliers of the last column.
  VectorX project(const Model& model, const Data& data, MatrixX& V) const;
};

// J of chosen rows, or Y' if `half`.
MatrixX dense_rows(const Model& model, const Constraints& c, const std::vector<int>& rows, bool half) {
  MatrixX all = MatrixX::Zero(c.rows(), model.nv);
  const AlignedVector& values = half ? c.Y : c.J;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int stride = c.stride(block), first = c.blocks.row[at(block)];
    for (int p = 0; p < constraint.part_count; ++p) {
      const TreePart& part = c.parts[at(constraint.first_part + p)];
      const int* dofs = c.dofs(model, part);
      for (int k = 0; k < part.count; ++k) {
        for (int r = 0; r < c.blocks.size(block); ++r)
          all(first + r, dofs[k]) = values[part.start + at(stride * k + r)] * c.row_length[at(first + r)];
      }
    }
  }
  MatrixX chosen(static_cast<Eigen::Index>(rows.size()), model.nv);
  for (std::size_t i = 0; i < rows.size(); ++i) chosen.row(static_cast<Eigen::Index>(i)) = all.row(rows[i]);
  return chosen;
}

RowFactor::RowFactor(const Model& model, LoopClosure& closure, const std::vector<int>& rows)
    : J(dense_rows(model, closure.rows(), rows, false)) {
  if (rows.empty()) return;
  const Eigen::BDCSVD<MatrixX> svd(dense_rows(model, closure.rows(), rows, true), Eigen::ComputeThinU);
  const VectorX& all = svd.singularValues();
  while (rank < all.size() && all[rank] > kRankShare * all[0]) ++rank;
  U = svd.matrixU().leftCols(rank);
  values = all.head(rank);
}

VectorX RowFactor::project(const Model& model, const Data& data, MatrixX& V) const {
  VectorX multipliers = VectorX::Zero(J.rows());
  for (int round = 0; round < 2 && rank > 0; ++round) {  // the second removes what rounding has left
    const MatrixX lambda = U * values.array().square().inverse().matrix().asDiagonal() * (U.transpose() * (J * V));
    MatrixX change = J.transpose() * lambda;
    for (Eigen::Index k = 0; k < V.cols(); ++k) solve(model, data, change.col(k));
    V -= change;
    if (V.cols() > 0) multipliers -= lambda.col(V.cols() - 1);
  }
  return multipliers;
}

std::vector<int> rows_of_loops(const Constraints& c) {
  std::vector<int> rows;
  for (int block = 0; block < c.count(); ++block) {
    if (entry_of(c.list[at(block)].kind).violation != Violation::kTwoSided) continue;
    for (int row = c.blocks.row[at(block)]; row < c.blocks.row[at(block + 1)]; ++row) rows.push_back(row);
  }
  return rows;
}

std::vector<int> rows_at_limits(const Constraints& c) {
  std::vector<int> rows;
  for (int block = 0; block < c.count(); ++block) {
    const int row = c.blocks.row[at(block)];
    if (entry_of(c.list[at(block)].kind).violation == Violation::kOneSided && c.position[at(row)] < kAtLimit)
      rows.push_back(row);
  }
  return rows;
}

int require_scalar(const Model& model, int joint) {
  if (joint < 0 || joint >= model.njoint) throw Error("joint {} does not exist; the model has {}", joint, model.njoint);
  const Joint& element = model.joints[at(joint)];
  if (dof_count(element.type) == 1) return model.joint_q[at(joint)];
  throw InputError({.where = {model.file, element.origin.line, fmt::format("joint '{}'", element.name)},
                    .message = fmt::format("a {} joint has no single coordinate to move", to_string(element.type)),
                    .remedy = "choose hinges, slides or screws, and hold others where they are (held)"});
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

Mechanism::Mechanism(ModelPtr model) : model_(std::move(model)) {
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
    forward_kinematics(model, model.defaults, state, data);
    crba(model, model.defaults, data);
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
      model_->defaults, *weights_,
      {.tolerance = options.tolerance, .max_iterations = options.max_iterations, .limits = options.limits}, state);
  std::size_t next = 0;  // rounding has moved them, by nothing that counts
  for (const int joint : options.held) {
    const int q = model_->joint_q[at(joint)];
    for (int k = 0; k < configuration_size(model_->joints[at(joint)].type); ++k) state.q[q + k] = kept[next++];
  }
  ClosureReport report{.closed = result.closed, .iterations = result.iterations, .error = result.error};
  const Constraints& rows = closure_->rows();
  for (int block = 0; block < rows.count(); ++block) {
    const double error = closure_->error_of(block);
    if (error > options.tolerance) report.open.push_back({describe(*model_, rows, {}, block), error});
  }
  std::stable_sort(report.open.begin(), report.open.end(),
                   [](const OpenConstraint& a, const OpenConstraint& b) { return a.error > b.error; });
  return report;
}

ClosureReport Mechanism::close(State& state, const ClosureOptions& options) {
  options.validate(*model_);
  state.validate(*model_);
  return run(state, options);
}

// Continuation: the actuated joints go straight to their values in steps, the others are expected to go on as in the
// step before (secant), then loops are closed with the actuated ones held. A step is halved where loops do not close,
// where a dof moves far, or ends up far from where it was expected: it may be on another branch then. So a mechanism
// passes through a configuration where branches meet (a flat parallelogram) on the one that it came on.
ClosureReport Mechanism::move_to(State& state, const std::vector<int>& joints, const std::vector<double>& values,
                                 const ClosureOptions& options) {
  const Model& model = *model_;
  options.validate(model);
  state.validate(model);
  if (joints.size() != values.size()) throw Error("move_to: {} joints, but {} values", joints.size(), values.size());
  ClosureOptions held = options;
  std::vector<int> q_of;
  for (const int joint : joints) {
    q_of.push_back(require_scalar(model, joint));
    held.held.push_back(joint);
  }
  ClosureReport report = run(state, held);  // the start must be on a branch
  ClosureOptions step_options = held;
  step_options.max_iterations = std::min(held.max_iterations, kStepIterations);
  const State start = state;
  double farthest = 0.0;
  for (std::size_t i = 0; i < joints.size(); ++i) {
    if (!std::isfinite(values[i]))
      throw Error("move_to: the value of joint '{}' is {}", model.joints[at(joints[i])].name, values[i]);
    farthest = std::max(farthest, std::abs(values[i] - start.q[q_of[i]]));
  }
  double done = 0.0, length = farthest > kFirstStep ? kFirstStep / farthest : 1.0;
  const double most = farthest > kLargestStep ? kLargestStep / farthest : 1.0;
  VectorX rate = VectorX::Zero(model.nv), motion(model.nv), off(model.nv);
  State next = state, expected = state;
  int iterations = report.iterations;
  for (int k = 0; report.closed && done < 1.0 && k < kMostSteps && length >= kSmallestStep; ++k) {
    const double to = std::min(1.0, done + length);
    integrate(model, state.q, rate, to - done, expected.q);
    for (std::size_t i = 0; i < joints.size(); ++i)
      expected.q[q_of[i]] = start.q[q_of[i]] + to * (values[i] - start.q[q_of[i]]);
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
    length = std::min(most, 1.5 * length);
    if (done == 1.0) report = step;
  }
  report.closed = report.closed && done == 1.0;
  report.reached = done;
  report.iterations = iterations;
  return report;
}

MatrixX Mechanism::project_velocities(const State& state, const MatrixX& velocities, const ClosureOptions& options) {
  options.validate(*model_);
  state.validate(*model_);
  if (velocities.rows() != model_->nv)
    throw Error("project_velocities: {} rows, but the model has {} dofs", velocities.rows(), model_->nv);
  set_metric(state, options);
  closure_->update(model_->defaults, *weights_, state, false);
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
  closure_->update(model_->defaults, *weights_, state, options.limits);
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
  ClosureOptions held = options;
  for (const int joint : joints) held.held.push_back(joint);
  held.validate(*model_);
  const ClosureOptions chosen{.held = joints};
  const std::vector<int> dofs = held_dofs(chosen);
  MatrixX V = MatrixX::Zero(model_->nv, static_cast<Eigen::Index>(dofs.size()));
  for (std::size_t i = 0; i < dofs.size(); ++i) V(dofs[i], static_cast<Eigen::Index>(i)) = 1.0;
  MechanismJacobian result;
  result.J = project_velocities(state, V, held);
  const RowFactor factor(*model_, *closure_, rows_of_loops(closure_->rows()));
  result.error = (factor.J * result.J).colwise().lpNorm<Eigen::Infinity>();
  result.free = model_->nv - static_cast<int>(held_dofs(held).size()) - factor.rank;
  return result;
}

Mobility Mechanism::mobility(const State& state) {
  state.validate(*model_);
  const ClosureOptions options{.metric = ClosureMetric::kPlain};
  Mobility result{.dofs = model_->nv};
  set_metric(state, options);
  closure_->update(model_->defaults, *weights_, state, false);
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
    closure_->update(model_->defaults, *weights_, other, false);
    closure_->solve_rows();
    rows = rows_of_loops(closure_->rows());
    if (static_cast<int>(rows.size()) != result.rows) continue;
    result.generic_rank = std::max(result.generic_rank, RowFactor(*model_, *closure_, rows).rank);
    ++result.samples;
  }
  return result;
}

}  // namespace touchstone
