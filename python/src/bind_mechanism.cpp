// Kinematics of mechanisms: closed configurations, consistent velocities, mobility (sim/mechanism.hpp).
#include <map>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "simulator.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/sim/mechanism.hpp"

namespace touchstone::python {
namespace {

using References = std::vector<Reference>;

// A configuration, or a state, which knows how often loop joints have turned.
using Place = std::variant<State, Numbers>;
// A joint of a tree or a loop joint; with several coordinates, which one.
using DriveName = std::variant<Reference, std::pair<std::string, int>>;

struct PyClosure {
  ClosureReport report;
  State state;
};

std::vector<int> joints_of(const Model& model, const References& names) {
  std::vector<int> joints;
  for (const Reference& name : names) joints.push_back(find_index(model, ElementKind::kJoint, name));
  return joints;
}

ClosureOptions options_of(const Model& model, const std::string& metric, const References& held, double tolerance,
                          int max_iterations, bool limits) {
  ClosureOptions options;
  if (metric != "mass" && metric != "plain") throw Error("metric is '{}'; give 'mass' or 'plain'", metric);
  options.metric = metric == "mass" ? ClosureMetric::kMass : ClosureMetric::kPlain;
  options.held = joints_of(model, held);
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  options.limits = limits;
  return options;
}

Drive drive_of(const Model& model, const DriveName& name) {
  if (const auto* pair = std::get_if<std::pair<std::string, int>>(&name))
    return {.loop_joint = find_index(model, ElementKind::kLoopJoint, pair->first), .coordinate = pair->second};
  const Reference& reference = std::get<Reference>(name);
  const auto* text = std::get_if<std::string>(&reference);
  if (text != nullptr && model.find(ElementKind::kJoint, *text) < 0) {
    const int j = model.find(ElementKind::kLoopJoint, *text);
    if (j >= 0) {
      const std::size_t count = model.loop_joints[static_cast<std::size_t>(j)].coordinates.size();
      if (count != 1) throw Error("loop joint '{}' has {} coordinates; say which: ('{}', 0)", *text, count, *text);
      return {.loop_joint = j};
    }
  }
  return {.joint = find_index(model, ElementKind::kJoint, reference)};
}

class PyMechanism {
 public:
  explicit PyMechanism(const PyModel& model) : model_(model.ptr), mechanism_(model.ptr) {}

  PyClosure close(const Place& q, const std::string& metric, const References& held, double tolerance,
                  int max_iterations, bool limits) {
    State state = state_at(q);
    const ClosureReport report =
        mechanism_.close(state, options_of(*model_, metric, held, tolerance, max_iterations, limits));
    return {report, state};
  }

  PyClosure move_to(const Place& q, const std::map<DriveName, double>& targets, const std::string& metric,
                    const References& held, bool limits) {
    State state = state_at(q);
    std::vector<Drive> drives;
    std::vector<double> values;
    for (const auto& [name, value] : targets) {
      drives.push_back(drive_of(*model_, name));
      values.push_back(value);
    }
    const ClosureOptions defaults;
    const ClosureReport report = mechanism_.move_to(
        state, drives, values, options_of(*model_, metric, held, defaults.tolerance, defaults.max_iterations, limits));
    return {report, state};
  }

  nb::object project(const Place& q, const Numbers& v, const std::string& metric, const References& held) {
    const ClosureOptions defaults;
    const ClosureOptions options =
        options_of(*model_, metric, held, defaults.tolerance, defaults.max_iterations, defaults.limits);
    const State state = state_at(q);
    if (v.is_matrix()) return nb::cast(copy_matrix(mechanism_.project_velocities(state, v.matrix("v"), options)));
    return nb::cast(copy(VectorX(mechanism_.project_velocities(state, v.vector("v", model_->nv), options))));
  }

