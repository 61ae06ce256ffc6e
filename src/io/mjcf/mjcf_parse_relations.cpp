// The sections whose elements refer to the tree by name: contact, equality, tendon, sensor, keyframe.
#include "touchstone/io/mjcf/mjcf_parser.hpp"
#include "touchstone/io/mjcf/mjcf_schema.hpp"

namespace touchstone::mjcf {
namespace {

Kind kind_of(FrameType type) {
  switch (type) {
    case FrameType::kBody:
      return Kind::kBody;
    case FrameType::kSite:
      return Kind::kSite;
    case FrameType::kJoint:
      return Kind::kJoint;
    case FrameType::kTendon:
      return Kind::kTendon;
    case FrameType::kActuator:
      return Kind::kActuator;
    default:
      return Kind::kNone;
  }
}

// MJCF's "body" is the inertial frame and "xbody" the body frame. Cameras are not kept.
Kind frame_kind(const XmlElement& element, std::string_view attribute) {
  static constexpr Kind kKinds[] = {Kind::kInertialBody, Kind::kBody, Kind::kGeom, Kind::kSite, Kind::kNone};
  const int keyword = read_keyword(element, attribute, {"body", "xbody", "geom", "site", "camera"});
  return keyword < 0 ? Kind::kNone : kKinds[keyword];
}

}  // namespace

// --- contact -------------------------------------------------------------------------------------------------------

void Parser::parse_contact(const XmlElement& section) {
  for (const XmlElement* child : section.children) {
    const XmlElement& element = *child;
    if (!is_known_element("contact", element.tag)) continue;
    count_element(element);
    if (element.tag == "pair") {
      PairSpec pair = classes_[static_cast<std::size_t>(class_of(element, 0))].pair;
      pair.pair.origin = origin(element);
      read_pair(element, pair);
      pair.geom1 = required_attribute<std::string>(element, "geom1");
      pair.geom2 = required_attribute<std::string>(element, "geom2");
      spec_.pairs.push_back(std::move(pair));
    } else {
      ExcludeSpec exclude;
      exclude.exclusion.origin = origin(element);
      read(element, "name", exclude.exclusion.name);
      exclude.body1 = required_attribute<std::string>(element, "body1");
      exclude.body2 = required_attribute<std::string>(element, "body2");
      spec_.excludes.push_back(std::move(exclude));
    }
  }
}

void Parser::read_pair(const XmlElement& element, PairSpec& spec) {
  ContactPair& pair = spec.pair;
  read(element, "name", pair.name);
  read(element, "condim", pair.contact_dimension);
  read_numbers(element, "friction", pair.friction.data(), 1, 5);
  read_impedance(element, "solref", "solimp", pair.impedance);
  read(element, "margin", pair.margin);
  read(element, "gap", pair.gap);
  double adhesion = 0.0;
  if (read(element, "adhesion", adhesion) && adhesion != 0.0) refuse(element, fmt::format("adhesion '{}'", adhesion));
  std::array<double, 2> friction_solref{};
  if (read_numbers(element, "solreffriction", friction_solref.data(), 1, 2) > 0 &&
      friction_solref != std::array<double, 2>{}) {
    warn(element, "solreffriction is ignored: friction uses solref");
  }
}

// --- equality ------------------------------------------------------------------------------------------------------

void Parser::parse_equality(const XmlElement& section) {
  for (const XmlElement* child : section.children) {
    const XmlElement& element = *child;
    if (!is_known_element("equality", element.tag)) continue;
    count_element(element);
    if (element.tag == "flex" || element.tag == "flexstrain") {
      refuse(element, "a flex");
      continue;
    }
    EqualitySpec equality = classes_[static_cast<std::size_t>(class_of(element, 0))].equality;
    equality.equality.origin = origin(element);
    read_equality(element, equality);
    spec_.equalities.push_back(std::move(equality));
  }
}

void Parser::read_equality_common(const XmlElement& element, EqualitySpec& spec) const {
  read(element, "active", spec.equality.active);
  read_impedance(element, "solref", "solimp", spec.equality.impedance);
}

void Parser::read_equality(const XmlElement& element, EqualitySpec& spec) {
  Equality& equality = spec.equality;
  read_equality_common(element, spec);
  read(element, "name", equality.name);
  if (element.tag == "connect" || element.tag == "weld") {
    read_equality_of_bodies(element, spec);
    return;
  }
  const bool joints = element.tag == "joint";
  equality.type = joints ? EqualityType::kJoint : EqualityType::kTendon;
  const Kind kind = joints ? Kind::kJoint : Kind::kTendon;
  spec.first = {kind, required_attribute<std::string>(element, joints ? "joint1" : "tendon1")};
  std::string second;
  if (read(element, joints ? "joint2" : "tendon2", second) && !second.empty()) spec.second = {kind, second};
  read_numbers(element, "polycoef", equality.polynomial.data(), 1, 5);
}

void Parser::read_equality_of_bodies(const XmlElement& element, EqualitySpec& spec) {
  Equality& equality = spec.equality;
  const bool weld = element.tag == "weld";
  equality.type = weld ? EqualityType::kWeld : EqualityType::kConnect;
  const bool by_sites = element.has("site1") || element.has("site2");
  const bool by_bodies = element.has("body1") || element.has("body2");
  if (by_sites == by_bodies) fail(element, "expected either body1 or the pair site1 and site2");
  const Kind kind = by_sites ? Kind::kSite : Kind::kBody;
  spec.first = {kind, required_attribute<std::string>(element, by_sites ? "site1" : "body1")};
  if (by_sites) {
    spec.second = {kind, required_attribute<std::string>(element, "site2")};
    if (element.has("anchor") || element.has("relpose")) fail(element, "sites and anchor or relpose are both given");
  } else {
    const std::string second = optional_attribute<std::string>(element, "body2", "");
    spec.second = {kind, second.empty() ? "world" : second};
    if (!read(element, "anchor", spec.anchor) && !weld) fail_missing(element, "anchor");
  }
  if (!weld) return;
  std::array<double, 7> pose{};
  if (read(element, "relpose", pose)) {
    // A zero quaternion means the pose of the reference configuration.
    const bool given = pose[3] != 0.0 || pose[4] != 0.0 || pose[5] != 0.0 || pose[6] != 0.0;
    if (given) spec.relative_pose = pose;
  }
  read(element, "torquescale", equality.torque_scale);
}

// --- tendon --------------------------------------------------------------------------------------------------------

void Parser::parse_tendon(const XmlElement& section) {
  for (const XmlElement* child : section.children) {
    const XmlElement& element = *child;
    if (!is_known_element("tendon", element.tag)) continue;
    count_element(element);
    if (element.tag == "spatial") {
      refuse(element, "a spatial tendon");
      spec_.dropped.push_back({Kind::kTendon, optional_attribute<std::string>(element, "name", "")});
      continue;
    }
    TendonSpec spec = classes_[static_cast<std::size_t>(class_of(element, 0))].tendon;
    spec.tendon.origin = origin(element);
    spec.compiler = compiler_;
    read_tendon(element, spec);
    finish_limit(element, "range", spec.limit);
    finish_limit(element, "actuatorfrcrange", spec.actuator_force_limit);
    for (const XmlElement* term : element.children) {
      if (term->tag != "joint") fail(*term, fmt::format("<{}> in a fixed tendon", term->tag));
      count_element(*term);
      spec.joints.push_back(required_attribute<std::string>(*term, "joint"));
      spec.coefficients.push_back(required_attribute<double>(*term, "coef"));
    }
    if (spec.joints.empty()) fail(element, "it has no joints");
    spec_.tendons.push_back(std::move(spec));
  }
}

void Parser::read_tendon(const XmlElement& element, TendonSpec& spec) {
  Tendon& tendon = spec.tendon;
  if (element.tag != "tendon") read(element, "name", tendon.name);
  read_switch(element, "limited", spec.limit.limited);
  read(element, "range", spec.limit.range);
  read_switch(element, "actuatorfrclimited", spec.actuator_force_limit.limited);
  read(element, "actuatorfrcrange", spec.actuator_force_limit.range);
  read_impedance(element, "solreflimit", "solimplimit", tendon.limit_impedance);
  read_impedance(element, "solreffriction", "solimpfriction", tendon.friction_impedance);
  read(element, "margin", tendon.limit_margin);
  read(element, "frictionloss", tendon.friction);
  if (read_numbers(element, "springlength", tendon.spring_length.data(), 1, 2) == 1) {
    tendon.spring_length[1] = tendon.spring_length[0];
  }
  if (tendon.spring_length[0] > tendon.spring_length[1]) {
    fail_attribute(element, "springlength", "the second number is smaller than the first");
  }
  read_polynomial(element, "stiffness", tendon.stiffness);
  read_polynomial(element, "damping", tendon.damping);
  read(element, "armature", tendon.armature);
  double spring_yield = 0.0;
  if (read(element, "springyield", spring_yield) && spring_yield != 0.0) {
    refuse(element, fmt::format("a plastic spring (springyield '{}')", spring_yield));
  }
}

// --- sensor --------------------------------------------------------------------------------------------------------

void Parser::parse_sensor(const XmlElement& section) {
  for (const XmlElement* child : section.children) {
    const XmlElement& element = *child;
    if (!is_known_element("sensor", element.tag)) continue;
    count_element(element);
    SensorSpec spec;
    if (read_sensor(element, spec))
      spec_.sensors.push_back(std::move(spec));
    else
      warn(element, fmt::format("a sensor <{}> of this kind is not supported and was left out", element.tag));
  }
}

// False if there is no such sensor here: sensors do not act on the physics, so that is no error.
bool Parser::read_sensor(const XmlElement& element, SensorSpec& spec) {
  const std::optional<SensorType> type = find_sensor_type(element.tag);
  if (!type) return false;
  spec.sensor.type = *type;
  spec.sensor.origin = origin(element);
  read(element, "name", spec.sensor.name);
  read(element, "noise", spec.sensor.noise);
  read(element, "cutoff", spec.sensor.cutoff);
  int samples = 0;
  double delay = 0.0;
  read(element, "nsample", samples);
  read(element, "delay", delay);
  if (samples != 0 || delay != 0.0) warn(element, "nsample and delay are ignored: the sensor has no history");
  if (const std::optional<FrameType> object = sensor_object(*type)) {
    if (*object == FrameType::kNone) return true;
    if (*type == SensorType::kRangefinder && !element.has("site")) return false;
    spec.object = {kind_of(*object), required_attribute<std::string>(element, to_string(*object))};
    return true;
  }
  if (!element.has("objtype")) fail_missing(element, "objtype");
  spec.object = {frame_kind(element, "objtype"), required_attribute<std::string>(element, "objname")};
  if (spec.object.kind == Kind::kNone) return false;
  if (element.has("reftype") || element.has("refname")) {
    if (!element.has("reftype")) fail_missing(element, "reftype");
    spec.reference = {frame_kind(element, "reftype"), required_attribute<std::string>(element, "refname")};
    if (spec.reference.kind == Kind::kNone) return false;
  }
  return true;
}

// --- keyframe ------------------------------------------------------------------------------------------------------

void Parser::parse_keyframe(const XmlElement& section) {
  for (const XmlElement* child : section.children) {
    const XmlElement& element = *child;
    if (element.tag != "key") continue;
    count_element(element);
    KeyframeSpec key;
    key.origin = origin(element);
    read(element, "name", key.name);
    read(element, "time", key.time);
    read(element, "qpos", key.q);
    read(element, "qvel", key.v);
    read(element, "act", key.activation);
    read(element, "ctrl", key.control);
    read(element, "mpos", key.mocap_position);
    read(element, "mquat", key.mocap_rotation);
    spec_.keyframes.push_back(std::move(key));
  }
}

// --- what is not supported -----------------------------------------------------------------------------------------

void Parser::parse_deformable(const XmlElement& section) {
  for (const XmlElement* element : section.children) {
    if (element->tag == "flex") refuse(*element, "a flex");
  }
}

void Parser::parse_extension(const XmlElement& section) {
  for (const XmlElement* element : section.children) {
    if (element->tag == "plugin") refuse(*element, "a plugin");
  }
}

}  // namespace touchstone::mjcf
