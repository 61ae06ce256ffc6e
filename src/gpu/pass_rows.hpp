// The position pass (sim/position_pass.hpp, where the problem and its constants are explained) for one world: which
// constraints ask to be brought back, in which islands, and the rows of the problem. All of it in double.
#pragma once

#include "touchstone/gpu/rows.hpp"

namespace touchstone::gpu {

// As in sim/position_pass.cpp.
constexpr double kPassSlack = 1e-5, kPassLeastYield = 1e-5, kPassStiffTime = 1.0, kPassTolerance = 1e-6;
constexpr double kPassPivotTolerance = 1e-9, kPassUsable = 1e-2, kPassFar = 100.0;
constexpr double kPassNear = 0.1, kPassNearEquality = 0.01, kPassLeastNear = 1e-9;
constexpr int kPassPivotRows = 96, kPassGuesses = 20;

TOUCHSTONE_BOTH int most_of(int a, int b) { return a > b ? a : b; }
TOUCHSTONE_BOTH int pass_rows(const ModelSizes& n, const Pool& pool) { return pool.blocks + n.equality_rows; }
TOUCHSTONE_BOTH int pass_dense(const ModelSizes& n, const Pool& pool) {
  const int rows = pass_rows(n, pool);
  return rows < kPassPivotRows ? rows : kPassPivotRows;
}

// The arrays of a pass: type, name, entries. A candidate is a block of the step, or a row of an equality: block_count +
// its number.
#define TOUCHSTONE_PASS(FIELD)                                                                 \
  FIELD(double, Y, rows* stride) /* rows of J, then whitened */                                \
  FIELD(double, gap, rows)       /* after the step; the error of an equality */                \
  FIELD(double, length, rows)    /* rad to m */                                                \
  FIELD(double, way, rows)       /* that is asked for */                                       \
  FIELD(double, slack, rows)     /* how the bodies of a row give way; then its compliance */   \
  FIELD(double, bias, rows)                                                                    \
  FIELD(double, lambda, rows)                                                                  \
  FIELD(int, asks, rows)                                                                       \
  FIELD(int, island, rows)         /* a body at the root of one of its trees; -1: not a row */ \
  FIELD(int, member, rows)         /* candidates of an island */                               \
  FIELD(int, label, n.bodies)      /* of the root of a tree: that of its island */             \
  FIELD(double, longest, n.bodies) /* of an island: m */                                       \
  FIELD(double, velocity, n.nv)    /* at the end of the step */                                \
  FIELD(double, z, n.nv)           /* Y' lambda; then the displacement */                      \
  FIELD(double, L, factor_room(n)) /* metric with springs and servos */                        \
  FIELD(double, D_inverse, n.nv)                                                               \
  FIELD(double, D_root, n.nv)                                                                  \
  FIELD(double, subtree, kSubtree* n.bodies)                                                   \
  FIELD(double, G, dense* dense)      /* of an island */                                       \
  FIELD(double, factor, dense* dense) /* of its active rows */                                 \
  FIELD(double, b, dense)                                                                      \
  FIELD(double, x, dense)                                                                      \
  FIELD(double, w, dense)                                                                      \
  FIELD(double, reduced, dense)                                                                \
  FIELD(int, active, dense)                                                                    \
  FIELD(int, list, dense) /* of the active rows */

struct PassMemory {
#define TOUCHSTONE_FIELD(type, name, count) type* name;
  TOUCHSTONE_PASS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
};

// Returns the bytes.
TOUCHSTONE_BOTH std::size_t carve_pass(const ModelSizes& n, const Pool& pool, char* base, PassMemory& p) {
  Carver carver(base);
  const int stride = row_stride(n), rows = pass_rows(n, pool), dense = pass_dense(n, pool);
#define TOUCHSTONE_FIELD(type, name, count) p.name = carver.take<type>(count);
  TOUCHSTONE_PASS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  return carver.used();
}

inline std::size_t pass_bytes(const ModelSizes& n, const Pool& pool) {
  PassMemory unused;
  return carve_pass(n, pool, nullptr, unused);
}

// --- who asks ---

TOUCHSTONE_LANE double pass_near(const ModelView& m, bool is_equality) {
  return most((is_equality ? kPassNearEquality : kPassNear) * m.settings.slop, kPassLeastNear);
}

TOUCHSTONE_LANE bool is_one_sided(BlockKind kind) {
  return kind == BlockKind::kContact || kind == BlockKind::kLimit || kind == BlockKind::kTendonLimit ||
         kind == BlockKind::kLoopLimit;
}

// Springs are equalities of a step, but hold nothing.
template <typename Team>
TOUCHSTONE_LANE bool is_held([[maybe_unused]] const ModelView& m, [[maybe_unused]] int e) {
  if constexpr (Team::kFull) return m.equality_type[e] != kSpringEquality;
  return true;
}

template <typename Team, typename Real>
TOUCHSTONE_LANE double limit_gap(const ModelView& m, const Scratch<Real>& s, const Block<Real>& block) {
  if constexpr (Team::kFull) {
    if (block.kind == BlockKind::kLoopLimit) return loop_limit_state(m, s, block.index, block.side).gap;
  }
  return (block.kind == BlockKind::kLimit ? limit_state(m, s, block.index, block.side)
                                          : tendon_state(m, s, block.index, block.side))
      .gap;
}

// The gap of a contact or limit at the end of the step, linearised, with the velocity v there.
template <typename Team, typename Real>
TOUCHSTONE_LANE double gap_after(const ModelView& m, const Scratch<Real>& s, const Block<Real>& block,
                                 const double* v) {
  const double h = m.settings.remaining;
  if (block.kind == BlockKind::kContact) {
    const Contact& c = s.contacts[block.index];
    const auto along_normal = [&](int shape) {
      const int body = m.shape_body[shape];
      const Motion motion = path_velocity(m, s, m.body_last_dof[body], v);
      return dot(c.normal, motion.v + cross(motion.w, c.position - reference_point(m, s, body)));
    };
    return c.gap + h * (along_normal(m.pair_b[c.pair]) - along_normal(m.pair_a[c.pair]));
  }
  const double gap = limit_gap<Team>(m, s, block);
  double rate = 0.0;
  for_entries<Team>(m, s, block, [&](int dof, double factor) { rate += factor * v[dof]; });
  return gap + h * rate;
}

// Whether it is time for a pass, and something asks for one. Counts the time, and forgets how far the step has looked
// if there is none.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool wants_pass(const Team& team, const ModelView& m, WorldState& world, const Scratch<Real>& s) {
  const double h = m.settings.time_step, interval = m.settings.pass_interval;
  const double since = least(*world.since_pass + h, interval);
  const bool empty = s.block_count == 0 && m.sizes.equality_rows == 0;
  team.sync();
  if (team.lane() == 0 && !empty) *world.since_pass = since;
  if (!empty && since < interval - 0.5 * h) return false;
  bool asks = false;
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.block_count && !asks; k += team.size()) {
    if (!is_one_sided(s.blocks[k].kind)) continue;
    asks = -gap_after<Team>(m, s, s.blocks[k], world.v) - m.settings.slop > pass_near(m, false);
  }
  TOUCHSTONE_ROLLED
  for (int r = team.lane(); r < m.sizes.equality_rows && !asks; r += team.size())
    // Its velocity is zero but for its compliance, or it holds for a mean of velocities; the pass itself looks again.
    asks = m.sizes.old_velocity > 0 || fabs(equality_error<Team>(m, s, r)) * m.equality_length[r] > pass_near(m, true);
  if (team.any(asks)) return true;
  if (team.lane() == 0) *world.reach = 0.0;
  return false;
}

