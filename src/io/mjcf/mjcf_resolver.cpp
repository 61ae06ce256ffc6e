// Contacts, tendons, equalities, actuators, sensors and keyframes: names become indices.
#include <algorithm>
#include <cmath>

#include "touchstone/io/mjcf/mjcf_compiler.hpp"
#include "touchstone/io/mjcf/mjcf_keyframes.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {
namespace {

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kBody:
    case Kind::kInertialBody:
      return "body";
    case Kind::kJoint:
      return "joint";
    case Kind::kGeom:
      return "geom";
    case Kind::kSite:
      return "site";
    case Kind::kTendon:
      return "tendon";
    case Kind::kActuator:
      return "actuator";
    case Kind::kNone:
      break;
  }
  return "element";
}

FrameType frame_type(Kind kind) {
  switch (kind) {
    case Kind::kBody:
      return FrameType::kBody;
    case Kind::kInertialBody:
      return FrameType::kBodyInertial;
    case Kind::kJoint:
      return FrameType::kJoint;
    case Kind::kGeom:
      return FrameType::kShape;
    case Kind::kSite:
      return FrameType::kSite;
    case Kind::kTendon:
      return FrameType::kTendon;
    case Kind::kActuator:
      return FrameType::kActuator;
    case Kind::kNone:
      break;
  }
  return FrameType::kNone;
}

}  // namespace

// With `was_dropped`, a name that was dropped by allow_ignored gives -1 and true instead of an error.
int Compiler::find(const Reference& reference, const Origin& user, bool* was_dropped) const {
  const Names* names = nullptr;
  switch (reference.kind) {
    case Kind::kBody:
    case Kind::kInertialBody:
      names = &bodies_;
      break;
    case Kind::kJoint:
      names = &joints_;
      break;
    case Kind::kGeom:
      names = &shapes_;
      break;
    case Kind::kSite:
      names = &sites_;
      break;
    case Kind::kTendon:
      names = &tendons_;
      break;
    case Kind::kActuator:
      names = &actuators_;
      break;
    case Kind::kNone:
      return -1;
  }
  const auto found = names->find(reference.name);
  if (found != names->end()) return found->second;
  if (was_dropped) {
    *was_dropped = std::any_of(spec_.dropped.begin(), spec_.dropped.end(), [&](const Reference& dropped) {
      return dropped.kind == reference.kind && dropped.name == reference.name && !dropped.name.empty();
    });
    if (*was_dropped) return -1;
  }
  fail(user, fmt::format("there is no {} '{}'", kind_name(reference.kind), reference.name));
}

Transform Compiler::world_pose(int body) const {
  Transform pose;
  for (int b = body; b > 0; b = builder_.bodies()[static_cast<std::size_t>(b)].parent) {
    pose = builder_.bodies()[static_cast<std::size_t>(b)].pose * pose;
  }
  return pose;
}

// --- contact -------------------------------------------------------------------------------------------------------

void Compiler::compile_contacts() {
  Names pairs, exclusions;
  for (const PairSpec& spec : spec_.pairs) {
    ContactPair pair = spec.pair;
    add_name(pairs, "pair", pair.name, 0, pair.origin);
    pair.shape_a = find({Kind::kGeom, spec.geom1}, pair.origin);
    pair.shape_b = find({Kind::kGeom, spec.geom2}, pair.origin);
    builder_.add_contact_pair(std::move(pair));
  }
  for (const ExcludeSpec& spec : spec_.excludes) {
    ContactExclusion exclusion = spec.exclusion;
    add_name(exclusions, "exclude", exclusion.name, 0, exclusion.origin);
    exclusion.body_a = find({Kind::kBody, spec.body1}, exclusion.origin);
    exclusion.body_b = find({Kind::kBody, spec.body2}, exclusion.origin);
    builder_.add_contact_exclusion(std::move(exclusion));
  }
}

// --- tendons and equalities ----------------------------------------------------------------------------------------

