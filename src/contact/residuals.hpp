// The certificate: how well an answer obeys the physics of its problem, computed from the problem's own data and from
// nothing that a solver says about itself.
//
// For every block, with u = G lambda + g and u^ = u + Gamma(u):
//   natural map with consistent units, a velocity:  natv_i = d_i |lambda_i - P_K(lambda_i - u^_i / d_i)|,
//   d_i the mean diagonal of G_ii. natv is the largest over the blocks, and zero exactly at solutions. It is never
//   reported below 4.5e-16 d_i |lambda_i|, because where forces diverge the difference above rounds to zero.
// Rotational rows are first multiplied by the body length of the row (ContactProblem::row_length), so that all figures
// are in N s, m/s and J. Le Lidec et al. 2024 (II), Tsounis et al. 2025 (VI-D, VII-D); the unit-consistent step is
// ours.
#pragma once

#include <vector>

#include "touchstone/contact/clique_factor.hpp"
#include "touchstone/contact/problem.hpp"
#include "touchstone/math/aligned.hpp"

namespace touchstone {

struct Residuals {
  double natv = 0.0;                     // m/s
  double natv_relative = 0.0;            // natv / max(|g|_inf, 9.81 time_step)
  double natv_relative_to_change = 0.0;  // natv / |G lambda|_inf: where separating contacts dominate g
  int worst_block = -1;                  // the block of natv; ContactProblem::describe_block names it; -1 if none
  double primal_cone = 0.0;              // N s: largest distance of lambda_i to its set
  double dual_cone = 0.0;                // m/s: largest distance of u^_i to the dual set (of an equality: |u_i|)
  double complementarity =
      0.0;                   // J: largest |lambda_i . u^_i|; of a box: u times the distance to the bound it pushes at
  double natural_map = 0.0;  // largest natural map with unit step, as the papers report it; mixes N s and m/s
  double coulomb = 0.0;      // N s: largest |lambda_t / mu| - lambda_n of a contact
  double signorini = 0.0;    // J: largest |lambda_n u_n| of a contact
  double max_dissipation = 0.0;  // J: largest |lambda_t . u_t + lambda_n |mu u_t|| of a contact
  double model_natv = 0.0;       // m/s: natv of the model that certify() was asked for (NCP: the same as natv)
  double model_natv_relative = 0.0;
};

// Scratch of certify, reused from problem to problem.
struct CertificateWorkspace {
  Blocks blocks;
  VectorX lambda, u, diagonal, change, free;
  double velocity_unit = 1.0, impulse_unit = 1.0;  // powers of two; not 1 for numbers near the ends of their range
  CliqueFactor factor;
  AlignedVector Y;
  VectorX v;
};

// lambda has nrow entries. Uses (G, g) where given, else the primal view. The problem must be valid (validate_data).
// Allocates nothing once the workspace has seen a problem of this size.
Residuals certify(const ContactProblem& problem, const ConstVectorRef& lambda, CertificateWorkspace& workspace,
                  ContactModel model = ContactModel::kNcp);
Residuals certify(const ContactProblem& problem, const ConstVectorRef& lambda, ContactModel model = ContactModel::kNcp);

}  // namespace touchstone