// Gaps of all candidates, rows of J of the equalities, and what asks for a way.
template <typename Team, typename Real>
TOUCHSTONE_LANE void find_asking(const Team& team, const ModelView& m, Scratch<Real>& s, PassMemory& p) {
  const int blocks = s.block_count, n = m.sizes.equality_rows;
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < blocks; k += team.size()) {
    const Block<Real>& block = s.blocks[k];
    p.asks[k] = 0;
    p.length[k] = block.length;
    p.gap[k] = 0.0;
    if (!is_one_sided(block.kind)) continue;
    p.gap[k] = gap_after<Team>(m, s, block, p.velocity);
    p.asks[k] = -p.gap[k] - m.settings.slop > pass_near(m, false) ? 1 : 0;
  }
  Scratch<Real> there = s;
  there.Y_e = p.Y + blocks * s.stride;
  TOUCHSTONE_ROLLED
  for (int r = team.lane(); r < n; r += team.size()) {
    double* J = there.Y_e + r * s.stride;
    for (int i = 0; i < m.sizes.nv; ++i) J[i] = 0.0;
    p.gap[blocks + r] = equality_row_and_error<Team>(m, there, r, J);
    p.length[blocks + r] = m.equality_length[r];
    p.asks[blocks + r] = 0;
  }
  team.sync();
  fill_connects(team, m, there);
  TOUCHSTONE_ROLLED
  for (int r = team.lane(); r < n; r += team.size()) {
    const double* J = there.Y_e + r * s.stride;
    double rate = 0.0;
    for (int i = 0; i < m.sizes.nv; ++i) rate += J[i] * p.velocity[i];
    p.gap[blocks + r] += m.settings.remaining * rate;
  }
  team.sync();
  TOUCHSTONE_ROLLED
  for (int e = team.lane(); e < m.sizes.equalities; e += team.size()) {  // all rows of one, or none
    const int first = blocks + m.equality_row[e], end = first + equality_rows(m, e);
    int asks = 0;
    for (int c = first; c < end && is_held<Team>(m, e); ++c)
      asks |= fabs(p.gap[c]) * p.length[c] > pass_near(m, true) ? 1 : 0;
    for (int c = first; c < end; ++c) p.asks[c] = asks;
  }
  team.sync();
}

