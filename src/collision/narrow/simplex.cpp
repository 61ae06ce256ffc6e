#include "touchstone/collision/narrow/simplex.hpp"

#include <limits>

#include "touchstone/collision/narrow/lanes3.hpp"

namespace touchstone {
namespace {

// A volume or area below this fraction of the product of its edges has no trustworthy sign.
constexpr double kFlatSimplex = 1e-14;

// Lane i of the result is the next lane of a triangle (0, 1, 2) or of a tetrahedron (0, 1, 2, 3).
Lanes next3(Lanes a) { return __builtin_shufflevector(a, a, 1, 2, 0, 3); }
Lanes next4(Lanes a) { return __builtin_shufflevector(a, a, 1, 2, 3, 0); }
Lanes3 next3(const Lanes3& a) { return {next3(a.x), next3(a.y), next3(a.z)}; }
Lanes3 next4(const Lanes3& a) { return {next4(a.x), next4(a.y), next4(a.z)}; }

void set_vertex(Vec3 p, int i, SimplexProjection& r) {
  r.x = p;
  r.weights[i] = 1.0;
  r.squared = dot(p, p);
}

void project_edge(Vec3 p, Vec3 q, SimplexProjection& r) {
  const Vec3 e = q - p;
  const double length = dot(e, e), along = -dot(p, e);
  if (!(along > 0.0)) return set_vertex(p, 0, r);
  if (along >= length) return set_vertex(q, 1, r);
  const double t = along / length;
  r.x = t <= 0.5 ? p + t * e : q - (1.0 - t) * e;  // from the nearer end: less cancellation
  r.weights[0] = 1.0 - t;
  r.weights[1] = t;
  r.squared = dot(r.x, r.x);
}

// The nearest of those edges of the triangle whose lane of `candidates` is set; edge i leads from vertex i to the next.
void project_edges(const Lanes3& p, const Lanes3& e, Lanes length, Mask candidates, const int* index,
                   SimplexProjection& r) {
  const Lanes zero{}, one = broadcast(1.0);
  const Lanes along = -dot(p, e);
  Lanes t = along / length;
  t = along >= length ? one : t;
  t = along > zero ? t : zero;
  const Lanes rest = one - t;
  const Lanes3 q = next3(p);
  const Mask first = t <= broadcast(0.5);
  // From the nearer end: less cancellation.
  const Lanes3 x{first ? p.x + t * e.x : q.x - rest * e.x, first ? p.y + t * e.y : q.y - rest * e.y,
                 first ? p.z + t * e.z : q.z - rest * e.z};
  const Lanes squared = candidates ? dot(x, x) : broadcast(std::numeric_limits<double>::infinity());
  int best = squared[1] < squared[0] ? 1 : 0;
  if (squared[2] < squared[best]) best = 2;
  r.x = Vec3(x.x[best], x.y[best], x.z[best]);
  r.squared = squared[best];
  r.weights[index[best]] = rest[best];
  r.weights[index[best < 2 ? best + 1 : 0]] = t[best];
}

// Of the triangle of points a, b, c, whose weights have the given indices. The three edges (ab, bc, ca) are lanes.
void project_triangle(Vec3 a, Vec3 b, Vec3 c, const int* index, SimplexProjection& r) {
  const Lanes3 p = transposed(a, b, c, Vec3());
  const Lanes3 e = next3(p) - p;
  const Lanes3 normals = cross(e, next3(e));  // equal but for rounding errors, which are least for the shortest edges
  const Lanes length = dot(e, e), product = length * next3(length);
  int k = product[1] < product[0] ? 1 : 0;
  if (product[2] < product[k]) k = 2;
  const Vec3 n(normals.x[k], normals.y[k], normals.z[k]);
  const double area = dot(n, n);
  // Twice the area of the triangle that the projected origin makes with each edge, times |n|: the weight of the vertex
  // across the edge.
  const Lanes3 moment = cross(p, e);
  const Lanes u = broadcast(n.x()) * moment.x + broadcast(n.y()) * moment.y + broadcast(n.z()) * moment.z;
  const bool flat = !(area > kFlatSimplex * kFlatSimplex * product[k]);
  if (!flat && u[0] > 0.0 && u[1] > 0.0 && u[2] > 0.0) {
    const double inverse = 1.0 / (u[0] + u[1] + u[2]);
    r.weights[index[2]] = u[0] * inverse;
    r.weights[index[0]] = u[1] * inverse;
    r.weights[index[1]] = u[2] * inverse;
    r.x = n * (dot(n, k == 0 ? a : (k == 1 ? b : c)) / area);  // along the normal, however small it is
    r.squared = dot(r.x, r.x);
    return;
  }
  const Mask inside = u > Lanes{}, all = inside | ~inside;
  project_edges(p, e, length, flat ? all : ~inside, index, r);
}

constexpr int kFaces[4][3] = {{1, 2, 3}, {2, 3, 0}, {3, 0, 1}, {0, 1, 2}};  // face f lies opposite vertex f

// The nearest point of those faces whose lane of `candidates` is set.
void project_faces(const Vec3* points, Mask candidates, SimplexProjection& r) {
  bool found = false;
  for (int f = 0; f < 4; ++f) {
    if (candidates[f] == 0) continue;
    const int* face = kFaces[f];
    SimplexProjection other;
    project_triangle(points[face[0]], points[face[1]], points[face[2]], face, other);
    if (!found || other.squared < r.squared) r = other;
    found = true;
  }
}

// The four faces are lanes. A face can hold the nearest point if the origin is on its outer side, or if the tetrahedron
// is too flat to tell. If the origin is beyond a face and projects into it, that is the answer; only when there is no
// such face are edges looked at.
void project_tetrahedron(const Vec3* points, SimplexProjection& r) {
  const Lanes zero{};
  const Lanes3 p = transposed(points);
  const Lanes3 p1 = next4(p), p2 = next4(p1), p3 = next4(p2);  // corners of the faces
  const Lanes3 e1 = p2 - p1, e2 = p3 - p2, e3 = p1 - p3, up = p - p1;
  const Lanes length1 = dot(e1, e1), length2 = dot(e2, e2), length3 = dot(e3, e3);
  // From the two shortest edges, for the least rounding errors.
  const Mask longest1 = (length1 >= length2) & (length1 >= length3), longest2 = ~longest1 & (length2 >= length3);
  const Lanes3 n =
      cross(select(longest1, e2, select(longest2, e3, e1)), select(longest1, e3, select(longest2, e1, e2)));
  const Lanes height = dot(n, up), origin = -dot(n, p1);
  const Lanes least = broadcast(kFlatSimplex * kFlatSimplex) * length1 * length3 * dot(up, up);
  const Mask inside = (height * height > least) & (origin * height > zero);
  if ((inside[0] & inside[1] & inside[2] & inside[3]) != 0) {
    const Lanes volume = absolute(origin);
    const double inverse = 1.0 / sum(volume);
    for (int f = 0; f < 4; ++f) r.weights[f] = volume[f] * inverse;
    r.contains = true;
    return;
  }
  const Lanes area = dot(n, n);
  const Lanes u3 = dot(n, cross(p1, e1)), u1 = dot(n, cross(p2, e2)), u2 = dot(n, cross(p3, e3));
  const Mask solid = (height * height > least) & (area > broadcast(kFlatSimplex * kFlatSimplex) * length1 * length3);
  const Mask holds = ~inside & solid & (u1 > zero) & (u2 > zero) & (u3 > zero);
  const long long any = holds[0] | holds[1] | holds[2] | holds[3];
  if (any == 0 || (~inside & ~solid)[0] != 0 || (~inside & ~solid)[1] != 0 || (~inside & ~solid)[2] != 0 ||
      (~inside & ~solid)[3] != 0) {
    return project_faces(points, ~inside, r);
  }
  const int f = holds[0] != 0 ? 0 : (holds[1] != 0 ? 1 : (holds[2] != 0 ? 2 : 3));
  const int* face = kFaces[f];
  const double inverse = 1.0 / (u1[f] + u2[f] + u3[f]);
  r.weights[face[0]] = u1[f] * inverse;
  r.weights[face[1]] = u2[f] * inverse;
  r.weights[face[2]] = u3[f] * inverse;
  r.x = Vec3(n.x[f], n.y[f], n.z[f]) * (-origin[f] / area[f]);
  r.squared = dot(r.x, r.x);
}

}  // namespace

SimplexProjection project_origin(const Vec3* points, int count) {
  constexpr int kOrder[3] = {0, 1, 2};
  SimplexProjection r;
  switch (count) {
    case 1:
      set_vertex(points[0], 0, r);
      break;
    case 2:
      project_edge(points[0], points[1], r);
      break;
    case 3:
      project_triangle(points[0], points[1], points[2], kOrder, r);
      break;
    default:
      project_tetrahedron(points, r);
  }
  return r;
}

}  // namespace touchstone
