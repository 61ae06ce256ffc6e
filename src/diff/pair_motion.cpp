#include "touchstone/diff/pair_motion.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone {
namespace {

// An end of the side line of a cylinder or cone: a point of the rim of a disk, which follows the normal.
bool is_rim(const Model& model, int shape, const FeatureName& feature) {
  const ShapeType type = model.shapes[at(shape)].shape.type;
  if (feature.type != FeatureType::kVertex) return false;
  return type == ShapeType::kCylinder || (type == ShapeType::kCone && feature.first == 1);
}

bool is_point(const Model& model, int shape, const FeatureName& feature) {
  if (is_rim(model, shape, feature)) return false;
  return feature.type == FeatureType::kVertex || model.shapes[at(shape)].shape.type == ShapeType::kSphere;
}

// The point of a rim that is farthest along a unit vector d: at `radius` from the centre of its disk, along what of d
// is across the axis.
struct Rim {
  Vec3 d, axis, out;
  double radius = 0.0, across = 0.0;  // m; of d

  Rim(const Model& model, const Data& data, int shape, Vec3 direction) : d(direction) {
    radius = model.shapes[at(shape)].shape.size[0];
    axis = Vec3(shape_pose(model, data, shape).rotation * Vector3::UnitZ());
    const Vec3 w = d - axis * dot(axis, d);
    across = std::sqrt(dot(w, w));
    out = w * (1.0 / across);
  }

  // Of the rim's point q, while its body has the velocity `linear` at p and turns, and d turns with the normal.
  Vec3 velocity(Vec3 q, Vec3 p, Vec3 linear, Vec3 angular, Vec3 normal_turn) const {
    const Vec3 da = cross(angular, axis), dd = cross(normal_turn, d);
    const Vec3 dw = dd - da * dot(axis, d) - axis * (dot(da, d) + dot(axis, dd));
    const Vec3 slides = (dw - out * dot(out, dw)) * (radius / across);
    return linear + cross(angular, q - out * radius - p) + slides;
  }
};

double radius_of(const Model& model, int shape) {
  const Shape& s = model.shapes[at(shape)].shape;
  return s.type == ShapeType::kSphere || s.type == ShapeType::kCapsule ? s.size[0] : 0.0;
}

}  // namespace

PairMotion::PairMotion(const Model& model) : dofs(at(model.nv)), moves_a(at(model.nv)), moves_b(at(model.nv)) {
  for (auto* v : {&a_linear, &a_angular, &b_linear, &b_angular, &dp_a, &dp_b, &turn}) v->resize(at(model.nv));
}

void PairMotion::begin(const Model& model, const Data& data, int first, int second, Vec3 at_first, Vec3 at_second) {
  body_a = first;
  body_b = second;
  point_a = at_first;
  point_b = at_second;
  const auto arm = [&](int body, Vec3 point) {
    const int tree = model.body_kernels[at(body)].tree;
    return tree < 0 ? Vec3() : point - data.reference_point[at(tree)];
  };
  const Vec3 r_a = arm(body_a, point_a), r_b = arm(body_b, point_b);
  int i = model.body_last_dof[at(body_a)], j = model.body_last_dof[at(body_b)];
  for (count = 0; i >= 0 || j >= 0; ++count) {  // both paths towards their roots, the greater dof first
    const auto k = at(count);
    const int dof = std::max(i, j);
    const Motion& S = data.S[at(dof)];
    dofs[k] = dof;
    moves_a[k] = dof == i ? 1 : 0;
    moves_b[k] = dof == j ? 1 : 0;
    a_linear[k] = dof == i ? S.linear + cross(S.angular, r_a) : Vec3();
    a_angular[k] = dof == i ? S.angular : Vec3();
    b_linear[k] = dof == j ? S.linear + cross(S.angular, r_b) : Vec3();
    b_angular[k] = dof == j ? S.angular : Vec3();
    dp_a[k] = a_linear[k];
    dp_b[k] = b_linear[k];
    turn[k] = Vec3();
    if (dof == i) i = model.dof_parent[at(i)];
    if (dof == j) j = model.dof_parent[at(j)];
  }
}

