#include "touchstone/gpu/cuda/launch.cuh"

namespace touchstone::gpu {
namespace {

// A lane a world.
__global__ void __launch_bounds__(kThreads) reset_kernel(const Launch launch, const ResetStates to) {
  const int w = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (w >= launch.batch.worlds || (to.mask != nullptr && to.mask[w] == 0)) return;
  WorldState world = launch.batch.world(launch.model.sizes, w);
  reset_world(launch.model, to, w, world);
  forget_record(launch.model, place_of(launch, launch.room, 0).memory(nullptr, w));
}

}  // namespace

void launch_reset(const Launch& launch, cudaStream_t stream, const ResetStates& to) {
  reset_kernel<<<(launch.batch.worlds + kThreads - 1) / kThreads, kThreads, 0, stream>>>(launch, to);
  check(cudaGetLastError(), "reset on the GPU");
}

}  // namespace touchstone::gpu
