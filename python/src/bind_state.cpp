// The state: arrays that look into its memory.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone::python {
namespace {

using Handle = nb::handle_t<State>;

State& state_of(Handle self) { return nb::cast<State&>(self); }

template <VectorX State::*member>
Array1 get(Handle self) {
  return view(state_of(self).*member, self);
}

Copy2 mocap_positions(const State& s) {
  MatrixX p(static_cast<Eigen::Index>(s.mocap.size()), 3);
  for (Eigen::Index i = 0; i < p.rows(); ++i) p.row(i) = s.mocap[static_cast<std::size_t>(i)].position.transpose();
  return copy_matrix(p);
}

Transform& mocap_entry(State& s, int index) {
  if (index < 0 || index >= static_cast<int>(s.mocap.size())) {
    throw Error("mocap body {} of a state with {}", index, s.mocap.size());
  }
  return s.mocap[static_cast<std::size_t>(index)];
}

std::string repr(const State& s) {
  const Eigen::IOFormat format(6, Eigen::DontAlignCols, ", ", ", ", "", "", "[", "]");
  const auto text = [&format](const VectorX& v) {
    if (v.size() > 12) return fmt::format("[{} numbers]", v.size());
    std::ostringstream out;
    out << v.transpose().format(format);
    return out.str();
  };
  return fmt::format("<State at {:.6g} s: q {}, v {}>", s.time, text(s.q), text(s.v));
}

void assign_state(State& s, const State& other) {
  require_size("q", other.q.size(), s.q.size());
  require_size("v", other.v.size(), s.v.size());
  require_size("activation", other.activation.size(), s.activation.size());
  require_size("loop_q", other.loop_q.size(), s.loop_q.size());
  require_size("mocap", static_cast<std::ptrdiff_t>(other.mocap.size()), static_cast<std::ptrdiff_t>(s.mocap.size()));
  s = other;
}

}  // namespace

void bind_state(nb::module_& m) {
  nb::class_<State>(m, "State",
                    "What a simulation remembers. q and v have MuJoCo's layout: a free joint has q = [x y z, qw qx qy "
                    "qz] and v = [velocity of the body's origin in world axes, angular velocity in body axes]; a ball "
                    "joint q = [qw qx qy qz]; other joints one number. The arrays look into the state's memory, whose "
                    "address never changes: writing to them changes the state.")
      .def(
          "__init__", [](State* self, const PyModel& model) { new (self) State(*model); }, nb::arg("model"),
          "The reference configuration at rest.")
      .def_prop_rw(
          "q", &get<&State::q>, [](State& s, const Numbers& value) { assign(s.q, value, "q"); },
          "Configuration, nq numbers: m, rad, quaternions.")
      .def_prop_rw(
          "v", &get<&State::v>, [](State& s, const Numbers& value) { assign(s.v, value, "v"); },
          "Velocity, nv numbers: m/s, rad/s.")
      .def_prop_rw(
          "activation", &get<&State::activation>,
          [](State& s, const Numbers& value) { assign(s.activation, value, "activation"); },
          "Of actuators with dynamics, na numbers.")
      .def_prop_rw(
          "loop_q", &get<&State::loop_q>, [](State& s, const Numbers& value) { assign(s.loop_q, value, "loop_q"); },
          "Coordinates of all loop joints when a step last read them: they hold the turns of angles. Read coordinates "
          "with Simulator.loop_joint.")
      .def_rw("time", &State::time, "s")
      .def_prop_ro("mocap_positions", &mocap_positions, "nmocap x 3, m; a copy, see set_mocap.")
      .def(
          "mocap", [](State& s, int index) { return mocap_entry(s, index); }, nb::arg("index"),
          "The pose of a mocap body in the world.")
      .def(
          "set_mocap", [](State& s, int index, const Transform& pose) { mocap_entry(s, index) = pose; },
          nb::arg("index"), nb::arg("pose"), "Moves a mocap body; index counts mocap bodies.")
      .def("copy", [](const State& s) { return State(s); })
      .def("assign", &assign_state, nb::arg("other"), "Copies the numbers of another state of the same model.")
      .def(
          "validate", [](const State& s, const PyModel& model) { s.validate(*model); }, nb::arg("model"),
          "Raises Error naming the entry that is not finite or does not fit the model.")
      .def("__copy__", [](const State& s) { return State(s); })
      .def(
          "__deepcopy__", [](const State& s, const nb::dict&) { return State(s); }, nb::arg("memo"))
      .def(
          "__eq__", [](const State& a, const State& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__getstate__",
           [](const State& s) {
             const std::vector<std::uint8_t> bytes = s.serialize();
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__",
           [](State& s, const nb::bytes& bytes) {
             const auto* data = static_cast<const std::uint8_t*>(bytes.data());
             new (&s) State(State::deserialize({data, data + bytes.size()}));
           })
      .def("__repr__", &repr);
}

}  // namespace touchstone::python