void Compiler::compile_tendons() {
  for (const TendonSpec& spec : spec_.tendons) {
    Tendon tendon = spec.tendon;
    double rest_length = 0.0;
    for (std::size_t i = 0; i < spec.joints.size(); ++i) {
      const int joint = find({Kind::kJoint, spec.joints[i]}, tendon.origin);
      tendon.terms.push_back({joint, spec.coefficients[i]});
      rest_length += spec.coefficients[i] * builder_.joint(joint).spring_reference;
    }
    // -1 stands for the length at the rest configuration of the joint springs.
    if (tendon.spring_length == Vector2(-1.0, -1.0)) tendon.spring_length.setConstant(rest_length);
    tendon.limited = spec.limit.limited == Switch::kTrue;
    tendon.range = spec.limit.range;
    tendon.actuator_force_limited = spec.actuator_force_limit.limited == Switch::kTrue;
    tendon.actuator_force_range = spec.actuator_force_limit.range;
    add_name(tendons_, "tendon", tendon.name, static_cast<int>(tendon_drafts_.size()), tendon.origin);
    tendon_drafts_.push_back(std::move(tendon));
  }
}

void Compiler::compile_equalities() {
  Names names;
  for (const EqualitySpec& spec : spec_.equalities) {
    Equality equality = spec.equality;
    add_name(names, "equality", equality.name, 0, equality.origin);
    if (sides_of(equality.type) == EqualitySides::kBodies) {
      compile_body_equality(spec, equality);
    } else {
      bool dropped_a = false, dropped_b = false;
      equality.a = find(spec.first, equality.origin, &dropped_a);
      equality.b = find(spec.second, equality.origin, &dropped_b);
      if (dropped_a || dropped_b) {
        warnings_.add(equality.origin, "it was left out, because a tendon it refers to was ignored");
        continue;
      }
    }
    if (equality.a == equality.b) fail(equality.origin, "it couples an element with itself");
    builder_.add_equality(std::move(equality));
  }
}

void Compiler::compile_body_equality(const EqualitySpec& spec, Equality& equality) const {
  const int first = find(spec.first, equality.origin);
  const int second = find(spec.second, equality.origin);
  const bool weld = equality.type == EqualityType::kWeld;
  if (spec.first.kind == Kind::kSite) {
    const Site& a = builder_.sites()[static_cast<std::size_t>(first)];
    const Site& b = builder_.sites()[static_cast<std::size_t>(second)];
    equality.a = a.body;
    equality.b = b.body;
    equality.anchor_a = weld ? b.pose.position : a.pose.position;
    if (weld)
      equality.relative_pose = a.pose * b.pose.inverse();
    else
      equality.anchor_b = b.pose.position;
    return;
  }
  equality.a = first;
  equality.b = second;
  equality.anchor_a = spec.anchor;
  const Transform X_AB = world_pose(first).inverse() * world_pose(second);
  if (!weld) {
    equality.anchor_b = X_AB.inverse() * spec.anchor;
    return;
  }
  equality.relative_pose = X_AB;
  if (spec.relative_pose) {
    // The written position is that of the anchor, a point of body b, in body a.
    const std::array<double, 7>& p = *spec.relative_pose;
    const Quaternion rotation = Quaternion(p[3], p[4], p[5], p[6]).normalized();
    equality.relative_pose = {Vector3(p[0], p[1], p[2]) - rotation * spec.anchor, rotation};
  }
}

// --- actuators -----------------------------------------------------------------------------------------------------

void Compiler::inherit_range(const ActuatorSpec& spec, Actuator& actuator) const {
  Vector2 range = Vector2::Zero();
  bool limited = false;
  if (actuator.transmission == TransmissionType::kJoint || actuator.transmission == TransmissionType::kJointInParent) {
    const Joint& joint = builder_.joints()[static_cast<std::size_t>(actuator.target)];
    limited = joint.limited && is_scalar(joint);
    range = joint.range;
  } else if (actuator.transmission == TransmissionType::kTendon) {
    const Tendon& tendon = tendon_drafts_[static_cast<std::size_t>(actuator.target)];
    limited = tendon.limited;
    range = tendon.range;
  }
  if (!limited) fail(actuator.origin, "inheritrange is given, but its target has no range");
  const double middle = 0.5 * (range[0] + range[1]);
  const double radius = 0.5 * (range[1] - range[0]) * spec.inherit_range;
  const bool integrates = actuator.dynamics == ActuatorDynamics::kIntegrator;
  (integrates ? actuator.activation_range : actuator.control_range) = Vector2(middle - radius, middle + radius);
  (integrates ? actuator.activation_limited : actuator.control_limited) = true;
}

