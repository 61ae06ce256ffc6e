// Closed forms, conservation laws, and the free motion of a step.
#include <gtest/gtest.h>

#include <cmath>

#include "support/allocation_guard.hpp"
#include "support/random_model.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone::test {
namespace {

constexpr double kGravity = 9.81;

MassProperties point_mass(double mass, const Vector3& at, double inertia = 0.0) {
  return {mass, at, inertia * Matrix3::Identity()};
}

VectorX free_acceleration(const Model& m, const State& state, const Input& input) {
  Data data(m);
  VectorX a(m.nv);
  EXPECT_TRUE(forward_dynamics(m, m.defaults, state, input, data, a));
  return a;
}

VectorX free_acceleration(const Model& m, const State& state) { return free_acceleration(m, state, Input(m)); }

// d/dt of the displacement u from the start of the step, when the velocity at q (+) u is v: for rotations the inverse
// of the differential of the exponential map, v + u x v / 2 + u x (u x v) / 12 up to fourth order.
VectorX displacement_rate(const Model& m, const VectorX& u, const VectorX& v) {
  VectorX rate = v;
  for (int j = 0; j < m.njoint; ++j) {
    const JointType type = m.joints[j].type;
    if (type != JointType::kFree && type != JointType::kBall) continue;
    const int dof = m.joint_dof[j] + (type == JointType::kFree ? 3 : 0);
    const Vector3 turn = u.segment<3>(dof), w = v.segment<3>(dof);
    rate.segment<3>(dof) += 0.5 * turn.cross(w) + turn.cross(turn.cross(w)) / 12.0;
  }
  return rate;
}

// Fourth-order Runge-Kutta-Munthe-Kaas: the classical scheme for the displacement and the velocity.
void runge_kutta_step(const Model& m, double h, State& state, Data& data) {
  const Input input(m);
  VectorX k_u[4], k_a[4];
  State stage = state;
  static constexpr double kNode[4] = {0.0, 0.5, 0.5, 1.0};
  for (int i = 0; i < 4; ++i) {
    VectorX u = VectorX::Zero(m.nv);
    if (i > 0) {
      u = kNode[i] * h * k_u[i - 1];
      integrate(m, state.q, u, 1.0, stage.q);
      stage.v = state.v + kNode[i] * h * k_a[i - 1];
    }
    k_u[i] = displacement_rate(m, u, stage.v);
    k_a[i].resize(m.nv);
    ASSERT_TRUE(forward_dynamics(m, m.defaults, stage, input, data, k_a[i]));
  }
  const VectorX u = h * (k_u[0] + 2 * k_u[1] + 2 * k_u[2] + k_u[3]) / 6.0;
  integrate(m, state.q, u, 1.0, state.q);
  state.v += h * (k_a[0] + 2 * k_a[1] + 2 * k_a[2] + k_a[3]) / 6.0;
}

TEST(ClosedForm, Pendulum) {
  const double length = 0.7, mass = 1.3, inertia = 0.02;
  ModelBuilder b("pendulum");
  const int arm = b.add_body({.inertia = point_mass(mass, {0, 0, -length}, inertia)});
  b.add_joint({.body = arm, .axis = Vector3::UnitY()});
  const ModelPtr m = b.build();
  State state(*m);
  for (double angle : {-2.0, -0.3, 0.0, 0.5, 3.0}) {
    state.q[0] = angle;
    state.v[0] = 1.7;
    const double expected = -mass * kGravity * length * std::sin(angle) / (inertia + mass * length * length);
    EXPECT_NEAR(free_acceleration(*m, state)[0], expected, 1e-12);
  }
}

// Two point masses on massless rods; the textbook equations in relative angles, solved by hand.
TEST(ClosedForm, DoublePendulum) {
  const double l1 = 0.6, l2 = 0.4, m1 = 2.0, m2 = 0.7;
  ModelBuilder b("double pendulum");
  const int upper = b.add_body({.inertia = point_mass(m1, {0, 0, -l1})});
  b.add_joint({.body = upper, .axis = Vector3::UnitY()});
  const int lower = b.add_body(
      {.parent = upper, .pose = {Vector3(0, 0, -l1), Quaternion::Identity()}, .inertia = point_mass(m2, {0, 0, -l2})});
  b.add_joint({.body = lower, .axis = Vector3::UnitY()});
  const ModelPtr m = b.build();
  State state(*m);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20; ++i) {
    state.q = random_vector(2, random);
    state.v = random_vector(2, random);
    const double t1 = state.q[0], t2 = state.q[0] + state.q[1];  // absolute angles
    const double w1 = state.v[0], w2 = state.v[0] + state.v[1];
    const double c = std::cos(t1 - t2), s = std::sin(t1 - t2);
    Eigen::Matrix2d M;
    M << (m1 + m2) * l1 * l1, m2 * l1 * l2 * c, m2 * l1 * l2 * c, m2 * l2 * l2;
    const Vector2 f(-m2 * l1 * l2 * s * w2 * w2 - (m1 + m2) * kGravity * l1 * std::sin(t1),
                    m2 * l1 * l2 * s * w1 * w1 - m2 * kGravity * l2 * std::sin(t2));
    const Vector2 absolute = M.inverse() * f;
    const VectorX a = free_acceleration(*m, state);
    EXPECT_NEAR(a[0], absolute[0], 1e-10);
    EXPECT_NEAR(a[1], absolute[1] - absolute[0], 1e-10);
  }
}

