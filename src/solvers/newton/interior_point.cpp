#include "touchstone/solvers/newton/interior_point.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace touchstone {
namespace {

constexpr double kLongest = 10.0;  // steps to the boundary are not searched beyond this
constexpr double kSmallestSigma = 1e-4;
constexpr double kShortAffine = 0.1;  // below this affine step sigma is at least kCautiousSigma
constexpr double kCautiousSigma = 0.3;
constexpr double kShortStep = 0.3;      // below this the corrector is repeated with more centring
constexpr double kHopelessStep = 0.05;  // two of these in a row end the iteration

}  // namespace

double scaled_residual(const DualProblem& dual, const VectorX& lambda, const VectorX& u) {
  double worst = 0.0, scratch[kMaxBlockSize];
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i];
    worst = std::max(worst, dual.d[i] * natural_map_block(dual.blocks, i, ContactModel::kNcp, dual.d[i],
                                                          lambda.data() + r, u.data() + r, scratch));
  }
  return worst;
}

void InteriorPoint::start(const DualProblem& dual, const VectorX& lambda, double residual,
                          const InteriorPointSettings& settings) {
  dual_ = &dual;
  const auto count = static_cast<std::size_t>(dual.nblock());
  kind_.resize(count);
  scaling_.resize(count);
  for (std::vector<double>* tau : {&tau_, &dtau_, &ctau_, &affine_tau_}) tau->assign(2 * count, 0.0);
  lambda_ = lambda;
  compute_velocity(dual, lambda_, linear_);
  s_ = linear_;
  for (VectorX* v : {&dlambda_, &ds_, &c_, &affine_lambda_, &affine_s_, &residual_, &rounded_, &rounded_u_})
    v->setZero(dual.nrow());
  pairs_ = 0;
  iterations_ = 0;
  short_steps_ = 0;
  natv_ = kInfinity;
  const double shift = std::max(settings.smallest_shift, settings.shift * residual);
  for (int i = 0; i < dual.nblock(); ++i) {
    kind_[i] = path_kind(dual.blocks, i);
    start_block(i, shift);
  }
  compute_velocity(dual, lambda_, linear_);
  m_ = complementarity(0.0);
}

void InteriorPoint::start_block(int i, double shift) {
  const Blocks& blocks = dual_->blocks;
  const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
  switch (kind_[i]) {
    case PathKind::kFree:
      s_.segment(r, last - r + 1).setZero();
      break;
    case PathKind::kFixed:
      lambda_[r] = blocks.lo[r];
      break;
    case PathKind::kOrthant:
      for (int k = r; k < last; ++k) lambda_[k] = 0.0;
      lambda_[last] = std::max(lambda_[last], 0.0) + shift;
      s_[last] = std::max(s_[last], 0.0) + shift;
      pairs_ += 1;
      break;
    case PathKind::kInterval: {
      const double width = blocks.hi[r] - blocks.lo[r];
      const double inside = std::min(shift, 0.25 * width);
      lambda_[r] = std::clamp(lambda_[r], blocks.lo[r] + inside, blocks.hi[r] - inside);
      tau_[2 * i] = std::isinf(blocks.lo[r]) ? 0.0 : std::max(s_[r], 0.0) + shift;
      tau_[2 * i + 1] = std::isinf(blocks.hi[r]) ? 0.0 : std::max(-s_[r], 0.0) + shift;
      s_[r] = tau_[2 * i] - tau_[2 * i + 1];
      pairs_ += std::isinf(width) ? 1 : 2;
      break;
    }
    case PathKind::kCone: {
      const ConeView cone(blocks, i);
      for (int k = r; k < last; ++k) {
        if (!(blocks.mu[k] > 0.0)) lambda_[k] = 0.0;
      }
      lambda_[last] = std::max(lambda_[last], 0.0) + shift;
      s_[last] = std::max(s_[last], 0.0) + shift;
      double x[kMaxBlockSize], z[kMaxBlockSize];
      cone.lambda(lambda_, x);
      cone.slack(s_, 0.0, z);
      double force = 0.0, slip = 0.0;
      for (int k = 1; k <= cone.n; ++k) {
        force += x[k] * x[k];
        slip += z[k] * z[k];
      }
      const double limit = std::max(x[0] - shift, 0.5 * x[0]);
      if (std::sqrt(force) > limit) {
        for (int k = 1; k <= cone.n; ++k) lambda_[cone.index[k]] *= limit / std::sqrt(force);
      }
      tau_[2 * i] = std::sqrt(slip) + shift;
      pairs_ += 2;
      break;
    }
  }
}

