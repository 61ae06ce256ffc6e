#include "touchstone/collision/manifold/contact_patch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/narrow/minkowski.hpp"

namespace touchstone {
namespace {

using ClipVertex = PatchWorkspace::ClipVertex;

// Edges at a smaller angle (rad) than this are parallel and touch along a line.
constexpr double kParallel = 2e-3;
// A disk tilted by less than this (rad) keeps its four fixed points; beyond, the nearest one is the deepest point.
constexpr double kFlatDisk = 1e-6;

double cross_2d(double ax, double ay, double bx, double by) { return ax * by - ay * bx; }

// The rim of a disk as a circle in coordinates (a, b) of its plane, and the affine maps from and to the patch plane.
struct Rim {
  double radius = 0.0;
  double x0 = 0.0, y0 = 0.0;                      // the centre in the patch plane
  double ux = 0.0, uy = 0.0, vx = 0.0, vy = 0.0;  // the axes a, b seen in the patch plane
  double inverse = 0.0;                           // of the determinant of (u v)
  int cap = 0;

  double x(double a, double b) const { return x0 + ux * a + vx * b; }
  double y(double a, double b) const { return y0 + uy * a + vy * b; }
  double a(double px, double py) const { return inverse * cross_2d(px - x0, py - y0, vx, vy); }
  double b(double px, double py) const { return inverse * cross_2d(ux, uy, px - x0, py - y0); }
  // Signed distance of a place of the patch plane from the rim, in the plane of the disk.
  double outside(double px, double py) const {
    const double pa = a(px, py), pb = b(px, py);
    return std::sqrt(pa * pa + pb * pb) - radius;
  }
};

class Patch {
 public:
  Patch(const PatchFrame& frame, Vec3 rim_direction, PatchWorkspace& workspace)
      : frame_(frame), rim_direction_(rim_direction), work_(workspace) {}

  double run(bool points_too) {
    work_.points.clear();
    flatten(work_.feature_A, work_.flat_A);
    flatten(work_.feature_B, work_.flat_B);
    size_ = std::min(work_.flat_A.size, work_.flat_B.size);
    tie_ = kTie * size_;
    const SupportFeature &A = work_.feature_A, &B = work_.feature_B;
    if (A.is_point() || B.is_point()) {
      size_ = std::max(work_.flat_A.size, work_.flat_B.size);
      if (!std::isfinite(size_)) size_ = 0.0;
      tie_ = kTie * size_;
      if (points_too && A.is_face()) point_face(B, A, work_.flat_B, work_.flat_A, true);
      if (points_too && B.is_face()) point_face(A, B, work_.flat_A, work_.flat_B, false);
    } else if (A.is_edge() && B.is_edge()) {
      edge_edge();
    } else if (A.disk && B.disk) {
      disk_disk();
    } else if (A.disk || B.disk) {
      swapped_ = B.disk;
      B.disk ? disk_other(B, A, work_.flat_B, work_.flat_A) : disk_other(A, B, work_.flat_A, work_.flat_B);
    } else if (A.unbounded || B.unbounded) {
      swapped_ = A.unbounded;
      A.unbounded ? all_vertices(work_.flat_B, work_.flat_A, A) : all_vertices(work_.flat_A, work_.flat_B, B);
    } else if (A.is_edge() || B.is_edge()) {
      swapped_ = B.is_edge();
      B.is_edge() ? edge_face(B, A, work_.flat_B, work_.flat_A) : edge_face(A, B, work_.flat_A, work_.flat_B);
    } else {
      face_face();
    }
    return size_;
  }

