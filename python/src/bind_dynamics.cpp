// Kinematics and dynamics of a model at any state, with a workspace of their own.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone::python {
namespace {

class Dynamics {
 public:
  explicit Dynamics(const PyModel& model) : model_(model.ptr), data_(*model_) {}

  // Poses and dof axes at q; velocities too if v is given. All queries below refer to it.
  void update(const Numbers& q, const std::optional<Numbers>& v) {
    forward_kinematics(*model_, model_->defaults, q.vector("q", model_->nq), data_);
    q_ = q.vector("q", model_->nq);
    v_ = v ? v->vector("v", model_->nv) : VectorX(VectorX::Zero(model_->nv));
    forward_velocity(*model_, v_, data_);
    updated_ = true;
  }

  Transform pose(const Reference& body) const { return body_pose(ready(), body_index(body)); }
  Transform site(const Reference& name) const {
    return site_pose(*model_, ready(), find_index(*model_, ElementKind::kSite, name));
  }

  Copy2 jacobian(const Reference& body, const std::optional<Numbers>& point) const {
    const int index = body_index(body);
    Matrix6X J = Matrix6X::Zero(6, model_->nv);
    const Vector3 at = point ? point->vector3("point") : body_pose(ready(), index).position;
    point_jacobian(*model_, data_, index, at, J);
    return copy_matrix(J);
  }

  Copy1 velocity(const Reference& body, const std::optional<Numbers>& point) const {
    const int index = body_index(body);
    const Vector3 at = point ? point->vector3("point") : body_pose(ready(), index).position;
    const Vector6 v = point_velocity(*model_, data_, index, at);
    return copy(v.data(), 6);
  }

  Copy2 mass_matrix() {
    ready();
    crba(*model_, model_->defaults, data_);
    return copy_matrix(dense_mass_matrix(*model_, data_));
  }

  Copy1 bias() {
    ready();
    compute_bias(*model_, model_->defaults, v_, data_);
    return copy(data_.bias);
  }

  Copy1 gravity() {
    ready();
    VectorX g(model_->nv);
    gravity_force(*model_, model_->defaults, data_, g);
    return copy(g);
  }

  Copy1 com() const { return copy(center_of_mass(*model_, model_->defaults, ready())); }
  double kinetic() const { return kinetic_energy(*model_, model_->defaults, v_, ready()); }
  double potential() const { return potential_energy(*model_, model_->defaults, q_, ready()); }

  Copy1 inverse(const Numbers& q, const Numbers& v, const Numbers& a) {
    VectorX tau(model_->nv);
    updated_ = false;
    rnea(*model_, model_->defaults, q.vector("q", model_->nq), v.vector("v", model_->nv), a.vector("a", model_->nv),
         data_, tau);
    return copy(tau);
  }

  Copy1 forward(const Numbers& q, const Numbers& v, const Numbers& tau) {
    VectorX a(model_->nv);
    updated_ = false;
    aba(*model_, model_->defaults, q.vector("q", model_->nq), v.vector("v", model_->nv), tau.vector("tau", model_->nv),
        data_, a);
    return copy(a);
  }

 private:
  int body_index(const Reference& body) const { return find_index(*model_, ElementKind::kBody, body); }
  const Data& ready() const {
    if (!updated_) throw Error("Dynamics: call update(q) or update(q, v) first");
    return data_;
  }

  ModelPtr model_;
  Data data_;
  VectorX q_, v_;
  bool updated_ = false;
};

}  // namespace

void bind_dynamics(nb::module_& m) {
  nb::class_<Dynamics>(m, "Dynamics",
                       "Kinematics and dynamics of a model with its default parameters: update(q, v), then ask. World "
                       "axes; without contacts, springs, dampers and actuators.")
      .def(nb::init<const PyModel&>(), nb::arg("model"))
      .def("update", &Dynamics::update, nb::arg("q"), nb::arg("v") = nb::none(), "v: zero if not given.")
      .def("pose", &Dynamics::pose, nb::arg("body"), "Of a body in the world.")
      .def("site_pose", &Dynamics::site, nb::arg("site"), "Of a site in the world.")
      .def("jacobian", &Dynamics::jacobian, nb::arg("body"), nb::arg("point") = nb::none(),
           "6 x nv: rows [linear; angular] of the velocity of a body's point (world, m; default: its origin).")
      .def("velocity", &Dynamics::velocity, nb::arg("body"), nb::arg("point") = nb::none(),
           "[linear (m/s), angular (rad/s)] of a body's point (world, m; default: its origin).")
      .def("mass_matrix", &Dynamics::mass_matrix, "nv x nv, with armature.")
      .def("bias", &Dynamics::bias, "nv: Coriolis, centrifugal and gravity forces, M a + bias = tau.")
      .def("gravity", &Dynamics::gravity, "nv: the part of bias that is due to gravity.")
      .def("center_of_mass", &Dynamics::com, "m, world")
      .def("kinetic_energy", &Dynamics::kinetic, "J")
      .def("potential_energy", &Dynamics::potential, "J")
      .def("inverse_dynamics", &Dynamics::inverse, nb::arg("q"), nb::arg("v"), nb::arg("a"),
           "tau = M a + bias, without armature (recursive Newton-Euler).")
      .def("forward_dynamics", &Dynamics::forward, nb::arg("q"), nb::arg("v"), nb::arg("tau"),
           "a = M^-1 (tau - bias), with armature (articulated bodies).")
      .def("__repr__", [](const Dynamics&) { return "<Dynamics>"; });
}

}  // namespace touchstone::python
