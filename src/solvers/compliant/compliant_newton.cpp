#include "touchstone/solvers/compliant/compliant_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "touchstone/base/check.hpp"
#include "touchstone/contact/laws/line_minimum.hpp"
#include "touchstone/contact/units.hpp"
#include "touchstone/contact/validate.hpp"

namespace touchstone {
namespace {

constexpr int kPatience = 60;  // iterations without a smaller residual before giving up
constexpr int kPolish = 5;     // more for the velocities of contacts, once momentum is balanced
// Of the tolerance: what a start must reach to be the answer. A Newton step leaves much less than the tolerance; a
// start that is taken as it is leaves all of it, in every step of what rests, which stiff contacts answer with chatter.
constexpr double kStartShare = 1e-2;
// kg^1/2 m/s: momentum that squares to nothing, as of a wheel that friction has braked for a while.
constexpr double kVanishing = 1e-100;
constexpr double kProgress = 0.99;  // of the residual: what counts as smaller
// Of the slope along a step: what counts as its minimum. A hundred times less saves no step.
constexpr double kLineAccuracy = 1e-3;
// Lagged and Similar: a law of stiffness h^2 k w that bends (from slip to stick, a contact that opens) lets Newton's
// method take short steps only. After so many it begins again with a soft law, and stiffens it.
constexpr int kDirectIterations = 30;
// Where that ends nowhere either, it stiffens more slowly.
constexpr double kSoftest = 10.0;
constexpr double kStiffening[] = {100.0, 10.0, 3.0};
constexpr double kStageTolerance = 1e-4;
constexpr int kStageIterations = 40;
// A law multiplies the rounding of a velocity by its stiffness. Below this share of the tolerance that does not matter,
// and what the line search has found where it ended is taken for the values there.
constexpr double kHarmlessRounding = 1e-3;

SolveStatus refuse(SolveStatus status, std::string message, int nrow, Solution& solution) {
  solution.message = std::move(message);
  solution.lambda.setZero(nrow);
  solution.v.resize(0);
  return status;
}

// What a block adds to the derivatives along the line. Inlined, so that the compiler knows m where the caller does.
[[gnu::always_inline]] inline void add_along(int m, const double* along, const double* gamma, const double* next,
                                             const double* W, double& first, double& second) {
  for (int k = 0; k < m; ++k) {
    double bent = 0.0;
    for (int j = 0; j < m; ++j) bent += W[k * m + j] * along[j];
    first -= (next[k] - gamma[k]) * along[k];
    second += along[k] * bent;
  }
}

class VelocityNewton {
 public:
  VelocityNewton(const JointSpace& space, double tolerance, CompliantWorkspace& workspace)
      : w_(workspace), space_(space), primal_(space.primal()), blocks_(space.problem->blocks) {
    constexpr double kRounding = std::numeric_limits<double>::epsilon();
    is_harmless_ = kRounding * w_.laws.amplification() <= kHarmlessRounding * tolerance;
    set_inertia();
    w_.hessian.set_pattern(space_, w_.A);
    w_.W.set_partition(blocks_.row);
    w_.next_W.set_partition(blocks_.row);
    const int nv = primal_.nv(), nrow = blocks_.rows();
    for (VectorX* x : {&w_.v, &w_.momentum, &w_.impulse, &w_.along, &w_.free_momentum, &w_.scale}) x->resize(nv);
    for (VectorX* x : {&w_.c, &w_.dc, &w_.gamma, &w_.next_gamma, &w_.free}) x->resize(nrow);
    primal_.J.multiply(primal_.v_free.data(), w_.free.data());
    for (int i = 0; i < w_.A.block_rows(); ++i) {
      const auto diagonal = w_.A.block(i, w_.A.find(i, i)).diagonal();
      w_.scale.segment(w_.A.row_begin[i], w_.A.row_size(i)) = diagonal.cwiseSqrt().cwiseInverse();
    }
    w_.A.multiply(primal_.v_free.data(), w_.free_momentum.data());
  }

  void begin(const VectorX& velocity) {
    w_.v = velocity;
    linearise();
  }

  void begin_from_impulses(const VectorX& lambda) {
    w_.step.setZero(primal_.nv());
    primal_.J.multiply_transpose_add(lambda.data(), w_.step.data());
    primal_.A->solve(w_.step);
    w_.v = primal_.v_free + w_.step;
    linearise();
  }

