#include "touchstone/collision/manifold/support_feature.hpp"

#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/minkowski.hpp"

namespace touchstone {
namespace {

constexpr double kCosine = 0.9961946980917455;  // of the same angle
// Disks and edges smaller than this fraction of the shape are points.
constexpr double kSmall = 1e-9;

void set_point(SupportFeature& f, FeatureName name, Vec3 point) {
  f.name = name;
  f.vertices.push_back({point, name.first});
}

void set_edge(SupportFeature& f, FeatureVertex a, FeatureVertex b) {
  f.name = edge_name(a.name, b.name);
  f.vertices.push_back(a);
  f.vertices.push_back(b);
}

void set_disk(SupportFeature& f, int cap, double z, double radius) {
  f.name = face_name(cap);
  f.normal = Vec3(0, 0, z < 0.0 ? -1.0 : 1.0);
  f.disk = true;
  f.centre = Vec3(0, 0, z);
  f.radius = radius;
}

void segment(double half_length, Vec3 d, SupportFeature& f) {
  const Vec3 upper(0, 0, half_length), lower(0, 0, -half_length);
  if (std::abs(d.z()) <= kFeatureAngle && half_length > 0.0) return set_edge(f, {upper, 0}, {lower, 1});
  set_point(f, vertex_name(d.z() < 0.0 ? 1 : 0), d.z() < 0.0 ? lower : upper);
}

Vec3 box_corner(Vec3 half, int corner) {
  return {(corner & 1) != 0 ? -half.x() : half.x(), (corner & 2) != 0 ? -half.y() : half.y(),
          (corner & 4) != 0 ? -half.z() : half.z()};
}

void box(Vec3 half, Vec3 d, SupportFeature& f) {
  int corner = 0, largest = 0, least = 0;
  convex_support::box(half, d, corner);
  for (int k = 1; k < 3; ++k) {
    if (std::abs(d[k]) > std::abs(d[largest])) largest = k;
    if (std::abs(d[k]) < std::abs(d[least])) least = k;
  }
  if (std::abs(d[largest]) >= kCosine) {
    const int down = (corner >> largest) & 1, i = 1 << ((largest + 1) % 3), j = 1 << ((largest + 2) % 3);
    const int base = down << largest;
    const int loop[4] = {base, base | i, base | i | j, base | j};
    f.name = face_name(2 * largest + down);
    f.normal.lanes[largest] = down != 0 ? -1.0 : 1.0;
    for (int k = 0; k < 4; ++k) {  // bits set mean negative coordinates: 0, i, ij, j turns to the left about +axis
      const int c = loop[down != 0 ? 3 - k : k];
      f.vertices.push_back({box_corner(half, c), c});
    }
    return;
  }
  if (std::abs(d[least]) <= kFeatureAngle && half[least] > 0.0) {
    const int plus = corner & ~(1 << least), minus = corner | (1 << least);
    return set_edge(f, {box_corner(half, plus), plus}, {box_corner(half, minus), minus});
  }
  set_point(f, vertex_name(corner), box_corner(half, corner));
}

void triangle(const Vec3* corners, Vec3 d, SupportFeature& f) {
  const Vec3 n = cross(corners[1] - corners[0], corners[2] - corners[0]);
  const double area = norm(n), along = dot(n, d);
  if (area > 0.0 && std::abs(along) >= kCosine * area) {
    const int back = along < 0.0 ? 1 : 0;
    f.name = face_name(back);
    f.normal = n * ((back != 0 ? -1.0 : 1.0) / area);
    for (int k = 0; k < 3; ++k) {
      const int c = back != 0 ? 2 - k : k;
      f.vertices.push_back({corners[c], c});
    }
    return;
  }
  int v = 0;
  convex_support::triangle(corners, d, v);
  int best = -1;
  double least = kFeatureAngle;
  for (int k = 1; k < 3; ++k) {
    const Vec3 e = corners[(v + k) % 3] - corners[v];
    const double length = norm(e), slope = length > 0.0 ? std::abs(dot(e, d)) / length : 2.0;
    if (slope <= least) {
      least = slope;
      best = (v + k) % 3;
    }
  }
  if (best >= 0) return set_edge(f, {corners[v], v}, {corners[best], best});
  set_point(f, vertex_name(v), corners[v]);
}

void cylinder(Vec3 size, Vec3 d, SupportFeature& f) {
  const double radial = std::sqrt(d.x() * d.x() + d.y() * d.y()), extent = kSmall * (size.x() + size.z());
  const int cap = d.z() < 0.0 ? 1 : 0;
  const double z = cap != 0 ? -size.z() : size.z();
  if (radial <= kFeatureAngle) {
    if (size.x() > extent) return set_disk(f, cap, z, size.x());
    return set_point(f, vertex_name(cap), Vec3(0, 0, z));
  }
  const Vec3 rim(size.x() * d.x() / radial, size.x() * d.y() / radial, 0.0);
  if (std::abs(d.z()) <= kFeatureAngle && size.z() > extent) {
    return set_edge(f, {rim + Vec3(0, 0, size.z()), 0}, {rim - Vec3(0, 0, size.z()), 1});
  }
  set_point(f, smooth_name(8 * cap + 7), rim + Vec3(0, 0, z));
}

void cone(Vec3 size, Vec3 d, SupportFeature& f) {
  const double radial = std::sqrt(d.x() * d.x() + d.y() * d.y()), extent = kSmall * (size.x() + size.z());
  const Vec3 tip(0, 0, size.z());
  if (radial <= kFeatureAngle && d.z() < 0.0) {
    if (size.x() > extent) return set_disk(f, 1, -size.z(), size.x());
    return set_point(f, vertex_name(1), -tip);
  }
  const double scale = radial > 0.0 ? size.x() / radial : 0.0;
  const Vec3 rim(scale * d.x(), scale * d.y(), -size.z());
  const double slant = std::sqrt(4.0 * size.z() * size.z() + size.x() * size.x());
  // Sine of the angle between d and the normal of the side, and the cosine.
  const double sine = (2.0 * size.z() * d.z() - size.x() * radial) / slant;
  const double cosine = (2.0 * size.z() * radial + size.x() * d.z()) / slant;
  if (slant > extent && std::abs(sine) <= kFeatureAngle && cosine > 0.0) return set_edge(f, {tip, 0}, {rim, 1});
  if (sine > 0.0) return set_point(f, vertex_name(0), tip);
  set_point(f, smooth_name(8 + 7), rim);
}

class PolytopeFeature {
 public:
  PolytopeFeature(const Polytope& polytope, Vec3 d, int v) : polytope_(polytope), d_(d), v_(v) {}

