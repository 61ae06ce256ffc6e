#include "touchstone/io/urdf/urdf_schema.hpp"

#include <string>

#include <fmt/format.h>

#include "touchstone/io/xml/xml_schema.hpp"

namespace touchstone {
namespace {

constexpr SchemaRow kRows[] = {
    {"file", "robot", "*", "robot"},  // namespaces and versions of all sorts
    {"robot", "link", "name type", "link"},
    {"robot", "joint", "name type", "joint"},
    {"robot", "material", "name", "material"},
    // For other programs; nearly every ROS file has them.
    {"robot", "gazebo", "*", "*"},
    {"robot", "transmission", "*", "*"},
    {"robot", "ros2_control", "*", "*"},
    // Refused elsewhere.
    {"robot", "loop_joint", "*", "*"},
    {"robot", "loop", "*", "*"},
    {"robot", "constraint", "*", "*"},
    {"link", "inertial", "", "inertial"},
    {"link", "visual", "name", "geometry owner"},
    {"link", "collision", "name", "geometry owner"},
    {"link", "contact", "*", "contact"},
    {"contact", "lateral_friction", "value"},
    {"contact", "spinning_friction", "value"},
    {"contact", "rolling_friction", "value"},
    {"contact", "restitution", "value"},
    {"inertial", "origin", "xyz rpy quat_xyzw"},
    {"inertial", "mass", "value"},
    {"inertial", "inertia", "ixx ixy ixz iyy iyz izz"},
    {"geometry owner", "origin", "xyz rpy quat_xyzw"},
    {"geometry owner", "geometry", "", "geometry"},
    {"geometry owner", "material", "name", "material"},
    {"geometry owner", "drake:proximity_properties", "", "proximity"},
    {"proximity", "drake:mu_static", "value"},
    {"proximity", "drake:mu_dynamic", "value"},
    {"proximity", "drake:point_contact_stiffness", "value"},
    {"proximity", "drake:hunt_crossley_dissipation", "value"},
    {"proximity", "drake:relaxation_time", "value"},
    {"proximity", "drake:hydroelastic_modulus", "value"},
    {"proximity", "drake:hydroelastic_margin", "value"},
    {"proximity", "drake:mesh_resolution_hint", "value"},
    {"proximity", "drake:rigid_hydroelastic", ""},
    {"proximity", "drake:compliant_hydroelastic", ""},
    {"geometry", "box", "size"},
    {"geometry", "sphere", "radius"},
    {"geometry", "cylinder", "radius length"},
    {"geometry", "capsule", "radius length"},
    {"geometry", "mesh", "filename scale"},
    {"material", "color", "rgba"},
    {"material", "texture", "filename"},
    {"joint", "parent", "link"},
    {"joint", "child", "link"},
    {"joint", "origin", "xyz rpy quat_xyzw"},
    {"joint", "axis", "xyz"},
    {"joint", "limit", "lower upper effort velocity"},
    {"joint", "dynamics", "damping friction"},
    {"joint", "mimic", "joint multiplier offset"},
};

// Known, but not honoured.
constexpr std::string_view kIgnored[] = {"calibration", "safety_controller", "verbose", "contact_coefficients"};

class UrdfSchema : public XmlSchema {
 public:
  UrdfSchema() : XmlSchema(kRows) {}

 protected:
  std::string ignored(std::string_view /*place*/, const XmlElement& element) const override {
    for (const std::string_view tag : kIgnored) {
      if (element.tag == tag) return fmt::format("<{}> is ignored", tag);
    }
    return {};
  }
};

}  // namespace

void check_urdf_schema(const XmlElement& root, WarningList& warnings) {
  static const UrdfSchema schema;
  schema.check(root, "file", warnings);
}

}  // namespace touchstone
