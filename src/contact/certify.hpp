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

#include "touchstone/contact/problem.hpp"
#include "touchstone/contact/residuals.hpp"
#include "touchstone/math/aligned.hpp"

namespace touchstone {

// Scratch of certify, reused from problem to problem.
struct CertificateWorkspace {
  Blocks blocks;
  VectorX lambda, u, diagonal, change, free;
  double velocity_unit = 1.0, impulse_unit = 1.0;  // powers of two; not 1 for numbers near the ends of their range
  AlignedVector Y;
  VectorX v;
};

// lambda has nrow entries. Uses (G, g) where given, else the primal view. The problem must be valid (validate_data).
// Allocates nothing once the workspace has seen a problem of this size.
Residuals certify(const ContactProblem& problem, const ConstVectorRef& lambda, CertificateWorkspace& workspace,
                  ContactModel model = ContactModel::kNcp);
Residuals certify(const ContactProblem& problem, const ConstVectorRef& lambda, ContactModel model = ContactModel::kNcp);

// The same for a problem whose G the caller has not made: workspace.change holds G lambda, workspace.diagonal the
// diagonal of G. Ends at the first block whose natv is above `most` times the velocity scale; the other residuals are
// then those of the blocks before it.
Residuals certify_product(const ContactProblem& problem, const ConstVectorRef& lambda, double most,
                          CertificateWorkspace& workspace);

}  // namespace touchstone
