// How far two convex cores are apart, or how deep in each other: GJK (Gilbert, Johnson, Keerthi, "A Fast Procedure for
// Computing the Distance Between Complex Objects", 1988) and the expanding polytope (van den Bergen, "Proximity Queries
// and Penetration Depth Computation on 3D Game Objects", 2001), with counted steps and memory of a fixed size. As
// collision/narrow, without its acceleration.
#pragma once

#include "touchstone/gpu/convex.hpp"

namespace touchstone::gpu {

constexpr int kGjkSteps = 160, kEpaSteps = 96;

struct MinkowskiPoint {
  Vec w, a;  // a - b and a, in the frame of A
};

struct ConvexPair {
  const ModelView& m;
  ConvexCore a, b;
  Pose X_AB;
  double scale;        // no coordinate is larger
  int hint_a, hint_b;  // where hulls were touched last

  TOUCHSTONE_LANE MinkowskiPoint support(Vec d) {
    const Vec p = core_support(m, a, d, hint_a);
    const Vec q = X_AB * core_support(m, b, transpose_times(X_AB.R, -d), hint_b);
    return {p - q, p};
  }
};

// The point of a simplex nearest to the origin.
struct Projection {
  Vec x;
  double squared, weight[4];
  bool contains;
};

TOUCHSTONE_LANE void project_edge(Vec p, Vec q, int i, int j, Projection& r) {
  const Vec e = q - p;
  const double len = dot(e, e), along = -dot(p, e), t = !(along > 0.0) ? 0.0 : (along >= len ? 1.0 : along / len);
  r.x = t <= 0.5 ? p + t * e : q - (1.0 - t) * e;
  r.weight[i] = 1.0 - t, r.weight[j] = t;
  r.squared = dot(r.x, r.x);
}

TOUCHSTONE_LANE Projection no_projection() { return {{0, 0, 0}, 1e300, {0, 0, 0, 0}, false}; }

TOUCHSTONE_LANE void keep_nearest(const Projection& other, Projection& best) {
  if (other.squared < best.squared) best = other;
}

TOUCHSTONE_LANE Projection project_triangle(const Vec* p, int i, int j, int k) {
  constexpr double kFlat = 1e-28;
  Projection r = no_projection();
  const Vec e[3] = {p[j] - p[i], p[k] - p[j], p[i] - p[k]};
  const double len[3] = {dot(e[0], e[0]), dot(e[1], e[1]), dot(e[2], e[2])};
  // The two shortest edges have the least rounding errors.
  int out = len[1] > len[0] ? 1 : 0;
  if (len[2] > len[out]) out = 2;
  const int s = (out + 1) % 3, t = (out + 2) % 3;
  const Vec n = cross(e[s], e[t]);
  const double area = dot(n, n);
  const double u[3] = {dot(n, cross(p[i], e[0])), dot(n, cross(p[j], e[1])), dot(n, cross(p[k], e[2]))};
  const bool flat = !(area > kFlat * len[s] * len[t]);
  if (!flat && u[0] > 0.0 && u[1] > 0.0 && u[2] > 0.0) {
    const double inverse = 1.0 / (u[0] + u[1] + u[2]);
    r.weight[k] = u[0] * inverse, r.weight[i] = u[1] * inverse, r.weight[j] = u[2] * inverse;
    r.x = (dot(n, p[t == 0 ? i : (t == 1 ? j : k)]) / area) * n;
    r.squared = dot(r.x, r.x);
    return r;
  }
  for (int edge = 0; edge < 3; ++edge) {
    if (!flat && u[edge] > 0.0) continue;
    const int from = edge == 0 ? i : (edge == 1 ? j : k), to = edge == 0 ? j : (edge == 1 ? k : i);
    Projection other = no_projection();
    project_edge(p[from], p[to], from, to, other);
    keep_nearest(other, r);
  }
  return r;
}

TOUCHSTONE_LANE Projection project_simplex(const Vec* p, int count) {
  Projection r = no_projection();
  if (count == 1) {
    r.x = p[0], r.weight[0] = 1.0, r.squared = dot(p[0], p[0]);
    return r;
  }
  if (count == 2) {
    project_edge(p[0], p[1], 0, 1, r);
    return r;
  }
  if (count == 3) return project_triangle(p, 0, 1, 2);
  bool all_inside = true;
  double volume[4], sum = 0.0;
  for (int f = 0; f < 4; ++f) {  // the face opposite to vertex f
    const int i = (f + 1) % 4, j = (f + 2) % 4, k = (f + 3) % 4;
    const Vec n = cross(p[j] - p[i], p[k] - p[i]), up = p[f] - p[i];
    const double height = dot(n, up), origin = -dot(n, p[i]);
    const bool solid = height * height > 1e-28 * dot(n, n) * dot(up, up);
    volume[f] = fabs(origin);
    sum += volume[f];
    if (solid && origin * height > 0.0) continue;
    all_inside = false;
    keep_nearest(project_triangle(p, i, j, k), r);
  }
  if (!all_inside) return r;
  r.contains = true;
  r.squared = 0.0;
  for (int f = 0; f < 4; ++f) r.weight[f] = volume[f] / sum;
  return r;
}

// Nearest or deepest points of two cores, in the frame of A; the normal from A to B.
struct CoreContact {
  bool beyond;  // farther apart than was asked for
  double distance;
  Vec normal, on_a, on_b;
};

struct Simplex {
  MinkowskiPoint vertex[4];
  int size;
};

// False if the cores overlap or touch; then the simplex is where the expansion starts.
TOUCHSTONE_LANE bool gjk(ConvexPair& pair, double cutoff, Simplex& s, CoreContact& found) {
  constexpr double kTouchingCores = 1e-13, kRounding = 8.0 * 2.2e-16, kRelative = 1e-10;
  const double touching = kTouchingCores * pair.scale, absolute = kRounding * pair.scale;
  const double relative = pair.a.is_round() || pair.b.is_round() ? kRelative : 0.0;
  Vec x = -pair.X_AB.p;
  if (!(dot(x, x) > 0.0)) x = {1, 0, 0};
  double squared = 1e300, lower = 0.0, weight[4] = {0, 0, 0, 0};
  s.size = 0;
  for (int step = 0; step < kGjkSteps; ++step) {
    const MinkowskiPoint next = pair.support(-x);
    const double along = dot(x, next.w), len = dot(x, x);
    if (along > 0.0) {
      lower = most(lower, along * along / len);
      if (along * along > cutoff * cutoff * len) {
        found.beyond = true;
        return true;
      }
    }
    if (s.size > 0) {
      const double gap = squared - along;
      bool ends = !(gap > relative * squared) || !(gap * gap > absolute * absolute * squared);
      for (int i = 0; i < s.size; ++i) {
        const Vec d = s.vertex[i].w - next.w;
        ends = ends || (d.x == 0.0 && d.y == 0.0 && d.z == 0.0);
      }
      if (ends) break;
    }
    Vec points[4];
    for (int i = 0; i < s.size; ++i) points[i] = s.vertex[i].w;
    points[s.size] = next.w;
    const Projection projection = project_simplex(points, s.size + 1);
    if (!projection.contains && !(projection.squared < squared)) {
      if (!(lower > 0.0)) return false;
      break;
    }
    s.vertex[s.size] = next;
    const int made = s.size + 1;
    s.size = 0;
    for (int i = 0; i < made; ++i) {
      if (!(projection.weight[i] > 0.0)) continue;
      weight[s.size] = projection.weight[i];
      s.vertex[s.size++] = s.vertex[i];
    }
    if (projection.contains || projection.squared <= touching * touching) return false;
    x = projection.x;
    squared = projection.squared;
  }
  found.beyond = false;
  found.distance = sqrt(squared);
  found.normal = (-1.0 / found.distance) * x;
  found.on_a = {0, 0, 0};
  for (int i = 0; i < s.size; ++i) found.on_a = found.on_a + weight[i] * s.vertex[i].a;
  found.on_b = found.on_a - x;
  return !(found.distance <= 1e-11 * pair.scale);  // nearer, the expansion gives a better normal
}

// --- the expanding polytope ---

struct EpaFace {
  Vec normal;
  double distance;
  short v[3];
  bool alive, seen;
};

struct Epa {
  static constexpr int kMostVertices = kEpaSteps + 4, kMostFaces = 2 * kMostVertices + 8, kMostEdges = 3 * 32;
  MinkowskiPoint vertex[kMostVertices];
  EpaFace face[kMostFaces];
  int vertices, faces;

