// Maximal coordinates: the same accelerations, forces and reactions as in reduced ones, states that come back, motions
// that meet as the step shrinks.
#include "touchstone/dynamics/maximal.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "support/effort.hpp"
#include "support/maximal_compare.hpp"
#include "support/random_model.hpp"
#include "support/robot_runs.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/assemble.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/loop_reading.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

// --- random trees of every joint and combination that has a loop joint ---

class TreeMaker {
 public:
  explicit TreeMaker(unsigned seed) : random_(seed) {}

  ModelPtr make(int bodies, bool with_forces, bool with_couplings = true) {
    with_forces_ = with_forces;
    ModelBuilder builder("tree");
    std::vector<int> joints;
    for (int i = 0; i < bodies; ++i) {
      const int parent = i == 0 ? 0 : std::max(0, i - choose(3));
      const Shape box{.type = ShapeType::kBox, .size = {uniform(0.05, 0.2), uniform(0.05, 0.2), uniform(0.05, 0.2)}};
      const Transform X{0.1 * test::random_vector3(random_), so3_exp(test::random_vector3(random_))};
      const int body = builder.add_body({.parent = parent,
                                         .pose = {0.3 * test::random_vector3(random_), turn()},
                                         .inertia = transformed(X, mass_properties(box, 500.0))});
      add_joints(builder, body, joints);
    }
    if (with_forces) add_relations(builder, joints, with_couplings);
    return builder.build();
  }

 private:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  int choose(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  Quaternion turn() { return so3_exp(test::random_vector3(random_)); }

  Joint joint(int body, JointType type, const Vector3& axis, const Vector3& anchor) {
    Joint j{.body = body, .type = type, .axis = axis, .anchor = anchor};
    if (type != JointType::kBall) j.reference = uniform(-0.5, 0.5);
    if (type == JointType::kScrew) j.pitch = uniform(-0.2, 0.2);
    if (with_forces_) {
      j.stiffness = uniform(0.0, 20.0);
      if (type != JointType::kBall) j.spring_reference = uniform(-0.3, 0.3);
      j.damping = uniform(0.0, 1.0);
      j.armature = uniform(0.0, 0.1);
    }
    return j;
  }
  void add_joints(ModelBuilder& b, int body, std::vector<int>& joints) {
    const Matrix3 R = turn().toRotationMatrix();
    const Vector3 x = R.col(0), y = R.col(1), z = R.col(2), p = 0.1 * test::random_vector3(random_);
    const auto add = [&](JointType type, const Vector3& axis) {
      const int j = b.add_joint(joint(body, type, axis, p));
      if (type != JointType::kBall) joints.push_back(j);
    };
    constexpr JointType kHinge = JointType::kHinge, kSlide = JointType::kSlide;
    switch (choose(10)) {
      case 0:
        return add(kSlide, z);
      case 1:
        return add(JointType::kScrew, z);
      case 2:
        return add(JointType::kBall, z);
      case 3:
        add(kSlide, choose(2) == 0 ? z : Vector3(-z));
        return add(kHinge, z);
      case 4:
        add(kHinge, z);
        return add(kHinge, x);
      case 5:
        add(kHinge, z);
        add(kHinge, x);
        return add(kHinge, choose(2) == 0 ? y : Vector3(-y));
      case 6:
        add(kSlide, x);
        add(kSlide, y);
        return add(kHinge, choose(2) == 0 ? z : Vector3(-z));
      case 7:
        add(kSlide, x);
        add(kSlide, y);
        return add(kSlide, choose(2) == 0 ? z : Vector3(-z));
      default:
        return add(kHinge, z);
    }
  }
  void add_relations(ModelBuilder& b, const std::vector<int>& joints, bool with_couplings) {
    for (std::size_t k = 0; k < joints.size(); k += 2) {
      Actuator servo{.target = joints[k]};
      servo.gear[0] = uniform(0.5, 2.0);
      servo.bias_type = ActuatorBias::kAffine;
      servo.gain = {50.0, 0.0, 0.0};
      servo.bias = {0.0, -50.0, -1.0};
      b.add_actuator(servo);
    }
    for (std::size_t k = 1; with_couplings && k + 1 < joints.size(); k += 4) {
      b.add_equality(
          {.type = EqualityType::kJoint, .a = joints[k], .b = joints[k + 1], .polynomial = {0.05, 0.5, 0.2, 0.1, 0.0}});
    }
  }

  std::mt19937_64 random_;
  bool with_forces_ = false;
};

State random_tree_state(const Model& model, std::mt19937_64& random) {
  State state(model);
  random_configuration(model, random, state.q);
  std::uniform_real_distribution<double> angle(-1.2, 1.2);  // a gimbal has no angles beyond a right one
  for (int j = 0; j < model.njoint; ++j) {
    const Joint& joint = model.joints[at(j)];
    if (is_scalar(joint)) state.q[model.joint_q[at(j)]] = joint.reference + angle(random);
  }
  state.v = test::random_vector(model.nv, random);
  return state;
}

TEST(Maximal, AccelerationsAndReactionsOfRandomTreesAreThoseOfReducedCoordinates) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (const bool with_forces : {false, true}) {
      const ModelPtr reduced = TreeMaker(seed).make(2 + static_cast<int>(seed) % 6, with_forces);
      const ModelPtr maximal = to_maximal(*reduced);
      std::mt19937_64 random(seed);
      test::MaximalFigures worst;
      for (int k = 0; k < 20; ++k)
        test::compare_coordinates(reduced, maximal, random_tree_state(*reduced, random), true, worst);
      EXPECT_LT(worst.acceleration, 1e-8) << seed << ' ' << with_forces;
      EXPECT_LT(worst.reaction, 1e-8) << seed << ' ' << with_forces;
    }
  }
}

