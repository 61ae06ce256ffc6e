// ModelBuilder: tendons and actuators.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "builder.hpp"

namespace touchstone::python {
namespace {

int add_tendon(ModelBuilder& b, const std::string& name, const nb::mapping& joints, const MaybeNumbers& limits,
               double limit_margin, double stiffness, const MaybeNumbers& spring_length, double damping,
               double armature, double friction, const MaybeNumbers& force_range, const MaybeNumbers& limit_softness,
               const MaybeNumbers& friction_softness) {
  Tendon tendon;
  tendon.name = name;
  for (const nb::handle item : joints.items()) {
    const nb::tuple pair = nb::cast<nb::tuple>(item);
    tendon.terms.push_back({.joint = resolve(b.joints(), nb::cast<Reference>(pair[0]), "joint"),
                            .coefficient = nb::cast<double>(pair[1])});
  }
  set_range(tendon.limited, tendon.range, limits, "limits");
  tendon.limit_margin = limit_margin;
  tendon.stiffness = stiffness;
  if (spring_length) tendon.spring_length = spring_length->spread("spring_length", 2);
  tendon.damping = damping;
  tendon.armature = armature;
  tendon.friction = friction;
  set_range(tendon.actuator_force_limited, tendon.actuator_force_range, force_range, "force_range");
  set_impedance(tendon.limit_impedance, limit_softness, "limit_softness");
  set_impedance(tendon.friction_impedance, friction_softness, "friction_softness");
  return b.add_tendon(std::move(tendon));
}

// What an actuator acts on: one of a joint, a tendon, a site and a loop joint.
struct Target {
  const MaybeReference& joint;
  const MaybeReference& tendon;
  const MaybeReference& site;
  const MaybeReference& loop_joint;
};

// What all actuators have.
Actuator make_actuator(const ModelBuilder& b, const std::string& name, const Target& target, const MaybeNumbers& gear,
                       const MaybeNumbers& control_range, const MaybeNumbers& force_range) {
  Actuator actuator;
  actuator.name = name;
  if (target.joint.has_value() + target.tendon.has_value() + target.site.has_value() + target.loop_joint.has_value() !=
      1) {
    throw Error("actuator '{}': give one of joint, tendon, site and loop_joint", name);
  }
  if (target.joint) {
    actuator.target = resolve(b.joints(), *target.joint, "joint");
  } else if (target.tendon) {
    actuator.transmission = TransmissionType::kTendon;
    actuator.target = resolve(b.tendons(), *target.tendon, "tendon");
  } else if (target.loop_joint) {
    actuator.transmission = TransmissionType::kLoopJoint;
    actuator.target = resolve(b.loop_joints(), *target.loop_joint, "loop joint");
  } else {
    actuator.transmission = TransmissionType::kSite;
    actuator.target = resolve(b.sites(), *target.site, "site");
  }
  if (gear) {
    const VectorX given = gear->vector("gear");
    if (given.size() < 1 || given.size() > 6) throw Error("gear has {} numbers; give 1 to 6", given.size());
    actuator.gear.fill(0.0);
    for (Eigen::Index i = 0; i < given.size(); ++i) actuator.gear[static_cast<std::size_t>(i)] = given[i];
  }
  set_range(actuator.control_limited, actuator.control_range, control_range, "control_range");
  set_range(actuator.force_limited, actuator.force_range, force_range, "force_range");
  return actuator;
}

int add_motor(ModelBuilder& b, const std::string& name, const MaybeReference& joint, const MaybeReference& tendon,
              const MaybeReference& site, const MaybeReference& loop_joint, const MaybeNumbers& gear,
              const MaybeNumbers& control_range, const MaybeNumbers& force_range) {
  return b.add_actuator(make_actuator(b, name, {joint, tendon, site, loop_joint}, gear, control_range, force_range));
}

int add_position_servo(ModelBuilder& b, const std::string& name, const MaybeReference& joint, double kp, double kv,
                       double damping_ratio, const MaybeReference& tendon, const MaybeReference& loop_joint,
                       const MaybeNumbers& gear, const MaybeNumbers& control_range, const MaybeNumbers& force_range) {
  Actuator actuator = make_actuator(b, name, {joint, tendon, {}, loop_joint}, gear, control_range, force_range);
  actuator.bias_type = ActuatorBias::kAffine;
  actuator.gain = {kp, 0.0, 0.0};
  actuator.bias = {0.0, -kp, -kv};
  actuator.damping_ratio = damping_ratio;
  return b.add_actuator(std::move(actuator));
}

int add_velocity_servo(ModelBuilder& b, const std::string& name, const MaybeReference& joint, double kv,
                       const MaybeReference& tendon, const MaybeReference& loop_joint, const MaybeNumbers& gear,
                       const MaybeNumbers& control_range, const MaybeNumbers& force_range) {
  Actuator actuator = make_actuator(b, name, {joint, tendon, {}, loop_joint}, gear, control_range, force_range);
  actuator.bias_type = ActuatorBias::kAffine;
  actuator.gain = {kv, 0.0, 0.0};
  actuator.bias = {0.0, 0.0, -kv};
  return b.add_actuator(std::move(actuator));
}

ActuatorDynamics dynamics_argument(const std::string& name) {
  for (const ActuatorDynamics dynamics : {ActuatorDynamics::kNone, ActuatorDynamics::kIntegrator,
                                          ActuatorDynamics::kFilter, ActuatorDynamics::kFilterExact}) {
    if (to_string(dynamics) == name) return dynamics;
  }
  throw Error("dynamics '{}'; give none, integrator, filter or exact filter", name);
}

// Up to three numbers; the rest is zero.
std::array<double, 3> affine_argument(const Numbers& numbers, const char* name) {
  const VectorX given = numbers.vector(name);
  if (given.size() < 1 || given.size() > 3) throw Error("{} has {} numbers; give 1 to 3", name, given.size());
  std::array<double, 3> values{};
  for (Eigen::Index i = 0; i < given.size(); ++i) values[static_cast<std::size_t>(i)] = given[i];
  return values;
}

// The transmissions that only a general actuator has.
void set_transmission(const ModelBuilder& b, Actuator& actuator, const MaybeReference& reference_site,
                      const MaybeReference& slider_site, double crank_length, bool in_parent) {
  if (in_parent && actuator.transmission == TransmissionType::kJoint) {
    actuator.transmission = TransmissionType::kJointInParent;
  }
  if (!reference_site && !slider_site) return;
  if (actuator.transmission != TransmissionType::kSite || (reference_site && slider_site)) {
    throw Error("actuator '{}': reference_site or slider_site go with a site", actuator.name);
  }
  actuator.reference_site = resolve(b.sites(), reference_site ? *reference_site : *slider_site, "site");
  if (slider_site) {
    actuator.transmission = TransmissionType::kSliderCrank;
    actuator.crank_length = crank_length;
  }
}

int add_actuator(ModelBuilder& b, const std::string& name, const MaybeReference& joint, const MaybeReference& tendon,
                 const MaybeReference& site, const MaybeReference& loop_joint, const MaybeReference& reference_site,
                 const MaybeReference& slider_site, double crank_length, bool in_parent, const MaybeNumbers& gear,
                 const MaybeNumbers& gain, const MaybeNumbers& bias, const std::string& dynamics, double time_constant,
                 const MaybeNumbers& control_range, const MaybeNumbers& force_range,
                 const MaybeNumbers& activation_range, bool early_activation) {
  Actuator actuator = make_actuator(b, name, {joint, tendon, site, loop_joint}, gear, control_range, force_range);
  set_transmission(b, actuator, reference_site, slider_site, crank_length, in_parent);
  if (gain) {
    actuator.gain = affine_argument(*gain, "gain");
    actuator.gain_type = gain->size() > 1 ? ActuatorGain::kAffine : ActuatorGain::kFixed;
  }
  if (bias) {
    actuator.bias = affine_argument(*bias, "bias");
    actuator.bias_type = ActuatorBias::kAffine;
  }
  actuator.dynamics = dynamics_argument(dynamics);
  actuator.time_constant = time_constant;
  set_range(actuator.activation_limited, actuator.activation_range, activation_range, "activation_range");
  actuator.early_activation = early_activation;
  return b.add_actuator(std::move(actuator));
}

void bind_tendons(nb::class_<ModelBuilder>& builder) {
  builder.def(
      "add_tendon", &add_tendon, nb::arg("name"), nb::arg("joints"), nb::kw_only(), nb::arg("limits") = nb::none(),
      nb::arg("limit_margin") = 0.0, nb::arg("stiffness") = 0.0, nb::arg("spring_length") = nb::none(),
      nb::arg("damping") = 0.0, nb::arg("armature") = 0.0, nb::arg("friction") = 0.0,
      nb::arg("force_range") = nb::none(), nb::arg("limit_softness") = nb::none(),
      nb::arg("friction_softness") = nb::none(),
      nb::sig("def add_tendon(self, name: str, joints: collections.abc.Mapping[str, float] | "
              "collections.abc.Mapping[int, float], *, limits: numpy.typing.ArrayLike | None = None, limit_margin: "
              "float = 0.0, stiffness: float = 0.0, spring_length: numpy.typing.ArrayLike | None = None, damping: "
              "float = 0.0, armature: float = 0.0, friction: float = 0.0, force_range: numpy.typing.ArrayLike | None = "
              "None, limit_softness: numpy.typing.ArrayLike | None = None, friction_softness: numpy.typing.ArrayLike | "
              "None = None) -> int"),
      "A fixed tendon: its length is the sum of coefficient * joint position, {'finger_1': 0.01, 'finger_2': 0.008} "
      "(m/rad for hinges, - for slides). limits: of its length, m; stiffness: N/m; spring_length: m, one number or the "
      "dead band (default: the length at the reference configuration); damping: N s/m; armature: kg; friction: dry, N; "
      "force_range: of all its actuators together, N.");
}

void bind_simple_actuators(nb::class_<ModelBuilder>& builder) {
  builder
      .def("add_motor", &add_motor, nb::arg("name"), nb::arg("joint") = nb::none(), nb::kw_only(),
           nb::arg("tendon") = nb::none(), nb::arg("site") = nb::none(), nb::arg("loop_joint") = nb::none(),
           nb::arg("gear") = nb::none(), nb::arg("control_range") = nb::none(), nb::arg("force_range") = nb::none(),
           "Force = gear * control on a joint (N m or N), a tendon (N), a loop joint (one gear for each coordinate) or "
           "a site, where gear has six numbers: force and torque in the axes of the site.")
      .def("add_position_servo", &add_position_servo, nb::arg("name"), nb::arg("joint") = nb::none(), nb::kw_only(),
           nb::arg("kp"), nb::arg("kv") = 0.0, nb::arg("damping_ratio") = 0.0, nb::arg("tendon") = nb::none(),
           nb::arg("loop_joint") = nb::none(), nb::arg("gear") = nb::none(), nb::arg("control_range") = nb::none(),
           nb::arg("force_range") = nb::none(),
           "Force = kp (control - position) - kv velocity; kp: N m/rad or N/m, kv: N m s/rad or N s/m. damping_ratio "
           "(-): instead of kv, from the inertia at the reference configuration.")
      .def("add_velocity_servo", &add_velocity_servo, nb::arg("name"), nb::arg("joint") = nb::none(), nb::kw_only(),
           nb::arg("kv"), nb::arg("tendon") = nb::none(), nb::arg("loop_joint") = nb::none(),
           nb::arg("gear") = nb::none(), nb::arg("control_range") = nb::none(), nb::arg("force_range") = nb::none(),
           "Force = kv (control - velocity); kv: N m s/rad or N s/m.");
}

void bind_general_actuator(nb::class_<ModelBuilder>& builder) {
  builder.def(
      "add_actuator", &add_actuator, nb::arg("name"), nb::arg("joint") = nb::none(), nb::kw_only(),
      nb::arg("tendon") = nb::none(), nb::arg("site") = nb::none(), nb::arg("loop_joint") = nb::none(),
      nb::arg("reference_site") = nb::none(), nb::arg("slider_site") = nb::none(), nb::arg("crank_length") = 0.0,
      nb::arg("in_parent") = false, nb::arg("gear") = nb::none(), nb::arg("gain") = nb::none(),
      nb::arg("bias") = nb::none(), nb::arg("dynamics") = "none", nb::arg("time_constant") = 1.0,
      nb::arg("control_range") = nb::none(), nb::arg("force_range") = nb::none(),
      nb::arg("activation_range") = nb::none(), nb::arg("early_activation") = false,
      "Force = gain * (control or activation) + bias; gain and bias are numbers or [constant, per length, per "
      "velocity]. "
      "It acts on a joint (in_parent: a ball or free joint in the axes of the parent), a tendon or a site (against "
      "reference_site; or as a crank of crank_length, m, on the slider at slider_site). dynamics: 'none', "
      "'integrator', "
      "'filter' or 'exact filter' with time_constant (s) between control and activation; early_activation: the force "
      "uses the activation at the end of the step.");
}

}  // namespace

void bind_builder_actuators(nb::class_<ModelBuilder>& builder) {
  bind_tendons(builder);
  bind_simple_actuators(builder);
  bind_general_actuator(builder);
}

}  // namespace touchstone::python
