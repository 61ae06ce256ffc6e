#include "touchstone/sim/events/pivoted_solve.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace touchstone {

void PivotedSolve::begin(int n) {
  n_ = static_cast<std::size_t>(n);
  G_.assign(n_ * n_, 0.0);
  r_.assign(n_, 0.0);
  x_.assign(n_, 0.0);
  column_scale_.assign(n_, 1.0);
  row_.resize(n_);
  column_.resize(n_);
}

// So that the largest entry of each row and column is 1.
void PivotedSolve::scale() {
  for (std::size_t i = 0; i < n_; ++i) {
    double largest = 0.0;
    for (std::size_t j = 0; j < n_; ++j) largest = std::max(largest, std::abs(G_[i * n_ + j]));
    if (!(largest > 0.0)) continue;
    for (std::size_t j = 0; j < n_; ++j) G_[i * n_ + j] /= largest;
    r_[i] /= largest;
  }
  for (std::size_t j = 0; j < n_; ++j) {
    double largest = 0.0;
    for (std::size_t i = 0; i < n_; ++i) largest = std::max(largest, std::abs(G_[i * n_ + j]));
    if (!(largest > 0.0)) continue;
    column_scale_[j] = 1.0 / largest;
    for (std::size_t i = 0; i < n_; ++i) G_[i * n_ + j] /= largest;
  }
}

int PivotedSolve::solve() {
  constexpr double kDependent = 1e-9;
  scale();
  std::iota(row_.begin(), row_.end(), std::size_t{0});
  std::iota(column_.begin(), column_.end(), std::size_t{0});
  const auto entry = [&](std::size_t i, std::size_t j) -> double& { return G_[row_[i] * n_ + column_[j]]; };
  std::size_t rank = 0;
  for (; rank < n_; ++rank) {
    std::size_t best_i = rank, best_j = rank;
    for (std::size_t i = rank; i < n_; ++i) {
      for (std::size_t j = rank; j < n_; ++j) {
        if (std::abs(entry(i, j)) > std::abs(entry(best_i, best_j))) {
          best_i = i;
          best_j = j;
        }
      }
    }
    if (!(std::abs(entry(best_i, best_j)) > kDependent)) break;
    std::swap(row_[rank], row_[best_i]);
    std::swap(column_[rank], column_[best_j]);
    for (std::size_t i = rank + 1; i < n_; ++i) {
      const double factor = entry(i, rank) / entry(rank, rank);
      if (factor == 0.0) continue;
      for (std::size_t j = rank; j < n_; ++j) entry(i, j) -= factor * entry(rank, j);
      r_[row_[i]] -= factor * r_[row_[rank]];
    }
  }
  for (std::size_t k = rank; k-- > 0;) {
    double sum = r_[row_[k]];
    for (std::size_t j = k + 1; j < rank; ++j) sum -= entry(k, j) * x_[column_[j]];
    x_[column_[k]] = sum / entry(k, k);
  }
  for (std::size_t j = 0; j < n_; ++j) x_[j] *= column_scale_[j];
  return static_cast<int>(rank);
}

}  // namespace touchstone
