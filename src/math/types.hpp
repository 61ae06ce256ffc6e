// The Eigen types of the public interfaces. Hot loops use the four-lane types of vec3.hpp instead.
#pragma once

#include <limits>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace touchstone {

using Vector2 = Eigen::Vector2d;
using Vector3 = Eigen::Vector3d;
using Vector6 = Eigen::Matrix<double, 6, 1>;  // [linear; angular]
using VectorX = Eigen::VectorXd;
using Matrix3 = Eigen::Matrix3d;
using Matrix6X = Eigen::Matrix<double, 6, Eigen::Dynamic>;  // rows [linear; angular]
using MatrixX = Eigen::MatrixXd;
using Quaternion = Eigen::Quaterniond;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

using ConstVectorRef = Eigen::Ref<const VectorX>;
using VectorRef = Eigen::Ref<VectorX>;

// A rigid transform X_AB: the pose of frame B seen from frame A.
struct Transform {
  Vector3 position = Vector3::Zero();            // p_AB_A, metres
  Quaternion rotation = Quaternion::Identity();  // R_AB, unit length

  Transform operator*(const Transform& X_BC) const {
    return {position + rotation * X_BC.position, (rotation * X_BC.rotation).normalized()};
  }
  Vector3 operator*(const Vector3& point_B) const { return position + rotation * point_B; }
  Transform inverse() const {
    const Quaternion inverse_rotation = rotation.conjugate();
    return {inverse_rotation * -position, inverse_rotation};
  }
};

}  // namespace touchstone
