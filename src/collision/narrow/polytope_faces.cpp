// Faces of a polytope: triangles of the hull merged into polygons where they are coplanar.
//
// Problem: contact manifolds need whole faces. A cube whose faces are two triangles each would touch a floor with three
//   corners only; qhull splits facets into triangles, and files store vertices in single precision.
// Method: grow a region from the largest triangle left over edges, as long as the vertices stay within kCoplanar of its
//   plane; its boundary is the loop. A vertex slightly inside a merged face belongs to the face but not to the loop.
// Cost: once for each polytope, O(n log n).
#include <algorithm>
#include <cmath>
#include <map>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/minkowski.hpp"

namespace touchstone {
namespace {

// Vertices within this fraction of the polytope's extent of a plane lie in it: single precision and some rotation.
constexpr double kCoplanar = 1e-6;
// Faces whose normals are farther apart than this (rad) stay apart, however small the triangles are.
constexpr double kCoplanarAngle = 1e-2;

class FaceBuilder {
 public:
  explicit FaceBuilder(Polytope& polytope) : polytope_(polytope), count_(polytope.triangles.size()) {
    Vec3 lower = polytope.vertices.front(), upper = lower;
    for (const Vec3& v : polytope.vertices) {
      lower = Vec3(v.lanes < lower.lanes ? v.lanes : lower.lanes);
      upper = Vec3(v.lanes > upper.lanes ? v.lanes : upper.lanes);
    }
    extent_ = norm(upper - lower);
    polytope_.first_face_vertex.assign(1, 0);
  }

  void merge_triangles() {
    measure();
    std::vector<std::size_t> order(count_);
    for (std::size_t t = 0; t < count_; ++t) order[t] = t;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return area_[a] > area_[b]; });
    std::vector<char> used(count_, 0);
    for (const std::size_t seed : order) {
      if (used[seed] == 0) grow(seed, used);
    }
    collect_vertex_faces();
  }

