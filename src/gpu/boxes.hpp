// Contacts of a box with a capsule or another box.
//
// Problem: nearest or deepest points, their normal, and at most four points of the patch where both touch.
// Method: separating axes (faces of both, cross products of edges) say whether the cores overlap and give the depth,
//   exactly; cores that are apart are measured feature by feature, corners against boxes and edges against edges. Then
//   the features that face each other along the normal are cut with each other in its plane (Sutherland, Hodgman 1974),
//   as collision/manifold/contact_patch.hpp does. Of more than four points those of largest area stay, the deepest
//   always among them.
// Cost: 15 axes; 144 pairs of edges only for boxes that are apart by less than what is asked for.
#pragma once

#include "touchstone/gpu/manifold.hpp"

namespace touchstone::gpu {

// A box, or a segment as a box without width along x and y.
struct Core {
  Pose X;
  Vec half;
  double radius;
  bool is_segment;

  TOUCHSTONE_LANE int corners() const { return is_segment ? 2 : 8; }
  TOUCHSTONE_LANE Vec corner(int k) const { return X * box_corner(half, is_segment ? 4 * k : k); }
  TOUCHSTONE_LANE int edges() const { return is_segment ? 1 : 12; }
  TOUCHSTONE_LANE Vec direction(int k) const { return k == 0 ? X.R.a : (k == 1 ? X.R.b : X.R.c); }
  // The middle of an edge and its axis.
  TOUCHSTONE_LANE Vec edge(int k, int& along) const {
    along = is_segment ? 2 : k / 4;
    if (is_segment) return X.p;
    const int i = (along + 1) % 3, j = (along + 2) % 3;
    const Vec middle = axis(i, (k & 1) != 0 ? -entry(half, i) : entry(half, i)) +
                       axis(j, (k & 2) != 0 ? -entry(half, j) : entry(half, j));
    return X * middle;
  }
  // How far it reaches from its centre along a unit vector.
  TOUCHSTONE_LANE double reach(Vec n) const {
    return half.x * fabs(dot(n, X.R.a)) + half.y * fabs(dot(n, X.R.b)) + half.z * fabs(dot(n, X.R.c));
  }
};

TOUCHSTONE_LANE Core core_of(const PlacedShape& shape) {
  if (shape.type == kCapsuleShape) return {shape.X, {0.0, 0.0, shape.size.y}, shape.size.x, true};
  return {shape.X, shape.size, 0.0, false};
}

// Where two cores are nearest to each other, or deepest in each other.
struct Nearest {
  double distance;
  Vec normal, on_a, on_b;
};

// The axis along which the cores are farthest apart, or overlap least. Cross products must beat faces clearly.
TOUCHSTONE_LANE double best_axis(const Core& a, const Core& b, Vec& best) {
  const Vec d = b.X.p - a.X.p;
  double most_apart = -1e300;
  const auto consider = [&](Vec n, double handicap) {
    const double along = dot(n, d), gap = fabs(along) - a.reach(n) - b.reach(n);
    if (!(gap > most_apart + handicap)) return;
    most_apart = gap;
    best = along < 0.0 ? -n : n;
  };
  for (int k = 0; k < 3; ++k) consider(a.direction(k), 0.0);
  for (int k = 0; k < 3 && !b.is_segment; ++k) consider(b.direction(k), 0.0);
  const double handicap = 1e-9 * (a.half.x + a.half.y + a.half.z + b.half.x + b.half.y + b.half.z);
  for (int i = 0; i < 3; ++i) {
    for (int j = b.is_segment ? 2 : 0; j < 3; ++j) {
      const Vec n = cross(a.direction(i), b.direction(j));
      const double size = length(n);
      if (size > 1e-6) consider((1.0 / size) * n, handicap);
    }
  }
  return most_apart;
}

TOUCHSTONE_LANE Vec support(const Core& core, Vec d) {
  const Vec local = transpose_times(core.X.R, d);
  const Vec point{local.x < 0.0 ? -core.half.x : core.half.x, local.y < 0.0 ? -core.half.y : core.half.y,
                  local.z < 0.0 ? -core.half.z : core.half.z};
  return core.X * point;
}

TOUCHSTONE_LANE void keep_nearer(Vec on_a, Vec on_b, Nearest& best) {
  const Vec d = on_b - on_a;
  const double squared = dot(d, d);
  if (!(squared < best.distance * best.distance)) return;
  best = {sqrt(squared), d, on_a, on_b};
}

// The nearest points of cores that are apart.
TOUCHSTONE_LANE Nearest nearest_points(const Core& a, const Core& b) {
  Nearest best{1e150, {0, 0, 1}, a.X.p, b.X.p};
  const auto within = [](const Core& box, Vec p) {
    const Vec local = transpose_times(box.X.R, p - box.X.p), h = box.half;
    return box.X * Vec{clamp(local.x, -h.x, h.x), clamp(local.y, -h.y, h.y), clamp(local.z, -h.z, h.z)};
  };
  for (int k = 0; k < b.corners(); ++k) keep_nearer(within(a, b.corner(k)), b.corner(k), best);
  for (int k = 0; k < a.corners(); ++k) keep_nearer(a.corner(k), within(b, a.corner(k)), best);
  for (int i = 0; i < a.edges(); ++i) {
    int along_a = 0, along_b = 0;
    const Vec p = a.edge(i, along_a);
    for (int j = 0; j < b.edges(); ++j) {
      const Vec r = b.edge(j, along_b), u = a.direction(along_a), v = b.direction(along_b);
      double s = 0.0, t = 0.0;
      nearest_on_segments(r - p, u, entry(a.half, along_a), v, entry(b.half, along_b), s, t);
      keep_nearer(p + s * u, r + t * v, best);
    }
  }
  best.normal = (1.0 / best.distance) * best.normal;
  return best;
}

// A face, an edge or a corner, in the coordinates of the plane across the normal.
struct Flat {
  int count;
  double x[4], y[4], z[4];
  double slope_x, slope_y;  // of a face: its height is z[0] + slope_x (x - x[0]) + slope_y (y - y[0])

