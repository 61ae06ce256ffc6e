// Which constraints take part in a step as blocks of the contact problem (sim/constraints), and what they ask for.
#pragma once

#include "touchstone/gpu/collide.hpp"
#include "touchstone/gpu/forces.hpp"

namespace touchstone::gpu {

template <typename Real>
TOUCHSTONE_LANE Block<Real> single_block(BlockType type, BlockKind kind, int index, int side, double length) {
  Block<Real> block{};
  block.type = type;
  block.kind = kind;
  block.index = index;
  block.side = side;
  block.length = length;
  return block;
}

// Whether a limit with this gap and these rates (before the step, and without constraints) takes part: twice the way of
// a step, as in ConstraintStep::reaches. `reach`: how much farther the step looks.
TOUCHSTONE_LANE bool reaches(const ModelSettings& settings, double reach, double gap, double rate, double free_rate) {
  return gap + 2.0 * settings.time_step * least(least(rate, free_rate), 0.0) <= settings.slop + reach;
}

// Baumgarte's recovery of a violated gap, and the bounce of an impact.
TOUCHSTONE_LANE double unilateral_bias(const ModelSettings& o, double gap, double rate, double free_rate,
                                       double restitution) {
  const double h = o.remaining;
  const double back = most(o.erp * least(0.0, gap + o.slop) / h, -o.recovery_speed);
  if (restitution > 0.0 && rate < -o.restitution_threshold && gap + h * free_rate <= 0.0)
    return least(restitution * rate, back);
  return most(0.0, gap) / h + back;
}

struct LimitState {
  bool active;
  double gap, rate, free_rate;
  Vec axis;  // of a ball joint
};

template <typename Real>
TOUCHSTONE_LANE LimitState limit_state(const ModelView& m, const Scratch<Real>& s, int limit, int side) {
  const int j = m.limit_joint[limit], dof = m.joint_dof[j];
  const double *range = m.limit_range + 2 * limit, margin = m.limit_margin[limit];
  LimitState found{false, 0.0, 0.0, 0.0, {0, 0, 0}};
  if (m.joint_type[j] == kBallJoint) {
    if (side == 0) return found;
    const Vec turn = logarithm(unit(load_quaternion(s.q + m.joint_q[j])));
    const double angle = length(turn);
    if (!(angle > 0.0)) return found;
    found.axis = (1.0 / angle) * turn;
    found.gap = range[1] - angle - margin;
    found.rate = -dot(found.axis, load_vec(s.v + dof));
    found.free_rate = -dot(found.axis, load_vec(s.v_free + dof));
  } else {
    const double sign = side == 0 ? 1.0 : -1.0;
    found.gap = sign * (s.q[m.joint_q[j]] - range[side]) - margin;
    found.rate = sign * s.v[dof];
    found.free_rate = sign * s.v_free[dof];
  }
  found.active = reaches(m.settings, reach_of(m.settings, s), found.gap, found.rate, found.free_rate);
  return found;
}

template <typename Real>
TOUCHSTONE_LANE LimitState tendon_state(const ModelView& m, const Scratch<Real>& s, int tendon, int side) {
  const double sign = side == 0 ? 1.0 : -1.0;
  double position = 0.0, rate = 0.0, free_rate = 0.0;
  for (int k = m.tendon_start[tendon]; k < m.tendon_start[tendon + 1]; ++k) {
    position += m.tendon_coefficient[k] * s.q[m.tendon_q[k]];
    rate += m.tendon_coefficient[k] * s.v[m.tendon_dof[k]];
    free_rate += m.tendon_coefficient[k] * s.v_free[m.tendon_dof[k]];
  }
  const double gap = sign * (position - m.tendon_range[2 * tendon + side]) - m.tendon_margin[tendon];
  return {reaches(m.settings, reach_of(m.settings, s), gap, sign * rate, sign * rate),
          gap,
          sign * rate,
          sign * free_rate,
          {0, 0, 0}};
}

// Of a coordinate of a loop joint. Side 0 of the whole angle of a spherical joint is none.
template <typename Real>
TOUCHSTONE_LANE LimitState loop_limit_state(const ModelView& m, const Scratch<Real>& s, int limit, int side) {
  const int k = m.loop_limit_coordinate[limit];
  LimitState found{false, 0.0, 0.0, 0.0, {0, 0, 0}};
  const bool is_whole = k >= m.sizes.loop_numbers;
  if (is_whole && (side == 0 || !(s.coordinate[k] > 0.0))) return found;
  const double sign = side == 0 ? 1.0 : -1.0;
  found.gap = sign * (s.coordinate[k] - m.loop_limit_range[2 * limit + side]) - m.loop_limit_margin[limit];
  found.rate = sign * coordinate_velocity(m, s, k, s.v);
  found.free_rate = sign * coordinate_velocity(m, s, k, s.v_free);
  found.active = reaches(m.settings, reach_of(m.settings, s), found.gap, found.rate, found.free_rate);
  return found;
}

// Calls make(i, block) for i < count by all lanes; blocks for which it says yes are added in order. False if there is
// no room.
template <typename Team, typename Real, typename Make>
TOUCHSTONE_LANE bool add_singles(const Team& team, Scratch<Real>& s, int count, const Make& make) {
  TOUCHSTONE_ROLLED
  for (int first = 0; first < count; first += team.size()) {
    const int i = first + team.lane();
    Block<Real> block;
    const bool active = i < count && make(i, block);
    int total = 0;
    const int before = team.count_before(active ? 1 : 0, total);
    if (s.block_count + total > s.pool.blocks || s.row_count + total > s.pool.rows) return false;
    if (active) {
      block.row = s.row_count + before;
      s.blocks[s.block_count + before] = block;
    }
    s.block_count += total;
    s.row_count += total;
  }
  return true;
}

// The length of the row of an actuator at a loop joint (sim/constraints/servo.cpp).
template <typename Real>
TOUCHSTONE_LANE double loop_actuator_length(const ModelView& m, const Scratch<Real>& s, int u) {
  double square = 0.0;
  for_coordinate(m, s, m.actuator_q[u], [&](int dof, double moment) {
    const double share = moment / m.dof_length[dof];
    square += share * share;
  });
  return square > 0.0 ? 1.0 / sqrt(square) : 1.0;
}

// Dry friction and limits of coordinates of loop joints.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool list_loop_singles(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const bool room = add_singles(team, s, m.sizes.loop_frictions, [&](int k, Block<Real>& block) {
    const double most_impulse = m.settings.time_step * m.loop_friction[k];
    block = single_block<Real>(BlockType::kBox, BlockKind::kLoopFriction, k, 0, m.loop_friction_length[k]);
    block.lo = static_cast<Real>(-most_impulse);
    block.hi = static_cast<Real>(most_impulse);
    return true;
  });
  return room && add_singles(team, s, 2 * m.sizes.loop_limits, [&](int k, Block<Real>& block) {
           const LimitState limit = loop_limit_state(m, s, k / 2, k % 2);
           if (!limit.active) return false;
           block = single_block<Real>(BlockType::kNonNegative, BlockKind::kLoopLimit, k / 2, k % 2,
                                      m.loop_limit_length[k / 2]);
           block.bias = unilateral_bias(m.settings, limit.gap, limit.rate, limit.free_rate, 0.0);
           return true;
         });
}