TEST(Maximal, StatesComeBack) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const ModelPtr reduced = TreeMaker(seed).make(6, true), maximal = to_maximal(*reduced);
    std::mt19937_64 random(seed);
    State state = random_tree_state(*reduced, random);
    for (int j = 0; j < reduced->njoint; ++j) {  // turns are kept, but for gimbals, whose angles are no longer known
      const Joint& joint = reduced->joints[at(j)];
      if (joint.type == JointType::kHinge && reduced->body_kernels[at(joint.body)].joint_count < 3) {
        state.q[reduced->joint_q[at(j)]] += 4.0 * M_PI;
      }
    }
    const State back = to_reduced_state(*reduced, *maximal, to_maximal_state(*reduced, *maximal, state));
    for (int j = 0; j < reduced->njoint; ++j) {
      const int q = reduced->joint_q[at(j)];
      if (reduced->joints[at(j)].type != JointType::kBall) {
        EXPECT_NEAR(back.q[q], state.q[q], 1e-12) << seed << ' ' << j;
        continue;
      }
      const double dot = std::abs(back.q.segment<4>(q).dot(state.q.segment<4>(q).normalized()));
      EXPECT_NEAR(dot, 1.0, 1e-12);
    }
    EXPECT_LT((back.v - state.v).norm(), 1e-11 * (1.0 + state.v.norm())) << seed;
  }
}

// Positions of bodies in maximal coordinates less those in reduced ones, after `seconds` of both.
VectorX difference_after(const ModelPtr& reduced, const ModelPtr& maximal, const State& start, double h,
                         double seconds) {
  SimulatorOptions options{.time_step = h};
  options.stabilisation.loops = LoopClosing::kClosed;  // the pass leaves 1e-6 m, whatever the step
  Simulator a(reduced, options), b(maximal, options);
  a.reset(start);
  b.reset(to_maximal_state(*reduced, *maximal, start));
  const int steps = static_cast<int>(std::lround(seconds / h));
  for (int i = 0; i < steps; ++i) {
    EXPECT_EQ(a.step().status, StepStatus::kOk);
    EXPECT_EQ(b.step().status, StepStatus::kOk);
  }
  const State there = to_maximal_state(*reduced, *maximal, a.state());
  VectorX difference(3 * (maximal->nbody - 1));
  for (int body = 1; body < maximal->nbody; ++body) {
    const int q = maximal->joint_q[at(maximal->body_kernels[at(body)].first_joint)];
    difference.segment<3>(3 * (body - 1)) = b.state().q.segment<3>(q) - there.q.segment<3>(q);
  }
  return difference;
}

