#include "touchstone/diff/variational_derivatives.hpp"

#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/diff/rotations.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/turn_functions.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {
namespace {

// --- the functions of a turn (dynamics/turn_functions.hpp), as matrices and by the turn itself ---

Matrix3 back_turn(const Vector3& x) { return so3_exp(-x).toRotationMatrix(); }

Matrix3 back_turn_rate(const Vector3& x, const Vector3& p) {
  return skew(Vector3(back_turn(x) * p)) * right_jacobian(x);
}

template <typename Function>
Matrix3 matrix_of(const Function& function) {
  Matrix3 result;
  for (int i = 0; i < 3; ++i) result.col(i) = function(Vector3(Vector3::Unit(i)));
  return result;
}

Matrix3 stretched_matrix(const Vector3& x) {
  return matrix_of([&](const Vector3& p) { return stretched(x, p); });
}

Matrix3 stretched_rate(const Vector3& x, const Vector3& p) {
  const double s = x.squaredNorm(), angle = std::sqrt(s);
  // c(s) = (angle/sin(angle) - 1)/s and its derivative, by their series near zero.
  double c = 1.0 / 6.0 + s * 7.0 / 360.0, rate = 7.0 / 360.0 + s * 31.0 / 7560.0;
  if (angle > 2e-2) {
    const double sine = std::sin(angle), ratio = angle / sine;
    c = (ratio - 1.0) / s;
    rate = ((sine - angle * std::cos(angle)) / (sine * sine) - 2.0 * (ratio - 1.0) / angle) / (2.0 * angle * s);
  }
  const double along = x.dot(p);
  return 2.0 * rate * (s * p - x * along) * x.transpose() +
         c * (2.0 * p * x.transpose() - along * Matrix3::Identity() - x * p.transpose());
}

Matrix3 half_carried_matrix(const Vector3& x) {
  return matrix_of([&](const Vector3& f) { return half_carried(x, f); });
}

Matrix3 half_carried_rate(const Vector3& x, const Vector3& f) {
  const double s = x.squaredNorm(), angle = std::sqrt(s);
  // t(s) = tan(angle/2)/angle and its derivative.
  double t = 0.5 + s / 24.0, rate = 1.0 / 24.0 + s / 120.0;
  if (angle > 2e-2) {
    const double tangent = std::tan(0.5 * angle);
    t = tangent / angle;
    rate = (0.5 * (1.0 + tangent * tangent) - t) / (2.0 * s);
  }
  return -rate * x.cross(f) * x.transpose() + 0.5 * t * skew(f);
}

// Whether these two dofs are of one set that moves together: neither moves what the other begins with.
bool move_together(const Model& model, int i, int k) {
  const int joint = model.dof_joint[at(i)];
  if (joint != model.dof_joint[at(k)]) return false;
  if (model.joints[at(joint)].type != JointType::kFree) return true;
  const int first = model.joint_dof[at(joint)] + 3;
  return (i < first) == (k < first);
}

}  // namespace

KineticDerivatives::KineticDerivatives(const Model& model)
    : momentum(VectorX::Zero(model.nv)),
      gradient(momentum),
      momentum_by_q(MatrixX::Zero(model.nv, model.nv)),
      momentum_by_v(momentum_by_q),
      gradient_by_q(momentum_by_q),
      gradient_by_v(momentum_by_q),
      V_S_(at(model.nv)) {}

