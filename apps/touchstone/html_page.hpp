// The frame of the HTML reports: one file that needs nothing else, light and dark.
#pragma once

#include <filesystem>
#include <string>

namespace touchstone::cli {

// Up to the open <main>; then whatever the report shows; then page_end with the command that made it.
std::string page_begin(const std::string& title);
std::string page_end(const std::string& command);

// As base/output_file.hpp says. Throws InputError, which names the option that chooses the file.
void write_page(const std::filesystem::path& file, const std::string& page, const std::string& option);

}  // namespace touchstone::cli
