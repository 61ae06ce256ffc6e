// Four rows of four lanes.
#pragma once

#include "touchstone/math/vec3.hpp"

namespace touchstone {

// Rows of four lanes as columns.
inline void transpose(Lanes* a) {
  const Lanes low01 = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6);
  const Lanes high01 = __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
  const Lanes low23 = __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6);
  const Lanes high23 = __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
  a[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  a[1] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  a[2] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  a[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

}  // namespace touchstone