void KineticDerivatives::compute(const Model& model, const Parameters& parameters, const VectorX& v, Data& data) {
  velocity_derivatives(model, v, data, V_S_);
  std::vector<SpatialInertia>& I = data.composite_inertia;
  std::vector<Force>& H = data.force;
  for (int b = 1; b < model.nbody; ++b) {
    I[at(b)] = world_inertia(parameters.body_inertia[at(b)], data.X_WB[at(b)].R, data.body_com[at(b)]);
    H[at(b)] = I[at(b)] * data.velocity[at(b)];
  }
  for (int b = model.nbody - 1; b > 0; --b) {
    const BodyKernel& body = model.body_kernels[at(b)];
    if (body.tree < 0 || model.body_kernels[at(body.parent)].tree < 0) continue;
    I[at(body.parent)] += I[at(b)];
    H[at(body.parent)] += H[at(b)];
  }
  for (MatrixX* m : {&momentum_by_q, &momentum_by_v, &gradient_by_q, &gradient_by_v}) m->setZero();
  for (int d = 0; d < model.nv; ++d) {
    const auto body = at(model.dof_body[at(d)]);
    const Motion &S = data.S[at(d)], &X = V_S_[at(d)];
    const Force IS = I[body] * S, IX = I[body] * X, F = cross(S, H[body]) + IX;
    momentum[d] = dot(S, H[body]);
    gradient[d] = dot(X, H[body]);
    for (int j = 0; j < model.row_length[at(d)]; ++j) {
      const int a = model.row_dof[at(model.row_start[at(d)] + j)];  // carries d, or is d
      const Motion &S_a = data.S[at(a)], &X_a = V_S_[at(a)];
      const bool together = move_together(model, a, d);
      momentum_by_q(d, a) = dot(X_a, IS);
      momentum_by_v(d, a) = momentum_by_v(a, d) = dot(S_a, IS);
      gradient_by_q(d, a) = dot(cross(X_a, S), H[body]) + dot(X_a, IX);
      gradient_by_v(d, a) = dot(S_a, IX) + (together ? 0.0 : dot(cross(S_a, S), H[body]));
      if (a == d) continue;
      momentum_by_q(a, d) = together ? dot(S_a, IX) : dot(S_a, F);
      gradient_by_q(a, d) = together ? dot(cross(X, S_a), H[body]) + dot(X_a, IX) : dot(X_a, F);
      gradient_by_v(a, d) = dot(X_a, IS);
    }
  }
  momentum += parameters.dof_armature.cwiseProduct(v);
  momentum_by_v.diagonal() += parameters.dof_armature;
  for (int t = 0; t < model.ntendon; ++t) {
    const double armature = parameters.tendon_armature[t];
    if (armature == 0.0) continue;
    for (const Tendon::Term& a : model.tendons[at(t)].terms) {
      for (const Tendon::Term& b : model.tendons[at(t)].terms) {
        const int i = model.joint_dof[at(a.joint)], k = model.joint_dof[at(b.joint)];
        const double product = armature * a.coefficient * b.coefficient;
        momentum_by_v(i, k) += product;
        momentum[i] += product * v[k];
      }
    }
  }
}

VariationalDerivatives::VariationalDerivatives(const Model& model)
    : data_(model),
      at_(model),
      start_(model),
      middle_(model),
      end_(model),
      gravity_(model),
      zero_(VectorX::Zero(model.nv)),
      gravity_force_(zero_) {
  for (int j = 0; j < model.njoint; ++j) {
    const JointType type = model.joints[at(j)].type;
    if (type == JointType::kFree) rotations_.push_back(model.joint_dof[at(j)] + 3);
    if (type == JointType::kBall) rotations_.push_back(model.joint_dof[at(j)]);
  }
}

// Springs of joints and tendons at the middle: their impulse, with that of gravity compensation, and what it changes by
// with q_m.
void VariationalDerivatives::add_springs(const Model& model, const Parameters& p, double h, VectorX& impulse) {
  compute_tendons(model, at_.q, zero_, data_);
  compute_passive(model, p, at_.q, zero_, data_);
  impulse += h * data_.passive;
  if (!model.options.springs_enabled) return;
  for (int j = 0; j < model.njoint; ++j) {
    const double k = p.joint_stiffness[j];
    if (k == 0.0) continue;
    const JointType type = model.joints[at(j)].type;
    const int dof = model.joint_dof[at(j)], count = dof_count(type);
    const int scalars = type == JointType::kBall ? 0 : type == JointType::kFree ? 3 : 1;
    for (int i = dof; i < dof + scalars; ++i) by_middle_(i, i) -= h * k;
    if (count == scalars) continue;
    const int q = model.joint_q[at(j)] + scalars;
    const Vector3 turn =
        so3_log(quaternion_at(p.spring_reference, q).normalized().conjugate() * quaternion_at(at_.q, q).normalized());
    by_middle_.block<3, 3>(dof + scalars, dof + scalars) -= h * k * right_jacobian_inverse(turn);
  }
  for (int t = 0; t < model.ntendon; ++t) {
    const double k = tendon_stretch(p, t, data_.tendon_length[t]) != 0.0 ? p.tendon_stiffness[t] : 0.0;
    if (k == 0.0) continue;
    for (const Tendon::Term& a : model.tendons[at(t)].terms) {
      for (const Tendon::Term& b : model.tendons[at(t)].terms) {
        by_middle_(model.joint_dof[at(a.joint)], model.joint_dof[at(b.joint)]) -= h * k * a.coefficient * b.coefficient;
      }
    }
  }
}

