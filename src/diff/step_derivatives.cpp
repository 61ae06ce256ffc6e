#include "touchstone/diff/step_derivatives.hpp"

#include <algorithm>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/contact_law.hpp"
#include "touchstone/diff/event_derivatives.hpp"
#include "touchstone/diff/rotations.hpp"
#include "touchstone/dynamics/gyroscopic.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/transmission.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/integrators/loop_velocity.hpp"
#include "touchstone/sim/models/hard.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
void StepDerivatives::require_whole(const StepContext& step) {
  if (!has_parts(step.options)) return;
  throw Error("a step of several parts is differentiated with its simulator: call compute(sim) or linearise(sim)");
}

bool StepDerivatives::has_parts(const SimulatorOptions& options) {
  return options.substeps > 1 || (options.accuracy > 0.0 && options.integrator != Integrator::kEvent);
}

void StepDerivatives::require_usable(const StepContext& step) const {
  if (&step.model != &model_) {
    throw Error(
        "derivatives of a step of another model: these are for {} dofs and {} actuators, the step has {} and {}; make "
        "StepDerivatives with the model of the simulator, sim.model()",
        model_.nv, model_.nu, step.model.nv, step.model.nu);
  }
  if (step.report.status == StepStatus::kDiverged) {
    throw Error("derivatives of a step that has diverged are not available: go back to a state before it");
  }
  if (!step.has_before) throw Error("derivatives are those of the last step: make one first");
  step.require_mass_matrix("the derivative of a step");
}

StepDerivatives::StepDerivatives(const Model& model, StepParameters theta)
    : model_(model),
      theta_(std::move(theta)),
      nx_(2 * model.nv + model.na),
      ntheta_(theta_.size()),
      columns_(nx_ + model.nu + ntheta_),
      data_(model),
      dynamics_(model),
      a_(VectorX::Zero(model.nv)),
      external_(at(model.nbody)),
      V_S_(at(model.nv)),
      motion_(model),
      pair_forces_(model),
      transmission_(model),
      mobility_(model),
      activation_(MatrixX::Zero(model.na, columns_)),
      dv_(MatrixX::Zero(model.nv, columns_)),
      dd_(MatrixX::Zero(model.nv, columns_)),
      displacement_(VectorX::Zero(model.nv)),
      zero_(VectorX::Zero(model.nv)) {
  theta_.validate(model);
  A.setZero(nx_, nx_);
  B.setZero(nx_, model.nu);
  C.setZero(nx_, ntheta_);
}

void StepDerivatives::compute(const StepContext& step) {
  has_result_ = false;
  require_whole(step);
  compute_part(step);
  has_result_ = true;
}

void StepDerivatives::linearise(const StepContext& step) {
  has_result_ = false;
  require_whole(step);
  const Integrator rule = step.options.integrator;
  rule == Integrator::kEvent || rule == Integrator::kContactImplicit ? compute_part(step) : linearise_part(step);
  has_result_ = true;
}

void StepDerivatives::compute_part(const StepContext& step) {
  if (step.options.integrator == Integrator::kEvent) return compute_events(step);
  if (step.options.integrator == Integrator::kContactImplicit) return compute_knots(step);
  linearise_part(step);
  form();
}

void StepDerivatives::compute_events(const StepContext& step) {
  require_usable(step);
  require_springs(step);
  if (smoothing_ > 0.0) {
    throw Error(
        "smoothed derivatives are not available for the integrator 'event'; set no smoothing, or use 'euler', "
        "'midpoint' or 'variational'");
  }
  h_ = step.h;
  held_ = {};
  has_pass_ = has_knots_ = false;
  asleep_.clear();
  EventDerivatives().compute(step, theta_, A, B, C);
  activation_.setZero();
  for (int u = 0; u < model_.nu; ++u) add_activation(step, u);
  if (model_.na > 0) {
    A.bottomRows(model_.na) = activation_.leftCols(nx_);
    B.bottomRows(model_.na) = activation_.middleCols(nx_, model_.nu);
    if (ntheta_ > 0) C.bottomRows(model_.na).setZero();
  }
  has_only_matrices_ = true;
}

