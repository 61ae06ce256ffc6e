// What an integrator is: the order in which a step calls the stages (sim/stages.hpp), in one file, listed in
// integrators.cpp.
#pragma once

#include <memory>
#include <span>

#include "touchstone/sim/step_context.hpp"

namespace touchstone {

class StepRule {
 public:
  virtual ~StepRule() = default;
  // One step of s.h from s.state. Trouble is a status of s.report; after kDiverged the state is as before.
  virtual void step(StepContext& s) = 0;
};

struct IntegratorEntry {
  Integrator integrator;
  const char* name;  // as options spell it
  const char* description;
  std::unique_ptr<StepRule> (*make)(const Model& model);
};

// In the order of Integrator.
std::span<const IntegratorEntry> integrator_catalogue();
const IntegratorEntry& entry_of(Integrator integrator);

}  // namespace touchstone
