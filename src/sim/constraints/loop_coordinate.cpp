#include "touchstone/sim/constraints/loop_coordinate.hpp"

#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/sim/constraints/loop_joint.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {
namespace {

// A coordinate of the model: its joint, and which it is there.
struct Place {
  const LoopJoint& joint;
  int j, k;

  const LoopCoordinate& coordinate() const { return joint.coordinates[at(k)]; }
  bool is_rotation() const { return touchstone::is_rotation(joint.type, k); }
};

Place place_of(const Model& model, int coordinate) {
  const int j = loop_joint_of(model, coordinate);
  return {model.loop_joints[at(j)], j, coordinate - model.loop_coordinate[at(j)]};
}

// The rows of the coordinates of a joint, with their frames.
struct Coordinates {
  LoopFrames frames;
  LoopRow rows[kMostLoopCoordinates];

  Coordinates(const ConstraintStep& step, int j) : frames(moving_frames(step.model, step.data, joint(step, j))) {
    const std::span<const double> memory = step.state.loop_memory();
    loop_coordinates(joint(step, j), frames,
                     memory.subspan(at(step.model.loop_coordinate[at(j)]), joint(step, j).coordinates.size()), rows);
  }
  static const LoopJoint& joint(const ConstraintStep& step, int j) { return step.model.loop_joints[at(j)]; }
};

// Calls use(j, k, coordinate) for the coordinates that take part.
template <typename Wanted, typename Use>
void for_wanted(const ConstraintStep& step, const Wanted& wanted, const Use& use) {
  for (const int j : step.data.scope.loop_joints) {
    const LoopJoint& joint = step.model.loop_joints[at(j)];
    if (!joint.active) continue;
    for (int k = 0; k < static_cast<int>(joint.coordinates.size()); ++k) {
      if (wanted(joint.coordinates[at(k)])) use(j, k, joint.coordinates[at(k)]);
    }
  }
}

LoopRow times(const LoopRow& row, double s) {
  LoopRow scaled;
  scaled.linear = row.linear * s;
  scaled.angular = row.angular * s;
  return scaled;
}

// The whole angle of a spherical joint, with its gradient.
LoopRow ball_angle(const LoopFrames& frames, const LoopRow* spin) {
  const Vec3 turn(spin[0].value, spin[1].value, spin[2].value);
  LoopRow row;
  row.value = std::sqrt(dot(turn, turn));
  if (row.value > 0.0) row.angular = frames.X_WB.R * turn * (1.0 / row.value);  // its axis is the same in both frames
  return row;
}

void begin_row(const ConstraintStep& step, ConstraintKind kind, int j, int k, int side, ConstraintWriter& writer) {
  writer.begin(kind, step.model.loop_coordinate[at(j)] + k, side);
}

void add_limit(const ConstraintStep& step, int j, int k, int side, const LoopFrames& frames, const LoopRow& row,
               ConstraintWriter& writer) {
  const LoopJoint& joint = step.model.loop_joints[at(j)];
  const LoopCoordinate& c = joint.coordinates[at(k)];
  const double sign = side == 0 ? 1.0 : -1.0, gap = sign * (row.value - c.range[side]) - c.limit_margin;
  begin_row(step, LoopLimitKind::kKind, j, k, side, writer);
  writer.blocks().add_nonnegative();
  const LoopRow signed_row = times(row, sign);
  writer.add_pair(pair_rows(joint, frames, &signed_row, 1));
  if (!step.reaches(gap, writer.rate(0, step.state.v), writer.rate(0, step.data.v_free))) return writer.cancel();
  const double length = loop_length(step, joint, is_rotation(joint.type, k));
  writer.end(&gap, &length);
}

// A row along a coordinate that has no position.
void end_row(const ConstraintStep& step, int j, int k, ConstraintWriter& writer) {
  const Coordinates at_step(step, j);
  const LoopJoint& joint = step.model.loop_joints[at(j)];
  writer.add_pair(pair_rows(joint, at_step.frames, at_step.rows + k, 1));
  const double zero = 0.0, length = loop_length(step, joint, is_rotation(joint.type, k));
  writer.end(&zero, &length);
}

std::string name_of(const Model& model, int coordinate) {
  const Place place = place_of(model, coordinate);
  const std::string which = place.joint.coordinates.size() > 1 ? fmt::format(" (coordinate {})", place.k) : "";
  return fmt::format("loop joint '{}'{}", place.joint.name, which);
}

}  // namespace

bool LoopCoordinateKind::wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                                PairWrench& wrench) {
  const Place place = place_of(scene.model, constraint.index);
  const LoopFrames frames = moving_frames(scene.model, scene.data, place.joint);
  LoopRow rows[kMostLoopCoordinates];
  const double any_turn[kMostLoopCoordinates] = {};
  loop_coordinates(place.joint, frames, any_turn, rows);
  wrench = wrench_of(pair_rows(place.joint, frames, rows + place.k, 1), impulse);
  return true;
}

// --- limits ---

void LoopLimitKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  if (!step.model.options.limits_enabled) return;
  for_wanted(
      step, [](const LoopCoordinate& c) { return c.limited; },
      [&](int j, int k, const LoopCoordinate&) {
        const Coordinates now(step, j);
        if (step.model.loop_joints[at(j)].type == LoopJointType::kSpherical) {
          const LoopRow angle = ball_angle(now.frames, now.rows);
          if (angle.value > 0.0) add_limit(step, j, k, 1, now.frames, angle, writer);
          return;
        }
        for (int side = 0; side < 2; ++side) add_limit(step, j, k, side, now.frames, now.rows[k], writer);
      });
}

void LoopLimitKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  const Place place = place_of(step.model, c.list[at(block)].index);
  hard::set_unilateral(step, StabilisedKind::kLimit, c.blocks.row[at(block)], 0.0, place.coordinate().limit_impedance,
                       c);
}

void LoopLimitKind::soft_law(const ConstraintStep& step, int block, Constraints& c) {
  const Place place = place_of(step.model, c.list[at(block)].index);
  const int row = c.blocks.row[at(block)];
  soft::set_row(step, row, place.coordinate().limit_impedance, c.position[at(row)], false,
                loop_weight(step.weights, place.joint, place.is_rotation()), c);
}

bool LoopLimitKind::wrench(const ConstraintScene& scene, const Constraint& constraint, const double* impulse,
                           PairWrench& wrench) {
  const Place place = place_of(scene.model, constraint.index);
  const LoopFrames frames = moving_frames(scene.model, scene.data, place.joint);
  LoopRow rows[kMostLoopCoordinates];
  const double any_turn[kMostLoopCoordinates] = {};
  loop_coordinates(place.joint, frames, any_turn, rows);
  const bool is_ball = place.joint.type == LoopJointType::kSpherical;
  const LoopRow row = times(is_ball ? ball_angle(frames, rows) : rows[place.k], constraint.side == 0 ? 1.0 : -1.0);
  wrench = wrench_of(pair_rows(place.joint, frames, &row, 1), impulse);
  return true;
}

std::string LoopLimitKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return fmt::format("{} limit of {}", constraint.side == 0 ? "lower" : "upper", name_of(model, constraint.index));
}

// --- dry friction ---

void LoopFrictionKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  if (!step.model.options.friction_loss_enabled) return;
  for_wanted(
      step, [](const LoopCoordinate& c) { return c.friction > 0.0; },
      [&](int j, int k, const LoopCoordinate& c) {
        begin_row(step, kKind, j, k, 0, writer);
        writer.blocks().add_box(-step.h * c.friction, step.h * c.friction);
        end_row(step, j, k, writer);
      });
}

void LoopFrictionKind::hard_law(const ConstraintStep&, int, Constraints&) {}  // the coordinate stops

void LoopFrictionKind::soft_law(const ConstraintStep& step, int block, Constraints& c) {
  const Place place = place_of(step.model, c.list[at(block)].index);
  soft::set_row(step, c.blocks.row[at(block)], place.coordinate().friction_impedance, 0.0, true,
                loop_weight(step.weights, place.joint, place.is_rotation()), c);
}

std::string LoopFrictionKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return "friction of " + name_of(model, constraint.index);
}

// --- springs, dampers, armature ---

void LoopSpringKind::add(const ConstraintStep& step, ConstraintWriter& writer) {
  const auto wanted = [&](const LoopCoordinate& c) {
    const double damping = step.model.options.dampers_enabled ? c.damping : 0.0;
    return loop_stiffness(step.model, c) > 0.0 || damping > 0.0 || c.armature > 0.0;
  };
  for_wanted(step, wanted, [&](int j, int k, const LoopCoordinate&) {
    begin_row(step, kKind, j, k, 0, writer);
    writer.blocks().add_equality(1);
    end_row(step, j, k, writer);
  });
}

void LoopSpringKind::hard_law(const ConstraintStep& step, int block, Constraints& c) {
  const int index = c.list[at(block)].index, row = c.blocks.row[at(block)];
  const Place place = place_of(step.model, index);
  const LoopCoordinate& coordinate = place.coordinate();
  const double h = step.h, k = loop_stiffness(step.model, coordinate), v = c.velocity[row];
  const Coordinates now(step, place.j);
  // At the middle: the configuration is that of the start moved by h v/2, the spring is to be where the mean of both
  // velocities leads in half a step, h (v' - v)/4 from there.
  const bool at_middle = step.remaining < h;
  const double share = at_middle ? 0.25 : 1.0;
  const double stretch = now.rows[place.k].value - coordinate.spring_reference;
  // Velocities obey the joint where the step before began; the rate that they had there is what armature resists to
  // change. At the middle both velocities are measured with the same rows.
  const double old = at_middle || !(coordinate.armature > 0.0)
                         ? v
                         : v - h * row_drift(step, place.joint, now.frames, now.rows[place.k]);
  const double spring = h * k * (stretch - (at_middle ? 0.25 * h * v : 0.0));
  const double gain = coordinate.armature + h * loop_damping(step.model, index) + share * h * h * k;
  c.compliance[row] = 1.0 / gain;
  c.bias[row] = (spring - coordinate.armature * old) / gain;
}

void LoopSpringKind::soft_law(const ConstraintStep& step, int block, Constraints& c) { hard_law(step, block, c); }

std::string LoopSpringKind::describe(const Model& model, std::span<const Contact>, const Constraint& constraint) {
  return "spring of " + name_of(model, constraint.index);
}

}  // namespace touchstone
