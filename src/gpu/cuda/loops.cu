#include "touchstone/gpu/cuda/launch.cuh"

namespace touchstone::gpu {
namespace {

template <int kLanes, bool kOwn, TeamKind kKind>
__global__ void __launch_bounds__(kThreads, kBlocks)
    loops_kernel(const Launch launch, const Pool pool, const WorkList list, std::size_t local_bytes) {
  loops_worlds<kLanes, kKind>(ModelOf<kOwn>{launch}, launch.batch, place_of(launch, pool, local_bytes), list);
}

template <int kLanes, bool kOwn = false, TeamKind kKind = TeamKind::kPlain>
void start(const Launch& launch, const Work& work) {
  Work own = work;
  own.lanes = kLanes;  // of the kernel, whatever the options ask for
  const std::size_t bytes = stage_bytes<LoopStage>(launch, work.pool);
  launch_kernel(loops_kernel<kLanes, kOwn, kKind>, own, bytes, launch, work.pool, work.list, bytes);
}

}  // namespace

void launch_loops(const Launch& launch, const Work& work) {
  if (is_full(launch.model.sizes)) return start<kWarpSize, true, TeamKind::kFull>(launch, work);
  if (launch.batch.parameters.any()) return start<kWarpSize, true>(launch, work);
  if (work.lanes == 8) return start<8>(launch, work);
  if (work.lanes == 16) return start<16>(launch, work);
  start<kWarpSize>(launch, work);
}

}  // namespace touchstone::gpu
