// What one step says about itself.
#pragma once

#include <cstdint>
#include <string>

#include "touchstone/contact/residuals.hpp"
#include "touchstone/solvers/status.hpp"

namespace touchstone {

enum class StepStatus : std::uint8_t {
  kOk,
  kNotConverged,  // some island was not solved to the tolerance; the residuals say how far it is
  // The solver refused the problem of some island, or it is too large to be made (TreeIslands::kMostEntries): its
  // constraints were left out.
  kInvalidProblem,
  // The new state is not finite or beyond all bounds (kLargestState), or the mass matrix is not positive definite: the
  // state was not changed.
  kDiverged,
};

// m, rad, m/s or rad/s: a state with a larger number has diverged, although it is finite still.
constexpr double kLargestState = 1e10;

const char* to_string(StepStatus status);

// Seconds of wall time.
struct StageTimes {
  double dynamics = 0.0;  // kinematics, mass matrix, factor, forces, free motion; Euler: kinematics of the new state
  double collision = 0.0;
  double assembly = 0.0;  // constraints, G
  double solve = 0.0;
  double integrate = 0.0;
  double certify = 0.0;  // certificate, energy account, report
  void add(const StageTimes& other);
  double total() const { return dynamics + collision + assembly + solve + integrate + certify; }
};

// Where the energy of a step went, J. Work is impulse times the mean of the velocities before and after the step, which
// is what the impulse adds to the kinetic energy. `error` is what remains, of the order of the squared time step: what
// the motion of the configuration within the step adds to or takes from the total.
struct EnergyAccount {
  double kinetic_before = 0.0, potential_before = 0.0;
  double kinetic = 0.0, potential = 0.0;  // after the step; potential: gravity and springs
  double actuators = 0.0;                 // work of actuators and gravity compensation
  double applied = 0.0;                   // of applied forces and wrenches
  double dampers = 0.0;                   // of joint and tendon dampers
  double surfaces = 0.0;                  // of surfaces that move on their own (Parameters::shape_surface_velocity)
  double constraints = 0.0;               // of contacts, limits, dry friction and equalities, without the next two
  double stabilisation = 0.0;             // what bringing violated constraints back added
  double inelastic = 0.0;                 // lost in impacts: contacts and limits that close faster than the threshold

  // The account of this step and the one before it.
  void add_earlier(const EnergyAccount& earlier);
  double before() const { return kinetic_before + potential_before; }
  double total() const { return kinetic + potential; }
  double error() const {
    return total() - before() - actuators - applied - dampers - surfaces - constraints - stabilisation - inelastic;
  }
};

// What a step does not like about its result although it is computed well; the usual remedy is a smaller time step.
struct StepWarnings {
  bool energy_jump = false;       // the step added energy that no force did (WatchOptions::energy_jump)
  bool deep_penetration = false;  // beyond WatchOptions::penetration
  // Violated constraints asked for recoveries that contradict each other, so that no motion satisfied all of them. The
  // violation that is left is the least; with Baumgarte's stabilisation it was not reduced in this step, only kept from
  // growing.
  bool recovery_conflict = false;
  // The equation of the variational integrator was not solved: Moreau's midpoint rule made the step instead.
  bool variational_fallback = false;
  // An actuator drives a joint to and fro from step to step (sim/cycle_watch.hpp).
  bool limit_cycle = false;
  // Some part of the step has a larger error than SimulatorOptions::accuracy, and smaller ones did not mend it.
  bool accuracy_missed = false;
  // Part of the step was made by time stepping: more events than EventOptions::max_events, or none of its modes fitted.
  bool event_fallback = false;
  // Surfaces of triangles had more contacts than a step can look for or use: the deepest were kept (CollisionLimits).
  bool contacts_left_out = false;
  bool any() const {
    return energy_jump || deep_penetration || recovery_conflict || variational_fallback || limit_cycle ||
           accuracy_missed || event_fallback || contacts_left_out;
  }
};

// How a step kept to SimulatorOptions::accuracy; zero without (sim/error_control.hpp).
struct AccuracyReport {
  int parts = 0;          // that the step was made of
  int rejected = 0;       // that were tried again with half their size
  int missed = 0;         // that have a larger error: smaller ones did not mend it, or were below min_step
  double smallest = 0.0;  // s: the shortest part
  double error = 0.0;     // m: the largest estimate of a part

