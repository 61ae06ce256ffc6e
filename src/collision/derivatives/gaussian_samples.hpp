// Gaussian noise for randomised smoothing: the same numbers for the same seed, on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/math/types.hpp"

namespace touchstone {

// Samples of a normal distribution of `dimension` (1 to 6), in pairs z, -z. From 2 * dimension samples on they are
// scaled so that their second moments are those of the distribution exactly: the gradient of a linear function is
// then exact, and Monte-Carlo noise is left for what is curved.
class GaussianSamples {
 public:
  // Made once; asking for the same again costs nothing. An odd count is rounded up. Throws Error for counts below 2
  // or above kMost.
  void prepare(int dimension, int count, std::uint64_t seed);

  int count() const { return static_cast<int>(z_.cols()); }
  Eigen::Ref<const VectorX> operator[](int k) const { return z_.col(k); }

  static constexpr int kMost = 100000;

 private:
  MatrixX z_;  // dimension x count
  int dimension_ = 0, asked_ = 0;
  std::uint64_t seed_ = 0;
};

}  // namespace touchstone
