#include "touchstone/geometry/simplex.hpp"

#include <cmath>

namespace touchstone {
namespace {

// A volume or area below this fraction of the product of its edges has no trustworthy sign.
constexpr double kFlat = 1e-14;

SimplexProjection vertex(const Vec3* p, int i) {
  SimplexProjection r;
  r.x = p[i];
  r.weights[i] = 1.0;
  r.squared = dot(r.x, r.x);
  return r;
}

SimplexProjection edge(const Vec3* p, int i, int j) {
  const Vec3 e = p[j] - p[i];
  const double length = dot(e, e), along = -dot(p[i], e);
  if (!(along > 0.0)) return vertex(p, i);
  if (along >= length) return vertex(p, j);
  SimplexProjection r;
  const double t = along / length;
  // From the nearer end: less cancellation.
  r.x = t <= 0.5 ? p[i] + t * e : p[j] - (1.0 - t) * e;
  r.weights[i] = 1.0 - t;
  r.weights[j] = t;
  r.squared = dot(r.x, r.x);
  return r;
}

void keep_nearer(SimplexProjection& best, bool& found, const SimplexProjection& candidate) {
  if (!found || candidate.squared < best.squared) best = candidate;
  found = true;
}

SimplexProjection triangle(const Vec3* p, int i, int j, int k) {
  const Vec3 ij = p[j] - p[i], ik = p[k] - p[i], jk = p[k] - p[j];
  const Vec3 n = cross(ij, ik);
  const double area = dot(n, n);
  // Twice the areas of the triangles that the projected origin makes with each edge, times |n|.
  const double u_i = dot(n, cross(p[j], jk)), u_j = -dot(n, cross(p[i], ik)), u_k = dot(n, cross(p[i], ij));
  const bool flat = !(area > kFlat * kFlat * dot(ij, ij) * dot(ik, ik));
  if (!flat && u_i > 0.0 && u_j > 0.0 && u_k > 0.0) {
    SimplexProjection r;
    const double inverse = 1.0 / (u_i + u_j + u_k);
    r.weights[i] = u_i * inverse;
    r.weights[j] = u_j * inverse;
    r.weights[k] = u_k * inverse;
    r.x = n * (dot(n, p[i]) / area);  // along the normal, however small it is
    r.squared = dot(r.x, r.x);
    return r;
  }
  SimplexProjection best;
  bool found = false;
  if (flat || !(u_i > 0.0)) keep_nearer(best, found, edge(p, j, k));
  if (flat || !(u_j > 0.0)) keep_nearer(best, found, edge(p, i, k));
  if (flat || !(u_k > 0.0)) keep_nearer(best, found, edge(p, i, j));
  return best;
}

// The side of the origin against a face, and whether the face can hold the nearest point.
struct Side {
  bool outside;
  double volume;  // of the tetrahedron that the face makes with the origin, positive inside
};

Side side(const Vec3* p, int i, int j, int k, int opposite) {
  const Vec3 ij = p[j] - p[i], ik = p[k] - p[i], up = p[opposite] - p[i];
  const Vec3 n = cross(ij, ik);
  const double height = dot(n, up), origin = -dot(n, p[i]);
  const bool flat = !(height * height > kFlat * kFlat * dot(ij, ij) * dot(ik, ik) * dot(up, up));
  return {flat || !(origin * height > 0.0), std::abs(origin)};
}

SimplexProjection tetrahedron(const Vec3* p) {
  constexpr int kFace[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};  // face f lies opposite vertex f
  SimplexProjection best;
  bool found = false;
  double volumes[4];
  for (int f = 0; f < 4; ++f) {
    const Side s = side(p, kFace[f][0], kFace[f][1], kFace[f][2], f);
    volumes[f] = s.volume;
    if (s.outside) keep_nearer(best, found, triangle(p, kFace[f][0], kFace[f][1], kFace[f][2]));
  }
  if (found) return best;
  const double inverse = 1.0 / (volumes[0] + volumes[1] + volumes[2] + volumes[3]);
  for (int f = 0; f < 4; ++f) best.weights[f] = volumes[f] * inverse;
  best.contains = true;
  return best;
}

}  // namespace

SimplexProjection project_origin(const Vec3* points, int count) {
  switch (count) {
    case 1:
      return vertex(points, 0);
    case 2:
      return edge(points, 0, 1);
    case 3:
      return triangle(points, 0, 1, 2);
    default:
      return tetrahedron(points);
  }
}

}  // namespace touchstone
