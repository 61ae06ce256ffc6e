// The elements and attributes of URDF.
#pragma once

#include "touchstone/io/notes.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone {

// Warns of every element and attribute below a <robot> that URDF does not know in its place, or that is not honoured.
void check_urdf_schema(const XmlElement& root, WarningList& warnings);

}  // namespace touchstone
