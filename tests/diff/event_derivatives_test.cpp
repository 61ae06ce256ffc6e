// Derivatives of steps of the event-driven integrator: across impacts, slips that stop, contacts that open.
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "support/effort.hpp"
#include "support/event_models.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

constexpr double kGravity = 9.81;

ModelPtr bouncing_ball(double e) {
  return with_restitution(
      load_mjcf_string(world("<geom type='plane' size='5 5 1'/><body pos='0 0 0.1'>"
                             "<joint type='slide' axis='0 0 1'/><geom size='.1' mass='1'/></body>")),
      e);
}

const SmoothRule kRules[] = {SmoothRule::kDormandPrince, SmoothRule::kRungeKutta, SmoothRule::kMidpoint,
                             SmoothRule::kVariational};

// z falls from z0 with v0 and meets the ground at tau with u = v0 - g tau, leaves it with -e u:
//   z' = -e u (h - tau) - g (h - tau)^2 / 2,   v' = -e u - g (h - tau),   dtau = -(dz0 + tau dv0) / u.
TEST(EventDerivatives, OfABouncingBall) {
  const double h = 0.05, e = 0.7, z0 = 0.02, v0 = -0.5;
  for (const SmoothRule rule : kRules) {
    SimulatorOptions options = event_options(h);
    options.events.rule = rule;
    const ModelPtr model = bouncing_ball(e);
    Simulator sim(model, options);
    State state(*model);
    state.q[0] = z0;
    state.v[0] = v0;
    sim.reset(state);
    sim.step();
    ASSERT_EQ(sim.report().events.impacts, 1);
    StepDerivatives d(*model, {.gravity = true});
    d.compute(sim);
    const double u = -std::sqrt(v0 * v0 + 2.0 * kGravity * z0), tau = (v0 - u) / kGravity, left = h - tau;
    const auto expect = [&](const VectorX& column, double dtau, double du) {
      // du: of u at a fixed time; at the impact it is du - g dtau.
      const double after = -e * (du - kGravity * dtau);
      EXPECT_NEAR(column[0], after * left + e * u * dtau + kGravity * left * dtau, 1e-7);
      EXPECT_NEAR(column[1], after + kGravity * dtau, 1e-7);
    };
    expect(d.A.col(0), -1.0 / u, 0.0);
    expect(d.A.col(1), -tau / u, 1.0);
    // By gravity: z(t) = t^2/2, v(t) = t at a fixed time, before and after.
    const double dtau = -0.5 * tau * tau / u, after = -e * (tau - kGravity * dtau);
    EXPECT_NEAR(d.C(0, 2), after * left + e * u * dtau + kGravity * left * dtau + 0.5 * left * left, 1e-7);
    EXPECT_NEAR(d.C(1, 2), after + kGravity * dtau + left, 1e-7);
    expect_products(d, "ball");
  }
}

// A block that slides to rest within the step: x' = x0 + v0^2/(2 mu g), v' = 0.
TEST(EventDerivatives, OfABlockThatStops) {
  const ModelPtr model = load_mjcf_string(
      world("<geom type='plane' size='5 5 1' friction='.3'/><body pos='0 0 .1'><joint type='slide' axis='1 0 0'/>"
            "<joint type='slide' axis='0 0 1'/><geom type='sphere' size='.1' friction='.3' mass='2'/></body>"));
  for (const SmoothRule rule : kRules) {
    SimulatorOptions options = event_options(0.1);
    options.events.rule = rule;
    Simulator sim(model, options);
    const double v0 = 0.15, mu = 0.3;
    State state(*model);
    state.v[0] = v0;
    sim.reset(state);
    sim.step();
    ASSERT_NEAR(sim.state().v[0], 0.0, 1e-9);
    StepDerivatives d(*model, {.frictions = {0, 1}});
    d.compute(sim);
    // Both surfaces of a tie decide, as their friction grows.
    for (const int shape : {0, 1}) {
      EXPECT_NEAR(d.C(0, shape), -v0 * v0 / (2.0 * mu * mu * kGravity), 1e-6);
      EXPECT_NEAR(d.C(2, shape), 0.0, 1e-6);
    }
    EXPECT_NEAR(d.A(0, 0), 1.0, 1e-7);
    EXPECT_NEAR(d.A(2, 0), 0.0, 1e-7);
    EXPECT_NEAR(d.A(0, 2), v0 / (mu * kGravity), 1e-6);
    EXPECT_NEAR(d.A(2, 2), 0.0, 1e-6);
  }
}

