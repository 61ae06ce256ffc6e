#include "touchstone/diff/inertial_parameters.hpp"

#include <cmath>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/recursion.hpp"

namespace touchstone {
namespace {

using Matrix4 = Eigen::Matrix4d;

// int [r; 1] [r; 1]' dm, from the moments of inertia about the origin and back.
Matrix4 pseudo_inertia(const Vector10& p) {
  const Matrix3 I = (Matrix3() << p[4], p[5], p[7], p[5], p[6], p[8], p[7], p[8], p[9]).finished();
  Matrix4 J;
  J.topLeftCorner<3, 3>() = 0.5 * I.trace() * Matrix3::Identity() - I;
  J.topRightCorner<3, 1>() = p.segment<3>(1);
  J.bottomLeftCorner<1, 3>() = p.segment<3>(1).transpose();
  J(3, 3) = p[0];
  return J;
}

Vector10 linear_form(const Matrix4& J) {
  const Matrix3 E = J.topLeftCorner<3, 3>();
  const Matrix3 I = E.trace() * Matrix3::Identity() - E;
  Vector10 p;
  p << J(3, 3), J(0, 3), J(1, 3), J(2, 3), I(0, 0), I(0, 1), I(1, 1), I(0, 2), I(1, 2), I(2, 2);
  return p;
}

Matrix4 upper_factor(const Vector10& theta) {
  Matrix4 U = Matrix4::Identity();
  for (int i = 0; i < 3; ++i) U(i, i) = std::exp(theta[1 + i]);
  U(0, 1) = theta[4];
  U(1, 2) = theta[5];
  U(0, 2) = theta[6];
  U.topRightCorner<3, 1>() = theta.tail<3>();
  return std::exp(theta[0]) * U;
}

// dU/dtheta_k.
Matrix4 upper_factor_by(const Vector10& theta, const Matrix4& U, int k) {
  if (k == 0) return U;
  static constexpr int kRow[10] = {0, 0, 1, 2, 0, 1, 0, 0, 1, 2};
  static constexpr int kColumn[10] = {0, 0, 1, 2, 1, 2, 2, 3, 3, 3};
  Matrix4 result = Matrix4::Zero();
  const double scale = std::exp(theta[0]);
  result(kRow[k], kColumn[k]) = k <= 3 ? scale * std::exp(theta[k]) : scale;
  return result;
}

// The force on a body for each of its parameters, in its own axes about its origin, whose velocity and (spatial)
// acceleration are v and a in the same axes: columns of [torque; force].
void body_regressor(const Motion& v, const Motion& a, Force* columns) {
  const Vec3 w = v.angular;
  const Vec3 a_o = a.linear + cross(w, v.linear);  // of the material point at the origin
  columns[0] = {Vec3(), a_o};
  const Vec3 unit[3] = {Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1)};
  for (int k = 0; k < 3; ++k) {
    columns[1 + k] = {cross(unit[k], a_o), cross(a.angular, unit[k]) + cross(w, cross(w, unit[k]))};
  }
  static constexpr int kRow[6] = {0, 0, 1, 0, 1, 2}, kColumn[6] = {0, 1, 1, 2, 2, 2};
  for (int k = 0; k < 6; ++k) {
    const auto times = [&](Vec3 x) {
      const Vec3 diagonal = unit[kRow[k]] * x[kColumn[k]];
      return kRow[k] == kColumn[k] ? diagonal : diagonal + unit[kColumn[k]] * x[kRow[k]];
    };
    columns[4 + k] = {times(a.angular) + cross(w, times(w)), Vec3()};
  }
}

}  // namespace

Vector10 inertial_parameters(const BodyInertia& inertia) {
  const Vector3 c = inertia.com.eigen();
  const Matrix3 I =
      inertia.inertia.eigen() + inertia.mass * (c.squaredNorm() * Matrix3::Identity() - c * c.transpose());
  Vector10 p;
  p << inertia.mass, inertia.mass * c, I(0, 0), I(0, 1), I(1, 1), I(0, 2), I(1, 2), I(2, 2);
  return p;
}

