// What differs between models of constraints (SimulatorOptions::constraints). Each model is one file that fills this
// in; nothing else asks which model it is.
#pragma once

#include "touchstone/dynamics/forces.hpp"
#include "touchstone/sim/options.hpp"

namespace touchstone {

struct Constraints;
struct ConstraintStep;
struct KindEntry;
struct StepContext;

using ConstraintLaw = void (*)(const ConstraintStep&, int block, Constraints&);

struct ConstraintRules {
  // --- constraints ---
  // Violations are errors; else bodies overlap by intent.
  bool is_exact;
  // Contacts and limits join when the step may reach them; else when they are violated.
  bool looks_ahead;
  // A contact that no joint lets open or close is left out: it has no force to speak of.
  bool skips_immovable;
  // Contacts have a physical law (contact/laws/), near-rigid where their material has no stiffness.
  bool contact_laws;
  // Connects and welds as MuJoCo writes them: with dJ/dt v, rotations as the vector part of a quaternion.
  bool mujoco_loops;
  // Which law of a kind is meant.
  ConstraintLaw KindEntry::*law;

  // --- stages ---
  // Springs, dampers and servos are taken at the end of the step, and servos that reach their force limits become
  // blocks of the problem; else all forces are those of the start.
  bool implicit_forces;
  // With the solver that "auto" stands for.
  SimulatorOptions (*solver_options)(const Model& model, const SimulatorOptions& options);
  // Fills data; false if the mass matrix is not positive definite.
  bool (*free_motion)(StepContext& s, SpringRule springs);
  // After an integrator has put another velocity into data.v_free.
  void (*adopt_free_velocity)(StepContext& s);
  // v_next from v_free and the impulses.
  void (*advance_velocity)(StepContext& s);
  // acceleration and actuator_force of a step that has come to its end.
  void (*read_forces)(StepContext& s);
};

const ConstraintRules& rules_of(ConstraintModel model);
// With the solver in mind: those of a compliant model bring their own. Throws Error for a choice that contradicts.
const ConstraintRules& rules_of(const SimulatorOptions& options);

}  // namespace touchstone
