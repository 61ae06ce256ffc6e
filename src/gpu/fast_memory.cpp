#include "touchstone/gpu/fast_memory.hpp"

#include <stdexcept>
#include <string>

#include "touchstone/gpu/stages.hpp"

namespace touchstone::gpu {
namespace {

constexpr int kWarpLanes = 32;

template <typename Stage>
std::size_t world_bytes(const ModelSizes& n, const Pool& pool) {
  Scratch<float> unused;
  return carve_stage<Stage>(n, pool, pool, nullptr, nullptr, unused);
}

// The most contacts whose rows fit beside those of everything else; 0: none do.
int fitting_contacts(const ModelSizes& n, const Pool& pool, std::size_t most) {
  const int singles = pool.blocks - pool.contacts;
  int contacts = pool.contacts;
  while (contacts > 0 && world_bytes<SolveStage>(n, pool_for(n, contacts, singles)) > most) --contacts;
  return contacts;
}

std::string kilobytes(std::size_t bytes) { return std::to_string((bytes + 1023) / 1024) + " kB"; }

[[noreturn]] void refuse(const char* what, std::size_t world, std::size_t most, const std::string& remedy) {
  throw std::runtime_error("a world of this model needs " + kilobytes(world) + " of shared memory for " + what +
                           ", and a block of this GPU has " + kilobytes(most) + "; " + remedy +
                           "use device='lanes' or 'cpu', the processor (docs/gpu.md)");
}

// The lanes of a stage without rows, which no pool makes smaller.
template <typename Stage>
void fit(const ModelSizes& n, const Pool& pool, const char* what, std::size_t most, int& lanes) {
  const std::size_t world = world_bytes<Stage>(n, pool);
  while (lanes<kWarpLanes&& static_cast<std::size_t>(kWarpLanes / lanes) * world> most) lanes *= 2;
  if (world > most) refuse(what, world, most, "no option makes that less; ");
}

void fit_rows(const ModelSizes& n, const Pool& pool, const char* option, std::size_t most, int& lanes) {
  const std::size_t world = world_bytes<SolveStage>(n, pool);
  while (lanes<kWarpLanes&& static_cast<std::size_t>(kWarpLanes / lanes) * world> most) lanes *= 2;
  if (world <= most) return;
  const int contacts = fitting_contacts(n, pool, most);
  refuse("rows of contacts, limits, dry friction and servos", world, most,
         contacts > 0 ? "give " + std::string(option) + "=" + std::to_string(contacts) +
                            " or less (worlds with more contacts go to the next tier), or "
                      : "no pool is small enough; ");
}

}  // namespace

StageLanes fitting_lanes(const ModelSizes& sizes, const Pool& small, const Pool& middle, StageLanes lanes,
                         std::size_t most) {
  fit<TreeStage>(sizes, middle, "bodies, dofs and the mass matrix", most, lanes.tree);
  if (sizes.equality_rows > 0)
    fit<LoopStage>(sizes, middle, "the mass matrix and the rows of loops", most, lanes.loops);
  fit<CollideStage>(sizes, middle, "bodies, shapes and pairs of shapes", most, lanes.collide);
  fit<FinishStage>(sizes, middle, "bodies, the mass matrix and the matrix of loops", most, lanes.finish);
  fit_rows(sizes, small, "small_pool", most, lanes.solve);
  int warp = kWarpLanes;  // of the second tier
  fit_rows(sizes, middle, "middle_pool", most, warp);
  return lanes;
}

}  // namespace touchstone::gpu
