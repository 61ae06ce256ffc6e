#include "touchstone/gpu/cuda/launch.cuh"

namespace touchstone::gpu {
namespace {

// A warp a world, in double, with everything in global memory.
template <typename Team>
__global__ void __launch_bounds__(kThreads)
    third_kernel(const Launch launch, const Pool pool, const WorkList list, char* memory, std::size_t bytes) {
  const Team team;
  const int teams_in_block = static_cast<int>(blockDim.x) / kWarpSize;
  const int first = static_cast<int>(blockIdx.x) * teams_in_block + static_cast<int>(threadIdx.x) / kWarpSize;
  for (int k = first; k < *list.count; k += static_cast<int>(gridDim.x) * teams_in_block) {
    WorldState world = launch.batch.world(launch.model.sizes, list.worlds[k]);
    Scratch<double> scratch;
    PassMemory pass;
    char* own = memory + static_cast<std::size_t>(first) * bytes;
    carve_pass(launch.model.sizes, pool, own + carve(launch.model.sizes, pool, own, scratch), pass);
    const ModelView model = world_model(launch.model, launch.batch.parameters, list.worlds[k]);
    finish_world(team, model, launch.options, world, scratch, pass);
    team.sync();
  }
}

}  // namespace

void launch_third(const Launch& launch, const Work& work, char* memory, std::size_t bytes) {
  if (is_full(launch.model.sizes)) {
    launch_kernel(third_kernel<FullTeam<LaneTeam<kWarpSize>>>, work, 0, launch, work.pool, work.list, memory, bytes);
  } else if (is_general(launch.model.sizes)) {
    launch_kernel(third_kernel<GeneralTeam<LaneTeam<kWarpSize>>>, work, 0, launch, work.pool, work.list, memory, bytes);
  } else {
    launch_kernel(third_kernel<LaneTeam<kWarpSize>>, work, 0, launch, work.pool, work.list, memory, bytes);
  }
}

}  // namespace touchstone::gpu
