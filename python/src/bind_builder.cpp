// Models built in code. Names instead of indices wherever an element is referred to, keyword arguments with units.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "shape.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/geometry/mass_properties.hpp"

namespace touchstone::python {
namespace {

using MaybeNumbers = std::optional<Numbers>;
using MaybeDouble = std::optional<double>;

template <typename Element>
int resolve(const std::vector<Element>& list, const Reference& reference, const char* kind) {
  if (const int* index = std::get_if<int>(&reference)) {
    if (*index >= 0 && *index < static_cast<int>(list.size())) return *index;
    throw Error("{} {} does not exist: the builder has {}", kind, *index, list.size());
  }
  const std::string& name = std::get<std::string>(reference);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) return static_cast<int>(i);
  }
  std::string names;
  for (const Element& element : list) names += (names.empty() ? "" : ", ") + element.name;
  throw Error("there is no {} '{}'; the builder has: {}", kind, name, names);
}

Matrix3 inertia_argument(const Numbers& inertia) {
  if (inertia.is_matrix()) return inertia.matrix("inertia", 3, 3);
  return inertia.vector3("inertia").asDiagonal();
}

JointType joint_type(const std::string& name) {
  for (const JointType type :
       {JointType::kFree, JointType::kBall, JointType::kHinge, JointType::kSlide, JointType::kScrew}) {
    if (to_string(type) == name) return type;
  }
  throw Error("joint type '{}'; give free, ball, hinge, slide, screw, planar, universal or cylindrical", name);
}

// The pose of a body in the world at the reference configuration.
Transform world_pose(const ModelBuilder& builder, int body) {
  Transform X;
  for (int i = body; i > 0; i = builder.bodies()[static_cast<std::size_t>(i)].parent) {
    X = builder.bodies()[static_cast<std::size_t>(i)].pose * X;
  }
  return X;
}

int add_body(ModelBuilder& b, const std::string& name, const Reference& parent, const MaybeNumbers& position,
             const MaybeNumbers& quaternion, double mass, const MaybeNumbers& com, const MaybeNumbers& inertia,
             double gravity_compensation, bool mocap) {
  Body body;
  body.name = name;
  body.parent = resolve(b.bodies(), parent, "body");
  body.pose = pose_argument(position, quaternion);
  body.inertia.mass = mass;
  if (com) body.inertia.com = com->vector3("com");
  if (inertia) body.inertia.inertia = inertia_argument(*inertia);
  body.gravity_compensation = gravity_compensation;
  body.mocap = mocap;
  return b.add_body(std::move(body));
}

int add_joint(ModelBuilder& b, const Reference& body, const std::string& type, const std::string& name,
              const MaybeNumbers& axis, const MaybeNumbers& anchor, const MaybeNumbers& limits, double pitch,
              double reference, double stiffness, double spring_reference, double damping, double armature,
              double friction, const MaybeNumbers& second_axis) {
  Joint joint;
  joint.name = name;
  joint.body = resolve(b.bodies(), body, "body");
  if (axis) joint.axis = axis->vector3("axis");
  if (!(joint.axis.norm() > 0.0)) throw Error("joint '{}': axis has no direction", name);
  joint.axis.normalize();
  if (anchor) joint.anchor = anchor->vector3("anchor");
  if (limits) {
    joint.limited = true;
    joint.range = limits->vector2("limits");
  }
  joint.pitch = pitch;
  joint.reference = reference;
  joint.stiffness = stiffness;
  joint.spring_reference = spring_reference;
  joint.damping = damping;
  joint.armature = armature;
  joint.friction = friction;
  if (type == "planar") return b.add_planar_joint(joint);
  if (type == "cylindrical") return b.add_cylindrical_joint(joint);
  if (type == "universal") {
    if (!second_axis) throw Error("joint '{}': a universal joint needs second_axis", name);
    return b.add_universal_joint(joint, second_axis->vector3("second_axis").normalized());
  }
  joint.type = joint_type(type);
  return b.add_joint(std::move(joint));
}

// Friction as one number (sliding), or sliding, torsional, rolling.
Vector3 friction_argument(const Numbers& numbers) {
  Vector3 friction = Material().friction;
  const VectorX given = numbers.vector("friction");
  if (given.size() < 1 || given.size() > 3) throw Error("friction has {} numbers; give 1 to 3", given.size());
  friction.head(given.size()) = given;
  return friction;
}

