#include "touchstone/gpu/cuda/launch.cuh"

namespace touchstone::gpu {
namespace {

template <int kLanes, bool kOwn, TeamKind kKind>
__global__ void __launch_bounds__(kThreads, kBlocks)
    finish_kernel(const Launch launch, const Pool pool, const WorkList list, std::size_t local_bytes,
                  const WorkList next, bool last) {
  finish_worlds<kLanes, kKind>(ModelOf<kOwn>{launch}, launch.options, launch.batch, place_of(launch, pool, local_bytes),
                               list, next, last);
}

template <int kLanes, bool kOwn = false, TeamKind kKind = TeamKind::kPlain>
void start(const Launch& launch, const Work& work, bool last) {
  Work own = work;
  own.lanes = kLanes;  // of the kernel, whatever the options ask for
  const std::size_t bytes = stage_bytes<FinishStage>(launch, work.pool);
  launch_kernel(finish_kernel<kLanes, kOwn, kKind>, own, bytes, launch, work.pool, work.list, bytes, work.next, last);
}

}  // namespace

void launch_finish(const Launch& launch, const Work& work, bool last) {
  if (is_full(launch.model.sizes)) return start<kWarpSize, true, TeamKind::kFull>(launch, work, last);
  if (launch.model.sizes.cones > 0) return start<kWarpSize, true, TeamKind::kGeneral>(launch, work, last);
  if (launch.batch.parameters.any()) return start<kWarpSize, true>(launch, work, last);
  if (work.lanes == 8) return start<8>(launch, work, last);
  if (work.lanes == 16) return start<16>(launch, work, last);
  start<kWarpSize>(launch, work, last);
}

}  // namespace touchstone::gpu
