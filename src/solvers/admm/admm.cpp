#include "touchstone/solvers/admm/admm.hpp"

#include <algorithm>
#include <limits>

namespace touchstone {
namespace {

constexpr int kPowerIterations = 20;
constexpr int kAdaptInterval = 10;             // iterations between looks at the penalty
constexpr double kRestart = 0.999;             // the combined residual must fall by this for the extrapolation to go on
constexpr double kSmallestRelativeRho = 1e-9;  // of L
constexpr double kLargestRelativeRho = 1e4;
constexpr double kTestBelow = 10.0;  // natv is computed when the residuals are below this times the tolerance

// Largest eigenvalue of a positive semidefinite matrix, from below; the penalty needs no more than its size.
double power_iteration(const BlockSparseMatrix& M, VectorX& vector, VectorX& product) {
  const int n = M.rows();
  vector.resize(n);
  product.resize(n);
  for (int i = 0; i < n; ++i) vector[i] = std::sin(1.0 + 2.399963 * i);  // any vector without symmetry
  double largest = 0.0;
  for (int k = 0; k < kPowerIterations; ++k) {
    const double norm = vector.norm();
    if (!(norm > 0.0)) break;
    vector /= norm;
    M.multiply(vector.data(), product.data());
    largest = std::max(largest, vector.dot(product));
    vector.swap(product);
  }
  return largest;
}

// The smallest compliance of the scaled problem, where it is known.
double smallest_compliance(const ContactProblem& problem, const DualProblem& dual) {
  const VectorX& R = problem.R;
  if (R.size() == 0) return 0.0;
  double smallest = std::numeric_limits<double>::infinity();
  for (int r = 0; r < dual.nrow(); ++r) smallest = std::min(smallest, R[r] * dual.lambda_scale[r] / dual.u_scale[r]);
  return smallest;
}

void symmetrize(const BlockSparseMatrix& G, BlockSparseMatrix& S) {
  S = G;
  for (int i = 0; i < G.block_rows(); ++i) {
    for (int k = G.start[i]; k < G.start[i + 1]; ++k) {
      const int j = G.col[k];
      S.block(i, k) = 0.5 * (G.block(i, k) + G.block(j, G.find(j, i)).transpose());
    }
  }
}

}  // namespace

void AdmmOptions::describe(OptionList& list) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  SolverOptions::describe(list);
  list.add("penalty", penalty, {"fixed", "linear", "spectral"}, "rule for the penalty rho");
  list.add("rho", rho, 1e-12, kLargest, "penalty of the fixed rule, and at first of the linear one; units of scaled G");
  list.add("eta", eta, 1e-15, 1.0, "proximal weight; units of scaled G");
  list.add("spectral_exponent", spectral_exponent, -1.0, 1.0, "p of the first rho = sqrt(L m) (L/m)^p");
  list.add("spectral_step", spectral_step, 0.0, 1.0, "rho changes by the factor (L/m)^this");
  list.add("linear_step", linear_step, 1.0, 100.0, "rho changes by this factor in the linear rule");
  list.add("balance", balance, 1.0, kLargest, "ratio of primal and dual residual beyond which rho changes");
  list.add("over_relaxation", over_relaxation, 0.1, 1.99, "omega; 1 is none");
  list.add("acceleration", acceleration, "extrapolate, with restart");
  list.add("preconditioning", preconditioning, "scale every block to mean diagonal 1");
  list.add("warm_start_scale", warm_start_scale, 0.0, 1.0, "factor on the guess; below 1 internal forces fade");
}

