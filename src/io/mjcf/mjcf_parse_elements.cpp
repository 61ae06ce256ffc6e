// Joints, geoms, sites and inertials: what stands in a body and in default classes.
#include <cmath>
#include <numbers>

#include "touchstone/io/mjcf/mjcf_parser.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone::mjcf {
namespace {

constexpr double kDegree = std::numbers::pi / 180.0;
constexpr double kSmallest = 1e-14;  // MuJoCo's mjMINVAL: lengths below it have no direction

const std::vector<std::string_view> kGeomTypes{"plane",    "hfield", "sphere", "capsule", "ellipsoid",
                                               "cylinder", "box",    "mesh",   "sdf"};
constexpr std::string_view kAlternatives[] = {"axisangle", "xyaxes", "zaxis", "euler"};

Quaternion from_xy_axes(const XmlElement& element, const std::array<double, 6>& axes) {
  Vector3 x(axes[0], axes[1], axes[2]), y(axes[3], axes[4], axes[5]);
  if (x.norm() < kSmallest) fail_attribute(element, "xyaxes", "the x axis is zero");
  x.normalize();
  y -= x.dot(y) * x;
  if (y.norm() < kSmallest) fail_attribute(element, "xyaxes", "the y axis is zero or parallel to the x axis");
  y.normalize();
  Matrix3 rotation;
  rotation << x, y, x.cross(y);
  return Quaternion(rotation).normalized();
}

void read_colour(const XmlElement& element, Eigen::Vector4d& rgba) { read(element, "rgba", rgba); }

}  // namespace

void Parser::read_switch(const XmlElement& element, std::string_view attribute, Switch& out) const {
  const int keyword = read_keyword(element, attribute, {"false", "true", "auto"});
  if (keyword >= 0) out = static_cast<Switch>(keyword);
}

void Parser::read_impedance(const XmlElement& element, std::string_view solref, std::string_view solimp,
                            Impedance& out) const {
  read_numbers(element, solref, out.solref.data(), 1, 2);
  read_numbers(element, solimp, out.solimp.data(), 1, 5);
}

// Stiffness and damping are polynomials in MuJoCo 4; only the linear term is supported.
void Parser::read_polynomial(const XmlElement& element, std::string_view attribute, double& linear) {
  std::array<double, 3> coefficients{linear, 0.0, 0.0};
  read_numbers(element, attribute, coefficients.data(), 1, 3);
  if (coefficients[1] != 0.0 || coefficients[2] != 0.0) {
    refuse(element, fmt::format("polynomial {} '{}'", attribute, *element.find(attribute)));
  }
  linear = coefficients[0];
}

Quaternion Parser::rotation_from_euler(const Vector3& angles) const {
  const double unit = compiler_->degree ? kDegree : 1.0;
  Quaternion q = Quaternion::Identity();
  for (int i = 0; i < 3; ++i) {
    const char axis = compiler_->euler_sequence[static_cast<std::size_t>(i)];
    const bool fixed_axes = axis >= 'X' && axis <= 'Z';
    const Quaternion turn = so3_exp(angles[i] * unit * Vector3::Unit(axis - (fixed_axes ? 'X' : 'x')));
    q = fixed_axes ? turn * q : q * turn;
  }
  return q.normalized();
}

void Parser::read_orientation(const XmlElement& element, PoseSpec& pose) const {
  int given = element.has("quat") ? 1 : 0;
  for (const std::string_view attribute : kAlternatives) given += element.has(attribute) ? 1 : 0;
  if (given > 1) fail(element, "more than one of quat, axisangle, xyaxes, zaxis and euler is given");

  Eigen::Vector4d four;
  if (read(element, "quat", four)) {
    if (four.norm() < kSmallest) fail_attribute(element, "quat", "the quaternion is zero");
    pose.quaternion = Quaternion(four[0], four[1], four[2], four[3]).normalized();
  }
  const double unit = compiler_->degree ? kDegree : 1.0;
  if (read(element, "axisangle", four)) {
    const Vector3 axis = four.head<3>();
    if (axis.norm() < kSmallest) fail_attribute(element, "axisangle", "the axis is zero");
    pose.alternative = so3_exp(axis.normalized() * (four[3] * unit));
  }
  Vector3 three;
  if (read(element, "euler", three)) pose.alternative = rotation_from_euler(three);
  if (read(element, "zaxis", three)) {
    if (three.norm() < kSmallest) fail_attribute(element, "zaxis", "the axis is zero");
    pose.alternative = rotation_from_z(three);
  }
  std::array<double, 6> axes{};
  if (read(element, "xyaxes", axes)) pose.alternative = from_xy_axes(element, axes);
}

