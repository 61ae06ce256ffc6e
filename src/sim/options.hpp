// What a user may choose about a simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/collision/options.hpp"

namespace touchstone {

enum class Integrator : std::uint8_t {
  kSemiImplicitEuler,  // forces and constraints at the start of the step
  kMoreauMidpoint,     // at the configuration half a step ahead (Moreau's time stepping)
  kVariational,        // the same, with free motion by the variational midpoint rule (dynamics/variational.hpp)
  kEvent,              // smooth motion from event to event, impacts in between (sim/events/)
  kContactImplicit,    // the variational rule with impulses in its action, and constraints at the end of the step
};

enum class ConstraintModel : std::uint8_t {
  kRigid,   // hard contacts, limits and equalities, or physical compliance where materials have it
  kMujoco,  // MuJoCo's softened ones: solref, solimp, impratio and the cone of the model (sim/models/soft.hpp)
};

// How violated contacts, limits and equalities of the hard model are brought back.
enum class Stabilisation : std::uint8_t {
  kPosition,   // the configuration is moved after the step (sim/position_pass.hpp)
  kBaumgarte,  // the contact problem asks for a velocity
};

// Kinds of constraints whose violations may be brought back each in a way of its own.
enum class StabilisedKind : std::uint8_t { kLoop, kLimit, kContact };

// Whether loops (equalities and loop joints) of the hard model give way.
enum class LoopSoftening : std::uint8_t {
  kNone,
  kImpedance,  // each as a spring and damper, by its own solref and solimp, as in MuJoCo (sim/models/soft.hpp)
};

// How far loops (equalities) are closed after a step, with Stabilisation::kPosition.
enum class LoopClosing : std::uint8_t {
  kPass,    // one pass with all other violations: to second order in the way of a step
  kClosed,  // repeated until no error is above loop_tolerance (sim/closure.hpp)
};

// How violated constraints are brought back, and when contacts bounce.
struct StabilisationOptions {
  Stabilisation method = Stabilisation::kPosition;
  double time_constant = 0.004;  // s, kPosition: violations fall to 1/e in this time
  double erp = 0.2;              // kBaumgarte: share of a violation that one step removes
  // Baumgarte for one kind alone: the share of its violations that a step removes, whatever the method is; 0: they are
  // left alone. Negative: as the method says.
  double loop_erp = -1.0, limit_erp = -1.0, contact_erp = -1.0;
  double slop = 2e-4;           // m or rad; contacts and limits may be violated so much without being pushed back
  double recovery_speed = 1.0;  // m/s; violations are left at most so fast, but for equalities with kBaumgarte
  LoopClosing loops = LoopClosing::kPass;
  LoopSoftening loop_softening = LoopSoftening::kNone;
  double loop_tolerance = 1e-9;        // m, kClosed
  double restitution_threshold = 0.1;  // m/s or rad/s; slower impacts do not bounce

