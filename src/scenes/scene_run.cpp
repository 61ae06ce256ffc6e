#include "touchstone/scenes/scene_run.hpp"

#include <cmath>
#include <utility>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone {
namespace {

Scene checked(Scene scene) {
  if (scene.model == nullptr) throw Error("scene '{}' has no model", scene.name);
  const Model& model = *scene.model;
  scene.start.validate(model);
  if (scene.control.size() == 0) scene.control = VectorX::Zero(model.nu);
  require_size("control", scene.control.size(), model.nu);
  if (!scene.control.allFinite()) throw Error("scene '{}': a control is not finite", scene.name);
  for (const Push& push : scene.pushes) {
    if (push.body <= 0 || push.body >= model.nbody)
      throw Error("scene '{}': a push on body {} of {}", scene.name, push.body, model.nbody);
    if (!push.force.allFinite() || !push.torque.allFinite())
      throw Error("scene '{}': a push that is not finite", scene.name);
  }
  return scene;
}

// The inertia a joint may have to carry: about a hinge that of the whole tree if its root floats, since any foot may
// stand on the ground; else that of what hangs on the joint.
double carried_inertia(const Model& model, const Data& data, int joint) {
  const int body = model.joints[at(joint)].body;
  const int tree = model.body_kernels[at(body)].tree;
  const int root = model.tree_root[at(tree)];
  const int root_joint = model.body_kernels[at(root)].first_joint;
  const bool floats = model.joints[at(root_joint)].type == JointType::kFree;
  const Transform X = body_pose(data, body);
  const Vector3 axis = X.rotation * model.joints[at(joint)].axis;
  const Vector3 anchor = X * model.joints[at(joint)].anchor;
  const bool slides = model.joints[at(joint)].type == JointType::kSlide;
  double inertia = 0.0;
  for (int b = 1; b < model.nbody; ++b) {
    if (model.body_kernels[at(b)].tree != tree) continue;
    bool counts = floats;
    for (int a = b; a > 0 && !counts; a = model.bodies[at(a)].parent) counts = a == body;
    if (!counts) continue;
    const MassProperties mass = model.defaults.mass_properties(b);
    const Transform X_WB = body_pose(data, b);
    const Vector3 local_axis = X_WB.rotation.conjugate() * axis;
    inertia += slides ? mass.mass
                      : mass.mass * axis.cross(X_WB * mass.com - anchor).squaredNorm() +
                            local_axis.dot(mass.inertia * local_axis);
  }
  return inertia + model.defaults.dof_armature[model.joint_dof[at(joint)]];
}

}  // namespace

void apply_hold(const Model& model, const Hold& hold, const VectorX& q, Parameters& parameters) {
  if (!(hold.rate >= 0.0 && std::isfinite(hold.rate))) throw Error("the rate of a hold is {} rad/s", hold.rate);
  if (!(hold.damping_ratio >= 0.0 && std::isfinite(hold.damping_ratio)))
    throw Error("the damping ratio of a hold is {}", hold.damping_ratio);
  State state(model);
  state.q = q;
  Data data(model);
  forward_kinematics(model, parameters, state, data);
  for (int j = 0; j < model.njoint; ++j) {
    const JointType type = model.joints[at(j)].type;
    if (type == JointType::kFree) continue;
    const double inertia = carried_inertia(model, data, j);
    parameters.joint_stiffness[j] = hold.rate * hold.rate * inertia;
    const int first = model.joint_q[at(j)], dof = model.joint_dof[at(j)];
    parameters.spring_reference.segment(first, configuration_size(type)) = q.segment(first, configuration_size(type));
    parameters.dof_damping.segment(dof, dof_count(type)).setConstant(2.0 * hold.damping_ratio * hold.rate * inertia);
  }
}

SceneRun::SceneRun(Scene scene) : scene_(checked(std::move(scene))), simulator_(scene_.model, scene_.options) {
  if (scene_.hold) apply_hold(*scene_.model, *scene_.hold, scene_.start.q, simulator_.parameters());
  reset();
}

void SceneRun::apply_pushes() {
  if (scene_.pushes.empty()) return;
  Input& input = simulator_.input();
  const double time = simulator_.state().time, half = 0.5 * simulator_.time_step();
  for (const Push& push : scene_.pushes) input.applied_wrench[at(push.body)].setZero();
  for (const Push& push : scene_.pushes) {
    if (time + half < push.start || time + half >= push.end) continue;
    input.applied_wrench[at(push.body)].head<3>() += push.force;
    input.applied_wrench[at(push.body)].tail<3>() += push.torque;
  }
}

const StepReport& SceneRun::step() {
  apply_pushes();
  return simulator_.step();
}

void SceneRun::reset() {
  simulator_.reset(scene_.start);
  const Input none(*scene_.model);
  simulator_.input() = none;  // a copy: views of the arrays stay true
  simulator_.input().control = scene_.control;
}

void SceneRun::set_options(const SimulatorOptions& options) {
  Simulator other(scene_.model, options);
  other.parameters() = simulator_.parameters();
  other.reset(simulator_.state());
  other.input() = simulator_.input();
  simulator_ = std::move(other);
  scene_.options = options;
}

}  // namespace touchstone
