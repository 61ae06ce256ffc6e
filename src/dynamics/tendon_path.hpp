// Fixed tendons that the mass matrix has entries for.
#pragma once

#include "touchstone/model/model.hpp"

namespace touchstone {

// Whether of any two joints of a tendon one is an ancestor of the other.
bool is_on_path(const Model& model, const Tendon& tendon);

}  // namespace touchstone
