// Models built in code. Names instead of indices wherever an element is referred to, keyword arguments with units.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "builder.hpp"

namespace touchstone::python {
namespace {

void bind_options(nb::module_& m) {
  using O = SimulationOptions;
  nb::class_<O>(m, "ModelOptions", "What a model asks of the simulator; see ModelBuilder.options and Model.options.")
      .def_rw("dt", &O::time_step, "Time step, s; Simulator(dt=...) wins.")
      .def_rw(
          "integrator", &O::integrator,
          "'euler', 'implicit', 'implicitfast' or 'rk4': which dampers are implicit (MJCF). Simulator(integrator=...) "
          "chooses the scheme.")
      .def_rw("cone", &O::cone, "'pyramidal' or 'elliptic': of the soft model, solver 'ccp-newton'.")
      .def_rw("friction_impedance_ratio", &O::friction_impedance_ratio, "MJCF's impratio, of the soft model.")
      .def_rw("sleep_tolerance", &O::sleep_tolerance,
              "m/s: slower bodies may fall asleep; Simulator(sleep_speed=...) wins.")
      .def_rw("sleep_enabled", &O::sleep_enabled, "Bodies may fall asleep; Simulator(sleep=...) wins.")
      .def_rw("contacts_enabled", &O::contacts_enabled)
      .def_rw("gravity_enabled", &O::gravity_enabled)
      .def_rw("limits_enabled", &O::limits_enabled)
      .def_rw("equalities_enabled", &O::equalities_enabled)
      .def_rw("springs_enabled", &O::springs_enabled)
      .def_rw("dampers_enabled", &O::dampers_enabled)
      .def_rw("actuation_enabled", &O::actuation_enabled)
      .def_rw("friction_loss_enabled", &O::friction_loss_enabled, "Dry friction of joints and tendons.")
      .def_rw("clamp_controls", &O::clamp_controls, "Controls stay within their ranges.")
      .def_rw("filter_parent_contacts", &O::filter_parent_contacts, "A body does not collide with its parent.")
      .def_rw("safe_references", &O::safe_references, "Soft constraints are no faster than two time steps.")
      .def_rw("implicit_damping", &O::implicit_damping, "Joint damping is integrated implicitly.")
      .def_rw("exclude_overlaps", &O::exclude_overlaps,
              "Shapes that overlap in the reference configuration never collide.")
      .def_rw("mujoco_contact_frames", &O::mujoco_contact_frames,
              "Tangents of contacts follow MuJoCo's rule, as in MJCF files.")
      .def("__repr__", [](const O& o) { return fmt::format("<ModelOptions: dt {:.4g} s>", o.time_step); });
}

void construct(ModelBuilder* self, const std::string& name, const MaybeNumbers& gravity, double dt,
               bool allow_massless) {
  new (self) ModelBuilder(name);
  if (gravity) self->set_gravity(gravity->vector3("gravity"));
  self->options().time_step = dt;
  self->set_allow_massless(allow_massless);
}

}  // namespace

void set_impedance(Impedance& impedance, const MaybeNumbers& softness, const char* name) {
  if (!softness) return;
  const VectorX given = softness->vector(name);
  if (given.size() < 2 || given.size() > 7) {
    throw Error("{} has {} numbers; give 2 to 7: solref (2), then solimp (up to 5)", name, given.size());
  }
  for (Eigen::Index i = 0; i < given.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    (k < 2 ? impedance.solref[k] : impedance.solimp[k - 2]) = given[i];
  }
}

Eigen::Vector4d color_argument(const Numbers& numbers) {
  const VectorX given = numbers.vector("color");
  if (given.size() != 3 && given.size() != 4) throw Error("color has {} numbers; give 3 or 4", given.size());
  Eigen::Vector4d color(0.0, 0.0, 0.0, 1.0);
  color.head(given.size()) = given;
  return color;
}

void set_range(bool& limited, Vector2& range, const MaybeNumbers& given, const char* name) {
  if (!given) return;
  limited = true;
  range = given->vector2(name);
}

void bind_builder(nb::module_& m) {
  bind_options(m);
  nb::class_<ModelBuilder> builder(
      m, "ModelBuilder",
      "Builds models in code. Elements are referred to by name or by the index that the add_ functions return; build() "
      "checks everything. softness, where it is asked for: MuJoCo's solref and solimp in a row (2 to 7 numbers: time "
      "constant in s, damping ratio, then d0, dwidth, width, midpoint, power); only the soft model uses it.");
  builder
      .def("__init__", &construct, nb::arg("name") = "model", nb::kw_only(), nb::arg("gravity") = nb::none(),
           nb::arg("dt") = 0.002, nb::arg("allow_massless") = false,
           "gravity: m/s^2, default [0, 0, -9.81]; dt: the model's time step, s. allow_massless: joints that move no "
           "mass are a warning instead of an error.")
      .def_static(
          "from_model", [](const PyModel& model) { return ModelBuilder(*model); }, nb::arg("model"),
          "Begins with everything in a model; building it at once gives the same model.")
      .def_prop_ro(
          "options", [](ModelBuilder& b) -> SimulationOptions& { return b.options(); },
          nb::rv_policy::reference_internal, "What the model will ask of the simulator; may be changed.")
      .def(
          "add_model",
          [](ModelBuilder& b, const PyModel& model, const MaybeNumbers& position, const MaybeNumbers& quaternion,
             const std::string& prefix) { b.add_model(*model, pose_argument(position, quaternion), prefix); },
          nb::arg("model"), nb::kw_only(), nb::arg("position") = nb::none(), nb::arg("quaternion") = nb::none(),
          nb::arg("prefix") = "",
          "All elements of a model but its keyframes: its world gets the pose (m; w x y z), its names the prefix.")
      .def("clear_keyframes", &ModelBuilder::clear_keyframes,
           "They hold whole configurations: forget them before joints are added to a finished model.");
  bind_builder_bodies(builder);
  bind_builder_actuators(builder);
  bind_builder_relations(builder);
  bind_builder_loop_joints(builder);
  bind_builder_sensors(builder);
  builder
      .def(
          "build", [](const ModelBuilder& b) { return PyModel{b.build()}; },
          "The model. Raises Error that names the element, the value and the remedy.")
      .def("__repr__", [](const ModelBuilder& b) {
        return fmt::format("<ModelBuilder: {} bodies, {} joints, {} shapes, {} actuators>", b.bodies().size() - 1,
                           b.joints().size(), b.shapes().size(), b.actuators().size());
      });
}

}  // namespace touchstone::python
