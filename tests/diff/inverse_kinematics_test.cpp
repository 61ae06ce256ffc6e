#include "touchstone/diff/inverse_kinematics.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

constexpr const char* kArm = R"(<mujoco><compiler angle="radian"/><worldbody>
  <body name="upper" pos="0 0 1"><joint name="a" type="hinge" axis="0 1 0" limited="true" range="-3 3"/>
    <geom type="capsule" fromto="0 0 0 1 0 0" size="0.05" mass="1"/>
  <body name="lower" pos="1 0 0"><joint name="b" type="hinge" axis="0 1 0" limited="true" range="0.1 2.5"/>
    <geom type="capsule" fromto="0 0 0 1 0 0" size="0.05" mass="1"/></body></body></worldbody></mujoco>)";

// Two links of 1 m reach a point at the distance d with the elbow at acos(d^2/2 - 1).
TEST(InverseKinematics, OfTwoLinksIsTheLawOfCosines) {
  const ModelPtr model = load_mjcf_string(kArm);
  IkProblem problem;
  problem.points.push_back({2, Vector3(1, 0, 0), Vector3(0.8, 0, 1.9)});
  InverseKinematics ik(*model);
  const IkResult result = ik.solve(problem, Vector2(0.0, 0.5));
  ASSERT_TRUE(result.reached);
  const double squared = 0.8 * 0.8 + 0.9 * 0.9;
  EXPECT_NEAR(result.q[1], std::acos(0.5 * squared - 1.0), 1e-6);
  EXPECT_LE(result.position_error, 1e-6);
}

// Out of reach the arm points at the target, as straight as its limit of 0.1 rad lets it.
TEST(InverseKinematics, GoesAsFarAsLimitsLetIt) {
  const ModelPtr model = load_mjcf_string(kArm);
  IkProblem problem;
  problem.points.push_back({2, Vector3(1, 0, 0), Vector3(3.0, 0, 1.0)});
  InverseKinematics ik(*model);
  const IkResult result = ik.solve(problem, Vector2(0.3, 1.0));
  EXPECT_FALSE(result.reached);
  EXPECT_NEAR(result.q[1], 0.1, 1e-9);
  EXPECT_NEAR(result.q[0], -0.05, 1e-5);
  EXPECT_NEAR(result.position_error, 3.0 - 2.0 * std::cos(0.05), 1e-6);
}

TEST(InverseKinematics, PutsTheCentreOfMassOverAPlace) {
  const ModelPtr model = load_mjcf_string(kArm);
  IkProblem problem;
  problem.centre_of_mass = {Vector3(0.2, 0.0, 0.0), 1.0, {true, true, false}};
  InverseKinematics ik(*model);
  const IkResult result = ik.solve(problem, Vector2(-0.5, 1.0));
  ASSERT_TRUE(result.reached);
  Data data(*model);
  forward_kinematics(*model, model->defaults, result.q, data);
  const double x = 0.5 * ((data.X_WB[1] * Vec3(0.5, 0, 0))[0] + (data.X_WB[2] * Vec3(0.5, 0, 0))[0]);
  EXPECT_NEAR(x, 0.2, 1e-6);
}

struct Share {
  int reached = 0, all = 0;
  double worst = 0.0;  // of those that were reached
};

