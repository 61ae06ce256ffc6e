// What tests of event-driven steps begin with.
#pragma once

#include <memory>
#include <string>

#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {

inline SimulatorOptions event_options(double h) {
  SimulatorOptions options;
  options.integrator = Integrator::kEvent;
  options.time_step = h;
  return options;
}

inline std::string world(const std::string& content, const std::string& gravity = "0 0 -9.81") {
  return "<mujoco><option gravity='" + gravity + "'/><worldbody>" + content + "</worldbody></mujoco>";
}

inline ModelPtr with_restitution(const ModelPtr& model, double e) {
  auto copy = std::make_shared<Model>(*model);
  for (Material& material : copy->defaults.shape_material) material.restitution = e;
  return copy;
}

}  // namespace touchstone::test
