// What softened constraints (sim/models/soft.hpp) and the regularisation of ccp-newton add to the derivatives of a
// step.
//
// Impulses are those of a velocity v* at which forces are those of the start, M (v* - v) = h f + J' lambda, with rows
//     u = J v* + b + R lambda,     b = -(1 - h B) J v + h K d r,     R as (1 - d) / d,     d = d(r),
// and the step goes on by a matrix with dampers in it: A (v' - v) = M (v* - v). So
//     A (dv' - dv) = M (dv* - dv) + dM (v* - v') - dD (v' - v),     D = A - M.
#include <algorithm>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/inertial_parameters.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/dynamics/servos.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {
namespace {

const Impedance& impedance_of(const StepContext& step, const Constraint& constraint) {
  const Model& model = step.model;
  switch (constraint.kind) {
    case ConstraintKind::kContact:
      return step.contacts()[at(constraint.index)].material.impedance;
    case ConstraintKind::kJointLimit:
      return model.joints[at(constraint.index)].limit_impedance;
    case ConstraintKind::kTendonLimit:
      return model.tendons[at(constraint.index)].limit_impedance;
    case ConstraintKind::kJointFriction:
      return model.joints[at(model.dof_joint[at(constraint.index)])].friction_impedance;
    case ConstraintKind::kTendonFriction:
      return model.tendons[at(constraint.index)].friction_impedance;
    case ConstraintKind::kLoopJoint:
      return model.loop_joints[at(constraint.index)].impedance;
    case ConstraintKind::kLoopLimit:
      return loop_coordinate(model, constraint.index).limit_impedance;
    case ConstraintKind::kLoopFriction:
      return loop_coordinate(model, constraint.index).friction_impedance;
    default:
      return model.equalities[at(constraint.index)].impedance;
  }
}

bool is_friction(ConstraintKind kind) {
  return kind == ConstraintKind::kJointFriction || kind == ConstraintKind::kTendonFriction ||
         kind == ConstraintKind::kLoopFriction;
}

Quaternion pure(const Vec3& w) { return {0.0, w.x(), w.y(), w.z()}; }

}  // namespace

// All rows of softened models, and loops that give way by their impedance in rigid ones.
bool StepDerivatives::is_softened(const StepContext& step, const Constraint& constraint) {
  if (!step.rules.is_exact) return true;
  if (!step.options.stabilisation.softens_loops()) return false;
  return constraint.kind == ConstraintKind::kEquality || constraint.kind == ConstraintKind::kLoopJoint;
}

bool StepDerivatives::is_soft_weld(const Constraint& constraint) const {
  return is_soft_ && constraint.kind == ConstraintKind::kEquality &&
         model_.equalities[at(constraint.index)].type == EqualityType::kWeld;
}

// Rows of rotation of MuJoCo's welds (sim/constraints/weld.cpp), a.w = s/2 vec(q_B* w q_T), and how they change along
// the k-th dof of motion_: q_B turns with body b and q_T with body a, so d(q_B* w q_T) = q_B* (w w_a - w_b w)/2 q_T.
// k < 0: the rows themselves.
void StepDerivatives::soft_weld_axes(const Constraint& constraint, int k, Vec3* axes) const {
  const Equality& e = model_.equalities[at(constraint.index)];
  const Pose X_WT = data_.X_WB[at(e.a)] * Pose(e.relative_pose);
  const Quaternion q_T(X_WT.R.eigen()), q_B(data_.X_WB[at(std::max(e.b, 0))].R.eigen());
  Matrix3 columns;
  for (int i = 0; i < 3; ++i) {
    const Quaternion unit = pure(Vec3(Vector3(Vector3::Unit(i))));
    Quaternion turned = unit;
    if (k >= 0) {
      turned.coeffs() =
          0.5 * ((unit * pure(motion_.a_angular[at(k)])).coeffs() - (pure(motion_.b_angular[at(k)]) * unit).coeffs());
    }
    columns.col(i) = 0.5 * e.torque_scale * (q_B.conjugate() * turned * q_T).vec();
  }
  for (int r = 0; r < 3; ++r) axes[r] = Vec3(Vector3(columns.row(r)));
}

void StepDerivatives::soft_weld_rate(const Constraint& constraint, const PairRate& rate, Vec3 w, int k,
                                     double* values) const {
  Vec3 axes[3], changes[3];
  soft_weld_axes(constraint, -1, axes);
  soft_weld_axes(constraint, k, changes);
  for (int r = 0; r < 3; ++r) {
    values[r] = rate.linear[r];
    values[3 + r] = dot(axes[r], rate.angular) + dot(changes[r], w);
  }
}

void StepDerivatives::add_soft_weld_force(const Constraint& constraint, Vec3 force, const double* impulse,
                                          RowMatrixRef out) const {
  for (int k = 0; k < motion_.count; ++k) {
    Vec3 changes[3], torque;
    soft_weld_axes(constraint, k, changes);
    for (int r = 0; r < 3; ++r) torque += impulse[3 + r] * changes[r];
    add_force_change(motion_, k, Vec3(), torque, force, out);
  }
}

