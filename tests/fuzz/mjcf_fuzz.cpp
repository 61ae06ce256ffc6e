// Any bytes as MJCF: a model or an InputError, nothing else. Files do not exist, except that the input may include,
// attach and use itself.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "touchstone/io/mjcf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  touchstone::LoadOptions options;
  options.allow_ignored = size % 2 == 0;
  options.max_elements = 1'000;
  const auto itself = [&](const std::string& path) -> std::optional<std::string> {
    if (path.size() > 2) return std::nullopt;
    return std::string(text);
  };
  try {
    touchstone::load_mjcf_string(text, options, itself);
  } catch (const touchstone::Error&) {
  }
  return 0;
}
