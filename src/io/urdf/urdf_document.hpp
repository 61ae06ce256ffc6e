// A URDF file as plain data: every element read and checked by itself, references still by name.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/io/notes.hpp"
#include "touchstone/io/xml/xml.hpp"
#include "touchstone/model/elements.hpp"

namespace touchstone {

struct UrdfMaterial {
  std::string name;  // may be empty
  bool has_color = false;
  Eigen::Vector4d color{0.5, 0.5, 0.5, 1.0};
  std::string texture;  // URI, may be empty
  Origin origin;

  bool defined() const { return has_color || !texture.empty(); }
};

// <drake:proximity_properties> of a collision, as far as we have a use for it.
struct UrdfProximity {
  std::optional<double> friction;  // instead of the link's
  double stiffness = 0.0, dissipation = 0.0, relaxation_time = 0.0;
};

struct UrdfGeometry {
  std::string name;  // may be empty
  Transform pose;    // in the link frame
  Shape shape;       // primitive shapes are complete; a mesh is still to be read
  std::string mesh_uri;
  Vector3 mesh_scale = Vector3::Ones();
  UrdfMaterial material;
  UrdfProximity proximity;
  Origin origin;
};

struct UrdfLink {
  std::string name;
  MassProperties inertia;  // in the link frame
  std::vector<UrdfGeometry> visuals, collisions;
  Material contact_material;
  Origin origin;
};

enum class UrdfJointType { kRevolute, kContinuous, kPrismatic, kFixed, kFloating, kPlanar, kSpherical };

struct UrdfMimic {
  std::string joint;  // empty: none
  double multiplier = 1.0;
  double offset = 0.0;
  Origin origin;
};

struct UrdfJoint {
  std::string name;
  UrdfJointType type = UrdfJointType::kFixed;
  std::string parent, child;        // links
  Transform pose;                   // of the child link in the parent link at q = 0
  Vector3 axis = Vector3::UnitX();  // unit length, child frame
  bool limited = false;
  bool locked = false;  // lower and upper limit agree
  Vector2 range = Vector2::Zero();
  double effort = 0.0, velocity = 0.0;  // 0 = no limit
  double damping = 0.0, friction = 0.0;
  UrdfMimic mimic;
  Origin origin;
};

struct UrdfRobot {
  std::string name;
  std::vector<UrdfMaterial> materials;  // global ones
  std::vector<UrdfLink> links;
  std::vector<UrdfJoint> joints;
  Origin origin;
};

// Collects warnings while a file is read, and decides what happens to parts that cannot be honoured.
class UrdfNotes {
 public:
  explicit UrdfNotes(const LoadOptions& options) : options_(options) {}

  void warn(const Origin& where, std::string message) { warnings_.add(where, std::move(message)); }
  // One warning for each kind, at its first occurrence.
  void warn_once(const std::string& kind, const Origin& where, std::string message);
  // Something that changes the physics must be dropped: an InputError once all is read, or a warning if the user
  // allows it.
  void drop(const Origin& where, std::string message, std::string remedy);
  // Throws that InputError, if there is anything to say. `besides`: another error that ended the reading.
  void fail_if_refused(const Error* besides = nullptr) const;

  WarningList& warnings() { return warnings_; }

 private:
  const LoadOptions& options_;
  WarningList warnings_;
  Refusals refusals_;
  std::set<std::string> kinds_;
};

UrdfRobot read_urdf(const XmlElement& root, UrdfNotes& notes);

// The parts, one element each.
UrdfLink read_urdf_link(const XmlElement& element, UrdfNotes& notes);
UrdfJoint read_urdf_joint(const XmlElement& element, UrdfNotes& notes);
UrdfMaterial read_urdf_material(const XmlElement& element, UrdfNotes& notes);
Transform read_urdf_pose(const XmlElement& parent);  // the <origin> child, identity without one

// Numbers beyond this in poses, sizes and inertias are mistakes, and would overflow in products.
inline constexpr double kLargestUrdfNumber = 1e15;
void check_magnitude(const XmlElement& element, std::string_view attribute, double value);

// For Origin::element: the tag and the name of what contains it, such as: collision of link 'foot'.
Origin origin_within(const XmlElement& element, const Origin& owner);

}  // namespace touchstone
