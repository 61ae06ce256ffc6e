// From event to event: closed forms of bounces, impacts, slips and stops; Painleve's rod.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/event_models.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr double kG = 9.81;

using test::event_options;
using test::with_restitution;
using test::world;

// --- bounces ---

// Times and heights of a bouncing ball: t_0 = sqrt(2 H/g), then flights of 2 e^k v/g.
TEST(EventDriven, TheTimesOfBouncesAreThoseOfTheClosedForm) {
  const double height = 1.0, e = 0.8;
  const ModelPtr model = load_mjcf_string(
      world("<geom type='plane' size='5 5 1'/><body pos='0 0 1.1'><freejoint/><geom size='.1' mass='1'/></body>"));
  for (const SmoothRule rule :
       {SmoothRule::kDormandPrince, SmoothRule::kRungeKutta, SmoothRule::kMidpoint, SmoothRule::kVariational}) {
    for (const RootMethod root : {RootMethod::kBrent, RootMethod::kBisection}) {
      SimulatorOptions options = event_options(0.05);
      options.events.rule = rule;
      options.events.root = root;
      Simulator sim(with_restitution(model, e), options);
      std::vector<double> times;
      int impacts = 0;
      while (sim.state().time < 2.5) {
        ASSERT_EQ(sim.step().status, StepStatus::kOk);
        EXPECT_EQ(sim.report().events.fallbacks, 0);
        impacts += sim.report().events.impacts;
        if (sim.report().events.events > 0) times.push_back(sim.report().events.last);
        EXPECT_NEAR(sim.report().energy.error(), 0.0, 1e-9);
      }
      double t = std::sqrt(2.0 * height / kG), v = kG * t;
      ASSERT_GE(times.size(), 4u);
      EXPECT_EQ(impacts, static_cast<int>(times.size()));
      for (const double found : times) {
        EXPECT_NEAR(found, t, 1e-9);
        v *= e;
        t += 2.0 * v / kG;
      }
    }
  }
}

// Bounces that become ever shorter end: the ball rests at the time of the geometric series.
TEST(EventDriven, BouncesWithoutEndComeToRest) {
  const ModelPtr model = load_mjcf_string(
      world("<geom type='plane' size='5 5 1'/><body pos='0 0 1.1'><freejoint/><geom size='.1' mass='1'/></body>"));
  SimulatorOptions options = event_options(0.02);
  options.stabilisation.restitution_threshold = 0.0;
  Simulator sim(with_restitution(model, 0.5), options);
  int most = 0;
  while (sim.state().time < 2.0) {
    ASSERT_NE(sim.step().status, StepStatus::kDiverged);
    most = std::max(most, sim.report().events.events);
  }
  EXPECT_LE(most, options.events.max_events);
  EXPECT_NEAR(sim.state().q[2], 0.1, 1e-6);
  EXPECT_NEAR(sim.state().v.norm(), 0.0, 1e-6);
  // Many bounces in a step: the bound holds, and the step is made in another way.
  options.events.max_events = 3;
  Simulator bounded(with_restitution(model, 0.5), options);
  int fallbacks = 0;
  while (bounded.state().time < 2.0) {
    bounded.step();
    EXPECT_LE(bounded.report().events.events, 3);
    fallbacks += bounded.report().events.fallbacks;
    EXPECT_EQ(bounded.report().warnings.event_fallback, bounded.report().events.fallbacks > 0);
  }
  EXPECT_GT(fallbacks, 0);
  EXPECT_NEAR(bounded.state().q[2], 0.1, 1e-3);
  EXPECT_NEAR(bounded.state().time, 2.0, 1e-9);
}

// --- Newton's cradle ---

// Balls in a row on slides, the first one thrown at the others.
ModelPtr cradle(int count) {
  std::string bodies;
  for (int i = 0; i < count; ++i) {
    bodies += "<body pos='" + std::to_string(i == 0 ? -0.05 : 0.02 * i) +
              " 0 0'><joint type='slide' axis='1 0 0'/><geom size='.01' mass='1' friction='0'/></body>";
  }
  return load_mjcf_string(world(bodies, "0 0 0"));
}

