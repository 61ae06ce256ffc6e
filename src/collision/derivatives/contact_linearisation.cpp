#include "touchstone/collision/derivatives/contact_linearisation.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

#include "touchstone/collision/narrow/minkowski.hpp"

namespace touchstone {
namespace {

// Sine below which two edges count as parallel.
constexpr double kParallelEdges = 1e-7;
// Of the size of the pair: less distance and curvature than this leave a normal without a rate.
constexpr double kNoCurvature = 1e-13;

Matrix3 turned(const Mat3& R, const Matrix3& C) { return R.eigen() * C * R.eigen().transpose(); }

}  // namespace

void ContactLinearisation::keep(int shape, int slide) {
  const Eigen::Vector2d q = (shape == 0 ? 1.0 : -1.0) * flat(slide_[shape][slide]);
  const bool fits =
      count_ == 0 || (count_ == 1 && std::abs(kept_[0].q[0] * q[1] - kept_[0].q[1] * q[0]) > kParallelEdges);
  if (fits) {
    kept_[count_++] = {shape, slide, q};
  } else {
    unique_ = false;
  }
}

void ContactLinearisation::prepare(const CoreLocation& at, const LocalSupport& A, const Mat3& R_WA,
                                   const LocalSupport& B, const Mat3& R_WB, double floor) {
  n_ = at.n;
  e_ = perpendicular(n_);
  f_ = cross(n_, e_);
  const LocalSupport* local[2] = {&A, &B};
  const Mat3* R[2] = {&R_WA, &R_WB};
  for (int s = 0; s < 2; ++s) {
    curvature_[s] = turned(*R[s], local[s]->curvature);
    slides_[s] = local[s]->slides;
    for (int k = 0; k < slides_[s]; ++k) slide_[s][k] = *R[s] * local[s]->slide[k];
  }
  Eigen::Matrix<double, 3, 2> T;
  T << e_.eigen(), f_.eigen();
  const double d = dot(n_, at.b - at.a);
  M_ = T.transpose() * (curvature_[0] + curvature_[1]) * T;
  M_.diagonal().array() += d;
  if (floor > 0.0) {
    Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> eigen;
    eigen.computeDirect(M_);
    M_ = eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(floor).asDiagonal() * eigen.eigenvectors().transpose();
  }
  unique_ = true;
  count_ = 0;
  const int first = slides_[1] > slides_[0] ? 1 : 0;
  for (const int s : {first, 1 - first}) {
    for (int k = 0; k < slides_[s]; ++k) keep(s, k);
  }
  const double scale = norm(A.point) + norm(B.point) + std::abs(d);
  double left = 0.0;
  if (count_ == 0) {
    left = M_.determinant() / std::max(M_.norm(), kNoCurvature * scale);
  } else if (count_ == 1) {
    const Eigen::Vector2d across(-kept_[0].q[1], kept_[0].q[0]);
    left = across.dot(M_ * across);
  }
  solvable_ = count_ == 2 || std::abs(left) > kNoCurvature * scale;
}

ShapeMotion ContactLinearisation::move(int shape, Vec3 linear, Vec3 angular, double sign) const {
  const Vec3 turn = cross(angular, n_);
  ShapeMotion motion;
  motion.point = linear + sign * Vec3(Vector3(curvature_[shape] * turn.eigen()));
  for (int k = 0; k < slides_[shape]; ++k) motion.turn[k] = dot(slide_[shape][k], turn);
  return motion;
}

CoreChange ContactLinearisation::solve(const ShapeMotion& A, const ShapeMotion& B) const {
  const Eigen::Vector2d right = flat(B.point - A.point);
  double asked[2];
  for (int k = 0; k < count_; ++k) {
    const Kept& kept = kept_[k];
    asked[k] = kept.shape == 0 ? A.turn[kept.slide] : -B.turn[kept.slide];
  }
  Eigen::Vector2d y, x = Eigen::Vector2d::Zero();
  if (count_ == 0) {
    y = M_.inverse() * right;
  } else if (count_ == 1) {
    const Eigen::Vector2d q = kept_[0].q / kept_[0].q.squaredNorm(), across(-kept_[0].q[1], kept_[0].q[0]);
    y = q * asked[0];
    y += across * (across.dot(right - M_ * y) / across.dot(M_ * across));
    x[0] = q.dot(right - M_ * y);
  } else {
    Eigen::Matrix2d Q;
    Q << kept_[0].q, kept_[1].q;
    const Eigen::Matrix2d inverse = Q.inverse();
    y = inverse.transpose() * Eigen::Vector2d(asked[0], asked[1]);
    x = inverse * (right - M_ * y);
  }
  CoreChange change;
  change.n = y[0] * e_ + y[1] * f_;
  change.distance = dot(n_, B.point - A.point);
  change.a = A.point + Vec3(Vector3(curvature_[0] * change.n.eigen()));
  change.b = B.point - Vec3(Vector3(curvature_[1] * change.n.eigen()));
  for (int k = 0; k < count_; ++k) {
    const Kept& kept = kept_[k];
    (kept.shape == 0 ? change.x_A : change.x_B)[kept.slide] = x[k];
    (kept.shape == 0 ? change.a : change.b) += x[k] * slide_[kept.shape][kept.slide];
  }
  return change;
}

}  // namespace touchstone
