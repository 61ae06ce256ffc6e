#include "touchstone/sim/assemble.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/sim/rigid_laws.hpp"
#include "touchstone/sim/soft_laws.hpp"

namespace touchstone {
namespace {

// A contact whose bodies move so much less along its normal than their masses let them is held by joints.
constexpr double kImmovable = 1e-9;

const double kZeros[6] = {};
const double kOnes[6] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0};

class Assembler {
 public:
  Assembler(const Model& model, const Parameters& parameters, const State& state, const Data& data,
            const ReferenceWeights& weights, double h, const SimulatorOptions& options, Constraints& constraints)
      : model_(model),
        parameters_(parameters),
        state_(state),
        data_(data),
        weights_(weights),
        h_(h),
        options_(options),
        writer_(model, data, constraints) {}

  void add_contacts(std::span<const Contact> contacts) {
    for (std::size_t i = 0; i < contacts.size(); ++i) add_contact(contacts[i], static_cast<int>(i));
  }

  // A limit joins when it can be reached within the step.
  void add_joint_limits() {
    if (!model_.options.limits_enabled) return;
    for (int j = 0; j < model_.njoint; ++j) {
      const Joint& joint = model_.joints[at(j)];
      if (!joint.limited) continue;
      if (joint.type == JointType::kBall) {
        add_ball_limit(j);
        continue;
      }
      const double q = state_.q[model_.joint_q[at(j)]];
      const int dof = model_.joint_dof[at(j)];
      const double length = weights_.dof_length[dof];
      const double range[2] = {joint.range[0], joint.range[1]};
      for (int side = 0; side < 2; ++side) {
        const double sign = side == 0 ? 1.0 : -1.0;
        const double gap = sign * (q - range[side]) - joint.limit_margin;
        if (!reached(gap, sign * state_.v[dof], sign * data_.v_free[dof])) continue;
        begin_limit(ConstraintKind::kJointLimit, j, side);
        writer_.add_dof(dof, 0, sign);
        writer_.end(&gap, &length);
      }
    }
  }

  void add_joint_friction() {
    if (!model_.options.friction_loss_enabled) return;
    for (int dof = 0; dof < model_.nv; ++dof) {
      const double friction = parameters_.dof_friction[dof];
      if (!(friction > 0.0)) continue;
      writer_.begin(ConstraintKind::kJointFriction, dof);
      writer_.blocks().add_box(-h_ * friction, h_ * friction);
      writer_.add_dof(dof, 0, 1.0);
      writer_.end(kZeros, &weights_.dof_length[dof]);
    }
  }

  void add_tendon_limits() {
    if (!model_.options.limits_enabled) return;
    for (int t = 0; t < model_.ntendon; ++t) {
      const Tendon& tendon = model_.tendons[at(t)];
      if (!tendon.limited) continue;
      for (int side = 0; side < 2; ++side) {
        const double sign = side == 0 ? 1.0 : -1.0;
        const double gap = sign * (data_.tendon_length[t] - tendon.range[side]) - tendon.limit_margin;
        const double rate = sign * data_.tendon_velocity[t];
        if (!reached(gap, rate, rate)) continue;
        begin_limit(ConstraintKind::kTendonLimit, t, side);
        add_tendon(tendon, sign);
        writer_.end(&gap, &weights_.tendon_length[t]);
      }
    }
  }

  void add_tendon_friction() {
    if (!model_.options.friction_loss_enabled) return;
    for (int t = 0; t < model_.ntendon; ++t) {
      const double friction = parameters_.tendon_friction[t];
      if (!(friction > 0.0)) continue;
      writer_.begin(ConstraintKind::kTendonFriction, t);
      writer_.blocks().add_box(-h_ * friction, h_ * friction);
      add_tendon(model_.tendons[at(t)], 1.0);
      writer_.end(kZeros, &weights_.tendon_length[t]);
    }
  }

