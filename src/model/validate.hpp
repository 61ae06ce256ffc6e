// Checks of a model draft, before it is frozen. Each failure names the element, the value and the remedy.
#pragma once

#include "touchstone/model/model.hpp"

namespace touchstone {

// The location of an element for messages: where it came from, or its kind and name.
Origin origin_of(const Model& model, ElementKind kind, int index);

// Numbers finite, sizes positive, ranges ordered, references existing, names unique. Throws InputError.
void validate_elements(const Model& draft);

}  // namespace touchstone