  TOUCHSTONE_LANE double height(double px, double py) const {
    return z[0] + slope_x * (px - x[0]) + slope_y * (py - y[0]);
  }
};

TOUCHSTONE_LANE Flat flat_feature(const Core& core, Vec d, const Mat& axes, Vec origin) {
  Flat flat;
  int corners[4];
  const Vec local = transpose_times(core.X.R, d);
  if (core.is_segment) {
    flat.count = fabs(local.z) <= kFeatureAngle && core.half.z > 0.0 ? 2 : 1;
    corners[0] = flat.count == 2 || local.z >= 0.0 ? 0 : 4;
    corners[1] = 4;
  } else {
    flat.count = box_feature(core.half, local, corners);
  }
  for (int k = 0; k < flat.count; ++k) {
    const Vec p = transpose_times(axes, core.X * box_corner(core.half, corners[k]) - origin);
    flat.x[k] = p.x, flat.y[k] = p.y, flat.z[k] = p.z;
  }
  flat.slope_x = flat.slope_y = 0.0;
  if (flat.count < 4) return flat;
  const double ux = flat.x[1] - flat.x[0], uy = flat.y[1] - flat.y[0], uz = flat.z[1] - flat.z[0];
  const double vx = flat.x[3] - flat.x[0], vy = flat.y[3] - flat.y[0], vz = flat.z[3] - flat.z[0];
  const double det = ux * vy - uy * vx;
  flat.slope_x = (uz * vy - uy * vz) / det;
  flat.slope_y = (ux * vz - uz * vx) / det;
  if (det > 0.0) return flat;
  const double x = flat.x[1], y = flat.y[1], z = flat.z[1];  // counter-clockwise
  flat.x[1] = flat.x[3], flat.y[1] = flat.y[3], flat.z[1] = flat.z[3];
  flat.x[3] = x, flat.y[3] = y, flat.z[3] = z;
  return flat;
}

// Points of the patch in the plane.
struct Patch {
  int count = 0;
  double x[8], y[8], z_a[8], z_b[8];
  int name[8];

