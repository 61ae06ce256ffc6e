// Analytic derivatives of inverse and forward dynamics, in the tangent space of the configuration manifold: a column
// `i` of d/dq says what happens when the configuration moves along dof i alone (integrate(q, e_i, .): positions of a
// free joint along world axes, rotations by R exp(.), in body axes).
//
// Method: Carpentier and Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms", RSS 2018, in world axes
// about one point of the tree (math/spatial.hpp), where no transforms are left. O(n d) for n dofs at depth d; what is
// derived here and differs from the paper is in docs/derivatives.md.
#pragma once

#include <span>
#include <vector>

#include "touchstone/diff/axis_rates.hpp"
#include "touchstone/diff/growing.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/dynamics/forces.hpp"

namespace touchstone {

using RowMatrixRef = Eigen::Ref<RowMatrixX>;

// tau = M(q) a + bias(q, v) - J' f. Entries of pairs of dofs of which neither moves the other are zero.
struct InverseDynamicsDerivatives : AxisRates {
  explicit InverseDynamicsDerivatives(const Model& model);

  RowMatrixX dtau_dq, dtau_dv;  // nv x nv
  RowMatrixX dtau_da;           // nv x nv: M without armature, which `rnea` leaves out

  // Scratch, beside the rates of the axes:
  std::vector<Mat3> coriolis;   // nbody: torque on the subtree by a turn, see docs/derivatives.md
  std::vector<Vec3> momentum;   // nbody: linear, of the subtree
  std::vector<Force> external;  // nbody: of the subtree
};

// Computes kinematics, velocities and accelerations on the way, and data.M as crba does (with armature). `external`:
// nbody forces on bodies in world axes about the reference point of their tree, that stay as they are in the world
// when the configuration changes; or none. With Kinematics::kKnown after forward_kinematics for the same q (mocap
// bodies are where it has put them, else at their reference poses).
void rnea_derivatives(const Model& model, const Parameters& parameters, const ConstVectorRef& q,
                      const ConstVectorRef& v, const ConstVectorRef& a, Data& data, InverseDynamicsDerivatives& out,
                      std::span<const Force> external = {}, Kinematics kinematics = Kinematics::kNew);

// a = M^-1 (tau - bias) at constant tau, with armature: da/dq = -M^-1 dtau/dq, da/dv = -M^-1 dtau/dv, da/dtau = M^-1.
class ForwardDynamicsDerivatives {
 public:
  explicit ForwardDynamicsDerivatives(const Model& model);

  // False if M is not positive definite: then nothing of it may be used.
  [[nodiscard]] bool compute(const Model& model, const Parameters& parameters, const ConstVectorRef& q,
                             const ConstVectorRef& v, const ConstVectorRef& tau, Data& data);

  const VectorX& a() const { return a_; }
  auto da_dq() const { return all_.leftCols(nv_); }
  auto da_dv() const { return all_.middleCols(nv_, nv_); }
  auto da_dtau() const { return all_.rightCols(nv_); }
  const InverseDynamicsDerivatives& inverse() const { return inverse_; }

 private:
  int nv_;
  InverseDynamicsDerivatives inverse_;
  VectorX a_;
  RowMatrixX all_;  // nv x 3 nv
};

// Velocities of all bodies in data.velocity, and V x S of each dof, V the velocity of what carries it (nv): along dof i
// the velocity of a body beyond it changes by S x velocity + V x S while the numbers v stay. Needs forward_kinematics.
void velocity_derivatives(const Model& model, const ConstVectorRef& v, Data& data, std::vector<Motion>& V_S);

// X <- (L' D L)^-1 X for many columns at once, with the factor in `data` (factorize, compute_free_motion).
void solve_columns(const Model& model, const Data& data, RowMatrixRef X);
void solve_columns(const Model& model, const VectorX& L, const VectorX& D_inverse, RowMatrixRef X);

// Derivative of rnea's tau by gravity (nv x 3). Needs crba.
void dtau_dgravity(const Model& model, const Data& data, Eigen::Ref<Eigen::MatrixX3d> out);

// Gradients of the energies that dynamics/kinematics.hpp computes, by q and v (each nv). Need forward_velocity with v.
void kinetic_energy_gradient(const Model& model, const Parameters& parameters, const ConstVectorRef& v, Data& data,
                             VectorRef by_q, VectorRef by_v);
void potential_energy_gradient(const Model& model, const Parameters& parameters, const ConstVectorRef& q, Data& data,
                               VectorRef by_q);

}  // namespace touchstone
