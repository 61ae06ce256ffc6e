// The part of constraints in the derivatives of a step: how rows and forces change with the configuration.
#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/diff/rotations.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/transmission.hpp"
#include "touchstone/sim/constraints/contact.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/models/soft.hpp"

namespace touchstone {
namespace {

bool is_weld(const Model& model, const Constraint& constraint) {
  return constraint.kind == ConstraintKind::kEquality &&
         model.equalities[at(constraint.index)].type == EqualityType::kWeld;
}

}  // namespace

// --- pairs of bodies: contacts, connects, welds ---

bool StepDerivatives::find_pair(const StepContext& step, const Constraint& constraint, const double* lambda,
                                PairWrench& wrench) {
  const ConstraintScene scene{model_, data_, contacts_, step.rules};
  return entry_of(constraint.kind).wrench(scene, constraint, lambda, wrench);
}

void StepDerivatives::add_wrench(const PairWrench& wrench, double scale) {
  const auto add = [&](int body, Vec3 point, double factor) {
    const int tree = model_.body_kernels[at(body)].tree;
    if (tree < 0) return;
    const Vec3 force = factor * wrench.force;
    const Vec3 arm = point - data_.reference_point[at(tree)];
    external_[at(body)] += {factor * wrench.torque + cross(arm, force), force};
  };
  add(wrench.body_b, wrench.point_b, scale);
  add(wrench.body_a, wrench.point_a, -scale);
}

void StepDerivatives::add_rows(const StepContext& step) {
  const Constraints& c = step.constraints;
  if (is_settled_) add_old_velocity(step);
  for (int block = 0; block < c.count(); ++block) {
    const ConstraintKind kind = c.list[at(block)].kind;
    if (is_softened(step, c.list[at(block)])) add_soft_reference(step, block);
    if (kind == ConstraintKind::kContact && !step.rules.contact_laws && !is_soft_) add_bounce(step, block);
    const bool is_limit = kind == ConstraintKind::kJointLimit || kind == ConstraintKind::kTendonLimit ||
                          kind == ConstraintKind::kLoopLimit;
    if (is_limit && !is_soft_) add_rebound(step, block);
    if (kind == ConstraintKind::kLoopSpring) add_loop_spring(step, block);
  }
  add_loop_motors(step, is_variational_ ? Motors::kWithRow : Motors::kAll);
  velocity_derivatives(model_, velocity_, data_, V_S_);
  pair_forces_.begin();
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int row = c.blocks.row[at(block)], size = c.blocks.size(block);
    const double lambda = step.lambda[row];
    add_pair(step, block);
    switch (constraint.kind) {
      case ConstraintKind::kContact:
        if (!step.rules.contact_laws && !is_soft_) {
          add_gap_rate(step, StabilisedKind::kContact, row + size - 1);
          add_hertz_rate(step, block);
        }
        break;
      case ConstraintKind::kJointLimit:
        add_ball_limit(constraint, row, lambda, velocity_, main_);
        [[fallthrough]];
      case ConstraintKind::kTendonLimit:
      case ConstraintKind::kLoopLimit:
        add_gap_rate(step, StabilisedKind::kLimit, row);
        break;
      case ConstraintKind::kTendonSpring: {
        if (is_variational_) break;  // its spring is in the rule's equation
        const double stretch =
            tendon_stretch(step.parameters, constraint.index, step.data.tendon_length[constraint.index]);
        const double k =
            model_.options.springs_enabled && stretch != 0.0 ? step.parameters.tendon_stiffness[constraint.index] : 0.0;
        main_.rows().row(row).head(model_.nv) += step.h * k * c.compliance[row] * main_.J().row(row);
        break;
      }
      case ConstraintKind::kEquality:
        add_coupling(constraint, row, lambda, velocity_, main_);
        [[fallthrough]];
      case ConstraintKind::kLoopJoint:
        add_error_rate(step, block);
        add_mocap_rate(step, block);
        break;
      case ConstraintKind::kServo:
        add_servo_rates(step, constraint.index, row);
        break;
      default:
        break;
    }
  }
  pair_forces_.flush(main_.force());
}

