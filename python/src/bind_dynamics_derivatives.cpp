// Derivatives of kinematics, of dynamics and of energies, and inertial parameters.
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/diff/dynamics_derivatives.hpp"
#include "touchstone/diff/inertial_parameters.hpp"
#include "touchstone/diff/point_derivatives.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone::python {
namespace {

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

// A point of a body at a configuration, in the world.
struct BodyPoint {
  BodyPoint(const PyModel& model, const Numbers& q, const Reference& reference, const std::optional<Numbers>& given)
      : data(*model), body(find_index(*model, ElementKind::kBody, reference)) {
    forward_kinematics(*model, model->defaults, q.vector("q", model->nq), data);
    point = given ? given->vector3("point") : body_pose(data, body).position;
  }

  Data data;
  int body;
  Vector3 point;
};

nb::tuple derivatives_of_point(const PyModel& model, const Numbers& q, const Numbers& v, const Numbers& a,
                               const Reference& body, const std::optional<Numbers>& point) {
  BodyPoint p(model, q, body, point);
  PointDerivatives d(*model);
  d.compute(*model, v.vector("v", model->nv), a.vector("a", model->nv), p.data);
  Matrix6X dv_dq(6, model->nv), da_dq(6, model->nv), da_dv(6, model->nv);
  d.velocity(*model, p.data, p.body, p.point, dv_dq);
  d.acceleration(*model, p.data, p.body, p.point, da_dq, da_dv);
  return nb::make_tuple(copy_matrix(dv_dq), copy_matrix(da_dq), copy_matrix(da_dv));
}

Owned<Array3> derivative_of_jacobian(const PyModel& model, const Numbers& q, const Reference& body,
                                     const std::optional<Numbers>& point) {
  const BodyPoint p(model, q, body, point);
  const auto nv = static_cast<std::size_t>(model->nv);
  auto* memory = new double[6 * nv * nv + 1];
  const nb::capsule owner(memory, [](void* m) noexcept { delete[] static_cast<double*>(m); });
  Matrix6X by_q_k(6, model->nv);
  for (std::size_t k = 0; k < nv; ++k) {
    point_jacobian_derivative(*model, p.data, p.body, p.point, static_cast<int>(k), by_q_k);
    for (std::size_t row = 0; row < 6; ++row) {
      for (std::size_t i = 0; i < nv; ++i) {
        memory[(row * nv + i) * nv + k] = by_q_k(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(i));
      }
    }
  }
  return {Array3(memory, {6, nv, nv}, owner)};
}

nb::tuple gradients_of_energy(const PyModel& model, const Numbers& q, const Numbers& v) {
  Data data(*model);
  const VectorX configuration = q.vector("q", model->nq), velocity = v.vector("v", model->nv);
  forward_kinematics(*model, model->defaults, configuration, data);
  forward_velocity(*model, velocity, data);
  VectorX kinetic_by_q(model->nv), kinetic_by_v(model->nv), potential_by_q(model->nv);
  crba(*model, model->defaults, data);
  kinetic_energy_gradient(*model, model->defaults, velocity, data, kinetic_by_q, kinetic_by_v);
  potential_energy_gradient(*model, model->defaults, configuration, data, potential_by_q);
  return nb::make_tuple(copy(kinetic_by_q), copy(kinetic_by_v), copy(potential_by_q));
}

}  // namespace

void bind_dynamics_derivatives(nb::module_& m) {
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
  m.def("point_derivatives", &derivatives_of_point, nb::arg("model"), nb::arg("q"), nb::arg("v"), nb::arg("a"),
        nb::arg("body"), nb::arg("point") = nb::none(),
        "(dv/dq, da/dq, da/dv), 6 x nv each, of the velocity and the acceleration [linear; angular] of a body's point "
        "(world, m; default: its origin) that moves with it; dv/dv and da/da are Dynamics.jacobian.");
  m.def("jacobian_derivative", &derivative_of_jacobian, nb::arg("model"), nb::arg("q"), nb::arg("body"),
        nb::arg("point") = nb::none(),
        "6 x nv x nv: [:, :, k] is the derivative of Dynamics.jacobian when q moves along dof k.");
  m.def("energy_gradients", &gradients_of_energy, nb::arg("model"), nb::arg("q"), nb::arg("v"),
        "(dT/dq, dT/dv, dU/dq), nv each, of the kinetic and the potential energy; q in the tangent space.");
}

}  // namespace touchstone::python
