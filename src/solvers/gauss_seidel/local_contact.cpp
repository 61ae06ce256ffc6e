#include "touchstone/solvers/gauss_seidel/local_contact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include "touchstone/math/cones.hpp"

namespace touchstone {
namespace {

constexpr int kMaxNewtonSteps = 60;
constexpr double kSmallPivot = 1e-10;  // of the mean diagonal: below it the block counts as singular
constexpr double kConverged = 1e-6;    // relative Newton step after which the error is of order its square

// Newton's method on an increasing h with h(0) < 0, from `alpha`; evaluate(alpha, h, slope) returns false if alpha is
// the root as far as rounding tells.
template <typename Evaluate>
double find_root(double alpha, double scale, Evaluate&& evaluate) {
  double low = 0.0, high = kInfinity;
  for (int step = 0; step < kMaxNewtonSteps; ++step) {
    double h = 0.0, slope = 0.0;
    evaluate(alpha, h, slope);
    if (h == 0.0) break;
    (h < 0.0 ? low : high) = alpha;
    double next = alpha - h / slope;
    if (!(next > low && next < high)) {
      next = high < kInfinity ? 0.5 * (low + high) : 2.0 * alpha + scale;
    }
    const double change = std::abs(next - alpha);
    alpha = next;
    if (change <= kConverged * alpha && std::abs(h) < 1e-4) break;
    if (high < kInfinity && high - low <= 1e-15 * high) break;
  }
  return alpha;
}

using SmallMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMaxBlockSize, kMaxBlockSize>;
using SmallVector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kMaxBlockSize, 1>;

// b = u - (A + shift I) lambda: the velocity that a contact would have without its own impulse.
void take_own(const double* A, int m, double shift, const double* u, const double* lambda, double* b) {
  for (int r = 0; r < m; ++r) {
    b[r] = u[r] - shift * lambda[r];
    for (int s = 0; s < m; ++s) b[r] -= A[s * m + r] * lambda[s];
  }
}

// T + alpha I, factored as L D L'.
class ShiftedTridiagonal {
 public:
  ShiftedTridiagonal(int size, const double* diagonal, const double* below, double alpha) : n_(size) {
    double pivot = diagonal[0] + alpha;
    inverse_[0] = 1.0 / pivot;
    for (int r = 1; r < n_; ++r) {
      factor_[r - 1] = below[r - 1] * inverse_[r - 1];
      pivot = diagonal[r] + alpha - factor_[r - 1] * below[r - 1];
      inverse_[r] = 1.0 / pivot;
    }
  }

  void solve(double* x) const {
    for (int r = 1; r < n_; ++r) x[r] -= factor_[r - 1] * x[r - 1];
    for (int r = 0; r < n_; ++r) x[r] *= inverse_[r];
    for (int r = n_ - 1; r > 0; --r) x[r - 1] -= factor_[r - 1] * x[r];
  }

 private:
  int n_;
  double inverse_[kMaxBlockSize], factor_[kMaxBlockSize];
};

// The smaller pivot of a symmetric 3x3 block eliminated from the normal, relative to its mean diagonal, decides.
bool is_nearly_singular(const double* A) {
  const double scale = (std::abs(A[0]) + std::abs(A[4]) + std::abs(A[8])) / 3.0;
  if (!(A[8] > kSmallPivot * scale)) return true;
  const double s00 = A[0] - A[6] * A[2] / A[8], s11 = A[4] - A[7] * A[5] / A[8];
  const double s01 = A[3] - A[6] * A[5] / A[8], s10 = A[1] - A[7] * A[2] / A[8];
  const double largest = std::max(s00, s11);
  return !(largest > kSmallPivot * scale) || !(s00 * s11 - s01 * s10 > kSmallPivot * scale * largest);
}

}  // namespace

void LocalContacts::prepare(const DualProblem& dual) {
  dual_ = &dual;
  const auto count = static_cast<std::size_t>(dual.nblock());
  contact3_.resize(count);
  reduced_.resize(count);
  alpha_.assign(count, 0.0);
  for (int i = 0; i < dual.nblock(); ++i) {
    reduced_[i].made = false;
    if (dual.blocks.type[i] == BlockType::kCoulomb && dual.blocks.size(i) == 3) prepare_contact3(i);
  }
}

void LocalContacts::prepare_contact3(int block) {
  Contact3& contact = contact3_[block];
  const double* A = dual_->diagonal_block(block);
  std::copy(A, A + 9, contact.A);
  if (is_nearly_singular(A)) {
    for (int k = 0; k < 9; k += 4) contact.A[k] += kProximalShift * dual_->d[block];
  }
  A = contact.A;
  const double* mu = dual_->blocks.mu.data() + dual_->blocks.row[block];
  contact.inverse_nn = 1.0 / A[8];
  for (int j = 0; j < 2; ++j) {
    contact.mu[j] = mu[j];
    contact.w[j] = mu[j] * A[3 * j + 2];
    contact.c_n[j] = A[6 + j] * contact.inverse_nn;
  }
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 2; ++c) contact.S[r][c] = mu[r] * (A[3 * c + r] - contact.c_n[r] * A[3 * c + 2]) * mu[c];
  }
}

