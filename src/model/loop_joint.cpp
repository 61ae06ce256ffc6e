#include "touchstone/model/loop_joint.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "touchstone/base/index.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/loop_measure.hpp"

namespace touchstone {
namespace {

// --- the table ---

using enum LoopMeasure;

struct TypeRow {
  LoopJointType type;
  std::string_view name;
  std::array<LoopMeasure, kMostLoopRows> held;
  std::array<LoopMeasure, kMostLoopCoordinates> free;
};

constexpr std::array kTypes = {
    TypeRow{LoopJointType::kFixed, "fixed", {kX, kY, kZ, kTurnX, kTurnY, kTurnZ}, {kNone, kNone, kNone}},
    TypeRow{LoopJointType::kRevolute, "revolute", {kX, kY, kZ, kTiltX, kTiltY, kNone}, {kTwist, kNone, kNone}},
    TypeRow{LoopJointType::kPrismatic, "prismatic", {kX, kY, kTurnX, kTurnY, kTurnZ, kNone}, {kZ, kNone, kNone}},
    TypeRow{LoopJointType::kCylindrical, "cylindrical", {kX, kY, kTiltX, kTiltY, kNone, kNone}, {kZ, kTwist, kNone}},
    TypeRow{LoopJointType::kScrew, "screw", {kX, kY, kTravel, kTiltX, kTiltY, kNone}, {kTwist, kNone, kNone}},
    TypeRow{LoopJointType::kUniversal, "universal", {kX, kY, kZ, kSquare, kNone, kNone}, {kFirst, kSecond, kNone}},
    TypeRow{LoopJointType::kGimbal, "gimbal", {kX, kY, kZ, kNone, kNone, kNone}, {kEuler1, kEuler2, kEuler3}},
    TypeRow{LoopJointType::kSpherical, "spherical", {kX, kY, kZ, kNone, kNone, kNone}, {kSpinX, kSpinY, kSpinZ}},
    TypeRow{LoopJointType::kPlanar, "planar", {kZ, kTiltX, kTiltY, kNone, kNone, kNone}, {kX, kY, kTwist}},
    TypeRow{LoopJointType::kCartesian, "cartesian", {kTurnX, kTurnY, kTurnZ, kNone, kNone, kNone}, {kX, kY, kZ}},
    TypeRow{
        LoopJointType::kDistance, "distance", {kDistance, kNone, kNone, kNone, kNone, kNone}, {kNone, kNone, kNone}},
    TypeRow{LoopJointType::kPointOnLine, "point_on_line", {kX, kY, kNone, kNone, kNone, kNone}, {kZ, kNone, kNone}},
    TypeRow{LoopJointType::kPointOnPlane, "point_on_plane", {kZ, kNone, kNone, kNone, kNone, kNone}, {kX, kY, kNone}},
};

constexpr bool types_are_in_order() {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].type != static_cast<LoopJointType>(i)) return false;
  }
  return kTypes.size() == static_cast<std::size_t>(LoopJointType::kPointOnPlane) + 1;
}
static_assert(types_are_in_order(), "types are listed in the order of LoopJointType");

const TypeRow& row_of(LoopJointType type) { return kTypes[static_cast<std::size_t>(type)]; }

template <std::size_t size>
int count_of(const std::array<LoopMeasure, size>& list) {
  return static_cast<int>(std::count_if(list.begin(), list.end(), [](LoopMeasure m) { return m != kNone; }));
}

bool is_angle(LoopMeasure m) { return m >= kTurnX && m <= kSpinZ; }
// Known but for whole turns.
bool is_periodic(LoopMeasure m) { return m == kTwist || m == kFirst || m == kSecond || m == kEuler1 || m == kEuler3; }

// --- arithmetic of measures: the gradient follows by the rules of differentiation, and so do the rates ---

LoopRow operator*(double s, const LoopRow& a) {
  return {s * a.value, s * a.linear, s * a.angular, s * a.rate, s * a.linear_rate, s * a.angular_rate};
}

LoopRow operator+(const LoopRow& a, const LoopRow& b) {
  return {a.value + b.value, a.linear + b.linear,           a.angular + b.angular,
          a.rate + b.rate,   a.linear_rate + b.linear_rate, a.angular_rate + b.angular_rate};
}

LoopRow operator-(const LoopRow& a, const LoopRow& b) { return a + -1.0 * b; }

