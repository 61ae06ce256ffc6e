#include "touchstone/solvers/newton/smoothing_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace touchstone {
namespace {

constexpr double kSigmas[] = {1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.6, 0.9};
constexpr double kSmallestBarrier = 1e-26;
constexpr int kHalvings = 8;
constexpr double kConverged = 1e-8;
constexpr double kDecrease = 0.25;  // of a damped step, relative to the length of the step
constexpr double kTooShort = 0.05;  // two of these in a row end the iteration

// The positive root of r^2 - z r - m = 0 without cancellation.
double orthant(double z, double m) {
  const double root = std::sqrt(z * z + 4.0 * m);
  return z >= 0.0 ? 0.5 * (z + root) : 2.0 * m / (root - z);
}

// r in (lo, hi) with r - m / (r - lo) + m / (hi - r) = z; the left side increases.
double interval(double z, double m, double lo, double hi) {
  double low = lo, high = hi;
  double r = std::isinf(lo) ? hi - orthant(hi - z, m) : std::isinf(hi) ? lo + orthant(z - lo, m) : kInfinity;
  if (!std::isinf(r)) return r;
  r = std::clamp(z, lo + 1e-3 * (hi - lo), hi - 1e-3 * (hi - lo));
  for (int step = 0; step < 100; ++step) {
    const double a = r - lo, b = hi - r;
    const double value = r - m / a + m / b - z;
    (value > 0.0 ? high : low) = r;
    double next = r - value / (1.0 + m / (a * a) + m / (b * b));
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const double change = std::abs(next - r);
    r = next;
    if (change <= 1e-15 * (std::abs(r) + hi - lo)) break;
  }
  return r;
}

// k in [0, 1) with a k + k m / (a (1 - k^2)) = length, through t = 1 - k so that t keeps its digits near the boundary.
double cone_share(double a, double length, double m, double& t) {
  double low = 0.0, high = 1.0;  // of t; the left side decreases in t
  const double inverse = m / (a * a), target = length / a;
  // Far outside: k near 1, t about m / (2 a^2 (target - 1)); inside: k about target.
  t = target > 1.0 ? std::min(0.5, 0.5 * inverse / (target - 1.0 + std::sqrt(inverse)))
                   : std::max(1.0 - target, std::min(0.5, std::sqrt(inverse)));
  for (int step = 0; step < 100; ++step) {
    const double k = 1.0 - t, slack = t * (1.0 + k);  // 1 - k^2
    const double value = k + inverse * k / slack - target;
    if (value == 0.0) break;
    (value > 0.0 ? low : high) = t;
    const double slope = -(1.0 + inverse * (1.0 + k * k) / (slack * slack));
    double next = t - value / slope;
    if (!(next > low && next < high)) next = low > 0.0 && high < 1.0 ? std::sqrt(low * high) : 0.5 * (low + high);
    const double change = std::abs(next - t);
    t = next;
    if (change <= kConverged * t) break;  // quadratic: the error is of order its square
  }
  return 1.0 - t;
}

}  // namespace

