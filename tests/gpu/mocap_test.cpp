// Mocap bodies in the batched backend: things lie on them, are pushed by them, and hang on them, as in the simulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::test {
namespace {

const Shape kBall{.type = ShapeType::kSphere, .size = Vector3(0.12, 0, 0)};
const Shape kBox{.type = ShapeType::kBox, .size = Vector3(0.15, 0.1, 0.08)};

// A tray and a hand that users move, the hand with a finger fixed to it; an arm on a third one; a ball and a box.
ModelPtr pushed() {
  ModelBuilder builder("pushed");
  const auto carried = [&](const char* name, double x) {
    return builder.add_body({.name = name, .pose = {Vector3(x, 0, 0), Quaternion::Identity()}, .mocap = true});
  };
  const int tray = carried("tray", 0.0), hand = carried("hand", 0.3), mount = carried("mount", -0.6);
  builder.add_shape({.body = tray, .shape = {.type = ShapeType::kBox, .size = Vector3(0.4, 0.4, 0.05)}});
  const int finger = builder.add_body({.parent = hand, .pose = {Vector3(0, 0, 0.2), so3_exp(Vector3(0.4, 0, 0))}});
  builder.add_shape({.body = finger, .shape = {.type = ShapeType::kCapsule, .size = Vector3(0.05, 0.15, 0)}});
  int parent = mount;
  for (int k = 0; k < 2; ++k) {
    parent = builder.add_body({.parent = parent,
                               .pose = {Vector3(0.25, 0.05, 0), Quaternion::Identity()},
                               .inertia = mass_properties(kBall, 500.0)});
    builder.add_joint({.body = parent, .axis = k == 0 ? Vector3(0, 1, 0) : Vector3(0.6, 0, 0.8), .damping = 0.1});
    // Off the axis of its hinge: what presses on that moves nothing.
    builder.add_shape({.body = parent, .pose = {Vector3(0.1, 0.02, 0.03), Quaternion::Identity()}, .shape = kBall});
  }
  for (const Shape& shape : {kBall, kBox}) {
    const int body = builder.add_body({.inertia = mass_properties(shape, 500.0)});
    builder.add_joint({.body = body, .type = JointType::kFree});
    builder.add_shape({.body = body, .shape = shape});
  }
  return builder.build();
}

void scatter(const Model& model, std::mt19937_64& random, State& state) {
  for (Transform& X : state.mocap)
    X = {X.position + 0.05 * random_vector3(random), so3_exp(0.3 * random_vector3(random)) * X.rotation};
  for (int j = 0; j < model.njoint; ++j) {
    if (model.joints[at(j)].type != JointType::kFree) continue;
    const int q = model.joint_q[at(j)];
    const Quaternion turn = so3_exp(random_vector3(random));
    state.q.segment<3>(q) = Vector3(0.15 * (j % 2), 0.0, 0.15) + 0.05 * random_vector3(random);
    state.q.segment<4>(q + 3) << turn.w(), turn.vec();
  }
}

TEST(BackendMocap, BodiesAreTouchedAndCarryTrees) {
  std::mt19937_64 random(17);
  WorldFixture world(pushed());
  const Model& model = world.simulator().model();
  const int states = whole_family() ? 400 : 60;
  int touched = 0, missed = 0, compared = 0, unlike = 0;
  for (int k = 0; k < states; ++k) {
    State state = random_state(model, random);
    scatter(model, random, state);
    world.simulator().reset(state);
    ASSERT_TRUE(world.prepare());
    EXPECT_LT(world.free_velocity_difference(), 1e-10) << "state " << k;
    const auto contacts = world.simulator().context().contacts();
    touched += std::any_of(contacts.begin(), contacts.end(),
                           [&](const Contact& c) {
                             return model.body_last_dof[at(c.body_a)] < 0 || model.body_last_dof[at(c.body_b)] < 0;
                           })
                   ? 1
                   : 0;
    if (!(world.contact_difference() < 1e-6)) {
      ++missed;
      continue;
    }
    if (!(world.solve(1e-8, 4000) < 1e-8)) continue;
    // Squeezed from two sides: the simulator gives the recovery up (docs/gpu.md).
    if (world.simulator().context().report.warnings.recovery_conflict) continue;
    ++compared;
    EXPECT_LT(world.certified(), 1e-6) << "state " << k;
    if (!(world.velocity_difference() < 1e-5)) ++unlike;  // impulses need not be unique
  }
  EXPECT_GT(touched, states / 2);
  EXPECT_GT(compared, states / 2);
  EXPECT_LE(missed, 1 + states / 50);
  EXPECT_LE(unlike, 1 + states / 50);
}

// Worlds whose trays are elsewhere: each moves as a simulator with that tray.
TEST(BackendMocap, EachWorldHasItsOwnPoses) {
  std::mt19937_64 random(18);
  const ModelPtr model = pushed();
  constexpr int kWorlds = 12;
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), kWorlds,
                                         {.tolerance = 1e-10, .most_sweeps = 4000});
  std::vector<State> states;
  std::vector<double> poses, q, v;
  for (int w = 0; w < kWorlds; ++w) {
    states.push_back(random_state(*model, random));
    states.back().v *= 0.1;
    scatter(*model, random, states.back());
    for (const Transform& X : states.back().mocap)
      poses.insert(poses.end(), {X.position.x(), X.position.y(), X.position.z(), X.rotation.w(), X.rotation.x(),
                                 X.rotation.y(), X.rotation.z()});
    q.insert(q.end(), states.back().q.begin(), states.back().q.end());
    v.insert(v.end(), states.back().v.begin(), states.back().v.end());
  }
  batch->set_parameter(gpu::WorldParameter::kMocapPose, poses.data());
  batch->write(gpu::BatchField::kPosition, q.data());
  batch->write(gpu::BatchField::kVelocity, v.data());
  bool solved[kWorlds];
  std::fill(solved, solved + kWorlds, true);
  for (int step = 0; step < 3; ++step) {
    int status[kWorlds];
    batch->step(1);
    batch->read(gpu::BatchField::kStatus, status);
    for (int w = 0; w < kWorlds; ++w) solved[w] = solved[w] && status[w] == 0;
  }
  EXPECT_GE(std::count(solved, solved + kWorlds, true), kWorlds / 2);
  batch->read(gpu::BatchField::kPosition, q.data());
  for (int w = 0; w < kWorlds; ++w) {
    if (!solved[w]) continue;  // squeezed between tray and finger
    Simulator sim(model, backend_options());
    sim.reset(states[at(w)]);
    sim.step(3);
    const Eigen::Map<const VectorX> own(q.data() + static_cast<std::ptrdiff_t>(w) * model->nq, model->nq);
    EXPECT_LT((own - sim.state().q).lpNorm<Eigen::Infinity>(), 1e-7) << "world " << w;
  }
}

