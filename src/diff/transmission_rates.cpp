#include "touchstone/diff/transmission_rates.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/diff/rotations.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/model/transmission.hpp"

namespace touchstone {
namespace {

Pose pose_of_site(const Model& model, const Data& data, int site) {
  const Site& s = model.sites[at(site)];
  return data.X_WB[at(s.body)] * Pose(s.pose);
}

// How a point moves and axes turn that a dof carries.
struct PointRate {
  Vec3 linear, angular;
};

PointRate point_rate(const Model& model, const Data& data, int dof, Vec3 point) {
  const Motion& S = data.S[at(dof)];
  const Vec3 arm = point - data.reference_point[at(model.dof_tree[at(dof)])];
  return {S.linear + cross(S.angular, arm), S.angular};
}

// Whether the axis of `dof` moves as `mover` does, both on one path: it comes after it, or both are rotations of one
// joint, which turn each other's axes.
bool is_moved_by(const Model& model, int dof, int mover) {
  if (mover < dof) return true;
  const int joint = model.dof_joint[at(dof)];
  const JointType type = model.joints[at(joint)].type;
  const int first = model.joint_dof[at(joint)] + (type == JointType::kFree ? 3 : 0);
  return model.dof_joint[at(mover)] == joint && dof_count(type) > 1 && dof >= first;
}

}  // namespace

bool has_curved_moment(const Model& model, const Actuator& actuator) {
  const bool is_straight = actuator.transmission == TransmissionType::kTendon || is_on_one_dof(model, actuator);
  return !is_straight && actuator.transmission != TransmissionType::kLoopJoint;
}

// A wrench on a body, which pulls at the dofs of its path that are `begin` to `end` of those at hand.
struct TransmissionRates::Side {
  int begin = 0, end = 0;
  Vec3 point, force, torque;
};

TransmissionRates::TransmissionRates(const Model& model) {
  const bool any = std::any_of(model.actuators.begin(), model.actuators.end(),
                               [&](const Actuator& actuator) { return has_curved_moment(model, actuator); });
  if (!any) return;
  dofs.resize(at(model.nv));
  moment.setZero(model.nv, model.nv);
  length.setZero(model.nv);
}

void TransmissionRates::compute(const Model& model, const Data& data, const State& state, const Actuator& actuator) {
  count = 0;
  switch (actuator.transmission) {
    case TransmissionType::kSite:
      return of_site(model, data, actuator);
    case TransmissionType::kSliderCrank:
      return of_slider_crank(model, data, actuator);
    default:
      return of_joint(model, state, actuator);
  }
}

void TransmissionRates::of_joint(const Model& model, const State& state, const Actuator& actuator) {
  const bool is_free = model.joints[at(actuator.target)].type == JointType::kFree;
  const int dof = model.joint_dof[at(actuator.target)], q = model.joint_q[at(actuator.target)];
  const int shift = is_free ? 3 : 0;
  const Quaternion rotation = quaternion_at(state.q, q + shift).normalized();
  const Vector3 gear(actuator.gear[at(shift)], actuator.gear[at(shift + 1)], actuator.gear[at(shift + 2)]);
  count = 3 + shift;
  for (int i = 0; i < count; ++i) dofs[at(i)] = dof + i;
  moment.topLeftCorner(count, count).setZero();
  length.head(count).setZero();
  if (!is_free) length.head<3>() = right_jacobian_inverse(so3_log(rotation)).transpose() * gear;
  // R' g, which turns against the body.
  if (actuator.transmission == TransmissionType::kJointInParent) {
    moment.block<3, 3>(shift, shift) = skew(rotation.conjugate() * gear);
  }
}

void TransmissionRates::add_path(const Model& model, int body, int common) {
  for (int dof = model.body_last_dof[at(body)]; dof != common; dof = model.dof_parent[at(dof)]) dofs[at(count++)] = dof;
}

// rate(k, point, force, torque): how these change along dofs[k].
template <typename Rate>
void TransmissionRates::add_side(const Model& model, const Data& data, const Side& side, const Rate& rate) {
  if (side.begin == side.end) return;
  const Vec3 arm = side.point - data.reference_point[at(model.dof_tree[at(dofs[at(side.begin)])])];
  const Force wrench{side.torque + cross(arm, side.force), side.force};
  for (int k = 0; k < count; ++k) {
    Vec3 moved, force, torque;
    rate(k, moved, force, torque);
    const Force change{torque + cross(moved, side.force) + cross(arm, force), force};
    const bool is_own = k >= side.begin && k < side.end;
    for (int i = side.begin; i < side.end; ++i) {
      const Motion& S = data.S[at(dofs[at(i)])];
      moment(i, k) = dot(S, change);
      if (is_own && is_moved_by(model, dofs[at(i)], dofs[at(k)])) {
        moment(i, k) += dot(cross(data.S[at(dofs[at(k)])], S), wrench);
      }
    }
  }
}

void TransmissionRates::of_site(const Model& model, const Data& data, const Actuator& actuator) {
  const Pose X = pose_of_site(model, data, actuator.target);
  const int body = model.sites[at(actuator.target)].body;
  const Vec3 gear(actuator.gear[0], actuator.gear[1], actuator.gear[2]);
  const Vec3 turn_gear(actuator.gear[3], actuator.gear[4], actuator.gear[5]);
  if (actuator.reference_site < 0) {
    add_path(model, body, -1);
    const Side side{0, count, X.p, X.R * gear, X.R * turn_gear};
    add_side(model, data, side, [&](int k, Vec3& moved, Vec3& force, Vec3& torque) {
      const PointRate rate = point_rate(model, data, dofs[at(k)], X.p);
      moved = rate.linear;
      force = cross(rate.angular, side.force);
      torque = cross(rate.angular, side.torque);
    });
    length.head(count).setZero();
    return;
  }
  const Pose X_ref = pose_of_site(model, data, actuator.reference_site);
  const int other = model.sites[at(actuator.reference_site)].body;
  const int common = common_dof(model, body, other);
  add_path(model, body, common);
  const int own = count;
  add_path(model, other, common);
  const Vec3 force = X_ref.R * gear, torque = X_ref.R * turn_gear, apart = X.p - X_ref.p;
  const auto add = [&](const Side& side, double sign, bool is_site) {
    add_side(model, data, side, [&](int k, Vec3& moved, Vec3& force_rate, Vec3& torque_rate) {
      const bool moves_site = k < own;
      const PointRate rate = point_rate(model, data, dofs[at(k)], side.point);
      if (moves_site == is_site) moved = rate.linear;
      if (moves_site) return;  // forces are along axes of the reference
      force_rate = sign * cross(rate.angular, force);
      torque_rate = sign * cross(rate.angular, torque);
    });
  };
  add({0, own, X.p, force, torque}, 1.0, true);
  add({own, count, X_ref.p, -force, -torque}, -1.0, false);
  const Quaternion rotation = Quaternion(Matrix3(X_ref.R.eigen().transpose() * X.R.eigen())).normalized();
  // log(R exp(d)) = log(R) + J^-1 d with d = R_site' (w_site - w_reference).
  const Vec3 by_turn = X.R * Vec3(right_jacobian_inverse(so3_log(rotation)).transpose() * turn_gear.eigen());
  for (int k = 0; k < count; ++k) {
    const PointRate rate = point_rate(model, data, dofs[at(k)], k < own ? X.p : X_ref.p);
    length[k] = k < own ? dot(force, rate.linear) + dot(by_turn, rate.angular)
                        : -dot(force, rate.linear + cross(rate.angular, apart)) - dot(by_turn, rate.angular);
  }
}

// With v from slider to crank and a = v.axis: length = a - root, root = sqrt(a^2 + rod^2 - |v|^2), and the gradients
// by v and by the axis are (1 - a/root) axis + v/root and (1 - a/root) v (transmission.cpp).
void TransmissionRates::of_slider_crank(const Model& model, const Data& data, const Actuator& actuator) {
  const Pose X_crank = pose_of_site(model, data, actuator.target);
  const Pose X_slider = pose_of_site(model, data, actuator.reference_site);
  const int crank = model.sites[at(actuator.target)].body, slider = model.sites[at(actuator.reference_site)].body;
  const int common = common_dof(model, crank, slider);
  add_path(model, crank, common);
  const int own = count;
  add_path(model, slider, common);
  const Vec3 axis = X_slider.R.c2, v = X_crank.p - X_slider.p;
  const double gear = actuator.gear[0], a = dot(v, axis);
  const double discriminant = a * a + actuator.crank_length * actuator.crank_length - dot(v, v);
  const bool reachable = discriminant > 0.0;
  const double root = reachable ? std::sqrt(discriminant) : 0.0;
  const double slope = reachable ? 1.0 - a / root : 1.0, share = reachable ? 1.0 / root : 0.0;
  const Vec3 by_v = slope * axis + share * v, by_axis = slope * v;
  struct Rates {
    Vec3 by_v, torque;
    double length;
  };
  const auto rates_along = [&](int k) {
    const PointRate rate = point_rate(model, data, dofs[at(k)], k < own ? X_crank.p : X_slider.p);
    const Vec3 dv = k < own ? rate.linear : -rate.linear;
    const Vec3 daxis = k < own ? Vec3() : cross(rate.angular, axis);
    const double da = dot(dv, axis) + dot(v, daxis);
    const double droot = share * (a * da - dot(v, dv)), dshare = -share * share * droot;
    const double dslope = -(da * share + a * dshare);
    const Vec3 dby_v = dslope * axis + slope * daxis + dshare * v + share * dv;
    const Vec3 dby_axis = dslope * v + slope * dv;
    return Rates{gear * dby_v, gear * (cross(daxis, by_axis) + cross(axis, dby_axis)), gear * (da - droot)};
  };
  const auto add = [&](const Side& side, bool is_crank) {
    add_side(model, data, side, [&](int k, Vec3& moved, Vec3& force, Vec3& torque) {
      const Rates rates = rates_along(k);
      if ((k < own) == is_crank) moved = point_rate(model, data, dofs[at(k)], side.point).linear;
      force = is_crank ? rates.by_v : -rates.by_v;
      if (!is_crank) torque = rates.torque;
    });
  };
  add({0, own, X_crank.p, gear * by_v, Vec3()}, true);
  add({own, count, X_slider.p, -gear * by_v, gear * cross(axis, by_axis)}, false);
  for (int k = 0; k < count; ++k) length[k] = rates_along(k).length;
}

}  // namespace touchstone
