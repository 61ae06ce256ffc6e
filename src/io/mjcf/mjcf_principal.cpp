#include "touchstone/io/mjcf/mjcf_principal.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace touchstone::mjcf {
namespace {

// Two axes change places by a quarter turn about the third, which keeps the frame right-handed.
void sort_decreasing(PrincipalFrame& frame, double margin) {
  for (const int i : {0, 1, 0}) {
    if (frame.moments[i] + margin >= frame.moments[i + 1]) continue;
    std::swap(frame.moments[i], frame.moments[i + 1]);
    const Vector3 third = Vector3::Unit((i + 2) % 3);
    frame.axes = (frame.axes * Quaternion(Eigen::AngleAxisd(0.5 * std::numbers::pi, third))).normalized();
  }
}

}  // namespace

Matrix3 PrincipalFrame::tensor() const {
  const Matrix3 R = axes.toRotationMatrix();
  const Matrix3 inertia = R * moments.asDiagonal() * R.transpose();
  return 0.5 * (inertia + inertia.transpose());
}

PrincipalFrame principal_frame(const Matrix3& inertia, double relative_tolerance) {
  constexpr int kMostRotations = 500;
  const double scale = inertia.cwiseAbs().maxCoeff();
  PrincipalFrame frame{inertia.diagonal(), Quaternion::Identity()};
  for (int i = 0; i < kMostRotations; ++i) {
    const Matrix3 R = frame.axes.toRotationMatrix();
    const Matrix3 D = R.transpose() * inertia * R;
    frame.moments = D.diagonal();
    const double xy = std::abs(D(0, 1)), xz = std::abs(D(0, 2)), yz = std::abs(D(1, 2));
    int row = 1, column = 2, axis = 0;
    if (xy > xz && xy > yz) {
      row = 0, column = 1, axis = 2;
    } else if (xz > yz) {
      row = 0, column = 2, axis = 1;
    }
    const double off_diagonal = D(row, column);
    if (!(std::abs(off_diagonal) > relative_tolerance * scale)) break;
    // The symmetric Schur decomposition of the two rows and columns (Golub and Van Loan, section 8.5.2): a rotation by
    // atan(t) in their plane.
    const double tau = (D(column, column) - D(row, row)) / (2.0 * off_diagonal);
    const double root = std::sqrt(1.0 + tau * tau);
    const double t = tau >= 0.0 ? 1.0 / (tau + root) : -1.0 / (root - tau);
    const double angle = axis == 1 ? std::atan(t) : -std::atan(t);
    frame.axes = (frame.axes * Quaternion(Eigen::AngleAxisd(angle, Vector3::Unit(axis)))).normalized();
  }
  sort_decreasing(frame, scale * std::max(relative_tolerance, 1e-12));
  return frame;
}

}  // namespace touchstone::mjcf