// An actuator's own damping and armature act on its target, through the square of the gear.
void Compiler::reflect_on_target(const ActuatorSpec& spec, const Actuator& actuator) {
  if (spec.damping[0] == 0.0 && spec.armature == 0.0) return;
  const double ratio = actuator.gear[0] * actuator.gear[0];
  const bool on_joint =
      actuator.transmission == TransmissionType::kJoint || actuator.transmission == TransmissionType::kJointInParent;
  if (on_joint && is_scalar(builder_.joint(actuator.target))) {
    builder_.joint(actuator.target).damping += ratio * spec.damping[0];
    builder_.joint(actuator.target).armature += ratio * spec.armature;
  } else if (actuator.transmission == TransmissionType::kTendon) {
    tendon_drafts_[static_cast<std::size_t>(actuator.target)].damping += ratio * spec.damping[0];
    tendon_drafts_[static_cast<std::size_t>(actuator.target)].armature += ratio * spec.armature;
  } else {
    fail(actuator.origin, fmt::format("damping is {}, armature is {}", spec.damping[0], spec.armature),
         "only an actuator on a hinge, slide or tendon has them");
  }
}

void Compiler::compile_actuators() {
  for (const ActuatorSpec& spec : spec_.actuators) {
    Actuator actuator = spec.actuator;
    bool dropped = false;
    actuator.target = find(spec.target, actuator.origin, &dropped);
    if (dropped) {
      warnings_.add(actuator.origin, "it was left out, because the tendon it acts on was ignored");
      actuators_complete_ = false;
      continue;
    }
    actuator.reference_site = find(spec.second, actuator.origin);
    actuator.control_limited = spec.control.limited == Switch::kTrue;
    actuator.control_range = spec.control.range;
    actuator.force_limited = spec.force.limited == Switch::kTrue;
    actuator.force_range = spec.force.range;
    actuator.activation_limited = spec.activation.limited == Switch::kTrue;
    actuator.activation_range = spec.activation.range;
    // Only a position servo inherits a range, and on it a positive velocity bias is a damping ratio.
    const bool servo = is_position_servo(actuator);
    if (servo && spec.inherit_range > 0.0) inherit_range(spec, actuator);
    if (servo && actuator.bias[2] > 0.0) {
      actuator.damping_ratio = actuator.bias[2];
      actuator.bias[2] = 0.0;
    }
    reflect_on_target(spec, actuator);
    add_name(actuators_, "actuator", actuator.name, static_cast<int>(builder_.actuators().size()), actuator.origin);
    builder_.add_actuator(std::move(actuator));
  }
}

// --- sensors and keyframes -----------------------------------------------------------------------------------------

void Compiler::compile_sensors() {
  Names names;
  for (const SensorSpec& spec : spec_.sensors) {
    Sensor sensor = spec.sensor;
    add_name(names, "sensor", sensor.name, 0, sensor.origin);
    bool dropped = false;
    sensor.object_type = frame_type(spec.object.kind);
    sensor.object = find(spec.object, sensor.origin, &dropped);
    if (dropped) {
      warnings_.add(sensor.origin, "it was left out, because what it measures was ignored");
      continue;
    }
    sensor.reference_type = frame_type(spec.reference.kind);
    sensor.reference = find(spec.reference, sensor.origin);
    builder_.add_sensor(std::move(sensor));
  }
}

void Compiler::compile_keyframes() {
  if (spec_.keyframes.empty()) return;
  const StateLayout layout = state_layout(spec_);
  Names names;
  const bool complete =
      actuators_complete_ && std::none_of(spec_.dropped.begin(), spec_.dropped.end(),
                                          [](const Reference& d) { return d.kind == Kind::kActuator; });
  for (const KeyframeSpec& spec : spec_.keyframes) {
    add_name(names, "key", spec.name, 0, spec.origin);
    KeyframeSpec usable = spec;
    if (!complete) usable.control = usable.activation = {};
    Keyframe key = assemble_keyframe(usable, layout);
    if (!complete) {
      warnings_.add(spec.origin, "ctrl and act are left out, because actuators were ignored");
      key.control = key.activation = VectorX();
    }
    builder_.add_keyframe(std::move(key));
  }
}

}  // namespace touchstone::mjcf
