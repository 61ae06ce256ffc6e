// Contacts of a convex shape with a height field: what its triangles have found (surface.hpp), without what a shorter
// way out makes superfluous, in groups of one normal, each reduced to four points. As collision/surface. A team of
// lanes works on one pair: a triangle a lane, then a group a lane.
#pragma once

#include "touchstone/gpu/surface.hpp"

namespace touchstone::gpu {

constexpr double kOneNormal = 2e-3;        // rad: normals closer than this are one manifold
constexpr int kMostVisits = 1 << 16;       // triangles of a pair that are looked at; more is no room
constexpr int kDropped = -2, kAlone = -1;  // SurfaceBatch::group

// The box of a shape in the field, with its margin.
TOUCHSTONE_LANE void box_in_field(const ModelView& m, const SurfaceShape& shape, Vec& lower, Vec& upper) {
  lower = upper = {0, 0, 0};
  for (int k = 0; k < 3; ++k) {
    lower = lower + axis(k, entry(shape.support(m, axis(k, -1.0)), k) - shape.core_margin);
    upper = upper + axis(k, entry(shape.support(m, axis(k, 1.0)), k) + shape.core_margin);
  }
}

// Adds what each lane has found to the batches. False if there is no room.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool keep_batches(const Team& team, TriangleVisit& visit, Scratch<Real>& s, int& batches, int& points) {
  int new_batches = 0, new_points = 0;
  const int batch = batches + team.count_before(visit.count > 0 ? 1 : 0, new_batches);
  int point = points + team.count_before(visit.count, new_points);
  batches += new_batches;
  points += new_points;
  if (batches > kBatchesOfContact * s.pool.contacts || points > kPointsOfContact * s.pool.contacts) return false;
  if (visit.count == 0) return true;
  const FieldTriangle& t = visit.t;
  s.batches[batch] = {visit.normal,         visit.lowest, {t.corner[0], t.corner[1], t.corner[2]},
                      visit.least_gap,      point,        visit.count,
                      visit.proven ? 1 : 0, kAlone};
  const PatchBuilder& patch = visit.patch();
  for (int k = 0; k < visit.count; ++k) {
    const PlacePoint& p = patch.point[k];
    const Vec foot = patch.origin + p.x * patch.axes.a + p.y * patch.axes.b;
    s.surface_points[point++] = {foot + p.z_a * patch.axes.c, foot + p.z_b * patch.axes.c, name_in_field(t, p.a), p.b};
  }
  return true;
}

// Fills s.batches and s.surface_points. False if there is no room.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool visit_triangles(const Team& team, TriangleVisit& visit, Scratch<Real>& s, int& batches) {
  const HeightFieldView& field = visit.field;
  Vec lower, upper;
  CellRange range;
  int points = 0, visits = 0;
  batches = 0;
  box_in_field(visit.m, visit.shape, lower, upper);
  const bool over = field.cells_under(lower, upper, range);
  const int count = over ? 2 * range.cells() : 0;
  TOUCHSTONE_ROLLED
  for (int first = 0; first < count; first += team.size()) {
    const int item = first + team.lane(), cell = item / 2;
    const int row = range.row + cell / range.columns(), column = range.column + cell % range.columns();
    visit.count = 0;
    const bool near = item < count && field.cell_top(row, column) >= lower.z;
    if (near) {
      field.triangle(row, column, item % 2 != 0, visit.t);
      visit.look();
    }
    int looked_at = 0;
    team.count_before(near ? 1 : 0, looked_at);
    visits += looked_at;
    if (visits > kMostVisits || !keep_batches(team, visit, s, batches, points)) return false;
  }
  if (batches > 0) return true;
  visit.count = 0;
  if (team.lane() == 0 && field.triangle_above(visit.shape.centre(visit.m), visit.t)) visit.force();
  return keep_batches(team, visit, s, batches, points);
}