 private:
  void flatten(const SupportFeature& feature, FlatFeature& flat) const {
    const Mat3& axes = frame_.axes;
    flat.vertices.clear();
    flat.size = feature.unbounded ? std::numeric_limits<double>::infinity() : 2.0 * feature.radius;
    if (!feature.disk && !feature.unbounded) flat.size = 0.0;
    for (const FeatureVertex& v : feature.vertices) {
      const Vec3 p = transpose_times(axes, v.point - frame_.origin);
      flat.vertices.push_back({p.x(), p.y(), p.z(), v.name});
      flat.size = std::max(flat.size, norm(v.point - feature.vertices[0].point));
    }
    if (!feature.is_face()) return;
    const Vec3 m = transpose_times(axes, feature.normal);
    const bool has_loop = !feature.vertices.empty();
    const Vec3 p = transpose_times(axes, (has_loop ? feature.vertices[0].point : feature.centre) - frame_.origin);
    flat.dz_x = -m.x() / m.z();
    flat.dz_y = -m.y() / m.z();
    flat.z0 = p.z() - flat.dz_x * p.x() - flat.dz_y * p.y();
    if (m.z() < 0.0) std::reverse(flat.vertices.begin(), flat.vertices.end());
  }

  // X and Y are A and B, or B and A when swapped_.
  void add(double x, double y, double z_X, double z_Y, FeatureName X, FeatureName Y) {
    work_.points.push_back(swapped_ ? PatchPoint{x, y, z_Y, z_X, Y, X} : PatchPoint{x, y, z_X, z_Y, X, Y});
  }

  // Signed distance of a place from edge k of a loop, positive inside.
  static double inside(const FlatFeature& flat, std::size_t k, double x, double y) {
    const FlatVertex &p = flat.vertices[k], &q = flat.vertices[k + 1 == flat.vertices.size() ? 0 : k + 1];
    const double ex = q.x - p.x, ey = q.y - p.y, length = std::sqrt(ex * ex + ey * ey);
    return length > 0.0 ? cross_2d(ex, ey, x - p.x, y - p.y) / length : 0.0;
  }

  static FeatureName loop_edge(const FlatFeature& flat, std::size_t k) {
    return edge_name(flat.vertices[k].name, flat.vertices[k + 1 == flat.vertices.size() ? 0 : k + 1].name);
  }

  // The point X, when it lies over the face Y.
  void point_face(const SupportFeature& point, const SupportFeature& face, const FlatFeature& X, const FlatFeature& Y,
                  bool swapped) {
    const FlatVertex& v = X.vertices[0];
    for (std::size_t k = 0; k < Y.vertices.size(); ++k) {
      if (inside(Y, k, v.x, v.y) < -tie_) return;
    }
    if (face.disk && rim_of(face).outside(v.x, v.y) > tie_) return;
    swapped_ = swapped;
    add(v.x, v.y, v.z, Y.height(v.x, v.y), point.name, face.name);
  }

  // A half-space under an edge or a polygon.
  void all_vertices(const FlatFeature& X, const FlatFeature& Y, const SupportFeature& face) {
    for (const FlatVertex& v : X.vertices) add(v.x, v.y, v.z, Y.height(v.x, v.y), vertex_name(v.name), face.name);
  }

