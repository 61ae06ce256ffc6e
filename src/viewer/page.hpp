// The viewer's page: one HTML file with its scripts and styles inside, compiled into the library when web/ was built
// before (./run does it). It shows what is written into its placeholder: a replay, or a live simulation.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "touchstone/viewer/replay.hpp"

namespace touchstone {

// False if the library was built without web/ (plain CMake on a machine without Node.js).
bool has_viewer_page();

// The page with the JSON document inside. Throws Error that says how to get the page if it is not there.
std::string viewer_page(std::string_view document);

// A self-contained replay that opens from disk in any browser. Written as base/output_file.hpp says: whole or not at
// all. Throws InputError if it cannot be written.
void write_html(const Replay& replay, const std::filesystem::path& file);

namespace viewer {

// The text inside a <script> element: JSON in which nothing can end the element or start a comment.
std::string escaped_for_script(std::string_view json);

}  // namespace viewer
}  // namespace touchstone