  // Gradient and Hessians of the laws at v; again when the laws have changed.
  void linearise() {
    w_.change = w_.v - primal_.v_free;
    w_.A.multiply(w_.change.data(), w_.momentum.data());
    primal_.J.multiply(w_.v.data(), w_.c.data());
    for (int i = 0; i < blocks_.count(); ++i)
      w_.laws.evaluate(i, w_.c.data() + blocks_.row[i], w_.gamma.data() + blocks_.row[i], w_.W.data(i));
    balance();
    is_linear_ = true;
  }

  double residual() const { return w_.scale.cwiseProduct(w_.gradient).norm(); }
  // What the residual is compared with.
  double momentum() const {
    const double own = w_.scale.cwiseProduct(w_.momentum + w_.free_momentum).norm();
    return std::max(own, w_.scale.cwiseProduct(w_.impulse).norm());
  }
  // Whether what the residual would do to contacts, J A^-1 gradient, is small in m/s: below a share of the velocities
  // that take part, J v_free, J (v - v_free) and a step of free fall, or an absolute figure. The certificate of the law
  // is at most twice that, since the law holds at v exactly, and what a block settles at does not move farther than it
  // is moved.
  bool is_accurate(double relative, double absolute) {
    w_.step = w_.gradient;
    primal_.A->solve(w_.step);
    primal_.J.multiply(w_.step.data(), w_.dc.data());
    double scale = kGravity * space_.problem->time_step, error = 0.0;
    for (int i = 0; i < blocks_.count(); ++i) {
      double square = 0.0;
      for (int r = blocks_.row[i]; r < blocks_.row[i + 1]; ++r) {
        const double length = space_.problem->length(r);
        square += length * length * w_.dc[r] * w_.dc[r];
        scale = std::max({scale, length * std::abs(w_.free[r]), length * std::abs(w_.c[r] - w_.free[r])});
      }
      error = std::max(error, std::sqrt(square));
    }
    return error <= std::max(relative * scale, absolute);
  }
  // The root of the largest entry of diag A.
  double heaviest() const { return 1.0 / w_.scale.minCoeff(); }

  // False if the matrix cannot be factored. The gradient is then that of the law at v in two parts, as it was and the
  // step: rounding v would move a stiff law's impulse by more than is left to be found.
  bool step() {
    if (!is_linear_) linearise();
    w_.step = -w_.gradient;
    if (!w_.hessian.factor(w_.W)) return false;
    w_.hessian.solve(w_.step);
    if (!w_.step.allFinite()) return false;
    primal_.J.multiply(w_.step.data(), w_.dc.data());
    w_.A.multiply(w_.step.data(), w_.along.data());
    const double length = line_search();
    w_.v += length * w_.step;
    w_.momentum += length * w_.along;
    w_.gamma.swap(w_.next_gamma);
    std::swap(w_.W, w_.next_W);
    if (is_harmless_) w_.c += length * w_.dc;
    is_linear_ = is_harmless_;
    balance();
    return true;
  }

  // The factor of the Hessian at v.
  bool factor() {
    linearise();
    return w_.hessian.factor(w_.W);
  }

  const char* line_message() const { return line_failed_ ? "; a line search ended at its bound" : ""; }

 private:
  void set_inertia() {
    w_.pattern.clear();
    primal_.A->append_pattern(w_.pattern);
    if (w_.pattern == w_.last_pattern && primal_.A->group() == w_.A.row_begin) {
      w_.A.set_zero();
    } else {
      w_.last_pattern = w_.pattern;
      w_.A.set_pattern(primal_.A->group(), primal_.A->group(), w_.pattern);
    }
    primal_.A->add_to(w_.A);
  }

  void balance() {
    w_.impulse.setZero();
    primal_.J.multiply_transpose_add(w_.gamma.data(), w_.impulse.data());
    w_.gradient = w_.momentum - w_.impulse;
  }

