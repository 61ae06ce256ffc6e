#include "touchstone/io/mjcf_png.hpp"

#include <cstdlib>

#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf_inflate.hpp"

namespace touchstone::mjcf {
namespace {

struct Header {
  std::uint32_t width = 0, height = 0;
  int depth = 0, color = 0, interlace = 0;
};

[[noreturn]] void fail_png(const std::string& file, const char* message) {
  throw InputError(ErrorDetail{.where = {file, 0, {}}, .message = message, .remedy = {}});
}

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

int channels_of(int color) {
  switch (color) {
    case 0:
      return 1;  // gray
    case 2:
      return 3;  // red, green, blue
    case 3:
      return 1;  // palette
    case 4:
      return 2;  // gray, alpha
    case 6:
      return 4;  // red, green, blue, alpha
    default:
      return 0;
  }
}

// Undoes the prediction of each row from its neighbours (PNG specification, section 9).
void unfilter(std::vector<std::uint8_t>& data, std::size_t rows, std::size_t row_bytes, std::size_t pixel_bytes,
              const std::string& file) {
  for (std::size_t y = 0; y < rows; ++y) {
    std::uint8_t* row = &data[y * (row_bytes + 1) + 1];
    const std::uint8_t* above = y > 0 ? row - (row_bytes + 1) : nullptr;
    const int filter = row[-1];
    if (filter > 4) fail_png(file, "not a PNG image: unknown filter");
    for (std::size_t x = 0; x < row_bytes; ++x) {
      const int left = x >= pixel_bytes ? row[x - pixel_bytes] : 0;
      const int up = above ? above[x] : 0;
      const int corner = above && x >= pixel_bytes ? above[x - pixel_bytes] : 0;
      int prediction = 0;
      if (filter == 1) prediction = left;
      if (filter == 2) prediction = up;
      if (filter == 3) prediction = (left + up) / 2;
      if (filter == 4) {
        const int estimate = left + up - corner;
        const int to_left = std::abs(estimate - left), to_up = std::abs(estimate - up),
                  to_corner = std::abs(estimate - corner);
        prediction = to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner;
      }
      row[x] = static_cast<std::uint8_t>(row[x] + prediction);
    }
  }
}

// The first channel of a pixel, scaled to eight bits.
std::uint8_t first_channel(const std::uint8_t* row, std::size_t x, const Header& header, int channels,
                           std::string_view palette) {
  if (header.depth >= 8) {
    const std::uint8_t value = row[x * static_cast<std::size_t>(channels * header.depth / 8)];
    if (header.color != 3) return value;
    const std::size_t entry = 3 * static_cast<std::size_t>(value);
    return entry < palette.size() ? static_cast<std::uint8_t>(palette[entry]) : 0;
  }
  const std::size_t bit = x * static_cast<std::size_t>(header.depth);
  const int mask = (1 << header.depth) - 1;
  const int value = row[bit / 8] >> (8 - header.depth - static_cast<int>(bit % 8)) & mask;
  if (header.color != 3) return static_cast<std::uint8_t>(value * 255 / mask);
  const std::size_t entry = 3 * static_cast<std::size_t>(value);
  return entry < palette.size() ? static_cast<std::uint8_t>(palette[entry]) : 0;
}

void check_header(const Header& header, int channels, const std::string& file) {
  constexpr std::uint64_t kMostPixels = 100'000'000;
  if (header.width == 0 || header.height == 0 ||
      static_cast<std::uint64_t>(header.width) * header.height > kMostPixels) {
    fail_png(file, "the PNG image is empty or has more than 100 million pixels");
  }
  const int d = header.depth;
  if (channels == 0 || (d != 1 && d != 2 && d != 4 && d != 8 && d != 16) || (channels > 1 && d < 8)) {
    fail_png(file, "not a PNG image: bad header");
  }
  if (header.interlace != 0) fail_png(file, "interlaced PNG images are not supported");
}

}  // namespace

GrayImage read_png(std::string_view bytes, const std::string& file) {
  constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
  if (bytes.substr(0, 8) != kSignature) fail_png(file, "not a PNG image");
  Header header;
  std::string_view palette;
  std::string compressed;
  for (std::size_t at = 8; at + 12 <= bytes.size();) {
    const std::size_t length = big_endian(bytes, at);
    const std::string_view type = bytes.substr(at + 4, 4);
    if (length > bytes.size() - at - 12) fail_png(file, "the PNG image is cut off");
    const std::string_view chunk = bytes.substr(at + 8, length);
    if (type == "IHDR" && length >= 13) {
      header = {big_endian(chunk, 0), big_endian(chunk, 4), static_cast<std::uint8_t>(chunk[8]),
                static_cast<std::uint8_t>(chunk[9]), static_cast<std::uint8_t>(chunk[12])};
    }
    if (type == "PLTE") palette = chunk;
    if (type == "IDAT") compressed += chunk;
    at += 12 + length;
  }
  const int channels = channels_of(header.color);
  check_header(header, channels, file);

  const std::size_t pixel_bits = static_cast<std::size_t>(channels * header.depth);
  const std::size_t row_bytes = (header.width * pixel_bits + 7) / 8;
  const std::size_t pixel_bytes = pixel_bits < 8 ? 1 : pixel_bits / 8;
  const std::size_t expected = header.height * (row_bytes + 1);
  std::vector<std::uint8_t> data = inflate_zlib(compressed, expected, file);
  if (data.size() != expected) fail_png(file, "the PNG image is cut off");
  unfilter(data, header.height, row_bytes, pixel_bytes, file);

  GrayImage image{static_cast<int>(header.width), static_cast<int>(header.height), {}};
  image.pixels.reserve(static_cast<std::size_t>(header.width) * header.height);
  for (std::size_t y = 0; y < header.height; ++y) {
    const std::uint8_t* row = &data[y * (row_bytes + 1) + 1];
    for (std::size_t x = 0; x < header.width; ++x)
      image.pixels.push_back(first_channel(row, x, header, channels, palette));
  }
  return image;
}

}  // namespace touchstone::mjcf
