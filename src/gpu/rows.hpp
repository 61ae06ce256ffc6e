// The blocks of the contact problem as the sweeps need them: rows in whitened form, free velocities, diagonals, and the
// impulses to start from.
#pragma once

#include "touchstone/gpu/cones.hpp"
#include "touchstone/gpu/equalities.hpp"

namespace touchstone::gpu {

// The direction of a row of a contact.
TOUCHSTONE_LANE Vec row_direction(const Contact& c, BlockType type, int r) {
  if (type != BlockType::kCoulomb || r == 2) return c.normal;
  return r == 0 ? c.t1 : c.t2();
}

template <typename Team, typename Real>
TOUCHSTONE_LANE int rows_of(const Scratch<Real>& s, const Block<Real>& block) {
  if constexpr (Team::kGeneral) {
    if (block.type == BlockType::kCone) return s.cones[block.side].rows;
  }
  return block.type == BlockType::kCoulomb ? 3 : 1;
}

// What the equalities leave of the free motion, as velocities of bodies.
template <typename Real>
TOUCHSTONE_LANE const double* base_velocities(const ModelView& m, const Scratch<Real>& s) {
  return m.sizes.equality_rows > 0 ? s.base_velocity : s.free_velocity;
}

// Adds the rows of a contact in J that a body has, the dofs on its path side by side.
template <typename Team, typename Real>
TOUCHSTONE_LANE void add_contact_rows(const Team& team, const ModelView& m, Scratch<Real>& s, const Block<Real>& block,
                                      int body, double sign) {
  const int last = m.body_last_dof[body];
  if (last < 0) return;
  const Contact& c = s.contacts[block.index];
  const Vec arm = c.position - reference_point(m, s, body);
  const int rows = block.type == BlockType::kCoulomb ? 3 : 1;
  TOUCHSTONE_ROLLED
  for (int k = m.row_start[last] + team.lane(); k < m.row_start[last + 1]; k += team.size()) {
    const int dof = m.row_dof[k];
    const Motion S = load_motion(s.S + 6 * dof);
    const Vec at_contact = sign * (S.v + cross(S.w, arm));
    Real* J = s.Y + block.row * s.stride + dof;
    if constexpr (Team::kGeneral) {
      if (block.type == BlockType::kCone) {
        add_cone_entries(s, block, S, at_contact, sign, J);
        continue;
      }
    }
    for (int r = 0; r < rows; ++r)
      J[r * s.stride] += static_cast<Real>(dot(row_direction(c, block.type, r), at_contact));
  }
  team.sync();
}

// The rest of one row of a contact: whitened, with its free velocity.
template <typename Team, typename Real>
TOUCHSTONE_LANE void contact_row(const ModelView& m, Scratch<Real>& s, const Block<Real>& block, int r) {
  const Contact& c = s.contacts[block.index];
  const int a = m.shape_body[m.pair_a[c.pair]], b = m.shape_body[m.pair_b[c.pair]];
  whiten_row(m, s.L_rows, s.D_half, m.body_last_dof[a], m.body_last_dof[b], s.Y + (block.row + r) * s.stride);
  if constexpr (Team::kGeneral) {
    if (block.type == BlockType::kCone) {
      const int rows = s.cones[block.side].rows;
      s.g[block.row + r] = static_cast<Real>(cone_velocity(m, s, c, rows, r, base_velocities(m, s)) +
                                             (r == rows - 1 ? block.bias : 0.0));
      return;
    }
  }
  const Vec d = row_direction(c, block.type, r);
  const bool is_normal = block.type != BlockType::kCoulomb || r == 2;
  const double free = dot(d, contact_velocity(m, s, c, base_velocities(m, s))) + (is_normal ? block.bias : 0.0);
  s.g[block.row + r] = static_cast<Real>(free);
}

// Calls use(dof, factor) for the entries of a single row of J.
template <typename Team, typename Real, typename Use>
TOUCHSTONE_LANE void for_entries(const ModelView& m, const Scratch<Real>& s, const Block<Real>& block, const Use& use) {
  const double sign = block.side == 0 ? 1.0 : -1.0;
  switch (block.kind) {
    case BlockKind::kFriction:
      use(block.index, 1.0);
      return;
    case BlockKind::kServo:
      return for_moments_of<Team>(m, s, block.index, use);
    case BlockKind::kLimit: {
      const int j = m.limit_joint[block.index], dof = m.joint_dof[j];
      if (m.joint_type[j] == kBallJoint) {
        const Vec axis = limit_state(m, s, block.index, block.side).axis;
        for (int k = 0; k < 3; ++k) use(dof + k, -entry(axis, k));
      } else {
        use(dof, sign);
      }
      return;
    }
    case BlockKind::kTendonLimit:
      for (int k = m.tendon_start[block.index]; k < m.tendon_start[block.index + 1]; ++k)
        use(m.tendon_dof[k], sign * m.tendon_coefficient[k]);
      return;
    case BlockKind::kLoopLimit:
      if constexpr (Team::kFull)
        for_coordinate(m, s, m.loop_limit_coordinate[block.index],
                       [&](int dof, double factor) { use(dof, sign * factor); });
      return;
    case BlockKind::kLoopFriction:
      if constexpr (Team::kFull) for_coordinate(m, s, m.loop_friction_coordinate[block.index], use);
      return;
    case BlockKind::kContact:
      return;
  }
}

// J v + bias of a single row.
template <typename Team, typename Real>
TOUCHSTONE_LANE double single_velocity(const ModelView& m, const Scratch<Real>& s, const Block<Real>& block,
                                       const double* v) {
  double sum = block.bias;
  for_entries<Team>(m, s, block, [&](int dof, double factor) { sum += factor * v[dof]; });
  return sum;
}

// x <- D^-1/2 L^-T x for a row with entries anywhere.
template <typename Real>
TOUCHSTONE_LANE void whiten_all(const ModelView& m, const Scratch<Real>& s, Real* x) {
  for (int k = m.sizes.nv - 1; k >= 0; --k) {
    const Real own = x[k];
    if (own == Real(0)) continue;
    const int start = m.row_start[k], count = m.row_start[k + 1] - start - 1;
    for (int j = 0; j < count; ++j) x[m.row_dof[start + j]] -= s.L_rows[start + j] * own;
    x[k] = own * s.D_half[k];
  }
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void single_row(const ModelView& m, Scratch<Real>& s, const Block<Real>& block) {
  Real* J = s.Y + block.row * s.stride;
  int entries = 0, last = -1;
  for_entries<Team>(m, s, block, [&](int dof, double factor) {
    J[dof] += static_cast<Real>(factor);
    last = dof;
    ++entries;
  });
  if (entries == 1) {
    whiten_row(m, s.L_rows, s.D_half, last, -1, J);
  } else {
    whiten_all(m, s, J);
  }
  const double* base = m.sizes.equality_rows > 0 ? s.v_base : s.v_free;
  s.g[block.row] = static_cast<Real>(single_velocity<Team>(m, s, block, base));
}

// --- what the sweeps need of a block ---

// The products of the rows of a contact, t1, t2 and n, with each other.
template <typename Real>
struct Gram {
  Real t1t1, t1t2, t2t2, t1n, t2n, nn;
};

template <typename Team, typename Real>
TOUCHSTONE_LANE Gram<Real> gram_of(const Team& team, const ModelView& m, const Scratch<Real>& s, int row) {
  const Real *t1 = s.Y + row * s.stride, *t2 = t1 + s.stride, *n = t2 + s.stride;
  Gram<Real> g{};
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    g.t1t1 += t1[i] * t1[i];
    g.t1t2 += t1[i] * t2[i];
    g.t2t2 += t2[i] * t2[i];
    g.t1n += t1[i] * n[i];
    g.t2n += t2[i] * n[i];
    g.nn += n[i] * n[i];
  }
  return {team.sum(g.t1t1), team.sum(g.t1t2), team.sum(g.t2t2), team.sum(g.t1n), team.sum(g.t2n), team.sum(g.nn)};
}

template <typename Team, typename Real>
TOUCHSTONE_LANE Real square_of(const Team& team, const ModelView& m, const Scratch<Real>& s, int row) {
  const Real* y = s.Y + row * s.stride;
  Real sum = Real(0);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) sum += y[i] * y[i];
  return team.sum(sum);
}

