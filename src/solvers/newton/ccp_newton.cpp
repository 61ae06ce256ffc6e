#include "touchstone/solvers/newton/ccp_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace touchstone {
namespace {

constexpr int kBlockArea = kMaxBlockSize * kMaxBlockSize;
constexpr double kNoCurvature = 1e-14;  // of the largest diagonal of W
constexpr int kMaxLineSteps = 60;
constexpr double kLineAccuracy = 1e-12;  // of the slope at the start
constexpr double kLargestSkew = 0.1;     // of alpha: beyond it the iteration on the skew part does not contract
constexpr int kPatience = 30;            // iterations without a smaller residual before giving up

using Small = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMaxBlockSize, kMaxBlockSize>;

// V with W = V V', lower triangular; columns without pivot vanish. In place.
void factor_semidefinite(int m, double* W) {
  double largest = 0.0;
  for (int k = 0; k < m; ++k) largest = std::max(largest, W[k * m + k]);
  for (int k = 0; k < m; ++k) {
    for (int row = 0; row < k; ++row) W[k * m + row] = 0.0;
    const double pivot = W[k * m + k];
    const double root = pivot > kNoCurvature * largest ? std::sqrt(pivot) : 0.0;
    for (int row = k; row < m; ++row) W[k * m + row] = root > 0.0 ? W[k * m + row] / root : 0.0;
    for (int col = k + 1; col < m; ++col) {
      for (int row = col; row < m; ++row) W[col * m + row] -= W[k * m + row] * W[k * m + col];
    }
  }
}

class PrimalNewton {
 public:
  PrimalNewton(const ContactProblem& problem, const CcpNewtonOptions& options, CcpNewtonWorkspace& workspace)
      : w_(workspace), dual_(workspace.dual), law_(workspace.dual.blocks, options.cone) {
    if (!dual_.doubtful) space_ = {&problem, nullptr, workspace.primal_source};
  }

  // Splits the scaled G into G^ and R. Returns the largest R that was added, in the problem's units.
  double prepare(const ContactProblem& problem, double alpha) {
    is_symmetric_ = problem.dual.form == DualData::Form::kNone || relative_skew(dual_.G) <= kSkewOfSymmetric;
    w_.G_hat = dual_.G;
    for (int i = 0; i < dual_.nblock() && !is_symmetric_; ++i) {
      for (int k = dual_.G.start[i]; k < dual_.G.start[i + 1]; ++k) {
        const int j = dual_.G.col[k];
        w_.G_hat.block(i, k) = 0.5 * (dual_.G.block(i, k) + dual_.G.block(j, dual_.G.find(j, i)).transpose());
      }
    }
    const bool known = problem.R.size() == dual_.nrow();
    double shift = 0.0;
    w_.R.resize(dual_.nrow());
    for (int i = 0; i < dual_.nblock(); ++i) {
      const int r = dual_.blocks.row[i], m = dual_.blocks.size(i);
      for (int k = 0; k < m; ++k) {
        double& diagonal = w_.G_hat.data(dual_.diagonal[i])[k * m + k];
        const double unit = dual_.lambda_scale[r + k] / dual_.u_scale[r + k];
        if (known && problem.R[r + k] > 0.0) {
          w_.R[r + k] = problem.R[r + k] * unit;
          diagonal -= w_.R[r + k];
        } else {
          w_.R[r + k] = alpha * (diagonal > 0.0 ? diagonal : dual_.d[i]);
          shift = std::max(shift, w_.R[r + k] / unit);
        }
      }
    }
    w_.system = w_.G_hat;
    w_.V.resize(static_cast<std::size_t>(dual_.nblock()) * kBlockArea);
    w_.c.resize(dual_.nrow());
    w_.dc.resize(dual_.nrow());
    w_.product.resize(dual_.nrow());
    return shift;
  }

  void begin(const VectorX& start) {
    w_.x = start;
    w_.lambda = start;
    update_velocity();
    evaluate(w_.c, w_.lambda, nullptr);
  }

  // How far the law's velocity c is from that of its impulses, in m/s: an upper bound of natv of the model.
  double residual() {
    velocity_of(w_.lambda, w_.residual);
    double worst = 0.0;
    for (int i = 0; i < dual_.nblock(); ++i) {
      const int r = dual_.blocks.row[i], m = dual_.blocks.size(i);
      const double size = (w_.residual.segment(r, m) - w_.c.segment(r, m)).norm() * dual_.weight[i] / dual_.d[i];
      if (!(size <= worst)) worst = size;
    }
    return worst;
  }

  // One Newton step with exact line search; false if the matrix cannot be factored.
  bool step() {
    if (!is_chosen_) choose_space();
    if (!is_symmetric_) update_velocity();
    evaluate(w_.c, w_.lambda, w_.V.data());
    w_.residual = w_.lambda - w_.x;
    if (!(in_joint_space() ? joint_direction() : newton_direction())) return false;
    const double length = line_search();
    w_.x += length * w_.dx;
    w_.c += length * w_.dc;
    evaluate(w_.c, w_.lambda, nullptr);
    return true;
  }

