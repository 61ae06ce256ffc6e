#include "support/maximal_compare.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/dynamics/maximal.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/assemble.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone::test {
namespace {

constexpr double kStep = 1e-3;

MatrixX dense_rows(const Model& model, const Constraints& c) {
  MatrixX J = MatrixX::Zero(c.rows(), model.nv);
  VectorX lambda = VectorX::Zero(c.rows()), column(model.nv);
  for (int r = 0; r < c.rows(); ++r) {
    lambda.setZero();
    lambda[r] = 1.0;
    column.setZero();
    add_constraint_force(model, c, lambda, column);
    J.row(r) = column;
  }
  return J;
}

struct Step {
  VectorX v_next, lambda;
  Constraints constraints;
  Data data;
  std::vector<int> rows;  // where blocks begin
  explicit Step(const Model& model) : data(model) {}
};

// A (v' - v_free) = J' lambda, J v' + h dJ/dt v + b + R lambda = 0 for all rows: hard ones with R = 0. dJ/dt v by
// central differences of J v, extrapolated.
Step solve_step(const Model& model, const State& state) {
  Step result(model);
  const Input input(model);
  const ReferenceWeights weights(model);
  const StabilisationOptions stabilisation;
  const ConstraintRules& rules = rules_of(ConstraintModel::kRigid);
  const auto assemble = [&](const State& s, Data& data, Constraints& c) {
    EXPECT_TRUE(compute_free_motion(model, model.defaults, s, input, kStep, data, ServoMode::kBounded));
    assemble_constraints({{model, data, {}, rules}, model.defaults, s, weights, kStep, kStep, stabilisation}, c);
  };
  assemble(state, result.data, result.constraints);
  const Constraints& c = result.constraints;
  const auto rates = [&](double time) {
    State moved = state;
    integrate(model, state.q, state.v, time, moved.q);
    Data data(model);
    Constraints there;
    assemble(moved, data, there);
    VectorX u(c.rows());
    EXPECT_EQ(there.rows(), c.rows());
    constraint_velocity(model, there, state.v, u);
    return u;
  };
  constexpr double kDifference = 1e-4;
  const VectorX coarse = (rates(2.0 * kDifference) - rates(-2.0 * kDifference)) / (4.0 * kDifference);
  const VectorX fine = (rates(kDifference) - rates(-kDifference)) / (2.0 * kDifference);
  const VectorX drift = (4.0 * fine - coarse) / 3.0;
  const MatrixX J = dense_rows(model, c);
  VectorX g = J * result.data.v_free + kStep * drift, root = VectorX::Zero(c.rows());
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& one = c.list[at(block)];
    if (one.kind == ConstraintKind::kLoopSpring) {  // its law has the share of armature already
      const int row = c.blocks.row[at(block)];
      g[row] -= kStep * drift[row] * loop_coordinate(model, one.index).armature * c.compliance[row];
    }
    for (int r = c.blocks.row[at(block)]; r < c.blocks.row[at(block + 1)]; ++r) {
      if (entry_of(one.kind).violation != Violation::kNone) continue;  // held: neither b nor R
      root[r] = std::sqrt(c.compliance[r]);
      g[r] += c.bias[r];
    }
  }
  result.lambda = VectorX::Zero(c.rows());
  result.v_next = result.data.v_free;
  if (c.rows() == 0) return result;
  // W' W lambda = -g with W = [C' J'; R^1/2] and A^-1 = C C', which has half of the digits of condition that W' W has.
  MatrixX inverse = MatrixX::Identity(model.nv, model.nv);
  for (int i = 0; i < model.nv; ++i) {
    VectorX column = inverse.col(i);
    solve(model, result.data, column);
    inverse.col(i) = column;
  }
  const MatrixX C = inverse.llt().matrixL();
  MatrixX W(model.nv + c.rows(), c.rows());
  W << C.transpose() * J.transpose(), MatrixX(root.asDiagonal());
  constexpr double kRankShare = 1e-8;  // rows that say the same do so as well as loops are closed
  Eigen::CompleteOrthogonalDecomposition<MatrixX> rows(c.rows(), W.rows()), columns(W.rows(), c.rows());
  rows.setThreshold(kRankShare);
  columns.setThreshold(kRankShare);
  const VectorX z = rows.compute(W.transpose()).solve(-g);
  result.lambda = columns.compute(W).solve(z);
  result.v_next += C * z.head(model.nv);
  return result;
}

