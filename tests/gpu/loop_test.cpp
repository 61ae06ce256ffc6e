// Loop joints in the batched backend against the simulator: rows, the pass that closes them, mechanisms, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "diff/random_loops.hpp"
#include "support/effort.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::test {
namespace {

using gpu::BatchField;
using Team = gpu::FullTeam<gpu::SerialTeam>;

class BackendLoopJoints : public testing::TestWithParam<LoopJointType> {};

// Trees that a joint of the type closes, open by centimetres: impulses and velocities of a step.
TEST_P(BackendLoopJoints, HoldWhatTheSimulatorHolds) {
  std::mt19937_64 random(41 + static_cast<unsigned>(GetParam()));
  const int wanted = whole_family() ? 100 : 10;
  int tried = 0;
  double most_error = 0.0;
  for (int k = 0; k < 4 * wanted && tried < wanted; ++k) {
    const auto [model, state] = joined(GetParam(), random, 0.05).close();
    if (!unsupported_features(*model, backend_options()).empty()) continue;
    ++tried;
    WorldFixture world(model);
    world.simulator().reset(state);
    ASSERT_TRUE(world.prepare());
    EXPECT_LT(world.free_velocity_difference(), 1e-10) << "model " << k;
    EXPECT_LT(world.solve(1e-9, 200), 1e-7) << "model " << k;
    EXPECT_LT(world.certified(), 1e-6) << "model " << k;
    const double fastest = world.simulator().context().v_next.lpNorm<Eigen::Infinity>();
    EXPECT_LT(world.velocity_difference(), 1e-6 * std::max(1.0, fastest)) << "model " << k;
    for (int r = 0; r < world.model().sizes.equality_rows; ++r)
      most_error = std::max(most_error, std::abs(gpu::equality_error<Team>(world.model(), world.scratch(), r)));
  }
  EXPECT_EQ(tried, wanted);
  EXPECT_GT(most_error, 5e-3);  // or values would not have been looked at
}

SimulatorOptions position_options(Integrator rule) {
  SimulatorOptions options = backend_options();
  options.integrator = rule;
  options.stabilisation.method = Stabilisation::kPosition;
  options.tolerance = 1e-10;
  return options;
}

// The same with the position pass: step by step the same configuration, and closed soon. Also by the midpoint rule,
// whose loops hold for a mean of velocities that worlds remember.
TEST_P(BackendLoopJoints, AreClosedByThePassAsInTheSimulator) {
  std::mt19937_64 random(71 + static_cast<unsigned>(GetParam()));
  const int wanted = whole_family() ? 60 : 12;
  int tried = 0;
  for (int k = 0; k < 4 * wanted && tried < wanted; ++k) {
    const auto [model, state] = joined(GetParam(), random, 0.002).close();
    const SimulatorOptions options =
        position_options(tried % 2 == 0 ? Integrator::kSemiImplicitEuler : Integrator::kMoreauMidpoint);
    if (!unsupported_features(*model, options).empty()) continue;
    ++tried;
    Simulator sim(model, options);
    const auto batch =
        gpu::make_cpu_batch(make_model_arrays(*model, options), 1, {.tolerance = 1e-11, .most_sweeps = 4000});
    sim.reset(state);
    batch->write(BatchField::kPosition, state.q.data());
    batch->write(BatchField::kVelocity, state.v.data());
    State own = state;
    bool moved = false;
    for (int step = 0; step < 20; ++step) {
      sim.step();
      batch->step(1);
      moved = moved || sim.report().recovered;
      batch->read(BatchField::kPosition, own.q.data());
      VectorX apart(model->nv);
      difference(*model, sim.state().q, own.q, apart);
      ASSERT_LT(apart.lpNorm<Eigen::Infinity>(), 1e-7) << "model " << k << " step " << step;
    }
    EXPECT_TRUE(moved) << "model " << k;
    WorldFixture world(model);
    world.simulator().reset(own);
    ASSERT_TRUE(world.prepare());
    // A pass closes to second order in the way of a step.
    for (int r = 0; r < world.model().sizes.equality_rows; ++r)
      EXPECT_LT(std::abs(gpu::equality_error<Team>(world.model(), world.scratch(), r)), 1e-4) << "model " << k;
  }
  EXPECT_EQ(tried, wanted);
}

INSTANTIATE_TEST_SUITE_P(Types, BackendLoopJoints,
                         testing::Values(LoopJointType::kFixed, LoopJointType::kRevolute, LoopJointType::kPrismatic,
                                         LoopJointType::kCylindrical, LoopJointType::kScrew, LoopJointType::kUniversal,
                                         LoopJointType::kGimbal, LoopJointType::kSpherical, LoopJointType::kPlanar,
                                         LoopJointType::kCartesian, LoopJointType::kDistance,
                                         LoopJointType::kPointOnLine, LoopJointType::kPointOnPlane),
                         [](const auto& type) { return std::string(to_string(type.param)); });

// --- what acts along the coordinates of loop joints ---

class BackendLoopCoordinates : public testing::TestWithParam<LoopJointType> {};

// Limits, dry friction, springs, dampers, armature, motors, servos and couplings: a step of random trees.
TEST_P(BackendLoopCoordinates, ActAsInTheSimulator) {
  std::mt19937_64 random(101 + static_cast<unsigned>(GetParam()));
  const int wanted = whole_family() ? 100 : 10;
  int limits = 0, springs = 0, servos = 0, unsolved = 0;
  for (int k = 0; k < wanted; ++k) {
    const auto [model, state] = looped(GetParam(), random, k % 2 == 1, 0.01);
    ASSERT_THAT(unsupported_features(*model, backend_options()), testing::IsEmpty());
    WorldFixture world(model);
    world.simulator().reset(state);
    randomize_controls(world.simulator(), random);
    ASSERT_TRUE(world.prepare());
    // Sweeps leave the compliance of rigid loops out, 1e-9 of what their bodies give way to.
    const double natv = world.solve(1e-9, 1000);
    EXPECT_LT(world.free_velocity_difference(), 1e-10) << "model " << k;  // with what motors give
    if (!(natv < 1e-7)) {  // where limits contradict each other, sweeps take long
      ++unsolved;
      continue;
    }
    EXPECT_LT(world.certified(), 1e-6) << "model " << k;
    const double fastest = world.simulator().context().v_next.lpNorm<Eigen::Infinity>();
    EXPECT_LT(world.velocity_difference(), 1e-6 * std::max(1.0, fastest)) << "model " << k;
    for (const Constraint& constraint : world.simulator().context().constraints.list) {
      limits += constraint.kind == ConstraintKind::kLoopLimit ? 1 : 0;
      springs += constraint.kind == ConstraintKind::kLoopSpring ? 1 : 0;
      servos += constraint.kind == ConstraintKind::kServo ? 1 : 0;
    }
  }
  EXPECT_LE(unsolved, 1 + wanted / 10);
  EXPECT_GE(limits, wanted / 4);
  EXPECT_GE(springs, wanted / 4);
  EXPECT_GE(servos, wanted / 4);
}

// Twenty steps with the position pass, which brings limits back but leaves springs alone, by both rules.
TEST_P(BackendLoopCoordinates, MoveAsInTheSimulatorWithThePass) {
  std::mt19937_64 random(131 + static_cast<unsigned>(GetParam()));
  const int wanted = whole_family() ? 60 : 12;
  int compared = 0;
  for (int k = 0; k < wanted; ++k) {
    const auto [model, state] = looped(GetParam(), random, k % 2 == 1, 0.002);
    const SimulatorOptions options =
        position_options(k % 4 < 2 ? Integrator::kSemiImplicitEuler : Integrator::kMoreauMidpoint);
    Simulator sim(model, options);
    const auto batch =
        gpu::make_cpu_batch(make_model_arrays(*model, options), 1, {.tolerance = 1e-9, .most_sweeps = 1000});
    sim.reset(state);
    randomize_controls(sim, random);
    batch->write(BatchField::kPosition, state.q.data());
    batch->write(BatchField::kVelocity, state.v.data());
    batch->write(BatchField::kControl, sim.input().control.data());
    State own = state;
    for (int step = 0; step < 20; ++step) {
      double natv = 0.0;
      sim.step();
      batch->step(1);
      batch->read(BatchField::kNatv, &natv);
      // Rows that contradict each other: rounding decides what the slack of the pass leaves.
      if (!(natv < 1e-7) || sim.report().warnings.recovery_conflict) break;
      ++compared;
      batch->read(BatchField::kPosition, own.q.data());
      batch->read(BatchField::kLoopCoordinates, own.loop_q.data());
      VectorX apart(model->nv);
      difference(*model, sim.state().q, own.q, apart);
      ASSERT_LT(apart.lpNorm<Eigen::Infinity>(), 1e-7) << "model " << k << " step " << step;
      ASSERT_LT((own.loop_q - sim.state().loop_q).lpNorm<Eigen::Infinity>(), 1e-6) << "model " << k;
    }
  }
  EXPECT_GE(compared, 10 * wanted);
}

INSTANTIATE_TEST_SUITE_P(Types, BackendLoopCoordinates,
                         testing::Values(LoopJointType::kRevolute, LoopJointType::kPrismatic,
                                         LoopJointType::kCylindrical, LoopJointType::kScrew, LoopJointType::kUniversal,
                                         LoopJointType::kGimbal, LoopJointType::kSpherical, LoopJointType::kPlanar,
                                         LoopJointType::kCartesian, LoopJointType::kPointOnLine,
                                         LoopJointType::kPointOnPlane),
                         [](const auto& type) { return std::string(to_string(type.param)); });

// A wheel on a screw that turns many times, in worlds of their own: each remembers its turns, a reset forgets them, and
// a spring of the angle pulls back from all of them.
TEST(BackendLoopMemory, CountsTurns) {
  ModelBuilder builder("nut");
  builder.set_gravity(Vector3::Zero());
  const int body =
      builder.add_body({.inertia = MassProperties{1.0, Vector3::Zero(), Vector3(0.02, 0.02, 0.03).asDiagonal()}});
  builder.add_joint({.body = body, .type = JointType::kFree});
  LoopJoint screw{.name = "screw", .type = LoopJointType::kScrew, .body_a = 0, .body_b = body};
  screw.pitch = 0.01;
  screw.coordinates = {{.stiffness = 0.02}};
  builder.add_loop_joint(screw);
  const ModelPtr model = builder.build();
  constexpr int kWorlds = 4, kSteps = 600;
  const SimulatorOptions options = backend_options();
  const auto batch =
      gpu::make_cpu_batch(make_model_arrays(*model, options), kWorlds, {.tolerance = 1e-12, .most_sweeps = 100});
  std::vector<double> v(at(kWorlds * model->nv));
  std::vector<Simulator> sims;
  for (int w = 0; w < kWorlds; ++w) {
    State state(*model);
    const double spin = 8.0 * (w + 1);
    state.v[5] = spin;
    state.v[2] = screw.pitch * spin;
    std::copy(state.v.begin(), state.v.end(), v.begin() + w * model->nv);
    sims.emplace_back(model, options);
    sims.back().reset(state);
  }
  batch->reset({.v = v.data()});
  double loop_q[kWorlds], farthest = 0.0;
  for (int step = 0; step < kSteps; ++step) {
    batch->step(1);
    batch->read(BatchField::kLoopCoordinates, loop_q);
    for (int w = 0; w < kWorlds; ++w) {
      sims[at(w)].step();
      ASSERT_NEAR(loop_q[w], sims[at(w)].state().loop_q[0], 1e-8) << "world " << w << " step " << step;
      farthest = std::max(farthest, loop_q[w]);
    }
  }
  EXPECT_GT(farthest, 6.0 * 3.14159);  // three turns
  const unsigned char mask[kWorlds] = {0, 1, 0, 1};
  batch->reset({.mask = mask});
  double after[kWorlds];
  batch->read(BatchField::kLoopCoordinates, after);
  for (int w = 0; w < kWorlds; ++w) EXPECT_EQ(after[w], mask[w] != 0 ? 0.0 : loop_q[w]);
}

// A rod that a connect holds at its end turns at 3 rad/s: loops that hold for the next velocity alone take some of its
// energy with every step, those of the midpoint rule none. Without gravity.
TEST(BackendMidpoint, RodInLoopFormKeepsItsEnergy) {
  ModelBuilder builder("rod");
  builder.set_gravity(Vector3::Zero());
  const int body =
      builder.add_body({.inertia = MassProperties{1.0, Vector3::Zero(), Vector3(0.001, 0.084, 0.084).asDiagonal()}});
  builder.add_joint({.body = body, .type = JointType::kFree});
  builder.add_equality({.a = body, .b = 0, .anchor_a = Vector3(-0.5, 0, 0), .anchor_b = Vector3(-0.5, 0, 0)});
  const ModelPtr model = builder.build();
  VectorX v = VectorX::Zero(6);
  v[1] = 1.5;
  v[5] = 3.0;
  const auto energy = [&](const VectorX& u) {
    return 0.5 * u.head<3>().squaredNorm() + 0.5 * (0.001 * u[3] * u[3] + 0.084 * u.tail<2>().squaredNorm());
  };
  constexpr int kSteps = 10000;
  const auto lost = [&](Integrator rule) {
    SimulatorOptions options{.time_step = 1e-3, .integrator = rule};
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, options), 1, {.tolerance = 1e-12});
    batch->write(BatchField::kVelocity, v.data());
    batch->step(kSteps);
    VectorX u(6);
    batch->read(BatchField::kVelocity, u.data());
    return 1.0 - energy(u) / energy(v);
  };
  EXPECT_LT(std::abs(lost(Integrator::kMoreauMidpoint)), 1e-3);
  EXPECT_GT(lost(Integrator::kSemiImplicitEuler), 0.03);
  // A reset forgets the velocities before it; users who write a velocity begin a motion of its own.
  SimulatorOptions options{.time_step = 1e-3, .integrator = Integrator::kMoreauMidpoint};
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, options), 2, {.tolerance = 1e-12});
  Simulator sim(model, options);
  sim.state().v = v;
  std::vector<double> both(v.begin(), v.end());
  both.insert(both.end(), v.begin(), v.end());
  batch->write(BatchField::kVelocity, both.data());
  batch->step(50);
  sim.step(50);
  const unsigned char mask[2] = {1, 0};
  batch->reset({.mask = mask, .v = both.data()});
  batch->read(BatchField::kVelocity, both.data());
  std::copy(v.begin(), v.end(), both.begin() + 6);
  sim.state().v = v;
  batch->write(BatchField::kVelocity, both.data());
  batch->step(1);
  sim.step();
  batch->read(BatchField::kVelocity, both.data());
  EXPECT_LT((Eigen::Map<VectorX>(both.data() + 6, 6) - sim.state().v).lpNorm<Eigen::Infinity>(), 1e-7);
  Simulator fresh(model, options);
  fresh.state().v = v;
  fresh.step();
  EXPECT_LT((Eigen::Map<VectorX>(both.data(), 6) - fresh.state().v).lpNorm<Eigen::Infinity>(), 1e-7);
}

