#include "touchstone/diff/inverse_kinematics.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <Eigen/Cholesky>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/rotations.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone {
namespace {

constexpr double kFirstDamping = 1e-3;   // of the largest diagonal entry of J' J
constexpr double kLeastDamping = 1e-12;  // of the same
constexpr double kStalled = 1e-13;       // m or rad: a step that is shorter ends an attempt
constexpr double kNearlyTurned = 3.0;    // rad: beyond, the derivative of the logarithm is nearly singular

// SplitMix64: the same numbers everywhere.
double uniform(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ull;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

void require_body(const Model& model, int body) {
  if (body < 1 || body >= model.nbody) {
    throw Error("inverse kinematics: there is no body {}; numbers are from 1 to {}", body, model.nbody - 1);
  }
}

void require_target(const Vector3& position, double weight) {
  if (!position.allFinite()) throw Error("inverse kinematics: a wanted position is not finite");
  if (!(weight >= 0.0) || !std::isfinite(weight)) {
    throw Error("inverse kinematics: a weight is {}; it must be finite and not negative", weight);
  }
}

}  // namespace

InverseKinematics::InverseKinematics(const Model& model)
    : model_(model), data_(model), fixed_(at(model.nv)), at_bound_(at(model.nv)) {}

void InverseKinematics::require_usable(const IkProblem& problem) const {
  for (const PointTarget& t : problem.points) {
    require_body(model_, t.body);
    require_target(t.position, t.weight);
    require_target(t.point, t.weight);
  }
  for (const TurnTarget& t : problem.turns) {
    require_body(model_, t.body);
    require_target(Vector3::Zero(), t.weight);
    if (!(t.rotation.norm() > 0.0) || !t.rotation.coeffs().allFinite())
      throw Error("inverse kinematics: a wanted rotation is zero or not finite; give a unit quaternion [w, x, y, z]");
  }
  require_target(problem.centre_of_mass.position, problem.centre_of_mass.weight);
  for (const int dof : problem.fixed_dofs) {
    if (dof < 0 || dof >= model_.nv) throw Error("inverse kinematics: there is no dof {} of {}", dof, model_.nv);
  }
  if (problem.points.empty() && problem.turns.empty() && problem.centre_of_mass.weight == 0.0)
    throw Error("inverse kinematics: nothing is wanted; give a target");
}

void InverseKinematics::set_bounds(const IkProblem& problem, const IkOptions& options) {
  limits_ = options.limits;
  std::fill(fixed_.begin(), fixed_.end(), 0);
  for (const int dof : problem.fixed_dofs) fixed_[at(dof)] = 1;
}

void InverseKinematics::move_inside(VectorX& q) const {
  for (int j = 0; j < model_.njoint && limits_; ++j) {
    const Joint& joint = model_.joints[at(j)];
    const int k = model_.joint_q[at(j)];
    if (!joint.limited || fixed_[at(model_.joint_dof[at(j)])] != 0) continue;
    if (is_scalar(joint)) {
      q[k] = std::clamp(q[k], joint.range[0], joint.range[1]);
    } else if (joint.type == JointType::kBall) {
      const Vector3 turn = so3_log(quaternion_at(q, k).normalized());
      if (turn.norm() <= joint.range[1]) continue;
      const Quaternion inside = so3_exp(turn * (joint.range[1] / turn.norm()));
      q.segment<4>(k) << inside.w(), inside.x(), inside.y(), inside.z();
    }
  }
}

// --- residuals and their Jacobian ---

void InverseKinematics::point_rows(const PointTarget& t, int& row, bool with_jacobian) {
  const Vec3 p = data_.X_WB[at(t.body)] * Vec3(t.point);
  const Vector3 error = p.eigen() - t.position;
  const int tree = model_.body_kernels[at(t.body)].tree;
  double squared = 0.0;
  for (int k = 0; k < 3; ++k) {
    if (!t.axes[at(k)]) continue;
    squared += error[k] * error[k];
    residual_[row] = t.weight * error[k];
    if (with_jacobian && tree >= 0) {
      const Vec3 r = p - data_.reference_point[at(tree)];
      for (int i = model_.body_last_dof[at(t.body)]; i >= 0; i = model_.dof_parent[at(i)]) {
        const Motion& S = data_.S[at(i)];
        J_(row, i) = t.weight * (S.linear + cross(S.angular, r))[k];
      }
    }
    ++row;
  }
  position_error_ = std::max(position_error_, std::sqrt(squared));
}

void InverseKinematics::turn_rows(const TurnTarget& t, int& row, bool with_jacobian) {
  const Quaternion target = t.rotation.normalized();
  const Matrix3 R = data_.X_WB[at(t.body)].R.eigen();
  const Vector3 error = so3_log((target.conjugate() * Quaternion(R)).normalized());
  residual_.segment<3>(row) = t.weight * error;
  angle_error_ = std::max(angle_error_, error.norm());
  if (with_jacobian) {
    const Matrix3 rate = error.norm() < kNearlyTurned ? right_jacobian_inverse(error) : Matrix3::Identity();
    const Matrix3 turn = t.weight * rate * R.transpose();
    for (int i = model_.body_last_dof[at(t.body)]; i >= 0; i = model_.dof_parent[at(i)]) {
      J_.block<3, 1>(row, i) = turn * data_.S[at(i)].angular.eigen();
    }
  }
  row += 3;
}

void InverseKinematics::mass_rows(const MassTarget& t, int& row, bool with_jacobian) {
  if (t.weight == 0.0) return;
  const Parameters& p = model_.defaults;
  double mass = 0.0;
  Vec3 first;
  for (int b = 1; b < model_.nbody; ++b) {
    const int tree = model_.body_kernels[at(b)].tree;
    if (tree < 0) continue;
    mass += p.mass(b);
    first += p.mass(b) * (data_.body_com[at(b)] + data_.reference_point[at(tree)]);
  }
  const Vector3 error = (first * (1.0 / mass)).eigen() - t.position;
  double squared = 0.0;
  if (with_jacobian) crba(model_, p, data_);
  for (int k = 0; k < 3; ++k) {
    if (!t.axes[at(k)]) continue;
    squared += error[k] * error[k];
    residual_[row] = t.weight * error[k];
    for (int i = 0; i < model_.nv && with_jacobian; ++i) {
      const SpatialInertia& I = data_.composite_inertia[at(model_.dof_body[at(i)])];
      const Motion& S = data_.S[at(i)];
      J_(row, i) = t.weight / mass * (I.mass * S.linear + cross(S.angular, I.first))[k];
    }
    ++row;
  }
  position_error_ = std::max(position_error_, std::sqrt(squared));
}

// Half the sum of squares.
double InverseKinematics::evaluate(const IkProblem& problem, const VectorX& q, bool with_jacobian) {
  forward_kinematics(model_, model_.defaults, q, data_);
  const auto rows = static_cast<Eigen::Index>(3 * (problem.points.size() + problem.turns.size() + 1));
  residual_.setZero(rows);
  if (with_jacobian) J_.setZero(rows, model_.nv);
  position_error_ = angle_error_ = 0.0;
  int row = 0;
  for (const PointTarget& t : problem.points) point_rows(t, row, with_jacobian);
  for (const TurnTarget& t : problem.turns) turn_rows(t, row, with_jacobian);
  mass_rows(problem.centre_of_mass, row, with_jacobian);
  return 0.5 * residual_.squaredNorm();
}

// --- one step ---

// min g's + 1/2 s'(H + damping)s within lower_ <= s <= upper_: dofs that would leave their bounds are put onto them,
// one round after another, until the others stay inside; at most nv rounds. False if nothing may move.
bool InverseKinematics::bounded_step(double damping) {
  step_.setZero(model_.nv);
  for (int i = 0; i < model_.nv; ++i) {
    const bool pushes_out = (gradient_[i] > 0.0 && lower_[i] == 0.0) || (gradient_[i] < 0.0 && upper_[i] == 0.0);
    at_bound_[at(i)] = fixed_[at(i)] != 0 || pushes_out ? 1 : 0;
  }
  for (int round = 0; round <= model_.nv; ++round) {
    free_.clear();
    for (int i = 0; i < model_.nv; ++i) {
      if (at_bound_[at(i)] == 0) free_.push_back(i);
    }
    const auto n = static_cast<Eigen::Index>(free_.size());
    if (n == 0) return round > 0;
    reduced_.resize(n, n);
    right_.resize(n);
    for (Eigen::Index a = 0; a < n; ++a) {
      const int i = free_[at(a)];
      right_[a] = -gradient_[i];
      for (int j = 0; j < model_.nv; ++j) {
        if (at_bound_[at(j)] != 0) right_[a] -= H_(i, j) * step_[j];
      }
      for (Eigen::Index b = 0; b < n; ++b) reduced_(a, b) = H_(i, free_[at(b)]);
      reduced_(a, a) += damping;
    }
    const Eigen::LLT<MatrixX> factor(reduced_);
    factor.solveInPlace(right_);
    bool inside = true;
    for (Eigen::Index a = 0; a < n; ++a) {
      const int i = free_[at(a)];
      step_[i] = right_[a];
      if (right_[a] >= lower_[i] && right_[a] <= upper_[i]) continue;
      inside = false;
      step_[i] = std::clamp(right_[a], lower_[i], upper_[i]);
      at_bound_[at(i)] = 1;
    }
    if (inside) return true;
  }
  return true;
}

double InverseKinematics::predicted_gain() const { return -(gradient_.dot(step_) + 0.5 * step_.dot(H_ * step_)); }

void InverseKinematics::attempt(const IkProblem& problem, const IkOptions& options, VectorX& q, IkResult& result) {
  move_inside(q);
  double cost = evaluate(problem, q, true), damping = 0.0, growth = 2.0;
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    if (position_error_ <= options.tolerance && angle_error_ <= options.tolerance) break;
    H_.noalias() = J_.transpose() * J_;
    gradient_.noalias() = J_.transpose() * residual_;
    const double largest = std::max(H_.diagonal().maxCoeff(), 1e-300);
    if (iteration == 0) damping = kFirstDamping * largest;
    lower_.setConstant(model_.nv, -kInfinity);
    upper_.setConstant(model_.nv, kInfinity);
    for (int j = 0; j < model_.njoint && limits_; ++j) {
      const Joint& joint = model_.joints[at(j)];
      if (!joint.limited || !is_scalar(joint)) continue;
      const int dof = model_.joint_dof[at(j)];
      lower_[dof] = std::min(0.0, joint.range[0] - q[model_.joint_q[at(j)]]);
      upper_[dof] = std::max(0.0, joint.range[1] - q[model_.joint_q[at(j)]]);
    }
    bool accepted = false;
    constexpr int kMostTrials = 20;
    for (int trial = 0; trial < kMostTrials && !accepted; ++trial) {
      if (!bounded_step(std::max(damping, kLeastDamping * largest))) return;
      if (!(step_.cwiseAbs().maxCoeff() > kStalled)) return;
      integrate(model_, q, step_, 1.0, trial_);
      move_inside(trial_);
      const double next = evaluate(problem, trial_, false), gain = predicted_gain();
      ++result.iterations;
      if (next < cost && std::isfinite(next)) {
        const double share = gain > 0.0 ? (cost - next) / gain : 1.0, excess = 2.0 * share - 1.0;
        damping *= std::max(1.0 / 3.0, 1.0 - excess * excess * excess);
        growth = 2.0;
        accepted = true;
      } else {
        damping = std::max(damping, kLeastDamping * largest) * growth;
        growth *= 2.0;
      }
    }
    if (!accepted) {
      evaluate(problem, q, false);
      return;
    }
    q = trial_;
    cost = evaluate(problem, q, true);
  }
}

