#include <stdexcept>
#include <string>
#include <utility>

#include "touchstone/gpu/cpu_batch.hpp"

namespace touchstone::gpu {

void BatchOptions::validate() const {
  const auto fail = [](const char* what) { throw std::runtime_error(std::string("options of a batch: ") + what); };
  if (!(tolerance > 0.0)) fail("tolerance must be positive");
  if (sweeps < 1 || more_sweeps < 1 || check_every < 1) fail("sweeps, more_sweeps and check_every must be at least 1");
  if (most_sweeps < 0) fail("most_sweeps must not be negative");
  if (small_pool < 0 || middle_pool < 1 || middle_pool < small_pool || large_pool < middle_pool)
    fail("small_pool must not be negative, middle_pool at least 1 and not smaller, large_pool not smaller than that");
  if (parts < 0) fail("parts must not be negative");
  for (const int team : {lanes.tree, lanes.loops, lanes.collide, lanes.solve, lanes.finish}) {
    if (team != 8 && team != 16 && team != 32) fail("lanes of a stage must be 8, 16 or 32");
  }
}

std::unique_ptr<WorldBatch> make_cpu_batch(ModelArrays arrays, int worlds, const BatchOptions& options) {
  options.validate();
  if (worlds < 1) throw std::runtime_error("a batch needs at least one world");
  if (is_full(arrays.sizes)) return make_full_cpu_batch(std::move(arrays), worlds, options);
  if (is_general(arrays.sizes)) return make_general_cpu_batch(std::move(arrays), worlds, options);
  return std::make_unique<CpuBatch<SerialTeam>>(std::move(arrays), worlds, options);
}

}  // namespace touchstone::gpu