void StepDerivatives::linearise_part(const StepContext& step) {
  require_usable(step);
  require_springs(step);
  has_only_matrices_ = has_knots_ = false;
  is_variational_ = step.options.integrator == Integrator::kVariational;
  if (is_variational_) require_variational(step);
  find_sleeping(step);
  const CatalogueEntry& entry = find_solver(step.options.solver);
  has_laws_ = step.rules.contact_laws && entry.law;
  ContactLaw law = has_laws_ ? ContactLaw() : contact_law_of(step);
  is_regularised_ = law.regularised;
  is_soft_ = !step.rules.is_exact;
  if (is_soft_ && law.raisim) {
    throw Error(
        "derivatives of a step with softened constraints are not available for the solver '{}'; use another one, as "
        "'auto'",
        step.options.solver);
  }
  if (smoothing_ > 0.0 && (has_hessians() || is_soft_)) {
    throw Error("compliant laws and softened constraints are smooth as they are: set no smoothing for the solver '{}'",
                step.options.solver);
  }
  law.width = smoothing_;
  // ccp-newton has compliances of their own for both tangents of hard contacts.
  const bool has_edges = law.model == ContactModel::kLcp || (is_regularised_ && law.cone == NewtonCone::kPyramidal);
  contact_motion_.set_tangents_matter(has_edges || (is_regularised_ && !is_soft_));
  const Constraints& c = step.constraints;
  begin(step);
  if (is_settled_ && law.raisim) {
    throw Error(
        "derivatives of a step with loops by '{}' are not available with RaiSim's law; use a solver of the NCP, CCP or "
        "LCP, or the integrator 'euler'",
        entry_of(step.options.integrator).name);
  }
  set_position_rates(step, c, main_.J(), position_);
  if (has_hessians()) {
    has_laws_ ? add_law_rates(step, *entry.law) : add_regularised_rates(step, law);
    forward_velocity(model_, step.before.v, data_);  // which are lost there
  }
  add_rows(step);
  if (is_variational_) {
    take_rows_to_start(step);
  } else {
    add_passive(step);
    add_actuators(step);
    main_.set_velocities(model_.nv);  // v' = v + A^-1 (..)
  }
  close(step, law);
  add_parameters(step);
  linearise_pass(step);
  hold_sleeping(step);
  way_ = remaining_ * v_next_;
  if (is_variational_) finish_variational(step);
}

// The problem of contacts, or the laws that take its place.
void StepDerivatives::close(const StepContext& step, const ContactLaw& law) {
  const Constraints& c = step.constraints;
  if (has_hessians()) {
    // Rows of ccp-newton without a compliance have some 1e-9 of their mobility; those of softened models give way.
    const bool is_stiff = is_settled_ || (is_regularised_ && !is_soft_ && asleep_.empty());
    is_stiff ? main_.close_stiff_laws(model_, laws_) : main_.close_laws(model_, laws_, asleep_);
  } else {
    main_.close(model_, c, law, step.data.L, step.data.D_inverse, lambda_.view(), velocity_, kModeShare);
    add_coupling_rates(step);
    held_.smoothing = smoothing_ > 0.0 && c.rows() > 0 && !main_.contact().smoothed().is_solved();
  }
}

// The momentum balance A (v' - v) = h f(q, v) + J' lambda: what its right-hand side changes by at fixed v' and lambda.
void StepDerivatives::begin(const StepContext& step) {
  const int nv = model_.nv, nrow = step.constraints.rows();
  h_ = step.h;
  set_here(step);
  contacts_ = step.contacts();
  v_next_ = velocity_ = step.v_next;
  if (is_soft_) velocity_ = step.before.v + h_ * step.acceleration;
  held_ = {};
  lambda_.resize(nrow, 1) = step.lambda.head(nrow);
  main_.begin(model_, step.constraints, columns_);
  rate_.set_zero(nrow, nv);
  activation_.setZero();
  forward_kinematics(model_, step.parameters, here_, data_);
  set_damping(step);
  if (has_knots_) {
    linearise_variational(step);
  } else {
    is_variational_ ? begin_variational(step) : begin_forces(step);
  }
}

