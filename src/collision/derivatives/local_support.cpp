#include "touchstone/collision/derivatives/local_support.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "touchstone/collision/narrow/minkowski.hpp"

namespace touchstone {
namespace {

// Corners that a face is looked for among; faces of more are cut to those nearest to the point's plane in order of
// discovery.
constexpr int kMostCorners = 64;
// Of the size of a feature: a point so near its border is on it.
constexpr double kBorder = 1e-9;

struct Corners {
  int count = 0;
  std::array<int, kMostCorners> name;
  std::array<Vec3, kMostCorners> place;

  void add(int n, Vec3 p) {
    if (count == kMostCorners) return;
    name[static_cast<std::size_t>(count)] = n;
    place[static_cast<std::size_t>(count++)] = p;
  }
  bool has(int n) const { return std::find(name.begin(), name.begin() + count, n) != name.begin() + count; }
};

Vec3 corner_of_box(Vec3 size, int bits) {
  return {(bits & 1) != 0 ? -size.x() : size.x(), (bits & 2) != 0 ? -size.y() : size.y(),
          (bits & 4) != 0 ? -size.z() : size.z()};
}

// Whether q lies in the plane across n through p, within the angle.
bool is_level(Vec3 n, Vec3 p, Vec3 q, double tolerance) {
  const Vec3 way = q - p;
  return std::abs(dot(n, way)) <= tolerance * norm(way);
}

// The corners in the supporting plane, the support point first.
void collect(const ConvexShape& shape, Vec3 n, double tolerance, Corners& out) {
  int first = -1;
  const Vec3 top = shape.support(n, first);
  out.add(first, top);
  const auto consider = [&](int name, Vec3 p) {
    if (name != first && !out.has(name) && is_level(n, top, p, tolerance)) out.add(name, p);
  };
  switch (shape.core()) {
    case CoreType::kSegment:
      return consider(1 - first, {top.x(), top.y(), -top.z()});
    case CoreType::kTriangle:
      for (int k = 0; k < 3; ++k) consider(k, shape.corners()[k]);
      return;
    case CoreType::kBox:
      for (int k = 0; k < 8; ++k) consider(k, corner_of_box(shape.size(), k));
      return;
    case CoreType::kPolytope: {
      const Polytope& p = *shape.polytope();
      if (p.first_neighbour.empty()) {
        for (std::size_t k = 0; k < p.vertices.size(); ++k) consider(static_cast<int>(k), p.vertices[k]);
        return;
      }
      for (int k = 0; k < out.count; ++k) {  // along edges, as far as they are level
        const auto v = static_cast<std::size_t>(out.name[static_cast<std::size_t>(k)]);
        for (int i = p.first_neighbour[v]; i < p.first_neighbour[v + 1]; ++i) {
          const int w = p.neighbours[static_cast<std::size_t>(i)];
          consider(w, p.vertices[static_cast<std::size_t>(w)]);
        }
      }
      return;
    }
    default:
      return;
  }
}

void set_vertex(const Corners& c, int k, LocalSupport& out) {
  out.kind = SupportKind::kVertex;
  out.slides = 0;
  out.corners = 1;
  out.corner[0] = c.name[static_cast<std::size_t>(k)];
  out.place[0] = c.place[static_cast<std::size_t>(k)];
  out.weight[0] = 1.0;
  out.point = out.place[0];
}

Vec3 across_to(Vec3 n, Vec3 a) {
  a -= dot(a, n) * n;
  return a * (1.0 / norm(a));
}

// One slide along a line that need not lie across n exactly.
void set_slide(Vec3 n, Vec3 way, LocalSupport& out) {
  out.slides = 1;
  out.slide[0] = across_to(n, way);
  out.tilt[0] = -dot(way, n) / dot(way, out.slide[0]);
}

// Two slides in the plane across the unit vector m.
void set_plane(Vec3 n, Vec3 m, Vec3 e, LocalSupport& out) {
  out.kind = SupportKind::kFace;
  out.slides = 2;
  out.slide[0] = across_to(n, e);
  out.slide[1] = cross(n, out.slide[0]);
  for (int k = 0; k < 2; ++k) out.tilt[k] = dot(out.slide[k], m) / dot(n, m);
}

void set_edge(const Corners& c, int i, int j, Vec3 n, Vec3 point, LocalSupport& out) {
  const Vec3 a = c.place[static_cast<std::size_t>(i)], b = c.place[static_cast<std::size_t>(j)], way = b - a;
  const double share = dot(point - a, way) / dot(way, way);
  if (!(share > kBorder)) return set_vertex(c, i, out);
  if (!(share < 1.0 - kBorder)) return set_vertex(c, j, out);
  out.kind = SupportKind::kEdge;
  set_slide(n, way, out);
  out.corners = 2;
  for (int k = 0; k < 2; ++k) {
    out.corner[k] = c.name[static_cast<std::size_t>(k == 0 ? i : j)];
    out.place[k] = k == 0 ? a : b;
    out.weight[k] = k == 0 ? 1.0 - share : share;
  }
  out.point = a + share * way;
}

// The corners of a face in order around their middle, seen along n.
void sort_around(Corners& c, Vec3 e, Vec3 f) {
  Vec3 middle;
  for (int k = 0; k < c.count; ++k) middle += c.place[static_cast<std::size_t>(k)] * (1.0 / c.count);
  std::array<double, kMostCorners> angle;
  std::array<int, kMostCorners> order;
  for (int k = 0; k < c.count; ++k) {
    const Vec3 arm = c.place[static_cast<std::size_t>(k)] - middle;
    angle[static_cast<std::size_t>(k)] = std::atan2(dot(arm, f), dot(arm, e));
    order[static_cast<std::size_t>(k)] = k;
  }
  std::sort(order.begin(), order.begin() + c.count,
            [&](int i, int j) { return angle[static_cast<std::size_t>(i)] < angle[static_cast<std::size_t>(j)]; });
  const Corners old = c;
  for (int k = 0; k < c.count; ++k) {
    const auto from = static_cast<std::size_t>(order[static_cast<std::size_t>(k)]);
    c.name[static_cast<std::size_t>(k)] = old.name[from];
    c.place[static_cast<std::size_t>(k)] = old.place[from];
  }
}

// The point in the triangle of three corners: its weights.
void set_weights(const Corners& c, const int (&corner)[3], Vec3 e, Vec3 f, Vec3 point, LocalSupport& out) {
  const auto place = [&](int k) { return c.place[static_cast<std::size_t>(corner[k])]; };
  const auto area = [&](Vec3 a, Vec3 b) { return dot(a, e) * dot(b, f) - dot(a, f) * dot(b, e); };
  const Vec3 a = place(1) - place(0), b = place(2) - place(0), p = point - place(0);
  const double whole = area(a, b);
  out.weight[1] = area(p, b) / whole;
  out.weight[2] = area(a, p) / whole;
  out.weight[0] = 1.0 - out.weight[1] - out.weight[2];
  for (int k = 0; k < 3; ++k) {
    out.corner[k] = c.name[static_cast<std::size_t>(corner[k])];
    out.place[k] = place(k);
  }
  out.corners = 3;
}

void set_face(Corners& c, Vec3 n, Vec3 point, LocalSupport& out) {
  const Vec3 e = across_to(n, c.place[1] - c.place[0]), f = cross(n, e);
  sort_around(c, e, f);
  const double size = norm(c.place[1] - c.place[0]) + norm(c.place[2] - c.place[0]);
  // Counter-clockwise: outside of an edge, or on it, the point belongs to that edge.
  for (int k = 0; k < c.count; ++k) {
    const int next = (k + 1) % c.count;
    const Vec3 way = c.place[static_cast<std::size_t>(next)] - c.place[static_cast<std::size_t>(k)];
    const Vec3 inward = cross(n, way) * (1.0 / norm(way));
    if (!(dot(inward, point - c.place[static_cast<std::size_t>(k)]) > kBorder * size)) {
      return set_edge(c, k, next, n, point, out);
    }
  }
  // The triangle of the fan from the first corner that has the point in it.
  for (int k = 1; k + 1 < c.count; ++k) {
    set_weights(c, {0, k, k + 1}, e, f, point, out);
    if (out.weight[2] >= 0.0 && out.weight[1] >= -kBorder && out.weight[0] >= -kBorder) break;
  }
  out.point = out.weight[0] * out.place[0] + out.weight[1] * out.place[1] + out.weight[2] * out.place[2];
  const Vec3 normal = cross(out.place[1] - out.place[0], out.place[2] - out.place[0]);
  set_plane(n, normal * (1.0 / norm(normal)), e, out);
}

void set_cornered(const ConvexShape& shape, Vec3 n, Vec3 point, double tolerance, LocalSupport& out) {
  Corners c;
  collect(shape, n, tolerance, c);
  if (c.count == 1) return set_vertex(c, 0, out);
  int far = 1, wide = -1;
  double length = 0.0, width = 0.0;
  for (int k = 1; k < c.count; ++k) {
    const double way = norm(c.place[static_cast<std::size_t>(k)] - c.place[0]);
    if (way > length) far = k, length = way;
  }
  if (!(length > 0.0)) return set_vertex(c, 0, out);
  const Vec3 along = (c.place[static_cast<std::size_t>(far)] - c.place[0]) * (1.0 / length);
  for (int k = 1; k < c.count; ++k) {
    const double way = norm(cross(along, c.place[static_cast<std::size_t>(k)] - c.place[0]));
    if (way > width) wide = k, width = way;
  }
  if (wide < 0 || !(width > kBorder * length)) return set_edge(c, 0, far, n, point, out);
  set_face(c, n, point, out);
}

Matrix3 outer(Vec3 a) { return a.eigen() * a.eigen().transpose(); }

// A disk of radius r across z, at height z: its plane (a face) or its rim.
void set_disk(double r, double height, Vec3 n, Vec3 point, double tolerance, LocalSupport& out) {
  const double across = std::hypot(n.x(), n.y());
  const bool inside = std::hypot(point.x(), point.y()) < r * (1.0 - kBorder);
  if (across <= tolerance && inside) {
    set_plane(n, {0, 0, n.z() < 0.0 ? -1.0 : 1.0}, {1, 0, 0}, out);
    out.point = {point.x(), point.y(), height};
    return;
  }
  out.kind = SupportKind::kRim;
  // On the rim of a face that n is perpendicular to, the point says where it is.
  const Vec3 from = across > tolerance ? n : point;
  const double length = std::hypot(from.x(), from.y());
  const Vec3 radial = length > 0.0 ? Vec3(from.x() / length, from.y() / length, 0) : Vec3(1, 0, 0);
  const Vec3 around(-radial.y(), radial.x(), 0.0);
  out.point = {r * radial.x(), r * radial.y(), height};
  if (across > tolerance) out.curvature = (r / across) * outer(around);
}

// The side of a cylinder or cone: lines along `along` from the axis' plane, `radius` of curvature across them.
void set_side(Vec3 n, Vec3 radial, Vec3 along, double radius, Vec3 point, LocalSupport& out) {
  out.kind = SupportKind::kSide;
  set_slide(n, along, out);
  out.curvature = radius * outer({-radial.y(), radial.x(), 0.0});
  out.point = point;
}

void set_cylinder(Vec3 size, Vec3 n, Vec3 point, double tolerance, LocalSupport& out) {
  const double h = size.z(), r = size.x(), across = std::hypot(n.x(), n.y());
  if (std::abs(n.z()) <= tolerance && std::abs(point.z()) < h * (1.0 - kBorder)) {
    const Vec3 radial(n.x() / across, n.y() / across, 0.0);
    return set_side(n, radial, {0, 0, 1}, r, {r * radial.x(), r * radial.y(), point.z()}, out);
  }
  const bool upper = std::abs(n.z()) <= tolerance ? point.z() > 0.0 : n.z() > 0.0;
  set_disk(r, upper ? h : -h, n, point, tolerance, out);
}

void set_cone(Vec3 size, Vec3 n, Vec3 point, double tolerance, LocalSupport& out) {
  const double r = size.x(), h = size.z(), length = std::hypot(r, 2.0 * h), across = std::hypot(n.x(), n.y());
  const double cosine = length > 0.0 ? 2.0 * h / length : 1.0, sine = length > 0.0 ? r / length : 0.0;
  const double steeper = n.z() * cosine - across * sine;  // sine of the angle beyond the normal of the side
  const double share = h > 0.0 ? (h - point.z()) / (2.0 * h) : 1.0;
  const bool is_side = std::abs(steeper) <= tolerance && across > tolerance;
  if (is_side && share > kBorder && share < 1.0 - kBorder) {
    const Vec3 radial(n.x() / across, n.y() / across, 0.0);
    const Vec3 along = sine * radial + Vec3(0, 0, -cosine);
    return set_side(n, radial, along, share * r / cosine, Vec3(0, 0, h) + share * length * along, out);
  }
  if (is_side ? share <= kBorder : steeper > 0.0) {
    out.kind = SupportKind::kVertex;
    out.point = {0, 0, h};
    return;
  }
  set_disk(r, -h, n, point, tolerance, out);
}

void set_ellipsoid(Vec3 size, Vec3 n, LocalSupport& out) {
  const Vector3 squared = size.eigen().cwiseAbs2(), scaled = squared.cwiseProduct(n.eigen());
  const double width = std::sqrt(std::max(scaled.dot(n.eigen()), 0.0));
  out.kind = SupportKind::kSmooth;
  if (!(width > 0.0)) return;  // a point
  out.point = Vec3(Vector3(scaled / width));
  out.curvature = squared.asDiagonal();
  out.curvature = out.curvature / width - scaled * scaled.transpose() / (width * width * width);
}

}  // namespace

LocalSupport find_local_support(const ConvexShape& shape, Vec3 n, Vec3 point, double tolerance) {
  LocalSupport out;
  switch (shape.core()) {
    case CoreType::kPoint:
      break;
    case CoreType::kSegment:
    case CoreType::kTriangle:
    case CoreType::kBox:
    case CoreType::kPolytope:
      set_cornered(shape, n, point, tolerance, out);
      break;
    case CoreType::kCylinder:
      set_cylinder(shape.size(), n, point, tolerance, out);
      break;
    case CoreType::kCone:
      set_cone(shape.size(), n, point, tolerance, out);
      break;
    case CoreType::kEllipsoid:
      set_ellipsoid(shape.size(), n, out);
      break;
    case CoreType::kHalfSpace:
      set_plane(n, {0, 0, 1}, {1, 0, 0}, out);
      out.point = {point.x(), point.y(), 0.0};
      break;
  }
  return out;
}

Vec3 move_support(const ConvexShape& shape, const LocalSupport& local, Vec3 n, const double* x) {
  switch (local.kind) {
    case SupportKind::kVertex:
      return local.point;
    case SupportKind::kEdge:
      return local.point + x[0] * local.slide[0];
    case SupportKind::kFace:
      return local.point + x[0] * local.slide[0] + x[1] * local.slide[1];
    case SupportKind::kRim: {
      const double across = std::hypot(n.x(), n.y()), r = std::hypot(local.point.x(), local.point.y());
      return across > 0.0 ? Vec3(r * n.x() / across, r * n.y() / across, local.point.z()) : local.point;
    }
    case SupportKind::kSide: {
      const double across = std::hypot(n.x(), n.y()), z = local.point.z() + x[0] * local.slide[0].z();
      const double h = shape.size().z();
      const double r = shape.core() == CoreType::kCone ? shape.size().x() * (h - z) / (2.0 * h) : shape.size().x();
      return {r * n.x() / across, r * n.y() / across, z};
    }
    case SupportKind::kSmooth: {
      int vertex = -1;
      return shape.support(n, vertex);
    }
  }
  return local.point;
}

int size_count(CoreType core) {
  switch (core) {
    case CoreType::kPoint:
      return 1;
    case CoreType::kSegment:
    case CoreType::kCylinder:
    case CoreType::kCone:
      return 2;
    case CoreType::kBox:
    case CoreType::kEllipsoid:
      return 3;
    default:
      return 0;
  }
}

namespace {

Vec3 axis_of(int index) { return {index == 0 ? 1.0 : 0.0, index == 1 ? 1.0 : 0.0, index == 2 ? 1.0 : 0.0}; }

SizeChange ellipsoid_change(Vec3 size, Vec3 n, int index) {
  const Vector3 squared = size.eigen().cwiseAbs2(), scaled = squared.cwiseProduct(n.eigen());
  const double width = std::sqrt(scaled.dot(n.eigen()));
  const double a = size[index], along = n[index];
  Vector3 change = -scaled * (a * along * along / (width * width * width));
  change[index] += 2.0 * a * along / width;
  return {Vec3(change), {}};
}

// Side of a cone: the point stays at its share of the way from the tip to the base; the normal is across that line.
SizeChange cone_side_change(Vec3 size, const LocalSupport& local, Vec3 n, int index) {
  const double h = size.z(), length = std::hypot(size.x(), 2.0 * h), share = (h - local.point.z()) / (2.0 * h);
  const double across = std::hypot(n.x(), n.y());
  const Vec3 radial(n.x() / across, n.y() / across, 0.0);
  // The line from tip to base: (r radial, -2 h).
  const Vec3 line = index == 0 ? radial : Vec3(0, 0, -2.0);
  SizeChange change;
  change.point = index == 0 ? share * radial : Vec3(0, 0, 1.0 - 2.0 * share);
  change.turn[0] = -dot(n, line) / length;
  return change;
}

}  // namespace

SizeChange size_change(const ConvexShape& shape, const LocalSupport& local, Vec3 n, int index) {
  const Vec3 p = local.point;
  const Vec3 up(0, 0, p.z() < 0.0 ? -1.0 : 1.0);
  const double r = std::hypot(p.x(), p.y());
  const Vec3 radial = r > 0.0 ? Vec3(p.x() / r, p.y() / r, 0.0) : Vec3();
  switch (shape.core()) {
    case CoreType::kPoint:
      return {n, {}};
    case CoreType::kSegment:
      if (index == 0) return {n, {}};
      return {local.kind == SupportKind::kVertex ? up : Vec3(), {}};
    case CoreType::kBox:  // a corner, or an edge or face that lies to the one side
      for (int k = 1; k < local.corners; ++k) {
        if (local.place[k][index] != local.place[0][index]) return {};
      }
      return {axis_of(index) * (local.place[0][index] < 0.0 ? -1.0 : 1.0), {}};
    case CoreType::kEllipsoid:
      return ellipsoid_change(shape.size(), n, index);
    case CoreType::kCylinder:
      if (index == 0) return {local.kind == SupportKind::kFace ? Vec3() : radial, {}};
      return {local.kind == SupportKind::kSide ? Vec3() : up, {}};
    case CoreType::kCone:
      if (local.kind == SupportKind::kSide) return cone_side_change(shape.size(), local, n, index);
      if (index == 0) return {local.kind == SupportKind::kRim ? radial : Vec3(), {}};
      return {local.kind == SupportKind::kVertex ? Vec3(0, 0, 1) : Vec3(0, 0, -1), {}};
    default:
      return {};
  }
}

// A feature stays across n: for the edge (or two sides of the face's triangle) d_k with weights, n.d = 0 gives
// d.dn = -n.dd. Slides are combinations of these.
SizeChange corner_change(const LocalSupport& local, Vec3 n, int corner, int axis) {
  SizeChange change;
  const Vec3 way = axis_of(axis);
  change.point = local.weight[corner] * way;
  if (local.slides == 1) {
    const double length = dot(local.place[1] - local.place[0], local.slide[0]);
    change.turn[0] = (corner == 1 ? -1.0 : 1.0) * dot(n, way) / length;
  } else if (local.slides == 2) {
    Eigen::Matrix2d sides;
    Eigen::Vector2d turn;
    for (int k = 0; k < 2; ++k) {
      const Vec3 side = local.place[k + 1] - local.place[0];
      sides(k, 0) = dot(side, local.slide[0]);
      sides(k, 1) = dot(side, local.slide[1]);
      turn[k] = -dot(n, way) * ((corner == k + 1 ? 1.0 : 0.0) - (corner == 0 ? 1.0 : 0.0));
    }
    const Eigen::Vector2d slid = sides.inverse() * turn;
    change.turn[0] = slid[0];
    change.turn[1] = slid[1];
  }
  return change;
}

}  // namespace touchstone
