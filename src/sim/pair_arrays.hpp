// Shapes and pairs that may touch as the plain arrays of the batched backend.
#pragma once

#include <vector>

#include "touchstone/gpu/model_arrays.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/sim/backend_features.hpp"
#include "touchstone/sim/reference_weights.hpp"

namespace touchstone {

// What rotations of two bodies against each other are measured in.
double rotation_length(const Model& model, const ReferenceWeights& weights, int a, int b);

void fill_pairs(const Model& model, const std::vector<BackendPair>& pairs, const ReferenceWeights& weights,
                gpu::ModelArrays& arrays);

}  // namespace touchstone