// Joints that leave compensation to their actuators feel the whole weight.
void VariationalDerivatives::add_weight_of_actuators(const Model& model, const Parameters& parameters, double h) {
  const auto is_whole = [&](int dof) {
    return model.joints[at(model.dof_joint[at(dof)])].actuator_gravity_compensation;
  };
  bool any = false;
  for (int dof = 0; dof < model.nv; ++dof) any = any || is_whole(dof);
  if (!any) return;
  rnea_derivatives(model, parameters, at_.q, zero_, zero_, data_, gravity_, {}, Kinematics::kKnown);
  for (int dof = 0; dof < model.nv; ++dof) {
    if (is_whole(dof)) by_middle_.row(dof) = h * (middle_.gradient_by_q - gravity_.dtau_dq).row(dof);
  }
}

// I, and what it changes by with w and all columns.
void VariationalDerivatives::differentiate_impulse(const Model& model, const Parameters& parameters, double h,
                                                   const VectorX& w, const MatrixX& by, const MatrixX& by_end) {
  const int nv = model.nv;
  impulse_ += h * middle_.gradient;
  // What compensates gravity acts as it does, at the centres of mass: as so much less weight.
  const bool is_compensated = (model.options.springs_enabled || model.options.dampers_enabled) &&
                              !parameters.body_gravity_compensation.isZero(0.0);
  if (is_compensated) {
    lifted_ = parameters;
    for (int b = 1; b < model.nbody; ++b) {
      lifted_.body_inertia[at(b)].mass *= 1.0 - parameters.body_gravity_compensation[b];
    }
  }
  rnea_derivatives(model, is_compensated ? lifted_ : parameters, at_.q, zero_, zero_, data_, gravity_, {},
                   Kinematics::kKnown);
  by_middle_ = h * (middle_.gradient_by_q - gravity_.dtau_dq);
  if (is_compensated) add_weight_of_actuators(model, parameters, h);
  gravity_force(model, parameters, data_, gravity_force_);
  impulse_ -= h * gravity_force_;
  add_springs(model, parameters, h, impulse_);

  // q_m and q1 by w, and by q0.
  middle_by_w_ = 0.5 * h * MatrixX::Identity(nv, nv);
  end_by_w_ = h * MatrixX::Identity(nv, nv);
  middle_by_q_ = end_by_q_ = MatrixX::Identity(nv, nv);
  for (const int i : rotations_) {
    const Vector3 x = 0.5 * h * w.segment<3>(i);
    middle_by_w_.block<3, 3>(i, i) = 0.5 * h * right_jacobian(x);
    middle_by_q_.block<3, 3>(i, i) = back_turn(x);
    end_by_w_.block<3, 3>(i, i) = h * right_jacobian(2.0 * x);
    end_by_q_.block<3, 3>(i, i) = back_turn(2.0 * x);
  }
  impulse_w_.noalias() = by_middle_ * middle_by_w_;
  impulse_w_ += h * middle_.gradient_by_v + 2.0 * by_end;
  impulse_x_ = by;
  impulse_x_.leftCols(nv).noalias() += by_middle_ * middle_by_q_;
  impulse_x_.middleCols(nv, nv) -= by_end;
}

