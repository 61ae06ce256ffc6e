// What a run amounts to: figures gathered step by step, and the table at its end.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "touchstone/scenes/scene_run.hpp"

namespace touchstone::cli {

struct RunStatistics {
  int steps = 0;
  double simulated = 0.0;                           // s
  double wall = 0.0;                                // s, stepping alone
  StageTimes times;                                 // s, sums
  std::array<int, 4> statuses{};                    // by StepStatus
  std::vector<double> certificates;                 // natv relative of every step with constraints
  double worst_natv = 0.0;                          // m/s
  double worst_law = 0.0, worst_law_impulse = 0.0;  // of compliant solvers: law_natv_relative; N s
  long contacts = 0;                                // sum over steps
  int most_contacts = 0;
  int steps_with_contacts = 0;
  int asleep = 0, asleep_islands = 0;  // at the end: bodies, islands
  int most_asleep = 0;                 // bodies
  int woken = 0;                       // islands, sum over steps
  long iterations = 0;
  int most_iterations = 0;
  long newton = 0;                                           // iterations of the equation of motion
  std::map<int, std::pair<std::string, int>> solver_stages;  // by number: name and steps that needed it, none dearer
  double penetration = 0.0;                                  // m, deepest
  double late_penetration = 0.0;  // m, deepest in the second half of the time that was asked for
  double violation = 0.0;
  double tolerance = 0.0;  // what the solver was asked for
  bool watches_energy = true;
  double first_energy = 0.0, last_energy = 0.0, lowest_energy = 0.0, highest_energy = 0.0;  // J
  EnergyAccount work;         // J, sums of the works and of what impacts lost
  double energy_error = 0.0;  // J: the change of energy that no force explains, summed
  // Steps with these warnings.
  int energy_jumps = 0, deep_penetrations = 0, recovery_conflicts = 0, variational_fallbacks = 0, limit_cycles = 0;
  int contacts_left_out = 0;
  AccuracyReport accuracy;         // of all steps
  EventReport events;              // of all steps
  int recoveries = 0;              // steps after which the configuration was moved out of violations
  double recovery_residual = 0.0;  // m: the worst certificate of that
  std::string first_trouble;       // the first step that was not solved, in words
  std::string first_cycling;       // the first actuator that fed a limit cycle
  std::string first_hindered;      // the first constraint whose recovery others stood against
  double weight = 0.0;             // N, of all bodies

  void begin(Simulator& sim);
  void add(const Simulator& sim, double duration);
  void add_warnings(const StepWarnings& warnings);
  void add_energy(double energy);

  bool diverged() const { return statuses[static_cast<std::size_t>(StepStatus::kDiverged)] > 0; }
  bool solved() const { return statuses[0] == steps; }
  double median_certificate() const;
  double worst_certificate() const;
  // Share of the steps with a certificate of at most the tolerance.
  double certified_share() const;
  double real_time_factor() const { return wall > 0.0 ? simulated / wall : 0.0; }
};

// The figures, for people and for programs.
std::string statistics_table(const RunStatistics& statistics);
nlohmann::ordered_json statistics_json(const RunStatistics& statistics);

}  // namespace touchstone::cli