// The difference to reduced coordinates is of first order, and nothing is left of it where the step vanishes: less than
// 1e-5 m at one second by Richardson's extrapolation.
TEST(Maximal, MotionsMeetAsTheStepShrinks) {
  const unsigned count = test::whole_family() ? 20 : 1;
  const double seconds = test::whole_family() ? 1.0 : 0.05;
  for (unsigned seed = 0; seed < count; ++seed) {
    const ModelPtr reduced = TreeMaker(100 + seed).make(3, true, false), maximal = to_maximal(*reduced);
    std::mt19937_64 random(seed);
    State state = random_tree_state(*reduced, random);
    state.v *= 0.3;
    const auto at_step = [&](double h) { return difference_after(reduced, maximal, state, h, seconds); };
    const VectorX one = at_step(5e-4), half = at_step(2.5e-4), quarter = at_step(1.25e-4);
    const VectorX left = (8.0 * quarter - 6.0 * half + one) / 3.0;
    std::cout << seed << ": " << one.lpNorm<Eigen::Infinity>() << ", ratios " << one.norm() / half.norm() << ' '
              << half.norm() / quarter.norm() << ", left " << left.lpNorm<Eigen::Infinity>() << '\n';
    EXPECT_NEAR(half.norm() / quarter.norm(), 2.0, 0.1) << seed;
    EXPECT_LT(left.lpNorm<Eigen::Infinity>(), 1e-5) << seed;
  }
}

// What a file says by a ratio was resolved by the inertia of the tree, not by that of bodies that nothing joins; and
// what a keyframe says of turns is kept.
TEST(Maximal, KeepsDampingRatiosAndTurnsOfKeyframes) {
  const ModelPtr reduced = load_mjcf_string(R"(
    <mujoco>
      <worldbody>
        <body name="upper"><joint name="shoulder" axis="0 1 0" range="0 280" limited="true" armature="0.1"/>
          <geom type="capsule" size="0.03" fromto="0 0 0 0.4 0 0"/>
          <body name="lower" pos="0.4 0 0"><joint name="elbow" axis="0 1 0"/>
            <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/></body></body>
      </worldbody>
      <actuator><position joint="shoulder" kp="80" dampratio="1"/><position joint="elbow" kp="20" dampratio="0.7"/></actuator>
      <keyframe><key name="up" qpos="4.5 0.2"/></keyframe>
    </mujoco>)");
  const ModelPtr maximal = to_maximal(*reduced);
  for (int u = 0; u < 2; ++u) {
    EXPECT_LT(reduced->actuators[at(u)].bias[2], -0.1);
    EXPECT_EQ(maximal->actuators[at(u)].bias, reduced->actuators[at(u)].bias);
  }
  Simulator sim(maximal, {.time_step = 1e-3});
  sim.reset("up");
  EXPECT_NEAR(to_reduced_state(*reduced, *maximal, sim.state()).q[0], 4.5, 1e-12);
  sim.step();
  EXPECT_NEAR(sim.loop_joint("shoulder").position[0], 4.5, 1e-2);
  EXPECT_LT(sim.report().violation, 1e-6);
}

// The limit of a joint's force that gravity compensation counts for has no counterpart.
TEST(Maximal, SaysThatLimitsNoLongerCountGravityCompensation) {
  const auto warnings = [](const char* limit) {
    const ModelPtr reduced = load_mjcf_string(std::string("<mujoco><worldbody><body gravcomp='1'><joint name='a' "
                                                          "actuatorgravcomp='true' ") +
                                              limit + "/><geom size='0.1' pos='1 0 0'/></body></worldbody></mujoco>");
    return to_maximal(*reduced)->warnings.size() - reduced->warnings.size();
  };
  EXPECT_EQ(warnings("actuatorfrcrange='-1 1'"), 1U);
  EXPECT_EQ(warnings(""), 0U);
}

