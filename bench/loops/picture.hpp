// What report.py draws of a system: points of its shapes, seen from the side.
#pragma once

#include <nlohmann/json.hpp>

#include "touchstone/scenes/scene.hpp"

namespace bench {

// {"shapes": [{"color": [r, g, b], "shell": bool, "points": [[x, y, z], ...]}], "loops": [[x, y, z], ...]} at the
// start.
nlohmann::json picture(const touchstone::Scene& scene);

}  // namespace bench
