// Impulses of compliant laws, differentiated: dlambda = -W du + .. dgap + .. dspeed + .. dlog w, with the Hessians W of
// the blocks' potentials (contact/laws/block_laws.hpp), which Newton's method on the velocities has too
// (Castro et al. 2025, X-B, (29)).
//
// By gap, speed and mobility w (from which near-rigid stiffness, R_t and the softness of friction come) the law of a
// block is differentiated by central differences with Richardson's extrapolation: it is a formula of a few numbers.
#pragma once

#include "touchstone/contact/laws/block_laws.hpp"
#include "touchstone/diff/growing.hpp"
#include "touchstone/sim/constraints.hpp"

namespace touchstone {

class LawDerivatives {
 public:
  using ConstMatrixRef = Eigen::Ref<const MatrixX>;

  // At row velocities J v'. `G` is J A^-1 J' without compliance. Throws Error where the model has no law.
  void prepare(const Constraints& constraints, CompliantModel model, double h, const ConstMatrixRef& G,
               const ConstVectorRef& velocity);

  // nrow x nrow: -(I + W G)^-1 W, what impulses do about a change of the rows' velocities.
  Growing<MatrixX>::ConstView jacobian() const { return jacobian_.view(); }
  // nrow x nrow: (I + W G)^-1, what is left of a change of impulses at fixed velocities.
  Growing<MatrixX>::ConstView settled() const { return settled_.view(); }
  // nrow: by gap and by speed of the row's contact; zero for other rows.
  const VectorX& by_gap() const { return by_gap_; }
  const VectorX& by_speed() const { return by_speed_; }
  // nrow: by the logarithm of the mobility of the block (contacts) or of the row (others).
  const VectorX& by_mobility() const { return by_mobility_; }

 private:
  void set_problem(const Constraints& constraints, double h, const ConstMatrixRef& G);
  void set_physics_rates(const Constraints& constraints, CompliantModel model, const ConstVectorRef& velocity,
                         double ContactPhysics::*number, VectorX& rates);
  void set_mobility_rates(CompliantModel model, const ConstMatrixRef& G, const ConstVectorRef& velocity);
  void prepare_laws(CompliantModel model);
  void evaluate(const ConstVectorRef& velocity, VectorX& impulses) const;

  ContactProblem problem_;
  BlockLaws laws_;
  Growing<MatrixX> W_, system_, settled_, jacobian_;
  VectorX by_gap_, by_speed_, by_mobility_, ends_[4];
};

}  // namespace touchstone
