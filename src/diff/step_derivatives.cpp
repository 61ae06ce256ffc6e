#include "touchstone/diff/step_derivatives.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/rotations.hpp"
#include "touchstone/dynamics/gyroscopic.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/transmission.hpp"
#include "touchstone/sim/constraints/contact.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

// How near its bound an impulse counts as on it: solvers end within their tolerance of it.
constexpr double kModeShare = 1e-6;

void require_usable(const StepContext& step) {
  if (!step.has_before) throw Error("derivatives are those of the last step: make one first");
  if (step.options.integrator != Integrator::kSemiImplicitEuler) {
    throw Error("derivatives of a step are available for the integrator 'euler' only");
  }
  if (&step.rules != &hard::kRules) {
    throw Error("derivatives of a step are available for hard constraints only, not for compliant or softened models");
  }
  if (step.options.accuracy > 0.0) throw Error("derivatives of a step are those of steps of one size: set accuracy=0");
  if (!step.model.loop_joints.empty()) {
    throw Error("derivatives of a step are not available for models with loop joints (the first is '{}')",
                step.model.loop_joints.front().name);
  }
  if (!step.data.scope.is_whole()) throw Error("derivatives of a step need all bodies awake: switch sleep off");
}

ContactModel model_of(const StepContext& step) {
  const CatalogueEntry& entry = find_solver(step.options.solver);
  if (entry.model != "NCP" && entry.model != "CCP") {
    throw Error("derivatives of the model {} (solver '{}') are not available; use one of NCP or CCP", entry.model,
                step.options.solver);
  }
  return entry.certificate;
}

void dense_jacobian(const Model& model, const Constraints& c, MatrixX& J) {
  J.setZero(c.rows(), model.nv);
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int first = c.blocks.row[at(block)], rows = c.blocks.size(block), stride = c.stride(block);
    for (int k = constraint.first_part; k < constraint.first_part + constraint.part_count; ++k) {
      const TreePart& part = c.parts[at(k)];
      const int* dofs = c.dofs(model, part);
      for (int i = part.first; i < part.count; ++i) {
        const double* values = c.J.data() + part.start + at(stride * i);
        for (int r = 0; r < rows; ++r) J(first + r, dofs[i]) = values[r];
      }
    }
  }
}

}  // namespace

StepDerivatives::StepDerivatives(const Model& model)
    : A(MatrixX::Zero(2 * model.nv + model.na, 2 * model.nv + model.na)),
      B(MatrixX::Zero(2 * model.nv + model.na, model.nu)),
      model_(model),
      nx_(2 * model.nv + model.na),
      columns_(nx_ + model.nu),
      data_(model),
      dynamics_(model),
      a_(VectorX::Zero(model.nv)),
      external_(at(model.nbody)),
      V_S_(at(model.nv)),
      force_(RowMatrixX::Zero(model.nv, columns_)) {}

void StepDerivatives::compute(const StepContext& step) {
  require_usable(step);
  const ContactModel contact_model = model_of(step);
  begin(step);
  add_pairs(step);
  add_scalar_rows(step);
  add_passive(step);
  add_actuators(step);
  const Constraints& c = step.constraints;
  const int nrow = c.rows();
  // Free motion and the response to impulses, with the factor of the step.
  data_.L = step.data.L;
  data_.D_inverse = step.data.D_inverse;
  solve_columns(model_, data_, force_);
  for (int i = 0; i < model_.nv; ++i) force_(i, model_.nv + i) += 1.0;
  if (nrow > 0) {
    inverse_Jt_ = J_.transpose();
    solve_columns(model_, data_, inverse_Jt_);
    G_.noalias() = J_ * inverse_Jt_;
    G_.diagonal() += c.compliance.head(nrow);
    u_.noalias() = J_ * step.v_next;
    u_ += c.bias.head(nrow) + c.compliance.head(nrow).cwiseProduct(lambda_);
    contact_.prepare(c.blocks, contact_model, G_, lambda_, u_, kModeShare);
    rows_.noalias() += J_ * force_;
    contact_.jvp(rows_, dlambda_);
    force_.noalias() += inverse_Jt_ * dlambda_;
  }
  integrate(step);
}

