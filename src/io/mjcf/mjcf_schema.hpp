// The elements and attributes of MJCF.
#pragma once

#include <string_view>

#include "touchstone/io/notes.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {

// Places: "asset", "body", "contact", "equality", "tendon", "actuator", "sensor", "keyframe", ...
bool is_known_element(std::string_view place, std::string_view tag);

// Warns of every element and attribute below a <mujoco> that MJCF does not know in its place. Works without recursion.
void check_schema(const XmlElement& root, WarningList& warnings);

}  // namespace touchstone::mjcf
