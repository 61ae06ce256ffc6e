#include "touchstone/collision/derivatives/collision_derivatives.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/error.hpp"
#include "touchstone/collision/derivatives/contact_linearisation.hpp"
#include "touchstone/collision/manifold/contact_frame.hpp"
#include "touchstone/collision/narrow/minkowski.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone {
namespace {

// rad: how far queries of curved shapes may be from the normal, and what is left after refinement.
constexpr double kLoose[] = {1e-4, 1e-3};
constexpr double kSharp = 1e-8;
constexpr int kLooseRounds = 2, kMostRounds = 12;
// rad: the normal of a refined contact differs from the query's by no more than this.
constexpr double kNear = 1e-2;
// Newton ends at changes of this share.
constexpr double kStill = 1e-14;

struct Placed {
  const ConvexShape& shape;
  const Pose& X;

  Vec3 in(Vec3 direction_W) const { return transpose_times(X.R, direction_W); }
  Vec3 at(Vec3 point_W) const { return transpose_times(X.R, point_W - X.p); }
};

struct Pair {
  Placed A, B;

  double size() const {
    const auto extent = [](const ConvexShape& s) { return s.bounded() ? s.extent() : 0.0; };
    return extent(A.shape) + extent(B.shape) + A.shape.radius() + B.shape.radius();
  }
  bool curved() const {
    const auto is_curved = [](const ConvexShape& s) { return !s.polyhedral() && s.bounded(); };
    return is_curved(A.shape) || is_curved(B.shape);
  }
};

CoreLocation cores_of(const Pair& pair, const ContactResult& c) {
  return {c.normal, c.point_A - pair.A.shape.radius() * c.normal, c.point_B + pair.B.shape.radius() * c.normal};
}

void set_contact(const Pair& pair, const CoreLocation& at, ContactResult& c) {
  c.normal = at.n;
  c.distance = dot(at.n, at.b - at.a) - (pair.A.shape.radius() + pair.B.shape.radius());
  c.point_A = at.a + pair.A.shape.radius() * at.n;
  c.point_B = at.b - pair.B.shape.radius() * at.n;
}

LocalSupport support_A(const Pair& pair, const CoreLocation& at, double tolerance) {
  return find_local_support(pair.A.shape, pair.A.in(at.n), pair.A.at(at.a), tolerance);
}
LocalSupport support_B(const Pair& pair, const CoreLocation& at, double tolerance) {
  return find_local_support(pair.B.shape, pair.B.in(-at.n), pair.B.at(at.b), tolerance);
}

// Whether b - a is along n and both points are support points.
bool is_solution(const Pair& pair, const CoreLocation& at) {
  const double scale = pair.size() + norm(at.b - at.a), tight = CollisionDerivatives::kTight * scale;
  const Vec3 apart = at.b - at.a;
  if (!(norm(apart - dot(apart, at.n) * at.n) <= tight)) return false;
  const auto is_support = [&](const Placed& p, Vec3 n, Vec3 point) {
    if (!p.shape.bounded()) return norm(p.in(n)-Vec3(0, 0, 1)) <= kSharp;
    int vertex = -1;
    const Vec3 d = p.in(n);
    return dot(d, p.shape.support(d, vertex) - p.at(point)) <= tight;
  };
  return is_support(pair.A, at.n, at.a) && is_support(pair.B, -at.n, at.b);
}

// Newton's method on the equations of the contact, from a query's answer.
bool refine(const Pair& pair, double loose, CoreLocation& at) {
  const Vec3 start = at.n;
  const double scale = pair.size();
  for (int round = 0; round < kMostRounds; ++round) {
    const double tolerance = round < kLooseRounds ? loose : kSharp;
    const LocalSupport a = support_A(pair, at, tolerance), b = support_B(pair, at, tolerance);
    at.a = pair.A.X * a.point;
    at.b = pair.B.X * b.point;
    ContactLinearisation line;
    line.prepare(at, a, pair.A.X.R, b, pair.B.X.R);
    if (!line.solvable()) return false;
    // Both slides' tilts are of the direction outward of their shape: that of B is -n.
    const CoreChange step = line.solve({at.a, {a.tilt[0], a.tilt[1]}}, {at.b, {-b.tilt[0], -b.tilt[1]}});
    at.n = at.n + step.n;
    at.n = at.n * (1.0 / norm(at.n));
    if (!(norm(at.n - start) <= kNear)) return false;
    at.a = pair.A.X * move_support(pair.A.shape, a, pair.A.in(at.n), step.x_A);
    at.b = pair.B.X * move_support(pair.B.shape, b, pair.B.in(-at.n), step.x_B);
    const double slid = std::abs(step.x_A[0]) + std::abs(step.x_A[1]) + std::abs(step.x_B[0]) + std::abs(step.x_B[1]);
    if (round >= kLooseRounds && norm(step.n) <= kStill && slid <= kStill * scale) break;
  }
  return is_solution(pair, at);
}

void put(const Pair& pair, const CoreChange& change, int column, PoseDerivatives& out) {
  out.distance[column] = change.distance;
  out.normal.col(column) = change.n.eigen();
  out.point_A.col(column) = (change.a + pair.A.shape.radius() * change.n).eigen();
  out.point_B.col(column) = (change.b - pair.B.shape.radius() * change.n).eigen();
}

Vec3 unit(int axis) { return {axis == 0 ? 1.0 : 0.0, axis == 1 ? 1.0 : 0.0, axis == 2 ? 1.0 : 0.0}; }

// A motion of A is one of both shapes together and the opposite one of B.
void set_by_A(const Pair& pair, CollisionDerivatives& d) {
  const ContactResult& c = d.contact;
  const Vec3 apart = pair.B.X.p - pair.A.X.p;
  const auto set = [&](int column, Vec3 linear, Vec3 angular) {
    Vector6 of_B;
    of_B.head<3>() = (linear + cross(angular, apart)).eigen();
    of_B.tail<3>() = angular.eigen();
    const auto at = [&](Vec3 p) { return (linear + cross(angular, p - pair.A.X.p)).eigen(); };
    d.by_A.distance[column] = -(d.by_B.distance * of_B)[0];
    d.by_A.normal.col(column) = cross(angular, c.normal).eigen() - d.by_B.normal * of_B;
    d.by_A.point_A.col(column) = at(c.point_A) - d.by_B.point_A * of_B;
    d.by_A.point_B.col(column) = at(c.point_B) - d.by_B.point_B * of_B;
  };
  for (int k = 0; k < 3; ++k) {
    set(k, unit(k), Vec3());
    set(3 + k, Vec3(), unit(k));
  }
}

void set_turns(Vec3 n, PoseDerivatives& out) {
  for (int k = 0; k < 6; ++k) out.turn.col(k) = contact_frame_turn(n, Vec3(Vector3(out.normal.col(k)))).eigen();
}

void set_by_B(const Pair& pair, const CoreLocation& at, const ContactLinearisation& line, CollisionDerivatives& d) {
  const ShapeMotion still;
  for (int k = 0; k < 3; ++k) {
    put(pair, line.solve(still, line.move_B(unit(k), Vec3())), k, d.by_B);
    put(pair, line.solve(still, line.move_B(cross(unit(k), at.b - pair.B.X.p), unit(k))), 3 + k, d.by_B);
  }
}

// --- sizes, margins, corners ---

void add_parameter(const Pair& pair, const ContactLinearisation& line, const SizeChange& local, ShapeDerivative p,
                   CollisionDerivatives& d) {
  const Placed& shape = p.of_B ? pair.B : pair.A;
  const double sign = p.of_B ? -1.0 : 1.0;  // turns are those of the direction outward of the shape
  const ShapeMotion motion{shape.X.R * local.point, {sign * local.turn[0], sign * local.turn[1]}}, still;
  const CoreChange change = p.of_B ? line.solve(still, motion) : line.solve(motion, still);
  p.distance = change.distance;
  p.normal = change.n;
  p.point_A = change.a + pair.A.shape.radius() * change.n;
  p.point_B = change.b - pair.B.shape.radius() * change.n;
  p.turn = contact_frame_turn(d.contact.normal, change.n);
  if (d.parameters < CollisionDerivatives::kMostParameters) d.by_shape[static_cast<std::size_t>(d.parameters++)] = p;
}

void add_parameters(const Pair& pair, const CoreLocation& at, const ContactLinearisation& line, bool of_B,
                    const LocalSupport& local, CollisionDerivatives& d) {
  using Kind = ShapeDerivative::Kind;
  const Placed& shape = of_B ? pair.B : pair.A;
  const Vec3 n = shape.in(of_B ? -at.n : at.n);
  const auto parameter = [&](Kind kind, int index, int axis) {
    ShapeDerivative p;
    p.kind = kind;
    p.of_B = of_B;
    p.index = index;
    p.axis = axis;
    return p;
  };
  for (int i = 0; i < size_count(shape.shape.core()); ++i) {
    add_parameter(pair, line, size_change(shape.shape, local, n, i), parameter(Kind::kSize, i, 0), d);
  }
  add_parameter(pair, line, {n, {}}, parameter(Kind::kMargin, 0, 0), d);
  if (shape.shape.core() != CoreType::kPolytope && shape.shape.core() != CoreType::kTriangle) return;
  for (int c = 0; c < local.corners; ++c) {
    for (int axis = 0; axis < 3; ++axis) {
      const SizeChange change = corner_change(local, n, c, axis);
      add_parameter(pair, line, change, parameter(Kind::kVertex, local.corner[c], axis), d);
    }
  }
}

void require_options(const CollisionDerivativeOptions& o) {
  if (o.method == CollisionGradient::kExact) return;
  if (!(o.noise > 0.0) || !std::isfinite(o.noise))
    throw Error("noise of a smoothed gradient: {} is not positive", o.noise);
  if (o.method != CollisionGradient::kGumbel) return;
  if (o.depth < 0) throw Error("depth of a neighbourhood: {} is negative", o.depth);
}

}  // namespace