  // The derivatives of the cost along the step, the second into `second`; next_gamma and next_W are then those of the
  // laws there. As a change of the derivative at 0, so that little is lost where that is small beside its terms.
  double slope(double t, double& second) {
    double first = descent_ + t * curvature_, dc[kMaxBlockSize];
    second = curvature_;
    for (int i = 0; i < blocks_.count(); ++i) {
      const int r = blocks_.row[i], m = blocks_.size(i);
      const double* along = w_.dc.data() + r;
      double *next = w_.next_gamma.data() + r, *W = w_.next_W.data(i);
      for (int k = 0; k < m; ++k) dc[k] = t * along[k];
      w_.laws.evaluate(i, w_.c.data() + r, dc, next, W);
      if (m == 3) {
        add_along(3, along, w_.gamma.data() + r, next, W, first, second);
      } else {
        add_along(m, along, w_.gamma.data() + r, next, W, first, second);
      }
    }
    return first;
  }

  // The whole step if that is nearly the minimum.
  double line_search() {
    descent_ = w_.step.dot(w_.gradient);
    curvature_ = w_.step.dot(w_.along);
    double last = -1.0;
    const LineMinimum found = minimise_on_line(
        std::abs(descent_),
        [&](double t, double& second) {
          last = t;
          return slope(t, second);
        },
        kLineAccuracy);
    line_failed_ = line_failed_ || !found.converged;
    double second = 0.0;
    if (last != found.length) slope(found.length, second);
    return found.length;
  }

