// The solvers that the benchmark `loops` compares, and what it measures of each on a sample.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/contact/certify.hpp"
#include "touchstone/scenes/loop_samples.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {

// A row of Tsounis et al. 2025, Tab. I, or one of ours.
struct Contestant {
  std::string_view label;                   // the paper's name, or the catalogue's
  std::string_view solver;                  // of the catalogue
  std::vector<std::string_view> options{};  // "name=value"
  bool of_paper = true;
};
const std::vector<Contestant>& contestants();

// Relative natv that is asked for, loosest first.
constexpr std::array<double, 3> kTolerances{1e-4, 1e-6, 1e-8};

// Every solve is bounded by counted work: so many multiplications and additions with entries of G, at most so many
// iterations. Methods that factor get fewer iterations, by the size of a factorisation.
struct SolveBudget {
  double work = 4e7;
  int iterations = 5000;
};

struct ToTolerance {
  bool solved = false;  // by the certificate of the NCP, not by its own word
  int iterations = 0;
  double seconds = 0.0;  // processor time
};

struct ContestOutcome {
  std::array<ToTolerance, 3> cold{};  // by kTolerances; after one that is not solved none is tried
  ToTolerance warm;                   // to 1e-6, from the impulses of the step before
  Residuals residuals;                // cold, asked for 1e-6, or the best that was reached
  double penetration = 0.0;           // m: (173)
  double jump = -1.0;                 // change of impulses to the next step, relative; -1: not measured
  double norm = 0.0;                  // of the impulses, in the units of the problem
};

class Entrant {
 public:
  Entrant(const Contestant& contestant, const SolveBudget& budget);
  ContestOutcome run(const LoopSample& sample, PenetrationProbe& probe);
  // natv after each iteration, thinned to about 60 points: {iteration, relative natv}.
  std::vector<std::pair<int, double>> convergence(const LoopSample& sample);

 private:
  ToTolerance solve(const ContactProblem& problem, double tolerance, const VectorX* warm);
  int iteration_limit(const ContactProblem& problem) const;

  const Contestant& contestant_;
  SolveBudget budget_;
  bool factors_ = false;
  std::unique_ptr<ContactSolver> solver_;
  std::unique_ptr<SolverOptions> options_;
  std::unique_ptr<SolverWorkspace> workspace_;
  Solution solution_;
  CertificateWorkspace certificate_;
  Residuals residuals_;
};

}  // namespace touchstone