void Parser::read_pose(const XmlElement& element, PoseSpec& pose) const {
  read(element, "pos", pose.position);
  read_orientation(element, pose);
}

void Parser::read_joint(const XmlElement& element, JointSpec& spec) {
  Joint& joint = spec.joint;
  read(element, "name", joint.name);
  constexpr JointType kTypes[] = {JointType::kFree, JointType::kBall, JointType::kSlide, JointType::kHinge};
  const int type = read_keyword(element, "type", {"free", "ball", "slide", "hinge"});
  if (type >= 0) joint.type = kTypes[type];
  read(element, "group", joint.group);
  read(element, "pos", joint.anchor);
  read(element, "axis", joint.axis);
  read(element, "springdamper", spec.spring_damper);
  read_switch(element, "limited", spec.limit.limited);
  read(element, "range", spec.limit.range);
  read_switch(element, "actuatorfrclimited", spec.actuator_force_limit.limited);
  read(element, "actuatorfrcrange", spec.actuator_force_limit.range);
  read(element, "actuatorgravcomp", joint.actuator_gravity_compensation);
  read_impedance(element, "solreflimit", "solimplimit", joint.limit_impedance);
  read_impedance(element, "solreffriction", "solimpfriction", joint.friction_impedance);
  read_polynomial(element, "stiffness", joint.stiffness);
  read_polynomial(element, "damping", joint.damping);
  read(element, "margin", joint.limit_margin);
  read(element, "ref", joint.reference);
  read(element, "springref", joint.spring_reference);
  read(element, "armature", joint.armature);
  read(element, "frictionloss", joint.friction);
  double spring_yield = 0.0;
  if (read(element, "springyield", spring_yield) && spring_yield != 0.0) {
    refuse(element, fmt::format("a plastic spring (springyield '{}')", spring_yield));
  }
}

void Parser::finish_limit(const XmlElement& element, std::string_view attribute, LimitSpec& limit) const {
  const bool has_range = !limit.range.isZero(0.0);
  if (limit.limited == Switch::kAuto) {
    if (has_range && !compiler_->auto_limits) {
      fail(element,
           fmt::format("{} is [{}, {}], but it is not said whether it limits", attribute, limit.range[0],
                       limit.range[1]),
           "with autolimits=\"false\" each range needs its 'limited' attribute");
    }
    // MuJoCo takes an interval without length for no limit, and a reversed one too: that is a mistake.
    limit.limited = limit.range[0] == limit.range[1] ? Switch::kFalse : Switch::kTrue;
  }
  if (limit.limited == Switch::kTrue && !(limit.range[0] < limit.range[1])) {
    fail(element, fmt::format("{} is [{}, {}]", attribute, limit.range[0], limit.range[1]),
         "write the lower limit first, then a larger upper one");
  }
}

// Limits and units, once the type is known. A free joint has no limits, and only hinges and slides have force ranges.
void Parser::finish_joint(const XmlElement& element, JointSpec& spec) const {
  Joint& joint = spec.joint;
  const bool scalar = joint.type == JointType::kHinge || joint.type == JointType::kSlide;
  if (joint.type == JointType::kFree) spec.limit.limited = Switch::kFalse;
  if (!scalar) spec.actuator_force_limit.limited = Switch::kFalse;
  finish_limit(element, "range", spec.limit);
  finish_limit(element, "actuatorfrcrange", spec.actuator_force_limit);
  joint.limited = spec.limit.limited == Switch::kTrue;
  joint.actuator_force_limited = spec.actuator_force_limit.limited == Switch::kTrue;
  joint.actuator_force_range = spec.actuator_force_limit.range;
  joint.range = spec.limit.range;
  if (joint.type == JointType::kBall && joint.limited && joint.range[0] != 0.0) {
    fail(element, fmt::format("range of a ball joint is [{}, {}]", joint.range[0], joint.range[1]),
         "it must begin with 0");
  }
  if (scalar && joint.axis.norm() < kSmallest) {
    fail(element, fmt::format("axis is ({}, {}, {})", joint.axis[0], joint.axis[1], joint.axis[2]), "give a direction");
  }
  if (spec.spring_damper != Vector2::Zero() && spec.spring_damper.minCoeff() <= 0.0) {
    fail(element, fmt::format("springdamper is ({}, {})", spec.spring_damper[0], spec.spring_damper[1]),
         "both numbers must be positive");
  }
  if (compiler_->degree && joint.type == JointType::kHinge) {
    joint.reference *= kDegree;
    joint.spring_reference *= kDegree;
  }
  if (compiler_->degree && joint.limited && joint.type != JointType::kSlide) joint.range *= kDegree;
  joint.axis.normalize();
  if (joint.type == JointType::kFree) joint.anchor.setZero();
}

