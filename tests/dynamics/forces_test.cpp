// Actuators, tendons, springs and gravity compensation.
#include "touchstone/dynamics/forces.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/random_model.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone::test {
namespace {

MassProperties unit_inertia() { return {1.0, Vector3(0.1, 0.0, 0.0), Matrix3::Identity()}; }

// Two arms: a ball joint with a hinge below it, and a lone slide; a site on each body.
struct Rig {
  ModelBuilder builder{"rig"};
  int ball, hinge, slide;

  Rig() {
    const int upper = builder.add_body({.name = "upper", .inertia = unit_inertia()});
    ball = builder.add_joint({.name = "ball", .body = upper, .type = JointType::kBall, .anchor = Vector3(0.1, 0.2, 0)});
    const Transform offset{Vector3(0.3, 0.1, -0.2), so3_exp(Vector3(0.3, 0.2, -0.1))};
    const int lower = builder.add_body({.name = "lower", .parent = upper, .pose = offset, .inertia = unit_inertia()});
    hinge = builder.add_joint({.name = "hinge", .body = lower, .axis = Vector3(1, 2, 0)});
    const int cart = builder.add_body({.name = "cart", .inertia = unit_inertia()});
    slide = builder.add_joint({.name = "slide", .body = cart, .type = JointType::kSlide});
    const Transform at{Vector3(0.1, -0.2, 0.3), so3_exp(Vector3(0.1, 0.5, 0.2))};
    builder.add_site({.name = "on_upper", .body = upper, .pose = at});
    builder.add_site({.name = "on_lower", .body = lower, .pose = at});
    builder.add_site({.name = "on_cart", .body = cart, .pose = at});
  }
};

struct Evaluated {
  State state;
  Input input;
  Data data;

  Evaluated(const Model& m, const State& s, const Input& i) : state(s), input(i), data(m) {
    forward_kinematics(m, m.defaults, state, data);
    compute_tendons(m, state.q, state.v, data);
    compute_passive(m, m.defaults, state.q, state.v, data);
    compute_actuation(m, m.defaults, state, input, m.options.time_step, data);
  }
};

// The moment of every transmission is the gradient of its length.
TEST(Transmissions, MomentsAreGradientsOfLengths) {
  Rig rig;
  ModelBuilder& b = rig.builder;
  b.add_tendon({.name = "tendon", .terms = {{rig.hinge, 0.5}, {rig.slide, -2.0}}});
  b.add_actuator({.name = "joint", .target = rig.hinge, .gear = {3}});
  b.add_actuator({.name = "tendon", .transmission = TransmissionType::kTendon, .target = 0, .gear = {-2}});
  b.add_actuator({.name = "relative",
                  .transmission = TransmissionType::kSite,
                  .target = 1,
                  .reference_site = 2,
                  .gear = {0.5, -1.0, 2.0, 0, 0, 0}});
  b.add_actuator({.name = "same tree",
                  .transmission = TransmissionType::kSite,
                  .target = 1,
                  .reference_site = 0,
                  .gear = {0.5, -1.0, 2.0, 0, 0, 0}});
  b.add_actuator({.name = "crank",
                  .transmission = TransmissionType::kSliderCrank,
                  .target = 1,
                  .reference_site = 2,
                  .crank_length = 3.0,
                  .gear = {1.5}});
  b.add_actuator({.name = "short crank",
                  .transmission = TransmissionType::kSliderCrank,
                  .target = 1,
                  .reference_site = 2,
                  .crank_length = 1e-3,
                  .gear = {1.5}});
  const ModelPtr m = b.build();
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const State state = random_state(*m, random);
    const Evaluated here(*m, state, Input(*m));
    const double h = 1e-6;
    for (int i = 0; i < m->nv; ++i) {
      State plus = state, minus = state;
      integrate(*m, state.q, VectorX::Unit(m->nv, i), h, plus.q);
      integrate(*m, state.q, VectorX::Unit(m->nv, i), -h, minus.q);
      const VectorX slope =
          (Evaluated(*m, plus, Input(*m)).data.actuator_length - Evaluated(*m, minus, Input(*m)).data.actuator_length) /
          (2 * h);
      for (int u = 0; u < m->nu; ++u) {
        EXPECT_NEAR(here.data.actuator_moment(i, u), slope[u], 1e-7) << m->actuators[u].name << " dof " << i;
      }
    }
    EXPECT_LT((here.data.actuator_velocity - here.data.actuator_moment.transpose() * state.v).norm(), 1e-12);
  }
}