// A screw of pitch p (m/rad) in a vertical nut: (I + m p^2) a = -m g p.
TEST(ClosedForm, Screw) {
  const double mass = 2.0, spin = 0.05, pitch = 0.03;
  ModelBuilder b("screw");
  const int nut = b.add_body({.inertia = point_mass(mass, {0, 0, 0.1}, spin)});
  b.add_joint({.body = nut, .type = JointType::kScrew, .pitch = pitch});
  const ModelPtr m = b.build();
  State state(*m);
  state.q[0] = 4.0;
  state.v[0] = -3.0;
  EXPECT_NEAR(free_acceleration(*m, state)[0], -mass * kGravity * pitch / (spin + mass * pitch * pitch), 1e-12);
  Data data(*m);
  forward_kinematics(*m, m->defaults, state, data);
  EXPECT_NEAR(data.X_WB[1].p.z(), 4.0 * pitch, 1e-15);
  EXPECT_NEAR(data.X_WB[1].R.c0.x(), std::cos(4.0), 1e-15);
}

// A free symmetric top: Euler's equations give w3 constant and (w1, w2) turning at (I3 - I1)/I1 w3 in the body.
TEST(ClosedForm, FreeSymmetricTop) {
  const double I1 = 0.1, I3 = 0.25;
  ModelBuilder b("top");
  MassProperties inertia{1.0, Vector3::Zero(), Vector3(I1, I1, I3).asDiagonal()};
  const int top = b.add_body({.inertia = inertia});
  b.add_joint({.body = top, .type = JointType::kFree});
  b.set_gravity(Vector3::Zero());
  const ModelPtr m = b.build();
  State state(*m);
  state.v << 0.1, -0.2, 0.3, 0.5, 0.0, 4.0;
  Data data(*m);
  const double h = 1e-3, rate = (I3 - I1) / I1 * 4.0;
  for (int i = 0; i < 1000; ++i) runge_kutta_step(*m, h, state, data);
  EXPECT_NEAR(state.v[5], 4.0, 1e-10);
  EXPECT_NEAR(state.v[3], 0.5 * std::cos(rate), 1e-9);
  EXPECT_NEAR(state.v[4], 0.5 * std::sin(rate), 1e-9);
  EXPECT_NEAR(state.q[0], 0.1, 1e-12);
  EXPECT_NEAR(state.q[1], -0.2, 1e-12);
  EXPECT_NEAR(state.q[2], 0.3, 1e-12);
}

