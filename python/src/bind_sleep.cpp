// Who sleeps, and how to wake it.
#include <cstdint>
#include <optional>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "simulator.hpp"

namespace touchstone::python {
namespace {

nb::object asleep(const PySimulator& self) {
  std::vector<std::uint8_t> flags;
  for (int b = 0; b < self.sim.model().nbody; ++b) flags.push_back(self.sim.is_asleep(b) ? 1 : 0);
  return copy_flags(flags, {flags.size()});
}

int body_index(const PySimulator& self, const Reference& body) {
  return find_index(self.sim.model(), ElementKind::kBody, body);
}

bool is_asleep(const PySimulator& self, const Reference& body) { return self.sim.is_asleep(body_index(self, body)); }

void wake(PySimulator& self, const std::optional<Reference>& body) {
  const Guard guard(self.busy, "simulator");
  body ? self.sim.wake(body_index(self, *body)) : self.sim.wake();
}

void put_to_sleep(PySimulator& self, const Reference& body) {
  const Guard guard(self.busy, "simulator");
  self.sim.put_to_sleep(body_index(self, body));
}

}  // namespace

void bind_sleep_of(nb::class_<PySimulator>& c) {
  c.def_prop_ro("asleep", &asleep, nb::sig("def asleep(self) -> numpy.typing.NDArray[numpy.bool_]"),
                "nbody: who sleeps (option sleep=True); a copy.")
      .def("is_asleep", &is_asleep, nb::arg("body"))
      .def("wake", &wake, nb::arg("body") = nb::none(), "Wakes a body with its island, or everything.")
      .def("put_to_sleep", &put_to_sleep, nb::arg("body"),
           "Tries it in one of the next two steps, without waiting for the option sleep_time: it sleeps if it rests, "
           "and "
           "all that it touches is ready too.");
}

}  // namespace touchstone::python
