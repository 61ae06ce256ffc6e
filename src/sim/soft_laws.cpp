#include "touchstone/sim/soft_laws.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/model/impedance.hpp"

namespace touchstone {
namespace {

constexpr double kLeastImpedance = 1e-4, kLargestImpedance = 0.9999;
constexpr double kTiny = 1e-15;  // below this a number counts as zero
constexpr double kLeastFriction = 1e-5;

std::array<double, 5> within_bounds(const std::array<double, 5>& s) {
  const auto clip = [](double x) { return std::clamp(x, kLeastImpedance, kLargestImpedance); };
  return {clip(s[0]), clip(s[1]), std::max(0.0, s[2]), clip(s[3]), std::max(1.0, s[4])};
}

// Stiffness and damping of the reference acceleration.
ReferenceSpring reference_of(const Impedance& impedance, bool safe, double h) {
  const double dmax = within_bounds(impedance.solimp)[1];
  const ReferenceSpring spring = reference_spring(impedance.solref, safe ? 2.0 * h : 0.0);
  return {spring.stiffness / (dmax * dmax), spring.damping / dmax};
}

class SoftLaws {
 public:
  SoftLaws(const Model& model, const ReferenceWeights& weights, double h, Constraints& c)
      : model_(model), weights_(weights), h_(h), c_(c) {}

  // One row; `distance` is the r that the impedance sees (all rows of a block share it).
  void set(int row, const Impedance& impedance, double distance, bool is_friction, double weight) {
    const double d = impedance_at(impedance.solimp, distance);
    const ReferenceSpring ref = reference_of(impedance, model_.options.safe_references, h_);
    const double K = is_friction ? 0.0 : ref.stiffness;
    c_.compliance[row] = std::max(kTiny, (1.0 - d) / d * weight);
    c_.bias[row] =
        -(1.0 - h_ * ref.damping) * c_.velocity[row] + h_ * (K * d * c_.position[at(row)] + c_.drift[at(row)]);
    c_.recovery[row] = 0.0;
  }

  void set_contact(int first, int last, const Contact& contact) {
    const Impedance& impedance = contact.material.impedance;
    const double r = c_.position[at(last)];
    const double weight = weights_.body[at(contact.body_a)][0] + weights_.body[at(contact.body_b)][0];
    for (int row = first; row <= last; ++row) set(row, impedance, r, row != last, weight);
    if (first == last) return;
    const double ratio = std::max(kTiny, model_.options.friction_impedance_ratio);
    const double mu = std::max(kLeastFriction, contact.material.friction[0]);
    if (model_.options.cone == "pyramidal") {
      c_.compliance[last] *= (1.0 + mu * mu) / ratio;
      for (int row = first; row < last; ++row) c_.compliance[row] = c_.compliance[last];
      return;
    }
    for (int row = first; row < last; ++row) {
      const double mu_j = std::max(kLeastFriction, contact.material.friction[at(row - first)]);
      c_.compliance[row] = std::max(kTiny, c_.compliance[last] / ratio * (mu / mu_j) * (mu / mu_j));
    }
  }

  void set_equality(int first, int last, const Equality& e) {
    double squared = 0.0;
    for (int row = first; row <= last; ++row) squared += c_.position[at(row)] * c_.position[at(row)];
    const double r = first == last ? c_.position[at(first)] : std::sqrt(squared);
    for (int row = first; row <= last; ++row)
      set(row, e.impedance, r, false, equality_weight(model_, weights_, e, row - first));
  }

 private:
  const Model& model_;
  const ReferenceWeights& weights_;
  const double h_;
  Constraints& c_;
};

}  // namespace

double impedance_at(const std::array<double, 5>& solimp, double r) {
  const auto [d0, dmax, width, midpoint, power] = within_bounds(solimp);
  if (d0 == dmax || width <= kTiny) return 0.5 * (d0 + dmax);
  const double x = std::abs(r) / width;
  if (x >= 1.0) return dmax;
  if (x == 0.0) return d0;
  double y = x;
  if (power != 1.0) {
    y = x <= midpoint ? std::pow(x, power) / std::pow(midpoint, power - 1.0)
                      : 1.0 - std::pow(1.0 - x, power) / std::pow(1.0 - midpoint, power - 1.0);
  }
  return d0 + y * (dmax - d0);
}

double equality_weight(const Model& model, const ReferenceWeights& weights, const Equality& e, int row) {
  const int b = e.b;
  switch (e.type) {
    case EqualityType::kConnect:
    case EqualityType::kWeld:
      return weights.body[at(e.a)][row / 3] + weights.body[at(std::max(b, 0))][row / 3];
    case EqualityType::kJoint:
      return weights.dof[model.joint_dof[at(e.a)]] + (b >= 0 ? weights.dof[model.joint_dof[at(b)]] : 0.0);
    case EqualityType::kTendon:
      return weights.tendon[e.a] + (b >= 0 ? weights.tendon[b] : 0.0);
  }
  return 0.0;
}

void set_soft_laws(const Model& model, std::span<const Contact> contacts, const ReferenceWeights& weights, double h,
                   Constraints& c) {
  SoftLaws laws(model, weights, h, c);
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int first = c.blocks.row[at(block)], last = c.blocks.row[at(block + 1)] - 1;
    const int index = constraint.index;
    const double r = c.position[at(last)];
    switch (constraint.kind) {
      case ConstraintKind::kContact:
        laws.set_contact(first, last, contacts[at(index)]);
        break;
      case ConstraintKind::kJointLimit:
        laws.set(last, model.joints[at(index)].limit_impedance, r, false, weights.dof[model.joint_dof[at(index)]]);
        break;
      case ConstraintKind::kJointFriction:
        laws.set(last, model.joints[at(model.dof_joint[at(index)])].friction_impedance, 0.0, true, weights.dof[index]);
        break;
      case ConstraintKind::kTendonLimit:
        laws.set(last, model.tendons[at(index)].limit_impedance, r, false, weights.tendon[index]);
        break;
      case ConstraintKind::kTendonFriction:
        laws.set(last, model.tendons[at(index)].friction_impedance, 0.0, true, weights.tendon[index]);
        break;
      case ConstraintKind::kEquality:
        laws.set_equality(first, last, model.equalities[at(index)]);
        break;
      case ConstraintKind::kServo:
        break;  // servos are explicit in this model
    }
  }
}

}  // namespace touchstone
