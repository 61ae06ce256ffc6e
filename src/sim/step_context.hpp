// Everything that one step of a simulation works on. The stages (sim/stages.hpp) are free functions on it, and an
// integrator (sim/integrators/) is the order in which it calls them. What a stage has filled in, no later one changes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "touchstone/dynamics/data.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/sim/closure.hpp"
#include "touchstone/sim/constraints/kind.hpp"
#include "touchstone/sim/contact_cache.hpp"
#include "touchstone/sim/contact_force.hpp"
#include "touchstone/sim/cycle_watch.hpp"
#include "touchstone/sim/detection/detector.hpp"
#include "touchstone/sim/energy.hpp"
#include "touchstone/sim/island_solver.hpp"
#include "touchstone/sim/late_contacts.hpp"
#include "touchstone/sim/left_out.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/sim/position_pass.hpp"
#include "touchstone/sim/report.hpp"
#include "touchstone/sim/sleep.hpp"
#include "touchstone/sim/stage_clock.hpp"

namespace touchstone {

struct ContactKnots;  // sim/integrators/contact_implicit.hpp

// The same; throws Error if it is null.
ModelPtr require_model(ModelPtr model);

struct StepContext {
  // Throws Error for options that cannot be used.
  StepContext(ModelPtr model, const SimulatorOptions& options, std::shared_ptr<const CollisionModel> shapes);

  const ModelPtr model_ptr;
  const Model& model;
  const SimulatorOptions options;
  const ConstraintRules& rules;
  const double duration;  // s, of a step
  double h;               // s, of the part of it that is made: a substep, or what the accuracy asks for
  bool is_seen = true;    // somebody can read the report of the step at hand
  bool watches_energy() const { return options.watch.energy && is_seen; }

  // --- the user's ---
  Parameters parameters;
  State state;  // its arrays stay where they are
  Input input;

  // What the user may have changed since the last step; false: nobody could.
  struct Lent {
    bool state = false, input = false, parameters = false;
  };
  Lent lent;

  // --- settle ---
  Sleep sleep;
  SleepTrial trial;
  bool is_resting = false;    // the last step had nothing to do
  StepReport resting_report;  // of such a step
  StageTimes settle_times;    // of trials

  // --- begin ---
  bool copies_whole = true;  // the state may have changed outside of the scope since it was copied last
  State work;                // where forces are evaluated, and in the end the new state
  double remaining = 0.0;    // s: how long the new velocity acts on the configuration of `work`
  StepReport report;
  StageClock clock;
  // nv: loops hold for the mean of this velocity and the next (rules with a midpoint); null: for the next alone.
  const VectorX* loop_velocity = nullptr;
  bool damps_alternation = false;               // loop_velocity lacks a share of an alternation (loop_velocity.hpp)
  std::vector<MocapVelocity> mocap_velocity;    // nmocap
  std::vector<Transform> mocap_from, mocap_to;  // nmocap: before and after a step of several substeps

  // --- free_motion ---
  Data data;
  Kinematics kinematics = Kinematics::kNew;  // kKnown: the account of the step before has left them

  // --- detect ---
  CollisionDetector detector;

  // --- assemble ---
  ReferenceWeights weights;
  Constraints constraints;
  ContactCache cache;  // impulses of the step before

  // --- solve ---
  IslandSolver solver;
  LeftOut left_out;
  VectorX lambda;     // at least nrow: impulses
  VectorX u;          // at least nrow: what the constraints see, of the same solution
  int used_rows = 0;  // of both; beyond, impulses are zero
  VectorX v_next;     // nv: the velocity after the step
  VectorX impulse;    // nv: scratch
  // Of the last step of the integrator 'contact-implicit', as its rule has them; null: Moreau's rule made it.
  const ContactKnots* knots = nullptr;

  // --- meet ---
  LateContacts late;
  State late_end;  // where the velocity that came out leads

  // --- recover ---
  PositionPass pass;
  VectorX row_velocity;                // at least nrow: after the step
  double since_pass = 0.0;             // s: how long there was none that moved anything, as far as it matters
  double recovery_reach = 0.0;         // m: how much farther this step looks, because the one before moved bodies far
  std::optional<LoopClosure> closure;  // if SimulatorOptions::stabilisation closes loops in every step
  double energy_before_pass = 0.0;     // J, with the new velocity; only if report.recovered

  // --- integrate ---
  State before;             // the state at the start of the step
  VectorX left_velocity;    // 4 nv: of the last step, to see whether it was changed, and of three before; NaN: none
  bool has_before = false;  // there was a step since the last reset
  VectorX acceleration;     // nv
  VectorX actuator_force;   // nu: as applied

  // --- account ---
  std::vector<ContactForce> contact_forces;  // first those of what sleeps
  std::size_t resting_contacts = 0;          // how many these are
  EnergyMeter meter;
  CycleWatch cycles;
  double total_mass;
  double next_part = 0.0;     // s: the size of parts that the accuracy asks for; 0: not known
  double part_before = 0.0;   // s: what it was at the start of the last step of the integrator 'event'
  bool sensors_known = true;  // false: a step has been made since they were read

  // Everything about earlier steps, for a state that does not come from them.
  void forget();

  // Throws Error if the step has no mass matrix (SimulatorOptions::long_trees); `what` needs one.
  void require_mass_matrix(const char* what) const;

  // Whether forces are evaluated at the start of the step.
  bool at_start() const { return remaining == h; }
  std::span<const Contact> contacts() const {
    return model.options.contacts_enabled ? detector.contacts() : std::span<const Contact>();
  }
  // The step as its constraints see it; after free_motion and detect.
  ConstraintStep constraint_step() const {
    return {{model, data, contacts(), rules},
            parameters,
            work,
            weights,
            h,
            remaining,
            options.stabilisation,
            recovery_reach,
            mocap_velocity,
            options.laws,
            loop_velocity};
  }
};

}  // namespace touchstone
