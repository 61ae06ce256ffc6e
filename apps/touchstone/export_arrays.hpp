// Files for the batched backend: a model's arrays, and states to start worlds in (bench/gpu reads both).
#pragma once

#include <string>

#include "touchstone/scenes/scene.hpp"

namespace touchstone::cli {

struct ArrayFiles {
  std::string arrays, states;  // states: may be empty
  int count = 512;
  int seed = 1;
};

// Throws Error naming what the backend does not support.
void export_arrays(const Scene& scene, const ArrayFiles& files);

}  // namespace touchstone::cli