// E by w and all columns, and p1 at constant w and by w.
void VariationalDerivatives::differentiate_balance(const Model& model, double h, const VectorX& w,
                                                   const MomentumRates* rates) {
  const int nv = model.nv;
  const Eigen::Index last = rates != nullptr ? rates->start.cols() : 0;
  P_q_.noalias() = middle_.momentum_by_q * middle_by_q_;
  P_w_ = middle_.momentum_by_v;
  P_w_.noalias() += middle_.momentum_by_q * middle_by_w_;
  p0_.setZero(nv, impulse_x_.cols());
  p0_.leftCols(nv) = start_.momentum_by_q;
  p0_.middleCols(nv, nv) = start_.momentum_by_v;
  if (last > 0) {
    p0_.rightCols(last) = rates->start;
    impulse_x_.rightCols(last) += rates->impulse;
  }
  E_w_ = P_w_ - 0.5 * impulse_w_;
  E_x_ = -p0_ - 0.5 * impulse_x_;
  E_x_.leftCols(nv) += P_q_;
  if (last > 0) E_x_.rightCols(last) += rates->middle;
  p1_ = p0_ + impulse_x_;
  p1_w_ = impulse_w_;
  half_turns_.clear();
  for (const int i : rotations_) {
    const Vector3 x = half_turns_.emplace_back(0.5 * h * w.segment<3>(i)), P = middle_.momentum.segment<3>(i),
                  p = start_.momentum.segment<3>(i), f = impulse_.segment<3>(i);
    const Matrix3 stretch = stretched_matrix(x), half = half_carried_matrix(x), turn = back_turn(x);
    E_w_.middleRows<3>(i).noalias() = stretch * P_w_.middleRows<3>(i);
    E_w_.middleRows<3>(i).noalias() -= half * impulse_w_.middleRows<3>(i);
    E_w_.block<3, 3>(i, i) += 0.5 * h * (stretched_rate(x, P) - back_turn_rate(x, p) - half_carried_rate(x, f));
    E_x_.middleRows<3>(i).noalias() = -turn * p0_.middleRows<3>(i);
    E_x_.middleRows<3>(i).noalias() -= half * impulse_x_.middleRows<3>(i);
    E_x_.block(i, 0, 3, nv).noalias() += stretch * P_q_.middleRows<3>(i);
    if (last > 0) E_x_.block(i, E_x_.cols() - last, 3, last).noalias() += stretch * rates->middle.middleRows<3>(i);
    const Vector3 carried = turn * p + f;
    p1_.middleRows<3>(i).noalias() = turn * turn * p0_.middleRows<3>(i);
    p1_.middleRows<3>(i).noalias() += turn * impulse_x_.middleRows<3>(i);
    p1_w_.middleRows<3>(i).noalias() = turn * impulse_w_.middleRows<3>(i);
    p1_w_.block<3, 3>(i, i) += 0.5 * h * (back_turn_rate(x, carried) + turn * back_turn_rate(x, p));
  }
}

bool VariationalDerivatives::compute(const Model& model, const Parameters& parameters, const State& start, double h,
                                     const VectorX& w, const VectorX& v1, const VectorX& impulse,
                                     const MatrixX& impulse_by, const MatrixX& impulse_by_end,
                                     const MomentumRates* rates) {
  const int nv = model.nv;
  at_ = start;
  forward_kinematics(model, parameters, at_, data_);
  start_.compute(model, parameters, start.v, data_);
  integrate(model, start.q, w, h, at_.q);
  forward_kinematics(model, parameters, at_, data_);
  end_.compute(model, parameters, v1, data_);
  integrate(model, start.q, w, 0.5 * h, at_.q);
  forward_kinematics(model, parameters, at_, data_);
  middle_.compute(model, parameters, w, data_);
  impulse_ = impulse;
  differentiate_impulse(model, parameters, h, w, impulse_by, impulse_by_end);
  differentiate_balance(model, h, w, rates);
  E_factor_.compute(E_w_);
  E_x_ *= -1.0;
  dw = E_factor_.solve(E_x_);
  // M(q1) dv1 = dp1 - d(M v1)/dq dq1.
  p1_w_.noalias() -= end_.momentum_by_q * end_by_w_;
  p1_.noalias() += p1_w_ * dw;
  p1_.leftCols(nv).noalias() -= end_.momentum_by_q * end_by_q_;
  if (rates != nullptr) p1_.rightCols(rates->end.cols()) -= rates->end;
  end_factor_.compute(end_.momentum_by_v);
  dv1 = end_factor_.solve(p1_);
  return dw.allFinite() && dv1.allFinite();
}

void VariationalDerivatives::by_impulse(MatrixX& w, MatrixX& v1) {
  const Eigen::Index nv = E_w_.rows();
  scratch_.setIdentity(nv, nv);
  scratch_ *= 0.5;
  for (std::size_t k = 0; k < rotations_.size(); ++k) {
    scratch_.block<3, 3>(rotations_[k], rotations_[k]) = half_carried_matrix(half_turns_[k]);
  }
  w = E_factor_.solve(scratch_);
  scratch_.setIdentity(nv, nv);
  for (std::size_t k = 0; k < rotations_.size(); ++k) {
    scratch_.block<3, 3>(rotations_[k], rotations_[k]) = back_turn(half_turns_[k]);
  }
  scratch_.noalias() += p1_w_ * w;
  v1 = end_factor_.solve(scratch_);
}

}  // namespace touchstone
