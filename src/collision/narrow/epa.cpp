#include "touchstone/collision/narrow/epa.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/lanes3.hpp"
#include "touchstone/collision/narrow/simplex.hpp"

namespace touchstone {
namespace {

// Extents below this fraction of the scale are rounding errors.
constexpr double kFlat = 1e-12;
// A point must lie farther than this fraction of the scale beyond a face to remove it.
constexpr double kKeepFace = 1e-14;
// A triangle whose height is below this fraction of its longest edge has no trustworthy normal.
constexpr double kSliver = 1e-10;

// The foot of the origin may lie outside its face by this fraction of the scale.
constexpr double kMiss = 1e-12;

using Face = EpaWorkspace::Face;
using Candidate = EpaWorkspace::Candidate;

struct Farther {  // the heap has the nearest on top; ties by age
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.distance != b.distance ? a.distance > b.distance : a.created > b.created;
  }
};

class Epa {
 public:
  Epa(MinkowskiDifference& D, EpaWorkspace& workspace, const EpaOptions& options)
      : D_(D), work_(workspace), options_(options), scale_(D.scale()) {}

  EpaResult run(const Simplex& simplex) {
    work_.vertices.clear();
    work_.heap.clear();
    work_.free_faces.clear();
    for (int i = 0; i < std::min(simplex.size, 4); ++i) work_.vertices.push_back(simplex.vertices[i]);
    if (!complete_tetrahedron()) return flat();
    upper_ = std::numeric_limits<double>::infinity();
    tolerance_ = std::max(std::max(options_.relative_tolerance, kKeepFace) * scale_, options_.absolute_tolerance);
    make_tetrahedron();
    return expand();
  }

 private:
  Vec3 w(int vertex) const { return work_.vertices[at(vertex)].w; }

  // Adds the support point along +d or -d, whichever is farther from the affine hull of the vertices (d is
  // perpendicular to that). False when D is flat along d.
  bool add_along(Vec3 d) {
    const MinkowskiVertex up = D_.support(d), down = D_.support(-d);
    const double height = dot(d, up.w - w(0)), depth = dot(d, w(0) - down.w);
    if (!(std::max(height, depth) > kFlat * scale_)) return false;
    work_.vertices.push_back(height >= depth ? up : down);
    return true;
  }

  // Drops vertices that make the start simplex flat and grows it to a tetrahedron. False when D has no volume; then
  // flat_normal_ is a direction in which it has no extent.
  bool complete_tetrahedron() {
    std::vector<MinkowskiVertex>& v = work_.vertices;
    if (v.size() == 4 && std::abs(dot(cross(w(1) - w(0), w(2) - w(0)), w(3) - w(0))) <= kFlat * cube(longest_edge())) {
      v.pop_back();
    }
    if (v.size() == 3) {
      const Vec3 n = cross(w(1) - w(0), w(2) - w(0));
      if (norm(n) <= kFlat * longest_edge() * longest_edge()) v.pop_back();
    }
    if (v.size() == 2 && norm(w(1) - w(0)) <= kFlat * scale_) v.pop_back();
    if (v.empty()) v.push_back(D_.support(Vec3(1, 0, 0)));
    if (v.size() == 1 && !add_along(Vec3(1, 0, 0)) && !add_along(Vec3(0, 1, 0)) && !add_along(Vec3(0, 0, 1))) {
      flat_normal_ = Vec3(0, 0, 1);
      return false;
    }
    if (v.size() == 2) {
      const Vec3 axis = w(1) - w(0), across = perpendicular(axis), other = cross(axis, across);
      if (!add_along(across) && !add_along(other * (1.0 / norm(other)))) {
        flat_normal_ = across;
        return false;
      }
    }
    if (v.size() == 3) {
      const Vec3 n = cross(w(1) - w(0), w(2) - w(0));
      const double length = norm(n);
      flat_normal_ = length > 0.0 ? n * (1.0 / length) : perpendicular(w(1) - w(0));
      if (!add_along(flat_normal_)) return false;
    }
    return finite(v[0].w + v[1].w + v[2].w + v[3].w);
  }

