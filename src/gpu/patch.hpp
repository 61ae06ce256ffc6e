// Where two features lie over each other, seen along the normal: as collision/manifold/contact_patch and
// patch_reduction, in memory of a fixed size. Points are corners of either feature over the other, crossings of edges,
// and points of rims; four of them, of largest area and with the deepest, stand for all.
#pragma once

#include "touchstone/gpu/convex.hpp"

namespace touchstone::gpu {

constexpr int kMostClip = 2 * kMostLoop, kMostPatch = 3 * kMostLoop + 8;
constexpr double kPatchTie = 1e-6, kPatchDepthTie = 1e-9;  // shares of a feature's size: of places, of depths

// A feature in the coordinates of the plane.
struct FlatShape {
  int count;
  double x[kMostLoop], y[kMostLoop], z[kMostLoop];
  int label[kMostLoop];
  double z0, dz_x, dz_y, size;

  TOUCHSTONE_LANE double height(double px, double py) const { return z0 + dz_x * px + dz_y * py; }
  TOUCHSTONE_LANE int next(int k) const { return k + 1 == count ? 0 : k + 1; }
  TOUCHSTONE_LANE int edge(int k) const { return edge_name(label[k], label[next(k)]); }
  // Signed distance of a place from edge k of a loop, positive inside.
  TOUCHSTONE_LANE double inside(int k, double px, double py) const {
    const double ex = x[next(k)] - x[k], ey = y[next(k)] - y[k], len = sqrt(ex * ex + ey * ey);
    return len > 0.0 ? (ex * (py - y[k]) - ey * (px - x[k])) / len : 0.0;
  }
};

TOUCHSTONE_LANE void flatten(const Feature& feature, const Mat& axes, Vec origin, FlatShape& flat) {
  flat.count = feature.count;
  flat.z0 = flat.dz_x = flat.dz_y = 0.0;
  flat.size = feature.unbounded ? 1e300 : 2.0 * feature.radius;
  for (int k = 0; k < feature.count; ++k) {
    const Vec p = transpose_times(axes, feature.point[k] - origin);
    flat.x[k] = p.x, flat.y[k] = p.y, flat.z[k] = p.z, flat.label[k] = feature.label[k];
    flat.size = most(flat.size, length(feature.point[k] - feature.point[0]));
  }
  if (!feature.is_face()) return;
  const Vec n = transpose_times(axes, feature.normal);
  const Vec p = transpose_times(axes, (feature.count > 0 ? feature.point[0] : feature.centre) - origin);
  flat.dz_x = -n.x / n.z, flat.dz_y = -n.y / n.z;
  flat.z0 = p.z - flat.dz_x * p.x - flat.dz_y * p.y;
  if (!(n.z < 0.0)) return;
  for (int i = 0, j = flat.count - 1; i < j; ++i, --j) {  // counter-clockwise
    const double x = flat.x[i], y = flat.y[i], z = flat.z[i];
    const int label = flat.label[i];
    flat.x[i] = flat.x[j], flat.y[i] = flat.y[j], flat.z[i] = flat.z[j], flat.label[i] = flat.label[j];
    flat.x[j] = x, flat.y[j] = y, flat.z[j] = z, flat.label[j] = label;
  }
}

struct PlacePoint {
  double x, y, z_a, z_b;
  int a, b;  // names

  TOUCHSTONE_LANE double gap() const { return z_b - z_a; }
};

// The rim of a disk as a circle in coordinates of its plane, and the maps from and to the patch plane.
struct Rim {
  double radius, x0, y0, ux, uy, vx, vy, inverse;
  int cap;

