#include "touchstone/model/element_names.hpp"

namespace touchstone {
namespace {

template <typename Element>
std::string_view name_at(const std::vector<Element>& elements, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= elements.size()) return {};
  return elements[static_cast<std::size_t>(index)].name;
}

}  // namespace

std::string_view transmission_target(const Model& model, const Actuator& actuator) {
  switch (actuator.transmission) {
    case TransmissionType::kJoint:
    case TransmissionType::kJointInParent:
      return name_at(model.joints, actuator.target);
    case TransmissionType::kTendon:
      return name_at(model.tendons, actuator.target);
    case TransmissionType::kSite:
    case TransmissionType::kSliderCrank:
      return name_at(model.sites, actuator.target);
    case TransmissionType::kLoopJoint:
      return name_at(model.loop_joints, actuator.target);
  }
  return {};
}

std::pair<std::string_view, std::string_view> equality_sides(const Model& model, const Equality& equality) {
  switch (sides_of(equality.type)) {
    case EqualitySides::kBodies:
      return {name_at(model.bodies, equality.a), name_at(model.bodies, equality.b)};
    case EqualitySides::kJoints: {
      const auto name = [&](int element, int coordinate) {
        return coordinate < 0 ? name_at(model.joints, element) : name_at(model.loop_joints, element);
      };
      return {name(equality.a, equality.coordinate_a), name(equality.b, equality.coordinate_b)};
    }
    case EqualitySides::kTendons:
      return {name_at(model.tendons, equality.a), name_at(model.tendons, equality.b)};
  }
  return {};
}

std::string_view frame_name(const Model& model, FrameType type, int index) {
  switch (type) {
    case FrameType::kNone:
      return {};
    case FrameType::kBody:
    case FrameType::kBodyInertial:
      return name_at(model.bodies, index);
    case FrameType::kShape:
      return name_at(model.shapes, index);
    case FrameType::kSite:
      return name_at(model.sites, index);
    case FrameType::kJoint:
      return name_at(model.joints, index);
    case FrameType::kTendon:
      return name_at(model.tendons, index);
    case FrameType::kActuator:
      return name_at(model.actuators, index);
  }
  return {};
}

}  // namespace touchstone
