#include "touchstone/sim/reference_weights.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone {
namespace {

using Matrix6 = Eigen::Matrix<double, 6, 6>;

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

// Mean over the dofs of one kind of a joint.
void average_dofs(const Model& model, VectorX& weights) {
  for (int j = 0; j < model.njoint; ++j) {
    const int dof = model.joint_dof[at(j)];
    if (model.joints[at(j)].type == JointType::kBall) average(weights, dof, 3);
    if (model.joints[at(j)].type == JointType::kFree) {
      average(weights, dof, 3);
      average(weights, dof + 3, 3);
    }
  }
}

Vector6 vector_of(const Motion& m) {
  return {m.angular[0], m.angular[1], m.angular[2], m.linear[0], m.linear[1], m.linear[2]};
}
Vector6 vector_of(const Force& f) {
  return {f.torque[0], f.torque[1], f.torque[2], f.force[0], f.force[1], f.force[2]};
}

// Of the centre of mass at c, from the mobility of a body: [angular; linear] velocity for [torque; force].
Vector2 weigh_body(const Matrix6& W, Vec3 c) {
  Eigen::Matrix<double, 3, 6> J;  // velocity at c: l + w x c
  J << -skew(c.eigen()), Matrix3::Identity();
  return {(J * W * J.transpose()).trace() / 3.0, W.topLeftCorner<3, 3>().trace() / 3.0};
}

// How bodies and dofs give way, from the root outwards in O(n), with the articulated inertias that aba has left in
// `data`: a force on the body beyond dof i reaches the parent as (1 - U D^-1 S') f, and what the parent does comes back
// as (1 - S D^-1 U') a, so W_i = (1 - S D^-1 U') W_parent (1 - U D^-1 S') + S D^-1 S'. Returns false for massless
// parts.
bool weigh_outwards(const Model& model, const Data& data, VectorX& dofs, std::vector<Vector2>& bodies) {
  std::vector<Matrix6> mobility(at(model.nbody), Matrix6::Zero());
  for (int b = 1; b < model.nbody; ++b) {
    const BodyKernel& body = model.body_kernels[at(b)];
    if (body.tree < 0) continue;
    Matrix6 W = mobility[at(body.parent)];
    for (int i = body.first_dof; i < body.first_dof + body.dof_count; ++i) {
      const double D_inverse = data.D_inverse[i];
      if (!(D_inverse > 0.0) || !std::isfinite(D_inverse)) return false;
      const Vector6 S = vector_of(data.S[at(i)]), WU = W * vector_of(data.U[at(i)]) * D_inverse;
      dofs[i] = D_inverse * (1.0 + vector_of(data.U[at(i)]).dot(WU));
      W += dofs[i] * S * S.transpose() - S * WU.transpose() - WU * S.transpose();
    }
    mobility[at(b)] = W;
    if (model.body_last_dof[at(b)] >= 0) bodies[at(b)] = weigh_body(W, data.body_com[at(b)]);
  }
  return true;
}

// The same by solves, each along the path of a dof or body: for tendons with armature, which couple joints.
void weigh_by_solves(const Model& model, const Data& data, VectorX& dofs, std::vector<Vector2>& bodies) {
  VectorX column(model.nv);
  for (int i = 0; i < model.nv; ++i) {
    column = VectorX::Unit(model.nv, i);
    solve(model, data, column);
    dofs[i] = column[i];
  }
  Matrix6X J(6, model.nv);
  MatrixX solved(model.nv, 6);
  for (int b = 1; b < model.nbody; ++b) {
    if (model.body_last_dof[at(b)] < 0) continue;
    const Vec3 com = data.body_com[at(b)] + data.reference_point[at(model.body_kernels[at(b)].tree)];
    point_jacobian(model, data, b, com.eigen(), J);
    solved = J.transpose();
    solve_path(model, data, b, solved);
    const Vector6 diagonal = (J * solved).diagonal();
    bodies[at(b)] = {diagonal.head<3>().mean(), diagonal.tail<3>().mean()};
  }
}

void weigh_tendons(const Model& model, const Data& data, VectorX& weights) {
  for (int t = 0; t < model.ntendon; ++t) {
    VectorX row = VectorX::Zero(model.nv);
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      row[model.joint_dof[at(term.joint)]] += term.coefficient;
    }
    VectorX column = row;
    solve(model, data, column);
    weights[t] = row.dot(column);
  }
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
  const bool coupled = (parameters.tendon_armature.array() != 0.0).any();
  if (model.ntendon > 0 && !factorize(model, data)) return;  // massless parts: nothing can be weighed
  if (model.ntendon > 0) weigh_tendons(model, data, tendon);
  if (coupled) {
    weigh_by_solves(model, data, dof, body);
  } else {
    VectorX rest = VectorX::Zero(model.nv), ignored(model.nv);
    aba(model, parameters, model.reference_q, rest, rest, data, ignored);
    if (!weigh_outwards(model, data, dof, body)) {
      dof.setZero();
      std::fill(body.begin(), body.end(), Vector2::Zero());
      return;
    }
  }
  average_dofs(model, dof);
}

}  // namespace touchstone
