#include "touchstone/diff/servo_limits.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

constexpr double kAtBound = 1e-9;  // as a share of the range

bool is_explicit(const StepContext& step, bool is_soft, int u) {
  return is_soft || step.data.servo_mode[at(u)] == ServoMode::kExplicit;
}

// The limit of a tendon scales the forces at it alike. With one gear their sum, which then is the limit, is all that
// acts; with several it is not.
bool is_scaled_apart(const StepContext& step, int u) {
  const Data& data = step.data;
  const Actuator& actuator = step.model.actuators[at(u)];
  if (actuator.transmission != TransmissionType::kTendon || data.actuator_force[u] == data.actuator_law[u])
    return false;
  const std::vector<int>& sharing = data.sharing[at(u)];
  return std::any_of(sharing.begin(), sharing.end(),
                     [&](int k) { return step.model.actuators[at(k)].gear[0] != actuator.gear[0]; });
}

// Whether other forces take a part of what the limits of tendon or joints leave for an actuator.
bool shares_limits(const StepContext& step, int u) {
  const Model& model = step.model;
  const Data& data = step.data;
  if (data.sharing[at(u)].size() > 1) return true;
  for (int i = 0; i < model.nv; ++i) {
    const Joint& joint = model.joints[at(model.dof_joint[at(i)])];
    if (data.actuator_moment(i, u) == 0.0 || !joint.actuator_force_limited) continue;
    if (joint.actuator_gravity_compensation) return true;
    for (int k = 0; k < model.nu; ++k) {
      if (k != u && data.actuator_moment(i, k) != 0.0) return true;
    }
  }
  return false;
}

// A bounded servo at an end of its range that is not its own.
bool is_at_shared_bound(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const int u = c.list[at(block)].index;
  const std::size_t row = at(c.blocks.row[at(block)]);
  const double low = c.blocks.lo[row], high = c.blocks.hi[row], impulse = step.lambda[static_cast<Eigen::Index>(row)];
  const double slack = kAtBound * (high - low);
  const bool is_low = impulse <= low + slack, is_high = impulse >= high - slack;
  if (!is_low && !is_high) return false;
  const int side = is_low ? 0 : 1;
  return step.data.servo_block[at(u)].range[side] != step.data.actuator_range[at(u)][side] && shares_limits(step, u);
}

}  // namespace

bool is_cut(const StepContext& step, bool is_soft, int dof) {
  const Data& data = step.data;
  if (data.actuation[dof] == data.actuation_unlimited[dof]) return false;
  for (int u = 0; u < step.model.nu; ++u) {
    if (data.actuator_moment(dof, u) != 0.0 && !is_explicit(step, is_soft, u)) return false;
  }
  return true;
}

int count_moving_limits(const StepContext& step, bool is_soft) {
  const Model& model = step.model;
  int count = 0;
  for (int u = 0; u < model.nu; ++u) {
    if (is_explicit(step, is_soft, u) && is_scaled_apart(step, u)) ++count;
  }
  for (int block = 0; !is_soft && block < step.constraints.count(); ++block) {
    if (step.constraints.list[at(block)].kind == ConstraintKind::kServo && is_at_shared_bound(step, block)) ++count;
  }
  if (step.parameters.body_gravity_compensation.isZero(0.0)) return count;
  for (int i = 0; i < model.nv; ++i) {
    if (model.joints[at(model.dof_joint[at(i)])].actuator_gravity_compensation && is_cut(step, is_soft, i)) ++count;
  }
  return count;
}

}  // namespace touchstone
