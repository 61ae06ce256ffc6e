// Pinocchio's layout of configurations and velocities.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "touchstone/model/pinocchio_layout.hpp"

namespace touchstone::python {
namespace {

// A layout, and the model whose sizes arguments must have.
struct Layout {
  ModelPtr model;
  PinocchioLayout layout;

  VectorX q(const Numbers& numbers) const { return numbers.vector("q", model->nq); }
  VectorX v(const Numbers& numbers, const char* name) const { return numbers.vector(name, model->nv); }
};

}  // namespace

void bind_layout(nb::module_& m) {
  nb::class_<Layout>(m, "PinocchioLayout",
                     "Converts between our layout of q and v (MuJoCo's) and Pinocchio's: quaternions [x y z w], the "
                     "velocity of a free joint in body axes, its order of joints, [cos, sin] of continuous joints.")
      .def(
          "__init__",
          [](Layout* self, const PyModel& model, const std::vector<std::string>& joint_names,
             const std::vector<bool>& continuous) {
            new (self) Layout{model.ptr, PinocchioLayout(*model, joint_names, continuous)};
          },
          nb::arg("model"), nb::arg("joint_names") = std::vector<std::string>(),
          nb::arg("continuous") = std::vector<bool>(),
          "joint_names: Pinocchio's joints in its order, without 'universe' (empty: our order); continuous: which of "
          "them are unbounded (two numbers in q).")
      .def_prop_ro(
          "nq", [](const Layout& l) { return l.layout.nq(); }, "Pinocchio's.")
      .def_prop_ro("nv", [](const Layout& l) { return l.layout.nv(); })
      .def(
          "q_to_pinocchio", [](const Layout& l, const Numbers& q) { return copy(l.layout.q_to_pinocchio(l.q(q))); },
          nb::arg("q"))
      .def(
          "q_from_pinocchio",
          [](const Layout& l, const Numbers& q) {
            return copy(l.layout.q_from_pinocchio(q.vector("q", l.layout.nq())));
          },
          nb::arg("q"))
      .def(
          "v_to_pinocchio",
          [](const Layout& l, const Numbers& q, const Numbers& v) {
            return copy(l.layout.v_to_pinocchio(l.q(q), l.v(v, "v")));
          },
          nb::arg("q"), nb::arg("v"), "q: ours.")
      .def(
          "v_from_pinocchio",
          [](const Layout& l, const Numbers& q, const Numbers& v) {
            return copy(l.layout.v_from_pinocchio(l.q(q), l.v(v, "v")));
          },
          nb::arg("q"), nb::arg("v"), "q: ours.")
      .def(
          "force_to_pinocchio",
          [](const Layout& l, const Numbers& q, const Numbers& f) {
            return copy(l.layout.force_to_pinocchio(l.q(q), l.v(f, "force")));
          },
          nb::arg("q"), nb::arg("force"), "q: ours.")
      .def(
          "force_from_pinocchio",
          [](const Layout& l, const Numbers& q, const Numbers& f) {
            return copy(l.layout.force_from_pinocchio(l.q(q), l.v(f, "force")));
          },
          nb::arg("q"), nb::arg("force"), "q: ours.")
      .def(
          "velocity_map", [](const Layout& l, const Numbers& q) { return copy_matrix(l.layout.velocity_map(l.q(q))); },
          nb::arg("q"), "T with v_pinocchio = T v; then J = J_pinocchio T and M = T' M_pinocchio T.")
      .def("__repr__", [](const Layout&) { return "<PinocchioLayout>"; });
}

}  // namespace touchstone::python
