#include "touchstone/gpu/cuda/launch.cuh"

namespace touchstone::gpu {
namespace {

template <int kLanes, bool kOwn, TeamKind kKind>
__global__ void __launch_bounds__(kThreads, kBlocks)
    solve_kernel(const Launch launch, const Pool pool, const WorkList list, std::size_t local_bytes, int sweeps) {
  solve_worlds<kLanes, kKind>(ModelOf<kOwn>{launch}, launch.options, launch.batch, place_of(launch, pool, local_bytes),
                              list, sweeps);
}

template <int kLanes, bool kOwn = false, TeamKind kKind = TeamKind::kPlain>
void start(const Launch& launch, const Work& work, int sweeps) {
  Work own = work;
  own.lanes = kLanes;  // of the kernel, whatever the options ask for
  const std::size_t bytes = stage_bytes<SolveStage>(launch, work.pool);
  launch_kernel(solve_kernel<kLanes, kOwn, kKind>, own, bytes, launch, work.pool, work.list, bytes, sweeps);
}

}  // namespace

void launch_solve(const Launch& launch, const Work& work, int sweeps) {
  if (is_full(launch.model.sizes)) return start<kWarpSize, true, TeamKind::kFull>(launch, work, sweeps);
  if (launch.model.sizes.cones > 0) return start<kWarpSize, true, TeamKind::kGeneral>(launch, work, sweeps);
  if (launch.batch.parameters.any()) return start<kWarpSize, true>(launch, work, sweeps);
  if (work.lanes == 8) return start<8>(launch, work, sweeps);
  if (work.lanes == 16) return start<16>(launch, work, sweeps);
  start<kWarpSize>(launch, work, sweeps);
}

}  // namespace touchstone::gpu