  bool in_joint_space() const { return is_chosen_ && space_.problem != nullptr; }

 private:
  // Leaves space_ empty where contact space is the cheaper one.
  void choose_space() {
    is_chosen_ = true;
    const JointSpace space = is_symmetric_ ? space_ : JointSpace{};
    space_ = {};
    if (!space.may_help(dual_.nrow())) return;
    w_.hessian.set_pattern(space);
    w_.factor.analyze(w_.system);
    const double cost = w_.factor.symbolic().multiplications();
    w_.joint_factor.analyze(w_.hessian.H);
    if (!(w_.joint_factor.symbolic().multiplications() < kWorthJointSpace * cost)) return;
    space_ = space;
    w_.weight.set_partition(dual_.blocks.row);
    w_.scale = (dual_.lambda_scale.array() / dual_.u_scale.array()).sqrt();
  }
  void evaluate(const VectorX& c, VectorX& lambda, double* V) const {
    for (int i = 0; i < dual_.nblock(); ++i) {
      const int r = dual_.blocks.row[i];
      double* own = V != nullptr ? V + static_cast<std::size_t>(i) * kBlockArea : nullptr;
      law_(i, w_.R.data() + r, c.data() + r, lambda.data() + r, own);
      if (own != nullptr && !in_joint_space()) factor_semidefinite(dual_.blocks.size(i), own);
    }
  }

  // (G - R) lambda + g, with the skew part; R of hard rows was never in G.
  void velocity_of(const VectorX& lambda, VectorX& c) {
    c = dual_.g;
    w_.G_hat.multiply_add(lambda.data(), c.data());
    if (!is_symmetric_) c += skew_part(lambda);
  }

  const VectorX& skew_part(const VectorX& lambda) {
    // 1/2 (G - G') lambda.
    w_.product.setZero();
    dual_.G.multiply_transpose_add(lambda.data(), w_.product.data());
    w_.product *= -1.0;
    dual_.G.multiply_add(lambda.data(), w_.product.data());
    w_.product *= 0.5;
    return w_.product;
  }

  // c = G^ x + g + (skew part) lambda.
  void update_velocity() {
    w_.c = dual_.g;
    w_.G_hat.multiply_add(w_.x.data(), w_.c.data());
    if (!is_symmetric_) w_.c += skew_part(w_.lambda);
  }

  Eigen::Map<const MatrixX> V(int i) const {
    const int m = dual_.blocks.size(i);
    return {w_.V.data() + static_cast<std::size_t>(i) * kBlockArea, m, m};
  }

  // dx = r - V (I + V' G^ V)^-1 V' G^ r with r in `residual`; dc = G^ dx.
  bool newton_direction() {
    for (int i = 0; i < dual_.nblock(); ++i) {
      for (int k = w_.G_hat.start[i]; k < w_.G_hat.start[i + 1]; ++k) {
        const int j = w_.G_hat.col[k];
        const Small right = w_.G_hat.block(i, k) * V(j);
        w_.system.block(i, k).noalias() = V(i).transpose() * right;
      }
    }
    if (!w_.factor.factorize(w_.system, 1.0)) return false;
    w_.G_hat.multiply(w_.residual.data(), w_.product.data());
    w_.dx.resize(dual_.nrow());
    for (int i = 0; i < dual_.nblock(); ++i) {
      const int r = dual_.blocks.row[i], m = dual_.blocks.size(i);
      w_.dx.segment(r, m).noalias() = V(i).transpose() * w_.product.segment(r, m);
    }
    w_.factor.solve(w_.dx);
    for (int i = 0; i < dual_.nblock(); ++i) {
      const int r = dual_.blocks.row[i], m = dual_.blocks.size(i);
      w_.residual.segment(r, m).noalias() -= V(i) * w_.dx.segment(r, m);
    }
    w_.dx = w_.residual;
    w_.G_hat.multiply(w_.dx.data(), w_.dc.data());
    return true;
  }

  // dx and dc from r in `residual` by way of velocities; V holds W.
  bool joint_direction() {
    const PrimalData& primal = space_.primal();
    for (int i = 0; i < dual_.nblock(); ++i) {
      const int r = dual_.blocks.row[i], m = dual_.blocks.size(i);
      const auto scale = w_.scale.segment(r, m).asDiagonal();
      Eigen::Map<MatrixX>(w_.weight.data(i), m, m) = scale * V(i) * scale;
    }
    w_.hessian.compute(space_, w_.weight);
    if (!w_.joint_factor.factorize(w_.hessian.H)) return false;
    w_.product = w_.scale.cwiseProduct(w_.residual);
    w_.velocity.setZero(primal.nv());
    primal.J.multiply_transpose_add(w_.product.data(), w_.velocity.data());
    w_.joint_factor.solve(w_.velocity);
    primal.J.multiply(w_.velocity.data(), w_.product.data());
    w_.product.array() *= w_.scale.array();
    w_.dx = w_.residual;
    for (int i = 0; i < dual_.nblock(); ++i) {
      const int r = dual_.blocks.row[i], m = dual_.blocks.size(i);
      w_.dx.segment(r, m).noalias() -= V(i) * w_.product.segment(r, m);
    }
    w_.G_hat.multiply(w_.dx.data(), w_.dc.data());  // not J dv: c must stay that of x
    return true;
  }

