// A recording as a replay.
#pragma once

#include "touchstone/record/recording.hpp"
#include "touchstone/viewer/replay.hpp"

namespace touchstone {

// Keeps up to `frame_rate` moments a second of its time.
Replay replay_of(const Recording& recording, double frame_rate = 60.0);

}  // namespace touchstone
