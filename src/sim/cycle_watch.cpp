#include "touchstone/sim/cycle_watch.hpp"

#include <cmath>

#include "touchstone/base/index.hpp"

namespace touchstone {

int CycleWatch::update(const Model& model, const VectorX& rate, const VectorX& force, const VectorX& control,
                       double h) {
  const int count = static_cast<int>(rate.size());
  if (list_.size() != at(count)) list_.assign(at(count), {});
  int found = -1;
  for (int u = 0; u < count; ++u) {
    Watched& w = list_[at(u)];
    const Actuator& actuator = model.actuators[at(u)];
    const bool is_servo = actuator.bias_type != ActuatorBias::kNone || actuator.gain_type != ActuatorGain::kFixed;
    const bool is_constant = !is_servo || control[u] == w.control;
    const bool alternates = rate[u] * w.rate < 0.0 && std::abs(rate[u]) > kSlowest && is_constant;
    w.steps = alternates ? w.steps + 1 : 0;
    w.work = alternates ? w.work + 0.5 * h * w.force * (w.rate + rate[u]) : 0.0;
    w.rate = rate[u];
    w.force = force[u];
    w.control = control[u];
    if (found < 0 && w.steps >= kSteps && w.work > 0.0) found = u;
  }
  return found;
}

}  // namespace touchstone
