#include "touchstone/io/urdf/urdf_document.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "touchstone/io/urdf/urdf_schema.hpp"

namespace touchstone {
namespace {

constexpr const char* kRunXacro = "expand the file first: xacro robot.urdf.xacro > robot.urdf";

// Macros that were never expanded would otherwise show up as strange names and numbers. Walks without recursion.
void refuse_xacro(const XmlElement& root) {
  std::vector<const XmlElement*> stack{&root};
  while (!stack.empty()) {
    const XmlElement& element = *stack.back();
    stack.pop_back();
    if (element.tag.rfind("xacro:", 0) == 0) fail(element, "the file contains xacro macros", kRunXacro);
    // What other programs read may use the same notation for itself.
    if (element.tag == "gazebo" || element.tag == "ros2_control" || element.tag == "transmission") continue;
    for (const XmlAttribute& attribute : element.attributes) {
      if (attribute.value.find("${") != std::string::npos || attribute.value.find("$(") != std::string::npos) {
        fail_attribute(element, attribute.name, "a xacro expression", kRunXacro);
      }
    }
    stack.insert(stack.end(), element.children.rbegin(), element.children.rend());
  }
}

// Reads one link or joint; errors in its parts then name it too.
template <typename Read>
auto read_within(const XmlElement& owner, const Read& read_it) {
  try {
    return read_it();
  } catch (const InputError& error) {
    const SourceLocation own = source_location(owner);
    SourceLocation where = error.where();
    if (where.element == own.element || where.element.find(own.element) != std::string::npos) throw;
    where.element = fmt::format("{} of {}", where.element, own.element);
    throw InputError(ErrorDetail{.where = where, .message = error.message(), .remedy = error.remedy()});
  }
}

void read_other(const XmlElement& element, UrdfNotes& notes) {
  if (element.tag == "loop_joint" || element.tag == "loop" || element.tag == "constraint") {
    notes.drop(origin(element), "closed loops are not read from URDF", "write the robot as MJCF with <equality>");
  }
}

}  // namespace

void UrdfNotes::warn_once(const std::string& kind, const Origin& where, std::string message) {
  if (kinds_.insert(kind).second) warn(where, std::move(message));
}

void UrdfNotes::drop(const Origin& where, std::string message, std::string remedy) {
  if (options_.allow_ignored) {
    warn(where, message + "; ignored");
  } else {
    refusals_.add(where, std::move(message), std::move(remedy));
  }
}

void UrdfNotes::fail_if_refused(const Error* besides) const {
  if (!refusals_.empty()) refusals_.fail(options_, besides);
}

void check_magnitude(const XmlElement& element, std::string_view attribute, double value) {
  if (std::abs(value) <= kLargestUrdfNumber) return;
  fail_attribute(element, attribute, fmt::format("larger than {:g}", kLargestUrdfNumber),
                 "use metres, kilograms and radians");
}

Origin origin_within(const XmlElement& element, const Origin& owner) {
  Origin result = origin(element);
  result.element += " of " + owner.element;
  return result;
}

Transform read_urdf_pose(const XmlElement& parent) {
  Transform pose;
  const XmlElement* element = parent.child("origin");
  if (!element) return pose;
  Vector3 rpy = Vector3::Zero();
  std::array<double, 4> xyzw{};
  read(*element, "xyz", pose.position);
  check_magnitude(*element, "xyz", pose.position.lpNorm<Eigen::Infinity>());
  if (read(*element, "rpy", rpy)) {
    check_magnitude(*element, "rpy", rpy.lpNorm<Eigen::Infinity>());
    // Fixed axes x, y, z in this order.
    pose.rotation = Eigen::AngleAxisd(rpy.z(), Vector3::UnitZ()) * Eigen::AngleAxisd(rpy.y(), Vector3::UnitY()) *
                    Eigen::AngleAxisd(rpy.x(), Vector3::UnitX());
  } else if (read(*element, "quat_xyzw", xyzw)) {
    pose.rotation = Quaternion(xyzw[3], xyzw[0], xyzw[1], xyzw[2]);
    const double length = pose.rotation.norm();
    if (!(length > 1e-6 && length < kLargestUrdfNumber)) {
      fail_attribute(*element, "quat_xyzw", "not a rotation", "give a unit quaternion x y z w");
    }
  }
  pose.rotation.normalize();
  return pose;
}

UrdfMaterial read_urdf_material(const XmlElement& element, UrdfNotes& notes) {
  UrdfMaterial material;
  material.origin = origin(element);
  read(element, "name", material.name);
  if (const XmlElement* color = element.child("color")) {
    // Three numbers and values out of range do occur; neither matters to a robot.
    std::array<double, 4> rgba{0.5, 0.5, 0.5, 1.0};
    material.has_color = read_numbers(*color, "rgba", rgba.data(), 3, 4) > 0;
    for (std::size_t i = 0; i < rgba.size(); ++i) {
      material.color[static_cast<Eigen::Index>(i)] = std::min(1.0, std::max(0.0, rgba[i]));
    }
  }
  if (const XmlElement* texture = element.child("texture")) {
    if (!read(*texture, "filename", material.texture)) notes.warn(origin(*texture), "a texture without a filename");
  }
  return material;
}

UrdfRobot read_urdf(const XmlElement& root, UrdfNotes& notes) {
  if (root.tag != "robot") {
    fail(root, fmt::format("the top-level element is <{}>, not <robot>", root.tag),
         root.tag == "mujoco" ? "load it as MJCF" : "load a URDF file");
  }
  refuse_xacro(root);
  check_urdf_schema(root, notes.warnings());
  UrdfRobot robot;
  robot.origin = origin(root);
  robot.name = optional_attribute<std::string>(root, "name", "robot");
  for (const XmlElement* element : root.children) {
    if (element->tag == "link") {
      robot.links.push_back(read_within(*element, [&] { return read_urdf_link(*element, notes); }));
    } else if (element->tag == "joint") {
      robot.joints.push_back(read_within(*element, [&] { return read_urdf_joint(*element, notes); }));
    } else if (element->tag == "material") {
      robot.materials.push_back(read_within(*element, [&] { return read_urdf_material(*element, notes); }));
    } else {
      read_other(*element, notes);
    }
  }
  return robot;
}

}  // namespace touchstone
