#include "touchstone/diff/dynamics_derivatives.hpp"

#include <gtest/gtest.h>

#include "diff/finite_differences.hpp"
#include "support/allocation_guard.hpp"
#include "support/random_model.hpp"
#include "support/robot_runs.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/load.hpp"

namespace touchstone::test {
namespace {

constexpr double kTolerance = 1e-6;

struct Case {
  explicit Case(ModelPtr pointer, std::mt19937_64& random)
      : model(std::move(pointer)), state(random_state(*model, random)), a(random_vector(model->nv, random)) {}

  VectorX tau_at(const VectorX& q, const VectorX& v, const VectorX& acceleration) const {
    Data data(*model);
    VectorX tau(model->nv);
    rnea(*model, model->defaults, q, v, acceleration, data, tau);
    return tau;
  }

  ModelPtr model;
  State state;
  VectorX a;
};

void expect_inverse_derivatives(const Case& c, const std::string& what) {
  const Model& model = *c.model;
  const VectorX& q = c.state.q;
  const VectorX& v = c.state.v;
  Data data(model);
  InverseDynamicsDerivatives d(model);
  rnea_derivatives(model, model.defaults, q, v, c.a, data, d);
  const MatrixX by_q = by_configuration(model, q, [&](const VectorX& x) { return c.tau_at(x, v, c.a); });
  const MatrixX by_v = by_vector(v, [&](const VectorX& x) { return c.tau_at(q, x, c.a); });
  const MatrixX by_a = by_vector(c.a, [&](const VectorX& x) { return c.tau_at(q, v, x); });
  EXPECT_LT(relative_error(d.dtau_dq, by_q), kTolerance) << what;
  EXPECT_LT(relative_error(d.dtau_dv, by_v), kTolerance) << what;
  EXPECT_LT(relative_error(d.dtau_da, by_a), kTolerance) << what;
  Data reference(model);
  forward_kinematics(model, model.defaults, q, reference);
  crba(model, model.defaults, reference);
  EXPECT_LT(relative_error(dense_mass_matrix(model, data), dense_mass_matrix(model, reference)), 1e-12) << what;
}

// Forward dynamics by aba, which shares nothing with the factor; for tendons with armature by the factor.
void expect_forward_derivatives(const Case& c, const std::string& what) {
  const Model& model = *c.model;
  const VectorX& q = c.state.q;
  const VectorX& v = c.state.v;
  const bool simple = (model.defaults.tendon_armature.array() == 0.0).all();
  if (!simple) return;
  const auto a_at = [&](const VectorX& x, const VectorX& w, const VectorX& tau) {
    Data data(model);
    VectorX a(model.nv);
    aba(model, model.defaults, x, w, tau, data, a);
    return a;
  };
  Data data(model);
  ForwardDynamicsDerivatives d(model);
  const VectorX tau = 3.0 * c.a;
  ASSERT_TRUE(d.compute(model, model.defaults, q, v, tau, data)) << what;
  EXPECT_LT(relative_error(d.a(), a_at(q, v, tau)), 1e-8) << what;
  const MatrixX by_q = by_configuration(model, q, [&](const VectorX& x) { return a_at(x, v, tau); });
  const MatrixX by_v = by_vector(v, [&](const VectorX& x) { return a_at(q, x, tau); });
  const MatrixX by_tau = by_vector(tau, [&](const VectorX& x) { return a_at(q, v, x); });
  EXPECT_LT(relative_error(d.da_dq(), by_q), kTolerance) << what;
  EXPECT_LT(relative_error(d.da_dv(), by_v), kTolerance) << what;
  EXPECT_LT(relative_error(d.da_dtau(), by_tau), kTolerance) << what;
}

TEST(DynamicsDerivatives, AreThoseOfFiniteDifferencesOnRandomModels) {
  std::mt19937_64 random(1);
  for (int i = 0; i < std::max(10, property_count() / 5); ++i) {
    const Case c(random_model(random), random);
    expect_inverse_derivatives(c, "model " + std::to_string(i));
    if (HasFailure()) return;
  }
}

TEST(DynamicsDerivatives, OfForwardDynamicsOnRandomModels) {
  std::mt19937_64 random(2);
  for (int i = 0; i < std::max(10, property_count() / 5); ++i) {
    const Case c(random_model(random), random);
    expect_forward_derivatives(c, "model " + std::to_string(i));
    if (HasFailure()) return;
  }
}

// Along random directions: all columns at once.
TEST(DynamicsDerivatives, OfEveryRobot) {
  const std::vector<RobotFile> files = robot_files();
  if (files.empty()) GTEST_SKIP() << "no robots here";
  std::mt19937_64 random(3);
  for (const RobotFile& file : files) {
    LoadOptions options;
    options.floating_base = file.urdf;
    const Case c(load_model(file.path.string(), options), random);
    const Model& model = *c.model;
    Data data(model), work(model);
    InverseDynamicsDerivatives d(model);
    const VectorX& q = c.state.q;
    const VectorX& v = c.state.v;
    rnea_derivatives(model, model.defaults, q, v, c.a, data, d);
    const VectorX along = random_vector(model.nv, random), by_v = random_vector(model.nv, random);
    const MatrixX expected = derivative(
        [&](double t) -> MatrixX {
          VectorX moved(model.nq), tau(model.nv);
          integrate(model, q, along, t, moved);
          rnea(model, model.defaults, moved, v + t * by_v, c.a + t * along, work, tau);
          return tau;
        },
        1e-3);
    const VectorX actual = d.dtau_dq * along + d.dtau_dv * by_v + d.dtau_da * along;
    EXPECT_LT(relative_error(actual, expected), kTolerance) << file.name;

    ForwardDynamicsDerivatives forward(model);
    const VectorX tau = 3.0 * c.a;
    ASSERT_TRUE(forward.compute(model, model.defaults, q, v, tau, data)) << file.name;
    // M a(q, v, tau) + bias = tau along the same line.
    const VectorX a_rate = forward.da_dq() * along + forward.da_dv() * by_v;
    const MatrixX tau_rate = derivative(
        [&](double t) -> MatrixX {
          VectorX moved(model.nq), force(model.nv), inertial(model.nv);
          integrate(model, q, along, t, moved);
          const VectorX a = forward.a() + t * a_rate;
          rnea(model, model.defaults, moved, v + t * by_v, a, work, force);
          force += model.defaults.dof_armature.cwiseProduct(a);
          return force;
        },
        1e-3);
    const bool simple = (model.defaults.tendon_armature.array() == 0.0).all();
    const double scale = (d.dtau_dq * along).cwiseAbs().maxCoeff() + (d.dtau_dv * by_v).cwiseAbs().maxCoeff();
    if (!simple) continue;
    EXPECT_LT(tau_rate.cwiseAbs().maxCoeff(), kTolerance * scale) << file.name;
  }
}

// A pendulum of length l and mass m: tau = m l^2 a + m g l sin q.
TEST(DynamicsDerivatives, OfAPendulum) {
  const double m = 2.0, l = 0.7, g = 9.81, q = 0.4, v = 1.3, a = -0.6;
  ModelBuilder builder;
  Body body;
  body.name = "bob";
  body.inertia = {m, Vector3(0, 0, -l), 1e-9 * Matrix3::Identity()};
  const int b = builder.add_body(body);
  Joint joint;
  joint.body = b;
  joint.axis = Vector3::UnitY();
  builder.add_joint(joint);
  const ModelPtr model = builder.build();
  Data data(*model);
  InverseDynamicsDerivatives d(*model);
  rnea_derivatives(*model, model->defaults, VectorX::Constant(1, q), VectorX::Constant(1, v), VectorX::Constant(1, a),
                   data, d);
  EXPECT_NEAR(d.dtau_dq(0, 0), m * g * l * std::cos(q), 1e-8);
  EXPECT_NEAR(d.dtau_dv(0, 0), 0.0, 1e-12);
  EXPECT_NEAR(d.dtau_da(0, 0), m * l * l, 1e-8);
}

TEST(DynamicsDerivatives, WithForcesThatStayInTheWorld) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 50; ++i) {
    const Case c(random_model(random), random);
    const Model& model = *c.model;
    std::vector<Vector6> wrenches;  // [force; torque] about the world's origin
    for (int b = 0; b < model.nbody; ++b) wrenches.emplace_back(random_vector(6, random));
    const auto tau_at = [&](const VectorX& q) {
      Data data(model);
      VectorX tau(model.nv);
      rnea(model, model.defaults, q, c.state.v, c.a, data, tau);
      for (int b = 1; b < model.nbody; ++b) {
        Matrix6X J(6, model.nv);
        point_jacobian(model, data, b, Vector3::Zero(), J);
        tau -= J.transpose() * wrenches[static_cast<std::size_t>(b)];
      }
      return tau;
    };
    Data data(model);
    forward_kinematics(model, model.defaults, c.state.q, data);
    std::vector<Force> external(static_cast<std::size_t>(model.nbody));
    for (std::size_t b = 1; b < external.size(); ++b) {
      const int tree = model.body_kernels[b].tree;
      if (tree < 0) continue;
      const Vec3 force(wrenches[b].head<3>());
      const Vec3 O = data.reference_point[static_cast<std::size_t>(tree)];
      external[b] = {Vec3(wrenches[b].tail<3>()) - cross(O, force), force};
    }
    InverseDynamicsDerivatives d(model);
    rnea_derivatives(model, model.defaults, c.state.q, c.state.v, c.a, data, d, external);
    EXPECT_LT(relative_error(d.dtau_dq, by_configuration(model, c.state.q, tau_at)), kTolerance) << i;
  }
}

