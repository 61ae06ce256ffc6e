#include <utility>

#include "touchstone/gpu/cpu_batch.hpp"

namespace touchstone::gpu {

std::unique_ptr<WorldBatch> make_full_cpu_batch(ModelArrays arrays, int worlds, const BatchOptions& options) {
  return std::make_unique<CpuBatch<FullTeam<SerialTeam>>>(std::move(arrays), worlds, options);
}

}  // namespace touchstone::gpu
