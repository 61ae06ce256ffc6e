// Violations of each kind brought back in a way of its own, and loops that give way.
#include <cmath>

#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr double kStep = 1e-3, kGravity = 9.81;

MassProperties inertia(double mass, double moment, const Vector3& com = Vector3::Zero()) {
  return {mass, com, Matrix3(Vector3::Constant(moment).asDiagonal())};
}

SimulatorOptions with(std::initializer_list<const char*> assignments) {
  SimulatorOptions options;
  options.time_step = kStep;
  options.stabilisation.slop = 0.0;
  options.stabilisation.recovery_speed = 1e3;
  for (const char* assignment : assignments) set_option(options, assignment);
  return options;
}

// A ball in the ground, a hinge beyond its limit and a body away from where a connect holds it, without gravity.
struct Violated {
  static constexpr double kDepth = 4e-3, kBeyond = 0.05, kApart = 2e-3;

  static ModelPtr model() {
    ModelBuilder b;
    b.set_gravity(Vector3::Zero());
    b.add_shape({.body = 0, .shape = {.type = ShapeType::kPlane}});
    const int ball = b.add_body({.name = "ball", .inertia = inertia(1.0, 0.01)});
    b.add_joint({.body = ball, .type = JointType::kFree});
    b.add_shape({.body = ball, .shape = {.type = ShapeType::kSphere, .size = Vector3::Constant(0.1)}});
    const int arm =
        b.add_body({.name = "arm", .pose = {Vector3(0, 0, 5), Quaternion::Identity()}, .inertia = inertia(1.0, 0.1)});
    b.add_joint(
        {.name = "hinge", .body = arm, .type = JointType::kHinge, .limited = true, .range = Vector2(-1.0, 1.0)});
    const int held = b.add_body({.name = "held", .inertia = inertia(1.0, 0.01)});
    b.add_joint({.body = held, .type = JointType::kFree});
    b.add_loop_joint({.name = "loop",
                      .type = LoopJointType::kSpherical,
                      .body_b = held,
                      .frame_a = {Vector3(0, 5, 5), Quaternion::Identity()}});
    return b.build();
  }

  // What is left of each violation after one step, as a share.
  struct Left {
    double contact, limit, loop;
  };
  static Left after_a_step(const SimulatorOptions& options) {
    Simulator sim(model(), options);
    State state(sim.model());
    state.q[2] = 0.1 - kDepth;
    state.q[7] = 1.0 + kBeyond;
    state.q.segment<3>(8) = Vector3(0, 5, 5 + kApart);
    sim.reset(state);
    EXPECT_EQ(sim.step().status, StepStatus::kOk);
    const VectorX& q = sim.state().q;
    return {(0.1 - q[2]) / kDepth, (q[7] - 1.0) / kBeyond, (q.segment<3>(8) - Vector3(0, 5, 5)).norm() / kApart};
  }
};

// Eq. 89 to 91: an erp is the share that one step removes, of its own kind and no other.
TEST(Stabilisation, EachKindHasItsOwnShare) {
  const double pass = std::exp(-kStep / StabilisationOptions().time_constant);  // what the position pass leaves
  const Violated::Left by_pass = Violated::after_a_step(with({}));
  EXPECT_NEAR(by_pass.contact, pass, 1e-3);
  EXPECT_NEAR(by_pass.limit, pass, 1e-3);
  EXPECT_NEAR(by_pass.loop, 0.0, 1e-3);

  const Violated::Left all = Violated::after_a_step(with({"stabilisation=baumgarte", "erp=0.3"}));
  EXPECT_NEAR(all.contact, 0.7, 1e-6);
  EXPECT_NEAR(all.limit, 0.7, 1e-6);
  EXPECT_NEAR(all.loop, 0.7, 1e-6);

  const Violated::Left own = Violated::after_a_step(
      with({"stabilisation=baumgarte", "erp=0.3", "loop_erp=0.6", "limit_erp=0.1", "contact_erp=0"}));
  EXPECT_NEAR(own.contact, 1.0, 1e-9);
  EXPECT_NEAR(own.limit, 0.9, 1e-6);
  EXPECT_NEAR(own.loop, 0.4, 1e-6);
}