  TOUCHSTONE_LANE bool add_face(int i, int j, int k) {
    int place = 0;
    while (place < faces && face[place].alive) ++place;
    if (place == kMostFaces) return false;
    if (place == faces) ++faces;
    const Vec a = vertex[i].w, b = vertex[j].w, c = vertex[k].w, n = cross(b - a, c - a);
    const Vec ab = b - a, ac = c - a, bc = c - b;
    const double size = length(n), longest = most(dot(ab, ab), most(dot(ac, ac), dot(bc, bc)));
    EpaFace& f = face[place];
    f.v[0] = static_cast<short>(i), f.v[1] = static_cast<short>(j), f.v[2] = static_cast<short>(k);
    f.alive = true;
    f.seen = !(size > 1e-10 * longest);  // a sliver has no trustworthy normal
    f.normal = f.seen ? Vec{0, 0, 0} : (1.0 / size) * n;
    f.distance = f.seen ? 0.0 : (dot(f.normal, a) + dot(f.normal, b) + dot(f.normal, c)) / 3.0;
    return true;
  }
  TOUCHSTONE_LANE bool sees(const EpaFace& f, Vec p, double tie) const {
    const bool sliver = dot(f.normal, f.normal) == 0.0;
    return sliver || dot(f.normal, p) - f.distance > tie;
  }
};

// Adds the support point along d or -d, whichever is farther from the plane, line or point of the simplex.
TOUCHSTONE_LANE bool grow_simplex(ConvexPair& pair, Vec d, Epa& e) {
  const MinkowskiPoint up = pair.support(d), down = pair.support(-d);
  const double height = dot(d, up.w - e.vertex[0].w), depth = dot(d, e.vertex[0].w - down.w);
  if (!(most(height, depth) > 1e-12 * pair.scale * length(d))) return false;
  e.vertex[e.vertices++] = height >= depth ? up : down;
  return true;
}

// A tetrahedron from the simplex. False if the difference of the cores has no volume; `flat` is where it has none.
TOUCHSTONE_LANE bool start_polytope(ConvexPair& pair, const Simplex& s, Epa& e, Vec& flat) {
  constexpr double kFlat = 1e-12;
  e.vertices = 0, e.faces = 0;
  for (int i = 0; i < s.size; ++i) e.vertex[e.vertices++] = s.vertex[i];
  const auto w = [&](int i) { return e.vertex[i].w; };
  double longest = 0.0;
  for (int i = 1; i < e.vertices; ++i) longest = most(longest, length(w(i) - w(0)));
  if (e.vertices == 4 && fabs(dot(cross(w(1) - w(0), w(2) - w(0)), w(3) - w(0))) <= kFlat * longest * longest * longest)
    --e.vertices;
  if (e.vertices == 3 && length(cross(w(1) - w(0), w(2) - w(0))) <= kFlat * longest * longest) --e.vertices;
  if (e.vertices == 2 && length(w(1) - w(0)) <= kFlat * pair.scale) --e.vertices;
  if (e.vertices == 0) e.vertex[e.vertices++] = pair.support({1, 0, 0});
  flat = {0, 0, 1};
  if (e.vertices == 1 && !grow_simplex(pair, {1, 0, 0}, e) && !grow_simplex(pair, {0, 1, 0}, e) &&
      !grow_simplex(pair, {0, 0, 1}, e))
    return false;
  if (e.vertices == 2) {
    const Vec line = w(1) - w(0), across = perpendicular_to((1.0 / length(line)) * line), other = cross(line, across);
    flat = across;
    if (!grow_simplex(pair, across, e) && !grow_simplex(pair, (1.0 / length(other)) * other, e)) return false;
  }
  if (e.vertices == 3) {
    const Vec n = cross(w(1) - w(0), w(2) - w(0));
    flat = (1.0 / length(n)) * n;
    if (!grow_simplex(pair, flat, e)) return false;
  }
  if (dot(cross(w(1) - w(0), w(2) - w(0)), w(3) - w(0)) > 0.0) {
    const MinkowskiPoint held = e.vertex[1];
    e.vertex[1] = e.vertex[2], e.vertex[2] = held;
  }
  return e.add_face(0, 1, 2) && e.add_face(1, 0, 3) && e.add_face(2, 1, 3) && e.add_face(0, 2, 3);
}

// Replaces the faces that a vertex sees by those between it and their rim. False if the memory does not do.
TOUCHSTONE_LANE bool expand_polytope(Epa& e, int vertex, double tie) {
  short from[Epa::kMostEdges], to[Epa::kMostEdges];
  int edges = 0;
  const Vec p = e.vertex[vertex].w;
  for (int k = 0; k < e.faces; ++k) {
    EpaFace& f = e.face[k];
    if (!f.alive || !e.sees(f, p, tie)) continue;
    f.alive = false;
    for (int i = 0; i < 3; ++i) {
      const short a = f.v[i], b = f.v[(i + 1) % 3];
      int twin = 0;
      while (twin < edges && !(from[twin] == b && to[twin] == a)) ++twin;
      if (twin < edges) {
        --edges;
        from[twin] = from[edges], to[twin] = to[edges];
      } else {
        if (edges == Epa::kMostEdges) return false;
        from[edges] = a, to[edges++] = b;
      }
    }
  }
  for (int k = 0; k < edges; ++k) {
    if (!e.add_face(from[k], to[k], vertex)) return false;
  }
  return edges >= 3;
}

TOUCHSTONE_LANE Projection project_foot(const Epa& e, const EpaFace& f) {
  const Vec foot = f.distance * f.normal;
  const Vec points[3] = {e.vertex[f.v[0]].w - foot, e.vertex[f.v[1]].w - foot, e.vertex[f.v[2]].w - foot};
  return project_triangle(points, 0, 1, 2);
}

// Touching without depth along `flat`, where the first vertices of the polytope span no volume.
TOUCHSTONE_LANE void touch_flat(const Epa& e, Vec flat, CoreContact& found) {
  found.distance = 0.0, found.normal = flat;
  const int count = e.vertices < 4 ? e.vertices : 4;
  Vec points[4];
  for (int i = 0; i < count; ++i) points[i] = e.vertex[i].w;
  const Projection projection = project_simplex(points, count);
  found.on_a = {0, 0, 0};
  for (int i = 0; i < count; ++i) found.on_a = found.on_a + projection.weight[i] * e.vertex[i].a;
  found.on_b = found.on_a;
}

// The least way out of an overlap, from the simplex in which GJK has found the origin.
TOUCHSTONE_LANE void expand(ConvexPair& pair, const Simplex& s, Epa& e, CoreContact& found) {
  constexpr double kTolerance = 1e-9, kKeepFace = 1e-14, kMiss = 1e-12;
  Vec flat;
  found.beyond = false;
  if (!start_polytope(pair, s, e, flat)) return touch_flat(e, flat, found);
  const double tolerance = kTolerance * pair.scale, tie = kKeepFace * pair.scale;
  double upper = 1e300, least_miss = 1e300;
  bool accepted = false;
  EpaFace best = e.face[0];
  for (int step = 0; step < kEpaSteps; ++step) {
    int nearest = -1;
    for (int k = 0; k < e.faces; ++k) {
      if (e.face[k].alive && !e.face[k].seen && (nearest < 0 || e.face[k].distance < e.face[nearest].distance))
        nearest = k;
    }
    if (nearest < 0 || e.face[nearest].distance > upper + tolerance) break;
    EpaFace& f = e.face[nearest];
    const MinkowskiPoint p = pair.support(f.normal);
    const double reach = dot(f.normal, p.w);
    bool repeated = false;
    for (int i = 0; i < 3; ++i) {
      const Vec d = p.w - e.vertex[f.v[i]].w;
      repeated = repeated || (d.x == 0.0 && d.y == 0.0 && d.z == 0.0);
    }
    if (repeated || !(reach - f.distance > tolerance)) {
      // On the surface. If the foot of the origin is not in this face, an equally near one holds the witness points.
      const double miss = sqrt(project_foot(e, f).squared);
      if (!accepted || miss < least_miss) best = f, upper = reach, least_miss = miss;
      accepted = true;
      if (miss <= kMiss * pair.scale) break;
      f.seen = true;
      continue;
    }
    f.seen = accepted;
    if (accepted) continue;
    if (reach < upper) upper = reach, best = f;
    e.vertex[e.vertices] = p;
    if (!expand_polytope(e, e.vertices++, tie)) break;
  }
  if (!(upper < 1e300)) {  // slivers alone: the vertices are in a line
    Vec line = {1, 0, 0};
    double longest = 0.0;
    for (int i = 1; i < 4; ++i) {
      const Vec d = e.vertex[i].w - e.vertex[0].w;
      if (length(d) > longest) longest = length(d), line = (1.0 / longest) * d;
    }
    return touch_flat(e, perpendicular_to(line), found);
  }
  const Projection projection = project_foot(e, best);
  found.distance = -upper;
  found.normal = best.normal;
  found.on_a = {0, 0, 0};
  for (int i = 0; i < 3; ++i) found.on_a = found.on_a + projection.weight[i] * e.vertex[best.v[i]].a;
  found.on_b = found.on_a - upper * best.normal;
}

}  // namespace touchstone::gpu
