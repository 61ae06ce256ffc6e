// Repair of the places where a large problem is not solved yet.
//
// Problem: after a Newton step over thousands of rows most blocks are right, but a few have the wrong mode, and their
//   residual decides about the step of all. Sweeps mend single blocks, not clusters that take turns in being wrong.
// Method: nonlinear elimination. The blocks with the largest residual are seeds; a region is a seed with its neighbours
//   in G, breadth first, as many as a dense system holds. Each region is solved as a problem of its own (pipeline.hpp),
//   warm, while all other impulses stay; one after another, with the newest values.
// Reference: X.-C. Cai, D. Keyes, Nonlinearly preconditioned inexact Newton algorithms, SIAM J. Sci. Comput. 24 (2002).
// Cost: that of a small problem for each region. No allocation once sizes have been seen.
#pragma once

#include <memory>
#include <vector>

#include "touchstone/base/clock.hpp"
#include "touchstone/contact/dual.hpp"

namespace touchstone {

struct PipelineWorkspace;
class WorkBudget;

struct RepairSettings {
  double tolerance = 1e-8;  // m/s
  int max_regions = 10;
  double share = 0.1;  // a seed's residual is at least this share of the largest
  Deadline deadline = {};
  WorkBudget* budget = nullptr;
};

class RegionRepair {
 public:
  RegionRepair();
  ~RegionRepair();
  RegionRepair(RegionRepair&&) noexcept;
  RegionRepair& operator=(RegionRepair&&) noexcept;

  // Improves lambda, whose velocity is u; u is not kept up to date. Returns the number of regions.
  int run(const DualProblem& dual, const RepairSettings& settings, VectorX& lambda, const VectorX& u);

 private:
  struct Seed {
    double residual = 0.0;  // m/s
    int block = 0;
  };

  void find_seeds(const DualProblem& dual, const RepairSettings& settings, const VectorX& lambda, const VectorX& u);
  double residual_now(const DualProblem& dual, int block, const VectorX& lambda);
  void grow(const DualProblem& dual, int seed);
  void solve(const DualProblem& dual, double tolerance, const RepairSettings& settings, VectorX& lambda);

  std::vector<Seed> seeds_;    // the worst first
  std::vector<int> blocks_;    // of the region
  std::vector<char> chosen_;   // nblock
  std::vector<int> position_;  // scratch of extract_part
  VectorX own_;                // rows of the region
  std::unique_ptr<PipelineWorkspace> part_;
};

}  // namespace touchstone
