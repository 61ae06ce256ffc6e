// ModelBuilder: bodies, joints, shapes, sites and how they look.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "builder.hpp"
#include "shape.hpp"
#include "touchstone/geometry/mass_properties.hpp"

namespace touchstone::python {
namespace {

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

SleepPolicy sleep_policy(const std::string& name) {
  for (const SleepPolicy policy :
       {SleepPolicy::kAuto, SleepPolicy::kNever, SleepPolicy::kAllowed, SleepPolicy::kInit}) {
    if (to_string(policy) == name) return policy;
  }
  throw Error("sleep '{}'; give auto, never, allowed or init", name);
}

int add_body(ModelBuilder& b, const std::string& name, const Reference& parent, const MaybeNumbers& position,
             const MaybeNumbers& quaternion, double mass, const MaybeNumbers& com, const MaybeNumbers& inertia,
             double gravity_compensation, bool mocap, const std::string& sleep) {
  Body body;
  body.name = name;
  body.parent = resolve(b.bodies(), parent, "body");
  body.pose = pose_argument(position, quaternion);
  body.inertia.mass = mass;
  if (com) body.inertia.com = com->vector3("com");
  if (inertia) body.inertia.inertia = inertia_argument(*inertia);
  body.gravity_compensation = gravity_compensation;
  body.mocap = mocap;
  body.sleep = sleep_policy(sleep);
  return b.add_body(std::move(body));
}

int add_joint(ModelBuilder& b, const Reference& body, const std::string& type, const std::string& name,
              const MaybeNumbers& axis, const MaybeNumbers& anchor, const MaybeNumbers& limits, double limit_margin,
              double pitch, double reference, double stiffness, double spring_reference, double damping,
              double armature, double friction, const MaybeNumbers& second_axis, const MaybeNumbers& force_range,
              const MaybeNumbers& limit_softness, const MaybeNumbers& friction_softness) {
  Joint joint;
  joint.name = name;
  joint.body = resolve(b.bodies(), body, "body");
  if (axis) joint.axis = axis->vector3("axis");
  if (!(joint.axis.norm() > 0.0)) throw Error("joint '{}': axis has no direction", name);
  joint.axis.normalize();
  if (anchor) joint.anchor = anchor->vector3("anchor");
  set_range(joint.limited, joint.range, limits, "limits");
  joint.limit_margin = limit_margin;
  joint.pitch = pitch;
  joint.reference = reference;
  joint.stiffness = stiffness;
  joint.spring_reference = spring_reference;
  joint.damping = damping;
  joint.armature = armature;
  joint.friction = friction;
  set_range(joint.actuator_force_limited, joint.actuator_force_range, force_range, "force_range");
  set_impedance(joint.limit_impedance, limit_softness, "limit_softness");
  set_impedance(joint.friction_impedance, friction_softness, "friction_softness");
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

// A velocity, or a velocity and an angular velocity.
Vector6 surface_velocity_argument(const Numbers& numbers) {
  const VectorX given = numbers.vector("surface_velocity");
  if (given.size() != 3 && given.size() != 6)
    throw Error("surface_velocity has {} numbers; give 3 (m/s) or 6 (m/s, then rad/s)", given.size());
  Vector6 velocity = Vector6::Zero();
  velocity.head(given.size()) = given;
  return velocity;
}

// The body gets the mass of the shape, by its mass or by its density.
void add_mass(MassProperties& inertia, const ShapeElement& element, const MaybeDouble& mass,
              const MaybeDouble& density) {
  if (mass && density) throw Error("shape '{}': give mass or density, not both", element.name);
  if (!mass && !density) return;
  const MassProperties unit = mass_properties(element.shape, density.value_or(1.0));
  inertia = inertia + transformed(element.pose, mass ? with_mass(unit, *mass) : unit);
}

int add_shape(ModelBuilder& b, const Reference& body, const PyShape& shape, const std::string& name,
              const MaybeNumbers& position, const MaybeNumbers& quaternion, const MaybeDouble& mass,
              const MaybeDouble& density, const MaybeNumbers& friction, double restitution, int contact_dimension,
              double margin, double gap, double stiffness, bool hertz, double youngs_modulus, double poisson_ratio,
              double dissipation, double relaxation_time, const MaybeNumbers& surface_velocity,
              const MaybeNumbers& softness, double mixing, int priority, int contact_type, int contact_affinity,
              bool visual_only, const MaybeNumbers& color, const std::string& material, int group) {
  ShapeElement element;
  element.name = name;
  element.body = resolve(b.bodies(), body, "body");
  element.pose = pose_argument(position, quaternion);
  element.shape = shape.shape();
  element.contact_type = static_cast<unsigned>(contact_type);
  element.contact_affinity = static_cast<unsigned>(contact_affinity);
  element.contact_dimension = contact_dimension;
  element.margin = margin;
  element.gap = gap;
  if (friction) element.material.friction = friction_argument(*friction);
  element.material.restitution = restitution;
  element.material.stiffness = stiffness;
  element.material.hertz = hertz;
  element.material.youngs_modulus = youngs_modulus;
  element.material.poisson_ratio = poisson_ratio;
  element.material.dissipation = dissipation;
  element.material.relaxation_time = relaxation_time;
  if (surface_velocity) element.surface_velocity = surface_velocity_argument(*surface_velocity);
  set_impedance(element.material.impedance, softness, "softness");
  element.material.mixing = mixing;
  element.material.priority = priority;
  element.visual_only = visual_only;
  if (color) element.color = color_argument(*color);
  element.visual_material = material;
  element.group = group;
  add_mass(b.body(element.body).inertia, element, mass, density);
  return b.add_shape(std::move(element));
}

int add_site(ModelBuilder& b, const std::string& name, const Reference& body, const MaybeNumbers& position,
             const MaybeNumbers& quaternion, const PyShape* shape, const MaybeNumbers& color, int group) {
  Site site;
  site.name = name;
  site.body = resolve(b.bodies(), body, "body");
  site.pose = pose_argument(position, quaternion);
  site.shape.size = Vector3::Constant(0.005);
  if (shape != nullptr) site.shape = shape->shape();
  if (color) site.color = color_argument(*color);
  site.group = group;
  return b.add_site(std::move(site));
}

int add_visual_material(ModelBuilder& b, const std::string& name, const Numbers& color, double specular,
                        double shininess, double reflectance, double emission) {
  VisualMaterial material;
  material.name = name;
  material.color = color_argument(color);
  material.specular = specular;
  material.shininess = shininess;
  material.reflectance = reflectance;
  material.emission = emission;
  return b.add_visual_material(std::move(material));
}

void bind_bodies_and_joints(nb::class_<ModelBuilder>& builder) {
  builder
      .def("add_body", &add_body, nb::arg("name"), nb::kw_only(), nb::arg("parent") = Reference(0),
           nb::arg("position") = nb::none(), nb::arg("quaternion") = nb::none(), nb::arg("mass") = 0.0,
           nb::arg("com") = nb::none(), nb::arg("inertia") = nb::none(), nb::arg("gravity_compensation") = 0.0,
           nb::arg("mocap") = false, nb::arg("sleep") = "auto",
           "A body at a pose in its parent (0 or 'world': the world). position: m; quaternion: w x y z. mass: kg; com: "
           "centre of mass in the body, m; inertia: about the centre of mass, three moments or 3 x 3, kg m^2. Shapes "
           "with a mass or density add to it. A body without joints is fixed to its parent. sleep: 'auto', 'allowed', "
           "'never' or 'init' (asleep at the start, if it rests), with the option sleep=True. Returns its index.")
      .def("add_joint", &add_joint, nb::arg("body"), nb::arg("type") = "hinge", nb::kw_only(), nb::arg("name") = "",
           nb::arg("axis") = nb::none(), nb::arg("anchor") = nb::none(), nb::arg("limits") = nb::none(),
           nb::arg("limit_margin") = 0.0, nb::arg("pitch") = 0.0, nb::arg("reference") = 0.0,
           nb::arg("stiffness") = 0.0, nb::arg("spring_reference") = 0.0, nb::arg("damping") = 0.0,
           nb::arg("armature") = 0.0, nb::arg("friction") = 0.0, nb::arg("second_axis") = nb::none(),
           nb::arg("force_range") = nb::none(), nb::arg("limit_softness") = nb::none(),
           nb::arg("friction_softness") = nb::none(),
           "A joint between a body and its parent: 'free', 'ball', 'hinge', 'slide', 'screw', 'planar', 'universal' or "
           "'cylindrical'. axis (default z) and anchor (m) in the body frame; limits: (lower, upper), rad or m; pitch: "
           "m/rad of a screw; reference: q at the pose of the body, rad or m; stiffness: N m/rad or N/m; damping: N m "
           "s/rad or N s/m; armature: kg m^2 or kg; friction: dry, N m or N; force_range: of all actuators together, N "
           "m or N. Several joints of a body act in the order they were added. Returns the index of the (first) "
           "joint.");
}

void bind_shapes_and_sites(nb::class_<ModelBuilder>& builder) {
  builder
      .def("add_shape", &add_shape, nb::arg("body"), nb::arg("shape"), nb::kw_only(), nb::arg("name") = "",
           nb::arg("position") = nb::none(), nb::arg("quaternion") = nb::none(), nb::arg("mass") = nb::none(),
           nb::arg("density") = nb::none(), nb::arg("friction") = nb::none(), nb::arg("restitution") = 0.0,
           nb::arg("contact_dimension") = 3, nb::arg("margin") = 0.0, nb::arg("gap") = 0.0, nb::arg("stiffness") = 0.0,
           nb::arg("hertz") = false, nb::arg("youngs_modulus") = 0.0, nb::arg("poisson_ratio") = 0.3,
           nb::arg("dissipation") = 0.0, nb::arg("relaxation_time") = 0.0, nb::arg("surface_velocity") = nb::none(),
           nb::arg("softness") = nb::none(), nb::arg("mixing") = 1.0, nb::arg("priority") = 0,
           nb::arg("contact_type") = 1, nb::arg("contact_affinity") = 1, nb::arg("visual_only") = false,
           nb::arg("color") = nb::none(), nb::arg("material") = "", nb::arg("group") = 0,
           "A shape on a body. mass (kg) or density (kg/m^3): added to the body's inertia. friction: sliding (-), or "
           "sliding, torsional (m), rolling (m). contact_dimension: 1 frictionless, 3 sliding, 4 torsional, 6 rolling. "
           "stiffness: N/m, 0 for rigid; hertz: the force grows with the power 3/2 of the deformation, N/m^1.5; or "
           "youngs_modulus (Pa) and poisson_ratio: Hertz, with the curvature of the shapes; dissipation: s/m and "
           "relaxation_time: s, of the compliant solvers; margin, "
           "gap: m. surface_velocity: how the surface moves relative to the body, in the shape frame, as that of a "
           "conveyor belt (3 numbers, m/s) or a turntable (6 numbers: m/s, then rad/s). Of two shapes that meet, the "
           "one of higher "
           "priority decides; mixing: its weight otherwise. Two shapes may touch when one's contact_type shares a bit "
           "with the other's contact_affinity. color: r, g, b, alpha in [0, 1]; material: of add_visual_material.")
      .def("add_site", &add_site, nb::arg("name"), nb::arg("body"), nb::kw_only(), nb::arg("position") = nb::none(),
           nb::arg("quaternion") = nb::none(), nb::arg("shape") = nb::none(), nb::arg("color") = nb::none(),
           nb::arg("group") = 0,
           "A named frame on a body. shape (default: a sphere of 5 mm): the volume in which a touch sensor feels.")
      .def("add_visual_material", &add_visual_material, nb::arg("name"), nb::arg("color"), nb::kw_only(),
           nb::arg("specular") = 0.5, nb::arg("shininess") = 0.5, nb::arg("reflectance") = 0.0,
           nb::arg("emission") = 0.0, "How shapes that name it look: r, g, b, alpha and the rest in [0, 1].");
}

}  // namespace

void bind_builder_bodies(nb::class_<ModelBuilder>& builder) {
  bind_bodies_and_joints(builder);
  bind_shapes_and_sites(builder);
}

}  // namespace touchstone::python