// The momentum balance A (v' - v) = h f(q, v) + J' lambda: what its right-hand side changes by at fixed v' and lambda.
void StepDerivatives::begin(const StepContext& step) {
  const double h = step.h;
  const int nv = model_.nv, nrow = step.constraints.rows();
  held_ = {};
  held_.pass = step.report.recovered;
  lambda_ = step.lambda.head(nrow);
  dense_jacobian(model_, step.constraints, J_);
  rows_.setZero(nrow, columns_);
  activation_.setZero(model_.na, columns_);
  forward_kinematics(model_, step.parameters, step.before, data_);
  std::fill(external_.begin(), external_.end(), Force());
  force_.setZero();
  add_external(step);
  PairWrench wrench;
  for (int block = 0; block < step.constraints.count(); ++block) {
    if (!find_pair(step, block, wrench)) continue;
    const auto add = [&](int body, Vec3 point, double sign) {
      const int tree = model_.body_kernels[at(body)].tree;
      if (tree < 0) return;
      const Vec3 force = (sign / h) * wrench.force;
      const Vec3 arm = point - data_.reference_point[at(tree)];
      external_[at(body)] += {(sign / h) * wrench.torque + cross(arm, force), force};
    };
    add(wrench.body_b, wrench.point_b, 1.0);
    add(wrench.body_a, wrench.point_a, -1.0);
  }
  a_ = (step.v_next - step.before.v) / h;
  rnea_derivatives(model_, step.parameters, step.before.q, step.before.v, a_, data_, dynamics_, external_,
                   Kinematics::kKnown);
  force_.leftCols(nv) -= h * dynamics_.dtau_dq;
  force_.middleCols(nv, nv) -= h * dynamics_.dtau_dv;
  add_spin(step);
}

// The gyroscopic torque of free bodies is that of the implicit midpoint rule (dynamics/gyroscopic.hpp): the step adds
// I (w' - w) + h w x I w to the momentum, and by the implicit function theorem (I + S) dw' = (I - S) dw with
// S = h/2 (skew(wm) I - skew(I wm)). Scaling to the energy of w changes nothing where the rule is solved.
void StepDerivatives::add_spin(const StepContext& step) {
  for (const int joint : model_.free_joints) {
    if (!conserves_spin(model_, step.parameters, joint)) continue;
    const int dof = model_.joint_dof[at(joint)];
    const Matrix3 I = central_inertia(model_, data_.M, dof);
    const Vector3 w = step.before.v.segment<3>(dof + 3), mean = 0.5 * (w + next_spin(I, w, step.h));
    const Matrix3 S = 0.5 * step.h * (skew(mean) * I - skew(I * mean));
    const Matrix3 dw = (I + S).partialPivLu().solve(I - S);
    force_.block<3, 3>(dof + 3, model_.nv + dof + 3) +=
        I * (dw - Matrix3::Identity()) + step.h * (skew(w) * I - skew(I * w));
  }
}

// Wrenches of the user and gravity compensation: forces that stay in the world, at centres of mass.
void StepDerivatives::add_external(const StepContext& step) {
  const bool compensated = model_.options.springs_enabled || model_.options.dampers_enabled;
  for (int b = 1; b < model_.nbody; ++b) {
    const int tree = model_.body_kernels[at(b)].tree;
    if (tree < 0) continue;
    const Vector6& wrench = step.input.applied_wrench[at(b)];
    const double share = compensated ? step.parameters.body_gravity_compensation[b] : 0.0;
    Vec3 force(wrench.head<3>());
    force -= share * step.parameters.body_inertia[at(b)].mass * Vec3(step.parameters.gravity);
    const Vec3 torque(wrench.tail<3>());
    if (dot(force, force) + dot(torque, torque) == 0.0) continue;
    const Vec3 c = data_.body_com[at(b)];
    external_[at(b)] += {torque + cross(c, force), force};
    const Vec3 point = c + data_.reference_point[at(tree)];
    motion_.begin(model_, data_, 0, b, point, point);
    add_force_derivatives(motion_, force, Vec3(), step.h, force_.leftCols(model_.nv));
  }
}

// --- springs and dampers ---

