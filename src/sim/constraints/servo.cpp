#include "touchstone/sim/constraints/servo.hpp"

#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/forces.hpp"

namespace touchstone {

void ServoKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  const Model& model = step.model;
  const double zero = 0.0;
  for (const int u : step.data.scope.actuators) {
    if (step.data.servo_mode[at(u)] != ServoMode::kBounded) continue;
    const ServoBlock& block = step.data.servo_block[at(u)];
    writer.begin(kKind, u);
    if (std::isinf(block.range[0]) && std::isinf(block.range[1])) {
      writer.blocks().add_equality(1);
    } else {
      writer.blocks().add_box(step.h * block.range[0], step.h * block.range[1]);
    }
    double inverse_square = 0.0;  // of the length of the row
    for (int i = 0; i < model.nv; ++i) {
      const double moment = step.data.actuator_moment(i, u);
      if (moment == 0.0) continue;
      writer.add_dof(i, 0, moment);
      const double share = moment / step.weights.dof_length[i];
      inverse_square += share * share;
    }
    const double length = 1.0 / std::sqrt(inverse_square);
    writer.end(&zero, &length);
  }
}

void ServoKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  const int u = c.list[at(block)].index, row = c.blocks.row[at(block)];
  const ServoBlock& servo = step.data.servo_block[at(u)];
  c.compliance[row] = 1.0 / servo.gain;
  c.bias[row] = -(step.h * servo.force / servo.gain + step.data.actuator_velocity[u]);
}

void ServoKind::soft_law(const ConstraintStep&, int, Constraints&) {}  // servos are explicit in this model

std::string ServoKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("servo '{}'", model.actuators[at(constraint.index)].name);
}

}  // namespace touchstone
