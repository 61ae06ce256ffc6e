// The elements and attributes of MJCF, as far as the loader visits them.
#pragma once

#include <string_view>

namespace touchstone::mjcf {

// Places: "top", "compiler", "option", "asset", "body", "contact", "equality", "tendon", "actuator", "sensor",
// "keyframe".
bool is_known_element(std::string_view place, std::string_view tag);
bool is_known_attribute(std::string_view place, std::string_view tag, std::string_view attribute);

}  // namespace touchstone::mjcf
