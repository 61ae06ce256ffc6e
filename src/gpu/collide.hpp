// Contacts of the pairs of a model: every pair whose balls come near is computed in closed form, in double. Which
// points and normals, and how far it is looked, follow sim/detection and collision/manifold, so that both give the same
// contacts. The order is that of the pairs, whatever the number of lanes.
#pragma once

#include "touchstone/gpu/boxes.hpp"
#include "touchstone/gpu/convex_manifold.hpp"
#include "touchstone/gpu/manifold.hpp"
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

// The points of a pair; those beyond the reach only if they can be closed within the step.
template <typename Team, typename Real>
TOUCHSTONE_LANE void collide_pair(const ModelView& m, const Scratch<Real>& s, int pair, Manifold& found) {
  const int a = m.pair_a[pair], b = m.pair_b[pair];
  const double reach = m.settings.contact_margin + reach_of(m.settings, s) + m.pair_margin[pair] + m.pair_gap[pair];
  Manifold all;
  const double margin = reach + approach(load_ball(s, a), load_ball(s, b));
  bool iterated = false;
  if constexpr (Team::kGeneral) {
    iterated = is_iterated(m.shape_type[a], m.shape_type[b]);
    if (iterated) collide_convex(m, a, b, placed_shape(m, s, a), placed_shape(m, s, b), margin, all);
  }
  if (!iterated) collide_shapes(placed_shape(m, s, a), placed_shape(m, s, b), margin, all);
  found.normal = all.normal;
  found.count = 0;
  for (int k = 0; k < all.count; ++k) {
    const ManifoldPoint& point = all.points[k];
    if (point.distance > reach) {
      const Vec half = (0.5 * point.distance) * all.normal;
      const Vec v_a = point_velocity(m, s, s.velocity, m.shape_body[a], point.position - half);
      const Vec v_b = point_velocity(m, s, s.velocity, m.shape_body[b], point.position + half);
      if (!(point.distance + m.settings.time_step * dot(v_b - v_a, all.normal) <= reach)) continue;
    }
    found.points[found.count++] = point;
  }
}

// Fills s.contacts. False if there are more than the pool holds.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool find_contacts(const Team& team, const ModelView& m, Scratch<Real>& s) {
  int candidates = 0;
  bool fits = true;
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
    if (k < candidates) collide_pair<Team>(m, s, s.candidate[k], found);
    int total = 0;
    const int before = team.count_before(found.count, total);
    if (s.contact_count + total > s.pool.contacts) return false;
    for (int i = 0; i < found.count; ++i) {
      Contact& contact = s.contacts[s.contact_count + before + i];
      const int pair = s.candidate[k];
      contact.position = found.points[i].position;
      contact.normal = found.normal;
      contact.t1 = contact_frame(found.normal).a;
      contact.gap = found.points[i].distance - m.pair_margin[pair];
      contact.pair = pair;
      contact.feature = found.points[i].feature;
    }
    s.contact_count += total;
  }
  team.sync();
  return true;
}

}  // namespace touchstone::gpu