// With the velocities of the start in data_.
void StepDerivatives::add_soft_reference(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const Constraint& constraint = c.list[at(block)];
  if (constraint.kind == ConstraintKind::kLoopSpring) return;  // implicit, as in rigid models (add_loop_spring)
  const int first = c.blocks.row[at(block)], size = c.blocks.size(block), nv = model_.nv;
  const Impedance& impedance = impedance_of(step, constraint);
  const ReferenceSpring spring = soft::reference_of(impedance, model_.options.safe_references, step.h);
  const double share = step.h * spring.damping - 1.0;  // of J v
  ImplicitBalance::View rows = main_.rows();
  rows.block(first, nv, size, nv) += share * main_.J().middleRows(first, size);
  direction_ = share * step.before.v;
  if (constraint.kind == ConstraintKind::kJointLimit) add_ball_limit(constraint, first, 0.0, direction_, main_);
  PairWrench wrench;
  if (find_pair(step, constraint, step.lambda.data() + first, wrench)) {
    set_motion(step, constraint, wrench);
    for (int k = 0; k < motion_.count; ++k) {
      double values[kMaxBlockSize] = {};
      row_rate(constraint, start_V_S(), k, values);
      for (int r = 0; r < size; ++r) rows(first + r, motion_.dofs[at(k)]) += share * values[r];
    }
    add_loop_drift(step, block);
  } else if (constraint.kind == ConstraintKind::kEquality) {
    // Couplings of coordinates of loop joints read velocities of bodies: here those of direction_.
    velocity_derivatives(model_, direction_, data_, V_S_);
    add_coupling(constraint, first, 0.0, direction_, main_);
    forward_velocity(model_, step.before.v, data_);
  }
  if (!is_friction(constraint.kind)) add_soft_positions(step, block);
}

// h K d r, and R by d. Contacts see the distance of their normal; the rows of a loop share that of all of them.
void StepDerivatives::add_soft_positions(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const Constraint& constraint = c.list[at(block)];
  const int first = c.blocks.row[at(block)], last = c.blocks.row[at(block + 1)] - 1, nv = model_.nv;
  const Impedance& impedance = impedance_of(step, constraint);
  const ReferenceSpring spring = soft::reference_of(impedance, model_.options.safe_references, step.h);
  const bool is_contact = constraint.kind == ConstraintKind::kContact;
  const Growing<RowMatrixX>::View position = position_.view();
  double r = c.position[at(last)];
  gradient_ = position.row(last);
  if (!is_contact && first < last) {
    const Eigen::Map<const VectorX> error(c.position.data() + first, last + 1 - first);
    r = error.norm();
    gradient_.setZero(nv);
    if (r > 0.0) gradient_ = position.middleRows(first, last + 1 - first).transpose() * error / r;
  }
  const double d = soft::impedance_at(impedance.solimp, r), slope = soft::impedance_slope(impedance.solimp, r);
  ImplicitBalance::View rows = main_.rows();
  for (int row = is_contact ? last : first; row <= last; ++row) {
    rows.row(row).head(nv) +=
        step.h * spring.stiffness * (d * position.row(row) + slope * c.position[at(row)] * gradient_.transpose());
  }
  for (int row = first; row <= last; ++row) {
    if (!(c.compliance[row] > soft::kTiny)) continue;
    rows.row(row).head(nv) -= compliance_weight(step, row) * slope / (d * (1.0 - d)) * gradient_.transpose();
  }
}

// What a row sees of a relative change of its R, while lambda stays or, of regularised laws, its velocity. Compliant
// laws take no R that is less than what is nearly rigid, which is a share of the mobility.
double StepDerivatives::compliance_weight(const StepContext& step, int row) const {
  if (is_regularised_) return laws_.by_compliance(row);
  if (has_laws_ && laws_.by_mobility()[row] != 0.0) return 0.0;
  return step.constraints.compliance[row] * step.lambda[row];
}

// Rows that have no R have a share of their mobility instead; pyramids that of the normal.
void StepDerivatives::add_regularised_rates(const StepContext& step, const ContactLaw& law) {
  const Constraints& c = step.constraints;
  row_velocity_.resize(c.rows(), 1).noalias() = main_.J() * velocity_;
  row_velocity_.view() += c.bias.head(c.rows());
  laws_.prepare(c, law, main_.form_mobility(model_, c, step.data.L, step.data.D_inverse), row_velocity_.view());
  if (!theta_.frictions.empty() || !theta_.joint_frictions.empty()) laws_.prepare_frictions(c, row_velocity_.view());
  if (ntheta_ > 0) main_.set_law_changes(0, columns_);
  if (is_soft_) return;
  main_.form_inverse_rows(model_);
  weightless_ = step.parameters;
  weightless_.gravity.setZero();
  for (int block = 0; block < c.count(); ++block) {
    const int first = c.blocks.row[at(block)], last = c.blocks.row[at(block + 1)] - 1;
    const bool is_pyramid = law.cone == NewtonCone::kPyramidal && c.blocks.type[at(block)] == BlockType::kCoulomb;
    if (is_pyramid && c.compliance[last] > 0.0) {
      throw Error(
          "derivatives of a step by the solver 'ccp-newton' with pyramids are not available for materials with a "
          "stiffness; use cone=elliptic");
    }
    for (int row = is_pyramid ? last : first; row <= last; ++row) {
      if (c.compliance[row] > 0.0) continue;
      double weights[kMaxBlockSize] = {};
      begin_mobility();
      weights[row - first] = 1.0 / main_.J().row(row).dot(main_.inverse_Jt().col(row));
      add_mobility(step, block, row - first, weights);
      for (int r = is_pyramid ? first : row; r <= row; ++r) {
        const double weight = laws_.by_compliance(r);
        main_.rows().row(r).head(model_.nv) += weight * by_q_.transpose();
        if (ntheta_ > 0) main_.rows().row(r).tail(ntheta_) += weight * by_theta_.transpose();
      }
    }
  }
}

