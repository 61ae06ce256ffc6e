// How the motion before each dof turns its axis: what all derivatives of velocities and accelerations are made of
// (docs/derivatives.md).
#pragma once

#include <vector>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/data.hpp"

namespace touchstone {

// A set of dofs that move together moves with velocity V and acceleration A before it is moved itself.
struct AxisRates {
  explicit AxisRates(const Model& model) : V_S(at(model.nv)), A_S(at(model.nv)), S_rate(at(model.nv)) {}

  std::vector<Motion> V_S, A_S, S_rate;  // nv: V x S; A x S + V x (V x S); V x S + dS/dt
};

// The dofs of one axis set (one dof, or the three rotations of a ball or free joint): they move together, so none of
// them changes what V and A were before the set. V and A move on to those behind it.
inline void pass_axes(const Data& data, int first, int count, const double* v, const double* a, Motion& V, Motion& A,
                      AxisRates& out) {
  Motion W, acceleration;
  for (int i = first; i < first + count; ++i) {
    W += data.S[at(i)] * v[i];
    acceleration += data.S[at(i)] * a[i];
  }
  for (int i = first; i < first + count; ++i) {
    const Motion& S = data.S[at(i)];
    const Motion V_S = cross(V, S);
    out.V_S[at(i)] = V_S;
    out.A_S[at(i)] = cross(A, S) + cross(V, V_S);
    out.S_rate[at(i)] = V_S + V_S;
    if (count > 1) out.S_rate[at(i)] += cross(W, S);
  }
  A += acceleration + cross(V, W);
  V += W;
}

// All joints of a body: V and A are those of its parent, and then its own.
inline void pass_axes_of_body(const Model& model, const BodyKernel& body, const double* v, const double* a,
                              const Data& data, Motion& V, Motion& A, AxisRates& out) {
  const JointKernel* joint = model.joint_kernels.data() + body.first_joint;
  for (const JointKernel* last = joint + body.joint_count; joint != last; ++joint) {
    int dof = joint->dof;
    switch (joint->type) {
      case JointType::kFree:
        // Its translations are along axes of the world, which nothing turns.
        for (int i = dof; i < dof + 3; ++i) out.V_S[at(i)] = out.A_S[at(i)] = out.S_rate[at(i)] = Motion();
        V.linear += Vec3(v[dof], v[dof + 1], v[dof + 2]);
        A.linear += Vec3(a[dof], a[dof + 1], a[dof + 2]);
        dof += 3;
        [[fallthrough]];
      case JointType::kBall:
        pass_axes(data, dof, 3, v, a, V, A, out);
        break;
      default:
        pass_axes(data, dof, 1, v, a, V, A, out);
        break;
    }
  }
}

}  // namespace touchstone
