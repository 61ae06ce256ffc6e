// Recordings in HDF5: written beside a simulation, read as arrays.
#include <filesystem>

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "simulator.hpp"
#include "stepping.hpp"
#include "touchstone/base/printable.hpp"
#include "touchstone/record/recording.hpp"

namespace touchstone::python {
namespace {

using Handle = nb::handle_t<Recording>;

const Recording& recording_of(Handle self) { return nb::cast<const Recording&>(self); }

// A column of the steps as it lies in memory: read-only, it keeps the recording.
template <std::vector<double> StepTable::*member>
ConstArray1 numbers(Handle self) {
  const std::vector<double>& column = recording_of(self).steps().*member;
  return {column.data(), {column.size()}, self};
}

template <std::vector<std::int32_t> StepTable::*member>
ConstIntArray integers(Handle self) {
  const std::vector<std::int32_t>& column = recording_of(self).steps().*member;
  return {column.data(), {column.size()}, self};
}

template <std::vector<double> StepTable::*member>
ConstArray2 rows(Handle self, int width) {
  return {
      (recording_of(self).steps().*member).data(), {recording_of(self).rows(), static_cast<std::size_t>(width)}, self};
}

template <std::vector<double> ContactTable::*member>
ConstArray2 contact_rows(Handle self) {
  const Recording& r = recording_of(self);
  return {(r.contacts().*member).data(), {r.contacts().rows(), 3}, self};
}

template <std::vector<double> ContactTable::*member>
ConstArray1 contact_numbers(Handle self) {
  const Recording& r = recording_of(self);
  return {(r.contacts().*member).data(), {r.contacts().rows()}, self};
}

template <std::vector<std::int32_t> ContactTable::*member>
ConstIntArray contact_integers(Handle self) {
  const Recording& r = recording_of(self);
  return {(r.contacts().*member).data(), {r.contacts().rows()}, self};
}

Copy1 normal_force(const Recording& r) {
  VectorX sum = VectorX::Zero(static_cast<Eigen::Index>(r.rows()));
  const ContactTable& c = r.contacts();
  for (std::size_t row = 0; row < r.rows(); ++row) {
    for (std::size_t k = 3 * r.contact_start(row); k < 3 * r.contact_start(row + 1); ++k) {
      sum[static_cast<Eigen::Index>(row)] += c.force[k] * c.normal[k];
    }
  }
  return copy(sum);
}

std::size_t checked_row(const Recording& r, int row) {
  const int count = static_cast<int>(r.rows());
  const int index = row < 0 ? row + count : row;
  if (index < 0 || index >= count) throw nb::index_error("row of a recording");
  return static_cast<std::size_t>(index);
}

nb::object contact_slice(const Recording& r, int row) {
  const std::size_t i = checked_row(r, row);
  const auto first = static_cast<std::ptrdiff_t>(r.contact_start(i));
  const auto last = static_cast<std::ptrdiff_t>(r.contact_start(i + 1));
  return nb::steal(PySlice_New(nb::int_(first).ptr(), nb::int_(last).ptr(), nullptr));
}

nb::object asleep(const Recording& r) {
  std::vector<std::uint8_t> flags;
  const int bodies = r.model()->nbody;
  for (std::size_t row = 0; row < r.rows(); ++row) {
    for (int b = 0; b < bodies; ++b) flags.push_back(r.is_asleep(row, b) ? 1 : 0);
  }
  return copy_flags(flags, {r.rows(), static_cast<std::size_t>(bodies)});
}

void bind_steps(nb::class_<Recording>& c) {
  c.def("__len__", &Recording::rows)
      .def_prop_ro("time", &numbers<&StepTable::time>, "s")
      .def_prop_ro(
          "q", [](Handle self) { return rows<&StepTable::q>(self, recording_of(self).model()->nq); }, "rows x nq")
      .def_prop_ro(
          "v", [](Handle self) { return rows<&StepTable::v>(self, recording_of(self).model()->nv); }, "rows x nv")
      .def_prop_ro(
          "control", [](Handle self) { return rows<&StepTable::control>(self, recording_of(self).model()->nu); },
          "rows x nu")
      .def_prop_ro("step", &integers<&StepTable::step>, "Number of steps before this moment.")
      .def_prop_ro("contacts", &integers<&StepTable::contacts>, "Number of contacts.")
      .def_prop_ro("islands", &integers<&StepTable::islands>)
      .def_prop_ro("iterations", &integers<&StepTable::iterations>)
      .def_prop_ro("events", &integers<&StepTable::events>, "Of the integrator 'event', since the row before.")
      .def_prop_ro("impacts", &integers<&StepTable::impacts>, "Of the integrator 'event', since the row before.")
      .def_prop_ro("rejected", &integers<&StepTable::rejected>,
                   "Steps between events, and parts of a step, that were tried again since the row before.")
      .def_prop_ro("fallbacks", &integers<&StepTable::fallbacks>,
                   "Parts made by another rule than the one chosen, since the row before.")
      .def_prop_ro("newton", &integers<&StepTable::newton>,
                   "Iterations of the equation of motion since the row before.")
      .def_prop_ro("last_event", &numbers<&StepTable::last_event>, "s, when; 0 before the first.")
      .def_prop_ro("asleep", &asleep, nb::sig("def asleep(self) -> numpy.typing.NDArray[numpy.bool_]"),
                   "rows x nbody: who sleeps; a copy.")
      .def_prop_ro("natv", &numbers<&StepTable::natv>, "Certificate, m/s.")
      .def_prop_ro("natv_relative", &numbers<&StepTable::natv_relative>)
      .def_prop_ro("law_natv", &numbers<&StepTable::law_natv>,
                   "m/s: residual of the law of compliant solvers, 0 with others.")
      .def_prop_ro("law_natv_relative", &numbers<&StepTable::law_natv_relative>)
      .def_prop_ro("penetration", &numbers<&StepTable::penetration>, "m")
      .def_prop_ro("violation", &numbers<&StepTable::violation>, "Of limits and equalities, m or rad.")
      .def_prop_ro("kinetic_energy", &numbers<&StepTable::kinetic_energy>, "J")
      .def_prop_ro("potential_energy", &numbers<&StepTable::potential_energy>, "J")
      .def_prop_ro(
          "times", [](Handle self) { return rows<&StepTable::times>(self, 6); },
          "rows x 6, s: dynamics, collision, assembly, solve, integrate, certify.")
      .def_prop_ro("normal_force", &normal_force, "N: the sum over all contacts of a moment.");
}

void bind_contact_columns(nb::class_<Recording>& c) {
  c.def("contacts_of", &contact_slice, nb::arg("row"), nb::sig("def contacts_of(self, row: int) -> slice"),
        "The contacts of a moment, to index the contact_ arrays with.")
      .def_prop_ro("contact_shape_a", &contact_integers<&ContactTable::shape_a>)
      .def_prop_ro("contact_shape_b", &contact_integers<&ContactTable::shape_b>)
      .def_prop_ro("contact_position", &contact_rows<&ContactTable::position>, "n x 3, m, world")
      .def_prop_ro("contact_normal", &contact_rows<&ContactTable::normal>, "n x 3, from A to B")
      .def_prop_ro("contact_force", &contact_rows<&ContactTable::force>, "n x 3, N, world, on B")
      .def_prop_ro("contact_torque", &contact_rows<&ContactTable::torque>, "n x 3, N m, world, on B")
      .def_prop_ro("contact_distance", &contact_numbers<&ContactTable::distance>, "m")
      .def_prop_ro("contact_friction", &contact_numbers<&ContactTable::friction>, "Sliding coefficient.");
}

// A recording that is being written: it steps the simulator itself.
class Recorder {
 public:
  Recorder(const std::filesystem::path& file, PySimulator& simulator, int every, const std::string& scene)
      : simulator_(simulator), file_(file.string()), writer_(file, simulator.sim, {.every = every, .scene = scene}) {}

