#pragma once

#include <span>

#include "touchstone/scenes/embedded.hpp"

namespace touchstone {

// What `npm run build` in web/ made, compiled into the library; empty if it was not run.
std::span<const EmbeddedFile> embedded_web_files();

}  // namespace touchstone
