// Numbers of the model that may differ from world to world. Those of a world lie one after another in an array of
// their own; what has no such array is the model's.
#pragma once

#include <cmath>
#include <cstddef>

#include "touchstone/gpu/model_arrays.hpp"
#include "touchstone/gpu/team.hpp"

namespace touchstone::gpu {

// name in batch, array of the model, numbers of a world
#define TOUCHSTONE_WORLD_PARAMETERS(X)                   \
  X(kBodyMass, body_mass, n.bodies)                      \
  X(kBodyCom, body_com, 3 * n.bodies)                    \
  X(kBodyInertia, body_inertia, 9 * n.bodies)            \
  X(kJointStiffness, joint_stiffness, n.joints)          \
  X(kDofDamping, dof_damping, n.nv)                      \
  X(kDofArmature, dof_armature, n.nv)                    \
  X(kDofFriction, dof_friction, n.nv)                    \
  X(kActuatorGain, actuator_gain, 3 * n.nu)              \
  X(kActuatorBias, actuator_bias, 3 * n.nu)              \
  X(kActuatorForceRange, actuator_force_range, 2 * n.nu) \
  X(kPairFriction, pair_friction, n.pairs)               \
  X(kPairRestitution, pair_restitution, n.pairs)         \
  X(kMocapPose, mocap_pose, 7 * n.mocaps)                \
  X(kShapeSize, shape_size, 3 * n.shapes)                \
  X(kShapeRadius, shape_radius, n.shapes) /* follows the sizes: StoredBatch::set_parameter */

enum class WorldParameter : int {
#define TOUCHSTONE_FIELD(name, array, width) name,
  TOUCHSTONE_WORLD_PARAMETERS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
      kGravityVector,  // 3: m/s^2
  kAppliedWrench,  // 6 bodies: force and torque in world axes at the centre of mass, as in Input; zero without an array
};
constexpr int kWorldParameters = static_cast<int>(WorldParameter::kAppliedWrench) + 1;

inline int parameter_width(const ModelSizes& n, WorldParameter parameter) {
#define TOUCHSTONE_FIELD(name, array, width) \
  if (parameter == WorldParameter::name) return width;
  TOUCHSTONE_WORLD_PARAMETERS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  return parameter == WorldParameter::kGravityVector ? 3 : 6 * n.bodies;
}

#ifndef __CUDACC_RTC__
// The radius of a ball around the origin of a shape of this size; negative: a size says nothing of it.
inline double ball_radius(int shape, const double* size) {
  switch (shape) {
    case kSphereShape:
      return size[0];
    case kCapsuleShape:
      return size[0] + size[1];
    case kBoxShape:
      return std::sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]);
    case kEllipsoidShape:
      return std::fmax(size[0], std::fmax(size[1], size[2]));
    case kCylinderShape:
      return std::hypot(size[0], size[1]);
    default:
      return -1.0;
  }
}
#endif

// Where the arrays are, in the memory that the batch computes in; null: the model's.
struct WorldParameters {
  const double* array[kWorldParameters] = {};

  bool any() const {
    for (const double* values : array) {
      if (values != nullptr) return true;
    }
    return false;
  }
};

// The model of a world.
TOUCHSTONE_LANE ModelTables world_model(const ModelTables& shared, const WorldParameters& own, int world) {
  ModelTables m = shared;
  [[maybe_unused]] const ModelSizes& n = shared.sizes;
  const auto part = [&](WorldParameter parameter, int width) -> const double* {
    const double* all = own.array[static_cast<int>(parameter)];
    return all != nullptr ? all + static_cast<std::size_t>(world) * static_cast<std::size_t>(width) : nullptr;
  };
#define TOUCHSTONE_FIELD(name, array, width) \
  if (const double* values = part(WorldParameter::name, width)) m.array = values;
  TOUCHSTONE_WORLD_PARAMETERS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  if (const double* gravity = part(WorldParameter::kGravityVector, 3)) {
    for (int k = 0; k < 3; ++k) m.settings.gravity[k] = gravity[k];
  }
  if (const double* wrench = part(WorldParameter::kAppliedWrench, 6 * n.bodies)) m.applied_wrench = wrench;
  return m;
}

}  // namespace touchstone::gpu
