// Impulses of compliant laws, differentiated: dlambda = -W du + .. dgap + .. dspeed + .. dlog w + .. dmu, with the
// Hessians W of the blocks' potentials (contact/laws/block_laws.hpp), which Newton's method on the velocities has too
// (Castro et al. 2025, X-B, (29)).
//
// By gap, speed, friction, bounds, what the material is made of and mobility w (from which near-rigid stiffness, R_t
// and the softness of friction come) the law of a block is differentiated by central differences with Richardson's
// extrapolation: it is a formula of a few numbers.
#pragma once

#include <vector>

#include "touchstone/contact/laws/block_laws.hpp"
#include "touchstone/diff/contact_law.hpp"
#include "touchstone/diff/dynamics_derivatives.hpp"
#include "touchstone/math/aligned.hpp"
#include "touchstone/sim/constraints.hpp"

namespace touchstone {

class LawDerivatives {
 public:
  using ConstMatrixRef = Eigen::Ref<const MatrixX>;

  // At row velocities J v'. `G` is J A^-1 J' without compliance. Throws Error where the model has no law.
  void prepare(const Constraints& constraints, CompliantModel model, double h, const ConstMatrixRef& G,
               const ConstVectorRef& velocity);

  // The same of the regularised law of ccp-newton, at row velocities J v' + b: by friction, bounds and compliance.
  void prepare(const Constraints& constraints, const ContactLaw& law, const ConstMatrixRef& G,
               const ConstVectorRef& velocity);

  // rows <- W rows (nrow x k).
  void multiply_hessian(RowMatrixRef rows) const;
  // nrow: by gap and by speed of the row's contact; zero for other rows.
  const VectorX& by_gap() const { return by_gap_; }
  const VectorX& by_speed() const { return by_speed_; }
  // nrow: by the logarithm of the mobility of the block (contacts) or of the row (others).
  const VectorX& by_mobility() const { return by_mobility_; }
  // nrow: by the sliding friction of the row's contact; by the bound of a row of dry friction. After prepare_frictions.
  const VectorX& by_friction() const { return by_friction_; }
  const VectorX& by_bound() const { return by_bound_; }
  void prepare_frictions(const Constraints& constraints, const ConstVectorRef& velocity);
  // nrow, of a regularised law: the change of the row's velocity that does what a relative change of its R does.
  double by_compliance(int row) const { return by_compliance_[static_cast<std::size_t>(row)]; }
  // nrow: by stiffness, dissipation and relaxation time of the row's contact. After prepare_materials. Zero where these
  // are those of a near-rigid contact, which no material has.
  const VectorX& by_stiffness() const { return by_stiffness_; }
  const VectorX& by_dissipation() const { return by_dissipation_; }
  const VectorX& by_relaxation() const { return by_relaxation_; }
  void prepare_materials(const Constraints& constraints, const ConstVectorRef& velocity);

 private:
  // A number of a contact, and the way of its differences: a share of it, at least `least`.
  struct Number {
    double ContactPhysics::*of;
    double share, least;
  };

  void set_problem(const Constraints& constraints, double h, const ConstMatrixRef& G);
  void set_physics_rates(const Constraints& constraints, const ConstVectorRef& velocity, const Number& number,
                         VectorX& rates);
  void set_mobility_rates(const ConstMatrixRef& G, const ConstVectorRef& velocity);
  void set_slope(int row, int size, double way, VectorX& rates) const;
  void prepare_laws();
  void set_hessians(const ConstVectorRef& velocity);
  void evaluate(int block, const double* velocity, double* impulse, double* W) const;
  void evaluate(const ConstVectorRef& velocity, VectorX& impulses) const;

  ContactProblem problem_;
  BlockLaws laws_;
  CompliantModel model_{};
  bool is_regularised_ = false;
  NewtonCone cone_{};
  std::vector<double> R_, by_compliance_;  // nrow, of the regularised law
  AlignedVector hessian_;                  // of all blocks, each in kMaxBlockSize^2 numbers
  VectorX by_gap_, by_speed_, by_mobility_, by_friction_, by_bound_, by_stiffness_, by_dissipation_, by_relaxation_,
      ends_[4];
};

}  // namespace touchstone
