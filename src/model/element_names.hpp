// The names of what the elements of a model refer to; empty where there is none.
#pragma once

#include <string_view>
#include <utility>

#include "touchstone/model/model.hpp"

namespace touchstone {

// The joint, tendon or site that an actuator acts on.
std::string_view transmission_target(const Model& model, const Actuator& actuator);

// The bodies, joints or tendons that an equality joins.
std::pair<std::string_view, std::string_view> equality_sides(const Model& model, const Equality& equality);

// What a sensor is attached to.
std::string_view frame_name(const Model& model, FrameType type, int index);

}  // namespace touchstone