VectorX after_cradle(int count, ImpactOrder order, ImpactLaw law) {
  SimulatorOptions options = event_options(0.01);
  options.events.impact_order = order;
  options.events.impact_law = law;
  Simulator sim(with_restitution(cradle(count), 1.0), options);
  sim.state().v[0] = 1.0;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sim.step().status, StepStatus::kOk);
  EXPECT_NEAR(sim.kinetic_energy(), 0.5, 1e-9);
  return sim.state().v;
}

// One by one the last ball leaves with all of it. As one problem, with e = 1 for all contacts, u' = -e u at the first
// contact and 0 at the others: the rest moves as one body of mass n - 1.
TEST(EventDriven, NewtonsCradleByBothOrdersAndLaws) {
  for (const int count : {3, 5}) {
    for (const ImpactLaw law : {ImpactLaw::kNewton, ImpactLaw::kPoisson}) {
      const VectorX sequence = after_cradle(count, ImpactOrder::kSequence, law);
      for (int i = 0; i < count; ++i) EXPECT_NEAR(sequence[i], i == count - 1 ? 1.0 : 0.0, 1e-9) << count;
      const VectorX together = after_cradle(count, ImpactOrder::kTogether, law);
      EXPECT_NEAR(together.sum(), 1.0, 1e-9);
      if (law == ImpactLaw::kPoisson) continue;
      for (int i = 0; i < count; ++i) EXPECT_NEAR(together[i], i == 0 ? 2.0 / count - 1.0 : 2.0 / count, 1e-9);
    }
  }
}

// --- sliding ---

// A block on an incline, thrown uphill: it stops at v/(g (sin a + mu cos a)) and stays if mu > tan a.
TEST(EventDriven, ASlidingBlockStopsWhereItShould) {
  const double angle = 0.3, mu = 0.5, v = 1.0;
  const std::string gravity = std::to_string(-kG * std::sin(angle)) + " 0 " + std::to_string(-kG * std::cos(angle));
  const double g_x = -std::stod(gravity), g_z = kG * std::cos(angle);
  const ModelPtr model =
      load_mjcf_string(world("<geom type='plane' size='5 5 1' friction='.5'/><body pos='0 0 .1'><freejoint/>"
                             "<geom type='box' size='.3 .2 .1' mass='2' friction='.5'/></body>",
                             gravity));
  Simulator sim(model, event_options(0.05));
  sim.state().v[0] = v;
  const double deceleration = g_x + mu * g_z, stop = v / deceleration;
  double found = -1.0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    EXPECT_EQ(sim.report().events.fallbacks, 0);
    if (sim.report().events.events > 0 && found < 0.0) found = sim.report().events.last;
    EXPECT_NEAR(sim.report().energy.error(), 0.0, 1e-8);
  }
  EXPECT_NEAR(found, stop, 1e-6);
  EXPECT_NEAR(sim.state().q[0], 0.5 * v * v / deceleration, 1e-6);
  EXPECT_NEAR(sim.state().v.norm(), 0.0, 1e-9);
  EXPECT_NEAR(sim.state().q[2], 0.1, 1e-9);
  Vector6 wrench = sim.contact_wrench(1);
  EXPECT_NEAR(wrench[2], 2.0 * g_z, 1e-4);
  EXPECT_NEAR(wrench[0], 2.0 * g_x, 1e-4);
}

// A ball that is thrown along the ground slides until it rolls: 5/7 of its speed after 2 v/(7 mu g).
TEST(EventDriven, ASlidingBallBeginsToRoll) {
  const double mu = 0.3, v = 1.0, radius = 0.1;
  const ModelPtr model =
      load_mjcf_string(world("<geom type='plane' size='5 5 1' friction='.3'/><body pos='0 0 .1'><freejoint/>"
                             "<geom size='.1' mass='1' friction='.3'/></body>"));
  Simulator sim(model, event_options(0.02));
  sim.state().v[0] = v;
  double found = -1.0;
  while (sim.state().time < 0.4) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    if (sim.report().events.events > 0 && found < 0.0) found = sim.report().events.last;
  }
  EXPECT_NEAR(found, 2.0 * v / (7.0 * mu * kG), 1e-6);
  EXPECT_NEAR(sim.state().v[0], 5.0 / 7.0 * v, 1e-8);
  EXPECT_NEAR(sim.state().v[4], 5.0 / 7.0 * v / radius, 1e-7);
}

