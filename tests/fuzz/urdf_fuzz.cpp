// URDF from any bytes: an InputError or a model, never a crash. The first byte chooses the options.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "touchstone/base/error.hpp"
#include "touchstone/io/urdf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  touchstone::LoadOptions options;
  options.floating_base = (data[0] & 1) != 0;
  options.merge_fixed = (data[0] & 2) == 0;
  options.allow_ignored = (data[0] & 4) != 0;
  const std::string_view xml(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    touchstone::load_urdf_string(xml, "/nonexistent", options);
  } catch (const touchstone::Error&) {
  }
  return 0;
}
