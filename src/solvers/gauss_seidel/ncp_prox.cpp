#include "touchstone/solvers/gauss_seidel/ncp_prox.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/math/cones.hpp"

namespace touchstone {
namespace {

constexpr double kShrink = 0.5;   // of alpha when the change grows
constexpr double kGrow = 1.1;     // of alpha after patience
constexpr double kRising = 1.05;  // a change that grows by more than this is a sign of a step too long
constexpr double kSmallestAlpha = 1e-3;

// r of every row: 1 / G_jj for sor, 1 / (largest row sum of the rows that share it) for jacobi. Tangential rows of a
// contact and rows of an equality share one.
void prepare_steps(const DualProblem& dual, ProxScheme scheme, VectorX& step) {
  const BlockSparseMatrix& G = dual.G;
  step.resize(dual.nrow());
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i], m = dual.blocks.size(i);
    const bool contact = dual.blocks.type[i] == BlockType::kCoulomb;
    double stiffness[kMaxBlockSize] = {};
    const int first = scheme == ProxScheme::kSor ? dual.diagonal[i] : G.start[i];
    const int last = scheme == ProxScheme::kSor ? dual.diagonal[i] + 1 : G.start[i + 1];
    for (int k = first; k < last; ++k) {
      const auto block = G.block(i, k);
      for (int row = 0; row < m; ++row) {
        if (contact && scheme == ProxScheme::kSor) {
          stiffness[row] += block(row, row);
        } else {
          stiffness[row] += block.row(row).cwiseAbs().sum();
        }
      }
    }
    double shared = 0.0;
    for (int row = 0; row < (contact ? m - 1 : m); ++row) {
      const double mu = contact ? dual.blocks.mu[r + row] : 1.0;
      shared = std::max(shared, mu * mu * stiffness[row]);
    }
    for (int row = 0; row < m; ++row) {
      const double own = contact && row == m - 1 ? stiffness[row] : shared;
      step[r + row] = 1.0 / (own > 0.0 ? own : dual.d[i]);
    }
  }
}

// The proximal step of one block with its velocity u and the factor alpha.
void prox_block(const DualProblem& dual, const VectorX& step, double alpha, int block, const double* u,
                double* lambda) {
  const int r = dual.blocks.row[block], m = dual.blocks.size(block), n = m - 1;
  if (dual.blocks.type[block] != BlockType::kCoulomb) {
    for (int k = 0; k < m; ++k) lambda[k] -= alpha * step[r + k] * u[k];
    project_block(dual.blocks, block, lambda, lambda);
    return;
  }
  const double* mu = dual.blocks.mu.data() + r;
  lambda[n] = project_nonnegative(lambda[n] - alpha * step[r + n] * u[n]);
  double y[kMaxBlockSize];
  for (int j = 0; j < n; ++j) y[j] = mu[j] > 0.0 ? lambda[j] / mu[j] - alpha * step[r + j] * mu[j] * u[j] : 0.0;
  project_ball(n, lambda[n], y, y);
  for (int j = 0; j < n; ++j) lambda[j] = mu[j] * y[j];
}

// One sweep; returns the largest change as a velocity.
double prox_sweep(NcpProxWorkspace& workspace, ProxScheme scheme, double alpha) {
  const DualProblem& dual = workspace.dual;
  VectorX& lambda = workspace.lambda;
  double largest = 0.0;
  if (scheme == ProxScheme::kJacobi) compute_velocity(dual, lambda, workspace.u);
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i], m = dual.blocks.size(i);
    double u[kMaxBlockSize], next[kMaxBlockSize];
    if (scheme == ProxScheme::kJacobi) {
      std::copy(workspace.u.data() + r, workspace.u.data() + r + m, u);
    } else {
      std::copy(dual.g.data() + r, dual.g.data() + r + m, u);
      dual.G.add_row_product(i, lambda.data(), u);
    }
    std::copy(lambda.data() + r, lambda.data() + r + m, next);
    prox_block(dual, workspace.step, alpha, i, u, next);
    double change = 0.0;
    for (int k = 0; k < m; ++k) {
      change += (next[k] - lambda[r + k]) * (next[k] - lambda[r + k]);
      lambda[r + k] = next[k];
    }
    change = dual.weight[i] * std::sqrt(change);
    if (!(change <= largest)) largest = change;  // NaN wins
  }
  return largest;
}

}  // namespace

void NcpProxOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("scheme", scheme, {"sor", "jacobi"}, "newest velocities, or those of the last sweep");
  list.add("step", step, 1e-3, 2.0, "factor on the stable step at first");
  list.add("max_step", max_step, 1e-3, 10.0, "largest factor on the stable step");
  list.add("patience", patience, 1, 1000000, "shrinking sweeps before the step grows");
}

SolveStatus NcpProxSolver::run(const ContactProblem& problem, const NcpProxOptions& options,
                               NcpProxWorkspace& workspace, Solution& solution) const {
  SolveStatus status{};
  const DualProblem& dual = workspace.dual;
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace, solution, workspace.lambda, status)) {
    return status;
  }
  prepare_steps(dual, options.scheme, workspace.step);
  const double tolerance = velocity_tolerance(options, dual);
  const auto current_natv = [&] {
    compute_velocity(dual, workspace.lambda, workspace.u);
    return natv(dual, ContactModel::kNcp, workspace.lambda, workspace.u);
  };
  double alpha = options.step, last_change = 0.0;
  int shrinking = 0;
  StallDetector stall;
  status = current_natv() <= tolerance ? SolveStatus::kSolved : SolveStatus::kMaxIterations;
  while (solution.iterations < options.max_iterations && status == SolveStatus::kMaxIterations) {
    const double change = prox_sweep(workspace, options.scheme, alpha) / alpha;
    ++solution.iterations;
    if (options.record_history || change <= 2.0 * tolerance) {
      const double residual = current_natv();
      if (options.record_history) solution.history.push_back(residual / dual.velocity_scale);
      if (residual <= tolerance) status = SolveStatus::kSolved;
    }
    if (status != SolveStatus::kSolved && !stall.progresses(change)) status = SolveStatus::kStalled;
    if (status == SolveStatus::kMaxIterations && workspace.deadline.passed()) status = SolveStatus::kTimeLimit;
    if (solution.iterations > 1 && change > kRising * last_change) {
      alpha = std::max(kSmallestAlpha, kShrink * alpha);
      shrinking = 0;
    } else if (++shrinking >= options.patience) {
      alpha = std::min(options.max_step, kGrow * alpha);
      shrinking = 0;
    }
    last_change = change;
  }
  if ((status == SolveStatus::kMaxIterations || status == SolveStatus::kTimeLimit) && current_natv() <= tolerance)
    status = SolveStatus::kSolved;
  return end_dual_solve(problem, dual, workspace.lambda, status, solution);
}

}  // namespace touchstone
