#include "touchstone/scenes/assembly.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "touchstone/base/check.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/sim/mechanism.hpp"

namespace touchstone::workshop {

int Assembly::add(const std::string& name, int parent, const Vector3& origin, const MassProperties& inertia) {
  Body body;
  body.name = name;
  body.parent = parent;
  body.pose = Transform{origin - this->origin(parent)};
  body.inertia = inertia;
  origin_.push_back(origin);
  return b_.add_body(std::move(body));
}

int Assembly::bar(const std::string& name, int parent, const Vector3& from, const Vector3& to, double mass,
                  double radius) {
  const Vector3 along = to - from;
  const Shape shape = capsule(radius, 0.5 * along.norm());
  const Transform pose{0.5 * along, Quaternion::FromTwoVectors(Vector3::UnitZ(), along)};
  const int body = add(name, parent, from, transformed(pose, mass_properties(shape, density_for(shape, mass))));
  add_shape(body, shape, pose, false);
  return body;
}

int Assembly::part(const std::string& name, int parent, const Vector3& origin, const Shape& shape,
                   const Vector3& center, double mass) {
  const Transform pose{center - origin};
  const int body = add(name, parent, origin, transformed(pose, mass_properties(shape, density_for(shape, mass))));
  add_shape(body, shape, pose, false);
  return body;
}

void Assembly::add_shape(int body, const Shape& shape, const Transform& pose, bool collides, double friction) {
  ShapeElement element;
  element.body = body;
  element.shape = shape;
  element.pose = pose;
  element.color = color(body);
  element.material.friction.x() = friction;
  element.visual_only = !collides;
  if (collides) {  // with the ground alone
    element.contact_type = 0;
    element.contact_affinity = 1;
  }
  b_.add_shape(std::move(element));
}

int Assembly::joint(int body, const std::string& name, JointType type, const Vector3& axis) {
  Joint joint;
  joint.name = name;
  joint.body = body;
  joint.type = type;
  joint.axis = axis.normalized();
  return b_.add_joint(std::move(joint));
}

int Assembly::hinge(int body, const std::string& name, const Vector3& axis) {
  return joint(body, name, JointType::kHinge, axis);
}
int Assembly::slide(int body, const std::string& name, const Vector3& axis) {
  return joint(body, name, JointType::kSlide, axis);
}
int Assembly::ball(int body, const std::string& name) { return joint(body, name, JointType::kBall, Vector3::UnitZ()); }
int Assembly::free(int body, const std::string& name) { return joint(body, name, JointType::kFree, Vector3::UnitZ()); }

void Assembly::universal(int body, const std::string& name, const Vector3& along) {
  const Vector3 first = along.unitOrthogonal();
  hinge(body, name + "/1", first);
  hinge(body, name + "/2", along.cross(first));
}

void Assembly::connect(const std::string& name, int body_a, int body_b, const Vector3& point) {
  Equality equality;
  equality.name = name;
  equality.type = EqualityType::kConnect;
  equality.a = body_a;
  equality.b = body_b;
  equality.anchor_a = point - origin(body_a);
  equality.anchor_b = point - origin(body_b);
  b_.add_equality(std::move(equality));
}

void Assembly::pin(const std::string& name, int body_a, int body_b, const Vector3& point, const Vector3& axis,
                   double half_width) {
  const Vector3 offset = half_width * axis.normalized();
  connect(name + "/1", body_a, body_b, point - offset);
  connect(name + "/2", body_a, body_b, point + offset);
}

void Assembly::weld(const std::string& name, int body_a, int body_b) {
  Equality equality;
  equality.name = name;
  equality.type = EqualityType::kWeld;
  equality.a = body_a;
  equality.b = body_b;
  equality.relative_pose = Transform{origin(body_b) - origin(body_a)};
  b_.add_equality(std::move(equality));
}

void Assembly::couple(const std::string& name, int joint_a, int joint_b, double ratio) {
  Equality equality;
  equality.name = name;
  equality.type = EqualityType::kJoint;
  equality.a = joint_a;
  equality.b = joint_b;
  equality.polynomial = {0.0, ratio, 0.0, 0.0, 0.0};
  b_.add_equality(std::move(equality));
}

int Assembly::loop(const std::string& name, LoopJointType type, int body_a, int body_b, const Vector3& point,
                   const Vector3& axis) {
  const Quaternion rotation = rotation_from_z(axis.normalized());
  LoopJoint joint;
  joint.name = name;
  joint.type = type;
  joint.body_a = body_a;
  joint.body_b = body_b;
  joint.frame_a = {point - origin(body_a), rotation};
  joint.frame_b = {point - origin(body_b), rotation};
  return b_.add_loop_joint(std::move(joint));
}

int Assembly::position_servo(const std::string& name, int joint, double kp, double kv) {
  Actuator servo;
  servo.name = name;
  servo.target = joint;
  servo.bias_type = ActuatorBias::kAffine;
  servo.gain = {kp, 0, 0};
  servo.bias = {0, -kp, -kv};
  return b_.add_actuator(std::move(servo));
}

int Assembly::velocity_servo(const std::string& name, int joint, double kv, double force) {
  Actuator servo;
  servo.name = name;
  servo.target = joint;
  servo.bias_type = ActuatorBias::kAffine;
  servo.gain = {kv, 0, 0};
  servo.bias = {0, 0, -kv};
  servo.force_limited = true;
  servo.force_range = {-force, force};
  return b_.add_actuator(std::move(servo));
}

Scene Assembly::scene() const {
  Scene scene = scene_of(b_.build());
  const ClosureReport report = Mechanism(scene.model).close(scene.start);
  TOUCHSTONE_CHECK(report.closed, "{}: {} stays open by {} m", scene.model->name,
                   report.open.empty() ? "nothing" : report.open.front().name, report.error);
  scene.options.time_step = 1e-3;
  scene.options.stabilisation.loops = LoopClosing::kClosed;
  return scene;
}

Vector3 circles_meet(const Vector3& a, double radius_a, const Vector3& b, double radius_b, bool left) {
  const Vector3 way = b - a;
  const double d = way.norm(), along = (radius_a * radius_a - radius_b * radius_b + d * d) / (2.0 * d);
  const double height = std::sqrt(std::max(0.0, radius_a * radius_a - along * along));
  const Vector3 up(-way.z() / d, 0.0, way.x() / d);  // a quarter turn from x to z
  return a + way * (along / d) + (left ? height : -height) * up;
}

}  // namespace touchstone::workshop
