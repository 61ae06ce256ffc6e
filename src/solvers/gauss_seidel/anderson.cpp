#include "touchstone/solvers/gauss_seidel/anderson.hpp"

#include <algorithm>

#include <Eigen/Cholesky>

namespace touchstone {
namespace {

constexpr double kMostGrowth = 1.5;  // of |f|
constexpr double kShift = 1e-10;     // of the largest diagonal of dF' dF

}  // namespace

void Anderson::start(int size) {
  dF_.resize(size, kMemory);
  dG_.resize(size, kMemory);
  products_.resize(kMemory, kMemory);
  count_ = next_ = 0;
  has_last_ = false;
}

void Anderson::mix(const VectorX& x, VectorX& g) {
  f_ = g - x;
  if (has_last_ && !(f_.squaredNorm() <= kMostGrowth * kMostGrowth * last_f_.squaredNorm())) {
    count_ = next_ = 0;
    has_last_ = false;
  }
  if (has_last_) {
    dF_.col(next_) = f_ - last_f_;
    dG_.col(next_) = g - last_g_;
    count_ = std::min(count_ + 1, kMemory);
    for (int j = 0; j < count_; ++j) products_(next_, j) = products_(j, next_) = dF_.col(j).dot(dF_.col(next_));
    next_ = (next_ + 1) % kMemory;
  }
  last_f_ = f_;
  last_g_ = g;
  has_last_ = true;
  if (count_ == 0) return;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMemory, kMemory> system =
      products_.topLeftCorner(count_, count_);
  system.diagonal().array() += kShift * system.diagonal().maxCoeff();
  Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kMemory, 1> gamma(count_);
  for (int j = 0; j < count_; ++j) gamma[j] = dF_.col(j).dot(f_);
  Eigen::LLT<Eigen::Ref<decltype(system)>> factor(system);
  if (factor.info() != Eigen::Success) return;
  factor.solveInPlace(gamma);
  for (int j = 0; j < count_; ++j) g -= gamma[j] * dG_.col(j);
}

}  // namespace touchstone
