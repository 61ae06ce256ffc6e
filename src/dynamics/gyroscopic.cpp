#include "touchstone/dynamics/gyroscopic.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/LU>

#include "touchstone/base/index.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {
namespace {

constexpr int kMostSteps = 10;
constexpr double kSettled = 1e-15;   // of the angular momentum
constexpr double kHarmless = 1e-13;  // of it: a torque that changes less in a step

}  // namespace

// M couples the velocity of the origin with the angular velocity by B, and I = A - B B'/m.
Matrix3 central_inertia(const Model& model, const VectorX& M, int dof) {
  Matrix3 A, B;
  for (int i = 0; i < 3; ++i) {
    const double* row = M.data() + model.row_start[at(dof + 3 + i)];
    for (int j = 0; j < 3; ++j) B(i, j) = row[j];
    for (int j = 0; j <= i; ++j) A(i, j) = A(j, i) = row[3 + j];
  }
  const double mass = M[model.row_start[at(dof)]];
  return A - B * B.transpose() / mass;
}

bool conserves_spin(const Model& model, const Parameters& parameters, int joint) {
  return (parameters.dof_armature.segment<6>(model.joint_dof[at(joint)]).array() == 0.0).all();
}

Vector3 next_spin(const Matrix3& I, const Vector3& w, double h) {
  const Vector3 momentum = I * w;
  Vector3 next = w;
  for (int step = 0; step < kMostSteps; ++step) {
    const Vector3 mean = 0.5 * (w + next), mean_momentum = I * mean;
    const Vector3 error = I * (next - w) + h * mean.cross(mean_momentum);
    if (!(error.norm() > kSettled * momentum.norm())) break;
    const Matrix3 slope = I + 0.5 * h * (skew(mean) * I - skew(mean_momentum));
    next -= slope.partialPivLu().solve(error);
  }
  const double energy = next.dot(I * next);
  if (!next.allFinite() || !(energy > 0.0)) return w;
  return std::sqrt(w.dot(momentum) / energy) * next;
}

void conserve_spin(const Model& model, const Parameters& parameters, const State& state, double h, Data& data) {
  const auto add_to = [&](int dof) {
    const Vector3 w = state.v.segment<3>(dof + 3);
    const Matrix3 I = central_inertia(model, data.M, dof);
    const Vector3 momentum = I * w, torque = w.cross(momentum);
    if (!(h * torque.norm() > kHarmless * momentum.norm())) return;
    data.smooth_force.segment<3>(dof + 3) += I * (next_spin(I, w, h) - w) / h + torque;
  };
  const std::vector<int>& joints = model.free_joints;  // ascending
  for (const IndexRange& range : data.scope.joints) {
    for (auto joint = std::lower_bound(joints.begin(), joints.end(), range.begin);
         joint != joints.end() && *joint < range.end; ++joint) {
      if (conserves_spin(model, parameters, *joint)) add_to(model.joint_dof[at(*joint)]);
    }
  }
}

}  // namespace touchstone
