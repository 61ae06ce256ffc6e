#include "touchstone/model/warnings.hpp"

#include <algorithm>

#include "touchstone/model/builder.hpp"
#include "touchstone/model/validate.hpp"

namespace touchstone {

void warn_of_gains(Model& m) {
  for (int u = 0; u < m.nu; ++u) {
    const Actuator& actuator = m.actuators[static_cast<std::size_t>(u)];
    if (actuator.bias_type != ActuatorBias::kAffine || (actuator.bias[1] <= 0.0 && actuator.bias[2] <= 0.0)) continue;
    const bool is_kp = actuator.bias[1] > 0.0;
    const std::string message = fmt::format(
        "{} gain {:g} has the wrong sign: the force grows with the {} that it drives, so the motion is "
        "unstable; a servo has a negative one",
        is_kp ? "position" : "velocity", is_kp ? actuator.bias[1] : actuator.bias[2], is_kp ? "length" : "velocity");
    const Warning warning{origin_of(m, ElementKind::kActuator, u), message};
    const auto is_known = [&](const Warning& known) {
      return known.message == message && known.origin.element == warning.origin.element;
    };
    if (std::none_of(m.warnings.begin(), m.warnings.end(), is_known)) m.warnings.push_back(warning);
  }
}

}  // namespace touchstone