LocalMode LocalContacts::operator()(int block, const double* u, double* lambda) {
  if (dual_->blocks.size(block) == 3 && contact3_[block].mu[0] > 0.0 && contact3_[block].mu[1] > 0.0)
    return solve_contact3(block, u, lambda);
  return solve_general(block, u, lambda);
}

LocalMode LocalContacts::solve_contact3(int block, const double* u, double* lambda) {
  const Contact3& contact = contact3_[block];
  const double* A = contact.A;
  double b[3];
  for (int k = 0; k < 3; ++k) b[k] = u[k] - (A[k] * lambda[0] + A[3 + k] * lambda[1] + A[6 + k] * lambda[2]);
  if (b[2] >= 0.0) {
    lambda[0] = lambda[1] = lambda[2] = 0.0;
    return LocalMode::kOpen;
  }
  const double c0 = contact.mu[0] * (b[0] - contact.c_n[0] * b[2]);
  const double c1 = contact.mu[1] * (b[1] - contact.c_n[1] * b[2]);
  const double s00 = contact.S[0][0], s01 = contact.S[0][1], s10 = contact.S[1][0], s11 = contact.S[1][1];
  // y = p / det with p = -adj(S + alpha I) c, linear in alpha, and det quadratic.
  const double p0 = s01 * c1 - s11 * c0, p1 = s10 * c0 - s00 * c1;
  const double det0 = s00 * s11 - s01 * s10, trace = s00 + s11;
  const auto normal = [&](double y0, double y1) {
    return -(b[2] + contact.w[0] * y0 + contact.w[1] * y1) * contact.inverse_nn;
  };
  {
    const double y0 = p0 / det0, y1 = p1 / det0, n = normal(y0, y1);
    if (det0 > 0.0 && n >= 0.0 && y0 * y0 + y1 * y1 <= n * n) {  // sticks
      lambda[0] = contact.mu[0] * y0;
      lambda[1] = contact.mu[1] * y1;
      lambda[2] = n;
      return LocalMode::kStick;
    }
  }
  const double alpha = find_root(alpha_[block], trace, [&](double a, double& h, double& slope) {
    const double q0 = p0 - a * c0, q1 = p1 - a * c1;
    const double det = det0 + a * (trace + a);
    const double inverse = 1.0 / std::sqrt(q0 * q0 + q1 * q1);
    const double top = -(b[2] * det + contact.w[0] * q0 + contact.w[1] * q1) * contact.inverse_nn;
    const double top_slope = -(b[2] * (trace + 2.0 * a) - contact.w[0] * c0 - contact.w[1] * c1) * contact.inverse_nn;
    const double ratio = top * inverse;
    h = ratio - 1.0;
    slope = (top_slope + ratio * (q0 * c0 + q1 * c1) * inverse) * inverse;
  });
  alpha_[block] = alpha;
  const double q0 = p0 - alpha * c0, q1 = p1 - alpha * c1;
  const double det = det0 + alpha * (trace + alpha);
  const double n = std::max(0.0, normal(q0 / det, q1 / det));
  const double scale = n / std::sqrt(q0 * q0 + q1 * q1);  // on the cone to the last digit
  lambda[0] = contact.mu[0] * scale * q0;
  lambda[1] = contact.mu[1] * scale * q1;
  lambda[2] = n;
  return LocalMode::kSlide;
}