// How point and axes of a pair move. False if that is not exact (ContactMotion::set).
bool StepDerivatives::set_motion(const StepContext& step, const Constraint& constraint, const PairWrench& wrench) {
  if (constraint.kind == ConstraintKind::kContact) {
    return contact_motion_.set(model_, step.detector.shapes(), data_, contacts_[at(constraint.index)], motion_);
  }
  if (is_loop_kind(constraint.kind)) {
    begin_loop_motion(model_, data_, loop_block(model_, constraint).joint, motion_);
    return true;
  }
  motion_.begin(model_, data_, wrench.body_a, wrench.body_b, wrench.point_a, wrench.point_b);
  // A hard weld acts at one point, that of its second body.
  if (is_weld(model_, constraint) && !is_soft_) std::copy_n(motion_.dp_b.begin(), motion_.count, motion_.dp_a.begin());
  return true;
}

// Along the k-th dof of motion_: the rows' velocities at constant numbers x, with the velocities of data_ and V_S.
void StepDerivatives::row_rate(const Constraint& constraint, const std::vector<Motion>& V_S, int k,
                               double* values) const {
  if (is_loop_kind(constraint.kind)) {
    return loop_row_rate(model_, data_, V_S, loop_block(model_, constraint), motion_, k, values);
  }
  const Vec3 v = velocity_at(model_, data_, motion_.body_b, motion_.point_b) -
                 velocity_at(model_, data_, motion_.body_a, motion_.point_a);
  const Vec3 w = data_.velocity[at(motion_.body_b)].angular - data_.velocity[at(motion_.body_a)].angular;
  const Vec3 turn = motion_.turn[at(k)];
  const PairRate rate = relative_velocity_rate(model_, data_, V_S, motion_, k);
  const ContactImpulse turned{rate.linear - cross(turn, v), rate.angular - cross(turn, w)};
  if (constraint.kind == ConstraintKind::kContact) {
    to_rows(contacts_[at(constraint.index)], turned, values);
    return;
  }
  if (is_soft_weld(constraint)) return soft_weld_rate(constraint, rate, w, k, values);
  const double scale = model_.equalities[at(constraint.index)].torque_scale;
  for (int r = 0; r < 3; ++r) {
    values[r] = turned.force[r];
    values[3 + r] = scale * turned.torque[r];
  }
}

// What the force of a block's impulses changes by as its points and axes move, with motion_.
void StepDerivatives::add_block_force(const Constraint& constraint, const PairWrench& wrench, const double* impulse,
                                      ImplicitBalance& balance) {
  if (is_loop_kind(constraint.kind)) {
    add_loop_force_derivatives(data_, loop_block(model_, constraint), impulse, motion_, balance.force());
  } else if (is_soft_weld(constraint)) {
    add_soft_weld_force(constraint, wrench.force, impulse, balance.force());
  } else {
    add_force_derivatives(motion_, wrench.force, wrench.torque, balance.force());
  }
}

// The rows of the new velocity, and the force of the impulses.
void StepDerivatives::add_pair(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const Constraint& constraint = c.list[at(block)];
  const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
  PairWrench wrench;
  if (!find_pair(step, constraint, step.lambda.data() + first, wrench)) return;
  if (!set_motion(step, constraint, wrench)) ++held_.contacts;
  const bool is_contact = constraint.kind == ConstraintKind::kContact;
  if (is_contact) {
    pair_forces_.add(motion_, wrench.force, wrench.torque, main_.force());
    relative_velocity_rates(model_, data_, V_S_, motion_, pair_rates_);
  } else {
    add_block_force(constraint, wrench, step.lambda.data() + first, main_);
  }
  Growing<RowMatrixX>::View rate = rate_.view();
  ImplicitBalance::View rows = main_.rows();
  for (int k = 0; k < motion_.count; ++k) {
    double values[kMaxBlockSize] = {};
    if (is_contact) {
      const PairRate& seen = pair_rates_[at(k)];
      to_rows(contacts_[at(constraint.index)], {seen.linear, seen.angular}, values);
    } else {
      row_rate(constraint, V_S_, k, values);
    }
    const int dof = motion_.dofs[at(k)];
    for (int r = 0; r < size; ++r) {
      rate(first + r, dof) = values[r];
      rows(first + r, dof) += values[r];
    }
  }
  if (is_contact && !c.surface_velocity.empty()) add_surface_rates(step, block);
}