  // The account of both.
  void add(const AccuracyReport& other);
};

// Why part of a step of Integrator::kEvent was made by time stepping.
enum class EventFallback : std::uint8_t {
  kNone,
  kManyEvents,      // more than EventOptions::max_events
  kManySteps,       // slips that turn ever faster
  kNoImpact,        // the problem of an impact was not solved, or impacts did not end
  kNoModes,         // no modes of contact fitted, and no impact without collision helped
  kNoSmoothMotion,  // no smooth step, however short
  kCompliant,       // something is no hard constraint: compliant contacts, springs of loops or tendons across branches
  kMocap,           // mocap bodies moved
};

const char* to_string(EventFallback why);

// What happened in a step of Integrator::kEvent; zero otherwise.
struct EventReport {
  int smooth_steps = 0;                      // between events
  int rejected = 0;                          // smooth steps that were tried again with a smaller size
  int events = 0;                            // moments at which a contact or limit closed, opened, slipped or stuck
  int impacts = 0;                           // contact problems of impacts that were solved
  int fallbacks = 0;                         // parts that were made by time stepping
  EventFallback why = EventFallback::kNone;  // the last of them
  double last = 0.0;                         // s: the time of the last event

  // The account of both, `earlier` before this.
  void add_earlier(const EventReport& earlier);
};

// What sleeps (sim/sleep.hpp).
struct SleepReport {
  int bodies = 0, trees = 0, islands = 0;
  int fell_asleep = 0, woken = 0;  // islands, in this step
  int contacts = 0;                // of them; part of StepReport::contacts
  // The worst certificate of what sleeps, each of the step in which it fell asleep; part of StepReport::residuals.
  Residuals residuals;
};

// Each field the worse of both; worst_block is left alone.
void keep_worst(const Residuals& other, Residuals& worst);

struct StepReport {
  StepStatus status = StepStatus::kOk;
  double time = 0.0;  // s, of the state after the step: its end, or its start if it diverged
  int contacts = 0;
  int immovable = 0;    // contacts that were left out because no joint lets them open or close
  int constraints = 0;  // blocks of all kinds
  int rows = 0;
  int islands = 0;
  int iterations = 0;          // of all islands
  int largest_iterations = 0;  // of one island
  int newton = 0;       // iterations of the equation of motion, of rules that solve one: the variational ones, and the
                        // implicit ones of kEvent; of kContactImplicit: contact problems
  SolverStage stage;    // the dearest that an island needed, of solvers that have several (`auto`)
  Residuals residuals;  // the worst of all islands, field by field; with those that sleep
  std::string worst;    // why a solver refused an island, or "work ended": the budget of the step; else empty
  double penetration = 0.0;        // m, the deepest contact at the start of the step, 0 if none
  double violation = 0.0;          // the largest error of limits and equalities at the start of the step, m or rad
  double shift = 0.0;              // compliance that the solver had to add; 0: the problem as assembled
  bool recovered = false;          // the configuration was moved out of violations (sim/position_pass.hpp)
  double recovery_residual = 0.0;  // m: certificate of that
  double loop_error = 0.0;         // m: of loops after the step, if they are closed in each (LoopClosing::kClosed)
  int hindered_block = -1;         // of the last substep: a constraint that others stood against; -1: none
  int cycling_actuator = -1;       // one that feeds a limit cycle; -1: none
  SleepReport sleep;               // zero if SimulatorOptions::sleep is off
  EnergyAccount energy;            // zero if SimulatorOptions::watch.energy is off
  AccuracyReport accuracy;
  EventReport events;
  StepWarnings warnings;
  StageTimes times;

  // Before a problem of the same step is solved again: what counts is how that ends.
  void forget_solve();
  // Several substeps as one: counts and contacts of the last, the worst of all residuals, sums of times and work.
  void merge_earlier(const StepReport& earlier);
};

}  // namespace touchstone