// By how much the logarithm of R changes with sliding friction (sim/constraints/contact.cpp).
double StepDerivatives::soft_friction_rate(const StepContext& step, int block, int row) const {
  const Blocks& blocks = step.constraints.blocks;
  const int first = blocks.row[at(block)], last = blocks.row[at(block + 1)] - 1;
  const double mu = blocks.mu[at(first)];
  if (!is_soft_ || first == last || !(mu > 0.0)) return 0.0;
  if (model_.options.cone == "pyramidal") return 2.0 * mu / (1.0 + mu * mu);
  return row < first + 2 || row == last ? 0.0 : 2.0 / mu;
}

// With what velocity_ is damped to.
void StepDerivatives::set_damping(const StepContext& step) {
  const bool all = model_.options.integrator.starts_with("implicit");
  is_damped_ = is_soft_ && (all || model_.options.implicit_damping);
  if (!is_damped_) return;
  const int nv = model_.nv;
  const Data& data = step.data;
  damped_map_.setZero(nv, nv);
  for (int i = 0; i < nv; ++i) {
    for (int k = model_.row_start[at(i)], end = k + model_.row_length[at(i)]; k < end; ++k) {
      damped_map_(i, model_.row_dof[at(k)]) = damped_map_(model_.row_dof[at(k)], i) = data.M[k];
    }
  }
  damped_change_.setZero(nv, columns_);
  weightless_ = step.parameters;
  weightless_.gravity.setZero();
  direction_ = velocity_ - step.v_next;
  rnea_derivatives(model_, weightless_, here_.q, zero_, direction_, data_, mobility_, {}, Kinematics::kKnown);
  damped_change_.leftCols(nv) = mobility_.dtau_dq;
  if (ntheta_ > 0) add_damped_parameters(step, all);
  solve_columns(model_, data.damped.L, data.damped.D_inverse, damped_map_);
  solve_columns(model_, data.damped.L, data.damped.D_inverse, damped_change_);
  for (const int i : asleep_) {
    damped_map_.row(i).setZero();
    damped_map_(i, i) = 1.0;
    damped_change_.row(i).setZero();
  }
  if (is_variational_) take_matrix_to_start(damped_change_);
}

// From those of velocity_ to those of v'. There is no pass, whose columns serve as scratch.
void StepDerivatives::damp_columns() {
  const int nv = model_.nv;
  dv_.middleCols(nv, nv).diagonal().array() -= 1.0;
  dd_.noalias() = damped_map_ * dv_;
  dd_ += damped_change_;
  dd_.middleCols(nv, nv).diagonal().array() += 1.0;
  dv_.swap(dd_);
}

void StepDerivatives::add_damped_parameters(const StepContext& step, bool all) {
  int column = nx_ + model_.nu + (theta_.gravity ? 3 : 0);
  if (!theta_.inertias.empty()) {
    regressor_.resize(model_.nv, static_cast<Eigen::Index>(kInertialParameters) * model_.nbody);
    regressor(model_, weightless_, here_.q, zero_, direction_, data_, regressor_);
  }
  for (const int b : theta_.inertias) {
    damped_change_.middleCols(column, kInertialParameters) =
        regressor_.middleCols(static_cast<Eigen::Index>(kInertialParameters) * b, kInertialParameters);
    column += kInertialParameters;
  }
  column += theta_.materials();
  for (const int u : theta_.gains) {
    const auto m = step.data.actuator_moment.col(u);
    const bool in_A = all && step.data.servo_gain[u] > 0.0;
    const double moved = in_A ? step.h * m.dot(step.v_next - step.before.v) : 0.0;
    const Actuator& actuator = model_.actuators[at(u)];
    if (actuator.gain_type == ActuatorGain::kAffine) {
      damped_change_.col(column + 2) += step.data.actuator_signal[u] * moved * m;
    }
    if (actuator.bias_type == ActuatorBias::kAffine) damped_change_.col(column + 5) += moved * m;
    column += 6;
  }
  for (const int i : theta_.dampings) {
    if (model_.options.dampers_enabled) damped_change_(i, column) -= step.h * (step.v_next[i] - step.before.v[i]);
    ++column;
  }
  for (const int i : theta_.armatures) damped_change_(i, column++) += direction_[i];
}

}  // namespace touchstone