bool set_contact_motion(const Model& model, const Data& data, const Contact& contact, bool by_face,
                        PairMotion& motion) {
  const Vec3 p = contact.position, n = contact.normal();
  motion.begin(model, data, contact.body_a, contact.body_b, p, p);
  const double half = 0.5 * contact.distance;
  const bool point_a = is_point(model, contact.shape_a, contact.active.A);
  const bool point_b = is_point(model, contact.shape_b, contact.active.B);
  const double to_a = half + radius_of(model, contact.shape_a), to_b = half + radius_of(model, contact.shape_b);
  constexpr double kLeast = 1e-6;  // m: points that are nearer have no direction from one to the other
  const bool rim_a = is_rim(model, contact.shape_a, contact.active.A);
  const bool rim_b = is_rim(model, contact.shape_b, contact.active.B);
  const bool a_is_face = by_face && contact.active.A.type == FeatureType::kFace && (point_b || rim_b);
  const bool b_is_face = by_face && !a_is_face && contact.active.B.type == FeatureType::kFace && (point_a || rim_a);
  std::optional<Rim> rim;
  if (a_is_face && rim_b) rim.emplace(model, data, contact.shape_b, -n);
  if (b_is_face && rim_a) rim.emplace(model, data, contact.shape_a, n);
  const bool balls = point_a && point_b && to_a + to_b > kLeast;
  for (std::size_t k = 0; k < at(motion.count); ++k) {
    // The distance changes with the material points along the normal, whatever else moves.
    const Vec3 half_distance = n * (0.5 * dot(n, motion.b_linear[k] - motion.a_linear[k]));
    Vec3 centre_a = motion.a_linear[k] - to_a * cross(motion.a_angular[k], n);
    Vec3 centre_b = motion.b_linear[k] + to_b * cross(motion.b_angular[k], n);
    if (rim && a_is_face) {
      centre_b = rim->velocity(p + n * to_b, p, motion.b_linear[k], motion.b_angular[k], motion.a_angular[k]);
    } else if (rim) {
      centre_a = rim->velocity(p - n * to_a, p, motion.a_linear[k], motion.a_angular[k], motion.b_angular[k]);
    }
    if (a_is_face) {
      motion.turn[k] = motion.a_angular[k];
      motion.dp_a[k] = centre_b - to_b * cross(motion.turn[k], n) - half_distance;
    } else if (b_is_face) {
      motion.turn[k] = motion.b_angular[k];
      motion.dp_a[k] = centre_a + to_a * cross(motion.turn[k], n) + half_distance;
    } else if (balls) {
      const Vec3 apart = centre_b - centre_a, dn = (apart - n * dot(n, apart)) * (1.0 / (to_a + to_b));
      motion.turn[k] = cross(n, dn);
      motion.dp_a[k] = centre_a + to_a * dn + half_distance;
    } else {
      motion.turn[k] = 0.5 * (motion.a_angular[k] + motion.b_angular[k]);
      motion.dp_a[k] = 0.5 * (motion.a_linear[k] + motion.b_linear[k]);
    }
    motion.dp_b[k] = motion.dp_a[k];
  }
  return a_is_face || b_is_face || balls;
}

PairRate relative_velocity_rate(const Model& model, const Data& data, const std::vector<Motion>& V_S,
                                const PairMotion& motion, int k) {
  PairRate rate;
  const auto add = [&](int body, Vec3 point, Vec3 dp, bool moves, double sign) {
    const int tree = model.body_kernels[at(body)].tree;
    if (tree < 0) return;
    const Motion& V = data.velocity[at(body)];
    if (moves) {
      const auto i = at(motion.dofs[at(k)]);
      const Motion T = cross(data.S[i], V) + V_S[i];
      rate.linear += sign * (T.linear + cross(T.angular, point - data.reference_point[at(tree)]));
      rate.angular += sign * T.angular;
    }
    rate.linear -= sign * cross(dp, V.angular);
  };
  add(motion.body_b, motion.point_b, motion.dp_b[at(k)], motion.moves_b[at(k)] != 0, 1.0);
  add(motion.body_a, motion.point_a, motion.dp_a[at(k)], motion.moves_a[at(k)] != 0, -1.0);
  return rate;
}