void StepDerivatives::add_impulse_wrenches(const StepContext& step) {
  PairWrench wrench;
  for (int block = 0; block < step.constraints.count(); ++block) {
    const double* lambda = step.lambda.data() + step.constraints.blocks.row[at(block)];
    const Constraint& constraint = step.constraints.list[at(block)];
    if (find_pair(step, constraint, lambda, wrench)) add_wrench(wrench, 1.0 / h_);
    add_coupling_wrench(constraint, *lambda, 1.0 / h_);
  }
  add_motor_wrenches(step, is_variational_ ? Motors::kWithRow : Motors::kAll);
}

void StepDerivatives::begin_forces(const StepContext& step) {
  const int nv = model_.nv;
  std::fill(external_.begin(), external_.end(), Force());
  add_external(step);
  add_impulse_wrenches(step);
  end_velocity_ = velocity_;
  a_ = (velocity_ - step.before.v) / h_;
  rnea_derivatives(model_, step.parameters, here_.q, bias_velocity_, a_, data_, dynamics_, external_,
                   Kinematics::kKnown);
  ImplicitBalance::View force = main_.force();
  force.leftCols(nv) -= h_ * dynamics_.dtau_dq;
  force.middleCols(nv, nv) -= h_ * dynamics_.dtau_dv;
  if (is_settled_) settle_bias(step);
  if (!is_settled_ && !is_soft_) add_spin(step);
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
    main_.force().block<3, 3>(dof + 3, model_.nv + dof + 3) +=
        I * (dw - Matrix3::Identity()) + step.h * (skew(w) * I - skew(I * w));
  }
}

// Wrenches of the user and gravity compensation: forces that stay in the world, at centres of mass.
void StepDerivatives::add_external(const StepContext& step) {
  // That of the variational rule is a part of its gravity.
  const bool compensated = (model_.options.springs_enabled || model_.options.dampers_enabled) && !is_variational_;
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
    add_force_derivatives(motion_, step.h * force, Vec3(), main_.force());
  }
}

// --- springs and dampers ---

void StepDerivatives::add_passive(const StepContext& step) {
  const double h = step.h;
  const int nv = model_.nv;
  const Parameters& p = step.parameters;
  ImplicitBalance::View force = main_.force();
  if (model_.options.dampers_enabled) {
    for (int i = 0; i < nv; ++i) force(i, nv + i) -= h * p.dof_damping[i];
  }
  for (int j = 0; j < model_.njoint; ++j) {
    const double k = p.joint_stiffness[j];
    if (k == 0.0 || !model_.options.springs_enabled) continue;
    const JointType type = model_.joints[at(j)].type;
    const int dof = model_.joint_dof[at(j)], count = dof_count(type);
    const int scalars = type == JointType::kBall ? 0 : type == JointType::kFree ? 3 : 1;
    for (int i = dof; i < dof + count && !is_soft_; ++i) force(i, nv + i) -= h * h * k;
    for (int i = dof; i < dof + scalars; ++i) force(i, i) -= h * k;
    if (count == scalars) continue;
    const int q = model_.joint_q[at(j)] + scalars;
    const Vector3 turn =
        so3_log(quaternion_at(p.spring_reference, q).normalized().conjugate() * quaternion_at(here_.q, q).normalized());
    force.block<3, 3>(dof + scalars, dof + scalars) -= h * k * right_jacobian_inverse(turn);
  }
  for (int t = 0; t < model_.ntendon; ++t) {
    const double stretch = tendon_stretch(p, t, step.data.tendon_length[t]);
    const double k = model_.options.springs_enabled && stretch != 0.0 ? p.tendon_stiffness[t] : 0.0;
    const double d = model_.options.dampers_enabled ? p.tendon_damping[t] : 0.0;
    if ((k == 0.0 && d == 0.0) || (data_.tendon_on_path[at(t)] == 0 && !is_soft_)) continue;  // else it is a block
    for (const Tendon::Term& a : model_.tendons[at(t)].terms) {
      for (const Tendon::Term& b : model_.tendons[at(t)].terms) {
        const int i = model_.joint_dof[at(a.joint)], j = model_.joint_dof[at(b.joint)];
        const double product = a.coefficient * b.coefficient;
        force(i, j) -= h * k * product;
        force(i, nv + j) -= (h * d + (is_soft_ ? 0.0 : h * h * k)) * product;
      }
    }
  }
}

}  // namespace touchstone