void InteriorPoint::set_hessian(int i) {
  // Filled into Lambda by iterate; here only the scaling of cones.
  const ConeView cone(dual_->blocks, i);
  double x[kMaxBlockSize], z[kMaxBlockSize];
  cone.lambda(lambda_, x);
  cone.slack(s_, tau_[2 * i], z);
  scaling_[i].set(cone.n, x, z);
}

void InteriorPoint::set_right_hand_side(double target, bool corrector) {
  for (int i = 0; i < dual_->nblock(); ++i) block_right_hand_side(i, target, corrector);
}

void InteriorPoint::block_right_hand_side(int i, double target, bool corrector) {
  const Blocks& blocks = dual_->blocks;
  const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
  const auto product = [&](int k) { return corrector ? affine_lambda_[k] * affine_s_[k] : 0.0; };
  switch (kind_[i]) {
    case PathKind::kFree:
    case PathKind::kFixed:
      c_.segment(r, last - r + 1).setZero();
      break;
    case PathKind::kOrthant:
      c_.segment(r, last - r).setZero();
      c_[last] = (target - product(last)) / lambda_[last] - s_[last];
      break;
    case PathKind::kInterval: {
      double* c = &ctau_[2 * i];
      c[0] = c[1] = 0.0;
      const double low = lambda_[r] - blocks.lo[r], high = blocks.hi[r] - lambda_[r];
      if (!std::isinf(low))
        c[0] = (target - (corrector ? affine_lambda_[r] * affine_tau_[2 * i] : 0.0)) / low - tau_[2 * i];
      if (!std::isinf(high))
        c[1] = (target + (corrector ? affine_lambda_[r] * affine_tau_[2 * i + 1] : 0.0)) / high - tau_[2 * i + 1];
      c_[r] = c[0] - c[1];
      break;
    }
    case PathKind::kCone: {
      const ConeView cone(blocks, i);
      const int n = cone.n;
      double x[kMaxBlockSize], z[kMaxBlockSize], c[kMaxBlockSize];
      cone.lambda(lambda_, x);
      cone.slack(s_, tau_[2 * i], z);
      // target x^-1 - z
      const double factor = target / std::max(cone_determinant(n, x), 1e-300);
      c[0] = factor * x[0] - z[0];
      for (int k = 1; k <= n; ++k) c[k] = -factor * x[k] - z[k];
      if (corrector) {
        double dx[kMaxBlockSize], dz[kMaxBlockSize], middle[kMaxBlockSize];
        cone.lambda(affine_lambda_, dx);
        cone.slack(affine_s_, affine_tau_[2 * i], dz);
        scaling_[i].apply_inverse(n, dx, dx);
        scaling_[i].apply(n, dz, dz);
        scaling_[i].apply(n, z, middle);
        jordan_product(n, dx, dz, dx);
        jordan_divide(n, middle, dx, dz);
        scaling_[i].apply_inverse(n, dz, dz);
        for (int k = 0; k <= n; ++k) c[k] -= dz[k];
      }
      c_.segment(r, last - r).setZero();
      ctau_[2 * i] = c[0];
      for (int k = 1; k <= n; ++k) c_[cone.index[k]] = c[k] / cone.mu[k];
      c_[last] = (target - product(last)) / lambda_[last] - s_[last];
      break;
    }
  }
}

// ds = -Lambda dlambda + c and the slacks of the blocks.
void InteriorPoint::recover_block(int i) {
  const Blocks& blocks = dual_->blocks;
  const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
  switch (kind_[i]) {
    case PathKind::kFree:
    case PathKind::kFixed:
      ds_.segment(r, last - r + 1).setZero();
      break;
    case PathKind::kOrthant:
      ds_.segment(r, last - r).setZero();
      ds_[last] = c_[last] - s_[last] / lambda_[last] * dlambda_[last];
      break;
    case PathKind::kInterval: {
      const double low = lambda_[r] - blocks.lo[r], high = blocks.hi[r] - lambda_[r];
      dtau_[2 * i] = ctau_[2 * i] - tau_[2 * i] / low * dlambda_[r];
      dtau_[2 * i + 1] = ctau_[2 * i + 1] + tau_[2 * i + 1] / high * dlambda_[r];
      ds_[r] = dtau_[2 * i] - dtau_[2 * i + 1];
      break;
    }
    case PathKind::kCone: {
      const ConeView cone(blocks, i);
      double dx[kMaxBlockSize];
      cone.lambda(dlambda_, dx);
      scaling_[i].apply_hessian(cone.n, dx, dx);
      dtau_[2 * i] = ctau_[2 * i] - dx[0];
      ds_.segment(r, last - r).setZero();
      for (int k = 1; k <= cone.n; ++k) ds_[cone.index[k]] = c_[cone.index[k]] - dx[k] / cone.mu[k];
      ds_[last] = c_[last] - s_[last] / lambda_[last] * dlambda_[last];
      break;
    }
  }
}

