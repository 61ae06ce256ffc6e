// A team of lanes that works on one world. The algorithms of this folder are written once, as loops
//
//   TOUCHSTONE_ROLLED for (int i = team.lane(); i < n; i += team.size()) ...
//
// A team of one lane is the processor; on a GPU a team is a warp, or a part of one. What one lane writes, others may
// read after sync(). Sums and maxima are the same bits in all lanes, so that all of them take the same branches.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define TOUCHSTONE_LANE __device__ inline
#define TOUCHSTONE_BOTH __host__ __device__ inline
#define TOUCHSTONE_ROLLED _Pragma("unroll 1")  // loops of one or two rounds: unrolled they fill the instruction caches
#else
#define TOUCHSTONE_LANE inline
#define TOUCHSTONE_BOTH inline  // what the processor calls in a CUDA build too
#define TOUCHSTONE_ROLLED
#endif

namespace touchstone::gpu {

struct SerialTeam {
  static constexpr bool kGeneral = false, kFull = false;  // see GeneralTeam and FullTeam
  static constexpr int size() { return 1; }
  TOUCHSTONE_LANE int lane() const { return 0; }
  TOUCHSTONE_LANE void sync() const {}
  template <typename Real>
  TOUCHSTONE_LANE Real sum(Real x) const {
    return x;
  }
  template <typename Real>
  TOUCHSTONE_LANE Real max(Real x) const {
    return x;
  }
  TOUCHSTONE_LANE bool any(bool x) const { return x; }
  // How many the lanes before this one have; `total`: all of them.
  TOUCHSTONE_LANE int count_before(int own, int& total) const {
    total = own;
    return 0;
  }
};

#ifdef __CUDACC__

// A warp, or a part of one: lanes that are neighbours.
template <int kLanes>
struct LaneTeam {
  static constexpr bool kGeneral = false, kFull = false;
  int lane_;
  unsigned mask_;

  __device__ LaneTeam() : lane_(static_cast<int>(threadIdx.x) % kLanes), mask_(0xffffffffu) {
    if constexpr (kLanes < 32) mask_ = ((1u << kLanes) - 1u) << (static_cast<int>(threadIdx.x) % 32 / kLanes * kLanes);
  }
  static constexpr __device__ int size() { return kLanes; }
  __device__ int lane() const { return lane_; }
  __device__ void sync() const { __syncwarp(mask_); }
  template <typename Real>
  __device__ Real sum(Real x) const {
    for (int k = kLanes / 2; k > 0; k >>= 1) x += __shfl_xor_sync(mask_, x, k);
    return x;
  }
  // Keeps NaN: what is not comparable is larger.
  template <typename Real>
  __device__ Real max(Real x) const {
    for (int k = kLanes / 2; k > 0; k >>= 1) {
      const Real other = __shfl_xor_sync(mask_, x, k);
      x = other <= x ? x : (x == x ? other : x);
    }
    return x;
  }
  __device__ bool any(bool x) const { return __any_sync(mask_, x) != 0; }
  __device__ int count_before(int own, int& total) const {
    int sum = own;
    for (int k = 1; k < kLanes; k <<= 1) {
      const int other = __shfl_up_sync(mask_, sum, k, kLanes);
      if (lane_ >= k) sum += other;
    }
    total = __shfl_sync(mask_, sum, kLanes - 1, kLanes);
    return sum - own;
  }
};

#endif

// A team for models with contacts of dimension 4 or 6, anisotropic friction, shapes that need an iteration, springs or
// actuators of tendons, or mocap bodies. What these need is compiled for such a team alone, so that the kernels of
// other models stay as small as they are.
template <typename Base>
struct GeneralTeam : Base {
  static constexpr bool kGeneral = true;
};

// A general team for models in which something acts along the coordinates of loop joints, loops hold to mocap bodies,
// or for a mean of velocities.
template <typename Base>
struct FullTeam : GeneralTeam<Base> {
  static constexpr bool kFull = true;
};

// Numbers in another precision, several at a time: they come from slow memory.
template <typename Team, typename Real>
TOUCHSTONE_LANE void convert(const Team& team, const double* from, Real* to, int count) {
  constexpr int kAtOnce = 4;
  TOUCHSTONE_ROLLED
  for (int first = team.lane(); first < count; first += kAtOnce * team.size()) {
    double held[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) {
      if (first + k * team.size() < count) held[k] = from[first + k * team.size()];
    }
    for (int k = 0; k < kAtOnce; ++k) {
      if (first + k * team.size() < count) to[first + k * team.size()] = static_cast<Real>(held[k]);
    }
  }
}

}  // namespace touchstone::gpu