// One kind by velocities, the others by the position pass, which leaves that one where it is.
TEST(Stabilisation, KindsDoNotMixWithThePass) {
  const double pass = std::exp(-kStep / StabilisationOptions().time_constant);
  const double rare = std::exp(-0.5);  // without loops to look after there is a pass every half time constant
  const Violated::Left loop = Violated::after_a_step(with({"loop_erp=0.25"}));
  EXPECT_NEAR(loop.loop, 0.75, 1e-6);
  EXPECT_NEAR(loop.contact, rare, 1e-3);
  EXPECT_NEAR(loop.limit, rare, 1e-3);
  const Violated::Left limit = Violated::after_a_step(with({"limit_erp=0.25"}));
  EXPECT_NEAR(limit.limit, 0.75, 1e-6);
  EXPECT_NEAR(limit.contact, pass, 1e-3);
  EXPECT_NEAR(limit.loop, 0.0, 1e-3);
  const Violated::Left contact = Violated::after_a_step(with({"contact_erp=0.25"}));
  EXPECT_NEAR(contact.contact, 0.75, 1e-6);
  EXPECT_NEAR(contact.limit, pass, 1e-3);
  EXPECT_NEAR(contact.loop, 0.0, 1e-3);
  const Violated::Left none = Violated::after_a_step(with({"loop_erp=0", "limit_erp=0", "contact_erp=0"}));
  EXPECT_NEAR(none.contact, 1.0, 1e-9);
  EXPECT_NEAR(none.limit, 1.0, 1e-9);
  EXPECT_NEAR(none.loop, 1.0, 1e-9);
}

TEST(Stabilisation, OptionsAreChecked) {
  SimulatorOptions options;
  EXPECT_THROW(set_option(options, "loop_erp=1.5"), Error);
  EXPECT_THROW(set_option(options, "loop_softening=soft"), Error);
  options.stabilisation.limit_erp = 2.0;
  EXPECT_THROW(options.validate(), Error);
  SimulatorOptions event = with({"loop_softening=impedance", "integrator=event"});
  EXPECT_THROW(Simulator(Violated::model(), event), Error);
}

// A body of 3 kg that a spherical loop, or a connect, holds at its centre of mass.
constexpr double kTime = 0.03, kRatio = 0.4, kGives = 0.9;  // T, zeta and d of eq. 105

Impedance softness() {
  Impedance impedance;
  impedance.solref = {kTime, kRatio};
  impedance.solimp = {kGives, kGives, 1e-3, 0.5, 2.0};
  return impedance;
}

ModelPtr hanging(bool by_connect) {
  ModelBuilder b;
  b.set_gravity(Vector3(0, 0, -kGravity));
  const int body = b.add_body({.name = "body", .inertia = inertia(3.0, 0.2)});
  b.add_joint({.body = body, .type = JointType::kFree});
  if (by_connect) {
    b.add_equality({.name = "loop", .type = EqualityType::kConnect, .a = body, .b = 0, .impedance = softness()});
  } else {
    b.add_loop_joint({.name = "loop", .type = LoopJointType::kSpherical, .body_b = body, .impedance = softness()});
  }
  return b.build();
}

// Eq. 105, 106 and 113 for one body: x'' = -(1 - d) g - 2 x'/T - x/(T zeta)^2, step by step and at rest.
TEST(LoopSoftening, IsTheStatedSpringAndDamper) {
  for (const bool by_connect : {false, true}) {
    Simulator sim(hanging(by_connect), with({"loop_softening=impedance"}));
    State state(sim.model());
    state.q[2] = 0.01;
    state.v[2] = 0.3;
    sim.reset(state);
    const double rate2 = 1.0 / (kTime * kTime * kRatio * kRatio);
    double x = 0.01, v = 0.3, largest = 0.0;
    for (int k = 0; k < 1000; ++k) {
      v += kStep * (-(1.0 - kGives) * kGravity - 2.0 / kTime * v - rate2 * x);
      x += kStep * v;
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      largest = std::max(largest, std::abs(sim.state().q[2] - x));
    }
    EXPECT_LT(largest, 1e-7) << (by_connect ? "connect" : "loop joint");
    EXPECT_NEAR(sim.state().q[2], -(1.0 - kGives) * kGravity / rate2, 1e-8);
  }
}

// A rod that turns about its held end: the loop gives way to the share 1 - d of the centripetal force, not to all of
// it, which it would without dJ/dt v in its rows.
TEST(LoopSoftening, HoldsWhatTurns) {
  constexpr double kLength = 0.5, kRate = 4.0;
  ModelBuilder b;
  b.set_gravity(Vector3::Zero());
  const int rod = b.add_body({.name = "rod", .inertia = inertia(3.0, 0.2, Vector3(kLength, 0, 0))});
  b.add_joint({.body = rod, .type = JointType::kFree});
  b.add_loop_joint({.name = "loop", .type = LoopJointType::kSpherical, .body_b = rod, .impedance = softness()});
  Simulator sim(b.build(), with({"loop_softening=impedance"}));
  State state(sim.model());
  state.v.tail<3>() = Vector3(0, 0, kRate);
  sim.reset(state);
  ASSERT_NE(sim.step(2000).status, StepStatus::kDiverged);
  // The share of the compliance is that of the reference configuration: along the rod 1/m is exact.
  const double expected = (1.0 - kGives) * kRate * kRate * kLength * kTime * kTime * kRatio * kRatio;
  EXPECT_NEAR(sim.state().q.head<3>().norm(), expected, 0.1 * expected);
}

}  // namespace
}  // namespace touchstone
