// The same machine in maximal coordinates: every body that a joint moves gets a free joint, and every joint of a tree
// becomes a loop joint with its coordinates, limits, friction, armature, springs, dampers and actuators.
//
// Joints of one body become one loop joint: hinge, slide, screw, ball; slide and hinge about one axis; two or three
// hinges through a point, or three slides, each at right angles to the others; two slides and then a hinge at right
// angles. A body without mass of its own, other joints on one body, tendons, and several actuators at a joint that
// limits their force throw InputError. Sensors of joints are left out with a warning.
#pragma once

#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone {

// Bodies keep their names, not their numbers. Loop joints of the model come first, then one for each body, named after
// its joint, or after all of them ("a+b"). The loop joint of a body has the body's parent as body_a.
ModelPtr to_maximal(const Model& model);

// The same state of the other model; `maximal` was made from `reduced`. Turns of angles are kept. To reduced
// coordinates, errors of loop joints are lost.
State to_maximal_state(const Model& reduced, const Model& maximal, const State& state);
State to_reduced_state(const Model& reduced, const Model& maximal, const State& state);

}  // namespace touchstone
