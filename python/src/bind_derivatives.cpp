// Derivatives: of dynamics, and of the last step of a simulator.
#include <memory>

#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "simulator.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/inertial_parameters.hpp"
#include "touchstone/diff/step_derivatives.hpp"

namespace touchstone::python {
namespace {

struct StepJacobians {
  MatrixX A, B;
  StepDerivatives::Held held;
};

StepJacobians jacobians(PySimulator& self) {
  const Guard guard(self.busy, "simulator");
  const nb::gil_scoped_release release;
  StepDerivatives d(self.sim.model());
  d.compute(self.sim.context());
  return {std::move(d.A), std::move(d.B), d.held()};
}

nb::tuple vjp(const StepJacobians& j, const Numbers& x_next_bar) {
  const VectorX bar = x_next_bar.vector("x_next_bar", static_cast<int>(j.A.rows()));
  return nb::make_tuple(copy(VectorX(j.A.transpose() * bar)), copy(VectorX(j.B.transpose() * bar)));
}

nb::tuple inverse_derivatives(const PyModel& model, const Numbers& q, const Numbers& v, const Numbers& a) {
  Data data(*model);
  InverseDynamicsDerivatives d(*model);
  rnea_derivatives(*model, model->defaults, q.vector("q", model->nq), v.vector("v", model->nv),
                   a.vector("a", model->nv), data, d);
  return nb::make_tuple(copy_matrix(d.dtau_dq), copy_matrix(d.dtau_dv), copy_matrix(d.dtau_da));
}

nb::tuple forward_derivatives(const PyModel& model, const Numbers& q, const Numbers& v, const Numbers& tau) {
  Data data(*model);
  ForwardDynamicsDerivatives d(*model);
  if (!d.compute(*model, model->defaults, q.vector("q", model->nq), v.vector("v", model->nv),
                 tau.vector("tau", model->nv), data)) {
    throw Error("the mass matrix is not positive definite: give every moving body mass, or its joint armature");
  }
  return nb::make_tuple(copy_matrix(d.da_dq()), copy_matrix(d.da_dv()), copy_matrix(d.da_dtau()));
}

Copy2 regressor_of(const PyModel& model, const Numbers& q, const Numbers& v, const Numbers& a) {
  Data data(*model);
  MatrixX Y(model->nv, kInertialParameters * model->nbody);
  regressor(*model, model->defaults, q.vector("q", model->nq), v.vector("v", model->nv), a.vector("a", model->nv), data,
            Y);
  return copy_matrix(Y);
}

nb::tuple from_theta(const Numbers& theta) {
  Matrix10 by_theta;
  const Vector10 parameters = from_log_cholesky(theta.vector("theta", kInertialParameters), &by_theta);
  return nb::make_tuple(copy(VectorX(parameters)), copy_matrix(by_theta));
}

}  // namespace

void bind_jacobians_of(nb::class_<PySimulator>& c) {
  c.def("jacobians", &jacobians,
        "Derivatives of the last step: A = dx'/dx and B = dx'/du, x = [q, v, activation] with q in the tangent space. "
        "Integrator euler, hard contacts, solvers of the NCP or CCP. Ask before anything else is changed.");
}

void bind_derivatives(nb::module_& m) {
  nb::class_<StepJacobians>(m, "StepJacobians", "Derivatives of a step (Simulator.jacobians).")
      .def_prop_ro(
          "A", [](const StepJacobians& j) { return copy_matrix(j.A); }, "dx'/dx, 2 nv + na square.")
      .def_prop_ro(
          "B", [](const StepJacobians& j) { return copy_matrix(j.B); }, "dx'/du, by the controls: 2 nv + na x nu.")
      .def_prop_ro(
          "held_contacts", [](const StepJacobians& j) { return j.held.contacts; },
          "Contacts whose point and normal were taken to move with the mean of both bodies.")
      .def_prop_ro(
          "held_actuators", [](const StepJacobians& j) { return j.held.actuators; },
          "Actuators whose moment was taken to be constant, or that share a force limit.")
      .def_prop_ro(
          "held_recovery", [](const StepJacobians& j) { return j.held.pass; },
          "The configuration was moved out of violations after the step; that motion is taken to be constant.")
      .def("vjp", &vjp, nb::arg("x_next_bar"),
           "Gradients (by x, by u) of a number whose gradient by the state after the step is given.");
  m.def("inverse_dynamics_derivatives", &inverse_derivatives, nb::arg("model"), nb::arg("q"), nb::arg("v"),
        nb::arg("a"),
        "(dtau/dq, dtau/dv, dtau/da), nv x nv each, of Dynamics.inverse_dynamics; q in the tangent space.");
  m.def("forward_dynamics_derivatives", &forward_derivatives, nb::arg("model"), nb::arg("q"), nb::arg("v"),
        nb::arg("tau"), "(da/dq, da/dv, da/dtau), nv x nv each, of Dynamics.forward_dynamics; q in the tangent space.");
  m.def(
      "regressor", &regressor_of, nb::arg("model"), nb::arg("q"), nb::arg("v"), nb::arg("a"),
      "Y (nv x 10 nbody) with inverse_dynamics = Y pi; pi of a body: mass, mass times centre (3), Ixx, Ixy, Iyy, Ixz, "
      "Iyz, Izz about its origin.");
  m.def("from_log_cholesky", &from_theta, nb::arg("theta"),
        "(pi, dpi/dtheta): inertial parameters that are physical whatever the ten numbers theta are.");
  m.def(
      "to_log_cholesky",
      [](const Numbers& parameters) {
        return copy(VectorX(to_log_cholesky(parameters.vector("parameters", kInertialParameters))));
      },
      nb::arg("parameters"), "theta of the inertial parameters of a body.");
}

}  // namespace touchstone::python