CollisionGradient collision_gradient_named(std::string_view name) {
  if (name == "exact") return CollisionGradient::kExact;
  if (name == "zeroth-order") return CollisionGradient::kZerothOrder;
  if (name == "gaussian") return CollisionGradient::kGaussian;
  if (name == "gumbel") return CollisionGradient::kGumbel;
  throw Error("no gradient of collision is called '{}'; there are exact, zeroth-order, gaussian and gumbel", name);
}

// t1 is home_t1 turned the shortest way (contact_frame.cpp): R v = v + w x v + w x (w x v) / (1 + c).
Vec3 contact_frame_turn(Vec3 n, Vec3 dn) {
  const Vec3 home(0.48, 0.64, 0.6), home_t1(0.856, -0.192, -0.48);
  const Vec3 w = cross(home, n), dw = cross(home, dn), wv = cross(w, home_t1), dwv = cross(dw, home_t1);
  const double c = 1.0 + dot(home, n);
  const Vec3 t2 = contact_frame(n).c1;
  if (!(c > 0.0)) return cross(n, dn);
  const Vec3 dt1 = dwv + (cross(dw, wv) + cross(w, dwv)) * (1.0 / c) - cross(w, wv) * (dot(home, dn) / (c * c));
  return cross(n, dn) + dot(t2, dt1) * n;
}

