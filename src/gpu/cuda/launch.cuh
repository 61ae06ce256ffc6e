// What the kernels of a step share, and the functions that launch them. Each stage of a step is a kernel with a team of
// lanes for a world, in a file of its own: they take long to compile.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "touchstone/gpu/batch_view.hpp"
#include "touchstone/gpu/reset.hpp"
#include "touchstone/gpu/stages.hpp"

namespace touchstone::gpu {

constexpr int kWarpSize = 32;
constexpr int kThreads = 64;  // of a block
#ifndef TOUCHSTONE_GPU_BLOCKS
#define TOUCHSTONE_GPU_BLOCKS 8
#endif
constexpr int kBlocks = TOUCHSTONE_GPU_BLOCKS;  // that a multiprocessor has registers for

// The worlds that a tier leaves to the next, and how many there are.
struct WorkList {
  int* worlds = nullptr;
  int* count = nullptr;
};

// What all kernels of a step are given.
struct Launch {
  ModelView model;
  StepOptions options;
  BatchView batch;
  Pool room;  // of the records
  char* records;
  std::size_t record_bytes;
};

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

#ifdef __CUDACC__

extern __shared__ double shared_memory[];

__device__ inline StageMemory stage_memory(const Launch& launch, const Pool& pool, char* local, int world) {
  return {pool, launch.room, local, launch.records + static_cast<std::size_t>(world) * launch.record_bytes};
}

// Calls use(team, model, world, local) for all worlds, or for those of a list. kOwn: worlds have parameters of their
// own; kernels for those are others, since the addresses take registers. kGeneral: see GeneralTeam.
template <int kLanes, bool kOwn, bool kGeneral, typename Use>
__device__ void for_worlds(const Launch& launch, const WorkList& list, std::size_t local_bytes, const Use& use) {
  const std::conditional_t<kGeneral, GeneralTeam<LaneTeam<kLanes>>, LaneTeam<kLanes>> team;
  const int in_block = static_cast<int>(threadIdx.x) / kLanes, teams = static_cast<int>(blockDim.x) / kLanes;
  char* local = reinterpret_cast<char*>(shared_memory) + static_cast<std::size_t>(in_block) * local_bytes;
  const int count = list.worlds != nullptr ? *list.count : launch.batch.worlds;
  for (int k = static_cast<int>(blockIdx.x) * teams + in_block; k < count; k += static_cast<int>(gridDim.x) * teams) {
    const int world = list.worlds != nullptr ? list.worlds[k] : k;
    if constexpr (kOwn) {
      use(team, world_model(launch.model, launch.batch.parameters, world), world, local);
    } else {
      use(team, launch.model, world, local);
    }
    team.sync();
  }
}

// Bytes of fast memory that a stage needs for a world.
template <typename Stage>
std::size_t stage_bytes(const Launch& launch, const Pool& pool) {
  Scratch<float> unused;
  return carve_stage<Stage>(launch.model.sizes, pool, launch.room, nullptr, nullptr, unused);
}

// Launches a kernel with `bytes` of fast memory for each world; blocks shrink where that is more than there is.
template <typename... Parameters, typename... Arguments>
void launch_kernel(void (*kernel)(Parameters...), const Work& work, std::size_t bytes, const Arguments&... arguments) {
  int device = 0, most = 0;
  check(cudaGetDevice(&device), "GPU");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "GPU");
  const auto all = [&](int threads) { return static_cast<std::size_t>(threads / work.lanes) * bytes; };
  int threads = kThreads;
  while (threads > kWarpSize && all(threads) > static_cast<std::size_t>(most)) threads /= 2;
  if (all(threads) > static_cast<std::size_t>(most))
    throw std::runtime_error("a world of this model needs " + std::to_string(bytes) +
                             " bytes of shared memory, and the GPU has " + std::to_string(most) +
                             "; make small_pool or middle_pool smaller, or lanes more");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(all(threads))),
        "shared memory");
  const int teams = threads / work.lanes;
  kernel<<<(work.teams + teams - 1) / teams, threads, all(threads), work.stream>>>(arguments...);
  check(cudaGetLastError(), "launch");
}

#endif

}  // namespace touchstone::gpu
