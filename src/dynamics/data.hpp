// The workspace of the dynamics algorithms: what they compute for one state of one model. Every array is sized
// when the workspace is made; no algorithm allocates afterwards.
//
// Spatial quantities of a tree are in world axes about the tree's reference point (see math/spatial.hpp), which is
// the origin of its root body, so precision does not suffer far from the world's origin.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/dynamics/articulated_system.hpp"
#include "touchstone/dynamics/scope.hpp"
#include "touchstone/math/spatial.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone {

// The factor L' D L of a matrix with the pattern of M.
struct TreeFactor {
  VectorX L;          // row_start[nv]: unit diagonal implied; the diagonal slots hold D
  VectorX D_inverse;  // nv
};

// How an actuator takes part in a step (forces.hpp).
enum class ServoMode : std::uint8_t {
  kExplicit,  // a constant force
  kImplicit,  // its gains are in A
  kBounded,   // a block of the contact problem, with its force limits if it has any
  kShared,    // in the block of another actuator, with which it shares a limit
};

// The block of a servo with the mode kBounded, and of those that share it: limits (infinite where there are none),
// gain and force.
struct ServoBlock {
  Vector2 range = Vector2::Zero();
  double gain = 0.0, force = 0.0;
};

// Trees whose paths to the root are long (dynamics/long_trees.hpp): A is known by its articulated bodies alone. Of M
// the entries between dofs of one joint are made, and nothing of L.
struct LongTrees {
  bool used = false;
  std::vector<SpatialInertia> inertia;  // nbody: of each body by itself
  VectorX armature, diagonal;           // nv: what A has on its diagonal beside the inertia of bodies
  ArticulatedSystem motion;             // A; one solve at a time
};

struct Data {
  explicit Data(const Model& model);

  Scope scope;  // what the algorithms work on

  // --- forward_kinematics ---
  VectorX angle, angle_sine, angle_cosine;  // of hinges and screws, padded to a multiple of four
  std::vector<Pose> X_WB;                   // nbody
  std::vector<Vec3> reference_point;        // ntree
  std::vector<Vec3> body_com;               // nbody: centre of mass from the tree's reference point
  std::vector<Motion> S;                    // nv: dof axes

  // --- forward_velocity / forward_acceleration / rnea ---
  std::vector<Motion> velocity;      // nbody
  std::vector<Motion> acceleration;  // nbody
  std::vector<Force> force;          // nbody: scratch of the backward passes

  // --- crba ---
  std::vector<SpatialInertia> composite_inertia;  // nbody
  VectorX M;                                      // row_start[nv]: rows of the mass matrix, layout of Model::row_start

  // --- factorize ---
  VectorX L;          // row_start[nv]: M (+ shift) = L' D L, unit diagonal implied; the diagonal slots hold D
  VectorX D_inverse;  // nv

  // --- the same where paths are long ---
  LongTrees long_trees;

  // --- factorize_damped ---
  TreeFactor damped;  // M - h df/dv; sized when first used

  // --- aba ---
  std::vector<ArticulatedInertia> articulated;  // nbody
  std::vector<Force> U;                         // nv

  // --- results ---
  VectorX bias;                 // nv: Coriolis, centrifugal and gravity forces, M a + bias = tau
  VectorX passive;              // nv: springs, dampers, gravity compensation
  VectorX actuation;            // nv: forces of the actuators
  VectorX actuation_unlimited;  // nv: the same before the force limits of the joints
  VectorX actuator_signal;      // nu: the control or activation that the force uses
  VectorX actuator_law;         // nu: force before any limit
  VectorX actuator_force;       // nu
  VectorX actuator_length;      // nu
  VectorX actuator_velocity;    // nu
  VectorX activation_rate;      // na
  MatrixX actuator_moment;      // nv x nu: d length / d q
  VectorX tendon_length;        // ntendon
  VectorX tendon_velocity;      // ntendon
  VectorX smooth_force;         // nv: passive + actuation + applied - bias
  VectorX v_free;               // nv: velocity at the end of the step without constraints
  VectorX scratch;              // nv

  // --- compute_free_motion: what is implicit in A besides M (forces.hpp) ---
  VectorX joint_gain;                     // nv: h D + h^2 K of dampers and springs of joints
  VectorX tendon_gain;                    // ntendon: the same of tendons; 0: explicit, or a block
  VectorX tendon_block_gain;              // ntendon: the same of those that are a block of the contact problem, else 0
  VectorX tendon_block_force;             // ntendon: and the force of their spring at the start
  VectorX servo_gain;                     // nu: h kd + h^2 kp of an actuator that is not explicit, else 0
  VectorX servo_force;                    // nu: force with the velocity of the start and the position a step ahead
  std::vector<ServoMode> servo_mode;      // nu
  VectorX servo_actuation;                // nv: generalised force of the actuators in the step, without their gains
  VectorX passive_force;                  // nv: smooth_force without actuators
  std::vector<int> actuator_dof;          // nu: the dof of an actuator at one joint with one dof, else -1
  std::vector<Vector2> actuator_range;    // nu: of its force, infinite if not limited
  std::vector<std::vector<int>> sharing;  // nu: who shares the limit of its joint or tendon, itself too; or none
  std::vector<ServoBlock> servo_block;    // nu: of those with the mode kBounded
  std::vector<std::int8_t> tendon_on_path;  // ntendon: its joints lie on one path, so M has entries for it
};

}  // namespace touchstone
