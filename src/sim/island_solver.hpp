// Solves the contact problems of a step, one island after the other, and certifies each.
#pragma once

#include <memory>
#include <vector>

#include "touchstone/contact/residuals.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/sim/report.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {

class IslandSolver {
 public:
  // Throws Error for an unknown solver or option.
  explicit IslandSolver(const SimulatorOptions& options);

  // lambda holds the warm start and gets the answer. Needs solve_constraint_rows. Fills the solver's part of the
  // report, times of assembly (the problems), solve and certify included.
  void solve(const Model& model, const Constraints& constraints, double h, VectorX& lambda, StepReport& report);

  const Islands& islands() const { return islands_; }
  const CatalogueEntry& entry() const { return *entry_; }

 private:
  struct Worker {
    std::unique_ptr<SolverWorkspace> workspace;
    Solution solution;
    CertificateWorkspace certificate;
  };

  const CatalogueEntry* entry_;
  std::unique_ptr<ContactSolver> solver_;
  std::unique_ptr<SolverOptions> solver_options_;
  bool separate_;
  Islands islands_;
  Islands::Scratch scratch_;
  std::vector<std::unique_ptr<Worker>> workers_;  // by island
};

}  // namespace touchstone
