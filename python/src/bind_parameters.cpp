// The numbers one may vary while a simulation runs.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/model/parameters.hpp"

namespace touchstone::python {
namespace {

using Handle = nb::handle_t<Parameters>;

Parameters& parameters_of(Handle self) { return nb::cast<Parameters&>(self); }

template <VectorX Parameters::*member>
void bind_vector(nb::class_<Parameters>& c, const char* name, const char* doc) {
  c.def_prop_rw(
      name, [](Handle self) { return view(parameters_of(self).*member, self); },
      [name](Parameters& p, const Numbers& value) { assign(p.*member, value, name); }, doc);
}

Array1 gravity(Handle self) { return view(parameters_of(self).gravity.data(), 3, self); }

// A field of every material of a list, without a copy.
Array2 shape_friction(Handle self) {
  static_assert(sizeof(Material) % sizeof(double) == 0);
  std::vector<Material>& materials = parameters_of(self).shape_material;
  double* first = materials.empty() ? nullptr : materials[0].friction.data();
  return view_rows(first, materials.size(), 3, sizeof(Material) / sizeof(double), self);
}

template <double Material::*member>
Array1 material_field(Handle self) {
  std::vector<Material>& materials = parameters_of(self).shape_material;
  double* first = materials.empty() ? nullptr : &(materials[0].*member);
  return {first, {materials.size()}, self, {static_cast<std::int64_t>(sizeof(Material) / sizeof(double))}};
}

Array2 shape_surface_velocity(Handle self) {
  std::vector<Vector6>& list = parameters_of(self).shape_surface_velocity;
  return view_rows(list.empty() ? nullptr : list[0].data(), list.size(), 6, 6, self);
}

template <std::vector<std::array<double, 3>> Parameters::*member>
Array2 triples(Handle self) {
  std::vector<std::array<double, 3>>& list = parameters_of(self).*member;
  return view_rows(list.empty() ? nullptr : list[0].data(), list.size(), 3, 3, self);
}

int checked_body(const Parameters& p, int body) {
  if (body < 0 || body >= static_cast<int>(p.body_inertia.size())) {
    throw Error("body {} of a model with {}", body, p.body_inertia.size());
  }
  return body;
}

void set_mass(Parameters& p, int body, double mass) {
  if (!(mass > 0.0)) throw Error("mass is {}; give a positive number of kg", mass);
  p.set_mass_properties(body, with_mass(p.mass_properties(checked_body(p, body)), mass));
}

void set_inertia(Parameters& p, int body, double mass, const Numbers& com, const Numbers& inertia) {
  MassProperties properties;
  properties.mass = mass;
  properties.com = com.vector3("com");
  properties.inertia =
      inertia.is_matrix() ? Matrix3(inertia.matrix("inertia", 3, 3)) : Matrix3(inertia.vector3("inertia").asDiagonal());
  if (!(mass > 0.0) || !is_physical(properties.inertia)) {
    throw Error("mass {} kg with this inertia is no body; give positive moments that obey the triangle inequality",
                mass);
  }
  p.set_mass_properties(checked_body(p, body), properties);
}

}  // namespace

void bind_parameters(nb::module_& m) {
  nb::class_<Parameters> c(m, "Parameters",
                           "Numbers that may change while a simulation runs. Arrays look into the simulator's memory.");
  c.def_prop_rw(
      "gravity", &gravity, [](Parameters& p, const Numbers& g) { p.gravity = g.vector3("gravity"); }, "m/s^2");
  bind_vector<&Parameters::body_gravity_compensation>(c, "body_gravity_compensation", "nbody; 1 cancels gravity.");
  bind_vector<&Parameters::joint_stiffness>(c, "joint_stiffness", "njoint; N m/rad or N/m.");
  bind_vector<&Parameters::spring_reference>(c, "spring_reference", "nq; rest configuration of the springs.");
  bind_vector<&Parameters::dof_armature>(c, "dof_armature", "nv; kg m^2 or kg.");
  bind_vector<&Parameters::dof_damping>(c, "dof_damping", "nv; N m s/rad or N s/m.");
  bind_vector<&Parameters::dof_friction>(c, "dof_friction", "nv; dry friction, N m or N.");
  bind_vector<&Parameters::tendon_stiffness>(c, "tendon_stiffness", "ntendon");
  bind_vector<&Parameters::tendon_damping>(c, "tendon_damping", "ntendon");
  c.def_prop_ro("shape_friction", &shape_friction, "nshape x 3: sliding (-), torsional (m), rolling (m).")
      .def_prop_ro("shape_restitution", &material_field<&Material::restitution>, "nshape")
      .def_prop_ro("shape_stiffness", &material_field<&Material::stiffness>, "nshape; N/m, 0 for rigid.")
      .def_prop_ro("shape_youngs_modulus", &material_field<&Material::youngs_modulus>, "nshape; Pa, 0 for none.")
      .def_prop_ro("shape_dissipation", &material_field<&Material::dissipation>, "nshape; s/m, Hunt and Crossley.")
      .def_prop_ro("shape_relaxation_time", &material_field<&Material::relaxation_time>, "nshape; s, linear damper.")
      .def_prop_ro("shape_surface_velocity", &shape_surface_velocity,
                   "nshape x 6: how surfaces move relative to their bodies, in the shape frames: m/s, then rad/s.")
      .def_prop_ro("actuator_gain", &triples<&Parameters::actuator_gain>, "nu x 3")
      .def_prop_ro("actuator_bias", &triples<&Parameters::actuator_bias>, "nu x 3")
      .def(
          "mass", [](const Parameters& p, int body) { return p.mass(checked_body(p, body)); }, nb::arg("body"), "kg")
      .def("set_mass", &set_mass, nb::arg("body"), nb::arg("mass"), "Scales a body to another mass (kg).")
      .def("set_inertia", &set_inertia, nb::arg("body"), nb::arg("mass"), nb::arg("com"), nb::arg("inertia"),
           "mass: kg; com: m, body frame; inertia about it: three moments or 3 x 3, kg m^2.")
      .def("__repr__", [](const Parameters& p) {
        return fmt::format("<Parameters of {} bodies, {} dofs, {} shapes>", p.body_inertia.size(), p.dof_damping.size(),
                           p.shape_material.size());
      });
}

}  // namespace touchstone::python
