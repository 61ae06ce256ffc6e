#include "touchstone/diff/point_derivatives.hpp"

#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone {

namespace {

// A point of a body, from the reference point O of its tree.
Vec3 lever(const Model& model, const Data& data, int body, const Vector3& point) {
  const int tree = model.body_kernels[at(body)].tree;
  return tree < 0 ? Vec3(point) : Vec3(point) - data.reference_point[at(tree)];
}

// Of a motion about O, at the point r.
Vec3 linear_at(const Motion& motion, Vec3 r) { return motion.linear + cross(motion.angular, r); }

auto stacked(Vec3 linear, Vec3 angular) {
  Vector6 result;
  result << linear.eigen(), angular.eigen();
  return result;
}

// The first dof of the set of axes that turn each other: the rotations of a ball or free joint, or the dof alone.
int first_of_set(const Model& model, int dof) {
  const Joint& joint = model.joints[at(model.dof_joint[at(dof)])];
  const int first = model.joint_kernels[at(model.dof_joint[at(dof)])].dof;
  if (joint.type == JointType::kBall) return first;
  return joint.type == JointType::kFree && dof >= first + 3 ? first + 3 : dof;
}

}  // namespace

void PointDerivatives::compute(const Model& model, const ConstVectorRef& v, const ConstVectorRef& a, Data& data) {
  require_size("v", v.size(), model.nv);
  require_size("a", a.size(), model.nv);
  data.velocity[0] = data.acceleration[0] = Motion();
  for (int b = 1; b < model.nbody; ++b) {
    const BodyKernel& body = model.body_kernels[at(b)];
    Motion V, A;
    if (body.tree >= 0) {
      V = data.velocity[at(body.parent)];
      A = data.acceleration[at(body.parent)];
      pass_axes_of_body(model, body, v.data(), a.data(), data, V, A, rates_);
    }
    data.velocity[at(b)] = V;
    data.acceleration[at(b)] = A;
  }
}

// About O the body has dV/dq = S x V_body + V x S; at the point, which moves by S, that is dV + V_body x (S at r).
void PointDerivatives::velocity(const Model& model, const Data& data, int body, const Vector3& point,
                                Matrix6XRef by_q) const {
  by_q.setZero();
  const Vec3 r = lever(model, data, body, point);
  const Motion& V = data.velocity[at(body)];
  for (int k = model.body_last_dof[at(body)]; k >= 0; k = model.dof_parent[at(k)]) {
    const Motion& S = data.S[at(k)];
    const Motion dV = cross(S, V) + rates_.V_S[at(k)];
    by_q.col(k) = stacked(linear_at(dV, r) + cross(V.angular, linear_at(S, r)), dV.angular);
  }
}

// The point has A at r + w x (V at r).
void PointDerivatives::acceleration(const Model& model, const Data& data, int body, const Vector3& point,
                                    Matrix6XRef by_q, Matrix6XRef by_v) const {
  by_q.setZero();
  by_v.setZero();
  const Vec3 r = lever(model, data, body, point);
  const Motion& V = data.velocity[at(body)];
  const Motion& A = data.acceleration[at(body)];
  const Vec3 v_point = linear_at(V, r);
  for (int k = model.body_last_dof[at(body)]; k >= 0; k = model.dof_parent[at(k)]) {
    const Motion& S = data.S[at(k)];
    const Motion& V_S = rates_.V_S[at(k)];
    const Vec3 S_point = linear_at(S, r);
    const Motion dV = cross(S, V) + V_S;
    const Motion dA = cross(S, A) + cross(V_S, V) + rates_.A_S[at(k)];
    const Vec3 dv_point = linear_at(dV, r) + cross(V.angular, S_point);
    by_q.col(k) =
        stacked(linear_at(dA, r) + cross(A.angular, S_point) + cross(dV.angular, v_point) + cross(V.angular, dv_point),
                dA.angular);
    const Motion dA_dv = cross(S, V) + rates_.S_rate[at(k)];
    by_v.col(k) = stacked(linear_at(dA_dv, r) + cross(S.angular, v_point) + cross(V.angular, S_point), dA_dv.angular);
  }
}

// An axis that dof k carries turns with it, dS = S_k x S, as do the axes of its own set; all see the point move.
void point_jacobian_derivative(const Model& model, const Data& data, int body, const Vector3& point, int k,
                               Matrix6XRef by_q_k) {
  if (k < 0 || k >= model.nv) throw Error("there is no dof {}: the model has dofs 0 to {}", k, model.nv - 1);
  by_q_k.setZero();
  bool moves = false;
  for (int i = model.body_last_dof[at(body)]; i >= 0 && !moves; i = model.dof_parent[at(i)]) moves = i == k;
  if (!moves) return;
  const Vec3 r = lever(model, data, body, point);
  const Motion& S_k = data.S[at(k)];
  const Vec3 point_rate = linear_at(S_k, r);
  const int first_turned = first_of_set(model, k);
  for (int i = model.body_last_dof[at(body)]; i >= 0; i = model.dof_parent[at(i)]) {
    const Motion& S = data.S[at(i)];
    const Motion dS = i >= first_turned ? cross(S_k, S) : Motion();
    by_q_k.col(i) = stacked(linear_at(dS, r) + cross(S.angular, point_rate), dS.angular);
  }
}

}  // namespace touchstone
