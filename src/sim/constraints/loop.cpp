#include "touchstone/sim/constraints/loop.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/sim/constraints/connect.hpp"
#include "touchstone/sim/constraints/coupling.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/constraints/weld.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {
namespace {

// A type as a row of a table; see LoopModule for what the functions do.
struct TypeEntry {
  EqualityType type;
  void (*add)(const ConstraintStep&, const Equality&, ConstraintWriter&);
  void (*drift)(const ConstraintScene&, const Equality&, double*);
  double (*weight)(const Model&, const ReferenceWeights&, const Equality&, int);
  bool (*wrench)(const ConstraintScene&, const Equality&, const double*, PairWrench&);
};

template <LoopModule... Types>
constexpr std::array<TypeEntry, sizeof...(Types)> list_of() {
  return {{{Types::kType, &Types::add, &Types::drift, &Types::weight, &Types::wrench}...}};
}

constexpr auto kTypes = list_of<ConnectLoop, WeldLoop, JointCoupling, TendonCoupling>();

constexpr bool types_are_in_order() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].type != static_cast<EqualityType>(i)) return false;
  }
  return true;
}
static_assert(types_are_in_order(), "types are listed in the order of EqualityType");

const TypeEntry& entry_of(const Equality& equality) { return kTypes[static_cast<std::size_t>(equality.type)]; }

}  // namespace

Vec3 point_drift(const ConstraintScene& scene, int body, Vec3 p) {
  return Vec3(Vector3(point_acceleration(scene.model, scene.data, body, p.eigen()).head<3>()));
}

void world_axes(double scale, Vec3* axes) {
  axes[0] = Vec3(scale, 0, 0);
  axes[1] = Vec3(0, scale, 0);
  axes[2] = Vec3(0, 0, scale);
}

double equality_weight(const Model& model, const ReferenceWeights& weights, const Equality& equality, int row) {
  return entry_of(equality).weight(model, weights, equality, row);
}

void equality_drift(const ConstraintScene& scene, const Equality& equality, double* drift) {
  entry_of(equality).drift(scene, equality, drift);
}

void LoopKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  if (!step.model.options.equalities_enabled) return;
  for (const int i : step.data.scope.equalities) {
    const Equality& equality = step.model.equalities[at(i)];
    if (!equality.active) continue;
    writer.begin(kKind, i);
    entry_of(equality).add(step, equality, writer);
  }
}

void LoopKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  if (step.stabilisation.softens_loops()) return soft_law(step, block, c);
  const Equality& equality = step.model.equalities[at(c.list[at(block)].index)];
  const int first = c.blocks.row[at(block)], end = c.blocks.row[at(block + 1)];
  for (int row = first; row < end; ++row) {
    hard::set_bilateral(step, row, equality_weight(step.model, step.weights, equality, row - first), c);
  }
  follow_mocap(step, block, c);
}

void LoopKind::soft_law(const ConstraintStep& step, int block, Constraints& c) {
  const Equality& equality = step.model.equalities[at(c.list[at(block)].index)];
  const int first = c.blocks.row[at(block)], last = c.blocks.row[at(block + 1)] - 1;
  double squared = 0.0;
  for (int row = first; row <= last; ++row) squared += c.position[at(row)] * c.position[at(row)];
  const double r = first == last ? c.position[at(first)] : std::sqrt(squared);
  for (int row = first; row <= last; ++row) {
    soft::set_row(step, row, equality.impedance, r, false,
                  equality_weight(step.model, step.weights, equality, row - first), c);
  }
}

bool LoopKind::wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                      PairWrench& wrench) {
  const Equality& equality = scene.model.equalities[at(constraint.index)];
  return entry_of(equality).wrench(scene, equality, impulse, wrench);
}

WarmStartKey LoopKind::key(std::span<const Contact>, const Constraint& constraint) {
  return key_of_element(constraint);
}

std::string LoopKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("equality '{}'", model.equalities[at(constraint.index)].name);
}

}  // namespace touchstone
