// What midpoint rules (Moreau's) add to the derivatives of a step. Forces and rows are taken where the old velocity
// leads in half a step, q_m = q + (h/2) v, and the new velocity moves that by the other half: columns of q are those of
// q_m until the end, where they are taken back to the start.
//
// With loops (sim/integrators/moreau_midpoint.hpp) Coriolis and centrifugal forces are those of the mean velocity,
//     A (v' - v) = h (f - C(q_m, (v + v')/2)) + J' lambda,
// so that A + (h/2) dC/dv takes the place of A, and loops hold for the mean of v' and a velocity that is v, less a
// share of an alternation of the last four velocities. Older ones than v are taken to be constant: they are no part of
// x. In substeps those are chained (step_chain.cpp).
#include "touchstone/base/index.hpp"
#include "touchstone/diff/rotations.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/integrators/loop_velocity.hpp"

namespace touchstone {
namespace {

// Calls use(first dof, turn) for rotations.
template <typename Use>
void visit_turns(const Model& model, const VectorX& v, double time, const Use& use) {
  for (int j = 0; j < model.njoint; ++j) {
    const JointType type = model.joints[at(j)].type;
    if (type != JointType::kBall && type != JointType::kFree) continue;
    const int dof = model.joint_dof[at(j)] + (type == JointType::kFree ? 3 : 0);
    use(dof, Vector3(time * v.segment<3>(dof)));
  }
}

// Columns of a configuration that lies ahead, to those of the start and of its velocity.
template <typename Columns>
void take_back(const Model& model, const VectorX& v, double ahead, Columns& columns) {
  if (!(ahead > 0.0)) return;
  const int nv = model.nv;
  columns.middleCols(nv, nv) += ahead * columns.leftCols(nv);
  visit_turns(model, v, ahead, [&](int i, const Vector3& turn) {
    const Matrix3 by_speed = ahead * (right_jacobian(turn) - Matrix3::Identity()),
                  back = so3_exp(-turn).toRotationMatrix();
    for (Eigen::Index row = 0; row < columns.rows(); ++row) {
      const Eigen::RowVector3d own = columns.template block<1, 3>(row, i);
      columns.template block<1, 3>(row, nv + i) += own * by_speed;
      columns.template block<1, 3>(row, i) = own * back;
    }
  });
}

}  // namespace

void StepDerivatives::set_here(const StepContext& step) {
  here_ = step.before;
  remaining_ = step.remaining;
  ahead_ = step.h - step.remaining;
  if (ahead_ > 0.0) integrate(model_, step.before.q, step.before.v, ahead_, here_.q);
  is_settled_ = ahead_ > 0.0 && step.loop_velocity != nullptr && may_have_loops(model_);
  bias_velocity_ = step.before.v;
  if (is_settled_) bias_velocity_ = 0.5 * (step.before.v + step.v_next);
}

// After the derivatives of rnea at the mean velocity: (A + (h/2) dC/dv) (dv' - dv) = -h dC/dv dv + ..
void StepDerivatives::settle_bias(const StepContext& step) {
  const int nv = model_.nv;
  tree_inverse_.setIdentity(nv, nv);
  solve_columns(model_, step.data.L, step.data.D_inverse, tree_inverse_);
  dense_scratch_.noalias() = (0.5 * h_) * tree_inverse_ * dynamics_.dtau_dv;
  dense_scratch_.diagonal().array() += 1.0;
  dense_factor_.compute(dense_scratch_);
  inverse_ = dense_factor_.solve(tree_inverse_);
  main_.set_inverse(&inverse_);
}

bool StepDerivatives::holds_loop(const StepContext& step, const Constraint& constraint) {
  const bool is_loop = constraint.kind == ConstraintKind::kEquality || constraint.kind == ConstraintKind::kLoopJoint;
  return is_loop && !is_softened(step, constraint);
}

// J of the velocity that loops hold against, which is in their b.
void StepDerivatives::add_old_velocity(const StepContext& step) {
  const Constraints& c = step.constraints;
  const VectorX& old = *step.loop_velocity;
  // That of the variational rule depends on v by its equation (take_rows_to_start), but for an alternation.
  const double share = (is_variational_ ? 0.0 : 1.0) - (step.damps_alternation ? kAlternationShare / 8.0 : 0.0);
  velocity_derivatives(model_, old, data_, V_S_);
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    if (!holds_loop(step, constraint)) continue;
    const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
    if (constraint.kind == ConstraintKind::kEquality) add_coupling(constraint, first, 0.0, old, main_);
    main_.rows().block(first, model_.nv, size, model_.nv) += share * main_.J().middleRows(first, size);
    PairWrench wrench;
    if (!find_pair(step, constraint, step.lambda.data() + first, wrench)) continue;
    set_motion(step, constraint, wrench);
    for (int k = 0; k < motion_.count; ++k) {
      double values[kMaxBlockSize] = {};
      row_rate(constraint, V_S_, k, values);
      for (int r = 0; r < size; ++r) main_.rows()(first + r, motion_.dofs[at(k)]) += values[r];
    }
  }
  rate_.set_zero(c.rows(), model_.nv);  // of the new velocity alone
  old_V_S_.resize(V_S_.size());
  velocity_derivatives(model_, step.before.v, data_, old_V_S_);
}

// dq_m = exp(-turn) dq + (h/2) Jr(turn) dv for rotations, dq + (h/2) dv else.
void StepDerivatives::take_columns_to_start() { take_back(model_, here_.v, ahead_, A); }

// The same of any matrix with columns of x, u and theta.
void StepDerivatives::take_matrix_to_start(RowMatrixRef columns) const {
  if (columns.rows() > 0) take_back(model_, here_.v, ahead_, columns);
}

void StepDerivatives::take_to_start(VectorX& columns_bar) const {
  if (!(ahead_ > 0.0)) return;
  const int nv = model_.nv;
  columns_bar.segment(nv, nv) += ahead_ * columns_bar.head(nv);
  visit_turns(model_, here_.v, ahead_, [&](int i, const Vector3& turn) {
    const Vector3 own = columns_bar.segment<3>(i);
    columns_bar.segment<3>(nv + i) += ahead_ * (right_jacobian(turn).transpose() * own - own);
    columns_bar.segment<3>(i) = so3_exp(turn).toRotationMatrix() * own;
  });
}

void StepDerivatives::take_from_start(VectorX& columns) const {
  if (!(ahead_ > 0.0)) return;
  const int nv = model_.nv;
  visit_turns(model_, here_.v, ahead_, [&](int i, const Vector3& turn) {
    const Vector3 own = columns.segment<3>(i), speed = columns.segment<3>(nv + i);
    // Less what is added to all below.
    columns.segment<3>(i) = so3_exp(-turn).toRotationMatrix() * own + ahead_ * (right_jacobian(turn) * speed - speed);
  });
  columns.head(nv) += ahead_ * columns.segment(nv, nv);
}

}  // namespace touchstone
