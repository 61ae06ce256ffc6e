// The sweep that all methods of the Gauss-Seidel family share.
//
// Problem: the dual problem u = G lambda + g, one law for each block (contact/blocks.hpp).
// Method: Tsounis et al. 2025, Alg. 5. Blocks in order; each solves its own law while the others stay, with the newest
// values. Equalities,
//   limits and boxes are solved exactly here (equalities rank-revealing, with the smallest correction); contacts by the
//   functor `local`, which is what makes nbgs, ncp-pgs, ccp-pgs, raisim and others differ.
// Stopping: the natural map of one consistent iterate (natv), tested when the sweep changed lambda by little, because
// the
//   test costs as much as a sweep. Stalled when 500 sweeps in a row have not reduced the change by 1 %.
// Cost: one product with G per sweep. No allocation after the first solve of a size.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "touchstone/math/aligned.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

struct GaussSeidelOptions : SolverOptions {
  double relaxation = 1.0;        // omega: lambda <- (1 - omega) lambda + omega (local solution), at first
  double relaxation_min = 0.0;    // omega never falls below this
  double relaxation_decay = 1.0;  // omega is multiplied by this after each sweep

  void describe(OptionList& list) override;
};

struct GaussSeidelWorkspace : SolverWorkspace {
  VectorX lambda, u;            // nrow, scaled
  AlignedVector pseudoinverse;  // of the diagonal blocks of equalities, layout of dual.G

  // Of the scaled diagonal blocks of all equalities.
  void prepare_equalities();
};

// One block that is no contact: lambda <- its solution for own velocity u (which includes the block's own lambda).
void solve_simple_block(const DualProblem& dual, const AlignedVector& pseudoinverse, int block, const double* u,
                        double* lambda);

// Watches the largest change of each sweep.
class StallDetector {
 public:
  // False when there is no more progress.
  bool progresses(double change) {
    if (!(change < std::numeric_limits<double>::infinity())) return false;
    if (change < 0.99 * best_) {
      best_ = change;
      since_ = 0;
      return true;
    }
    return ++since_ < kWindow;
  }

 private:
  static constexpr int kWindow = 500;
  double best_ = std::numeric_limits<double>::infinity();
  int since_ = 0;
};

// local(block, u, lambda): replaces lambda (size of the block) of a contact by its local solution; u is the block's
// velocity with that lambda included. All scaled; the dual problem is in the workspace.
//
// Returns the largest change, as a velocity.
template <typename Local>
double gauss_seidel_sweep(GaussSeidelWorkspace& workspace, double relaxation, Local& local) {
  const DualProblem& dual = workspace.dual;
  double* lambda = workspace.lambda.data();
  double largest = 0.0;
  const auto update = [&](int i, int m, const double* u) {
    double* own = lambda + dual.blocks.row[i];
    double next[kMaxBlockSize];
    std::copy(own, own + m, next);
    if (dual.blocks.type[i] == BlockType::kCoulomb) {
      local(i, u, next);
    } else {
      solve_simple_block(dual, workspace.pseudoinverse, i, u, next);
    }
    double change = 0.0;
    for (int k = 0; k < m; ++k) {
      const double step = relaxation * (next[k] - own[k]);
      change += step * step;
      own[k] += step;
    }
    change = dual.weight[i] * std::sqrt(change);
    if (!(change <= largest)) largest = change;  // NaN wins
  };
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i], m = dual.blocks.size(i);
    double u[kMaxBlockSize];
    if (m == 3) {
      const Lanes sum = row_product_3(dual.G, i, lambda, Lanes{dual.g[r], dual.g[r + 1], dual.g[r + 2], 0.0});
      for (int k = 0; k < 3; ++k) u[k] = sum[k];
    } else {
      std::copy(dual.g.data() + r, dual.g.data() + r + m, u);
      dual.G.add_row_product(i, lambda, u);
    }
    update(i, m, u);
  }
  return largest;
}

// Sweeps until residual(lambda, u), in m/s, is small enough. begin_dual_solve must have succeeded for workspace.dual
// and lambda.
template <typename Residual, typename Local>
SolveStatus iterate_gauss_seidel(const GaussSeidelOptions& options, const Residual& residual_of,
                                 GaussSeidelWorkspace& workspace, Solution& solution, Local& local) {
  const double tolerance = velocity_tolerance(options, workspace.dual);
  const auto current_natv = [&] {
    compute_velocity(workspace.dual, workspace.lambda, workspace.u);
    return residual_of(workspace.lambda, workspace.u);
  };
  if (current_natv() <= tolerance) return SolveStatus::kSolved;
  StallDetector stall;
  double relaxation = options.relaxation;
  for (int sweep = 1; sweep <= options.max_iterations; ++sweep) {
    const double change = gauss_seidel_sweep(workspace, relaxation, local);
    relaxation = std::max(options.relaxation_min, options.relaxation_decay * relaxation);
    solution.iterations = sweep;
    if (options.record_history || change <= 2.0 * tolerance) {
      const double residual = current_natv();
      if (options.record_history) solution.history.push_back(residual / workspace.dual.velocity_scale);
      if (residual <= tolerance) return SolveStatus::kSolved;
    }
    if (!stall.progresses(change)) return SolveStatus::kStalled;
    if (workspace.deadline.passed())
      return current_natv() <= tolerance ? SolveStatus::kSolved : SolveStatus::kTimeLimit;
  }
  return current_natv() <= tolerance ? SolveStatus::kSolved : SolveStatus::kMaxIterations;
}

// The same with natv of a model.
template <typename Local>
SolveStatus iterate_gauss_seidel(const GaussSeidelOptions& options, ContactModel model, GaussSeidelWorkspace& workspace,
                                 Solution& solution, Local& local) {
  const auto residual = [&](const VectorX& lambda, const VectorX& u) { return natv(workspace.dual, model, lambda, u); };
  return iterate_gauss_seidel(options, residual, workspace, solution, local);
}

}  // namespace touchstone
