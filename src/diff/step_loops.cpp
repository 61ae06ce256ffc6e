// The part of loop joints in the derivatives of a step: springs along their coordinates, couplings of coordinates, and
// motors. Their rows are differentiated by loop_motion.hpp; what acts by wrenches of its own is in external_, too.
#include <algorithm>
#include <array>

#include "touchstone/base/index.hpp"
#include "touchstone/diff/servo_limits.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/constraints/loop.hpp"
#include "touchstone/sim/constraints/loop_joint.hpp"

namespace touchstone {
namespace {

bool couples_loops(const Model& model, const Constraint& constraint) {
  if (constraint.kind != ConstraintKind::kEquality) return false;
  const Equality& e = model.equalities[at(constraint.index)];
  return e.type == EqualityType::kJoint && (e.coordinate_a >= 0 || e.coordinate_b >= 0);
}

LoopBlock one_coordinate(const Model& model, int joint, int coordinate) {
  LoopBlock block{model.loop_joints[at(joint)]};
  block.gear[coordinate] = 1.0;
  return block;
}

LoopBlock motor_block(const Model& model, const Actuator& actuator) {
  LoopBlock block{model.loop_joints[at(actuator.target)]};
  std::copy_n(actuator.gear.begin(), coordinate_count(block.joint.type), block.gear);
  return block;
}

struct Slopes {
  double first = 0.0, second = 0.0;
};

Slopes polynomial_slopes(const std::array<double, 5>& p, double x) {
  return {p[1] + x * (2.0 * p[2] + x * (3.0 * p[3] + x * 4.0 * p[4])), 2.0 * p[2] + x * (6.0 * p[3] + x * 12.0 * p[4])};
}

}  // namespace

// The wrench of an impulse along a block of one row.
void StepDerivatives::add_loop_wrench(const LoopBlock& block, double impulse, double scale) {
  const LoopFrames frames = frames_along(data_, block.joint, motion_, -1);
  LoopRow row;
  block.rows(frames, &row);
  add_wrench({block.joint.body_a, block.joint.body_b, frames.X_WB.p, frames.X_WB.p, impulse * row.linear,
              impulse * row.angular},
             scale);
}

// --- couplings: value of the first coordinate = polynomial of the second (no rotation vectors) ---

// Of the second side, from its reference.
double StepDerivatives::coupling_value(const Equality& e) const {
  if (e.coordinate_b < 0) {
    const int q = model_.joint_q[at(e.b)];
    return here_.q[q] - model_.reference_q[q];
  }
  LoopRow rows[kMostLoopCoordinates];
  loop_coordinates(model_, data_, here_.loop_memory(), e.b, rows);
  return rows[e.coordinate_b].value - model_.loop_joints[at(e.b)].coordinates[at(e.coordinate_b)].reference;
}

void StepDerivatives::add_coupling_wrench(const Constraint& constraint, double impulse, double scale) {
  if (!couples_loops(model_, constraint)) return;
  const Equality& e = model_.equalities[at(constraint.index)];
  if (e.coordinate_a >= 0) add_loop_wrench(one_coordinate(model_, e.a, e.coordinate_a), impulse, scale);
  if (e.b < 0 || e.coordinate_b < 0) return;
  const double slope = polynomial_slopes(e.polynomial, coupling_value(e)).first;
  add_loop_wrench(one_coordinate(model_, e.b, e.coordinate_b), -slope * impulse, scale);
}

void StepDerivatives::add_loop_coupling(const Constraint& constraint, int row, double lambda, const VectorX& x,
                                        ImplicitBalance& balance) {
  const Equality& e = model_.equalities[at(constraint.index)];
  const int nv = model_.nv;
  const auto add_rate = [&](int dof, double rate) {
    balance.rows()(row, dof) += rate;
    if (&balance == &main_) rate_.view()(row, dof) += rate;
  };
  const auto add_side = [&](const LoopBlock& block, double factor) {
    begin_loop_motion(model_, data_, block.joint, motion_);
    const double impulse = factor * lambda;
    add_loop_force_derivatives(data_, block, &impulse, motion_, balance.force());
    for (int k = 0; k < motion_.count; ++k) {
      double rate = 0.0;
      loop_row_rate(model_, data_, V_S_, block, motion_, k, &rate);
      add_rate(motion_.dofs[at(k)], factor * rate);
    }
  };
  if (e.coordinate_a >= 0) add_side(one_coordinate(model_, e.a, e.coordinate_a), 1.0);
  if (e.b < 0) return;
  const Slopes slopes = polynomial_slopes(e.polynomial, coupling_value(e));
  gradient_.setZero(nv);
  if (e.coordinate_b >= 0) {
    const LoopBlock block = one_coordinate(model_, e.b, e.coordinate_b);
    add_side(block, -slopes.first);
    for (int k = 0; k < motion_.count; ++k) {
      const LoopFrames frames = frames_along(data_, block.joint, motion_, k);
      LoopRow along;
      block.rows(frames, &along);
      gradient_[motion_.dofs[at(k)]] = dot(along.linear, frames.v) + dot(along.angular, frames.w_b - frames.w_a);
    }
  } else {
    gradient_[model_.joint_dof[at(e.b)]] = 1.0;
  }
  if (slopes.second == 0.0) return;
  const double velocity = gradient_.dot(x);
  for (int k = 0; k < nv; ++k) {
    if (gradient_[k] == 0.0) continue;
    add_rate(k, -slopes.second * velocity * gradient_[k]);
    balance.force().col(k) -= (lambda * slopes.second * gradient_[k]) * gradient_;
  }
}

// --- springs, dampers, armature: b = (h k stretch - armature * old rate) / gain (LoopSpringKind) ---

void StepDerivatives::add_loop_spring(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const Constraint& constraint = c.list[at(block)];
  const int row = c.blocks.row[at(block)], nv = model_.nv;
  const LoopBlock own = loop_block(model_, constraint);
  const LoopCoordinate& coordinate = loop_coordinate(model_, constraint.index);
  const double h = step.h, gain = 1.0 / c.compliance[row], stiffness = loop_stiffness(model_, coordinate);
  const bool at_middle = step.remaining < h;
  const double by_value = h * stiffness / gain;
  const double by_rate = -(coordinate.armature + (at_middle ? 0.25 * h * h * stiffness : 0.0)) / gain;
  begin_loop_motion(model_, data_, own.joint, motion_);
  for (int k = 0; k < motion_.count; ++k) {
    double rate = 0.0;
    loop_row_rate(model_, data_, start_V_S(), own, motion_, k, &rate);
    main_.rows()(row, motion_.dofs[at(k)]) +=
        by_value * own.value_rate(frames_along(data_, own.joint, motion_, k)) + by_rate * rate;
  }
  main_.rows().row(row).segment(nv, nv) += by_rate * main_.J().row(row);
  if (!at_middle && coordinate.armature > 0.0) add_spring_drift(step, own, h * coordinate.armature / gain, row);
}

// What armature resists is not the rate that the row sees. With motion_.
void StepDerivatives::add_spring_drift(const StepContext& step, const LoopBlock& block, double factor, int row) {
  const auto drift = [&](const ConstraintStep& at, double* values) {
    const LoopFrames frames = moving_frames(model_, at.data, block.joint);
    LoopRow along;
    block.rows(frames, &along);
    *values = row_drift(at, block.joint, frames, along);
  };
  add_drift_rates(step, drift, 1, factor, row);
}

// Of what a softened loop holds: its law is one of accelerations. With motion_.
void StepDerivatives::add_loop_drift(const StepContext& step, int block) {
  const Constraint& constraint = step.constraints.list[at(block)];
  const int first = step.constraints.blocks.row[at(block)], count = step.constraints.blocks.size(block);
  if (constraint.kind == ConstraintKind::kEquality) {
    const Equality& e = model_.equalities[at(constraint.index)];
    const auto drift = [&](const ConstraintStep& at, double* values) { equality_drift(at, e, values); };
    return add_drift_rates(step, drift, count, step.h, first);
  }
  if (constraint.kind != ConstraintKind::kLoopJoint) return;
  const LoopBlock own = loop_block(model_, constraint);
  const auto drift = [&](const ConstraintStep& at, double* values) {
    const LoopFrames frames = moving_frames(model_, at.data, own.joint);
    LoopRow rows[kMostLoopRows];
    own.rows(frames, rows);
    for (int r = 0; r < count; ++r) values[r] = row_drift(at, own.joint, frames, rows[r]);
  };
  add_drift_rates(step, drift, count, step.h, first);
}

// Of third order in the configuration: by central differences with Richardson's extrapolation. In v it is quadratic,
// and one difference is exact.
template <typename Drift>
void StepDerivatives::add_drift_rates(const StepContext& step, const Drift& drift, int count, double factor,
                                      int first) {
  constexpr double kWay = 1e-3;
  if (!drift_data_) drift_data_.emplace(model_);
  drift_state_ = here_;
  using Values = Eigen::Matrix<double, kMaxBlockSize, 1>;
  const auto drift_at = [&] {
    Data& data = *drift_data_;
    forward_kinematics(model_, step.parameters, drift_state_, data);
    compute_bias(model_, step.parameters, drift_state_.v, data);
    const ConstraintStep at{{model_, data, step.contacts(), step.rules},
                            step.parameters,
                            drift_state_,
                            step.weights,
                            step.h,
                            step.remaining,
                            step.options.stabilisation};
    Values values = Values::Zero();
    drift(at, values.data());
    return values;
  };
  ImplicitBalance::View rows = main_.rows();
  for (int k = 0; k < motion_.count; ++k) {
    const int dof = motion_.dofs[at(k)];
    const auto at_way = [&](double t) {
      direction_.setZero(model_.nv);
      direction_[dof] = t;
      integrate(model_, here_.q, direction_, 1.0, drift_state_.q);
      return drift_at();
    };
    const auto difference = [&](double way) -> Values { return (at_way(way) - at_way(-way)) / (2.0 * way); };
    const Values by_q = (4.0 * difference(0.5 * kWay) - difference(kWay)) / 3.0;
    drift_state_.q = here_.q;
    drift_state_.v[dof] = here_.v[dof] + 1.0;
    const Values above = drift_at();
    drift_state_.v[dof] = here_.v[dof] - 1.0;
    const Values below = drift_at();
    drift_state_.v[dof] = here_.v[dof];
    for (int r = 0; r < count; ++r) {
      rows(first + r, dof) += factor * by_q[r];
      rows(first + r, model_.nv + dof) += 0.5 * factor * (above[r] - below[r]);
    }
  }
}

// --- motors ---

namespace {

bool is_loop_motor(const Model& model, int u) {
  return model.actuators[at(u)].transmission == TransmissionType::kLoopJoint && model.options.actuation_enabled;
}

// Limits of joints cut what single dofs feel of the force: then its moment counts as constant.
bool is_motor_cut(const StepContext& step, bool is_soft, int u) {
  if (!is_soft && step.data.servo_mode[at(u)] != ServoMode::kExplicit) return false;
  for (int i = 0; i < step.model.nv; ++i) {
    if (step.data.actuator_moment(i, u) != 0.0 && is_cut(step, is_soft, i)) return true;
  }
  return false;
}

}  // namespace

// h times the force, or the impulse of its block.
double StepDerivatives::motor_impulse(const StepContext& step, int u) const {
  if (step.data.servo_mode[at(u)] != ServoMode::kBounded) return step.h * step.data.actuator_force[u];
  return step.lambda[servo_row(step, u)];
}

bool StepDerivatives::is_one_of(const StepContext& step, Motors which, int u) const {
  if (!is_loop_motor(model_, u)) return false;
  const bool has_row = step.data.servo_mode[at(u)] == ServoMode::kBounded;
  return which == Motors::kAll || (which == Motors::kWithRow) == has_row;
}

void StepDerivatives::add_motor_wrenches(const StepContext& step, Motors which) {
  for (int u = 0; u < model_.nu; ++u) {
    if (!is_one_of(step, which, u)) continue;
    if (is_motor_cut(step, is_soft_, u)) {
      ++held_.actuators;
      continue;
    }
    add_loop_wrench(motor_block(model_, model_.actuators[at(u)]), motor_impulse(step, u), 1.0 / step.h);
  }
}

// What the moment does as it changes; add_actuator has what is at constant moments. With the velocities of the start.
void StepDerivatives::add_loop_motors(const StepContext& step, Motors which) {
  for (int u = 0; u < model_.nu; ++u) {
    if (is_one_of(step, which, u) && !is_motor_cut(step, is_soft_, u)) add_loop_motor(step, u);
  }
}

void StepDerivatives::add_loop_motor(const StepContext& step, int u) {
  const Data& data = step.data;
  const LoopBlock block = motor_block(model_, model_.actuators[at(u)]);
  const bool is_bounded = data.servo_mode[at(u)] == ServoMode::kBounded;
  const bool at_limit = !is_bounded && data.actuator_force[u] != data.actuator_law[u];
  const ForceSlopes slopes = at_limit ? ForceSlopes() : force_slopes(step, u);
  const double impulse = motor_impulse(step, u), total = data.servo_block[at(u)].gain;
  const int row = is_bounded ? servo_row(step, u) : -1;
  begin_loop_motion(model_, data_, block.joint, motion_);
  add_loop_force_derivatives(data_, block, &impulse, motion_, main_.force());
  for (int k = 0; k < motion_.count; ++k) {
    const LoopFrames frames = frames_along(data_, block.joint, motion_, k);
    const int dof = motion_.dofs[at(k)];
    double rate = 0.0;
    loop_row_rate(model_, data_, start_V_S(), block, motion_, k, &rate);
    const double longer = block.value_rate(frames) - data.actuator_moment(dof, u);
    const double change = slopes.by_length * longer + slopes.by_velocity * rate;  // of the force
    if (is_bounded) {
      main_.rows()(row, dof) -= step.h / total * change + rate;  // b = -(h force / gain + m v)
    } else {
      main_.force().col(dof) += (step.h * change) * data.actuator_moment.col(u);
    }
  }
}

// The rows of bounded motors with the new velocity.
void StepDerivatives::add_motor_rates(int u, int row) {
  if (!is_loop_motor(model_, u)) return;
  const LoopBlock block = motor_block(model_, model_.actuators[at(u)]);
  begin_loop_motion(model_, data_, block.joint, motion_);
  for (int k = 0; k < motion_.count; ++k) {
    double rate = 0.0;
    loop_row_rate(model_, data_, V_S_, block, motion_, k, &rate);
    main_.rows()(row, motion_.dofs[at(k)]) += rate;
  }
}

}  // namespace touchstone
