// Equalities (connect, weld, joint couplings, loop joints). Their rows are eliminated before the contact problem is
// solved: with G_e = Y_e Y_e' + R = L_e L_e', the whitened rows of everything else lose their parts along Q = L_e^-1
// Y_e. Impulses of the equalities follow from those of the rest, exactly, in double.
#pragma once

#include "touchstone/gpu/inertia.hpp"
#include "touchstone/gpu/loop_coordinates.hpp"

namespace touchstone::gpu {

struct EqualityData {
  Vec anchor_a, anchor_b;
  Pose relative;
  double torque_scale;
  const double* polynomial;
};

TOUCHSTONE_LANE EqualityData equality_data(const ModelView& m, int e) {
  const double* d = m.equality_data + kEqualityNumbers * e;
  return {load_vec(d), load_vec(d + 3), load_pose(d + 6), d[18], d + 19};
}

TOUCHSTONE_LANE int equality_rows(const ModelView& m, int e) {
  return (e + 1 < m.sizes.equalities ? m.equality_row[e + 1] : m.sizes.equality_rows) - m.equality_row[e];
}

// Takes a row that compares the motion of two bodies, linear . (v_b - v_a) + angular . (w_b - w_a) with velocities of
// the points p_b and p_a, into J, if that is wanted. Those of connects are left to fill_connects.
template <typename Real>
struct PairRowAdder {
  static constexpr bool kConnects = false;
  const ModelView& m;
  const Scratch<Real>& s;
  int e;
  double* J;

