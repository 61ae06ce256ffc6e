// A model as the plain arrays that the batched backend computes with (gpu/model_arrays.hpp).
#pragma once

#include <string>
#include <vector>

#include "touchstone/gpu/model_arrays.hpp"
#include "touchstone/model/model.hpp"
#include "touchstone/sim/options.hpp"

namespace touchstone {

// What of a model and its options the backend cannot do yet, one phrase each: "tendon 'achilles' has a spring". Empty:
// make_model_arrays will do.
std::vector<std::string> unsupported_features(const Model& model, const SimulatorOptions& options = {});

// Throws Error that names everything which is not supported.
gpu::ModelArrays make_model_arrays(const Model& model, const SimulatorOptions& options = {});

}  // namespace touchstone
