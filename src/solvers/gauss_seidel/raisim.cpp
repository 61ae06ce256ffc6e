#include "touchstone/solvers/gauss_seidel/raisim.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>

#include "touchstone/math/cones.hpp"
#include "touchstone/solvers/gauss_seidel/local_contact.hpp"

namespace touchstone {
namespace {

constexpr int kMaxRootSteps = 200;
constexpr double kRootWidth = 1e-14;  // relative

using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kMaxBlockSize, 1>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMaxBlockSize, kMaxBlockSize>;

// The root of a function that falls from f(low) > 0 to f(high) < 0: false position, safeguarded by bisection.
template <typename Function>
double falling_root(double low, double f_low, double high, double f_high, double accuracy, Function&& f) {
  for (int step = 0; step < kMaxRootSteps && high - low > kRootWidth * high; ++step) {
    double x = (low * f_high - high * f_low) / (f_high - f_low);
    if (step % 3 == 2 || !(x > low && x < high)) x = 0.5 * (low + high);
    const double value = f(x);
    if (std::abs(value) <= accuracy) return x;
    if (value > 0.0) {
      low = x;
      f_low = value;
      f_high *= 0.5;  // Illinois: the end that stays counts for less
    } else {
      high = x;
      f_high = value;
      f_low *= 0.5;
    }
  }
  return 0.5 * (low + high);
}

// The tangential problem of a sliding contact; see the header.
struct SlidingContact {
  Matrix S;
  Vector c, w;
  double b_n = 0.0, a = 1.0;

  double normal(const Vector& y) const { return -(b_n + w.dot(y)) / a; }

  // y for a multiplier alpha: the minimiser of 1/2 y'Sy + r'y + alpha |y| with r = c + alpha w/a.
  Vector minimiser(double alpha) const {
    const Vector r = c + alpha / a * w;
    const double length = r.norm();
    if (!(length > alpha)) return Vector::Zero(r.size());
    // Newton on alpha / |y| - tau, nearly linear in tau = alpha / |y|, within a bracket.
    double low = 0.0, high = kInfinity, tau = std::max(S.trace(), 1e-300) * alpha / (length - alpha);
    Vector y(r.size());
    for (int step = 0; step < kMaxRootSteps; ++step) {
      Matrix shifted = S;
      shifted.diagonal().array() += tau;
      const Eigen::PartialPivLU<Matrix> lu(shifted);
      y = -lu.solve(r);
      const double size = y.norm(), f = alpha / size - tau;
      if (f == 0.0) break;
      (f > 0.0 ? low : high) = tau;
      const double slope = alpha * y.dot(lu.solve(y)) / (size * size * size) - 1.0;
      double next = tau - f / slope;
      if (!(next > low && next < high)) next = high < kInfinity ? 0.5 * (low + high) : 4.0 * tau;
      const double change = std::abs(next - tau);
      tau = next;
      if (change <= kRootWidth * tau) break;
    }
    return y;
  }

  // False if there is no sliding solution (the block is degenerate).
  bool solve(Vector& y, double& normal_impulse) const {
    const auto excess = [&](double alpha) {
      y = minimiser(alpha);
      return y.norm() - normal(y);
    };
    double low = 0.0, high = c.norm();
    y = -Eigen::PartialPivLU<Matrix>(S).solve(c);
    double f_low = y.norm() - normal(y), f_high = excess(high);
    for (int k = 0; f_high > 0.0 && k < kMaxRootSteps; ++k) {
      low = high;
      f_low = f_high;
      high *= 4.0;
      f_high = excess(high);
    }
    excess(falling_root(low, f_low, high, f_high, -kRootWidth * b_n / a, excess));
    normal_impulse = normal(y);
    return std::isfinite(normal_impulse) && normal_impulse > 0.0 && y.allFinite() && y.norm() > 0.0;
  }
};

// --- the usual contact: two directions of sliding ---

constexpr int kMaxTurns = 30;
constexpr double kLongestTurn = 0.5;     // rad
constexpr double kTurnAccuracy = 1e-14;  // rad; of the gradient, relative to the vectors it is a product of

// The same problem in a plane. The impulse is on the rim |y| = n(y), which e = y / |y| runs through with
// |y| = -b_n / (a + w'e); there the problem has one stationary point with a multiplier that is not negative. Newton's
// method turns e to the zero of dy . (S y + c), dy the tangent of the rim.
struct PlanarContact {
  Eigen::Matrix2d S;
  Vector2 c, w;
  double b_n = 0.0, a = 1.0;

