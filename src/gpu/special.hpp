// Kernels for one model: the text of a header in which the arrays of the model are constants. The sources of the
// backend are compiled with it at run time (cuda/special_program.cuh), so that loops have known bounds, addresses in
// fast memory are known numbers, and what a model does not have is not there.
#pragma once

#include <string>

#include "touchstone/gpu/batch.hpp"
#include "touchstone/gpu/embedded_sources.hpp"
#include "touchstone/gpu/kernel_cache.hpp"
#include "touchstone/gpu/runtime_compiler.hpp"
#include "touchstone/gpu/world.hpp"

namespace touchstone::gpu {

// What kernels of a model are compiled for besides the model.
struct SpecialShape {
  Pool small, room;  // of the first tier, and of the records
  StageLanes lanes;
  unsigned own = 0;               // bits of WorldParameter: what differs from world to world
  std::size_t shared_memory = 0;  // bytes that a multiprocessor of the chip has; 0: not known
};

// special_model.hpp: a ModelView whose members are constants, but for what worlds have of their own.
std::string special_model_header(const ModelArrays& arrays, const SpecialShape& shape);

// Code of the kernels of a model for a chip ("sm_90"), from the cache or compiled now.
CompiledProgram special_code(const ModelArrays& arrays, const SpecialShape& shape, const std::string& chip,
                             std::span<const EmbeddedFile> sources, const KernelCache& cache = KernelCache());

}  // namespace touchstone::gpu
