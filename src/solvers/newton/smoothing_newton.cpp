#include "touchstone/solvers/newton/smoothing_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/solvers/newton/smooth_law.hpp"

namespace touchstone {
namespace {

constexpr double kSigmas[] = {1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.6, 0.9};
constexpr double kSmallestBarrier = 1e-26;
constexpr int kHalvings = 8;
constexpr double kDecrease = 0.25;  // of a damped step, relative to the length of the step
constexpr double kTooShort = 0.05;  // two of these in a row end the iteration

}  // namespace

double SmoothingNewton::evaluate(const VectorX& z, double m, VectorX& lambda, VectorX& u, VectorX& F) const {
  const Blocks& blocks = dual_->blocks;
  for (int i = 0; i < dual_->nblock(); ++i) smooth_law(blocks, i, kind_[i], z, m, lambda, u);
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

void SmoothingNewton::differentiate(NewtonSystem& system) {
  for (int i = 0; i < dual_->nblock(); ++i) {
    smooth_law_slope(dual_->blocks, i, kind_[i], z_, lambda_, u_, m_, system.Lambda.data(i), c_.data());
  }
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