  // Parallel edges touch along the overlap of their shadows on their common direction.
  void edge_edge() {
    const FlatVertex *a = work_.flat_A.vertices.data(), *b = work_.flat_B.vertices.data();
    const double ax = a[1].x - a[0].x, ay = a[1].y - a[0].y, bx = b[1].x - b[0].x, by = b[1].y - b[0].y;
    const double length_a = std::sqrt(ax * ax + ay * ay), length_b = std::sqrt(bx * bx + by * by);
    if (!(length_a > 0.0) || !(length_b > 0.0)) return;
    if (std::abs(cross_2d(ax, ay, bx, by)) > kParallel * length_a * length_b) return;
    const double ux = ax / length_a, uy = ay / length_a;
    const auto along = [&](const FlatVertex& v) { return ux * v.x + uy * v.y; };
    const double b_sign = along(b[1]) > along(b[0]) ? 1.0 : -1.0;
    const FlatVertex &b_low = b_sign > 0.0 ? b[0] : b[1], &b_high = b_sign > 0.0 ? b[1] : b[0];
    const bool low_is_a = along(a[0]) >= along(b_low) - tie_, high_is_a = along(a[1]) <= along(b_high) + tie_;
    const double low = low_is_a ? along(a[0]) : along(b_low), high = high_is_a ? along(a[1]) : along(b_high);
    if (!(high - low > tie_)) return;
    const auto end = [&](double s, bool is_a, const FlatVertex& on_a, const FlatVertex& on_b) {
      const double t = (s - along(a[0])) / length_a;
      const double r = std::clamp((s - along(b_low)) / (along(b_high) - along(b_low)), 0.0, 1.0);
      const double pax = a[0].x + t * ax, pay = a[0].y + t * ay;
      const double pbx = b_low.x + r * (b_high.x - b_low.x), pby = b_low.y + r * (b_high.y - b_low.y);
      add(0.5 * (pax + pbx), 0.5 * (pay + pby), a[0].z + t * (a[1].z - a[0].z), b_low.z + r * (b_high.z - b_low.z),
          is_a ? vertex_name(on_a.name) : edge_name(a[0].name, a[1].name),
          is_a ? edge_name(b[0].name, b[1].name) : vertex_name(on_b.name));
    };
    end(low, low_is_a, a[0], b_low);
    end(high, high_is_a, a[1], b_high);
  }

  // The part of the edge of X over the polygon of Y (Cyrus, Beck, 1978).
  void edge_face(const SupportFeature& edge, const SupportFeature& face, const FlatFeature& X, const FlatFeature& Y) {
    const FlatVertex &p = X.vertices[0], &q = X.vertices[1];
    double low = 0.0, high = 1.0;
    FeatureName low_Y = face.name, high_Y = face.name;
    for (std::size_t k = 0; k < Y.vertices.size(); ++k) {
      const double at_p = inside(Y, k, p.x, p.y), at_q = inside(Y, k, q.x, q.y);
      if (at_p < -tie_ && at_q < -tie_) return;
      const double t = std::clamp(at_p / (at_p - at_q), 0.0, 1.0);
      if (at_p < -tie_ && t > low) {
        low = t;
        low_Y = loop_edge(Y, k);
      }
      if (at_q < -tie_ && t < high) {
        high = t;
        high_Y = loop_edge(Y, k);
      }
    }
    if (low > high) return;
    const auto end = [&](double t, const FlatVertex& v, FeatureName name_Y) {
      const double x = p.x + t * (q.x - p.x), y = p.y + t * (q.y - p.y), z = p.z + t * (q.z - p.z);
      add(x, y, z, Y.height(x, y), name_Y == face.name ? vertex_name(v.name) : edge.name, name_Y);
    };
    end(low, p, low_Y);
    end(high, q, high_Y);
  }

  void face_face() {
    const FlatFeature &A = work_.flat_A, &B = work_.flat_B;
    std::vector<ClipVertex>& clip = work_.clip;
    clip.clear();
    for (std::size_t k = 0; k < A.vertices.size(); ++k) {
      const FlatVertex& v = A.vertices[k];
      clip.push_back({v.x, v.y, {}, true, static_cast<int>(k)});
      clip.back().names = {0.0, 0.0, v.z, 0.0, vertex_name(v.name), work_.feature_B.name};
    }
    for (std::size_t k = 0; k < B.vertices.size() && !clip.empty(); ++k) clip_by_edge(k);
    for (const ClipVertex& v : clip) {
      PatchPoint point = v.names;
      point.x = v.x;
      point.y = v.y;
      if (point.A.type != FeatureType::kVertex) point.z_A = A.height(v.x, v.y);
      if (point.B.type != FeatureType::kVertex) point.z_B = B.height(v.x, v.y);
      work_.points.push_back(point);
    }
  }

