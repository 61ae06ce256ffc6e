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

// convex.cpp: the cases of Castro et al. 2025
Scene convex_conveyor(const SceneArguments& arguments);
Scene convex_sphere(const SceneArguments& arguments);
Scene convex_rod(const SceneArguments& arguments);
Scene convex_clutter(const SceneArguments& arguments);
Scene convex_grasp(const SceneArguments& arguments);

// machines.cpp
Scene quadruped(const SceneArguments& arguments);
Scene humanoid(const SceneArguments& arguments);
Scene hand(const SceneArguments& arguments);
Scene wheel(const SceneArguments& arguments);
Scene pendulum(const SceneArguments& arguments);
Scene double_pendulum(const SceneArguments& arguments);
Scene woodpecker(const SceneArguments& arguments);

// linkages.cpp: closed chains that a formula or a count is known for
Scene four_bar(const SceneArguments& arguments);
Scene slider_crank(const SceneArguments& arguments);
Scene bennett(const SceneArguments& arguments);
Scene table(const SceneArguments& arguments);
Scene ladder(const SceneArguments& arguments);
Scene scissor_lift(const SceneArguments& arguments);
Scene chain_bridge(const SceneArguments& arguments);

// parallel_robots.cpp
Scene stewart(const SceneArguments& arguments);
Scene delta(const SceneArguments& arguments);
Scene jansen(const SceneArguments& arguments);
Scene spring_leg(const SceneArguments& arguments);

// loop_primitives.cpp, loop_robots.cpp, animatronics.cpp: the suite of Tsounis et al. 2025
Scene box_on_plane(const SceneArguments& arguments);
Scene boxes_fixed(const SceneArguments& arguments);
Scene nunchuk(const SceneArguments& arguments);
Scene fourbar_fixed(const SceneArguments& arguments);
Scene fourbar_free(const SceneArguments& arguments);
Scene arm7d(const SceneArguments& arguments);
Scene loop_quadruped(const SceneArguments& arguments);
Scene bdx(const SceneArguments& arguments);
Scene lima(const SceneArguments& arguments);
Scene misha(const SceneArguments& arguments);
Scene walker(const SceneArguments& arguments);
Scene gazelle(const SceneArguments& arguments);
Scene ironman(const SceneArguments& arguments);
Scene digit_leg(const SceneArguments& arguments);

}  // namespace touchstone::makers
