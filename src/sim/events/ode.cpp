#include "touchstone/sim/events/ode.hpp"

#include <cmath>

namespace touchstone {
namespace {

// Rows 2 to 6 of the method; the seventh is the solution of fifth order.
constexpr double kA[6][6] = {
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
constexpr double kError[7] = {71.0 / 57600, 0.0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
constexpr double kQuartic[7] = {-12715105075.0 / 11282082432.0,  0.0,
                                87487479700.0 / 32700410799.0,   -10690763975.0 / 1880347072.0,
                                701980252875.0 / 199316789632.0, -1453857185.0 / 822651844.0,
                                69997945.0 / 29380423.0};

}  // namespace

bool OdeStep::make(OdeSystem& f, const VectorX& y, const VectorX& rate, double h) {
  h_ = h;
  start_ = y;
  k_[0] = rate;
  quartic_.setZero(y.size());
  error_.setZero(y.size());
  iterations_ = 0;
  switch (rule_) {
    case SmoothRule::kDormandPrince:
      return dormand_prince(f);
    case SmoothRule::kRungeKutta:
      return runge_kutta(f);
    case SmoothRule::kMidpoint:
      return midpoint(f);
    case SmoothRule::kVariational:
      return f.make_step(h, end_, iterations_) && finish(f);
  }
  return false;
}

bool OdeStep::finish(OdeSystem& f) { return end_.allFinite() && f.rate(end_, k_[kStages - 1]) && last().allFinite(); }

bool OdeStep::dormand_prince(OdeSystem& f) {
  for (int i = 1; i < kStages; ++i) {
    at_ = start_;
    for (int j = 0; j < i; ++j) at_ += h_ * kA[i - 1][j] * k_[j];
    if (!at_.allFinite()) return false;
    if (i == kStages - 1) end_ = at_;
    if (!f.rate(at_, k_[i])) return false;
  }
  for (int i = 0; i < kStages; ++i) {
    error_ += h_ * kError[i] * k_[i];
    quartic_ += h_ * kQuartic[i] * k_[i];
  }
  return error_.allFinite();
}

bool OdeStep::runge_kutta(OdeSystem& f) {
  const double shares[3] = {0.5, 0.5, 1.0};
  for (int i = 1; i < 4; ++i) {
    at_ = start_ + shares[i - 1] * h_ * k_[i - 1];
    if (!at_.allFinite() || !f.rate(at_, k_[i])) return false;
  }
  end_ = start_ + h_ / 6.0 * (k_[0] + 2.0 * k_[1] + 2.0 * k_[2] + k_[3]);
  return finish(f);
}

// y_m = y + h/2 f(y_m); then the end is y + h f(y_m).
bool OdeStep::midpoint(OdeSystem& f) {
  constexpr int kMost = 100;
  constexpr double kSame = 1e-14;      // relative change
  constexpr double kRounding = 1e-13;  // and one that no longer shrinks is rounding below this
  k_[1] = k_[0];
  double previous = HUGE_VAL, share = 1.0;
  for (int i = 0; i < kMost; ++i) {
    at_ = start_ + 0.5 * h_ * k_[1];
    ++iterations_;
    if (!at_.allFinite() || !f.rate(at_, k_[2])) return false;
    const double change = h_ * (k_[2] - k_[1]).lpNorm<Eigen::Infinity>();
    const double scale = 1.0 + at_.lpNorm<Eigen::Infinity>();
    const bool is_rounding = change > 0.5 * previous && change <= kRounding * scale;
    // Slips that end with the step turn to and fro by as much as they are corrected: then half of it is taken.
    if (change > 0.7 * previous) share = 0.5;
    previous = change;
    k_[1] += share * (k_[2] - k_[1]);
    if (change <= kSame * scale || is_rounding) {
      end_ = start_ + h_ * k_[1];
      return finish(f);
    }
  }
  return false;
}

void OdeStep::interpolate(double s, VectorX& y) const {
  // Hermite's cubic, and what makes it a quartic.
  const double r = 1.0 - s;
  y = start_ + s * (end_ - start_) +
      s * r * (r * (h_ * k_[0] - (end_ - start_)) + s * ((end_ - start_) - h_ * last()) + s * r * quartic_);
}

}  // namespace touchstone
