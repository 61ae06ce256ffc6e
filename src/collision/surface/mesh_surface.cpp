#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/minkowski.hpp"
#include "touchstone/collision/surface/triangle_surface.hpp"

namespace touchstone {
namespace surface {

EdgeKind edge_kind(Vec3 normal, Vec3 across, Vec3 e) {
  const Vec3 turn = cross(normal, across);
  const double sine = norm(turn);
  if (sine <= kFlatEdge && dot(normal, across) > 0.0) return EdgeKind::kFlat;
  return dot(turn, e) < 0.0 ? EdgeKind::kConcave : EdgeKind::kConvex;
}

// Moeller, Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection", 1997, front faces only. Edges belong to the
// triangle, with a little room, so that no ray slips through between two.
double ray_triangle(Vec3 origin, Vec3 direction, const Vec3* v) {
  constexpr double kRoom = 1e-12;
  constexpr double kMiss = std::numeric_limits<double>::infinity();
  const Vec3 e1 = v[1] - v[0], e2 = v[2] - v[0], p = cross(direction, e2);
  const double determinant = dot(e1, p);
  if (!(determinant > 0.0)) return kMiss;
  const Vec3 s = origin - v[0], q = cross(s, e1);
  const double a = dot(s, p), b = dot(direction, q), room = kRoom * determinant;
  if (a < -room || b < -room || a + b > determinant + room) return kMiss;
  const double t = dot(e2, q) / determinant;
  return t >= 0.0 ? t : kMiss;
}

void hit_triangle(Vec3 origin, Vec3 direction, const Vec3* v, double& limit, RayResult& result) {
  const double t = ray_triangle(origin, direction, v);
  if (!(t <= limit) || !std::isfinite(t) || (result.status == RayStatus::kHit && t >= result.distance)) return;
  limit = t;
  result.status = RayStatus::kHit;
  result.distance = t;
  result.point = origin + t * direction;
  const Vec3 n = cross(v[1] - v[0], v[2] - v[0]);
  result.normal = n * (1.0 / norm(n));
}

}  // namespace surface

namespace {

class MeshSurface final : public TriangleSurface {
 public:
  explicit MeshSurface(TriangleMesh mesh) {
    check(mesh);
    merge_vertices(mesh);
    for (const Vector3& v : mesh.vertices) vertices_.emplace_back(v);
    for (const Eigen::Vector3i& t : mesh.triangles) add_triangle(t);
    if (triangles_.empty()) throw Error("mesh '{}' has no triangle with an area", mesh.name);
    join();
    connect_vertices();
    std::vector<Bounds> boxes;
    boxes.reserve(triangles_.size());
    for (const Face& f : triangles_) {
      Bounds box{vertex(f.vertices[0]).eigen(), vertex(f.vertices[0]).eigen()};
      for (const int v : f.vertices) {
        box.lower = box.lower.cwiseMin(vertex(v).eigen());
        box.upper = box.upper.cwiseMax(vertex(v).eigen());
      }
      boxes.push_back(box);
    }
    tree_ = Bvh(boxes);
  }

  Bounds bounds() const override { return tree_.bounds(); }
  int triangle_count() const override { return static_cast<int>(triangles_.size()); }
  int vertex_count() const override { return static_cast<int>(vertices_.size()); }
  Vec3 vertex(int name) const override { return vertices_[at(name)]; }

  SurfaceTriangle triangle(int index) const override {
    const Face& f = triangles_[at(index)];
    SurfaceTriangle t;
    t.index = index;
    t.normal = f.normal;
    for (int k = 0; k < 3; ++k) {
      t.vertices[k] = vertex(f.vertices[k]);
      t.names[k] = f.vertices[k];
      t.edges[k] = f.edges[k];
      if (f.edges[k] == EdgeKind::kConvex) t.across[k] = triangles_[at(f.neighbours[k])].normal;
    }
    return t;
  }

  bool is_inner(int name) const override { return inner_[at(name)] != 0; }

  bool vertex_allows(int name, Vec3 n) const override {
    constexpr double kRoom = 1e-6;
    for (int k = first_neighbour_[at(name)]; k < first_neighbour_[at(name) + 1]; ++k) {
      const Vec3 e = vertex(neighbours_[at(k)]) - vertex(name);
      const double rise = dot(n, e);
      if (rise > 0.0 && rise > kRoom * norm(e)) return false;
    }
    return true;
  }

  void overlapping(const Bounds& box, std::vector<int>& triangles) const override {
    tree_.overlapping(box, [&](int t) {
      triangles.push_back(t);
      return true;
    });
  }