  TOUCHSTONE_LANE double x(double a, double b) const { return x0 + ux * a + vx * b; }
  TOUCHSTONE_LANE double y(double a, double b) const { return y0 + uy * a + vy * b; }
  TOUCHSTONE_LANE double a(double px, double py) const { return inverse * ((px - x0) * vy - (py - y0) * vx); }
  TOUCHSTONE_LANE double b(double px, double py) const { return inverse * (ux * (py - y0) - uy * (px - x0)); }
  TOUCHSTONE_LANE double outside(double px, double py) const {
    const double pa = a(px, py), pb = b(px, py);
    return sqrt(pa * pa + pb * pb) - radius;
  }
};

struct ClipPoint {
  double x, y, z_a, z_b;
  int a, b, edge;
  bool edge_of_a;
};

struct PatchBuilder {
  Feature feature[2];  // of A and B, in the frame of A
  FlatShape flat[2];
  PlacePoint point[kMostPatch];
  ClipPoint clip[2][kMostClip];  // here and not on the stack of each place that clips
  Mat axes;
  Vec origin, rim_direction;
  int count;
  double size, tie;

  // x is of the feature `of`, 0 or 1.
  TOUCHSTONE_LANE void add(int of, double x, double y, double z_x, double z_y, int name_x, int name_y) {
    if (count == kMostPatch) return;
    point[count++] = of == 0 ? PlacePoint{x, y, z_x, z_y, name_x, name_y} : PlacePoint{x, y, z_y, z_x, name_y, name_x};
  }

  TOUCHSTONE_LANE bool is_over(const FlatShape& face, double x, double y) const {
    for (int k = 0; k < face.count; ++k) {
      if (face.inside(k, x, y) < -tie) return false;
    }
    return true;
  }

  TOUCHSTONE_LANE void all_vertices(int of) {
    const FlatShape &X = flat[of], &Y = flat[1 - of];
    for (int k = 0; k < X.count; ++k)
      add(of, X.x[k], X.y[k], X.z[k], Y.height(X.x[k], X.y[k]), feature_name(kVertexFeature, X.label[k]),
          feature[1 - of].name);
  }

  TOUCHSTONE_LANE void edge_edge() {
    const FlatShape &a = flat[0], &b = flat[1];
    const double ax = a.x[1] - a.x[0], ay = a.y[1] - a.y[0], bx = b.x[1] - b.x[0], by = b.y[1] - b.y[0];
    const double len_a = sqrt(ax * ax + ay * ay), len_b = sqrt(bx * bx + by * by);
    if (!(len_a > 0.0) || !(len_b > 0.0) || fabs(ax * by - ay * bx) > kParallelEdges * len_a * len_b) return;
    const double ux = ax / len_a, uy = ay / len_a;
    const double a0 = ux * a.x[0] + uy * a.y[0], a1 = ux * a.x[1] + uy * a.y[1];
    const double b0 = ux * b.x[0] + uy * b.y[0], b1 = ux * b.x[1] + uy * b.y[1];
    const int low_b = b1 > b0 ? 0 : 1, high_b = 1 - low_b;
    const double low_at = low_b == 0 ? b0 : b1, high_at = low_b == 0 ? b1 : b0;
    const bool low_is_a = a0 >= low_at - tie, high_is_a = a1 <= high_at + tie;
    const double low = low_is_a ? a0 : low_at, high = high_is_a ? a1 : high_at;
    if (!(high - low > tie)) return;
    for (int end = 0; end < 2; ++end) {
      const double s = end == 0 ? low : high, t = (s - a0) / len_a,
                   r = clamp((s - low_at) / (high_at - low_at), 0.0, 1.0);
      const bool is_a = end == 0 ? low_is_a : high_is_a;
      const double px = b.x[low_b] + r * (b.x[high_b] - b.x[low_b]), py = b.y[low_b] + r * (b.y[high_b] - b.y[low_b]);
      add(0, 0.5 * (a.x[0] + t * ax + px), 0.5 * (a.y[0] + t * ay + py), a.z[0] + t * (a.z[1] - a.z[0]),
          b.z[low_b] + r * (b.z[high_b] - b.z[low_b]),
          is_a ? feature_name(kVertexFeature, a.label[end]) : feature[0].name,
          is_a ? feature[1].name : feature_name(kVertexFeature, b.label[end == 0 ? low_b : high_b]));
    }
  }

