// The steps of the recursions for one body, shared by all algorithms (internal).
//
// Symbols: O reference point of the tree, S dof axes about O, v and a spatial velocity and acceleration about O,
// c centre of mass from O, R rotation of the body.
#pragma once

#include "touchstone/dynamics/data.hpp"

namespace touchstone::detail {

// Turns a rotation matrix about one of its own axes: R <- R * Rot(axis, angle).
inline void turn(Mat3& R, const JointKernel& joint, double sine, double cosine) {
  const auto mix = [sine, cosine](Vec3& a, Vec3& b) {
    const Vec3 old = a;
    a = cosine * old + sine * b;
    b = cosine * b - sine * old;
  };
  switch (joint.axis_code) {
    case AxisCode::kX:
      mix(R.c1, R.c2);
      return;
    case AxisCode::kY:
      mix(R.c2, R.c0);
      return;
    case AxisCode::kZ:
      mix(R.c0, R.c1);
      return;
    case AxisCode::kGeneral:
      break;
  }
  // Rodrigues: Rot = cos 1 + (1 - cos) a a' + sin [a]x, column by column.
  const Vec3 a = joint.axis;
  const Vec3 sa = sine * a;
  const Vec3 ca = (1.0 - cosine) * a;
  const Mat3 rotation(ca * a[0] + Vec3(cosine, sa[2], -sa[1]), ca * a[1] + Vec3(-sa[2], cosine, sa[0]),
                      ca * a[2] + Vec3(sa[1], -sa[0], cosine));
  R = R * rotation;
}

inline Vec3 axis_in_world(const Mat3& R, const JointKernel& joint) {
  switch (joint.axis_code) {
    case AxisCode::kX:
      return R.c0;
    case AxisCode::kY:
      return R.c1;
    case AxisCode::kZ:
      return R.c2;
    case AxisCode::kGeneral:
      break;
  }
  return R * joint.axis;
}

inline Mat3 rotation_matrix(const double* q) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  const double scale = 2.0 / (w * w + x * x + y * y + z * z);  // any length will do
  const double xs = x * scale, ys = y * scale, zs = z * scale;
  return {Vec3(1.0 - (y * ys + z * zs), x * ys + w * zs, x * zs - w * ys),
          Vec3(x * ys - w * zs, 1.0 - (x * xs + z * zs), y * zs + w * xs),
          Vec3(x * zs + w * ys, y * zs - w * xs, 1.0 - (x * xs + y * ys))};
}

// Displaces X by a joint and writes the joint's axes: direction into `angular`, a point of the axis into `linear`.
// The caller completes them once the tree's reference point is known.
inline void displace(Pose& X, const JointKernel& joint, const double* q, const Data& data, Motion* S) {
  switch (joint.type) {
    case JointType::kHinge:
    case JointType::kScrew: {
      const Vec3 axis = axis_in_world(X.R, joint);
      Vec3 point = joint.anchored ? X * joint.anchor : X.p;
      turn(X.R, joint, data.angle_sine[joint.angle], data.angle_cosine[joint.angle]);
      if (joint.type == JointType::kScrew) point += axis * (joint.pitch * (q[joint.q] - joint.reference));
      X.p = joint.anchored ? point - X.R * joint.anchor : point;
      S[0] = {axis, point};
      return;
    }
    case JointType::kSlide: {
      const Vec3 axis = axis_in_world(X.R, joint);
      X.p += axis * (q[joint.q] - joint.reference);
      S[0] = {Vec3(), axis};
      return;
    }
    case JointType::kBall: {
      const Vec3 point = joint.anchored ? X * joint.anchor : X.p;
      X.R = X.R * rotation_matrix(q + joint.q);
      if (joint.anchored) X.p = point - X.R * joint.anchor;
      S[0] = {X.R.c0, point};
      S[1] = {X.R.c1, point};
      S[2] = {X.R.c2, point};
      return;
    }
    case JointType::kFree:
      X.p = Vec3(q[joint.q], q[joint.q + 1], q[joint.q + 2]);
      X.R = rotation_matrix(q + joint.q + 3);
      S[0] = {Vec3(), Vec3(1, 0, 0)};
      S[1] = {Vec3(), Vec3(0, 1, 0)};
      S[2] = {Vec3(), Vec3(0, 0, 1)};
      S[3] = {X.R.c0, X.p};
      S[4] = {X.R.c1, X.p};
      S[5] = {X.R.c2, X.p};
      return;
  }
}

