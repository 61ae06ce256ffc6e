#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone::stage {
namespace {

constexpr int kRounds = 8;

bool find_late_contacts(StepContext& s) {
  if (!finite_ranges(s.data.scope.dofs, s.v_next) || !s.late.surprises(s.model, s.v_next, s.h, s.data)) return false;
  s.late_end = s.work;
  touchstone::integrate(s.model, s.data.scope.joints, s.work.q, s.v_next, s.remaining, s.late_end.q);
  if (!finite_ranges(s.data.scope.coordinates, s.late_end.q)) return false;
  s.meter.move_to(s.model, s.parameters, s.late_end);
  const std::span<const Contact> found = s.late.find(s.parameters, s.data, s.meter.kinematics(), s.contacts());
  if (found.empty()) return false;
  s.cache.store(s.constraints, s.contacts(), s.lambda, s.u);
  for (const Contact& contact : found) s.detector.add(contact);
  return true;
}

}  // namespace

bool meet(StepContext& s) {
  if (!s.model.options.contacts_enabled || !s.options.swept_margin || !s.rules.looks_ahead) return false;
  for (int round = 0; round < kRounds; ++round) {
    s.clock.start();
    const bool found = find_late_contacts(s);
    s.report.times.collision += s.clock.lap();
    if (!found) break;
    if (wake(s)) return true;
    s.report.forget_solve();
    assemble(s);
    solve(s);
    bound_servos(s);
  }
  return false;
}

}  // namespace touchstone::stage
