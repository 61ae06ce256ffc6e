// The <link> element of URDF: inertia, geometry, colours, the <contact> extension of PyBullet and Drake's proximity
// properties.
#include <cmath>

#include <fmt/format.h>

#include "touchstone/io/urdf/urdf_document.hpp"

namespace touchstone {
namespace {

// Rounded numbers in a file may make an inertia indefinite by this much of its largest moment.
constexpr double kInertiaRounding = 1e-6;
// The same for the arithmetic on numbers that are exact.
constexpr double kArithmeticRounding = 1e-13;

Matrix3 read_inertia_matrix(const XmlElement& element) {
  constexpr std::array<const char*, 6> kNames{"ixx", "ixy", "ixz", "iyy", "iyz", "izz"};
  std::array<double, 6> value{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const bool on_diagonal = i == 0 || i == 3 || i == 5;
    if (!read(element, kNames[i], value[i]) && on_diagonal) fail_missing(element, kNames[i]);
    check_magnitude(element, kNames[i], value[i]);
  }
  Matrix3 inertia;
  inertia << value[0], value[1], value[2], value[1], value[3], value[4], value[2], value[4], value[5];
  return inertia;
}

void check_inertia(const XmlElement& element, Matrix3& inertia, const Origin& owner, UrdfNotes& notes) {
  const auto [moments, axes] = principal_inertia(inertia);  // decreasing
  const std::string shown =
      fmt::format("principal moments are {:.6g}, {:.6g}, {:.6g}", moments[0], moments[1], moments[2]);
  if (moments[2] < -kInertiaRounding * std::max(moments[0], 0.0)) {
    fail(element, fmt::format("the inertia is not physical: {}", shown),
         "no moment may be negative; check the signs and sizes of ixy, ixz and iyz");
  }
  if (moments[2] < -kArithmeticRounding * moments[0]) {
    notes.warn(owner, fmt::format("{}; the negative ones are taken as zero", shown));
    inertia = axes.toRotationMatrix() * moments.cwiseMax(0.0).asDiagonal() * axes.conjugate().toRotationMatrix();
    inertia = 0.5 * (inertia + inertia.transpose()).eval();
    return;
  }
  if (moments[0] > (moments[1] + moments[2]) * (1.0 + kInertiaRounding)) {
    notes.warn(owner, fmt::format("no body has this inertia: {}, the largest exceeds the sum of the others", shown));
  }
}

MassProperties read_inertial(const XmlElement& element, const Origin& owner, UrdfNotes& notes) {
  const Transform pose = read_urdf_pose(element);
  const XmlElement* mass = element.child("mass");
  if (!mass) fail(element, "<mass> is missing", "add <mass value=\"...\"/>");
  MassProperties properties;
  properties.mass = required_attribute<double>(*mass, "value");
  check_magnitude(*mass, "value", properties.mass);
  if (properties.mass < 0.0) fail_attribute(*mass, "value", "the mass is negative", "give the mass in kilograms");
  if (const XmlElement* inertia = element.child("inertia")) {
    properties.inertia = read_inertia_matrix(*inertia);
    check_inertia(*inertia, properties.inertia, owner, notes);
  } else {
    notes.warn(owner, "<inertial> has no <inertia>; taken as a point mass");
  }
  return transformed(pose, properties);
}

double read_length(const XmlElement& element, const char* attribute) {
  const double value = required_attribute<double>(element, attribute);
  check_magnitude(element, attribute, value);
  return value;
}

void read_mesh(const XmlElement& element, UrdfGeometry& geometry) {
  geometry.shape.type = ShapeType::kMesh;
  if (!read(element, "filename", geometry.mesh_uri) || geometry.mesh_uri.empty()) {
    fail(element, "attribute 'filename' is missing", "name the mesh file");
  }
  read(element, "scale", geometry.mesh_scale);
  check_magnitude(element, "scale", geometry.mesh_scale.lpNorm<Eigen::Infinity>());
}

// False if the geometry cannot be used and was dropped.
bool read_shape(const XmlElement& element, UrdfGeometry& geometry) {
  Shape& shape = geometry.shape;
  if (const XmlElement* box = element.child("box")) {
    shape.type = ShapeType::kBox;
    shape.size = 0.5 * required_attribute<Vector3>(*box, "size");
    check_magnitude(*box, "size", shape.size.lpNorm<Eigen::Infinity>());
  } else if (const XmlElement* sphere = element.child("sphere")) {
    shape.type = ShapeType::kSphere;
    shape.size = {read_length(*sphere, "radius"), 0.0, 0.0};
  } else if (const XmlElement* cylinder = element.child("cylinder")) {
    shape.type = ShapeType::kCylinder;
    shape.size = {read_length(*cylinder, "radius"), 0.5 * read_length(*cylinder, "length"), 0.0};
  } else if (const XmlElement* capsule = element.child("capsule")) {
    shape.type = ShapeType::kCapsule;
    shape.size = {read_length(*capsule, "radius"), 0.5 * read_length(*capsule, "length"), 0.0};
    if (shape.size[1] == 0.0) shape.type = ShapeType::kSphere;
  } else if (const XmlElement* mesh = element.child("mesh")) {
    read_mesh(*mesh, geometry);
  } else {
    return false;
  }
  return true;
}

bool has_extent(const UrdfGeometry& geometry) {
  const Vector3& size = geometry.shape.size;
  switch (geometry.shape.type) {
    case ShapeType::kMesh:
      return (geometry.mesh_scale.array() != 0.0).all();
    case ShapeType::kBox:
      return size.minCoeff() > 0.0;
    case ShapeType::kSphere:
      return size[0] > 0.0;
    default:
      return size[0] > 0.0 && size[1] > 0.0;
  }
}

// Drake's words for hydroelastic contact, which we do not have: contacts stay points.
constexpr const char* kHydroelastic[] = {"drake:hydroelastic_modulus", "drake:rigid_hydroelastic",
                                         "drake:compliant_hydroelastic", "drake:mesh_resolution_hint",
                                         "drake:hydroelastic_margin"};

// <drake:proximity_properties>: point contact in physical units. As Drake's discrete solvers do, we take the dynamic
// coefficient of friction alone.
void read_proximity(const XmlElement& element, const Origin& owner, UrdfNotes& notes, UrdfProximity& proximity) {
  std::optional<double> mu_static, mu_dynamic;
  const auto value_of = [&owner](const XmlElement& child) {
    const auto text = required_attribute<std::string>(child, "value");
    std::vector<double> numbers;
    std::string bad;
    if (!parse_numbers(text, numbers, bad) || numbers.size() != 1 || !(numbers[0] >= 0.0))
      fail_attribute(child, "value", fmt::format("not a finite number of zero or more, for {}", owner.element),
                     "give zero or more");
    return numbers[0];
  };
  for (const XmlElement* child : element.children) {
    if (child->tag == "drake:mu_static") mu_static = value_of(*child);
    if (child->tag == "drake:mu_dynamic") mu_dynamic = value_of(*child);
    if (child->tag == "drake:point_contact_stiffness") proximity.stiffness = value_of(*child);
    if (child->tag == "drake:hunt_crossley_dissipation") proximity.dissipation = value_of(*child);
    if (child->tag == "drake:relaxation_time") proximity.relaxation_time = value_of(*child);
    for (const char* tag : kHydroelastic) {
      if (child->tag == tag)
        notes.warn_once(tag, owner, fmt::format("<{}> is ignored: contacts are points, not patches of pressure", tag));
    }
  }
  proximity.friction = mu_dynamic ? mu_dynamic : mu_static;
  if (mu_static && mu_dynamic && *mu_static != *mu_dynamic) {
    notes.warn(owner,
               fmt::format("<drake:mu_static> {} is not used: contacts have one coefficient, <drake:mu_dynamic> {}",
                           *mu_static, *mu_dynamic));
  }
  if (!(proximity.stiffness > 0.0) && (proximity.dissipation > 0.0 || proximity.relaxation_time > 0.0)) {
    const bool is_dissipation = proximity.dissipation > 0.0;
    notes.warn(owner, fmt::format("{} {} without <drake:point_contact_stiffness> is not used: such contacts are "
                                  "near-rigid and have that of the simulator's options",
                                  is_dissipation ? "dissipation" : "relaxation time",
                                  is_dissipation ? proximity.dissipation : proximity.relaxation_time));
    proximity.dissipation = proximity.relaxation_time = 0.0;
  }
}

// A visual or collision. One that makes no sense is dropped: with a warning if it is only to be seen.
void read_geometry(const XmlElement& element, bool visual, const Origin& owner, UrdfNotes& notes,
                   std::vector<UrdfGeometry>& out) {
  UrdfGeometry geometry;
  geometry.origin = origin_within(element, owner);
  read(element, "name", geometry.name);
  geometry.pose = read_urdf_pose(element);
  if (const XmlElement* material = element.child("material")) geometry.material = read_urdf_material(*material, notes);
  if (const XmlElement* proximity = element.child("drake:proximity_properties"); proximity && !visual)
    read_proximity(*proximity, geometry.origin, notes, geometry.proximity);
  const auto give_up = [&](std::string message, std::string remedy) {
    if (visual) {
      notes.warn(geometry.origin, message + "; not shown");
    } else {
      notes.drop(geometry.origin, std::move(message), std::move(remedy));
    }
  };
  const XmlElement* shape = element.child("geometry");
  if (!shape || !read_shape(*shape, geometry)) {
    const std::string found = shape && !shape->children.empty() ? shape->children.front()->tag : "nothing";
    return give_up(fmt::format("<geometry> holds {}", found), "use box, sphere, cylinder, capsule or mesh");
  }
  if (!has_extent(geometry)) {
    return give_up(fmt::format("a {} without extent", to_string(geometry.shape.type)), "give positive sizes");
  }
  out.push_back(std::move(geometry));
}

// <contact> of PyBullet: friction and restitution of the whole link.
void read_contact(const XmlElement& element, UrdfLink& link) {
  for (const XmlElement* child : element.children) {
    double* target = nullptr;
    if (child->tag == "lateral_friction") target = &link.contact_material.friction[0];
    if (child->tag == "spinning_friction") target = &link.contact_material.friction[1];
    if (child->tag == "rolling_friction") target = &link.contact_material.friction[2];
    if (child->tag == "restitution") target = &link.contact_material.restitution;
    if (!target) continue;
    *target = required_attribute<double>(*child, "value");
    if (*target < 0.0) fail_attribute(*child, "value", "negative", "give zero or more");
  }
}

}  // namespace

UrdfLink read_urdf_link(const XmlElement& element, UrdfNotes& notes) {
  UrdfLink link;
  link.origin = origin(element);
  if (!read(element, "name", link.name) || link.name.empty()) {
    fail(element, "attribute 'name' is missing", "give every link a name");
  }
  bool has_inertial = false;
  for (const XmlElement* child : element.children) {
    if (child->tag == "inertial") {
      if (has_inertial) fail(*child, "a second <inertial>", "add the two up, or split the link");
      has_inertial = true;
      link.inertia = read_inertial(*child, link.origin, notes);
    } else if (child->tag == "visual") {
      read_geometry(*child, true, link.origin, notes, link.visuals);
    } else if (child->tag == "collision") {
      read_geometry(*child, false, link.origin, notes, link.collisions);
    } else if (child->tag == "contact") {
      read_contact(*child, link);
    }
  }
  return link;
}

}  // namespace touchstone