// Mechanisms of the library of scenes, where many loops say the same: steps from the simulator's own states.
TEST(BackendMechanisms, MoveAsInTheSimulator) {
  int mechanisms = 0;
  for (const SceneInfo& info : scenes()) {
    if (!info.name.starts_with("loops/")) continue;
    const std::string name(info.name);
    const Scene scene = make_scene(name);
    const SimulatorOptions options = backend_options();
    if (scene.model->loop_joints.empty() || !unsupported_features(*scene.model, options).empty()) continue;
    ++mechanisms;
    Simulator runner(scene.model, options);
    runner.reset(scene.start);
    WorldFixture world(scene.model, 512);
    for (int k = 0; k < (whole_family() ? 20 : 4); ++k) {
      runner.step(5);
      world.simulator().reset(runner.state());
      world.simulator().input() = runner.input();
      ASSERT_TRUE(world.prepare()) << name;
      EXPECT_LT(world.free_velocity_difference(), 1e-10) << name << " step " << k;
      if (world.solve(1e-8, 4000) < 1e-8) {
        EXPECT_LT(world.certified(), 1e-6) << name << " step " << k;
      }
    }
    RecordProperty(name, world.model().sizes.equality_rows);
  }
  EXPECT_GE(mechanisms, 3);
}

// Loops whose rows say the same (a plane of hinges), with contacts: the rows that sweeps work on have the products that
// the certificate knows, Y (1 - Q'Q) Y', as G of the simulator's rows with the loop eliminated.
TEST(BackendMechanisms, SweepOnTheProblemThatIsCertified) {
  const Scene scene = make_scene("loops/fourbar-free");
  Simulator runner(scene.model, backend_options());
  runner.reset(scene.start);
  runner.input().control = scene.control;
  WorldFixture world(scene.model, 512);
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0.0, 1e-4);
  int compared = 0;
  for (int k = 0; k < 20; ++k) {
    runner.step(50);
    State open = runner.state();
    for (int i = 7; i < open.q.size(); ++i) open.q[i] += noise(random);  // rows that only nearly say the same
    world.simulator().reset(open);
    ASSERT_TRUE(world.prepare());
    const gpu::Scratch<double>& s = world.scratch();
    const int n = world.model().sizes.equality_rows, nv = world.model().sizes.nv;
    using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Stride = Eigen::OuterStride<>;
    const MatrixX Q = Eigen::Map<const Rows, 0, Stride>(s.Y_e, n, nv, Stride(s.stride));
    const MatrixX P = MatrixX::Identity(nv, nv) - Q.transpose() * Q;
    // Whitened unit vectors in the place of rows: what becomes of them is S, and S S' = P.
    MatrixX S = MatrixX::Identity(nv, nv);
    bool shared = false;
    for (int r = 0; r < n; ++r) shared = shared || s.share_e[r] < 1.0;
    if (!shared) continue;
    ++compared;
    for (int r = 0; r < n; ++r)
      S -= s.share_e[r] * Q.row(r).transpose() * Eigen::Map<const VectorX>(s.W_e + r * s.stride, nv).transpose();
    // kLeastLeft: what an equality that leaves less is taken to leave.
    EXPECT_LT((S * S.transpose() - P).lpNorm<Eigen::Infinity>(), 2e-5) << "step " << k;
  }
  EXPECT_GE(compared, 10);
}

