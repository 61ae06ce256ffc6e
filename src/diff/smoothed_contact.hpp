// Derivatives of a contact problem whose laws were smoothed: complementarity relaxed to a point of the smooth Coulomb
// path (solvers/newton/coulomb_path.hpp). Near the border of two modes they say what lies on the other side of it.
//
//     lambda_n u_n = m,   x o z = m e,   m = width^2 / d     d: mobility of the block, G_nn of a contact
// so that a lone contact about to touch has lambda d = u = width. The relaxed problem is solved by Newton's method from
// the solution of the exact one, and differentiated: with du = -Lambda dlambda on the path,
//     (G + Lambda) dlambda = -dw + M dmu + ..,     M_kj = Lambda_kj lambda_j / mu_j - [k = j] u_k / mu_k.
// It is the derivative of the relaxed solution, a smooth function of the data; width -> 0 gives the exact one.
#pragma once

#include <vector>

#include "touchstone/diff/growing.hpp"
#include "touchstone/diff/rank_factor.hpp"
#include "touchstone/solvers/newton/coulomb_path.hpp"

namespace touchstone {

class SmoothedContact {
 public:
  using ConstMatrixRef = Eigen::Ref<const MatrixX>;

  // At a solution of u = G lambda + g. width > 0, m/s; at least 1e-7 of the largest velocity is taken. Allocates
  // nothing once it has seen problems as large.
  void prepare(const Blocks& blocks, const ConstMatrixRef& G, const ConstVectorRef& lambda, const ConstVectorRef& u,
               double width);

  // Whether Newton's method ended at the relaxed solution. If not, derivatives are those of its last point.
  bool is_solved() const { return solved_; }
  int iterations() const { return iterations_; }
  int rank() const { return factor_.rank(); }
  VectorX lambda() const;  // relaxed

  // dlambda/dw.
  Growing<MatrixX>::ConstView jacobian() const { return jacobian_.view(); }
  // What the rows see of a change of friction and of the bounds of boxes: dw (nrow each).
  void friction_change(const ConstVectorRef& dmu, VectorRef dw) const;
  void bounds_change(const ConstVectorRef& dlo, const ConstVectorRef& dhi, VectorRef dw) const;
  // Reverse: of friction.
  VectorX friction_gradient(const VectorX& w_bar) const;

 private:
  void set_problem(const Blocks& blocks, const ConstMatrixRef& G, const ConstVectorRef& lambda,
                   const ConstVectorRef& u);
  void set_start(const ConstVectorRef& lambda, const ConstVectorRef& u);
  double evaluate(const VectorX& z, VectorX& impulses, VectorX& velocity, VectorX& residual) const;
  bool advance();
  void set_slopes();
  void invert();
  void scale_to_cones(Eigen::Ref<MatrixX> M) const;
  void turn_to_slips(Eigen::Ref<MatrixX> M) const;
  void set_step();

  // Impulses are multiplied by the mobility of their block: all in m/s.
  Blocks blocks_;
  std::vector<PathKind> kind_;
  std::vector<char> fixed_;  // nrow: rows without friction, boxes of no width
  VectorX mobility_, cone_scale_, g_;
  double m_ = 0.0, size_ = 0.0;
  bool solved_ = false;
  int iterations_ = 0;
  VectorX z_, impulses_, velocity_, residual_, c_, step_, way_;
  VectorX trial_z_, trial_impulses_, trial_velocity_, trial_residual_;
  Growing<MatrixX> G_, inverse_, jacobian_;
  std::vector<double> slopes_;  // nblock x kMaxBlockSize^2
  RankFactor factor_;
};

}  // namespace touchstone