  void add_equalities() {
    if (!model_.options.equalities_enabled) return;
    for (std::size_t i = 0; i < model_.equalities.size(); ++i) {
      const Equality& equality = model_.equalities[i];
      if (!equality.active) continue;
      writer_.begin(ConstraintKind::kEquality, static_cast<int>(i));
      switch (equality.type) {
        case EqualityType::kConnect:
          add_connect(equality);
          break;
        case EqualityType::kWeld:
          add_weld(equality);
          break;
        case EqualityType::kJoint:
          add_joint_coupling(equality);
          break;
        case EqualityType::kTendon:
          add_tendon_coupling(equality);
          break;
      }
    }
  }

  // Servos whose limits matter: Box[h lo, h hi] on the rate of the transmission.
  void add_servos() {
    for (int u = 0; u < model_.nu; ++u) {
      if (data_.servo_mode[at(u)] != ServoMode::kBounded) continue;
      const Actuator& actuator = model_.actuators[at(u)];
      const Vector2 range = servo_range(model_, data_, u);
      writer_.begin(ConstraintKind::kServo, u);
      writer_.blocks().add_box(h_ * range[0], h_ * range[1]);
      double length = 1.0;
      if (actuator.transmission == TransmissionType::kJoint) {
        const int dof = model_.joint_dof[at(actuator.target)];
        const double moment = data_.actuator_moment(dof, u);
        writer_.add_dof(dof, 0, moment);
        length = weights_.dof_length[dof] / std::abs(moment);
      } else {
        for (const Tendon::Term& term : model_.tendons[at(actuator.target)].terms) {
          const int dof = model_.joint_dof[at(term.joint)];
          writer_.add_dof(dof, 0, data_.actuator_moment(dof, u));
        }
        length = weights_.tendon_length[actuator.target] / std::abs(actuator.gear[0]);
      }
      writer_.end(kZeros, &length);
    }
  }

 private:
  bool is_soft() const { return options_.constraints == ConstraintModel::kMujoco; }

  // Components [t1, t2, spin, roll1, roll2, n] as far as the dimension goes; the normal last.
  void add_contact(const Contact& contact, int index) {
    const int m = contact.material.dimension;
    if (is_soft() && !(contact.distance < contact.margin)) return;
    const Vec3 t1 = contact.frame.c0, t2 = contact.frame.c1, n = contact.frame.c2, zero;
    const Vec3 all_linear[6] = {t1, t2, zero, zero, zero, n}, all_angular[6] = {zero, zero, n, t1, t2, zero};
    const double length = m > 3 ? pair_length(contact.body_a, contact.body_b) : 1.0;
    const double all_lengths[6] = {1.0, 1.0, length, length, length, 1.0};
    Vec3 linear[6], angular[6];
    double lengths[6], position[6] = {};
    for (int r = 0; r < m - 1; ++r) {
      linear[r] = all_linear[r];
      angular[r] = all_angular[r];
      lengths[r] = all_lengths[r];
    }
    linear[m - 1] = n;
    angular[m - 1] = zero;
    lengths[m - 1] = 1.0;
    position[m - 1] = contact.distance - contact.margin;
    writer_.begin(ConstraintKind::kContact, index);
    writer_.blocks().add_coulomb(contact.material.friction.data(), m - 1);
    writer_.add_point(contact.body_b, contact.position, 1.0, linear, angular, m);
    writer_.add_point(contact.body_a, contact.position, -1.0, linear, angular, m);
    const double expected = free_mobility(contact.body_a) + free_mobility(contact.body_b);
    if (!is_soft() && writer_.mobility(m - 1, weights_.dof) < kImmovable * expected) {
      writer_.cancel();
    } else {
      writer_.end(position, lengths);
    }
  }

  // How far a unit impulse moves a typical point of a body in the reference configuration.
  double free_mobility(int body) const {
    const double length = weights_.body_length[at(body)];
    return weights_.body[at(body)][0] + length * length * weights_.body[at(body)][1];
  }

