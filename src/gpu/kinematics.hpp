// Poses, axes, velocities and bias forces of a tree: the recursions of dynamics/recursion.hpp (Featherstone, "Rigid
// Body Dynamics Algorithms", ch. 5) with all bodies side by side: poses by pointer jumping, velocities as sums along
// paths, forces level by level.
#pragma once

#include "touchstone/gpu/world.hpp"

namespace touchstone::gpu {

// Displaces X by a joint and writes its axes as (direction, point), both in the parent's frame: trigonometry for all
// bodies at once, before the walk along the tree.
TOUCHSTONE_LANE void displace(const ModelView& m, int j, const double* q, Pose& X, double* S) {
  const Vec anchor = load_vec(m.joint_anchor + 3 * j), local = load_vec(m.joint_axis + 3 * j);
  const double* at = q + m.joint_q[j];
  const Vec zero{0, 0, 0};
  switch (m.joint_type[j]) {
    case kHingeJoint:
    case kScrewJoint: {
      const Vec along = X.R * local;
      const double angle = at[0] - m.joint_reference[j];
      Vec point = X * anchor;
      X.R = X.R * rotation(local, angle);
      point = point + (m.joint_pitch[j] * angle) * along;
      X.p = point - X.R * anchor;
      store(Motion{along, point}, S);
      return;
    }
    case kSlideJoint: {
      const Vec along = X.R * local;
      X.p = X.p + (at[0] - m.joint_reference[j]) * along;
      store(Motion{zero, along}, S);
      return;
    }
    case kBallJoint: {
      const Vec point = X * anchor;
      X.R = X.R * rotation(load_quaternion(at));
      X.p = point - X.R * anchor;
      store(Motion{X.R.a, point}, S), store(Motion{X.R.b, point}, S + 6), store(Motion{X.R.c, point}, S + 12);
      return;
    }
    default:
      X.p = load_vec(at);
      X.R = rotation(load_quaternion(at + 3));
      for (int k = 0; k < 3; ++k) store(Motion{zero, axis(k, 1.0)}, S + 6 * k);
      store(Motion{X.R.a, X.p}, S + 18), store(Motion{X.R.b, X.p}, S + 24), store(Motion{X.R.c, X.p}, S + 30);
      return;
  }
}

// The pose of a body in its parent, and its joints' axes there as (direction, point).
template <typename Real>
TOUCHSTONE_LANE void place_in_parent(const ModelView& m, Scratch<Real>& s, int b) {
  Pose X = load_pose(m.body_pose + 12 * b);
  for (int j = m.body_first_joint[b]; j < m.body_first_joint[b + 1]; ++j)
    displace(m, j, s.q, X, s.S + 6 * m.joint_dof[j]);
  store(X, s.X + 12 * b);
}

// (direction, point) in the parent -> axis in the world about O.
template <typename Real>
TOUCHSTONE_LANE void complete_axes(const ModelView& m, Scratch<Real>& s, int j) {
  const int body = m.dof_body[m.joint_dof[j]], type = m.joint_type[j];
  const Pose P = load_pose(s.X + 12 * m.body_parent[body]);
  const Vec O = reference_point(m, s, body);
  const int first = type == kFreeJoint ? 3 : 0, end = type == kFreeJoint ? 6 : (type == kBallJoint ? 3 : 1);
  for (int k = first; k < end; ++k) {
    double* S = s.S + 6 * (m.joint_dof[j] + k);
    const Motion a = load_motion(S);
    if (type == kSlideJoint) {
      store(P.R * a.v, S + 3);
      continue;
    }
    const Vec along = P.R * a.w;
    store(Motion{along, cross(P * a.v - O, along) + m.joint_pitch[j] * along}, S);
  }
}

// The sum of the velocities of all dofs on the path to `dof`, that one included: independent of other bodies, which
// beats a walk from level to level.
template <typename Real>
TOUCHSTONE_LANE Motion path_velocity(const ModelView& m, const Scratch<Real>& s, int dof, const double* v) {
  Motion sum{{0, 0, 0}, {0, 0, 0}};
  if (dof < 0) return sum;
  for (int k = m.row_start[dof]; k < m.row_start[dof + 1]; ++k) {
    const int i = m.row_dof[k];
    sum = sum + v[i] * load_motion(s.S + 6 * i);
  }
  return sum;
}

// The velocity of a body, and the accelerations that the velocities of its joints alone cause: with v_B = v_P + sum S
// v, each joint adds v x S v (at its last dof in the place of L, which nothing needs before the mass matrix). A free
// joint's translations are fixed in the world.
template <typename Real>
TOUCHSTONE_LANE void move_body(const ModelView& m, Scratch<Real>& s, int b) {
  Motion v = path_velocity(m, s, m.body_last_dof[m.body_parent[b]], s.v);
  const Motion zero{{0, 0, 0}, {0, 0, 0}};
  for (int j = m.body_first_joint[b]; j < m.body_first_joint[b + 1]; ++j) {
    const int type = m.joint_type[j];
    int dof = m.joint_dof[j];
    if (type == kFreeJoint) {
      v.v = v.v + load_vec(s.v + dof);
      for (int k = 0; k < 3; ++k) store(zero, s.L + 6 * (dof + k));
      dof += 3;
    }
    const int count = type == kFreeJoint || type == kBallJoint ? 3 : 1;
    Motion turn = s.v[dof] * load_motion(s.S + 6 * dof);
    for (int k = 1; k < count; ++k) {
      turn = turn + s.v[dof + k] * load_motion(s.S + 6 * (dof + k));
      store(zero, s.L + 6 * (dof + k - 1));
    }
    v = v + turn;
    store(cross(v, turn), s.L + 6 * (dof + count - 1));
  }
  store(v, s.velocity + 6 * b);
}

// What velocities and gravity alone make of a body's acceleration; gravity is an acceleration of the world.
template <typename Real>
TOUCHSTONE_LANE Motion path_acceleration(const ModelView& m, const Scratch<Real>& s, int b) {
  Motion sum{{0, 0, 0}, -load_vec(m.settings.gravity)};
  const int dof = m.body_last_dof[b];
  if (dof < 0) return sum;
  for (int k = m.row_start[dof]; k < m.row_start[dof + 1]; ++k) sum = sum + load_motion(s.L + 6 * m.row_dof[k]);
  return sum;
}

// The same where the joints accelerate too: `a` is that of the world, acceleration(dof) that of a dof. By the axes and
// the velocities v of the start alone, so at any time of the step.
template <typename Real, typename Acceleration>
TOUCHSTONE_LANE Motion accelerate_along_path(const ModelView& m, const Scratch<Real>& s, int body, Motion a,
                                             const Acceleration& acceleration) {
  Motion v{{0, 0, 0}, {0, 0, 0}}, turn = v;
  const int last = m.body_last_dof[body];
  if (last < 0) return a;
  for (int k = m.row_start[last]; k < m.row_start[last + 1]; ++k) {
    const int i = m.row_dof[k], joint = m.dof_joint[i], place = i - m.joint_dof[joint], type = m.joint_type[joint];
    const Motion S = load_motion(s.S + 6 * i);
    a = a + acceleration(i) * S;
    if (type == kFreeJoint && place < 3) {  // translations are fixed in the world
      v = v + s.v[i] * S;
      continue;
    }
    turn = turn + s.v[i] * S;
    const int end = type == kFreeJoint ? 5 : (type == kBallJoint ? 2 : 0);
    if (place < end) continue;
    v = v + turn;
    a = a + cross(v, turn);
    turn = {{0, 0, 0}, {0, 0, 0}};
  }
  return a;
}

// Adds to a row of J what a point of a body does along a direction, and the body's turning about another.
template <typename Number, typename Real>
TOUCHSTONE_LANE void add_body_row(const ModelView& m, const Scratch<Real>& s, int body, Vec p, Vec linear, Vec angular,
                                  double sign, Number* J) {
  const Vec moment = cross(p - reference_point(m, s, body), linear) + angular;
  for (int i = m.body_last_dof[body]; i >= 0; i = m.dof_parent[i])
    J[i] += static_cast<Number>(sign * dot(load_motion(s.S + 6 * i), Wrench{moment, linear}));
}

// Inertia of a body in world axes about O: mass, first moment, second moment (6 numbers: xx yy zz xy xz yz).
TOUCHSTONE_LANE void spatial_inertia(const ModelView& m, int b, const Pose& X, Vec O, double* I) {
  const double mass = m.body_mass[b];
  const Vec c = X * load_vec(m.body_com + 3 * b) - O, h = mass * c;
  const Mat J = load_mat(m.body_inertia + 9 * b), RJ = X.R * J;
  const Vec ra = {X.R.a.x, X.R.b.x, X.R.c.x}, rb = {X.R.a.y, X.R.b.y, X.R.c.y}, rc = {X.R.a.z, X.R.b.z, X.R.c.z};
  const Vec first = RJ * ra, second = RJ * rb, third = RJ * rc;  // columns of R J R'
  const double hc = dot(h, c);
  I[0] = mass;
  store(h, I + 1);
  I[4] = first.x + hc - h.x * c.x;
  I[5] = second.y + hc - h.y * c.y;
  I[6] = third.z + hc - h.z * c.z;
  I[7] = second.x - h.x * c.y;
  I[8] = third.x - h.x * c.z;
  I[9] = third.y - h.y * c.z;
}

TOUCHSTONE_LANE Wrench times(const double* I, const Motion& a) {
  const Vec h = load_vec(I + 1);
  const Vec n{I[4] * a.w.x + I[7] * a.w.y + I[8] * a.w.z, I[7] * a.w.x + I[5] * a.w.y + I[9] * a.w.z,
              I[8] * a.w.x + I[9] * a.w.y + I[6] * a.w.z};
  return {n + cross(h, a.v), I[0] * a.v - cross(h, a.w)};
}

// The force that a body needs for its velocity and acceleration: I a + v x* I v.
TOUCHSTONE_LANE Wrench inertial_force(const double* I, const Motion& v, const Motion& a) {
  const Wrench p = times(I, v), f = times(I, a);
  return {f.n + cross(v.w, p.n) + cross(v.v, p.f), f.f + cross(v.w, p.f)};
}

// Pointer jumping: poses relative to an ancestor become relative to that one's. From the last body down, since what is
// read must not have jumped yet, and ancestors have lower numbers.
template <typename Team, typename Real>
TOUCHSTONE_LANE void jump(const Team& team, const ModelView& m, Scratch<Real>& s, const int* ancestor) {
  TOUCHSTONE_ROLLED
  for (int top = m.sizes.bodies - 1; top > 0; top -= team.size()) {
    const int b = top - team.lane(), to = b > 0 ? ancestor[b] : 0;
    Pose X;
    if (to > 0) X = load_pose(s.X + 12 * to) * load_pose(s.X + 12 * b);
    team.sync();
    if (to > 0) store(X, s.X + 12 * b);
    team.sync();
  }
}

template <typename Team, typename Real>
TOUCHSTONE_LANE void forward_kinematics(const Team& team, const ModelView& m, Scratch<Real>& s) {
  if (team.lane() == 0) {
    const Vec zero{0, 0, 0};
    store(Pose{{axis(0, 1.0), axis(1, 1.0), axis(2, 1.0)}, zero}, s.X);
    store(Motion{zero, zero}, s.velocity);
  }
  TOUCHSTONE_ROLLED
  for (int b = 1 + team.lane(); b < m.sizes.bodies; b += team.size()) place_in_parent(m, s, b);
  team.sync();
  if constexpr (Team::kGeneral) {
    TOUCHSTONE_ROLLED
    for (int k = team.lane(); k < m.sizes.mocaps; k += team.size()) {
      const double* pose = m.mocap_pose + 7 * k;
      store(Pose{rotation(load_quaternion(pose + 3)), load_vec(pose)}, s.X + 12 * m.mocap_body[k]);
    }
    team.sync();
  }
  TOUCHSTONE_ROLLED
  for (int round = 0; round < m.sizes.jumps; ++round) jump(team, m, s, m.body_jump + round * m.sizes.bodies);
  TOUCHSTONE_ROLLED
  for (int j = team.lane(); j < m.sizes.joints; j += team.size()) complete_axes(m, s, j);
  team.sync();
  TOUCHSTONE_ROLLED
  for (int b = 1 + team.lane(); b < m.sizes.bodies; b += team.size()) move_body(m, s, b);
  team.sync();
}

constexpr int kWrench = 10;  // where it starts among the numbers of a subtree

// The spatial velocities of all bodies with the joint velocities v.
template <typename Team, typename Real>
TOUCHSTONE_LANE void body_velocities(const Team& team, const ModelView& m, const Scratch<Real>& s, const double* v,
                                     double* velocities) {
  TOUCHSTONE_ROLLED
  for (int b = team.lane(); b < m.sizes.bodies; b += team.size())
    store(path_velocity(m, s, m.body_last_dof[b], v), velocities + 6 * b);
  team.sync();
}

// The same for two of them at once.
template <typename Team, typename Real>
TOUCHSTONE_LANE void body_velocities(const Team& team, const ModelView& m, const Scratch<Real>& s, const double* v_1,
                                     const double* v_2, double* velocities_1, double* velocities_2) {
  TOUCHSTONE_ROLLED
  for (int b = team.lane(); b < m.sizes.bodies; b += team.size()) {
    Motion sum_1{{0, 0, 0}, {0, 0, 0}}, sum_2 = sum_1;
    const int last = m.body_last_dof[b], first = last >= 0 ? m.row_start[last] : 0;
    for (int k = first; k < (last >= 0 ? m.row_start[last + 1] : 0); ++k) {
      const int i = m.row_dof[k];
      const Motion S = load_motion(s.S + 6 * i);
      sum_1 = sum_1 + v_1[i] * S;
      sum_2 = sum_2 + v_2[i] * S;
    }
    store(sum_1, velocities_1 + 6 * b);
    store(sum_2, velocities_2 + 6 * b);
  }
  team.sync();
}

// Adds to each body's numbers those of its children, from the leaves to the root.
template <typename Team>
TOUCHSTONE_LANE void sum_subtrees(const Team& team, const ModelView& m, double* values) {
  TOUCHSTONE_ROLLED
  for (int level = m.sizes.levels - 2; level >= 0; --level) {
    const int first = m.level_start[level], count = kSubtree * (m.level_start[level + 1] - first);
    TOUCHSTONE_ROLLED
    for (int item = team.lane(); item < count; item += team.size()) {
      const int b = m.level_body[first + item / kSubtree], i = item % kSubtree;
      double sum = values[kSubtree * b + i];
      for (int c = m.child_start[b]; c < m.child_start[b + 1]; ++c) sum += values[kSubtree * m.child_body[c] + i];
      values[kSubtree * b + i] = sum;
    }
    team.sync();
  }
}

// Inertias of the bodies, and the forces that their motion needs, both of whole subtrees; then tau = -bias.
template <typename Team, typename Real>
TOUCHSTONE_LANE void compute_bias(const Team& team, const ModelView& m, Scratch<Real>& s) {
  TOUCHSTONE_ROLLED
  for (int b = 1 + team.lane(); b < m.sizes.bodies; b += team.size()) {
    double* own = s.subtree + kSubtree * b;
    spatial_inertia(m, b, load_pose(s.X + 12 * b), reference_point(m, s, b), own);
    Wrench needed = inertial_force(own, load_motion(s.velocity + 6 * b), path_acceleration(m, s, b));
    if (m.applied_wrench != nullptr) {
      const double* applied = m.applied_wrench + 6 * b;
      // A body that gravity is compensated for is pushed up with a share of its weight.
      const Vec f = load_vec(applied) - (m.body_compensation[b] * m.body_mass[b]) * load_vec(m.settings.gravity),
                arm = load_pose(s.X + 12 * b) * load_vec(m.body_com + 3 * b) - reference_point(m, s, b);
      needed = needed + Wrench{-(load_vec(applied + 3) + cross(arm, f)), -f};
    }
    store(needed, own + kWrench);
  }
  team.sync();
  sum_subtrees(team, m, s.subtree);
  TOUCHSTONE_ROLLED
  for (int i = team.lane(); i < m.sizes.nv; i += team.size())
    s.tau[i] = -dot(load_motion(s.S + 6 * i), load_wrench(s.subtree + kSubtree * m.dof_body[i] + kWrench));
  team.sync();
}

// The configuration after a time h with the velocity v.
template <typename Team>
TOUCHSTONE_LANE void integrate(const Team& team, const ModelView& m, const double* q, const double* v, double h,
                               double* next) {
  TOUCHSTONE_ROLLED
  for (int j = team.lane(); j < m.sizes.joints; j += team.size()) {
    int i = m.joint_q[j], dof = m.joint_dof[j];
    const int type = m.joint_type[j];
    if (type == kFreeJoint) {
      for (int k = 0; k < 3; ++k) next[i + k] = q[i + k] + h * v[dof + k];
      i += 3;
      dof += 3;
    }
    if (type == kFreeJoint || type == kBallJoint) {
      const Quaternion turned = unit(load_quaternion(q + i) * exponential(h * load_vec(v + dof)));
      next[i] = turned.w;
      store(turned.v, next + i + 1);
    } else {
      next[i] = q[i] + h * v[dof];
    }
  }
}

}  // namespace touchstone::gpu