// f(a), with the derivatives of f.
LoopRow chain(const LoopRow& a, double f, double slope, double curvature) {
  const double slope_rate = curvature * a.rate;
  return {f,
          slope * a.linear,
          slope * a.angular,
          slope * a.rate,
          slope_rate * a.linear + slope * a.linear_rate,
          slope_rate * a.angular + slope * a.angular_rate};
}

LoopRow operator*(const LoopRow& a, const LoopRow& b) {
  return {a.value * b.value,
          a.value * b.linear + b.value * a.linear,
          a.value * b.angular + b.value * a.angular,
          a.value * b.rate + b.value * a.rate,
          a.rate * b.linear + a.value * b.linear_rate + b.rate * a.linear + b.value * a.linear_rate,
          a.rate * b.angular + a.value * b.angular_rate + b.rate * a.angular + b.value * a.angular_rate};
}

LoopRow power(const LoopRow& a, double exponent) {
  constexpr double kLeast = 1e-12;  // where the axes are opposite there is no direction to turn in
  const double x = std::max(a.value, kLeast), f = std::pow(x, exponent);
  return chain(a, f, exponent * f / x, exponent * (exponent - 1.0) * f / (x * x));
}

// The angle of (c, s).
LoopRow angle_of(const LoopRow& s, const LoopRow& c) {
  constexpr double kLeast = 1e-24;
  const double inverse = 1.0 / std::max(s.value * s.value + c.value * c.value, kLeast);
  const LoopRow square = s * s + c * c, scale = chain(square, inverse, -inverse * inverse, 0.0);
  // d angle = (c ds - s dc) / (s^2 + c^2)
  LoopRow result;
  result.value = std::atan2(s.value, c.value);
  result.linear = inverse * (c.value * s.linear - s.value * c.linear);
  result.angular = inverse * (c.value * s.angular - s.value * c.angular);
  result.rate = inverse * (c.value * s.rate - s.value * c.rate);
  const auto rate = [&](Vec3 ds, Vec3 dc, Vec3 ds_rate, Vec3 dc_rate) {
    return scale.rate * (c.value * ds - s.value * dc) +
           inverse * (c.rate * ds + c.value * ds_rate - s.rate * dc - s.value * dc_rate);
  };
  result.linear_rate = rate(s.linear, c.linear, s.linear_rate, c.linear_rate);
  result.angular_rate = rate(s.angular, c.angular, s.angular_rate, c.angular_rate);
  return result;
}

// --- measures ---

Vec3 axis(const Mat3& R, int k) { return k == 0 ? R.c0 : k == 1 ? R.c1 : R.c2; }

struct Geometry {
  const LoopFrames& f;

  Vec3 a(int k) const { return axis(f.X_WA.R, k); }
  Vec3 b(int k) const { return axis(f.X_WB.R, k); }
  Vec3 w() const { return f.w_b - f.w_a; }

