// springdamper: MuJoCo chooses stiffness and damping of a joint such that its own inertia, seen alone, oscillates with
// the given time constant and damping ratio. Rare, so the inertia is computed densely.
#include <Eigen/Cholesky>
#include <algorithm>

#include "touchstone/io/mjcf/mjcf_compiler.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {
namespace {

// Velocity of a body's centre of mass and its angular velocity, by each dof.
struct Jacobians {
  Eigen::Matrix3Xd linear, angular;
};

Vector3 unit(int i) { return Vector3::Unit(i); }

void add_joint_columns(const Model& model, int j, const Transform& X_WB, const Vector3& com, Jacobians& out) {
  const Joint& joint = model.joints[static_cast<std::size_t>(j)];
  const int dof = model.joint_dof[static_cast<std::size_t>(j)];
  const auto turn = [&](int column, const Vector3& axis) {
    out.angular.col(column) = axis;
    out.linear.col(column) = axis.cross(com - X_WB * joint.anchor);
  };
  const Vector3 axis = X_WB.rotation * joint.axis;
  switch (joint.type) {
    case JointType::kFree:
      for (int i = 0; i < 3; ++i) out.linear.col(dof + i) = unit(i);
      for (int i = 0; i < 3; ++i) turn(dof + 3 + i, X_WB.rotation * unit(i));
      break;
    case JointType::kBall:
      for (int i = 0; i < 3; ++i) turn(dof + i, X_WB.rotation * unit(i));
      break;
    case JointType::kSlide:
      out.linear.col(dof) = axis;
      break;
    default:
      turn(dof, axis);
      break;
  }
}

// Mass matrix at the reference configuration, where body poses are those of the model.
MatrixX reference_inertia(const Model& model) {
  MatrixX M = model.defaults.dof_armature.asDiagonal();
  std::vector<Transform> X_WB(model.bodies.size());
  for (int b = 1; b < model.nbody; ++b) {
    const Body& body = model.bodies[static_cast<std::size_t>(b)];
    const Transform& X = X_WB[static_cast<std::size_t>(b)] = X_WB[static_cast<std::size_t>(body.parent)] * body.pose;
    if (body.inertia.mass <= 0.0) continue;
    Jacobians J{Eigen::Matrix3Xd::Zero(3, model.nv), Eigen::Matrix3Xd::Zero(3, model.nv)};
    const Vector3 com = X * body.inertia.com;
    for (int a = b; a > 0; a = model.bodies[static_cast<std::size_t>(a)].parent) {
      const BodyKernel& kernel = model.body_kernels[static_cast<std::size_t>(a)];
      for (int j = 0; j < kernel.joint_count; ++j) {
        add_joint_columns(model, kernel.first_joint + j, X_WB[static_cast<std::size_t>(a)], com, J);
      }
    }
    const Matrix3 R = X.rotation.toRotationMatrix();
    M += body.inertia.mass * J.linear.transpose() * J.linear +
         J.angular.transpose() * (R * body.inertia.inertia * R.transpose()) * J.angular;
  }
  for (const Tendon& tendon : model.tendons) {
    VectorX row = VectorX::Zero(model.nv);
    for (const Tendon::Term& term : tendon.terms) {
      row[model.joint_dof[static_cast<std::size_t>(term.joint)]] += term.coefficient;
    }
    M += tendon.armature * row * row.transpose();
  }
  return M;
}

}  // namespace

void apply_spring_dampers(ModelBuilder& builder, const std::vector<Vector2>& spring_dampers) {
  constexpr int kMostDofs = 3000;
  const bool any =
      std::any_of(spring_dampers.begin(), spring_dampers.end(), [](const Vector2& s) { return !s.isZero(0.0); });
  if (!any) return;
  const ModelPtr model = builder.build();
  if (model->nv > kMostDofs) {
    fail({model->file, 0, {}}, fmt::format("springdamper in a model with {} degrees of freedom", model->nv),
         "give stiffness and damping instead");
  }
  const MatrixX inverse = reference_inertia(*model).llt().solve(MatrixX::Identity(model->nv, model->nv));
  for (std::size_t j = 0; j < spring_dampers.size(); ++j) {
    const auto [time_constant, ratio] = std::pair(spring_dampers[j][0], spring_dampers[j][1]);
    if (time_constant <= 0.0) continue;
    Joint& joint = builder.joint(static_cast<int>(j));
    const int dofs = dof_count(joint.type);
    const double mobility = inverse.diagonal().segment(model->joint_dof[j], dofs).mean();
    const double inertia = 1.0 / mobility;
    joint.stiffness = inertia / (time_constant * time_constant * ratio * ratio);
    joint.damping = 2.0 * inertia / time_constant;
  }
}

}  // namespace touchstone::mjcf