  StepReport step(int count) {
    const Guard guard(simulator_.busy, "simulator");
    run_steps(count, [this] {
      const bool diverged = simulator_.step().status == StepStatus::kDiverged;
      writer_.add(simulator_.sim);
      return !diverged;
    });
    return simulator_.sim.report();
  }
  void close() { writer_.close(); }
  const std::string& file() const { return file_; }

 private:
  PySimulator& simulator_;
  std::string file_;
  RecordingWriter writer_;
};

}  // namespace

void bind_recording(nb::module_& m) {
  nb::class_<Recording> c(
      m, "Recording",
      "A recorded simulation, read from a file: arrays with one row for each moment, read-only, and "
      "the model itself.");
  c.def(nb::init<const std::filesystem::path&>(), nb::arg("file"), "Raises InputError if it is no recording.")
      .def_prop_ro("model", [](const Recording& r) { return PyModel{r.model()}; })
      .def_prop_ro(
          "scene", [](const Recording& r) { return valid_utf8(r.scene()); }, "What was run.")
      .def_prop_ro("dt", &Recording::time_step, "s")
      .def_prop_ro("every", &Recording::every, "Steps between rows.")
      .def_prop_ro("complete", &Recording::complete, "False when the writer did not come to close(), or if damaged.")
      .def_prop_ro(
          "damage", [](const Recording& r) { return r.damage(); },
          "What is wrong with the file, and where; empty if nothing is. Rows from there on are left out.")
      .def(
          "state", [](const Recording& r, int row) { return r.state(checked_row(r, row)); }, nb::arg("row"),
          "Of a moment; negative rows count from the end.")
      .def("__repr__", [](const Recording& r) {
        return fmt::format("<Recording of '{}': {} rows, {} contacts, dt {:.4g} s{}>", r.model()->name, r.rows(),
                           r.contacts().rows(), r.time_step(), r.complete() ? "" : ", not complete");
      });
  bind_steps(c);
  bind_contact_columns(c);

  nb::class_<Recorder>(m, "Recorder",
                       "Writes a recording while it steps a simulator; use it in a with statement. What was written "
                       "stays readable whatever happens.")
      .def(nb::init<const std::filesystem::path&, PySimulator&, int, const std::string&>(), nb::arg("file"),
           nb::arg("simulator"), nb::kw_only(), nb::arg("every") = 1, nb::arg("scene") = "", nb::keep_alive<1, 3>(),
           "every: steps between rows; the present moment is the first row.")
      .def("step", &Recorder::step, nb::arg("count") = 1, "As Simulator.step, and records.")
      .def("close", &Recorder::close, "Writes what is left.")
      .def(
          "__enter__", [](nb::handle_t<Recorder> self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> Recorder"))
      .def(
          "__exit__", [](Recorder& self, const nb::args&) { self.close(); },
          nb::sig("def __exit__(self, *args: object) -> None"))
      .def("__repr__", [](const Recorder& self) { return fmt::format("<Recorder to {}>", self.file()); });
}

}  // namespace touchstone::python