// The slip of a ball that also spins turns ever faster as it stops: rules with fixed steps come through, and the end of
// the slip keeps their order.
TEST(EventDriven, RulesWithFixedStepsComeThroughTheEndOfASlip) {
  const ModelPtr model =
      load_mjcf_string(world("<geom type='plane' size='5 5 1' friction='.3'/><body pos='0 0 .1'><freejoint/>"
                             "<geom size='.1' mass='1' friction='.3'/></body>"));
  const auto end_of = [&](SmoothRule rule, double h) {
    SimulatorOptions options = event_options(h);
    options.events.rule = rule;
    Simulator sim(model, options);
    sim.state().v << 1.0, 0.3, 0.0, 0.0, 0.0, 2.0;
    for (int i = 0; i < static_cast<int>(std::lround(0.5 / h)); ++i) {
      EXPECT_EQ(sim.step().status, StepStatus::kOk);
      EXPECT_EQ(sim.report().events.fallbacks, 0) << h << " " << i << " " << to_string(sim.report().events.why);
    }
    return VectorX(sim.state().q);
  };
  const VectorX truth = end_of(SmoothRule::kDormandPrince, 0.005);
  for (const SmoothRule rule : {SmoothRule::kRungeKutta, SmoothRule::kMidpoint, SmoothRule::kVariational}) {
    for (const double h : {0.02, 0.01, 0.005, 0.0025}) {
      const double error = (end_of(rule, h) - truth).lpNorm<Eigen::Infinity>();
      EXPECT_LT(error, 0.5 * h * h) << static_cast<int>(rule) << " " << h;
    }
  }
}

// --- rocking block ---

// Housner: each impact of a slender block multiplies its angular velocity by 1 - 1.5 sin^2 a, tan a = width/height.
TEST(EventDriven, ARockingBlockLosesWhatHousnerSays) {
  const double b = 0.1, height = 0.5, alpha = std::atan(b / height);
  const ModelPtr model =
      load_mjcf_string(world("<geom type='plane' size='5 5 1' friction='2'/><body pos='0 0 .5'><freejoint/>"
                             "<geom type='box' size='.1 .1 .5' mass='1' friction='2'/></body>"));
  Simulator sim(model, event_options(0.01));
  // Tilted by theta about the corner x = b.
  const double theta = 0.1, r = std::hypot(b, height);
  sim.state().q[0] = b - r * std::sin(alpha - theta);
  sim.state().q[2] = r * std::cos(alpha - theta);
  sim.state().q[3] = std::cos(theta / 2.0);
  sim.state().q[5] = std::sin(theta / 2.0);
  double before = 0.0;
  bool hit = false;
  for (int i = 0; i < 200 && !hit; ++i) {
    before = sim.state().v[4];
    const double energy = sim.kinetic_energy() + sim.potential_energy();
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    hit = sim.report().events.impacts > 0;
    if (hit) continue;
    EXPECT_NEAR(sim.kinetic_energy() + sim.potential_energy(), energy, 1e-8);
  }
  ASSERT_TRUE(hit);
  // Just before the impact: the energy of the fall, 1/2 I w^2 = m g r (cos(alpha - theta) - cos alpha).
  const double inertia = 4.0 / 3.0 * r * r;
  const double w = std::sqrt(2.0 * kG * r * (std::cos(alpha - theta) - std::cos(alpha)) / inertia);
  const double kept = 1.0 - 1.5 * std::pow(std::sin(alpha), 2);
  EXPECT_NEAR(std::abs(before), w, 0.05 * w);
  // The loss at the impact, from the account of the step.
  EXPECT_NEAR(sim.report().energy.inelastic, -0.5 * inertia * w * w * (1.0 - kept * kept), 1e-6);
}

// --- Painleve ---

