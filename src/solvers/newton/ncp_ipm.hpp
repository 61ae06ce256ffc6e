// ncp-ipm: interior point on the smooth Coulomb path (interior_point.hpp).
//
// Model: NCP. Begins with a few exact-local Gauss-Seidel sweeps, whose result is moved into the interior. All blocks,
// symmetric and nonsymmetric G, rank-deficient and badly conditioned problems.
#pragma once

#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"
#include "touchstone/solvers/gauss_seidel/local_contact.hpp"
#include "touchstone/solvers/newton/interior_point.hpp"
#include "touchstone/solvers/newton/mode_newton.hpp"

namespace touchstone {

struct NcpIpmOptions : SolverOptions {
  int sweeps = 10;     // of Gauss-Seidel before the first step
  double shift = 3.0;  // the start is moved into the interior by this times its residual
  bool polish = true;  // try Newton with the modes of the rounded point on the way

  NcpIpmOptions() { max_iterations = 100; }
  void describe(OptionList& list) override;
};

struct NcpIpmWorkspace : GaussSeidelWorkspace {
  LocalContacts contacts;
  NewtonSystem system;
  InteriorPoint path;
  ModeNewton polish;
};

class NcpIpmSolver final : public TypedSolver<NcpIpmOptions, NcpIpmWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const NcpIpmOptions& options, NcpIpmWorkspace& workspace,
                  Solution& solution) const override;
};

}  // namespace touchstone