void ProximalAdmm::prepare(const ContactProblem& problem, const DualProblem& dual, const AdmmOptions& options,
                           const VectorX& guess) {
  is_symmetric_ = problem.dual.form == DualData::Form::kNone || relative_skew(dual.G) <= kSkewOfSymmetric;
  if (!is_symmetric_) symmetrize(dual.G, symmetric_);
  matrix_ = is_symmetric_ ? &dual.G : &symmetric_;
  eta_ = options.eta;
  const double L = std::max(power_iteration(*matrix_, rhs_, point_), eta_);
  const double m = eta_ + smallest_compliance(problem, dual), condition = std::max(L / m, 1.0);
  rho_ = options.penalty == PenaltyRule::kSpectral ? std::sqrt(L * m) * std::pow(condition, options.spectral_exponent)
                                                   : options.rho;
  step_factor_ =
      options.penalty == PenaltyRule::kSpectral ? std::pow(condition, options.spectral_step) : options.linear_step;
  lowest_rho_ = kSmallestRelativeRho * L;
  highest_rho_ = kLargestRelativeRho * L;
  factored_shift_ = -1.0;
  factorizations_ = 0;
  y = options.warm_start_scale * guess;
  project(dual.blocks, y.data(), y.data());
  x = y;
  compute_velocity(dual, y, z);
  skew_.setZero(dual.nrow());
  restart();
}

void ProximalAdmm::restart() {
  iteration_ = 0;
  interval_ = kAdaptInterval;
  next_check_ = kAdaptInterval;
  last_direction_ = 0;
  a_ = 1.0;
  combined_ = std::numeric_limits<double>::infinity();
  y_base_ = y;
  z_base_ = z;
  y_last_ = y;
  z_last_ = z;
}

bool ProximalAdmm::refactor() {
  if (factored_shift_ == rho_ + eta_) return true;
  factored_shift_ = rho_ + eta_;
  ++factorizations_;
  return factor_.factorize(*matrix_, factored_shift_);
}

void ProximalAdmm::begin_step(const DualProblem& dual, const AdmmOptions& options) {
  if (!options.acceleration) {
    y_base_ = y;
    z_base_ = z;
  }
  x_last_ = x;
  rhs_ = rho_ * y_base_ + eta_ * x + z_base_ - dual.g;
  if (!is_symmetric_) {  // the skew part, (G - S) x
    dual.G.multiply(x.data(), point_.data());
    skew_ = point_;
    matrix_->multiply(x.data(), point_.data());
    skew_ -= point_;
    rhs_ -= skew_;
  }
}

void ProximalAdmm::finish_step(const DualProblem& dual, const AdmmOptions& options) {
  measure(dual);
  if (options.acceleration) extrapolate();
  ++iteration_;
  if (options.penalty != PenaltyRule::kFixed && iteration_ >= next_check_) adapt_penalty(options);
}

void ProximalAdmm::measure(const DualProblem& dual) {
  primal_ = dual_ = primal_velocity_ = dual_velocity_ = 0.0;
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i], m = dual.blocks.size(i);
    double primal = 0.0, change = 0.0;
    for (int k = r; k < r + m; ++k) {
      primal = std::max(primal, std::abs(x[k] - y[k]));
      change = std::max(change, std::abs(rho_ * (y[k] - y_base_[k]) + eta_ * (x[k] - x_last_[k])));
    }
    primal_ = std::max(primal_, primal);
    dual_ = std::max(dual_, change);
    primal_velocity_ = std::max(primal_velocity_, dual.weight[i] * primal);
    dual_velocity_ = std::max(dual_velocity_, dual.weight[i] / dual.d[i] * change);
  }
}

void ProximalAdmm::extrapolate() {
  const double combined = rho_ * (y - y_base_).squaredNorm() + (z - z_base_).squaredNorm() / rho_;
  if (combined < kRestart * combined_) {
    const double a = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * a_ * a_));
    const double share = (a_ - 1.0) / a;
    y_base_ = y + share * (y - y_last_);
    z_base_ = z + share * (z - z_last_);
    a_ = a;
    combined_ = combined;
  } else {
    a_ = 1.0;
    y_base_ = y_last_;
    z_base_ = z_last_;
    combined_ /= kRestart;
  }
}