  LoopRow along(int k) const {
    const Vec3 d = f.X_WB.p - f.X_WA.p;
    return {dot(a(k), d), a(k), {}, dot(a(k), f.v), cross(f.w_a, a(k)), {}};
  }
  // Axis i of frame a times axis j of frame b: the entry (i, j) of the rotation.
  LoopRow entry(int i, int j) const {
    const Vec3 gradient = cross(b(j), a(i));
    return {dot(a(i), b(j)),    {}, gradient,
            dot(gradient, w()), {}, cross(cross(f.w_b, b(j)), a(i)) + cross(b(j), cross(f.w_a, a(i)))};
  }
  // From frame a to frame b.
  Quaternion rotation() const { return Quaternion(Matrix3(f.X_WA.R.eigen().transpose() * f.X_WB.R.eigen())); }
  // q' = w q / 2: the vector part has the rate (scalar w + w x vector) / 2. All three at once: they share q.
  void turn(LoopRow* rows) const {
    Quaternion q = rotation();
    if (q.w() < 0.0) q.coeffs() = -q.coeffs();
    const Vec3 vector = f.X_WA.R * Vec3(Vector3(q.vec()));
    const double scalar_rate = -0.5 * dot(w(), vector);
    const Vec3 vector_rate = cross(f.w_a, vector) + 0.5 * (q.w() * w() + cross(w(), vector));
    for (int k = 0; k < 3; ++k) {
      const Vec3 angular = q.w() * a(k) + cross(vector, a(k)), axis_rate = cross(f.w_a, a(k));
      rows[k] = {2.0 * q.vec()[k],
                 {},
                 angular,
                 dot(angular, w()),
                 {},
                 scalar_rate * a(k) + q.w() * axis_rate + cross(vector_rate, a(k)) + cross(vector, axis_rate)};
    }
  }
  // With c the cosine of the angle between the z axes, the vector part of the shortest rotation is
  // (-y, x) / sqrt(2 (1 + c)), (x, y) the components of z of b.
  LoopRow tilt(int k) const {
    LoopRow c = 0.5 * entry(2, 2);
    c.value += 0.5;
    const LoopRow component = k == 0 ? -1.0 * entry(1, 2) : entry(0, 2);
    return component * power(c, -0.5);
  }
  LoopRow twist() const { return angle_of(entry(1, 0) - entry(0, 1), entry(0, 0) + entry(1, 1)); }
  LoopRow distance() const {
    const Vec3 d = f.X_WB.p - f.X_WA.p;
    const double length = std::sqrt(dot(d, d));
    const Vec3 n = length > 0.0 ? d * (1.0 / length) : a(2);
    const Vec3 d_rate = f.v + cross(f.w_a, d);
    const Vec3 n_rate = length > 0.0 ? (d_rate - n * dot(n, d_rate)) * (1.0 / length) : Vec3();
    return {length, n, {}, dot(n, f.v), n_rate, {}};
  }
  void spin(LoopRow* rows) const {
    const Vector3 turned = so3_log(rotation().normalized());
    for (int k = 0; k < 3; ++k) rows[k] = {turned[k], {}, b(k), dot(b(k), w()), {}, cross(f.w_b, b(k))};
  }
};

// A measure that is known by itself.
LoopRow measure(const LoopJoint& joint, const LoopFrames& frames, LoopMeasure what, double angle) {
  const Geometry g{frames};
  const int k = static_cast<int>(what);
  switch (what) {
    case kX:
    case kY:
    case kZ:
      return g.along(k);
    case kTiltX:
    case kTiltY:
      return g.tilt(k - static_cast<int>(kTiltX));
    case kTwist:
      return g.twist();
    case kSquare:
      return g.entry(2, 0);
    case kFirst:
      return angle_of(g.entry(1, 0), g.entry(0, 0));
    case kSecond:
      return angle_of(g.entry(2, 1), g.entry(2, 2));
    case kEuler1:
      return angle_of(-1.0 * g.entry(0, 1), g.entry(1, 1));
    case kEuler2: {
      const LoopRow x = g.entry(2, 0), z = g.entry(2, 2);
      return angle_of(g.entry(2, 1), power(x * x + z * z, 0.5));
    }
    case kEuler3:
      return angle_of(-1.0 * g.entry(2, 0), g.entry(2, 2));
    case kDistance: {
      LoopRow row = g.distance();
      row.value -= joint.length;
      return row;
    }
    case kTravel: {
      LoopRow twist = g.twist();
      twist.value = angle;
      return g.along(2) - joint.pitch * twist;
    }
    case kTurnX:
    case kTurnY:
    case kTurnZ:
    case kSpinX:
    case kSpinY:
    case kSpinZ:
    case kNone:
      break;
  }
  return {};
}

// The first `count` measures of a list. Turns and spins stand there in threes (checked below).
template <std::size_t size>
void measure_list(const LoopJoint& joint, const LoopFrames& frames, const std::array<LoopMeasure, size>& list,
                  int count, double angle, LoopRow* rows) {
  for (int r = 0; r < count;) {
    const LoopMeasure what = list[at(r)];
    if (what == kTurnX || what == kSpinX) {
      const Geometry g{frames};
      what == kTurnX ? g.turn(rows + r) : g.spin(rows + r);
      r += 3;
    } else {
      rows[r] = measure(joint, frames, what, angle);
      ++r;
    }
  }
}

template <std::size_t size>
constexpr bool comes_in_threes(const std::array<LoopMeasure, size>& list, LoopMeasure x, LoopMeasure y, LoopMeasure z) {
  for (std::size_t i = 0; i < size; ++i) {
    if (list[i] == x && (i + 2 >= size || list[i + 1] != y || list[i + 2] != z)) return false;
    if (list[i] == y && (i == 0 || list[i - 1] != x)) return false;
    if (list[i] == z && (i == 0 || list[i - 1] != y)) return false;
  }
  return true;
}

