// Convex hulls by quickhull: Barber, Dobkin, Huhdanpaa, "The Quickhull Algorithm for Convex Hulls", 1996, in the
// reentrant library qhull_r. Option Qt splits facets with more than three vertices into triangles.
#include <libqhull_r/qhull_ra.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "touchstone/base/error.hpp"
#include "touchstone/geometry/mesh.hpp"

namespace touchstone {
namespace {

// Points closer to a plane than this fraction of their extent are flat.
constexpr double kFlatHull = 1e-12;

// Owns qhull's state, and the text of its complaints instead of a stream to the terminal.
class Qhull {
 public:
  Qhull() : log_(open_memstream(&text_, &size_)) { qh_zero(&qh_, log_); }
  ~Qhull() {
    int remaining_count = 0, remaining_bytes = 0;
    qh_freeqhull(&qh_, !qh_ALL);
    qh_memfreeshort(&qh_, &remaining_count, &remaining_bytes);
    if (log_) std::fclose(log_);
    std::free(text_);
  }
  Qhull(const Qhull&) = delete;
  Qhull& operator=(const Qhull&) = delete;

  // True on success. The points must outlive this object.
  bool run(std::vector<Vector3>& points) {
    char options[] = "qhull Qt Pp";  // Pp: no advice about precision
    return log_ && qh_new_qhull(&qh_, 3, static_cast<int>(points.size()), points.front().data(), False, options,
                                nullptr, log_) == 0;
  }

  // The first line of what went wrong.
  std::string complaint() {
    if (!log_) return "out of memory";
    std::fflush(log_);
    const std::string text(text_, size_);
    return text.substr(0, text.find('\n'));
  }

  // Triangles over the points, oriented outwards.
  std::vector<Eigen::Vector3i> triangles() {
    qhT* qh = &qh_;  // the FORALL macros expect this name
    std::vector<Eigen::Vector3i> result;
    facetT* facet;
    FORALLfacets {
      Eigen::Vector3i t;
      int count = 0;
      vertexT *vertex, **vertexp;
      FOREACHvertex_(facet->vertices) {
        if (count < 3) t[count] = qh_pointid(qh, vertex->point);
        ++count;
      }
      if (count != 3) return {};
      if (facet->toporient) std::swap(t[0], t[1]);
      result.push_back(t);
    }
    return result;
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* log_;
  qhT qh_;
};

// Looks for the point farthest from the first, then from their line, then from their plane.
bool is_flat(const std::vector<Vector3>& points) {
  const auto farthest = [&](auto&& offset) {
    Vector3 best = Vector3::Zero();
    for (const Vector3& p : points) {
      const Vector3 candidate = offset(p);
      if (candidate.squaredNorm() > best.squaredNorm()) best = candidate;
    }
    return best;
  };
  const Vector3& origin = points.front();
  const Vector3 line = farthest([&](const Vector3& p) -> Vector3 { return p - origin; });
  const double extent = line.norm();
  if (extent == 0.0) return true;
  const Vector3 u = line / extent;
  const Vector3 across = farthest([&](const Vector3& p) -> Vector3 { return (p - origin) - u * u.dot(p - origin); });
  if (across.norm() <= kFlatHull * extent) return true;
  const Vector3 normal = u.cross(across).normalized();
  const Vector3 height = farthest([&](const Vector3& p) -> Vector3 { return normal * normal.dot(p - origin); });
  return height.norm() <= kFlatHull * extent;
}

// The points around the origin: qhull's tolerances grow with the largest coordinate.
std::vector<Vector3> centred_points(const TriangleMesh& mesh) {
  const Bounds box = bounds(mesh);
  const Vector3 centre = 0.5 * (box.lower + box.upper);
  std::vector<Vector3> points = mesh.vertices;
  for (Vector3& p : points) p -= centre;
  return points;
}

double signed_volume(const std::vector<Vector3>& points, const std::vector<Eigen::Vector3i>& triangles) {
  double volume = 0.0;
  for (const Eigen::Vector3i& t : triangles) volume += points[t[0]].dot(points[t[1]].cross(points[t[2]])) / 6.0;
  return volume;
}

// Keeps the vertices in use, in their old order.
void drop_unused(TriangleMesh& mesh) {
  std::vector<int> target(mesh.vertices.size(), -1);
  for (const Eigen::Vector3i& t : mesh.triangles)
    for (int k = 0; k < 3; ++k) target[t[k]] = 0;
  int kept = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] < 0) continue;
    mesh.vertices[kept] = mesh.vertices[i];
    target[i] = kept++;
  }
  mesh.vertices.resize(kept);
  for (Eigen::Vector3i& t : mesh.triangles)
    for (int k = 0; k < 3; ++k) t[k] = target[t[k]];
}

}  // namespace

TriangleMesh convex_hull(const TriangleMesh& mesh) {
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    if (!mesh.vertices[i].allFinite()) throw Error("mesh '{}': vertex {} is not finite", label_of(mesh), i);
  }
  TriangleMesh hull{mesh.name, mesh.file, mesh.vertices, {}};
  merge_vertices(hull);
  if (hull.vertices.size() < 4) {
    throw Error("mesh '{}': a convex hull needs at least 4 distinct vertices, it has {}", label_of(mesh),
                hull.vertices.size());
  }
  std::vector<Vector3> points = centred_points(hull);
  if (is_flat(points)) {
    throw Error("mesh '{}': its {} vertices lie in a plane, which has no convex hull; give it thickness, or use a box",
                label_of(mesh), points.size());
  }
  Qhull qhull;
  if (!qhull.run(points)) throw Error("mesh '{}': no convex hull: {}", label_of(mesh), qhull.complaint());
  hull.triangles = qhull.triangles();
  const double volume = signed_volume(points, hull.triangles);
  if (volume == 0.0) throw Error("mesh '{}': its convex hull has no volume", label_of(mesh));
  if (volume < 0.0) {
    for (Eigen::Vector3i& t : hull.triangles) std::swap(t[0], t[1]);
  }
  drop_unused(hull);
  return hull;
}

}  // namespace touchstone
