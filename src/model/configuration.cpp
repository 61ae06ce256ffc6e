#include "touchstone/model/configuration.hpp"

#include <cmath>
#include <numbers>

#include "touchstone/base/error.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone {

namespace {

void store(const Quaternion& rotation, VectorRef q, int i) {
  q[i] = rotation.w();
  q.segment<3>(i + 1) = rotation.vec();
}

// Calls rotation(q, dof) or scalar(q, dof) for each part of some joints; a free joint is three scalars and a rotation.
template <typename Rotation, typename Scalar>
void for_each_coordinate(const Model& model, IndexRange joints, Rotation&& rotation, Scalar&& scalar) {
  for (int j = joints.begin; j < joints.end; ++j) {
    const int q = model.joint_q[j];
    const int dof = model.joint_dof[j];
    switch (model.joints[j].type) {
      case JointType::kFree:
        for (int i = 0; i < 3; ++i) scalar(q + i, dof + i);
        rotation(q + 3, dof + 3);
        break;
      case JointType::kBall:
        rotation(q, dof);
        break;
      default:
        scalar(q, dof);
        break;
    }
  }
}

template <typename Rotation, typename Scalar>
void for_each_coordinate(const Model& model, Rotation&& rotation, Scalar&& scalar) {
  for_each_coordinate(model, IndexRange{0, model.njoint}, rotation, scalar);
}

}  // namespace

void integrate(const Model& model, const ConstVectorRef& q, const ConstVectorRef& v, double h, VectorRef q_next) {
  const IndexRange joints[] = {{0, model.njoint}};
  integrate(model, joints, q, v, h, q_next);
}

void integrate(const Model& model, std::span<const IndexRange> joints, const ConstVectorRef& q, const ConstVectorRef& v,
               double h, VectorRef q_next) {
  require_size("q", q.size(), model.nq);
  require_size("v", v.size(), model.nv);
  require_size("q_next", q_next.size(), model.nq);
  for (const IndexRange& range : joints) {
    for_each_coordinate(
        model, range,
        [&](int i, int dof) {
          const Vector3 turn = h * v.segment<3>(dof);
          store((quaternion_at(q, i) * so3_exp(turn)).normalized(), q_next, i);
        },
        [&](int i, int dof) { q_next[i] = q[i] + h * v[dof]; });
  }
}

void difference(const Model& model, const ConstVectorRef& q0, const ConstVectorRef& q1, VectorRef v) {
  require_size("q0", q0.size(), model.nq);
  require_size("q1", q1.size(), model.nq);
  require_size("v", v.size(), model.nv);
  for_each_coordinate(
      model,
      [&](int i, int dof) {
        v.segment<3>(dof) = so3_log((quaternion_at(q0, i).conjugate() * quaternion_at(q1, i)).normalized());
      },
      [&](int i, int dof) { v[dof] = q1[i] - q0[i]; });
}

void interpolate(const Model& model, const ConstVectorRef& q0, const ConstVectorRef& q1, double s, VectorRef q) {
  require_size("q0", q0.size(), model.nq);
  require_size("q1", q1.size(), model.nq);
  require_size("q", q.size(), model.nq);
  for_each_coordinate(
      model,
      [&](int i, int) {
        store(so3_interpolate(quaternion_at(q0, i).normalized(), quaternion_at(q1, i).normalized(), s), q, i);
      },
      [&](int i, int) { q[i] = (1.0 - s) * q0[i] + s * q1[i]; });
}

void random_configuration(const Model& model, std::mt19937_64& random, VectorRef q) {
  require_size("q", q.size(), model.nq);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  for_each_coordinate(
      model,
      [&](int i, int) {
        Quaternion rotation(normal(random), normal(random), normal(random), normal(random));
        store(rotation.normalized(), q, i);
      },
      [&](int i, int dof) {
        const Joint& joint = model.joints[model.dof_joint[dof]];
        const double u = unit(random);
        if (joint.limited)
          q[i] = joint.range[0] + 0.5 * (u + 1.0) * (joint.range[1] - joint.range[0]);
        else
          q[i] = model.reference_q[i] + (joint.type == JointType::kHinge ? std::numbers::pi : 1.0) * u;
      });
}

void normalize(const Model& model, VectorRef q) {
  require_size("q", q.size(), model.nq);
  for_each_coordinate(
      model,
      [&](int i, int) {
        const Quaternion rotation = quaternion_at(q, i);
        const double length = rotation.norm();
        store(length > 1e-15 ? Quaternion(rotation.coeffs() / length) : Quaternion::Identity(), q, i);
      },
      [](int, int) {});
}

}  // namespace touchstone