  // That of the smaller of two bodies, for relative rotations; what does not move does not count.
  double pair_length(int a, int b) const {
    const bool moves_a = model_.body_last_dof[at(a)] >= 0, moves_b = model_.body_last_dof[at(b)] >= 0;
    const double of_a = weights_.body_length[at(a)], of_b = weights_.body_length[at(b)];
    if (moves_a && moves_b) return std::min(of_a, of_b);
    return moves_a ? of_a : of_b;
  }

  void begin_limit(ConstraintKind kind, int index, int side) {
    writer_.begin(kind, index, side);
    writer_.blocks().add_nonnegative();
  }

  // Twice the way of a step: the constraint may speed things up, and one that stays open costs little.
  bool reached(double gap, double rate, double free_rate) const {
    if (is_soft()) return gap < 0.0;
    return gap + 2.0 * h_ * std::min({rate, free_rate, 0.0}) <= options_.stabilisation.slop;
  }

  void add_ball_limit(int j) {
    const Joint& joint = model_.joints[at(j)];
    const int dof = model_.joint_dof[at(j)];
    const Vector3 turn = so3_log(quaternion_at(state_.q, model_.joint_q[at(j)]).normalized());
    const double angle = turn.norm(), gap = joint.range[1] - angle - joint.limit_margin;
    if (!(angle > 0.0)) return;
    const Vector3 axis = turn / angle;
    if (!reached(gap, -axis.dot(state_.v.segment<3>(dof)), -axis.dot(data_.v_free.segment<3>(dof)))) return;
    begin_limit(ConstraintKind::kJointLimit, j, 1);
    for (int k = 0; k < 3; ++k) writer_.add_dof(dof + k, 0, -axis[k]);
    writer_.end(&gap, &weights_.dof_length[dof]);
  }

  void add_tendon(const Tendon& tendon, double sign) {
    for (const Tendon::Term& term : tendon.terms) {
      writer_.add_dof(model_.joint_dof[at(term.joint)], 0, sign * term.coefficient);
    }
  }

  static void world_axes(double scale, Vec3* axes) {
    axes[0] = Vec3(scale, 0, 0);
    axes[1] = Vec3(0, scale, 0);
    axes[2] = Vec3(0, 0, scale);
  }

  // The anchors of both bodies coincide: v_b - v_a at the anchor, error p_b - p_a.
  void add_connect(const Equality& e) {
    const int b = std::max(e.b, 0);
    const Vec3 pa = data_.X_WB[at(e.a)] * Vec3(e.anchor_a), pb = data_.X_WB[at(b)] * Vec3(e.anchor_b);
    const Vec3 error = pb - pa;
    Vec3 linear[3], angular[3];
    world_axes(1.0, linear);
    writer_.blocks().add_equality(3);
    writer_.add_point(b, pb, 1.0, linear, angular, 3);
    writer_.add_point(e.a, pa, -1.0, linear, angular, 3);
    const double position[3] = {error.x(), error.y(), error.z()};
    writer_.end(position, kOnes);
    if (is_soft()) writer_.set_drift(point_drift(b, pb) - point_drift(e.a, pa));
  }