  TOUCHSTONE_LANE void operator()(Vec p_a, Vec p_b, Vec linear, Vec angular) const {
    if (J == nullptr) return;
    add_body_row(m, s, m.equality_b[e], p_b, linear, angular, 1.0, J);
    add_body_row(m, s, m.equality_a[e], p_a, linear, angular, -1.0, J);
  }
};

// One row of an equality between bodies: calls use(p_a, p_b, linear, angular), and returns its error.
template <typename Real, typename Use>
TOUCHSTONE_LANE double body_equality_row(const ModelView& m, const Scratch<Real>& s, int e, int r, const Use& use) {
  const EqualityData d = equality_data(m, e);
  const int a = m.equality_a[e], b = m.equality_b[e];
  const Pose X_a = load_pose(s.X + 12 * a), X_b = load_pose(s.X + 12 * b);
  const Vec along = axis(r % 3, 1.0), zero{0, 0, 0};
  if (m.equality_type[e] == kConnectEquality) {
    const Vec p_a = X_a * d.anchor_a, p_b = X_b * d.anchor_b;
    if constexpr (Use::kConnects) use(p_a, p_b, along, zero);
    return entry(p_b - p_a, r);
  }
  const Pose wanted = X_a * d.relative;
  const Vec p_a = wanted * d.anchor_a, p_b = X_b * d.anchor_a;
  const Vec linear = r < 3 ? along : zero, angular = r < 3 ? zero : d.torque_scale * along;
  use(p_b, p_b, linear, angular);
  if (r < 3) return entry(p_b - p_a, r);
  const Mat turn{transpose_times(wanted.R, X_b.R.a), transpose_times(wanted.R, X_b.R.b),
                 transpose_times(wanted.R, X_b.R.c)};
  return d.torque_scale * entry(wanted.R * logarithm(quaternion(turn)), r - 3);
}

// q_a - q_a0 = sum c_k (q_b - q_b0)^k.
template <typename Real>
TOUCHSTONE_LANE double joint_equality_row(const ModelView& m, const Scratch<Real>& s, int e, double* J) {
  const double* c = equality_data(m, e).polynomial;
  const int a = m.equality_a[e], b = m.equality_b[e];
  double value = c[0], slope = 0.0;
  if (b >= 0) {
    const double x = s.q[m.joint_q[b]] - m.reference_q[m.joint_q[b]];
    value = 0.0;
    for (int k = 4; k >= 0; --k) {
      slope = slope * x + value;
      value = value * x + c[k];
    }
    if (J != nullptr) J[m.joint_dof[b]] -= slope;
  }
  if (J != nullptr) J[m.joint_dof[a]] += 1.0;
  return s.q[m.joint_q[a]] - m.reference_q[m.joint_q[a]] - value;
}

// Adds to a row of J a multiple of the row along a coordinate.
template <typename Real>
TOUCHSTONE_LANE void add_coordinate(const ModelView& m, const Scratch<Real>& s, int k, double factor, double* J) {
  if (J != nullptr) for_coordinate(m, s, k, [&](int dof, double own) { J[dof] += factor * own; });
}

// The same of joints and of coordinates of loop joints, whose numbers are in equality_coordinate.
template <typename Real>
TOUCHSTONE_LANE double coupled_row(const ModelView& m, const Scratch<Real>& s, int e, double* J) {
  const double* c = equality_data(m, e).polynomial;
  const auto displacement = [&](int joint, int k) {
    return k >= 0 ? s.coordinate[k] - m.coordinate_reference[k]
                  : s.q[m.joint_q[joint]] - m.reference_q[m.joint_q[joint]];
  };
  const auto add = [&](int joint, int k, double factor) {
    if (k >= 0) return add_coordinate(m, s, k, factor, J);
    if (J != nullptr) J[m.joint_dof[joint]] += factor;
  };
  const int a = m.equality_a[e], b = m.equality_b[e];
  const int k_a = m.equality_coordinate[2 * e], k_b = m.equality_coordinate[2 * e + 1];
  double value = c[0], slope = 0.0;
  if (b >= 0 || k_b >= 0) {
    const double x = displacement(b, k_b);
    value = 0.0;
    for (int k = 4; k >= 0; --k) {
      slope = slope * x + value;
      value = value * x + c[k];
    }
    add(b, k_b, -slope);
  }
  add(a, k_a, 1.0);
  return displacement(a, k_a) - value;
}

// The same of one row of a loop joint; of a screw without what its angle adds.
template <typename Team, typename Real, typename Use>
TOUCHSTONE_LANE double loop_joint_row(const ModelView& m, const Scratch<Real>& s, int e, int row, const Use& use) {
  const double* d = m.equality_data + kEqualityNumbers * e;
  const int a = m.equality_a[e], b = m.equality_b[e];
  const Pose A = load_pose(s.X + 12 * a) * load_pose(d), B = load_pose(s.X + 12 * b) * load_pose(d + 12);
  int measure = m.equality_measure[row];
  if constexpr (Team::kFull) measure = measure == kTravel ? kWayZ : measure;
  const LoopRow loop = loop_row(measure, A, B, d[24]);
  use(B.p, B.p, loop.linear, loop.angular);
  return loop.value;
}

// What its angle adds to the travel of a screw.
template <typename Real>
TOUCHSTONE_LANE double add_travel(const ModelView& m, const Scratch<Real>& s, int e, double* J) {
  const double pitch = m.equality_data[kEqualityNumbers * e + 24];
  const int k = m.equality_coordinate[2 * e];
  add_coordinate(m, s, k, -pitch, J);
  return -pitch * (s.coordinate[k] - m.coordinate_reference[k]);
}

// The rows of all connects in J: a lane a dof on the path to one of their bodies, the three rows of a connect at once,
// since what a point does along x, y and z is one vector.
template <typename Team, typename Real>
TOUCHSTONE_LANE void fill_connects(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const int longest = m.sizes.depths;
  TOUCHSTONE_ROLLED
  for (int side = 0; side < 2; ++side) {  // one after the other: dofs may be on both paths
    TOUCHSTONE_ROLLED
    for (int item = team.lane(); item < m.sizes.equalities * longest; item += team.size()) {
      const int e = item / longest, place = item % longest;
      if (m.equality_type[e] != kConnectEquality) continue;
      const int body = side == 0 ? m.equality_b[e] : m.equality_a[e], last = m.body_last_dof[body];
      if (last < 0 || m.row_start[last] + place >= m.row_start[last + 1]) continue;
      const int i = m.row_dof[m.row_start[last] + place];
      const double* d = m.equality_data + kEqualityNumbers * e;
      const Vec arm = load_pose(s.X + 12 * body) * load_vec(side == 0 ? d + 3 : d) - reference_point(m, s, body);
      const Motion S = load_motion(s.S + 6 * i);
      const Vec moves = S.v + cross(S.w, arm);
      double* J = s.Y_e + m.equality_row[e] * s.stride + i;
      for (int r = 0; r < 3; ++r) J[r * s.stride] += side == 0 ? entry(moves, r) : -entry(moves, r);
    }
    team.sync();
  }
}

// The error of one of all rows. J: adds its row, but that of connects, which is left to fill_connects; null: not
// wanted. Springs have no error.
template <typename Team, typename Real>
TOUCHSTONE_LANE double equality_row_and_error(const ModelView& m, const Scratch<Real>& s, int row, double* J) {
  const int e = m.equality_of_row[row];
  if (m.equality_type[e] == kJointEquality) return joint_equality_row(m, s, e, J);
  if constexpr (Team::kFull) {
    if (m.equality_type[e] == kCoupledEquality) return coupled_row(m, s, e, J);
    if (m.equality_type[e] == kSpringEquality) {
      add_coordinate(m, s, m.equality_coordinate[2 * e], 1.0, J);
      return 0.0;
    }
  }
  const PairRowAdder<Real> add{m, s, e, J};
  if (m.equality_type[e] == kLoopEquality) {
    const double error = loop_joint_row<Team>(m, s, e, row, add);
    if constexpr (Team::kFull) {
      if (m.equality_measure[row] == kTravel) return error + add_travel(m, s, e, J);
    }
    return error;
  }
  return body_equality_row(m, s, e, row - m.equality_row[e], add);
}

template <typename Team, typename Real>
TOUCHSTONE_LANE double equality_error(const ModelView& m, const Scratch<Real>& s, int row) {
  return equality_row_and_error<Team>(m, s, row, nullptr);
}

// --- mocap bodies ---

constexpr double kFastestMocap = 10.0;    // m/s: what is faster has been put elsewhere, and has no velocity
constexpr double kFarthestMocap = 1e100;  // m: what is not nearer, NaN included, is no pose

// How a mocap body moves, by the change of its pose since the step before; not at all before there was one.
struct MocapMotion {
  Vec p, v, w;

