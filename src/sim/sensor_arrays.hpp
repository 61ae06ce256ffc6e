// Sensors of a model as the plain arrays of the batched backend (gpu/observe.hpp).
#pragma once

#include <string>
#include <vector>

#include "touchstone/gpu/model_arrays.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/sim/options.hpp"

namespace touchstone {

// Sensors that the backend cannot read, one phrase each: "rangefinder 'nose'". Then batches of the model have none.
std::vector<std::string> unsupported_sensors(const Model& model, const SimulatorOptions& options = {});

// Nothing if some are not supported.
void fill_sensors(const Model& model, const SimulatorOptions& options, gpu::ModelArrays& arrays);

}  // namespace touchstone
