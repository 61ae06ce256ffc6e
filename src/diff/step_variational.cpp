// The part of the variational midpoint rule in the derivatives of a step (sim/integrators/variational.hpp). Without
// constraints it goes to v1, moving by w (variational_derivatives.hpp); impulses of rows at q_p = q + (h/2) v change
// that to
//     A (v' - v1) = J' lambda,     q' = q moved by h (w + (v' - v1)/2).
// What the rows and the impulses change by is found by columns of q_p, as for Moreau's rule, and taken to the start
// before v1 and w come in, which are functions of the start: `shift_` is dv1, `drift_` the part of w in q'.
//
// With loops the impulses are forces of the rule's own equation, which the step has solved for both: v' is v1 and the
// configuration moves by h w. With f = J' lambda, dv' = dv1 + V df and dw = w_x dx + W df, where dv1 and w_x are those
// of constant impulses. So V takes the place of A^-1, W V^-1 tells what of v' moves the configuration, and loops, which
// hold for v' + (2 w - v1) less an alternation, see 2 J dw.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/contact_law.hpp"
#include "touchstone/diff/inertial_parameters.hpp"
#include "touchstone/diff/servo_limits.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/integrators/loop_velocity.hpp"

namespace touchstone {

void StepDerivatives::require_variational(const StepContext& step) const {
  const auto refuse = [&](const std::string& what) {
    throw Error("derivatives of a step of the integrator '{}' are not available {}",
                entry_of(step.options.integrator).name, what);
  };
  const bool is_implicit = step.options.integrator == Integrator::kContactImplicit;
  if (step.report.warnings.variational_fallback || (is_implicit && step.knots == nullptr)) {
    refuse("where its equation was not solved: take a smaller step");
  }
  const bool has_laws = step.rules.contact_laws;
  const ContactLaw law = has_laws ? ContactLaw() : contact_law_of(step);
  if (law.raisim && is_implicit) refuse("with RaiSim's law; use a solver of the NCP, CCP or LCP");
  const bool gives_way = has_laws || law.regularised || !step.rules.is_exact;
  if (is_implicit && gives_way) refuse("with compliant laws, ccp-newton or softened constraints; use euler");
  if (is_implicit && theta_.materials() > static_cast<int>(theta_.frictions.size() + theta_.restitutions.size())) {
    refuse("by stiffness, dissipation or relaxation time; use another integrator");
  }
  if (theta_.gravity || !theta_.inertias.empty()) {
    const int joint = compensating_joint(step);
    if (joint >= 0) {
      refuse(fmt::format(
          "by gravity or inertias where actuators compensate gravity, as those of joint {} '{}' do; use 'euler'", joint,
          model_.joints[at(joint)].name));
    }
  }
}

// The first whose actuators compensate gravity; -1: none.
int StepDerivatives::compensating_joint(const StepContext& step) const {
  const bool is_compensated = model_.options.springs_enabled || model_.options.dampers_enabled;
  if (!is_compensated || !model_.options.actuation_enabled) return -1;
  if (step.parameters.body_gravity_compensation.isZero(0.0)) return -1;
  const auto first = std::find_if(model_.joints.begin(), model_.joints.end(),
                                  [](const Joint& joint) { return joint.actuator_gravity_compensation; });
  return first == model_.joints.end() ? -1 : static_cast<int>(first - model_.joints.begin());
}

// Their part is a force at q_p: what holds the weight that is taken from the bodies.
void StepDerivatives::add_compensation(const StepContext& step) {
  if (compensating_joint(step) < 0) return;
  lifted_ = step.parameters;
  for (int b = 1; b < model_.nbody; ++b) {
    lifted_.body_inertia[at(b)].mass *= step.parameters.body_gravity_compensation[b];
  }
  rnea_derivatives(model_, lifted_, here_.q, zero_, zero_, data_, dynamics_, {}, Kinematics::kKnown);
  for (int dof = 0; dof < model_.nv; ++dof) {
    const Joint& joint = model_.joints[at(model_.dof_joint[at(dof)])];
    if (!joint.actuator_gravity_compensation || is_cut(step, is_soft_, dof)) continue;
    main_.force().row(dof).head(model_.nv) += step.h * dynamics_.dtau_dq.row(dof);
  }
}

// The step without constraints, once more.
void StepDerivatives::solve_variational(const StepContext& step) {
  if (!free_step_) free_step_.emplace(model_);
  if (!free_data_) free_data_.emplace(step.data);
  *free_data_ = step.data;
  loop_impulse_.setZero(model_.nv);
  if (is_settled_) add_constraint_force(model_, step.constraints, step.lambda, loop_impulse_);
  if (!free_step_->solve(model_, step.parameters, step.before, step.input, step.h, !step.rules.implicit_forces,
                         *free_data_, &loop_impulse_)) {
    throw Error(
        "derivatives of a step are not available where the equation of '{}' was not solved: take a smaller step",
        entry_of(step.options.integrator).name);
  }
  end_velocity_ = step.before.v;
  if (step.rules.implicit_forces) end_velocity_ = 2.0 * free_step_->velocity() - step.before.v;
}

// What dampers, actuators and the user do: their impulse, and what that changes by.
void StepDerivatives::linearise_forces(const StepContext& step) {
  const int nv = model_.nv;
  const double h = step.h;
  weightless_ = step.parameters;
  weightless_.gravity.setZero();
  std::fill(external_.begin(), external_.end(), Force());
  add_external(step);
  add_motor_wrenches(step, Motors::kWithoutRow);
  rnea_derivatives(model_, weightless_, here_.q, zero_, zero_, data_, dynamics_, external_, Kinematics::kKnown);
  main_.force().leftCols(nv) -= h * dynamics_.dtau_dq;
  add_compensation(step);
  old_V_S_.resize(V_S_.size());
  velocity_derivatives(model_, step.before.v, data_, old_V_S_);
  add_loop_motors(step, Motors::kWithoutRow);
  add_actuators(step);
  add_force_parameters(step);
  take_matrix_to_start(main_.force());
  impulse_by_ = main_.force();
  main_.force().setZero();

  impulse_by_end_.setZero(nv, nv);
  for (int u = 0; u < model_.nu; ++u) {
    const bool is_implicit = step.data.servo_mode[at(u)] == ServoMode::kImplicit && !is_soft_;
    if (!is_implicit || !model_.options.actuation_enabled) continue;
    const auto m = step.data.actuator_moment.col(u);
    impulse_by_end_.noalias() -= (step.data.servo_gain[u] * m) * m.transpose();
  }
  impulse_by_.middleCols(nv, nv) -= impulse_by_end_;  // gains act on the change of the velocity
  if (model_.options.dampers_enabled) {
    if (is_soft_) {
      impulse_by_.middleCols(nv, nv).diagonal() -= h * step.parameters.dof_damping;
    } else {
      impulse_by_end_.diagonal() -= h * step.parameters.dof_damping;
    }
    for (int t = 0; t < model_.ntendon; ++t) {
      const double d = step.parameters.tendon_damping[t];
      if (d == 0.0 || step.data.tendon_block_gain[t] > 0.0) continue;             // a row
      const bool is_explicit = is_soft_ || step.data.tendon_on_path[at(t)] == 0;  // of a tendon that joins branches
      for (const Tendon::Term& a : model_.tendons[at(t)].terms) {
        for (const Tendon::Term& b : model_.tendons[at(t)].terms) {
          const int i = model_.joint_dof[at(a.joint)], k = model_.joint_dof[at(b.joint)];
          const double by_rate = h * d * a.coefficient * b.coefficient;
          (is_explicit ? impulse_by_(i, nv + k) : impulse_by_end_(i, k)) -= by_rate;
        }
      }
    }
  }
  damper_impulse(model_, step.parameters, step.data, end_velocity_, h, impulse_, false);
  actuator_impulse(model_, step.data, step.before.v, end_velocity_, h, by_q_);
  impulse_ += by_q_ + h * step.input.applied_force;
  by_q_.setZero();
  add_applied_wrenches(model_, step.parameters, step.input.applied_wrench, step.data, by_q_);
  impulse_ += h * by_q_ + loop_impulse_;
}

// By theta, of forces without potential.
void StepDerivatives::add_force_parameters(const StepContext& step) {
  if (ntheta_ == 0) return;
  int column = nx_ + model_.nu + (theta_.gravity ? 3 : 0) +
               kInertialParameters * static_cast<int>(theta_.inertias.size()) + theta_.materials();
  for (const int u : theta_.gains) column = add_gains(step, u, column);
  for (const int i : theta_.dampings) {
    if (model_.options.dampers_enabled) main_.force()(i, column) -= step.h * end_velocity_[i];
    ++column;
  }
}

// By theta, of momenta and what has a potential, which are linear in gravity and in the inertial parameters of each
// body. So a body alone, with parameters that any body may have, shows by differences what a change of each does.
void StepDerivatives::set_momentum_rates(const StepContext& step) {
  const int nv = model_.nv;
  MomentumRates& rates = momentum_rates_;
  for (MatrixX* m : {&rates.start, &rates.middle, &rates.end, &rates.impulse}) m->setZero(nv, ntheta_);
  if (ntheta_ == 0) return;
  const VectorX &w = free_step_->velocity(), &v1 = free_data_->v_free;
  drift_state_ = step.before;
  State& at_state = drift_state_;
  alone_ = step.parameters;
  Parameters& alone = alone_;
  VectorX &momentum = v_bar_, &gradient = d_bar_, &force = way_bar_;  // scratch
  for (VectorX* vector : {&momentum, &gradient, &force}) vector->resize(nv);
  // Adds `sign` times what a column sees of the parameters `alone`.
  const auto add = [&](int column, double sign) {
    const auto at_time = [&](double time, const VectorX& v, MatrixX& momenta) {
      integrate(model_, step.before.q, w, time, at_state.q);
      forward_kinematics(model_, alone, at_state, data_);
      forward_velocity(model_, v, data_);
      kinetic_gradient(model_, alone, v, data_, momentum, gradient);
      momenta.col(column) += sign * momentum;
    };
    at_time(0.0, step.before.v, rates.start);
    at_time(step.h, v1, rates.end);
    at_time(0.5 * step.h, w, rates.middle);
    rates.impulse.col(column) += (sign * step.h) * gradient;
    gravity_force(model_, alone, data_, force);
    rates.impulse.col(column) -= (sign * step.h) * force;
    if (passive_compensation(model_, alone, data_, force)) rates.impulse.col(column) += (sign * step.h) * force;
  };
  int column = 0;
  for (int k = 0; theta_.gravity && k < 3; ++k, ++column) {
    alone.gravity = Vector3::Unit(k);
    add(column, 1.0);
    alone.gravity.setZero();
    add(column, -1.0);
  }
  alone.gravity = step.parameters.gravity;
  alone.dof_armature.setZero();
  alone.tendon_armature.setZero();
  for (BodyInertia& body : alone.body_inertia) body = BodyInertia();
  Vector10 unit = Vector10::Zero();
  unit[0] = unit[4] = unit[6] = unit[9] = 1.0;
  for (const int b : theta_.inertias) {
    for (int k = 0; k < kInertialParameters; ++k, ++column) {
      alone.body_inertia[at(b)] = body_inertia(unit + Vector10::Unit(k));
      add(column, 1.0);
      alone.body_inertia[at(b)] = body_inertia(unit);
      add(column, -1.0);
    }
    alone.body_inertia[at(b)] = BodyInertia();
  }
  column = ntheta_ - static_cast<int>(theta_.joint_frictions.size() + theta_.armatures.size());
  for (const int i : theta_.armatures) {
    rates.start(i, column) = step.before.v[i];
    rates.middle(i, column) = w[i];
    rates.end(i, column++) = v1[i];
  }
  forward_kinematics(model_, step.parameters, here_, data_);
}

// Of the step without constraints.
void StepDerivatives::linearise_variational(const StepContext& step) {
  const int nv = model_.nv;
  solve_variational(step);
  by_q_.setZero(nv);  // of what sleeps nobody computes anything
  impulse_.setZero(nv);
  linearise_forces(step);
  const VectorX &w = free_step_->velocity(), &v1 = free_data_->v_free;
  if (!variational_) variational_.emplace(model_);
  set_momentum_rates(step);
  if (!variational_->compute(model_, step.parameters, step.before, step.h, w, v1, impulse_, impulse_by_,
                             impulse_by_end_, &momentum_rates_)) {
    throw Error(
        "derivatives of a step of the integrator '{}' are not available where its equation is singular: take a smaller "
        "step",
        entry_of(step.options.integrator).name);
  }
}

// Forces of the momentum balance; in the place of what `begin` does for other rules.
void StepDerivatives::begin_variational(const StepContext& step) {
  const int nv = model_.nv;
  linearise_variational(step);
  const VectorX& v1 = free_data_->v_free;
  shift_ = variational_->dv1;
  way_by_velocity_.setIdentity(nv, nv);
  way_by_velocity_ *= remaining_;
  a_.setZero();
  if (is_settled_) {
    variational_->by_impulse(moves_, inverse_);
    main_.set_inverse(&inverse_);
    // W V^-1, by its transpose.
    dense_scratch_ = inverse_.transpose();
    dense_factor_.compute(dense_scratch_);
    dense_scratch_ = moves_.transpose();
    moves_ = dense_factor_.solve(dense_scratch_);
    way_by_velocity_ = step.h * moves_.transpose();
  } else {
    a_ = (velocity_ - v1) / step.h;
  }
  drift_ = step.h * variational_->dw;
  drift_.noalias() -= way_by_velocity_ * shift_;
  std::fill(external_.begin(), external_.end(), Force());
  add_impulse_wrenches(step);
  rnea_derivatives(model_, weightless_, here_.q, zero_, a_, data_, dynamics_, external_, Kinematics::kKnown);
  main_.force().leftCols(nv) -= step.h * dynamics_.dtau_dq;
  old_V_S_.resize(V_S_.size());
  velocity_derivatives(model_, step.before.v, data_, old_V_S_);
}

void StepDerivatives::take_rows_to_start(const StepContext& step) {
  take_matrix_to_start(main_.force());
  take_matrix_to_start(main_.rows());
  if (main_.law_changes().cols() > 0) take_matrix_to_start(main_.law_changes());
  main_.rows().noalias() += main_.J() * shift_;
  if (!is_settled_) return;
  const Constraints& c = step.constraints;
  ImplicitBalance::View tests = main_.set_tests();
  tests = main_.J();
  dv_scratch_ = 2.0 * variational_->dw - shift_;
  for (int block = 0; block < c.count(); ++block) {
    if (!holds_loop(step, c.list[at(block)])) continue;
    const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
    const auto J = main_.J().middleRows(first, size);
    tests.middleRows(first, size).noalias() = (2.0 / step.h) * J * way_by_velocity_;
    main_.rows().middleRows(first, size).noalias() += J * dv_scratch_;
  }
}

void StepDerivatives::finish_variational(const StepContext& step) {
  if (has_pass_) {
    take_matrix_to_start(pass_.force());
    take_matrix_to_start(pass_.rows());
  }
  for (const int i : asleep_) {
    shift_.row(i).setZero();
    drift_.row(i).setZero();
  }
  way_ = step.h * (free_step_->velocity() + 0.5 * (step.v_next - free_data_->v_free));
  ahead_ = 0.0;
}

}  // namespace touchstone
