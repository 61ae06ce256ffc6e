// What the shared library of the backend exports (gpu/backend.hpp).
#include "touchstone/gpu/backend.hpp"

namespace {

std::unique_ptr<touchstone::gpu::WorldBatch> make(touchstone::gpu::ModelArrays arrays, int worlds,
                                                  const touchstone::gpu::BatchOptions& options) {
  return touchstone::gpu::make_cuda_batch(arrays, worlds, options);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const touchstone::gpu::BackendTable* touchstone_backend_table() {
  static const touchstone::gpu::BackendTable table = touchstone::gpu::make_backend_table<make>();
  return &table;
}