// The body origin of a thrown, spinning body with an offset centre of mass circles; the centre itself flies a parabola.
TEST(ClosedForm, ThrownBodyFollowsTheParabola) {
  ModelBuilder b("thrown");
  const int body = b.add_body({.inertia = {2.0, Vector3(0.2, -0.1, 0.3), Vector3(0.1, 0.12, 0.2).asDiagonal()}});
  b.add_joint({.body = body, .type = JointType::kFree});
  const ModelPtr m = b.build();
  State state(*m);
  state.v << 1, 2, 5, 3, -2, 1;
  Data data(*m);
  forward_kinematics(*m, m->defaults, state, data);
  forward_velocity(*m, state.v, data);
  const Vector3 c0 = center_of_mass(*m, m->defaults, data);
  const Vector3 v0 = momentum(*m, m->defaults, data, Vector3::Zero()).linear / 2.0;
  for (int i = 0; i < 500; ++i) runge_kutta_step(*m, 1e-3, state, data);
  forward_kinematics(*m, m->defaults, state, data);
  const Vector3 expected = c0 + 0.5 * v0 + 0.5 * 0.25 * Vector3(0, 0, -kGravity);
  EXPECT_LT((center_of_mass(*m, m->defaults, data) - expected).norm(), 1e-9);
}

TEST(Conservation, EnergyOfRandomMechanisms) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(property_count()) / 5; ++seed) {
    std::mt19937_64 random(20000 + seed);
    const ModelPtr m = random_model(random, {.bodies = 6});
    State state = random_state(*m, random);
    Data data(*m);
    const auto energy = [&] {
      forward_kinematics(*m, m->defaults, state, data);
      forward_velocity(*m, state.v, data);
      return kinetic_energy(*m, m->defaults, state.v, data) + potential_energy(*m, m->defaults, state.q, data);
    };
    const double start = energy();
    forward_kinematics(*m, m->defaults, state, data);
    const double scale = std::max(1.0, kinetic_energy(*m, m->defaults, state.v, data));
    const auto drift = [&](double h, int steps) {
      State copy = state;
      for (int i = 0; i < steps; ++i) runge_kutta_step(*m, h, state, data);
      const double change = std::abs(energy() - start) / scale;
      state = copy;
      return change;
    };
    // Fourth order: the drift falls by about 16 when the step is halved, down to round-off.
    const double coarse = drift(2e-3, 50), fine = drift(1e-3, 100);
    EXPECT_TRUE(fine < 1e-11 || fine < coarse / 8.0) << "seed " << seed << " coarse " << coarse << " fine " << fine;
    EXPECT_LT(fine, 1e-6) << "seed " << seed;
  }
}

TEST(Conservation, MomentumOfFloatingMechanisms) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(property_count()) / 5; ++seed) {
    std::mt19937_64 random(30000 + seed);
    // Armature is inertia of a rotor that carries no momentum of its own in this model, so it is left out.
    const ModelPtr m = random_model(random, {.bodies = 6, .only_floating = true, .armature = false});
    State state = random_state(*m, random);
    Data data(*m);
    const auto current = [&] {
      forward_kinematics(*m, m->defaults, state, data);
      forward_velocity(*m, state.v, data);
      return momentum(*m, m->defaults, data, center_of_mass(*m, m->defaults, data));
    };
    const Momentum start = current();
    const double h = 5e-4;
    const int steps = 100;
    for (int i = 0; i < steps; ++i) runge_kutta_step(*m, h, state, data);
    const Momentum end = current();
    const Vector3 impulse = m->total_mass() * m->defaults.gravity * (h * steps);
    EXPECT_LT((end.linear - start.linear - impulse).norm(), 1e-7 * (1.0 + start.linear.norm())) << "seed " << seed;
    EXPECT_LT((end.angular - start.angular).norm(), 1e-7 * (1.0 + start.angular.norm())) << "seed " << seed;
  }
}