  // False where it ends at another stationary point or at none: then the multiplier has to be looked for.
  bool slide(Vector2& e, double& length) const {
    for (int turn = 0; turn < kMaxTurns; ++turn) {
      const Vector2 p(-e.y(), e.x());
      const double reach = a + w.dot(e), along = w.dot(e) / reach, across = w.dot(p) / reach;
      length = -b_n / reach;
      if (!(reach > 0.0)) return false;
      const Vector2 F = length * (S * e) + c, tangent = length * (p - across * e);
      const Vector2 bend = length * ((2.0 * across * across + along - 1.0) * e - 2.0 * across * p);
      const double slope = tangent.dot(F), curvature = bend.dot(F) + tangent.dot(S * tangent);
      const double full = slope > 0.0 ? -kLongestTurn : kLongestTurn;
      const double angle = curvature > 0.0 ? std::clamp(-slope / curvature, -kLongestTurn, kLongestTurn) : full;
      const bool is_zero = std::abs(slope) <= kTurnAccuracy * tangent.norm() * (F.norm() + c.norm());
      if (is_zero || std::abs(angle) <= kTurnAccuracy) return curvature > 0.0 && e.dot(F) <= 0.0;
      // tan(angle / 2) = angle / 2 to second order, as the step itself is.
      const double t = 0.5 * angle, scale = 1.0 / (1.0 + t * t);
      e = scale * ((1.0 - t * t) * e + 2.0 * t * p);
    }
    return false;
  }
};

// A contact of three rows with friction in both directions; false where the general method has to solve it. lambda
// is changed only then.
bool solve_point_contact(const Matrix& A, const double* mu, const Vector& b, double correction, double* lambda) {
  const double a = A(2, 2);
  PlanarContact contact{Eigen::Matrix2d(), Vector2(), Vector2(mu[0] * A(2, 0), mu[1] * A(2, 1)), b[2], a};
  for (int r = 0; r < 2; ++r) {
    const double share = A(r, 2) / a;
    contact.c[r] = mu[r] * (b[r] - share * b[2]) - correction / a * contact.w[r];
    for (int s = 0; s < 2; ++s) contact.S(r, s) = mu[r] * (A(r, s) - share * A(2, s)) * mu[s];
  }
  const Eigen::Matrix2d& S = contact.S;
  const double determinant = S(0, 0) * S(1, 1) - S(0, 1) * S(1, 0);
  if (!(determinant > kRootWidth * S(0, 0) * S(1, 1))) return false;
  const Vector2 y =
      Vector2(S(0, 1) * contact.c[1] - S(1, 1) * contact.c[0], S(1, 0) * contact.c[0] - S(0, 0) * contact.c[1]) /
      determinant;
  const double size = y.norm(), normal = -(b[2] + correction + contact.w.dot(y)) / a;
  if (size <= normal) {
    for (int r = 0; r < 2; ++r) lambda[r] = mu[r] * y[r];
    lambda[2] = normal;
    return true;
  }
  if (!(size > 0.0) || !std::isfinite(size)) return false;
  Vector2 e = y / size;
  double length = 0.0;
  if (!contact.slide(e, length)) return false;
  for (int r = 0; r < 2; ++r) lambda[r] = mu[r] * length * e[r];
  lambda[2] = length;
  return true;
}

// Sweeps until `done(change)` says so; returns kSolved then.
template <typename Done>
SolveStatus sweep_until(const RaisimOptions& options, bool with_de_saxce, RaisimWorkspace& workspace,
                        Solution& solution, Done&& done) {
  const DualProblem& dual = workspace.dual;
  const auto contact = [&](int block, const double* u, double* lambda) {
    solve_raisim_contact(dual, with_de_saxce, block, u, lambda);
  };
  StallDetector stall;
  double relaxation = options.relaxation;
  for (int sweep = 1; sweep <= options.max_iterations; ++sweep) {
    const double change = gauss_seidel_sweep(workspace, relaxation, contact) / relaxation;
    relaxation = std::max(options.relaxation_min, options.relaxation_decay * relaxation);
    solution.iterations = sweep;
    if (options.record_history) {
      compute_velocity(dual, workspace.lambda, workspace.u);
      solution.history.push_back(natv(dual, ContactModel::kNcp, workspace.lambda, workspace.u) / dual.velocity_scale);
    }
    if (done(change)) return SolveStatus::kSolved;
    if (!stall.progresses(change)) return SolveStatus::kStalled;
    if (workspace.deadline.passed()) return SolveStatus::kTimeLimit;
  }
  return SolveStatus::kMaxIterations;
}

bool begin(const ContactProblem& problem, const RaisimOptions& options, RaisimWorkspace& workspace, Solution& solution,
           SolveStatus& status) {
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace, solution, workspace.lambda, status)) {
    return false;
  }
  workspace.prepare_equalities();
  return true;
}

}  // namespace