void relative_velocity_rates(const Model& model, const Data& data, const std::vector<Motion>& V_S,
                             const PairMotion& motion, std::vector<PairRate>& rates) {
  const Vec3 v =
      velocity_at(model, data, motion.body_b, motion.point_b) - velocity_at(model, data, motion.body_a, motion.point_a);
  const Vec3 w = data.velocity[at(motion.body_b)].angular - data.velocity[at(motion.body_a)].angular;
  rates.resize(at(motion.count));
  for (int k = 0; k < motion.count; ++k) {
    const Vec3 turn = motion.turn[at(k)];
    const PairRate rate = relative_velocity_rate(model, data, V_S, motion, k);
    rates[at(k)] = {rate.linear - cross(turn, v), rate.angular - cross(turn, w)};
  }
}

void add_force_change(const PairMotion& motion, int k, Vec3 force_change, Vec3 torque_change, Vec3 force,
                      RowMatrixRef out) {
  const Vec3 on_a = cross(motion.dp_a[at(k)], force) + torque_change;
  const Vec3 on_b = cross(motion.dp_b[at(k)], force) + torque_change;
  const int column = motion.dofs[at(k)];
  for (std::size_t i = 0; i < at(motion.count); ++i) {
    const Lanes power = motion.b_angular[i].lanes * on_b.lanes - motion.a_angular[i].lanes * on_a.lanes +
                        (motion.b_linear[i] - motion.a_linear[i]).lanes * force_change.lanes;
    out(motion.dofs[i], column) += sum(power);
  }
}

void add_force_derivatives(const PairMotion& motion, Vec3 force, Vec3 torque, RowMatrixRef out) {
  for (int k = 0; k < motion.count; ++k) {
    const Vec3 turn = motion.turn[at(k)];
    add_force_change(motion, k, cross(turn, force), cross(turn, torque), force, out);
  }
}

void PairForces::add(const PairMotion& motion, Vec3 force, Vec3 torque, RowMatrixRef out) {
  if (!is_empty_ && (motion.body_a != motion_.body_a || motion.body_b != motion_.body_b)) flush(out);
  const auto count = static_cast<std::ptrdiff_t>(motion.count);
  if (is_empty_) {
    motion_.body_a = motion.body_a;
    motion_.body_b = motion.body_b;
    motion_.point_a = motion.point_a;
    motion_.point_b = motion.point_b;
    motion_.count = motion.count;
    std::copy_n(motion.dofs.begin(), count, motion_.dofs.begin());
    std::copy_n(motion.a_linear.begin(), count, motion_.a_linear.begin());
    std::copy_n(motion.a_angular.begin(), count, motion_.a_angular.begin());
    std::copy_n(motion.b_linear.begin(), count, motion_.b_linear.begin());
    std::copy_n(motion.b_angular.begin(), count, motion_.b_angular.begin());
    for (auto* sums : {&motion_.dp_a, &motion_.dp_b, &motion_.turn}) std::fill_n(sums->begin(), count, Vec3());
    is_empty_ = false;
  }
  const Vec3 arm_a = motion.point_a - motion_.point_a, arm_b = motion.point_b - motion_.point_b;
  for (std::size_t k = 0; k < at(motion.count); ++k) {
    const Vec3 force_change = cross(motion.turn[k], force), torque_change = cross(motion.turn[k], torque);
    motion_.turn[k] += force_change;
    motion_.dp_a[k] += cross(motion.dp_a[k], force) + cross(arm_a, force_change) + torque_change;
    motion_.dp_b[k] += cross(motion.dp_b[k], force) + cross(arm_b, force_change) + torque_change;
  }
}

void PairForces::flush(RowMatrixRef out) {
  if (is_empty_) return;
  is_empty_ = true;
  for (std::size_t i = 0; i < at(motion_.count); ++i) {
    const Lanes a = motion_.a_angular[i].lanes, b = motion_.b_angular[i].lanes;
    const Lanes linear = (motion_.b_linear[i] - motion_.a_linear[i]).lanes;
    double* row = &out(motion_.dofs[i], 0);
    for (std::size_t k = 0; k < at(motion_.count); ++k) {
      row[motion_.dofs[k]] +=
          sum(b * motion_.dp_b[k].lanes - a * motion_.dp_a[k].lanes + linear * motion_.turn[k].lanes);
    }
  }
}

}  // namespace touchstone