  // The part of the edge X over the polygon Y (Cyrus, Beck, 1978).
  TOUCHSTONE_LANE void edge_face(int of) {
    const FlatShape &X = flat[of], &Y = flat[1 - of];
    double t[2] = {0.0, 1.0};
    int name[2] = {feature[1 - of].name, feature[1 - of].name};
    for (int k = 0; k < Y.count; ++k) {
      const double at_p = Y.inside(k, X.x[0], X.y[0]), at_q = Y.inside(k, X.x[1], X.y[1]);
      if (at_p < -tie && at_q < -tie) return;
      if (at_p >= -tie && at_q >= -tie) continue;
      const double cut = clamp(at_p / (at_p - at_q), 0.0, 1.0);
      if (at_p < -tie && cut > t[0]) t[0] = cut, name[0] = Y.edge(k);
      if (at_q < -tie && cut < t[1]) t[1] = cut, name[1] = Y.edge(k);
    }
    if (t[0] > t[1]) return;
    for (int end = 0; end < 2; ++end) {
      const double x = X.x[0] + t[end] * (X.x[1] - X.x[0]), y = X.y[0] + t[end] * (X.y[1] - X.y[0]);
      const bool whole = name[end] == feature[1 - of].name;
      add(of, x, y, X.z[0] + t[end] * (X.z[1] - X.z[0]), Y.height(x, y),
          whole ? feature_name(kVertexFeature, X.label[end]) : feature[of].name, name[end]);
    }
  }

  // Where the polygon's edge from v to w meets edge k of B.
  TOUCHSTONE_LANE ClipPoint cut(const ClipPoint& v, const ClipPoint& w, double t, int k) const {
    const FlatShape& B = flat[1];
    if (v.edge_of_a)
      return {v.x + t * (w.x - v.x), v.y + t * (w.y - v.y), 0.0, 0.0, flat[0].edge(v.edge), B.edge(k), 0, false};
    const int corner = B.next(v.edge) == k ? k : v.edge;  // two edges of B meet in a vertex of B
    return {B.x[corner], B.y[corner], 0.0, B.z[corner], feature[0].name, feature_name(kVertexFeature, B.label[corner]),
            0,           false};
  }

  TOUCHSTONE_LANE void face_face() {
    const FlatShape &A = flat[0], &B = flat[1];
    int from = 0, corners = A.count;
    for (int k = 0; k < A.count; ++k)
      clip[0][k] = {A.x[k], A.y[k], A.z[k], 0.0, feature_name(kVertexFeature, A.label[k]), feature[1].name, k, true};
    for (int k = 0; k < B.count && corners > 0; ++k) {
      const double ex = B.x[B.next(k)] - B.x[k], ey = B.y[B.next(k)] - B.y[k];
      const double outside = -tie * sqrt(ex * ex + ey * ey);
      const auto distance = [&](const ClipPoint& v) { return ex * (v.y - B.y[k]) - ey * (v.x - B.x[k]); };
      int kept = 0;
      for (int i = 0; i < corners; ++i) {
        const ClipPoint &v = clip[from][i], &w = clip[from][i + 1 == corners ? 0 : i + 1];
        const double d_v = distance(v), d_w = distance(w);
        const bool in_v = d_v >= outside, in_w = d_w >= outside;
        if (in_v && kept < kMostClip) clip[1 - from][kept++] = v;
        if (in_v == in_w || kept == kMostClip) continue;
        ClipPoint crossing = cut(v, w, clamp(d_v / (d_v - d_w), 0.0, 1.0), k);
        crossing.edge_of_a = in_v ? false : v.edge_of_a;
        crossing.edge = in_v ? k : v.edge;
        clip[1 - from][kept++] = crossing;
      }
      corners = kept;
      from = 1 - from;
    }
    for (int k = 0; k < corners; ++k) {
      const ClipPoint& v = clip[from][k];
      add(0, v.x, v.y, kind_of_name(v.a) == kVertexFeature ? v.z_a : A.height(v.x, v.y),
          kind_of_name(v.b) == kVertexFeature ? v.z_b : B.height(v.x, v.y), v.a, v.b);
    }
  }

