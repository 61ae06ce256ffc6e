#include "touchstone/io/mjcf/mjcf_png.hpp"

#include <png.h>

#include "touchstone/base/error.hpp"

namespace touchstone::mjcf {
namespace {

constexpr std::uint64_t kMostPixels = 100'000'000;

// Frees what libpng holds, also when an error is thrown on the way.
struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  ~PngImage() { png_image_free(this); }
};

[[noreturn]] void fail_png(const std::string& file, const std::string& message) {
  throw InputError({.where = {file, 0, {}}, .message = message, .remedy = "save the image as PNG again"});
}

template <typename Sample>
std::vector<Sample> read_samples(PngImage& image, png_uint_32 format, const std::string& file) {
  image.format = format;
  std::vector<Sample> samples(PNG_IMAGE_SIZE(image) / sizeof(Sample));
  if (png_image_finish_read(&image, nullptr, samples.data(), 0, nullptr) == 0) {
    fail_png(file, std::string("cannot read the image: ") + image.message);
  }
  return samples;
}

}  // namespace

GrayImage read_png(std::string_view bytes, const std::string& file) {
  PngImage image;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    fail_png(file, std::string("not a PNG image: ") + image.message);
  }
  const std::uint64_t count = std::uint64_t{image.width} * image.height;
  if (count > kMostPixels) fail_png(file, fmt::format("{} x {} pixels are too many", image.width, image.height));
  GrayImage gray{static_cast<int>(image.width), static_cast<int>(image.height), {}};
  gray.pixels.reserve(count);
  // Images of 16 bits are taken as they are, by their upper byte; converting them would apply a gamma curve.
  if ((image.format & PNG_FORMAT_FLAG_LINEAR) != 0) {
    const auto samples = read_samples<std::uint16_t>(image, PNG_FORMAT_LINEAR_RGB_ALPHA, file);
    for (std::uint64_t i = 0; i < count; ++i) gray.pixels.push_back(static_cast<std::uint8_t>(samples[4 * i] >> 8));
  } else {
    const auto samples = read_samples<std::uint8_t>(image, PNG_FORMAT_RGBA, file);
    for (std::uint64_t i = 0; i < count; ++i) gray.pixels.push_back(samples[4 * i]);
  }
  return gray;
}

}  // namespace touchstone::mjcf
