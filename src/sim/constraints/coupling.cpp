#include "touchstone/sim/constraints/coupling.hpp"

#include <array>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/sim/constraints/loop_joint.hpp"

namespace touchstone {
namespace {

struct Value {
  double f = 0.0, slope = 0.0;
};

Value polynomial(const std::array<double, 5>& c, double x) {
  Value p;
  for (int k = 4; k >= 0; --k) {
    p.slope = p.slope * x + p.f;
    p.f = p.f * x + c[at(k)];
  }
  return p;
}

// One side of a coupling: a joint of a tree, or a coordinate of a loop joint.
struct Side {
  int joint = -1, coordinate = -1;

  bool exists() const { return joint >= 0; }
  bool is_loop() const { return coordinate >= 0; }
  const LoopJoint& loop(const Model& model) const { return model.loop_joints[at(joint)]; }
  bool is_rotation(const Model& model) const { return touchstone::is_rotation(loop(model).type, coordinate); }

  double displacement(const ConstraintStep& step) const {
    if (!is_loop()) {
      const int q = step.model.joint_q[at(joint)];
      return step.state.q[q] - step.model.reference_q[q];
    }
    LoopRow rows[kMostLoopCoordinates];
    loop_coordinates(step.model, step.data, step.state.loop_memory(), joint, rows);
    return rows[coordinate].value - loop(step.model).coordinates[at(coordinate)].reference;
  }
  void add(const ConstraintStep& step, double factor, ConstraintWriter& writer) const {
    if (!is_loop()) return writer.add_dof(step.model.joint_dof[at(joint)], 0, factor);
    LoopRow rows[kMostLoopCoordinates];
    loop_coordinates(step.model, step.data, step.state.loop_memory(), joint, rows);
    LoopRow& row = rows[coordinate];
    row.linear = row.linear * factor;
    row.angular = row.angular * factor;
    writer.add_pair(pair_rows(loop(step.model), moving_frames(step.model, step.data, loop(step.model)), &row, 1));
  }
  double weight(const Model& model, const ReferenceWeights& weights) const {
    if (!exists()) return 0.0;
    if (is_loop()) return loop_weight(weights, loop(model), is_rotation(model));
    return weights.dof[model.joint_dof[at(joint)]];
  }
  double length(const ConstraintStep& step) const {
    if (is_loop()) return loop_length(step, loop(step.model), is_rotation(step.model));
    return step.weights.dof_length[step.model.joint_dof[at(joint)]];
  }
};

Side first(const Equality& e) { return {e.a, e.coordinate_a}; }
Side second(const Equality& e) { return {e.b, e.coordinate_b}; }

double tendon_displacement(const ConstraintStep& step, int t) {
  double reference = 0.0;
  for (const Tendon::Term& term : step.model.tendons[at(t)].terms) {
    reference += term.coefficient * step.model.reference_q[step.model.joint_q[at(term.joint)]];
  }
  return step.data.tendon_length[t] - reference;
}

}  // namespace

void JointCoupling::add(const ConstraintStep& step, const Equality& e, ConstraintWriter& writer) {
  const Side y = first(e), x = second(e);
  const Value p = x.exists() ? polynomial(e.polynomial, x.displacement(step)) : Value{e.polynomial[0], 0.0};
  const double error = y.displacement(step) - p.f, length = y.length(step);
  writer.blocks().add_equality(1);
  y.add(step, 1.0, writer);
  if (x.exists()) x.add(step, -p.slope, writer);
  writer.end(&error, &length);
}

double JointCoupling::weight(const Model& model, const ReferenceWeights& weights, const Equality& e, int) {
  return first(e).weight(model, weights) + second(e).weight(model, weights);
}

void TendonCoupling::add(const ConstraintStep& step, const Equality& e, ConstraintWriter& writer) {
  const Value p = e.b >= 0 ? polynomial(e.polynomial, tendon_displacement(step, e.b)) : Value{e.polynomial[0], 0.0};
  const double error = tendon_displacement(step, e.a) - p.f;
  writer.blocks().add_equality(1);
  writer.add_tendon(e.a, 1.0);
  if (e.b >= 0) writer.add_tendon(e.b, -p.slope);
  writer.end(&error, &step.weights.tendon_length[e.a]);
}

double TendonCoupling::weight(const Model&, const ReferenceWeights& weights, const Equality& e, int) {
  return weights.tendon[e.a] + (e.b >= 0 ? weights.tendon[e.b] : 0.0);
}

}  // namespace touchstone
