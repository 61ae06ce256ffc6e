// The law of one block of ccp-newton: the impulses lambda(c) = P^R_K(-R^-1 c) of a velocity c, K the friction cone or
// MuJoCo's pyramid with edges n +- mu_j t_j, impulses lambda = E'f with f >= 0, each edge with R_e = 2 mu_1^2 R_n.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "touchstone/contact/blocks.hpp"
#include "touchstone/math/cones.hpp"

namespace touchstone {

enum class NewtonCone : std::uint8_t { kElliptic, kPyramidal };

class RegularisedLaw {
 public:
  // The blocks must stay.
  RegularisedLaw(const Blocks& blocks, NewtonCone cone) : blocks_(blocks), cone_(cone) {}

  // lambda for a velocity c and the compliances R > 0 of the block's rows and, if W is given, W = -d lambda / dc
  // (column-major m x m).
  void operator()(int block, const double* R, const double* c, double* lambda, double* W) const {
    const int r = blocks_.row[block], m = blocks_.size(block);
    if (blocks_.type[block] != BlockType::kCoulomb) {
      for (int k = 0; k < m; ++k) {
        const double free = -c[k] / R[k];
        lambda[k] = free;
        if (blocks_.type[block] == BlockType::kNonNegative) lambda[k] = project_nonnegative(free);
        if (blocks_.type[block] == BlockType::kBox) {
          lambda[k] = project_interval(free, blocks_.lo[r + k], blocks_.hi[r + k]);
        }
        if (W == nullptr) continue;
        for (int j = 0; j < m; ++j) W[k * m + j] = 0.0;
        W[k * m + k] = lambda[k] == free ? 1.0 / R[k] : 0.0;
      }
    } else if (is_pyramid(block)) {
      pyramid(m, blocks_.mu.data() + r, R[m - 1], c, lambda, W);
    } else {
      cone(m, blocks_.mu.data() + r, R, c, lambda, W);
    }
  }

  // All rows of a pyramid have the R of its normal.
  bool is_pyramid(int block) const {
    return cone_ == NewtonCone::kPyramidal && blocks_.type[block] == BlockType::kCoulomb && blocks_.size(block) > 1;
  }

 private:
  // In y = sqrt(R) lambda the metric is Euclidean and the cone has mu_j sqrt(R_j / R_n).
  static void cone(int m, const double* mu, const double* R, const double* c, double* lambda, double* W) {
    double scaled_mu[kMaxBlockSize], root[kMaxBlockSize], y[kMaxBlockSize];
    for (int k = 0; k < m; ++k) {
      root[k] = std::sqrt(R[k]);
      scaled_mu[k] = mu[k] * root[k] / std::sqrt(R[m - 1]);
      y[k] = -c[k] / root[k];
    }
    if (W != nullptr) {
      project_cone_derivative(m, scaled_mu, y, W);
      for (int j = 0; j < m; ++j) {
        for (int k = 0; k < m; ++k) W[j * m + k] /= root[j] * root[k];
      }
    }
    project_cone(m, scaled_mu, y, y);
    for (int k = 0; k < m; ++k) lambda[k] = y[k] / root[k];
  }

  static void pyramid(int m, const double* mu, double R_n, const double* c, double* lambda, double* W) {
    const int n = m - 1;
    const double R_edge = mu[0] > 0.0 ? 2.0 * mu[0] * mu[0] * R_n : R_n;
    std::fill(lambda, lambda + m, 0.0);
    if (W != nullptr) std::fill(W, W + m * m, 0.0);
    for (int j = 0; j < n; ++j) {
      for (const double side : {mu[j], -mu[j]}) {
        const double velocity = c[n] + side * c[j];
        if (velocity >= 0.0) continue;
        lambda[j] -= side * velocity / R_edge;
        lambda[n] -= velocity / R_edge;
        if (W == nullptr) continue;
        W[j * m + j] += side * side / R_edge;
        W[n * m + n] += 1.0 / R_edge;
        W[j * m + n] += side / R_edge;
        W[n * m + j] += side / R_edge;
      }
    }
  }

  const Blocks& blocks_;
  NewtonCone cone_;
};

}  // namespace touchstone
