#include "touchstone/collision/narrow/convex.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

void require_size(double value, const char* what) {
  if (!(value >= 0.0) || !std::isfinite(value)) {
    throw Error("a convex shape has {} {}; it must be finite and not negative", what, value);
  }
}

Vec3 checked(const Vector3& size, const char* what) {
  for (int k = 0; k < 3; ++k) require_size(size[k], what);
  return Vec3(size);
}

// All vertex pairs that share an edge of a triangle, as compressed rows.
void connect(Polytope& polytope) {
  const std::size_t count = polytope.vertices.size();
  std::vector<std::pair<int, int>> edges;
  edges.reserve(6 * polytope.triangles.size());
  for (const Eigen::Vector3i& t : polytope.triangles) {
    for (int k = 0; k < 3; ++k) {
      edges.emplace_back(t[k], t[(k + 1) % 3]);
      edges.emplace_back(t[(k + 1) % 3], t[k]);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  polytope.first_neighbour.assign(count + 1, 0);
  polytope.neighbours.reserve(edges.size());
  for (const auto& [from, to] : edges) {
    ++polytope.first_neighbour[static_cast<std::size_t>(from) + 1];
    polytope.neighbours.push_back(to);
  }
  for (std::size_t v = 0; v < count; ++v) polytope.first_neighbour[v + 1] += polytope.first_neighbour[v];
}

int exhaustive(const Polytope& polytope, Vec3 d) {
  using convex_support::LaneBits;
  const Lanes x = broadcast(d.x()), y = broadcast(d.y()), z = broadcast(d.z());
  const Lanes* block = polytope.blocks.data();
  const std::size_t count = polytope.blocks.size() / 3;
  Lanes best = broadcast(-std::numeric_limits<double>::infinity());
  LaneBits best_block{}, index{};
  for (std::size_t i = 0; i < count; ++i, index += 1, block += 3) {
    const Lanes value = x * block[0] + y * block[1] + z * block[2];
    const LaneBits better = value > best;
    best = better ? value : best;
    best_block = (better & index) | (~better & best_block);
  }
  int lane = 0;
  for (int k = 1; k < 4; ++k) {
    if (best[k] > best[lane]) lane = k;
  }
  const int vertex = static_cast<int>(4 * best_block[lane] + lane);
  return std::min(vertex, static_cast<int>(polytope.vertices.size()) - 1);
}

// A vertex that no neighbour beats is the farthest of a convex polytope: its cone of edges contains the polytope.
int climb(const Polytope& polytope, Vec3 d, int start) {
  int best = start;
  double best_value = dot(polytope.vertices[static_cast<std::size_t>(best)], d);
  for (bool moved = true; moved;) {
    moved = false;
    const auto v = static_cast<std::size_t>(best);
    for (int k = polytope.first_neighbour[v]; k < polytope.first_neighbour[v + 1]; ++k) {
      const int neighbour = polytope.neighbours[static_cast<std::size_t>(k)];
      const double value = dot(polytope.vertices[static_cast<std::size_t>(neighbour)], d);
      if (value > best_value) {  // strictly: every step gains, so that this ends
        best_value = value;
        best = neighbour;
        moved = true;
      }
    }
  }
  return best;
}

// The cell of the cube map that d points into: the face of its largest coordinate (two for each axis), and the place of
// the other two on that face.
std::size_t cell(int resolution, Vec3 d) {
  const double x = std::abs(d.x()), y = std::abs(d.y()), z = std::abs(d.z());
  const int axis = x >= y && x >= z ? 0 : (y >= z ? 1 : 2);
  const double largest = d[axis], first = d[axis == 2 ? 0 : axis + 1], second = d[axis == 0 ? 2 : axis - 1];
  const double scale = 0.5 * resolution / std::abs(largest), middle = 0.5 * resolution;
  const auto place = [&](double value) {  // the zero vector gives no number, and the last cell
    const double at = middle + scale * value;
    return at < resolution - 1 ? static_cast<int>(std::max(at, 0.0)) : resolution - 1;
  };
  const int face = 2 * axis + (largest < 0.0 ? 1 : 0), row = face * resolution + place(first);
  const int index = row * resolution + place(second);
  return static_cast<std::size_t>(index);
}

Vec3 cell_middle(int resolution, int face, int first, int second) {
  const auto place = [&](int i) { return (2.0 * i + 1.0) / resolution - 1.0; };
  const double along = face % 2 == 0 ? 1.0 : -1.0, u = place(first), v = place(second);
  if (face / 2 == 0) return {along, u, v};
  return face / 2 == 1 ? Vec3(v, along, u) : Vec3(u, v, along);
}

// About as many cells as half the vertices: then a start is an edge or two away from the answer.
void fill_starts(Polytope& polytope) {
  constexpr double kVerticesPerCell = 2.0;
  const auto count = static_cast<double>(polytope.vertices.size());
  polytope.resolution = std::clamp(static_cast<int>(std::sqrt(count / (6.0 * kVerticesPerCell))), 2, 64);
  const int n = polytope.resolution;
  int last = 0;
  for (int face = 0; face < 6; ++face) {
    for (int first = 0; first < n; ++first) {
      for (int second = 0; second < n; ++second) {
        last = climb(polytope, cell_middle(n, face, first, second), last);
        polytope.starts.push_back(last);
      }
    }
  }
}

void fill_tables(Polytope& polytope) {
  const std::vector<Vec3>& vertices = polytope.vertices;
  const std::size_t last = vertices.size() - 1;
  if (last + 1 > kExhaustiveLimit && !polytope.triangles.empty()) return fill_starts(polytope);
  for (std::size_t first = 0; first <= last; first += 4) {
    const Vec3 a = vertices[first], b = vertices[std::min(first + 1, last)];
    const Vec3 c = vertices[std::min(first + 2, last)], e = vertices[std::min(first + 3, last)];
    for (int k = 0; k < 3; ++k) polytope.blocks.push_back(Lanes{a[k], b[k], c[k], e[k]});
  }
}

std::shared_ptr<const Polytope> make_polytope(TriangleMesh mesh) {
  if (mesh.vertices.empty()) throw Error("mesh '{}' has no vertices, hence no convex shape", mesh.name);
  for (const Vector3& v : mesh.vertices) {
    if (!v.allFinite()) throw Error("mesh '{}' has a vertex that is not finite", mesh.name);
  }
  auto polytope = std::make_shared<Polytope>();
  mesh.triangles.clear();
  merge_vertices(mesh);
  try {
    mesh = convex_hull(mesh);
    polytope->triangles = mesh.triangles;
  } catch (const Error&) {
    // Flat: the points themselves serve, for their convex hull is the same set.
  }
  for (const Vector3& v : mesh.vertices) polytope->vertices.emplace_back(v);
  if (!polytope->triangles.empty()) connect(*polytope);
  fill_tables(*polytope);
  build_faces(*polytope);
  return polytope;
}

}  // namespace

ConvexShape::ConvexShape(CoreType core, Vec3 size, double radius, std::shared_ptr<const Polytope> polytope)
    : core_(core), radius_(radius), size_(size), polytope_(std::move(polytope)) {
  require_size(radius, "radius");
  if (core_ == CoreType::kHalfSpace) {
    lower_ = Vec3(-kInfinity, -kInfinity, -kInfinity);
    upper_ = Vec3(kInfinity, kInfinity, radius_);
    return;
  }
  const Bounds box = bounds(Pose());
  lower_ = Vec3(box.lower);
  upper_ = Vec3(box.upper);
  centre_ = 0.5 * (lower_ + upper_);
  extent_ = std::sqrt(dot(size_, size_));
  if (polytope_) {
    for (const Vec3& v : polytope_->vertices) extent_ = std::max(extent_, std::sqrt(dot(v, v)));
  }
}

ConvexShape ConvexShape::sphere(double radius) { return {CoreType::kPoint, Vec3(), radius}; }

ConvexShape ConvexShape::capsule(double radius, double half_length) {
  return {CoreType::kSegment, checked({0.0, 0.0, half_length}, "half length"), radius};
}

ConvexShape ConvexShape::box(const Vector3& half_extents, double radius) {
  return {CoreType::kBox, checked(half_extents, "half extent"), radius};
}

ConvexShape ConvexShape::ellipsoid(const Vector3& semi_axes, double radius) {
  return {CoreType::kEllipsoid, checked(semi_axes, "semi-axis"), radius};
}

ConvexShape ConvexShape::cylinder(double cylinder_radius, double half_length, double radius) {
  return {CoreType::kCylinder, checked({cylinder_radius, 0.0, half_length}, "size"), radius};
}

ConvexShape ConvexShape::cone(double base_radius, double half_height, double radius) {
  return {CoreType::kCone, checked({base_radius, 0.0, half_height}, "size"), radius};
}

ConvexShape ConvexShape::half_space() { return {CoreType::kHalfSpace, Vec3(), 0.0}; }

ConvexShape ConvexShape::polytope(const std::vector<Vector3>& points, double radius) {
  TriangleMesh mesh;
  mesh.name = "points";
  mesh.vertices = points;
  return {CoreType::kPolytope, Vec3(), radius, make_polytope(std::move(mesh))};
}

ConvexShape ConvexShape::triangle(Vec3 a, Vec3 b, Vec3 c, double radius) {
  ConvexShape shape(CoreType::kPoint, Vec3(), radius);
  shape.core_ = CoreType::kTriangle;
  shape.corners_[0] = a;
  shape.corners_[1] = b;
  shape.corners_[2] = c;
  const Vec3 grow(radius, radius, radius);
  for (int k = 0; k < 3; ++k) {
    shape.lower_.lanes[k] = std::min({a[k], b[k], c[k]});
    shape.upper_.lanes[k] = std::max({a[k], b[k], c[k]});
  }
  shape.lower_ -= grow;
  shape.upper_ += grow;
  shape.centre_ = 0.5 * (shape.lower_ + shape.upper_);
  shape.extent_ = std::sqrt(std::max({dot(a, a), dot(b, b), dot(c, c)}));
  return shape;
}

ConvexShape ConvexShape::make(const Shape& shape, double margin) {
  const Vector3& s = shape.size;
  require_size(margin, "margin");
  switch (shape.type) {
    case ShapeType::kPlane:
      return {CoreType::kHalfSpace, Vec3(), margin};
    case ShapeType::kSphere:
      require_size(s.x(), "radius");
      return sphere(s.x() + margin);
    case ShapeType::kCapsule:
      require_size(s.x(), "radius");
      return capsule(s.x() + margin, s.y());
    case ShapeType::kEllipsoid:
      return ellipsoid(s, margin);
    case ShapeType::kCylinder:
      return cylinder(s.x(), s.y(), margin);
    case ShapeType::kCone:
      return cone(s.x(), s.y(), margin);
    case ShapeType::kBox:
      return box(s, margin);
    case ShapeType::kMesh:
      if (!shape.mesh) throw Error("a mesh shape has no mesh; set Shape::mesh");
      return {CoreType::kPolytope, Vec3(), margin, make_polytope(*shape.mesh)};
    case ShapeType::kHeightField:
      break;
  }
  throw Error("a {} is not convex; give it as convex pieces", to_string(shape.type));
}

Bounds ConvexShape::bounds(const Pose& X_WS) const {
  if (!bounded()) return {Vector3::Constant(-kInfinity), Vector3::Constant(kInfinity)};
  Bounds box;
  const Mat3 rows = transpose(X_WS.R);  // column k: axis k of the world, seen from the shape
  for (int k = 0; k < 3; ++k) {
    const Vec3 axis = k == 0 ? rows.c0 : (k == 1 ? rows.c1 : rows.c2);
    int vertex = -1;
    box.upper[k] = X_WS.p[k] + dot(axis, support(axis, vertex)) + radius_;
    vertex = -1;
    box.lower[k] = X_WS.p[k] + dot(axis, support(-axis, vertex)) - radius_;
  }
  return box;
}

Vec3 ConvexShape::polytope_support(Vec3 d, int& vertex) const {
  const Polytope& polytope = *polytope_;
  if (polytope.starts.empty()) {
    vertex = exhaustive(polytope, d);
  } else {
    int start = polytope.starts[cell(polytope.resolution, d)];
    const auto along = [&](int v) { return dot(polytope.vertices[static_cast<std::size_t>(v)], d); };
    const bool hinted = vertex >= 0 && vertex < static_cast<int>(polytope.vertices.size());
    if (hinted && along(vertex) > along(start)) start = vertex;
    vertex = climb(polytope, d, start);
  }
  return polytope.vertices[static_cast<std::size_t>(vertex)];
}

}  // namespace touchstone
