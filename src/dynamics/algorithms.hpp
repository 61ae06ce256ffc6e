// The classical recursions in reduced coordinates: RNEA, CRBA, ABA (Featherstone, "Rigid Body Dynamics
// Algorithms", ch. 5-7) and the tree factor of the mass matrix (ch. 8.5). Where a function takes q instead of a state,
// mocap bodies are at their reference poses.
#pragma once

#include "touchstone/dynamics/data.hpp"

namespace touchstone {

// tau = M a + bias, from q, v, a in one pass (computes kinematics and velocities on the way). Without armature,
// damping, springs and friction.
void rnea(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const ConstVectorRef& v,
          const ConstVectorRef& a, Data& data, VectorRef tau);

// data.bias at the state of the workspace. Needs forward_kinematics; computes the velocities on the way.
void compute_bias(const Model& model, const Parameters& parameters, const ConstVectorRef& v, Data& data);

// Generalised gravity forces g(q): M a + C v + g = tau. Needs forward_kinematics.
void gravity_force(const Model& model, const Parameters& parameters, Data& data, VectorRef g);

// data.M, with armature. Needs forward_kinematics.
void crba(const Model& model, const Parameters& parameters, Data& data);

// The factor L' D L of M + diag(shift) (implicit joint terms). Needs crba. False if a pivot is not positive: then M
// is not positive definite (massless parts, or numbers that are not finite) and the factor must not be used.
[[nodiscard]] bool factorize(const Model& model, const ConstVectorRef& shift, Data& data);
[[nodiscard]] bool factorize(const Model& model, Data& data);

// x <- (L' D L)^-1 x.
void solve(const Model& model, const Data& data, VectorRef x);
void solve(const Model& model, const TreeFactor& factor, VectorRef x);
void solve(const Model& model, const Scope& scope, const TreeFactor& factor, VectorRef x);
// x <- L^-T x, the first half of a solve; then G = Y' D^-1 Y for Y = L^-T J'.
void half_solve(const Model& model, const Data& data, VectorRef x);
// Columns of X <- M^-1 X where the columns are J' of `body`: nonzero on the path to the body only.
void solve_path(const Model& model, const Data& data, int body, Eigen::Ref<MatrixX> X);

// y = M x.
void multiply_mass(const Model& model, const Data& data, const ConstVectorRef& x, VectorRef y);
// Dense, symmetric copy of data.M.
MatrixX dense_mass_matrix(const Model& model, const Data& data);

// a = M^-1 (tau - bias) in O(n), with armature; independent of crba and factorize. Computes
// kinematics on the way. Throws Error for tendons with armature, which couple joints: use forward_dynamics.
void aba(const Model& model, const Parameters& parameters, const ConstVectorRef& q, const ConstVectorRef& v,
         const ConstVectorRef& tau, Data& data, VectorRef a);

}  // namespace touchstone
