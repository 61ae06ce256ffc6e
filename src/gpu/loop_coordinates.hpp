// What acts along the coordinates of loop joints takes them, and rows of J along them: the measures of
// model/loop_joint.hpp that a type leaves free. A step makes all of them at once, with the loops; blocks, actuators and
// the position pass read the rows then. Only for a FullTeam.
//
// Armature resists to a change of the rate of a coordinate, so that its row needs the rate of the gradient too: numbers
// and vectors come with their rates, and those of a measure follow by the rules of differentiation.
#pragma once

#include "touchstone/gpu/kinematics.hpp"
#include "touchstone/gpu/loop_rows.hpp"

namespace touchstone::gpu {

// --- numbers and vectors with their rates ---

struct Rated {
  double x, rate;
};
struct RatedVec {
  Vec x, rate;
};

TOUCHSTONE_LANE Rated operator+(Rated a, Rated b) { return {a.x + b.x, a.rate + b.rate}; }
TOUCHSTONE_LANE Rated operator*(Rated a, Rated b) { return {a.x * b.x, a.rate * b.x + a.x * b.rate}; }
TOUCHSTONE_LANE RatedVec operator+(const RatedVec& a, const RatedVec& b) { return {a.x + b.x, a.rate + b.rate}; }
TOUCHSTONE_LANE RatedVec operator*(Rated s, const RatedVec& a) { return {s.x * a.x, s.rate * a.x + s.x * a.rate}; }
TOUCHSTONE_LANE Rated dot(const RatedVec& a, const RatedVec& b) {
  return {dot(a.x, b.x), dot(a.rate, b.x) + dot(a.x, b.rate)};
}
TOUCHSTONE_LANE RatedVec cross(const RatedVec& a, const RatedVec& b) {
  return {cross(a.x, b.x), cross(a.rate, b.x) + cross(a.x, b.rate)};
}

// A measure with its gradient (LoopRow).
struct RatedRow {
  Rated value;
  RatedVec linear, angular;
};

TOUCHSTONE_LANE RatedRow operator+(const RatedRow& a, const RatedRow& b) {
  return {a.value + b.value, a.linear + b.linear, a.angular + b.angular};
}
TOUCHSTONE_LANE RatedRow operator*(double s, const RatedRow& a) {
  const Rated k{s, 0.0};
  return {k * a.value, k * a.linear, k * a.angular};
}
TOUCHSTONE_LANE RatedRow operator*(const RatedRow& a, const RatedRow& b) {
  return {a.value * b.value, a.value * b.linear + b.value * a.linear, a.value * b.angular + b.value * a.angular};
}
TOUCHSTONE_LANE RatedRow operator-(const RatedRow& a, const RatedRow& b) { return a + -1.0 * b; }

TOUCHSTONE_LANE RatedRow root(const RatedRow& a) {
  constexpr double kLeast = 1e-12;  // where it is zero it has no slope
  const double x = most(a.value.x, kLeast), f = sqrt(x), slope = 0.5 / f;
  const Rated slope_here{slope, -0.5 * slope / x * a.value.rate};
  return {{f, slope * a.value.rate}, slope_here * a.linear, slope_here * a.angular};
}

// The angle of (c, s): its gradient is (c ds - s dc) / (s^2 + c^2). Its own rate is not needed.
TOUCHSTONE_LANE RatedRow angle_of(const RatedRow& s, const RatedRow& c) {
  constexpr double kLeast = 1e-24;
  const Rated square = s.value * s.value + c.value * c.value;
  const double inverse = 1.0 / most(square.x, kLeast);
  const Rated scale{inverse, -inverse * inverse * square.rate}, back{-1.0, 0.0};
  return {{atan2(s.value.x, c.value.x), 0.0},
          scale * (c.value * s.linear + back * (s.value * c.linear)),
          scale * (c.value * s.angular + back * (s.value * c.angular))};
}

// --- measures ---

// The frames of a coordinate and how they move: v is v_b - v_a of the material points at the origin of frame b.
struct LoopFrames {
  Pose A, B;
  Vec v, w_a, w_b;

