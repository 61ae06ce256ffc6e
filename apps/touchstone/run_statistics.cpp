#include "run_statistics.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "console.hpp"

namespace touchstone::cli {
namespace {

std::string microseconds(double seconds, int steps) {
  return fmt::format("{:.1f}", 1e6 * seconds / std::max(1, steps));
}

std::string status_text(const RunStatistics& s) {
  std::string text;
  for (std::size_t k = 0; k < s.statuses.size(); ++k) {
    if (s.statuses[k] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", s.statuses[k], to_string(static_cast<StepStatus>(k)));
  }
  return text.empty() ? "none" : text;
}

Style good_if(bool good) { return good ? Style::kGood : Style::kBad; }

}  // namespace

void RunStatistics::begin(Simulator& sim) {
  tolerance = sim.options().tolerance;
  watches_energy = sim.options().watch.energy;
  weight = 0.0;
  for (const BodyInertia& inertia : sim.parameters().body_inertia)
    weight += inertia.mass * sim.parameters().gravity.norm();
  first_energy = last_energy = lowest_energy = highest_energy = sim.kinetic_energy() + sim.potential_energy();
}

void RunStatistics::add(const Simulator& sim, double duration) {
  const StepReport& report = sim.report();
  ++steps;
  ++statuses[static_cast<std::size_t>(report.status)];
  times.dynamics += report.times.dynamics;
  times.collision += report.times.collision;
  times.assembly += report.times.assembly;
  times.solve += report.times.solve;
  times.integrate += report.times.integrate;
  times.certify += report.times.certify;
  if (report.constraints > 0 || report.sleep.islands > 0) certificates.push_back(report.residuals.natv_relative);
  worst_natv = std::max(worst_natv, report.residuals.natv);
  most_asleep = std::max(most_asleep, report.sleep.bodies);
  asleep = report.sleep.bodies;
  asleep_islands = report.sleep.islands;
  woken += report.sleep.woken;
  worst_law = std::max(worst_law, report.residuals.law_natv_relative);
  worst_law_impulse = std::max(worst_law_impulse, report.residuals.law_impulse);
  contacts += report.contacts;
  most_contacts = std::max(most_contacts, report.contacts);
  steps_with_contacts += report.contacts > 0 ? 1 : 0;
  iterations += report.iterations;
  newton += report.newton;
  most_iterations = std::max(most_iterations, report.iterations);
  if (report.stage.number >= 0) {
    auto& [name, count] = solver_stages[report.stage.number];
    name = report.stage.name;
    ++count;
  }
  penetration = std::max(penetration, report.penetration);
  if (watches_energy && report.status != StepStatus::kDiverged) add_energy(report.energy.total());
  if (report.time > 0.5 * duration) late_penetration = std::max(late_penetration, report.penetration);
  violation = std::max(violation, report.violation);
  work.actuators += report.energy.actuators;
  work.applied += report.energy.applied;
  work.dampers += report.energy.dampers;
  work.surfaces += report.energy.surfaces;
  work.constraints += report.energy.constraints;
  work.stabilisation += report.energy.stabilisation;
  work.inelastic += report.energy.inelastic;
  energy_error += report.energy.error();
  if (report.hindered_block >= 0 && first_hindered.empty()) first_hindered = sim.describe_hindered();
  accuracy.add(report.accuracy);
  events.add_earlier(report.events);
  if (report.cycling_actuator >= 0 && first_cycling.empty()) {
    first_cycling = sim.model().actuators[static_cast<std::size_t>(report.cycling_actuator)].name;
  }
  recoveries += report.recovered ? 1 : 0;
  recovery_residual = std::max(recovery_residual, report.recovery_residual);
  add_warnings(report.warnings);
  if (report.status != StepStatus::kOk && first_trouble.empty()) {
    first_trouble =
        fmt::format("step {} ({:.4g} s): {}, relative natv {:.1e}{}{}", steps, report.time, to_string(report.status),
                    report.residuals.natv_relative, report.worst.empty() ? "" : "; ", report.worst);
  }
}

void RunStatistics::add_warnings(const StepWarnings& warnings) {
  energy_jumps += warnings.energy_jump ? 1 : 0;
  deep_penetrations += warnings.deep_penetration ? 1 : 0;
  recovery_conflicts += warnings.recovery_conflict ? 1 : 0;
  contacts_left_out += warnings.contacts_left_out ? 1 : 0;
  limit_cycles += warnings.limit_cycle ? 1 : 0;
  variational_fallbacks += warnings.variational_fallback ? 1 : 0;
}

void RunStatistics::add_energy(double energy) {
  last_energy = energy;
  lowest_energy = std::min(lowest_energy, energy);
  highest_energy = std::max(highest_energy, energy);
}

double RunStatistics::median_certificate() const {
  if (certificates.empty()) return 0.0;
  std::vector<double> sorted = certificates;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double RunStatistics::worst_certificate() const {
  return certificates.empty() ? 0.0 : *std::max_element(certificates.begin(), certificates.end());
}

double RunStatistics::certified_share() const {
  constexpr double kRounding = 1.001;  // the solver stops on scaled data
  if (certificates.empty()) return 1.0;
  const auto good =
      std::count_if(certificates.begin(), certificates.end(), [this](double x) { return x <= kRounding * tolerance; });
  return static_cast<double>(good) / static_cast<double>(certificates.size());
}

namespace {

// "start 80.0 %, sweeps 19.5 %, modes 0.5 %".
std::string stage_shares(const RunStatistics& s) {
  int all = 0;
  for (const auto& [number, stage] : s.solver_stages) all += stage.second;
  std::string text;
  for (const auto& [number, stage] : s.solver_stages) {
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", stage.first, 100.0 * stage.second / all);
  }
  return text;
}

// One row for each kind of warning that was given.
template <typename Row>
void add_warnings(const RunStatistics& s, const Row& row) {
  const auto warn = [&row](int count, const std::string& note) {
    row("warnings", styled(std::to_string(count), Style::kWarning), note);
  };
  if (s.energy_jumps + s.deep_penetrations > 0) {
    warn(s.energy_jumps + s.deep_penetrations,
         fmt::format("steps with an energy jump: {}, with a deep penetration: {}; try a smaller time step",
                     s.energy_jumps, s.deep_penetrations));
  }
  if (s.recovery_conflicts > 0) {
    warn(s.recovery_conflicts,
         fmt::format("steps in which violated constraints asked for contradicting recoveries; look for bodies that are "
                     "squeezed{}{}",
                     s.first_hindered.empty() ? "" : ": first ", s.first_hindered));
  }
  if (s.contacts_left_out > 0) {
    warn(
        s.contacts_left_out,
        "steps with more contacts of triangles than are looked for, of which the deepest were kept; let meshes collide "
        "as hulls or pieces, or take coarser ones");
  }
  if (s.limit_cycles > 0) {
    warn(s.limit_cycles,
         fmt::format("steps in which an actuator fed a limit cycle: first '{}'; lower its gains or the time step",
                     s.first_cycling));
  }
  if (s.accuracy.missed > 0) {
    warn(
        s.accuracy.missed,
        fmt::format("parts of steps have a larger error than the accuracy (largest {:.1e} m), and smaller ones did not "
                    "mend it: the motion is not unique there, or min_step is too large",
                    s.accuracy.error));
  }
  if (s.events.fallbacks > 0) {
    warn(s.events.fallbacks,
         fmt::format("parts of steps made by time stepping, the last one because: {}", to_string(s.events.why)));
  }
  if (s.variational_fallbacks > 0) {
    warn(s.variational_fallbacks,
         "steps made by Moreau's rule because the variational one was not solved; try a smaller time step");
  }
}

// Of which parts steps were made.
template <typename Row>
void add_parts(const RunStatistics& s, const Row& row) {
  if (s.accuracy.parts > 0) {
    row("accuracy", fmt::format("{:.1e} m", s.accuracy.error),
        fmt::format("largest estimate of a part; {:.1f} parts a step, {} tried again, shortest {:.1e} s",
                    static_cast<double>(s.accuracy.parts) / std::max(1, s.steps), s.accuracy.rejected,
                    s.accuracy.smallest));
  }
  if (s.events.smooth_steps > 0) {
    row("events", fmt::format("{}", s.events.events),
        fmt::format("{} impacts; {} smooth steps, {} tried again", s.events.impacts, s.events.smooth_steps,
                    s.events.rejected));
  }
}

template <typename Row>
void add_energy(const RunStatistics& s, const Row& row) {
  row("energy", fmt::format("{:+.4g} J", s.last_energy - s.first_energy),
      fmt::format("from {:.4g} J to {:.4g} J; range {:.4g} J", s.first_energy, s.last_energy,
                  s.highest_energy - s.lowest_energy));
  // Of a system at rest the range is rounding: a share of what lifting it by a millimetre takes says more.
  const double range = std::max({1e-300, s.highest_energy - s.lowest_energy, 1e-3 * s.weight});
  row("energy, unexplained", fmt::format("{:+.2g} J", s.energy_error),
      fmt::format("{:.2g} % of the range or of 1 mm of lift; work of actuators {:.3g}, pushes {:.3g}, dampers {:.3g}, "
                  "moving surfaces {:.3g}, constraints {:.3g}, stabilisation {:.2g}, lost in impacts {:.3g} J",
                  100.0 * s.energy_error / range, s.work.actuators, s.work.applied, s.work.dampers, s.work.surfaces,
                  s.work.constraints, s.work.stabilisation, s.work.inelastic));
}

}  // namespace

std::string statistics_table(const RunStatistics& s) {
  Table table(2);
  const auto row = [&table](const char* name, const std::string& value, const std::string& note = "") {
    table.add_row({styled(name, Style::kDim), value, note});
  };
  row("steps", std::to_string(s.steps), fmt::format("{:.4g} s simulated", s.simulated));
  row("status", styled(status_text(s), good_if(s.solved())), s.first_trouble);
  row("real time", fmt::format("{:.1f} x", s.real_time_factor()),
      fmt::format("{} us a step", microseconds(s.wall, s.steps)));
  row("certificate, worst", styled(fmt::format("{:.1e}", s.worst_certificate()), good_if(s.certified_share() >= 1.0)),
      fmt::format("relative natv; {:.1e} m/s", s.worst_natv));
  row("certificate, median", fmt::format("{:.1e}", s.median_certificate()),
      fmt::format("{:.2f} % of steps within {:.0e}", 100.0 * s.certified_share(), s.tolerance));
  if (s.worst_law > 0.0) {
    row("law of contact, worst", fmt::format("{:.1e}", s.worst_law),
        fmt::format("relative; momentum that law and answer do not agree about: {:.1e} N s", s.worst_law_impulse));
  }
  row("contacts", fmt::format("{:.1f}", static_cast<double>(s.contacts) / std::max(1, s.steps)),
      fmt::format("mean; at most {}; {:.0f} % of steps have some", s.most_contacts,
                  100.0 * s.steps_with_contacts / std::max(1, s.steps)));
  if (s.most_asleep > 0) {
    row("asleep", std::to_string(s.asleep),
        fmt::format(
            "bodies at the end, in {} islands; at most {}; {} times an island woke; their certificate is that of "
            "the step they fell asleep in",
            s.asleep_islands, s.most_asleep, s.woken));
  }
  row("penetration", fmt::format("{:.2g} mm", 1e3 * s.penetration),
      fmt::format("deepest of all steps; {:.2g} mm in the second half of the time", 1e3 * s.late_penetration));
  if (s.violation > 0.0) row("limits, equalities", fmt::format("{:.1e}", s.violation), "largest error, m or rad");
  if (s.recoveries > 0) {
    row("position pass", fmt::format("{:.3g} %", 100.0 * s.recoveries / std::max(1, s.steps)),
        fmt::format("of steps left violations; certificate of the pass, worst: {:.1e} m", s.recovery_residual));
  }
  add_parts(s, row);
  add_energy(s, row);
  add_warnings(s, row);
  row("iterations", fmt::format("{:.1f}", static_cast<double>(s.iterations) / std::max(1, s.steps)),
      fmt::format("mean; at most {}", s.most_iterations));
  if (s.newton > 0) {
    row("Newton iterations", fmt::format("{:.1f}", static_cast<double>(s.newton) / std::max(1, s.steps)),
        "mean, of the equation of motion that the integrator solves");
  }
  if (!s.solver_stages.empty())
    row("solver", stage_shares(s), "share of the steps with constraints by the dearest stage");
  const auto stage = [&](const char* name, double seconds) {
    row(name, microseconds(seconds, s.steps) + " us",
        fmt::format("{:.0f} %", 100.0 * seconds / std::max(1e-300, s.times.total())));
  };
  stage("time: dynamics", s.times.dynamics);
  stage("time: collision", s.times.collision);
  stage("time: assembly", s.times.assembly);
  stage("time: solve", s.times.solve);
  stage("time: integrate", s.times.integrate);
  stage("time: certify", s.times.certify);
  return table.text();
}

namespace {

nlohmann::ordered_json to_json(const AccuracyReport& accuracy) {
  return {{"parts", accuracy.parts},
          {"rejected", accuracy.rejected},
          {"missed", accuracy.missed},
          {"shortest", accuracy.smallest},
          {"error", accuracy.error}};
}

nlohmann::ordered_json to_json(const EventReport& events) {
  return {{"events", events.events},
          {"impacts", events.impacts},
          {"smooth_steps", events.smooth_steps},
          {"rejected", events.rejected},
          {"fallbacks", events.fallbacks}};
}

}  // namespace

namespace {

nlohmann::ordered_json energy_json(const RunStatistics& s) {
  return {{"first", s.first_energy},
          {"last", s.last_energy},
          {"lowest", s.lowest_energy},
          {"highest", s.highest_energy},
          {"unexplained", s.energy_error},
          {"actuators", s.work.actuators},
          {"applied", s.work.applied},
          {"dampers", s.work.dampers},
          {"surfaces", s.work.surfaces},
          {"constraints", s.work.constraints},
          {"stabilisation", s.work.stabilisation},
          {"inelastic", s.work.inelastic}};
}

}  // namespace

nlohmann::ordered_json statistics_json(const RunStatistics& s) {
  nlohmann::ordered_json statuses;
  for (std::size_t k = 0; k < s.statuses.size(); ++k) statuses[to_string(static_cast<StepStatus>(k))] = s.statuses[k];
  nlohmann::ordered_json stages = nlohmann::ordered_json::object();
  for (const auto& [number, stage] : s.solver_stages) stages[stage.first] = stage.second;
  return {{"steps", s.steps},
          {"simulated", s.simulated},
          {"wall", s.wall},
          {"real_time_factor", s.real_time_factor()},
          {"status", statuses},
          {"first_trouble", s.first_trouble},
          {"natv_relative",
           {{"worst", s.worst_certificate()},
            {"median", s.median_certificate()},
            {"share_within_tolerance", s.certified_share()}}},
          {"natv_worst", s.worst_natv},
          {"law_natv_relative_worst", s.worst_law},
          {"law_impulse_worst", s.worst_law_impulse},
          {"contacts",
           {{"mean", static_cast<double>(s.contacts) / std::max(1, s.steps)},
            {"most", s.most_contacts},
            {"steps_with", s.steps_with_contacts}}},
          {"asleep",
           {{"bodies", s.asleep}, {"islands", s.asleep_islands}, {"most_bodies", s.most_asleep}, {"woken", s.woken}}},
          {"penetration", s.penetration},
          {"penetration_second_half", s.late_penetration},
          {"violation", s.violation},
          {"position_pass", {{"steps", s.recoveries}, {"residual_worst", s.recovery_residual}}},
          {"accuracy", to_json(s.accuracy)},
          {"events", to_json(s.events)},
          {"energy", energy_json(s)},
          {"warnings",
           {{"energy_jump", s.energy_jumps},
            {"deep_penetration", s.deep_penetrations},
            {"recovery_conflict", s.recovery_conflicts},
            {"variational_fallback", s.variational_fallbacks},
            {"limit_cycle", s.limit_cycles},
            {"accuracy_missed", s.accuracy.missed},
            {"event_fallback", s.events.fallbacks},
            {"contacts_left_out", s.contacts_left_out}}},
          {"iterations", s.iterations},
          {"most_iterations", s.most_iterations},
          {"newton_iterations", s.newton},
          {"solver_stages", stages},
          {"stage_seconds",
           {{"dynamics", s.times.dynamics},
            {"collision", s.times.collision},
            {"assembly", s.times.assembly},
            {"solve", s.times.solve},
            {"integrate", s.times.integrate},
            {"certify", s.times.certify}}}};
}

}  // namespace touchstone::cli