void StepDerivatives::add_passive(const StepContext& step) {
  const double h = step.h;
  const int nv = model_.nv;
  const Parameters& p = step.parameters;
  if (model_.options.dampers_enabled) {
    for (int i = 0; i < nv; ++i) force_(i, nv + i) -= h * p.dof_damping[i];
  }
  for (int j = 0; j < model_.njoint; ++j) {
    const double k = p.joint_stiffness[j];
    if (k == 0.0 || !model_.options.springs_enabled) continue;
    const JointType type = model_.joints[at(j)].type;
    const int dof = model_.joint_dof[at(j)], count = dof_count(type);
    const int scalars = type == JointType::kBall ? 0 : type == JointType::kFree ? 3 : 1;
    for (int i = dof; i < dof + count; ++i) force_(i, nv + i) -= h * h * k;
    for (int i = dof; i < dof + scalars; ++i) force_(i, i) -= h * k;
    if (count == scalars) continue;
    const int q = model_.joint_q[at(j)] + scalars;
    const Vector3 turn = so3_log(quaternion_at(p.spring_reference, q).normalized().conjugate() *
                                 quaternion_at(step.before.q, q).normalized());
    force_.block<3, 3>(dof + scalars, dof + scalars) -= h * k * right_jacobian_inverse(turn);
  }
  for (int t = 0; t < model_.ntendon; ++t) {
    const double stretch = tendon_stretch(p, t, step.data.tendon_length[t]);
    const double k = model_.options.springs_enabled && stretch != 0.0 ? p.tendon_stiffness[t] : 0.0;
    const double d = model_.options.dampers_enabled ? p.tendon_damping[t] : 0.0;
    if ((k == 0.0 && d == 0.0) || data_.tendon_on_path[at(t)] == 0) continue;  // else it is a block
    for (const Tendon::Term& a : model_.tendons[at(t)].terms) {
      for (const Tendon::Term& b : model_.tendons[at(t)].terms) {
        const int i = model_.joint_dof[at(a.joint)], j = model_.joint_dof[at(b.joint)];
        const double product = a.coefficient * b.coefficient;
        force_(i, j) -= h * k * product;
        force_(i, nv + j) -= (h * d + h * h * k) * product;
      }
    }
  }
}

// --- pairs of bodies: contacts, connects, welds ---

bool StepDerivatives::find_pair(const StepContext& step, int block, PairWrench& wrench) {
  const Constraint& constraint = step.constraints.list[at(block)];
  const ConstraintScene scene{model_, data_, step.contacts(), step.rules};
  return entry_of(constraint.kind)
      .wrench(scene, constraint, step.lambda.data() + step.constraints.blocks.row[at(block)], wrench);
}

void StepDerivatives::add_pairs(const StepContext& step) {
  const Constraints& c = step.constraints;
  for (int block = 0; block < c.count(); ++block) {
    if (c.list[at(block)].kind == ConstraintKind::kContact) add_bounce(step, block);
  }
  velocity_derivatives(model_, step.v_next, data_, V_S_);
  for (int block = 0; block < c.count(); ++block) add_pair(step, block);
}

// The rows of the new velocity, and the force of the impulses.
void StepDerivatives::add_pair(const StepContext& step, int block) {
  PairWrench wrench;
  if (!find_pair(step, block, wrench)) return;
  const Constraints& c = step.constraints;
  const Constraint& constraint = c.list[at(block)];
  const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
  const bool is_contact = constraint.kind == ConstraintKind::kContact;
  if (is_contact) {
    const Contact& contact = step.contacts()[at(constraint.index)];
    if (!set_contact_motion(model_, data_, contact, motion_)) ++held_.contacts;
    add_gap_rate(step, first + size - 1);
  } else {
    motion_.begin(model_, data_, wrench.body_a, wrench.body_b, wrench.point_a, wrench.point_b);
    // A weld acts at one point, that of its second body.
    if (model_.equalities[at(constraint.index)].type == EqualityType::kWeld) motion_.dp_a = motion_.dp_b;
  }
  add_force_derivatives(motion_, wrench.force, wrench.torque, 1.0, force_.leftCols(model_.nv));
  relative_velocity_derivatives(model_, data_, V_S_, motion_, linear_rate_, angular_rate_);
  const Vector3 v = (velocity_at(model_, data_, motion_.body_b, motion_.point_b) -
                     velocity_at(model_, data_, motion_.body_a, motion_.point_a))
                        .eigen();
  const Vector3 w = (data_.velocity[at(motion_.body_b)].angular - data_.velocity[at(motion_.body_a)].angular).eigen();
  for (int i = 0; i < model_.nv; ++i) {
    const Vector3 turn = motion_.turn.col(i);
    const ContactImpulse rate{Vec3(Vector3(linear_rate_.col(i) - turn.cross(v))),
                              Vec3(Vector3(angular_rate_.col(i) - turn.cross(w)))};
    double values[kMaxBlockSize] = {};
    if (is_contact) {
      to_rows(step.contacts()[at(constraint.index)], rate, values);
    } else {
      const double scale = model_.equalities[at(constraint.index)].torque_scale;
      for (int k = 0; k < 3; ++k) {
        values[k] = rate.force[k];
        values[3 + k] = scale * rate.torque[k];
      }
    }
    for (int r = 0; r < size; ++r) rows_(first + r, i) += values[r];
  }
}