void InteriorPoint::recover_slacks() {
  for (int i = 0; i < dual_->nblock(); ++i) recover_block(i);
}

double InteriorPoint::block_step(int i, double limit) const {
  const Blocks& blocks = dual_->blocks;
  const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
  const auto keep = [&limit](double value, double change) {
    if (change < 0.0) limit = std::min(limit, -value / change);
  };
  switch (kind_[i]) {
    case PathKind::kFree:
    case PathKind::kFixed:
      break;
    case PathKind::kOrthant:
      keep(lambda_[last], dlambda_[last]);
      keep(s_[last], ds_[last]);
      break;
    case PathKind::kInterval:
      keep(lambda_[r] - blocks.lo[r], dlambda_[r]);
      keep(blocks.hi[r] - lambda_[r], -dlambda_[r]);
      keep(tau_[2 * i], dtau_[2 * i]);
      keep(tau_[2 * i + 1], dtau_[2 * i + 1]);
      break;
    case PathKind::kCone: {
      const ConeView cone(blocks, i);
      double x[kMaxBlockSize], dx[kMaxBlockSize];
      keep(s_[last], ds_[last]);
      cone.lambda(lambda_, x);
      cone.lambda(dlambda_, dx);
      limit = cone_step(cone.n, x, dx, limit);
      cone.slack(s_, tau_[2 * i], x);
      cone.slack(ds_, dtau_[2 * i], dx);
      limit = cone_step(cone.n, x, dx, limit);
      break;
    }
  }
  return limit;
}

double InteriorPoint::longest_step(double limit) const {
  for (int i = 0; i < dual_->nblock(); ++i) limit = block_step(i, limit);
  return limit;
}

// The mean of all products after a step of the given length.
double InteriorPoint::complementarity(double step) const {
  const Blocks& blocks = dual_->blocks;
  double sum = 0.0;
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
    const auto after = [&](int k) { return (lambda_[k] + step * dlambda_[k]) * (s_[k] + step * ds_[k]); };
    const auto tau = [&](int k) { return tau_[2 * i + k] + step * dtau_[2 * i + k]; };
    switch (kind_[i]) {
      case PathKind::kFree:
      case PathKind::kFixed:
        break;
      case PathKind::kOrthant:
        sum += after(last);
        break;
      case PathKind::kInterval: {
        const double value = lambda_[r] + step * dlambda_[r];
        if (!std::isinf(blocks.lo[r])) sum += (value - blocks.lo[r]) * tau(0);
        if (!std::isinf(blocks.hi[r])) sum += (blocks.hi[r] - value) * tau(1);
        break;
      }
      case PathKind::kCone:
        sum += after(last) + (lambda_[last] + step * dlambda_[last]) * tau(0);
        for (int k = r; k < last; ++k) {
          if (blocks.mu[k] > 0.0) sum += after(k);
        }
        break;
    }
  }
  return pairs_ > 0 ? sum / pairs_ : 0.0;
}

void InteriorPoint::take_step(double step) {
  lambda_ += step * dlambda_;
  s_ += step * ds_;
  for (std::size_t k = 0; k < tau_.size(); ++k) tau_[k] += step * dtau_[k];
  compute_velocity(*dual_, lambda_, linear_);
  m_ = complementarity(0.0);
}

// Each block goes to the nearer of its limits.
void InteriorPoint::round() {
  const Blocks& blocks = dual_->blocks;
  rounded_ = lambda_;
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
    switch (kind_[i]) {
      case PathKind::kFree:
      case PathKind::kFixed:
        break;
      case PathKind::kOrthant:
        if (lambda_[last] < s_[last]) rounded_[last] = 0.0;
        break;
      case PathKind::kInterval:
        if (lambda_[r] - blocks.lo[r] < tau_[2 * i]) rounded_[r] = blocks.lo[r];
        if (blocks.hi[r] - lambda_[r] < tau_[2 * i + 1]) rounded_[r] = blocks.hi[r];
        break;
      case PathKind::kCone: {
        if (lambda_[last] < s_[last]) {
          rounded_.segment(r, last - r + 1).setZero();
          break;
        }
        const ConeView cone(blocks, i);
        double x[kMaxBlockSize], z[kMaxBlockSize];
        cone.lambda(lambda_, x);
        cone.slack(s_, tau_[2 * i], z);
        double force = 0.0, slip = 0.0;
        for (int k = 1; k <= cone.n; ++k) {
          force += x[k] * x[k];
          slip += z[k] * z[k];
        }
        force = std::sqrt(force);
        if (force > 0.0 && (x[0] - force) * cone.largest < std::sqrt(slip) / cone.largest) {
          for (int k = 1; k <= cone.n; ++k) rounded_[cone.index[k]] *= x[0] / force;
        }
        break;
      }
    }
  }
  compute_velocity(*dual_, rounded_, rounded_u_);
  natv_ = natv(*dual_, ContactModel::kNcp, rounded_, rounded_u_);
}