int add_shape(ModelBuilder& b, const Reference& body, const PyShape& shape, const std::string& name,
              const MaybeNumbers& position, const MaybeNumbers& quaternion, const MaybeDouble& mass,
              const MaybeDouble& density, const MaybeNumbers& friction, double restitution, int contact_dimension,
              double margin, double stiffness, double dissipation, int contact_type, int contact_affinity,
              bool visual_only, const MaybeNumbers& color) {
  ShapeElement element;
  element.name = name;
  element.body = resolve(b.bodies(), body, "body");
  element.pose = pose_argument(position, quaternion);
  element.shape = shape.shape();
  element.contact_type = static_cast<unsigned>(contact_type);
  element.contact_affinity = static_cast<unsigned>(contact_affinity);
  element.contact_dimension = contact_dimension;
  element.margin = margin;
  if (friction) element.material.friction = friction_argument(*friction);
  element.material.restitution = restitution;
  element.material.stiffness = stiffness;
  element.material.dissipation = dissipation;
  element.visual_only = visual_only;
  if (color) {
    VectorX c = color->vector("color");
    if (c.size() == 3) {
      c.conservativeResize(4);
      c[3] = 1.0;
    }
    require_size("color", c.size(), 4);
    element.color = c;
  }
  if (mass && density) throw Error("shape '{}': give mass or density, not both", name);
  if (mass || density) {
    const MassProperties unit = mass_properties(element.shape, density.value_or(1.0));
    const MassProperties properties = mass ? with_mass(unit, *mass) : unit;
    MassProperties& inertia = b.body(element.body).inertia;
    inertia = inertia + transformed(element.pose, properties);
  }
  return b.add_shape(std::move(element));
}

int add_site(ModelBuilder& b, const std::string& name, const Reference& body, const MaybeNumbers& position,
             const MaybeNumbers& quaternion) {
  Site site;
  site.name = name;
  site.body = resolve(b.bodies(), body, "body");
  site.pose = pose_argument(position, quaternion);
  site.shape.size = Vector3::Constant(0.005);
  return b.add_site(std::move(site));
}

Actuator make_actuator(ModelBuilder& b, const std::string& name, const Reference& joint, double gear,
                       const MaybeNumbers& control_range, const MaybeNumbers& force_range) {
  Actuator actuator;
  actuator.name = name;
  actuator.target = resolve(b.joints(), joint, "joint");
  actuator.gear[0] = gear;
  if (control_range) {
    actuator.control_limited = true;
    actuator.control_range = control_range->vector2("control_range");
  }
  if (force_range) {
    actuator.force_limited = true;
    actuator.force_range = force_range->vector2("force_range");
  }
  return actuator;
}

int add_motor(ModelBuilder& b, const std::string& name, const Reference& joint, double gear,
              const MaybeNumbers& control_range, const MaybeNumbers& force_range) {
  return b.add_actuator(make_actuator(b, name, joint, gear, control_range, force_range));
}

int add_position_servo(ModelBuilder& b, const std::string& name, const Reference& joint, double kp, double kv,
                       double gear, const MaybeNumbers& control_range, const MaybeNumbers& force_range) {
  Actuator actuator = make_actuator(b, name, joint, gear, control_range, force_range);
  actuator.bias_type = ActuatorBias::kAffine;
  actuator.gain = {kp, 0.0, 0.0};
  actuator.bias = {0.0, -kp, -kv};
  return b.add_actuator(std::move(actuator));
}

int add_velocity_servo(ModelBuilder& b, const std::string& name, const Reference& joint, double kv, double gear,
                       const MaybeNumbers& control_range, const MaybeNumbers& force_range) {
  Actuator actuator = make_actuator(b, name, joint, gear, control_range, force_range);
  actuator.bias_type = ActuatorBias::kAffine;
  actuator.gain = {kv, 0.0, 0.0};
  actuator.bias = {0.0, 0.0, -kv};
  return b.add_actuator(std::move(actuator));
}

int add_connect(ModelBuilder& b, const Reference& body_a, const Reference& body_b, const Numbers& anchor,
                const std::string& name) {
  Equality equality;
  equality.name = name;
  equality.type = EqualityType::kConnect;
  equality.a = resolve(b.bodies(), body_a, "body");
  equality.b = resolve(b.bodies(), body_b, "body");
  equality.anchor_a = anchor.vector3("anchor");
  equality.anchor_b = world_pose(b, equality.b).inverse() * (world_pose(b, equality.a) * equality.anchor_a);
  return b.add_equality(std::move(equality));
}

