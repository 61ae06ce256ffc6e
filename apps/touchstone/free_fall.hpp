// The demonstration: a robot tossed into the air, and what physics says about its flight.
#pragma once

#include <string>
#include <vector>

#include "touchstone/model/model.hpp"
#include "touchstone/viewer/frame.hpp"

namespace touchstone::cli {

struct FreeFallOptions {
  double duration = 1.0;   // s
  double step = 1e-3;      // s
  int snapshots = 7;       // poses kept for the picture, evenly spaced
  double frame_rate = 60;  // 1/s, of the replay; never more than a frame a step
};

struct FreeFallSample {
  double time = 0.0;              // s
  double kinetic_energy = 0.0;    // J
  double potential_energy = 0.0;  // J
  Vector3 com;                    // m
  Vector3 com_expected;           // m, the parabola from the initial state

  double energy() const { return kinetic_energy + potential_energy; }
};

using Check = CertificateItem;

struct FreeFall {
  std::vector<FreeFallSample> samples;  // before the first step and after each one
  std::vector<VectorX> snapshots;       // configurations
  std::vector<Frame> frames;            // of the replay; values as in free_fall_channels()
  std::vector<Check> checks;
  double step = 0.0;     // s, as used: a whole number of steps fills the duration
  double seconds = 0.0;  // wall time of the integration alone

  bool passed() const;
};

// What the frames of a flight record.
std::vector<Channel> free_fall_channels();

// Tosses the model (its first joint must be free) from its first keyframe, spinning, every joint moving. Nothing
// but gravity acts: joint damping, springs, dry friction and actuators are off, limits and contacts are not
// part of it. So energy and momentum have closed forms.
FreeFall simulate_free_fall(const Model& model, const FreeFallOptions& options);

}  // namespace touchstone::cli
