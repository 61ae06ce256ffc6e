#include "touchstone/scenes/figure.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "touchstone/base/index.hpp"

namespace touchstone::workshop {
namespace {

constexpr double kServoRate = 25.0;  // rad/s, with what the servo carries
constexpr double kGravity = 9.81;    // m/s^2
constexpr double kSag = 0.05;        // rad, that weight at full stretch may bend a servo
constexpr double kSwing = 0.25;      // rad: targets lie within
constexpr double kLimit = 1.0;       // rad: joints of motors end here

Vector3 orthogonal_part(const Vector3& v, const Vector3& axis) { return v - axis * axis.dot(v); }

void add_ring(TriangleMesh& mesh, int sides, double radius, double z) {
  for (int i = 0; i < sides; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / sides;
    mesh.vertices.emplace_back(radius * std::cos(angle), radius * std::sin(angle), z);
  }
}

// Quads between two rings; their front is to the right of the way from the first ring's points to the second's.
void add_band(TriangleMesh& mesh, int sides, int first, int second) {
  for (int i = 0; i < sides; ++i) {
    const int j = (i + 1) % sides;
    mesh.triangles.emplace_back(first + i, first + j, second + j);
    mesh.triangles.emplace_back(first + i, second + j, second + i);
  }
}

Shape surface(TriangleMesh mesh) {
  return {.type = ShapeType::kMesh,
          .mesh = std::make_shared<const TriangleMesh>(std::move(mesh)),
          .mesh_collision = MeshCollision::kTriangles};
}

}  // namespace

Shape prism_mesh(const std::string& name, int sides, double radius, double half_length) {
  TriangleMesh mesh;
  mesh.name = name;
  add_ring(mesh, sides, radius, -half_length);
  add_ring(mesh, sides, radius, half_length);
  add_band(mesh, sides, 0, sides);
  for (int i = 1; i + 1 < sides; ++i) {
    mesh.triangles.emplace_back(0, i + 1, i);
    mesh.triangles.emplace_back(sides, sides + i, sides + i + 1);
  }
  return surface(std::move(mesh));
}

Shape tube_mesh(const std::string& name, int sides, double inner, double outer, double half_length) {
  TriangleMesh mesh;
  mesh.name = name;
  add_ring(mesh, sides, outer, -half_length);
  add_ring(mesh, sides, outer, half_length);
  add_ring(mesh, sides, inner, half_length);
  add_ring(mesh, sides, inner, -half_length);
  for (int ring = 0; ring < 4; ++ring) add_band(mesh, sides, ring * sides, (ring + 1) % 4 * sides);
  return surface(std::move(mesh));
}

Base fixed_base(std::string_view choice) { return choice == "joint" ? Base::kJoint : Base::kWeld; }

Figure::Figure(const std::string& name, double lightest, double heaviest, bool layered, int seed)
    : a_(name), lightest_(lightest), heaviest_(heaviest), layered_(layered), random_(static_cast<std::uint64_t>(seed)) {
  a_.builder().options().exclude_overlaps = layered;
  a_.builder().options().integrator = "implicitfast";  // MuJoCo's model: its servos are too stiff for Euler's rule
}

int Figure::base(Base kind, const Vector3& center, const Vector3& half) {
  const int body = a_.part("base", 0, center, box(half), center, heaviest_);
  if (kind != Base::kWeld) a_.free(body, "base");
  if (kind == Base::kJoint) a_.loop("ground", LoopJointType::kFixed, 0, body, center, Vector3::UnitZ());
  return body;
}

// Not all alike, the first as light as any.
double Figure::light_mass() {
  const double most = std::min(4.0 * lightest_, std::sqrt(lightest_ * heaviest_));
  return light_count_++ == 0 ? lightest_ : uniform(random_, lightest_, most);
}

int Figure::structure(const std::string& name, int parent, const Vector3& from, const Vector3& to, double mass) {
  const Vector3 along = to - from;
  const int body = a_.bar(name, parent, from, to, std::clamp(mass, lightest_, heaviest_), 0.06 * along.norm());
  if (layered_) add_layers(body, along, true);
  return body;
}

// The bone inside, and a shell around the middle that leaves the joints free.
void Figure::add_layers(int body, const Vector3& along, bool shell) {
  const double length = along.norm();
  const Quaternion rotation = Quaternion::FromTwoVectors(Vector3::UnitZ(), along);
  const auto add = [&](const Shape& shape, double center) {
    ShapeElement e;
    e.body = body;
    e.shape = shape;
    e.pose = {center * along, rotation};
    e.color = color(body);
    e.material.friction.x() = 0.5;
    a_.builder().add_shape(std::move(e));
  };
  const std::string& name = a_.builder().bodies()[at(body)].name;
  add(prism_mesh(name + "/bone", 5, 0.05 * length, 0.4 * length), 0.5);
  if (shell) add(tube_mesh(name + "/shell", 6, 0.13 * length, 0.15 * length, 0.2 * length), 0.65);
}

int Figure::link(const std::string& name, int parent, const Vector3& from, const Vector3& to, const Vector3& axis,
                 double mass) {
  const int body = structure(name, parent, from, to, mass);
  add_servo(a_.hinge(body, name, axis), body);
  return body;
}

int Figure::passive_link(const std::string& name, int parent, const Vector3& from, const Vector3& to,
                         const Vector3& axis, double mass) {
  const int body = structure(name, parent, from, to, mass);
  Joint& joint = a_.builder().joint(a_.hinge(body, name, axis));
  const double length = (to - from).norm(), m = a_.builder().bodies()[at(body)].inertia.mass;
  joint.stiffness = 2.0 * m * kGravity * length;
  joint.damping = 0.05 * joint.stiffness;
  return body;
}

int Figure::ball_link(const std::string& name, int parent, const Vector3& from, const Vector3& to, double mass) {
  const int body = structure(name, parent, from, to, mass);
  Joint& joint = a_.builder().joint(a_.ball(body, name));
  joint.stiffness = 10.0 * mass * kGravity * (to - from).norm();
  joint.damping = 0.1 * joint.stiffness;
  return body;
}

int Figure::crank(const std::string& name, int parent, const Vector3& from, const Vector3& to, const Vector3& axis,
                  int load) {
  const int body = a_.bar(name, parent, from, to, light_mass(), 0.06 * (to - from).norm());
  if (layered_) add_layers(body, to - from, false);
  add_servo(a_.hinge(body, name, axis), load);
  return body;
}

int Figure::four_bar_link(const std::string& name, int parent, const Vector3& from, const Vector3& to,
                          const Vector3& axis, double mass) {
  const double length = (to - from).norm();
  const Vector3 d = orthogonal_part(to - from, axis.normalized()).normalized(), n = axis.normalized().cross(d);
  const Vector3 pivot = from + 0.30 * length * n - 0.05 * length * d, tip = pivot + 0.25 * length * d;
  const Vector3 lever = from + 0.30 * length * d;
  const int driven = structure(name, parent, from, to, mass);
  a_.hinge(driven, name, axis);
  const int arm = crank(name + "-crank", parent, pivot, tip, axis, driven);
  const int coupler = a_.bar(name + "-coupler", arm, tip, lever, light_mass(), 0.012 * length);
  if (layered_) add_layers(coupler, lever - tip, false);
  a_.hinge(coupler, name + "-coupler", axis);
  a_.loop(name + "-pin", LoopJointType::kRevolute, coupler, driven, lever, axis);
  return driven;
}

int Figure::rod_link(const std::string& name, int parent, const Vector3& from, const Vector3& to, const Vector3& axis,
                     double mass) {
  const double length = (to - from).norm();
  const Vector3 a = axis.normalized(), d = orthogonal_part(to - from, a).normalized(), n = a.cross(d);
  const Vector3 pivot = from + 0.30 * length * n + 0.12 * length * a, tip = pivot + 0.25 * length * d;
  const Vector3 lever = from + 0.30 * length * d;
  const int driven = structure(name, parent, from, to, mass);
  a_.hinge(driven, name, axis);
  const int arm = crank(name + "-crank", parent, pivot, tip, 0.87 * a + 0.5 * n, driven);
  const int rod = a_.bar(name + "-rod", arm, tip, lever, light_mass(), 0.012 * length);
  if (layered_) add_layers(rod, lever - tip, false);
  a_.universal(rod, name + "-rod", lever - tip);
  a_.loop(name + "-ball", LoopJointType::kSpherical, rod, driven, lever, a);
  return driven;
}

void Figure::idle_motor(const std::string& joint) {
  for (std::size_t j = 0; j < a_.builder().joints().size(); ++j) {
    if (a_.builder().joints()[j].name != joint) continue;
    Actuator motor;
    motor.name = joint + "-motor";
    motor.target = static_cast<int>(j);
    a_.builder().add_actuator(std::move(motor));
  }
}

void Figure::idle_motor_at_pin(const std::string& four_bar) {
  for (std::size_t j = 0; j < a_.builder().loop_joints().size(); ++j) {
    if (a_.builder().loop_joints()[j].name != four_bar + "-pin") continue;
    Actuator motor;
    motor.name = four_bar + "-pin-motor";
    motor.transmission = TransmissionType::kLoopJoint;
    motor.target = static_cast<int>(j);
    a_.builder().add_actuator(std::move(motor));
  }
}

void Figure::foot(int body, const Vector3& center, double radius) {
  a_.add_shape(body, sphere(radius), Transform{center - a_.origin(body)}, true);
}

void Figure::sole(int body, const Vector3& center, const Vector3& half) {
  a_.add_shape(body, box(half), Transform{center - a_.origin(body)}, true);
}

void Figure::add_servo(int joint, int load) {
  servos_.push_back({joint, load, uniform(random_, -kSwing, kSwing)});
  Joint& j = a_.builder().joint(joint);
  j.limited = true;
  j.range = {-kLimit, kLimit};
}

// Of all that hangs on the load, about the load's joint, as if it were stretched out across the axis.
double Figure::carried_inertia(const Servo& servo) const {
  const std::vector<Body>& bodies = a_.builder().bodies();
  const Vector3& pivot = a_.origin(servo.load);
  double inertia = 0.0;
  for (std::size_t b = 1; b < bodies.size(); ++b) {
    int ancestor = static_cast<int>(b);
    while (ancestor > 0 && ancestor != servo.load) ancestor = bodies[at(ancestor)].parent;
    if (ancestor != servo.load) continue;
    const MassProperties& mass = bodies[b].inertia;
    inertia += mass.mass * (a_.origin(static_cast<int>(b)) + mass.com - pivot).squaredNorm() + mass.inertia.trace() / 3;
  }
  return inertia;
}

Scene Figure::scene() {
  for (const Servo& servo : servos_) {
    const double inertia = carried_inertia(servo);
    const double length = 0.3;  // m: what is carried, seen as a point at this distance, weighs g I / length
    const double kp = std::max(kServoRate * kServoRate * inertia, kGravity * inertia / length / kSag);
    a_.position_servo(a_.builder().joints()[at(servo.joint)].name, servo.joint, kp, 2.0 * inertia * kServoRate);
  }
  Scene scene = a_.scene();
  scene.control = VectorX::Zero(scene.model->nu);
  for (const Servo& servo : servos_) {
    const std::string& name = a_.builder().joints()[at(servo.joint)].name;
    scene.control[scene.model->find(ElementKind::kActuator, name)] = servo.target;
  }
  return scene;
}

}  // namespace touchstone::workshop