template <typename Team, typename Real>
TOUCHSTONE_LANE bool list_singles(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const double h = m.settings.time_step;
  bool room = true;
  room = add_singles(team, s, m.sizes.nv, [&](int dof, Block<Real>& block) {
    const double friction = m.dof_friction[dof];
    if (!(friction > 0.0)) return false;
    block = single_block<Real>(BlockType::kBox, BlockKind::kFriction, dof, 0, m.dof_length[dof]);
    block.lo = static_cast<Real>(-h * friction);
    block.hi = static_cast<Real>(h * friction);
    return true;
  });
  if (!room) return false;
  room = add_singles(team, s, m.sizes.nu, [&](int u, Block<Real>& block) {
    if (s.servo_mode[u] != kBoundedServo) return false;
    block = single_block<Real>(BlockType::kBox, BlockKind::kServo, u, 0, m.actuator_row_length[u]);
    if constexpr (Team::kFull) {
      if (is_at_loop(m, u)) block.length = loop_actuator_length(m, s, u);
    }
    block.lo = static_cast<Real>(h * m.actuator_force_range[2 * u]);
    block.hi = static_cast<Real>(h * m.actuator_force_range[2 * u + 1]);
    block.compliance = static_cast<Real>(1.0 / s.servo_gain[u]);
    block.bias = -(h * s.servo_force[u] / s.servo_gain[u] + rate_of_actuator<Team>(m, s, u, s.v));
    return true;
  });
  if (!room) return false;
  room = add_singles(team, s, 2 * m.sizes.limits, [&](int k, Block<Real>& block) {
    const LimitState limit = limit_state(m, s, k / 2, k % 2);
    if (!limit.active) return false;
    const int dof = m.joint_dof[m.limit_joint[k / 2]];
    block = single_block<Real>(BlockType::kNonNegative, BlockKind::kLimit, k / 2, k % 2, m.dof_length[dof]);
    block.bias = unilateral_bias(m.settings, limit.gap, limit.rate, limit.free_rate, 0.0);
    return true;
  });
  if (!room) return false;
  room = add_singles(team, s, 2 * m.sizes.tendon_limits, [&](int k, Block<Real>& block) {
    const LimitState limit = tendon_state(m, s, k / 2, k % 2);
    if (!limit.active) return false;
    block = single_block<Real>(BlockType::kNonNegative, BlockKind::kTendonLimit, k / 2, k % 2, m.tendon_length[k / 2]);
    block.bias = unilateral_bias(m.settings, limit.gap, limit.rate, limit.free_rate, 0.0);
    return true;
  });
  if constexpr (Team::kFull) return room && list_loop_singles(team, m, s);
  return room;
}