// A rod that slides on its tip, pushed into the ground by its own friction: no force fits, and it stops at once.
TEST(EventDriven, PainlevesRodStopsWithoutACollision) {
  // A slender rod has the paradox for mu > 4/3; it leans at 60 degrees, and its centre moves so that the tip slides.
  const double mu = 2.5, angle = 1.0, half = 0.5, radius = 0.01;
  const ModelPtr model = load_mjcf_string(
      "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom type='plane' size='5 5 1' friction='2.5'/>"
      "<body><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"
      "<inertial pos='0 0 0' mass='1' diaginertia='.0834 .0834 .0834'/>"
      "<geom size='.01' pos='-.5 0 0' friction='2.5'/></body></worldbody></mujoco>");
  // The sign of the slip decides which way friction turns the rod: one of the two is the paradox.
  int paradoxes = 0;
  for (const double speed : {-2.0, 2.0}) {
    Simulator sim(model, event_options(0.001));
    sim.state().q[1] = radius + half * std::sin(angle);
    sim.state().q[2] = -angle;
    // Joint coordinates turn about y: the tip at (-half cos, -half sin) for a turn by -angle.
    sim.state().v[0] = speed;
    const double n_force = 1.0 + half * half / 0.0834 * std::cos(angle) * (std::cos(angle) - mu * std::sin(angle));
    ASSERT_LT(n_force, 0.0);
    const double energy = sim.kinetic_energy() + sim.potential_energy();
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    EXPECT_EQ(sim.report().events.fallbacks, 0);
    EXPECT_LE(sim.kinetic_energy() + sim.potential_energy(), energy + 1e-9);
    paradoxes += sim.report().events.impacts > 0 ? 1 : 0;
  }
  EXPECT_EQ(paradoxes, 1);
}

// --- smooth motion ---

