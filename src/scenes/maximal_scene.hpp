// A scene in maximal coordinates: the same machine, start, inputs and surroundings (dynamics/maximal.hpp).
#pragma once

#include "touchstone/scenes/scene.hpp"

namespace touchstone {

// Controls, pushes, friction and gravity act as before. Springs and dampers of a hold become those of loop joints; that
// of a ball joint needs a start where its frames agree. Throws InputError that names what has no loop joint.
Scene in_maximal_coordinates(Scene scene);

}  // namespace touchstone