  TOUCHSTONE_LANE Vec at(Vec point) const { return v + cross(w, point - p); }
};

TOUCHSTONE_LANE MocapMotion mocap_motion(const ModelView& m, const WorldState& world, int k) {
  const double *now = m.mocap_pose + 7 * k, *old = world.mocap_before + 7 * k;
  const Vec p = load_vec(now), zero{0, 0, 0};
  if (!(fabs(old[0]) < kFarthestMocap)) return {p, zero, zero};
  const Quaternion before = load_quaternion(old + 3);
  const Vec turn = logarithm(unit(load_quaternion(now + 3) * Quaternion{before.w, -before.v}));
  const double rate = 1.0 / m.settings.time_step;
  return {p, rate * (p - load_vec(old)), rate * turn};
}

// The rate of a row by the mocap bodies that carry its sides, -1: none.
struct CarriedRate {
  static constexpr bool kConnects = true;
  const ModelView& m;
  const WorldState& world;
  int side_a, side_b;
  double& rate;

  TOUCHSTONE_LANE double along(int k, Vec point, Vec linear, Vec angular) const {
    const MocapMotion motion = mocap_motion(m, world, k);
    return dot(linear, motion.at(point)) + dot(angular, motion.w);
  }
  TOUCHSTONE_LANE void operator()(Vec p_a, Vec p_b, Vec linear, Vec angular) const {
    rate = (side_b >= 0 ? along(side_b, p_b, linear, angular) : 0.0) -
           (side_a >= 0 ? along(side_a, p_a, linear, angular) : 0.0);
  }
};

// What an equality holds follows the mocap bodies of its sides: their rates are part of its bias.
template <typename Team, typename Real>
TOUCHSTONE_LANE void follow_mocap(const ModelView& m, const WorldState& world, Scratch<Real>& s, int e) {
  const int side_a = m.equality_mocap[2 * e], side_b = m.equality_mocap[2 * e + 1];
  if (side_a < 0 && side_b < 0) return;
  const int first = m.equality_row[e], rows = equality_rows(m, e);
  const auto rate = [&](int row) {
    double found = 0.0;
    const CarriedRate of_row{m, world, side_a, side_b, found};
    if (m.equality_type[e] == kLoopEquality) {
      loop_joint_row<Team>(m, s, e, row, of_row);
    } else {
      body_equality_row(m, s, e, row - first, of_row);
    }
    return found;
  };
  for (int r = first; r < first + rows; ++r) {
    if (!(fabs(rate(r)) * m.equality_length[r] < kFastestMocap)) return;
  }
  for (int r = first; r < first + rows; ++r) s.bias_e[r] += rate(r);
}

// J and the bias of one row; J of connects is left to fill_connects.
template <typename Team, typename Real>
TOUCHSTONE_LANE void equality_row(const ModelView& m, Scratch<Real>& s, int row) {
  double* J = s.Y_e + row * s.stride;
  for (int i = 0; i < m.sizes.nv; ++i) J[i] = 0.0;
  s.bias_e[row] = m.settings.erp * equality_row_and_error<Team>(m, s, row, J) / m.settings.remaining;
  if constexpr (Team::kFull) {
    const int e = m.equality_of_row[row];
    if (m.equality_type[e] == kSpringEquality) s.bias_e[row] = loop_spring_bias(m, s, e, row);
  }
}

// In the midpoint rule a loop holds for the mean of two velocities.
template <typename Real>
TOUCHSTONE_LANE void hold_mean(const ModelView& m, Scratch<Real>& s, int row) {
  if (m.equality_type[m.equality_of_row[row]] == kSpringEquality) return;
  const double* J = s.Y_e + row * s.stride;
  for (int i = 0; i < m.sizes.nv; ++i) s.bias_e[row] += J[i] * s.held_velocity[i];
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void whiten_equality_row(const ModelView& m, Scratch<Real>& s, int e, int row) {
  const int a = m.equality_a[e], b = m.equality_b[e];
  double* J = s.Y_e + row * s.stride;
  if constexpr (Team::kFull) {
    if (m.equality_type[e] == kCoupledEquality) return whiten_dense_row(m, s.L, s.D_root, J);
  }
  if (m.equality_type[e] == kJointEquality) {
    whiten_row(m, s.L, s.D_root, m.joint_dof[a], b >= 0 ? m.joint_dof[b] : -1, J);
  } else {
    whiten_row(m, s.L, s.D_root, m.body_last_dof[a], m.body_last_dof[b], J);
  }
}

// Cholesky of G_e in place, column by column, each from those before it; what is not positive is left out: its column
// is zero. bias_e is a row more, and becomes L_e^-1 bias. Leaves the inverses of the diagonal in inverse_e.
template <typename Team, typename Real>
TOUCHSTONE_LANE void factorize_equalities(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const int n = m.sizes.equality_rows;
  TOUCHSTONE_ROLLED
  for (int k = 0; k < n; ++k) {
    const double* row = s.G_e + k * n;
    TOUCHSTONE_ROLLED
    for (int i = k + team.lane(); i <= n; i += team.size()) {
      const double* own = i < n ? s.G_e + i * n : s.bias_e;
      double sum = 0.0;
      for (int j = 0; j < k; ++j) sum += own[j] * row[j];
      (i < n ? s.G_e[i * n + k] : s.bias_e[k]) -= sum;
    }
    team.sync();
    const double pivot = row[k], inverse = pivot > 0.0 ? inverse_root(pivot) : 0.0;
    team.sync();
    TOUCHSTONE_ROLLED
    for (int i = k + team.lane(); i <= n; i += team.size()) (i < n ? s.G_e[i * n + k] : s.bias_e[k]) *= inverse;
    if (team.lane() == 0) s.inverse_e[k] = inverse;
    team.sync();
  }
}

// Rows of the problem lose what the equalities take: with P = 1 - Q'Q what these leave of a motion, G = Y P Y', and the
// rows to sweep on are Y S with S S' = P. In rows r = 1, 2, ..., each equality takes its part of what the others before
// it have left: P_r = P_{r-1} - q_r q_r' = S_{r-1} (1 - w_r w_r') S_{r-1}', w_r = S_{r-1}' y_r / L_rr, of which
// 1 - c_r w_r w_r' is the root, c_r = 1 / (1 + (1 - |w_r|^2)^1/2), and 1 - |w_r|^2 = R_r / L_rr^2 is what its
// compliance leaves. So S = 1 - sum c_r q_r w_r', and w is found as q is, with c_k L_rk in the place of L_rk. Where
// the compliance decides nothing c is 1 and w is q. It does where rows nearly say the same as others, as in a planar
// loop of hinges; taking all of the part there sweeps on another problem than the certificate is of, and so does taking
// the parts as if such rows were orthogonal: impulses end where sweeps do not see what they lack.
constexpr double kLeastLeft = 1e-5;  // of what an equality leaves: below it, it takes all, and nothing stays along q
template <typename Team, typename Real>
TOUCHSTONE_LANE void share_equalities(const Team& team, const ModelView& m, Scratch<Real>& s) {
  TOUCHSTONE_ROLLED
  for (int r = team.lane(); r < m.sizes.equality_rows; r += team.size()) {
    const double left = m.equality_compliance[r] * s.inverse_e[r] * s.inverse_e[r];
    s.share_e[r] = left > kLeastLeft ? 1.0 / (1.0 + sqrt(left)) : 1.0;
  }
  team.sync();
}

// Whether rows W are others than Q.
template <typename Team, typename Real>
TOUCHSTONE_LANE bool are_shared(const Team& team, const ModelView& m, const Scratch<Real>& s) {
  bool any = false;
  TOUCHSTONE_ROLLED
  for (int r = team.lane(); r < m.sizes.equality_rows; r += team.size()) any = any || s.share_e[r] < 1.0;
  return team.any(any);
}

// Rows Q = L_e^-1 Y_e in the place of Y_e: orthonormal but for the compliance. Rows W where these are others.
template <typename Team, typename Real>
TOUCHSTONE_LANE void orthonormalize_equalities(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const int n = m.sizes.equality_rows;
  const bool shared = are_shared(team, m, s);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) {
    double *column = s.Y_e + i, *half = s.W_e + i;
    for (int r = 0; r < n; ++r) {
      double x = column[r * s.stride], y = x;
      for (int k = 0; k < r; ++k) x -= s.G_e[r * n + k] * column[k * s.stride];
      for (int k = 0; shared && k < r; ++k) y -= s.share_e[k] * s.G_e[r * n + k] * half[k * s.stride];
      column[r * s.stride] = x * s.inverse_e[r];
      if (shared) half[r * s.stride] = y * s.inverse_e[r];
    }
  }
  team.sync();
}

// Y_e . z of row r.
template <typename Real>
TOUCHSTONE_LANE double along_equality(const ModelView& m, const Scratch<Real>& s, int r, const double* z) {
  const double* row = s.Y_e + r * s.stride;
  double sum = 0.0;
  for (int i = 0; i < m.sizes.nv; ++i) sum += row[i] * z[i];
  return sum;
}

// Y_e' lambda_e of dof i.
template <typename Real>
TOUCHSTONE_LANE double held_by_equalities(const ModelView& m, const Scratch<Real>& s, int i) {
  double sum = 0.0;
  for (int r = 0; r < m.sizes.equality_rows; ++r) sum += s.Y_e[r * s.stride + i] * s.lambda_e[r];
  return sum;
}

// Rows, factor, and v_base: the velocity that free motion and equalities alone lead to.
template <typename Team, typename Real>
TOUCHSTONE_LANE void begin_equalities(const Team& team, const ModelView& m, [[maybe_unused]] const WorldState& world,
                                      Scratch<Real>& s) {
  const int n = m.sizes.equality_rows;
  if (n == 0) return;
  TOUCHSTONE_ROLLED
  for (int row = team.lane(); row < n; row += team.size()) equality_row<Team>(m, s, row);
  team.sync();
  fill_connects(team, m, s);
  if constexpr (Team::kFull) {
    TOUCHSTONE_ROLLED
    for (int e = team.lane(); m.sizes.followed > 0 && e < m.sizes.equalities; e += team.size())
      follow_mocap<Team>(m, world, s, e);
    TOUCHSTONE_ROLLED
    for (int row = team.lane(); m.sizes.old_velocity > 0 && row < n; row += team.size()) hold_mean(m, s, row);
  }
  TOUCHSTONE_ROLLED
  for (int row = team.lane(); row < n; row += team.size()) whiten_equality_row<Team>(m, s, m.equality_of_row[row], row);
  team.sync();
  // The lower triangle: half of a square and its diagonal, folded so that lanes need no search for their entry.
  const int half = n / 2 + 1;
  TOUCHSTONE_ROLLED
  for (int k = team.lane(); k < n * half; k += team.size()) {
    const int i = k / half, away = k % half, j = (i + away) % n, low = i < j ? j : i, high = i < j ? i : j;
    if (2 * away == n && i > j) continue;  // the same as entry (j, i)
    double sum = i == j ? m.equality_compliance[i] : 0.0;
    for (int c = 0; c < m.sizes.nv; ++c) sum += s.Y_e[i * s.stride + c] * s.Y_e[j * s.stride + c];
    s.G_e[low * n + high] = sum;
  }
  team.sync();
  factorize_equalities(team, m, s);
  share_equalities(team, m, s);
  orthonormalize_equalities(team, m, s);
  whiten_velocity(team, m, s, s.v_free, s.work);
  TOUCHSTONE_ROLLED
  for (int r = team.lane(); r < n; r += team.size()) s.lambda_e[r] = -(s.bias_e[r] + along_equality(m, s, r, s.work));
  team.sync();
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size()) s.v_base[i] = s.work[i] + held_by_equalities(m, s, i);
  team.sync();
  unwhiten(team, m, s, s.v_base);
}

