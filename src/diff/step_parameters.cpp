#include "touchstone/diff/step_parameters.hpp"

#include <algorithm>
#include <string>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/inertial_parameters.hpp"
#include "touchstone/diff/servo_limits.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/gyroscopic.hpp"
#include "touchstone/dynamics/servos.hpp"
#include "touchstone/math/so3.hpp"

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

// The spin of a free body follows the implicit midpoint rule only without armature (dynamics/gyroscopic.hpp): any would
// be a jump.
void require_armatures(const Model& model, const Parameters& parameters, const std::vector<int>& dofs) {
  for (const int i : dofs) {
    const int joint = model.dof_joint[at(i)];
    const bool is_alone = std::binary_search(model.free_joints.begin(), model.free_joints.end(), joint);
    if (!is_alone || !conserves_spin(model, parameters, joint)) continue;
    throw Error(
        "derivatives by parameters: the armature of dof {} ('{}') has no derivative at 0, for any armature of a free "
        "joint changes the rule of its spin; give that joint an armature first, or leave its dofs out",
        i, model.joints[at(joint)].name);
  }
}

Matrix3 spread(const Vector3& a, const Vector3& b) {  // of a moment by a first moment: 2 a.b 1 - a b' - b a'
  return 2.0 * a.dot(b) * Matrix3::Identity() - a * b.transpose() - b * a.transpose();
}

}  // namespace

int StepParameters::size() const {
  return (gravity ? 3 : 0) + kInertialParameters * static_cast<int>(inertias.size()) + materials() +
         kGains * static_cast<int>(gains.size()) +
         static_cast<int>(dampings.size() + armatures.size() + joint_frictions.size());
}

int StepParameters::materials() const {
  return static_cast<int>(frictions.size() + restitutions.size() + stiffnesses.size() + dissipations.size() +
                          relaxations.size());
}

void StepParameters::validate(const Model& model) const {
  require_numbers("body", inertias, 1, model.nbody);
  for (const auto* shapes : {&frictions, &restitutions, &stiffnesses, &dissipations, &relaxations}) {
    require_numbers("shape", *shapes, 0, static_cast<int>(model.shapes.size()));
  }
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
  for (const int s : theta.restitutions) use(&p.shape_material[at(s)].restitution, 1);
  for (const int s : theta.stiffnesses) {
    Material& material = p.shape_material[at(s)];
    use(material.youngs_modulus > 0.0 ? &material.youngs_modulus : &material.stiffness, 1);
  }
  for (const int s : theta.dissipations) use(&p.shape_material[at(s)].dissipation, 1);
  for (const int s : theta.relaxations) use(&p.shape_material[at(s)].relaxation_time, 1);
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
    const int inertias = kInertialParameters * static_cast<int>(theta_.inertias.size());
    add_materials(step, nx_ + model_.nu + (theta_.gravity ? 3 : 0) + inertias);
    pulled_ = h_ * a_;
    return add_metric_parameters(step, pulled_, nx_ + model_.nu, main_);
  }
  if (!is_settled_ && !is_soft_) require_armatures(model_, step.parameters, theta_.armatures);
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
  add_materials(step, column);
  column += theta_.materials();
  for (const int u : theta_.gains) column = add_gains(step, u, column);
  for (const int i : theta_.dampings) {
    if (model_.options.dampers_enabled) force(i, column) -= h * (is_soft_ ? step.before.v[i] : velocity_[i]);
    ++column;
  }
  for (const int i : theta_.armatures) force(i, column++) -= velocity_[i] - step.before.v[i];
}

void StepDerivatives::add_pass_parameters(const StepContext& step) {
  if (ntheta_ == 0) return;
  int column = nx_ + model_.nu + (theta_.gravity ? 3 : 0);
  column = add_inertia(step, zero_, displacement_, 1.0, pass_, column);
  column += theta_.materials() + kGains * static_cast<int>(theta_.gains.size());
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
  const bool has_gains = &balance == &main_ && !is_soft_;
  ImplicitBalance::View force = balance.force();
  column = add_inertia(step, zero_, x, 1.0, balance, column + (theta_.gravity ? 3 : 0));
  column += theta_.materials();
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
    if (!is_metric && !is_settled_ && !is_soft_) add_spin_inertia(step, b, column);
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
  column += theta_.materials();
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
  if (servo_mode(step, u) == ServoMode::kExplicit) return 0.0;
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
  const ServoMode mode = servo_mode(step, u);
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
      const bool limited = mode == ServoMode::kExplicit && is_cut(step, is_soft_, i);
      if (m[i] != 0.0 && !limited) main_.force()(i, column) += m[i] * (h * by_force - by_gain * moved);
    }
  }
  return column;
}

}  // namespace touchstone