// The scales of the blocks in the certificate: the mean of their rows of G without equalities. A lane a row.
template <typename Team, typename Real>
TOUCHSTONE_LANE void set_scales(const Team& team, const ModelView& m, Scratch<Real>& s) {
  TOUCHSTONE_ROLLED
  for (int row = team.lane(); row < s.row_count; row += team.size()) {
    const Real* y = s.Y + row * s.stride;
    Real sum = Real(0);
    for (int i = 0; i < m.sizes.nv; ++i) sum += y[i] * y[i];
    s.f_1[row] = sum;  // free until the sweeps
  }
  team.sync();
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.block_count; k += team.size()) {
    Block<Real>& block = s.blocks[k];
    const Real* squares = s.f_1 + block.row;
    if constexpr (Team::kGeneral) {
      if (block.type == BlockType::kCone) {
        const int rows = s.cones[block.side].rows;
        double sum = 0.0;
        for (int r = 0; r < rows; ++r) {
          const double length = cone_length(m, s.contacts[block.index].pair, rows, r);
          sum += length * length * static_cast<double>(squares[r]);
        }
        block.scale = sum / rows;
        continue;
      }
    }
    block.scale = block.type == BlockType::kCoulomb ? static_cast<double>(squares[0] + squares[1] + squares[2]) / 3.0
                                                    : static_cast<double>(squares[0] + block.compliance);
  }
  team.sync();
}

