// The part of compliant laws in the derivatives of a step: how impulses change with the state at fixed velocities.
#include <algorithm>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/contact/laws/mobility.hpp"
#include "touchstone/diff/step_derivatives.hpp"

namespace touchstone {

// By gap and speed at the start of the step, with the velocities of the start, which are lost; and by mobilities.
void StepDerivatives::add_law_rates(const StepContext& step, CompliantModel model) {
  const Constraints& c = step.constraints;
  const int nv = model_.nv;
  row_velocity_.resize(c.rows(), 1).noalias() = main_.J() * velocity_;
  laws_.prepare(c, model, step.h, main_.form_mobility(model_, c, step.data.L, step.data.D_inverse),
                row_velocity_.view());
  main_.form_inverse_rows(model_);
  if (!theta_.frictions.empty() || !theta_.joint_frictions.empty()) {
    laws_.prepare_frictions(c, row_velocity_.view());
  }
  if (theta_.materials() > static_cast<int>(theta_.frictions.size())) {
    laws_.prepare_materials(c, row_velocity_.view());
  }
  ImplicitBalance::View changes = main_.set_law_changes(0, ntheta_ > 0 ? columns_ : 2 * nv);
  for (int block = 0; block < c.count(); ++block) {
    if (c.list[at(block)].kind != ConstraintKind::kContact) continue;
    const int normal = c.blocks.row[at(block + 1)] - 1;
    for (int row = c.blocks.row[at(block)]; row <= normal; ++row) {
      changes.row(row).head(nv) += laws_.by_gap()[row] * main_.J().row(normal);
      if (laws_.by_speed()[row] != 0.0) add_approach_rate(step, c, block, laws_.by_speed()[row], main_, changes, row);
    }
  }
  weightless_ = step.parameters;
  weightless_.gravity.setZero();
  for (int block = 0; block < c.count(); ++block) add_mobility_rates(step, block);
}

// A contact's w is the norm of W over its translational rows (contact/laws/mobility.hpp); that of another row is W_rr.
// d log w = sum W_ab dW_ab / sum W_ab^2.
void StepDerivatives::add_mobility_rates(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const int first = c.blocks.row[at(block)], size = c.blocks.size(block), nv = model_.nv;
  if (laws_.by_mobility().segment(first, size).isZero(0.0)) return;
  ImplicitBalance::View changes = main_.law_changes();
  const auto add = [&](int row) {
    const double rate = laws_.by_mobility()[row];
    changes.row(row).head(nv) += rate * by_q_.transpose();
    if (ntheta_ > 0) changes.row(row).tail(ntheta_) += rate * by_theta_.transpose();
  };
  double weights[kMaxBlockSize] = {};
  if (c.blocks.type[at(block)] != BlockType::kCoulomb) {
    for (int r = 0; r < size; ++r) {
      begin_mobility();
      weights[r] = 1.0 / main_.J().row(first + r).dot(main_.inverse_Jt().col(first + r));
      add_mobility(step, block, r, weights);
      add(first + r);
      weights[r] = 0.0;
    }
    return;
  }
  const int tangents = std::min(size - 1, 2);
  const auto row_of = [&](int k) { return k < tangents ? k : size - 1; };
  double squares = 0.0;
  Matrix3 W = Matrix3::Zero();
  for (int a = 0; a <= tangents; ++a) {
    for (int b = 0; b <= tangents; ++b) {
      W(a, b) = main_.J().row(first + row_of(a)).dot(main_.inverse_Jt().col(first + row_of(b)));
      squares += W(a, b) * W(a, b);
    }
  }
  begin_mobility();
  for (int b = 0; b <= tangents; ++b) {
    std::fill(weights, weights + size, 0.0);
    for (int a = 0; a <= tangents; ++a) weights[row_of(a)] = W(a, b) / squares;
    add_mobility(step, block, row_of(b), weights);
  }
  for (int r = first; r < first + size; ++r) add(r);
}

// Sliding as RaiSim has it depends on the mobility of the contact: dw_t = alpha d(G_nt / G_nn). After close.
void StepDerivatives::add_coupling_rates(const StepContext& step) {
  const std::vector<ContactDerivatives::Coupling>& couplings = main_.contact().couplings();
  if (couplings.empty()) return;
  main_.form_inverse_rows(model_);
  const Constraints& c = step.constraints;
  weightless_ = step.parameters;
  weightless_.gravity.setZero();
  for (const ContactDerivatives::Coupling& coupling : couplings) {
    const auto found = std::lower_bound(c.blocks.row.begin(), c.blocks.row.end(), coupling.row);
    const int block = static_cast<int>(found - c.blocks.row.begin()), normal = coupling.size - 1;
    for (int r = 0; r < normal; ++r) {
      double weights[kMaxBlockSize] = {};
      begin_mobility();
      weights[r] = 0.5 / coupling.G_nn;  // of G_rn and G_nr
      weights[normal] = -coupling.ratio[r] / coupling.G_nn;
      add_mobility(step, block, normal, weights);
      weights[r] = 0.0;
      weights[normal] = 0.5 / coupling.G_nn;
      add_mobility(step, block, r, weights);
      ImplicitBalance::View rates = coupling_rates_.set_zero(1, columns_);
      rates.row(0).head(model_.nv) = coupling.alpha * by_q_.transpose();
      rates.row(0).tail(ntheta_) = coupling.alpha * by_theta_.transpose();
      if (is_variational_) take_matrix_to_start(rates);  // as the rows have been
      main_.rows().row(coupling.row + r) += rates.row(0);
    }
  }
}

void StepDerivatives::begin_mobility() {
  by_q_.setZero(model_.nv);
  by_theta_.setZero(ntheta_);
}

// Couplings and limits of balls, of one row: adds `weight` times what the row sees of direction_ as it turns.
void StepDerivatives::add_row_turn(const StepContext& step, int block, double weight) {
  const Constraints& c = step.constraints;
  const Constraint& constraint = c.list[at(block)];
  const int row = c.blocks.row[at(block)];
  if (weight == 0.0 || c.blocks.size(block) != 1) return;
  const bool is_limit = constraint.kind == ConstraintKind::kJointLimit;
  if (is_limit && model_.joints[at(constraint.index)].type != JointType::kBall) return;
  turned_.begin(model_, c, model_.nv);
  if (constraint.kind == ConstraintKind::kEquality) {
    add_coupling(constraint, row, 0.0, direction_, turned_);
  } else {
    add_ball_limit(constraint, row, 0.0, direction_, turned_);
  }
  by_q_ += weight * turned_.rows().row(row).transpose();
}

// Adds sum_a weights_a dW_ab of row b, W_ab = J_a A^-1 J_b', where the sum over b is symmetric:
// 2 dJ_a y_b - y_a' dA y_b with y = A^-1 J'.
void StepDerivatives::add_mobility(const StepContext& step, int block, int row, const double* weights) {
  const Constraints& c = step.constraints;
  const Constraint& constraint = c.list[at(block)];
  const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
  direction_ = main_.inverse_Jt().col(first + row);
  rnea_derivatives(model_, weightless_, here_.q, zero_, direction_, data_, mobility_, {}, Kinematics::kKnown);
  pulled_.setZero(model_.nv);
  for (int a = 0; a < size; ++a) {
    if (weights[a] != 0.0) pulled_ += weights[a] * main_.inverse_Jt().col(first + a);
  }
  by_q_.noalias() -= mobility_.dtau_dq.transpose() * pulled_;
  if (ntheta_ > 0) add_mobility_parameters(step);
  velocity_derivatives(model_, direction_, data_, V_S_);
  if (constraint.kind == ConstraintKind::kEquality || constraint.kind == ConstraintKind::kJointLimit) {
    add_row_turn(step, block, 2.0 * weights[0]);
  }
  PairWrench wrench;
  if (!find_pair(step, constraint, step.lambda.data() + first, wrench)) return;
  set_motion(step, constraint, wrench);
  for (int k = 0; k < motion_.count; ++k) {
    double values[kMaxBlockSize] = {};
    row_rate(constraint, V_S_, k, values);
    for (int a = 0; a < size; ++a) by_q_[motion_.dofs[at(k)]] += 2.0 * weights[a] * values[a];
  }
}

}  // namespace touchstone
