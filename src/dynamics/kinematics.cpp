#include "touchstone/dynamics/kinematics.hpp"

#include <algorithm>
#include <iterator>

#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/recursion.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/math/trig.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {

void detail::place_all_angles(const Model& model, const ConstVectorRef& q, Data& data) {
  const int count = static_cast<int>(model.angle_q.size());
  for (int i = 0; i < count; ++i) data.angle[i] = q[model.angle_q[i]] - model.angle_reference[i];
  sincos(data.angle.data(), count, data.angle_sine.data(), data.angle_cosine.data());
}

void forward_kinematics(const Model& model, const Parameters& parameters, const ConstVectorRef& q, Data& data) {
  require_size("q", q.size(), model.nq);
  detail::place_all_angles(model, q, data);
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) detail::place_body(model, parameters, q.data(), b, data);
  }
}

void forward_kinematics(const Model& model, const Parameters& parameters, const State& state, Data& data) {
  require_size("state.q", state.q.size(), model.nq);
  require_size("state.mocap", std::ssize(state.mocap), model.nmocap);
  detail::place_all_angles(model, state.q, data);
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      const int mocap = model.body_kernels[b].mocap;
      if (mocap < 0) {
        detail::place_body(model, parameters, state.q.data(), b, data);
      } else {
        const Transform& X = state.mocap[mocap];
        data.X_WB[b] = Pose({X.position, X.rotation.normalized()});
      }
    }
  }
}

void forward_velocity(const Model& model, const ConstVectorRef& v, Data& data) {
  require_size("v", v.size(), model.nv);
  Motion unused;
  for (const IndexRange& range : data.scope.bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      const BodyKernel& body = model.body_kernels[b];
      if (body.tree < 0) continue;
      Motion velocity = data.velocity[body.parent];
      detail::move_body<false>(model, body, v.data(), data, velocity, unused);
      data.velocity[b] = velocity;
    }
  }
}

void forward_acceleration(const Model& model, const ConstVectorRef& v, const ConstVectorRef& a, Data& data) {
  require_size("v", v.size(), model.nv);
  require_size("a", a.size(), model.nv);
  data.acceleration[0] = Motion();
  for (int b = 1; b < model.nbody; ++b) {
    const BodyKernel& body = model.body_kernels[b];
    if (body.tree < 0) {
      data.acceleration[b] = Motion();
      continue;
    }
    Motion velocity = data.velocity[body.parent];
    Motion acceleration = data.acceleration[body.parent];
    detail::move_body<true>(model, body, v.data(), data, velocity, acceleration);
    for (int i = body.first_dof; i < body.first_dof + body.dof_count; ++i) acceleration += data.S[i] * a[i];
    data.velocity[b] = velocity;
    data.acceleration[b] = acceleration;
  }
}

// --- bodies and points ---

namespace {

// The point's position from the reference point of the body's tree.
Vec3 from_reference(const Model& model, const Data& data, int body, const Vector3& point) {
  const int tree = model.body_kernels[body].tree;
  return tree < 0 ? Vec3(point) : Vec3(point) - data.reference_point[tree];
}

Vector6 stacked(Vec3 linear, Vec3 angular) {
  Vector6 result;
  result << linear.eigen(), angular.eigen();
  return result;
}

}  // namespace

Transform body_pose(const Data& data, int body) { return data.X_WB[body].transform(); }

Transform site_pose(const Model& model, const Data& data, int site) {
  return (data.X_WB[model.sites[site].body] * Pose(model.sites[site].pose)).transform();
}

Transform shape_pose(const Model& model, const Data& data, int shape) {
  return (data.X_WB[model.shapes[shape].body] * Pose(model.shapes[shape].pose)).transform();
}

Vector6 point_velocity(const Model& model, const Data& data, int body, const Vector3& point) {
  const Motion& v = data.velocity[body];
  return stacked(v.linear + cross(v.angular, from_reference(model, data, body, point)), v.angular);
}

Vector6 point_acceleration(const Model& model, const Data& data, int body, const Vector3& point) {
  const Vec3 r = from_reference(model, data, body, point);
  const Motion& v = data.velocity[body];
  const Motion& a = data.acceleration[body];
  const Vec3 v_point = v.linear + cross(v.angular, r);
  return stacked(a.linear + cross(a.angular, r) + cross(v.angular, v_point), a.angular);
}

void point_jacobian(const Model& model, const Data& data, int body, const Vector3& point, Eigen::Ref<Matrix6X> J) {
  J.setZero();
  const Vec3 r = from_reference(model, data, body, point);
  for (int i = model.body_last_dof[body]; i >= 0; i = model.dof_parent[i]) {
    const Motion& S = data.S[i];
    J.col(i) = stacked(S.linear + cross(S.angular, r), S.angular);
  }
}

// With r the point from O and p' its velocity, the column l + w x r changes by l' + w' x r + w x p', where
// (w', l') = dS/dt = v x S, v being the velocity of the body that carries the dof.
void point_jacobian_dot(const Model& model, const Data& data, const ConstVectorRef& v, int body, const Vector3& point,
                        Eigen::Ref<Matrix6X> J_dot) {
  J_dot.setZero();
  const Vec3 r = from_reference(model, data, body, point);
  const Motion& v_body = data.velocity[body];
  const Vec3 point_rate = v_body.linear + cross(v_body.angular, r);
  for (int i = model.body_last_dof[body]; i >= 0; i = model.dof_parent[i]) {
    const Motion S_dot = detail::axis_rate(model, v.data(), data, i);
    const Vec3 linear = S_dot.linear + cross(S_dot.angular, r) + cross(data.S[i].angular, point_rate);
    J_dot.col(i) = stacked(linear, S_dot.angular);
  }
}

void body_jacobian_local(const Model& model, const Data& data, int body, Eigen::Ref<Matrix6X> J) {
  const Pose& X = data.X_WB[body];
  point_jacobian(model, data, body, X.p.eigen(), J);
  const Matrix3 R_BW = X.R.eigen().transpose();
  for (int i = model.body_last_dof[body]; i >= 0; i = model.dof_parent[i]) {
    J.col(i).head<3>() = (R_BW * J.col(i).head<3>()).eval();
    J.col(i).tail<3>() = (R_BW * J.col(i).tail<3>()).eval();
  }
}

void site_jacobian(const Model& model, const Data& data, int site, Eigen::Ref<Matrix6X> J) {
  const int body = model.sites[site].body;
  point_jacobian(model, data, body, (data.X_WB[body] * Vec3(model.sites[site].pose.position)).eigen(), J);
}

}  // namespace touchstone