TEST(DynamicsDerivatives, OfEnergiesAndByGravity) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 50; ++i) {
    const Case c(random_bound_model(random), random);
    const Model& model = *c.model;
    Parameters parameters = model.defaults;
    const VectorX& v = c.state.v;
    const auto kinetic = [&](const VectorX& q, const VectorX& w) {
      Data data(model);
      forward_kinematics(model, parameters, q, data);
      forward_velocity(model, w, data);
      return VectorX::Constant(1, kinetic_energy(model, parameters, w, data));
    };
    const auto potential = [&](const VectorX& q) {
      Data data(model);
      forward_kinematics(model, parameters, q, data);
      return VectorX::Constant(1, potential_energy(model, parameters, q, data));
    };
    Data data(model);
    forward_kinematics(model, parameters, c.state.q, data);
    forward_velocity(model, v, data);
    crba(model, parameters, data);
    VectorX by_q(model.nv), by_v(model.nv), potential_by_q(model.nv);
    kinetic_energy_gradient(model, parameters, v, data, by_q, by_v);
    potential_energy_gradient(model, parameters, c.state.q, data, potential_by_q);
    const auto close = [&](const VectorX& actual, const MatrixX& expected) {
      EXPECT_LT((actual.transpose() - expected).cwiseAbs().maxCoeff(),
                kTolerance * (1.0 + expected.cwiseAbs().maxCoeff()))
          << i;
    };
    close(by_q, by_configuration(model, c.state.q, [&](const VectorX& q) { return kinetic(q, v); }));
    close(by_v, by_vector(v, [&](const VectorX& w) { return kinetic(c.state.q, w); }));
    close(potential_by_q, by_configuration(model, c.state.q, potential));

    Eigen::MatrixX3d by_gravity(model.nv, 3);
    dtau_dgravity(model, data, by_gravity);
    const MatrixX expected = by_vector(parameters.gravity, [&](const VectorX& g) {
      Parameters changed = parameters;
      changed.gravity = g;
      Data work(model);
      VectorX tau(model.nv);
      rnea(model, changed, c.state.q, v, c.a, work, tau);
      return tau;
    });
    EXPECT_LT(relative_error(by_gravity, expected), kTolerance) << i;
  }
}

TEST(DynamicsDerivatives, AllocateNothing) {
  std::mt19937_64 random(6);
  const Case c(random_model(random), random);
  const Model& model = *c.model;
  Data data(model);
  ForwardDynamicsDerivatives d(model);
  const VectorX tau = c.a;
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const AllocationGuard guard;
  EXPECT_TRUE(d.compute(model, model.defaults, c.state.q, c.state.v, tau, data));
  EXPECT_EQ(guard.allocations(), 0U);
}

TEST(DynamicsDerivatives, RefuseVectorsOfTheWrongSize) {
  std::mt19937_64 random(7);
  const Case c(random_model(random), random);
  Data data(*c.model);
  InverseDynamicsDerivatives d(*c.model);
  EXPECT_THROW(rnea_derivatives(*c.model, c.model->defaults, c.state.q, VectorX::Zero(1), c.a, data, d), Error);
}

}  // namespace
}  // namespace touchstone::test