// Targets that some configuration within the limits has, of random robots with all joints.
Share reach(int models, bool with_turn) {
  std::mt19937_64 random(with_turn ? 11 : 12);
  Share share;
  for (int i = 0; i < models; ++i) {
    RandomModelOptions options;
    options.bodies = 8;
    const ModelPtr model = random_bound_model(random, options);
    VectorX wanted = random_state(*model, random).q;
    for (int j = 0; j < model->njoint; ++j) {
      const Joint& joint = model->joints[static_cast<std::size_t>(j)];
      if (!joint.limited) continue;
      const int k = model->joint_q[static_cast<std::size_t>(j)];
      if (is_scalar(joint)) wanted[k] = std::clamp(wanted[k], joint.range[0], joint.range[1]);
      if (joint.type == JointType::kBall) wanted.segment<4>(k) = model->reference_q.segment<4>(k);
    }
    Data data(*model);
    forward_kinematics(*model, model->defaults, wanted, data);
    IkProblem problem;
    const int body = model->nbody - 1;
    if (model->body_last_dof[static_cast<std::size_t>(body)] < 0) continue;
    const Vector3 point = 0.2 * random_vector3(random);
    problem.points.push_back({body, point, (data.X_WB[static_cast<std::size_t>(body)] * Vec3(point)).eigen()});
    if (with_turn) problem.turns.push_back({body, Quaternion(data.X_WB[static_cast<std::size_t>(body)].R.eigen())});
    InverseKinematics ik(*model);
    const IkResult result = ik.solve(problem, model->reference_q);
    ++share.all;
    for (int j = 0; j < model->njoint; ++j) {  // whatever happens, limits hold
      const Joint& joint = model->joints[static_cast<std::size_t>(j)];
      if (!joint.limited || !is_scalar(joint)) continue;
      const double q = result.q[model->joint_q[static_cast<std::size_t>(j)]];
      EXPECT_GE(q, joint.range[0] - 1e-12);
      EXPECT_LE(q, joint.range[1] + 1e-12);
    }
    // What it says is true.
    forward_kinematics(*model, model->defaults, result.q, data);
    const Vector3 there = (data.X_WB[static_cast<std::size_t>(body)] * Vec3(point)).eigen();
    EXPECT_NEAR((there - problem.points[0].position).norm(), result.position_error, 1e-9);
    if (!result.reached) continue;
    ++share.reached;
    share.worst = std::max({share.worst, result.position_error, result.angle_error});
  }
  return share;
}

TEST(InverseKinematics, ReachesPointsOfRandomRobots) {
  const Share share = reach(150, false);
  RecordProperty("reached", share.reached);
  EXPECT_GE(share.reached, share.all * 98 / 100) << share.reached << " of " << share.all;
  EXPECT_LE(share.worst, 1e-6);
}

TEST(InverseKinematics, ReachesPosesOfRandomRobots) {
  const Share share = reach(150, true);
  RecordProperty("reached", share.reached);
  EXPECT_GE(share.reached, share.all * 90 / 100) << share.reached << " of " << share.all;
  EXPECT_LE(share.worst, 1e-6);
}

TEST(InverseKinematics, KeepsFixedDofsAndGivesTheSameBits) {
  const ModelPtr model = load_mjcf_string(kArm);
  IkProblem problem;
  problem.points.push_back({2, Vector3(1, 0, 0), Vector3(0.8, 0, 1.9)});
  problem.fixed_dofs = {1};
  InverseKinematics ik(*model);
  const IkResult result = ik.solve(problem, Vector2(0.0, 0.5));
  EXPECT_EQ(result.q[1], 0.5);
  EXPECT_FALSE(result.reached);
  EXPECT_EQ(ik.solve(problem, Vector2(0.0, 0.5)).q, result.q);
}

TEST(InverseKinematics, RefusesWhatIsNotThere) {
  const ModelPtr model = load_mjcf_string(kArm);
  InverseKinematics ik(*model);
  IkProblem problem;
  EXPECT_THROW(ik.solve(problem, Vector2(0.0, 0.5)), Error);
  problem.points.push_back({7, Vector3::Zero(), Vector3::Zero()});
  EXPECT_THROW(ik.solve(problem, Vector2(0.0, 0.5)), Error);
  problem.points[0].body = 1;
  problem.points[0].position[1] = std::nan("");
  EXPECT_THROW(ik.solve(problem, Vector2(0.0, 0.5)), Error);
}

}  // namespace
}  // namespace touchstone::test
