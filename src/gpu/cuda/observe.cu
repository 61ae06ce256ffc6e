#include "touchstone/gpu/cuda/launch.cuh"

namespace touchstone::gpu {
namespace {

// Half a warp a world: a lane reads a sensor.
constexpr int kObserveLanes = 16;

template <TeamKind kKind>
__global__ void __launch_bounds__(kThreads) observe_kernel(const Launch launch) {
  const Place place = place_of(launch, launch.room, 0);
  for_worlds<kObserveLanes, kKind>(launch.batch.worlds, {}, 0, [&](const auto& team, int w, char* local) {
    WorldState world = launch.batch.world(launch.model.sizes, w);
    run_observe(team, ModelOf<true>{launch}(w), world, place.memory(local, w));
  });
}

}  // namespace

void launch_observe(const Launch& launch, cudaStream_t stream) {
  Work work;
  work.stream = stream;
  work.lanes = kObserveLanes;
  work.teams = launch.batch.worlds;
  const bool full = is_full(launch.model.sizes);
  launch_kernel(full ? observe_kernel<TeamKind::kFull> : observe_kernel<TeamKind::kGeneral>, work, 0, launch);
}

}  // namespace touchstone::gpu