// Of surfaces that move on their own. At a point of the contact that of a body goes s = L + w x (p - o), L and w fixed
// in the body that turns with W, so ds = W x s + w x (dp - dp of the body's own point). With motion_.
void StepDerivatives::add_surface_rates(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const Contact& contact = contacts_[at(c.list[at(block)].index)];
  const SurfaceMotion a = surface_motion(model_, data_, step.parameters, contact.shape_a, contact.position),
                      b = surface_motion(model_, data_, step.parameters, contact.shape_b, contact.position);
  double share = 1.0;  // of the velocity, in b
  if (is_soft_) {
    share = step.h * soft::reference_of(contact.material.impedance, model_.options.safe_references, step.h).damping;
  }
  for (int k = 0; k < motion_.count; ++k) {
    const Vec3 turn = motion_.turn[at(k)], w_a = motion_.a_angular[at(k)], w_b = motion_.b_angular[at(k)];
    const Vec3 linear = cross(w_b, b.linear) + cross(b.angular, motion_.dp_b[at(k)] - motion_.b_linear[at(k)]) -
                        cross(w_a, a.linear) - cross(a.angular, motion_.dp_a[at(k)] - motion_.a_linear[at(k)]) -
                        cross(turn, b.linear - a.linear);
    const Vec3 angular = cross(w_b, b.angular) - cross(w_a, a.angular) - cross(turn, b.angular - a.angular);
    const double rates[kSurfaceRows] = {dot(contact.frame.c0, linear), dot(contact.frame.c1, linear),
                                        dot(contact.frame.c2, angular)};
    for (int r = 0; r < surface_rows(contact); ++r) {
      main_.rows()(c.blocks.row[at(block)] + r, motion_.dofs[at(k)]) += share * rates[r];
    }
  }
}

// How gaps and errors change with q: as the rows say, but for hard welds that are open, whose error turns with their
// first body and is no angular velocity: e = R_T log(R_T' R_B), de = w_a x e + Jl(e)^-1 (w_b - w_a).
void StepDerivatives::set_position_rates(const StepContext& step, const Constraints& c,
                                         const ImplicitBalance::ConstView& J, Growing<RowMatrixX>& rates) {
  Growing<RowMatrixX>::View position = rates.resize(c.rows(), model_.nv);
  position = J;
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    if (!is_weld(model_, constraint) || is_soft_) continue;
    const int row = c.blocks.row[at(block)];
    const double scale = model_.equalities[at(constraint.index)].torque_scale;
    const Eigen::Map<const Vector3> apart(c.position.data() + row), scaled(c.position.data() + row + 3);
    PairWrench wrench;
    const double none[kMaxBlockSize] = {};
    find_pair(step, constraint, none, wrench);
    set_motion(step, constraint, wrench);
    const Vector3 turn = scale > 0.0 ? Vector3(scaled / scale) : Vector3::Zero();
    const Matrix3 rate = right_jacobian_inverse(-turn);
    for (int k = 0; k < motion_.count; ++k) {
      const Vector3 w_a = motion_.a_angular[at(k)].eigen(), w_b = motion_.b_angular[at(k)].eigen();
      const int dof = motion_.dofs[at(k)];
      position.block<3, 1>(row, dof) += w_a.cross(apart);
      position.block<3, 1>(row + 3, dof) = scale * (w_a.cross(turn) + rate * (w_b - w_a));
    }
  }
}

// b = erp error / h of a loop, unless its island has given up what contradicts itself.
void StepDerivatives::add_error_rate(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const double slope = step.options.stabilisation.share_of(StabilisedKind::kLoop) / step.remaining;
  if (!(slope > 0.0) || !holds_loop(step, c.list[at(block)])) return;
  for (int row = c.blocks.row[at(block)]; row < c.blocks.row[at(block + 1)]; ++row) {
    if (c.recovery[row] == 0.0 && c.position[at(row)] != 0.0) continue;
    main_.rows().row(row).head(model_.nv) += slope * position_.view().row(row);
  }
}

