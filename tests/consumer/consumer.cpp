// Compiled against the installed headers and libraries only.

#include <cstdio>

#include "touchstone/base/cpu.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/version.hpp"
#include "touchstone/scenes/embedded.hpp"

int main() {
  try {
    touchstone::require_supported_cpu();
  } catch (const touchstone::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::printf("touchstone %s, %zu embedded files\n", touchstone::kVersion, touchstone::embedded_files().size());
  return touchstone::embedded_files().empty() ? 1 : 0;
}