// Relative velocity of the bodies of a contact, B against A.
template <typename Real>
TOUCHSTONE_LANE Vec contact_velocity(const ModelView& m, const Scratch<Real>& s, const Contact& c,
                                     const double* velocities) {
  const int a = m.shape_body[m.pair_a[c.pair]], b = m.shape_body[m.pair_b[c.pair]];
  return point_velocity(m, s, velocities, b, c.position) - point_velocity(m, s, velocities, a, c.position);
}

// How far a unit impulse along the normal would move the bodies by their reference weights: contacts that joints let
// neither open nor close take no part.
template <typename Real>
TOUCHSTONE_LANE bool can_move(const ModelView& m, const Scratch<Real>& s, const Contact& c) {
  const int a = m.shape_body[m.pair_a[c.pair]], b = m.shape_body[m.pair_b[c.pair]];
  int leaf_a = m.body_last_dof[a], leaf_b = m.body_last_dof[b];
  const Wrench on_a{cross(c.position - reference_point(m, s, a), c.normal), c.normal};
  const Wrench on_b{cross(c.position - reference_point(m, s, b), c.normal), c.normal};
  double sum = 0.0;
  while (leaf_a >= 0 || leaf_b >= 0) {
    const int k = leaf_a > leaf_b ? leaf_a : leaf_b;
    const Motion S = load_motion(s.S + 6 * k);
    const double J = (leaf_b == k ? dot(S, on_b) : 0.0) - (leaf_a == k ? dot(S, on_a) : 0.0);
    sum += J * J * m.dof_weight[k];
    if (leaf_a == k) leaf_a = m.dof_parent[k];
    if (leaf_b == k) leaf_b = m.dof_parent[k];
  }
  return sum >= m.pair_mobility[c.pair];
}

// How many rows a contact of a pair has, and whether it is a kCone.
template <typename Team>
TOUCHSTONE_LANE int rows_of_pair(const ModelView& m, int pair, bool& is_cone) {
  is_cone = false;
  const int dimension = m.pair_dimension[pair];
  if constexpr (Team::kGeneral) {
    if (m.sizes.cones > 0 && dimension > 1) {
      const double* cone = m.pair_cone + kConeNumbers * pair;
      is_cone = dimension > 3 || cone[0] != 1.0;
      if (is_cone) {
        bool rubs = m.pair_friction[pair] > 0.0;
        for (int k = 1; k < dimension - 2; ++k) rubs = rubs || cone[k] > 0.0;
        is_cone = rubs;
        return rubs ? dimension : 1;
      }
    }
  }
  return dimension == 3 && m.pair_friction[pair] > 0.0 ? 3 : 1;
}

template <typename Team, typename Real>
TOUCHSTONE_LANE bool list_contacts(const Team& team, const ModelView& m, Scratch<Real>& s) {
  TOUCHSTONE_ROLLED
  for (int first = 0; first < s.contact_count; first += team.size()) {
    const int i = first + team.lane();
    const bool active =
        i < s.contact_count && (m.pair_may_lock[s.contacts[i].pair] == 0 || can_move(m, s, s.contacts[i]));
    bool is_cone = false;
    const int own_rows = active ? rows_of_pair<Team>(m, s.contacts[i].pair, is_cone) : 0;
    int blocks = 0, rows = 0;
    const int block_before = team.count_before(active ? 1 : 0, blocks);
    const int row_before = team.count_before(own_rows, rows);
    if (s.block_count + blocks > s.pool.blocks || s.row_count + rows > s.pool.rows) return false;
    if (active) {
      const Contact& c = s.contacts[i];
      Block<Real> block = single_block<Real>(own_rows > 1 ? BlockType::kCoulomb : BlockType::kNonNegative,
                                             BlockKind::kContact, i, 0, 1.0);
      if constexpr (Team::kGeneral) {
        if (is_cone) {
          block.type = BlockType::kCone;
          block.side = s.block_count + block_before;
          s.cones[block.side].rows = own_rows;
        }
      }
      const double rate = dot(c.normal, contact_velocity(m, s, c, s.velocity));
      const double free_rate = dot(c.normal, contact_velocity(m, s, c, s.free_velocity));
      block.bias = unilateral_bias(m.settings, c.gap, rate, free_rate, m.pair_restitution[c.pair]);
      block.friction = static_cast<Real>(m.pair_friction[c.pair]);
      block.row = s.row_count + row_before;
      s.blocks[s.block_count + block_before] = block;
    }
    s.block_count += blocks;
    s.row_count += rows;
  }
  team.sync();
  return true;
}

}  // namespace touchstone::gpu
