// ncp-newton: non-interior smoothing Newton on the smooth Coulomb path (smoothing_newton.hpp).
//
// Model: NCP. The right method for warm starts: any old solution is a point near the path. From a cold start it begins
// with a few exact-local Gauss-Seidel sweeps. All blocks, symmetric and nonsymmetric G.
#pragma once

#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"
#include "touchstone/solvers/gauss_seidel/local_contact.hpp"
#include "touchstone/solvers/newton/mode_newton.hpp"
#include "touchstone/solvers/newton/smoothing_newton.hpp"

namespace touchstone {

struct NcpNewtonOptions : SolverOptions {
  int sweeps = 10;     // of Gauss-Seidel before the first step
  bool polish = true;  // try Newton with the modes of the rounded point on the way

  NcpNewtonOptions() { max_iterations = 200; }
  void describe(OptionList& list) override;
};

struct NcpNewtonWorkspace : GaussSeidelWorkspace {
  LocalContacts contacts;
  NewtonSystem system;
  SmoothingNewton path;
  ModeNewton polish;
};

class NcpNewtonSolver final : public TypedSolver<NcpNewtonOptions, NcpNewtonWorkspace> {
 protected:
  SolveStatus run(const ContactProblem& problem, const NcpNewtonOptions& options, NcpNewtonWorkspace& workspace,
                  Solution& solution) const override;
};

}  // namespace touchstone
