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

const char* to_string(EventFallback why) {
  switch (why) {
    case EventFallback::kNone:
      return "none";
    case EventFallback::kManyEvents:
      return "more events than max_events";
    case EventFallback::kManySteps:
      return "too many smooth steps";
    case EventFallback::kNoImpact:
      return "an impact was not solved";
    case EventFallback::kNoModes:
      return "no modes of contact fit";
    case EventFallback::kNoSmoothMotion:
      return "no smooth motion";
    case EventFallback::kCompliant:
      return "something is compliant";
    case EventFallback::kMocap:
      return "mocap bodies moved";
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
  worst.law_natv = std::max(worst.law_natv, r.law_natv);
  worst.law_natv_relative = std::max(worst.law_natv_relative, r.law_natv_relative);
  worst.law_impulse = std::max(worst.law_impulse, r.law_impulse);
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
  surfaces += earlier.surfaces;
  constraints += earlier.constraints;
  stabilisation += earlier.stabilisation;
  inelastic += earlier.inelastic;
}

void AccuracyReport::add(const AccuracyReport& other) {
  if (other.parts == 0) return;
  smallest = parts > 0 ? std::min(smallest, other.smallest) : other.smallest;
  parts += other.parts;
  rejected += other.rejected;
  missed += other.missed;
  error = std::max(error, other.error);
}

void EventReport::add_earlier(const EventReport& earlier) {
  smooth_steps += earlier.smooth_steps;
  rejected += earlier.rejected;
  last = events > 0 ? last : earlier.last;
  events += earlier.events;
  impacts += earlier.impacts;
  why = fallbacks > 0 ? why : earlier.why;
  fallbacks += earlier.fallbacks;
}

void StepReport::forget_solve() {
  status = StepStatus::kOk;
  residuals = Residuals();
  shift = 0.0;
  worst.clear();
}

void StepReport::merge_earlier(const StepReport& earlier) {
  status = std::max(status, earlier.status);
  iterations += earlier.iterations;
  newton += earlier.newton;
  largest_iterations = std::max(largest_iterations, earlier.largest_iterations);
  if (earlier.stage.number > stage.number) stage = earlier.stage;
  const int block = earlier.residuals.natv > residuals.natv ? -1 : residuals.worst_block;
  keep_worst(earlier.residuals, residuals);
  residuals.worst_block = block;  // a block of an earlier substep no longer exists
  if (worst.empty()) worst = earlier.worst;
  penetration = std::max(penetration, earlier.penetration);
  violation = std::max(violation, earlier.violation);
  shift = std::max(shift, earlier.shift);
  recovered |= earlier.recovered;
  recovery_residual = std::max(recovery_residual, earlier.recovery_residual);
  loop_error = std::max(loop_error, earlier.loop_error);
  sleep.fell_asleep += earlier.sleep.fell_asleep;
  sleep.woken += earlier.sleep.woken;
  energy.add_earlier(earlier.energy);
  warnings.energy_jump |= earlier.warnings.energy_jump;
  warnings.deep_penetration |= earlier.warnings.deep_penetration;
  warnings.recovery_conflict |= earlier.warnings.recovery_conflict;
  warnings.variational_fallback |= earlier.warnings.variational_fallback;
  warnings.limit_cycle |= earlier.warnings.limit_cycle;
  warnings.accuracy_missed |= earlier.warnings.accuracy_missed;
  warnings.event_fallback |= earlier.warnings.event_fallback;
  warnings.contacts_left_out |= earlier.warnings.contacts_left_out;
  accuracy.add(earlier.accuracy);
  events.add_earlier(earlier.events);
  if (cycling_actuator < 0) cycling_actuator = earlier.cycling_actuator;
  times.add(earlier.times);
}

}  // namespace touchstone