// Takes from all whitened rows of the problem what equalities take: Y <- Y S.
template <typename Team, typename Real>
TOUCHSTONE_LANE void project_rows(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const int n = m.sizes.equality_rows, nv = m.sizes.nv;
  convert(team, s.Y_e, s.Q_e, n * s.stride);
  team.sync();
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < n * s.row_count; item += team.size()) {
    const Real *q = s.Q_e + item % n * s.stride, *y = s.Y + item / n * s.stride;
    Real along = Real(0);
    for (int i = 0; i < nv; ++i) along += q[i] * y[i];
    s.part_e[item] = along * static_cast<Real>(s.share_e[item % n]);
  }
  team.sync();
  if (are_shared(team, m, s)) {
    convert(team, s.W_e, s.Q_e, n * s.stride);
    team.sync();
  }
  TOUCHSTONE_ROLLED
  for (int item = team.lane(); item < nv * s.row_count; item += team.size()) {
    const int row = item / nv, i = item % nv;
    Real sum = Real(0);
    for (int r = 0; r < n; ++r) sum += s.part_e[row * n + r] * s.Q_e[r * s.stride + i];
    s.Y[row * s.stride + i] -= sum;
  }
  team.sync();
}

// lambda_e <- L_e^-T lambda_e: the impulses themselves, once nothing is held any more.
template <typename Team, typename Real>
TOUCHSTONE_LANE void finish_equalities(const Team& team, const ModelView& m, Scratch<Real>& s) {
  const int n = m.sizes.equality_rows;
  TOUCHSTONE_ROLLED
  for (int i = n - 1; i >= 0; --i) {
    const double x = s.lambda_e[i] * s.inverse_e[i];
    team.sync();
    TOUCHSTONE_ROLLED
    for (int k = team.lane(); k <= i; k += team.size())
      s.lambda_e[k] = k == i ? x : s.lambda_e[k] - s.G_e[i * n + k] * x;
    team.sync();
  }
}

// along_e = Y_e z + bias_e for the velocity z = D^1/2 L v.
template <typename Team, typename Real>
TOUCHSTONE_LANE void measure_equalities(const Team& team, const ModelView& m, Scratch<Real>& s, const double* z) {
  TOUCHSTONE_ROLLED
  for (int r = team.lane(); r < m.sizes.equality_rows; r += team.size())
    s.along_e[r] = s.bias_e[r] + along_equality(m, s, r, z);
  team.sync();
}

// J v + bias of an equality row after measure_equalities, by one lane.
template <typename Real>
TOUCHSTONE_LANE double equality_velocity(const ModelView& m, const Scratch<Real>& s, int row) {
  double u = 0.0;
  for (int r = 0; r <= row; ++r) u += s.G_e[row * m.sizes.equality_rows + r] * s.along_e[r];
  return u;
}

}  // namespace touchstone::gpu
