#pragma once

#include <cstddef>

namespace touchstone {

/// Our counts and indices are `int`, the standard library's are unsigned: `bodies[at(i)]`.
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Numbers from `begin` to just before `end`.
struct IndexRange {
  int begin = 0, end = 0;

  bool operator==(const IndexRange&) const = default;
};

}  // namespace touchstone
