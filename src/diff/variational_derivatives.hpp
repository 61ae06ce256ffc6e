// Derivatives of the variational midpoint rule without constraints (dynamics/variational.hpp): of the velocity w that
// moves the configuration and of v1, by q0, v0 and whatever else its forces depend on.
//
// With z the cross product with x = h w/2 on rotations, the rule solves
//     E = (z/sinh z) P(q_m, w) - exp(-z) p0 - (1 + exp(z))^-1 I = 0,     p1 = exp(-z) (exp(-z) p0 + I),
// P and p0 momenta, I the impulse of all forces, half of it at each side. By the implicit function theorem
// dw = -E_w^-1 dE at constant w. The impulse is h (dT/dq - gravity + springs) at q_m and a part of other forces that
// the caller knows: its changes by all columns at constant w, and by the velocity 2 w - v0 at the end.
//
// Gradients of the kinetic energy T are differentiated as its first ones (kinetic_gradient): let H and I be momentum
// and inertia of what a dof k carries, V the velocity before it, X_k = V x S_k. Along k what it carries turns with it,
// and seen from there only V changes, by X_k:
//     d(S_i H)/dq_k = S_i I X_k,    d(X_i H)/dq_k = (X_k x S_i) H + X_i I X_k             i carried by k
//     d(S_i H)/dq_k = S_i F_k,      d(X_i H)/dq_k = X_i F_k,   F_k = S_k x* H + I X_k     i carries k
#pragma once

#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "touchstone/diff/dynamics_derivatives.hpp"

namespace touchstone {

// p = M v with armature, and dT/dq.
struct KineticDerivatives {
  explicit KineticDerivatives(const Model& model);
  // After forward_kinematics.
  void compute(const Model& model, const Parameters& parameters, const VectorX& v, Data& data);

  VectorX momentum, gradient;
  MatrixX momentum_by_q, momentum_by_v, gradient_by_q, gradient_by_v;

 private:
  std::vector<Motion> V_S_;
};

// What momenta and the conservative part of the impulse change by with parameters, at constant velocities: nv x ntheta.
struct MomentumRates {
  MatrixX start, middle, end;  // M v0, M w, M v1
  MatrixX impulse;             // h (dT/dq - gravity + its compensation) at q_m
};

class VariationalDerivatives {
 public:
  explicit VariationalDerivatives(const Model& model);

  // What the rule was solved for: `impulse` is that of forces which are not conservative, `impulse_by` (nv x columns of
  // [q0, v0, ..]) what it changes by at constant w, `impulse_by_end` (nv x nv) by the velocity at the end; `rates`:
  // those of the last columns, if these are of parameters. False if an equation has no derivative.
  [[nodiscard]] bool compute(const Model& model, const Parameters& parameters, const State& start, double h,
                             const VectorX& w, const VectorX& v1, const VectorX& impulse, const MatrixX& impulse_by,
                             const MatrixX& impulse_by_end, const MomentumRates* rates = nullptr);

  MatrixX dw, dv1;  // nv x columns
  // After compute: w and v1 by an impulse at the middle, nv x nv.
  void by_impulse(MatrixX& w, MatrixX& v1);
  // The configuration at the end by w and by q0: nv x nv.
  const MatrixX& end_by_w() const { return end_by_w_; }
  const MatrixX& end_by_q() const { return end_by_q_; }

 private:
  void add_springs(const Model& model, const Parameters& parameters, double h, VectorX& impulse);
  void add_weight_of_actuators(const Model& model, const Parameters& parameters, double h);
  void differentiate_impulse(const Model& model, const Parameters& parameters, double h, const VectorX& w,
                             const MatrixX& by, const MatrixX& by_end);
  void differentiate_balance(const Model& model, double h, const VectorX& w, const MomentumRates* rates);

  Data data_;
  State at_;
  KineticDerivatives start_, middle_, end_;
  InverseDynamicsDerivatives gravity_;
  Parameters lifted_;  // with the weights that gravity compensation leaves
  VectorX zero_, gravity_force_, impulse_;
  MatrixX by_middle_, middle_by_w_, middle_by_q_, end_by_w_, end_by_q_;
  MatrixX impulse_w_, impulse_x_, P_w_, P_q_, p0_, E_w_, E_x_, p1_w_, p1_, scratch_;
  Eigen::PartialPivLU<MatrixX> E_factor_;
  Eigen::LDLT<MatrixX> end_factor_;  // of M(q1)
  std::vector<int> rotations_;       // the first of three dofs of each
  std::vector<Vector3> half_turns_;  // of each: h w/2
};

}  // namespace touchstone
