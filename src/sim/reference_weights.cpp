#include "touchstone/sim/reference_weights.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone {
namespace {

constexpr double kAnyLength = 0.1;  // m, for what has no mass

// Mean over each group of dofs of one kind.
void average(VectorX& values, int first, int count) {
  values.segment(first, count).setConstant(values.segment(first, count).mean());
}

bool is_translation(const Model& model, int dof) {
  const int j = model.dof_joint[at(dof)];
  const JointType type = model.joints[at(j)].type;
  return type == JointType::kSlide || (type == JointType::kFree && dof - model.joint_dof[at(j)] < 3);
}

void weigh_dofs(const Model& model, const Data& data, VectorX& weights) {
  VectorX column(model.nv);
  for (int i = 0; i < model.nv; ++i) {
    column = VectorX::Unit(model.nv, i);
    solve(model, data, column);
    weights[i] = column[i];
  }
  for (int j = 0; j < model.njoint; ++j) {
    const int dof = model.joint_dof[at(j)];
    if (model.joints[at(j)].type == JointType::kBall) average(weights, dof, 3);
    if (model.joints[at(j)].type == JointType::kFree) {
      average(weights, dof, 3);
      average(weights, dof + 3, 3);
    }
  }
}

Vector2 weigh_body(const Model& model, const Data& data, int body, Matrix6X& J, MatrixX& solved) {
  if (model.body_last_dof[at(body)] < 0) return Vector2::Zero();
  const int tree = model.body_kernels[at(body)].tree;
  const Vec3 com = data.body_com[at(body)] + data.reference_point[at(tree)];
  point_jacobian(model, data, body, com.eigen(), J);
  solved = J.transpose();
  solve_path(model, data, body, solved);
  const Eigen::Matrix<double, 6, 1> diagonal = (J * solved).diagonal();
  return {diagonal.head<3>().mean(), diagonal.tail<3>().mean()};
}

double gyration(double moment, double mass) {
  const double length = std::sqrt(moment / mass);
  return mass > 0.0 && length > 0.0 ? length : kAnyLength;  // also for what is not finite
}

}  // namespace

ReferenceWeights::ReferenceWeights(const Model& model)
    : body(at(model.nbody), Vector2::Zero()),
      dof(VectorX::Zero(model.nv)),
      tendon(VectorX::Zero(model.ntendon)),
      body_length(at(model.nbody), kAnyLength),
      dof_length(VectorX::Ones(model.nv)),
      tendon_length(VectorX::Ones(model.ntendon)) {
  const Parameters& parameters = model.defaults;
  Data data(model);
  forward_kinematics(model, parameters, model.reference_q, data);
  crba(model, parameters, data);
  for (int b = 1; b < model.nbody; ++b) {
    const BodyInertia& I = parameters.body_inertia[at(b)];
    body_length[at(b)] = gyration(0.5 * (I.inertia.c0.x() + I.inertia.c1.y() + I.inertia.c2.z()), I.mass);
  }
  for (int i = 0; i < model.nv; ++i) {
    if (is_translation(model, i)) continue;
    const double moment = data.M[model.row_start[at(i)] + model.row_length[at(i)] - 1] - parameters.dof_armature[i];
    dof_length[i] = gyration(moment, data.composite_inertia[at(model.dof_body[at(i)])].mass);
  }
  for (int t = 0; t < model.ntendon; ++t) {
    double longest = 0.0, coefficient = 0.0;
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      longest = std::max(longest, dof_length[model.joint_dof[at(term.joint)]]);
      coefficient = std::max(coefficient, std::abs(term.coefficient));
    }
    if (coefficient > 0.0) tendon_length[t] = longest / coefficient;
  }
  if (!factorize(model, data)) return;  // massless parts: nothing can be weighed
  weigh_dofs(model, data, dof);
  Matrix6X J(6, model.nv);
  MatrixX solved(model.nv, 6);
  for (int b = 1; b < model.nbody; ++b) body[at(b)] = weigh_body(model, data, b, J, solved);
  for (int t = 0; t < model.ntendon; ++t) {
    VectorX row = VectorX::Zero(model.nv);
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      row[model.joint_dof[at(term.joint)]] += term.coefficient;
    }
    VectorX column = row;
    solve(model, data, column);
    tendon[t] = row.dot(column);
  }
}

}  // namespace touchstone
