#include "touchstone/sim/rigid_laws.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/rebound.hpp"
#include "touchstone/sim/soft_laws.hpp"

namespace touchstone {
namespace {

// Compliance of equalities, as a share of what their bodies give way to. Loops at dead centre have no finite force for
// the velocity that stabilisation asks for; this bounds it, and is far below the accuracy of a step everywhere else.
constexpr double kLoopCompliance = 1e-8;

// The speed at which a violation is left, 0 within the slop.
double recovery(double gap, double h, const StabilisationOptions& s) {
  return std::max(s.erp * std::min(0.0, gap + s.slop) / h, -s.recovery_speed);
}

struct Bias {
  double total = 0.0, recovery = 0.0;
};

// A hard contact or limit: its gap, and its velocities before the step and after it without constraints.
struct Unilateral {
  double gap = 0.0, velocity = 0.0, free_velocity = 0.0;
};

// b_n. A true impact bounces; else the gap may close within `remaining`, and a penetration is left slowly.
Bias unilateral_bias(const Unilateral& u, double restitution, const Impedance& impedance, double h, double remaining,
                     const StabilisationOptions& s) {
  const double back = recovery(u.gap, remaining, s);
  if (u.velocity < -s.restitution_threshold && u.gap + remaining * u.free_velocity <= 0.0) {
    const double load = (u.velocity - u.free_velocity) / h;
    const double share = std::max(restitution, rebound(impedance, -u.velocity, load));
    const double bounce = share * u.velocity;
    if (share > 0.0) return {std::min(bounce, back), std::min(0.0, back - bounce)};
  }
  return {std::max(0.0, u.gap) / remaining + back, back};
}

// In between the limits lambda = h (force at the end of the step).
void set_servo_law(const Data& data, int actuator, double h, int row, Constraints& c) {
  const double gain = data.servo_gain[actuator];
  c.compliance[row] = 1.0 / gain;
  c.bias[row] = -(h * data.servo_force[actuator] / gain + data.actuator_velocity[actuator]);
}

}  // namespace

void set_rigid_laws(const Model& model, const ReferenceWeights& weights, std::span<const Contact> contacts,
                    const Data& data, double h, double remaining, const StabilisationOptions& s, Constraints& c) {
  const auto set = [&c](int row, Bias bias) {
    c.bias[row] = bias.total;
    c.recovery[row] = bias.recovery;
  };
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int first = c.blocks.row[at(block)], last = c.blocks.row[at(block + 1)] - 1;
    for (int r = first; r <= last; ++r) c.bias[r] = c.compliance[r] = c.recovery[r] = 0.0;
    const Unilateral u{c.position[at(last)], c.velocity[last], c.free_velocity[last]};
    switch (constraint.kind) {
      case ConstraintKind::kContact: {
        const ContactMaterial& material = contacts[at(constraint.index)].material;
        if (material.stiffness > 0.0) {
          c.compliance[last] = 1.0 / (h * remaining * material.stiffness);
          c.bias[last] = u.gap / remaining;
        } else {
          set(last, unilateral_bias(u, material.restitution, material.impedance, h, remaining, s));
        }
        break;
      }
      case ConstraintKind::kJointLimit:
        set(last, unilateral_bias(u, 0.0, model.joints[at(constraint.index)].limit_impedance, h, remaining, s));
        break;
      case ConstraintKind::kTendonLimit:
        set(last, unilateral_bias(u, 0.0, model.tendons[at(constraint.index)].limit_impedance, h, remaining, s));
        break;
      case ConstraintKind::kEquality:
        for (int r = first; r <= last; ++r) {
          const double back = s.erp * c.position[at(r)] / remaining;
          set(r, {back, back});
          const Equality& equality = model.equalities[at(constraint.index)];
          c.compliance[r] = kLoopCompliance * equality_weight(model, weights, equality, r - first);
        }
        break;
      case ConstraintKind::kServo:
        set_servo_law(data, constraint.index, h, last, c);
        break;
      case ConstraintKind::kJointFriction:
      case ConstraintKind::kTendonFriction:
        break;
    }
  }
}

}  // namespace touchstone
