#include "mjcf.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"

namespace bench {
namespace {

using namespace touchstone;

std::string text(const Vector3& v) { return fmt::format("{:.17g} {:.17g} {:.17g}", v.x(), v.y(), v.z()); }
std::string text(const Quaternion& q) {
  return fmt::format("{:.17g} {:.17g} {:.17g} {:.17g}", q.w(), q.x(), q.y(), q.z());
}
std::string place(const Transform& pose) {
  return fmt::format("pos='{}' quat='{}'", text(pose.position), text(pose.rotation));
}

class Writer {
 public:
  Writer(const Scene& scene, bool hulls) : scene_(scene), model_(*scene.model), hulls_(hulls) {}

  std::string write() {
    if (!model_.tendons.empty()) throw Error("{}: tendons are not written", model_.name);
    const std::string world = children(0);
    std::string actuators, equalities;
    for (const Actuator& actuator : model_.actuators) actuators += write_actuator(actuator);
    for (const Equality& equality : model_.equalities) equalities += write_equality(equality);
    for (const LoopJoint& joint : model_.loop_joints) equalities += write_loop(joint);
    return fmt::format(
        "<mujoco><compiler angle='radian' boundmass='0' balanceinertia='false'/>"
        "<option timestep='{:.17g}' gravity='{}' cone='elliptic' integrator='implicitfast'/>"
        "<asset>{}</asset><worldbody>{}</worldbody><equality>{}</equality><actuator>{}</actuator></mujoco>",
        scene_.options.time_step, text(model_.defaults.gravity), assets_, world, equalities, actuators);
  }

 private:
  std::string children(int parent) {
    std::string out = shapes(parent);
    for (int b = 1; b < model_.nbody; ++b) {
      if (model_.bodies[at(b)].parent == parent) out += body(b);
    }
    return out;
  }

  std::string body(int b) {
    const Body& body = model_.bodies[at(b)];
    const Matrix3& I = body.inertia.inertia;
    std::string out = fmt::format("<body name='{}' {}>", body.name, place(body.pose));
    out +=
        fmt::format("<inertial pos='{}' mass='{:.17g}' fullinertia='{:.17g} {:.17g} {:.17g} {:.17g} {:.17g} {:.17g}'/>",
                    text(body.inertia.com), body.inertia.mass, I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2));
    for (const Joint& joint : model_.joints) {
      if (joint.body == b) out += write_joint(joint);
    }
    return out + children(b) + "</body>";
  }

  static std::string write_joint(const Joint& joint) {
    if (joint.type == JointType::kFree) return fmt::format("<freejoint name='{}'/>", joint.name);
    if (joint.type == JointType::kScrew) throw Error("joint '{}': MJCF has no screws", joint.name);
    const char* type = joint.type == JointType::kHinge ? "hinge" : joint.type == JointType::kSlide ? "slide" : "ball";
    return fmt::format(
        "<joint name='{}' type='{}' pos='{}' axis='{}' damping='{:.17g}' stiffness='{:.17g}' armature='{:.17g}' "
        "frictionloss='{:.17g}' limited='{}' range='{:.17g} {:.17g}'/>",
        joint.name, type, text(joint.anchor), text(joint.axis), joint.damping, joint.stiffness, joint.armature,
        joint.friction, joint.limited ? "true" : "false", joint.range[0], joint.range[1]);
  }

  std::string shapes(int body) {
    std::string out;
    for (const ShapeElement& e : model_.shapes) {
      if (e.body != body || e.visual_only) continue;
      out +=
          fmt::format("<geom {} {} friction='{:.17g} 0.005 0.0001' contype='{}' conaffinity='{}' mass='0'/>",
                      place(e.pose), write_shape(e.shape), e.material.friction.x(), e.contact_type, e.contact_affinity);
    }
    return out;
  }

  std::string write_shape(const Shape& shape) {
    const Vector3& s = shape.size;
    switch (shape.type) {
      case ShapeType::kPlane:
        return "type='plane' size='10 10 1'";
      case ShapeType::kSphere:
        return fmt::format("type='sphere' size='{:.17g}'", s.x());
      case ShapeType::kCapsule:
        return fmt::format("type='capsule' size='{:.17g} {:.17g}'", s.x(), s.y());
      case ShapeType::kCylinder:
        return fmt::format("type='cylinder' size='{:.17g} {:.17g}'", s.x(), s.y());
      case ShapeType::kBox:
        return fmt::format("type='box' size='{}'", text(s));
      case ShapeType::kMesh:
        return write_mesh(shape);
      default:
        throw Error("{}: a shape that is not written", model_.name);
    }
  }