// Turning the site against its reference by a small angle about a gear axis changes the length by that angle.
TEST(Transmissions, RotationBetweenSites) {
  ModelBuilder b;
  const int body = b.add_body({.inertia = unit_inertia()});
  b.add_joint({.body = body, .axis = Vector3::UnitY()});
  b.add_site({.name = "moving", .body = body});
  b.add_site({.name = "fixed", .body = 0});
  b.add_actuator(
      {.transmission = TransmissionType::kSite, .target = 0, .reference_site = 1, .gear = {0, 0, 0, 0, 2, 0}});
  const ModelPtr m = b.build();
  State state(*m);
  state.q[0] = 0.7;
  const Evaluated e(*m, state, Input(*m));
  EXPECT_NEAR(e.data.actuator_length[0], 1.4, 1e-14);
  EXPECT_NEAR(e.data.actuator_moment(0, 0), 2.0, 1e-14);
}

TEST(Actuators, PositionServoWithLimits) {
  ModelBuilder b;
  const int body = b.add_body({.inertia = unit_inertia()});
  b.add_joint({.body = body});
  b.add_actuator({.target = 0,
                  .bias_type = ActuatorBias::kAffine,
                  .gain = {50, 0, 0},
                  .bias = {0, -50, -4},
                  .control_limited = true,
                  .control_range = {-1, 1},
                  .force_limited = true,
                  .force_range = {-30, 30}});
  const ModelPtr m = b.build();
  State state(*m);
  Input input(*m);
  state.q[0] = 0.2;
  state.v[0] = 0.5;
  input.control[0] = 0.3;
  EXPECT_NEAR(Evaluated(*m, state, input).data.actuator_force[0], 50 * (0.3 - 0.2) - 4 * 0.5, 1e-14);
  input.control[0] = 5.0;  // clamped to 1, then the force to 30
  EXPECT_EQ(Evaluated(*m, state, input).data.actuator_force[0], 30.0);
  state.q[0] = 0.8;
  EXPECT_NEAR(Evaluated(*m, state, input).data.actuator_force[0], 50 * 0.2 - 2.0, 1e-12);
}

TEST(Actuators, ActivationDynamics) {
  ModelBuilder b;
  const int body = b.add_body({.inertia = unit_inertia()});
  b.add_joint({.body = body});
  b.add_actuator({.target = 0, .dynamics = ActuatorDynamics::kIntegrator, .gain = {2, 0, 0}});
  b.add_actuator({.target = 0, .dynamics = ActuatorDynamics::kFilter, .time_constant = 0.5, .gain = {3, 0, 0}});
  b.add_actuator({.target = 0,
                  .dynamics = ActuatorDynamics::kFilterExact,
                  .time_constant = 0.5,
                  .activation_limited = true,
                  .activation_range = {-0.1, 0.1}});
  const ModelPtr m = b.build();
  ASSERT_EQ(m->na, 3);
  State state(*m);
  state.activation << 0.25, 0.5, 0.0;
  Input input(*m);
  input.control << 1.0, 2.0, 4.0;
  const Evaluated e(*m, state, input);
  EXPECT_EQ(e.data.activation_rate, Eigen::Vector3d(1.0, 3.0, 8.0));
  EXPECT_EQ(e.data.actuator_force.head<2>(), Vector2(0.5, 1.5));
  const double h = 0.01;
  EXPECT_NEAR(next_activation(m->actuators[1], 0.5, 3.0, h), 0.5 + h * 3.0, 1e-15);
  Actuator exact = m->actuators[2];
  EXPECT_EQ(next_activation(exact, 0.0, 8.0, 0.1), 0.1);  // the range
  exact.activation_limited = false;
  EXPECT_NEAR(next_activation(exact, 0.0, 8.0, h), 4.0 * (1 - std::exp(-h / 0.5)), 1e-14);
}

TEST(Actuators, JointAndTendonForceRanges) {
  Rig rig;
  ModelBuilder& b = rig.builder;
  b.joint(rig.slide).actuator_force_limited = true;
  b.joint(rig.slide).actuator_force_range = {-1, 1};
  b.add_tendon({.terms = {{rig.hinge, 1.0}}, .actuator_force_limited = true, .actuator_force_range = {-3, 3}});
  b.add_actuator({.target = rig.slide});
  b.add_actuator({.target = rig.slide});
  b.add_actuator({.transmission = TransmissionType::kTendon, .target = 0});
  b.add_actuator({.transmission = TransmissionType::kTendon, .target = 0});
  const ModelPtr m = b.build();
  Input input(*m);
  input.control << 2.0, -0.5, 4.0, 2.0;
  const Evaluated e(*m, State(*m), input);
  EXPECT_EQ(e.data.actuation[m->joint_dof[m->joint("slide")]], 1.0);  // 2 - 0.5, limited to 1
  EXPECT_NEAR(e.data.actuator_force[2], 2.0, 1e-15);                  // 4 + 2 scaled to 3 together
  EXPECT_NEAR(e.data.actuator_force[3], 1.0, 1e-15);
}