  static double cube(double x) { return x * x * x; }

  double longest_edge() const {
    double squared = 0.0;
    for (std::size_t i = 1; i < work_.vertices.size(); ++i) {
      const Vec3 e = work_.vertices[i].w - work_.vertices[0].w;
      squared = std::max(squared, dot(e, e));
    }
    return std::sqrt(squared);
  }

  // The number of faces that can still be made.
  std::size_t places() const { return work_.free_faces.size() + work_.faces.size() - at(used_); }

  // A place in the pool; there must be one.
  int new_face(int a, int b, int c) {
    int index = used_;
    if (work_.free_faces.empty()) {
      ++used_;
    } else {
      index = work_.free_faces.back();
      work_.free_faces.pop_back();
    }
    Face& face = work_.faces[at(index)];
    face.vertices[0] = a;
    face.vertices[1] = b;
    face.vertices[2] = c;
    face.alive = true;
    face.created = ++created_;
    return index;
  }

  // Normals and distances of up to four faces at a time, one to a lane. Faces beyond the upper bound are no candidates.
  void measure(const int* faces, int count) {
    for (int first = 0; first < count; first += 4) {
      Vec3 corners[3][4];
      for (int lane = 0; lane < 4; ++lane) {
        const Face& face = work_.faces[at(faces[std::min(first + lane, count - 1)])];
        for (int k = 0; k < 3; ++k) corners[k][lane] = w(face.vertices[k]);
      }
      const Lanes3 a = transposed(corners[0]), b = transposed(corners[1]), c = transposed(corners[2]);
      const Lanes3 ab = b - a, ac = c - a, bc = c - b;
      const Lanes3 n = cross(ab, ac);
      const Lanes squared = dot(n, n), ab2 = dot(ab, ab), ac2 = dot(ac, ac), bc2 = dot(bc, bc);
      Lanes longest = ab2 > ac2 ? ab2 : ac2;
      longest = longest > bc2 ? longest : bc2;
      const Lanes root = square_root(squared), inverse = broadcast(1.0) / root;
      const Lanes third = inverse * broadcast(1.0 / 3.0);
      const Lanes distance = third * (dot(n, a) + dot(n, b) + dot(n, c));  // the mean: no vertex is better than another
      for (int lane = 0; lane < std::min(4, count - first); ++lane) {
        Face& face = work_.faces[at(faces[first + lane])];
        face.sliver = !(root[lane] > kSliver * longest[lane]);
        if (face.sliver) continue;
        face.normal = Vec3(n.x[lane], n.y[lane], n.z[lane]) * inverse[lane];
        face.distance = distance[lane];
        if (face.distance > upper_ + tolerance_ || work_.heap.size() == work_.heap.capacity()) continue;
        work_.heap.push_back({face.distance, faces[first + lane], face.created});
        std::push_heap(work_.heap.begin(), work_.heap.end(), Farther());
      }
    }
  }

  void link(int face, int edge, int other, int other_edge) {
    work_.faces[at(face)].neighbours[edge] = other;
    work_.faces[at(face)].neighbour_edges[edge] = other_edge;
    work_.faces[at(other)].neighbours[other_edge] = face;
    work_.faces[at(other)].neighbour_edges[other_edge] = edge;
  }

  void make_tetrahedron() {
    if (dot(cross(w(1) - w(0), w(2) - w(0)), w(3) - w(0)) > 0.0) std::swap(work_.vertices[1], work_.vertices[2]);
    const int base = new_face(0, 1, 2), f0 = new_face(1, 0, 3), f1 = new_face(2, 1, 3), f2 = new_face(0, 2, 3);
    link(base, 0, f0, 0);
    link(base, 1, f1, 0);
    link(base, 2, f2, 0);
    link(f0, 1, f2, 2);  // edge 0-3
    link(f1, 1, f0, 2);  // edge 1-3
    link(f2, 1, f1, 2);  // edge 2-3
    const int faces[4] = {base, f0, f1, f2};
    measure(faces, 4);
  }

  bool is_current(const Candidate& c) const {
    const Face& face = work_.faces[at(c.face)];
    return face.alive && face.created == c.created;
  }

