#include "touchstone/diff/point_derivatives.hpp"

#include <random>

#include <gtest/gtest.h>

#include "diff/finite_differences.hpp"
#include "support/allocation_guard.hpp"
#include "support/random_model.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone::test {
namespace {

constexpr double kTolerance = 1e-6;

// A point of a body, by its place in the body's axes.
struct BodyPoint {
  ModelPtr model;
  int body;
  Vector3 place;

  Vector3 at(const Data& data) const { return body_pose(data, body) * place; }

  // [velocity, acceleration], 12.
  VectorX motion(const VectorX& q, const VectorX& v, const VectorX& a) const {
    Data data(*model);
    forward_kinematics(*model, model->defaults, q, data);
    forward_velocity(*model, v, data);
    forward_acceleration(*model, v, a, data);
    VectorX result(12);
    result << point_velocity(*model, data, body, at(data)), point_acceleration(*model, data, body, at(data));
    return result;
  }

  Matrix6X jacobian(const VectorX& q) const {
    Data data(*model);
    forward_kinematics(*model, model->defaults, q, data);
    Matrix6X J(6, model->nv);
    point_jacobian(*model, data, body, at(data), J);
    return J;
  }
};

MatrixX stacked(const Matrix6X& above, const Matrix6X& below) {
  MatrixX all(12, above.cols());
  all << above, below;
  return all;
}

void expect_derivatives(const BodyPoint& p, const VectorX& q, const VectorX& v, const VectorX& a) {
  const Model& model = *p.model;
  Data data(model);
  forward_kinematics(model, model.defaults, q, data);
  PointDerivatives d(model);
  d.compute(model, v, a, data);
  const Vector3 point = p.at(data);
  Matrix6X dv_dq(6, model.nv), da_dq(6, model.nv), da_dv(6, model.nv), J(6, model.nv);
  d.velocity(model, data, p.body, point, dv_dq);
  d.acceleration(model, data, p.body, point, da_dq, da_dv);
  point_jacobian(model, data, p.body, point, J);
  VectorX here(12);
  here << point_velocity(model, data, p.body, point), point_acceleration(model, data, p.body, point);
  EXPECT_LT(relative_error(here, p.motion(q, v, a)), 1e-12);
  const MatrixX by_q = by_configuration(model, q, [&](const VectorX& x) { return p.motion(x, v, a); });
  const MatrixX by_v = by_vector(v, [&](const VectorX& x) { return p.motion(q, x, a); });
  EXPECT_LT(relative_error(stacked(dv_dq, da_dq), by_q), kTolerance);
  EXPECT_LT(relative_error(stacked(J, da_dv), by_v), kTolerance);

  MatrixX rate = MatrixX::Zero(6, model.nv);  // of the Jacobian along v
  Matrix6X by_q_k(6, model.nv), J_dot(6, model.nv);
  for (int k = 0; k < model.nv; ++k) {
    point_jacobian_derivative(model, data, p.body, point, k, by_q_k);
    const MatrixX expected = derivative([&](double t) -> MatrixX { return p.jacobian(moved(model, q, k, t)); }, 1e-3);
    EXPECT_LT((by_q_k - expected).cwiseAbs().maxCoeff(), kTolerance * std::max(1.0, expected.cwiseAbs().maxCoeff()))
        << "dof " << k;
    EXPECT_LT((by_q_k * v - dv_dq.col(k)).cwiseAbs().maxCoeff(), 1e-10 * (1.0 + dv_dq.cwiseAbs().maxCoeff()));
    rate += v[k] * by_q_k;
  }
  point_jacobian_dot(model, data, v, p.body, point, J_dot);
  EXPECT_LT(relative_error(rate, J_dot), 1e-10);
}

TEST(PointDerivatives, AreThoseOfFiniteDifferencesOnRandomModels) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 100; ++i) {
    const ModelPtr model = random_model(random);
    const State state = random_state(*model, random);
    const VectorX a = random_vector(model->nv, random);
    for (int n = 0; n < 3; ++n) {
      const int body = std::uniform_int_distribution<int>(0, model->nbody - 1)(random);
      expect_derivatives({model, body, random_vector3(random)}, state.q, state.v, a);
      if (HasFailure()) FAIL() << "model " << i << ", body " << body;
    }
  }
}

// A point at (r, 0) of a pendulum about z: v = (0, r w), a = (-r w^2, r alpha).
TEST(PointDerivatives, OfAPendulum) {
  const ModelPtr model = load_mjcf_string(
      R"(<mujoco><worldbody><body><joint axis="0 0 1"/><geom type="sphere" size="0.1" pos="2 0 0"/></body></worldbody>
         </mujoco>)");
  const double r = 2.0, w = 3.0, alpha = 5.0;
  Data data(*model);
  forward_kinematics(*model, model->defaults, VectorX::Zero(1), data);
  PointDerivatives d(*model);
  d.compute(*model, VectorX::Constant(1, w), VectorX::Constant(1, alpha), data);
  Matrix6X dv_dq(6, 1), da_dq(6, 1), da_dv(6, 1), dJ(6, 1);
  d.velocity(*model, data, 1, {r, 0, 0}, dv_dq);
  d.acceleration(*model, data, 1, {r, 0, 0}, da_dq, da_dv);
  point_jacobian_derivative(*model, data, 1, {r, 0, 0}, 0, dJ);
  const auto expect = [](const Matrix6X& actual, double x, double y) {
    EXPECT_LT((actual - (Vector6() << x, y, 0, 0, 0, 0).finished()).norm(), 1e-12) << actual.transpose();
  };
  expect(dv_dq, -r * w, 0.0);
  expect(da_dq, -r * alpha, -r * w * w);
  expect(da_dv, -2.0 * r * w, 0.0);
  expect(dJ, -r, 0.0);
  EXPECT_THROW(point_jacobian_derivative(*model, data, 1, {r, 0, 0}, 1, dJ), Error);
}

TEST(PointDerivatives, AllocateNothing) {
  std::mt19937_64 random(12);
  const ModelPtr model = random_model(random);
  const State state = random_state(*model, random);
  const VectorX a = random_vector(model->nv, random);
  Data data(*model);
  forward_kinematics(*model, model->defaults, state.q, data);
  PointDerivatives d(*model);
  Matrix6X by_q(6, model->nv), by_v(6, model->nv);
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const AllocationGuard guard;
  d.compute(*model, state.v, a, data);
  d.velocity(*model, data, 1, {0.1, 0.2, 0.3}, by_q);
  d.acceleration(*model, data, 1, {0.1, 0.2, 0.3}, by_q, by_v);
  point_jacobian_derivative(*model, data, 1, {0.1, 0.2, 0.3}, 0, by_q);
  EXPECT_EQ(guard.allocations(), 0U);
}

}  // namespace
}  // namespace touchstone::test
