// What a model that was built says about itself: things that are allowed, and seldom meant.
#pragma once

#include "touchstone/model/model.hpp"

namespace touchstone {

// Forces that grow with the length or the velocity that they drive, which no step can take at its end.
void warn_of_gains(Model& m);

}  // namespace touchstone
