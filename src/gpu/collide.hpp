// Contacts of the pairs of a model: every pair whose balls come near is computed in closed form, in double. Which
// points and normals, and how far it is looked, follow sim/detection and collision/manifold, so that both give the same
// contacts. The order is that of the pairs, those with height fields last, whatever the number of lanes.
#pragma once

#include <type_traits>

#include "touchstone/gpu/boxes.hpp"
#include "touchstone/gpu/convex_manifold.hpp"
#include "touchstone/gpu/manifold.hpp"
#include "touchstone/gpu/surface_manifold.hpp"
#include "touchstone/gpu/world.hpp"

namespace touchstone::gpu {

// A rotation moves no point farther than across the ball around a shape, in radii.
constexpr double kMostRotation = 2.0;

template <typename Real>
TOUCHSTONE_LANE PlacedShape placed_shape(const ModelView& m, const Scratch<Real>& s, int shape) {
  const Pose X = load_pose(s.X + 12 * m.shape_body[shape]) * load_pose(m.shape_pose + 12 * shape);
  return {m.shape_type[shape], X, load_vec(m.shape_size + 3 * shape)};
}

// The ball around a shape, and how far its centre and its other points move in the step.
struct Ball {
  Vec centre, way;
  double turn;
};

template <typename Real>
TOUCHSTONE_LANE void place_ball(const ModelView& m, Scratch<Real>& s, int shape) {
  const int body = m.shape_body[shape];
  const double h = m.settings.time_step;
  double* ball = s.ball + kBall * shape;
  const Vec centre = load_pose(s.X + 12 * body) * load_vec(m.shape_pose + 12 * shape + 9);
  const bool moves = m.settings.swept_margin != 0 && m.body_last_dof[body] >= 0;
  store(centre, ball);
  store(moves ? h * point_velocity(m, s, s.velocity, body, centre) : Vec{0, 0, 0}, ball + 3);
  ball[6] = moves ? m.shape_radius[shape] * least(h * length(load_vec(s.velocity + 6 * body)), kMostRotation) : 0.0;
}

template <typename Real>
TOUCHSTONE_LANE Ball load_ball(const Scratch<Real>& s, int shape) {
  const double* ball = s.ball + kBall * shape;
  return {load_vec(ball), load_vec(ball + 3), ball[6]};
}

// How far two shapes can come nearer to each other in the step.
TOUCHSTONE_LANE double approach(const Ball& a, const Ball& b) { return length(a.way - b.way) + a.turn + b.turn; }

// Whether the balls around the shapes of a pair are within reach.
template <typename Real>
TOUCHSTONE_LANE bool is_near(const ModelView& m, const Scratch<Real>& s, int pair) {
  const int a = m.pair_a[pair], b = m.pair_b[pair];
  const Ball ball_a = load_ball(s, a), ball_b = load_ball(s, b);
  const double reach = m.settings.contact_margin + reach_of(m.settings, s) + m.pair_margin[pair] + m.pair_gap[pair] +
                       approach(ball_a, ball_b);
  const Vec d = ball_b.centre - ball_a.centre;
  if (m.shape_type[a] == kPlaneShape) {
    const Vec n = load_mat(s.X + 12 * m.shape_body[a]) * load_vec(m.shape_pose + 12 * a + 6);
    return dot(n, d) <= m.shape_radius[b] + reach;
  }
  if (m.shape_type[b] == kPlaneShape) {
    const Vec n = load_mat(s.X + 12 * m.shape_body[b]) * load_vec(m.shape_pose + 12 * b + 6);
    return -dot(n, d) <= m.shape_radius[a] + reach;
  }
  const double all = m.shape_radius[a] + m.shape_radius[b] + reach;
  return dot(d, d) <= all * all;
}

// Whether a point is within the reach, or can come there within the step.
template <typename Real>
TOUCHSTONE_LANE bool is_wanted(const ModelView& m, const Scratch<Real>& s, int a, int b, Vec position, Vec normal,
                               double distance, double reach) {
  if (!(distance > reach)) return true;
  const Vec half = (0.5 * distance) * normal;
  const Vec v_a = point_velocity(m, s, s.velocity, m.shape_body[a], position - half);
  const Vec v_b = point_velocity(m, s, s.velocity, m.shape_body[b], position + half);
  return distance + m.settings.time_step * dot(v_b - v_a, normal) <= reach;
}

// What a lane needs for shapes that take an iteration.
template <typename Team>
using LaneMemory = std::conditional_t<Team::kGeneral, ConvexMemory, NoMemory>;

// The points of a pair; those beyond the reach only if they can be closed within the step.
template <typename Team, typename Real>
TOUCHSTONE_LANE void collide_pair(const ModelView& m, const Scratch<Real>& s, int pair,
                                  [[maybe_unused]] LaneMemory<Team>& memory, Manifold& found) {
  const int a = m.pair_a[pair], b = m.pair_b[pair];
  const double reach = m.settings.contact_margin + reach_of(m.settings, s) + m.pair_margin[pair] + m.pair_gap[pair];
  Manifold all;
  const double margin = reach + approach(load_ball(s, a), load_ball(s, b));
  bool iterated = false;
  if constexpr (Team::kGeneral) {
    iterated = is_iterated(m.shape_type[a], m.shape_type[b]);
    if (iterated) collide_convex(m, a, b, placed_shape(m, s, a), placed_shape(m, s, b), margin, memory, all);
  }
  if (!iterated) collide_shapes(placed_shape(m, s, a), placed_shape(m, s, b), margin, all);
  found.normal = all.normal;
  found.count = 0;
  for (int k = 0; k < all.count; ++k) {
    const ManifoldPoint& point = all.points[k];
    if (is_wanted(m, s, a, b, point.position, all.normal, point.distance, reach)) found.points[found.count++] = point;
  }
}

TOUCHSTONE_LANE Contact make_contact(const ModelView& m, int pair, const ManifoldPoint& point, Vec normal) {
  return {point.position, normal, contact_frame(normal).a, point.distance - m.pair_margin[pair], pair, point.feature};
}

TOUCHSTONE_LANE bool has_field(const ModelView& m, int pair) {
  return m.shape_type[m.pair_a[pair]] == kFieldShape || m.shape_type[m.pair_b[pair]] == kFieldShape;
}

// The points of a group of triangles, as collide_pair has them.
template <typename Real>
TOUCHSTONE_LANE void place_group(const ModelView& m, const Scratch<Real>& s, int pair, const Pose& X_field,
                                 const PatchMemory& memory, double radius, double reach, Manifold& found) {
  const int a = m.pair_a[pair], b = m.pair_b[pair];
  const PatchBuilder& patch = memory.patch;
  const bool turned = m.shape_type[a] != kFieldShape;
  found.normal = X_field.R * (turned ? -patch.axes.c : patch.axes.c);
  for (int k = 0; k < memory.reduction.count && k < 4; ++k) {
    const PlacePoint& p = memory.reduction.kept[k];
    const double middle = 0.5 * (p.z_a + p.z_b - radius), distance = p.gap() - radius;
    const Vec at = X_field * (patch.origin + p.x * patch.axes.a + p.y * patch.axes.b + middle * patch.axes.c);
    if (is_wanted(m, s, a, b, at, found.normal, distance, reach))
      add_point(found, at, at, distance, feature_id(p.a, p.b));
  }
}

// Adds the contacts of a shape with a height field. False if there is no room.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool collide_field(const Team& team, const ModelView& m, Scratch<Real>& s, int pair,
                                   ConvexMemory& memory) {
  const int a = m.pair_a[pair], b = m.pair_b[pair], first = s.contact_count;
  const bool turned = m.shape_type[a] != kFieldShape;
  const int surface = turned ? b : a, other = turned ? a : b;
  const double reach = m.settings.contact_margin + reach_of(m.settings, s) + m.pair_margin[pair] + m.pair_gap[pair];
  const Pose X_field = placed_shape(m, s, surface).X;
  const PlacedShape shape = placed_shape(m, s, other);
  const Mat& R = X_field.R;
  const Pose X{{transpose_times(R, shape.X.R.a), transpose_times(R, shape.X.R.b), transpose_times(R, shape.X.R.c)},
               transpose_times(R, shape.X.p - X_field.p)};
  const ConvexCore core = convex_core(shape, m.shape_hull[other]);
  const SurfaceShape near{core, X, core_extent(m, core, other),
                          reach + approach(load_ball(s, a), load_ball(s, b)) + core.radius};
  const HeightFieldView field = field_of(m, m.shape_field[surface]);
  int batches = 0;
  {
    TriangleVisit visit{m, field, near, memory, {}, {}, {}, 0.0, false, 0};
    if (!visit_triangles(team, visit, s, batches)) return false;
  }
  team.sync();
  drop_explained(team, s, batches, kPatchTie * near.extent);
  const int groups = group_batches(team, s, batches);
  TOUCHSTONE_ROLLED
  for (int start = 0; start < groups; start += team.size()) {
    const int group = start + team.lane();
    Manifold found;
    if (group < groups) {
      reduce_group(s, batches, group, near.core_margin, memory.patch);
      place_group(m, s, pair, X_field, memory.patch, core.radius, reach, found);
    }
    int total = 0;
    const int before = team.count_before(found.count, total);
    if (s.contact_count + total > s.pool.contacts) return false;
    for (int i = 0; i < found.count; ++i)
      s.contacts[s.contact_count + before + i] = make_contact(m, pair, found.points[i], found.normal);
    s.contact_count += total;
  }
  number_equal_features(team, s, first);
  return true;
}