// Of what a row has without equalities: below it, loops let nothing move along the row, and its impulse is bounded so.
constexpr double kLeastDiagonal = 1e-7;

// The tangents of a contact are turned, and their rows made orthogonal to the normal row, so that its own matrix is
// diagonal. With c the parts taken away, nu = lambda_n + c . lambda_t is the impulse of the normal row.
template <typename Team, typename Real>
TOUCHSTONE_LANE void diagonalize_contact(const Team& team, const ModelView& m, Scratch<Real>& s, Block<Real>& block) {
  const Gram<Real> gram = gram_of(team, m, s, block.row);
  const Real inverse = gram.nn > Real(0) ? Real(1) / gram.nn : Real(0);
  const Real share_1 = gram.t1n * inverse, share_2 = gram.t2n * inverse;
  const Real a = gram.t1t1 - share_1 * gram.t1n, b = gram.t1t2 - share_1 * gram.t2n;
  const Real d = gram.t2t2 - share_2 * gram.t2n;
  // Jacobi's rotation: the smaller of the two angles.
  const Real half = Real(0.5) * (a - d), away = root(half * half + b * b);
  const Real tangent = away > Real(0) ? b / (half < Real(0) ? half - away : half + away) : Real(0);
  const Real c = Real(1) / root(Real(1) + tangent * tangent), e = c * tangent;
  const Real shear_1 = c * share_1 + e * share_2, shear_2 = c * share_2 - e * share_1;
  const auto turn = [&](Real& t1, Real& t2, Real n) {
    const Real old = t1;
    t1 = c * old + e * t2 - shear_1 * n;
    t2 = c * t2 - e * old - shear_2 * n;
  };
  Real squares[2] = {Real(0), Real(0)};  // of the rows as they are, since differences of products lose digits
  Real *t1 = s.Y + block.row * s.stride, *t2 = t1 + s.stride, *n = t2 + s.stride;
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    turn(t1[i], t2[i], n[i]);
    squares[0] += t1[i] * t1[i];
    squares[1] += t2[i] * t2[i];
  }
  const Real first = team.sum(squares[0]), second = team.sum(squares[1]);
  team.sync();
  if (team.lane() != 0) return;
  Real* g = s.g + block.row;
  turn(g[0], g[1], g[2]);
  Contact& contact = s.contacts[block.index];
  contact.t1 = static_cast<double>(c) * contact.t1 + static_cast<double>(e) * contact.t2();
  const Real floor = static_cast<Real>(kLeastDiagonal * block.scale);
  block.diagonal = (gram.t1t1 + gram.t2t2 + gram.nn) / Real(3);
  block.shear[0] = shear_1;
  block.shear[1] = shear_2;
  block.tangent[0] = first > floor ? first : floor;
  block.tangent[1] = second > floor ? second : floor;
  block.normal = gram.nn > floor ? gram.nn : floor;
  block.alpha = Real(0);
}

// Rows of J in the place of Y, of contacts; whitened rows and free velocities of all.
template <typename Team, typename Real>
TOUCHSTONE_LANE void make_rows(const Team& team, const ModelView& m, Scratch<Real>& s) {
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.row_count * s.stride; k += team.size()) s.Y[k] = Real(0);
  convert(team, s.L, s.L_rows, m.sizes.mass_entries);
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < m.sizes.nv; k += team.size()) s.D_half[k] = static_cast<Real>(s.D_root[k]);
  team.sync();
  TOUCHSTONE_ROLLED
  for (int k = 0; k < s.block_count; ++k) {
    const Block<Real>& block = s.blocks[k];
    if (block.kind != BlockKind::kContact) continue;
    const int pair = s.contacts[block.index].pair;
    add_contact_rows(team, m, s, block, m.shape_body[m.pair_b[pair]], 1.0);
    add_contact_rows(team, m, s, block, m.shape_body[m.pair_a[pair]], -1.0);
  }
  // As many lanes a block as a contact has rows, so that those are made side by side.
  const int most_rows = Team::kGeneral ? m.sizes.contact_rows : 3;
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < most_rows * s.block_count; k += team.size()) {
    const Block<Real>& block = s.blocks[k / most_rows];
    const int r = k % most_rows;
    if (r >= rows_of<Team>(s, block)) continue;
    if (block.kind == BlockKind::kContact) {
      contact_row<Team>(m, s, block, r);
    } else {
      single_row<Team>(m, s, block);
    }
  }
  team.sync();
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void fill_rows(const Team& team, const ModelView& m, Scratch<Real>& s) {
  if (s.block_count == 0) return;
  make_rows(team, m, s);
  set_scales(team, m, s);
  if (m.sizes.equality_rows > 0) project_rows(team, m, s);
  TOUCHSTONE_ROLLED
  for (int k = 0; k < s.block_count; ++k) {
    Block<Real>& block = s.blocks[k];
    if (block.type == BlockType::kCoulomb) {
      diagonalize_contact(team, m, s, block);
      continue;
    }
    if (block.type == BlockType::kCone) continue;
    const Real own = m.sizes.equality_rows > 0 ? square_of(team, m, s, block.row) + block.compliance
                                               : static_cast<Real>(block.scale);
    const Real floor = static_cast<Real>(kLeastDiagonal * block.scale);
    if (team.lane() == 0) block.diagonal = own > floor ? own : floor;
  }
  team.sync();
  if constexpr (Team::kGeneral) {
    if (m.sizes.cones > 0) diagonalize_cones(team, m, s);
  }
}