  bool softens_loops() const { return loop_softening == LoopSoftening::kImpedance; }
  // The share of a kind's violation that the contact problem asks to be removed in a step.
  double share_of(StabilisedKind kind) const;
  // Whether the position pass brings a kind back.
  bool passes(StabilisedKind kind) const;
  bool any_passes() const;
};

// Contacts of the compliant solvers (sap, lagged, similar; docs/compliant.md).
struct ContactLawOptions {
  double stiction_tolerance = 1e-4;  // m/s: contacts that stick creep slower than this
  double sigma = 1e-3;               // friction of strong impacts is softened by sigma / m; 0: not (not with sap)
  double near_rigid = 1.0;           // steps: period of contacts whose materials have no stiffness
  double dissipation = 50.0;         // s/m: Hunt and Crossley's, of contacts whose materials have no stiffness
  bool linear_damping = false;       // lagged and similar: relaxation times in place of dissipations
};

// What is watched at each step, and when it is worth a warning (StepReport::warnings).
struct WatchOptions {
  bool energy = true;         // keep an account of energy; its kinematics serve the next step
  double energy_jump = 0.2;   // energy out of nothing in one step, as a share of the kinetic energy
  double penetration = 5e-3;  // m
};

enum class SleepMode : std::uint8_t {
  kModel,  // as the model says (MJCF's flag `sleep`); off unless it does
  kOff,
  kOn,
};

// Islands of bodies that rest are left alone until something happens to them (sim/sleep.hpp).
struct SleepOptions {
  SleepMode mode = SleepMode::kModel;
  double speed = 0.0;  // m/s: bodies below it rest, turns count by the body's length; 0: kSleepSpeed, or the model's
  double time = 0.5;   // s: how long they must
};

// How smooth motion between events is integrated.
enum class SmoothRule : std::uint8_t {
  kDormandPrince,  // fifth order, its size chosen by EventOptions::tolerance
  kRungeKutta,     // the classical one of fourth order, one for each time step unless events divide it
  kMidpoint,       // the implicit midpoint rule, of second order, one for each time step as well
  kVariational,    // the variational midpoint rule with knots at events: unequal steps (sim/events/knot_step.hpp)
};

enum class RootMethod : std::uint8_t { kBrent, kBisection };

// What a coefficient of restitution means.
enum class ImpactLaw : std::uint8_t {
  kNewton,   // velocities: it leaves with e times the speed of its approach
  kPoisson,  // impulses: those of the expansion are e times those of the compression
};

// Contacts that meet at one time.
enum class ImpactOrder : std::uint8_t {
  kTogether,  // are one problem
  kSequence,  // are solved one by one, the fastest first, until none approaches
};

// Friction of impacts (sim/events/impact_cones.hpp).
enum class ImpactCone : std::uint8_t {
  kExact,   // Coulomb's cone
  kLinear,  // a pyramid whose edges lie in it: EventOptions::cone_directions of them
  kSmooth,  // sqrt(|lambda_t|^2 + eps^2) - eps <= mu lambda_n, eps: EventOptions::cone_smoothing
};

// Integrator::kEvent (docs/choose-an-integrator.md).
struct EventOptions {
  SmoothRule rule = SmoothRule::kDormandPrince;
  RootMethod root = RootMethod::kBrent;
  ImpactLaw impact_law = ImpactLaw::kNewton;
  ImpactOrder impact_order = ImpactOrder::kTogether;
  double tolerance = 1e-9;  // m and m/s: error that one smooth step of Dormand-Prince may make
  ImpactCone impact_cone = ImpactCone::kExact;
  int cone_directions = 4;              // kLinear: a multiple of 4
  double cone_smoothing = 1e-3;         // N s, kSmooth
  double tangential_restitution = 0.0;  // of impacts that stick: they leave with this share of their slip, reversed
  int max_events = 100;                 // in one time step; the rest of it is made by time stepping
};

struct SimulatorOptions {
  double time_step = 0.0;                   // s; 0: that of the model
  std::string solver = "auto";              // a name of the solver catalogue
  std::vector<std::string> solver_options;  // "name=value" each
  double tolerance = 1e-6;                  // relative natv that the solver is asked for
  int max_iterations = 0;                   // 0: the solver's own limit
  Integrator integrator = Integrator::kSemiImplicitEuler;
  // kMujoco: the convex problem that MuJoCo solves, by ccp-newton if `solver` is "auto"; forces at the start of the
  // step, then damping as the model's integrator says (Euler: joint dampers; implicitfast: those of actuators and
  // tendons too; others are taken for Euler's).
  ConstraintModel constraints = ConstraintModel::kRigid;
  StabilisationOptions stabilisation;
  ContactLawOptions laws;
  CollisionOptions collision;
  WatchOptions watch;
  SleepOptions sleep;
  EventOptions events;
  int substeps = 1;  // a step is so many equal ones, with the same input; the report is that of all of them
  // m: a step is made in parts whose size follows from the error of positions that is allowed (sim/error_control.hpp),
  // turns by the length of what turns; 0: steps of one size.
  double accuracy = 0.0;
  double min_step = 1e-6;    // s: smaller parts are not tried, whatever the accuracy
  bool swept_margin = true;  // look for contacts as far as bodies move in a step
  bool warm_start = true;
  int threads = 1;      // that share the islands of a step; 0: one for each processor. The bits do not depend on it
  bool islands = true;  // groups of bodies that do not touch each other are solved one by one
  // Models whose paths to the root are long are stepped without a mass matrix, where all else allows it
  // (step_context.cpp): in time linear in bodies and loops. Derivatives of steps need the matrix.
  bool long_trees = true;

  // Throws Error naming the field, its value and what is allowed.
  void validate() const;
};

}  // namespace touchstone
