// The kernels of a step without what launches them: also compiled at run time for one model (special.hpp), where there
// is no standard library and no runtime.
#pragma once

#include <type_traits>

#include "touchstone/gpu/batch_view.hpp"
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

// Which team works on a world: see GeneralTeam and FullTeam.
enum class TeamKind { kPlain, kGeneral, kFull };

// What all kernels of a step are given.
struct Launch {
  ModelTables model;
  StepOptions options;
  BatchView batch;
  Pool room;  // of the records
  char* records;
  std::size_t record_bytes;
};

// What kernels that were compiled for a model are given: the rest they know.
struct SpecialLaunch {
  StepOptions options;
  BatchView batch;
  char* records;
};

#ifdef __CUDACC__

extern __shared__ double shared_memory[];

template <int kLanes, TeamKind kKind>
using TeamOf = std::conditional_t<
    kKind == TeamKind::kPlain, LaneTeam<kLanes>,
    std::conditional_t<kKind == TeamKind::kGeneral, GeneralTeam<LaneTeam<kLanes>>, FullTeam<LaneTeam<kLanes>>>>;

// Where a kernel works: `pool` is that of the stage, `room` that of the records.
struct Place {
  Pool pool, room;
  char* records;
  std::size_t record_bytes, local_bytes;

  __device__ StageMemory memory(char* local, int world) const {
    return {pool, room, local, records + static_cast<std::size_t>(world) * record_bytes};
  }
};

// The model of a world. kOwn: worlds have parameters of their own; kernels for those are others, since the addresses
// take registers.
template <bool kOwn>
struct ModelOf {
  const Launch& launch;

  __device__ decltype(auto) operator()(int world) const {
    if constexpr (kOwn) {
      return world_model(launch.model, launch.batch.parameters, world);
    } else {
      return (launch.model);
    }
  }
};

__device__ inline Place place_of(const Launch& launch, const Pool& pool, std::size_t local_bytes) {
  return {pool, launch.room, launch.records, launch.record_bytes, local_bytes};
}

// Calls use(team, world, local) for all worlds, or for those of a list.
template <int kLanes, TeamKind kKind, typename Use>
__device__ void for_worlds(int worlds, const WorkList& list, std::size_t local_bytes, const Use& use) {
  const TeamOf<kLanes, kKind> team;
  const int in_block = static_cast<int>(threadIdx.x) / kLanes, teams = static_cast<int>(blockDim.x) / kLanes;
  char* local = reinterpret_cast<char*>(shared_memory) + static_cast<std::size_t>(in_block) * local_bytes;
  const int count = list.worlds != nullptr ? *list.count : worlds;
  for (int k = static_cast<int>(blockIdx.x) * teams + in_block; k < count; k += static_cast<int>(gridDim.x) * teams) {
    use(team, list.worlds != nullptr ? list.worlds[k] : k, local);
    team.sync();
  }
}

// The stages on many worlds. `models(world)` is the model of a world.
template <int kLanes, TeamKind kKind, typename Models>
__device__ void tree_worlds(const Models& models, const BatchView& batch, const Place& place, const WorkList& list) {
  for_worlds<kLanes, kKind>(batch.worlds, list, place.local_bytes, [&](const auto& team, int w, char* local) {
    const auto& m = models(w);
    WorldState world = batch.world(m.sizes, w);
    run_tree(team, m, world, list.worlds != nullptr, place.memory(local, w));
  });
}

template <int kLanes, TeamKind kKind, typename Models>
__device__ void loops_worlds(const Models& models, const BatchView& batch, const Place& place, const WorkList& list) {
  for_worlds<kLanes, kKind>(batch.worlds, list, place.local_bytes, [&](const auto& team, int w, char* local) {
    const auto& m = models(w);
    run_loops(team, m, batch.world(m.sizes, w), place.memory(local, w));
  });
}

template <int kLanes, TeamKind kKind, typename Models>
__device__ void collide_worlds(const Models& models, const BatchView& batch, const Place& place, const WorkList& list) {
  for_worlds<kLanes, kKind>(batch.worlds, list, place.local_bytes, [&](const auto& team, int w, char* local) {
    run_collide(team, models(w), place.memory(local, w));
  });
}

template <int kLanes, TeamKind kKind, typename Models>
__device__ void solve_worlds(const Models& models, const StepOptions& options, const BatchView& batch,
                             const Place& place, const WorkList& list, int sweeps) {
  for_worlds<kLanes, kKind>(batch.worlds, list, place.local_bytes, [&](const auto& team, int w, char* local) {
    const auto& m = models(w);
    WorldState world = batch.world(m.sizes, w);
    run_solve(team, m, world, sweeps, options.tolerance, place.memory(local, w));
  });
}

template <int kLanes, TeamKind kKind, typename Models>
__device__ void finish_worlds(const Models& models, const StepOptions& options, const BatchView& batch,
                              const Place& place, const WorkList& list, const WorkList& next, bool last) {
  for_worlds<kLanes, kKind>(batch.worlds, list, place.local_bytes, [&](const auto& team, int w, char* local) {
    const auto& m = models(w);
    WorldState world = batch.world(m.sizes, w);
    const StepOutcome outcome = run_finish(team, m, world, options.tolerance, last, place.memory(local, w));
    if (outcome != StepOutcome::kDone && team.lane() == 0) next.worlds[atomicAdd(next.count, 1)] = w;
  });
}

#endif

}  // namespace touchstone::gpu