  // X_AB = relative_pose: the point anchor_a of body b, and the rotation.
  void add_weld(const Equality& e) {
    if (is_soft()) {
      add_quaternion_weld(e);
      return;
    }
    const int b = std::max(e.b, 0);
    const Pose X_WT = data_.X_WB[at(e.a)] * Pose(e.relative_pose);  // where body b should be
    const Vec3 pb = data_.X_WB[at(b)] * Vec3(e.anchor_a), pa = X_WT * Vec3(e.anchor_a);
    const Quaternion R_TB(transpose(X_WT.R).eigen() * data_.X_WB[at(b)].R.eigen());
    const Vec3 turn = X_WT.R * Vec3(so3_log(R_TB.normalized()));
    const Vec3 error = pb - pa;
    Vec3 linear[6], angular[6];
    world_axes(1.0, linear);
    world_axes(e.torque_scale, angular + 3);
    writer_.blocks().add_equality(6);
    writer_.add_point(b, pb, 1.0, linear, angular, 6);
    writer_.add_point(e.a, pb, -1.0, linear, angular, 6);
    const double s = e.torque_scale;
    const double position[6] = {error.x(), error.y(), error.z(), s * turn.x(), s * turn.y(), s * turn.z()};
    const double length = pair_length(e.a, b);
    const double lengths[6] = {1.0, 1.0, 1.0, length, length, length};
    writer_.end(position, lengths);
  }

  // The same as MuJoCo writes it: the error of rotation is the vector part of the quaternion from body b to where it
  // should be, e = vec(conj(q_B) q_A q_rel), about half of the angle.
  void add_quaternion_weld(const Equality& e) {
    const int b = std::max(e.b, 0);
    const Pose X_WT = data_.X_WB[at(e.a)] * Pose(e.relative_pose);
    const Vec3 pb = data_.X_WB[at(b)] * Vec3(e.anchor_a), pa = X_WT * Vec3(e.anchor_a);
    const Quaternion q_T(X_WT.R.eigen()), q_B(data_.X_WB[at(b)].R.eigen());
    const double s = e.torque_scale;
    Matrix3 rate;  // de/dt = 1/2 vec(conj(q_B) w q_T), w the relative angular velocity
    for (int k = 0; k < 3; ++k) {
      const Vector3 axis = Vector3::Unit(k);
      const Quaternion w(0.0, axis.x(), axis.y(), axis.z());
      rate.col(k) = 0.5 * s * (q_B.conjugate() * w * q_T).vec();
    }
    Vec3 linear[6], angular[6];
    world_axes(1.0, linear);
    for (int r = 0; r < 3; ++r) angular[3 + r] = Vec3(Vector3(rate.row(r)));
    writer_.blocks().add_equality(6);
    writer_.add_point(b, pb, 1.0, linear, angular, 6);
    writer_.add_point(e.a, pa, -1.0, linear, angular, 6);
    const Vector3 turn = -s * (q_B.conjugate() * q_T).vec();
    const Vec3 error = pb - pa;
    const double position[6] = {error.x(), error.y(), error.z(), turn.x(), turn.y(), turn.z()};
    const double length = pair_length(e.a, b);
    const double lengths[6] = {1.0, 1.0, 1.0, length, length, length};
    writer_.end(position, lengths);
    writer_.set_drift(point_drift(b, pb) - point_drift(e.a, pa));
    // The second derivative of e without joint accelerations: q' = w q / 2 for both bodies.
    const auto pure = [](const Vector3& w) { return Quaternion(0.0, w.x(), w.y(), w.z()); };
    const Vector3 w_a = data_.velocity[at(e.a)].angular.eigen(), w_b = data_.velocity[at(b)].angular.eigen();
    const Vector3 alpha = (data_.acceleration[at(b)].angular - data_.acceleration[at(e.a)].angular).eigen();
    const Vector3 spin =
        (pure(w_b - w_a) * pure(w_a)).coeffs().head<3>() - (pure(w_b) * pure(w_b - w_a)).coeffs().head<3>();
    const double spin_scalar = (pure(w_b - w_a) * pure(w_a)).w() - (pure(w_b) * pure(w_b - w_a)).w();
    const Quaternion second(0.5 * spin_scalar, alpha.x() + 0.5 * spin.x(), alpha.y() + 0.5 * spin.y(),
                            alpha.z() + 0.5 * spin.z());
    writer_.set_drift(Vec3(Vector3(0.5 * s * (q_B.conjugate() * second * q_T).vec())), 3);
  }

