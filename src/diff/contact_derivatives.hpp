// How the solution of a contact problem changes with its data: implicit differentiation where each block stays in the
// case of its law that it is in (docs/derivatives.md).
//
//     u = G lambda + g,     dw = dg + dG lambda     what the rows see of a change while the impulses stay
//
//   held, sticking, closed, inside   du = 0
//   open, at a bound                 dlambda = 0
//   sliding                          lambda_t = -lambda_n mu t,  t = mu u_t / |mu u_t|,  and u_n = 0 (NCP), or
//                                    u_n = |mu u_t| (CCP)
// With dlambda = D x and tests Z' du + E x = 0 these are one linear system, (Z' G D + E) x = -Z' dw. Where it is
// singular (more sticking contacts than a body needs) x is its least-squares solution of least norm: velocities do not
// depend on that choice, impulses are not unique.
#pragma once

#include <vector>

#include <Eigen/QR>

#include "touchstone/sim/step_record.hpp"

namespace touchstone {

class ContactDerivatives {
 public:
  // G: nrow x nrow with compliance. `model`: kNcp or kCcp, throws Error for others. `share`: as in block_mode.
  void prepare(const Blocks& blocks, ContactModel model, const MatrixX& G, const VectorX& lambda, const VectorX& u,
               double share = 1e-9);

  const std::vector<BlockMode>& modes() const { return modes_; }  // nblock
  int unknowns() const { return static_cast<int>(D_.cols()); }
  int rank() const { return rank_; }  // of the system; below unknowns(): impulses are not unique

  // dlambda (nrow x k) of changes dw (nrow x k).
  void jvp(const MatrixX& dw, MatrixX& dlambda) const;
  // Of a change of the friction coefficients (nrow; only those of tangential rows count).
  void jvp_friction(const VectorX& dmu, VectorX& dlambda) const;
  // dlambda/dw (nrow x nrow).
  const MatrixX& jacobian() const { return jacobian_; }

  // Gradients of a number whose gradient by lambda is given. By g and b it is that by w; by G it is w_bar lambda'; by R
  // its diagonal.
  struct Gradients {
    VectorX w, mu;  // nrow
  };
  void vjp(const VectorX& lambda_bar, Gradients& out) const;

 private:
  struct Slide {
    int row = 0, size = 0;  // of the block
    int column = 0;         // of its normal unknown; the others follow
    double speed = 0.0;     // |mu u_t|
    VectorX t;              // unit, scaled by friction
    MatrixX across;         // orthonormal to t
  };
  void add_rows(const Blocks& blocks, ContactModel model, const VectorX& lambda, const VectorX& u, int block);
  void add_slide(const Blocks& blocks, ContactModel model, const VectorX& lambda, const VectorX& u, int block);
  void friction_terms(const VectorX& dmu, VectorX& direct, VectorX& tests) const;

  std::vector<BlockMode> modes_;
  std::vector<Slide> slides_;
  ContactModel model_ = ContactModel::kNcp;
  int nrow_ = 0, columns_ = 0, rank_ = 0;
  MatrixX D_, Z_;  // nrow x unknowns
  VectorX E_, lambda_, u_, mu_;
  MatrixX G_, inverse_, jacobian_;
  Eigen::CompleteOrthogonalDecomposition<MatrixX> factor_;
};

}  // namespace touchstone