void RaisimEsOptions::describe(OptionList& list) {
  RaisimOptions::describe(list);
  list.add("objective_tolerance", objective_tolerance, 0.0, 1.0,
           "relative change of the objective that ends the solve");
}

void solve_raisim_contact(const DualProblem& dual, bool with_de_saxce, int block, const double* u, double* lambda) {
  const int m = dual.blocks.size(block), n = m - 1;
  const double* mu = dual.blocks.mu.data() + dual.blocks.row[block];
  Matrix A = Eigen::Map<const MatrixX>(dual.diagonal_block(block), m, m);
  A.diagonal().array() += kProximalShift * dual.d[block];
  const Vector b = Eigen::Map<const VectorX>(u, m) - A * Eigen::Map<const VectorX>(lambda, m);
  const double correction = with_de_saxce ? de_saxce(dual.blocks, block, u) : 0.0;
  std::fill(lambda, lambda + m, 0.0);
  if (b[n] >= 0.0) return;

  if (m == 3 && mu[0] > 0.0 && mu[1] > 0.0 && solve_point_contact(A, mu, b, correction, lambda)) return;
  int index[kMaxBlockSize];  // rows with friction; the others stay zero
  int k = 0;
  for (int j = 0; j < n; ++j) {
    if (mu[j] > 0.0) index[k++] = j;
  }
  if (k == 0) {
    lambda[n] = -b[n] / A(n, n);
    return;
  }
  SlidingContact contact{Matrix(k, k), Vector(k), Vector(k), b[n], A(n, n)};
  for (int r = 0; r < k; ++r) {
    const double left = mu[index[r]], share = A(index[r], n) / A(n, n);
    contact.c[r] = left * (b[index[r]] - share * b[n]);
    contact.w[r] = left * A(n, index[r]);
    for (int s = 0; s < k; ++s) {
      contact.S(r, s) = left * (A(index[r], index[s]) - share * A(n, index[s])) * mu[index[s]];
    }
  }
  const auto store = [&](const Vector& y, double normal, double scale) {
    for (int r = 0; r < k; ++r) lambda[index[r]] = mu[index[r]] * scale * y[r];
    lambda[n] = normal;
  };
  // Sticking: A lambda = -(b + correction e_n).
  Vector y = -Eigen::PartialPivLU<Matrix>(contact.S).solve(contact.c - correction / A(n, n) * contact.w);
  double normal = -(b[n] + correction + contact.w.dot(y)) / A(n, n);
  if (y.allFinite() && y.norm() <= normal) {
    store(y, normal, 1.0);
    return;
  }
  contact.c -= correction / A(n, n) * contact.w;
  if (contact.solve(y, normal)) {
    store(y, normal, normal / y.norm());
  } else {
    lambda[n] = -b[n] / A(n, n);
  }
}

SolveStatus RaisimSolver::run(const ContactProblem& problem, const RaisimOptions& options, RaisimWorkspace& workspace,
                              Solution& solution) const {
  SolveStatus status{};
  if (!begin(problem, options, workspace, solution, status)) return status;
  const double tolerance = velocity_tolerance(options, workspace.dual);
  status = sweep_until(options, false, workspace, solution, [&](double change) { return change <= tolerance; });
  return end_dual_solve(problem, workspace.dual, workspace.lambda, status, solution);
}

SolveStatus RaisimDsSolver::run(const ContactProblem& problem, const RaisimOptions& options, RaisimWorkspace& workspace,
                                Solution& solution) const {
  SolveStatus status{};
  if (!begin(problem, options, workspace, solution, status)) return status;
  const DualProblem& dual = workspace.dual;
  const auto contact = [&](int block, const double* u, double* lambda) {
    solve_raisim_contact(dual, true, block, u, lambda);
  };
  status = iterate_gauss_seidel(options, ContactModel::kNcp, workspace, solution, contact);
  return end_dual_solve(problem, dual, workspace.lambda, status, solution);
}

SolveStatus RaisimDsEsSolver::run(const ContactProblem& problem, const RaisimEsOptions& options,
                                  RaisimWorkspace& workspace, Solution& solution) const {
  SolveStatus status{};
  if (!begin(problem, options, workspace, solution, status)) return status;
  const DualProblem& dual = workspace.dual;
  const VectorX& lambda = workspace.lambda;
  const auto objective = [&] {
    compute_velocity(dual, lambda, workspace.u);
    return 0.5 * lambda.dot(workspace.u + dual.g);
  };
  double last = objective();
  status = sweep_until(options, true, workspace, solution, [&](double change) {
    const double now = objective(), difference = std::abs(now - last);
    last = now;
    return difference <= options.objective_tolerance * std::abs(now) || change == 0.0;
  });
  return end_dual_solve(problem, dual, lambda, status, solution);
}

}  // namespace touchstone
