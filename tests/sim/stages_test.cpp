// Stages called one by one are the same as a step.
#include "touchstone/sim/stages.hpp"

#include <utility>

#include <gtest/gtest.h>

#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/step_record.hpp"

namespace touchstone {
namespace {

void one_by_one(StepContext& s, double ahead) {
  stage::begin(s, ahead);
  ASSERT_TRUE(stage::free_motion(s));
  stage::detect(s);
  stage::assemble(s);
  stage::solve(s);
  stage::bound_servos(s);
  ASSERT_FALSE(stage::meet(s));
  stage::integrate(s);
  stage::account(s);
}

TEST(Stages, OneByOneAreTheSameAsAStep) {
  for (const char* name : {"quadruped", "hand", "stack:3", "newtons-cradle", "double-pendulum"}) {
    const Scene scene = make_scene(name);
    for (const ConstraintModel constraints : {ConstraintModel::kRigid, ConstraintModel::kMujoco}) {
      for (const Integrator integrator : {Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint}) {
        SimulatorOptions options;
        options.constraints = constraints;
        options.integrator = integrator;
        Simulator whole(scene.model, options), parts(scene.model, options);
        whole.reset(scene.start);
        parts.reset(scene.start);
        for (int i = 0; i < 50; ++i) {
          whole.step();
          one_by_one(parts.context(), integrator == Integrator::kSemiImplicitEuler ? 0.0 : 0.5);
          ASSERT_EQ(parts.state().q, whole.state().q) << name << " step " << i;
          ASSERT_EQ(parts.state().v, whole.state().v) << name << " step " << i;
          ASSERT_EQ(parts.report().residuals.natv, whole.report().residuals.natv);
          ASSERT_EQ(parts.report().energy.total(), whole.report().energy.total());
          ASSERT_EQ(parts.contacts().size(), whole.contacts().size());
        }
      }
    }
  }
}

// What is computed once stays: the factor of M that the softened model solved with is still there after its step.
TEST(Stages, DataAreNotOverwrittenLater) {
  const Scene scene = make_scene("quadruped");
  SimulatorOptions options;
  options.constraints = ConstraintModel::kMujoco;
  Simulator sim(scene.model, options);
  sim.reset(scene.start);
  StepContext& s = sim.context();
  stage::begin(s, 0.0);
  ASSERT_TRUE(stage::free_motion(s));
  const VectorX L = s.data.L, v_free = s.data.v_free, smooth = s.data.smooth_force;
  stage::detect(s);
  stage::assemble(s);
  stage::solve(s);
  stage::integrate(s);
  stage::account(s);
  EXPECT_EQ(s.data.L, L);
  EXPECT_EQ(s.data.v_free, v_free);
  EXPECT_EQ(s.data.smooth_force, smooth);
}

TEST(Stages, AMassMatrixThatIsNotOneIsAStatus) {
  const Scene scene = make_scene("double-pendulum");
  Simulator sim(scene.model);
  for (BodyInertia& inertia : sim.parameters().body_inertia) inertia.mass = -1.0;
  StepContext& s = sim.context();
  stage::begin(s, 0.0);
  EXPECT_FALSE(stage::free_motion(s));
  EXPECT_EQ(s.report.status, StepStatus::kDiverged);
}

TEST(Stages, IntegratorsAreListedByName) {
  EXPECT_STREQ(entry_of(Integrator::kSemiImplicitEuler).name, "euler");
  EXPECT_STREQ(entry_of(Integrator::kMoreauMidpoint).name, "midpoint");
  EXPECT_STREQ(entry_of(Integrator::kVariational).name, "variational");
}

// The kinematics that the account of energy has made serve the next step; whatever the user does in between, the bits
// are those of a simulator that computes them anew.
TEST(Stages, KnownKinematicsChangeNoBits) {
  for (const char* name : {"quadruped", "hand", "newtons-cradle", "double-pendulum"}) {
    const Scene scene = make_scene(name);
    SimulatorOptions options, plain;
    plain.watch.energy = false;
    Simulator sim(scene.model, options), anew(scene.model, plain);
    sim.reset(scene.start);
    anew.reset(scene.start);
    int known = 0, known_anew = 0;  // the second: where the end of a step was searched for late contacts
    for (int i = 0; i < 120; ++i) {
      for (Simulator* each : {&sim, &anew}) {
        if (i % 10 == 3) each->state().q[each->model().nq - 1] += 0.01;
        if (i % 10 == 5) each->state().v[0] += 0.1;
        if (i % 10 == 7) each->parameters().body_inertia[1].mass *= 1.01;
        if (i % 10 == 9) each->parameters().body_inertia.back().com += Vec3(1e-3, 0.0, 0.0);
        if (i == 60) each->restore(each->save());
        if (i == 80) each->reset(scene.start);
        each->step();
      }
      known += sim.context().kinematics == Kinematics::kKnown ? 1 : 0;
      known_anew += anew.context().kinematics == Kinematics::kKnown ? 1 : 0;
      ASSERT_EQ(sim.state().q, anew.state().q) << name << " step " << i;
      ASSERT_EQ(sim.state().v, anew.state().v) << name << " step " << i;
    }
    EXPECT_GT(known, 60) << name;
    EXPECT_LT(known, 120) << name;
    EXPECT_LT(known_anew, 20) << name;
  }
}

// Nothing that moves, and a body that the user moves.
TEST(Stages, KnownKinematicsOfFixedAndMocapBodies) {
  Simulator empty(load_mjcf_string("<mujoco><worldbody><geom type='plane' size='1 1 1'/></worldbody></mujoco>"));
  EXPECT_EQ(empty.step(3).status, StepStatus::kOk);
  Simulator sim(load_mjcf_string(R"(<mujoco><worldbody><body mocap='true' name='m' pos='0 0 1'><geom size='.1'/></body>
    <body pos='2 0 0'><joint axis='0 1 0'/><geom size='.1' pos='.3 0 0'/></body></worldbody></mujoco>)"));
  sim.step();
  sim.step();
  EXPECT_EQ(sim.context().kinematics, Kinematics::kKnown);
  sim.state().mocap[0].position.x() = 0.5;
  sim.step();
  EXPECT_EQ(sim.context().kinematics, Kinematics::kNew);
  EXPECT_EQ(sim.data().X_WB[1].p.x(), 0.5);
}

// The record is enough to repeat the step's end, and modes agree with the laws.
TEST(StepRecord, ExplainsTheStep) {
  int seen[8] = {};
  for (const char* name : {"quadruped", "hand", "stack:3", "arch", "double-pendulum"}) {
    const Scene scene = make_scene(name);
    Simulator sim(scene.model, scene.options);
    sim.reset(scene.start);
    for (int i = 0; i < 100; ++i) {
      sim.step();
      const StepRecord record = record_step(sim.context());
      const Constraints& c = record.constraints;
      ASSERT_EQ(record.modes.size(), static_cast<std::size_t>(c.count()));
      ASSERT_EQ(record.contacts.size(), sim.detector().contacts().size());
      VectorX v = VectorX::Zero(sim.model().nv);
      add_constraint_force(sim.model(), c, record.lambda, v);
      solve(sim.model(), record.factor, v);
      v += record.v_free;
      ASSERT_LE((v - record.v_next).norm(), 1e-9 * (1.0 + v.norm())) << name << " step " << i;
      ASSERT_EQ(record.after.v, record.v_next);
      for (int block = 0; block < c.count(); ++block) {
        const int r = c.blocks.row[static_cast<std::size_t>(block)], last = r + c.blocks.size(block) - 1;
        const BlockMode mode = record.modes[static_cast<std::size_t>(block)];
        ++seen[static_cast<int>(mode)];
        if (mode == BlockMode::kOpen) {
          ASSERT_LE(record.lambda[last], 0.0);
        }
        if (mode == BlockMode::kSticking || mode == BlockMode::kSliding) {
          ASSERT_GT(record.lambda[last], 0.0);
        }
      }
    }
  }
  EXPECT_GT(seen[static_cast<int>(BlockMode::kSticking)], 100);
  EXPECT_GT(seen[static_cast<int>(BlockMode::kSliding)], 10);
  EXPECT_GT(seen[static_cast<int>(BlockMode::kOpen)], 0);
}

TEST(StepRecord, ModesOfSimpleBlocks) {
  Blocks blocks;
  blocks.add_coulomb(0.5);
  blocks.add_box(-1.0, 2.0);
  blocks.add_nonnegative();
  blocks.add_equality(2);
  const double sliding[] = {-0.5, 0.0, 1.0}, sticking[] = {-0.4, 0.0, 1.0}, open[] = {0.0, 0.0, 0.0};
  const double moving[] = {0.3, 0.0, 0.0}, still[] = {0.0, 0.0, 0.0};
  EXPECT_EQ(block_mode(blocks, 0, sliding, moving), BlockMode::kSliding);
  EXPECT_EQ(block_mode(blocks, 0, sliding, still), BlockMode::kSticking);  // at the edge, but nothing moves
  EXPECT_EQ(block_mode(blocks, 0, sticking, still), BlockMode::kSticking);
  EXPECT_EQ(block_mode(blocks, 0, open, moving), BlockMode::kOpen);
  for (const auto& [impulse, mode] : {std::pair(-1.0, BlockMode::kAtLower), std::pair(2.0, BlockMode::kAtUpper),
                                      std::pair(0.0, BlockMode::kInside)}) {
    EXPECT_EQ(block_mode(blocks, 1, &impulse, still), mode);
  }
  const double push = 1.0, none = 0.0;
  EXPECT_EQ(block_mode(blocks, 2, &push, still), BlockMode::kClosed);
  EXPECT_EQ(block_mode(blocks, 2, &none, moving), BlockMode::kOpen);
  EXPECT_EQ(block_mode(blocks, 3, sticking, still), BlockMode::kHeld);
}

}  // namespace
}  // namespace touchstone
