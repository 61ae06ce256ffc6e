#include "touchstone/sim/constraints/coupling.hpp"

#include <array>

#include "touchstone/base/index.hpp"

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

double joint_displacement(const ConstraintStep& step, int joint) {
  const int q = step.model.joint_q[at(joint)];
  return step.state.q[q] - step.model.reference_q[q];
}

double tendon_displacement(const ConstraintStep& step, int t) {
  double reference = 0.0;
  for (const Tendon::Term& term : step.model.tendons[at(t)].terms) {
    reference += term.coefficient * step.model.reference_q[step.model.joint_q[at(term.joint)]];
  }
  return step.data.tendon_length[t] - reference;
}

}  // namespace

void JointCoupling::add(const ConstraintStep& step, const Equality& e, ConstraintWriter& writer) {
  const Value p = e.b >= 0 ? polynomial(e.polynomial, joint_displacement(step, e.b)) : Value{e.polynomial[0], 0.0};
  const double error = joint_displacement(step, e.a) - p.f;
  const int dof = step.model.joint_dof[at(e.a)];
  writer.blocks().add_equality(1);
  writer.add_dof(dof, 0, 1.0);
  if (e.b >= 0) writer.add_dof(step.model.joint_dof[at(e.b)], 0, -p.slope);
  writer.end(&error, &step.weights.dof_length[dof]);
}

double JointCoupling::weight(const Model& model, const ReferenceWeights& weights, const Equality& e, int) {
  return weights.dof[model.joint_dof[at(e.a)]] + (e.b >= 0 ? weights.dof[model.joint_dof[at(e.b)]] : 0.0);
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