// Anywhere within the limits; joints without limits anywhere on their circle, or near where they are.
void InverseKinematics::draw(std::uint64_t& random, VectorX& q) const {
  for (int j = 0; j < model_.njoint; ++j) {
    const Joint& joint = model_.joints[at(j)];
    const int k = model_.joint_q[at(j)];
    if (joint.type == JointType::kFree || fixed_[at(model_.joint_dof[at(j)])] != 0) continue;
    if (is_scalar(joint)) {
      const double u = uniform(random);
      if (joint.limited && limits_) {
        q[k] = joint.range[0] + u * (joint.range[1] - joint.range[0]);
      } else {
        const double width = joint.type == JointType::kHinge ? std::numbers::pi : 1.0;
        q[k] = model_.reference_q[k] + width * (2.0 * u - 1.0);
      }
    } else {
      Vector3 turn;
      for (int i = 0; i < 3; ++i) turn[i] = std::numbers::pi * (2.0 * uniform(random) - 1.0);
      const Quaternion rotation = so3_exp(turn);
      q.segment<4>(k) << rotation.w(), rotation.x(), rotation.y(), rotation.z();
    }
  }
}

IkResult InverseKinematics::solve(const IkProblem& problem, const ConstVectorRef& start, const IkOptions& options) {
  require_size("start", start.size(), model_.nq);
  require_usable(problem);
  set_bounds(problem, options);
  trial_.resize(model_.nq);
  IkResult best;
  best.q = start;
  if (model_.nv == 0) return best;
  double least = kInfinity;
  std::uint64_t random = options.seed;
  VectorX q = start;
  int iterations = 0;
  for (int k = 0; k <= options.restarts; ++k) {
    if (k > 0) {
      q = start;
      draw(random, q);
    }
    IkResult result;
    attempt(problem, options, q, result);
    const double cost = evaluate(problem, q, false);
    iterations += result.iterations;
    if (cost < least) {
      least = cost;
      best.q = q;
      best.position_error = position_error_;
      best.angle_error = angle_error_;
    }
    best.attempts = k + 1;
    best.reached = best.position_error <= options.tolerance && best.angle_error <= options.tolerance;
    if (best.reached) break;
  }
  best.iterations = iterations;
  return best;
}

}  // namespace touchstone
