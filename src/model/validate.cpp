#include "touchstone/model/validate.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>

#include "touchstone/model/checker.hpp"

namespace touchstone {

using checks::check_names;
using checks::Checker;
using checks::element_origin;
using checks::fail;

namespace {

constexpr double kLargestFriction = 1e6;

void check_inertia(const Checker& check, const MassProperties& inertia) {
  check.not_negative("mass", inertia.mass);
  check.finite("centre of mass", inertia.com);
  check.finite("inertia", inertia.inertia);
  check.require((inertia.inertia - inertia.inertia.transpose()).cwiseAbs().maxCoeff() <=
                    1e-9 * inertia.inertia.cwiseAbs().maxCoeff(),
                "inertia is not symmetric", "give a symmetric matrix");
  const Vector3 moments = principal_inertia(inertia.inertia).moments;
  const double largest = moments.cwiseAbs().maxCoeff();
  check.require(moments.minCoeff() >= -1e-12 * largest,
                fmt::format("inertia has a negative principal moment ({:.6g})", moments.minCoeff()),
                "give a positive semidefinite matrix");
}

void check_bodies(const Model& m) {
  for (std::size_t i = 1; i < m.bodies.size(); ++i) {
    const Body& body = m.bodies[i];
    const Checker check("body", body);
    check.index("parent", body.parent, m.bodies.size());
    check.require(body.parent < static_cast<int>(i), fmt::format("its parent is body {}", body.parent),
                  "a parent must be added before its children, so that the tree has no cycle");
    check.pose("pose", body.pose);
    check.finite("gravity compensation", body.gravity_compensation);
    check_inertia(check, body.inertia);
    if (body.mocap) {
      check.require(body.parent == 0, "a mocap body has a parent other than the world", "make it a child of the world");
    }
  }
}

void check_joints(const Model& m) {
  std::vector<int> joints_of_body(m.bodies.size(), 0);
  std::vector<bool> has_free(m.bodies.size(), false);
  for (const Joint& joint : m.joints) {
    const Checker check("joint", joint);
    check.index("body", joint.body, m.bodies.size());
    check.require(joint.body != 0, "it belongs to the world", "the world does not move: put the joint into a body");
    check.require(!m.bodies[joint.body].mocap, "its body is a mocap body", "a mocap body has no joints");
    const bool has_axis = joint.type != JointType::kFree && joint.type != JointType::kBall;
    check.finite("axis", joint.axis);
    check.finite("anchor", joint.anchor);
    check.require(!has_axis || joint.axis.norm() > 1e-10, "its axis is zero", "give a direction");
    check.finite("pitch", joint.pitch);
    check.finite("reference", joint.reference);
    check.range("range", joint.limited, joint.range);
    check.require(!(joint.limited && joint.type == JointType::kFree), "a free joint has limits", "remove them");
    check.finite("limit margin", joint.limit_margin);
    check.impedance(joint.limit_impedance);
    check.impedance(joint.friction_impedance);
    check.not_negative("stiffness", joint.stiffness);
    check.finite("spring reference", joint.spring_reference);
    check.not_negative("damping", joint.damping);
    check.not_negative("armature", joint.armature);
    check.not_negative("friction", joint.friction);
    check.range("actuator force range", joint.actuator_force_limited, joint.actuator_force_range);
    if (joint.type == JointType::kFree) {
      check.require(m.bodies[joint.body].parent == 0, "a free joint is on a body below the top level",
                    "make the body a child of the world");
      has_free[joint.body] = true;
    }
    ++joints_of_body[joint.body];
    check.require(!has_free[joint.body] || joints_of_body[joint.body] == 1, "its body has a free joint and others",
                  "a free joint must be the only joint of its body");
  }
}

void check_shape_size(const Checker& check, const Shape& shape) {
  static constexpr int kSizes[] = {0, 1, 2, 3, 2, 2, 3, 0, 0};  // by ShapeType: how many must be positive
  check.finite("size", shape.size);
  for (int i = 0; i < kSizes[static_cast<int>(shape.type)]; ++i) {
    check.require(shape.size[i] > 0.0,
                  fmt::format("size {} of a {} is {}", i + 1, to_string(shape.type), shape.size[i]),
                  "give a positive size");
  }
  check.require(shape.type != ShapeType::kMesh || shape.mesh != nullptr, "it is a mesh without data", "give a mesh");
  check.require(shape.type != ShapeType::kHeightField || shape.height_field != nullptr,
                "it is a height field without data", "give a height field");
}

void check_dimension(const Checker& check, int dimension) {
  check.require(dimension == 1 || dimension == 3 || dimension == 4 || dimension == 6,
                fmt::format("contact dimension is {}", dimension), "it must be 1, 3, 4 or 6");
}

// The elastic law of a material; two that are not the same have no closed form in series.
const char* elastic_law(const Material& m) {
  return m.youngs_modulus > 0.0 ? "Young's modulus"
         : !(m.stiffness > 0.0) ? ""
         : m.hertz              ? "Hertz"
                                : "linear stiffness";
}

void check_elasticity(const Checker& check, const Material& material) {
  check.not_negative("stiffness", material.stiffness);
  check.not_negative("Young's modulus", material.youngs_modulus);
  check.require(material.poisson_ratio > -1.0 && material.poisson_ratio <= 0.5,
                fmt::format("Poisson's ratio is {}", material.poisson_ratio), "it is above -1 and at most 0.5");
  check.require(
      !(material.youngs_modulus > 0.0 && material.stiffness > 0.0),
      fmt::format("stiffness {} and Young's modulus {} are given", material.stiffness, material.youngs_modulus),
      "give one of them");
}

// A damper acts beside a spring.
void check_damping(const Checker& check, const Material& material) {
  const auto needs_spring = [&](const char* what, double value) {
    check.require(!(value > 0.0) || *elastic_law(material) != 0, fmt::format("{} is {} without stiffness", what, value),
                  "give a stiffness too, in N/m; without one contacts are rigid");
  };
  needs_spring("dissipation", material.dissipation);
  needs_spring("relaxation time", material.relaxation_time);
}

// All shapes that give way do so by the same law.
void check_one_law(const Model& m) {
  const ShapeElement* first = nullptr;
  for (const ShapeElement& shape : m.shapes) {
    const std::string_view law = elastic_law(shape.material);
    if (law.empty() || shape.visual_only) continue;
    if (first == nullptr) first = &shape;
    const std::string_view known = elastic_law(first->material);
    Checker("shape", shape)
        .require(law == known, fmt::format("it has {}, but shape '{}' has {}", law, first->name, known),
                 "give all materials the same elastic law, or leave some rigid");
  }
}

void check_shapes_and_sites(const Model& m) {
  check_one_law(m);
  for (const ShapeElement& shape : m.shapes) {
    const Checker check("shape", shape);
    check.index("body", shape.body, m.bodies.size());
    check.pose("pose", shape.pose);
    check_shape_size(check, shape.shape);
    check_dimension(check, shape.contact_dimension);
    for (int i = 0; i < 3; ++i) {
      check.not_negative("friction", shape.material.friction[i]);
      check.require(
          shape.material.friction[i] <= kLargestFriction, fmt::format("friction is {}", shape.material.friction[i]),
          fmt::format("it must not exceed {:g}; for surfaces that never slide 10 is enough", kLargestFriction));
    }
    check.not_negative("restitution", shape.material.restitution);
    check_elasticity(check, shape.material);
    check.not_negative("dissipation", shape.material.dissipation);
    check.not_negative("relaxation time", shape.material.relaxation_time);
    check_damping(check, shape.material);
    check.finite("margin", shape.margin);
    check.finite("gap", shape.gap);
    check.finite("surface velocity", shape.surface_velocity);
    check.not_negative("mixing weight", shape.material.mixing);
    check.impedance(shape.material.impedance);
  }
  for (const Site& site : m.sites) {
    const Checker check("site", site);
    check.index("body", site.body, m.bodies.size());
    check.pose("pose", site.pose);
  }
}

void check_tendons(const Model& m) {
  for (const Tendon& tendon : m.tendons) {
    const Checker check("tendon", tendon);
    check.require(!tendon.terms.empty(), "it has no joints", "name at least one joint");
    std::vector<int> seen;
    for (const Tendon::Term& term : tendon.terms) {
      check.index("joint", term.joint, m.joints.size());
      check.require(is_scalar(m.joints[term.joint]),
                    fmt::format("joint '{}' is not a hinge or slide", m.joints[term.joint].name),
                    "a tendon acts on joints with one coordinate");
      check.finite("coefficient", term.coefficient);
      check.require(std::find(seen.begin(), seen.end(), term.joint) == seen.end(),
                    fmt::format("joint '{}' is named twice", m.joints[term.joint].name), "add the coefficients up");
      seen.push_back(term.joint);
    }
    check.range("range", tendon.limited, tendon.range);
    check.range("actuator force range", tendon.actuator_force_limited, tendon.actuator_force_range);
    check.not_negative("stiffness", tendon.stiffness);
    check.not_negative("damping", tendon.damping);
    check.not_negative("armature", tendon.armature);
    check.not_negative("friction", tendon.friction);
    check.finite("spring length", tendon.spring_length);
    check.require(tendon.spring_length[0] <= tendon.spring_length[1],
                  fmt::format("spring length is [{}, {}]", tendon.spring_length[0], tendon.spring_length[1]),
                  "write the shorter length first");
    check.finite("limit margin", tendon.limit_margin);
    check.impedance(tendon.limit_impedance);
    check.impedance(tendon.friction_impedance);
  }
}

void check_loop_gear(const Checker& check, const LoopJoint& joint, const Actuator& actuator) {
  const int count = coordinate_count(joint.type);
  check.require(count > 0, fmt::format("loop joint '{}' ({}) has no coordinate", joint.name, to_string(joint.type)),
                "drive a loop joint that leaves something free");
  for (std::size_t k = static_cast<std::size_t>(count); k < actuator.gear.size(); ++k) {
    check.require(actuator.gear[k] == 0.0,
                  fmt::format("gear {} is {}, but loop joint '{}' ({}) has {} coordinates", k, actuator.gear[k],
                              joint.name, to_string(joint.type), count),
                  "give one gear for each coordinate");
  }
}

void check_actuators(const Model& m) {
  for (const Actuator& actuator : m.actuators) {
    const Checker check("actuator", actuator);
    switch (actuator.transmission) {
      case TransmissionType::kJoint:
      case TransmissionType::kJointInParent:
        check.index("joint", actuator.target, m.joints.size());
        break;
      case TransmissionType::kTendon:
        check.index("tendon", actuator.target, m.tendons.size());
        break;
      case TransmissionType::kSite:
        check.index("site", actuator.target, m.sites.size());
        if (actuator.reference_site >= 0) check.index("reference site", actuator.reference_site, m.sites.size());
        break;
      case TransmissionType::kSliderCrank:
        check.index("crank site", actuator.target, m.sites.size());
        check.index("slider site", actuator.reference_site, m.sites.size());
        check.require(actuator.crank_length > 0.0, fmt::format("crank length is {}", actuator.crank_length),
                      "give a positive length");
        break;
      case TransmissionType::kLoopJoint:
        check.index("loop joint", actuator.target, m.loop_joints.size());
        check_loop_gear(check, m.loop_joints[actuator.target], actuator);
        break;
    }
    check.finite("gear", actuator.gear.data(), actuator.gear.size());
    check.finite("gain", actuator.gain.data(), actuator.gain.size());
    check.finite("bias", actuator.bias.data(), actuator.bias.size());
    check.not_negative("time constant", actuator.time_constant);
    check.not_negative("damping ratio", actuator.damping_ratio);
    check.range("control range", actuator.control_limited, actuator.control_range);
    check.range("force range", actuator.force_limited, actuator.force_range);
    check.range("activation range", actuator.activation_limited, actuator.activation_range);
  }
}

std::size_t count_of(const Model& m, FrameType type) {
  switch (type) {
    case FrameType::kNone:
      return 0;
    case FrameType::kBody:
    case FrameType::kBodyInertial:
      return m.bodies.size();
    case FrameType::kShape:
      return m.shapes.size();
    case FrameType::kSite:
      return m.sites.size();
    case FrameType::kJoint:
      return m.joints.size();
    case FrameType::kTendon:
      return m.tendons.size();
    case FrameType::kActuator:
      return m.actuators.size();
  }
  return 0;
}

bool is_frame(FrameType type) {
  return type == FrameType::kBody || type == FrameType::kBodyInertial || type == FrameType::kShape ||
         type == FrameType::kSite;
}

bool is_limit_sensor(SensorType type) {
  return type == SensorType::kJointLimitPosition || type == SensorType::kJointLimitVelocity ||
         type == SensorType::kJointLimitForce;
}

void check_contact_rules(const Model& m) {
  for (const ContactPair& pair : m.contact_pairs) {
    const Checker check("contact pair", pair);
    check.index("first shape", pair.shape_a, m.shapes.size());
    check.index("second shape", pair.shape_b, m.shapes.size());
    check_dimension(check, pair.contact_dimension);
    for (double mu : pair.friction) check.not_negative("friction", mu);
    check.finite("margin", pair.margin);
    check.finite("gap", pair.gap);
    check.impedance(pair.impedance);
  }
  for (const ContactExclusion& exclusion : m.contact_exclusions) {
    const Checker check("contact exclusion", exclusion);
    check.index("first body", exclusion.body_a, m.bodies.size());
    check.index("second body", exclusion.body_b, m.bodies.size());
  }
}

// The kind of what a sensor is attached to must be that of its type: the reader of the sensor relies on it.
void check_sensors(const Model& m) {
  for (const Sensor& sensor : m.sensors) {
    const Checker check("sensor", sensor);
    const std::optional<FrameType> expected = sensor_object(sensor.type);
    const FrameType given = sensor.object_type;
    const std::string what = fmt::format("a {} is attached to: {}", to_string(sensor.type), to_string(given));
    if (expected) {
      check.require(given == *expected, what, fmt::format("attach it to: {}", to_string(*expected)));
    } else {
      check.require(is_frame(given), what, "attach it to a body, inertial frame, shape or site");
      check.require(sensor.reference_type == FrameType::kNone || is_frame(sensor.reference_type),
                    fmt::format("its reference is a {}", to_string(sensor.reference_type)),
                    "refer to a body, inertial frame, shape or site");
    }
    if (given != FrameType::kNone) check.index("object", sensor.object, count_of(m, given));
    if (sensor.reference_type != FrameType::kNone) {
      check.index("reference", sensor.reference, count_of(m, sensor.reference_type));
    }
    if (given != FrameType::kJoint) continue;
    const Joint& joint = m.joints[sensor.object];
    const bool of_ball = sensor.type == SensorType::kBallQuaternion || sensor.type == SensorType::kBallAngularVelocity;
    check.require(of_ball ? joint.type == JointType::kBall : is_scalar(joint) || is_limit_sensor(sensor.type),
                  fmt::format("a {} of a {} joint", to_string(sensor.type), to_string(joint.type)),
                  of_ball ? "choose a ball joint" : "choose a joint with one coordinate");
  }
}

void check_coupled(const Checker& check, const Model& m, const char* what, int joint, int coordinate) {
  if (coordinate < 0) {
    check.index(what, joint, m.joints.size());
    check.require(is_scalar(m.joints[joint]), "it couples a joint that is not a hinge or slide",
                  "couple joints with one coordinate");
    return;
  }
  check.index(what, joint, m.loop_joints.size());
  const LoopJoint& loop = m.loop_joints[joint];
  check.require(coordinate < coordinate_count(loop.type),
                fmt::format("it couples coordinate {} of loop joint '{}' ({}), which has {}", coordinate, loop.name,
                            to_string(loop.type), coordinate_count(loop.type)),
                "coordinates are numbered from 0");
  check.require(loop.type != LoopJointType::kSpherical,
                fmt::format("it couples a rotation vector (loop joint '{}')", loop.name),
                "couple a gimbal, whose coordinates are angles");
}

void check_equalities(const Model& m) {
  for (const Equality& equality : m.equalities) {
    const Checker check("equality", equality);
    const EqualitySides sides = sides_of(equality.type);
    const bool on_bodies = sides == EqualitySides::kBodies;
    const std::size_t count = on_bodies                         ? m.bodies.size()
                              : sides == EqualitySides::kJoints ? m.joints.size()
                                                                : m.tendons.size();
    if (sides == EqualitySides::kJoints) {
      check_coupled(check, m, "first element", equality.a, equality.coordinate_a);
      if (equality.b >= 0) check_coupled(check, m, "second element", equality.b, equality.coordinate_b);
    } else {
      check.index("first element", equality.a, count);
      if (on_bodies || equality.b >= 0) check.index("second element", equality.b, count);
    }
    check.finite("anchor", equality.anchor_a);
    check.finite("anchor", equality.anchor_b);
    check.pose("relative pose", equality.relative_pose);
    check.finite("polynomial", equality.polynomial.data(), equality.polynomial.size());
    check.impedance(equality.impedance);
  }
}

void check_loop_coordinate(const Checker& check, const LoopCoordinate& c, bool is_ball) {
  check.finite("reference", c.reference);
  check.range("range", c.limited, c.range);
  check.require(!c.limited || !is_ball || c.range[0] == 0.0, fmt::format("range begins with {}", c.range[0]),
                "the range of a spherical joint is [0, largest angle]");
  check.finite("limit margin", c.limit_margin);
  check.not_negative("stiffness", c.stiffness);
  check.finite("spring reference", c.spring_reference);
  check.not_negative("damping", c.damping);
  check.not_negative("armature", c.armature);
  check.not_negative("friction", c.friction);
  check.impedance(c.limit_impedance);
  check.impedance(c.friction_impedance);
}

void check_loop_joints(const Model& m) {
  for (const LoopJoint& joint : m.loop_joints) {
    const Checker check("loop joint", joint);
    check.index("body_a", joint.body_a, m.bodies.size());
    check.index("body_b", joint.body_b, m.bodies.size());
    check.require(joint.body_a != joint.body_b,
                  fmt::format("it joins body '{}' with itself", m.bodies[joint.body_a].name), "name two bodies");
    check.pose("frame_a", joint.frame_a);
    check.pose("frame_b", joint.frame_b);
    check.finite("pitch", joint.pitch);
    check.finite("length", joint.length);
    check.require(joint.type != LoopJointType::kDistance || joint.length > 0.0,
                  fmt::format("length is {}", joint.length),
                  "give a positive length, or hold a point with a spherical joint");
    const auto count = static_cast<std::size_t>(coordinate_count(joint.type));
    check.require(joint.coordinates.size() <= count,
                  fmt::format("{} coordinates are given, a {} joint has {}", joint.coordinates.size(),
                              to_string(joint.type), count),
                  "give one entry for each coordinate, or fewer");
    const bool is_ball = joint.type == LoopJointType::kSpherical;
    for (std::size_t k = 0; k < joint.coordinates.size(); ++k) {
      check_loop_coordinate(check, joint.coordinates[k], is_ball);
      check.require(!is_ball || k == 0 || !joint.coordinates[k].limited,
                    fmt::format("coordinate {} of a spherical joint is limited", k),
                    "limit the first: its range is that of the whole angle");
    }
    check.impedance(joint.impedance);
  }
}

}  // namespace

void validate_elements(const Model& draft) {
  check_names("body", draft.bodies);
  check_names("joint", draft.joints);
  check_names("shape", draft.shapes);
  check_names("site", draft.sites);
  check_names("tendon", draft.tendons);
  check_names("actuator", draft.actuators);
  check_names("equality", draft.equalities);
  check_names("sensor", draft.sensors);
  check_names("keyframe", draft.keyframes);
  check_names("loop joint", draft.loop_joints);
  check_bodies(draft);
  check_joints(draft);
  check_shapes_and_sites(draft);
  check_loop_joints(draft);
  check_tendons(draft);
  check_actuators(draft);
  check_contact_rules(draft);
  check_sensors(draft);
  check_equalities(draft);
  if (!draft.defaults.gravity.allFinite()) {
    throw InputError({.where = {draft.file, 0, "gravity"},
                      .message = "gravity is not finite",
                      .remedy = "give three finite numbers"});
  }
}

}  // namespace touchstone
