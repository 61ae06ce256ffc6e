// Systems of the suite as MJCF, for MuJoCo: the same bodies, joints, inertias, servos and colliding shapes.
#pragma once

#include <string>

#include "touchstone/scenes/scene.hpp"

namespace bench {

// Motors at loop joints are left out: those of the suite idle.
bool writes(const touchstone::Actuator& actuator);

// Throws Error naming what MJCF cannot say. Loops become what MuJoCo has: a spherical joint connect, a revolute one two
// of them on its axis, a fixed one weld; other types are refused. Meshes collide by their hulls there, so scenes with
// surfaces are refused unless `hulls`.
std::string to_mjcf(const touchstone::Scene& scene, bool hulls);

}  // namespace bench