// b of a hard row changes with its gap, unless it bounces.
void StepDerivatives::add_gap_rate(const StepContext& step, int row) {
  const Constraints& c = step.constraints;
  const StabilisationOptions& s = step.options.stabilisation;
  const double gap = c.position[at(row)], open = std::max(0.0, gap) / step.h;
  double slope = gap > 0.0 ? 1.0 / step.h : 0.0;
  if (c.recovers[at(row)] == 0) {
    slope = 1.0 / step.h;  // compliant: b = gap / h
  } else if (c.bias[row] != open + c.recovery[row]) {
    return;  // bounces
  } else if (s.method == Stabilisation::kBaumgarte && c.recovery[row] < 0.0 && c.recovery[row] > -s.recovery_speed) {
    slope += s.erp / step.h;
  }
  if (slope != 0.0) rows_.row(row).head(model_.nv) += slope * J_.row(row);
}

// b = e J v of a contact that bounces, e taken to be constant.
void StepDerivatives::add_bounce(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const int row = c.blocks.row[at(block + 1)] - 1;
  const double open = std::max(0.0, c.position[at(row)]) / step.h;
  if (c.recovers[at(row)] == 0 || c.bias[row] == open + c.recovery[row] || c.velocity[row] == 0.0) return;
  const Contact& contact = step.contacts()[at(c.list[at(block)].index)];
  const double share = c.bias[row] / c.velocity[row];
  set_contact_motion(model_, data_, contact, motion_);
  relative_velocity_derivatives(model_, data_, dynamics_.V_S, motion_, linear_rate_, angular_rate_);
  const Vec3 v = velocity_at(model_, data_, motion_.body_b, contact.position) -
                 velocity_at(model_, data_, motion_.body_a, contact.position);
  const Vector3 n = contact.normal().eigen(), nv = n.cross(v.eigen());
  rows_.row(row).head(model_.nv) += share * (n.transpose() * linear_rate_ + nv.transpose() * motion_.turn);
  rows_.row(row).segment(model_.nv, model_.nv) += share * J_.row(row);
}

// --- rows of joints and tendons ---

void StepDerivatives::add_scalar_rows(const StepContext& step) {
  const Constraints& c = step.constraints;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int row = c.blocks.row[at(block)];
    switch (constraint.kind) {
      case ConstraintKind::kJointLimit:
        if (model_.joints[at(constraint.index)].type == JointType::kBall) add_ball_limit(step, block);
        [[fallthrough]];
      case ConstraintKind::kTendonLimit:
        add_gap_rate(step, row);
        break;
      case ConstraintKind::kTendonSpring: {
        const double stretch =
            tendon_stretch(step.parameters, constraint.index, step.data.tendon_length[constraint.index]);
        const double k =
            model_.options.springs_enabled && stretch != 0.0 ? step.parameters.tendon_stiffness[constraint.index] : 0.0;
        rows_.row(row).head(model_.nv) += step.h * k * c.compliance[row] * J_.row(row);
        break;
      }
      case ConstraintKind::kEquality:
        add_coupling(step, block);
        if (step.options.stabilisation.method == Stabilisation::kBaumgarte) {  // b = erp error / h
          const double slope = step.options.stabilisation.erp / step.h;
          rows_.middleRows(row, c.blocks.size(block)).leftCols(model_.nv) +=
              slope * J_.middleRows(row, c.blocks.size(block));
        }
        break;
      default:
        break;
    }
  }
}

