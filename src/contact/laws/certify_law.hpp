// The certificate of a compliant model: how well impulses obey its laws, from the problem's own data.
//
// For every block, with v_i = (J v')_i for the velocity v' that the impulses lead to, and d_i the mean diagonal of the
// block's mobility: the natural map of the law is v*_i - v_i, where v* is what the block by itself would settle at,
//
//     v*_i = v_i + d_i (gamma_i(v*_i) - lambda_i)
//
// It is a velocity, zero exactly where lambda is the impulse of the law, and for a rigid law (an infinite spring) it is
// the natural map of contact/certify.hpp. Comparing lambda with gamma(v) directly would multiply the rounding of v by
// the stiffness. Rotational rows are multiplied by their body length. v* is the minimum of the law's potential and
// |v* - v_i + d_i lambda_i|^2 / (2 d_i): Newton's method on at most six numbers.
#pragma once

#include "touchstone/contact/laws/block_laws.hpp"
#include "touchstone/contact/residuals.hpp"

namespace touchstone {

// Scratch of certify_law, reused from problem to problem.
struct LawCertificateWorkspace {
  BlockLaws laws;
  VectorX v, change, free;  // nv; nrow: J A^-1 J' lambda, J v_free
};

// Fills law_natv, law_natv_relative and law_impulse. The problem must be valid (validate_data); where the model has no
// law for it they are infinite.
void certify_law(const ContactProblem& problem, const ConstVectorRef& lambda, CompliantModel model,
                 LawCertificateWorkspace& workspace, Residuals& residuals);

}  // namespace touchstone
