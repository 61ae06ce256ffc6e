// What a kind of constraint is: one module that answers everything the simulator asks about it.
//
// A kind is a struct of static functions (contact.hpp, joint_limit.hpp, ...), checked by the concept at the end and
// listed in kinds.hpp. Nothing else of the simulator knows what a kind looks like inside.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>

#include "touchstone/dynamics/data.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/detection/contact.hpp"
#include "touchstone/sim/models/rules.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/sim/reference_weights.hpp"

namespace touchstone {

// Where constraints are: enough to say which bodies and joints one acts on, and how.
struct ConstraintScene {
  const Model& model;
  const Data& data;  // forward_kinematics
  std::span<const Contact> contacts;
  const ConstraintRules& rules;
};

// How a mocap body moves, by the change of its pose from step to step.
struct MocapVelocity {
  Vec3 position;  // of its origin
  Vec3 linear, angular;

  Vec3 at(Vec3 point) const { return linear + cross(angular, point - position); }
};
constexpr double kFastestMocap = 10.0;  // m/s: what is faster has been put elsewhere, and has no velocity

// One step as its constraints see it. `data` is that of compute_free_motion for the same state and step (kinematics,
// velocities, v_free).
struct ConstraintStep : ConstraintScene {
  const Parameters& parameters;
  const State& state;  // where constraints are evaluated
  const ReferenceWeights& weights;
  double h;          // s
  double remaining;  // s: how long the next velocity will act on the configuration `state`; h for Euler's rule
  const StabilisationOptions& stabilisation;
  double reach = 0.0;  // m: how much farther than the slop limits are looked for
  std::span<const MocapVelocity> mocap_velocity = {};
  ContactLawOptions laws = {};
  const VectorX* loop_velocity = nullptr;  // nv: StepContext::loop_velocity

  // Whether rows of loops need dJ/dt v: those of springs and dampers are laws of accelerations.
  bool needs_loop_drift() const { return rules.mujoco_loops || stabilisation.softens_loops(); }

  // Whether a limit with this gap and these rates (before the step, and after it without constraints) takes part.
  // Twice the way of a step: the constraint may speed things up, and one that stays open costs little.
  bool reaches(double gap, double rate, double free_rate) const;
};

// Rows that compare the motion of two bodies: row r is linear[r].(v_b - v_a) + angular[r].(w_b - w_a), v_a and v_b the
// velocities of the material points that are at point_a and point_b.
struct PairRows {
  int body_a = 0, body_b = 0;
  Vec3 point_a, point_b;
  int count = 0;
  Vec3 linear[6], angular[6];
};

// What a constraint does to two bodies: [force, torque] on body b at point_b, the opposite on body a at point_a. An
// impulse (N s, N m s) if made from impulses. World axes.
struct PairWrench {
  int body_a = 0, body_b = 0;
  Vec3 point_a, point_b;
  Vec3 force, torque;
};

// From the rows and an impulse of each: the work of the wrench is that of the rows.
PairWrench wrench_of(const PairRows& rows, const double* impulse);

// The radius of gyration of the smaller of two bodies, for relative rotations; what does not move does not count.
double pair_length(const ConstraintStep& step, int a, int b);

// How the `position` of a row is read.
enum class Violation : std::uint8_t {
  kNone,      // it has none
  kOverlap,   // contacts: the gap of the last row, violated when negative
  kOneSided,  // a gap, violated when negative
  kTwoSided,  // an error, violated when not zero
};

// Whose work the impulses of a kind do, in the account of energy.
enum class Work : std::uint8_t { kConstraint, kActuator, kElsewhere };

// What a constraint is known by from step to step.
struct WarmStartKey {
  std::uint64_t owner = 0, feature = 0;
  bool operator<(const WarmStartKey& o) const { return owner != o.owner ? owner < o.owner : feature < o.feature; }
  bool operator==(const WarmStartKey&) const = default;
};

// That of a constraint which is known by its kind, index and side.
WarmStartKey key_of_element(const Constraint& constraint);

// What kinds have in common whose impulses act on joints, by J' impulse, and that are known by their element.
struct JointSpaceKind {
  static bool wrench(const ConstraintScene&, const Constraint&, const double*, PairWrench&) { return false; }
  static WarmStartKey key(std::span<const Contact>, const Constraint& constraint) { return key_of_element(constraint); }
};

template <typename Kind>
concept ConstraintModule = requires(const ConstraintStep& step, const ConstraintScene& scene, ConstraintWriter& writer,
                                    int block, Constraints& constraints, const Constraint& constraint,
                                    const double* impulse, PairWrench& wrench) {
  { Kind::kKind } -> std::convertible_to<ConstraintKind>;
  { Kind::kName } -> std::convertible_to<const char*>;
  { Kind::kViolation } -> std::convertible_to<Violation>;
  { Kind::kWork } -> std::convertible_to<Work>;
  // The rows of this kind in the step.
  { Kind::add(step, writer) } -> std::same_as<void>;
  // Bias, compliance and recovery of one block, which are zero before. Position and velocities are known.
  { Kind::hard_law(step, block, constraints) } -> std::same_as<void>;
  { Kind::soft_law(step, block, constraints) } -> std::same_as<void>;
  // The wrench of a block's impulses on bodies; false if it acts on joints, by J' impulse.
  { Kind::wrench(scene, constraint, impulse, wrench) } -> std::same_as<bool>;
  { Kind::key(scene.contacts, constraint) } -> std::same_as<WarmStartKey>;
  // "contact of 'foot' and 'floor'".
  { Kind::describe(scene.model, scene.contacts, constraint) } -> std::same_as<std::string>;
};

}  // namespace touchstone
