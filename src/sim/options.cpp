#include "touchstone/sim/options.hpp"

#include <cmath>
#include <utility>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

void require(bool ok, const char* field, double value, const char* allowed) {
  if (!ok) throw Error(ErrorDetail{.where = {}, .message = fmt::format("{} is {}", field, value), .remedy = allowed});
}

double own_share(const StabilisationOptions& s, StabilisedKind kind) {
  switch (kind) {
    case StabilisedKind::kLoop:
      return s.loop_erp;
    case StabilisedKind::kLimit:
      return s.limit_erp;
    case StabilisedKind::kContact:
      return s.contact_erp;
  }
  return -1.0;
}

}  // namespace

double StabilisationOptions::share_of(StabilisedKind kind) const {
  const double own = own_share(*this, kind);
  if (own >= 0.0) return own;
  return method == Stabilisation::kBaumgarte ? erp : 0.0;
}

bool StabilisationOptions::passes(StabilisedKind kind) const {
  if (kind == StabilisedKind::kLoop && softens_loops()) return false;
  return method == Stabilisation::kPosition && !(own_share(*this, kind) >= 0.0);
}

bool StabilisationOptions::any_passes() const {
  return passes(StabilisedKind::kLoop) || passes(StabilisedKind::kLimit) || passes(StabilisedKind::kContact);
}

void SimulatorOptions::validate() const {
  require(std::isfinite(time_step) && time_step >= 0.0, "time_step", time_step,
          "give a positive number of seconds, or 0 for that of the model");
  require(std::isfinite(tolerance) && tolerance > 0.0, "tolerance", tolerance, "give a positive number, such as 1e-6");
  require(max_iterations >= 0, "max_iterations", max_iterations, "give a positive number, or 0 for the solver's own");
  require(substeps >= 1, "substeps", substeps, "give 1 or more");
  require(std::isfinite(accuracy) && accuracy >= 0.0, "accuracy", accuracy,
          "give a length in metres, such as 1e-4, or 0 for steps of one size");
  require(std::isfinite(min_step) && min_step > 0.0, "min_step", min_step, "give a time in s, above 0");
  require(accuracy == 0.0 || substeps == 1, "substeps", substeps,
          "give 1 with an accuracy, which chooses the parts itself");
  require(events.cone_directions >= 4 && events.cone_directions % 4 == 0, "events.cone_directions",
          events.cone_directions, "give a multiple of 4");
  require(threads >= 0, "threads", threads, "give a positive number, or 0 for one a processor");
  require(watch.energy_jump > 0.0, "watch.energy_jump", watch.energy_jump, "give a positive share, such as 0.2");
  require(watch.penetration > 0.0, "watch.penetration", watch.penetration, "give a positive length in metres");
  require(std::isfinite(sleep.speed) && sleep.speed >= 0.0, "sleep.speed", sleep.speed,
          "give a speed in m/s, or 0 for that of the model");
  require(std::isfinite(sleep.time) && sleep.time >= 0.0, "sleep.time", sleep.time, "give a time in s, 0 or more");
  require(std::isfinite(laws.stiction_tolerance) && laws.stiction_tolerance > 0.0, "laws.stiction_tolerance",
          laws.stiction_tolerance, "give a speed in m/s, above 0");
  require(std::isfinite(laws.sigma) && laws.sigma >= 0.0, "laws.sigma", laws.sigma, "give a number, 0 or more");
  require(std::isfinite(laws.near_rigid) && laws.near_rigid > 0.0, "laws.near_rigid", laws.near_rigid,
          "give a number of steps, above 0");
  require(std::isfinite(laws.dissipation) && laws.dissipation >= 0.0, "laws.dissipation", laws.dissipation,
          "give a dissipation in s/m, 0 or more");
  const StabilisationOptions& s = stabilisation;
  require(s.time_constant > 0.0, "stabilisation.time_constant", s.time_constant, "give a time in s, above 0");
  require(s.erp >= 0.0 && s.erp <= 1.0, "stabilisation.erp", s.erp, "give a share between 0 and 1");
  for (const auto& [name, own] :
       {std::pair("stabilisation.loop_erp", s.loop_erp), std::pair("stabilisation.limit_erp", s.limit_erp),
        std::pair("stabilisation.contact_erp", s.contact_erp)}) {
    require(own <= 1.0, name, own, "give a share between 0 and 1, or -1 for what the stabilisation says");
  }
  require(std::isfinite(s.slop) && s.slop >= 0.0, "stabilisation.slop", s.slop, "give a length in metres, 0 or more");
  require(s.recovery_speed >= 0.0, "stabilisation.recovery_speed", s.recovery_speed, "give a speed in m/s, 0 or more");
  require(s.restitution_threshold >= 0.0, "stabilisation.restitution_threshold", s.restitution_threshold,
          "give a speed in m/s, 0 or more");
}

}  // namespace touchstone