// --- islands ---

// Calls use(root body) for the trees of a candidate.
template <typename Team, typename Real, typename Use>
TOUCHSTONE_LANE void for_trees(const ModelView& m, const Scratch<Real>& s, int candidate, const Use& use) {
  const auto use_body = [&](int body) {
    if (m.body_last_dof[body] >= 0) use(m.body_root[body]);
  };
  const auto use_dof = [&](int dof) { use_body(m.dof_body[dof]); };
  if (candidate >= s.block_count) {
    const int e = m.equality_of_row[candidate - s.block_count], a = m.equality_a[e], b = m.equality_b[e];
    if constexpr (Team::kFull) {
      if (m.equality_type[e] == kCoupledEquality) {
        for (int side = 0; side < 2; ++side) {
          const int k = m.equality_coordinate[2 * e + side], joint = side == 0 ? a : b;
          if (joint >= 0) use_dof(m.joint_dof[joint]);
          if (k < 0) continue;
          use_body(m.coordinate_a[k]);
          use_body(m.coordinate_b[k]);
        }
        return;
      }
    }
    if (m.equality_type[e] == kJointEquality) {
      use_dof(m.joint_dof[a]);
      if (b >= 0) use_dof(m.joint_dof[b]);
    } else {
      use_body(a);
      use_body(b);
    }
    return;
  }
  const Block<Real>& block = s.blocks[candidate];
  if (block.kind == BlockKind::kContact) {
    const int pair = s.contacts[block.index].pair;
    use_body(m.shape_body[m.pair_a[pair]]);
    use_body(m.shape_body[m.pair_b[pair]]);
  } else {
    for_entries<Team>(m, s, block, [&](int dof, double) { use_dof(dof); });
  }
}

// Labels the trees that candidates join, those for which joins(candidate): by one lane. Every round but the last joins
// something.
template <typename Team, typename Real, typename Joins>
TOUCHSTONE_LANE void label_islands(const ModelView& m, const Scratch<Real>& s, PassMemory& p, int candidates,
                                   const Joins& joins) {
  for (int b = 0; b < m.sizes.bodies; ++b) p.label[b] = b;
  bool changed = true;
  for (int round = 0; round < m.sizes.bodies && changed; ++round) {
    changed = false;
    for (int c = 0; c < candidates; ++c) {
      if (!joins(c)) continue;
      int lowest = m.sizes.bodies, highest = -1;
      for_trees<Team>(m, s, c, [&](int root) {
        lowest = p.label[root] < lowest ? p.label[root] : lowest;
        highest = p.label[root] > highest ? p.label[root] : highest;
      });
      if (highest <= lowest) continue;
      changed = true;
      for_trees<Team>(m, s, c, [&](int root) { p.label[root] = lowest; });
    }
  }
}