void SmoothingNewton::evaluate_block(int i, const VectorX& z, double m, VectorX& lambda, VectorX& u) const {
  const Blocks& blocks = dual_->blocks;
  const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
  switch (kind_[i]) {
    case PathKind::kFree:
      for (int k = r; k <= last; ++k) {
        lambda[k] = z[k];
        u[k] = 0.0;
      }
      break;
    case PathKind::kFixed:
      lambda[r] = blocks.lo[r];
      break;
    case PathKind::kOrthant:
      for (int k = r; k < last; ++k) lambda[k] = 0.0;
      lambda[last] = orthant(z[last], m);
      u[last] = orthant(-z[last], m);
      break;
    case PathKind::kInterval:
      lambda[r] = interval(z[r], m, blocks.lo[r], blocks.hi[r]);
      u[r] = lambda[r] - z[r];
      break;
    case PathKind::kCone: {
      const ConeView cone(blocks, i);
      for (int k = r; k < last; ++k) lambda[k] = 0.0;
      lambda[last] = orthant(z[last], m);
      u[last] = orthant(-z[last], m);
      double length = 0.0;
      for (int k = 1; k <= cone.n; ++k) length += z[cone.index[k]] * z[cone.index[k]];
      length = std::sqrt(length);
      const double a = cone.largest * lambda[last];
      double t = 1.0;
      const double share = cone_share(a, length, m, t);
      const double force = a * share, slip = share * m / (a * t * (1.0 + share));
      for (int k = 1; k <= cone.n; ++k) {
        const double e = length > 0.0 ? z[cone.index[k]] / length : 0.0;
        lambda[cone.index[k]] = force * e * cone.mu[k] / cone.largest;
        u[cone.index[k]] = -slip * e * cone.largest / cone.mu[k];
      }
      break;
    }
  }
}

double SmoothingNewton::evaluate(const VectorX& z, double m, VectorX& lambda, VectorX& u, VectorX& F) const {
  const Blocks& blocks = dual_->blocks;
  for (int i = 0; i < dual_->nblock(); ++i) evaluate_block(i, z, m, lambda, u);
  compute_velocity(*dual_, lambda, F);
  F = u - F;
  for (int i = 0; i < dual_->nblock(); ++i) {
    if (kind_[i] == PathKind::kFree) continue;
    // Rows that cannot move follow.
    for (int k = blocks.row[i]; k < blocks.row[i + 1]; ++k) {
      const bool tangent = blocks.type[i] == BlockType::kCoulomb && k < blocks.row[i + 1] - 1;
      if (kind_[i] != PathKind::kFixed && !(tangent && !(blocks.mu[k] > 0.0))) continue;
      u[k] -= F[k];
      F[k] = 0.0;
    }
  }
  return F.size() > 0 ? F.lpNorm<Eigen::Infinity>() : 0.0;
}

void SmoothingNewton::differentiate_block(int i, double* out) {
  const Blocks& blocks = dual_->blocks;
  const int r = blocks.row[i], m = blocks.size(i), last = r + m - 1;
  std::fill(out, out + m * m, 0.0);
  c_.segment(r, m).setZero();
  switch (kind_[i]) {
    case PathKind::kFree:
      for (int k = 0; k < m; ++k) out[k * (m + 1)] = kEqualityFloor;
      return;
    case PathKind::kFixed:
      out[0] = NewtonSystem::kFixed;
      return;
    case PathKind::kInterval: {
      const double low = lambda_[r] - blocks.lo[r], high = blocks.hi[r] - lambda_[r];
      out[0] = m_ / (low * low) + m_ / (high * high);
      c_[r] = 1.0 / low - 1.0 / high;
      return;
    }
    case PathKind::kOrthant:
    case PathKind::kCone:
      break;
  }
  for (int k = 0; k < m - 1; ++k) {
    if (kind_[i] == PathKind::kOrthant || !(blocks.mu[r + k] > 0.0)) out[k * (m + 1)] = NewtonSystem::kFixed;
  }
  out[m * m - 1] = u_[last] / lambda_[last];
  c_[last] = 1.0 / lambda_[last];
  if (kind_[i] == PathKind::kOrthant) return;
  // p = largest y = a k e, q = -h e with a = largest lambda_n, h = k m / (a (1 - k^2)).
  const ConeView cone(blocks, i);
  double length = 0.0;
  for (int k = 1; k <= cone.n; ++k) length += z_[cone.index[k]] * z_[cone.index[k]];
  length = std::sqrt(length);
  const double a = cone.largest * lambda_[last];
  double t = 1.0;
  const double k0 = cone_share(a, length, m_, t);
  const double slack = t * (1.0 + k0);
  const double across = m_ / (a * a * slack);                           // h / (a k)
  const double along = m_ * (1.0 + k0 * k0) / (a * a * slack * slack);  // (dh/dk) / a
  const double by_normal = -k0 * across - along * k0;                   // dh/da - (dh/dk) k / a
  for (int x = 1; x <= cone.n; ++x) {
    const int row = cone.index[x];
    const double e_x = length > 0.0 ? z_[row] / length : 0.0, scale = cone.largest / cone.mu[x];
    for (int y = 1; y <= cone.n; ++y) {
      const int col = cone.index[y];
      const double e_y = length > 0.0 ? z_[col] / length : 0.0;
      out[(col - r) * m + row - r] =
          scale * ((x == y ? across : 0.0) + (along - across) * e_x * e_y) * cone.largest / cone.mu[y];
    }
    out[(m - 1) * m + row - r] = scale * by_normal * e_x * cone.largest;
    c_[row] = -scale * k0 / (a * slack) * e_x;
  }
}

