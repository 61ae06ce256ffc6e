#include "touchstone/diff/pair_motion.hpp"

#include "touchstone/base/index.hpp"
#include "touchstone/diff/dynamics_derivatives.hpp"

namespace touchstone {
namespace {

// x <- each column of x crossed with f, from the left or from the right.
Matrix3X times_cross(const Matrix3X& x, const Vector3& f) {
  Matrix3X out(3, x.cols());
  for (Eigen::Index i = 0; i < x.cols(); ++i) out.col(i) = x.col(i).cross(f);
  return out;
}

bool is_point(const Model& model, int shape, const FeatureName& feature) {
  return feature.type == FeatureType::kVertex || model.shapes[at(shape)].shape.type == ShapeType::kSphere;
}

double radius_of(const Model& model, int shape) {
  const Shape& s = model.shapes[at(shape)].shape;
  return s.type == ShapeType::kSphere || s.type == ShapeType::kCapsule ? s.size[0] : 0.0;
}

}  // namespace

void PointColumns::set(const Model& model, const Data& data, int body, Vec3 point) {
  linear.setZero(3, model.nv);
  angular.setZero(3, model.nv);
  const int tree = model.body_kernels[at(body)].tree;
  if (tree < 0) return;
  const Vec3 r = point - data.reference_point[at(tree)];
  for (int i = model.body_last_dof[at(body)]; i >= 0; i = model.dof_parent[at(i)]) {
    const Motion& S = data.S[at(i)];
    linear.col(i) = (S.linear + cross(S.angular, r)).eigen();
    angular.col(i) = S.angular.eigen();
  }
}

void PairMotion::begin(const Model& model, const Data& data, int first, int second, Vec3 at_first, Vec3 at_second) {
  body_a = first;
  body_b = second;
  point_a = at_first;
  point_b = at_second;
  a.set(model, data, body_a, point_a);
  b.set(model, data, body_b, point_b);
  dp_a = a.linear;
  dp_b = b.linear;
  turn.setZero(3, model.nv);
}

bool set_contact_motion(const Model& model, const Data& data, const Contact& contact, PairMotion& motion) {
  const Vec3 p = contact.position, normal = contact.normal();
  const Vector3 n = normal.eigen();
  motion.begin(model, data, contact.body_a, contact.body_b, p, p);
  // The distance changes with the material points along the normal, whatever else moves.
  const Eigen::RowVectorXd half_distance = 0.5 * n.transpose() * (motion.b.linear - motion.a.linear);
  const double half = 0.5 * contact.distance;
  const bool point_a = is_point(model, contact.shape_a, contact.active.A);
  const bool point_b = is_point(model, contact.shape_b, contact.active.B);
  const double to_a = half + radius_of(model, contact.shape_a), to_b = half + radius_of(model, contact.shape_b);
  PointColumns centre_a, centre_b;
  constexpr double kLeast = 1e-6;  // m: points that are nearer have no direction from one to the other
  if (contact.active.A.type == FeatureType::kFace && point_b) {
    motion.turn = motion.a.angular;
    centre_b.set(model, data, contact.body_b, p + to_b * normal);
    motion.dp_a = centre_b.linear - to_b * times_cross(motion.turn, n) - n * half_distance;
  } else if (contact.active.B.type == FeatureType::kFace && point_a) {
    motion.turn = motion.b.angular;
    centre_a.set(model, data, contact.body_a, p - to_a * normal);
    motion.dp_a = centre_a.linear + to_a * times_cross(motion.turn, n) + n * half_distance;
  } else if (point_a && point_b && to_a + to_b > kLeast) {
    centre_a.set(model, data, contact.body_a, p - to_a * normal);
    centre_b.set(model, data, contact.body_b, p + to_b * normal);
    const Matrix3 across = Matrix3::Identity() - n * n.transpose();
    const Matrix3X dn = across * (centre_b.linear - centre_a.linear) / (to_a + to_b);
    motion.turn = -times_cross(dn, n);
    motion.dp_a = centre_a.linear + to_a * dn + n * half_distance;
  } else {
    motion.turn = 0.5 * (motion.a.angular + motion.b.angular);
    motion.dp_a = 0.5 * (motion.a.linear + motion.b.linear);
    motion.dp_b = motion.dp_a;
    return false;
  }
  motion.dp_b = motion.dp_a;
  return true;
}

void relative_velocity_derivatives(const Model& model, const Data& data, const std::vector<Motion>& V_S,
                                   const PairMotion& motion, Matrix3X& linear, Matrix3X& angular) {
  linear.setZero(3, model.nv);
  angular.setZero(3, model.nv);
  const auto add = [&](int body, Vec3 point, const Matrix3X& dp, double sign) {
    const int tree = model.body_kernels[at(body)].tree;
    if (tree < 0) return;
    const Motion& V = data.velocity[at(body)];
    const Vec3 r = point - data.reference_point[at(tree)];
    for (int i = model.body_last_dof[at(body)]; i >= 0; i = model.dof_parent[at(i)]) {
      const Motion T = cross(data.S[at(i)], V) + V_S[at(i)];
      linear.col(i) += sign * (T.linear + cross(T.angular, r)).eigen();
      angular.col(i) += sign * T.angular.eigen();
    }
    linear -= sign * times_cross(dp, V.angular.eigen());
  };
  add(motion.body_b, motion.point_b, motion.dp_b, 1.0);
  add(motion.body_a, motion.point_a, motion.dp_a, -1.0);
}

void add_force_derivatives(const PairMotion& motion, Vec3 force, Vec3 torque, double scale,
                           Eigen::Ref<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> out) {
  const Vector3 f = scale * force.eigen(), t = scale * torque.eigen();
  out.noalias() += motion.b.angular.transpose() * times_cross(motion.dp_b, f);
  out.noalias() -= motion.a.angular.transpose() * times_cross(motion.dp_a, f);
  out.noalias() += (motion.b.linear - motion.a.linear).transpose() * times_cross(motion.turn, f);
  if (!t.isZero(0.0)) out.noalias() += (motion.b.angular - motion.a.angular).transpose() * times_cross(motion.turn, t);
}

}  // namespace touchstone