// Impacts of a pendulum with its limit, of an arm with several joints and of thrown bodies against differences.
void compare_steps(const ModelPtr& model, const State& start, const SimulatorOptions& options, int steps,
                   Figures& figures, int& events, const std::string& what) {
  Simulator sim(model, options);
  sim.reset(start);
  for (int i = 0; i < steps; ++i) {
    const State state = sim.state();
    sim.step();
    if (sim.report().events.fallbacks > 0) continue;
    Stepper stepper(model, state, options);
    const int before = figures.steps;
    compare(stepper, *model, figures, fmt::format("{}, step {}", what, i), {1e-4, 1e-5});
    events += figures.steps > before ? sim.report().events.events : 0;
    if (testing::Test::HasFailure()) return;
  }
}

TEST(EventDerivatives, OfAPendulumThatMeetsItsLimit) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><compiler angle="radian"/><worldbody><body pos="0 0 1"><joint type="hinge" axis="0 1 0" limited="true" range="-0.4 2" damping="0.02"/>
         <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/><body pos="0 0 -0.4"><joint type="hinge" axis="0 1 0" stiffness="1" damping="0.01"/>
         <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.4"/></body></body></worldbody></mujoco>)");
  for (const SmoothRule rule : kRules) {
    SimulatorOptions options = event_options(0.01);
    options.events.rule = rule;
    State start(*model);
    start.q << 0.9, 0.3;
    Figures figures;
    int events = 0;
    compare_steps(model, start, options, 80, figures, events, fmt::format("pendulum, rule {}", static_cast<int>(rule)));
    if (HasFailure()) return;
    EXPECT_GE(events, 1);
    EXPECT_GE(figures.kept, figures.columns * 3 / 4) << figures.kept << " of " << figures.columns;
  }
}

TEST(EventDerivatives, OfRandomThrows) {
  std::mt19937_64 random(71);
  std::normal_distribution<double> speed(0.0, 1.0);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  Figures figures;
  int events = 0;
  const int throws = whole_family() ? 12 : 4;
  for (int k = 0; k < throws; ++k) {
    const char* shapes[] = {"sphere' size='.06", "box' size='.05 .06 .07", "capsule' size='.04 .06"};
    std::string content = "<geom type='plane' size='5 5 1'/>";
    for (int i = 0; i < 1 + k % 2; ++i) {
      content += fmt::format(
          "<body pos='{} 0 {}' euler='{} {} 10'><freejoint/><geom type='{}' mass='.5' friction='{}'/></body>", 0.25 * i,
          0.12 + 0.02 * unit(random), 90.0 * unit(random), 90.0 * unit(random), shapes[(k + i) % 3], unit(random));
    }
    const ModelPtr model = with_restitution(load_mjcf_string(world(content)), 0.25 * (k % 4));
    State state(*model);
    for (int i = 0; i < model->nv; ++i) state.v[i] = speed(random);
    SimulatorOptions options = event_options(0.01);
    options.events.rule = kRules[k % 4];
    if (k % 3 == 2) options.events.impact_law = ImpactLaw::kPoisson;
    compare_steps(model, state, options, 12, figures, events, fmt::format("throw {}", k));
    if (HasFailure()) return;
  }
  EXPECT_GE(events, throws);
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
}

// A ball of 10 g that slides: w' = w + mu m g r h / I about y, and its velocity does not depend on its inertia.
TEST(EventDerivatives, OfASmallBallByItsInertia) {
  const double h = 0.005, mu = 0.3, m = 0.01, r = 0.01, I = 0.4 * m * r * r;
  const ModelPtr model = load_mjcf_string(
      world(fmt::format("<geom type='plane' size='5 5 1' friction='{}'/><body pos='0 0 {}'><joint type='slide' "
                        "axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 1 0'/><geom "
                        "type='sphere' size='{}' friction='{}' mass='{}'/></body>",
                        mu, r, r, mu, m)));
  for (const SmoothRule rule : kRules) {
    SimulatorOptions options = event_options(h);
    options.events.rule = rule;
    Simulator sim(model, options);
    State state(*model);
    state.v[0] = 1.0;
    sim.reset(state);
    sim.step();
    const double spin = mu * m * kGravity * r * h / I;
    ASSERT_NEAR(sim.state().v[2], spin, 1e-6);
    StepDerivatives d(*model, {.inertias = {1}, .armatures = {2}});
    d.compute(sim);
    // pi = [m, m c (3), Ixx, Ixy, Iyy, ..]
    EXPECT_NEAR(d.C(5, 6) * I / spin, -1.0, 1e-6);
    EXPECT_NEAR(d.C(2, 6) * I / (0.5 * h * spin), -1.0, 1e-6);
    EXPECT_NEAR(d.C(5, 0) * m / spin, 1.0, 1e-6);
    EXPECT_NEAR(d.C(3, 6) * I, 0.0, 1e-6);
    EXPECT_NEAR(d.C(3, 0) * m, 0.0, 1e-6);
    EXPECT_NEAR(d.C(5, 10) * I / spin, -1.0, 1e-6);
  }
}