// A connect, a weld and loop joints to mocap bodies and to what is fixed to them.
ModelPtr held(std::mt19937_64& random) {
  ModelBuilder builder("held");
  const int hand = builder.add_body({.name = "hand", .mocap = true});
  const int finger = builder.add_body({.parent = hand, .pose = {0.2 * random_vector3(random)}});
  const int other =
      builder.add_body({.name = "other", .pose = {Vector3(1.0, 0, 0), Quaternion::Identity()}, .mocap = true});
  const auto add_free = [&] {
    const int body = builder.add_body({.pose = {random_vector3(random)}, .inertia = mass_properties(kBox, 500.0)});
    builder.add_joint({.body = body, .type = JointType::kFree});
    return body;
  };
  builder.add_equality({.type = EqualityType::kConnect,
                        .a = finger,
                        .b = add_free(),
                        .anchor_a = random_vector3(random),
                        .anchor_b = 0.2 * random_vector3(random)});
  Equality weld{.type = EqualityType::kWeld, .a = add_free(), .b = hand, .anchor_a = 0.2 * random_vector3(random)};
  weld.relative_pose = {0.1 * random_vector3(random), so3_exp(0.5 * random_vector3(random))};
  builder.add_equality(weld);
  for (const LoopJointType type : {LoopJointType::kRevolute, LoopJointType::kDistance}) {
    LoopJoint joint{.type = type, .body_a = finger, .body_b = add_free(), .length = 0.3};
    joint.frame_a = {0.1 * random_vector3(random), so3_exp(random_vector3(random))};
    if (type == LoopJointType::kDistance) std::swap(joint.body_a, joint.body_b);
    builder.add_loop_joint(joint);
  }
  // Between two that are carried, by way of a tree. What can be reached: else the simulator gives recovery up.
  const int arm = builder.add_body({.parent = other, .inertia = mass_properties(kBox, 500.0)});
  builder.add_joint({.body = arm, .type = JointType::kBall});
  LoopJoint rod{.type = LoopJointType::kDistance, .body_a = hand, .body_b = arm, .length = 0.9};
  rod.frame_b.position = Vector3(-0.3, 0.1, 0);
  builder.add_loop_joint(rod);
  return builder.build();
}

