#include "touchstone/solvers/gauss_seidel/local_contact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
  alpha_.assign(count, 0.0);
  for (int i = 0; i < dual.nblock(); ++i) {
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

void LocalContacts::operator()(int block, const double* u, double* lambda) {
  if (dual_->blocks.size(block) == 3 && contact3_[block].mu[0] > 0.0 && contact3_[block].mu[1] > 0.0) {
    solve_contact3(block, u, lambda);
  } else {
    solve_general(block, u, lambda);
  }
}

void LocalContacts::solve_contact3(int block, const double* u, double* lambda) {
  const Contact3& contact = contact3_[block];
  const double* A = contact.A;
  double b[3];
  for (int k = 0; k < 3; ++k) b[k] = u[k] - (A[k] * lambda[0] + A[3 + k] * lambda[1] + A[6 + k] * lambda[2]);
  if (b[2] >= 0.0) {
    lambda[0] = lambda[1] = lambda[2] = 0.0;
    return;
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
      return;
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
}

void LocalContacts::solve_general(int block, const double* u, double* lambda) {
  using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kMaxBlockSize, 1>;
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMaxBlockSize, kMaxBlockSize>;
  const int m = dual_->blocks.size(block), n = m - 1;
  const double* mu = dual_->blocks.mu.data() + dual_->blocks.row[block];
  Matrix A = Eigen::Map<const MatrixX>(dual_->diagonal_block(block), m, m);
  A.diagonal().array() += kProximalShift * dual_->d[block];
  const Vector b = Eigen::Map<const VectorX>(u, m) - A * Eigen::Map<const VectorX>(lambda, m);

  std::fill(lambda, lambda + m, 0.0);
  if (b[n] >= 0.0) return;
  // Tangential components with friction; the others stay zero.
  int index[kMaxBlockSize];
  int k = 0;
  for (int j = 0; j < n; ++j) {
    if (mu[j] > 0.0) index[k++] = j;
  }
  if (k == 0) {
    lambda[n] = -b[n] / A(n, n);
    return;
  }
  Matrix S(k, k);
  Vector c(k), w(k), y(k);
  for (int r = 0; r < k; ++r) {
    const double left = mu[index[r]], share = A(index[r], n) / A(n, n);
    c[r] = left * (b[index[r]] - share * b[n]);
    w[r] = left * A(n, index[r]);
    for (int s = 0; s < k; ++s) S(r, s) = left * (A(index[r], index[s]) - share * A(n, index[s])) * mu[index[s]];
  }
  const auto normal = [&] { return -(b[n] + w.dot(y)) / A(n, n); };
  const auto store = [&](double normal_impulse, double scale) {
    for (int r = 0; r < k; ++r) lambda[index[r]] = mu[index[r]] * scale * y[r];
    lambda[n] = normal_impulse;
  };
  Eigen::PartialPivLU<Matrix> lu(S);
  y = -lu.solve(c);
  if (y.allFinite() && y.norm() <= normal()) {
    store(normal(), 1.0);
    return;
  }
  const double alpha = find_root(alpha_[block], S.trace(), [&](double a, double& h, double& slope) {
    Matrix shifted = S;
    shifted.diagonal().array() += a;
    lu.compute(shifted);
    y = -lu.solve(c);
    const Vector rate = -lu.solve(y);
    const double length = y.norm(), top = normal();
    h = top / length - 1.0;
    slope = -w.dot(rate) / A(n, n) / length - top * y.dot(rate) / (length * length * length);
  });
  alpha_[block] = alpha;
  S.diagonal().array() += alpha;
  y = -lu.compute(S).solve(c);
  const double n_impulse = std::max(0.0, normal());
  store(n_impulse, n_impulse / y.norm());
}

}  // namespace touchstone