// Mocap bodies that stay where they are move nothing.
TEST(EventDerivatives, BesideAMocapBody) {
  const std::string ball =
      "<geom type='plane' size='5 5 1'/><body pos='0 0 0.1'><joint type='slide' axis='0 0 1'/><geom size='.1' "
      "mass='1'/></body>";
  const ModelPtr model = load_mjcf_string(
      world(ball + "<body mocap='true' pos='3 0 1'><geom size='.1' contype='0' conaffinity='0'/></body>"));
  const ModelPtr alone = load_mjcf_string(world(ball));
  Simulator sim(model, event_options(0.05)), other(alone, event_options(0.05));
  for (Simulator* each : {&sim, &other}) each->state().q[0] = 0.05;
  StepDerivatives d(*model), e(*alone);
  sim.step();
  ASSERT_GT(sim.report().events.fallbacks, 0);  // where it was before is not known
  EXPECT_THROW(d.compute(sim), Error);
  for (int i = 0; i < 4; ++i) {
    other.state().q = sim.state().q;
    other.state().v = sim.state().v;
    sim.step();
    other.step();
    ASSERT_EQ(sim.report().events.fallbacks, 0);
    d.compute(sim);
    e.compute(other);
    EXPECT_LT((d.A - e.A).cwiseAbs().maxCoeff(), 1e-9) << i;
  }
  sim.state().mocap[0].position.x() += 0.01;
  sim.step();
  EXPECT_THROW(d.compute(sim), Error);
}

// Dormand and Prince's rule divides a step as the step before has advised.
TEST(EventDerivatives, OfStepsThatRememberTheirSize) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
         <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1"/><body pos="0 0 -0.4"><joint type="hinge" axis="0 1 0"/>
         <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.4"/></body></body></worldbody></mujoco>)");
  SimulatorOptions options = event_options(0.1);
  options.events.rule = SmoothRule::kDormandPrince;
  options.events.tolerance = 1e-3;
  Simulator sim(model, options), probe(model, options);
  State start(*model);
  start.q << 1.8, 0.7;
  sim.reset(start);
  StepDerivatives d(*model);
  const int nv = model->nv;
  int compared = 0;
  for (int i = 0; i < 60; ++i) {
    const Simulator::Snapshot before = sim.save();
    sim.step();
    // The first part as advised, the second to the end: both have sizes that do not depend on the state.
    if (sim.report().events.smooth_steps != 2 || sim.report().events.rejected > 0) continue;
    ++compared;
    d.compute(sim);
    for (int column = 0; column < 2 * nv; ++column) {
      const auto step = [&](double way) -> MatrixX {
        probe.restore(before);
        probe.state().q = column < nv ? moved(*model, before.state().q, column, way) : before.state().q;
        if (column >= nv) probe.state().v[column - nv] += way;
        probe.step();
        EXPECT_EQ(probe.report().events.smooth_steps, 2);
        VectorX x(2 * nv);
        x << probe.state().q, probe.state().v;
        return x;
      };
      const VectorX expected = derivative(step, 1e-4);
      EXPECT_LT((d.A.col(column) - expected).cwiseAbs().maxCoeff(), 1e-6 * expected.cwiseAbs().maxCoeff())
          << "step " << i << ", column " << column;
    }
  }
  EXPECT_GE(compared, 3);
}

TEST(EventDerivatives, RefuseStepsOfTimeStepping) {
  const ModelPtr model = bouncing_ball(0.5);
  SimulatorOptions options = event_options(0.5);
  options.events.max_events = 2;
  options.stabilisation.restitution_threshold = 0.0;
  Simulator sim(model, options);
  sim.state().q[0] = 0.05;
  sim.step();
  ASSERT_GT(sim.report().events.fallbacks, 0);
  StepDerivatives d(*model);
  EXPECT_THROW(d.compute(sim), Error);
}

}  // namespace
}  // namespace touchstone::test
