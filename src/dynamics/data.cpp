#include "touchstone/dynamics/data.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/dynamics/tendon_path.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {

namespace {

// Debug builds fill the workspace with NaN, so that a stage that reads what no stage wrote is seen at once.
VectorX scratch_vector(int size) {
#ifdef NDEBUG
  return VectorX::Zero(size);
#else
  return VectorX::Constant(size, std::numeric_limits<double>::quiet_NaN());
#endif
}

// Whether two actuators pull at the same joint or tendon.
bool pull_together(const Model& model, const Actuator& a, const Actuator& b) {
  if (a.target != b.target) return false;
  if (is_on_one_dof(model, a)) return is_on_one_dof(model, b);
  return a.transmission == b.transmission;
}

// Those that share a limit with an actuator, and itself; none if there is no such limit.
std::vector<int> find_sharing(const Model& model, const Actuator& actuator) {
  const auto target = static_cast<std::size_t>(actuator.target);
  const bool at_tendon = actuator.transmission == TransmissionType::kTendon;
  const bool limited = is_on_one_dof(model, actuator) ? model.joints[target].actuator_force_limited
                                                      : at_tendon && model.tendons[target].actuator_force_limited;
  std::vector<int> sharing;
  for (int k = 0; k < model.nu && limited; ++k) {
    if (pull_together(model, actuator, model.actuators[k])) sharing.push_back(k);
  }
  return sharing;
}

int padded(std::size_t count) { return static_cast<int>((count + 3) / 4 * 4); }

}  // namespace

Data::Data(const Model& model)
    : scope(model),
      angle(VectorX::Zero(padded(model.angle_q.size()))),
      angle_sine(angle),
      angle_cosine(angle),
      X_WB(model.nbody),
      reference_point(model.ntree),
      body_com(model.nbody),
      S(model.nv),
      velocity(model.nbody),
      acceleration(model.nbody),
      force(model.nbody),
      composite_inertia(model.nbody),
      M(VectorX::Zero(model.row_start.back())),
      L(VectorX::Zero(model.row_start.back())),
      D_inverse(scratch_vector(model.nv)),
      articulated(model.nbody),
      U(model.nv),
      bias(scratch_vector(model.nv)),
      passive(scratch_vector(model.nv)),
      actuation(scratch_vector(model.nv)),
      actuation_unlimited(scratch_vector(model.nv)),
      actuator_signal(scratch_vector(model.nu)),
      actuator_law(scratch_vector(model.nu)),
      actuator_force(scratch_vector(model.nu)),
      actuator_length(scratch_vector(model.nu)),
      actuator_velocity(scratch_vector(model.nu)),
      activation_rate(scratch_vector(model.na)),
      actuator_moment(MatrixX::Zero(model.nv, model.nu)),
      tendon_length(scratch_vector(model.ntendon)),
      tendon_velocity(scratch_vector(model.ntendon)),
      smooth_force(scratch_vector(model.nv)),
      v_free(scratch_vector(model.nv)),
      scratch(scratch_vector(model.nv)),
      joint_gain(scratch_vector(model.nv)),
      tendon_gain(scratch_vector(model.ntendon)),
      tendon_block_gain(scratch_vector(model.ntendon)),
      tendon_block_force(scratch_vector(model.ntendon)),
      servo_gain(scratch_vector(model.nu)),
      servo_force(scratch_vector(model.nu)),
      servo_mode(static_cast<std::size_t>(model.nu), ServoMode::kExplicit),
      servo_actuation(scratch_vector(model.nv)),
      passive_force(scratch_vector(model.nv)),
      servo_block(static_cast<std::size_t>(model.nu)) {
  for (const Actuator& actuator : model.actuators) {
    actuator_dof.push_back(is_on_one_dof(model, actuator) ? model.joint_dof[actuator.target] : -1);
    actuator_range.push_back(actuator.force_limited ? actuator.force_range : Vector2(-kInfinity, kInfinity));
    sharing.push_back(find_sharing(model, actuator));
  }
  for (const Tendon& tendon : model.tendons) tendon_on_path.push_back(is_on_path(model, tendon) ? 1 : 0);
}

}  // namespace touchstone