  TOUCHSTONE_LANE Rim rim_of(const Feature& disk) const {
    Vec u = rim_direction - dot(rim_direction, disk.normal) * disk.normal;
    const double len = length(u);
    u = len > 0.0 ? (1.0 / len) * u : perpendicular_to(disk.normal);
    const Vec c = transpose_times(axes, disk.centre - origin), flat_u = transpose_times(axes, u),
              flat_v = transpose_times(axes, cross(disk.normal, u));
    return {disk.radius,
            c.x,
            c.y,
            flat_u.x,
            flat_u.y,
            flat_v.x,
            flat_v.y,
            1.0 / (flat_u.x * flat_v.y - flat_u.y * flat_v.x),
            (disk.name >> 14) & 1};
  }

  // Four points of the rim at fixed directions; the one nearest to the deepest moves there as the disk tilts.
  template <typename Accept>
  TOUCHSTONE_LANE void rim_points(int of, const Rim& rim, const Accept& accept) {
    constexpr double kFlatDisk = 1e-6;
    const FlatShape &X = flat[of], &Y = flat[1 - of];
    const double sign = of == 0 ? 1.0 : -1.0;
    const double slope_x = sign * (Y.dz_x - X.dz_x), slope_y = sign * (Y.dz_y - X.dz_y);
    const double slope_a = slope_x * rim.ux + slope_y * rim.uy, slope_b = slope_x * rim.vx + slope_y * rim.vy;
    const double tilt = sqrt(slope_a * slope_a + slope_b * slope_b);
    const double deep_a = tilt > 0.0 ? -slope_a / tilt : 0.0, deep_b = tilt > 0.0 ? -slope_b / tilt : 0.0;
    int nearest = -1;
    if (tilt > 0.0) nearest = fabs(deep_a) >= fabs(deep_b) ? (deep_a > 0.0 ? 0 : 2) : (deep_b > 0.0 ? 1 : 3);
    for (int k = 0; k < 4; ++k) {
      double a = k == 0 ? 1.0 : (k == 2 ? -1.0 : 0.0), b = k == 1 ? 1.0 : (k == 3 ? -1.0 : 0.0);
      int number = k;
      if (k == nearest) {
        const double weight = least(1.0, tilt / kFlatDisk);
        a += weight * (deep_a - a), b += weight * (deep_b - b);
        if (weight >= 1.0) number = 4;
      }
      const double scale = rim.radius / sqrt(a * a + b * b);
      if (accept(rim.x(scale * a, scale * b), rim.y(scale * a, scale * b)))
        add_rim(of, rim, scale * a, scale * b, number, feature[1 - of].name);
    }
  }

  TOUCHSTONE_LANE void add_rim(int of, const Rim& rim, double a, double b, int number, int other) {
    const double x = rim.x(a, b), y = rim.y(a, b);
    add(of, x, y, flat[of].height(x, y), flat[1 - of].height(x, y), feature_name(kSmoothFeature, 8 * rim.cap + number),
        other);
  }

  // The disk `of` against a half-space, an edge or a polygon.
  TOUCHSTONE_LANE void disk_other(int of) {
    const FlatShape &X = flat[of], &Y = flat[1 - of];
    const Feature& other = feature[1 - of];
    const Rim rim = rim_of(feature[of]);
    if (other.unbounded) return rim_points(of, rim, [](double, double) { return true; });
    if (other.is_face()) rim_points(of, rim, [&](double x, double y) { return is_over(Y, x, y); });
    for (int k = 0; k < Y.count; ++k) {
      if (rim.outside(Y.x[k], Y.y[k]) <= tie)
        add(of, Y.x[k], Y.y[k], X.height(Y.x[k], Y.y[k]), Y.z[k], feature[of].name,
            feature_name(kVertexFeature, Y.label[k]));
    }
    const int edges = other.is_edge() ? 1 : Y.count;
    for (int k = 0; k < edges; ++k) {
      const int next = Y.next(k);
      const double a = rim.a(Y.x[k], Y.y[k]), b = rim.b(Y.x[k], Y.y[k]);
      const double da = rim.a(Y.x[next], Y.y[next]) - a, db = rim.b(Y.x[next], Y.y[next]) - b, len = da * da + db * db;
      if (!(len > 0.0)) continue;
      const double middle = -(a * da + b * db) / len, miss = a * db - b * da;
      const double room = rim.radius * rim.radius - miss * miss / len;
      if (!(room > 0.0)) continue;
      const double half = sqrt(room / len);
      for (int side = 0; side < 2; ++side) {
        const double t = side == 0 ? middle - half : middle + half;
        const int beyond = side == 0 ? k : next;
        if (t < 0.0 || t > 1.0 || rim.outside(Y.x[beyond], Y.y[beyond]) <= tie) continue;
        const double x = Y.x[k] + t * (Y.x[next] - Y.x[k]), y = Y.y[k] + t * (Y.y[next] - Y.y[k]);
        add(of, x, y, X.height(x, y), Y.z[k] + t * (Y.z[next] - Y.z[k]),
            feature_name(kSmoothFeature, 8 * rim.cap + 5 + side), Y.edge(k));
      }
    }
  }