const LocalContacts::Reduced& LocalContacts::reduce(int block) {
  Reduced& c = reduced_[block];
  if (c.made) return c;
  c.made = true;
  const int m = dual_->blocks.size(block), n = m - 1;
  const double* mu = dual_->blocks.mu.data() + dual_->blocks.row[block];
  SmallMatrix A = Eigen::Map<const MatrixX>(dual_->diagonal_block(block), m, m);
  A.diagonal().array() += kProximalShift * dual_->d[block];
  c.k = 0;
  for (int j = 0; j < n; ++j) {
    if (mu[j] > 0.0) c.index[c.k++] = j;
  }
  SmallMatrix S(c.k, c.k);
  SmallVector w(c.k);
  for (int r = 0; r < c.k; ++r) {
    const int row = c.index[r];
    c.share[r] = A(row, n) / A(n, n);
    w[r] = mu[row] * A(n, row);
    for (int s = 0; s < c.k; ++s)
      S(r, s) = mu[row] * (A(row, c.index[s]) - c.share[r] * A(n, c.index[s])) * mu[c.index[s]];
  }
  if (dual_->symmetric && c.k > 1) {
    const Eigen::Tridiagonalization<SmallMatrix> reduction(S);
    const SmallMatrix Q = reduction.matrixQ();
    for (int r = 0; r < c.k; ++r) c.diagonal[r] = reduction.diagonal()[r];
    for (int r = 0; r + 1 < c.k; ++r) c.below[r] = reduction.subDiagonal()[r];
    w = Q.transpose() * w.eval();
    S = Q;
  } else if (dual_->symmetric && c.k == 1) {
    c.diagonal[0] = S(0, 0);
    S(0, 0) = 1.0;
  }
  for (int r = 0; r < c.k; ++r) c.w[r] = w[r];
  std::copy_n(S.data(), c.k * c.k, c.Q);
  return c;
}

// By hand: where the arrays begin is chance, and kernels round differently before an aligned address.
double LocalContacts::Reduced::along_w(const double* x) const {
  double sum = 0.0;
  for (int r = 0; r < k; ++r) sum += w[r] * x[r];
  return sum;
}

void LocalContacts::Reduced::rotate(double* x, bool back) const {
  double from[kMaxBlockSize];
  std::copy_n(x, k, from);
  for (int r = 0; r < k; ++r) {
    x[r] = 0.0;
    for (int s = 0; s < k; ++s) x[r] += (back ? Q[s * k + r] : Q[r * k + s]) * from[s];
  }
}

double LocalContacts::Reduced::trace(bool is_tridiagonal) const {
  double sum = 0.0;
  for (int r = 0; r < k; ++r) sum += is_tridiagonal ? diagonal[r] : Q[r * k + r];
  return sum;
}

LocalMode LocalContacts::solve_general(int block, const double* u, double* lambda) {
  const int m = dual_->blocks.size(block), n = m - 1;
  const double* mu = dual_->blocks.mu.data() + dual_->blocks.row[block];
  const double* A = dual_->diagonal_block(block);
  const double shift = kProximalShift * dual_->d[block], A_nn = A[m * m - 1] + shift;
  double b[kMaxBlockSize];
  take_own(A, m, shift, u, lambda, b);
  std::fill(lambda, lambda + m, 0.0);
  if (b[n] >= 0.0) return LocalMode::kOpen;
  const Reduced& contact = reduce(block);
  const int k = contact.k;
  if (k == 0) {
    lambda[n] = -b[n] / A_nn;
    return LocalMode::kStick;
  }
  SmallVector c(k), y(k), rate(k);
  for (int r = 0; r < k; ++r) c[r] = mu[contact.index[r]] * (b[contact.index[r]] - contact.share[r] * b[n]);
  const bool rotated = dual_->symmetric;
  if (rotated) contact.rotate(c.data(), false);
  const auto normal = [&] { return -(b[n] + contact.along_w(y.data())) / A_nn; };
  // y of an alpha and, times -1, the inverse of S + alpha I applied to it.
  const auto solve = [&](double alpha, bool with_rate) {
    if (rotated) {
      const ShiftedTridiagonal T(k, contact.diagonal, contact.below, alpha);
      y = -c;
      T.solve(y.data());
      if (!with_rate) return;
      rate = -y;
      T.solve(rate.data());
    } else {
      SmallMatrix S(k, k);
      std::copy_n(contact.Q, k * k, S.data());
      S.diagonal().array() += alpha;
      const Eigen::PartialPivLU<SmallMatrix> lu(S);
      y = -lu.solve(c);
      if (with_rate) rate = -lu.solve(y);
    }
  };
  const auto store = [&](double normal_impulse, double scale) {
    if (rotated) contact.rotate(y.data(), true);
    for (int r = 0; r < k; ++r) lambda[contact.index[r]] = mu[contact.index[r]] * scale * y[r];
    lambda[n] = normal_impulse;
  };
  solve(0.0, false);
  if (y.allFinite() && y.norm() <= normal()) {
    store(normal(), 1.0);
    return LocalMode::kStick;
  }
  const double alpha = find_root(alpha_[block], contact.trace(rotated), [&](double a, double& h, double& slope) {
    solve(a, true);
    const double length = y.norm(), top = normal();
    h = top / length - 1.0;
    slope = -contact.along_w(rate.data()) / A_nn / length - top * y.dot(rate) / (length * length * length);
  });
  alpha_[block] = alpha;
  solve(alpha, false);
  const double n_impulse = std::max(0.0, normal());
  store(n_impulse, n_impulse / y.norm());
  return LocalMode::kSlide;
}

}  // namespace touchstone
