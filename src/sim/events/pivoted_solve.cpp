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
  weight_.assign(n_, 1.0);
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
  substitute(rank);
  if (rank < n_) make_least(rank);
  for (std::size_t j = 0; j < n_; ++j) x_[j] *= column_scale_[j];
  return static_cast<int>(rank);
}

// The x whose dependent part is zero.
void PivotedSolve::substitute(std::size_t rank) {
  const auto entry = [&](std::size_t i, std::size_t j) { return G_[row_[i] * n_ + column_[j]]; };
  for (std::size_t k = rank; k-- > 0;) {
    double sum = r_[row_[k]];
    for (std::size_t j = k + 1; j < rank; ++j) sum -= entry(k, j) * x_[column_[j]];
    x_[column_[k]] = sum / entry(k, k);
  }
}

// Takes from x what lies in the null space, in the sense of the weights: x - N (N' V N)^-1 N' V x, V = weight^-2. Rows
// of N are in the order of the pivots: [-U_1^-1 U_2; 1].
void PivotedSolve::make_least(std::size_t rank) {
  const std::size_t free = n_ - rank;
  const auto entry = [&](std::size_t i, std::size_t j) { return G_[row_[i] * n_ + column_[j]]; };
  null_.assign(n_ * free, 0.0);
  for (std::size_t f = 0; f < free; ++f) {
    double* N = null_.data() + f * n_;
    N[rank + f] = 1.0;
    for (std::size_t k = rank; k-- > 0;) {
      double sum = -entry(k, rank + f);
      for (std::size_t j = k + 1; j < rank; ++j) sum -= entry(k, j) * N[j];
      N[k] = sum / entry(k, k);
    }
    // In units of the weights.
    for (std::size_t k = 0; k < n_; ++k) N[k] *= column_scale_[column_[k]] / weight_[column_[k]];
  }
  normal_.assign(free * free, 0.0);
  along_.assign(free, 0.0);
  for (std::size_t f = 0; f < free; ++f) {
    const double* N = null_.data() + f * n_;
    for (std::size_t g = 0; g <= f; ++g) {
      const double* other = null_.data() + g * n_;
      double sum = 0.0;
      for (std::size_t k = 0; k < n_; ++k) sum += N[k] * other[k];
      normal_[f * free + g] = sum;
    }
    for (std::size_t k = 0; k < n_; ++k)
      along_[f] += N[k] * x_[column_[k]] * column_scale_[column_[k]] / weight_[column_[k]];
  }
  // Cholesky's factor in place; each column of N has an entry of its own, so that the matrix is positive definite.
  for (std::size_t f = 0; f < free; ++f) {
    for (std::size_t g = 0; g <= f; ++g) {
      double sum = normal_[f * free + g];
      for (std::size_t k = 0; k < g; ++k) sum -= normal_[f * free + k] * normal_[g * free + k];
      normal_[f * free + g] = f == g ? std::sqrt(std::max(sum, 1e-300)) : sum / normal_[g * free + g];
    }
    for (std::size_t k = 0; k < f; ++k) along_[f] -= normal_[f * free + k] * along_[k];
    along_[f] /= normal_[f * free + f];
  }
  for (std::size_t f = free; f-- > 0;) {
    for (std::size_t k = f + 1; k < free; ++k) along_[f] -= normal_[k * free + f] * along_[k];
    along_[f] /= normal_[f * free + f];
  }
  for (std::size_t f = 0; f < free; ++f) {
    const double* N = null_.data() + f * n_;
    for (std::size_t k = 0; k < n_; ++k)
      x_[column_[k]] -= along_[f] * N[k] * weight_[column_[k]] / column_scale_[column_[k]];
  }
}

}  // namespace touchstone
