#pragma once

#include <span>
#include <string_view>

namespace touchstone::gpu {

// A header of this folder, compiled into the library for CUDA so that it can be compiled again for a model.
struct EmbeddedFile {
  std::string_view path;  // relative to the folder, with '/' between folders
  std::string_view text;
};

// All of them, sorted by path. Made by cmake/embed.cmake; only where the library is built with CUDA.
std::span<const EmbeddedFile> embedded_sources();

}  // namespace touchstone::gpu
