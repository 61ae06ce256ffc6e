// Gravity compensation, springs and actuators of tendons and limits of the actuator forces of joints in the batched
// backend, on random trees against the simulator; sizes of shapes that worlds have of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone::test {
namespace {

double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// Two branches on a base. Tendons run over joints of one branch, with and without a dead band.
struct Tree {
  ModelBuilder builder{"tree"};
  std::vector<int> branch[2];  // joints

  Tree(std::mt19937_64& random, bool limits) {
    const auto body = [&](int parent) {
      return builder.add_body(
          {.parent = parent,
           .pose = {Vector3(0.2, 0.0, 0.1) + 0.05 * random_vector3(random), so3_exp(random_vector3(random))},
           .inertia = {.mass = uniform(random, 0.5, 2.0),
                       .com = 0.1 * random_vector3(random),
                       .inertia = Vector3(0.02, 0.03, 0.04).asDiagonal()},
           .gravity_compensation = random() % 2 == 0 ? uniform(random, -0.5, 1.5) : 0.0});
    };
    const int base = body(0);
    if (random() % 2 == 0) builder.add_joint({.body = base, .type = JointType::kFree});
    for (std::vector<int>& joints : branch) {
      int parent = base;
      for (int k = 0; k < 3; ++k) {
        parent = body(parent);
        joints.push_back(builder.add_joint(
            {.body = parent,
             .type = k == 1 ? JointType::kSlide : JointType::kHinge,
             .axis = random_vector3(random).normalized(),
             .damping = uniform(random, 0.0, 0.5),
             .actuator_force_limited = limits && random() % 3 != 0,
             .actuator_force_range = Vector2(uniform(random, -3.0, -0.2), uniform(random, 0.2, 3.0))}));
        add_actuator(random, joints.back());
      }
    }
  }

  // At a joint or tendon. Returns it.
  int add_actuator(std::mt19937_64& random, int target, TransmissionType transmission = TransmissionType::kJoint,
                   double limit = 0.0) {
    Actuator actuator{.transmission = transmission, .target = target};
    actuator.force_limited = limit > 0.0;
    actuator.force_range = Vector2(-limit, limit);
    actuator.gear[0] = uniform(random, 0.5, 3.0) * (random() % 2 == 0 ? 1.0 : -1.0);
    actuator.gain[0] = uniform(random, 1.0, 30.0);
    if (random() % 2 == 0) {
      actuator.bias_type = ActuatorBias::kAffine;
      actuator.bias = {0.0, -actuator.gain[0], -uniform(random, 0.0, 2.0)};
    }
    return builder.add_actuator(actuator);
  }

  // Tendons with two actuators each, some with limits of force; every other one joins the branches.
  void add_pulls(std::mt19937_64& random) {
    for (int k = 0; k < 4; ++k) {
      Tendon tendon;
      for (int i = 0; i < 2; ++i) {
        if (random() % 3 != 0) tendon.terms.push_back({branch[k / 2][at(i)], uniform(random, -1.0, 1.0)});
      }
      tendon.terms.push_back({branch[k % 2][2], uniform(random, 0.5, 1.0)});
      const int added = builder.add_tendon(tendon);
      for (int u = 0; u < 2; ++u)
        add_actuator(random, added, TransmissionType::kTendon, random() % 2 == 0 ? uniform(random, 0.5, 20.0) : 0.0);
    }
  }

  void add_tendons(std::mt19937_64& random) {
    for (const std::vector<int>& joints : branch) {
      Tendon tendon{.stiffness = random() % 4 == 0 ? 0.0 : uniform(random, 1.0, 300.0),
                    .spring_length = random() % 2 == 0 ? Vector2(0.1, 0.1) : Vector2(0.0, 0.3),
                    .damping = random() % 3 == 0 ? 0.0 : uniform(random, 0.1, 5.0)};
      for (const int joint : joints) {
        if (random() % 4 != 0) tendon.terms.push_back({joint, uniform(random, -1.0, 1.0)});
      }
      if (tendon.terms.empty()) tendon.terms.push_back({joints[2], 1.0});
      builder.add_tendon(tendon);
    }
  }
};

TEST(BackendPassive, FreeMotionIsThatOfTheSimulator) {
  std::mt19937_64 random(41);
  int springs = 0;
  for (int k = 0; k < (whole_family() ? 200 : 30); ++k) {
    Tree tree(random, false);
    tree.add_tendons(random);
    WorldFixture world(tree.builder.build());
    springs += world.model().sizes.tendon_springs;
    for (int round = 0; round < 3; ++round) {
      world.simulator().reset(random_state(world.simulator().model(), random));
      randomize_controls(world.simulator(), random);
      ASSERT_TRUE(world.prepare());
      EXPECT_LT(world.free_velocity_difference(), 1e-10) << "model " << k;
    }
  }
  EXPECT_GT(springs, 30);
}

// Steps of both engines from random states with random controls.
struct StepTally {
  int unlike = 0, tried = 0, bounded = 0;

