// The distance of two polytopes by a quadratic program over their faces (the paper's Eq. 2 and Tab. II), solved by a
// general method: Mehrotra's predictor-corrector interior point method, dense, with no idea of geometry.
#pragma once

#include "touchstone/collision/narrow/convex.hpp"

namespace bench {

struct FaceQp {
  Eigen::Matrix<double, Eigen::Dynamic, 6> G;  // G (x_A, x_B) <= h
  Eigen::VectorXd h;
};

FaceQp face_qp(const touchstone::ConvexShape& A, const touchstone::ConvexShape& B, const touchstone::Pose& X_AB);
// |x_A - x_B|, to about 1e-6; NaN when it does not converge.
double solve_distance(const FaceQp& qp, int* iterations = nullptr);

}  // namespace bench
