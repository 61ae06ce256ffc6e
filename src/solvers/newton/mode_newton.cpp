#include "touchstone/solvers/newton/mode_newton.hpp"

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

// Keeps a sliding impulse on its ellipse. Not larger: the other directions of the block must survive its rounding.
constexpr double kPenalty = 1e6;
constexpr double kDamping = 3.0;     // epsilon for each unit of natv relative to the velocity scale
constexpr double kPullShare = 1e-2;  // of that epsilon in a step with theta = 0, which is not exact
// Steps in a row that do not halve the smallest natv, after which it is given up.
constexpr int kSlowSteps = 4;
// Of epsilon, with ModeNewtonSettings::monotone: after a step that was taken back, and after one that was not.
constexpr double kRaise = 30.0, kLower = 0.1;
constexpr double kSmallImpulse = 1e-12;  // a sliding contact without impulse keeps its direction

}  // namespace

// Open, sliding or sticking by z = lambda - u.
ModeNewton::Mode ModeNewton::guess_cone(const DualProblem& dual, int i, const VectorX& lambda, const VectorX& u) {
  const Blocks& blocks = dual.blocks;
  const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
  if (lambda[last] - u[last] <= 0.0) {
    point_.segment(r, last - r + 1).setZero();
    return Mode::kFixed;
  }
  const ConeView cone(blocks, i);
  double z[kMaxBlockSize], size = 0.0;
  for (int k = 1; k <= cone.n; ++k) {
    z[k] = cone.largest * lambda[cone.index[k]] / cone.mu[k] - cone.mu[k] * u[cone.index[k]] / cone.largest;
    size += z[k] * z[k];
  }
  size = std::sqrt(size);
  const double radius = std::max(0.0, lambda[last]);
  for (int k = r; k < last; ++k) {
    if (!(blocks.mu[k] > 0.0)) point_[k] = 0.0;
  }
  if (size <= cone.largest * radius) return Mode::kFree;
  point_[last] = std::max(0.0, point_[last]);
  for (int k = 1; k <= cone.n; ++k) {
    direction_[cone.index[k]] = z[k] / size;
    point_[cone.index[k]] = cone.mu[k] * point_[last] * z[k] / size;
  }
  stiffness_[i] = -1.0;
  return Mode::kSlide;
}

// The same by the solution of the contact alone, while the others stay: its own matrix says how much each component of
// its impulse changes its velocity, which differs by orders of magnitude between sliding, torsion and rolling. With
// much friction a contact that could as well be open may hold itself: where it says open, z decides.
ModeNewton::Mode ModeNewton::guess_locally(const DualProblem& dual, int i, const VectorX& lambda, const VectorX& u,
                                           LocalContacts& contacts) {
  const Blocks& blocks = dual.blocks;
  const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
  double next[kMaxBlockSize];
  std::copy_n(lambda.data() + r, last - r + 1, next);
  const LocalMode mode = contacts(i, u.data() + r, next);
  const double normal = next[last - r];
  if (mode == LocalMode::kOpen || !(normal > 0.0)) return guess_cone(dual, i, lambda, u);
  for (int k = r; k < last; ++k) {
    if (!(blocks.mu[k] > 0.0)) point_[k] = 0.0;
  }
  if (mode == LocalMode::kStick) return Mode::kFree;
  std::copy_n(next, last - r + 1, point_.data() + r);
  for (int k = r; k < last; ++k) {
    if (blocks.mu[k] > 0.0) direction_[k] = next[k - r] / (blocks.mu[k] * normal);
  }
  stiffness_[i] = contacts.alpha(i);
  return Mode::kSlide;
}

