#include "touchstone/solvers/lcp/lcp_dantzig.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace touchstone {
namespace {

constexpr double kNegative = -1e-13;  // values above count as nonnegative
constexpr int kRebuildEvery = 50;     // rounds

class PrincipalPivoting {
 public:
  PrincipalPivoting(LcpDantzigWorkspace& workspace, double proximal)
      : w_(workspace), n_(workspace.form.size()), proximal_(proximal) {}

  // All w basic.
  void reset() {
    w_.tableau = w_.form.M;
    w_.tableau.diagonal().array() += proximal_;
    w_.z_basic.assign(static_cast<std::size_t>(n_), 0);
  }

  // Solves for the present q and proximal centre z, from the present basis. False after max_pivots or when time
  // is up.
  bool solve(int max_pivots) {
    w_.q = w_.form.q - proximal_ * w_.z;
    recompute_values();
    int pivots = 0;
    for (int driven = most_negative(); driven >= 0; driven = most_negative()) {
      double driving = 0.0;  // value of the complement of the driven variable
      int blocking = -1;
      while (blocking != driven) {
        if (++pivots > max_pivots || w_.deadline.passed()) return false;
        double step = 0.0;
        blocking = ratio_test(driven, step);
        driving += step;
        w_.value += step * w_.tableau.col(driven);
        w_.value[blocking] = 0.0;
        pivot(blocking);
      }
      w_.value[driven] = driving;
    }
    for (int i = 0; i < n_; ++i)
      w_.z[i] = w_.z_basic[static_cast<std::size_t>(i)] != 0 ? std::max(0.0, w_.value[i]) : 0.0;
    return true;
  }

 private:
  // z_a = -T_aa q_a for the basic z, w = q - T_:a q_a for the others.
  void recompute_values() {
    w_.value = w_.q;
    for (int i = 0; i < n_; ++i) {
      if (w_.z_basic[static_cast<std::size_t>(i)] != 0) w_.value[i] = 0.0;
    }
    for (int j = 0; j < n_; ++j) {
      if (w_.z_basic[static_cast<std::size_t>(j)] != 0) w_.value -= w_.q[j] * w_.tableau.col(j);
    }
  }

  int most_negative() const {
    int worst = -1;
    double least = kNegative;
    for (int i = 0; i < n_; ++i) {
      if (w_.value[i] < least) {
        least = w_.value[i];
        worst = i;
      }
    }
    return worst;
  }

  // The first variable that becomes zero when the complement of `driven` grows: the driven one from below, the others
  // from above.
  int ratio_test(int driven, double& step) const {
    const auto column = w_.tableau.col(driven);
    int blocking = driven;
    step = -w_.value[driven] / column[driven];
    for (int i = 0; i < n_; ++i) {
      if (i == driven || column[i] >= 0.0 || w_.value[i] < kNegative) continue;
      const double ratio = std::max(0.0, w_.value[i]) / -column[i];
      if (ratio < step) {
        step = ratio;
        blocking = i;
      }
    }
    return blocking;
  }

  // Exchanges w_k and z_k.
  void pivot(int k) {
    MatrixX& T = w_.tableau;
    const double inverse = 1.0 / T(k, k);
    w_.row = T.row(k).transpose() * -inverse;
    w_.row[k] = inverse;
    for (int j = 0; j < n_; ++j) {
      if (j == k || w_.row[j] == 0.0) continue;
      const double factor = w_.row[j];
      T.col(j) += factor * T.col(k);
      T(k, j) = factor;
    }
    T.col(k) *= inverse;
    T(k, k) = inverse;
    w_.z_basic[static_cast<std::size_t>(k)] ^= 1U;
  }

  LcpDantzigWorkspace& w_;
  int n_;
  double proximal_;
};

}  // namespace

void LcpDantzigOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("facets", facets, 4, Pyramid::kMaxFacets, "facets of the friction pyramid, a multiple of 4");
  list.add("proximal", proximal, 1e-10, 1.0, "proximal shift that makes pivots positive; units of scaled G");
  list.add("max_pivots", max_pivots, 1, std::numeric_limits<int>::max(), "pivots in one round");
}

SolveStatus LcpDantzigSolver::run(const ContactProblem& problem, const LcpDantzigOptions& options,
                                  LcpDantzigWorkspace& workspace, Solution& solution) const {
  SolveStatus status{};
  if (!begin_pivoting(problem, options, options.facets, workspace, solution, status)) return status;
  const DualProblem& dual = workspace.dual;
  const Pyramid pyramid(options.facets);
  const double tolerance = velocity_tolerance(options, dual);
  VectorX& lambda = workspace.lambda;
  LcpForm& form = workspace.form;
  form.assemble(dual, false, lambda);
  workspace.z.setZero(form.size());
  PrincipalPivoting pivoting(workspace, options.proximal);
  status = SolveStatus::kMaxIterations;
  double best = std::numeric_limits<double>::infinity();
  int since = 0;
  while (solution.iterations < options.max_iterations && status == SolveStatus::kMaxIterations) {
    if (solution.iterations % kRebuildEvery == 0) pivoting.reset();
    ++solution.iterations;
    if (!pivoting.solve(options.max_pivots)) {
      if (workspace.deadline.passed()) {
        status = SolveStatus::kTimeLimit;
        break;  // the impulses of the last round
      }
      solution.message = fmt::format("more than {} pivots in one round", options.max_pivots);
      status = SolveStatus::kStalled;
    }
    form.impulses(workspace.z, lambda);
    form.update_bounds(lambda);
    const double reached = workspace.residual(pyramid);
    if (options.record_history) solution.history.push_back(reached / dual.velocity_scale);
    since = reached < 0.99 * best ? 0 : since + 1;
    best = std::min(best, reached);
    if (reached <= tolerance) {
      status = SolveStatus::kSolved;
      solution.message.clear();
    } else if (since > 4 * kRebuildEvery || !std::isfinite(reached)) {
      status = SolveStatus::kStalled;
    } else if (status == SolveStatus::kMaxIterations && workspace.deadline.passed()) {
      status = SolveStatus::kTimeLimit;
    }
  }
  return end_dual_solve(problem, dual, lambda, status, solution);
}

}  // namespace touchstone