  // The zero of phi'(t) = dx' G^ (x + t dx) - lambda(c + t dc)' dc, which rises with t.
  double line_search() {
    const double constant = w_.x.dot(w_.dc), curvature = w_.dx.dot(w_.dc);
    const auto slope = [&](double t, double& second) {
      double first = constant + t * curvature;
      second = curvature;
      double c[kMaxBlockSize], lambda[kMaxBlockSize], W[kBlockArea];
      for (int i = 0; i < dual_.nblock(); ++i) {
        const int r = dual_.blocks.row[i], m = dual_.blocks.size(i);
        for (int k = 0; k < m; ++k) c[k] = w_.c[r + k] + t * w_.dc[r + k];
        law_(i, w_.R.data() + r, c, lambda, W);
        for (int k = 0; k < m; ++k) {
          first -= lambda[k] * w_.dc[r + k];
          for (int j = 0; j < m; ++j) second += w_.dc[r + k] * W[j * m + k] * w_.dc[r + j];
        }
      }
      return first;
    };
    double second = 0.0, low = 0.0, high = kInfinity, t = 1.0;
    const double start = std::abs(slope(0.0, second));
    for (int step = 0; step < kMaxLineSteps; ++step) {
      const double first = slope(t, second);
      if (!(std::abs(first) > kLineAccuracy * start)) break;
      (first < 0.0 ? low : high) = t;
      double next = second > 0.0 ? t - first / second : kInfinity;
      if (!(next > low && next < high)) next = high < kInfinity ? 0.5 * (low + high) : 2.0 * t;
      t = next;
    }
    return t;
  }

  CcpNewtonWorkspace& w_;
  const DualProblem& dual_;
  RegularisedLaw law_;
  bool is_symmetric_ = true;
  bool is_chosen_ = false;  // whether the first step has looked at both spaces
  JointSpace space_;        // with a problem: joint space, once chosen
};

}  // namespace

void CcpNewtonOptions::describe(OptionList& list) {
  SolverOptions::describe(list);
  list.add("alpha", alpha, 1e-12, 1.0, "compliance of hard rows, relative to the diagonal of G");
  list.add("cone", cone, {"elliptic", "pyramidal"}, "friction cone, or MuJoCo's pyramid");
}

SolveStatus CcpNewtonSolver::run(const ContactProblem& problem, const CcpNewtonOptions& options,
                                 CcpNewtonWorkspace& workspace, Solution& solution) const {
  SolveStatus status{};
  const DualProblem& dual = workspace.dual;
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace, solution, workspace.lambda, status)) {
    return status;
  }
  const double skew = problem.dual.form == DualData::Form::kNone ? 0.0 : relative_skew(dual.G);
  if (skew > kLargestSkew * options.alpha) {
    solution.message = fmt::format(
        "the skew part of G, {:.2g} of its largest entry, exceeds a tenth of the compliance alpha = {:g}; raise alpha "
        "or use ccp-admm",
        skew, options.alpha);
    return end_dual_solve(problem, dual, workspace.lambda, SolveStatus::kUnsupported, solution);
  }
  const double tolerance = velocity_tolerance(options, dual);
  PrimalNewton newton(problem, options, workspace);
  solution.shift = newton.prepare(problem, options.alpha);
  workspace.u = workspace.lambda;
  newton.begin(workspace.u);
  double residual = newton.residual(), best = residual;
  int since = 0;
  status = best <= tolerance ? SolveStatus::kSolved : SolveStatus::kMaxIterations;
  while (solution.iterations < options.max_iterations && status == SolveStatus::kMaxIterations) {
    if (!newton.step()) {
      solution.message = newton.in_joint_space()
                             ? "A + J' W J is not positive definite: masses and compliances span too many orders"
                             : "I + V' G V is not positive definite; G is indefinite";
      status = SolveStatus::kStalled;
      break;
    }
    ++solution.iterations;
    residual = newton.residual();
    if (options.record_history) solution.history.push_back(residual / dual.velocity_scale);
    since = residual < 0.99 * best ? 0 : since + 1;
    best = std::min(best, residual);
    if (residual <= tolerance) {
      status = SolveStatus::kSolved;
    } else if (since > kPatience || !std::isfinite(residual)) {
      status = SolveStatus::kStalled;
    } else if (workspace.deadline.passed()) {
      status = SolveStatus::kTimeLimit;
    }
  }
  solution.factorizations = solution.iterations;
  if (!(residual <= dual.velocity_scale)) workspace.lambda = workspace.u;  // worse than no impulses
  return end_dual_solve(problem, dual, workspace.lambda, status, solution);
}

}  // namespace touchstone