// Modes and directions of all blocks, and the point that belongs to them.
void ModeNewton::guess(const DualProblem& dual, const VectorX& lambda, const VectorX& u, LocalContacts* contacts) {
  const Blocks& blocks = dual.blocks;
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
    Mode mode = Mode::kFixed;
    switch (path_kind(blocks, i)) {
      case PathKind::kFree:
        mode = Mode::kFree;
        break;
      case PathKind::kFixed:
        point_[r] = blocks.lo[r];
        break;
      case PathKind::kOrthant: {
        const bool active = lambda[last] - u[last] > 0.0;
        for (int k = r; k < last; ++k) point_[k] = 0.0;
        if (active) {
          mode = Mode::kFree;
        } else {
          point_[last] = 0.0;
        }
        break;
      }
      case PathKind::kInterval: {
        const double z = lambda[r] - u[r];
        if (z <= blocks.lo[r]) {
          point_[r] = blocks.lo[r];
        } else if (z >= blocks.hi[r]) {
          point_[r] = blocks.hi[r];
        } else {
          mode = Mode::kFree;
        }
        break;
      }
      case PathKind::kCone:
        mode = contacts != nullptr && blocks.size(i) > 3 ? guess_locally(dual, i, lambda, u, *contacts)
                                                         : guess_cone(dual, i, lambda, u);
        break;
    }
    mode_[i] = mode;
  }
}

// Lambda and the right-hand side for a step from point_, whose velocity is point_u_; `slip` is the velocity of which
// sliding contacts are known to have about the size.
void ModeNewton::set_up(const DualProblem& dual, NewtonSystem& system, double theta, const VectorX& slip) {
  const Blocks& blocks = dual.blocks;
  held_.clear();
  for (int i = 0; i < dual.nblock(); ++i) {
    // An equality is no guess, and may be all but singular (a loop that is planar): it is not damped.
    const double epsilon = blocks.type[i] == BlockType::kEquality ? kEpsilon : epsilon_;
    const double pull = epsilon * (1.0 - theta);
    const int r = blocks.row[i], m = blocks.size(i), last = r + m - 1;
    double* block = system.Lambda.data(i);
    std::fill(block, block + m * m, 0.0);
    const auto fix = [&](int row) {
      block[(row - r) * (m + 1)] = NewtonSystem::kFixed;
      step_[row] = 0.0;
    };
    const auto free = [&](int row) {
      block[(row - r) * (m + 1)] = epsilon;
      step_[row] = -point_u_[row] - pull * point_[row];
    };
    const bool contact = blocks.type[i] == BlockType::kCoulomb;
    for (int row = r; row <= last; ++row) {
      const bool frictionless = contact && row < last && !(blocks.mu[row] > 0.0);
      mode_[i] == Mode::kFixed || frictionless ? fix(row) : free(row);
    }
    if (mode_[i] != Mode::kSlide) continue;
    // With y = lambda_t / mu, e the direction: e'dy = dlambda_n; across it (G dlambda) mu + |mu u_t| / |y| dy = -mu
    // u_t.
    const ConeView cone(blocks, i);
    double along = 0.0, speed = 0.0;
    for (int k = 1; k <= cone.n; ++k) {
      along -= direction_[cone.index[k]] * cone.mu[k] * point_u_[cone.index[k]];
      speed -= direction_[cone.index[k]] * cone.mu[k] * slip[cone.index[k]];
    }
    const double stiffness =
        stiffness_[i] < 0.0 ? std::max(speed, 0.0) / std::max(point_[last], kSmallImpulse) : stiffness_[i];
    // Of lambda, not of y, where it would be as much larger as the friction of rolling is smaller than that of sliding.
    const double damping = epsilon / (cone.largest * cone.largest);
    if (system.in_joint_space()) hold(i, cone, stiffness, damping, system.Lambda);
    for (int a = 1; a <= cone.n; ++a) {
      const int row = cone.index[a];
      const double e_a = direction_[row];
      for (int b = 1; b <= cone.n; ++b) {
        const double e_b = direction_[cone.index[b]];
        block[(cone.index[b] - r) * m + row - r] =
            ((a == b ? stiffness : 0.0) + (kPenalty - stiffness) * e_a * e_b) / (cone.mu[a] * cone.mu[b]) +
            (a == b ? damping : 0.0);
      }
      block[(m - 1) * m + row - r] = -kPenalty * e_a / cone.mu[a];
      step_[row] = -(cone.mu[a] * point_u_[row] + along * e_a) / cone.mu[a];
    }
  }
}

