#include "touchstone/viewer/frame_budget.hpp"

#include "touchstone/base/error.hpp"
#include "touchstone/base/memory.hpp"
#include "touchstone/viewer/frame.hpp"

namespace touchstone {

void require_frames_fit(const Model& model, double duration, double frame_rate) {
  constexpr double kShare = 0.5;       // of what is free; the document takes about as much again
  constexpr double kFigures = 40 * 8;  // bytes of the channels of a frame, about
  const double frame =
      static_cast<double>(sizeof(Frame)) + kFigures + static_cast<double>(sizeof(Transform)) * model.nbody;
  const double needed = duration * frame_rate * frame, available = static_cast<double>(available_memory());
  if (needed <= kShare * available) return;
  throw Error({.where = {},
               .message = fmt::format("a replay of {:g} s needs {} of memory, and there are {}", duration,
                                      memory_text(needed), memory_text(available)),
               .remedy = fmt::format("ask for at most {:.2g} s, or record the run and look at parts of it",
                                     kShare * available / (frame_rate * frame))});
}

}  // namespace touchstone