void SmoothingNewton::differentiate(NewtonSystem& system) {
  for (int i = 0; i < dual_->nblock(); ++i) differentiate_block(i, system.Lambda.data(i));
}

// dz = dlambda - du = dlambda + Lambda dlambda - c dm; in cone coordinates for the tangential components.
void SmoothingNewton::to_step(const NewtonSystem& system, const VectorX& dlambda, double dm, VectorX& dz) const {
  const Blocks& blocks = dual_->blocks;
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = blocks.row[i], m = blocks.size(i);
    const double* Lambda = system.Lambda.data(i);
    if (kind_[i] == PathKind::kFree) {
      dz.segment(r, m) = dlambda.segment(r, m);
      continue;
    }
    double largest = 1.0;
    if (kind_[i] == PathKind::kCone) largest = ConeView(blocks, i).largest;
    for (int k = 0; k < m; ++k) {
      double du = c_[r + k] * dm;
      if (Lambda[k * (m + 1)] >= NewtonSystem::kFixed) {
        dz[r + k] = 0.0;
        continue;
      }
      for (int l = 0; l < m; ++l) du -= Lambda[l * m + k] * dlambda[r + l];
      const bool tangent = kind_[i] == PathKind::kCone && k < m - 1;
      const double scale = tangent ? largest / blocks.mu[r + k] : 1.0;
      dz[r + k] = scale * dlambda[r + k] - du / scale;
    }
  }
}

void SmoothingNewton::start(const DualProblem& dual, const VectorX& lambda, const VectorX& u,
                            const SmoothingNewtonSettings& settings) {
  dual_ = &dual;
  kind_.resize(static_cast<std::size_t>(dual.nblock()));
  for (VectorX* v : {&z_, &lambda_, &u_, &F_, &c_, &fixed_step_, &barrier_step_, &trial_z_, &trial_lambda_, &trial_u_,
                     &trial_F_, &rounded_, &rounded_u_})
    v->setZero(dual.nrow());
  z_ = lambda - u;
  for (int i = 0; i < dual.nblock(); ++i) {
    kind_[i] = path_kind(dual.blocks, i);
    if (kind_[i] == PathKind::kFree) {
      const int r = dual.blocks.row[i], m = dual.blocks.size(i);
      z_.segment(r, m) = lambda.segment(r, m);
    }
    if (kind_[i] != PathKind::kCone) continue;
    const ConeView cone(dual.blocks, i);
    for (int k = 1; k <= cone.n; ++k) {
      const double scale = cone.largest / cone.mu[k];
      z_[cone.index[k]] = scale * lambda[cone.index[k]] - u[cone.index[k]] / scale;
    }
  }
  const double residual = scaled_residual(dual, lambda, u);
  m_ = settings.barrier > 0.0 ? settings.barrier : std::max(kSmallestBarrier, residual * residual);
  size_ = evaluate(z_, m_, lambda_, u_, F_);
  natv_ = kInfinity;
  iterations_ = 0;
  short_steps_ = 0;
}