ModelPtr double_pendulum() {
  return load_mjcf_string(R"(<mujoco><worldbody><body><joint axis='0 1 0'/>
    <geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02' contype='0' conaffinity='0'/>
    <body pos='0 0 -.5'><joint axis='0 1 0'/>
    <geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02' contype='0' conaffinity='0'/></body></body></worldbody></mujoco>)");
}

TEST(EventDriven, ADoublePendulumKeepsItsEnergy) {
  Simulator sim(double_pendulum(), event_options(0.01));
  sim.state().q << 2.0, 1.0;
  const double energy = sim.kinetic_energy() + sim.potential_energy();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(sim.step().status, StepStatus::kOk);
  EXPECT_NEAR(sim.kinetic_energy() + sim.potential_energy(), energy, 1e-6);
}

// Orders of the rules on smooth motion: errors at h and h/2 after half a second.
TEST(EventDriven, RulesHaveTheirOrder) {
  const auto end_of = [](SmoothRule rule, double h) {
    SimulatorOptions options = event_options(h);
    options.events.rule = rule;
    Simulator sim(double_pendulum(), options);
    sim.state().q << 2.0, 1.0;
    const int steps = static_cast<int>(std::lround(0.4 / h));
    for (int i = 0; i < steps; ++i) sim.step();
    return VectorX(sim.state().q);
  };
  const VectorX truth = end_of(SmoothRule::kDormandPrince, 0.001);
  for (const auto& [rule, order] : {std::pair(SmoothRule::kRungeKutta, 4), std::pair(SmoothRule::kMidpoint, 2),
                                    std::pair(SmoothRule::kVariational, 2)}) {
    const double coarse = (end_of(rule, 0.02) - truth).norm(), fine = (end_of(rule, 0.01) - truth).norm();
    EXPECT_NEAR(std::log2(coarse / fine), order, 0.3);
  }
}

// Between events the variational rule's energy sways, of second order, and does not drift.
TEST(EventDriven, TheVariationalRuleKeepsEnergyForLong) {
  const auto errors = [](SmoothRule rule, double h) {
    SimulatorOptions options = event_options(h);
    options.events.rule = rule;
    Simulator sim(double_pendulum(), options);
    sim.state().q << 2.0, 1.0;
    const double energy = sim.kinetic_energy() + sim.potential_energy();
    std::pair<double, double> halves{0.0, 0.0};  // the largest error of each
    const int steps = static_cast<int>(std::lround(20.0 / h));
    for (int i = 0; i < steps; ++i) {
      EXPECT_EQ(sim.step().status, StepStatus::kOk);
      double& worst = i < steps / 2 ? halves.first : halves.second;
      worst = std::max(worst, std::abs(sim.kinetic_energy() + sim.potential_energy() - energy));
    }
    EXPECT_GT(sim.report().newton, 0);
    return halves;
  };
  const auto [first, second] = errors(SmoothRule::kVariational, 0.005);
  EXPECT_LT(second, 2.0 * first);
  const auto [fine, later] = errors(SmoothRule::kVariational, 0.0025);
  EXPECT_NEAR(std::max(first, second) / std::max(fine, later), 4.0, 2.5);
}

// A ball that spins and bounces, thrown sideways: knots at impacts and unequal steps keep the order.
TEST(EventDriven, TheVariationalRuleKeepsItsOrderAcrossImpacts) {
  const ModelPtr model = with_restitution(
      load_mjcf_string(
          world("<geom type='plane' size='5 5 1' friction='.3'/><body pos='0 0 .5'><freejoint/><inertial "
                "pos='0 0 0' mass='1' diaginertia='.004 .006 .009'/><geom size='.1' friction='.3'/></body>")),
      0.8);
  const auto end_of = [&](SmoothRule rule, double h) {
    SimulatorOptions options = event_options(h);
    options.events.rule = rule;
    Simulator sim(model, options);
    sim.state().v << 1.0, 0.5, 0.0, 3.0, 5.0, -4.0;
    const int steps = static_cast<int>(std::lround(0.64 / h));
    int impacts = 0;
    for (int i = 0; i < steps; ++i) {
      impacts += sim.step().events.impacts;
      EXPECT_EQ(sim.report().events.fallbacks, 0);
    }
    EXPECT_EQ(impacts, 1);
    return VectorX(sim.state().q);
  };
  const VectorX truth = end_of(SmoothRule::kDormandPrince, 0.01);
  const double coarse = (end_of(SmoothRule::kVariational, 0.02) - truth).norm();
  const double fine = (end_of(SmoothRule::kVariational, 0.01) - truth).norm();
  EXPECT_LT(coarse, 1e-2);
  EXPECT_NEAR(std::log2(coarse / fine), 2.0, 0.4);
}

// --- friction of impacts ---

// A block that cannot turn hits the ground aslant; what friction does to its velocity.
Vector3 friction_of_impact(const EventOptions& events, double angle, double& normal) {
  const ModelPtr model = load_mjcf_string(
      world("<geom type='plane' size='5 5 1' friction='.2'/><body pos='0 0 .15'><joint type='slide' axis='1 0 "
            "0'/><joint type='slide' axis='0 1 0'/><joint type='slide' axis='0 0 1'/><geom size='.1' mass='2' "
            "friction='.2'/></body>",
            "0 0 0"));
  SimulatorOptions options = event_options(0.1);
  options.events = events;
  Simulator sim(model, options);
  const Vector3 before(3.0 * std::cos(angle), 3.0 * std::sin(angle), -1.0);
  sim.state().v = before;
  EXPECT_EQ(sim.step().status, StepStatus::kOk);
  EXPECT_EQ(sim.report().events.fallbacks, 0);
  EXPECT_EQ(sim.report().events.impacts, 1);
  const Vector3 impulse = 2.0 * (Vector3(sim.state().v) - before);
  normal = impulse.z();
  return {impulse.x(), impulse.y(), 0.0};
}

TEST(EventDriven, ImpactsHaveTheConeThatIsChosen) {
  const double mu = 0.2;
  for (const double angle : {0.0, 0.3, 1.0, 2.5, 4.0}) {
    const Vector3 slip(std::cos(angle), std::sin(angle), 0.0);
    double normal = 0.0;
    EventOptions events;
    EXPECT_NEAR((friction_of_impact(events, angle, normal) + 2.0 * mu * slip).norm(), 0.0, 1e-9);
    EXPECT_NEAR(normal, 2.0, 1e-9);
    // Smooth: |lambda_t| = sqrt((mu lambda_n)^2 + 2 eps mu lambda_n).
    events.impact_cone = ImpactCone::kSmooth;
    events.cone_smoothing = 0.05;
    const double radius = std::sqrt(std::pow(mu * 2.0, 2) + 2.0 * 0.05 * mu * 2.0);
    EXPECT_NEAR((friction_of_impact(events, angle, normal) + radius * slip).norm(), 0.0, 1e-8);
    // Linear: on an edge of the pyramid, which lies on the cone, one of those nearest to the slip.
    events.impact_cone = ImpactCone::kLinear;
    for (const int directions : {4, 8, 16}) {
      events.cone_directions = directions;
      const Vector3 friction = friction_of_impact(events, angle, normal);
      EXPECT_NEAR(normal, 2.0, 1e-9);
      const double most = 2.0 * mu;
      EXPECT_LE(friction.norm(), most + 1e-9) << directions;
      EXPECT_GE(-friction.dot(slip), most * std::cos(M_PI / directions) - 1e-9) << directions;
    }
  }
}

// A pendulum against a limit, and a four-bar loop: the limit bounces not, the loop stays closed.
TEST(EventDriven, LimitsAndLoops) {
  const ModelPtr limited =
      load_mjcf_string(world("<body><joint axis='0 1 0' limited='true' range='-30 150'/><geom type='capsule' fromto='0 "
                             "0 0 0 0 -.5' size='.02' "
                             "contype='0' conaffinity='0'/></body>"));
  Simulator sim(limited, event_options(0.01));
  sim.state().q[0] = 1.5;
  double least = 1.0;
  int events = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    least = std::min(least, sim.state().q[0]);
    events += sim.report().events.events;
    EXPECT_NEAR(sim.report().energy.error(), 0.0, 1e-8);
  }
  EXPECT_GE(least, -M_PI / 6.0 - 1e-9);
  EXPECT_GT(events, 0);
  const ModelPtr loop = load_mjcf_string(R"(<mujoco><worldbody>
    <body><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 .2' size='.02' contype='0' conaffinity='0'/>
      <body pos='0 0 .2'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .5 0 0' size='.02' contype='0' conaffinity='0'/>
        <body name='c' pos='.5 0 0'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 -.2' size='.02' contype='0' conaffinity='0'/></body></body></body>
    </worldbody><equality><connect body1='c' anchor='0 0 -.2'/></equality></mujoco>)");
  Simulator bars(loop, event_options(0.01));
  bars.state().v << 1.0, -1.0, 1.0;
  const double energy = bars.kinetic_energy() + bars.potential_energy();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(bars.step().status, StepStatus::kOk);
    EXPECT_EQ(bars.report().events.fallbacks, 0);
    EXPECT_LT(bars.report().violation, 1e-9);
  }
  EXPECT_NEAR(bars.kinetic_energy() + bars.potential_energy(), energy, 1e-6);
}

