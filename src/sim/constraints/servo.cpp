#include "touchstone/sim/constraints/servo.hpp"

#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/forces.hpp"

namespace touchstone {

void ServoKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  const Model& model = step.model;
  const double zero = 0.0;
  for (int u = 0; u < model.nu; ++u) {
    if (step.data.servo_mode[at(u)] != ServoMode::kBounded) continue;
    const Actuator& actuator = model.actuators[at(u)];
    const Vector2 range = servo_range(model, step.data, u);
    writer.begin(kKind, u);
    writer.blocks().add_box(step.h * range[0], step.h * range[1]);
    double length = 1.0;
    if (actuator.transmission == TransmissionType::kJoint) {
      const int dof = model.joint_dof[at(actuator.target)];
      const double moment = step.data.actuator_moment(dof, u);
      writer.add_dof(dof, 0, moment);
      length = step.weights.dof_length[dof] / std::abs(moment);
    } else {
      for (const Tendon::Term& term : model.tendons[at(actuator.target)].terms) {
        const int dof = model.joint_dof[at(term.joint)];
        writer.add_dof(dof, 0, step.data.actuator_moment(dof, u));
      }
      length = step.weights.tendon_length[actuator.target] / std::abs(actuator.gear[0]);
    }
    writer.end(&zero, &length);
  }
}

void ServoKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  const int u = c.list[at(block)].index, row = c.blocks.row[at(block)];
  const double gain = step.data.servo_gain[u];
  c.compliance[row] = 1.0 / gain;
  c.bias[row] = -(step.h * step.data.servo_force[u] / gain + step.data.actuator_velocity[u]);
}

void ServoKind::soft_law(const ConstraintStep&, int, Constraints&) {}  // servos are explicit in this model

std::string ServoKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("force limit of actuator '{}'", model.actuators[at(constraint.index)].name);
}

}  // namespace touchstone