int add_weld(ModelBuilder& b, const Reference& body_a, const Reference& body_b, const std::string& name) {
  Equality equality;
  equality.name = name;
  equality.type = EqualityType::kWeld;
  equality.a = resolve(b.bodies(), body_a, "body");
  equality.b = resolve(b.bodies(), body_b, "body");
  equality.relative_pose = world_pose(b, equality.a).inverse() * world_pose(b, equality.b);
  return b.add_equality(std::move(equality));
}

int add_joint_coupling(ModelBuilder& b, const Reference& joint, const Reference& driver, const Numbers& polynomial,
                       const std::string& name) {
  const VectorX given = polynomial.vector("polynomial");
  if (given.size() < 1 || given.size() > 5) throw Error("polynomial has {} numbers; give 1 to 5", given.size());
  Equality equality;
  equality.name = name;
  equality.type = EqualityType::kJoint;
  equality.a = resolve(b.joints(), joint, "joint");
  equality.b = resolve(b.joints(), driver, "joint");
  equality.polynomial.fill(0.0);
  for (Eigen::Index i = 0; i < given.size(); ++i) equality.polynomial[static_cast<std::size_t>(i)] = given[i];
  return b.add_equality(std::move(equality));
}

int add_keyframe(ModelBuilder& b, const std::string& name, const MaybeNumbers& q, const MaybeNumbers& v,
                 const MaybeNumbers& control) {
  Keyframe keyframe;
  keyframe.name = name;
  if (q) keyframe.q = q->vector("q");
  if (v) keyframe.v = v->vector("v");
  if (control) keyframe.control = control->vector("control");
  return b.add_keyframe(std::move(keyframe));
}

void bind_bodies(nb::class_<ModelBuilder>& builder) {
  builder
      .def(
          "add_body", &add_body, nb::arg("name"), nb::kw_only(), nb::arg("parent") = Reference(0),
          nb::arg("position") = nb::none(), nb::arg("quaternion") = nb::none(), nb::arg("mass") = 0.0,
          nb::arg("com") = nb::none(), nb::arg("inertia") = nb::none(), nb::arg("gravity_compensation") = 0.0,
          nb::arg("mocap") = false,
          "A body at a pose in its parent (0 or 'world': the world). mass: kg; com: centre of mass in the body, m; "
          "inertia: about the centre of mass, three moments or 3 x 3, kg m^2. Shapes with a mass or density add to it. "
          "A body without joints is fixed to its parent. Returns its index.")
      .def(
          "add_joint", &add_joint, nb::arg("body"), nb::arg("type") = "hinge", nb::kw_only(), nb::arg("name") = "",
          nb::arg("axis") = nb::none(), nb::arg("anchor") = nb::none(), nb::arg("limits") = nb::none(),
          nb::arg("pitch") = 0.0, nb::arg("reference") = 0.0, nb::arg("stiffness") = 0.0,
          nb::arg("spring_reference") = 0.0, nb::arg("damping") = 0.0, nb::arg("armature") = 0.0,
          nb::arg("friction") = 0.0, nb::arg("second_axis") = nb::none(),
          "A joint between a body and its parent: 'free', 'ball', 'hinge', 'slide', 'screw', 'planar', 'universal' or "
          "'cylindrical'. axis (default z) and anchor (m) in the body frame; limits: (lower, upper), rad or m; pitch: "
          "m/rad of a screw; stiffness: N m/rad or N/m; damping: N m s/rad or N s/m; armature: kg m^2 or kg; friction: "
          "dry, N m or N. Several joints of a body act in the order they were added. Returns the index of the (first) "
          "joint.")
      .def("add_shape", &add_shape, nb::arg("body"), nb::arg("shape"), nb::kw_only(), nb::arg("name") = "",
           nb::arg("position") = nb::none(), nb::arg("quaternion") = nb::none(), nb::arg("mass") = nb::none(),
           nb::arg("density") = nb::none(), nb::arg("friction") = nb::none(), nb::arg("restitution") = 0.0,
           nb::arg("contact_dimension") = 3, nb::arg("margin") = 0.0, nb::arg("stiffness") = 0.0,
           nb::arg("dissipation") = 0.0, nb::arg("contact_type") = 1, nb::arg("contact_affinity") = 1,
           nb::arg("visual_only") = false, nb::arg("color") = nb::none(),
           "A shape on a body. mass (kg) or density (kg/m^3): added to the body's inertia. friction: sliding (-), or "
           "sliding, torsional (m), rolling (m). contact_dimension: 1 frictionless, 3 sliding, 4 torsional, 6 rolling. "
           "stiffness: N/m, 0 for rigid; dissipation: s/m. Two shapes may touch when one's contact_type shares a bit "
           "with the other's contact_affinity.")
      .def("add_site", &add_site, nb::arg("name"), nb::arg("body"), nb::kw_only(), nb::arg("position") = nb::none(),
           nb::arg("quaternion") = nb::none(), "A named frame on a body.");
}

