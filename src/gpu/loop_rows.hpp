// Rows of loop joints: what a type holds are measures of one frame against another, each with its gradient
// (model/loop_joint.hpp, where they are derived; a step needs no rates of the gradients).
#pragma once

#include "touchstone/gpu/algebra.hpp"

namespace touchstone::gpu {

// Of frame b against frame a. Way*: its origin along the axes of a. Turn*: 2 vec(q), q the rotation from a to b. Tilt*:
// the same of the shortest rotation from z to z. Square: z of a against x of b. The rest as in model/loop_measure.hpp;
// WholeTurn: the angle of the rotation.
enum LoopMeasure {
  kWayX,
  kWayY,
  kWayZ,
  kTurnX,
  kTurnY,
  kTurnZ,
  kTiltX,
  kTiltY,
  kSquare,
  kDistance,
  kTravel,  // way along z less pitch times twist: with its unwrapped angle
  kTwist,   // from here on coordinates (loop_coordinates.hpp)
  kFirst,
  kSecond,
  kEuler1,
  kEuler2,
  kEuler3,
  kSpinX,
  kSpinY,
  kSpinZ,
  kWholeTurn,
};

// d value/dt = linear.(v_b - v_a) + angular.(w_b - w_a), velocities of the points of both bodies at the origin of b.
struct LoopRow {
  double value;
  Vec linear, angular;
};

TOUCHSTONE_LANE Vec column(const Mat& R, int k) { return k == 0 ? R.a : (k == 1 ? R.b : R.c); }

TOUCHSTONE_LANE LoopRow loop_turn(const Mat& A, const Mat& B, int k) {
  const Mat R{transpose_times(A, B.a), transpose_times(A, B.b), transpose_times(A, B.c)};
  Quaternion q = quaternion(R);
  if (q.w < 0.0) q = {-q.w, -q.v};
  const Vec along = column(A, k);
  return {2.0 * entry(q.v, k), {0, 0, 0}, q.w * along + cross(A * q.v, along)};
}

// With c the cosine of the angle between the z axes, the vector part of the shortest rotation is
// (-y, x) / sqrt(2 (1 + c)), (x, y) the components of z of b.
TOUCHSTONE_LANE LoopRow loop_tilt(const Mat& A, const Mat& B, int k) {
  constexpr double kLeast = 1e-12;  // where the axes are opposite there is no direction to turn in
  const double half = most(0.5 + 0.5 * dot(A.c, B.c), kLeast), f = inverse_root(half);
  const Vec along = k == 0 ? -A.b : A.a;
  const double component = dot(along, B.c);
  return {component * f, {0, 0, 0}, f * cross(B.c, along) + (-0.25 * component * f / half) * cross(B.c, A.c)};
}

// `size`: the distance that is held.
TOUCHSTONE_LANE LoopRow loop_row(int measure, const Pose& A, const Pose& B, double size) {
  const Vec zero{0, 0, 0}, d = B.p - A.p;
  if (measure <= kWayZ) {
    const Vec along = column(A.R, measure - kWayX);
    return {dot(along, d), along, zero};
  }
  if (measure <= kTurnZ) return loop_turn(A.R, B.R, measure - kTurnX);
  if (measure <= kTiltY) return loop_tilt(A.R, B.R, measure - kTiltX);
  if (measure == kSquare) return {dot(A.R.c, B.R.a), zero, cross(B.R.a, A.R.c)};
  const double distance = length(d);
  return {distance - size, distance > 0.0 ? (1.0 / distance) * d : A.R.c, zero};
}

}  // namespace touchstone::gpu
