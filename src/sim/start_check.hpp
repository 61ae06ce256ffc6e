// Whether the impulses of the step before still solve an island, asked before its matrix is made.
//
// Y holds the rows of the constraints, whitened by the inertia: G = Y'Y + R. So G lambda takes two walks over Y, and an
// island at rest, whose impulses do not change, costs no matrix, no solve and no products with the matrix.
#pragma once

#include "touchstone/contact/certify.hpp"
#include "touchstone/sim/islands.hpp"

namespace touchstone {

// change = G lambda and diagonal = that of G, for the rows of an island after build_rows. Needs solve_constraint_rows.
void multiply_rows(const Model& model, const Constraints& constraints, const TreeIsland& island, const VectorX& lambda,
                   TreeIslands::Scratch& scratch, VectorX& change, VectorX& diagonal);

// Whether natv of lambda is at most `tolerance` of the velocity scale. If so, u and the certificate are those of
// lambda.
bool is_solution(const Model& model, const Constraints& constraints, const TreeIsland& island, const VectorX& lambda,
                 double tolerance, TreeIslands::Scratch& scratch, CertificateWorkspace& workspace, VectorX& u,
                 Residuals& residuals);

}  // namespace touchstone