  void compare(const ModelPtr& model, const SimulatorOptions& rules, std::mt19937_64& random) {
    Simulator sim(model, rules);
    gpu::BatchOptions options;
    options.tolerance = 1e-9;
    options.most_sweeps = 5000;
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, rules), 1, options);
    for (int round = 0; round < 3; ++round) {
      sim.reset(random_state(*model, random));
      randomize_controls(sim, random);
      batch->write(gpu::BatchField::kPosition, sim.state().q.data());
      batch->write(gpu::BatchField::kVelocity, sim.state().v.data());
      batch->write(gpu::BatchField::kControl, sim.input().control.data());
      batch->step(1);
      sim.step();
      bounded += batch->impulses(0).key.empty() ? 0 : 1;
      VectorX v(model->nv);
      batch->read(gpu::BatchField::kVelocity, v.data());
      ++tried;
      const double scale = std::max(1.0, sim.state().v.lpNorm<Eigen::Infinity>());
      if (!((v - sim.state().v).lpNorm<Eigen::Infinity>() < 1e-6 * scale)) ++unlike;
    }
  }
  void expect_alike() const {
    testing::Test::RecordProperty("bounded", bounded);
    EXPECT_GT(bounded, tried / 5);
    EXPECT_EQ(unlike, 0) << "of " << tried;
  }
};

// Motors and servos at joints whose actuator forces are limited: the step ends with the same velocities.
TEST(BackendPassive, LimitsOfActuatorForcesAreThoseOfTheSimulator) {
  std::mt19937_64 random(42);
  StepTally tally;
  for (int k = 0; k < (whole_family() ? 200 : 30); ++k)
    tally.compare(Tree(random, true).builder.build(), backend_options(), random);
  tally.expect_alike();
}

// Motors and servos at tendons: in the free motion, as blocks where they are limited or join branches, and in sensors.
TEST(BackendPassive, ActuatorsAtTendonsAreThoseOfTheSimulator) {
  std::mt19937_64 random(45);
  StepTally tally;
  for (int k = 0; k < (whole_family() ? 200 : 30); ++k) {
    Tree tree(random, false);
    if (k % 2 == 0) tree.add_tendons(random);
    tree.add_pulls(random);
    const ModelPtr model = tree.builder.build();
    WorldFixture world(model);
    EXPECT_EQ(world.model().sizes.tendon_actuators, 8);
    world.simulator().reset(random_state(*model, random));
    randomize_controls(world.simulator(), random);
    ASSERT_TRUE(world.prepare());
    EXPECT_LT(world.free_velocity_difference(), 1e-10) << "model " << k;
    SimulatorOptions rules = backend_options();
    if (k % 3 == 0) rules.integrator = Integrator::kMoreauMidpoint;
    tally.compare(model, rules, random);
  }
  tally.expect_alike();
}

// The pass takes servos at tendons for stiff: joints beyond their limits are brought back as in the simulator.
TEST(BackendPassive, ThePassKnowsServosAtTendons) {
  std::mt19937_64 random(46);
  SimulatorOptions rules = backend_options();
  rules.stabilisation.method = Stabilisation::kPosition;
  rules.tolerance = 1e-10;
  int moved = 0;
  for (int k = 0; k < (whole_family() ? 60 : 12); ++k) {
    Tree tree(random, false);
    tree.add_pulls(random);
    Joint& first = tree.builder.joint(tree.branch[0][0]);
    first.name = "first";
    first.limited = true;
    first.range = Vector2(-0.1, 0.1);
    const ModelPtr model = tree.builder.build();
    Simulator sim(model, rules);
    const auto batch =
        gpu::make_cpu_batch(make_model_arrays(*model, rules), 1, {.tolerance = 1e-11, .most_sweeps = 5000});
    State state = random_state(*model, random);
    state.v *= 0.05;
    state.q[model->joint_q[at(model->joint("first"))]] = 0.15;
    sim.reset(state);
    randomize_controls(sim, random);
    batch->write(gpu::BatchField::kPosition, state.q.data());
    batch->write(gpu::BatchField::kVelocity, state.v.data());
    batch->write(gpu::BatchField::kControl, sim.input().control.data());
    sim.step();
    batch->step(1);
    moved += sim.report().recovered ? 1 : 0;
    VectorX q(model->nq), apart(model->nv);
    batch->read(gpu::BatchField::kPosition, q.data());
    difference(*model, sim.state().q, q, apart);
    EXPECT_LT(apart.lpNorm<Eigen::Infinity>(), 1e-7) << "model " << k;
  }
  EXPECT_GT(moved, 8);
}