// Passive forces of springs are minus the gradient of their energy.
TEST(Passive, SpringForcesAreEnergyGradients) {
  Rig rig;
  ModelBuilder& b = rig.builder;
  b.joint(rig.ball).stiffness = 3.0;
  b.joint(rig.hinge).stiffness = 2.0;
  b.joint(rig.hinge).spring_reference = 0.4;
  b.add_tendon({.terms = {{rig.hinge, 0.5}, {rig.slide, -2.0}}, .stiffness = 7.0, .spring_length = {-0.1, 0.2}});
  b.set_gravity(Vector3::Zero());
  const ModelPtr m = b.build();
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 20; ++trial) {
    State state = random_state(*m, random);
    state.v.setZero();
    const Evaluated e(*m, state, Input(*m));
    const double h = 1e-6;
    for (int i = 0; i < m->nv; ++i) {
      VectorX plus(m->nq), minus(m->nq);
      integrate(*m, state.q, VectorX::Unit(m->nv, i), h, plus);
      integrate(*m, state.q, VectorX::Unit(m->nv, i), -h, minus);
      const double slope =
          (potential_energy(*m, m->defaults, plus, e.data) - potential_energy(*m, m->defaults, minus, e.data)) /
          (2 * h);
      EXPECT_NEAR(e.data.passive[i], -slope, 1e-7) << "dof " << i;
    }
  }
}

TEST(Passive, GravityCompensationHoldsTheRobot) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const ModelPtr m = random_model(random);
    Parameters parameters = m->defaults;
    parameters.body_gravity_compensation.setOnes();
    State state = random_state(*m, random);
    state.v.setZero();
    Data data(*m);
    VectorX a(m->nv);
    ASSERT_TRUE(forward_dynamics(*m, parameters, state, Input(*m), data, a));
    EXPECT_LT(a.cwiseAbs().maxCoeff(), 1e-9);
  }
}

TEST(Passive, DampersTakeEnergyOut) {
  Rig rig;
  ModelBuilder& b = rig.builder;
  b.joint(rig.ball).damping = 0.5;
  b.add_tendon({.terms = {{rig.hinge, 0.5}, {rig.slide, -2.0}}, .damping = 3.0});
  const ModelPtr m = b.build();
  std::mt19937_64 random(4);
  const State state = random_state(*m, random);
  const Evaluated e(*m, state, Input(*m));
  const double rate = 0.5 * state.v[m->joint_dof[1]] - 2.0 * state.v[m->joint_dof[2]];
  const double expected = -0.5 * state.v.head<3>().squaredNorm() - 3.0 * rate * rate;
  EXPECT_NEAR(e.data.passive.dot(state.v), expected, 1e-12);
}

// A tendon's armature adds a c c' to the mass matrix.
TEST(Tendons, ArmatureEntersTheMassMatrix) {
  ModelBuilder b;
  const int first = b.add_body({.inertia = unit_inertia()});
  b.add_joint({.name = "one", .body = first});
  const int second = b.add_body({.parent = first, .inertia = unit_inertia()});
  b.add_joint({.name = "two", .body = second, .axis = Vector3::UnitX()});
  const ModelPtr plain = b.build();
  b.add_tendon({.terms = {{0, 0.5}, {1, -2.0}}, .armature = 3.0});
  const ModelPtr m = b.build();
  Data data(*m), plain_data(*plain);
  const State state(*m);
  forward_kinematics(*m, m->defaults, state, data);
  forward_kinematics(*plain, plain->defaults, state, plain_data);
  crba(*m, m->defaults, data);
  crba(*plain, plain->defaults, plain_data);
  Eigen::Matrix2d expected;
  expected << 0.75, -3.0, -3.0, 12.0;
  VectorX a(2);
  EXPECT_THROW(aba(*m, m->defaults, state.q, state.v, VectorX::Zero(2), data, a), Error);
  EXPECT_LT((dense_mass_matrix(*m, data) - dense_mass_matrix(*plain, plain_data) - expected).norm(), 1e-13);
}

TEST(Tendons, ArmatureAcrossBranchesIsRefused) {
  Rig rig;
  rig.builder.add_tendon({.name = "t", .terms = {{rig.hinge, 0.5}, {rig.slide, -2.0}}, .armature = 1.0});
  EXPECT_THROW(rig.builder.build(), InputError);
}

}  // namespace
}  // namespace touchstone::test