  TOUCHSTONE_LANE RatedVec a(int k) const { return {column(A.R, k), cross(w_a, column(A.R, k))}; }
  TOUCHSTONE_LANE RatedVec b(int k) const { return {column(B.R, k), cross(w_b, column(B.R, k))}; }
  TOUCHSTONE_LANE RatedRow along(int k) const {
    const Vec d = B.p - A.p;
    return {dot(a(k), RatedVec{d, v + cross(w_a, d)}), a(k), {{0, 0, 0}, {0, 0, 0}}};
  }
  // Axis i of frame a times axis j of frame b: the entry (i, j) of the rotation.
  TOUCHSTONE_LANE RatedRow product(int i, int j) const {
    return {dot(a(i), b(j)), {{0, 0, 0}, {0, 0, 0}}, cross(b(j), a(i))};
  }
  // The rotation vector from a to b.
  TOUCHSTONE_LANE Vec turn() const {
    return logarithm(
        quaternion({transpose_times(A.R, B.R.a), transpose_times(A.R, B.R.b), transpose_times(A.R, B.R.c)}));
  }
};

// Angles that are known but for whole turns.
TOUCHSTONE_LANE bool is_periodic(int measure) { return measure >= kTwist && measure <= kEuler3 && measure != kEuler2; }

TOUCHSTONE_LANE RatedRow coordinate_row(int measure, const LoopFrames& f) {
  const RatedVec zero{{0, 0, 0}, {0, 0, 0}};
  switch (measure) {
    case kWayX:
    case kWayY:
    case kWayZ:
      return f.along(measure - kWayX);
    case kTwist:
      return angle_of(f.product(1, 0) - f.product(0, 1), f.product(0, 0) + f.product(1, 1));
    case kFirst:
      return angle_of(f.product(1, 0), f.product(0, 0));
    case kSecond:
      return angle_of(f.product(2, 1), f.product(2, 2));
    case kEuler1:
      return angle_of(-1.0 * f.product(0, 1), f.product(1, 1));
    case kEuler2: {
      const RatedRow x = f.product(2, 0), z = f.product(2, 2);
      return angle_of(f.product(2, 1), root(x * x + z * z));
    }
    case kEuler3:
      return angle_of(-1.0 * f.product(2, 0), f.product(2, 2));
    case kWholeTurn: {  // of a spherical joint; zero at no turn, where it has no gradient
      const Vec turn = f.turn();
      const double angle = length(turn);
      if (!(angle > 0.0)) return {{0.0, 0.0}, zero, zero};
      return {{angle, 0.0}, zero, {(1.0 / angle) * (f.B.R * turn), {0, 0, 0}}};  // its axis is the same in both frames
    }
    default:  // kSpin*: the rotation vector, and the turning about the axes of b
      return {{entry(f.turn(), measure - kSpinX), 0.0}, zero, f.b(measure - kSpinX)};
  }
}

// --- of a model ---

template <typename Real>
TOUCHSTONE_LANE LoopFrames frames_of_coordinate(const ModelView& m, const Scratch<Real>& s, int k) {
  const int a = m.coordinate_a[k], b = m.coordinate_b[k];
  const double* frames = m.coordinate_frames + 24 * k;
  LoopFrames f;
  f.A = load_pose(s.X + 12 * a) * load_pose(frames);
  f.B = load_pose(s.X + 12 * b) * load_pose(frames + 12);
  f.v = point_velocity(m, s, s.velocity, b, f.B.p) - point_velocity(m, s, s.velocity, a, f.B.p);
  f.w_a = load_vec(s.velocity + 6 * a);
  f.w_b = load_vec(s.velocity + 6 * b);
  return f;
}

// Calls use(dof, factor) for the entries of a row along a coordinate.
template <typename Real, typename Use>
TOUCHSTONE_LANE void for_coordinate(const ModelView& m, const Scratch<Real>& s, int k, const Use& use) {
  const double* row = s.J_c + k * m.sizes.nv;
  for (int i = 0; i < m.sizes.nv; ++i) {
    if (row[i] != 0.0) use(i, row[i]);
  }
}

template <typename Real>
TOUCHSTONE_LANE double coordinate_velocity(const ModelView& m, const Scratch<Real>& s, int k, const double* v) {
  double sum = 0.0;
  for_coordinate(m, s, k, [&](int dof, double factor) { sum += factor * v[dof]; });
  return sum;
}

// dJ/dt v: how fast the rate of a coordinate changes while no joint accelerates.
template <typename Real>
TOUCHSTONE_LANE double coordinate_drift(const ModelView& m, const Scratch<Real>& s, int k) {
  const LoopFrames f = frames_of_coordinate(m, s, k);
  const RatedRow row = coordinate_row(m.coordinate_measure[k], f);
  const auto drift = [&](int body, Vec& turning) {
    const Motion none{{0, 0, 0}, {0, 0, 0}}, a = accelerate_along_path(m, s, body, none, [](int) { return 0.0; });
    const Vec r = f.B.p - reference_point(m, s, body), w = load_vec(s.velocity + 6 * body);
    turning = a.w;
    return a.v + cross(a.w, r) + cross(w, point_velocity(m, s, s.velocity, body, f.B.p));
  };
  Vec turning_a, turning_b;
  const Vec along_b = drift(m.coordinate_b[k], turning_b), along_a = drift(m.coordinate_a[k], turning_a);
  // The material point of body a that is at the origin of frame b is another one in the next instant.
  return dot(row.linear.x, along_b - along_a - cross(f.w_a, f.v)) + dot(row.angular.x, turning_b - turning_a) +
         dot(row.linear.rate, f.v) + dot(row.angular.rate, f.w_b - f.w_a);
}

// The impulse of spring, damper and armature at the end of a step, a v - h k (q - rest) - (a + h d + h^2 k) v', as an
// equality with the compliance 1 / (a + h d + h^2 k). v is the rate that the velocity had where the step before began.
// At the middle, to which the configuration was moved by h v/2, the spring is h (v' - v)/4 from there, and both
// velocities are measured with the same rows.
template <typename Real>
TOUCHSTONE_LANE double loop_spring_bias(const ModelView& m, const Scratch<Real>& s, int e, int row) {
  const double* d = m.equality_data + kEqualityNumbers * e;
  const double h = m.settings.time_step, armature = d[2];
  const int k = m.equality_coordinate[2 * e];
  const bool at_middle = m.settings.remaining < h;
  double old = 0.0;
  if (armature > 0.0 || at_middle) old = coordinate_velocity(m, s, k, s.v);
  if (armature > 0.0 && !at_middle) old -= h * coordinate_drift(m, s, k);
  const double stretch = s.coordinate[k] - d[3] - (at_middle ? 0.25 * h * old : 0.0);
  return (h * d[0] * stretch - armature * old) * m.equality_compliance[row];
}

// Coordinates and their rows at the start of a step; angles are those nearest to the ones of the step before.
template <typename Team, typename Real>
TOUCHSTONE_LANE void place_coordinates(const Team& team, const ModelView& m, const WorldState& world,
                                       Scratch<Real>& s) {
  constexpr double kWholeAngle = 6.283185307179586476925;
  const int actuators = m.sizes.coordinates - m.sizes.loop_actuators;
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < actuators; k += team.size()) {
    const LoopFrames f = frames_of_coordinate(m, s, k);
    const int measure = m.coordinate_measure[k];
    const RatedRow row = coordinate_row(measure, f);
    double value = row.value.x + m.coordinate_reference[k];
    if (is_periodic(measure)) value = world.loop_q[k] + remainder(value - world.loop_q[k], kWholeAngle);
    s.coordinate[k] = value;
    double* J = s.J_c + k * m.sizes.nv;
    for (int i = 0; i < m.sizes.nv; ++i) J[i] = 0.0;
    add_body_row(m, s, m.coordinate_b[k], f.B.p, row.linear.x, row.angular.x, 1.0, J);
    add_body_row(m, s, m.coordinate_a[k], f.B.p, row.linear.x, row.angular.x, -1.0, J);
  }
  team.sync();
  // What actuators move: their gears times the coordinates of their joint.
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < m.sizes.loop_actuators * m.sizes.nv; item += team.size()) {
    const int u = item / m.sizes.nv, i = item % m.sizes.nv, first = m.loop_actuator_first[u];
    double moment = 0.0, position = 0.0;
    for (int c = 0; c < kLoopGears; ++c) {
      const double gear = m.loop_gear[kLoopGears * u + c];
      if (gear == 0.0) continue;
      moment += gear * s.J_c[(first + c) * m.sizes.nv + i];
      position += gear * s.coordinate[first + c];
    }
    s.J_c[(actuators + u) * m.sizes.nv + i] = moment;
    if (i == 0) s.coordinate[actuators + u] = position;
  }
  team.sync();
}

}  // namespace touchstone::gpu
