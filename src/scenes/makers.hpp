// The functions behind the names of the scene library. Not for users of the library.
#pragma once

#include "touchstone/scenes/scene_arguments.hpp"

namespace touchstone::makers {

// experiments.cpp: one or two bodies, with answers that a formula gives
Scene cube_slide(const SceneArguments& arguments);
Scene cube_drag(const SceneArguments& arguments);
Scene cube_tilt(const SceneArguments& arguments);
Scene mass_ratio(const SceneArguments& arguments);
Scene stack(const SceneArguments& arguments);
Scene sphere_roll(const SceneArguments& arguments);

// structures.cpp: what stands only if forces are right
Scene domino(const SceneArguments& arguments);
Scene card_house(const SceneArguments& arguments);
Scene arch(const SceneArguments& arguments);
Scene newtons_cradle(const SceneArguments& arguments);

// heaps.cpp
Scene pile(const SceneArguments& arguments);
Scene conveyor(const SceneArguments& arguments);

// machines.cpp
Scene quadruped(const SceneArguments& arguments);
Scene humanoid(const SceneArguments& arguments);
Scene hand(const SceneArguments& arguments);
Scene wheel(const SceneArguments& arguments);
Scene pendulum(const SceneArguments& arguments);
Scene double_pendulum(const SceneArguments& arguments);

}  // namespace touchstone::makers