// v_free satisfies its definition A (v_free - v) = h (f - h K v) with A = M + h D + h^2 K.
TEST(FreeMotion, SatisfiesItsEquation) {
  std::mt19937_64 random(5);
  ModelBuilder b("sprung");
  const int first = b.add_body({.inertia = point_mass(1.0, {0.1, 0, 0.2}, 0.05)});
  b.add_joint({.body = first, .type = JointType::kBall, .stiffness = 3.0, .damping = 0.4});
  const int second = b.add_body({.parent = first,
                                 .pose = {Vector3(0, 0, 0.4), Quaternion::Identity()},
                                 .inertia = point_mass(0.5, {0, 0.1, 0.2}, 0.02)});
  b.add_joint({.body = second,
               .axis = Vector3::UnitX(),
               .stiffness = 20.0,
               .spring_reference = 0.3,
               .damping = 0.1,
               .armature = 0.01});
  const ModelPtr m = b.build();
  State state = random_state(*m, random);
  const Input input(*m);
  Data data(*m);
  const double h = 0.01;
  VectorX a(m->nv);
  ASSERT_TRUE(forward_dynamics(*m, m->defaults, state, input, data, a));
  const VectorX f = data.smooth_force;
  const MatrixX M = dense_mass_matrix(*m, data);
  VectorX K(m->nv);
  K << 3, 3, 3, 20;
  const MatrixX A = M + MatrixX((h * m->defaults.dof_damping + h * h * K).asDiagonal());
  ASSERT_TRUE(compute_free_motion(*m, m->defaults, state, input, h, data));
  EXPECT_LT(relative_error(A * (data.v_free - state.v), h * (f - h * K.cwiseProduct(state.v))), 1e-12);
}

// Springs and dampers that are switched off neither pull, nor brake, nor hold energy.
TEST(FreeMotion, DisabledSpringsAndDampersDoNothing) {
  ModelBuilder b("idle");
  const int body = b.add_body({.inertia = point_mass(2.0, {0, 0, 0}, 1e-3)});
  b.add_joint({.body = body, .type = JointType::kSlide, .stiffness = 1e3, .damping = 50.0});
  State state;
  const auto free_velocity = [&](bool springs, bool dampers) {
    b.options().springs_enabled = springs;
    b.options().dampers_enabled = dampers;
    const ModelPtr m = b.build();
    state = State(*m);
    state.q[0] = 0.1;
    state.v[0] = 1.0;
    Data data(*m);
    EXPECT_TRUE(compute_free_motion(*m, m->defaults, state, Input(*m), 0.01, data));
    const double weight = 2.0 * kGravity * 0.1;
    EXPECT_NEAR(potential_energy(*m, m->defaults, state.q, data), weight + (springs ? 0.5 * 1e3 * 0.01 : 0.0), 1e-12);
    return data.v_free[0];
  };
  const double h = 0.01;
  EXPECT_NEAR(free_velocity(false, false), 1.0 - h * kGravity, 1e-14);
  EXPECT_NEAR(free_velocity(false, true), 1.0 + h * (-2.0 * kGravity - 50.0) / (2.0 + h * 50.0), 1e-14);
  EXPECT_NEAR(free_velocity(true, false), 1.0 + h * (-2.0 * kGravity - 100.0 - h * 1e3) / (2.0 + h * h * 1e3), 1e-14);
}

// A stiff spring and damper at a step far beyond the explicit limit stay bounded because they are implicit.
TEST(FreeMotion, ImplicitJointTermsAreStable) {
  ModelBuilder b("stiff");
  const int body = b.add_body({.inertia = point_mass(1.0, {0, 0, 0}, 1e-3)});
  b.add_joint({.body = body, .type = JointType::kSlide, .stiffness = 1e8, .damping = 1e4});
  const ModelPtr m = b.build();
  State state(*m);
  state.q[0] = 0.1;
  Data data(*m);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(compute_free_motion(*m, m->defaults, state, Input(*m), 0.01, data));
    state.v = data.v_free;
    integrate(*m, state.q, state.v, 0.01, state.q);
  }
  EXPECT_NEAR(state.q[0], -kGravity / 1e8, 1e-9);
  EXPECT_LT(std::abs(state.v[0]), 1e-6);
}

