#include "touchstone/sim/constraints/kinds.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/constraints/contact.hpp"
#include "touchstone/sim/constraints/joint_friction.hpp"
#include "touchstone/sim/constraints/joint_limit.hpp"
#include "touchstone/sim/constraints/loop.hpp"
#include "touchstone/sim/constraints/loop_coordinate.hpp"
#include "touchstone/sim/constraints/loop_joint.hpp"
#include "touchstone/sim/constraints/servo.hpp"
#include "touchstone/sim/constraints/tendon_friction.hpp"
#include "touchstone/sim/constraints/tendon_limit.hpp"
#include "touchstone/sim/constraints/tendon_spring.hpp"

namespace touchstone {
namespace {

template <ConstraintModule... Kinds>
constexpr std::array<KindEntry, sizeof...(Kinds)> list_of() {
  return {{{Kinds::kKind, Kinds::kName, Kinds::kViolation, Kinds::kWork, &Kinds::add, &Kinds::hard_law,
            &Kinds::soft_law, &Kinds::wrench, &Kinds::key, &Kinds::describe}...}};
}

constexpr auto kKinds =
    list_of<ContactKind, JointLimitKind, JointFrictionKind, TendonLimitKind, TendonFrictionKind, LoopKind, ServoKind,
            TendonSpringKind, LoopJointKind, LoopLimitKind, LoopFrictionKind, LoopSpringKind>();

constexpr bool kinds_are_in_order() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i].kind != static_cast<ConstraintKind>(i)) return false;
  }
  return true;
}
static_assert(kinds_are_in_order(), "kinds are listed in the order of ConstraintKind");

}  // namespace

std::span<const KindEntry> constraint_kinds() { return kKinds; }

const KindEntry& entry_of(ConstraintKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

const char* to_string(ConstraintKind kind) { return entry_of(kind).name; }

double violation_of(const Constraints& c, int block) {
  const int first = c.blocks.row[at(block)], end = c.blocks.row[at(block + 1)];
  double worst = 0.0;
  switch (entry_of(c.list[at(block)].kind).violation) {
    case Violation::kNone:
      break;
    case Violation::kOverlap:
      return std::max(0.0, -c.position[at(end - 1)]);
    case Violation::kOneSided:
      for (int r = first; r < end; ++r) worst = std::max(worst, -c.position[at(r)]);
      break;
    case Violation::kTwoSided:
      for (int r = first; r < end; ++r) worst = std::max(worst, std::abs(c.position[at(r)]));
      break;
  }
  return worst;
}

std::string describe(const Model& model, const Constraints& constraints, std::span<const Contact> contacts, int block) {
  const Constraint& constraint = constraints.list[at(block)];
  return entry_of(constraint.kind).describe(model, contacts, constraint);
}

namespace {

// The mocap body that carries a body, none if nothing does.
const MocapVelocity* carrier_of(const ConstraintStep& step, int body) {
  for (; body > 0; body = step.model.bodies[at(body)].parent) {
    const int mocap = step.model.body_kernels[at(body)].mocap;
    if (mocap >= 0) return &step.mocap_velocity[at(mocap)];
    if (step.model.body_last_dof[at(body)] >= 0) return nullptr;
  }
  return nullptr;
}

}  // namespace

void follow_mocap(const ConstraintStep& step, int block, Constraints& c) {
  if (step.mocap_velocity.empty()) return;
  const Constraint& constraint = c.list[at(block)];
  const int first = c.blocks.row[at(block)], m = c.blocks.size(block);
  double rate[6] = {};
  for (int r = 0; r < m; ++r) {
    double unit[6] = {};
    unit[r] = 1.0;
    PairWrench wrench;
    if (!entry_of(constraint.kind).wrench(step, constraint, unit, wrench)) return;
    const MocapVelocity* a = carrier_of(step, wrench.body_a);
    const MocapVelocity* b = carrier_of(step, wrench.body_b);
    if (a != nullptr) rate[r] -= dot(wrench.force, a->at(wrench.point_a)) + dot(wrench.torque, a->angular);
    if (b != nullptr) rate[r] += dot(wrench.force, b->at(wrench.point_b)) + dot(wrench.torque, b->angular);
    if (!(std::abs(rate[r]) * c.row_length[at(first + r)] < kFastestMocap)) return;
  }
  for (int r = 0; r < m; ++r) c.bias[first + r] += rate[r];
}

}  // namespace touchstone