// --- bodies that spin ---

// A heavy top on its tip keeps its energy, and its angular momentum about the vertical and about its own axis.
TEST(EventDriven, ATopKeepsEnergyAndMomentum) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><worldbody><body><joint type='ball'/><inertial pos='0 0 .2' mass='1' diaginertia='.002 .002 "
      ".001'/></body>"
      "</worldbody></mujoco>");
  Simulator sim(model, event_options(0.01));
  sim.state().q << std::cos(0.15), std::sin(0.15), 0.0, 0.0;
  sim.state().v << 0.0, 0.0, 1000.0;  // fast: (C w)^2 > 4 A m g l
  const double transverse = 0.002 + 0.04;
  const auto vertical = [&] {
    const Quaternion R(sim.state().q[0], sim.state().q[1], sim.state().q[2], sim.state().q[3]);
    const Vector3 w = sim.state().v.head<3>();
    return (R * Vector3(transverse * w.x(), transverse * w.y(), 0.001 * w.z())).z();
  };
  const double energy = sim.kinetic_energy() + sim.potential_energy(), momentum = vertical();
  double lowest = 1.0;
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    lowest = std::min(lowest, 1.0 - 2.0 * (std::pow(sim.state().q[1], 2) + std::pow(sim.state().q[2], 2)));
  }
  EXPECT_NEAR(sim.kinetic_energy() + sim.potential_energy(), energy, 1e-5);
  EXPECT_NEAR(vertical(), momentum, 1e-7);
  EXPECT_NEAR(sim.state().v[2], 1000.0, 1e-6);
  EXPECT_LT(lowest, std::cos(0.3));  // it nods below where it began
  EXPECT_GT(lowest, 0.5);            // and does not fall
}

// A rattleback turns round if it spins in one sense, and does not in the other; rolling without slip it loses nothing.
TEST(EventDriven, ARattlebackReverses) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><worldbody><geom type='plane' size='5 5 1' friction='1.5'/><body pos='0 0 .02'><freejoint/>"
      "<inertial pos='0 0 0' mass='1' fullinertia='.0004 .0015 .0017 .0002 0 0'/>"
      "<geom type='ellipsoid' size='.1 .03 .02' friction='1.5'/></body></worldbody></mujoco>");
  for (const double spin : {-5.0, 5.0}) {
    SimulatorOptions options = event_options(0.01);
    options.accuracy = 1e-6;
    Simulator sim(model, options);
    sim.state().v[5] = spin;
    sim.state().v[4] = 0.05;
    const double energy = sim.kinetic_energy() + sim.potential_energy();
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      ASSERT_EQ(sim.report().events.fallbacks, 0);
    }
    EXPECT_LT(sim.state().v[5], -4.5);
    EXPECT_NEAR(sim.kinetic_energy() + sim.potential_energy(), energy, 1e-4);
  }
}

