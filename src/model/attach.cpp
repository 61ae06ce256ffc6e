// ModelBuilder: starting from a model, and adding models to others.
#include <algorithm>
#include <utility>

#include "touchstone/model/builder.hpp"
#include "touchstone/model/fields.hpp"

namespace touchstone {
namespace {

void shift(int& index, int offset) {
  if (index >= 0) index += offset;
}

// Where each kind of element of the added model begins in the builder.
struct Offsets {
  int body, joint, shape, site, tendon, actuator, loop_joint;

  // The world is shared.
  void apply_body(int& index) const {
    if (index > 0) index += body;
  }

  void apply(FrameType type, int& index) const {
    switch (type) {
      case FrameType::kBody:
      case FrameType::kBodyInertial:
        return apply_body(index);
      case FrameType::kShape:
        return shift(index, shape);
      case FrameType::kSite:
        return shift(index, site);
      case FrameType::kJoint:
        return shift(index, joint);
      case FrameType::kTendon:
        return shift(index, tendon);
      case FrameType::kActuator:
        return shift(index, actuator);
      case FrameType::kNone:
        return;
    }
  }
};

// An equality with the world refers to the world's frame, which moves.
void move_world_side(Equality& equality, const Transform& pose) {
  if (equality.type == EqualityType::kConnect) {
    if (equality.a == 0) equality.anchor_a = pose * equality.anchor_a;
    if (equality.b == 0) equality.anchor_b = pose * equality.anchor_b;
  } else if (equality.type == EqualityType::kWeld) {
    if (equality.a == 0) equality.relative_pose = pose * equality.relative_pose;
    if (equality.b != 0) return;
    equality.relative_pose = equality.relative_pose * pose.inverse();
    equality.anchor_a = pose * equality.anchor_a;  // measured in b
  }
}

template <typename Element>
int size_of(const std::vector<Element>& list) {
  return static_cast<int>(list.size());
}

int last_fixed_base(const Model& model) {
  int last = 0;
  for (const Body& body : model.bodies) last = std::max(last, body.fixed_base);
  for (const ShapeElement& shape : model.shapes) last = std::max(last, shape.fixed_base);
  return last;
}

}  // namespace

ModelBuilder::ModelBuilder(const Model& model) {
  copy_fields(model, draft_);
  draft_.defaults = {};
  draft_.defaults.gravity = model.defaults.gravity;
}

void ModelBuilder::add_model(const Model& model, const Transform& pose, const std::string& prefix) {
  const Offsets offset{size_of(draft_.bodies) - 1, size_of(draft_.joints),  size_of(draft_.shapes),
                       size_of(draft_.sites),      size_of(draft_.tendons), size_of(draft_.actuators),
                       size_of(draft_.loop_joints)};
  const int bases = last_fixed_base(draft_);
  const auto shift_base = [bases](int& base) {
    if (base > 0) base += bases;
  };
  const auto named = [&prefix](auto element) {
    if (!element.name.empty()) element.name = prefix + element.name;
    return element;
  };
  // What stands on the world stands on the world's new place.
  const auto placed = [&](auto element) {
    element = named(std::move(element));
    if (element.body == 0) element.pose = pose * element.pose;
    offset.apply_body(element.body);
    return element;
  };
  draft_.options.mujoco_contact_frames |= model.options.mujoco_contact_frames;  // its contact pairs rely on it
  for (std::size_t b = 1; b < model.bodies.size(); ++b) {
    Body body = named(model.bodies[b]);
    if (body.parent == 0) body.pose = pose * body.pose;
    offset.apply_body(body.parent);
    shift_base(body.fixed_base);
    draft_.bodies.push_back(std::move(body));
  }
  for (const Joint& element : model.joints) {
    Joint joint = named(element);
    offset.apply_body(joint.body);
    draft_.joints.push_back(std::move(joint));
  }
  for (const ShapeElement& element : model.shapes) {
    ShapeElement shape = placed(element);
    shift_base(shape.fixed_base);
    if (!shape.visual_material.empty()) shape.visual_material = prefix + shape.visual_material;
    draft_.shapes.push_back(std::move(shape));
  }
  for (const Site& site : model.sites) draft_.sites.push_back(placed(site));
  for (const Tendon& element : model.tendons) {
    Tendon tendon = named(element);
    for (Tendon::Term& term : tendon.terms) shift(term.joint, offset.joint);
    draft_.tendons.push_back(std::move(tendon));
  }
  for (const Actuator& element : model.actuators) {
    Actuator actuator = named(element);
    const bool on_joint =
        actuator.transmission == TransmissionType::kJoint || actuator.transmission == TransmissionType::kJointInParent;
    const bool on_tendon = actuator.transmission == TransmissionType::kTendon;
    const bool on_loop = actuator.transmission == TransmissionType::kLoopJoint;
    shift(actuator.target, on_joint    ? offset.joint
                           : on_tendon ? offset.tendon
                           : on_loop   ? offset.loop_joint
                                       : offset.site);
    shift(actuator.reference_site, offset.site);
    draft_.actuators.push_back(std::move(actuator));
  }
  for (const Equality& element : model.equalities) {
    Equality equality = named(element);
    move_world_side(equality, pose);
    const bool on_loop[2] = {equality.coordinate_a >= 0, equality.coordinate_b >= 0};
    for (int* side : {&equality.a, &equality.b}) {
      switch (sides_of(equality.type)) {
        case EqualitySides::kBodies:
          offset.apply_body(*side);
          break;
        case EqualitySides::kJoints:
          shift(*side, on_loop[side == &equality.a ? 0 : 1] ? offset.loop_joint : offset.joint);
          break;
        case EqualitySides::kTendons:
          shift(*side, offset.tendon);
          break;
      }
    }
    draft_.equalities.push_back(std::move(equality));
  }
  for (const LoopJoint& element : model.loop_joints) {
    LoopJoint joint = named(element);
    if (joint.body_a == 0) joint.frame_a = pose * joint.frame_a;
    if (joint.body_b == 0) joint.frame_b = pose * joint.frame_b;
    offset.apply_body(joint.body_a);
    offset.apply_body(joint.body_b);
    draft_.loop_joints.push_back(std::move(joint));
  }
  for (const Sensor& element : model.sensors) {
    Sensor sensor = named(element);
    offset.apply(sensor.object_type, sensor.object);
    offset.apply(sensor.reference_type, sensor.reference);
    draft_.sensors.push_back(std::move(sensor));
  }
  for (const ContactPair& element : model.contact_pairs) {
    ContactPair pair = named(element);
    shift(pair.shape_a, offset.shape);
    shift(pair.shape_b, offset.shape);
    draft_.contact_pairs.push_back(std::move(pair));
  }
  for (const ContactExclusion& element : model.contact_exclusions) {
    ContactExclusion exclusion = named(element);
    offset.apply_body(exclusion.body_a);
    offset.apply_body(exclusion.body_b);
    draft_.contact_exclusions.push_back(std::move(exclusion));
  }
  for (const VisualMaterial& material : model.visual_materials) draft_.visual_materials.push_back(named(material));
  for (const Warning& warning : model.warnings) draft_.warnings.push_back(warning);
}

}  // namespace touchstone
