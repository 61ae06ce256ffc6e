#include "touchstone/contact/definiteness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

namespace touchstone {
namespace {

constexpr int kExactRows = 48;  // up to here the whole matrix is one part
constexpr int kPartRows = 24;   // of a part of a larger one
constexpr int kFewSteps = 8, kManySteps = 24;
constexpr double kSymmetric = 1e-9;  // relative skew part below which products with M serve for those with M'

using Tridiagonal = std::array<double, kManySteps>;

// --- Lanczos ---

// Number of eigenvalues of a symmetric tridiagonal matrix below x (Sturm sequence).
int count_below(const Tridiagonal& a, const Tridiagonal& b, int n, double x) {
  int count = 0;
  double q = 1.0;
  for (int i = 0; i < n; ++i) {
    q = a[i] - x - (i > 0 ? b[i - 1] * b[i - 1] / q : 0.0);
    if (q == 0.0) q = 1e-300;
    count += q < 0.0 ? 1 : 0;
  }
  return count;
}

// The k-th smallest eigenvalue by bisection.
double tridiagonal_eigenvalue(const Tridiagonal& a, const Tridiagonal& b, int n, int k) {
  double radius = 0.0;
  for (int i = 0; i < n; ++i)
    radius = std::max(radius, std::abs(a[i]) + std::abs(b[i]) + (i > 0 ? std::abs(b[i - 1]) : 0.0));
  double low = -radius, high = radius;
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + high);
    (count_below(a, b, n, middle) > k ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

// Extreme Ritz values of (M + M') / 2 after the given number of steps, without reorthogonalisation.
std::pair<double, double> extreme_ritz_values(const BlockSparseMatrix& M, bool symmetric, int steps,
                                              DefinitenessScratch& scratch) {
  const int n = M.rows();
  VectorX &previous = scratch.lanczos[0], &current = scratch.lanczos[1], &product = scratch.lanczos[2];
  previous.setZero(n);
  current.resize(n);
  product.resize(n);
  for (int i = 0; i < n; ++i) {  // any vector without symmetry
    const double turn = 0.618033988749895 * (i + 1);
    current[i] = turn - std::floor(turn) - 0.5;
  }
  current.normalize();
  Tridiagonal a{}, b{};
  steps = std::min(n, steps);
  int done = 0;
  double beta = 0.0;
  while (done < steps) {
    M.multiply(current.data(), product.data());
    if (!symmetric) {
      M.multiply_transpose_add(current.data(), product.data());
      product *= 0.5;
    }
    a[done] = current.dot(product);
    product -= a[done] * current + beta * previous;
    beta = product.norm();
    b[done++] = beta;
    if (beta <= 1e-12 * std::abs(a[0])) break;
    previous.swap(current);
    current = product / beta;
  }
  return {tridiagonal_eigenvalue(a, b, done, 0), tridiagonal_eigenvalue(a, b, done, done - 1)};
}

// --- Verdicts ---

Verdict not_symmetric(double skew) {
  return {ProblemStatus::kInvalid,
          fmt::format("G is not symmetric: its skew part is {:.3g} % of its largest entry, more than {:g} %; check the "
                      "order of rows and columns",
                      100.0 * skew, 100.0 * kMaxRelativeSkew),
          skew};
}

Verdict judge(double smallest, double largest, double skew) {
  if (!(smallest < -kMaxRelativeIndefiniteness * std::max(largest, -smallest)))
    return {ProblemStatus::kUsable, {}, skew};
  return {ProblemStatus::kInvalid,
          fmt::format(
              "G is indefinite: its scaled symmetric part has eigenvalues from {:.3g} to {:.3g}; check the order of "
              "rows and columns, masses and signs",
              smallest, largest),
          skew};
}

// --- The pass over the entries ---

// Numbers from one column of a part to the next: a multiple of four, with zeros below the last row.
int padded(int rows) { return (rows + 3) / 4 * 4; }

struct Findings {
  double largest = 0.0, skew = 0.0;              // entries
  double smallest_value = 0.0, top_value = 0.0;  // eigenvalues of doubtful parts: bounds of those of the matrix
};

// Block B (m x n, column-major) against its mirror image C (n x m), and against the diagonal entries p and q of its
// rows and columns. Returns the largest x^2 - p_r q_c with x the mean of both, which no semidefinite symmetric part has
// above zero.
double compare(const double* B, const double* C, int m, int n, const double* p, const double* q, Findings& found) {
  double excess = 0.0;
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < m; ++r) {
      const double x = B[c * m + r], y = C[r * n + c], mean = 0.5 * (x + y);
      found.largest = std::max(found.largest, std::max(std::abs(x), std::abs(y)));
      found.skew = std::max(found.skew, 0.5 * std::abs(x - y));
      excess = std::max(excess, mean * mean - p[r] * q[c]);
    }
  }
  return excess;
}

// The 2 x 2 minors of the symmetric part of a block that exceeds its diagonal entries.
void judge_pairs(const double* B, const double* C, int m, int n, const double* p, const double* q, Findings& found) {
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < m; ++r) {
      const double entry = 0.5 * (B[c * m + r] + C[r * n + c]);
      const double mean = 0.5 * (p[r] + q[c]), radius = std::hypot(0.5 * (p[r] - q[c]), entry);
      found.smallest_value = std::min(found.smallest_value, mean - radius);
      found.top_value = std::max(found.top_value, mean + radius);
    }
  }
}

