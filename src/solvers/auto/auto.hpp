// auto: what users get by default. The combination, found by measuring, that is fast on easy problems and does not
// fail on hard ones (pipeline.hpp), part by part.
//
// Model: NCP, all blocks. A warm start that is good enough is accepted at once. Contacts and limits that separate
// without help (g_n >= 0, no warm impulse) are left out at first and verified afterwards. What remains is split into
// parts that G does not couple. Where forces diverge because the problem has no solution, a compliance is added and
// reported (Solution::shift); the status is then Stalled and the message says so. Impulses of hyperstatic problems:
// near minimum norm among those with the same modes where Newton with guessed modes finishes from a cold start (the
// usual case up to some hundred contacts), bounded otherwise; an accepted warm start keeps its internal forces.
#pragma once

#include <memory>
#include <vector>

#include "touchstone/solvers/auto/dual_part.hpp"
#include "touchstone/solvers/auto/pipeline.hpp"

namespace touchstone {

struct AutoOptions : SolverOptions {
  bool reduce = true;            // leave out what separates, verify afterwards
  bool islands = true;           // solve parts that are not coupled apart
  bool allow_compliance = true;  // the last resort

  // Newton steps of all stages together; where large friction has to be raised slowly, for each value of it. Of 16,000
  // recorded problems 0.1 % took more than 97, and one of the solved ones more than 235 (365).
  AutoOptions() { max_iterations = 400; }

  void describe(OptionList& list) override;
};

struct AutoWorkspace : PipelineWorkspace {
  // Of this and other solves together, the caller's; none: each ends by max_iterations alone. Once it has ended the
  // best point is the answer, with kMaxIterations.
  WorkBudget* budget = nullptr;
  DualParts parts;
  std::vector<char> chosen;                              // nblock
  std::vector<std::unique_ptr<PipelineWorkspace>> part;  // by number, kept
  std::vector<int> position;
  VectorX whole, whole_u;
  std::vector<double> friction;  // scaled, while less is tried
  VectorX direct, start;         // the answer with all of it; the last one with less
};

class AutoSolver final : public TypedSolver<AutoOptions, AutoWorkspace> {
 public:
  std::unique_ptr<SolverOptions> make_strict(const SolverOptions& options) const override;

 protected:
  SolveStatus run(const ContactProblem& problem, const AutoOptions& options, AutoWorkspace& workspace,
                  Solution& solution) const override;
};

}  // namespace touchstone