// A sliding contact without the penalty: Lambda as it is, with the same stiffness along e as across it.
void ModeNewton::hold(int i, const ConeView& cone, double stiffness, double damping, const BlockDiagonal& Lambda) {
  const int m = cone.normal - cone.row + 1;
  HeldBlock& held = held_.emplace_back();
  held.block = i;
  std::copy_n(Lambda.data(i), m * m, held.loose);
  for (int a = 1; a <= cone.n; ++a) {
    const int k = cone.index[a] - cone.row;
    held.loose[k * (m + 1)] = stiffness / (cone.mu[a] * cone.mu[a]) + damping;
    held.along[k] = held.across[k] = direction_[cone.index[a]] / cone.mu[a];
  }
  held.across[m - 1] = -1.0;
}

// Back to the modes after the linear step.
void ModeNewton::finish(const DualProblem& dual) {
  const Blocks& blocks = dual.blocks;
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
    if (mode_[i] == Mode::kFixed) continue;
    for (int row = r; row <= last; ++row) {
      const bool frictionless = blocks.type[i] == BlockType::kCoulomb && row < last && !(blocks.mu[row] > 0.0);
      if (!frictionless) point_[row] += step_[row];
    }
    if (mode_[i] != Mode::kSlide) continue;
    const ConeView cone(blocks, i);
    double x[kMaxBlockSize], size = 0.0;
    cone.lambda(point_, x);
    for (int k = 1; k <= cone.n; ++k) size += x[k] * x[k];
    size = std::sqrt(size);
    if (!(size > 0.0)) continue;
    for (int k = 1; k <= cone.n; ++k) point_[cone.index[k]] *= std::abs(x[0]) / size;
  }
}

void ModeNewton::reserve(const DualProblem& dual) {
  mode_.reserve(static_cast<std::size_t>(dual.nblock()));
  stiffness_.reserve(static_cast<std::size_t>(dual.nblock()));
  direction_.reserve(static_cast<std::size_t>(dual.nrow()));
  for (VectorX* v : {&point_, &point_u_, &step_}) v->resize(dual.nrow());
}

double ModeNewton::run(const DualProblem& dual, NewtonSystem& system, const VectorX& mode_lambda, const VectorX& mode_u,
                       const ModeNewtonSettings& settings, double best, VectorX& lambda, VectorX& u) {
  mode_.assign(static_cast<std::size_t>(dual.nblock()), Mode::kFixed);
  stiffness_.resize(static_cast<std::size_t>(dual.nblock()));
  direction_.resize(static_cast<std::size_t>(dual.nrow()));
  step_.resize(dual.nrow());
  if (system.in_joint_space()) held_.reserve(static_cast<std::size_t>(dual.nblock()));
  point_ = lambda;
  steps_ = 0;
  guess(dual, mode_lambda, mode_u, settings.known_slip ? nullptr : settings.contacts);
  double before = best, raised = 1.0;
  int slow = 0;
  for (int k = 0; k < settings.max_steps && !settings.deadline.passed(); ++k) {
    compute_velocity(dual, point_, point_u_);
    const bool pull = settings.minimum_norm && k == 0;
    const double relative = before / dual.velocity_scale;
    epsilon_ = std::clamp(raised * kDamping * relative, kEpsilon, std::max(kEpsilon, settings.damping));
    if (pull) epsilon_ = std::max(kEpsilon, kPullShare * epsilon_);
    set_up(dual, system, pull ? 0.0 : 1.0, k == 0 && settings.known_slip ? mode_u : point_u_);
    if (!system.factorize(held_)) break;
    system.solve(step_);
    if (!step_.allFinite()) break;
    ++steps_;
    finish(dual);
    compute_velocity(dual, point_, point_u_);
    const double value = natv(dual, ContactModel::kNcp, point_, point_u_);
    slow = value <= 0.5 * best ? 0 : slow + 1;
    if (value < best || (pull && value <= settings.tolerance)) {
      best = value;
      lambda = point_;
      u = point_u_;
    }
    if (!(best > settings.tolerance)) break;
    if (!(value <= settings.patience * before) || slow == kSlowSteps) break;
    if (settings.monotone && !(value <= before)) {
      if (epsilon_ >= settings.damping) break;
      raised *= kRaise;
      point_ = lambda;
      guess(dual, lambda, u, settings.contacts);
      continue;
    }
    raised = std::max(1.0, kLower * raised);
    before = value;
    guess(dual, point_, point_u_, settings.contacts);
  }
  return best;
}

}  // namespace touchstone
