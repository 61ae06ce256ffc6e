// Contacts of the pairs of a model: every pair whose balls come near is computed in closed form, in double. Which
// points and normals, and how far it is looked, follow sim/detection and collision/manifold, so that both give the same
// contacts. The order is that of the pairs, whatever the number of lanes.
#pragma once

#include "touchstone/gpu/boxes.hpp"
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

// The velocity of a body's point at the start of the step.
template <typename Real>
TOUCHSTONE_LANE Vec start_velocity(const ModelView& m, const Scratch<Real>& s, int body, Vec p) {
  const Motion v = load_motion(s.velocity + 6 * body);
  return v.v + cross(v.w, p - reference_point(m, s, body));
}

// How far two shapes can come nearer to each other in the step.
template <typename Real>
TOUCHSTONE_LANE double approach(const ModelView& m, const Scratch<Real>& s, int pair) {
  if (m.settings.swept_margin == 0) return 0.0;
  const double h = m.settings.time_step;
  Vec way{0, 0, 0};
  double turn = 0.0;
  for (int side = 0; side < 2; ++side) {
    const int shape = side == 0 ? m.pair_a[pair] : m.pair_b[pair], body = m.shape_body[shape];
    if (m.body_last_dof[body] < 0) continue;
    const Vec centre = load_pose(s.X + 12 * body) * load_vec(m.shape_pose + 12 * shape + 9);
    way = way + (side == 0 ? h : -h) * start_velocity(m, s, body, centre);
    turn += m.shape_radius[shape] * least(h * length(load_vec(s.velocity + 6 * body)), kMostRotation);
  }
  return length(way) + turn;
}

// Whether the balls around the shapes of a pair are within reach.
template <typename Real>
TOUCHSTONE_LANE bool is_near(const ModelView& m, const Scratch<Real>& s, int pair, double reach) {
  const int a = m.pair_a[pair], b = m.pair_b[pair];
  const Pose X_a = load_pose(s.X + 12 * m.shape_body[a]), X_b = load_pose(s.X + 12 * m.shape_body[b]);
  const Vec c_a = X_a * load_vec(m.shape_pose + 12 * a + 9), c_b = X_b * load_vec(m.shape_pose + 12 * b + 9);
  const Vec d = c_b - c_a;
  if (m.shape_type[a] == kPlaneShape) {
    const Vec n = X_a.R * load_vec(m.shape_pose + 12 * a + 6);
    return dot(n, d) <= m.shape_radius[b] + reach;
  }
  if (m.shape_type[b] == kPlaneShape) {
    const Vec n = X_b.R * load_vec(m.shape_pose + 12 * b + 6);
    return -dot(n, d) <= m.shape_radius[a] + reach;
  }
  const double all = m.shape_radius[a] + m.shape_radius[b] + reach;
  return dot(d, d) <= all * all;
}

// The points of a pair; those beyond the reach only if they can be closed within the step.
template <typename Real>
TOUCHSTONE_LANE void collide_pair(const ModelView& m, const Scratch<Real>& s, int pair, Manifold& found) {
  const int a = m.pair_a[pair], b = m.pair_b[pair];
  const double reach = m.settings.contact_margin + m.pair_margin[pair] + m.pair_gap[pair];
  Manifold all;
  collide_shapes(placed_shape(m, s, a), placed_shape(m, s, b), reach + approach(m, s, pair), all);
  found.normal = all.normal;
  found.count = 0;
  for (int k = 0; k < all.count; ++k) {
    const ManifoldPoint& point = all.points[k];
    if (point.distance > reach) {
      const Vec half = (0.5 * point.distance) * all.normal;
      const Vec v_a = start_velocity(m, s, m.shape_body[a], point.position - half);
      const Vec v_b = start_velocity(m, s, m.shape_body[b], point.position + half);
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
  // Pairs in rounds of one a lane; candidates are computed as soon as there is one for each lane.
  const int rounds = (m.sizes.pairs + team.size() - 1) / team.size();
  for (int round = 0; round < rounds && fits; ++round) {
    const int pair = round * team.size() + team.lane();
    bool near = false;
    if (pair < m.sizes.pairs) {
      const double reach = m.settings.contact_margin + m.pair_margin[pair] + m.pair_gap[pair];
      near = is_near(m, s, pair, reach + approach(m, s, pair));
    }
    int total = 0;
    const int before = team.count_before(near ? 1 : 0, total);
    fits = candidates + total <= s.most_candidates();
    if (near && fits) s.candidates()[candidates + before] = pair;
    candidates += total;
  }
  if (!fits) return false;
  team.sync();
  for (int first = 0; first < candidates; first += team.size()) {
    const int k = first + team.lane();
    Manifold found;
    found.count = 0;
    if (k < candidates) collide_pair(m, s, s.candidates()[k], found);
    int total = 0;
    const int before = team.count_before(found.count, total);
    if (s.contact_count + total > s.pool.contacts) return false;
    for (int i = 0; i < found.count; ++i) {
      Contact& contact = s.contacts[s.contact_count + before + i];
      const int pair = s.candidates()[k];
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