bool refine_contact(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                    ContactResult& contact) {
  if (!contact.valid()) return false;
  const Pair pair{{A, X_WA}, {B, X_WB}};
  const CoreLocation start = cores_of(pair, contact);
  const double least = kSharp + kStill * pair.size() / std::max(std::abs(dot(start.n, start.b - start.a)), 1e-300);
  for (const double loose : kLoose) {
    CoreLocation at = start;
    if (!refine(pair, pair.curved() ? loose : std::min(least, loose), at)) continue;
    set_contact(pair, at, contact);
    return true;
  }
  return false;
}

Matrix3 CollisionDifferentiator::curvature(const ConvexShape& shape, const LocalSupport& local, Vec3 n,
                                           const CollisionDerivativeOptions& options) {
  const CoreType core = shape.core();
  if (core == CoreType::kPoint || core == CoreType::kEllipsoid || !shape.bounded()) return local.curvature;
  Matrix3 smooth;
  const bool closed = options.method == CollisionGradient::kGumbel &&
                      gumbel_curvature(shape, n, options.noise, options.depth, neighbourhood_, smooth);
  if (closed) return smooth;
  // Heights of corners are noise times the size of the shape.
  const double noise = options.method == CollisionGradient::kGumbel ? options.noise / shape.extent() : options.noise;
  normal_samples_.prepare(2, options.samples, options.seed);
  return gaussian_curvature(shape, n, noise, normal_samples_);
}