// The batch as users have it: four-bars on the ground, thrown down and driven at random, then left alone.
TEST(BackendMechanisms, RestOnTheGround) {
  constexpr int kWorlds = 12, kDriven = 1500, kAlone = 1500;
  const Scene scene = make_scene("loops/fourbar-free");
  SimulatorOptions options = backend_options();
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*scene.model, options), kWorlds);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  batch->reset({.noise_q = 0.05, .noise_v = 0.5, .seed = 7});
  std::vector<double> controls(at(kWorlds));
  std::vector<int> status(at(kWorlds));
  int uncertified = 0;
  const auto run = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      batch->step(1);
      batch->read(BatchField::kStatus, status.data());
      for (const int one : status) uncertified += one != 0 ? 1 : 0;
    }
  };
  for (int step = 0; step < kDriven; step += 25) {
    for (double& control : controls) control = 3.0 * any(random);
    batch->write(BatchField::kControl, controls.data());
    run(25);
  }
  EXPECT_LT(uncertified, kWorlds * kDriven / 50);
  std::fill(controls.begin(), controls.end(), 0.0);
  batch->write(BatchField::kControl, controls.data());
  batch->step(kAlone);
  const int nq = scene.model->nq;
  std::vector<double> before(at(kWorlds * nq)), after(at(kWorlds * nq));
  batch->read(BatchField::kPosition, before.data());
  uncertified = 0;
  run(500);
  batch->read(BatchField::kPosition, after.data());
  std::vector<double> moved;
  for (int w = 0; w < kWorlds; ++w) {
    double most = 0.0;
    for (int i = w * nq; i < (w + 1) * nq; ++i) most = std::max(most, std::abs(after[at(i)] - before[at(i)]));
    moved.push_back(most);
  }
  std::sort(moved.begin(), moved.end());
  EXPECT_LT(moved[kWorlds / 2], 1e-6);
  EXPECT_LT(moved[at(kWorlds * 3 / 4)], 1e-5);
  EXPECT_LT(uncertified, kWorlds * 500 / 50);
  RecordProperty("moved", std::to_string(moved.back()));
}