// b of a loop that a moving mocap body holds also has the velocity of that body's point where the row acts, which moves
// with the other body, and turns the rows of loop joints. The mocap body's own motion is an input.
void StepDerivatives::add_mocap_rate(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const Constraint& constraint = c.list[at(block)];
  if (step.mocap_velocity.empty() || !holds_loop(step, constraint)) return;
  double rates[kMaxBlockSize] = {};
  const ConstraintScene scene{model_, data_, contacts_, step.rules};
  if (!mocap_rates(scene, step.mocap_velocity, c, block, rates)) return;
  PairWrench wrench;
  const double none[kMaxBlockSize] = {};
  find_pair(step, constraint, none, wrench);
  set_motion(step, constraint, wrench);
  const auto velocity_of = [&](int body) {
    const MocapVelocity* carrier = mocap_carrier(model_, step.mocap_velocity, body);
    return carrier == nullptr ? MocapVelocity() : *carrier;
  };
  const MocapVelocity a = velocity_of(motion_.body_a), b = velocity_of(motion_.body_b);
  const Vec3 v = b.at(motion_.point_b) - a.at(motion_.point_a), w = b.angular - a.angular;
  const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
  for (int k = 0; k < motion_.count; ++k) {
    const Vec3 dv = cross(b.angular, motion_.dp_b[at(k)]) - cross(a.angular, motion_.dp_a[at(k)]);
    double values[kMaxBlockSize] = {dv.x(), dv.y(), dv.z()};  // connects and welds have axes of the world
    if (constraint.kind == ConstraintKind::kLoopJoint) {
      const LoopBlock own = loop_block(model_, constraint);
      LoopRow rows[kMostLoopRows];
      own.rows(frames_along(data_, own.joint, motion_, k), rows);
      for (int r = 0; r < size; ++r) {
        values[r] = dot(rows[r].linear, dv) + dot(rows[r].linear_rate, v) + dot(rows[r].angular_rate, w);
      }
    }
    for (int r = 0; r < size; ++r) main_.rows()(first + r, motion_.dofs[at(k)]) += values[r];
  }
}

// b of a hard row changes with its gap, unless it bounces faster than it is brought back.
void StepDerivatives::add_gap_rate(const StepContext& step, StabilisedKind kind, int row) {
  if (is_soft_) return;
  const Constraints& c = step.constraints;
  const StabilisationOptions& s = step.options.stabilisation;
  const double gap = c.position[at(row)], open = std::max(0.0, gap) / step.remaining;
  const bool bounces = c.bias[row] != open + c.recovery[row];
  const double back = bounces ? c.bias[row] : c.recovery[row];
  double slope = gap > 0.0 ? 1.0 / step.remaining : 0.0;
  if (c.recovers[at(row)] == 0) {
    slope = 1.0 / step.remaining;  // compliant: b = gap / h
  } else if (bounces && !(c.recovery[row] < 0.0)) {
    return;
  } else if (s.share_of(kind) > 0.0 && back < 0.0 && back > -s.recovery_speed) {
    slope += s.share_of(kind) / step.remaining;
  }
  if (slope != 0.0) main_.rows().row(row).head(model_.nv) += slope * main_.J().row(row);
}

// A spring of Hertz is its tangent at the deformation x (sim/constraints/contact.cpp): b = (gap + x / 3) / h and R as
// 1 / sqrt(x). Where the bodies do not touch yet, x is that of the motion without contact, whose velocity is taken to
// be constant.
void StepDerivatives::add_hertz_rate(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const Contact& contact = step.contacts()[at(c.list[at(block)].index)];
  const int row = c.blocks.row[at(block + 1)] - 1;
  if (!contact.material.hertz || !(c.compliance[row] > 0.0)) return;
  const double gap = c.position[at(row)], x = 3.0 * (step.remaining * c.bias[row] - gap);
  if (!(gap < 0.0)) ++held_.contacts;
  const double by_x = 1.0 / (3.0 * step.remaining) - compliance_weight(step, row) / (2.0 * x);
  main_.rows().row(row).head(model_.nv) -= by_x * main_.J().row(row);
}

