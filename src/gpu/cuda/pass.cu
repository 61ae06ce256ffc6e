#include "touchstone/gpu/cuda/launch.cuh"

namespace touchstone::gpu {
namespace {

constexpr int kCheckLanes = 16;

// Half a warp a world: a look at the gaps.
template <TeamKind kKind>
__global__ void __launch_bounds__(kThreads) check_kernel(const Launch launch, const Pool pool, const WorkList next) {
  const Place place = place_of(launch, pool, 0);
  for_worlds<kCheckLanes, kKind>(launch.batch.worlds, {}, 0, [&](const auto& team, int w, char* local) {
    WorldState world = launch.batch.world(launch.model.sizes, w);
    if (run_check(team, launch.model, world, place.memory(local, w)) && team.lane() == 0)
      next.worlds[atomicAdd(next.count, 1)] = w;
  });
}

// A warp a world, with everything in global memory.
template <typename Team>
__global__ void __launch_bounds__(kThreads)
    pass_kernel(const Launch launch, const Pool pool, const WorkList list, char* memory, std::size_t bytes) {
  const Team team;
  const int teams_in_block = static_cast<int>(blockDim.x) / kWarpSize;
  const int first = static_cast<int>(blockIdx.x) * teams_in_block + static_cast<int>(threadIdx.x) / kWarpSize;
  for (int k = first; k < *list.count; k += static_cast<int>(gridDim.x) * teams_in_block) {
    const int w = list.worlds[k];
    WorldState world = launch.batch.world(launch.model.sizes, w);
    PassMemory pass;
    carve_pass(launch.model.sizes, pool, memory + static_cast<std::size_t>(first) * bytes, pass);
    const ModelView model = world_model(launch.model, launch.batch.parameters, w);
    run_pass(team, model, world, place_of(launch, pool, 0).memory(nullptr, w), pass);
    team.sync();
  }
}

}  // namespace

void launch_check(const Launch& launch, const Work& work) {
  Work all = work;
  all.lanes = kCheckLanes;
  const bool full = is_full(launch.model.sizes);
  launch_kernel(full ? check_kernel<TeamKind::kFull> : check_kernel<TeamKind::kPlain>, all, 0, launch, work.pool,
                work.next);
}

void launch_pass(const Launch& launch, const Work& work, char* memory, std::size_t bytes) {
  if (is_full(launch.model.sizes)) {
    launch_kernel(pass_kernel<FullTeam<LaneTeam<kWarpSize>>>, work, 0, launch, work.pool, work.list, memory, bytes);
  } else if (is_general(launch.model.sizes)) {
    launch_kernel(pass_kernel<GeneralTeam<LaneTeam<kWarpSize>>>, work, 0, launch, work.pool, work.list, memory, bytes);
  } else {
    launch_kernel(pass_kernel<LaneTeam<kWarpSize>>, work, 0, launch, work.pool, work.list, memory, bytes);
  }
}

}  // namespace touchstone::gpu