BodyInertia body_inertia(const Vector10& p) {
  const double mass = p[0];
  if (!(mass > 0.0)) throw Error("inertial parameters: the mass is {}, it must be positive", mass);
  const Vector3 c = p.segment<3>(1) / p[0];
  const Matrix3 I = (Matrix3() << p[4], p[5], p[7], p[5], p[6], p[8], p[7], p[8], p[9]).finished();
  BodyInertia result;
  result.mass = p[0];
  result.com = Vec3(c);
  result.inertia = Mat3(Matrix3(I - p[0] * (c.squaredNorm() * Matrix3::Identity() - c * c.transpose())));
  return result;
}

Vector10 from_log_cholesky(const Vector10& theta, Matrix10* by_theta) {
  const Matrix4 U = upper_factor(theta);
  if (by_theta != nullptr) {
    for (int k = 0; k < kInertialParameters; ++k) {
      const Matrix4 half = upper_factor_by(theta, U, k) * U.transpose();
      by_theta->col(k) = linear_form(half + half.transpose());
    }
  }
  return linear_form(U * U.transpose());
}

Vector10 to_log_cholesky(const Vector10& parameters) {
  // U U' = J from the last column to the first.
  const Matrix4 J = pseudo_inertia(parameters);
  Matrix4 U = Matrix4::Zero();
  for (int j = 3; j >= 0; --j) {
    const double pivot = J(j, j) - U.row(j).tail(3 - j).squaredNorm();
    if (!(pivot > 0.0)) {
      const double mass = parameters[0];
      throw Error(
          "inertial parameters: no body with volume has mass {} and these moments; give it a positive mass, and "
          "moments of "
          "inertia about its centre of mass that satisfy the triangle inequality",
          mass);
    }
    U(j, j) = std::sqrt(pivot);
    for (int i = 0; i < j; ++i) U(i, j) = (J(i, j) - U.row(i).tail(3 - j).dot(U.row(j).tail(3 - j))) / U(j, j);
  }
  Vector10 theta;
  theta[0] = std::log(U(3, 3));
  U /= U(3, 3);
  theta << theta[0], std::log(U(0, 0)), std::log(U(1, 1)), std::log(U(2, 2)), U(0, 1), U(1, 2), U(0, 2), U(0, 3),
      U(1, 3), U(2, 3);
  return theta;
}

void regressor(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const ConstVectorRef& v,
               const ConstVectorRef& a, Data& data, Eigen::Ref<MatrixX> Y) {
  require_size("Y", Y.rows(), model.nv);
  require_size("columns of Y", Y.cols(), static_cast<Eigen::Index>(kInertialParameters) * model.nbody);
  rnea(model, parameters, q, v, a, data, data.scratch);
  Y.setZero();
  for (int b = 1; b < model.nbody; ++b) {
    const BodyKernel& body = model.body_kernels[at(b)];
    if (body.tree < 0) continue;
    const Pose& X = data.X_WB[at(b)];
    const Vec3 r = X.p - data.reference_point[at(body.tree)];
    const Motion& V = data.velocity[at(b)];
    const Motion& A = data.acceleration[at(b)];
    const auto local = [&](const Motion& m) {
      return Motion{transpose_times(X.R, m.angular), transpose_times(X.R, m.linear + cross(m.angular, r))};
    };
    Force columns[kInertialParameters];
    body_regressor(local(V), local(A), columns);
    for (int k = 0; k < kInertialParameters; ++k) {
      const Vec3 force = X.R * columns[k].force;
      const Force in_world{X.R * columns[k].torque + cross(r, force), force};
      for (int i = model.body_last_dof[at(b)]; i >= 0; i = model.dof_parent[at(i)]) {
        Y(i, static_cast<Eigen::Index>(kInertialParameters) * b + k) = dot(data.S[at(i)], in_world);
      }
    }
  }
}

}  // namespace touchstone