void bind_actuation(nb::class_<ModelBuilder>& builder) {
  builder
      .def("add_motor", &add_motor, nb::arg("name"), nb::arg("joint"), nb::kw_only(), nb::arg("gear") = 1.0,
           nb::arg("control_range") = nb::none(), nb::arg("force_range") = nb::none(),
           "Force = gear * control, N m or N.")
      .def("add_position_servo", &add_position_servo, nb::arg("name"), nb::arg("joint"), nb::kw_only(), nb::arg("kp"),
           nb::arg("kv") = 0.0, nb::arg("gear") = 1.0, nb::arg("control_range") = nb::none(),
           nb::arg("force_range") = nb::none(),
           "Force = kp (control - position) - kv velocity; kp: N m/rad or N/m, kv: N m s/rad or N s/m.")
      .def("add_velocity_servo", &add_velocity_servo, nb::arg("name"), nb::arg("joint"), nb::kw_only(), nb::arg("kv"),
           nb::arg("gear") = 1.0, nb::arg("control_range") = nb::none(), nb::arg("force_range") = nb::none(),
           "Force = kv (control - velocity).");
}

void bind_relations(nb::class_<ModelBuilder>& builder) {
  builder
      .def("add_connect", &add_connect, nb::arg("body_a"), nb::arg("body_b"), nb::arg("anchor"), nb::kw_only(),
           nb::arg("name") = "", "Holds two bodies together at a point (in the frame of body_a, m): closes loops.")
      .def("add_weld", &add_weld, nb::arg("body_a"), nb::arg("body_b"), nb::kw_only(), nb::arg("name") = "",
           "Holds two bodies in their relative pose at the reference configuration.")
      .def("add_joint_coupling", &add_joint_coupling, nb::arg("joint"), nb::arg("driver"), nb::arg("polynomial"),
           nb::kw_only(), nb::arg("name") = "", "joint = sum c_k driver^k, both from their references.")
      .def(
          "add_exclusion",
          [](ModelBuilder& b, const Reference& body_a, const Reference& body_b) {
            ContactExclusion exclusion;
            exclusion.body_a = resolve(b.bodies(), body_a, "body");
            exclusion.body_b = resolve(b.bodies(), body_b, "body");
            return b.add_contact_exclusion(std::move(exclusion));
          },
          nb::arg("body_a"), nb::arg("body_b"), "Two bodies that never collide.")
      .def("add_keyframe", &add_keyframe, nb::arg("name"), nb::kw_only(), nb::arg("q") = nb::none(),
           nb::arg("v") = nb::none(), nb::arg("control") = nb::none(), "A named state; see Simulator.reset.");
}

}  // namespace

void bind_builder(nb::module_& m) {
  nb::class_<ModelBuilder> builder(m, "ModelBuilder",
                                   "Builds models in code. Elements are referred to by name or by the index that the "
                                   "add_ functions return; build() checks everything.");
  builder.def(
      "__init__",
      [](ModelBuilder* self, const std::string& name, const MaybeNumbers& gravity, double dt) {
        new (self) ModelBuilder(name);
        if (gravity) self->set_gravity(gravity->vector3("gravity"));
        self->options().time_step = dt;
      },
      nb::arg("name") = "model", nb::kw_only(), nb::arg("gravity") = nb::none(), nb::arg("dt") = 0.002,
      "gravity: m/s^2, default [0, 0, -9.81]; dt: the model's time step, s.");
  bind_bodies(builder);
  bind_actuation(builder);
  bind_relations(builder);
  builder
      .def(
          "build", [](const ModelBuilder& b) { return PyModel{b.build()}; },
          "The model. Raises Error that names the element, the value and the remedy.")
      .def("__repr__", [](const ModelBuilder& b) {
        return fmt::format("<ModelBuilder: {} bodies, {} joints, {} shapes>", b.bodies().size() - 1, b.joints().size(),
                           b.shapes().size());
      });
}

}  // namespace touchstone::python