// Fills s.contacts. False if there are more than the pool holds.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool find_contacts(const Team& team, const ModelView& m, Scratch<Real>& s) {
  int candidates = 0;
  bool fits = true;
  LaneMemory<Team> memory;
  s.contact_count = 0;
  TOUCHSTONE_ROLLED
  for (int shape = team.lane(); shape < m.sizes.shapes; shape += team.size()) place_ball(m, s, shape);
  team.sync();
  // Pairs in rounds of one a lane; candidates are computed as soon as there is one for each lane.
  const int rounds = (m.sizes.pairs + team.size() - 1) / team.size();
  TOUCHSTONE_ROLLED
  for (int round = 0; round < rounds && fits; ++round) {
    const int pair = round * team.size() + team.lane();
    const bool near = pair < m.sizes.pairs && is_near(m, s, pair);
    int total = 0;
    const int before = team.count_before(near ? 1 : 0, total);
    fits = candidates + total <= s.pool.candidates;
    if (near && fits) s.candidate[candidates + before] = pair;
    candidates += total;
  }
  if (!fits) return false;
  team.sync();
  TOUCHSTONE_ROLLED
  for (int first = 0; first < candidates; first += team.size()) {
    const int k = first + team.lane();
    Manifold found;
    found.count = 0;
    bool simple = k < candidates;
    if constexpr (Team::kGeneral) simple = simple && !has_field(m, s.candidate[k]);
    if (simple) collide_pair<Team>(m, s, s.candidate[k], memory, found);
    int total = 0;
    const int before = team.count_before(found.count, total);
    if (s.contact_count + total > s.pool.contacts) return false;
    for (int i = 0; i < found.count; ++i)
      s.contacts[s.contact_count + before + i] = make_contact(m, s.candidate[k], found.points[i], found.normal);
    s.contact_count += total;
  }
  team.sync();
  if constexpr (Team::kGeneral) {
    TOUCHSTONE_ROLLED
    for (int k = 0; m.sizes.fields > 0 && k < candidates; ++k) {
      if (has_field(m, s.candidate[k]) && !collide_field(team, m, s, s.candidate[k], memory)) return false;
    }
  }
  return true;
}

}  // namespace touchstone::gpu