  void vertices_below(Vec3 normal, double offset, std::vector<int>& names) const override {
    tree_.below(normal, offset, [&](int t) {
      for (const int v : triangles_[at(t)].vertices) {
        if (dot(normal, vertex(v)) <= offset) names.push_back(v);
      }
      return true;
    });
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

  int triangle_above(Vec3) const override { return -1; }

  RayResult raycast(Vec3 origin, Vec3 direction, double limit) const override {
    RayResult result;
    result.status = RayStatus::kMiss;
    tree_.along_ray(origin, direction, limit, [&](int index, double& limit_now) {
      const Face& f = triangles_[at(index)];
      const Vec3 v[3] = {vertex(f.vertices[0]), vertex(f.vertices[1]), vertex(f.vertices[2])};
      surface::hit_triangle(origin, direction, v, limit_now, result);
    });
    return result;
  }

 private:
  struct Face {
    int vertices[3];
    int neighbours[3] = {-1, -1, -1};
    EdgeKind edges[3] = {EdgeKind::kBorder, EdgeKind::kBorder, EdgeKind::kBorder};
    Vec3 normal;
  };

  static void check(const TriangleMesh& mesh) {
    if (mesh.triangles.empty()) {
      throw Error("mesh '{}' has no triangles, it cannot collide as a surface; let it collide as its hull", mesh.name);
    }
    for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
      if (!mesh.vertices[i].allFinite()) throw Error("mesh '{}': vertex {} is not finite", mesh.name, i);
    }
    const int count = static_cast<int>(mesh.vertices.size());
    for (const Eigen::Vector3i& t : mesh.triangles) {
      for (int k = 0; k < 3; ++k) {
        if (t[k] >= 0 && t[k] < count) continue;
        throw Error("mesh '{}' has {} vertices, a triangle names vertex {}", mesh.name, count, t[k]);
      }
    }
  }

  // Slivers thinner than 1e-12 of their length have no normal, nor have specks.
  void add_triangle(const Eigen::Vector3i& t) {
    const Vec3 a = vertex(t[0]), b = vertex(t[1]), c = vertex(t[2]), n = cross(b - a, c - a);
    const double area = norm(n);
    const double longest2 = std::max({dot(b - a, b - a), dot(c - a, c - a), dot(c - b, c - b)});
    if (!(area > 1e-12 * longest2) || area < kShortest * kShortest) return;
    Face face{{t[0], t[1], t[2]}, {-1, -1, -1}, {EdgeKind::kBorder, EdgeKind::kBorder, EdgeKind::kBorder}, Vec3()};
    face.normal = n * (1.0 / area);
    triangles_.push_back(face);
  }

  // Neighbours share an edge in opposite directions. An edge of more than two triangles is a border of all.
  void join() {
    struct Side {
      int triangle, edge;
    };
    std::map<std::pair<int, int>, std::vector<Side>> sides;
    for (std::size_t i = 0; i < triangles_.size(); ++i) {
      for (int k = 0; k < 3; ++k) {
        const int v = triangles_[i].vertices[k], w = triangles_[i].vertices[(k + 1) % 3];
        sides[{std::min(v, w), std::max(v, w)}].push_back({static_cast<int>(i), k});
      }
    }
    for (const auto& [ends, here] : sides) {
      if (here.size() != 2) continue;
      Face &a = triangles_[at(here[0].triangle)], &b = triangles_[at(here[1].triangle)];
      if (a.vertices[here[0].edge] == b.vertices[here[1].edge]) continue;
      a.neighbours[here[0].edge] = here[1].triangle;
      b.neighbours[here[1].edge] = here[0].triangle;
      const Vec3 e = vertex(a.vertices[(here[0].edge + 1) % 3]) - vertex(a.vertices[here[0].edge]);
      a.edges[here[0].edge] = b.edges[here[1].edge] = surface::edge_kind(a.normal, b.normal, e);
    }
  }

  void connect_vertices() {
    std::vector<std::pair<int, int>> edges;
    inner_.assign(vertices_.size(), 1);
    for (const Face& f : triangles_) {
      for (int k = 0; k < 3; ++k) {
        const int v = f.vertices[k], w = f.vertices[(k + 1) % 3];
        edges.emplace_back(v, w);
        edges.emplace_back(w, v);
        if (f.edges[k] != EdgeKind::kFlat) inner_[at(v)] = inner_[at(w)] = 0;
      }
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    first_neighbour_.assign(vertices_.size() + 1, 0);
    for (const auto& [v, w] : edges) {
      ++first_neighbour_[at(v) + 1];
      neighbours_.push_back(w);
    }
    for (std::size_t v = 0; v < vertices_.size(); ++v) first_neighbour_[v + 1] += first_neighbour_[v];
  }

  std::vector<Vec3> vertices_;
  std::vector<Face> triangles_;
  std::vector<int> first_neighbour_, neighbours_;
  std::vector<char> inner_;  // by vertex: all edges around it are flat
  Bvh tree_;
};

}  // namespace

std::unique_ptr<const TriangleSurface> make_mesh_surface(const TriangleMesh& mesh) {
  return std::make_unique<MeshSurface>(mesh);
}

}  // namespace touchstone