bool is_refused(const Model& model, const std::string& part) {
  const std::vector<std::string> list = unsupported_features(model, backend_options());
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& what) { return what.find(part) != std::string::npos; });
}

TEST(BackendLoopRefusals, AreByName) {
  std::mt19937_64 random(5);
  JoinedTrees bouncing = joined(LoopJointType::kRevolute, random, 0.001);
  LoopCoordinate limit{.limited = true, .range = {-1.0, 1.0}};
  limit.limit_impedance.solref = {0.02, 0.1};
  bouncing.joint.coordinates = {limit};
  EXPECT_TRUE(is_refused(*bouncing.close().first, "the underdamped limit of loop joint 'loop'"));
  JoinedTrees driven = joined(LoopJointType::kRevolute, random, 0.001);
  driven.joint.active = false;
  driven.builder.add_actuator({.name = "motor", .transmission = TransmissionType::kLoopJoint, .target = 0});
  EXPECT_TRUE(is_refused(*driven.close().first, "actuator 'motor' at loop joint 'loop', which is not active"));
}

// A joint that is switched off holds nothing, whatever it has.
TEST(BackendLoopRefusals, LeaveOutWhatIsNotActive) {
  std::mt19937_64 random(6);
  JoinedTrees trees = joined(LoopJointType::kScrew, random, 0.001);
  trees.joint.active = false;
  const ModelPtr model = trees.close().first;
  ASSERT_FALSE(is_refused(*model, "loop joint"));
  if (unsupported_features(*model, backend_options()).empty()) {
    EXPECT_EQ(make_model_arrays(*model, backend_options()).sizes.equality_rows, 0);
  }
}

}  // namespace
}  // namespace touchstone::test
