#include "touchstone/diff/inertial_parameters.hpp"

#include <gtest/gtest.h>

#include "diff/finite_differences.hpp"
#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"

namespace touchstone::test {
namespace {

TEST(InertialParameters, RegressorTimesParametersIsTheForce) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    const ModelPtr model = random_model(random);
    const State state = random_state(*model, random);
    const VectorX a = random_vector(model->nv, random);
    Data data(*model);
    VectorX tau(model->nv), pi(kInertialParameters * model->nbody);
    MatrixX Y(model->nv, pi.size());
    regressor(*model, model->defaults, state.q, state.v, a, data, Y);
    rnea(*model, model->defaults, state.q, state.v, a, data, tau);
    for (int b = 0; b < model->nbody; ++b) {
      pi.segment<kInertialParameters>(kInertialParameters * b) =
          inertial_parameters(model->defaults.body_inertia[static_cast<std::size_t>(b)]);
    }
    EXPECT_LT(relative_error(Y * pi, tau), 1e-11) << i;
  }
}

// A solid ball of mass m and radius r about the origin: int r r' dm = m r^2/5 1.
TEST(InertialParameters, LogCholeskyOfABall) {
  const double m = 3.0, r = 0.4;
  BodyInertia ball;
  ball.mass = m;
  ball.inertia = Mat3(Matrix3(0.4 * m * r * r * Matrix3::Identity()));
  const Vector10 theta = to_log_cholesky(inertial_parameters(ball));
  EXPECT_NEAR(theta[0], 0.5 * std::log(m), 1e-12);
  for (int i = 1; i <= 3; ++i) EXPECT_NEAR(theta[i], std::log(r / std::sqrt(5.0)), 1e-12);
  EXPECT_LT(theta.tail<6>().cwiseAbs().maxCoeff(), 1e-12);
}

TEST(InertialParameters, LogCholeskyComesBackAndIsPhysical) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; ++i) {
    const Vector10 theta = random_vector(10, random);
    Matrix10 by_theta;
    const Vector10 pi = from_log_cholesky(theta, &by_theta);
    EXPECT_TRUE(is_physical(body_inertia(pi).inertia.eigen())) << i;
    EXPECT_LT((to_log_cholesky(pi) - theta).cwiseAbs().maxCoeff(), 1e-8) << i;
    EXPECT_LT(relative_error(inertial_parameters(body_inertia(pi)), pi), 1e-12) << i;
    const MatrixX expected = by_vector(theta, [](const VectorX& x) { return from_log_cholesky(x); });
    EXPECT_LT(relative_error(by_theta, expected), 1e-9) << i;
  }
}

TEST(InertialParameters, RefuseWhatNoBodyHas) {
  Vector10 point = Vector10::Zero();
  EXPECT_THROW(body_inertia(point), Error);
  point[0] = 1.0;
  EXPECT_THROW(to_log_cholesky(point), Error);
}

}  // namespace
}  // namespace touchstone::test