// The wrench that body b gets through its joint, about a point, from how its subtree accelerates.
Vector6 wrench_through_joint(const Model& model, const Data& data, int body, const Vector3& point) {
  Vector6 total = Vector6::Zero();
  for (int b = body; b < model.nbody; ++b) {
    int ancestor = b;
    while (ancestor > body) ancestor = model.bodies[at(ancestor)].parent;
    if (ancestor != body) continue;
    const BodyInertia& I = model.defaults.body_inertia[at(b)];
    const Vector3 com = (data.X_WB[at(b)] * I.com).eigen();
    const Vector6 acceleration = point_acceleration(model, data, b, com);
    const Matrix3 R = data.X_WB[at(b)].R.eigen(), inertia = R * I.inertia.eigen() * R.transpose();
    const Vector3 w = data.velocity[at(b)].angular.eigen(), alpha = acceleration.tail<3>();
    const Vector3 force = I.mass * (acceleration.head<3>() - model.defaults.gravity);
    total.head<3>() += force;
    total.tail<3>() += inertia * alpha + w.cross(inertia * w) + (com - point).cross(force);
  }
  return total;
}

// The share of a wrench through a loop joint that its held motions take; the rest acts along its coordinates: springs,
// dampers, armature, actuators and couplings.
Vector6 held_part(const Model& model, const Data& data, const State& state, int j, const Vector6& wrench) {
  const LoopJoint& joint = model.loop_joints[at(j)];
  const LoopFrames frames = moving_frames(model, data, joint);
  LoopRow rows[kMostLoopRows + kMostLoopCoordinates];
  const int held = row_count(joint.type), all = held + static_cast<int>(joint.coordinates.size());
  loop_coordinates(model, data, state.loop_memory(), j, rows + held);
  const double angle = joint.type == LoopJointType::kScrew ? rows[held].value - joint.coordinates[0].reference : 0.0;
  loop_rows(joint, frames, angle, rows);
  MatrixX basis(6, all);
  for (int r = 0; r < all; ++r) basis.col(r) << rows[r].linear.eigen(), rows[r].angular.eigen();
  const VectorX share = basis.colPivHouseholderQr().solve(wrench);
  return basis.leftCols(held) * share.head(held);
}

}  // namespace

void compare_coordinates(const ModelPtr& reduced, const ModelPtr& maximal, const State& state, bool reactions,
                         MaximalFigures& worst) {
  const State there = to_maximal_state(*reduced, *maximal, state);
  const Step a = solve_step(*reduced, state), b = solve_step(*maximal, there);
  // Accelerations of bodies in reduced coordinates.
  Data data(*reduced);
  forward_kinematics(*reduced, reduced->defaults, state, data);
  forward_velocity(*reduced, state.v, data);
  forward_acceleration(*reduced, state.v, (a.v_next - state.v) / kStep, data);
  double scale = 1.0;
  for (int i = 1; i < reduced->nbody; ++i) {
    if (reduced->body_kernels[at(i)].joint_count == 0) continue;
    const Transform X = body_pose(data, i);
    Vector6 expected = point_acceleration(*reduced, data, i, X.position);
    expected.tail<3>() = X.rotation.conjugate() * Vector3(expected.tail<3>());
    const int body = maximal->body(reduced->bodies[at(i)].name);
    const int dof = maximal->body_kernels[at(body)].first_dof;
    const Vector6 actual = (b.v_next - there.v).segment<6>(dof) / kStep;
    scale = std::max(scale, expected.norm());
    worst.acceleration = std::max(worst.acceleration, (actual - expected).norm() / scale);
  }
  if (!reactions) return;
  const ConstraintRules& rules = rules_of(ConstraintModel::kRigid);
  const ConstraintScene scene{*maximal, b.data, {}, rules};
  const Constraints& c = b.constraints;
  const int first = static_cast<int>(reduced->loop_joints.size());
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& one = c.list[at(block)];
    if (one.kind != ConstraintKind::kLoopJoint || one.index < first) continue;
    PairWrench w;
    ASSERT_TRUE(entry_of(one.kind).wrench(scene, one, b.lambda.data() + c.blocks.row[at(block)], w));
    Vector6 held;
    held << w.force.eigen() / kStep, w.torque.eigen() / kStep;
    const LoopJoint& joint = maximal->loop_joints[at(one.index)];
    const int body = reduced->body(maximal->bodies[at(joint.body_b)].name);
    const Vector3 point = body_pose(data, body) * joint.frame_b.position;
    const Vector6 through = wrench_through_joint(*reduced, data, body, point);
    const Vector6 expected = held_part(*maximal, b.data, there, one.index, through);
    worst.reaction = std::max(worst.reaction, (held - expected).norm() / (1.0 + through.norm()));
  }
}

}  // namespace touchstone::test
