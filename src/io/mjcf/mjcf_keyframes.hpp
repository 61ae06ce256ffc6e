// Keyframes: whole vectors as written, or the values of single elements (of attached models).
#pragma once

#include <vector>

#include "touchstone/io/mjcf/mjcf_spec.hpp"

namespace touchstone::mjcf {

// Which element owns which entries of the state, in the order of the compiled model.
struct StateLayout {
  struct Entry {
    int id = 0;
    int size = 0;
    std::vector<double> reference;
  };
  std::vector<Entry> q, v, activation, control, mocap;  // mocap: position and quaternion (w, x, y, z)
  static int total(const std::vector<Entry>& entries);
};

StateLayout state_layout(const ModelSpec& spec);

// Full vectors; throws InputError if there are more numbers than entries.
Keyframe assemble_keyframe(const KeyframeSpec& key, const StateLayout& layout);

}  // namespace touchstone::mjcf
