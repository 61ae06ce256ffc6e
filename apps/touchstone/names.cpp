#include "names.hpp"

#include <fmt/core.h>

namespace touchstone::cli {
namespace {

bool is_zero(double x) { return x == 0.0; }

}  // namespace

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

std::string transmission_text(const Model& model, const Actuator& actuator) {
  std::string text = fmt::format("{} {}", to_string(actuator.transmission), transmission_target(model, actuator));
  const bool scalar = actuator.transmission != TransmissionType::kSite;
  if (scalar && actuator.gear[0] != 1.0) text += fmt::format(" (gear {:.4g})", actuator.gear[0]);
  return text;
}

std::string equality_text(const Model& model, const Equality& equality) {
  const auto [a, b] = equality_sides(model, equality);
  return b.empty() ? std::string(a) : fmt::format("{}, {}", a, b);
}

}  // namespace touchstone::cli
