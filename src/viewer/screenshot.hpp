// Pictures and films of a replay, made by a browser without a window.
#pragma once

#include <filesystem>

#include "touchstone/viewer/replay.hpp"

namespace touchstone {

struct ScreenshotOptions {
  double time = 0.0;  // s, of the frame
  int width = 1280, height = 800;
  bool dark = false;
};

// Writes a PNG. Throws Error that names the package if there is no Chromium or Chrome in the path (the environment
// variable TOUCHSTONE_CHROMIUM names another one), or if it fails.
void write_png(const Replay& replay, const std::filesystem::path& file, const ScreenshotOptions& options = {});

struct FilmOptions {
  double rate = 30.0;  // pictures a second
  int width = 1280, height = 720;
  bool dark = false;
};

// Writes an MP4 (H.264) of the whole replay. Needs ffmpeg in the path too; throws Error that says what is missing.
void write_mp4(const Replay& replay, const std::filesystem::path& file, const FilmOptions& options = {});

}  // namespace touchstone
