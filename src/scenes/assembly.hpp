// Mechanisms put together from bars and plates. Everything is given where it is at the start, in world coordinates: all
// body frames have world axes there, and a point of a body is the difference to its origin. So a linkage is drawn by
// the places of its joints, and closed by what connects them. Not for users of the library.
#pragma once

#include <string>
#include <vector>

#include "touchstone/scenes/workshop.hpp"

namespace touchstone::workshop {

// Of hinges of what lies in the plane x-z: angles count from x to z.
inline const Vector3 kPlanarAxis = -Vector3::UnitY();

class Assembly {
 public:
  explicit Assembly(std::string name) : b_(std::move(name)), origin_{Vector3::Zero()} {}

  // A bar from its first joint to its last one; nothing collides unless it is asked for. Returns its body.
  int bar(const std::string& name, int parent, const Vector3& from, const Vector3& to, double mass,
          double radius = 0.02);
  // A body of any shape about `center`, with its frame at `origin`.
  int part(const std::string& name, int parent, const Vector3& origin, const Shape& shape, const Vector3& center,
           double mass);
  // A further shape of a body, to be seen only or to collide with the ground.
  void add_shape(int body, const Shape& shape, const Transform& pose, bool collides, double friction = 0.8);

  // Joints of a body to its parent, at its origin. Return the joint.
  int hinge(int body, const std::string& name, const Vector3& axis);
  int slide(int body, const std::string& name, const Vector3& axis);
  int ball(int body, const std::string& name);
  int free(int body, const std::string& name);
  // Two hinges across a bar, so that it does not spin about itself.
  void universal(int body, const std::string& name, const Vector3& along);

  // Loops: two bodies (0 the world) share a point; or an axis, by two points on it; or their pose.
  void connect(const std::string& name, int body_a, int body_b, const Vector3& point);
  void pin(const std::string& name, int body_a, int body_b, const Vector3& point, const Vector3& axis,
           double half_width = 0.05);
  void weld(const std::string& name, int body_a, int body_b);
  void couple(const std::string& name, int joint_a, int joint_b, double ratio);

  // A loop joint at a point; `axis` is that of its frames.
  int loop(const std::string& name, LoopJointType type, int body_a, int body_b, const Vector3& point,
           const Vector3& axis);

  // Servo at a joint: position with kp, kv; or a velocity with kv alone. Returns the actuator.
  int position_servo(const std::string& name, int joint, double kp, double kv);
  int velocity_servo(const std::string& name, int joint, double kv, double force);

  ModelBuilder& builder() { return b_; }
  const ModelBuilder& builder() const { return b_; }
  const Vector3& origin(int body) const { return origin_[static_cast<std::size_t>(body)]; }

  // The model, with loops closed at the start (sim/mechanism.hpp), and the tolerance of the suite: loops are closed in
  // every step.
  Scene scene() const;

 private:
  int add(const std::string& name, int parent, const Vector3& origin, const MassProperties& inertia);
  int joint(int body, const std::string& name, JointType type, const Vector3& axis);

  ModelBuilder b_;
  std::vector<Vector3> origin_;  // of bodies, at the start
};

// Where two circles in the plane x-z meet: the point to the left of the way from a to b (seen along y) if `left`.
Vector3 circles_meet(const Vector3& a, double radius_a, const Vector3& b, double radius_b, bool left);

}  // namespace touchstone::workshop
