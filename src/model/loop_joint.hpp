// Loop joints: which relative motions of two frames a type holds, and which it keeps as coordinates.
//
// A type is a row of a table (loop_joint.cpp): measures that are held at zero, and measures that are its coordinates. A
// measure is a number that says how frame b lies against frame a, with the gradient that makes its rate:
//   d value/dt = linear.(v_b - v_a) + angular.(w_b - w_a),
// v_a and v_b the velocities of the material points of both bodies that are where the origin of frame b is. All
// measures share that point, so that no joint has a moment of its own. World axes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "touchstone/math/vec3.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

// Both frames, and how they move if that is asked for.
struct LoopFrames {
  Pose X_WA, X_WB;
  Vec3 v;         // v_b - v_a at the origin of frame b
  Vec3 w_a, w_b;  // angular velocities
};

// A measure with its gradient, and the rates of both.
struct LoopRow {
  double value = 0.0;
  Vec3 linear, angular;
  double rate = 0.0;
  Vec3 linear_rate, angular_rate;
};

constexpr int kMostLoopRows = 6;         // of a loop joint
constexpr int kMostLoopCoordinates = 3;  // of a loop joint

// Whether a row or a coordinate of a type is an angle.
bool is_rotation(LoopJointType type, int coordinate);
bool is_rotation_row(LoopJointType type, int row);
int row_count(LoopJointType type);
std::string loop_joint_types();  // their names, for messages

// What a type holds, for pictures: ways along the axes of frame a, and turns.
enum class HeldTurn : std::uint8_t {
  kNone,
  kAxis,    // z against z
  kAll,     // all axes
  kSquare,  // z of frame a at right angles to x of frame b
};
struct HeldMotions {
  std::array<bool, 3> ways{};
  HeldTurn turn = HeldTurn::kNone;
  bool distance = false;  // LoopJoint::length between the origins
  bool travel = false;    // the way along z: LoopJoint::pitch times the angle about z
};
HeldMotions held_motions(LoopJointType type);

// What is held at zero: row_count(type) rows. `angle`: the unwrapped first coordinate from its reference (screw).
void loop_rows(const LoopJoint& joint, const LoopFrames& frames, double angle, LoopRow* rows);

// The coordinates. Angles are the ones nearest to `memory`, so that they count turns as long as they change by less
// than half a turn between two calls. Those of a spherical joint are the rotation vector from frame a to b; their
// linear and angular parts are the rates of the axes of frame b instead of its gradient.
void loop_coordinates(const LoopJoint& joint, const LoopFrames& frames, std::span<const double> memory,
                      LoopRow* coordinates);

// dJ/dt v of a row: the rate of its rate without accelerations of joints. `a`, `alpha`: difference (b - a) of the
// accelerations of the material points, and of the angular accelerations.
double loop_drift(const LoopRow& row, const LoopFrames& frames, Vec3 a, Vec3 alpha);

// The frames of a joint at given poses of its bodies, at rest.
LoopFrames loop_frames(const LoopJoint& joint, const Pose& X_WA, const Pose& X_WB);

}  // namespace touchstone