template <typename Team, typename Real>
TOUCHSTONE_LANE int island_of(const ModelView& m, const Scratch<Real>& s, const PassMemory& p, int candidate) {
  int island = -1;
  for_trees<Team>(m, s, candidate, [&](int root) { island = p.label[root]; });
  return island;
}

// Which candidates are rows of the pass, and the islands of these. Returns the longest way that a contact or limit asks
// for; below zero if nothing does.
template <typename Team, typename Real>
TOUCHSTONE_LANE double choose_rows(const Team& team, const ModelView& m, const Scratch<Real>& s, PassMemory& p) {
  const int candidates = s.block_count + m.sizes.equality_rows;
  const auto takes_part = [&](int c) {
    return c >= s.block_count ? is_held<Team>(m, m.equality_of_row[c - s.block_count]) : is_one_sided(s.blocks[c].kind);
  };
  if (team.lane() == 0) {
    label_islands<Team>(m, s, p, candidates, takes_part);
    for (int b = 0; b < m.sizes.bodies; ++b) p.longest[b] = 0.0;
    for (int c = 0; c < candidates; ++c) {
      p.island[c] = takes_part(c) ? island_of<Team>(m, s, p, c) : -1;
      if (p.island[c] < 0 || p.asks[c] == 0) continue;
      p.longest[p.island[c]] = most(p.longest[p.island[c]], fabs(p.gap[c]) * p.length[c]);
    }
    for (int c = 0; c < candidates; ++c) {
      if (p.island[c] < 0) continue;
      const double longest = p.longest[p.island[c]];
      if (longest == 0.0 || (c < s.block_count && !(p.gap[c] * p.length[c] <= kPassFar * longest))) p.island[c] = -1;
    }
    label_islands<Team>(m, s, p, candidates, [&](int c) { return p.island[c] >= 0; });
    for (int c = 0; c < candidates; ++c) {
      if (p.island[c] >= 0) p.island[c] = island_of<Team>(m, s, p, c);
    }
  }
  team.sync();
  double longest = -1.0;
  TOUCHSTONE_ROLLED
  for (int c = team.lane(); c < candidates; c += team.size()) {
    if (p.island[c] < 0) continue;
    p.lambda[c] = p.way[c] = p.bias[c] = 0.0;
    if (p.asks[c] != 0) longest = most(longest, 0.0);
    if (c >= s.block_count) {
      p.way[c] = fabs(p.gap[c]) * p.length[c] > pass_near(m, true) ? -p.gap[c] : 0.0;
      continue;
    }
    p.bias[c] = most(0.0, p.gap[c]);
    if (p.asks[c] == 0) continue;
    p.way[c] = -p.gap[c] - m.settings.slop;
    longest = most(longest, p.way[c]);
  }
  longest = team.max(longest);
  team.sync();
  return longest;
}

// --- rows ---

// Whitened rows in the metric of `metric`, and how much their bodies give way. A lane a row.
template <typename Team, typename Real>
TOUCHSTONE_LANE void make_pass_rows(const Team& team, const ModelView& m, const Scratch<Real>& metric, PassMemory& p) {
  const int candidates = metric.block_count + m.sizes.equality_rows;
  TOUCHSTONE_ROLLED
  for (int c = team.lane(); c < candidates; c += team.size()) {
    if (p.island[c] < 0) continue;
    double* J = p.Y + c * metric.stride;
    if (c < metric.block_count) {  // those of equalities are there
      const Block<Real>& block = metric.blocks[c];
      for (int i = 0; i < m.sizes.nv; ++i) J[i] = 0.0;
      if (block.kind == BlockKind::kContact) {
        const Contact& contact = metric.contacts[block.index];
        const Vec zero{0, 0, 0};
        const int a = m.shape_body[m.pair_a[contact.pair]], b = m.shape_body[m.pair_b[contact.pair]];
        add_body_row(m, metric, b, contact.position, contact.normal, zero, 1.0, J);
        add_body_row(m, metric, a, contact.position, contact.normal, zero, -1.0, J);
      } else {
        for_entries<Team>(m, metric, block, [&](int dof, double factor) { J[dof] += factor; });
      }
    }
    whiten_dense_row(m, metric.L, metric.D_root, J);
    double sum = 0.0;
    for (int i = 0; i < m.sizes.nv; ++i) sum += J[i] * J[i];
    p.slack[c] = sum;
  }
  team.sync();
}

}  // namespace touchstone::gpu
