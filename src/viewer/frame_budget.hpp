// Whether the frames of a replay fit into memory, before they are made.
#pragma once

#include "touchstone/model/model.hpp"

namespace touchstone {

// Throws Error if `duration` seconds with `frame_rate` frames a second of this model take more than half of the memory
// that is free.
void require_frames_fit(const Model& model, double duration, double frame_rate);

}  // namespace touchstone
