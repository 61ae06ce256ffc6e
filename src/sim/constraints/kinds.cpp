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

const MocapVelocity* mocap_carrier(const Model& model, std::span<const MocapVelocity> velocities, int body) {
  for (; body > 0; body = model.bodies[at(body)].parent) {
    const int mocap = model.body_kernels[at(body)].mocap;
    if (mocap >= 0) return &velocities[at(mocap)];
    if (model.body_last_dof[at(body)] >= 0) return nullptr;
  }
  return nullptr;
}

bool mocap_rates(const ConstraintScene& scene, std::span<const MocapVelocity> velocities, const Constraints& c,
                 int block, double* rates) {
  if (velocities.empty()) return false;
  const Constraint& constraint = c.list[at(block)];
  const int first = c.blocks.row[at(block)], m = c.blocks.size(block);
  for (int r = 0; r < m; ++r) {
    double unit[kMaxBlockSize] = {};
    unit[r] = 1.0;
    PairWrench wrench;
    if (!entry_of(constraint.kind).wrench(scene, constraint, unit, wrench)) return false;
    const MocapVelocity* a = mocap_carrier(scene.model, velocities, wrench.body_a);
    const MocapVelocity* b = mocap_carrier(scene.model, velocities, wrench.body_b);
    if (a == nullptr && b == nullptr) return false;
    rates[r] = 0.0;
    if (a != nullptr) rates[r] -= dot(wrench.force, a->at(wrench.point_a)) + dot(wrench.torque, a->angular);
    if (b != nullptr) rates[r] += dot(wrench.force, b->at(wrench.point_b)) + dot(wrench.torque, b->angular);
    if (!(std::abs(rates[r]) * c.row_length[at(first + r)] < kFastestMocap)) return false;
  }
  return true;
}

void follow_mocap(const ConstraintStep& step, int block, Constraints& c) {
  double rates[kMaxBlockSize] = {};
  if (!mocap_rates(step, step.mocap_velocity, c, block, rates)) return;
  for (int r = 0; r < c.blocks.size(block); ++r) c.bias[c.blocks.row[at(block)] + r] += rates[r];
}

}  // namespace touchstone