// Every solver makes every step of chains in maximal coordinates, or says that it has not reached its tolerance: sweeps
// need more of them the longer a chain is. Compliant laws are soft in loops, too, so they miss those of hard contact by
// design; what should vanish there is the residual of their own law.
TEST(Maximal, EverySolverRunsOnChainsOrSaysWhyNot) {
  for (const int links : {5, 20}) {
    ModelBuilder b("chain");
    for (int i = 0; i < links; ++i) {
      const Matrix3 inertia = Vector3(1e-4, 2e-4, 2e-4).asDiagonal();
      const int link = b.add_body({.name = fmt::format("link{}", i),
                                   .parent = i,
                                   .pose = Transform{{i == 0 ? 0.0 : 0.1, 0, 0}},
                                   .inertia = {0.1, {0.05, 0, 0}, inertia}});
      b.add_joint({.name = fmt::format("hinge{}", i), .body = link, .axis = Vector3::Unit(1 + i % 2)});
    }
    const ModelPtr maximal = to_maximal(*b.build());
    for (const CatalogueEntry& entry : solver_catalogue()) {
      SimulatorOptions options{.time_step = 1e-3};
      options.solver = entry.name;
      Simulator sim(maximal, options);
      int solved = 0;
      for (int k = 0; k < 20; ++k) {
        const StepReport& report = sim.step();
        ASSERT_NE(report.status, StepStatus::kDiverged) << entry.name << ", " << links;
        ASSERT_LT(report.violation, 1e-4) << entry.name << ", " << links;
        if (report.status != StepStatus::kOk) continue;
        ++solved;
        const double residual = entry.law ? report.residuals.law_natv_relative : report.residuals.natv_relative;
        EXPECT_LT(residual, 1e-4) << entry.name << ", " << links;
      }
      const bool sweeps = entry.algorithm.find("Seidel") != std::string_view::npos ||
                          entry.name.starts_with("raisim") || entry.name == "ncp-prox";
      if (!sweeps || links == 5) {
        EXPECT_EQ(solved, 20) << entry.name << ", " << links;
      }
    }
  }
}

// Bodies that a joint holds together do not collide, also where the last of their shapes is there to be seen alone.
TEST(Maximal, NeighboursDoNotCollide) {
  ModelBuilder b("arm");
  const Shape ball{.type = ShapeType::kSphere, .size = Vector3::Constant(0.1)};
  int parent = 0;
  for (int i = 0; i < 3; ++i) {
    parent = b.add_body({.parent = parent, .inertia = mass_properties(ball, 1000.0)});
    b.body(parent).pose.position = Vector3(0.15, 0.0, 0.0);  // neighbours overlap
    b.add_joint({.body = parent, .axis = Vector3::UnitY()});
    b.add_shape({.body = parent, .shape = ball});
    b.add_shape({.body = parent, .shape = ball, .visual_only = true});
  }
  const ModelPtr reduced = b.build();
  for (const ModelPtr& model : {reduced, to_maximal(*reduced)}) {
    Simulator sim(model);
    EXPECT_EQ(sim.step().contacts, 0) << model->nv;
  }
}

TEST(Maximal, WhatHasNoLoopJointIsNamed) {
  const auto message = [](const std::string& body) {
    try {
      to_maximal(*load_mjcf_string("<mujoco><worldbody><body name='arm'>" + body + "</body></worldbody></mujoco>"));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("<joint name='a' axis='1 0 0'/><joint name='b' axis='1 1 0'/><geom size='0.1'/>").find("'arm'"),
            std::string::npos);
  ModelBuilder builder;
  const int arm = builder.add_body({.name = "arm"});
  const Shape ball{.type = ShapeType::kSphere, .size = Vector3::Constant(0.1)};
  const int hand = builder.add_body({.name = "hand", .parent = arm, .inertia = mass_properties(ball, 1000.0)});
  builder.body(hand).pose.position = Vector3(0.0, 0.0, 1.0);
  builder.add_joint({.body = arm, .axis = Vector3::UnitX()});
  builder.add_joint({.body = hand, .axis = Vector3::UnitY()});
  try {
    to_maximal(*builder.build());
    ADD_FAILURE() << "a body without mass moves freely";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("body 'arm'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("no mass"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace touchstone