  // Distances from the edge are taken times its length, which spares faces of many corners a division for each pair.
  void clip_by_edge(std::size_t k) {
    const std::vector<ClipVertex>& clip = work_.clip;
    const std::vector<FlatVertex>& loop = work_.flat_B.vertices;
    const FlatVertex &p = loop[k], &q = loop[k + 1 == loop.size() ? 0 : k + 1];
    const double ex = q.x - p.x, ey = q.y - p.y, outside = -tie_ * std::sqrt(ex * ex + ey * ey);
    work_.distances.resize(clip.size());
    double least = 0.0;
    for (std::size_t i = 0; i < clip.size(); ++i) {
      const double distance = cross_2d(ex, ey, clip[i].x - p.x, clip[i].y - p.y);
      work_.distances[i] = distance;
      least = std::min(least, distance);
    }
    if (least >= outside) return;
    work_.clip_next.clear();
    for (std::size_t i = 0; i < clip.size(); ++i) {
      const std::size_t j = i + 1 == clip.size() ? 0 : i + 1;
      const double d_i = work_.distances[i], d_j = work_.distances[j];
      const bool in_i = d_i >= outside, in_j = d_j >= outside;
      if (in_i) work_.clip_next.push_back(clip[i]);
      if (in_i == in_j) continue;
      ClipVertex crossing = cut(clip[i], clip[j], std::clamp(d_i / (d_i - d_j), 0.0, 1.0), k);
      crossing.edge_of_A = in_i ? false : clip[i].edge_of_A;
      crossing.edge = in_i ? static_cast<int>(k) : clip[i].edge;
      work_.clip_next.push_back(crossing);
    }
    std::swap(work_.clip, work_.clip_next);
  }

  // Where the polygon's edge from v to w meets edge k of B.
  ClipVertex cut(const ClipVertex& v, const ClipVertex& w, double t, std::size_t k) const {
    const FlatFeature &A = work_.flat_A, &B = work_.flat_B;
    ClipVertex crossing{v.x + t * (w.x - v.x), v.y + t * (w.y - v.y), {}, false, 0};
    if (v.edge_of_A) {
      crossing.names.A = loop_edge(A, at(v.edge));
      crossing.names.B = loop_edge(B, k);
      return crossing;
    }
    // Two edges of B meet in a vertex of B.
    const std::size_t other = at(v.edge), next = other + 1 == B.vertices.size() ? 0 : other + 1;
    const FlatVertex& corner = B.vertices[next == k ? k : other];
    crossing.x = corner.x;
    crossing.y = corner.y;
    crossing.names = {0.0, 0.0, 0.0, corner.z, work_.feature_A.name, vertex_name(corner.name)};
    return crossing;
  }

  Rim rim_of(const SupportFeature& disk) const {
    Rim rim;
    Vec3 u = rim_direction_ - dot(rim_direction_, disk.normal) * disk.normal;
    const double length = norm(u);
    u = length > 0.0 ? u * (1.0 / length) : perpendicular(disk.normal);
    const Vec3 v = cross(disk.normal, u);
    const Vec3 c = transpose_times(frame_.axes, disk.centre - frame_.origin);
    const Vec3 flat_u = transpose_times(frame_.axes, u), flat_v = transpose_times(frame_.axes, v);
    rim.radius = disk.radius;
    rim.x0 = c.x();
    rim.y0 = c.y();
    rim.ux = flat_u.x();
    rim.uy = flat_u.y();
    rim.vx = flat_v.x();
    rim.vy = flat_v.y();
    rim.inverse = 1.0 / cross_2d(rim.ux, rim.uy, rim.vx, rim.vy);
    rim.cap = disk.name.first;
    return rim;
  }

  void add_rim(const Rim& rim, const FlatFeature& X, const FlatFeature& Y, double a, double b, int k,
               FeatureName name) {
    const double x = rim.x(a, b), y = rim.y(a, b);
    add(x, y, X.height(x, y), Y.height(x, y), smooth_name(8 * rim.cap + k), name);
  }

