// What one step says about itself.
#pragma once

#include <cstdint>
#include <string>

#include "touchstone/contact/residuals.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

enum class StepStatus : std::uint8_t {
  kOk,
  kNotConverged,    // some island was not solved to the tolerance; the residuals say how far it is
  kInvalidProblem,  // the solver refused the problem of some island; its constraints were left out
  kDiverged,  // the new state is not finite, or the mass matrix is not positive definite: the state was not changed
};

const char* to_string(StepStatus status);

// Seconds of wall time.
struct StageTimes {
  double dynamics = 0.0;  // kinematics, mass matrix, factor, forces, free motion
  double collision = 0.0;
  double assembly = 0.0;  // constraints, G
  double solve = 0.0;
  double integrate = 0.0;
  double certify = 0.0;
  double total() const { return dynamics + collision + assembly + solve + integrate + certify; }
};

// Where the energy of a step went, J. Work is force times the mean of the velocities before and after the step, so
// that without rounding the kinetic energy at a fixed configuration balances exactly; `error` is what the motion of the
// configuration within the step adds to or takes from the total, of the order of the squared time step.
struct EnergyAccount {
  double kinetic_before = 0.0, potential_before = 0.0;
  double kinetic = 0.0, potential = 0.0;  // after the step; potential: gravity and springs
  double actuators = 0.0;                 // work of actuators and gravity compensation
  double applied = 0.0;                   // of applied forces and wrenches
  double dampers = 0.0;                   // of joint and tendon dampers; taken out, so never positive but for rounding
  double constraints = 0.0;               // of contacts, limits, dry friction and equalities, without the next
  double stabilisation = 0.0;             // what bringing violated constraints back added

  double before() const { return kinetic_before + potential_before; }
  double total() const { return kinetic + potential; }
  double error() const { return total() - before() - actuators - applied - dampers - constraints - stabilisation; }
};

// What a step does not like about its result although it is computed well; the usual remedy is a smaller time step.
struct StepWarnings {
  bool energy_jump = false;       // the step added energy that no force did (WatchOptions::energy_jump)
  bool deep_penetration = false;  // beyond WatchOptions::penetration
  bool any() const { return energy_jump || deep_penetration; }
};

struct StepReport {
  StepStatus status = StepStatus::kOk;
  double time = 0.0;  // s, at the end of the step
  int contacts = 0;
  int constraints = 0;  // blocks of all kinds
  int rows = 0;
  int islands = 0;
  int iterations = 0;          // of all islands
  int largest_iterations = 0;  // of one island
  Residuals residuals;         // the worst of all islands, field by field
  std::string worst;           // why a solver refused an island; empty otherwise
  double penetration = 0.0;    // m, the deepest contact at the start of the step, 0 if none
  double violation = 0.0;      // the largest error of limits and equalities at the start of the step, m or rad
  double shift = 0.0;          // compliance that the solver had to add; 0: the problem as assembled
  EnergyAccount energy;        // zero if SimulatorOptions::watch.energy is off
  StepWarnings warnings;
  StageTimes times;
};

}  // namespace touchstone
