// The <joint> element of URDF.
#include <cmath>

#include <fmt/format.h>

#include "touchstone/io/urdf/urdf_document.hpp"

namespace touchstone {
namespace {

// Some exporters write a number like 1e16 for "no limit".
constexpr double kUnlimited = 1e10;

bool uses_axis(UrdfJointType type) {
  return type == UrdfJointType::kRevolute || type == UrdfJointType::kContinuous || type == UrdfJointType::kPrismatic ||
         type == UrdfJointType::kPlanar;
}

UrdfJointType read_type(const XmlElement& element, UrdfNotes& notes) {
  constexpr const char* kKnown = "revolute, continuous, prismatic, fixed, floating or planar";
  const std::string* type = element.find("type");
  if (!type) fail(element, "attribute 'type' is missing", fmt::format("choose {}", kKnown));
  if (*type == "revolute") return UrdfJointType::kRevolute;
  if (*type == "continuous") return UrdfJointType::kContinuous;
  if (*type == "prismatic") return UrdfJointType::kPrismatic;
  if (*type == "fixed") return UrdfJointType::kFixed;
  if (*type == "floating") return UrdfJointType::kFloating;
  if (*type == "planar") return UrdfJointType::kPlanar;
  if (*type == "spherical" || *type == "ball") {
    notes.warn_once("joint/spherical", origin(element),
                    fmt::format("joint type '{}' is not part of URDF; other programs may refuse it", *type));
    return UrdfJointType::kSpherical;
  }
  fail_attribute(element, "type", "unknown joint type", fmt::format("choose {}", kKnown));
}

std::string read_link_name(const XmlElement& element, const char* tag) {
  const XmlElement* child = element.child(tag);
  if (!child) fail(element, fmt::format("<{}> is missing", tag), fmt::format("add <{} link=\"...\"/>", tag));
  const std::string* link = child->find("link");
  if (!link || link->empty()) fail(*child, "attribute 'link' is missing", "name a link of this file");
  return *link;
}

void read_axis(const XmlElement& element, UrdfJoint& joint) {
  const XmlElement* axis = element.child("axis");
  if (!axis) return;
  read(*axis, "xyz", joint.axis);
  const double length = joint.axis.stableNorm();
  if (!(length > 1e-9)) {
    // A fixed or floating joint has no axis, yet exporters write a zero one.
    if (!uses_axis(joint.type)) return;
    fail_attribute(*axis, "xyz", "the axis has no direction", "give a vector that is not zero");
  }
  joint.axis /= length;
  joint.axis.normalize();
}

double read_bound(const XmlElement& limit, const char* attribute, UrdfNotes& notes, const Origin& owner) {
  double value = 0.0;
  if (!read(limit, attribute, value)) {
    notes.warn_once(fmt::format("limit/{}", attribute), owner,
                    fmt::format("<limit> has no '{}'; taken as unlimited", attribute));
    return 0.0;
  }
  if (value < 0.0) {
    fail_attribute(limit, attribute, "negative", fmt::format("give the largest magnitude; 0 means no limit"));
  }
  return value;
}

void read_limit(const XmlElement& element, UrdfJoint& joint, UrdfNotes& notes) {
  const bool needs_range = joint.type == UrdfJointType::kRevolute || joint.type == UrdfJointType::kPrismatic;
  const XmlElement* limit = element.child("limit");
  if (!limit) {
    if (!needs_range) return;
    fail(element, fmt::format("a {} joint needs <limit>", *element.find("type")),
         joint.type == UrdfJointType::kRevolute
             ? "add <limit lower= upper= effort= velocity=>, or make the joint continuous"
             : "add <limit lower= upper= effort= velocity=>");
  }
  if (joint.type == UrdfJointType::kFixed) return;
  joint.effort = read_bound(*limit, "effort", notes, joint.origin);
  joint.velocity = read_bound(*limit, "velocity", notes, joint.origin);
  if (!needs_range) return;
  read(*limit, "lower", joint.range[0]);
  read(*limit, "upper", joint.range[1]);
  if (joint.range[0] > joint.range[1]) {
    fail(*limit, fmt::format("limits are reversed: lower {} > upper {}", joint.range[0], joint.range[1]),
         "write the smaller one as 'lower'");
  }
  if (joint.range.isZero(0.0)) {
    // What exporters write when nobody entered a range; held to the letter, the robot could not move.
    notes.warn(joint.origin, "both limits are 0; taken as unlimited");
    return;
  }
  joint.locked = joint.range[0] == joint.range[1];
  joint.limited = !joint.locked && (joint.range[0] > -kUnlimited || joint.range[1] < kUnlimited);
  if (joint.locked) {
    notes.warn(joint.origin, fmt::format("both limits are {}: the joint is held there", joint.range[0]));
  }
}

void read_dynamics(const XmlElement& element, UrdfJoint& joint) {
  const XmlElement* dynamics = element.child("dynamics");
  if (!dynamics || joint.type == UrdfJointType::kFixed) return;
  read(*dynamics, "damping", joint.damping);
  read(*dynamics, "friction", joint.friction);
  if (joint.damping < 0.0) fail_attribute(*dynamics, "damping", "negative", "damping must take energy away");
  if (joint.friction < 0.0) fail_attribute(*dynamics, "friction", "negative", "friction must take energy away");
  check_magnitude(*dynamics, "damping", joint.damping);
  check_magnitude(*dynamics, "friction", joint.friction);
}

void read_mimic(const XmlElement& element, UrdfJoint& joint) {
  const XmlElement* mimic = element.child("mimic");
  if (!mimic || joint.type == UrdfJointType::kFixed) return;
  joint.mimic.origin = origin_within(*mimic, joint.origin);
  if (!read(*mimic, "joint", joint.mimic.joint) || joint.mimic.joint.empty()) {
    fail(*mimic, "attribute 'joint' is missing", "name the joint to follow");
  }
  read(*mimic, "multiplier", joint.mimic.multiplier);
  read(*mimic, "offset", joint.mimic.offset);
}

}  // namespace

UrdfJoint read_urdf_joint(const XmlElement& element, UrdfNotes& notes) {
  UrdfJoint joint;
  joint.origin = origin(element);
  if (!read(element, "name", joint.name) || joint.name.empty()) {
    fail(element, "attribute 'name' is missing", "give every joint a name");
  }
  joint.type = read_type(element, notes);
  joint.parent = read_link_name(element, "parent");
  joint.child = read_link_name(element, "child");
  joint.pose = read_urdf_pose(element);
  read_axis(element, joint);
  read_limit(element, joint, notes);
  read_dynamics(element, joint);
  read_mimic(element, joint);
  return joint;
}

}  // namespace touchstone