  // The living face nearest to the origin, -1 when there is none.
  int pop_nearest() {
    while (!work_.heap.empty()) {
      const Candidate top = work_.heap.front();
      std::pop_heap(work_.heap.begin(), work_.heap.end(), Farther());
      work_.heap.pop_back();
      if (is_current(top)) return top.face;
    }
    return -1;
  }

  EpaResult expand() {
    result_.status = EpaStatus::kLimited;
    const int limit = std::min(options_.max_iterations, work_.max_iterations);
    for (bool more = true; more && result_.iterations < limit;) {
      const int index = pop_nearest();
      if (index < 0) break;
      more = visit(index);
    }
    return finish();
  }

  // One step. False at the end.
  bool visit(int index) {
    const Face& face = work_.faces[at(index)];
    const bool found = result_.status == EpaStatus::kConverged;
    // The bounds have crossed: an earlier face is the answer. Not when they only meet: a face on the surface of D gives
    // better witness points than the one below it that has found the direction.
    if (face.distance > upper_ + tolerance_) {
      result_.status = EpaStatus::kConverged;
      return false;
    }
    ++result_.iterations;
    MinkowskiVertex s;
    D_.support(face.normal, s);
    const double reach = dot(face.normal, s.w);
    const bool repeated =
        same(s.w, w(face.vertices[0])) || same(s.w, w(face.vertices[1])) || same(s.w, w(face.vertices[2]));
    if (repeated || !(reach - face.distance > tolerance_)) return !accept(face, reach);
    if (found) return true;  // rounding errors at the edge of the face that was found
    result_.lower_bound = std::max(result_.lower_bound, std::min(face.distance, upper_));
    if (reach < upper_) {
      upper_ = reach;
      best_ = face;
    }
    work_.vertices.push_back(s);
    return replace_visible(index);
  }

  // A face on the surface of D. When the foot of the origin falls outside of it, a coplanar neighbour holds the witness
  // points: true when the search can end, false when equally near faces should be looked at.
  bool accept(const Face& face, double reach) {
    const Vec3 foot = face.distance * face.normal;
    const Vec3 points[3] = {w(face.vertices[0]) - foot, w(face.vertices[1]) - foot, w(face.vertices[2]) - foot};
    const double miss = std::sqrt(project_origin(points, 3).squared);
    if (result_.status != EpaStatus::kConverged || miss < miss_) {
      result_.lower_bound = std::min(face.distance, reach);
      best_ = face;
      upper_ = reach;
      miss_ = miss;
    }
    result_.status = EpaStatus::kConverged;
    return miss <= kMiss * scale_;
  }

  bool visible(const Face& face, Vec3 point) const {
    return face.sliver || dot(face.normal, point) - face.distance > kKeepFace * scale_;
  }

  void remove(int index) {
    work_.faces[at(index)].alive = false;
    work_.free_faces.push_back(index);
  }

  // Removes the faces that the last vertex sees, walking from `seed` in order around each face, so that the edges of
  // the horizon come out as one loop; then fills the hole. False when that loop is broken or a pool is full.
  bool replace_visible(int seed) {
    const int vertex = static_cast<int>(work_.vertices.size()) - 1;
    const Vec3 point = w(vertex);
    work_.horizon.clear();
    work_.stack.clear();
    remove(seed);
    push_neighbours(work_.faces[at(seed)], -1);
    while (!work_.stack.empty()) {
      const EpaWorkspace::HorizonEdge next = work_.stack.back();
      work_.stack.pop_back();
      const Face& face = work_.faces[at(next.face)];
      if (!face.alive) continue;
      if (!visible(face, point)) {
        work_.horizon.push_back(next);
        continue;
      }
      remove(next.face);
      push_neighbours(face, next.edge);
    }
    return fill_hole(vertex);
  }

  // The faces across the other edges, the next one counter-clockwise on top.
  void push_neighbours(const Face& face, int entry) {
    for (int k = entry < 0 ? 3 : 2; k >= 1; --k) {
      const int edge = (std::max(entry, 0) + k) % 3;
      work_.stack.push_back({face.neighbours[edge], face.neighbour_edges[edge]});
    }
  }

