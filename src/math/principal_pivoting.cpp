#include "touchstone/math/principal_pivoting.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

constexpr int kPatience = 3;  // exchanges of all wrong rows without fewer of them before one at a time

}  // namespace

void PrincipalPivoting::resize(int n) {
  n_ = n;
  A_.resize(at(n) * at(n));
  is_free_.assign(at(n), 0);
  is_active_.assign(at(n), 0);
  w_.resize(at(n));
  reduced_.resize(at(n));
}

// x of the active rows, zero elsewhere, and w.
bool PrincipalPivoting::guess(const double* b, double* x) {
  active_.clear();
  for (int i = 0; i < n_; ++i) {
    if (is_active_[at(i)] != 0) active_.push_back(i);
  }
  const int count = static_cast<int>(active_.size());
  factor_.resize(count);
  for (int c = 0; c < count; ++c) {
    const double* from = column(active_[at(c)]);
    double* to = factor_.column(c);
    for (int k = c; k < count; ++k) to[k] = from[active_[at(k)]];
    reduced_[at(c)] = -b[active_[at(c)]];
  }
  if (!factor_.eliminate(count) || !factor_.factorize()) return false;
  factor_.solve(reduced_.data());
  std::fill(x, x + n_, 0.0);
  std::copy(b, b + n_, w_.begin());
  for (int c = 0; c < count; ++c) {
    const double value = x[active_[at(c)]] = reduced_[at(c)];
    const double* from = column(active_[at(c)]);
    for (int i = 0; i < n_; ++i) w_[at(i)] += value * from[i];
  }
  return true;
}

bool PrincipalPivoting::is_wrong(int i, const double* x, double tolerance) const {
  if (is_free_[at(i)] != 0) return false;
  return is_active_[at(i)] != 0 ? x[i] * A_[at(i) * at(n_ + 1)] < -tolerance : w_[at(i)] < -tolerance;
}

bool PrincipalPivoting::solve(const double* b, double tolerance, int most_guesses, double* x) {
  for (int i = 0; i < n_; ++i) is_active_[at(i)] = is_free_[at(i)] != 0 || b[i] < 0.0 ? 1 : 0;
  int fewest = n_ + 1, patience = kPatience;
  for (int round = 0; round < most_guesses; ++round) {
    if (!guess(b, x)) return false;
    int wrong = 0, last = 0;
    for (int i = 0; i < n_; ++i) {
      if (!is_wrong(i, x, tolerance)) continue;
      ++wrong;
      last = i;
    }
    if (wrong == 0) {
      for (int i : active_) x[i] = is_free_[at(i)] != 0 ? x[i] : std::max(0.0, x[i]);
      return true;
    }
    patience = wrong < fewest ? kPatience : patience - 1;
    fewest = std::min(fewest, wrong);
    for (int i = patience > 0 ? 0 : last; i <= last; ++i) {
      if (is_wrong(i, x, tolerance)) is_active_[at(i)] = is_active_[at(i)] != 0 ? 0 : 1;
    }
  }
  return false;
}

double PrincipalPivoting::residual(const double* b, const double* x, const double* length) {
  std::copy(b, b + n_, w_.begin());
  for (int j = 0; j < n_; ++j) {
    const double* from = column(j);
    for (int i = 0; i < n_; ++i) w_[at(i)] += from[i] * x[j];
  }
  double worst = 0.0;
  for (int i = 0; i < n_; ++i) {
    const double w = w_[at(i)], scaled = x[i] * column(i)[i];
    const double error = std::abs(is_free_[at(i)] == 0 && scaled < w ? scaled : w) * length[i];
    if (!(error <= worst)) worst = error;  // NaN wins
  }
  return worst;
}

}  // namespace touchstone