  std::string write_mesh(const Shape& shape) {
    if (!hulls_ && shape.mesh_collision == MeshCollision::kTriangles) {
      throw Error("{}: surfaces of triangles, which MuJoCo takes for their hulls", model_.name);
    }
    const std::string name = fmt::format("mesh{}", mesh_count_++);
    assets_ += fmt::format("<mesh name='{}' vertex='", name);
    for (const Vector3& v : shape.mesh->vertices) assets_ += text(v) + " ";
    assets_ += "'/>";
    return fmt::format("type='mesh' mesh='{}'", name);
  }

  std::string write_actuator(const Actuator& a) const {
    if (!writes(a)) return "";
    if (a.transmission != TransmissionType::kJoint) throw Error("actuator '{}' is not at a joint of a tree", a.name);
    return fmt::format(
        "<general name='{}' joint='{}' gainprm='{:.17g} {:.17g} {:.17g}' biastype='{}' biasprm='{:.17g} {:.17g} "
        "{:.17g}' gear='{:.17g}' forcelimited='{}' forcerange='{:.17g} {:.17g}'/>",
        a.name, model_.joints[at(a.target)].name, a.gain[0], a.gain[1], a.gain[2],
        a.bias_type == ActuatorBias::kAffine ? "affine" : "none", a.bias[0], a.bias[1], a.bias[2], a.gear[0],
        a.force_limited ? "true" : "false", a.force_range[0], a.force_range[1]);
  }

  std::string connect(int a, int b, const Vector3& point) const {
    const std::string other = b > 0 ? fmt::format(" body2='{}'", model_.bodies[at(b)].name) : "";
    return fmt::format("<connect body1='{}'{} anchor='{}'/>", model_.bodies[at(a)].name, other, text(point));
  }

  // `pose` of body b in body a; the point is in body b. MuJoCo's relpose is where the point is in body a.
  std::string weld(int a, int b, const Transform& pose, const Vector3& point, double torque_scale) const {
    const std::string other = b > 0 ? fmt::format(" body2='{}'", model_.bodies[at(b)].name) : "";
    return fmt::format("<weld body1='{}'{} relpose='{} {}' anchor='{}' torquescale='{:.17g}'/>",
                       model_.bodies[at(a)].name, other, text(pose * point), text(pose.rotation), text(point),
                       torque_scale);
  }

  std::string write_equality(const Equality& e) const {
    if (!e.active) return "";
    if (e.type == EqualityType::kConnect) return connect(e.a, e.b, e.anchor_a);
    if (e.type == EqualityType::kWeld) return weld(e.a, e.b, e.relative_pose, e.anchor_a, e.torque_scale);
    throw Error("equality '{}' is not written", e.name);
  }

  // body b is never the world.
  std::string write_loop(const LoopJoint& j) const {
    const Vector3& p = j.frame_b.position;
    const Vector3 axis = j.frame_b.rotation * Vector3::UnitZ();
    constexpr double kHalfWidth = 0.05;  // m
    if (!j.active) return "";
    switch (j.type) {
      case LoopJointType::kFixed:
        return weld(j.body_b, j.body_a, j.frame_b * j.frame_a.inverse(), j.frame_a.position, 1.0);
      case LoopJointType::kSpherical:
        return connect(j.body_b, j.body_a, p);
      case LoopJointType::kRevolute:
        return connect(j.body_b, j.body_a, p - kHalfWidth * axis) + connect(j.body_b, j.body_a, p + kHalfWidth * axis);
      default:
        throw Error("loop joint '{}' of type {} is not written", j.name, to_string(j.type));
    }
  }

  const Scene& scene_;
  const Model& model_;
  bool hulls_;
  std::string assets_;
  int mesh_count_ = 0;
};

}  // namespace

bool writes(const Actuator& actuator) {
  return actuator.transmission != TransmissionType::kLoopJoint || actuator.bias_type != ActuatorBias::kNone;
}

std::string to_mjcf(const Scene& scene, bool hulls) { return Writer(scene, hulls).write(); }

}  // namespace bench
