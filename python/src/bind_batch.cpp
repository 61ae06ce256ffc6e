// Many worlds of one model.
#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "bindings.hpp"
#include "contacts.hpp"
#include "simulator.hpp"
#include "touchstone/base/clock.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/sim/batch.hpp"
#include "touchstone/sim/option_fields.hpp"

namespace touchstone::python {
namespace {

struct PyBatch {
  PyBatch(const PyModel& of, int worlds, const SimulatorOptions& options, int threads)
      : model(of.ptr), batch(of.ptr, worlds, options, threads) {}

  ModelPtr model;
  Batch batch;
  std::atomic<bool> busy{false};
};

using Handle = nb::handle_t<PyBatch>;
using BoolArray = nb::ndarray<nb::numpy, bool, nb::ndim<1>>;

PyBatch& batch_of(Handle self) { return nb::cast<PyBatch&>(self); }

// Whole numbers of any size: those that do not fit get the message of the others.
int whole_number(const nb::int_& number, const char* what) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || value != static_cast<int>(value))
    throw Error("{} {}; give a number from 1 to {}", nb::str(number).c_str(), what, std::numeric_limits<int>::max());
  return static_cast<int>(value);
}

void construct(PyBatch* self, const PyModel& model, const nb::int_& worlds, double dt, const std::string& solver,
               const nb::int_& threads, const nb::kwargs& options) {
  SimulatorOptions o;
  o.time_step = dt;
  set_option(o, "solver", solver);
  set_options(o, options);
  new (self) PyBatch(model, whole_number(worlds, "worlds"), o, whole_number(threads, "threads"));
}

// One row a world, no copy.
Array2 rows(std::span<double> values, int width, Handle self) {
  const auto columns = static_cast<std::size_t>(width);
  return view_rows(values.data(), static_cast<std::size_t>(batch_of(self).batch.worlds()), columns, columns, self);
}

void assign_rows(std::span<double> target, int width, int worlds, const Numbers& source, const char* name) {
  const std::vector<double>& values = source.values();
  const std::size_t columns = static_cast<std::size_t>(width);
  if (values.size() != 1 && values.size() != columns && values.size() != target.size()) {
    throw Error("{} has shape {}; give one number, {} for all worlds, or {} x {}", name, source.shape_text(), width,
                worlds, width);
  }
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] = values.size() == 1 ? values[0] : values[values.size() == columns ? i % columns : i];
  }
}

