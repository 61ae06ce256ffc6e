#pragma once

#include <span>
#include <string_view>

namespace touchstone {

// A file of models/, compiled into the library so that scenes need no installation path.
struct EmbeddedFile {
  std::string_view path;  // relative to models/, with '/' between folders
  std::string_view text;  // the bytes as they are; a mesh may hold zeros
};

// All of them, sorted by path; valid for the life of the program.
std::span<const EmbeddedFile> embedded_files();

}  // namespace touchstone
