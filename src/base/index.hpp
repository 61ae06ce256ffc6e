#pragma once

#include <cstddef>

namespace touchstone {

/// Our counts and indices are `int`, the standard library's are unsigned: `bodies[at(i)]`.
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace touchstone