  bool fill_hole(int vertex) {
    const std::vector<EpaWorkspace::HorizonEdge>& horizon = work_.horizon;
    if (horizon.size() < 3 || horizon.size() > places()) return false;
    work_.fresh.clear();
    for (const EpaWorkspace::HorizonEdge& e : horizon) {
      const Face& outer = work_.faces[at(e.face)];
      if (!outer.alive) return false;
      const int from = outer.vertices[(e.edge + 1) % 3], to = outer.vertices[e.edge];
      if (!work_.fresh.empty() && work_.faces[at(work_.fresh.back())].vertices[1] != from) return false;
      const int face = new_face(from, to, vertex);
      link(face, 0, e.face, e.edge);
      if (!work_.fresh.empty()) link(face, 2, work_.fresh.back(), 1);
      work_.fresh.push_back(face);
    }
    const int first = work_.fresh.front(), last = work_.fresh.back();
    if (work_.faces[at(last)].vertices[1] != work_.faces[at(first)].vertices[0]) return false;
    link(first, 2, last, 1);
    measure(work_.fresh.data(), static_cast<int>(work_.fresh.size()));
    return true;
  }

  // Witness points: the point of the best face nearest to the foot of the origin on its plane.
  EpaResult finish() {
    if (!(upper_ < std::numeric_limits<double>::infinity())) return flat();
    const Vec3 foot = best_.distance * best_.normal;
    Vec3 points[3];
    for (int k = 0; k < 3; ++k) points[k] = w(best_.vertices[k]) - foot;
    const SimplexProjection projection = project_origin(points, 3);
    Vec3 b;
    for (int k = 0; k < 3; ++k) {
      result_.point_a += projection.weights[k] * work_.vertices[at(best_.vertices[k])].a;
      b += projection.weights[k] * work_.vertices[at(best_.vertices[k])].b;
    }
    result_.point_b = D_.X_AB() * b;
    result_.depth = upper_;
    result_.normal = best_.normal;
    return result_;
  }

  EpaResult flat() {
    result_.status = EpaStatus::kFlat;
    result_.normal = flat_normal_;
    Vec3 points[4];
    const int count = std::min(static_cast<int>(work_.vertices.size()), 4);
    for (int k = 0; k < count; ++k) points[k] = w(k);
    const SimplexProjection projection = project_origin(points, count);
    Vec3 b;
    for (int k = 0; k < count; ++k) {
      result_.point_a += projection.weights[k] * work_.vertices[at(k)].a;
      b += projection.weights[k] * work_.vertices[at(k)].b;
    }
    result_.point_b = D_.X_AB() * b;
    return result_;
  }

  MinkowskiDifference& D_;
  EpaWorkspace& work_;
  const EpaOptions& options_;
  const double scale_;
  EpaResult result_;
  Vec3 flat_normal_{0, 0, 1};
  Face best_;
  double upper_ = 0.0, tolerance_ = 0.0;
  double miss_ = 0.0;           // distance of the foot of the origin from best_
  int created_ = 0, used_ = 0;  // faces made in all, and places of the pool taken so far
};

}  // namespace

EpaWorkspace::EpaWorkspace(int iterations) : max_iterations(std::max(iterations, 1)) {
  // By Euler's formula a closed triangulation of V vertices has 2 V - 4 faces; a removal can need a few more while
  // it runs. A face leaves the heap late, at most all faces ever made are in it.
  const auto vertex_count = static_cast<std::size_t>(max_iterations) + 4;
  vertices.reserve(vertex_count);
  faces.resize(2 * vertex_count + 8);
  free_faces.reserve(faces.size());
  heap.reserve(8 * vertex_count);
  horizon.reserve(3 * faces.size());
  fresh.reserve(faces.size());
  stack.reserve(3 * faces.size());
}

EpaResult epa(MinkowskiDifference& D, const Simplex& simplex, EpaWorkspace& workspace, const EpaOptions& options) {
  return Epa(D, workspace, options).run(simplex);
}

}  // namespace touchstone
