#include <cmath>

#include "touchstone/base/error.hpp"
#include "touchstone/viewer/live_source.hpp"
#include "touchstone/viewer/replay.hpp"

namespace touchstone {

Replay record(LiveSource& source, double duration, double frame_rate) {
  constexpr double kTimeTolerance = 1e-9;  // s
  if (!(duration >= 0.0 && std::isfinite(duration))) throw Error("the duration of a recording is {} s", duration);
  if (!(frame_rate > 0.0)) throw Error("the frame rate of a recording is {}", frame_rate);
  Replay replay{.title = source.title(),
                .subtitle = source.subtitle(),
                .model = source.model(),
                .channels = source.channels(),
                .frames = {},
                .certificate = {}};
  const double start = source.time();
  for (;;) {
    const double time = source.time() - start;
    const bool end = time >= duration - kTimeTolerance;
    if (end || time >= static_cast<double>(replay.frames.size()) / frame_rate - kTimeTolerance) {
      source.read(replay.frames.emplace_back());
    }
    if (end) break;
    source.step();
    if (!(source.time() - start > time)) {  // it has come to its end, or diverged
      source.read(replay.frames.emplace_back());
      break;
    }
  }
  replay.certificate = source.run_certificate();
  return replay;
}

}  // namespace touchstone
