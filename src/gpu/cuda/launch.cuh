// What the kernels of a step share, and the functions that launch them. Each stage of a step is a kernel with a team of
// lanes for a world, in a file of its own: they take long to compile.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "touchstone/gpu/cuda/kernels.cuh"
#include "touchstone/gpu/reset.hpp"

namespace touchstone::gpu {

// Where a kernel works, and with what: on all worlds, or on those of a list, in which case `teams` share them out.
struct Work {
  cudaStream_t stream = nullptr;
  Pool pool;
  int lanes = 0;  // 8, 16 or 32
  int teams = 0;
  WorkList list;  // worlds == nullptr: all
  WorkList next;  // for those that are not done
};

void launch_tree(const Launch& launch, const Work& work);
void launch_loops(const Launch& launch, const Work& work);
void launch_collide(const Launch& launch, const Work& work);
void launch_solve(const Launch& launch, const Work& work, int sweeps);
void launch_finish(const Launch& launch, const Work& work, bool last);
// Lists the worlds that need a position pass.
void launch_check(const Launch& launch, const Work& work);
// `memory`: `bytes` for each team.
void launch_pass(const Launch& launch, const Work& work, char* memory, std::size_t bytes);
void launch_third(const Launch& launch, const Work& work, char* memory, std::size_t bytes);
void launch_observe(const Launch& launch, cudaStream_t stream);
// Addresses of the GPU.
void launch_reset(const Launch& launch, cudaStream_t stream, const ResetStates& to);

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

struct BlockShape {
  int blocks, threads;
  std::size_t bytes;  // of shared memory
};

// For `bytes` of fast memory for each world; blocks shrink where that is more than there is. What does not fit a block of
// one warp is refused before (fitting_lanes), as this may be called while a graph is captured.
inline BlockShape block_shape(const Work& work, std::size_t bytes) {
  int device = 0, most = 0;
  check(cudaGetDevice(&device), "GPU");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "GPU");
  const auto all = [&](int threads) { return static_cast<std::size_t>(threads / work.lanes) * bytes; };
  int threads = kThreads;
  while (threads > kWarpSize && all(threads) > static_cast<std::size_t>(most)) threads /= 2;
  if (all(threads) > static_cast<std::size_t>(most))
    throw std::runtime_error("a world of this model needs " + std::to_string(bytes) +
                             " bytes of shared memory, and a block of the GPU has " + std::to_string(most) +
                             "; use device='lanes' or 'cpu', the processor");
  const int teams = threads / work.lanes;
  return {(work.teams + teams - 1) / teams, threads, all(threads)};
}

#ifdef __CUDACC__

// Bytes of fast memory that a stage needs for a world.
template <typename Stage>
std::size_t stage_bytes(const Launch& launch, const Pool& pool) {
  Scratch<float> unused;
  return carve_stage<Stage>(launch.model.sizes, pool, launch.room, nullptr, nullptr, unused);
}

// Launches a kernel with `bytes` of fast memory for each world.
template <typename... Parameters, typename... Arguments>
void launch_kernel(void (*kernel)(Parameters...), const Work& work, std::size_t bytes, const Arguments&... arguments) {
  const BlockShape shape = block_shape(work, bytes);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.bytes)),
        "shared memory");
  kernel<<<shape.blocks, shape.threads, shape.bytes, work.stream>>>(arguments...);
  check(cudaGetLastError(), "launch");
}

#endif

}  // namespace touchstone::gpu