// (direction, point) -> axis about O.
inline void complete_axes(const JointKernel& joint, Vec3 O, Motion* S) {
  switch (joint.type) {
    case JointType::kHinge:
      S[0].linear = cross(S[0].linear - O, S[0].angular);
      return;
    case JointType::kScrew:
      S[0].linear = cross(S[0].linear - O, S[0].angular) + joint.pitch * S[0].angular;
      return;
    case JointType::kSlide:
      return;
    case JointType::kFree:
      S += 3;
      [[fallthrough]];
    case JointType::kBall:
      for (int i = 0; i < 3; ++i) S[i].linear = cross(S[i].linear - O, S[i].angular);
      return;
  }
}

// Pose, axes and centre of mass of a body whose parent is done.
inline void place_body(const Model& model, const Parameters& parameters, const double* q, int b, Data& data) {
  const BodyKernel& body = model.body_kernels[b];
  const Pose& parent = data.X_WB[body.parent];
  Pose X(body.rotated ? parent.R * body.X_PB.R : parent.R, parent * body.X_PB.p);
  const JointKernel* joint = model.joint_kernels.data() + body.first_joint;
  const JointKernel* last = joint + body.joint_count;
  for (const JointKernel* j = joint; j != last; ++j) displace(X, *j, q, data, &data.S[j->dof]);
  data.X_WB[b] = X;
  if (body.tree < 0) return;
  Vec3& O = data.reference_point[body.tree];
  if (model.tree_root[body.tree] == b) O = X.p;
  for (const JointKernel* j = joint; j != last; ++j) complete_axes(*j, O, &data.S[j->dof]);
  data.body_com[b] = X * parameters.body_inertia[b].com - O;
}

void place_all_angles(const Model& model, const ConstVectorRef& q, Data& data);

// Velocity of the body, and the part of its acceleration due to the velocities (added to `acceleration`).
//   v_B = v_P + sum S qd          a_B = a_P + sum (S qdd + v x S qd)
// Within a joint whose axes move with the body, v may be the velocity after the joint, since W x W = 0 for its own
// part W = S qd. The translation axes of a free joint are fixed in the world and contribute no such term.
template <bool kWithAcceleration>
inline void move_body(const Model& model, const BodyKernel& body, const double* qd, const Data& data, Motion& v,
                      Motion& acceleration) {
  const JointKernel* joint = model.joint_kernels.data() + body.first_joint;
  for (const JointKernel* last = joint + body.joint_count; joint != last; ++joint) {
    const Motion* S = &data.S[joint->dof];
    const double* rate = qd + joint->dof;
    Motion W;
    switch (joint->type) {
      case JointType::kFree:
        v.linear += Vec3(rate[0], rate[1], rate[2]);
        S += 3;
        rate += 3;
        [[fallthrough]];
      case JointType::kBall:
        W = S[0] * rate[0] + S[1] * rate[1] + S[2] * rate[2];
        break;
      default:
        W = S[0] * rate[0];
        break;
    }
    v += W;
    if constexpr (kWithAcceleration) acceleration += cross(v, W);
  }
}

// dS/dt of a dof: its axis moves with the body as it is just after the dof's joint, but a free joint's translations
// are fixed in the world.
inline Motion axis_rate(const Model& model, const double* qd, const Data& data, int dof) {
  const JointKernel& joint = model.joint_kernels[model.dof_joint[dof]];
  if (joint.type == JointType::kFree && dof < joint.dof + 3) return {};
  const BodyKernel& body = model.body_kernels[model.dof_body[dof]];
  const int end = joint.dof + touchstone::dof_count(joint.type);
  Motion v = data.velocity[body.parent];
  for (int i = body.first_dof; i < end; ++i) v += data.S[i] * qd[i];
  return cross(v, data.S[dof]);
}

// Force that gives the body the spatial velocity v and acceleration a: Newton and Euler about the centre of mass.
inline Force inertial_force(const BodyInertia& inertia, const Mat3& R, Vec3 c, const Motion& v, const Motion& a) {
  const Vec3 v_c = v.linear + cross(v.angular, c);
  const Vec3 a_c = a.linear + cross(a.angular, c) + cross(v.angular, v_c);
  const Vec3 f = inertia.mass * a_c;
  const Mat3 Rt = transpose(R);
  const Vec3 w = Rt * v.angular;
  const Vec3 n = inertia.inertia * (Rt * a.angular) + cross(w, inertia.inertia * w);
  return {R * n + cross(c, f), f};
}

// Adds the force of the spring of a joint, if it has one.
void add_joint_spring(const Model& model, const Parameters& parameters, const ConstVectorRef& q, int joint,
                      VectorRef tau);

}  // namespace touchstone::detail
