// The variational midpoint rule against finite differences and the laws that it keeps by construction.
#include "touchstone/dynamics/variational.hpp"

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "support/random_model.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

// A tree with armature in joints and a tendon, springs in a hinge, a ball and a tendon.
constexpr const char* kSprings =
    R"(<mujoco><worldbody><body><joint name='a' axis='0 1 0' stiffness='3' armature='0.02'/>
      <inertial pos='0.1 0.05 -0.3' mass='1' diaginertia='.02 .03 .01'/>
      <body pos='0 0 -0.5'><joint name='b' axis='1 0 0'/><inertial pos='0 0.1 -0.2' mass='2' diaginertia='.04 .03 .02'/>
        <body pos='0 0 -0.4'><joint type='ball' stiffness='2' armature='0.01'/>
          <inertial pos='.1 0 -.1' mass='0.5' diaginertia='.01 .02 .015'/></body></body></body></worldbody>
    <tendon><fixed name='t' stiffness='5' armature='0.03'><joint joint='a' coef='1'/><joint joint='b' coef='-0.5'/></fixed>
    </tendon></mujoco>)";

double kinetic(const Model& m, const VectorX& q, const VectorX& v, Data& data) {
  forward_kinematics(m, m.defaults, q, data);
  forward_velocity(m, v, data);
  return kinetic_energy(m, m.defaults, v, data);
}

void expect_gradient(const Model& m, const State& state) {
  Data data(m);
  VectorX p(m.nv), gradient(m.nv), expected(m.nv), q(m.nq);
  forward_kinematics(m, m.defaults, state.q, data);
  forward_velocity(m, state.v, data);
  kinetic_gradient(m, m.defaults, state.v, data, p, gradient);
  crba(m, m.defaults, data);
  multiply_mass(m, data, state.v, expected);
  EXPECT_LT(relative_error(p, expected), 1e-12);

  constexpr double kStep = 1e-5;
  for (int i = 0; i < m.nv; ++i) {
    const VectorX along = VectorX::Unit(m.nv, i);
    integrate(m, state.q, along, kStep, q);
    const double ahead = kinetic(m, q, state.v, data);
    integrate(m, state.q, along, -kStep, q);
    expected[i] = (ahead - kinetic(m, q, state.v, data)) / (2.0 * kStep);
  }
  EXPECT_LT((gradient - expected).lpNorm<Eigen::Infinity>(), 1e-7 * (1.0 + expected.lpNorm<Eigen::Infinity>()));
}

TEST(Variational, GradientOfTheKineticEnergy) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(property_count()) / 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(50000 + seed);
    const ModelPtr m = random_model(random);
    expect_gradient(*m, random_state(*m, random));
  }
  std::mt19937_64 random(1);
  const ModelPtr m = load_mjcf_string(kSprings);
  expect_gradient(*m, random_state(*m, random));
}

// One step as the simulator makes it.
bool advance(const Model& m, double h, VariationalStep& rule, Data& data, State& state) {
  const Input input(m);
  State middle = state;
  integrate(m, state.q, state.v, 0.5 * h, middle.q);
  if (!compute_free_motion(m, m.defaults, middle, input, h, data, ServoMode::kExplicit, SpringRule::kMiddle)) {
    return false;
  }
  if (!rule.solve(m, m.defaults, state, input, h, false, data)) return false;
  integrate(m, state.q, rule.velocity(), h, state.q);
  state.v = data.v_free;
  return true;
}

// The rule is its own inverse with the other sign of h: a step there and one back end where they began.
TEST(Variational, StepsAreReversible) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(property_count()) / 5; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(60000 + seed);
    const ModelPtr m = seed == 0 ? load_mjcf_string(kSprings) : random_model(random);
    State state = random_state(*m, random);
    const State start = state;
    VariationalStep rule(*m);
    Data data(*m);
    VectorX moved(m->nv);
    ASSERT_TRUE(advance(*m, 0.01, rule, data, state));
    EXPECT_LE(rule.iterations(), 15);
    state.v = -state.v;
    ASSERT_TRUE(advance(*m, 0.01, rule, data, state));
    difference(*m, start.q, state.q, moved);
    EXPECT_LT(moved.norm(), 1e-11);
    EXPECT_LT((state.v + start.v).norm(), 1e-10 * (1.0 + start.v.norm()));
  }
}

TEST(Variational, MomentumOfFloatingMechanisms) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(property_count()) / 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(70000 + seed);
    ModelPtr built = random_model(random, {.bodies = 6, .only_floating = true});
    Model m = *built;
    m.defaults.gravity.setZero();
    State state = random_state(m, random);
    VariationalStep rule(m);
    Data data(m);
    const auto measure = [&] {
      forward_kinematics(m, m.defaults, state, data);
      forward_velocity(m, state.v, data);
      return momentum(m, m.defaults, data, Vector3::Zero());
    };
    const Momentum before = measure();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(advance(m, 0.01, rule, data, state)) << i;
    const Momentum after = measure();
    EXPECT_LT((after.linear - before.linear).norm(), 1e-11);
    EXPECT_LT((after.angular - before.angular).norm(), 1e-11 * (1.0 + before.angular.norm()));
  }
}

// Turns of a tenth of a radian a step are fast: 50 rad/s at 2 ms.
TEST(Variational, FastTurnsAreSolved) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(property_count()) / 3; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(80000 + seed);
    const ModelPtr m = random_model(random, {.bodies = 6});
    State state = random_state(*m, random);
    if (m->nv > 0) state.v *= 10.0 / state.v.lpNorm<Eigen::Infinity>();
    VariationalStep rule(*m);
    Data data(*m);
    EXPECT_TRUE(advance(*m, 0.01, rule, data, state));
    EXPECT_LE(rule.iterations(), 25);
  }
}

TEST(Variational, AStepThatIsTooLongIsRefused) {
  const ModelPtr m = load_mjcf_string(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/><geom type='box' size='.1 .05 .2'/></body>"
      "</worldbody></mujoco>");
  VariationalStep rule(*m);
  Data data(*m);
  State state(*m);
  state.v << 0, 0, 0, 40, 10, 30;
  const State start = state;
  EXPECT_FALSE(advance(*m, 0.1, rule, data, state));  // five radians
  EXPECT_TRUE(state == start);
  EXPECT_TRUE(data.v_free.allFinite());
  EXPECT_TRUE(advance(*m, 0.01, rule, data, state));
}

TEST(Variational, DoesNotAllocate) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const ModelPtr m = load_mjcf_string(kSprings);
  std::mt19937_64 random(3);
  const State state = random_state(*m, random);
  const Input input(*m);
  VariationalStep rule(*m);
  Data data(*m);
  ASSERT_TRUE(compute_free_motion(*m, m->defaults, state, input, 0.01, data));
  const AllocationGuard guard;
  ASSERT_TRUE(rule.solve(*m, m->defaults, state, input, 0.01, false, data));
  EXPECT_EQ(guard.allocations(), 0U);
}

}  // namespace
}  // namespace touchstone::test