  CompliantWorkspace& w_;
  JointSpace space_;
  const PrimalData& primal_;
  const Blocks& blocks_;
  double descent_ = 0.0, curvature_ = 0.0;  // step' gradient, step' A step
  bool is_linear_ = false;                  // gradient and W are those of v
  bool is_harmless_ = false;                // what the laws make of rounding
  bool line_failed_ = false;
};

// When Newton's method ends.
struct Limits {
  double relative = 0.0, absolute = 0.0;
  int iterations = 0;  // of the whole solve
};

struct Ending {
  SolveStatus status = SolveStatus::kSolved;
  const char* why = "";  // not solved
  double share = 0.0;    // of the residual in the momentum
};

Ending iterate(const Limits& limits, bool record, const Deadline& deadline, VelocityNewton& newton,
               Solution& solution) {
  double best = kInfinity;
  int since = 0, polished = 0;
  while (true) {
    const double residual = newton.residual(), momentum = newton.momentum();
    const double share = momentum > 0.0 ? residual / momentum : kInfinity;
    if (record) solution.history.push_back(residual > 0.0 ? share : 0.0);
    const double relative = (solution.iterations == 0 ? kStartShare : 1.0) * limits.relative;
    const bool balanced = residual <= std::max({relative * momentum, limits.absolute * newton.heaviest(), kVanishing});
    if (balanced && (newton.is_accurate(0.5 * relative, limits.absolute) || ++polished > kPolish)) return {};
    since = residual < kProgress * best ? 0 : since + 1;
    best = std::min(best, residual);
    if (!std::isfinite(residual)) return {SolveStatus::kStalled, "the iteration left the range of numbers", share};
    if (since > kPatience) return {SolveStatus::kStalled, "no more progress", share};
    if (solution.iterations >= limits.iterations)
      return {SolveStatus::kMaxIterations, "not converged within max_iterations", share};
    if (deadline.passed()) return {SolveStatus::kTimeLimit, "not converged within time_limit", share};
    ++solution.iterations;
    if (!newton.step()) return {SolveStatus::kStalled, "A + J' W J is not positive definite to rounding", share};
  }
}

// From the velocity before the step, or from that to which the impulses of the last step lead: where the residual is
// smaller. The first is near where bodies hit something, the second where they move smoothly.
void begin(bool warm_start, const PrimalData& primal, const VectorX& lambda, VelocityNewton& newton) {
  const bool has_velocity = warm_start && primal.v_start.size() == primal.nv();
  const bool has_impulses =
      warm_start && lambda.size() == primal.J.rows() && lambda.allFinite() && (lambda.array() != 0.0).any();
  if (!has_velocity && !has_impulses) return newton.begin(primal.v_free);
  if (!has_velocity) return newton.begin_from_impulses(lambda);
  double from_impulses = kInfinity;
  if (has_impulses) {
    newton.begin_from_impulses(lambda);
    from_impulses = newton.residual();
  }
  newton.begin(primal.v_start);
  if (from_impulses < newton.residual()) newton.begin_from_impulses(lambda);
}

// Straight ahead; where that is slow, from soft laws to stiff ones.
Ending minimise(const ContactProblem& problem, CompliantModel model, const CompliantOptions& options,
                CompliantWorkspace& w, VelocityNewton& newton, Solution& solution) {
  const Limits limits{options.relative_tolerance, options.absolute_tolerance, options.max_iterations};
  const auto run = [&](const Limits& l) { return iterate(l, options.record_history, w.deadline, newton, solution); };
  const bool can_soften = !problem.physics.empty() && model != CompliantModel::kSap;
  Limits direct = limits;
  if (can_soften) direct.iterations = std::min(limits.iterations, kDirectIterations);
  Ending ending = run(direct);
  if (ending.status == SolveStatus::kSolved || !can_soften) return ending;
  for (const double growth : kStiffening) {
    for (double stiffest = kSoftest; stiffest < growth * w.laws.stiffness(); stiffest *= growth) {
      if (ending.status == SolveStatus::kTimeLimit || solution.iterations >= limits.iterations) break;
      w.laws.soften(problem, model, stiffest);
      newton.linearise();
      run({kStageTolerance, limits.absolute, std::min(limits.iterations, solution.iterations + kStageIterations)});
    }
    w.laws.soften(problem, model, kInfinity);
    newton.linearise();
    ending = run(limits);
    if (ending.status != SolveStatus::kStalled) return ending;
  }
  return ending;
}

// The impulses gamma, and the velocities that they lead to.
void fill(const ContactProblem& problem, const PrimalData& primal, CompliantWorkspace& w, Solution& solution) {
  solution.lambda = w.gamma;
  w.step.setZero(primal.nv());
  primal.J.multiply_transpose_add(w.gamma.data(), w.step.data());
  primal.A->solve(w.step);
  w.v = primal.v_free + w.step;
  primal.J.multiply(w.v.data(), solution.u.data());
  if (problem.b.size() > 0) solution.u += problem.b;
  if (problem.R.size() > 0) solution.u += problem.R.cwiseProduct(w.gamma);
  if (problem.has_primal()) {
    solution.v = w.v;
  } else {
    solution.v.resize(0);
  }
}

}  // namespace

void CompliantWorkspace::solve_hessian(VectorX& x) {
  TOUCHSTONE_CHECK(has_hessian, "the last solve kept no Hessian");
  hessian.solve(x);
}

SolveStatus CompliantSolver::run(const ContactProblem& problem, const CompliantOptions& options, CompliantWorkspace& w,
                                 Solution& solution) const {
  const int nrow = problem.nrow();
  w.deadline = Deadline::in(options.time_limit);
  w.has_hessian = false;
  solution.clear_report();
  solution.u.setZero(nrow);
  if (Verdict verdict = validate_data(problem); !verdict.usable())
    return refuse(SolveStatus::kInvalidProblem, std::move(verdict.message), nrow, solution);
  if (nrow == 0) {
    solution.lambda.resize(0);
    solution.v = problem.primal.v_free;
    return SolveStatus::kSolved;
  }
  const JointSpace space{&problem, nullptr, w.primal_source};
  if (!space.available())
    return refuse(SolveStatus::kUnsupported, "compliant models work in velocities and need A, J and v_free", nrow,
                  solution);
  if (std::string message = w.laws.prepare(problem, model_); !message.empty())
    return refuse(SolveStatus::kUnsupported, std::move(message), nrow, solution);
  solution.shift = w.laws.shift();
  const PrimalData& primal = space.primal();
  VelocityNewton newton(space, options.relative_tolerance, w);
  begin(options.warm_start, primal, solution.lambda, newton);
  const Ending ending = minimise(problem, model_, options, w, newton, solution);
  SolveStatus status = ending.status;
  if (status != SolveStatus::kSolved) {
    solution.message = fmt::format("{}; the momentum residual is {:.2g} of its terms{}", ending.why, ending.share,
                                   newton.line_message());
  }
  solution.factorizations = solution.iterations;
  if (!w.gamma.allFinite()) {
    status = SolveStatus::kStalled;
    if (solution.message.empty()) solution.message = "impulses beyond the range of numbers; lambda is set to zero";
    w.gamma.setZero(nrow);
  }
  fill(problem, primal, w, solution);
  w.has_hessian = options.keep_hessian && status == SolveStatus::kSolved && newton.factor();
  return status;
}

}  // namespace touchstone