  void find(SupportFeature& f) {
    const int end = polytope_.first_vertex_face[at(v_) + 1];
    int best = -1;
    double most = kCosine;
    for (int k = polytope_.first_vertex_face[at(v_)]; k < end; ++k) {
      const int face = polytope_.vertex_faces[at(k)];
      const double cosine = dot(polytope_.face_normals[at(face)], d_);
      if (cosine > most) {
        most = cosine;
        best = face;
      }
    }
    if (best >= 0) return set_face(f, best);
    for (int k = polytope_.first_vertex_face[at(v_)]; k < end; ++k) consider_edges(polytope_.vertex_faces[at(k)]);
    if (edge_end_ >= 0) return set_edge(f, named(v_), named(edge_end_));
    set_point(f, vertex_name(v_), polytope_.vertices[at(v_)]);
  }

 private:
  FeatureVertex named(int v) const { return {polytope_.vertices[at(v)], v}; }

  void set_face(SupportFeature& f, int face) const {
    f.name = face_name(face);
    f.normal = polytope_.face_normals[at(face)];
    for (int k = polytope_.first_face_vertex[at(face)]; k < polytope_.first_face_vertex[at(face) + 1]; ++k) {
      f.vertices.push_back(named(polytope_.face_vertices[at(k)]));
    }
  }

  // The two edges of the face at the vertex.
  void consider_edges(int face) {
    const int first = polytope_.first_face_vertex[at(face)], last = polytope_.first_face_vertex[at(face) + 1] - 1;
    for (int k = first; k <= last; ++k) {
      if (polytope_.face_vertices[at(k)] != v_) continue;
      consider(polytope_.face_vertices[at(k == first ? last : k - 1)]);
      consider(polytope_.face_vertices[at(k == last ? first : k + 1)]);
    }
  }

  void consider(int w) {
    const Vec3 e = polytope_.vertices[at(w)] - polytope_.vertices[at(v_)];
    const double length = norm(e), slope = length > 0.0 ? std::abs(dot(e, d_)) / length : 2.0;
    if (slope > least_) return;
    least_ = slope;
    edge_end_ = w;
  }

  const Polytope& polytope_;
  const Vec3 d_;
  const int v_;
  int edge_end_ = -1;
  double least_ = kFeatureAngle;
};

}  // namespace

void find_support_feature(const ConvexShape& shape, Vec3 d, SupportFeature& feature) {
  feature.vertices.clear();
  feature.normal = Vec3();
  feature.disk = feature.unbounded = false;
  switch (shape.core()) {
    case CoreType::kPoint:
      return set_point(feature, smooth_name(0), Vec3());
    case CoreType::kSegment:
      return segment(shape.size().z(), d, feature);
    case CoreType::kTriangle:
      return triangle(shape.corners(), d, feature);
    case CoreType::kBox:
      return box(shape.size(), d, feature);
    case CoreType::kCylinder:
      return cylinder(shape.size(), d, feature);
    case CoreType::kCone:
      return cone(shape.size(), d, feature);
    case CoreType::kEllipsoid:
      return set_point(feature, smooth_name(0), convex_support::ellipsoid(shape.size(), d));
    case CoreType::kPolytope: {
      int v = -1;
      shape.support(d, v);
      return PolytopeFeature(*shape.polytope(), d, v).find(feature);
    }
    case CoreType::kHalfSpace:
      feature.name = face_name(0);
      feature.normal = Vec3(0, 0, 1);
      feature.unbounded = true;
      feature.centre = Vec3();
      return;
  }
}

}  // namespace touchstone