TEST(BackendPassive, WhatIsNotSupportedIsNamed) {
  std::mt19937_64 random(43);
  Tree tree(random, true);
  tree.builder.add_tendon(
      {.name = "across", .terms = {{tree.branch[0][2], 1.0}, {tree.branch[1][2], 1.0}}, .damping = 1.0});
  for (int u = 0; u < 6; ++u) tree.add_actuator(random, tree.branch[u % 2][u / 2]);
  const std::vector<std::string> complaints = unsupported_features(*tree.builder.build());
  EXPECT_THAT(complaints, testing::Contains(testing::HasSubstr("'across', whose joints do not lie on one path")));
  EXPECT_THAT(complaints, testing::Contains(testing::HasSubstr("which has several actuators")));
  Tree pulled(random, false);
  pulled.builder.joint(pulled.branch[0][1]).name = "slide";
  pulled.builder.joint(pulled.branch[0][1]).actuator_force_limited = true;
  const int tendon = pulled.builder.add_tendon({.name = "rope",
                                                .terms = {{pulled.branch[0][1], 1.0}},
                                                .actuator_force_limited = true,
                                                .actuator_force_range = Vector2(-1.0, 1.0)});
  pulled.add_actuator(random, tendon, TransmissionType::kTendon);
  const std::vector<std::string> of_pull = unsupported_features(*pulled.builder.build());
  EXPECT_THAT(of_pull, testing::Contains(testing::HasSubstr("at tendon 'rope', whose actuator forces are limited")));
  EXPECT_THAT(of_pull, testing::Contains(testing::HasSubstr("which pulls at joint 'slide', whose actuator forces")));
}

// --- sizes ---

ModelPtr heap(const std::vector<Vector3>& sizes) {
  const ShapeType types[5] = {ShapeType::kSphere, ShapeType::kCapsule, ShapeType::kBox, ShapeType::kCylinder,
                              ShapeType::kEllipsoid};
  ModelBuilder builder("heap");
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const int body =
        builder.add_body({.pose = {Vector3(0.05 * static_cast<double>(k % 2), 0.0, 0.2 + 0.25 * static_cast<double>(k)),
                                   Quaternion::Identity()},
                          .inertia = {.mass = 1.0, .inertia = Vector3(0.01, 0.02, 0.03).asDiagonal()}});
    builder.add_joint({.body = body, .type = JointType::kFree});
    builder.add_shape({.body = body, .shape = {.type = types[k % 5], .size = sizes[k]}});
  }
  return builder.build();
}

// Worlds with sizes of their own move as batches of models with those sizes, bit by bit.
TEST(BackendSizes, WorldsHaveShapesOfTheirOwn) {
  std::mt19937_64 random(44);
  const auto draw = [&] {
    std::vector<Vector3> sizes(5);
    for (Vector3& size : sizes)
      size = {uniform(random, 0.05, 0.15), uniform(random, 0.05, 0.15), uniform(random, 0.05, 0.15)};
    return sizes;
  };
  const gpu::ModelArrays shared = make_model_arrays(*heap(draw()), backend_options());
  constexpr int kWorlds = 6;
  const auto batch = gpu::make_cpu_batch(shared, kWorlds);
  std::vector<gpu::ModelArrays> others;
  std::vector<double> all;
  for (int w = 0; w < kWorlds; ++w) {
    others.push_back(make_model_arrays(*heap(draw()), backend_options()));
    all.insert(all.end(), others.back().shape_size.begin(), others.back().shape_size.end());
  }
  batch->set_parameter(gpu::WorldParameter::kShapeSize, all.data());
  batch->step(400);
  const int nq = shared.sizes.nq;
  std::vector<double> q(static_cast<std::size_t>(kWorlds * nq)), alone(static_cast<std::size_t>(nq));
  batch->read(gpu::BatchField::kPosition, q.data());
  for (int w = 0; w < kWorlds; ++w) {
    const auto other = gpu::make_cpu_batch(others[at(w)], 1);
    other->step(400);
    other->read(gpu::BatchField::kPosition, alone.data());
    for (int i = 0; i < nq; ++i) EXPECT_EQ(q[at(w * nq + i)], alone[at(i)]) << "world " << w << ", number " << i;
  }
}

TEST(BackendSizes, WhatHasNoSizeIsRefused) {
  const gpu::ModelArrays arrays = make_model_arrays(*heap({Vector3(0.1, 0.1, 0.1)}), backend_options());
  const auto batch = gpu::make_cpu_batch(arrays, 1);
  std::vector<double> sizes = arrays.shape_size;
  ASSERT_EQ(arrays.shape_type[0], gpu::kPlaneShape);
  sizes[0] += 1.0;
  const auto message = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message([&] { batch->set_parameter(gpu::WorldParameter::kShapeSize, sizes.data()); }),
              testing::HasSubstr("number 0"));
  EXPECT_THAT(message([&] { batch->set_parameter(gpu::WorldParameter::kShapeRadius, sizes.data()); }),
              testing::HasSubstr("shape_size"));
  EXPECT_THAT(message([&] { batch->parameter_data(gpu::WorldParameter::kShapeSize); }),
              testing::HasSubstr("set_parameter"));
}

}  // namespace
}  // namespace touchstone::test