// A contact that nobody has proved to be the shortest way out is dropped when a shorter one also frees the shape from
// its triangle, which then lies wholly below the plane of the shorter one.
TOUCHSTONE_LANE bool explains(const SurfaceBatch& shorter, const SurfaceBatch& doubtful, double tolerance) {
  if (shorter.group == kDropped || shorter.least < doubtful.least + tolerance) return false;
  double highest = dot(shorter.normal, doubtful.corner[0]);
  for (int k = 1; k < 3; ++k) highest = most(highest, dot(shorter.normal, doubtful.corner[k]));
  return dot(shorter.normal, shorter.lowest) - highest >= shorter.least - tolerance;
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void drop_explained(const Team& team, Scratch<Real>& s, int batches, double tolerance) {
  TOUCHSTONE_ROLLED
  for (int i = 0; i < batches; ++i) {
    if (s.batches[i].proven != 0) continue;
    bool superfluous = false;
    TOUCHSTONE_ROLLED
    for (int k = team.lane(); k < batches; k += team.size())
      superfluous = superfluous || (k != i && explains(s.batches[k], s.batches[i], tolerance));
    if (team.any(superfluous) && team.lane() == 0) s.batches[i].group = kDropped;
    team.sync();
  }
}

// Groups of one normal; the deepest batch leads the first, and so on, so that the deepest point keeps its own normal.
// Returns how many; `s.batches[k].first` of a leader stays, its `proven` becomes 2.
template <typename Team, typename Real>
TOUCHSTONE_LANE int group_batches(const Team& team, Scratch<Real>& s, int batches) {
  TOUCHSTONE_ROLLED
  for (int group = 0; group < batches; ++group) {
    int head = -1;
    TOUCHSTONE_ROLLED
    for (int k = 0; k < batches; ++k) {
      if (s.batches[k].group == kAlone && (head < 0 || s.batches[k].least < s.batches[head].least)) head = k;
    }
    if (head < 0) return group;
    team.sync();
    const Vec normal = s.batches[head].normal;
    TOUCHSTONE_ROLLED
    for (int k = team.lane(); k < batches; k += team.size()) {
      const Vec change = s.batches[k].normal - normal;
      const bool one = k == head || dot(change, change) <= kOneNormal * kOneNormal;
      if (s.batches[k].group == kAlone && one) s.batches[k].group = group;
      if (k == head) s.batches[k].proven = 2;
    }
    team.sync();
  }
  return batches;
}

// Leaves the points of a patch that are farthest in sixteen directions, as PatchReduction::thin_out does, and the
// deepest: four of them stand for all in the end.
TOUCHSTONE_LANE void thin_patch(PatchBuilder& patch) {
  constexpr int kDirections = 16;
  constexpr double kTurn = 2.0 * 3.14159265358979323846;
  std::uint64_t kept[2] = {0, 0};
  for (int d = 0; d <= kDirections; ++d) {
    const double angle = kTurn * d / kDirections, x = cos(angle), y = sin(angle);
    int best = 0;
    double most_along = -1e300;
    for (int k = 0; k < patch.count; ++k) {
      const PlacePoint& p = patch.point[k];
      const double along = d < kDirections ? x * p.x + y * p.y : -p.gap();
      if (along > most_along) most_along = along, best = k;
    }
    kept[best / 64] |= std::uint64_t{1} << (best % 64);
  }
  static_assert(kMostPatch <= 128);
  int used = 0;
  for (int k = 0; k < patch.count; ++k) {
    if ((kept[k / 64] >> (k % 64) & 1) != 0) patch.point[used++] = patch.point[k];
  }
  patch.count = used;
}

// The points of a group in `memory`, reduced.
template <typename Real>
TOUCHSTONE_LANE void reduce_group(const Scratch<Real>& s, int batches, int group, double core_margin,
                                  PatchMemory& memory) {
  PatchBuilder& patch = memory.patch;
  int head = 0;
  while (head + 1 < batches && !(s.batches[head].group == group && s.batches[head].proven == 2)) ++head;
  const SurfaceBatch& leader = s.batches[head];
  patch.axes = contact_frame(leader.normal);
  patch.origin = s.surface_points[leader.first].a;
  patch.size = length(leader.corner[1] - leader.corner[0]);
  patch.count = 0;
  for (int i = 0; i < batches; ++i) {
    const SurfaceBatch& batch = s.batches[i];
    if (batch.group != group) continue;
    for (int k = batch.first; k < batch.first + batch.count; ++k) {
      const SurfacePoint& p = s.surface_points[k];
      const Vec a = transpose_times(patch.axes, p.a - patch.origin),
                b = transpose_times(patch.axes, p.b - patch.origin);
      if (b.z - a.z > core_margin) continue;
      if (patch.count == kMostPatch) thin_patch(patch);
      patch.point[patch.count++] = {b.x, b.y, a.z, b.z, p.name_a, p.name_b};
      patch.size = most(patch.size, length(a));
    }
  }
  memory.reduction.run(patch, core_margin);
}

// The same name in two groups (a ball in a valley) is told apart by the order of the normals.
template <typename Team, typename Real>
TOUCHSTONE_LANE void number_equal_features(const Team& team, Scratch<Real>& s, int first) {
  constexpr int kFeatureBits = 16, kFeatures = (1 << kFeatureBits) - 1;
  team.sync();
  TOUCHSTONE_ROLLED
  for (int start = first; start < s.contact_count; start += team.size()) {
    const int i = start + team.lane();
    int before = 0;
    for (int k = first; i < s.contact_count && k < s.contact_count; ++k) {
      if (((s.contacts[k].feature ^ s.contacts[i].feature) & kFeatures) != 0 || k == i) continue;
      const Vec d = s.contacts[k].normal - s.contacts[i].normal;
      const double order = d.x != 0.0 ? d.x : (d.y != 0.0 ? d.y : d.z);
      before += order < 0.0 || (order == 0.0 && k < i) ? 1 : 0;
    }
    team.sync();
    if (i < s.contact_count) s.contacts[i].feature |= before << kFeatureBits;
    team.sync();
  }
  TOUCHSTONE_ROLLED
  for (int i = first + team.lane(); i < s.contact_count; i += team.size()) {
    const int feature = s.contacts[i].feature & kFeatures, number = s.contacts[i].feature >> kFeatureBits;
    s.contacts[i].feature = number > 0 ? feature_id(feature, number) : feature;
  }
  team.sync();
}

}  // namespace touchstone::gpu