void Parser::read_geom(const XmlElement& element, GeomSpec& spec) {
  ShapeElement& shape = spec.element;
  read(element, "name", shape.name);
  const int type = read_keyword(element, "type", kGeomTypes);
  if (type >= 0) spec.type = static_cast<GeomType>(type);
  int bits = 0;
  if (read(element, "contype", bits)) shape.contact_type = static_cast<unsigned>(bits);
  if (read(element, "conaffinity", bits)) shape.contact_affinity = static_cast<unsigned>(bits);
  read(element, "condim", shape.contact_dimension);
  read(element, "group", shape.group);
  read(element, "priority", shape.material.priority);
  read_numbers(element, "size", spec.size.data(), 1, 3);
  read(element, "material", spec.material);
  read_numbers(element, "friction", shape.material.friction.data(), 1, 3);
  double mass = 0.0;
  if (read(element, "mass", mass)) spec.mass = mass;
  read(element, "density", spec.density);
  if (mass < 0.0 || spec.density < 0.0) {
    fail(element, fmt::format("mass {} or density {} is negative", mass, spec.density));
  }
  read(element, "shellinertia", spec.shell_inertia);
  read(element, "solmix", shape.material.mixing);
  read_impedance(element, "solref", "solimp", shape.material.impedance);
  read(element, "margin", shape.margin);
  read(element, "gap", shape.gap);
  std::array<double, 6> fromto{};
  if (read(element, "fromto", fromto)) spec.fromto = fromto;
  read_pose(element, spec.pose);
  read(element, "hfield", spec.height_field);
  read(element, "mesh", spec.mesh);
  read(element, "fitscale", spec.fit_scale);
  read_colour(element, spec.rgba);

  read_numbers(element, "surfacevel", shape.surface_velocity.data(), 1, 6);
  double adhesion = 0.0;
  if (read(element, "adhesion", adhesion) && adhesion != 0.0) refuse(element, fmt::format("adhesion '{}'", adhesion));
  if (const XmlElement* plugin = element.child("plugin")) refuse(*plugin, "a plugin");
}

void Parser::read_site(const XmlElement& element, SiteSpec& spec) const {
  read(element, "name", spec.site.name);
  const int type = read_keyword(element, "type", kGeomTypes);
  if (type >= 0) spec.type = static_cast<GeomType>(type);
  read(element, "group", spec.site.group);
  read_numbers(element, "size", spec.size.data(), 1, 3);
  std::array<double, 6> fromto{};
  if (read(element, "fromto", fromto)) spec.fromto = fromto;
  read_pose(element, spec.pose);
  read(element, "material", spec.material);
  read(element, "mesh", spec.mesh);
  read_colour(element, spec.rgba);
}

InertialSpec Parser::read_inertial(const XmlElement& element) const {
  InertialSpec spec;
  spec.origin = origin(element);
  spec.pose.position = required_attribute<Vector3>(element, "pos");
  spec.mass = required_attribute<double>(element, "mass");
  read_orientation(element, spec.pose);
  const bool diagonal = read(element, "diaginertia", spec.diagonal);
  std::array<double, 6> full{};
  if (read(element, "fullinertia", full)) {
    spec.full = full;
    if (diagonal) fail(element, "diaginertia and fullinertia are both given");
    if (spec.pose.alternative || element.has("quat")) fail(element, "fullinertia and an orientation are both given");
  }
  if (spec.mass < 0.0) fail_attribute(element, "mass", "it is negative");
  if (spec.diagonal.minCoeff() < 0.0) fail_attribute(element, "diaginertia", "a moment is negative");
  return spec;
}

}  // namespace touchstone::mjcf