// The mean of block B (m x n) and its mirror image C, at the mirror image's place below the diagonal.
void fill(const double* B, const double* C, int m, int n, int leading, double* target) {
  for (int c = 0; c < m; ++c) {
    for (int r = 0; r < n; ++r) target[c * leading + r] = 0.5 * (B[r * m + c] + C[c * n + r]);
  }
}

// Block rows [begin, end): their entries against their mirror images, and the diagonal part. Returns its largest
// diagonal entry.
double pass(const BlockSparseMatrix& M, int begin, int end, DefinitenessScratch& scratch, Findings& found) {
  const int first = M.row_begin[begin], rows = M.row_begin[end] - first, leading = padded(rows);
  double* part = scratch.part.data();
  std::fill(part, part + static_cast<std::ptrdiff_t>(rows) * leading, 0.0);
  for (int i = begin; i < end; ++i) {
    const int m = M.row_size(i), at = M.row_begin[i] - first;
    for (int k = M.start[i]; k < M.start[i + 1]; ++k) {
      const int j = M.col[k];
      if (j < i) continue;  // seen from the other side
      const int mirror = j == i ? k : scratch.next[j]++, n = M.row_size(j);
      const double *B = M.data(k), *C = M.data(mirror);
      const double *p = scratch.diagonal.data() + M.row_begin[i], *q = scratch.diagonal.data() + M.row_begin[j];
      const double excess = m == 3 && n == 3 ? compare(B, C, 3, 3, p, q, found) : compare(B, C, m, n, p, q, found);
      if (excess > kMaxRelativeIndefiniteness && j != i) judge_pairs(B, C, m, n, p, q, found);
      if (j < end) fill(B, C, m, n, leading, part + static_cast<std::ptrdiff_t>(at) * leading + M.row_begin[j] - first);
    }
  }
  double diagonal = 0.0;
  for (int r = 0; r < rows; ++r) diagonal = std::max(diagonal, part[static_cast<std::ptrdiff_t>(r) * (leading + 1)]);
  return diagonal;
}

// Whether the part, of which the lower triangle is filled, has no eigenvalue below -shift: L D L' of so few rows needs
// neither roots nor tiles. Columns are changed from a multiple of four rows on, which spoils what is above the
// diagonal. The part is lost.
bool is_positive(int n, double shift, double* part) {
  const std::ptrdiff_t leading = padded(n);
  for (int j = 0; j < n; ++j) {
    const double* column = part + j * leading;
    const double pivot = column[j] + shift;
    if (!(pivot > 0.0)) return false;
    const double inverse = 1.0 / pivot;
    for (int c = j + 1; c < n; ++c) {
      const Lanes factor = broadcast(column[c] * inverse);
      double* target = part + c * leading;
      for (std::ptrdiff_t i = c / 4 * 4; i < leading; i += 4)
        store_lanes(load_lanes(target + i) - factor * load_lanes(column + i), target + i);
    }
  }
  return true;
}

std::pair<double, double> extreme_eigenvalues(int rows, const AlignedVector& part) {
  const Eigen::Map<const MatrixX, 0, Eigen::OuterStride<>> symmetric(part.data(), rows, rows,
                                                                     Eigen::OuterStride<>(padded(rows)));
  const Eigen::SelfAdjointEigenSolver<MatrixX> solver(symmetric, Eigen::EigenvaluesOnly);
  return {solver.eigenvalues()[0], solver.eigenvalues()[rows - 1]};
}

// --- Few rows ---

// What `compare` and `fill` do for a 3 x 3 block, four numbers at once. Writes a fourth row of zeros below the three.
void gather_3(const double* B, const double* C, std::ptrdiff_t leading, double* target, Lanes& largest, Lanes& skew) {
  const auto size = [](Lanes x) { return x < 0.0 ? -x : x; };
  const auto raise = [](Lanes& most, Lanes x) { most = most < x ? x : most; };
  for (int c = 0; c < 3; ++c, target += leading) {
    const Lanes x{B[c], B[3 + c], B[6 + c], 0.0}, y{C[3 * c], C[3 * c + 1], C[3 * c + 2], 0.0};
    raise(largest, size(x));
    raise(largest, size(y));
    raise(skew, size(x - y));
    store_lanes(0.5 * (x + y), target);
  }
}

