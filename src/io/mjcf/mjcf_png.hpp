// PNG images as height fields (libpng).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace touchstone::mjcf {

struct GrayImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // row by row from the top; of a coloured image the red channel
};

// Throws InputError that names `file` if it is not a PNG, is damaged, or has more than a hundred million pixels.
GrayImage read_png(std::string_view bytes, const std::string& file);

}  // namespace touchstone::mjcf
