// How the solution of a contact problem changes with its data: implicit differentiation where each block stays in the
// case of its law that it is in (docs/derivatives.md).
//
//     u = G lambda + g,     dw = dg + dG lambda     what the rows see of a change while the impulses stay
//
//   held, sticking, closed, inside   du = 0
//   open, at a bound                 dlambda = 0
//   sliding                          lambda_t = -lambda_n mu t,  t = mu u_t / |mu u_t|,  and u_n = 0 (NCP), or
//                                    u_n = |mu u_t| (CCP)
//   sliding, RaiSim                  lambda_t = lambda_n mu e,  mu u_t = -alpha (e + mu G_tn / G_nn),  u_n = 0
//   sliding, LCP                     rows at their bounds, lambda_j = +-mu_j lambda_n, the others du_j = 0; a pair of
//                                    rows in a corner of its polygon, or on one of its edges
// With dlambda = D x and tests Z' du + E x = 0 these are one linear system, (Z' G D + E) x = -Z' dw. Where it is
// singular (more sticking contacts than a body needs) x is its least-squares solution of least norm: velocities do not
// depend on that choice, impulses are not unique.
#pragma once

#include <vector>

#include "touchstone/diff/contact_law.hpp"
#include "touchstone/diff/growing.hpp"
#include "touchstone/diff/rank_factor.hpp"
#include "touchstone/diff/smoothed_contact.hpp"
#include "touchstone/sim/step_record.hpp"

namespace touchstone {

class Pyramid;

class ContactDerivatives {
 public:
  using ConstMatrixRef = Eigen::Ref<const MatrixX>;
  using RowsRef = Eigen::Ref<RowMatrixX>;
  using ConstRowsRef = Eigen::Ref<const RowMatrixX>;
  using Tangents = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxBlockSize, 1>;

  // G: nrow x nrow with compliance. `share`: as in block_mode. Throws Error for a law that is none (contact_law.hpp).
  // Allocates nothing once it has seen problems as large.
  void prepare(const Blocks& blocks, const ContactLaw& law, const ConstMatrixRef& G, const ConstVectorRef& lambda,
               const ConstVectorRef& u, double share = 1e-9);

  const std::vector<BlockMode>& modes() const { return modes_; }  // nblock
  int unknowns() const { return is_smoothed() ? nrow_ : static_cast<int>(columns_.size()); }
  // Of the system; below unknowns(): impulses are not unique.
  int rank() const { return is_smoothed() ? smoothed_.rank() : factor_.rank(); }
  bool is_smoothed() const { return law_.width > 0.0; }
  const SmoothedContact& smoothed() const { return smoothed_; }

  // dlambda (nrow) of a change dw (nrow), and the reverse: one solve each.
  void apply(const ConstVectorRef& dw, VectorRef dlambda) const;
  void apply_transposed(const ConstVectorRef& lambda_bar, VectorRef w_bar) const;
  // dlambda/dw as a product of matrices: -D right diag(weights) left' Z'; right is left where is_symmetric().
  bool is_symmetric() const { return moves_as_tested_ && factor_.symmetric() && !is_smoothed(); }
  void form_split(PaddedMatrix& left, PaddedMatrix& right, Growing<VectorX>& weights) const;
  // Z' and D' times rows (nrow x k): unknowns x k.
  void tests_of(const ConstRowsRef& rows, RowsRef out) const { combine(&Column::z, rows, out); }
  void motions_of(const ConstRowsRef& rows, RowsRef out) const { combine(&Column::d, rows, out); }
  // dlambda (nrow x k) of changes dw (nrow x k).
  void jvp(const ConstMatrixRef& dw, MatrixX& dlambda) const;
  // Of a change of the friction coefficients (nrow; only those of tangential rows count).
  void jvp_friction(const ConstVectorRef& dmu, VectorX& dlambda) const;
  // Of a change of the bounds of boxes (nrow each; those of other rows do not count).
  void jvp_bounds(const ConstVectorRef& dlo, const ConstVectorRef& dhi, VectorX& dlambda) const;
  // dlambda/dw (nrow x nrow).
  MatrixX jacobian() const;

  // Gradients of a number whose gradient by lambda is given. By g and b it is that by w; by G see
  // add_mobility_gradient; by R its diagonal.
  struct Gradients {
    VectorX w, mu;  // nrow
  };
  void vjp(const VectorX& lambda_bar, Gradients& out) const;

  // A change of G as the rows see it: dw += dG lambda, and for RaiSim what turns its sliding contacts, whose law has G.
  void add_mobility_change(const ConstMatrixRef& dG, VectorRef dw) const;
  // The reverse: G_bar += w_bar lambda', and the same.
  void add_mobility_gradient(const ConstVectorRef& w_bar, Eigen::Ref<MatrixX> G_bar) const;
  // RaiSim's sliding contacts see a change of G as dw_t = alpha d(G_nt / G_nn).
  struct Coupling {
    int row = 0, size = 0;  // of the block
    double alpha = 0.0;     // m/s
    double G_nn = 1.0;
    Tangents ratio;  // G_nt / G_nn
  };
  const std::vector<Coupling>& couplings() const { return couplings_; }

 private:
  // An unknown: what moves with it, what is tested, and what the test sees of friction, in the rows of one block.
  struct Column {
    int row = 0, size = 0;
    double d[kMaxBlockSize] = {}, z[kMaxBlockSize] = {}, by_mu[kMaxBlockSize] = {};
    double E = 0.0;

    Column() = default;
    Column(int first, int rows) : row(first), size(rows) {}
  };
  using TangentBasis = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMaxBlockSize, kMaxBlockSize>;
  // contact_modes.cpp: the unknowns of each mode
  void add_block(const Blocks& blocks, int block, double share);
  void add_held(int row);
  void add_slide(int row, int size);
  bool add_raisim_slide(int row, int size, double share);
  bool add_pyramid(int row, int size, double share);
  bool add_bounded(int row, int normal, double share, Column& moves);
  bool add_polygon(int row, int normal, double share, const Pyramid& pyramid, Column& moves);
  static TangentBasis orthogonal_to(const Tangents& t);

  VectorX impulses() const;
  void factor_system(const ConstMatrixRef& G);
  void combine(double (Column::*weights)[kMaxBlockSize], const ConstRowsRef& rows, RowsRef out) const;
  void test(const double* dw, double* x) const;
  void subtract_motion(const ConstVectorRef& x, VectorRef dlambda) const;
  void jvp_direct(const ConstVectorRef& direct, VectorRef tests, VectorX& dlambda) const;

  std::vector<BlockMode> modes_;
  std::vector<Column> columns_;
  std::vector<Coupling> couplings_;
  ContactLaw law_;
  int nrow_ = 0;
  bool moves_as_tested_ = true;  // D = Z
  Growing<VectorX> lambda_, u_, mu_;
  Growing<VectorX> by_mu_;  // nrow: of an impulse by its friction, at fixed unknowns
  Growing<MatrixX> G_;
  Growing<VectorX> at_bound_;  // nrow: -1 at the lower one, 1 at the upper one
  RankFactor factor_;
  SmoothedContact smoothed_;
  mutable Growing<VectorX> unknown_, seen_, direct_;  // scratch: unknowns, nrow, nrow
};

}  // namespace touchstone