// The whole matrix as one part, in one pass. No bound by pairs of entries is needed, for the part says it all.
Findings gather(const BlockSparseMatrix& M, DefinitenessScratch& scratch) {
  const int leading = padded(M.rows());
  Findings found;
  Lanes largest{}, skew{};
  double* part = scratch.part.data();
  std::fill(part, part + static_cast<std::ptrdiff_t>(M.rows()) * leading, 0.0);
  scratch.next.assign(M.start.begin(), M.start.end());
  for (int i = 0; i < M.block_rows(); ++i) {
    const int m = M.row_size(i);
    double* columns = part + static_cast<std::ptrdiff_t>(M.row_begin[i]) * leading;
    for (int k = M.start[i]; k < M.start[i + 1]; ++k) {
      const int j = M.col[k];
      if (j < i) continue;  // seen from the other side
      const int mirror = j == i ? k : scratch.next[j]++;
      const double *B = M.data(k), *C = M.data(mirror);
      if (M.all_3x3) {
        gather_3(B, C, leading, columns + M.row_begin[j], largest, skew);
        continue;
      }
      for (int c = 0; c < m * M.row_size(j); ++c) {
        const double x = B[c], y = C[c % m * M.row_size(j) + c / m];
        found.largest = std::max(found.largest, std::max(std::abs(x), std::abs(y)));
        found.skew = std::max(found.skew, 0.5 * std::abs(x - y));
      }
      fill(B, C, m, M.row_size(j), leading, columns + M.row_begin[j]);
    }
  }
  for (int lane = 0; lane < 3; ++lane) {
    found.largest = std::max(found.largest, largest[lane]);
    found.skew = std::max(found.skew, 0.5 * skew[lane]);
  }
  return found;
}

Verdict check_few_rows(const BlockSparseMatrix& M, DefinitenessScratch& scratch, double max_skew) {
  constexpr std::size_t kBeyond = 4;  // numbers behind the part, which the last column's fourth row may touch
  const int n = M.rows(), leading = padded(n);
  scratch.part.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(leading) + kBeyond);
  const Findings found = gather(M, scratch);
  const double skew = found.largest > 0.0 ? found.skew / found.largest : 0.0;
  if (skew > max_skew) return not_symmetric(skew);
  double diagonal = 0.0;
  for (int r = 0; r < n; ++r)
    diagonal = std::max(diagonal, scratch.part.data()[static_cast<std::ptrdiff_t>(r) * (leading + 1)]);
  if (is_positive(n, kMaxRelativeIndefiniteness * diagonal, scratch.part.data()))
    return {ProblemStatus::kUsable, {}, skew};
  gather(M, scratch);
  const auto [low, high] = extreme_eigenvalues(n, scratch.part);
  return judge(low, high, skew);
}

}  // namespace

Verdict check_definiteness(const BlockSparseMatrix& M, DefinitenessScratch& scratch, double max_skew) {
  const int n = M.rows(), count = M.block_rows();
  if (n <= kExactRows) return check_few_rows(M, scratch, max_skew);
  const int limit = kPartRows;
  scratch.next.assign(M.start.begin(), M.start.end());
  scratch.part.resize(static_cast<std::size_t>(limit) * static_cast<std::size_t>(limit));
  scratch.saved.resize(scratch.part.size());
  scratch.diagonal.resize(static_cast<std::size_t>(n));
  for (int i = 0; i < count; ++i) {
    const int m = M.row_size(i);
    const double* block = M.data(M.find(i, i));
    for (int r = 0; r < m; ++r) scratch.diagonal[M.row_begin[i] + r] = block[r * (m + 1)];
  }
  Findings found;
  for (int begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && M.row_begin[end + 1] - M.row_begin[begin] <= limit) ++end;
    const double diagonal = pass(M, begin, end, scratch, found);
    const int rows = M.row_begin[end] - M.row_begin[begin];
    std::copy_n(scratch.part.begin(), static_cast<std::ptrdiff_t>(rows) * padded(rows), scratch.saved.begin());
    // No more than the largest eigenvalue allows, for a diagonal entry is a lower bound of it.
    if (is_positive(rows, kMaxRelativeIndefiniteness * diagonal, scratch.part.data())) continue;
    const auto [low, high] = extreme_eigenvalues(rows, scratch.saved);
    found.smallest_value = std::min(found.smallest_value, low);
    found.top_value = std::max(found.top_value, high);
  }
  const double skew = found.largest > 0.0 ? found.skew / found.largest : 0.0;
  if (skew > max_skew) return not_symmetric(skew);
  const int steps = found.smallest_value < 0.0 ? kManySteps : kFewSteps;
  const auto [low, high] = extreme_ritz_values(M, skew <= kSymmetric, steps, scratch);
  return judge(std::min(found.smallest_value, low), std::max(found.top_value, high), skew);
}

}  // namespace touchstone
