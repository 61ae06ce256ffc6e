#include "touchstone/solvers/lcp/lcp_lemke.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace touchstone {
namespace {

constexpr double kZeroPivot = 1e-8;                       // of the largest entry of the entering column
constexpr double kTie = 1e-13;                            // ratios closer than this are equal
constexpr int kRenewEvery = 50;                           // pivots
constexpr double kShifts[] = {1e-12, 1e-10, 1e-8, 1e-6};  // on the diagonal of M, in units of scaled G
constexpr int kMaxRounds = 5;                             // of the proximal loop, for each shift

// w - (M + shift I) z - d z0 = q with d = 1.
class Lemke {
 public:
  Lemke(LcpLemkeWorkspace& workspace, double shift) : w_(workspace), n_(workspace.form.size()), shift_(shift) {}

  // With the proximal centre z, which the answer replaces. False on a ray, after max_pivots or when time is
  // up.
  bool solve(int max_pivots, int& pivots) {
    w_.q = w_.form.q - shift_ * w_.z;
    if (n_ == 0 || w_.q.minCoeff() >= 0.0) {
      w_.z.setZero(n_);
      return true;
    }
    int leaving_row = begin();
    int entering = 2 * n_;
    for (; pivots < max_pivots && !w_.deadline.passed(); ++pivots) {
      const int leaving = w_.basic[static_cast<std::size_t>(leaving_row)];
      pivot(leaving_row, entering);
      if (leaving == 2 * n_) return finish();
      entering = leaving < n_ ? leaving + n_ : leaving - n_;
      if (pivots % kRenewEvery == kRenewEvery - 1) renew();
      make_column(entering);
      leaving_row = ratio_test();
      if (leaving_row < 0) return false;
    }
    return false;
  }

 private:
  // All w basic; returns the row that the artificial variable enters.
  int begin() {
    w_.inverse.setIdentity(n_, n_);
    w_.value = w_.q;
    w_.basic.resize(static_cast<std::size_t>(n_));
    for (int i = 0; i < n_; ++i) w_.basic[static_cast<std::size_t>(i)] = i;
    int row = 0;
    for (int i = 1; i < n_; ++i) {
      if (w_.value[i] <= w_.value[row]) row = i;  // of equal ones the last is smallest lexicographically
    }
    make_column(2 * n_);
    return row;
  }

  // The column of a variable in the present basis.
  void make_column(int variable) {
    if (variable < n_) {
      w_.column = w_.inverse.col(variable);
    } else if (variable < 2 * n_) {
      const int k = variable - n_;
      w_.column.noalias() = w_.inverse * w_.form.M.col(k);
      w_.column = -w_.column - shift_ * w_.inverse.col(k);
    } else {
      w_.column = -w_.inverse.rowwise().sum();
    }
  }

  void pivot(int row, int entering) {
    const double pivot_value = w_.column[row];
    w_.row = w_.inverse.row(row).transpose() / pivot_value;
    const double value = w_.value[row] / pivot_value;
    w_.column[row] = 0.0;
    w_.inverse.noalias() -= w_.column * w_.row.transpose();
    w_.value -= value * w_.column;
    w_.inverse.row(row) = w_.row.transpose();
    w_.value[row] = value;
    w_.basic[static_cast<std::size_t>(row)] = entering;
  }

  // The lexicographically smallest of [value, inverse]_i / column_i over column_i > 0; -1 on a ray.
  int ratio_test() const {
    const double threshold = kZeroPivot * std::max(1.0, w_.column.cwiseAbs().maxCoeff());
    int best = -1;
    for (int i = 0; i < n_; ++i) {
      if (!(w_.column[i] > threshold)) continue;
      if (best < 0 || less(i, best)) best = i;
    }
    return best;
  }

  bool less(int a, int b) const {
    const double first = w_.value[a] / w_.column[a], second = w_.value[b] / w_.column[b];
    if (std::abs(first - second) > kTie * std::max({1.0, std::abs(first), std::abs(second)})) return first < second;
    // The artificial variable leaves as soon as it can.
    if (w_.basic[static_cast<std::size_t>(a)] == 2 * n_) return true;
    if (w_.basic[static_cast<std::size_t>(b)] == 2 * n_) return false;
    for (int k = 0; k < n_; ++k) {
      const double left = w_.inverse(a, k) / w_.column[a], right = w_.inverse(b, k) / w_.column[b];
      if (std::abs(left - right) > kTie * std::max({1.0, std::abs(left), std::abs(right)})) return left < right;
    }
    return false;
  }

