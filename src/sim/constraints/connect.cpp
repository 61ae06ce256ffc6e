#include "touchstone/sim/constraints/connect.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

PairRows rows_of(const ConstraintScene& scene, const Equality& e) {
  PairRows rows;
  rows.body_a = e.a;
  rows.body_b = std::max(e.b, 0);
  rows.point_a = scene.data.X_WB[at(rows.body_a)] * Vec3(e.anchor_a);
  rows.point_b = scene.data.X_WB[at(rows.body_b)] * Vec3(e.anchor_b);
  rows.count = 3;
  world_axes(1.0, rows.linear);
  return rows;
}

}  // namespace

void ConnectLoop::add(const ConstraintStep& step, const Equality& e, ConstraintWriter& writer) {
  const PairRows rows = rows_of(step, e);
  const Vec3 error = rows.point_b - rows.point_a;
  writer.blocks().add_equality(3);
  writer.add_pair(rows);
  const double position[3] = {error.x(), error.y(), error.z()}, lengths[3] = {1.0, 1.0, 1.0};
  writer.end(position, lengths);
  if (!step.needs_loop_drift()) return;
  double values[3];
  drift(step, e, values);
  writer.set_drift(Vec3(values[0], values[1], values[2]));
}

void ConnectLoop::drift(const ConstraintScene& scene, const Equality& e, double* drift) {
  const PairRows rows = rows_of(scene, e);
  const Vec3 a = point_drift(scene, rows.body_b, rows.point_b) - point_drift(scene, rows.body_a, rows.point_a);
  for (int r = 0; r < 3; ++r) drift[r] = a[r];
}

double ConnectLoop::weight(const Model&, const ReferenceWeights& weights, const Equality& e, int) {
  return weights.body[at(e.a)][0] + weights.body[at(std::max(e.b, 0))][0];
}

bool ConnectLoop::wrench(const ConstraintScene& scene, const Equality& e, const double* impulse, PairWrench& wrench) {
  wrench = wrench_of(rows_of(scene, e), impulse);
  return true;
}

}  // namespace touchstone
