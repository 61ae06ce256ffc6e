#include "touchstone/model/transmission.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/math/so3.hpp"
#include "touchstone/model/loop_joint.hpp"

namespace touchstone {

namespace {

Pose site_pose(const Model& model, const KinematicsView& k, int site) {
  const Site& s = model.sites[site];
  return k.X_WB[s.body] * Pose(s.pose);
}

double joint_length(const Model& model, const Actuator& actuator, const ConstVectorRef& q, VectorRef moment) {
  const auto j = static_cast<std::size_t>(actuator.target);
  const int dof = model.joint_dof[j];
  const int start = model.joint_q[j];
  const bool in_parent = actuator.transmission == TransmissionType::kJointInParent;
  const auto& gear = actuator.gear;
  switch (model.joints[j].type) {
    case JointType::kFree: {
      Vector3 rotation_gear(gear[3], gear[4], gear[5]);
      if (in_parent) rotation_gear = quaternion_at(q, start + 3).normalized().conjugate() * rotation_gear;
      for (int i = 0; i < 3; ++i) moment[dof + i] = gear[i];
      moment.segment<3>(dof + 3) = rotation_gear;
      return 0.0;
    }
    case JointType::kBall: {
      const Quaternion rotation = quaternion_at(q, start).normalized();
      Vector3 axis_gear(gear[0], gear[1], gear[2]);
      const double length = so3_log(rotation).dot(axis_gear);
      if (in_parent) axis_gear = rotation.conjugate() * axis_gear;
      moment.segment<3>(dof) = axis_gear;
      return length;
    }
    default:
      moment[dof] = gear[0];
      return gear[0] * q[start];
  }
}

double site_length(const Model& model, const KinematicsView& k, const Actuator& actuator, VectorRef moment) {
  const Pose X_site = site_pose(model, k, actuator.target);
  const int body = model.sites[actuator.target].body;
  const Vec3 translation_gear(actuator.gear[0], actuator.gear[1], actuator.gear[2]);
  const Vec3 rotation_gear(actuator.gear[3], actuator.gear[4], actuator.gear[5]);
  if (actuator.reference_site < 0) {
    add_wrench(model, k, body, X_site.p, X_site.R * translation_gear, X_site.R * rotation_gear, moment);
    return 0.0;
  }
  const Pose X_ref = site_pose(model, k, actuator.reference_site);
  const int reference_body = model.sites[actuator.reference_site].body;
  const Vec3 force = X_ref.R * translation_gear;
  const Vec3 torque = X_ref.R * rotation_gear;
  add_wrench(model, k, body, X_site.p, force, torque, moment);
  add_wrench(model, k, reference_body, X_ref.p, -force, -torque, moment);
  // A dof that carries both sites does not change their relative pose. The two wrenches act at different points, so
  // their moments on it do not cancel by themselves.
  for (int dof = common_dof(model, body, reference_body); dof >= 0; dof = model.dof_parent[dof]) {
    moment[dof] = 0.0;
  }
  const Vec3 relative = transpose_times(X_ref.R, X_site.p - X_ref.p);
  const Quaternion rotation(Matrix3(X_ref.R.eigen().transpose() * X_site.R.eigen()));
  return dot(relative, translation_gear) + so3_log(rotation.normalized()).dot(rotation_gear.eigen());
}

// A rod of fixed length joins the crank site with a point on the slider's z axis; the length is that point's
// coordinate. With v from slider to crank and a = v.axis: length = a - sqrt(a^2 + rod^2 - |v|^2).
double slider_crank_length(const Model& model, const KinematicsView& k, const Actuator& actuator, VectorRef moment) {
  const Pose X_crank = site_pose(model, k, actuator.target);
  const Pose X_slider = site_pose(model, k, actuator.reference_site);
  const Vec3 axis = X_slider.R.c2;
  const Vec3 v = X_crank.p - X_slider.p;
  const double a = dot(v, axis);
  const double discriminant = a * a + actuator.crank_length * actuator.crank_length - dot(v, v);
  // Out of reach, the rod is taken as perpendicular to the axis.
  const bool reachable = discriminant > 0.0;
  const double root = reachable ? std::sqrt(discriminant) : 0.0;
  const Vec3 gradient_v = reachable ? axis * (1.0 - a / root) + v * (1.0 / root) : axis;
  const Vec3 gradient_axis = reachable ? v * (1.0 - a / root) : v;
  const double gear = actuator.gear[0];
  const int crank_body = model.sites[actuator.target].body;
  const int slider_body = model.sites[actuator.reference_site].body;
  add_wrench(model, k, crank_body, X_crank.p, gear * gradient_v, Vec3(), moment);
  add_wrench(model, k, slider_body, X_slider.p, -gear * gradient_v, gear * cross(axis, gradient_axis), moment);
  return gear * (a - root);
}

double loop_length(const Model& model, const KinematicsView& k, const Actuator& actuator, VectorRef moment) {
  const LoopJoint& joint = model.loop_joints[actuator.target];
  const int first = model.loop_coordinate[actuator.target], count = coordinate_count(joint.type);
  LoopRow rows[kMostLoopCoordinates];
  const LoopFrames frames = loop_frames(joint, k.X_WB[joint.body_a], k.X_WB[joint.body_b]);
  loop_coordinates(joint, frames, k.loop_memory.subspan(first, count), rows);
  double length = 0.0;
  Vec3 force, torque;
  for (int i = 0; i < count; ++i) {
    const double gear = actuator.gear[i];
    length += gear * rows[i].value;
    force += gear * rows[i].linear;
    torque += gear * rows[i].angular;
  }
  add_wrench(model, k, joint.body_b, frames.X_WB.p, force, torque, moment);
  add_wrench(model, k, joint.body_a, frames.X_WB.p, -force, -torque, moment);
  // As for sites: what carries both bodies is not moved by what acts between them, and rounding must not say so.
  for (int dof = common_dof(model, joint.body_a, joint.body_b); dof >= 0; dof = model.dof_parent[dof]) {
    moment[dof] = 0.0;
  }
  return length;
}

}  // namespace

int common_dof(const Model& model, int body_a, int body_b) {
  int a = model.body_last_dof[body_a];
  int b = model.body_last_dof[body_b];
  while (a != b) {
    int& deeper = a > b ? a : b;
    deeper = model.dof_parent[deeper];
  }
  return a;
}

double tendon_length(const Model& model, const Tendon& tendon, const ConstVectorRef& q) {
  double length = 0.0;
  for (const Tendon::Term& term : tendon.terms) {
    length += term.coefficient * q[model.joint_q[term.joint]];
  }
  return length;
}

double tendon_stretch(const Parameters& parameters, int tendon, double length) {
  const Vector2& band = parameters.tendon_spring_length[tendon];
  return length - std::clamp(length, band[0], band[1]);
}

bool is_on_one_dof(const Model& model, const Actuator& actuator) {
  const bool at_joint =
      actuator.transmission == TransmissionType::kJoint || actuator.transmission == TransmissionType::kJointInParent;
  return at_joint && dof_count(model.joints[static_cast<std::size_t>(actuator.target)].type) == 1;
}

bool has_length(const Model& model, const Actuator& actuator) {
  const auto target = static_cast<std::size_t>(actuator.target);
  switch (actuator.transmission) {
    case TransmissionType::kJoint:
    case TransmissionType::kJointInParent:
      return model.joints[target].type != JointType::kFree;
    case TransmissionType::kSite:
      return actuator.reference_site >= 0;
    case TransmissionType::kTendon:
    case TransmissionType::kSliderCrank:
    case TransmissionType::kLoopJoint:
      return true;
  }
  return true;
}

double transmission_length(const Model& model, const KinematicsView& kinematics, const Actuator& actuator,
                           const ConstVectorRef& q, VectorRef moment) {
  moment.setZero();
  switch (actuator.transmission) {
    case TransmissionType::kJoint:
    case TransmissionType::kJointInParent:
      return joint_length(model, actuator, q, moment);
    case TransmissionType::kTendon: {
      const Tendon& tendon = model.tendons[actuator.target];
      for (const Tendon::Term& term : tendon.terms) {
        moment[model.joint_dof[term.joint]] += actuator.gear[0] * term.coefficient;
      }
      return actuator.gear[0] * tendon_length(model, tendon, q);
    }
    case TransmissionType::kSite:
      return site_length(model, kinematics, actuator, moment);
    case TransmissionType::kSliderCrank:
      return slider_crank_length(model, kinematics, actuator, moment);
    case TransmissionType::kLoopJoint:
      return loop_length(model, kinematics, actuator, moment);
  }
  return 0.0;
}

void add_wrench(const Model& model, const KinematicsView& kinematics, int body, Vec3 point, Vec3 force, Vec3 torque,
                VectorRef tau) {
  int dof = model.body_last_dof[body];
  if (dof < 0) return;
  const Vec3 O = kinematics.reference_point[model.dof_tree[dof]];
  const Force f{torque + cross(point - O, force), force};
  for (; dof >= 0; dof = model.dof_parent[dof]) {
    tau[dof] += dot(kinematics.S[dof], f);
  }
}

}  // namespace touchstone
