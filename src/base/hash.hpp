#pragma once

#include <cstddef>
#include <cstdint>

namespace touchstone {

inline constexpr std::uint64_t kFnvStart = 14695981039346656037ull;

// FNV-1a over bytes; pass the last answer as `hash` to go on. Tells data apart, protects against accidents only.
inline std::uint64_t fnv1a(const void* data, std::size_t size, std::uint64_t hash = kFnvStart) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

}  // namespace touchstone
