// Equalities, loop joints and what acts along their coordinates, as plain arrays (gpu/model_arrays.hpp).
#pragma once

#include "touchstone/gpu/model_arrays.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/sim/reference_weights.hpp"

namespace touchstone {

// Whether anything asks for coordinates of loop joints, so that worlds have to know them.
bool needs_coordinates(const Model& model);

void fill_coordinates(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a);
// Needs the settings and the coordinates.
void fill_loops(const Model& model, const ReferenceWeights& weights, gpu::ModelArrays& a);

// The number of a row along coordinates that an actuator at a loop joint moves, which is listed.
int add_loop_actuator(const Model& model, int actuator, gpu::ModelArrays& a);

}  // namespace touchstone