  // The convex hull in the plane, front and back (Andrew's monotone chain); two ends when all lie on a line.
  void flat_set() {
    const std::vector<Vec3>& points = polytope_.vertices;
    const int farthest = farthest_from([&](Vec3 p) { return norm(p - points[0]); });
    const Vec3 line = points[at(farthest)] - points[0];
    const double length = norm(line);
    if (!(length > 0.0)) return collect_vertex_faces();
    const Vec3 u = line * (1.0 / length);
    const auto across = [&](Vec3 p) { return (p - points[0]) - dot(p - points[0], u) * u; };
    const int side = farthest_from([&](Vec3 p) { return norm(across(p)); });
    const Vec3 w = across(points[at(side)]);
    std::vector<int> order(points.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const auto along = [&](int i) { return dot(points[at(i)], u); };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return along(a) < along(b); });
    if (!(norm(w) > 1e-12 * length)) {
      add_face(Vec3(), {order.front(), order.back()});
      return all_vertices_in_all_faces();
    }
    const Vec3 v = w * (1.0 / norm(w)), normal = cross(u, v);
    std::vector<int> loop = chain(order, u, v);
    add_face(normal, loop);
    std::reverse(loop.begin(), loop.end());
    add_face(-normal, loop);
    all_vertices_in_all_faces();
  }

 private:
  template <typename Measure>
  int farthest_from(const Measure& measure) const {
    int best = 0;
    for (std::size_t i = 0; i < polytope_.vertices.size(); ++i) {
      if (measure(polytope_.vertices[i]) > measure(polytope_.vertices[at(best)])) best = static_cast<int>(i);
    }
    return best;
  }

  std::vector<int> chain(std::vector<int> order, Vec3 u, Vec3 v) const {
    const auto x = [&](int i) { return dot(polytope_.vertices[at(i)], u); };
    const auto y = [&](int i) { return dot(polytope_.vertices[at(i)], v); };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return x(a) != x(b) ? x(a) < x(b) : y(a) < y(b); });
    const auto turns_left = [&](int a, int b, int c) {
      return (x(b) - x(a)) * (y(c) - y(a)) - (y(b) - y(a)) * (x(c) - x(a)) > 1e-14 * extent_ * extent_;
    };
    std::vector<int> loop;
    for (int pass = 0; pass < 2; ++pass) {
      const std::size_t start = loop.size();
      for (const int i : order) {
        while (loop.size() >= start + 2 && !turns_left(loop[loop.size() - 2], loop.back(), i)) loop.pop_back();
        loop.push_back(i);
      }
      loop.pop_back();
      std::reverse(order.begin(), order.end());
    }
    return loop;
  }

  void measure() {
    normal_.resize(count_);
    area_.resize(count_);
    for (std::size_t t = 0; t < count_; ++t) {
      const Eigen::Vector3i& triangle = polytope_.triangles[t];
      const Vec3 a = vertex(triangle[0]), n = cross(vertex(triangle[1]) - a, vertex(triangle[2]) - a);
      area_[t] = norm(n);
      normal_[t] = area_[t] > 0.0 ? n * (1.0 / area_[t]) : Vec3();
      for (int k = 0; k < 3; ++k) edges_[{triangle[k], triangle[(k + 1) % 3]}] = static_cast<int>(t);
    }
  }

  Vec3 vertex(int i) const { return polytope_.vertices[at(i)]; }

  // The triangle across edge k of triangle t, -1 when the hull has a hole there.
  int across(std::size_t t, int k) const {
    const Eigen::Vector3i& triangle = polytope_.triangles[t];
    const auto found = edges_.find({triangle[(k + 1) % 3], triangle[k]});
    return found == edges_.end() ? -1 : found->second;
  }

  bool coplanar(std::size_t t, Vec3 normal, double offset) const {
    for (int k = 0; k < 3; ++k) {
      if (std::abs(dot(normal, vertex(polytope_.triangles[t][k])) - offset) > kCoplanar * extent_) return false;
    }
    // The normal of a sliver means nothing; its vertices decide.
    const bool sliver = area_[t] < kCoplanar * extent_ * extent_;
    return dot(normal_[t], normal) > (sliver ? 0.0 : std::cos(kCoplanarAngle));
  }

  void grow(std::size_t seed, std::vector<char>& used) {
    const Vec3 normal = normal_[seed];
    const double offset = dot(normal, vertex(polytope_.triangles[seed][0]));
    std::vector<std::size_t> region{seed};
    used[seed] = 1;
    for (std::size_t next = 0; next < region.size(); ++next) {
      for (int k = 0; k < 3; ++k) {
        const int other = across(region[next], k);
        if (other < 0 || used[at(other)] != 0 || !coplanar(at(other), normal, offset)) continue;
        used[at(other)] = 1;
        region.push_back(at(other));
      }
    }
    std::vector<int> loop = boundary(region);
    if (loop.size() >= 3) {
      add_face(normal, loop);
      for (const std::size_t t : region) remember(t);
      return;
    }
    for (const std::size_t t : region) {  // not a disk: the triangles themselves
      const Eigen::Vector3i& triangle = polytope_.triangles[t];
      add_face(normal_[t], {triangle[0], triangle[1], triangle[2]});
      remember(t);
    }
  }

  // The edges that have their neighbour outside of the region, as one loop; empty when they are not one loop.
  std::vector<int> boundary(const std::vector<std::size_t>& region) const {
    std::vector<std::size_t> sorted = region;
    std::sort(sorted.begin(), sorted.end());
    std::map<int, int> next;
    for (const std::size_t t : region) {
      for (int k = 0; k < 3; ++k) {
        const int other = across(t, k);
        if (other >= 0 && std::binary_search(sorted.begin(), sorted.end(), at(other))) continue;
        const Eigen::Vector3i& triangle = polytope_.triangles[t];
        if (!next.emplace(triangle[k], triangle[(k + 1) % 3]).second) return {};
      }
    }
    std::vector<int> loop;
    if (next.empty()) return loop;
    for (int v = next.begin()->first; loop.size() < next.size();) {
      loop.push_back(v);
      const auto found = next.find(v);
      if (found == next.end()) return {};
      v = found->second;
      if (v == loop.front()) break;
    }
    return loop.size() == next.size() ? loop : std::vector<int>{};
  }

  void add_face(Vec3 normal, const std::vector<int>& loop) {
    polytope_.face_normals.push_back(normal);
    polytope_.face_vertices.insert(polytope_.face_vertices.end(), loop.begin(), loop.end());
    polytope_.first_face_vertex.push_back(static_cast<int>(polytope_.face_vertices.size()));
  }

  void remember(std::size_t triangle) {
    const int face = static_cast<int>(polytope_.face_normals.size()) - 1;
    for (int k = 0; k < 3; ++k) owners_.emplace_back(polytope_.triangles[triangle][k], face);
  }

  void all_vertices_in_all_faces() {
    for (std::size_t v = 0; v < polytope_.vertices.size(); ++v) {
      for (std::size_t f = 0; f < polytope_.face_normals.size(); ++f) {
        owners_.emplace_back(static_cast<int>(v), static_cast<int>(f));
      }
    }
    collect_vertex_faces();
  }

  void collect_vertex_faces() {
    std::sort(owners_.begin(), owners_.end());
    owners_.erase(std::unique(owners_.begin(), owners_.end()), owners_.end());
    polytope_.first_vertex_face.assign(polytope_.vertices.size() + 1, 0);
    for (const auto& [v, f] : owners_) {
      ++polytope_.first_vertex_face[at(v) + 1];
      polytope_.vertex_faces.push_back(f);
    }
    for (std::size_t v = 0; v < polytope_.vertices.size(); ++v) {
      polytope_.first_vertex_face[v + 1] += polytope_.first_vertex_face[v];
    }
  }

  Polytope& polytope_;
  std::size_t count_;
  double extent_ = 0.0;
  std::vector<Vec3> normal_;
  std::vector<double> area_;
  std::map<std::pair<int, int>, int> edges_;  // directed edge -> triangle
  std::vector<std::pair<int, int>> owners_;   // (vertex, face)
};

}  // namespace

void build_faces(Polytope& polytope) {
  FaceBuilder builder(polytope);
  if (polytope.triangles.empty()) {
    builder.flat_set();
  } else {
    builder.merge_triangles();
  }
}

}  // namespace touchstone