  // Four points of the rim of X at fixed directions, so that a disk that spins keeps them. Where the gap to the face
  // of Y varies over the disk, the fixed point nearest to the deepest point of the rim moves there. It starts to move
  // with the tilt, hence the points vary continuously around zero tilt; until kFlatDisk the deepest of them is within
  // 0.05 kFlatDisk radius of the deepest of the disk. `accept` says what counts as over Y.
  template <typename Accept>
  void rim_points(const Rim& rim, const FlatFeature& X, const FlatFeature& Y, FeatureName name, const Accept& accept) {
    const double sign = swapped_ ? -1.0 : 1.0;  // the gap is z_Y - z_X, or the reverse
    const double slope_x = sign * (Y.dz_x - X.dz_x), slope_y = sign * (Y.dz_y - X.dz_y);
    const double slope_a = slope_x * rim.ux + slope_y * rim.uy, slope_b = slope_x * rim.vx + slope_y * rim.vy;
    const double tilt = std::sqrt(slope_a * slope_a + slope_b * slope_b);
    double deep_a = 0.0, deep_b = 0.0;
    int nearest = -1;
    if (tilt > 0.0) {
      deep_a = -slope_a / tilt;
      deep_b = -slope_b / tilt;
      nearest = std::abs(deep_a) >= std::abs(deep_b) ? (deep_a > 0.0 ? 0 : 2) : (deep_b > 0.0 ? 1 : 3);
    }
    const double directions[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    for (int k = 0; k < 4; ++k) {
      double a = directions[k][0], b = directions[k][1];
      int number = k;
      if (k == nearest) {
        const double weight = std::min(1.0, tilt / kFlatDisk);
        a += weight * (deep_a - a);
        b += weight * (deep_b - b);
        if (weight >= 1.0) number = 4;
      }
      const double scale = rim.radius / std::sqrt(a * a + b * b);
      if (accept(rim.x(scale * a, scale * b), rim.y(scale * a, scale * b))) {
        add_rim(rim, X, Y, scale * a, scale * b, number, name);
      }
    }
  }

  // Parameters where the segment p q crosses the rim; false when it does not.
  static bool cross_rim(const Rim& rim, const FlatVertex& p, const FlatVertex& q, double& low, double& high) {
    const double a = rim.a(p.x, p.y), b = rim.b(p.x, p.y);
    const double da = rim.a(q.x, q.y) - a, db = rim.b(q.x, q.y) - b;
    const double length2 = da * da + db * db;
    if (!(length2 > 0.0)) return false;
    const double middle = -(a * da + b * db) / length2, miss = cross_2d(a, b, da, db);
    const double room = rim.radius * rim.radius - miss * miss / length2;
    if (!(room > 0.0)) return false;
    const double half = std::sqrt(room / length2);
    low = middle - half;
    high = middle + half;
    return true;
  }

  // The disk X against a half-space, an edge or a polygon Y.
  void disk_other(const SupportFeature& disk, const SupportFeature& other, const FlatFeature& X, const FlatFeature& Y) {
    const Rim rim = rim_of(disk);
    if (other.unbounded) {
      return rim_points(rim, X, Y, other.name, [](double, double) { return true; });
    }
    if (other.is_face()) {
      rim_points(rim, X, Y, other.name, [&](double x, double y) {
        for (std::size_t k = 0; k < Y.vertices.size(); ++k) {
          if (inside(Y, k, x, y) < -tie_) return false;
        }
        return true;
      });
    }
    const std::size_t edges = other.is_edge() ? 1 : Y.vertices.size();
    for (const FlatVertex& v : Y.vertices) {
      if (rim.outside(v.x, v.y) <= tie_) add(v.x, v.y, X.height(v.x, v.y), v.z, disk.name, vertex_name(v.name));
    }
    for (std::size_t k = 0; k < edges; ++k) {
      const FlatVertex &p = Y.vertices[k], &q = Y.vertices[k + 1 == Y.vertices.size() ? 0 : k + 1];
      double t[2];
      if (!cross_rim(rim, p, q, t[0], t[1])) continue;
      for (int side = 0; side < 2; ++side) {
        const FlatVertex& beyond = side == 0 ? p : q;
        if (t[side] < 0.0 || t[side] > 1.0 || rim.outside(beyond.x, beyond.y) <= tie_) continue;
        const double x = p.x + t[side] * (q.x - p.x), y = p.y + t[side] * (q.y - p.y);
        add(x, y, X.height(x, y), p.z + t[side] * (q.z - p.z), smooth_name(8 * rim.cap + 5 + side), loop_edge(Y, k));
      }
    }
  }

  void disk_disk() {
    const SupportFeature &A = work_.feature_A, &B = work_.feature_B;
    const Rim rim_A = rim_of(A), rim_B = rim_of(B);
    swapped_ = false;
    rim_points(rim_A, work_.flat_A, work_.flat_B, B.name,
               [&](double x, double y) { return rim_B.outside(x, y) <= tie_; });
    swapped_ = true;
    rim_points(rim_B, work_.flat_B, work_.flat_A, A.name,
               [&](double x, double y) { return rim_A.outside(x, y) <= tie_; });
    swapped_ = false;
    const double dx = rim_B.x0 - rim_A.x0, dy = rim_B.y0 - rim_A.y0, d = std::sqrt(dx * dx + dy * dy);
    const double along = (d * d + rim_A.radius * rim_A.radius - rim_B.radius * rim_B.radius) / (2.0 * d);
    if (!(std::abs(along) < rim_A.radius)) return;
    const double across = std::sqrt(rim_A.radius * rim_A.radius - along * along);
    for (int side = 0; side < 2; ++side) {
      const double s = side == 0 ? across : -across;
      const double x = rim_A.x0 + (along * dx - s * dy) / d, y = rim_A.y0 + (along * dy + s * dx) / d;
      double angle = std::atan2(rim_A.b(x, y), rim_A.a(x, y));
      if (!cross_rims(rim_A, rim_B, angle)) continue;
      add_rim(rim_A, work_.flat_A, work_.flat_B, rim_A.radius * std::cos(angle), rim_A.radius * std::sin(angle),
              5 + side, smooth_name(8 * rim_B.cap + 5 + side));
    }
  }

  // Newton's method for the angle on A where the rims cross: tilted disks are ellipses in the patch plane.
  static bool cross_rims(const Rim& A, const Rim& B, double& angle) {
    for (int k = 0; k < 8; ++k) {
      const double c = A.radius * std::cos(angle), s = A.radius * std::sin(angle);
      const double x = A.x(c, s), y = A.y(c, s), a = B.a(x, y), b = B.b(x, y);
      const double dx = -A.ux * s + A.vx * c, dy = -A.uy * s + A.vy * c;
      const double slope = 2.0 * B.inverse * (a * cross_2d(dx, dy, B.vx, B.vy) + b * cross_2d(B.ux, B.uy, dx, dy));
      const double value = a * a + b * b - B.radius * B.radius;
      if (std::abs(value) <= 1e-14 * B.radius * B.radius) return true;
      if (!(std::abs(slope) > 0.0)) return false;
      angle -= std::clamp(value / slope, -0.1, 0.1);
    }
    return false;
  }

  const PatchFrame& frame_;
  const Vec3 rim_direction_;
  PatchWorkspace& work_;
  double size_ = 0.0, tie_ = 0.0;
  bool swapped_ = false;
};

}  // namespace

PatchWorkspace::PatchWorkspace() {
  constexpr std::size_t kUsual = 64;
  feature_A.vertices.reserve(kUsual);
  feature_B.vertices.reserve(kUsual);
  flat_A.vertices.reserve(kUsual);
  flat_B.vertices.reserve(kUsual);
  clip.reserve(2 * kUsual);
  clip_next.reserve(2 * kUsual);
  distances.reserve(2 * kUsual);
  points.reserve(2 * kUsual);
  kept.reserve(2 * kUsual);
  hull.reserve(2 * kUsual);
}

double intersect_features(const PatchFrame& frame, Vec3 rim_direction, PatchWorkspace& workspace, bool points_too) {
  return Patch(frame, rim_direction, workspace).run(points_too);
}

}  // namespace touchstone
