// Linear systems that need not be symmetric and may say the same twice.
#pragma once

#include <vector>

namespace touchstone {

// Solves G x = r by elimination with complete pivoting, after rows and columns were scaled. Rows that depend on the
// rest, to 1e-9, are left out; of the many x that are left then, the one with the least sum of (x / weight)^2. Memory
// is kept.
class PivotedSolve {
 public:
  // Empties the n x n matrix, row by row.
  void begin(int n);
  double& G(int i, int j) { return G_[static_cast<std::size_t>(i) * n_ + static_cast<std::size_t>(j)]; }
  double G(int i, int j) const { return G_[static_cast<std::size_t>(i) * n_ + static_cast<std::size_t>(j)]; }
  double& r(int i) { return r_[static_cast<std::size_t>(i)]; }
  // One unless it is set after begin.
  double& weight(int i) { return weight_[static_cast<std::size_t>(i)]; }
  double x(int i) const { return x_[static_cast<std::size_t>(i)]; }
  int size() const { return static_cast<int>(n_); }
  // Destroys G and r. Returns the rank.
  int solve();

 private:
  void scale();
  void substitute(std::size_t rank);
  void make_least(std::size_t rank);

  std::size_t n_ = 0;
  std::vector<double> G_, r_, x_, column_scale_, weight_;
  std::vector<double> null_, normal_, along_;  // the null space, its normal matrix, right side
  std::vector<std::size_t> row_, column_;
};

}  // namespace touchstone