// The row is minus the axis of the turn, which changes with the turn.
void StepDerivatives::add_ball_limit(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const int j = c.list[at(block)].index, row = c.blocks.row[at(block)], dof = model_.joint_dof[at(j)];
  const Vector3 turn = so3_log(quaternion_at(step.before.q, model_.joint_q[at(j)]).normalized());
  const double angle = turn.norm();
  const Vector3 axis = turn / angle;
  const Matrix3 axis_rate = (Matrix3::Identity() - axis * axis.transpose()) * right_jacobian_inverse(turn) / angle;
  force_.block<3, 3>(dof, dof) -= lambda_[row] * axis_rate;
  rows_.row(row).segment<3>(dof) -= step.v_next.segment<3>(dof).transpose() * axis_rate;
}

// The slope of the polynomial of a coupling changes with the second coordinate.
void StepDerivatives::add_coupling(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const Equality& e = model_.equalities[at(c.list[at(block)].index)];
  if (e.b < 0 || (e.type != EqualityType::kJoint && e.type != EqualityType::kTendon)) return;
  const int row = c.blocks.row[at(block)];
  VectorX second = VectorX::Zero(model_.nv);
  double x = 0.0;
  const auto add = [&](int joint, double coefficient) {
    const int q = model_.joint_q[at(joint)];
    second[model_.joint_dof[at(joint)]] += coefficient;
    x += coefficient * (step.before.q[q] - model_.reference_q[q]);
  };
  if (e.type == EqualityType::kJoint) {
    add(e.b, 1.0);
  } else {
    for (const Tendon::Term& term : model_.tendons[at(e.b)].terms) add(term.joint, term.coefficient);
  }
  const auto& p = e.polynomial;
  const double curvature = 2.0 * p[2] + x * (6.0 * p[3] + x * 12.0 * p[4]);
  if (curvature == 0.0) return;
  force_.leftCols(model_.nv) -= lambda_[row] * curvature * second * second.transpose();
  rows_.row(row).head(model_.nv) -= curvature * second.dot(step.v_next) * second.transpose();
}

// --- the end of the step ---

void StepDerivatives::integrate(const StepContext& step) {
  const double h = step.h;
  const int nv = model_.nv;
  const auto state_part = [&](auto row) { return row.head(nx_); };
  for (int i = 0; i < nv; ++i) {
    A.row(nv + i) = state_part(force_.row(i));
    A.row(i) = h * A.row(nv + i);
    if (model_.nu == 0) continue;  // B has no memory
    B.row(nv + i) = force_.row(i).tail(model_.nu);
    B.row(i) = h * B.row(nv + i);
  }
  for (int j = 0; j < model_.njoint; ++j) {
    const JointType type = model_.joints[at(j)].type;
    const int dof = model_.joint_dof[at(j)];
    const int scalars = type == JointType::kBall ? 0 : type == JointType::kFree ? 3 : 1;
    for (int i = dof; i < dof + scalars; ++i) A(i, i) += 1.0;
    if (dof_count(type) == scalars) continue;
    const int i = dof + scalars;
    const Vector3 turn = h * step.v_next.segment<3>(i);
    const Matrix3 J = right_jacobian(turn);
    A.middleRows<3>(i) = (J * A.middleRows<3>(i)).eval();
    if (model_.nu > 0) B.middleRows<3>(i) = (J * B.middleRows<3>(i)).eval();
    A.block<3, 3>(i, i) += so3_exp(-turn).toRotationMatrix();
  }
  if (model_.na == 0) return;
  A.bottomRows(model_.na) = activation_.leftCols(nx_);
  B.bottomRows(model_.na) = activation_.rightCols(model_.nu);
}

void StepDerivatives::vjp(const ConstVectorRef& x_next_bar, VectorRef x_bar, VectorRef u_bar) const {
  require_size("x_next_bar", x_next_bar.size(), nx_);
  require_size("x_bar", x_bar.size(), nx_);
  require_size("u_bar", u_bar.size(), model_.nu);
  x_bar.noalias() = A.transpose() * x_next_bar;
  u_bar.noalias() = B.transpose() * x_next_bar;
}

}  // namespace touchstone
