// The stages of a step, to be called one by one where `Simulator::step` is not enough: to look at what lies between
// them, to change it, or to leave one out. Each needs those before it, for the same state and input.
//
//   StepContext& s = sim.context();
//   stage::begin(s, 0.0);
//   if (!stage::free_motion(s)) ...          // s.data: kinematics, factor, forces, v_free
//   stage::detect(s);                        // s.detector.contacts()
//   stage::assemble(s);                      // s.constraints: rows, gaps, laws
//   stage::solve(s);                         // s.lambda, s.v_next, s.report.residuals
//   stage::integrate(s);                     // s.state
//   stage::account(s);                       // s.report, s.contact_forces
//
// These lines are a step of semi-implicit Euler, but for `bound_servos` and `meet` between solve and integrate, and, if
// bodies may sleep, `settle` before it and `wake` after detect.
#pragma once

#include "touchstone/dynamics/forces.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::stage {

// For a step that is made in parts: notes how the user has changed mocap poses since the step before.
void begin_parts(StepContext& s);
// Before a part that ends at this share of the step, (0, 1]: moves mocap bodies there, straight ahead and by the
// shortest turn. A jump falls into the first part; the last one ends at the user's poses.
void move_mocap(StepContext& s, double share);

// Puts islands that rest to sleep, and wakes those that the user has changed something about (sim/sleep.hpp). If
// nothing is left to do, makes the step and returns true. Nothing at all unless SimulatorOptions::sleep is on.
bool settle(StepContext& s);

// After detect: wakes what sleeps and touches something that moves. If there was any the step begins anew, with begin.
[[nodiscard]] bool wake(StepContext& s);

// Forces are evaluated where the old velocity leads in the share `ahead` of the step: 0 the start, 0.5 the middle.
void begin(StepContext& s, double ahead);

// Kinematics, mass matrix, factor, forces, and the velocity v_free without constraints. False, with the report's status
// kDiverged, if the mass matrix is not positive definite or numbers are not finite; then the step is over.
[[nodiscard]] bool free_motion(StepContext& s, SpringRule springs = SpringRule::kEnd);

// Contacts, as far as bodies move in the step.
void detect(StepContext& s);

// Room for lambda and u of all rows: zero, and not a number, which says that nothing is known.
void clear_impulses(StepContext& s);

// The rows of all constraints with their laws, and the impulses to start from.
void assemble(StepContext& s);

// Impulses and the velocity after the step.
void solve(StepContext& s);

// A servo that was not expected to reach its force limit and did becomes a block of the problem, and the step is solved
// again. Seldom, and seldom more than once. `refine` is called after free motion was computed again.
template <typename Refine>
void bound_servos(StepContext& s, const Refine& refine);
void bound_servos(StepContext& s);

// Looks where the velocity that came out leads: what overlaps there and was not foreseen joins the contacts
// (sim/late_contacts.hpp), and the step is solved again; seldom, and at most eight times. True: a body that slept was
// met, which is awake now, and the step begins anew, with begin.
[[nodiscard]] bool meet(StepContext& s);

// Moves the configuration by the new velocity for what remains of the step, out of violations, and the state to its
// end.
void integrate(StepContext& s);
// The parts of it that are left after work.q was moved by the caller.
void recover(StepContext& s);
void finish_motion(StepContext& s);

// What the step did: counts, violations, forces of contacts, energy; keeps the impulses for the next step.
void account(StepContext& s);

// --- implementation ---

// Puts the contacts of what sleeps at the front of s.contact_forces.
void list_resting_contacts(StepContext& s);
// What is held in place keeps its velocity: zero.
void hold_resting(const StepContext& s, VectorX& v);
// Whether the user has moved mocap bodies since the step before.
bool mocap_moves(const StepContext& s);
// Of all rows at the end of the step; then the way out of violations, found by the position pass, not taken. Whether
// there is one.
void compute_row_velocity(StepContext& s);
bool run_pass(StepContext& s, double time, double reach);
// Of a block of the last solve.
ContactForce contact_force(const StepContext& s, const Contact& contact, int block);

// Whether servos exceeded their limits; then free motion is that with other bounds.
bool find_exceeding_servos(StepContext& s);

template <typename Refine>
void bound_servos(StepContext& s, const Refine& refine) {
  constexpr int kRounds = 4;
  for (int i = 0; i < kRounds && find_exceeding_servos(s); ++i) {
    refine();
    s.report.forget_solve();
    assemble(s);
    solve(s);
  }
}

}  // namespace touchstone::stage
