// Whether the stages of a step fit into the shared memory that a block of a GPU has. A block is one warp at least,
// which works on 32 / lanes worlds.
#pragma once

#include <cstddef>

#include "touchstone/gpu/batch.hpp"
#include "touchstone/gpu/world.hpp"

namespace touchstone::gpu {

// The lanes asked for; more, so fewer worlds a warp, for stages that do not fit otherwise. `most`: bytes of a block;
// `small` and `middle`: pools of the first and the second tier. Throws std::runtime_error that says what is too large
// for a warp a world, and what to do.
StageLanes fitting_lanes(const ModelSizes& sizes, const Pool& small, const Pool& middle, StageLanes lanes,
                         std::size_t most);

}  // namespace touchstone::gpu
