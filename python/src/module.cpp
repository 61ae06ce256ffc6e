// The extension module. Compiled for the plainest processor of the family, so that an old one gets a message instead of
// an illegal instruction; everything else is in the other files.
#include <nanobind/nanobind.h>

#include "touchstone/base/cpu.hpp"
#include "touchstone/base/version.hpp"

namespace touchstone::python {
void bind_all(nanobind::module_& m);
}

NB_MODULE(_core, m) {
  touchstone::require_supported_cpu();
  m.doc() = "The native part of Touchstone; use the package touchstone.";
  m.attr("version") = TOUCHSTONE_VERSION;
  touchstone::python::bind_all(m);
}