  TOUCHSTONE_LANE void disk_disk() {
    const Rim A = rim_of(feature[0]), B = rim_of(feature[1]);
    rim_points(0, A, [&](double x, double y) { return B.outside(x, y) <= tie; });
    rim_points(1, B, [&](double x, double y) { return A.outside(x, y) <= tie; });
    const double dx = B.x0 - A.x0, dy = B.y0 - A.y0, d = sqrt(dx * dx + dy * dy);
    const double along = (d * d + A.radius * A.radius - B.radius * B.radius) / (2.0 * d);
    if (!(fabs(along) < A.radius)) return;
    const double across = sqrt(A.radius * A.radius - along * along);
    for (int side = 0; side < 2; ++side) {
      const double s = side == 0 ? across : -across;
      const double x = A.x0 + (along * dx - s * dy) / d, y = A.y0 + (along * dy + s * dx) / d;
      double angle = atan2(A.b(x, y), A.a(x, y));
      if (!cross_rims(A, B, angle)) continue;
      add_rim(0, A, A.radius * cos(angle), A.radius * sin(angle), 5 + side,
              feature_name(kSmoothFeature, 8 * B.cap + 5 + side));
    }
  }

  // Newton's method for the angle on A where the rims cross: tilted disks are ellipses in the patch plane.
  TOUCHSTONE_LANE static bool cross_rims(const Rim& A, const Rim& B, double& angle) {
    for (int k = 0; k < 8; ++k) {
      const double c = A.radius * cos(angle), s = A.radius * sin(angle);
      const double x = A.x(c, s), y = A.y(c, s), a = B.a(x, y), b = B.b(x, y);
      const double dx = -A.ux * s + A.vx * c, dy = -A.uy * s + A.vy * c;
      const double slope = 2.0 * B.inverse * (a * (dx * B.vy - dy * B.vx) + b * (B.ux * dy - B.uy * dx));
      const double value = a * a + b * b - B.radius * B.radius;
      if (fabs(value) <= 1e-14 * B.radius * B.radius) return true;
      if (!(fabs(slope) > 0.0)) return false;
      angle -= clamp(value / slope, -0.1, 0.1);
    }
    return false;
  }

  TOUCHSTONE_LANE void intersect() {
    for (int k = 0; k < 2; ++k) flatten(feature[k], axes, origin, flat[k]);
    const Feature &A = feature[0], &B = feature[1];
    count = 0;
    size = least(flat[0].size, flat[1].size);
    tie = kPatchTie * size;
    if (A.is_point() || B.is_point()) {
      size = most(flat[0].size, flat[1].size);
      if (!(size < 1e299)) size = 0.0;
      tie = kPatchTie * size;
      return;  // the nearest points themselves
    }
    if (A.is_edge() && B.is_edge()) return edge_edge();
    if (A.disk && B.disk) return disk_disk();
    if (A.disk || B.disk) return disk_other(B.disk ? 1 : 0);
    if (A.unbounded || B.unbounded) return all_vertices(A.unbounded ? 1 : 0);
    if (A.is_edge() || B.is_edge()) return edge_face(B.is_edge() ? 1 : 0);
    face_face();
  }
};

}  // namespace touchstone::gpu
