// Principal axes as MuJoCo's compiler finds them.
#pragma once

#include "touchstone/math/types.hpp"

namespace touchstone::mjcf {

struct PrincipalFrame {
  Vector3 moments;  // decreasing
  Quaternion axes;

  Matrix3 tensor() const;
};

// Vertices of meshes are in single precision, so MuJoCo diagonalises their tensors to this relative accuracy.
inline constexpr double kMeshTolerance = 1e-7;

// Jacobi rotations until the largest off-diagonal entry is below the tolerance, relative to the largest entry; what is
// left off the diagonal is lost. Written like MuJoCo's, so that fitted shapes and aligned bodies get the same axes, and
// tensors of meshes the same loss in the eighth digit.
PrincipalFrame principal_frame(const Matrix3& inertia, double relative_tolerance = 4e-15);

}  // namespace touchstone::mjcf
