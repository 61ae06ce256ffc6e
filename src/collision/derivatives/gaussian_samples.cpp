#include "touchstone/collision/derivatives/gaussian_samples.hpp"

#include <cmath>
#include <numbers>

#include <Eigen/Cholesky>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014 (SplitMix64): std::normal_distribution
// differs from library to library.
class Stream {
 public:
  explicit Stream(std::uint64_t seed) : state_(seed) {}

  double normal() {  // Box and Muller
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  double uniform() {  // [0, 1)
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
  }
  std::uint64_t state_;
};

}  // namespace

void GaussianSamples::prepare(int dimension, int count, std::uint64_t seed) {
  if (dimension == dimension_ && count == asked_ && seed == seed_) return;
  if (count < 2 || count > kMost) throw Error("samples of a smoothed gradient: {} is not in 2 .. {}", count, kMost);
  const int pairs = (count + 1) / 2;
  MatrixX half(dimension, pairs);
  Stream stream(seed);
  for (int k = 0; k < pairs; ++k) {
    for (int i = 0; i < dimension; ++i) half(i, k) = stream.normal();
  }
  const MatrixX moments = half * half.transpose() / pairs;
  const Eigen::LLT<MatrixX> factor(moments);
  if (pairs >= dimension && factor.info() == Eigen::Success) factor.matrixL().solveInPlace(half);
  z_.resize(dimension, 2 * pairs);
  for (int k = 0; k < pairs; ++k) {
    z_.col(2 * k) = half.col(k);
    z_.col(2 * k + 1) = -half.col(k);
  }
  dimension_ = dimension;
  asked_ = count;
  seed_ = seed;
}

}  // namespace touchstone
