#include "names.hpp"

#include <fmt/core.h>

namespace touchstone::cli {
namespace {

template <typename Element>
std::string name_at(const std::vector<Element>& elements, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < elements.size()
             ? elements[static_cast<std::size_t>(index)].name
             : std::string();
}

bool is_zero(double x) { return x == 0.0; }

}  // namespace

std::string_view to_string(EqualityType type) {
  switch (type) {
    case EqualityType::kConnect:
      return "connect";
    case EqualityType::kWeld:
      return "weld";
    case EqualityType::kJoint:
      return "joint";
    case EqualityType::kTendon:
      return "tendon";
  }
  return "unknown";
}

std::string_view to_string(TransmissionType type) {
  switch (type) {
    case TransmissionType::kJoint:
      return "joint";
    case TransmissionType::kJointInParent:
      return "joint in parent";
    case TransmissionType::kTendon:
      return "tendon";
    case TransmissionType::kSite:
      return "site";
    case TransmissionType::kSliderCrank:
      return "slider-crank";
  }
  return "unknown";
}

std::string_view to_string(ActuatorDynamics dynamics) {
  switch (dynamics) {
    case ActuatorDynamics::kNone:
      return "none";
    case ActuatorDynamics::kIntegrator:
      return "integrator";
    case ActuatorDynamics::kFilter:
      return "filter";
    case ActuatorDynamics::kFilterExact:
      return "exact filter";
  }
  return "unknown";
}

std::string_view to_string(FrameType type) {
  switch (type) {
    case FrameType::kNone:
      return "none";
    case FrameType::kBody:
      return "body";
    case FrameType::kBodyInertial:
      return "inertial frame";
    case FrameType::kShape:
      return "shape";
    case FrameType::kSite:
      return "site";
    case FrameType::kJoint:
      return "joint";
    case FrameType::kTendon:
      return "tendon";
    case FrameType::kActuator:
      return "actuator";
  }
  return "unknown";
}

std::string actuator_kind(const Actuator& actuator) {
  const auto& gain = actuator.gain;
  const auto& bias = actuator.bias;
  const bool plain_gain = actuator.gain_type == ActuatorGain::kFixed;
  std::string kind = "general";
  if (plain_gain && actuator.bias_type == ActuatorBias::kNone) {
    kind = gain[0] == 1.0 ? "motor" : fmt::format("motor (gain {:.4g})", gain[0]);
  } else if (plain_gain && is_zero(bias[0]) && bias[1] == -gain[0] && gain[0] != 0.0) {
    kind = fmt::format("position (kp {:.4g}, kv {:.4g})", gain[0], is_zero(bias[2]) ? 0.0 : -bias[2]);
  } else if (plain_gain && is_zero(bias[0]) && is_zero(bias[1]) && bias[2] == -gain[0]) {
    kind = fmt::format("velocity (kv {:.4g})", gain[0]);
  }
  if (actuator.dynamics != ActuatorDynamics::kNone) kind += fmt::format(", {}", to_string(actuator.dynamics));
  return kind;
}

std::string transmission_target(const Model& model, const Actuator& actuator) {
  switch (actuator.transmission) {
    case TransmissionType::kJoint:
    case TransmissionType::kJointInParent:
      return name_at(model.joints, actuator.target);
    case TransmissionType::kTendon:
      return name_at(model.tendons, actuator.target);
    case TransmissionType::kSite:
    case TransmissionType::kSliderCrank:
      return name_at(model.sites, actuator.target);
  }
  return {};
}

std::string transmission_text(const Model& model, const Actuator& actuator) {
  std::string text = fmt::format("{} {}", to_string(actuator.transmission), transmission_target(model, actuator));
  const bool scalar = actuator.transmission != TransmissionType::kSite;
  if (scalar && actuator.gear[0] != 1.0) text += fmt::format(" (gear {:.4g})", actuator.gear[0]);
  return text;
}

std::string equality_sides(const Model& model, const Equality& equality) {
  std::string a, b;
  switch (equality.type) {
    case EqualityType::kConnect:
    case EqualityType::kWeld:
      a = name_at(model.bodies, equality.a);
      b = name_at(model.bodies, equality.b);
      break;
    case EqualityType::kJoint:
      a = name_at(model.joints, equality.a);
      b = name_at(model.joints, equality.b);
      break;
    case EqualityType::kTendon:
      a = name_at(model.tendons, equality.a);
      b = name_at(model.tendons, equality.b);
      break;
  }
  return b.empty() ? a : a + ", " + b;
}

std::string frame_name(const Model& model, FrameType type, int index) {
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

}  // namespace touchstone::cli
