#include "touchstone/sim/report.hpp"

#include <algorithm>

namespace touchstone {

const char* to_string(StepStatus status) {
  switch (status) {
    case StepStatus::kOk:
      return "ok";
    case StepStatus::kNotConverged:
      return "not converged";
    case StepStatus::kInvalidProblem:
      return "invalid problem";
    case StepStatus::kDiverged:
      return "diverged";
  }
  return "";
}

void keep_worst(const Residuals& r, Residuals& worst) {
  worst.natv = std::max(worst.natv, r.natv);
  worst.natv_relative = std::max(worst.natv_relative, r.natv_relative);
  worst.natv_relative_to_change = std::max(worst.natv_relative_to_change, r.natv_relative_to_change);
  worst.primal_cone = std::max(worst.primal_cone, r.primal_cone);
  worst.dual_cone = std::max(worst.dual_cone, r.dual_cone);
  worst.complementarity = std::max(worst.complementarity, r.complementarity);
  worst.natural_map = std::max(worst.natural_map, r.natural_map);
  worst.coulomb = std::max(worst.coulomb, r.coulomb);
  worst.signorini = std::max(worst.signorini, r.signorini);
  worst.max_dissipation = std::max(worst.max_dissipation, r.max_dissipation);
  worst.model_natv = std::max(worst.model_natv, r.model_natv);
  worst.model_natv_relative = std::max(worst.model_natv_relative, r.model_natv_relative);
}

void StageTimes::add(const StageTimes& other) {
  dynamics += other.dynamics;
  collision += other.collision;
  assembly += other.assembly;
  solve += other.solve;
  integrate += other.integrate;
  certify += other.certify;
}

void EnergyAccount::add_earlier(const EnergyAccount& earlier) {
  kinetic_before = earlier.kinetic_before;
  potential_before = earlier.potential_before;
  actuators += earlier.actuators;
  applied += earlier.applied;
  dampers += earlier.dampers;
  constraints += earlier.constraints;
  stabilisation += earlier.stabilisation;
  inelastic += earlier.inelastic;
}

}  // namespace touchstone