bool InteriorPoint::solve_direction(NewtonSystem& system, double target, bool corrector) {
  set_right_hand_side(target, corrector);
  dlambda_ = c_ + residual_;
  system.solve(dlambda_);
  if (!dlambda_.allFinite()) return false;
  recover_slacks();
  return true;
}

PathOutcome InteriorPoint::iterate(NewtonSystem& system, const InteriorPointSettings& settings) {
  const Blocks& blocks = dual_->blocks;
  while (iterations_ < settings.max_iterations) {
    if (settings.deadline.passed()) return PathOutcome::kTime;
    ++iterations_;
    residual_ = s_ - linear_;
    for (int i = 0; i < dual_->nblock(); ++i) {
      const int r = blocks.row[i], m = blocks.size(i), last = r + m - 1;
      double* block = system.Lambda.data(i);
      std::fill(block, block + m * m, 0.0);
      switch (kind_[i]) {
        case PathKind::kFree:
          for (int k = 0; k < m; ++k) block[k * m + k] = kEqualityFloor;
          break;
        case PathKind::kFixed:
          block[0] = NewtonSystem::kFixed;
          residual_[r] = 0.0;
          break;
        case PathKind::kOrthant:
          for (int k = 0; k < m - 1; ++k) {
            block[k * m + k] = NewtonSystem::kFixed;
            residual_[r + k] = 0.0;
          }
          block[m * m - 1] = s_[last] / lambda_[last];
          break;
        case PathKind::kInterval:
          block[0] = tau_[2 * i] / (lambda_[r] - blocks.lo[r]) + tau_[2 * i + 1] / (blocks.hi[r] - lambda_[r]);
          break;
        case PathKind::kCone: {
          set_hessian(i);
          const ConeView cone(blocks, i);
          for (int k = 0; k < m - 1; ++k) {
            if (blocks.mu[r + k] > 0.0) continue;
            block[k * m + k] = NewtonSystem::kFixed;
            residual_[r + k] = 0.0;
          }
          for (int a = 1; a <= cone.n; ++a) {
            const int row = cone.index[a] - r;
            for (int b = 1; b <= cone.n; ++b)
              block[(cone.index[b] - r) * m + row] = scaling_[i].hessian(a, b) / (cone.mu[a] * cone.mu[b]);
            block[(m - 1) * m + row] = scaling_[i].hessian(a, 0) / cone.mu[a];
          }
          block[m * m - 1] = s_[last] / lambda_[last];
          break;
        }
      }
    }
    if (!system.factorize()) return PathOutcome::kBroken;

    // Predictor.
    if (!solve_direction(system, 0.0, false)) return PathOutcome::kBroken;
    const double affine = std::min(1.0, longest_step(kLongest));
    const double predicted = std::max(0.0, complementarity(affine));
    double sigma = m_ > 0.0 ? std::pow(predicted / m_, 3) : 0.0;
    sigma = std::clamp(sigma, kSmallestSigma, 1.0);
    if (affine < kShortAffine) sigma = std::max(sigma, kCautiousSigma);
    affine_lambda_ = dlambda_;
    affine_s_ = ds_;
    affine_tau_ = dtau_;

    // Corrector.
    const double boundary = 0.9 + 0.095 * affine;
    const auto damped = [&] { return std::min(1.0, boundary * longest_step(kLongest)); };
    if (!solve_direction(system, sigma * m_, true)) return PathOutcome::kBroken;
    double step = damped();
    if (step < kShortStep) {
      // Without the second-order terms, which mislead far from the path, and nearer to its centre.
      if (!solve_direction(system, std::max(sigma, 0.5) * m_, false)) return PathOutcome::kBroken;
      const double second = damped();
      if (second <= step) {
        if (!solve_direction(system, sigma * m_, true)) return PathOutcome::kBroken;
      } else {
        step = second;
      }
    }
    take_step(step);
    if (!std::isfinite(m_)) return PathOutcome::kBroken;
    round();
    if (history != nullptr) history->push_back(natv_ / dual_->velocity_scale);
    if (natv_ <= settings.tolerance) return PathOutcome::kConverged;
    short_steps_ = step < kHopelessStep ? short_steps_ + 1 : 0;
    if (short_steps_ >= 2) return PathOutcome::kShort;
    if (natv_ <= settings.pause_at) return PathOutcome::kReady;
  }
  return PathOutcome::kLimit;
}

}  // namespace touchstone
