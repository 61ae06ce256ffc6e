// A step with the arrays of a model as constants, on one lane: special_test.cpp compiles this for a model and loads it.
#include <type_traits>

#include "touchstone/gpu/batch_view.hpp"

extern "C" __attribute__((visibility("default"))) void special_step(const touchstone::gpu::BatchView* batch,
                                                                    const touchstone::gpu::StepOptions* options,
                                                                    const touchstone::gpu::Pool* pool, char* memory) {
  using namespace touchstone::gpu;
  const ModelView model{};
  WorldState world = batch->world(model.sizes, 0);
  Scratch<double> scratch;
  PassMemory pass;
  carve_pass(model.sizes, *pool, memory + carve(model.sizes, *pool, memory, scratch), pass);
  using Simple = std::conditional_t<is_general(ModelView::sizes), GeneralTeam<SerialTeam>, SerialTeam>;
  using Team = std::conditional_t<is_full(ModelView::sizes), FullTeam<SerialTeam>, Simple>;
  finish_world(Team(), model, *options, world, scratch, pass);
}
