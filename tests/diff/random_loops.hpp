// Random mechanisms with a loop joint.
#pragma once

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "support/random_model.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone::test {

inline Vector3 small(std::mt19937_64& random) { return 0.2 * random_vector3(random); }

// A random tree and a free body with an arm, and a loop joint of a type that could join them: no two rows say the same.
// In the state it is nearly closed.
struct JoinedTrees {
  ModelBuilder builder;
  LoopJoint joint;  // not added yet
  int elbow;        // of the arm
  State state;      // without the joint
  double elbow_angle;

  // With the joint, and what was added to the builder.
  std::pair<ModelPtr, State> close() {
    builder.add_loop_joint(joint);
    const ModelPtr model = builder.build();
    State full(*model);
    full.q = state.q;
    full.v = state.v;
    return {model, full};
  }
};

inline JoinedTrees joined(LoopJointType type, std::mt19937_64& random, double apart) {
  RandomModelOptions options;
  options.bodies = 3;
  options.damping = true;
  ModelBuilder builder(*random_model(random, options));
  const int bodies = static_cast<int>(builder.bodies().size());
  const MassProperties inertia{0.7, Vector3(0.02, 0.03, -0.04), Vector3(0.02, 0.03, 0.025).asDiagonal()};
  const int free = builder.add_body({.name = "free", .inertia = inertia});
  builder.add_joint({.body = free, .type = JointType::kFree});
  const int arm = builder.add_body({.name = "arm", .parent = free, .pose = {small(random)}, .inertia = inertia});
  const int elbow =
      builder.add_joint({.name = "elbow", .body = arm, .axis = random_vector3(random).normalized(), .damping = 0.1});
  LoopJoint joint{.name = "loop", .type = type};
  joint.body_a = std::uniform_int_distribution<int>(0, bodies - 1)(random);
  joint.body_b = std::uniform_int_distribution<int>(0, 1)(random) == 0 ? free : arm;
  if (std::uniform_int_distribution<int>(0, 1)(random) == 0) std::swap(joint.body_a, joint.body_b);
  joint.frame_a = {small(random), so3_exp(random_vector3(random))};
  const ModelPtr open = builder.build();
  State state = random_state(*open, random);
  state.v *= 0.3;
  Data data(*open);
  forward_kinematics(*open, open->defaults, state, data);
  Transform near{apart * random_vector3(random), so3_exp(5.0 * apart * random_vector3(random))};
  if (type == LoopJointType::kDistance) near.position.x() += 0.3;
  const auto pose = [&](int body) {
    const Pose& X = data.X_WB[at(open->body(builder.bodies()[at(body)].name))];
    return Transform{X.p.eigen(), Quaternion(X.R.eigen())};
  };
  const Transform X_WA = pose(joint.body_a) * joint.frame_a, X_WF = X_WA * near;
  joint.frame_b = pose(joint.body_b).inverse() * X_WF;
  joint.length = near.position.norm() + 0.1 * apart;
  joint.pitch = 0.1;
  return {builder, joint, elbow, state, state.q[open->joint_q[at(open->joint("elbow"))]]};
}

// The same with everything that acts along the coordinates of the joint.
inline std::pair<ModelPtr, State> looped(LoopJointType type, std::mt19937_64& random, bool is_spring, double apart) {
  JoinedTrees trees = joined(type, random, apart);
  ModelBuilder& builder = trees.builder;
  LoopJoint& joint = trees.joint;
  const int elbow = trees.elbow;
  const bool is_ball = type == LoopJointType::kSpherical;
  for (int k = 0; k < coordinate_count(type); ++k) {
    LoopCoordinate c;
    c.reference = is_ball ? 0.0 : 0.02;
    c.limited = !is_spring && (!is_ball || k == 0);
    c.range = is_ball ? Vector2(0.0, 0.01) : Vector2(-0.01, 0.01);
    c.stiffness = is_spring ? 20.0 : 0.0;
    c.spring_reference = 0.1;
    c.damping = is_spring ? 2.0 : 0.0;
    c.armature = is_spring && k == 0 ? 0.1 : 0.0;
    c.friction = is_spring ? 0.0 : 0.2;
    joint.coordinates.push_back(c);
  }
  if (coordinate_count(type) > 0) {
    Actuator motor{.name = "motor", .transmission = TransmissionType::kLoopJoint, .target = 0};
    const std::array<double, 3> gears{0.8, 0.5, -0.4}, others{0.3, 1.2, -0.7};
    std::copy_n(gears.begin(), coordinate_count(type), motor.gear.begin());
    builder.add_actuator(motor);
    Actuator servo{.name = "servo", .transmission = TransmissionType::kLoopJoint, .target = 0};
    std::copy_n(others.begin(), coordinate_count(type), servo.gear.begin());
    servo.bias_type = ActuatorBias::kAffine;
    servo.gain = {5.0, 0.0, 0.0};
    servo.bias = {0.0, -5.0, -1.0};
    servo.force_limited = is_spring;
    servo.force_range = {-0.5, 0.5};
    builder.add_actuator(servo);
  }
  // Curved couplings: of two coordinates, and of one with a joint of the tree.
  if (is_ball) {
    // none: a rotation vector is not coupled
  } else if (is_spring && coordinate_count(type) > 0) {
    Equality gear{.name = "gear", .type = EqualityType::kJoint, .a = elbow, .b = 0};
    gear.polynomial = {trees.elbow_angle, 0.5, 0.3, 0.2, 0.1};
    gear.coordinate_b = 0;
    builder.add_equality(gear);
  } else if (coordinate_count(type) > 1) {
    Equality gear{.name = "gear", .type = EqualityType::kJoint, .a = 0, .b = 0};
    gear.polynomial = {0.0, 0.5, 0.3, 0.2, 0.1};
    gear.coordinate_a = 0;
    gear.coordinate_b = 1;
    builder.add_equality(gear);
  }
  return trees.close();
}

}  // namespace touchstone::test
