// How much of a generated family a build tries.
#pragma once

#include <cstdlib>

namespace touchstone::test {

// True in optimised builds and wherever TOUCHSTONE_LONG is set. Builds with sanitizers are ten to twenty times slower;
// there a share of a family shows what the sanitizers look for.
inline bool whole_family() {
#ifdef NDEBUG
  return true;
#else
  return std::getenv("TOUCHSTONE_LONG") != nullptr;
#endif
}

}  // namespace touchstone::test