void ProximalAdmm::adapt_penalty(const AdmmOptions& options) {
  int direction = 0;
  if (primal_ > options.balance * dual_) direction = 1;
  if (dual_ > options.balance * primal_) direction = -1;
  if (direction != 0) {
    if (direction == -last_direction_) interval_ *= 2;
    last_direction_ = direction;
    const double changed = direction > 0 ? rho_ * step_factor_ : rho_ / step_factor_;
    rho_ = std::clamp(changed, lowest_rho_, highest_rho_);
    a_ = 1.0;
    combined_ = std::numeric_limits<double>::infinity();
  }
  next_check_ = iteration_ + interval_;
}

void subtract_de_saxce(const DualProblem& dual, ContactModel model, const VectorX& z, VectorX& rhs) {
  if (model != ContactModel::kNcp) return;
  for (int i = 0; i < dual.nblock(); ++i) {
    if (dual.blocks.type[i] != BlockType::kCoulomb) continue;
    rhs[dual.blocks.row[i + 1] - 1] -= de_saxce(dual.blocks, i, z.data() + dual.blocks.row[i]);
  }
}

// The multiplier of the NCP is u + Gamma(u).
static void add_de_saxce(const DualProblem& dual, ProximalAdmm& admm) {
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i];
    admm.z[dual.blocks.row[i + 1] - 1] += de_saxce(dual.blocks, i, admm.z.data() + r);
  }
  admm.restart();
}

SolveStatus solve_with_admm(const ContactProblem& problem, const AdmmOptions& options, ContactModel model,
                            AdmmWorkspace& workspace, Solution& solution) {
  SolveStatus status{};
  DualProblem& dual = workspace.dual;
  VectorX &lambda = workspace.lambda, &u = workspace.u;
  if (!begin_dual_solve(problem, options, options.scaling(), workspace, solution, lambda, status)) return status;
  const double tolerance = velocity_tolerance(options, dual);
  compute_velocity(dual, lambda, u);
  if (natv(dual, model, lambda, u) <= tolerance) {
    return end_dual_solve(problem, dual, lambda, SolveStatus::kSolved, solution);
  }
  ProximalAdmm& admm = workspace.admm;
  admm.prepare(problem, dual, options, lambda);
  if (model == ContactModel::kNcp) add_de_saxce(dual, admm);
  const auto project_all = [&](const double* point, double* y) { project(dual.blocks, point, y); };
  const auto shift = [&](const VectorX& z, VectorX& rhs) { subtract_de_saxce(dual, model, z, rhs); };
  const auto current_natv = [&] {
    compute_velocity(dual, admm.y, u);
    return natv(dual, model, admm.y, u);
  };
  StallDetector stall;
  status = SolveStatus::kMaxIterations;
  while (solution.iterations < options.max_iterations && status == SolveStatus::kMaxIterations) {
    if (!admm.step(dual, options, project_all, shift)) {
      solution.message = "G + (rho + eta) I is not positive definite; G is indefinite";
      status = SolveStatus::kStalled;
      break;
    }
    ++solution.iterations;
    if (options.record_history || admm.residual() <= kTestBelow * tolerance) {
      const double residual = current_natv();
      if (options.record_history) solution.history.push_back(residual / dual.velocity_scale);
      if (residual <= tolerance) status = SolveStatus::kSolved;
    }
    if (status != SolveStatus::kSolved && !stall.progresses(admm.residual())) status = SolveStatus::kStalled;
    if (status == SolveStatus::kMaxIterations && workspace.deadline.passed()) status = SolveStatus::kTimeLimit;
  }
  if ((status == SolveStatus::kMaxIterations || status == SolveStatus::kTimeLimit) && current_natv() <= tolerance)
    status = SolveStatus::kSolved;
  solution.factorizations = admm.factorizations();
  return end_dual_solve(problem, dual, admm.y, status, solution);
}

}  // namespace touchstone