CollisionDerivatives CollisionDifferentiator::operator()(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B,
                                                         const Pose& X_WB, const CollisionDerivativeOptions& options) {
  return of_contact(A, X_WA, B, X_WB, collide(A, X_WA, B, X_WB, queries_), options);
}

CollisionDerivatives CollisionDifferentiator::of_contact(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B,
                                                         const Pose& X_WB, const ContactResult& contact,
                                                         const CollisionDerivativeOptions& options) {
  require_options(options);
  CollisionDerivatives d;
  d.contact = contact;
  if (!contact.valid()) return d;
  const Pair pair{{A, X_WA}, {B, X_WB}};
  d.refined = refine_contact(A, X_WA, B, X_WB, d.contact);
  CoreLocation at = cores_of(pair, d.contact);
  LocalSupport a = support_A(pair, at, d.refined ? kSharp : kLoose[0]);
  LocalSupport b = support_B(pair, at, d.refined ? kSharp : kLoose[0]);
  d.kind_A = a.kind;
  d.kind_B = b.kind;
  ContactLinearisation line;
  line.prepare(at, a, X_WA.R, b, X_WB.R);
  d.unique = line.unique();
  d.valid = line.solvable();
  if (d.valid) {
    add_parameters(pair, at, line, false, a, d);
    add_parameters(pair, at, line, true, b, d);
  }
  if (options.method == CollisionGradient::kZerothOrder) {
    add_samples(A, X_WA, B, X_WB, options, d);
  } else if (options.method != CollisionGradient::kExact) {
    const bool flat_A = !A.bounded(), flat_B = !B.bounded();  // a half-space stays one
    if (!flat_A) a.curvature = curvature(A, a, pair.A.in(at.n), options), a.slides = 0;
    if (!flat_B) b.curvature = curvature(B, b, pair.B.in(-at.n), options), b.slides = 0;
    const double apart = std::abs(dot(at.n, at.b - at.a));
    line.prepare(at, a, X_WA.R, b, X_WB.R, std::max(apart, kSharp * pair.size()));
    d.valid = line.solvable();
  }
  if (!d.valid) return d;
  if (options.method != CollisionGradient::kZerothOrder) set_by_B(pair, at, line, d);
  set_by_A(pair, d);
  set_turns(d.contact.normal, d.by_B);
  set_turns(d.contact.normal, d.by_A);
  return d;
}

// Eq. 6. The value without noise is taken off every sample, which changes no expectation and takes most of the
// variance away.
void CollisionDifferentiator::add_samples(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B,
                                          const Pose& X_WB, const CollisionDerivativeOptions& options,
                                          CollisionDerivatives& out) {
  pose_samples_.prepare(6, options.samples, options.seed);
  QueryCache cache;
  const ContactResult here = out.contact;
  int count = 0;
  for (int k = 0; k < pose_samples_.count(); ++k) {
    const Eigen::Ref<const VectorX> z = pose_samples_[k];
    const Vector3 turn = options.noise * z.tail<3>(), way = options.noise * z.head<3>();
    const Pose there(Mat3(so3_exp(turn).toRotationMatrix()) * X_WB.R, X_WB.p + Vec3(way));
    const ContactResult c = collide(A, X_WA, B, there, queries_, {}, &cache);
    if (!c.valid()) continue;
    ++count;
    const Eigen::Matrix<double, 1, 6> weight = z.transpose() / options.noise;
    out.by_B.distance += (c.distance - here.distance) * weight;
    out.by_B.normal += (c.normal - here.normal).eigen() * weight;
    out.by_B.point_A += (c.point_A - here.point_A).eigen() * weight;
    out.by_B.point_B += (c.point_B - here.point_B).eigen() * weight;
  }
  out.valid = count > 0;
  if (count == 0) return;
  out.by_B.distance /= count;
  out.by_B.normal /= count;
  out.by_B.point_A /= count;
  out.by_B.point_B /= count;
}

}  // namespace touchstone
