#include "touchstone/diff/step_parameters.hpp"

#include <string>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/inertial_parameters.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/gyroscopic.hpp"
#include "touchstone/dynamics/servos.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/sim/detection/material.hpp"

namespace touchstone {
namespace {

constexpr int kGains = 6;  // of an actuator

void require_numbers(const char* what, const std::vector<int>& numbers, int first, int count) {
  for (const int i : numbers) {
    if (i < first || i >= count) {
      throw Error("derivatives by parameters: there is no {} {}; numbers are from {} to {}", what, i, first, count - 1);
    }
  }
}

Matrix3 spread(const Vector3& a, const Vector3& b) {  // of a moment by a first moment: 2 a.b 1 - a b' - b a'
  return 2.0 * a.dot(b) * Matrix3::Identity() - a * b.transpose() - b * a.transpose();
}

// The greater friction of two surfaces counts, or 2 a b / (a + b) of two that give way (sim/detection/material.hpp);
// that of a pair which the model names is its own.
double friction_share(const StepContext& step, const Contact& contact, int shape) {
  if (contact.shape_a < 0 || (shape != contact.shape_a && shape != contact.shape_b)) return 0.0;
  for (const ContactPair& pair : step.model.contact_pairs) {
    if ((pair.shape_a == contact.shape_a && pair.shape_b == contact.shape_b) ||
        (pair.shape_a == contact.shape_b && pair.shape_b == contact.shape_a))
      return 0.0;
  }
  const Material& own = step.parameters.shape_material[at(shape)];
  const Material& other =
      step.parameters.shape_material[at(shape == contact.shape_a ? contact.shape_b : contact.shape_a)];
  if (own.priority != other.priority) return own.priority > other.priority ? 1.0 : 0.0;
  const double a = own.friction[0], b = other.friction[0];
  if (is_rigid(own) || is_rigid(other)) return a >= b ? 1.0 : 0.0;
  return a + b > 0.0 ? 2.0 * b * b / ((a + b) * (a + b)) : 0.0;
}

}  // namespace

int StepParameters::size() const {
  return (gravity ? 3 : 0) + kInertialParameters * static_cast<int>(inertias.size()) +
         static_cast<int>(frictions.size()) + kGains * static_cast<int>(gains.size()) +
         static_cast<int>(dampings.size() + armatures.size() + joint_frictions.size());
}

void StepParameters::validate(const Model& model) const {
  require_numbers("body", inertias, 1, model.nbody);
  require_numbers("shape", frictions, 0, static_cast<int>(model.shapes.size()));
  require_numbers("actuator", gains, 0, model.nu);
  for (const auto* dofs : {&dampings, &armatures, &joint_frictions}) require_numbers("dof", *dofs, 0, model.nv);
}

namespace {

// Calls use(number, size) for each group of numbers of theta, in order. Inertial parameters are made from `p`, and put
// back if they were changed.
template <typename Use>
void visit_theta(const StepParameters& theta, Parameters& p, const Use& use) {
  if (theta.gravity) use(p.gravity.data(), 3);
  for (const int b : theta.inertias) {
    const Vector10 before = inertial_parameters(p.body_inertia[at(b)]);
    Vector10 pi = 1.0 * before;  // changed through its address
    use(pi.data(), kInertialParameters);
    if (pi != before) p.body_inertia[at(b)] = body_inertia(pi);
  }
  for (const int s : theta.frictions) use(p.shape_material[at(s)].friction.data(), 1);
  for (const int u : theta.gains) {
    use(p.actuator_gain[at(u)].data(), 3);
    use(p.actuator_bias[at(u)].data(), 3);
  }
  for (const int i : theta.dampings) use(&p.dof_damping[i], 1);
  for (const int i : theta.armatures) use(&p.dof_armature[i], 1);
  for (const int i : theta.joint_frictions) use(&p.dof_friction[i], 1);
}

}  // namespace

VectorX StepParameters::read(const Parameters& parameters) const {
  VectorX theta(size());
  Eigen::Index next = 0;
  Parameters copy = parameters;
  visit_theta(*this, copy, [&](const double* numbers, int count) {
    for (int k = 0; k < count; ++k) theta[next++] = numbers[k];
  });
  return theta;
}

void StepParameters::write(const ConstVectorRef& theta, Parameters& parameters) const {
  require_size("theta", theta.size(), size());
  Eigen::Index next = 0;
  visit_theta(*this, parameters, [&](double* numbers, int count) {
    for (int k = 0; k < count; ++k) numbers[k] = theta[next++];
  });
}

// Columns of theta: what the momentum balance and the rows change by while v' and lambda stay.
void StepDerivatives::add_parameters(const StepContext& step) {
  if (ntheta_ == 0) return;
  if (is_variational_) {
    add_frictions(step, 0);
    return add_metric_parameters(step, h_ * a_, nx_ + model_.nu, main_);
  }
  const double h = step.h;
  ImplicitBalance::View force = main_.force();
  int column = nx_ + model_.nu;
  if (theta_.gravity) {
    by_gravity_.resize(model_.nv, 3);
    rnea_derivatives(model_, step.parameters, here_.q, bias_velocity_, a_, data_, dynamics_, {}, Kinematics::kKnown);
    dtau_dgravity(model_, data_, by_gravity_);
    force.middleCols(column, 3) -= h * by_gravity_;
    for (int b = 1; b < model_.nbody; ++b) {  // compensation
      const bool compensated = model_.options.springs_enabled || model_.options.dampers_enabled;
      const double share = compensated ? step.parameters.body_gravity_compensation[b] : 0.0;
      const int tree = model_.body_kernels[at(b)].tree;
      if (share == 0.0 || tree < 0) continue;
      const Vec3 c = data_.body_com[at(b)];
      for (int i = model_.body_last_dof[at(b)]; i >= 0; i = model_.dof_parent[at(i)]) {
        const Motion& S = data_.S[at(i)];
        force.row(i).segment<3>(column) -=
            h * share * step.parameters.body_inertia[at(b)].mass * (S.linear + cross(S.angular, c)).eigen().transpose();
      }
    }
    column += 3;
  }
  column = add_inertia(step, bias_velocity_, a_, h, main_, column);
  column = add_frictions(step, column);
  for (const int u : theta_.gains) column = add_gains(step, u, column);
  for (const int i : theta_.dampings) {
    if (model_.options.dampers_enabled) force(i, column) -= h * step.v_next[i];
    ++column;
  }
  for (const int i : theta_.armatures) force(i, column++) -= step.v_next[i] - step.before.v[i];
}

void StepDerivatives::add_pass_parameters(const StepContext& step) {
  if (ntheta_ == 0) return;
  int column = nx_ + model_.nu + (theta_.gravity ? 3 : 0);
  column = add_inertia(step, zero_, displacement_, 1.0, pass_, column);
  column += static_cast<int>(theta_.frictions.size()) + kGains * static_cast<int>(theta_.gains.size());
  const bool is_stiff = metric_.L != step.data.L;
  for (const int i : theta_.dampings) {
    if (model_.options.dampers_enabled && !is_stiff) pass_.force()(i, column) -= step.h * displacement_[i];
    ++column;
  }
  for (const int i : theta_.armatures) pass_.force()(i, column++) -= displacement_[i];
}

// What parameters do to A of the variational rule, and to M at knots, in A x = J' lambda. `column`: the first of theta.
void StepDerivatives::add_metric_parameters(const StepContext& step, const VectorX& x, int column,
                                            ImplicitBalance& balance) {
  const bool has_gains = &balance == &main_;
  ImplicitBalance::View force = balance.force();
  column = add_inertia(step, zero_, x, 1.0, balance, column + (theta_.gravity ? 3 : 0));
  column += static_cast<int>(theta_.frictions.size());
  for (const int u : theta_.gains) {
    const auto m = step.data.actuator_moment.col(u);
    const bool in_A =
        has_gains && model_.options.actuation_enabled && step.data.servo_mode[at(u)] == ServoMode::kImplicit;
    for (int k = 0; k < kGains; ++k, ++column) {
      if (in_A) force.col(column) -= gain_rate(step, u, k) * m.dot(x) * m;
    }
  }
  for (const int i : theta_.dampings) {
    if (has_gains && model_.options.dampers_enabled) force(i, column) -= step.h * x[i];
    ++column;
  }
  for (const int i : theta_.armatures) force(i, column++) -= x[i];
}

// tau = Y pi of rnea, and what pi does beside it. Balances but that of forces have no weight.
int StepDerivatives::add_inertia(const StepContext& step, const VectorX& v, const VectorX& a, double scale,
                                 ImplicitBalance& balance, int column) {
  if (theta_.inertias.empty()) return column;
  const bool is_metric = is_variational_ || &balance == &pass_;
  regressor_.resize(model_.nv, static_cast<Eigen::Index>(kInertialParameters) * model_.nbody);
  regressor(model_, is_metric ? weightless_ : step.parameters, here_.q, v, a, data_, regressor_);
  ImplicitBalance::View force = balance.force();
  const bool compensated = model_.options.springs_enabled || model_.options.dampers_enabled;
  for (const int b : theta_.inertias) {
    force.middleCols(column, kInertialParameters) -=
        scale * regressor_.middleCols(static_cast<Eigen::Index>(kInertialParameters) * b, kInertialParameters);
    const int tree = model_.body_kernels[at(b)].tree;
    const double share = compensated && !is_metric && tree >= 0 ? step.parameters.body_gravity_compensation[b] : 0.0;
    if (share != 0.0) {
      const Vec3 lift = -(scale * share) * Vec3(step.parameters.gravity);
      const Pose& X = data_.X_WB[at(b)];
      const Vec3 r = X.p - data_.reference_point[at(tree)];
      const Vec3 axes[3] = {X.R.c0, X.R.c1, X.R.c2};
      for (int i = model_.body_last_dof[at(b)]; i >= 0; i = model_.dof_parent[at(i)]) {
        const Motion& S = data_.S[at(i)];
        force(i, column) += dot(S.linear + cross(S.angular, r), lift);
        for (int k = 0; k < 3; ++k) force(i, column + 1 + k) += dot(S.angular, cross(axes[k], lift));
      }
    }
    if (!is_metric && !is_settled_) add_spin_inertia(step, b, column);
    column += kInertialParameters;
  }
  return column;
}

// The implicit gyroscopic torque I (w' - w) + h w x I w of a free body (add_spin), by the moments I of all bodies that
// are fixed to each other, about their common centre of mass.
void StepDerivatives::add_spin_inertia(const StepContext& step, int body, int column) {
  for (const int joint : model_.free_joints) {
    const int dof = model_.joint_dof[at(joint)], root = model_.dof_body[at(dof)];
    if (model_.body_kernels[at(root)].tree != model_.body_kernels[at(body)].tree) continue;
    if (!conserves_spin(model_, step.parameters, joint)) continue;
    const double h = step.h;
    const Matrix3 I = central_inertia(model_, step.data.M, dof);
    const Vector3 w = step.before.v.segment<3>(dof + 3), next = next_spin(I, w, h), mean = 0.5 * (w + next);
    const Matrix3 slope = I + 0.5 * h * (skew(mean) * I - skew(I * mean));
    const auto factor = slope.partialPivLu();
    const Pose& X_root = data_.X_WB[at(root)];
    const Pose X = relative(X_root, data_.X_WB[at(body)]);
    const Matrix3 R = X.R.eigen();
    const Vector3 p = X.p.eigen();
    // First moment of all of them about the root's origin, in its axes.
    double mass = 0.0;
    Vector3 s = Vector3::Zero();
    for (int b = 1; b < model_.nbody; ++b) {
      if (model_.body_kernels[at(b)].tree != model_.body_kernels[at(root)].tree) continue;
      const BodyInertia& part = step.parameters.body_inertia[at(b)];
      mass += part.mass;
      s += part.mass * (relative(X_root, data_.X_WB[at(b)]) * part.com).eigen();
    }
    const auto add = [&](int k, double dm, const Vector3& ds, const Matrix3& dmoment) {
      const Matrix3 dI = dmoment - spread(s, ds) / mass + 0.5 * spread(s, s) / (mass * mass) * dm;
      const Vector3 dnext = -factor.solve(dI * (next - w) + h * mean.cross(dI * mean));
      main_.force().block<3, 1>(dof + 3, column + k) += dI * (next - w) + I * dnext + h * w.cross(dI * w);
    };
    add(0, 1.0, p, 0.5 * spread(p, p));
    for (int k = 0; k < 3; ++k) add(1 + k, 0.0, R.col(k), spread(p, R.col(k)));
    static constexpr int kRow[6] = {0, 0, 1, 0, 1, 2}, kColumn[6] = {0, 1, 1, 2, 2, 2};
    for (int k = 0; k < 6; ++k) {
      Matrix3 unit = Matrix3::Zero();
      unit(kRow[k], kColumn[k]) = unit(kColumn[k], kRow[k]) = 1.0;
      add(4 + k, 0.0, Vector3::Zero(), R * unit * R.transpose());
    }
  }
}

// By how much the friction of each row changes with that of a shape.
void StepDerivatives::set_friction_change(const StepContext& step, const Constraints& c, int shape) {
  change_.setZero(c.rows());
  for (int block = 0; block < c.count(); ++block) {
    if (c.list[at(block)].kind != ConstraintKind::kContact || c.blocks.size(block) < 3) continue;
    const Contact& contact = contacts_[at(c.list[at(block)].index)];
    const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
    change_.segment(first, size).setConstant(friction_share(step, contact, shape));
    if (!step.rules.contact_laws) change_.segment(first + 2, size - 2).setZero();
  }
}

// By how much the bound of each row changes with the dry friction of a dof, which acts for a time.
void StepDerivatives::set_bound_change(const Constraints& c, int dof, double time) {
  change_.setZero(c.rows());
  for (int block = 0; block < c.count(); ++block) {
    if (c.list[at(block)].kind != ConstraintKind::kJointFriction || c.list[at(block)].index != dof) continue;
    change_[c.blocks.row[at(block)]] = time;
  }
}

// The laws of impulses: friction of contacts and of joints.
int StepDerivatives::add_frictions(const StepContext& step, int column) {
  const Constraints& c = step.constraints;
  const int next = column + static_cast<int>(theta_.frictions.size());
  if (!step.rules.contact_laws) {
    add_hard_frictions(step, c, step.h, nx_ + model_.nu, main_);
    return next;
  }
  ImplicitBalance::View law = main_.law_changes();
  for (const int shape : theta_.frictions) {
    set_friction_change(step, c, shape);
    law.col(column++) += laws_.by_friction().cwiseProduct(change_);
  }
  int last = columns_ - static_cast<int>(theta_.joint_frictions.size());
  for (const int dof : theta_.joint_frictions) {
    set_bound_change(c, dof, step.h);
    law.col(last++) += laws_.by_bound().cwiseProduct(change_);
  }
  return next;
}

// The same of a balance that is closed, with rows `c` whose dry friction acts for a time; `first`: column of theta.
void StepDerivatives::add_hard_frictions(const StepContext& step, const Constraints& c, double time, int first,
                                         ImplicitBalance& balance) {
  if (theta_.frictions.empty() && theta_.joint_frictions.empty()) return;
  ImplicitBalance::View law = balance.set_law_changes(first, ntheta_);
  int column = (theta_.gravity ? 3 : 0) + kInertialParameters * static_cast<int>(theta_.inertias.size());
  for (const int shape : theta_.frictions) {
    set_friction_change(step, c, shape);
    balance.contact().jvp_friction(change_, law_change_);
    law.col(column++) = law_change_;
  }
  column = ntheta_ - static_cast<int>(theta_.joint_frictions.size());
  for (const int dof : theta_.joint_frictions) {
    set_bound_change(c, dof, time);
    opposite_ = -change_;
    balance.contact().jvp_bounds(opposite_, change_, law_change_);
    law.col(column++) = law_change_;
  }
}

// What parameters do to A: adds -pulled' dA direction (step_laws.cpp, add_mobility).
void StepDerivatives::add_mobility_parameters(const StepContext& step) {
  int column = theta_.gravity ? 3 : 0;
  if (!theta_.inertias.empty()) {
    regressor_.resize(model_.nv, static_cast<Eigen::Index>(kInertialParameters) * model_.nbody);
    regressor(model_, weightless_, here_.q, zero_, direction_, data_, regressor_);
  }
  for (const int b : theta_.inertias) {
    by_theta_.segment<kInertialParameters>(column).noalias() -=
        regressor_.middleCols<kInertialParameters>(static_cast<Eigen::Index>(kInertialParameters) * b).transpose() *
        pulled_;
    column += kInertialParameters;
  }
  column += static_cast<int>(theta_.frictions.size());
  for (const int u : theta_.gains) {
    const auto m = step.data.actuator_moment.col(u);
    const bool in_A = model_.options.actuation_enabled && step.data.servo_mode[at(u)] == ServoMode::kImplicit;
    const double both = in_A ? m.dot(pulled_) * m.dot(direction_) : 0.0;
    for (int k = 0; k < kGains; ++k, ++column) by_theta_[column] -= both * gain_rate(step, u, k);
  }
  for (const int i : theta_.dampings) {
    if (model_.options.dampers_enabled) by_theta_[column] -= step.h * pulled_[i] * direction_[i];
    ++column;
  }
  for (const int i : theta_.armatures) by_theta_[column++] -= pulled_[i] * direction_[i];
}

// How the gain that an implicit servo has in A changes with the k-th of its numbers.
double StepDerivatives::gain_rate(const StepContext& step, int u, int k) const {
  const Actuator& actuator = model_.actuators[at(u)];
  const bool affine = actuator.gain_type == ActuatorGain::kAffine, biased = actuator.bias_type == ActuatorBias::kAffine;
  const int power = k % 3;  // of 1, length, velocity
  if (power == 0 || !(k < 3 ? affine : biased)) return 0.0;
  if (step.data.servo_mode[at(u)] == ServoMode::kExplicit) return 0.0;
  const ServoGains gains = servo_gains(model_, step.parameters, step.data, u);
  if (!((power == 1 ? gains.kp : gains.kd) > 0.0)) return 0.0;
  const double factor = k < 3 ? step.data.actuator_signal[u] : 1.0;
  return -factor * (power == 1 ? step.h * step.h : step.h);
}

// Gains and biases [1, length, velocity] of an actuator's force. Implicit ones act at the end of the step, as h m v'
// beside the length.
int StepDerivatives::add_gains(const StepContext& step, int u, int column) {
  const Actuator& actuator = model_.actuators[at(u)];
  const Data& data = step.data;
  const double h = step.h, signal = data.actuator_signal[u];
  const ServoMode mode = data.servo_mode[at(u)];
  const bool at_limit = mode == ServoMode::kExplicit && data.actuator_force[u] != data.actuator_law[u];
  if (!model_.options.actuation_enabled || mode == ServoMode::kShared || at_limit) return column + kGains;
  const auto m = data.actuator_moment.col(u);
  const bool affine = actuator.gain_type == ActuatorGain::kAffine, biased = actuator.bias_type == ActuatorBias::kAffine;
  for (int k = 0; k < kGains; ++k, ++column) {
    const int power = k % 3;  // of 1, length, velocity
    const double factor = k < 3 ? signal : 1.0;
    if (k < 3 ? power > 0 && !affine : !biased) continue;
    const double by_gain = gain_rate(step, u, k);
    double by_force = factor * (power == 0 ? 1.0 : power == 1 ? data.actuator_length[u] : data.actuator_velocity[u]);
    if (by_gain != 0.0 && power == 1) by_force += factor * h * data.actuator_velocity[u];
    if (mode == ServoMode::kBounded) {
      const int row = servo_row(step, u);
      const double total = data.servo_block[at(u)].gain;
      main_.rows()(row, column) +=
          -(h / total) * by_force + by_gain * (h * data.servo_block[at(u)].force - step.lambda[row]) / (total * total);
      continue;
    }
    const double moved = m.dot(end_velocity_ - step.before.v);
    for (int i = 0; i < model_.nv; ++i) {
      const bool limited = mode == ServoMode::kExplicit && data.actuation[i] != data.actuation_unlimited[i];
      if (m[i] != 0.0 && !limited) main_.force()(i, column) += m[i] * (h * by_force - by_gain * moved);
    }
  }
  return column;
}

}  // namespace touchstone
