// Names of elements and enumerations, as the text and JSON descriptions write them.
#pragma once

#include <string>
#include <string_view>

#include "touchstone/model/model.hpp"

namespace touchstone::cli {

std::string_view to_string(EqualityType type);
std::string_view to_string(TransmissionType type);
std::string_view to_string(ActuatorDynamics dynamics);
std::string_view to_string(FrameType type);

using touchstone::to_string;

// What an actuator amounts to: motor, position (kp 100, kv 2), velocity (kv 5), or general.
std::string actuator_kind(const Actuator& actuator);

// The name of the joint, tendon or site it acts on.
std::string transmission_target(const Model& model, const Actuator& actuator);

// The same in words: "joint knee", with the gear if it is not 1.
std::string transmission_text(const Model& model, const Actuator& actuator);

// "a, b": the elements that an equality joins.
std::string equality_sides(const Model& model, const Equality& equality);

// The name of what a sensor is attached to; empty for none.
std::string frame_name(const Model& model, FrameType type, int index);

}  // namespace touchstone::cli
