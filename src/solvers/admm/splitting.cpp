#include "touchstone/solvers/admm/splitting.hpp"

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

constexpr double kFirstRho = 0.05;  // for a mean diagonal of 1
constexpr double kBalance = 10.0;   // ratio of the residuals beyond which rho is corrected
constexpr double kMostChange = 10.0;
constexpr int kAdaptAt = 8;  // steps before the correction
constexpr int kTestEvery = 4;
constexpr double kProgress = 0.5;  // natv must fall to this share from test to test
// With a small rho:
constexpr double kRestRho = 0.005;
constexpr int kFirstLook = 2;          // steps after which natv
constexpr double kRestVelocity = 1.5;  // is at most so many velocity scales where the bodies rest
constexpr int kSlowFrom = 8, kMostRestSteps = 24;
constexpr double kSlow = 0.7;  // share of natv that is left after a step, above which Newton's method is quicker

}  // namespace

bool Splitting::factorize(const DualProblem& dual, NewtonSystem& system) {
  for (int i = 0; i < dual.nblock(); ++i) {
    const int m = dual.blocks.size(i);
    double* block = system.Lambda.data(i);
    std::fill(block, block + m * m, 0.0);
    for (int k = 0; k < m; ++k) block[k * (m + 1)] = rho_;
  }
  return system.factorize();
}

void Splitting::step(const DualProblem& dual, NewtonSystem& system) {
  x_ = rho_ * y_ + z_ - dual.g;
  for (int i = 0; i < dual.nblock(); ++i)
    x_[dual.blocks.row[i + 1] - 1] -= de_saxce(dual.blocks, i, z_.data() + dual.blocks.row[i]);
  system.solve(x_);
  last_ = y_;
  y_ = x_ - z_ / rho_;
  project(dual.blocks, y_.data(), y_.data());
  z_ -= rho_ * (x_ - y_);
  primal_ = (x_ - y_).lpNorm<Eigen::Infinity>();
  dual_ = rho_ * (y_ - last_).lpNorm<Eigen::Infinity>();
}

// Returns whether rho has changed.
bool Splitting::adapt() {
  const double ratio = primal_ / std::max(dual_, 1e-300);
  if (ratio <= kBalance && ratio * kBalance >= 1.0) return false;
  rho_ *= std::clamp(std::sqrt(ratio), 1.0 / kMostChange, kMostChange);
  return true;
}

// From zero. Returns whether there is a factor.
bool Splitting::start(const DualProblem& dual, NewtonSystem& system, double rho) {
  steps_ = 0;
  rho_ = rho;
  y_.setZero(dual.nrow());
  z_ = dual.g;  // the multiplier of the NCP is u + Gamma(u)
  for (int i = 0; i < dual.nblock(); ++i)
    z_[dual.blocks.row[i + 1] - 1] += de_saxce(dual.blocks, i, dual.g.data() + dual.blocks.row[i]);
  return factorize(dual, system);
}

double Splitting::run_at_rest(const DualProblem& dual, NewtonSystem& system, double tolerance, double best,
                              VectorX& lambda, VectorX& u) {
  if (!start(dual, system, kRestRho)) return best;
  double before = kRestVelocity * dual.velocity_scale;
  while (steps_ < kMostRestSteps) {
    step(dual, system);
    ++steps_;
    if (steps_ < kFirstLook) continue;
    compute_velocity(dual, y_, u_);
    const double value = natv(dual, ContactModel::kNcp, y_, u_);
    if (value < best) {
      best = value;
      lambda = y_;
      u = u_;
    }
    if (best <= tolerance) break;
    if (steps_ == kFirstLook && !(value <= before)) break;
    if (steps_ >= kSlowFrom && !(value <= kSlow * before)) break;
    before = value;
  }
  return best;
}

double Splitting::run(const DualProblem& dual, NewtonSystem& system, const SplittingSettings& settings, double best,
                      VectorX& lambda, VectorX& u) {
  if (!start(dual, system, kFirstRho)) return best;
  double before = best;
  while (steps_ < settings.max_steps) {
    step(dual, system);
    ++steps_;
    if (steps_ % kTestEvery != 0) continue;
    compute_velocity(dual, y_, u_);
    const double value = natv(dual, ContactModel::kNcp, y_, u_);
    if (value < best) {
      best = value;
      lambda = y_;
      u = u_;
    } else if (steps_ == kTestEvery) {
      break;
    }
    if (best <= settings.tolerance || best <= settings.good_enough || !std::isfinite(value)) break;
    if (steps_ == kAdaptAt && adapt()) {
      if (!factorize(dual, system)) break;
    } else if (steps_ > kAdaptAt && !(value <= kProgress * before)) {
      break;
    }
    before = value;
  }
  return best;
}

}  // namespace touchstone