TEST(Workspace, NothingIsAllocatedOnceItExists) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  std::mt19937_64 random(9);
  const ModelPtr m = random_model(random, {.bodies = 20});
  State state = random_state(*m, random);
  const Input input(*m);
  Data data(*m);
  VectorX a(m->nv), tau(m->nv);
  Matrix6X J(6, m->nv);
  MatrixX X(m->nv, 6);
  const AllocationGuard guard;
  ASSERT_TRUE(forward_dynamics(*m, m->defaults, state, input, data, a));
  ASSERT_TRUE(compute_free_motion(*m, m->defaults, state, input, 1e-3, data));
  rnea(*m, m->defaults, state.q, state.v, a, data, tau);
  aba(*m, m->defaults, state.q, state.v, tau, data, a);
  point_jacobian(*m, data, m->nbody - 1, Vector3::Zero(), J);
  point_jacobian_dot(*m, data, state.v, m->nbody - 1, Vector3::Zero(), J);
  X.setZero();
  solve_path(*m, data, m->nbody - 1, X);
  integrate(*m, state.q, state.v, 1e-3, state.q);
  EXPECT_EQ(guard.allocations(), 0u);
}

TEST(Robustness, TroubleIsAStatus) {
  ModelBuilder b("loose");
  const int body = b.add_body({.inertia = point_mass(1.0, {0, 0, -1})});
  b.add_joint({.body = body, .axis = Vector3::UnitY()});
  const ModelPtr m = b.build();
  Parameters massless = m->defaults;
  massless.set_mass_properties(body, {});
  Data data(*m);
  VectorX a(1);
  EXPECT_FALSE(forward_dynamics(*m, massless, State(*m), Input(*m), data, a));
  State broken(*m);
  broken.q[0] = std::nan("");
  EXPECT_FALSE(forward_dynamics(*m, m->defaults, broken, Input(*m), data, a));
}

TEST(Robustness, WrongLengthsAreRefused) {
  std::mt19937_64 random(11);
  const ModelPtr m = random_model(random);
  const VectorX good = VectorX::Zero(m->nv), bad = VectorX::Zero(m->nv + 1);
  Data data(*m);
  VectorX out(m->nv);
  State state(*m);
  EXPECT_THROW(rnea(*m, m->defaults, state.q, bad, good, data, out), Error);
  EXPECT_THROW(aba(*m, m->defaults, bad.head(1), good, good, data, out), Error);
  EXPECT_THROW(forward_kinematics(*m, m->defaults, VectorX::Zero(m->nq + 2), data), Error);
  VectorX shorter(m->nv - 1);
  EXPECT_THROW(solve(*m, data, shorter), Error);
  Input input(*m);
  input.applied_wrench.clear();
  EXPECT_THROW((void)!forward_dynamics(*m, m->defaults, state, input, data, out), Error);
  state.v.resize(3);
  EXPECT_THROW((void)!forward_dynamics(*m, m->defaults, state, Input(*m), data, out), Error);
}

TEST(Robustness, ChainOfTenThousandLinks) {
  ModelBuilder b("chain");
  int parent = 0;
  constexpr int kLinks = 10'000;
  for (int i = 0; i < kLinks; ++i) {
    parent = b.add_body({.parent = parent,
                         .pose = {Vector3(0, 0, -0.01), Quaternion::Identity()},
                         .inertia = point_mass(0.01, {0, 0, -0.005}, 1e-6)});
    b.add_joint({.body = parent, .axis = i % 2 == 0 ? Vector3::UnitX() : Vector3::UnitY()});
  }
  const ModelPtr m = b.build();
  ASSERT_EQ(m->nv, kLinks);
  State state(*m);
  state.q.setConstant(1e-5);
  Data data(*m);
  VectorX a(m->nv), tau(m->nv);
  aba(*m, m->defaults, state.q, state.v, VectorX::Zero(m->nv), data, a);
  rnea(*m, m->defaults, state.q, state.v, a, data, tau);
  ASSERT_TRUE(a.allFinite());
  // The root carries up to 1,000 N m; what is left of the torques is round-off relative to that.
  EXPECT_LT(tau.cwiseAbs().maxCoeff(), 1e-6 * 0.01 * kLinks * kGravity);
}

}  // namespace
}  // namespace touchstone::test
