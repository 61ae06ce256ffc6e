// The first tier of a step for one model, compiled at run time with special_model.hpp (special.hpp).
#pragma once

#include "touchstone/gpu/cuda/kernels.cuh"

namespace touchstone::gpu {

constexpr Pool pool_of(const int (&counts)[4]) { return {counts[0], counts[1], counts[2], counts[3]}; }
constexpr Pool kSmall = pool_of(special::kSmallPool), kRoom = pool_of(special::kRoomPool);

// The team that each stage needs.
constexpr TeamKind kind_of(bool general) {
  return is_full(ModelView::sizes) ? TeamKind::kFull : (general ? TeamKind::kGeneral : TeamKind::kPlain);
}
constexpr TeamKind kTreeKind = kind_of(has_general_tree(ModelView::sizes)), kLoopKind = kind_of(false);
constexpr TeamKind kSolveKind = kind_of(ModelView::sizes.cones > 0);

struct SpecialModels {
  const WorldParameters& own;

  __device__ ModelView operator()(int world) const {
    ModelView m;
    m.take_own(own, world);
    return m;
  }
};

template <typename Stage>
__device__ Place special_place(const SpecialLaunch& launch, const Pool& pool) {
  Scratch<float> unused;
  const std::size_t local = carve_stage<Stage>(ModelView::sizes, pool, kRoom, nullptr, nullptr, unused);
  return {pool, kRoom, launch.records, special::kRecordBytes, local};
}

}  // namespace touchstone::gpu

#define TOUCHSTONE_KERNEL(stage) extern "C" __global__ void __launch_bounds__(kThreads, special::k##stage##Blocks)

using namespace touchstone::gpu;

TOUCHSTONE_KERNEL(Tree) special_tree(const SpecialLaunch launch, const WorkList /*next*/) {
  tree_worlds<special::kTreeLanes, kTreeKind>(SpecialModels{launch.batch.parameters}, launch.batch,
                                              special_place<TreeStage>(launch, kRoom), {});
}

TOUCHSTONE_KERNEL(Loop) special_loops(const SpecialLaunch launch, const WorkList /*next*/) {
  if constexpr (ModelView::sizes.equality_rows > 0)
    loops_worlds<special::kLoopLanes, kLoopKind>(SpecialModels{launch.batch.parameters}, launch.batch,
                                                 special_place<LoopStage>(launch, kRoom), {});
}

TOUCHSTONE_KERNEL(Collide) special_collide(const SpecialLaunch launch, const WorkList /*next*/) {
  if constexpr (ModelView::sizes.iterated == 0)
    collide_worlds<special::kCollideLanes, TeamKind::kPlain>(SpecialModels{launch.batch.parameters}, launch.batch,
                                                             special_place<CollideStage>(launch, kRoom), {});
}

TOUCHSTONE_KERNEL(Solve) special_solve(const SpecialLaunch launch, const WorkList /*next*/) {
  solve_worlds<special::kSolveLanes, kSolveKind>(SpecialModels{launch.batch.parameters}, launch.options, launch.batch,
                                                 special_place<SolveStage>(launch, kSmall), {}, launch.options.sweeps);
}

TOUCHSTONE_KERNEL(Finish) special_finish(const SpecialLaunch launch, const WorkList next) {
  finish_worlds<special::kFinishLanes, kSolveKind>(SpecialModels{launch.batch.parameters}, launch.options, launch.batch,
                                                   special_place<FinishStage>(launch, kSmall), {}, next, false);
}
