// Identities between the algorithms, on random mechanisms.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "support/random_model.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone::test {
namespace {

struct Case {
  ModelPtr model;
  Parameters parameters;
  State state;
  Data data;

  explicit Case(std::mt19937_64& random, const RandomModelOptions& options = {})
      : model(random_model(random, options)),
        parameters(model->defaults),
        state(random_state(*model, random)),
        data(*model) {
    forward_kinematics(*model, parameters, state, data);
    forward_velocity(*model, state.v, data);
    crba(*model, parameters, data);
  }
};

template <typename Check>
void for_random_models(unsigned seed, const RandomModelOptions& options, Check&& check) {
  for (int i = 0; i < property_count(); ++i) {
    std::mt19937_64 random(seed + static_cast<unsigned>(i));
    Case c(random, options);
    SCOPED_TRACE("seed " + std::to_string(seed + static_cast<unsigned>(i)));
    check(c, random);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Properties, MassMatrixIsPositiveDefiniteAndAgreesWithRnea) {
  for_random_models(1000, {}, [](Case& c, std::mt19937_64&) {
    const Model& m = *c.model;
    const MatrixX M = dense_mass_matrix(m, c.data);
    EXPECT_EQ(Eigen::LLT<MatrixX>(M).info(), Eigen::Success);
    Parameters weightless = c.parameters;
    weightless.gravity.setZero();
    MatrixX columns(m.nv, m.nv);
    const VectorX rest = VectorX::Zero(m.nv);
    for (int i = 0; i < m.nv; ++i) {
      VectorX column(m.nv);
      rnea(m, weightless, c.state.q, rest, VectorX::Unit(m.nv, i), c.data, column);
      columns.col(i) = column;
    }
    columns.diagonal() += c.parameters.dof_armature;
    EXPECT_LT(relative_error(M, columns), 1e-13);
  });
}

TEST(Properties, RneaInvertsAba) {
  for_random_models(2000, {}, [](Case& c, std::mt19937_64& random) {
    const Model& m = *c.model;
    const VectorX tau = random_vector(m.nv, random);
    VectorX a(m.nv), back(m.nv);
    aba(m, c.parameters, c.state.q, c.state.v, tau, c.data, a);
    rnea(m, c.parameters, c.state.q, c.state.v, a, c.data, back);
    back += c.parameters.dof_armature.cwiseProduct(a);
    EXPECT_LT(relative_error(back, tau), 1e-9);
  });
}

TEST(Properties, FactorSolvesWhatAbaSolves) {
  for_random_models(3000, {}, [](Case& c, std::mt19937_64& random) {
    const Model& m = *c.model;
    const VectorX tau = random_vector(m.nv, random);
    compute_bias(m, c.parameters, c.state.v, c.data);
    ASSERT_TRUE(factorize(m, c.data));
    VectorX a = tau - c.data.bias, expected(m.nv), product = VectorX::Zero(m.nv);
    solve(m, c.data, a);
    multiply_mass(m, c.data, a, product);
    EXPECT_LT(relative_error(product, tau - c.data.bias), 1e-10);
    aba(m, c.parameters, c.state.q, c.state.v, tau, c.data, expected);
    EXPECT_LT(relative_error(a, expected), 1e-8);
  });
}

TEST(Properties, ShiftedFactorAndHalfSolve) {
  for_random_models(3500, {}, [](Case& c, std::mt19937_64& random) {
    const Model& m = *c.model;
    const VectorX shift = random_vector(m.nv, random).cwiseAbs();
    const MatrixX A = dense_mass_matrix(m, c.data) + MatrixX(shift.asDiagonal());
    ASSERT_TRUE(factorize(m, shift, c.data));
    const VectorX b = random_vector(m.nv, random);
    VectorX x = b;
    solve(m, c.data, x);
    EXPECT_LT(relative_error(A * x, b), 1e-11);
    VectorX y = b;
    half_solve(m, c.data, y);
    EXPECT_NEAR(y.dot(c.data.D_inverse.cwiseProduct(y)), b.dot(x), 1e-10 * std::abs(b.dot(x)));
  });
}

TEST(Properties, SolvePathEqualsDenseSolve) {
  for_random_models(4000, {}, [](Case& c, std::mt19937_64& random) {
    const Model& m = *c.model;
    ASSERT_TRUE(factorize(m, c.data));
    const int body = 1 + static_cast<int>(random() % static_cast<unsigned>(m.nbody - 1));
    Matrix6X J(6, m.nv);
    point_jacobian(m, c.data, body, random_vector3(random), J);
    MatrixX X = J.transpose();
    solve_path(m, c.data, body, X);
    const MatrixX expected = dense_mass_matrix(m, c.data).llt().solve(MatrixX(J.transpose()));
    EXPECT_LT((X - expected).cwiseAbs().maxCoeff(), 1e-9 * std::max(1.0, expected.cwiseAbs().maxCoeff()));
  });
}

// Position of a body-fixed point at another configuration.
Vector3 point_at(const Case& c, const VectorX& q, int body, const Vector3& local, Matrix3& R) {
  Data data(*c.model);
  forward_kinematics(*c.model, c.parameters, q, data);
  R = data.X_WB[body].R.eigen();
  return (data.X_WB[body] * Vec3(local)).eigen();
}

TEST(Properties, JacobiansMatchFiniteDifferences) {
  for_random_models(5000, {}, [](Case& c, std::mt19937_64& random) {
    const Model& m = *c.model;
    const int body = 1 + static_cast<int>(random() % static_cast<unsigned>(m.nbody - 1));
    const Vector3 local = random_vector3(random);
    const Vector3 point = (c.data.X_WB[body] * Vec3(local)).eigen();
    Matrix6X J(6, m.nv);
    point_jacobian(m, c.data, body, point, J);
    const double h = 1e-6;
    MatrixX numeric(6, m.nv);
    VectorX q(m.nq);
    for (int i = 0; i < m.nv; ++i) {
      Matrix3 R_plus, R_minus;
      integrate(m, c.state.q, VectorX::Unit(m.nv, i), h, q);
      const Vector3 plus = point_at(c, q, body, local, R_plus);
      integrate(m, c.state.q, VectorX::Unit(m.nv, i), -h, q);
      const Vector3 minus = point_at(c, q, body, local, R_minus);
      const Matrix3 spin = (R_plus - R_minus) * c.data.X_WB[body].R.eigen().transpose() / (2 * h);
      numeric.col(i) << (plus - minus) / (2 * h), spin(2, 1), spin(0, 2), spin(1, 0);
    }
    EXPECT_LT((J - numeric).cwiseAbs().maxCoeff(), 1e-8 * std::max(1.0, J.cwiseAbs().maxCoeff()));
    EXPECT_LT(relative_error(point_velocity(m, c.data, body, point), J * c.state.v), 1e-12);
  });
}

TEST(Properties, JacobianRatesMatchFiniteDifferencesAndAccelerations) {
  for_random_models(6000, {}, [](Case& c, std::mt19937_64& random) {
    const Model& m = *c.model;
    const int body = 1 + static_cast<int>(random() % static_cast<unsigned>(m.nbody - 1));
    const Vector3 local = random_vector3(random);
    const Vector3 point = (c.data.X_WB[body] * Vec3(local)).eigen();
    Matrix6X J(6, m.nv), J_dot(6, m.nv), plus(6, m.nv), minus(6, m.nv);
    point_jacobian(m, c.data, body, point, J);
    point_jacobian_dot(m, c.data, c.state.v, body, point, J_dot);
    const double h = 1e-6;
    const auto jacobian_at = [&](double step, Matrix6X& out) {
      VectorX q(m.nq);
      integrate(m, c.state.q, c.state.v, step, q);
      Data data(m);
      forward_kinematics(m, c.parameters, q, data);
      point_jacobian(m, data, body, (data.X_WB[body] * Vec3(local)).eigen(), out);
    };
    jacobian_at(h, plus);
    jacobian_at(-h, minus);
    const Matrix6X numeric = (plus - minus) / (2 * h);
    EXPECT_LT((J_dot - numeric).cwiseAbs().maxCoeff(), 1e-7 * std::max(1.0, J_dot.cwiseAbs().maxCoeff()));
    const VectorX a = random_vector(m.nv, random);
    forward_acceleration(m, c.state.v, a, c.data);
    EXPECT_LT(relative_error(point_acceleration(m, c.data, body, point), J * a + J_dot * c.state.v), 1e-11);
  });
}

TEST(Properties, LocalJacobianIsTheWorldOneTurned) {
  for_random_models(6500, {}, [](Case& c, std::mt19937_64& random) {
    const Model& m = *c.model;
    const int body = 1 + static_cast<int>(random() % static_cast<unsigned>(m.nbody - 1));
    Matrix6X J(6, m.nv), local(6, m.nv);
    point_jacobian(m, c.data, body, c.data.X_WB[body].p.eigen(), J);
    body_jacobian_local(m, c.data, body, local);
    const Matrix3 R = c.data.X_WB[body].R.eigen();
    EXPECT_LT((R * local.topRows<3>() - J.topRows<3>()).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_LT((R * local.bottomRows<3>() - J.bottomRows<3>()).cwiseAbs().maxCoeff(), 1e-12);
  });
}

TEST(Properties, CenterOfMassJacobianGivesItsMomentum) {
  for_random_models(7000, {}, [](Case& c, std::mt19937_64&) {
    const Model& m = *c.model;
    Eigen::Matrix3Xd J(3, m.nv);
    center_of_mass_jacobian(m, c.parameters, c.data, J);
    const Momentum p = momentum(m, c.parameters, c.data, Vector3::Zero());
    EXPECT_LT((m.total_mass() * (J * c.state.v) - p.linear).norm(), 1e-11 * std::max(1.0, p.linear.norm()));
  });
}

TEST(Properties, KineticEnergyIsHalfOfVMV) {
  for_random_models(8000, {}, [](Case& c, std::mt19937_64&) {
    const double expected = 0.5 * c.state.v.dot(dense_mass_matrix(*c.model, c.data) * c.state.v);
    EXPECT_NEAR(kinetic_energy(*c.model, c.parameters, c.state.v, c.data), expected, 1e-12 * expected);
  });
}

TEST(Properties, GravityIsTheGradientOfPotentialEnergy) {
  for_random_models(9000, {}, [](Case& c, std::mt19937_64& random) {
    const Model& m = *c.model;
    VectorX g(m.nv), q(m.nq);
    gravity_force(m, c.parameters, c.data, g);
    const VectorX direction = random_vector(m.nv, random);
    const double h = 1e-5;
    const auto energy = [&](double step) {
      integrate(m, c.state.q, direction, step, q);
      Data data(m);
      forward_kinematics(m, c.parameters, q, data);
      return potential_energy(m, c.parameters, q, data);
    };
    EXPECT_NEAR((energy(h) - energy(-h)) / (2 * h), g.dot(direction),
                1e-6 * std::max(1.0, g.norm() * direction.norm()));
    c.parameters.gravity = Vector3(0.3, -0.2, -9.0);
    gravity_force(m, c.parameters, c.data, g);
    compute_bias(m, c.parameters, VectorX::Zero(m.nv), c.data);
    EXPECT_LT(relative_error(c.data.bias, g), 1e-12);
  });
}

// Far from the origin the same robot must have the same mass matrix: the reference point is the tree's own.
TEST(Properties, PrecisionDoesNotSufferFarFromTheOrigin) {
  for_random_models(10000, {.only_floating = true}, [](Case& c, std::mt19937_64&) {
    const Model& m = *c.model;
    const VectorX near = c.data.M;
    for (int j = 0; j < m.njoint; ++j) {
      if (m.joints[j].type == JointType::kFree) c.state.q[m.joint_q[j]] += 1e6;
    }
    forward_kinematics(m, c.parameters, c.state, c.data);
    crba(m, c.parameters, c.data);
    // Coordinates of size 1e6 carry positions to 1e-10 only; nothing of size 1e12 may have been subtracted.
    EXPECT_LT(relative_error(c.data.M, near), 1e-8);
  });
}

TEST(Properties, AppliedWrenchesActThroughTheCenterOfMass) {
  for_random_models(11000, {}, [](Case& c, std::mt19937_64& random) {
    const Model& m = *c.model;
    Input input(m);
    VectorX tau = VectorX::Zero(m.nv), expected = VectorX::Zero(m.nv);
    for (int b = 1; b < m.nbody; ++b) {
      input.applied_wrench[b] = random_vector(6, random);
      Matrix6X J(6, m.nv);
      point_jacobian(m, c.data, b, (c.data.X_WB[b] * c.parameters.body_inertia[b].com).eigen(), J);
      expected += J.transpose() * input.applied_wrench[b];
    }
    add_applied_wrenches(m, c.parameters, input.applied_wrench, c.data, tau);
    EXPECT_LT(relative_error(tau, expected), 1e-12);
  });
}

}  // namespace
}  // namespace touchstone::test
