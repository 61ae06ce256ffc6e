// Stages called one by one are the same as a step.
#include "touchstone/sim/stages.hpp"

#include <gtest/gtest.h>

#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

void one_by_one(StepContext& s, double ahead) {
  stage::begin(s, ahead);
  ASSERT_TRUE(stage::free_motion(s));
  stage::detect(s);
  stage::assemble(s);
  stage::solve(s);
  stage::bound_servos(s);
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

}  // namespace
}  // namespace touchstone
