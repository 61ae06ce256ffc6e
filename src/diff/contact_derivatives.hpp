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

#include "touchstone/diff/growing.hpp"
#include "touchstone/diff/rank_factor.hpp"
#include "touchstone/sim/step_record.hpp"

namespace touchstone {

class ContactDerivatives {
 public:
  using ConstMatrixRef = Eigen::Ref<const MatrixX>;

  // G: nrow x nrow with compliance. `model`: kNcp or kCcp, throws Error for others. `share`: as in block_mode.
  // Allocates nothing once it has seen problems as large.
  void prepare(const Blocks& blocks, ContactModel model, const ConstMatrixRef& G, const ConstVectorRef& lambda,
               const ConstVectorRef& u, double share = 1e-9);

  const std::vector<BlockMode>& modes() const { return modes_; }  // nblock
  int unknowns() const { return static_cast<int>(columns_.size()); }
  int rank() const { return factor_.rank(); }  // of the system; below unknowns(): impulses are not unique

  // dlambda (nrow x k) of changes dw (nrow x k).
  void jvp(const ConstMatrixRef& dw, MatrixX& dlambda) const;
  // Of a change of the friction coefficients (nrow; only those of tangential rows count).
  void jvp_friction(const VectorX& dmu, VectorX& dlambda) const;
  // Of a change of the bounds at which impulses are (nrow; zero elsewhere).
  void jvp_bounds(const VectorX& dbound, VectorX& dlambda) const;
  // dlambda/dw (nrow x nrow).
  Growing<MatrixX>::ConstView jacobian() const { return jacobian_.view(); }

  // Gradients of a number whose gradient by lambda is given. By g and b it is that by w; by G it is w_bar lambda'; by R
  // its diagonal.
  struct Gradients {
    VectorX w, mu;  // nrow
  };
  void vjp(const VectorX& lambda_bar, Gradients& out) const;

 private:
  // An unknown: what moves with it, and what is tested, both in the rows of one block.
  struct Column {
    int row = 0, size = 0;
    double d[kMaxBlockSize] = {}, z[kMaxBlockSize] = {};
    double E = 0.0;
  };
  using Tangents = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxBlockSize, 1>;
  using TangentBasis = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMaxBlockSize, kMaxBlockSize>;
  struct Slide {
    int row = 0, size = 0;  // of the block
    int column = 0;         // of its normal unknown; the others follow
    Tangents t;             // unit, scaled by friction
    TangentBasis across;    // orthonormal to t
  };
  void add_rows(const Blocks& blocks, int block);
  void add_slide(const Blocks& blocks, int block);
  void solve_system(const ConstMatrixRef& G);
  void friction_terms(const VectorX& dmu, VectorX& direct, VectorX& tests) const;
  void jvp_direct(const VectorX& direct, const VectorX& tests, VectorX& dlambda) const;
  static TangentBasis orthogonal_to(const Tangents& t);

  std::vector<BlockMode> modes_;
  std::vector<Column> columns_;
  std::vector<Slide> slides_;
  ContactModel model_ = ContactModel::kNcp;
  int nrow_ = 0;
  Growing<VectorX> lambda_, u_, mu_;
  Growing<MatrixX> G_, K_, inverse_, half_, jacobian_;
  RankFactor factor_;
};

}  // namespace touchstone