  TOUCHSTONE_LANE void add(double px, double py, double a, double b, int id) {
    if (count == 8) return;
    x[count] = px, y[count] = py, z_a[count] = a, z_b[count] = b, name[count] = id;
    ++count;
  }
  TOUCHSTONE_LANE double gap(int k) const { return z_b[k] - z_a[k]; }
};

// How far a point is inside of the edge k of a face.
TOUCHSTONE_LANE double inside(const Flat& face, int k, double x, double y) {
  const int next = (k + 1) % 4;
  const double ex = face.x[next] - face.x[k], ey = face.y[next] - face.y[k];
  return (ex * (y - face.y[k]) - ey * (x - face.x[k])) / sqrt(ex * ex + ey * ey);
}

TOUCHSTONE_LANE void cut_edge_face(const Flat& edge, const Flat& face, bool edge_is_a, double tie, Patch& patch) {
  double t[2] = {0.0, 1.0};
  int name[2] = {0, 1};
  for (int k = 0; k < 4; ++k) {
    const double d0 = inside(face, k, edge.x[0], edge.y[0]), d1 = inside(face, k, edge.x[1], edge.y[1]);
    if (d0 < -tie && d1 < -tie) return;
    if (d0 >= -tie && d1 >= -tie) continue;
    const double cut = d0 / (d0 - d1);
    const int end = d0 < d1 ? 0 : 1;
    if (end == 0 ? cut > t[0] : cut < t[1]) t[end] = cut, name[end] = 8 + 4 * end + k;
  }
  if (!(t[0] <= t[1])) return;
  for (int end = 0; end < 2; ++end) {
    const double x = edge.x[0] + t[end] * (edge.x[1] - edge.x[0]), y = edge.y[0] + t[end] * (edge.y[1] - edge.y[0]);
    const double on_edge = edge.z[0] + t[end] * (edge.z[1] - edge.z[0]), on_face = face.height(x, y);
    patch.add(x, y, edge_is_a ? on_edge : on_face, edge_is_a ? on_face : on_edge, name[end]);
  }
}

// The polygon of b within that of a.
TOUCHSTONE_LANE void cut_faces(const Flat& a, const Flat& b, double tie, Patch& patch) {
  double x[2][8], y[2][8];
  int name[2][8], count = 4, from = 0;
  for (int k = 0; k < 4; ++k) x[0][k] = b.x[k], y[0][k] = b.y[k], name[0][k] = k;
  for (int side = 0; side < 4; ++side) {
    const int to = 1 - from;
    int kept = 0;
    for (int k = 0; k < count; ++k) {
      const int next = (k + 1) % count;
      const double d0 = inside(a, side, x[from][k], y[from][k]), d1 = inside(a, side, x[from][next], y[from][next]);
      if (d0 >= -tie && kept < 8) x[to][kept] = x[from][k], y[to][kept] = y[from][k], name[to][kept++] = name[from][k];
      if ((d0 >= -tie) == (d1 >= -tie) || kept == 8) continue;
      const double t = d0 / (d0 - d1);
      x[to][kept] = x[from][k] + t * (x[from][next] - x[from][k]);
      y[to][kept] = y[from][k] + t * (y[from][next] - y[from][k]);
      name[to][kept++] = 16 + 64 * side + (name[from][k] & 15) + (d0 < d1 ? 32 : 0);
    }
    count = kept;
    from = to;
  }
  for (int k = 0; k < count; ++k)
    patch.add(x[from][k], y[from][k], a.height(x[from][k], y[from][k]), b.height(x[from][k], y[from][k]),
              name[from][k]);
}

// Nearly parallel edges touch along their common part.
TOUCHSTONE_LANE void cut_edges(const Flat& a, const Flat& b, double tie, Patch& patch) {
  const double ux = a.x[1] - a.x[0], uy = a.y[1] - a.y[0], vx = b.x[1] - b.x[0], vy = b.y[1] - b.y[0];
  const double len = sqrt(ux * ux + uy * uy), len_b = sqrt(vx * vx + vy * vy);
  if (fabs(ux * vy - uy * vx) > kParallelEdges * len * len_b) return;
  const double ex = ux / len, ey = uy / len;
  const double b0 = ex * (b.x[0] - a.x[0]) + ey * (b.y[0] - a.y[0]),
               b1 = ex * (b.x[1] - a.x[0]) + ey * (b.y[1] - a.y[0]);
  const double low = most(0.0, least(b0, b1)), high = least(len, most(b0, b1));
  if (!(high - low > tie)) return;
  for (int k = 0; k < 2; ++k) {
    const double at = k == 0 ? low : high, t = at / len, r = (at - b0) / (b1 - b0);
    patch.add(a.x[0] + t * ux, a.y[0] + t * uy, a.z[0] + t * (a.z[1] - a.z[0]), b.z[0] + r * (b.z[1] - b.z[0]), k);
  }
}

TOUCHSTONE_LANE double twice_area(const Patch& p, int i, int j, int k) {
  return fabs((p.x[j] - p.x[i]) * (p.y[k] - p.y[i]) - (p.y[j] - p.y[i]) * (p.x[k] - p.x[i]));
}

// Chooses four points of a convex polygon: the largest area among those with the deepest point.
TOUCHSTONE_LANE void choose_four(const Patch& p, int* chosen) {
  int deepest = 0;
  for (int k = 1; k < p.count; ++k) {
    if (p.gap(k) < p.gap(deepest)) deepest = k;
  }
  double largest = -1.0;
  for (int i = 0; i < p.count; ++i) {
    for (int j = i + 1; j < p.count; ++j) {
      for (int k = j + 1; k < p.count; ++k) {
        for (int l = k + 1; l < p.count; ++l) {
          if (deepest != i && deepest != j && deepest != k && deepest != l) continue;
          const double area = twice_area(p, i, j, k) + twice_area(p, i, k, l);
          if (!(area > largest * (1.0 + 1e-9))) continue;
          largest = area;
          chosen[0] = i, chosen[1] = j, chosen[2] = k, chosen[3] = l;
        }
      }
    }
  }
}

TOUCHSTONE_LANE void box_core(const Core& a, const Core& b, double margin, Manifold& found) {
  constexpr double kTie = 1e-6, kDepthTie = 1e-9;  // shares of a feature's size: of places, of depths
  constexpr int kWitness = 15;                     // the feature of the nearest points themselves
  const double limit = margin + a.radius + b.radius;
  Nearest near{0.0, {0, 0, 1}, a.X.p, b.X.p};
  near.distance = best_axis(a, b, near.normal);
  if (near.distance > limit) return;
  if (near.distance > 0.0) {
    near = nearest_points(a, b);
    if (near.distance > limit) return;
  } else {
    near.on_a = support(a, near.normal);
  }
  const Mat axes = contact_frame(near.normal);
  const Flat flat_a = flat_feature(a, near.normal, axes, near.on_a);
  const Flat flat_b = flat_feature(b, -near.normal, axes, near.on_a);
  const double size = least(a.half.x + a.half.y + a.half.z, b.half.x + b.half.y + b.half.z);
  Patch patch;
  if (flat_a.count == 4 && flat_b.count == 4) cut_faces(flat_a, flat_b, kTie * size, patch);
  if (flat_a.count == 4 && flat_b.count == 2) cut_edge_face(flat_b, flat_a, false, kTie * size, patch);
  if (flat_a.count == 2 && flat_b.count == 4) cut_edge_face(flat_a, flat_b, true, kTie * size, patch);
  if (flat_a.count == 2 && flat_b.count == 2) cut_edges(flat_a, flat_b, kTie * size, patch);
  bool has_deepest = false;
  for (int k = 0; k < patch.count; ++k) has_deepest = has_deepest || patch.gap(k) <= near.distance + kDepthTie * size;
  if (!has_deepest) {
    patch.count = 0;  // the features have no common point as deep as the nearest points
    if (near.distance <= 0.0) {
      // Deepest points of an overlap: edges that cross, or the corner of one in a face of the other.
      if (flat_a.count == 1) {
        patch.add(flat_a.x[0], flat_a.y[0], flat_a.z[0], flat_a.z[0] + near.distance, kWitness);
      } else if (flat_b.count == 1) {
        patch.add(flat_b.x[0], flat_b.y[0], flat_b.z[0] - near.distance, flat_b.z[0], kWitness);
      } else {
        const double ux = flat_a.x[1] - flat_a.x[0], uy = flat_a.y[1] - flat_a.y[0];
        const double vx = flat_b.x[1] - flat_b.x[0], vy = flat_b.y[1] - flat_b.y[0], det = ux * vy - uy * vx;
        const double wx = flat_b.x[0] - flat_a.x[0], wy = flat_b.y[0] - flat_a.y[0];
        const double t = det != 0.0 ? clamp((wx * vy - wy * vx) / det, 0.0, 1.0) : 0.5;
        patch.add(flat_a.x[0] + t * ux, flat_a.y[0] + t * uy, flat_a.z[0], flat_a.z[0] + near.distance, kWitness);
      }
    } else {
      patch.add(0.0, 0.0, 0.0, near.distance, kWitness);
    }
  }
  int chosen[4] = {0, 1, 2, 3};
  if (patch.count > 4) choose_four(patch, chosen);
  found.normal = near.normal;
  for (int i = 0; i < patch.count && i < 4; ++i) {
    const int k = chosen[i];
    const double distance = patch.gap(k) - a.radius - b.radius;
    if (!(distance <= margin)) continue;
    const double middle = 0.5 * (patch.z_a[k] + a.radius + patch.z_b[k] - b.radius);
    const Vec p = near.on_a + patch.x[k] * axes.a + patch.y[k] * axes.b + middle * axes.c;
    add_point(found, p, p, distance, patch.name[k]);
  }
}

// Whether a pair of shapes is known here. Planes against planes never collide; height fields meet convex shapes alone.
inline bool is_known_pair(int a, int b) {
  const auto is_ground = [](int type) { return type == kPlaneShape || type == kFieldShape; };
  return !is_ground(a) || !is_ground(b);
}

// Points of contact no farther apart than the margin, the normal from A to B.
TOUCHSTONE_LANE void collide_ordered(const PlacedShape& a, const PlacedShape& b, double margin, Manifold& found) {
  if (a.type == kPlaneShape) return plane_shape(a.X, b, margin, found);
  if (a.type == kBoxShape) {
    if (b.type == kSphereShape) return box_sphere(a, b, margin, found);
    return box_core(core_of(a), core_of(b), margin, found);
  }
  if (a.type == kCapsuleShape)
    return b.type == kSphereShape ? capsule_sphere(a, b, margin, found) : capsule_capsule(a, b, margin, found);
  sphere_sphere(a, b, margin, found);
}

// The order that collide_ordered wants: planes, boxes, capsules, spheres.
TOUCHSTONE_LANE int shape_rank(int type) {
  return type == kPlaneShape ? 0 : (type == kBoxShape ? 1 : (type == kCapsuleShape ? 2 : 3));
}

TOUCHSTONE_LANE void collide_shapes(const PlacedShape& a, const PlacedShape& b, double margin, Manifold& found) {
  found.count = 0;
  if (shape_rank(a.type) <= shape_rank(b.type)) return collide_ordered(a, b, margin, found);
  collide_ordered(b, a, margin, found);
  turn_round(found);
}

}  // namespace touchstone::gpu
