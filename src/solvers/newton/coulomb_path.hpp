// The smooth path to the solution of the NCP that both ncp-ipm and ncp-newton follow, block by block.
//
// For a barrier m > 0 every law is replaced by a smooth one; m -> 0 gives the law.
//
//   limit, frictionless contact   lambda u = m                                     lambda, u > 0
//   box                           (lambda - lo) s = m, (hi - lambda) t = m         u = s - t
//   contact                       lambda_n u_n = m  and  x o z = m e               with x = (lambda_n, lambda_t / mu),
//                                                                                  z = (tau, mu u_t)
//   equality                      u = 0                                            no barrier
//
// "o" is the product of the Jordan algebra of the second-order cone, x o z = (x'z, x_0 z_t + z_0 x_t), e = (1, 0). tau
// is an unknown of the block alone. Sticking (z -> 0), sliding (both on the boundary, opposite directions: maximum
// dissipation) and opening (x -> 0) are the limits of one smooth curve; De Saxce's term is not needed.
//
// Vectors of the cone have the scalar component first here; `n` is the number of tangential components.
#pragma once

#include "touchstone/contact/blocks.hpp"
#include "touchstone/math/types.hpp"

namespace touchstone {

// Lambda of an equality, scaled: the system stays regular where equalities are redundant.
inline constexpr double kEqualityFloor = 1e-10;

// What a block is to the path. Rows without friction and boxes of no width are fixed.
enum class PathKind : std::uint8_t { kFree, kOrthant, kInterval, kCone, kFixed };

PathKind path_kind(const Blocks& blocks, int block);

// A contact in cone coordinates: x = (lambda_n, lambda_t / mu) and z = (tau, mu u_t), components without friction left
// out.
struct ConeView {
  int row = 0, normal = 0;        // first and last row of the block
  int n = 0;                      // components with friction
  int index[kMaxBlockSize] = {};  // their rows, from 1
  double mu[kMaxBlockSize] = {};
  double largest = 1.0;  // of mu: largest x_t and z_t / largest compare like lambda_t and u_t

  ConeView(const Blocks& blocks, int block);
  void lambda(const VectorX& v, double* x) const {
    x[0] = v[normal];
    for (int k = 1; k <= n; ++k) x[k] = v[index[k]] / mu[k];
  }
  void slack(const VectorX& v, double tau, double* z) const {
    z[0] = tau;
    for (int k = 1; k <= n; ++k) z[k] = v[index[k]] * mu[k];
  }
};

// The Nesterov-Todd scaling of a pair of points inside the cone: H x = z for H = W^-2.
struct ConeScaling {
  double eta = 1.0;               // W = eta * (the matrix below)
  double w[kMaxBlockSize] = {1};  // unit determinant

  void set(int n, const double* x, const double* z);
  // y = H x, y = W x, y = W^-1 x; x and y may be the same.
  void apply_hessian(int n, const double* x, double* y) const;
  void apply(int n, const double* x, double* y) const;
  void apply_inverse(int n, const double* x, double* y) const;
  // Entries of H: row and column 0 first.
  double hessian(int row, int col) const;
};

// x_0^2 - |x_t|^2 as a product of the two eigenvalues.
double cone_determinant(int n, const double* x);
// Largest step that keeps x + step dx in the cone, at most `limit`.
double cone_step(int n, const double* x, const double* dx, double limit);
// y = x o z, y = solution of x o y = z.
void jordan_product(int n, const double* x, const double* z, double* y);
void jordan_divide(int n, const double* x, const double* z, double* y);

}  // namespace touchstone
