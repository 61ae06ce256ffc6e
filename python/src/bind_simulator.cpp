// The simulator.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include "bindings.hpp"
#include "contacts.hpp"
#include "simulator.hpp"
#include "stepping.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/fclib.hpp"
#include "touchstone/sim/detection/detector.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/sim/unused_damping.hpp"
#include "viewer.hpp"

namespace touchstone::python {
namespace {

using Handle = nb::handle_t<PySimulator>;

PySimulator& simulator_of(Handle self) { return nb::cast<PySimulator&>(self); }

std::string option_text(nb::handle value) {
  if (PyBool_Check(value.ptr()) != 0) return value.is(Py_True) ? "true" : "false";
  return nb::cast<std::string>(nb::str(value));
}

void construct(PySimulator* self, const PyModel& model, double dt, const std::string& solver,
               const nb::kwargs& options) {
  SimulatorOptions o;
  o.time_step = dt;
  set_option(o, "solver", solver);
  set_options(o, options);
  new (self) PySimulator(model.ptr, o);
  if (const auto unused = unused_damping(*model.ptr, o)) {
    const nb::object category = nb::module_::import_("touchstone._load").attr("ModelWarning");
    const std::string place = unused->origin.text(), text = place + (place.empty() ? "" : ": ") + unused->message;
    if (PyErr_WarnEx(category.ptr(), text.c_str(), 1) != 0) throw nb::python_error();  // warnings may be errors
  }
}

StepReport step(PySimulator& self, int count) {
  const Guard guard(self.busy, "simulator");
  run_steps(count, [&self] { return self.step().status != StepStatus::kDiverged; });
  return self.sim.report();
}

void reset(PySimulator& self, const std::optional<std::variant<int, std::string, const State*>>& to) {
  const Guard guard(self.busy, "simulator");
  if (!to) {
    self.reset();
  } else if (const int* index = std::get_if<int>(&*to)) {
    self.sim.reset(*index);
  } else if (const auto* name = std::get_if<std::string>(&*to)) {
    self.sim.reset(std::string_view(*name));
  } else {
    self.sim.reset(*std::get<const State*>(*to));
  }
}

const Data& current(PySimulator& self) {
  forward_kinematics(self.sim.model(), self.sim.parameters(), self.sim.state(), self.data);
  return self.data;
}

Copy2 poses(PySimulator& self) {
  const Data& data = current(self);
  MatrixX rows(self.sim.model().nbody, 7);
  for (int i = 0; i < self.sim.model().nbody; ++i) {
    const Transform X = body_pose(data, i);
    rows.row(i) << X.position.transpose(), X.rotation.w(), X.rotation.vec().transpose();
  }
  return copy_matrix(rows);
}

// [linear; angular] velocity of a body's origin in the world.
Copy1 body_velocity(PySimulator& self, const Reference& body) {
  const int index = find_index(self.sim.model(), ElementKind::kBody, body);
  current(self);
  forward_velocity(self.sim.model(), self.sim.state().v, self.data);
  const Vector6 v = point_velocity(self.sim.model(), self.data, index, body_pose(self.data, index).position);
  return copy(v.data(), 6);
}

RecordedProblem contact_problem(const PySimulator& self) {
  RecordedProblem recorded;
  recorded.title = fmt::format("{} at {} s", self.sim.model().name, self.sim.report().time);
  const double h = self.sim.part_size();
  recorded.problem.time_step = h;
  if (self.sim.constraints().count() == 0) return recorded;
  TreeIslands islands;
  TreeIslands::Scratch scratch;
  islands.find(self.sim.model(), self.sim.constraints(), false);
  if (islands.count() == 0) return recorded;  // nothing moves
  islands.build_problem(0, self.sim.model(), self.sim.constraints(), h, scratch);
  islands[0].problem.primal =
      islands.build_primal(0, self.sim.model(), self.sim.data(), self.sim.constraints(), scratch);
  recorded.problem = islands[0].problem;
  return recorded;
}

nb::object raycast(PySimulator& self, const Numbers& origin, const Numbers& direction, double max_distance) {
  const RayHit hit =
      self.sim.detector().raycast(Vec3(origin.vector3("origin")), Vec3(direction.vector3("direction")), max_distance);
  if (hit.shape < 0) return nb::none();
  return nb::make_tuple(hit.shape, hit.distance, copy(hit.point.eigen()), copy(hit.normal.eigen()));
}

std::string repr(const PySimulator& self) {
  return fmt::format("<Simulator of '{}' at {:.6g} s: dt {:.4g} s, solver {}, {}>", self.sim.model().name,
                     self.sim.state().time, self.sim.time_step(), self.sim.options().solver,
                     to_string(self.sim.report().status));
}

std::string html(const PySimulator& self) {
  const StepReport& r = self.sim.report();
  return html_table("Simulator of " + self.sim.model().name,
                    {{"time", fmt::format("{:.6g} s", self.sim.state().time)},
                     {"dt, solver", fmt::format("{:.4g} s, {}", self.sim.time_step(), self.sim.options().solver)},
                     {"status", to_string(r.status)},
                     {"contacts, islands", fmt::format("{}, {}", r.contacts, r.islands)},
                     {"natv", fmt::format("{:.3g} m/s", r.residuals.natv)},
                     {"penetration", fmt::format("{:.3g} m", r.penetration)},
                     {"last step", fmt::format("{:.4g} us", 1e6 * r.times.total())}});
}

void bind_input(nb::class_<PySimulator>& c) {
  c.def_prop_rw(
       "control", [](Handle self) { return view(simulator_of(self).sim.input().control, self); },
       [](PySimulator& self, const Numbers& value) { assign(self.sim.input().control, value, "control"); },
       "nu numbers for the actuators, constant over a step; a view.")
      .def_prop_rw(
          "applied_force", [](Handle self) { return view(simulator_of(self).sim.input().applied_force, self); },
          [](PySimulator& self, const Numbers& value) {
            assign(self.sim.input().applied_force, value, "applied_force");
          },
          "nv generalised forces, N or N m; a view.")
      .def_prop_ro(
          "applied_wrench",
          [](Handle self) {
            std::vector<Vector6>& wrenches = simulator_of(self).sim.input().applied_wrench;
            return view_rows(wrenches[0].data(), wrenches.size(), 6, sizeof(Vector6) / sizeof(double), self);
          },
          "nbody x 6: [force (N), torque (N m)] in world axes at the bodies' centres of mass; a view.");
}

void bind_results(nb::class_<PySimulator>& c) {
  c.def_prop_ro(
       "contacts", [](const PySimulator& self) { return PyContacts(self.sim); },
       "The contacts of the last step: a snapshot.")
      .def_prop_ro(
          "report", [](const PySimulator& self) { return StepReport(self.sim.report()); },
          "What the last step says about itself: a snapshot.")
      .def_prop_ro(
          "sensors", [](PySimulator& self) { return copy(self.sim.sensors()); },
          "Values of all sensors in the last step, in the order of the model; a copy.")
      .def(
          "sensor",
          [](PySimulator& self, const std::string& name) {
            const std::span<const double> values = self.sim.sensor(name);
            return copy(values.data(), values.size());
          },
          nb::arg("name"), "Values of one sensor in the last step; a copy.")
      .def_prop_ro(
          "actuator_force", [](const PySimulator& self) { return copy(self.sim.actuator_forces()); },
          "nu: what the actuators pushed with in the last step, N or N m; a copy.")
      .def_prop_ro(
          "acceleration", [](const PySimulator& self) { return copy(self.sim.acceleration()); },
          "nv: of the last step; a copy.")
      .def(
          "describe_worst", [](const PySimulator& self) { return self.sim.describe_worst(); },
          "The constraint that the certificate of the last step is worst at.")
      .def(
          "describe_hindered", [](const PySimulator& self) { return self.sim.describe_hindered(); },
          "A constraint whose recovery others stood against in the last step; empty: none.")
      .def(
          "contact_wrench",
          [](const PySimulator& self, const Reference& body) {
            const Vector6 w = self.sim.contact_wrench(find_index(self.sim.model(), ElementKind::kBody, body));
            return copy(w.data(), 6);
          },
          nb::arg("body"),
          "[force (N), torque (N m)] of all contacts on a body in the last step, world axes, about its "
          "origin at the start of the step.")
      .def("contact_problem", &contact_problem,
           "The contact problem of the last step, all islands together, for experiments with solvers.");
}

// Of the current state, not of the last step.
void bind_kinematics(nb::class_<PySimulator>& c) {
  c.def(
       "kinetic_energy",
       [](PySimulator& self) {
         current(self);
         forward_velocity(self.sim.model(), self.sim.state().v, self.data);
         return kinetic_energy(self.sim.model(), self.sim.parameters(), self.sim.state().v, self.data);
       },
       "J, of the current state.")
      .def(
          "potential_energy",
          [](PySimulator& self) {
            return potential_energy(self.sim.model(), self.sim.parameters(), self.sim.state().q, current(self));
          },
          "J: gravity (zero at the world's origin) and springs, of the current state.")
      .def(
          "center_of_mass",
          [](PySimulator& self) {
            return copy(center_of_mass(self.sim.model(), self.sim.parameters(), current(self)));
          },
          "m, world, of the current state.")
      .def(
          "pose",
          [](PySimulator& self, const Reference& body) {
            const int index = find_index(self.sim.model(), ElementKind::kBody, body);
            return body_pose(current(self), index);
          },
          nb::arg("body"), "Of a body in the world, at the current state.")
      .def(
          "site_pose",
          [](PySimulator& self, const Reference& site) {
            const int index = find_index(self.sim.model(), ElementKind::kSite, site);
            return site_pose(self.sim.model(), current(self), index);
          },
          nb::arg("site"), "Of a site in the world, at the current state.")
      .def("poses", &poses, "nbody x 7: [x y z, qw qx qy qz] of all bodies in the world, at the current state.")
      .def("velocity", &body_velocity, nb::arg("body"),
           "[linear (m/s), angular (rad/s)] of a body's origin in world axes, at the current state.")
      .def("raycast", &raycast, nb::arg("origin"), nb::arg("direction"),
           nb::arg("max_distance") = std::numeric_limits<double>::infinity(),
           nb::sig("def raycast(self, origin: numpy.typing.ArrayLike, direction: numpy.typing.ArrayLike, max_distance: "
                   "float = float('inf')) -> tuple[int, float, numpy.typing.NDArray[numpy.float64], "
                   "numpy.typing.NDArray[numpy.float64]] | None"),
           "The nearest shape on a ray, with the poses of the last step: (shape, distance, point, normal), or None.");
}

void bind_construction(nb::class_<PySimulator>& c) {
  c.def("__init__", &construct, nb::arg("model"), nb::kw_only(), nb::arg("dt") = 0.0, nb::arg("solver") = "auto",
        nb::arg("options"),
        nb::sig("def __init__(self, model: Model, *, dt: float = 0.0, solver: str = 'auto', **options: bool | int | "
                "float | str) -> None"),
        "dt: time step, s (0: the model's). solver: a name of `solvers()`. options, by name: those of the simulator "
        "(`simulator_options()` lists them: integrator, tolerance, erp, ...) and those of the solver.")
      .def_prop_ro("model", [](const PySimulator& self) { return PyModel{self.sim.model_ptr()}; })
      .def_prop_ro(
          "dt", [](const PySimulator& self) { return self.sim.time_step(); }, "s")
      .def_prop_ro("solver", [](const PySimulator& self) { return self.sim.options().solver; })
      .def_prop_ro(
          "options",
          [](const PySimulator& self) {
            nb::dict d;
            for (const auto& [name, value] : option_values(self.sim.options())) d[name.c_str()] = value;
            return d;
          },
          nb::sig("def options(self) -> dict[str, str]"), "All options by name, as text.")
      .def_prop_ro(
          "time", [](const PySimulator& self) { return self.sim.state().time; }, "s")
      .def_prop_rw(
          "state", [](PySimulator& self) -> State& { return self.sim.state(); },
          [](PySimulator& self, const State& s) {
            s.validate(self.sim.model());
            self.sim.state() = s;
          },
          nb::for_getter(nb::rv_policy::reference_internal),
          "The current state; its arrays stay valid, and may be written between steps.")
      .def_prop_ro(
          "parameters", [](PySimulator& self) -> Parameters& { return self.sim.parameters(); },
          nb::rv_policy::reference_internal, "Numbers that may change between steps.");
}

void bind_motion(nb::class_<PySimulator>& c) {
  c.def("step", &step, nb::arg("count") = 1,
        "Moves on by count steps without holding the GIL; stops early when a step diverges. Returns the report of "
        "the "
        "last step.")
      .def("reset", &reset, nb::arg("to") = nb::none(),
           "To the start of the scene or the reference configuration, to a keyframe (name or index) or to a State; "
           "contacts are forgotten.")
      .def(
          "reset_random",
          [](PySimulator& self, std::uint64_t seed, double spread, double speed) {
            const Guard guard(self.busy, "simulator");
            self.sim.reset_random(seed, spread, speed);
          },
          nb::arg("seed"), nb::arg("spread") = 0.5, nb::arg("speed") = 0.5,
          "To a random state in which nothing overlaps: free bodies within spread (m) of their places, velocities up "
          "to "
          "speed (m/s, rad/s). The same seed gives the same state.")
      .def(
          "save", [](const PySimulator& self) { return self.sim.save(); },
          "Everything the next step depends on: a restored simulator goes on bit for bit.")
      .def(
          "restore",
          [](PySimulator& self, const Simulator::Snapshot& snapshot) {
            const Guard guard(self.busy, "simulator");
            self.sim.restore(snapshot);
          },
          nb::arg("snapshot"))
      .def("__repr__", &repr)
      .def("_repr_html_", &html);
}

void bind_view(nb::class_<PySimulator>& c) {
  c.def("view", &make_viewer, nb::kw_only(), nb::arg("host") = "127.0.0.1", nb::arg("port") = 0,
        nb::arg("token") = false, nb::arg("paused") = true, nb::arg("speed") = 1.0, nb::arg("browser") = nb::none(),
        nb::arg("height") = 560, nb::keep_alive<0, 1>(),
        nb::sig("def view(self, *, host: str = '127.0.0.1', port: int = 0, token: bool = False, paused: bool = True, "
                "speed: float = 1.0, browser: bool | None = None, height: int = 560) -> Viewer"),
        "Shows the simulator live, in a browser or below the cell of a notebook. host, port: where to listen (port "
        "0: a free one); a host other than loopback needs the token in the address, and `token` asks for it on "
        "loopback too. paused: the page's play button starts it; what you step is shown anyway. speed: simulated "
        "seconds for a second while it plays. browser: open one (default: where there is a display, but not in a "
        "notebook). height: pixels, in a notebook. Solver and time step stay those of the simulator.");
}

std::string option_help() {
  SimulatorOptions options;
  std::string text;
  for (const OptionField& field : list_options(options)) {
    text += fmt::format("{} = {}  {} {}: {}\n", field.name, field.get(), field.kind, field.range, field.help);
  }
  return text;
}

}  // namespace

namespace {

Scene with_options(Scene scene, const SimulatorOptions& options) {
  scene.options = options;
  return scene;
}

Scene at_reference(const ModelPtr& model) {
  Scene scene;
  scene.model = model;
  scene.start = State(*model);
  return scene;
}

}  // namespace

PySimulator::PySimulator(const ModelPtr& model, const SimulatorOptions& options)
    : PySimulator(at_reference(model), options) {}

PySimulator::PySimulator(Scene scene, const SimulatorOptions& options)
    : run(with_options(std::move(scene), options)), sim(run.simulator()), data(sim.model()) {}

void set_options(SimulatorOptions& options, const nb::kwargs& named) {
  for (const auto& [key, value] : named) set_option(options, nb::cast<std::string>(key), option_text(value));
}

void bind_simulator(nb::module_& m) {
  nb::class_<Simulator::Snapshot>(m, "Snapshot", "Everything the next step depends on; see Simulator.save.")
      .def_prop_ro(
          "state", [](const Simulator::Snapshot& s) { return State(s.state()); }, "A copy of its state.")
      .def("__repr__",
           [](const Simulator::Snapshot& s) { return fmt::format("<Snapshot at {:.6g} s>", s.state().time); });

  nb::class_<PySimulator> c(m, "Simulator",
                            "A model, its state, and one function that moves it on. Trouble is a status of the report, "
                            "not an exception. Not for two threads at once.");
  bind_construction(c);
  bind_motion(c);
  bind_view(c);
  bind_input(c);
  bind_results(c);
  bind_mechanism_of(c);
  bind_loop_joint_of(c);
  bind_sleep_of(c);
  bind_kinematics(c);
  bind_stages_of(c);
  bind_jacobians_of(c);
  m.def("simulator_options", &option_help, "The simulator's options with defaults, ranges and meaning, one a line.");
}

}  // namespace touchstone::python