// b = e J v of a contact that bounces, e taken to be constant. With the velocities of the start.
void StepDerivatives::add_bounce(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const int row = c.blocks.row[at(block + 1)] - 1;
  const double open = std::max(0.0, c.position[at(row)]) / step.remaining;
  if (c.recovers[at(row)] == 0 || c.bias[row] == open + c.recovery[row] || c.velocity[row] == 0.0) return;
  if (c.recovery[row] < 0.0) return;  // what brings it back is faster than the rebound, and knows no velocity
  add_approach_rate(step, c, block, c.bias[row] / c.velocity[row], main_, main_.rows(), row);
}

// The same of a limit, whose axis may turn.
void StepDerivatives::add_rebound(const StepContext& step, int block) {
  const Constraints& c = step.constraints;
  const Constraint& constraint = c.list[at(block)];
  const int row = c.blocks.row[at(block)], nv = model_.nv;
  const double open = std::max(0.0, c.position[at(row)]) / step.remaining;
  if (c.recovers[at(row)] == 0 || c.bias[row] == open + c.recovery[row] || c.velocity[row] == 0.0) return;
  if (c.recovery[row] < 0.0) return;  // what brings it back is faster than the rebound, and knows no velocity
  const double share = c.bias[row] / c.velocity[row];
  main_.rows().row(row).segment(nv, nv) += share * main_.J().row(row);
  direction_ = share * step.before.v;
  if (constraint.kind == ConstraintKind::kJointLimit) add_ball_limit(constraint, row, 0.0, direction_, main_);
  PairWrench wrench;
  const double none[kMaxBlockSize] = {};
  if (!find_pair(step, constraint, none, wrench)) return;
  set_motion(step, constraint, wrench);
  for (int k = 0; k < motion_.count; ++k) {
    double rate = 0.0;
    row_rate(constraint, start_V_S(), k, &rate);
    main_.rows()(row, motion_.dofs[at(k)]) += share * rate;
  }
}

// Adds `share` times the derivative of a contact's normal velocity J v at the start, J of a balance with the rows `c`.
// With the velocities of the start in data_ and start_V_S.
void StepDerivatives::add_approach_rate(const StepContext& step, const Constraints& c, int block, double share,
                                        const ImplicitBalance& balance, ImplicitBalance::View rows, int row) {
  const Contact& contact = contacts_[at(c.list[at(block)].index)];
  const int normal = c.blocks.row[at(block + 1)] - 1;
  contact_motion_.set(model_, step.detector.shapes(), data_, contact, motion_);
  const Vec3 v = velocity_at(model_, data_, motion_.body_b, contact.position) -
                 velocity_at(model_, data_, motion_.body_a, contact.position);
  const Vec3 n = contact.normal(), across = cross(n, v);
  for (int k = 0; k < motion_.count; ++k) {
    const PairRate rate = relative_velocity_rate(model_, data_, start_V_S(), motion_, k);
    rows(row, motion_.dofs[at(k)]) += share * (dot(n, rate.linear) + dot(across, motion_.turn[at(k)]));
  }
  rows.row(row).segment(model_.nv, model_.nv) += share * balance.J().row(normal);
}

// Of a balance A x = J' lambda with x = `moved`, whose rows see J `seen`: what force and rows change by with q while
// these and lambda stay. With data_ and here_ where the rows are.
void StepDerivatives::add_balance_rows(const StepContext& step, const Constraints& c, const double* lambda,
                                       const VectorX& moved, const VectorX& seen, ImplicitBalance& balance) {
  PairWrench wrench;
  double impulse[kMaxBlockSize];
  int skipped = 0;  // rows of a contact that are not there: of the position pass all but the normal
  const auto find = [&](int block) {
    const Constraint& constraint = c.list[at(block)];
    const int size = c.blocks.size(block);
    const bool is_contact = constraint.kind == ConstraintKind::kContact;
    skipped = is_contact ? contacts_[at(constraint.index)].material.dimension - size : 0;
    std::fill_n(impulse, kMaxBlockSize, 0.0);
    std::copy_n(lambda + c.blocks.row[at(block)], size, impulse + skipped);
    return find_pair(step, constraint, impulse, wrench);
  };
  std::fill(external_.begin(), external_.end(), Force());
  for (int block = 0; block < c.count(); ++block) {
    if (find(block)) add_wrench(wrench, 1.0);
    add_coupling_wrench(c.list[at(block)], lambda[c.blocks.row[at(block)]], 1.0);
  }
  weightless_ = step.parameters;
  weightless_.gravity.setZero();
  rnea_derivatives(model_, weightless_, here_.q, zero_, moved, data_, dynamics_, external_, Kinematics::kKnown);
  balance.force().leftCols(model_.nv) -= dynamics_.dtau_dq;
  velocity_derivatives(model_, seen, data_, V_S_);
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
    if (constraint.kind == ConstraintKind::kJointLimit) add_ball_limit(constraint, first, lambda[first], seen, balance);
    if (constraint.kind == ConstraintKind::kEquality) add_coupling(constraint, first, lambda[first], seen, balance);
    if (!find(block)) continue;
    if (!set_motion(step, constraint, wrench) && &balance != &pass_) ++held_.contacts;
    add_block_force(constraint, wrench, impulse, balance);
    for (int k = 0; k < motion_.count; ++k) {
      double values[kMaxBlockSize] = {};
      row_rate(constraint, V_S_, k, values);
      for (int r = 0; r < size; ++r) balance.rows()(first + r, motion_.dofs[at(k)]) += values[skipped + r];
    }
  }
}