  // dJ/dt v of a point of a body, up to gravity, which is the same for all: after compute_bias the accelerations in
  // data are those of joints that do not accelerate.
  Vec3 point_drift(int body, Vec3 p) const {
    return Vec3(Vector3(point_acceleration(model_, data_, body, p.eigen()).head<3>()));
  }

  struct Value {
    double f = 0.0, slope = 0.0;
  };
  static Value polynomial(const std::array<double, 5>& c, double x) {
    Value p;
    for (int k = 4; k >= 0; --k) {
      p.slope = p.slope * x + p.f;
      p.f = p.f * x + c[at(k)];
    }
    return p;
  }

  double joint_displacement(int joint) const {
    const int q = model_.joint_q[at(joint)];
    return state_.q[q] - model_.reference_q[q];
  }

  // y - y0 = p(x - x0) for joints a (y) and b (x).
  void add_joint_coupling(const Equality& e) {
    const Value p = e.b >= 0 ? polynomial(e.polynomial, joint_displacement(e.b)) : Value{e.polynomial[0], 0.0};
    const double error = joint_displacement(e.a) - p.f;
    writer_.blocks().add_equality(1);
    writer_.add_dof(model_.joint_dof[at(e.a)], 0, 1.0);
    if (e.b >= 0) writer_.add_dof(model_.joint_dof[at(e.b)], 0, -p.slope);
    writer_.end(&error, &weights_.dof_length[model_.joint_dof[at(e.a)]]);
  }

  double tendon_displacement(int t) const {
    double reference = 0.0;
    for (const Tendon::Term& term : model_.tendons[at(t)].terms) {
      reference += term.coefficient * model_.reference_q[model_.joint_q[at(term.joint)]];
    }
    return data_.tendon_length[t] - reference;
  }

  void add_tendon_coupling(const Equality& e) {
    const Value p = e.b >= 0 ? polynomial(e.polynomial, tendon_displacement(e.b)) : Value{e.polynomial[0], 0.0};
    const double error = tendon_displacement(e.a) - p.f;
    writer_.blocks().add_equality(1);
    add_tendon(model_.tendons[at(e.a)], 1.0);
    if (e.b >= 0) add_tendon(model_.tendons[at(e.b)], -p.slope);
    writer_.end(&error, &weights_.tendon_length[e.a]);
  }

  const Model& model_;
  const Parameters& parameters_;
  const State& state_;
  const Data& data_;
  const ReferenceWeights& weights_;
  const double h_;
  const SimulatorOptions& options_;
  ConstraintWriter writer_;
};

// Grows with room to spare, so that a few more contacts than ever before do not allocate each time.
void ensure_size(VectorX& v, int size) {
  if (v.size() < size) v.resize(2 * size);
}

}  // namespace

void assemble_constraints(const Model& model, const Parameters& parameters, const State& state, const Data& data,
                          std::span<const Contact> contacts, const ReferenceWeights& weights, double h,
                          double remaining, const SimulatorOptions& options, Constraints& c) {
  c.clear();
  Assembler assembler(model, parameters, state, data, weights, h, options, c);
  assembler.add_contacts(contacts);
  assembler.add_joint_limits();
  assembler.add_joint_friction();
  assembler.add_tendon_limits();
  assembler.add_tendon_friction();
  assembler.add_equalities();
  assembler.add_servos();
  for (VectorX* v : {&c.velocity, &c.free_velocity, &c.bias, &c.compliance, &c.recovery}) ensure_size(*v, c.rows());
  constraint_velocity(model, c, state.v, c.velocity);
  constraint_velocity(model, c, data.v_free, c.free_velocity);
  if (options.constraints == ConstraintModel::kMujoco) {
    set_soft_laws(model, contacts, weights, h, c);
    return;
  }
  set_rigid_laws(model, weights, contacts, data, h, remaining, options.stabilisation, c);
}

}  // namespace touchstone