// --- the impulses of the last step ---

template <typename Real>
TOUCHSTONE_LANE std::int64_t key_of(const Scratch<Real>& s, const Block<Real>& block) {
  if (block.kind != BlockKind::kContact) return block_key(block.kind, block.index, block.side);
  return block_key(block.kind, s.contacts[block.index].pair, s.contacts[block.index].feature);
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void recall_impulses(const Team& team, const ModelView& m, const WarmStart& warm, Scratch<Real>& s) {
  const int known = *warm.count, width = Team::kGeneral ? impulse_width(m.sizes) : 3;
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.block_count; k += team.size()) {
    const Block<Real>& block = s.blocks[k];
    const std::int64_t key = key_of(s, block);
    Vec impulse{0, 0, 0};
    [[maybe_unused]] int found = -1;
    for (int i = 0; i < known; ++i) {
      if (warm.key[i] == key) impulse = load_vec(warm.impulse + width * i), found = i;
    }
    Real* lambda = s.lambda + block.row;
    if constexpr (Team::kGeneral) {
      if (block.type == BlockType::kCone) {
        recall_cone(m, s, block, impulse, found >= 0 ? load_vec(warm.impulse + width * found + 3) : impulse, lambda);
        continue;
      }
    }
    if (block.type == BlockType::kCoulomb) {
      for (int r = 0; r < 3; ++r)
        lambda[r] = static_cast<Real>(dot(impulse, row_direction(s.contacts[block.index], block.type, r)));
    } else {
      lambda[0] = static_cast<Real>(block.kind == BlockKind::kContact ? dot(impulse, s.contacts[block.index].normal)
                                                                      : impulse.x);
    }
  }
  team.sync();
}

// The impulse of a contact in world axes; of other blocks in the first number.
template <typename Real>
TOUCHSTONE_LANE Vec block_impulse(const Scratch<Real>& s, const Block<Real>& block) {
  const Real* lambda = s.lambda + block.row;
  if (block.kind != BlockKind::kContact) return {static_cast<double>(lambda[0]), 0.0, 0.0};
  const Contact& c = s.contacts[block.index];
  if (block.type != BlockType::kCoulomb) return static_cast<double>(lambda[0]) * c.normal;
  return static_cast<double>(lambda[0]) * c.t1 + static_cast<double>(lambda[1]) * c.t2() +
         static_cast<double>(lambda[2]) * c.normal;
}

// The same with the torque of a contact.
template <typename Team, typename Real>
TOUCHSTONE_LANE ContactWrench block_wrench(const Scratch<Real>& s, const Block<Real>& block) {
  if constexpr (Team::kGeneral) {
    if (block.type == BlockType::kCone) return cone_wrench(s, block);
  }
  return {block_impulse(s, block), {0, 0, 0}};
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void store_impulses(const Team& team, const ModelView& m, WarmStart& warm, const Scratch<Real>& s) {
  const int width = Team::kGeneral ? impulse_width(m.sizes) : 3;
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < s.block_count; k += team.size()) {
    warm.key[k] = key_of(s, s.blocks[k]);
    if constexpr (Team::kGeneral) {
      const ContactWrench wrench = block_wrench<Team>(s, s.blocks[k]);
      store(wrench.force, warm.impulse + width * k);
      if (width > 3) store(wrench.torque, warm.impulse + width * k + 3);
    } else {
      store(block_impulse(s, s.blocks[k]), warm.impulse + width * k);
    }
  }
  if (team.lane() == 0) *warm.count = s.block_count;
  team.sync();
}

}  // namespace touchstone::gpu