// --- slow slips ---

// A block that does not turn, on a slope that friction nearly holds: dv/dt = g sin e - mu g cos v/|v|, with v across
// the slope at the start. It turns to the line of descent, at a rate of mu g cos / |v|, so that its motion is stiff;
// friction is a little less than gravity (1.001), so that it goes on slowly. Where friction is equal it would keep half
// of its speed.
TEST(EventDriven, ASlowSlipTurnsDownTheSlope) {
  const double mu = 0.5, slope = std::atan(1.001 * mu), pull = kG * std::sin(slope), drag = mu * kG * std::cos(slope);
  const std::string along = std::to_string(pull), down = std::to_string(drag / mu);
  const ModelPtr model = load_mjcf_string(
      world("<geom type='plane' size='5 5 1' friction='.5'/><body pos='0 0 .1'><joint type='slide' axis='1 0 0'/>"
            "<joint type='slide' axis='0 1 0'/><joint type='slide' axis='0 0 1'/>"
            "<geom size='.2 .2 .1' type='box' mass='1' friction='.5'/></body>",
            along + " 0 -" + down));
  for (const double speed : {2e-3, 2e-4}) {
    // The equation itself, by Runge and Kutta's rule.
    double v[2] = {0.0, speed}, x[2] = {};
    const double step = 1e-4 * speed, g[2] = {std::stod(along), 0.0};
    const double friction = mu * std::stod(down);
    const auto rate = [&](const double* at, int i) { return g[i] - friction * at[i] / std::hypot(at[0], at[1]); };
    const double seconds = 0.02;
    for (double t = 0.0; t < seconds - 0.5 * step; t += step) {
      double k1[2], k2[2], k3[2], k4[2], w[2];
      for (int i = 0; i < 2; ++i) k1[i] = rate(v, i);
      for (int i = 0; i < 2; ++i) w[i] = v[i] + 0.5 * step * k1[i];
      for (int i = 0; i < 2; ++i) k2[i] = rate(w, i);
      for (int i = 0; i < 2; ++i) w[i] = v[i] + 0.5 * step * k2[i];
      for (int i = 0; i < 2; ++i) k3[i] = rate(w, i);
      for (int i = 0; i < 2; ++i) w[i] = v[i] + step * k3[i];
      for (int i = 0; i < 2; ++i) k4[i] = rate(w, i);
      for (int i = 0; i < 2; ++i) {
        x[i] += step * v[i] + step * step / 6.0 * (k1[i] + k2[i] + k3[i]);
        v[i] += step / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
      }
    }
    EXPECT_NEAR(v[0], 0.5 * speed + 0.001 * friction * seconds, 0.05 * speed);
    Simulator sim(model, event_options(0.01));
    sim.state().v[1] = speed;
    int smooth_steps = 0;
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      EXPECT_EQ(sim.report().events.fallbacks, 0);
      smooth_steps += sim.report().events.smooth_steps;
    }
    EXPECT_NEAR(sim.state().v[0], v[0], 1e-7) << speed;
    EXPECT_NEAR(sim.state().v[1], v[1], 1e-7) << speed;
    EXPECT_NEAR(sim.state().q[0], x[0], 1e-8) << speed;
    EXPECT_NEAR(sim.state().q[1], x[1], 1e-8) << speed;
    EXPECT_LT(smooth_steps, 300) << speed;
  }
}

TEST(EventDriven, WhatItCannotDoIsSaid) {
  const ModelPtr model = double_pendulum();
  SimulatorOptions options = event_options(0.01);
  options.sleep.mode = SleepMode::kOn;
  EXPECT_THROW(Simulator(model, options), Error);
  options = event_options(0.01);
  options.constraints = ConstraintModel::kMujoco;
  EXPECT_THROW(Simulator(model, options), Error);
  options = event_options(0.01);
  options.solver = "sap";
  EXPECT_THROW(Simulator(model, options), Error);
  options = event_options(0.01);
  options.events.cone_directions = 6;
  EXPECT_THROW(Simulator(model, options), Error);
}

}  // namespace
}  // namespace touchstone