  MechanismJacobian jacobian(const Place& q, const std::vector<DriveName>& names, const std::string& metric) {
    ClosureOptions options;
    options.metric = options_of(*model_, metric, {}, options.tolerance, options.max_iterations, true).metric;
    std::vector<Drive> drives;
    for (const DriveName& name : names) drives.push_back(drive_of(*model_, name));
    return mechanism_.jacobian(state_at(q), drives, options);
  }

  Mobility mobility(const std::optional<Place>& q) { return mechanism_.mobility(q ? state_at(*q) : State(*model_)); }

 private:
  State state_at(const Place& q) const {
    if (const State* state = std::get_if<State>(&q)) return *state;
    State state(*model_);
    state.q = std::get<Numbers>(q).vector("q", model_->nq);
    return state;
  }

  ModelPtr model_;
  Mechanism mechanism_;
};

std::string text_of(const ClosureReport& report) {
  std::string text = fmt::format("<Closure: {}, error {:.2g} m, {} iterations", report.closed ? "closed" : "open",
                                 report.error, report.iterations);
  if (!report.open.empty()) text += fmt::format(", worst {}", report.open.front().name);
  return text + ">";
}

void bind_reports(nb::module_& m) {
  nb::class_<PyClosure>(m, "Closure", "Where a mechanism was closed, and how well.")
      .def_prop_ro(
          "q", [](const PyClosure& c) { return copy(c.state.q); }, "nq: the configuration that was found.")
      .def_prop_ro(
          "state", [](const PyClosure& c) { return State(c.state); }, nb::rv_policy::move,
          "That configuration with the turns of loop joints (loop_q): what goes on from here.")
      .def_prop_ro(
          "closed", [](const PyClosure& c) { return c.report.closed; }, "No error is above the tolerance.")
      .def_prop_ro(
          "error", [](const PyClosure& c) { return c.report.error; }, "m: the largest that is left.")
      .def_prop_ro("iterations", [](const PyClosure& c) { return c.report.iterations; })
      .def_prop_ro(
          "reached", [](const PyClosure& c) { return c.report.reached; }, "move_to: share of the way to the target.")
      .def_prop_ro(
          "open",
          [](const PyClosure& c) {
            nb::dict open;
            for (const OpenConstraint& o : c.report.open) open[o.name.c_str()] = o.error;
            return open;
          },
          "What is not closed, by name, with its error in m; worst first.")
      .def("__bool__", [](const PyClosure& c) { return c.report.closed; })
      .def("__repr__", [](const PyClosure& c) { return text_of(c.report); });

  nb::class_<MechanismJacobian>(m, "MechanismJacobian", "How everything moves with chosen joints.")
      .def_prop_ro(
          "J", [](const MechanismJacobian& j) { return copy_matrix(j.J); }, "nv x dofs of the joints.")
      .def_prop_ro(
          "error", [](const MechanismJacobian& j) { return copy(j.error); },
          "For each column, m a unit: how much loops would open. Not zero: that motion alone is impossible.")
      .def_ro("free", &MechanismJacobian::free, "Dofs that the joints leave undetermined; they move least.")
      .def(
          "__array__", [](const MechanismJacobian& j, const nb::args&, const nb::kwargs&) { return copy_matrix(j.J); },
          nb::sig("def __array__(self, *args: object, **kwargs: object) -> numpy.typing.NDArray[numpy.float64]"))
      .def("__repr__", [](const MechanismJacobian& j) {
        return fmt::format("<MechanismJacobian: {} x {}, {} dofs free, error {:.2g}>", j.J.rows(), j.J.cols(), j.free,
                           j.error.size() > 0 ? j.error.maxCoeff() : 0.0);
      });

  nb::class_<Mobility>(m, "Mobility", "How many dofs loops leave, by counting and by rank.")
      .def_ro("dofs", &Mobility::dofs, "nv")
      .def_ro("rows", &Mobility::rows, "Of all loops.")
      .def_ro("rank", &Mobility::rank, "Of their Jacobian at this configuration.")
      .def_ro("generic_rank", &Mobility::generic_rank, "The largest of here and of consistent configurations nearby.")
      .def_ro("error", &Mobility::error, "m: how far loops are from closed here.")
      .def_prop_ro("gruebler", &Mobility::gruebler, "dofs - rows")
      .def_prop_ro("mobility", &Mobility::mobility, "dofs - generic_rank")
      .def_prop_ro("redundancy", &Mobility::redundancy, "rows - generic_rank")
      .def_prop_ro("is_singular", &Mobility::is_singular, "The rank is smaller here than nearby.")
      .def("__repr__", [](const Mobility& x) {
        return fmt::format("<Mobility: {} dofs left of {}, {} rows, {} of them redundant>", x.mobility(), x.dofs,
                           x.rows, x.redundancy());
      });
}

}  // namespace

void bind_mechanism(nb::module_& m) {
  const ClosureOptions defaults;
  bind_reports(m);
  nb::class_<PyMechanism>(m, "Mechanism", "Kinematics of closed chains: configurations, velocities, mobility.")
      .def(nb::init<const PyModel&>(), nb::arg("model"))
      .def("close", &PyMechanism::close, nb::arg("q"), nb::kw_only(), nb::arg("metric") = "mass",
           nb::arg("held") = References(), nb::arg("tolerance") = defaults.tolerance,
           nb::arg("max_iterations") = defaults.max_iterations, nb::arg("limits") = true,
           "The nearest configuration in which all loops are closed and limits hold. metric: 'mass' or 'plain'; held: "
           "joints that stay. q: numbers, or a State, whose loop_q says how often loop joints have turned.")
      .def("move_to", &PyMechanism::move_to, nb::arg("q"), nb::arg("targets"), nb::kw_only(),
           nb::arg("metric") = "mass", nb::arg("held") = References(), nb::arg("limits") = true,
           "Forward kinematics: {joint: value} for actuated joints, all others follow on the branch of q. A loop joint "
           "drives by its name, too, or by (name, coordinate) if it has several.")
      .def("project_velocity", &PyMechanism::project, nb::arg("q"), nb::arg("v"), nb::kw_only(),
           nb::arg("metric") = "mass", nb::arg("held") = References(),
           "The nearest velocity that keeps loops closed; a matrix (nv x n) is n of them, with one factorisation.")
      .def("jacobian", &PyMechanism::jacobian, nb::arg("q"), nb::arg("joints"), nb::kw_only(),
           nb::arg("metric") = "mass",
           "How everything moves with these joints or loop joints (see move_to): J, error, free.")
      .def("mobility", &PyMechanism::mobility, nb::arg("q") = nb::none(),
           "q: the reference configuration if not given.")
      .def("__repr__", [](const PyMechanism&) { return "<Mechanism>"; });

  m.def(
      "close_loops",
      [](const PyModel& model, const Place& q, const std::string& metric, const References& held, double tolerance,
         int max_iterations,
         bool limits) { return PyMechanism(model).close(q, metric, held, tolerance, max_iterations, limits); },
      nb::arg("model"), nb::arg("q"), nb::kw_only(), nb::arg("metric") = "mass", nb::arg("held") = References(),
      nb::arg("tolerance") = defaults.tolerance, nb::arg("max_iterations") = defaults.max_iterations,
      nb::arg("limits") = true, "Mechanism(model).close(q, ...)");
}

void bind_mechanism_of(nb::class_<PySimulator>& c) {
  c.def(
      "project",
      [](PySimulator& self) {
        const Guard guard(self.busy, "simulator");
        Mechanism mechanism(self.sim.model_ptr(), self.sim.parameters());
        State& state = self.sim.state();
        const ClosureReport report = mechanism.close(state);
        mechanism.project_velocity(state);
        return PyClosure{report, state};
      },
      "Moves the state onto all loops and limits, its velocity too; says what stays open.");
}

}  // namespace touchstone::python