// Calls grow until one takes about the time a user waits for Ctrl-C, so that threads rarely wait for each other.
void step(PyBatch& self, int count) {
  constexpr double kPatience = 0.05;  // s
  if (count < 0) throw Error("step({}); give the number of steps", count);
  const Guard guard(self.busy, "batch");
  for (int done = 0, chunk = 1; done < count;) {
    const int now = std::min(chunk, count - done);
    double seconds = 0.0;
    {
      const nb::gil_scoped_release release;
      const Stopwatch watch;
      self.batch.step(now);
      seconds = watch.seconds();
    }
    done += now;
    if (seconds < kPatience) chunk *= 2;
    if (done < count && PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

void reset(PyBatch& self, const std::optional<int>& world, const std::optional<Reference>& keyframe) {
  const Guard guard(self.busy, "batch");
  const int first = world.value_or(0);
  const int last = world ? *world + 1 : self.batch.worlds();
  if (!keyframe) {
    for (int w = first; w < last; ++w) self.batch.reset(w);
    return;
  }
  const int index = find_index(*self.model, ElementKind::kKeyframe, *keyframe);
  for (int w = first; w < last; ++w) self.batch.reset(w, index);
}

Owned<BoolArray> worlds_ok(const PyBatch& self) {
  const std::span<const StepStatus> status = self.batch.statuses();
  auto* memory = new bool[std::max<std::size_t>(status.size(), 1)];
  const nb::capsule owner(memory, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  for (std::size_t i = 0; i < status.size(); ++i) memory[i] = status[i] == StepStatus::kOk;
  return {BoolArray(memory, {status.size()}, owner)};
}

void bind_arrays(nb::class_<PyBatch>& c) {
  c.def_prop_rw(
       "q", [](Handle self) { return rows(batch_of(self).batch.q(), batch_of(self).model->nq, self); },
       [](PyBatch& self, const Numbers& x) {
         assign_rows(self.batch.q(), self.model->nq, self.batch.worlds(), x, "q");
       },
       "worlds x nq: configurations; a view. After writing by hand call forget().")
      .def_prop_rw(
          "v", [](Handle self) { return rows(batch_of(self).batch.v(), batch_of(self).model->nv, self); },
          [](PyBatch& self, const Numbers& x) {
            assign_rows(self.batch.v(), self.model->nv, self.batch.worlds(), x, "v");
          },
          "worlds x nv: velocities; a view.")
      .def_prop_rw(
          "activation",
          [](Handle self) { return rows(batch_of(self).batch.activation(), batch_of(self).model->na, self); },
          [](PyBatch& self, const Numbers& x) {
            assign_rows(self.batch.activation(), self.model->na, self.batch.worlds(), x, "activation");
          },
          "worlds x na; a view.")
      .def_prop_rw(
          "control", [](Handle self) { return rows(batch_of(self).batch.control(), batch_of(self).model->nu, self); },
          [](PyBatch& self, const Numbers& x) {
            assign_rows(self.batch.control(), self.model->nu, self.batch.worlds(), x, "control");
          },
          "worlds x nu; a view.")
      .def_prop_ro(
          "time",
          [](Handle self) {
            const std::span<const double> times = batch_of(self).batch.times();
            return ConstArray1(times.data(), {times.size()}, self);
          },
          "s, one a world.")
      .def_prop_ro("ok", &worlds_ok, "Whether the last step of each world was; a copy.");
}

}  // namespace

void bind_batch(nb::module_& m) {
  nb::class_<PyBatch> c(
      m, "Batch",
      "Many worlds of one model, stepped by several threads. Worlds do not touch each other; results do "
      "not depend on the number of threads. Trouble in one world does not stop the others.");
  c.def(
       "__init__", &construct, nb::arg("model"), nb::arg("worlds"), nb::kw_only(), nb::arg("dt") = 0.0,
       nb::arg("solver") = "auto", nb::arg("threads") = 0, nb::arg("options"),
       nb::sig("def __init__(self, model: Model, worlds: int, *, dt: float = 0.0, solver: str = 'auto', threads: int = "
               "0, **options: bool | int | float | str) -> None"),
       "All worlds at the reference configuration. threads: 0 for one a processor. Other options as of Simulator.")
      .def("__len__", [](const PyBatch& self) { return self.batch.worlds(); })
      .def_prop_ro("worlds", [](const PyBatch& self) { return self.batch.worlds(); })
      .def_prop_ro("threads", [](const PyBatch& self) { return self.batch.threads(); })
      .def_prop_ro("model", [](const PyBatch& self) { return PyModel{self.model}; })
      .def("step", &step, nb::arg("count") = 1, "So many steps in every world, without holding the GIL.")
      .def(
          "reset", &reset, nb::arg("world") = nb::none(), nb::arg("keyframe") = nb::none(),
          "One world or all, to the reference configuration or a keyframe (with its controls); contacts are forgotten.")
      .def(
          "forget",
          [](PyBatch& self, const std::optional<int>& world) {
            const int first = world.value_or(0), last = world ? *world + 1 : self.batch.worlds();
            for (int w = first; w < last; ++w) self.batch.forget(w);
          },
          nb::arg("world") = nb::none(), "Forgets contacts after q or v were written by hand; one world or all.")
      .def(
          "parameters", [](PyBatch& self, int world) -> Parameters& { return self.batch.parameters(world); },
          nb::arg("world"), nb::rv_policy::reference_internal, "Of one world.")
      .def(
          "contacts", [](const PyBatch& self, int world) { return PyContacts(self.batch.simulator(world)); },
          nb::arg("world"), "Of the last step of one world: a snapshot.")
      .def(
          "report", [](const PyBatch& self, int world) { return StepReport(self.batch.simulator(world).report()); },
          nb::arg("world"), "Of the last step of one world: a snapshot.")
      .def(
          "error", [](const PyBatch& self, int world) { return self.batch.error(world); }, nb::arg("world"),
          "What an exception in the world's last step said; empty if there was none.")
      .def("__repr__", [](const PyBatch& self) {
        return fmt::format("<Batch of {} worlds of '{}' on {} threads>", self.batch.worlds(), self.model->name,
                           self.batch.threads());
      });
  bind_arrays(c);
}

}  // namespace touchstone::python