  void fill_basis() {
    w_.basis.setZero(n_, n_);
    for (int i = 0; i < n_; ++i) {
      const int variable = w_.basic[static_cast<std::size_t>(i)];
      if (variable < n_) {
        w_.basis(variable, i) = 1.0;
      } else if (variable < 2 * n_) {
        w_.basis.col(i) = -w_.form.M.col(variable - n_);
        w_.basis(variable - n_, i) -= shift_;
      } else {
        w_.basis.col(i).setConstant(-1.0);
      }
    }
    w_.lu.compute(w_.basis);
  }

  void renew() {
    fill_basis();
    w_.basis.setIdentity();
    w_.inverse = w_.lu.solve(w_.basis);
    w_.value.noalias() = w_.inverse * w_.q;
  }

  // The answer from the basis itself, with one step of refinement.
  bool finish() {
    fill_basis();
    w_.value = w_.lu.solve(w_.q);
    w_.column = w_.q;
    w_.column.noalias() -= w_.basis * w_.value;
    w_.row = w_.lu.solve(w_.column);
    w_.value += w_.row;
    w_.z.setZero(n_);
    for (int i = 0; i < n_; ++i) {
      const int variable = w_.basic[static_cast<std::size_t>(i)];
      if (variable >= n_ && variable < 2 * n_) w_.z[variable - n_] = std::max(0.0, w_.value[i]);
    }
    return true;
  }

  LcpLemkeWorkspace& w_;
  int n_;
  double shift_;
};

}  // namespace

void LcpLemkeOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("facets", facets, 4, Pyramid::kMaxFacets, "facets of the friction pyramid, a multiple of 4");
}

SolveStatus LcpLemkeSolver::run(const ContactProblem& problem, const LcpLemkeOptions& options,
                                LcpLemkeWorkspace& workspace, Solution& solution) const {
  SolveStatus status{};
  if (!begin_pivoting(problem, options, options.facets, workspace, solution, status)) return status;
  const DualProblem& dual = workspace.dual;
  const Pyramid pyramid(options.facets);
  const double tolerance = velocity_tolerance(options, dual);
  VectorX& lambda = workspace.lambda;
  LcpForm& form = workspace.form;
  form.assemble(dual, true, lambda);
  bool finished = false;
  double reached = std::numeric_limits<double>::infinity();
  int shifts_left = static_cast<int>(std::size(kShifts));
  for (const double shift : kShifts) {
    workspace.z.setZero(form.size());
    Lemke lemke(workspace, shift);
    // With a small shift rounding can make it cycle: each has its share of the pivots.
    const int limit = solution.iterations + (options.max_iterations - solution.iterations) / shifts_left--;
    for (int round = 0; round < kMaxRounds && !(reached <= tolerance); ++round) {
      finished = lemke.solve(limit, solution.iterations);
      if (!finished) break;
      form.impulses(workspace.z, lambda);
      reached = workspace.residual(pyramid);
    }
    if (reached <= tolerance || workspace.deadline.passed()) break;
  }
  if (options.record_history) solution.history.push_back(reached / dual.velocity_scale);
  status = SolveStatus::kSolved;
  if (!finished) {
    const bool out_of_pivots = solution.iterations >= options.max_iterations, out_of_time = workspace.deadline.passed();
    status = out_of_pivots ? SolveStatus::kMaxIterations
             : out_of_time ? SolveStatus::kTimeLimit
                           : SolveStatus::kStalled;
    if (!out_of_pivots && !out_of_time)
      solution.message = "Lemke's method ended on a ray: the velocities are inconsistent";
  } else if (!(reached <= tolerance)) {
    status = workspace.deadline.passed() ? SolveStatus::kTimeLimit : SolveStatus::kStalled;
    solution.message = "the answer does not meet the tolerance; rounding in a badly scaled problem";
  }
  return end_dual_solve(problem, dual, lambda, status, solution);
}

}  // namespace touchstone