constexpr bool turns_come_in_threes() {
  for (const TypeRow& row : kTypes) {
    if (!comes_in_threes(row.held, kTurnX, kTurnY, kTurnZ) || !comes_in_threes(row.free, kTurnX, kTurnY, kTurnZ) ||
        !comes_in_threes(row.held, kSpinX, kSpinY, kSpinZ) || !comes_in_threes(row.free, kSpinX, kSpinY, kSpinZ)) {
      return false;
    }
  }
  return true;
}
static_assert(turns_come_in_threes(), "measure_list fills three rows of a turn or a spin at once");

}  // namespace

std::string_view to_string(LoopJointType type) { return row_of(type).name; }

std::optional<LoopJointType> find_loop_joint_type(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.type;
  }
  // Names that the joints of trees have.
  constexpr std::pair<std::string_view, LoopJointType> kOthers[] = {{"weld", LoopJointType::kFixed},
                                                                    {"hinge", LoopJointType::kRevolute},
                                                                    {"slide", LoopJointType::kPrismatic},
                                                                    {"ball", LoopJointType::kSpherical}};
  for (const auto& [other, type] : kOthers) {
    if (other == name) return type;
  }
  return std::nullopt;
}

HeldMotions held_motions(LoopJointType type) {
  HeldMotions held;
  for (const LoopMeasure measure : row_of(type).held) {
    if (measure == LoopMeasure::kX) held.ways[0] = true;
    if (measure == LoopMeasure::kY) held.ways[1] = true;
    if (measure == LoopMeasure::kZ) held.ways[2] = true;
    if (measure == LoopMeasure::kTiltX) held.turn = HeldTurn::kAxis;
    if (measure == LoopMeasure::kTurnX) held.turn = HeldTurn::kAll;
    if (measure == LoopMeasure::kSquare) held.turn = HeldTurn::kSquare;
    if (measure == LoopMeasure::kDistance) held.distance = true;
    if (measure == LoopMeasure::kTravel) held.travel = true;
  }
  return held;
}

std::string loop_joint_types() {
  std::string names;
  for (const TypeRow& row : kTypes) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

int coordinate_count(LoopJointType type) { return count_of(row_of(type).free); }
int row_count(LoopJointType type) { return count_of(row_of(type).held); }
LoopMeasure held_measure(LoopJointType type, int row) { return row_of(type).held[at(row)]; }
LoopMeasure free_measure(LoopJointType type, int coordinate) { return row_of(type).free[at(coordinate)]; }
bool is_rotation(LoopJointType type, int coordinate) { return is_angle(row_of(type).free[at(coordinate)]); }
bool is_rotation_row(LoopJointType type, int row) { return is_angle(row_of(type).held[at(row)]); }

void loop_rows(const LoopJoint& joint, const LoopFrames& frames, double angle, LoopRow* rows) {
  const TypeRow& type = row_of(joint.type);
  measure_list(joint, frames, type.held, count_of(type.held), angle, rows);
}

void loop_coordinates(const LoopJoint& joint, const LoopFrames& frames, std::span<const double> memory,
                      LoopRow* coordinates) {
  const TypeRow& type = row_of(joint.type);
  measure_list(joint, frames, type.free, count_of(type.free), 0.0, coordinates);
  for (int k = 0; k < count_of(type.free); ++k) {
    LoopRow& row = coordinates[k];
    if (joint.type != LoopJointType::kSpherical) row.value += joint.coordinates[at(k)].reference;
    if (!is_periodic(type.free[at(k)])) continue;
    row.value = memory[at(k)] + std::remainder(row.value - memory[at(k)], 2.0 * std::numbers::pi);
  }
}

double loop_drift(const LoopRow& row, const LoopFrames& frames, Vec3 a, Vec3 alpha) {
  // The material point of body a that is at the origin of frame b is another one in the next instant.
  return dot(row.linear, a - cross(frames.w_a, frames.v)) + dot(row.angular, alpha) + dot(row.linear_rate, frames.v) +
         dot(row.angular_rate, frames.w_b - frames.w_a);
}

LoopFrames loop_frames(const LoopJoint& joint, const Pose& X_WA, const Pose& X_WB) {
  return {X_WA * Pose(joint.frame_a), X_WB * Pose(joint.frame_b), {}, {}, {}};
}

}  // namespace touchstone
