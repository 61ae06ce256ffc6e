// Descriptions of elements, as the text and JSON of `touchstone info` write them.
#pragma once

#include <string>

#include "touchstone/model/element_names.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone::cli {

// What an actuator amounts to: motor, position (kp 100, kv 2), velocity (kv 5), or general.
std::string actuator_kind(const Actuator& actuator);

// What it acts on: "joint knee", with the gear if it is not 1.
std::string transmission_text(const Model& model, const Actuator& actuator);

// "a, b": the elements that an equality joins.
std::string equality_text(const Model& model, const Equality& equality);

}  // namespace touchstone::cli
