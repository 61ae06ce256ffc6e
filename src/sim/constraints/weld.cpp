#include "touchstone/sim/constraints/weld.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/math/so3.hpp"

namespace touchstone {
namespace {

// Where body b is, and where it should be.
struct Poses {
  Pose X_WT;    // wanted
  Vec3 pa, pb;  // the point where it should be, and where it is
  Quaternion q_T, q_B;
};

Poses poses_of(const ConstraintScene& scene, const Equality& e) {
  const Pose& X_WB = scene.data.X_WB[at(std::max(e.b, 0))];
  const Pose X_WT = scene.data.X_WB[at(e.a)] * Pose(e.relative_pose);
  return {X_WT, X_WT * Vec3(e.anchor_a), X_WB * Vec3(e.anchor_a), Quaternion(X_WT.R.eigen()),
          Quaternion(X_WB.R.eigen())};
}

PairRows rows_of(const ConstraintScene& scene, const Equality& e, const Poses& poses) {
  PairRows rows;
  rows.body_a = e.a;
  rows.body_b = std::max(e.b, 0);
  rows.point_b = poses.pb;
  rows.count = 6;
  world_axes(1.0, rows.linear);
  if (!scene.rules.mujoco_loops) {
    rows.point_a = poses.pb;
    world_axes(e.torque_scale, rows.angular + 3);
    return rows;
  }
  rows.point_a = poses.pa;
  Matrix3 rate;  // of e = vec(conj(q_B) q_A q_rel): de/dt = 1/2 vec(conj(q_B) w q_T), w the relative angular velocity
  for (int k = 0; k < 3; ++k) {
    const Vector3 axis = Vector3::Unit(k);
    const Quaternion w(0.0, axis.x(), axis.y(), axis.z());
    rate.col(k) = 0.5 * e.torque_scale * (poses.q_B.conjugate() * w * poses.q_T).vec();
  }
  for (int r = 0; r < 3; ++r) rows.angular[3 + r] = Vec3(Vector3(rate.row(r)));
  return rows;
}

Vec3 rotation_error(const ConstraintScene& scene, const Equality& e, const Poses& poses) {
  const double s = e.torque_scale;
  if (scene.rules.mujoco_loops) return Vec3(Vector3(-s * (poses.q_B.conjugate() * poses.q_T).vec()));
  const Mat3& R_WB = scene.data.X_WB[at(std::max(e.b, 0))].R;
  const Quaternion R_TB(transpose(poses.X_WT.R).eigen() * R_WB.eigen());
  return s * (poses.X_WT.R * Vec3(so3_log(R_TB.normalized())));
}

// The second derivative of the error of rotation without joint accelerations; of MuJoCo's q' = w q / 2 for both bodies.
Vec3 rotation_drift(const ConstraintScene& scene, const Equality& e, const Poses& poses) {
  const Data& data = scene.data;
  const int a = e.a, b = std::max(e.b, 0);
  if (!scene.rules.mujoco_loops)
    return e.torque_scale * (data.acceleration[at(b)].angular - data.acceleration[at(a)].angular);
  const auto pure = [](const Vector3& w) { return Quaternion(0.0, w.x(), w.y(), w.z()); };
  const Vector3 w_a = data.velocity[at(a)].angular.eigen(), w_b = data.velocity[at(b)].angular.eigen();
  const Vector3 alpha = (data.acceleration[at(b)].angular - data.acceleration[at(a)].angular).eigen();
  const Vector3 spin =
      (pure(w_b - w_a) * pure(w_a)).coeffs().head<3>() - (pure(w_b) * pure(w_b - w_a)).coeffs().head<3>();
  const double spin_scalar = (pure(w_b - w_a) * pure(w_a)).w() - (pure(w_b) * pure(w_b - w_a)).w();
  const Quaternion second(0.5 * spin_scalar, alpha.x() + 0.5 * spin.x(), alpha.y() + 0.5 * spin.y(),
                          alpha.z() + 0.5 * spin.z());
  return Vec3(Vector3(0.5 * e.torque_scale * (poses.q_B.conjugate() * second * poses.q_T).vec()));
}

}  // namespace

void WeldLoop::add(const ConstraintStep& step, const Equality& e, ConstraintWriter& writer) {
  const Poses poses = poses_of(step, e);
  const PairRows rows = rows_of(step, e, poses);
  const Vec3 error = poses.pb - poses.pa, turn = rotation_error(step, e, poses);
  writer.blocks().add_equality(6);
  writer.add_pair(rows);
  const double position[6] = {error.x(), error.y(), error.z(), turn.x(), turn.y(), turn.z()};
  const double length = weld_turn_length(e, pair_length(step, rows.body_a, rows.body_b));
  const double lengths[6] = {1.0, 1.0, 1.0, length, length, length};
  writer.end(position, lengths);
  if (!step.needs_loop_drift()) return;
  double values[6];
  drift(step, e, values);
  writer.set_drift(Vec3(values[0], values[1], values[2]));
  writer.set_drift(Vec3(values[3], values[4], values[5]), 3);
}

void WeldLoop::drift(const ConstraintScene& scene, const Equality& e, double* drift) {
  const Poses poses = poses_of(scene, e);
  const PairRows rows = rows_of(scene, e, poses);
  const Vec3 a = point_drift(scene, rows.body_b, rows.point_b) - point_drift(scene, rows.body_a, rows.point_a);
  const Vec3 alpha = rotation_drift(scene, e, poses);
  for (int r = 0; r < 3; ++r) {
    drift[r] = a[r];
    drift[3 + r] = alpha[r];
  }
}

// Rows of the rotation are in radians times the torque scale.
double weld_turn_length(const Equality& e, double length) {
  return e.torque_scale != 0.0 ? length / std::abs(e.torque_scale) : length;
}

double WeldLoop::weight(const Model&, const ReferenceWeights& weights, const Equality& e, int row) {
  return weights.body[at(e.a)][row / 3] + weights.body[at(std::max(e.b, 0))][row / 3];
}

bool WeldLoop::wrench(const ConstraintScene& scene, const Equality& e, const double* impulse, PairWrench& wrench) {
  wrench = wrench_of(rows_of(scene, e, poses_of(scene, e)), impulse);
  return true;
}

}  // namespace touchstone