// --- rows of joints and tendons ---

// The row is minus the axis of the turn, which changes with the turn. `row`: of the balance.
void StepDerivatives::add_ball_limit(const Constraint& constraint, int row, double lambda, const VectorX& x,
                                     ImplicitBalance& balance) {
  const int j = constraint.index, dof = model_.joint_dof[at(j)];
  if (model_.joints[at(j)].type != JointType::kBall) return;
  const Vector3 turn = so3_log(quaternion_at(here_.q, model_.joint_q[at(j)]).normalized());
  const double angle = turn.norm();
  const Vector3 axis = turn / angle;
  const Matrix3 axis_rate = (Matrix3::Identity() - axis * axis.transpose()) * right_jacobian_inverse(turn) / angle;
  const Eigen::RowVector3d rate = -x.segment<3>(dof).transpose() * axis_rate;
  balance.force().block<3, 3>(dof, dof) -= lambda * axis_rate;
  balance.rows().row(row).segment<3>(dof) += rate;
  if (&balance == &main_) rate_.view().row(row).segment<3>(dof) = rate;
}

// The slope of the polynomial of a coupling changes with the second coordinate.
void StepDerivatives::add_coupling(const Constraint& constraint, int row, double lambda, const VectorX& x,
                                   ImplicitBalance& balance) {
  const Equality& e = model_.equalities[at(constraint.index)];
  if (e.type == EqualityType::kJoint && (e.coordinate_a >= 0 || e.coordinate_b >= 0)) {
    return add_loop_coupling(constraint, row, lambda, x, balance);
  }
  if (e.b < 0 || (e.type != EqualityType::kJoint && e.type != EqualityType::kTendon)) return;
  const Tendon::Term alone{e.b, 1.0};
  const bool is_joint = e.type == EqualityType::kJoint;
  const Tendon::Term* terms = is_joint ? &alone : model_.tendons[at(e.b)].terms.data();
  const std::size_t count = is_joint ? 1 : model_.tendons[at(e.b)].terms.size();
  double value = 0.0, velocity = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const int q = model_.joint_q[at(terms[i].joint)];
    value += terms[i].coefficient * (here_.q[q] - model_.reference_q[q]);
    velocity += terms[i].coefficient * x[model_.joint_dof[at(terms[i].joint)]];
  }
  const auto& p = e.polynomial;
  const double curvature = 2.0 * p[2] + value * (6.0 * p[3] + value * 12.0 * p[4]);
  if (curvature == 0.0) return;
  for (std::size_t j = 0; j < count; ++j) {
    const int dof = model_.joint_dof[at(terms[j].joint)];
    const double rate = -curvature * velocity * terms[j].coefficient;
    balance.rows()(row, dof) += rate;
    if (&balance == &main_) rate_.view()(row, dof) += rate;
    for (std::size_t i = 0; i < count; ++i) {
      balance.force()(model_.joint_dof[at(terms[i].joint)], dof) -=
          lambda * curvature * terms[i].coefficient * terms[j].coefficient;
    }
  }
}

}  // namespace touchstone