// Takes the best step of this factorisation. Returns false if nothing helps.
bool SmoothingNewton::advance() {
  const auto attempt = [&](double length, double sigma) {
    trial_z_ = z_ + length * (fixed_step_ + (1.0 - sigma) * barrier_step_);
    return evaluate(trial_z_, sigma * m_, trial_lambda_, trial_u_, trial_F_);
  };
  const auto accept = [&](double size, double sigma) {
    std::swap(z_, trial_z_);
    std::swap(lambda_, trial_lambda_);
    std::swap(u_, trial_u_);
    std::swap(F_, trial_F_);
    size_ = size;
    m_ = std::max(kSmallestBarrier, sigma * m_);
  };
  for (const double sigma : kSigmas) {
    const double size = attempt(1.0, sigma);
    if (!(size <= std::sqrt(sigma * m_))) continue;
    accept(size, sigma);
    short_steps_ = 0;
    return true;
  }
  double length = 1.0;
  for (int k = 0; k <= kHalvings; ++k, length *= 0.5) {
    const double size = attempt(length, 1.0);
    if (!(size <= (1.0 - kDecrease * length) * size_)) continue;
    accept(size, 1.0);
    short_steps_ = length < kTooShort ? short_steps_ + 1 : 0;
    return short_steps_ < 2;
  }
  return false;
}

// The limit m -> 0 at the same z.
void SmoothingNewton::round() {
  const Blocks& blocks = dual_->blocks;
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
    switch (kind_[i]) {
      case PathKind::kFree:
      case PathKind::kFixed:
        rounded_.segment(r, last - r + 1) = lambda_.segment(r, last - r + 1);
        break;
      case PathKind::kOrthant:
        rounded_.segment(r, last - r).setZero();
        rounded_[last] = std::max(z_[last], 0.0);
        break;
      case PathKind::kInterval:
        rounded_[r] = std::clamp(z_[r], blocks.lo[r], blocks.hi[r]);
        break;
      case PathKind::kCone: {
        const ConeView cone(blocks, i);
        rounded_.segment(r, last - r).setZero();
        rounded_[last] = std::max(z_[last], 0.0);
        double length = 0.0;
        for (int k = 1; k <= cone.n; ++k) length += z_[cone.index[k]] * z_[cone.index[k]];
        length = std::sqrt(length);
        const double radius = cone.largest * rounded_[last];
        const double share = length > radius ? radius / length : 1.0;
        for (int k = 1; k <= cone.n; ++k)
          rounded_[cone.index[k]] = share * z_[cone.index[k]] * cone.mu[k] / cone.largest;
        break;
      }
    }
  }
  compute_velocity(*dual_, rounded_, rounded_u_);
  natv_ = natv(*dual_, ContactModel::kNcp, rounded_, rounded_u_);
}

PathOutcome SmoothingNewton::iterate(NewtonSystem& system, const SmoothingNewtonSettings& settings) {
  while (iterations_ < settings.max_iterations) {
    if (settings.deadline.passed()) return PathOutcome::kTime;
    ++iterations_;
    differentiate(system);
    if (!system.factorize()) return PathOutcome::kBroken;
    trial_u_ = F_;
    system.solve(trial_u_);
    to_step(system, trial_u_, 0.0, fixed_step_);
    trial_u_ = -m_ * c_;
    system.solve(trial_u_);
    to_step(system, trial_u_, -m_, barrier_step_);
    if (!fixed_step_.allFinite() || !barrier_step_.allFinite()) return PathOutcome::kBroken;
    const bool moved = advance();
    round();
    if (history != nullptr) history->push_back(natv_ / dual_->velocity_scale);
    if (natv_ <= settings.tolerance) return PathOutcome::kConverged;
    if (!moved) return PathOutcome::kShort;
    if (natv_ <= settings.pause_at) return PathOutcome::kReady;
  }
  return PathOutcome::kLimit;
}

}  // namespace touchstone
