// Small drawings of scenes for reports: hulls of their shapes from the side and a little above, loops as dots.
#pragma once

#include <string>

#include "json_text.hpp"
#include "touchstone/scenes/scene.hpp"

namespace touchstone::cli {

// {"shapes": [{"color": [r, g, b], "shell": bool, "points": [[x, y, z], ...]}], "loops": [[x, y, z], ...]} at the
// start.
Json scene_picture(const Scene& scene);

// As SVG; empty without shapes.
std::string picture_svg(const Json& picture);

}  // namespace touchstone::cli