// Users move the bodies in every step, once in a while to somewhere else: each world as a simulator.
TEST(BackendMocap, LoopsFollowThem) {
  std::mt19937_64 random(19);
  constexpr int kWorlds = 6, kSteps = 12, kReset = 7;
  const int models = whole_family() ? 30 : 4;
  for (int trial = 0; trial < models; ++trial) {
    const ModelPtr model = held(random);
    ASSERT_THAT(unsupported_features(*model, backend_options()), testing::IsEmpty());
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), kWorlds,
                                           {.tolerance = 1e-10, .most_sweeps = 100});
    std::vector<Simulator> sims;
    for (int w = 0; w < kWorlds; ++w) sims.emplace_back(model, backend_options());
    std::vector<double> q(at(kWorlds * model->nq)), poses;
    for (int step = 0; step < kSteps; ++step) {
      const unsigned char mask[kWorlds] = {1, 0, 1, 0, 1, 0};
      if (step == kReset) {
        for (int w = 0; w < kWorlds; w += 2) sims[at(w)].reset();
        batch->reset({.mask = mask});
      }
      poses.clear();
      for (int w = 0; w < kWorlds; ++w) {
        for (Transform& X : sims[at(w)].state().mocap) {
          const double way = step == w ? 0.05 : 1e-3;  // 5 cm in a step are no motion
          X = {X.position + way * random_vector3(random), so3_exp(2e-3 * random_vector3(random)) * X.rotation};
          poses.insert(poses.end(), {X.position.x(), X.position.y(), X.position.z(), X.rotation.w(), X.rotation.x(),
                                     X.rotation.y(), X.rotation.z()});
        }
        sims[at(w)].step();
      }
      batch->set_parameter(gpu::WorldParameter::kMocapPose, poses.data());
      batch->step(1);
      batch->read(gpu::BatchField::kPosition, q.data());
      for (int w = 0; w < kWorlds; ++w) {
        const Eigen::Map<const VectorX> own(q.data() + static_cast<std::ptrdiff_t>(w) * model->nq, model->nq);
        EXPECT_LT((own - sims[at(w)].state().q).lpNorm<Eigen::Infinity>(), 1e-7)
            << "model " << trial << " step " << step << " world " << w;
      }
    }
  }
}

// Where an equality is switched off the midpoint rule still takes the bias at the mean of two velocities, but not
// beside a mocap body: in both cases as the simulator does.
TEST(BackendMocap, TheMidpointRuleIsTheSimulatorsWhereLoopsAreSwitchedOff) {
  for (const bool mocap : {false, true}) {
    ModelBuilder builder("arm");
    if (mocap) builder.add_body({.name = "hand", .pose = {Vector3(5, 0, 0), Quaternion::Identity()}, .mocap = true});
    int parent = 0, joints[2];
    for (int& joint : joints) {
      parent = builder.add_body({.parent = parent,
                                 .pose = {Vector3(0.3, 0, 0), Quaternion::Identity()},
                                 .inertia = mass_properties(kBox, 500.0)});
      joint = builder.add_joint({.body = parent, .axis = Vector3(0, 0.6, 0.8), .anchor = Vector3(-0.3, 0, 0)});
    }
    builder.add_equality({.type = EqualityType::kJoint, .a = joints[0], .b = joints[1]});
    builder.options().equalities_enabled = false;
    const ModelPtr model = builder.build();
    SimulatorOptions options = backend_options();
    options.integrator = Integrator::kMoreauMidpoint;
    const gpu::ModelArrays arrays = make_model_arrays(*model, options);
    EXPECT_EQ(arrays.sizes.old_velocity, mocap ? 0 : 4 * model->nv);
    const auto batch = gpu::make_cpu_batch(arrays, 1, {.tolerance = 1e-10, .most_sweeps = 100});
    Simulator sim(model, options);
    sim.state().v << 3.0, -5.0;
    batch->write(gpu::BatchField::kVelocity, sim.state().v.data());
    batch->step(200);
    sim.step(200);
    VectorX v(2);
    batch->read(gpu::BatchField::kVelocity, v.data());
    EXPECT_LT((v - sim.state().v).lpNorm<Eigen::Infinity>(), 1e-9) << (mocap ? "beside a mocap body" : "alone");
  }
}

}  // namespace
}  // namespace touchstone::test
