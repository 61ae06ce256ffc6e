#pragma once

// The one place where the version is written: CMake reads it from here.

#define TOUCHSTONE_VERSION "0.1.0"

namespace touchstone {

inline constexpr const char* kVersion = TOUCHSTONE_VERSION;

}  // namespace touchstone
