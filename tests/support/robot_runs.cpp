#include "support/robot_runs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "touchstone/base/clock.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/collision/broad/aabb.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/detection/collision_model.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

namespace fs = std::filesystem;

// What can be run by itself: files called scene*, and the samples, which are whole scenes.
bool is_scene(const fs::path& path) {
  if (path.extension() != ".xml") return false;
  if (path.stem().string().starts_with("scene")) return true;
  const bool is_sample = path.generic_string().find("/mujoco_samples/") != std::string::npos;
  return is_sample && path.stem() != "humanoid100";  // a part of 100_humanoids.xml
}

// A servo holds each joint: stiff enough to carry the robot's weight half a metre away with a bend of 0.1 rad or so.
constexpr double kStiffness = 50.0;   // N m/rad for each kg of the robot
constexpr double kDamping = 0.05;     // s; of the stiffness
constexpr double kDropHeight = 0.01;  // m

Actuator servo(const Model& robot, int joint) {
  Actuator a;
  a.name = robot.joints[at(joint)].name + "/servo";
  a.target = joint;
  const double stiffness = kStiffness * robot.total_mass();
  a.bias_type = ActuatorBias::kAffine;
  a.gain = {stiffness, 0.0, 0.0};
  a.bias = {0.0, -stiffness, -kDamping * stiffness};
  const double effort = robot.joints[at(joint)].effort_limit;
  a.force_limited = effort > 0.0;
  a.force_range = Vector2(-effort, effort);
  return a;
}

ModelBuilder copy_of(const Model& model) {
  ModelBuilder builder(model.name);
  builder.set_file(model.file);
  builder.set_gravity(model.defaults.gravity);
  builder.options() = model.options;
  for (std::size_t b = 1; b < model.bodies.size(); ++b) builder.add_body(model.bodies[b]);
  for (const Joint& joint : model.joints) builder.add_joint(joint);
  for (const ShapeElement& shape : model.shapes) builder.add_shape(shape);
  for (const Site& site : model.sites) builder.add_site(site);
  for (const Tendon& tendon : model.tendons) builder.add_tendon(tendon);
  for (const Actuator& actuator : model.actuators) builder.add_actuator(actuator);
  for (const Equality& equality : model.equalities) builder.add_equality(equality);
  for (const ContactPair& pair : model.contact_pairs) builder.add_contact_pair(pair);
  for (const ContactExclusion& exclusion : model.contact_exclusions) builder.add_contact_exclusion(exclusion);
  return builder;
}

// The robot on a plane z = 0, with servos on its joints.
ModelPtr on_ground(const Model& robot) {
  ModelBuilder builder = copy_of(robot);
  ShapeElement ground;
  ground.name = "ground";
  ground.shape.type = ShapeType::kPlane;
  builder.add_shape(ground);
  for (int j = 0; j < robot.njoint; ++j) {
    if (dof_count(robot.joints[at(j)].type) == 1) builder.add_actuator(servo(robot, j));
  }
  return builder.build();
}

// A ball of half a kilogram that falls on a robot which is fixed to the world and would else touch nothing.
ModelPtr with_ball(const Model& robot, Vec3 position) {
  ModelBuilder builder = copy_of(robot);
  constexpr double kRadius = 0.06, kMass = 0.5;
  Body body;
  body.name = "ball";
  body.pose.position = position.eigen();
  body.inertia = {kMass, Vector3::Zero(), 0.4 * kMass * kRadius * kRadius * Matrix3::Identity()};
  const int ball = builder.add_body(body);
  Joint joint;
  joint.name = "ball";
  joint.body = ball;
  joint.type = JointType::kFree;
  builder.add_joint(joint);
  ShapeElement shape;
  shape.name = "ball";
  shape.body = ball;
  shape.shape.type = ShapeType::kSphere;
  shape.shape.size = Vector3(kRadius, 0, 0);
  builder.add_shape(shape);
  return builder.build();
}

// The box around all colliding shapes but planes.
Aabb bounds_of(const CollisionModel& shapes, const Data& data) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  Aabb box(Vec3(kFar, kFar, kFar), Vec3(-kFar, -kFar, -kFar));
  for (const Collider& c : shapes.colliders()) {
    if (!c.half_space) box = join(box, Aabb(shapes.shape(c).bounds(data.X_WB[at(c.body)] * c.X_BS)));
  }
  return box;
}

Aabb bounds_of(const Model& model, const State& state) {
  Data data(model);
  forward_kinematics(model, model.defaults, state, data);
  return bounds_of(CollisionModel(model), data);
}

bool touches(const Model& model, const State& state) {
  SimulatorOptions options;
  Simulator sim(std::make_shared<const Model>(model), options);
  sim.reset(state);
  return sim.step().contacts > 0;
}

// The zero pose of many URDFs is beyond the limits of some joints.
void move_into_limits(const Model& model, State& state) {
  for (int j = 0; j < model.njoint; ++j) {
    const Joint& joint = model.joints[at(j)];
    if (!joint.limited || dof_count(joint.type) != 1) continue;
    double& q = state.q[model.joint_q[at(j)]];
    q = std::clamp(q, joint.range[0], joint.range[1]);
  }
}

// Whether any two shapes of the model may touch.
bool can_touch(const Model& model) {
  const CollisionModel shapes(model);
  const int count = static_cast<int>(shapes.colliders().size());
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      const bool both_fixed = shapes.colliders()[at(i)].fixed && shapes.colliders()[at(j)].fixed;
      if (!both_fixed && shapes.wanted(i, j)) return true;
    }
  }
  return false;
}

// A servo's control for the angle at which its joint is.
VectorX hold(const Model& model, const State& state) {
  VectorX control = VectorX::Zero(model.nu);
  for (int u = 0; u < model.nu; ++u) {
    const Actuator& actuator = model.actuators[at(u)];
    const bool is_servo = actuator.transmission == TransmissionType::kJoint &&
                          actuator.bias_type == ActuatorBias::kAffine && actuator.bias[1] < 0.0;
    if (is_servo) control[u] = actuator.gear[0] * state.q[model.joint_q[at(actuator.target)]];
  }
  return control;
}

}  // namespace

std::vector<RobotFile> robot_files() {
  std::vector<RobotFile> files;
  const char* data = std::getenv("TOUCHSTONE_DATA");
  const fs::path models = fs::path(data != nullptr ? data : "/nonexistent") / "models";
  if (!fs::is_directory(models)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(models)) {
    const bool urdf = entry.path().extension() == ".urdf";
    if (!urdf && !is_scene(entry.path())) continue;
    files.push_back({fs::relative(entry.path(), models).generic_string(), entry.path(), urdf});
  }
  std::sort(files.begin(), files.end(), [](const RobotFile& a, const RobotFile& b) { return a.name < b.name; });
  return files;
}

std::function<double(const State&)> lowest_point_of(const Model& model) {
  return
      [&model, data = Data(model), shapes = std::make_shared<const CollisionModel>(model)](const State& state) mutable {
        forward_kinematics(model, model.defaults, state, data);
        return bounds_of(*shapes, data).lower.z();
      };
}

RobotSetup set_up(const RobotFile& file) {
  RobotSetup setup;
  LoadOptions options;
  if (file.urdf) {
    options.floating_base = true;
    fs::path models = file.path;
    const fs::path name(file.name);
    for (auto part = name.begin(); part != name.end(); ++part) models = models.parent_path();
    options.search_paths = {models / "urdf"};
  }
  setup.model = load_model(file.path, options);
  if (file.urdf) setup.model = on_ground(*setup.model);
  setup.start = State(*setup.model);
  if (file.urdf) move_into_limits(*setup.model, setup.start);
  setup.control = hold(*setup.model, setup.start);
  setup.can_touch = can_touch(*setup.model);
  if (file.urdf) {
    if (setup.can_touch) setup.start.q[2] += kDropHeight - bounds_of(*setup.model, setup.start).lower.z();
    const CollisionModel shapes(*setup.model);
    for (const auto& [a, b] : shapes.overlapping()) {
      setup.excluded.push_back(setup.model->shapes[at(a)].name + " and " + setup.model->shapes[at(b)].name);
    }
  } else if (!setup.model->keyframes.empty()) {
    const Keyframe& key = setup.model->keyframes[0];
    setup.start.q = key.q;
    setup.start.v = key.v;
    setup.start.activation = key.activation;
    if (!key.mocap.empty()) setup.start.mocap = key.mocap;
    setup.control = key.control.isZero(0.0) ? hold(*setup.model, setup.start) : key.control;
  }
  const auto is_free = [](const Joint& joint) { return joint.type == JointType::kFree; };
  const std::vector<Joint>& joints = setup.model->joints;
  if (setup.can_touch && std::none_of(joints.begin(), joints.end(), is_free) && !touches(*setup.model, setup.start)) {
    const Aabb box = bounds_of(*setup.model, setup.start);
    const VectorX q = setup.start.q;
    setup.model = with_ball(*setup.model, Vec3(0.01, 0.005, 0.1) + Vec3(0, 0, box.upper.z()));
    setup.start = State(*setup.model);
    setup.start.q.head(q.size()) = q;
  }
  return setup;
}

RunFigures run(const RobotSetup& setup, const SimulatorOptions& options, double seconds) {
  Simulator sim(setup.model, options);
  sim.reset(setup.start);
  sim.input().control = setup.control;
  RunFigures figures;
  const int steps = static_cast<int>(std::lround(seconds / sim.time_step()));
  double work = 0.0, lowest_balance = std::numeric_limits<double>::infinity();
  double lowest = lowest_balance, highest = -lowest_balance;
  const Stopwatch watch;
  for (int i = 0; i < steps; ++i) {
    const StepReport& report = sim.step();
    ++figures.steps;
    if (report.status == StepStatus::kDiverged) {
      ++figures.diverged;
      figures.worst = fmt::format("diverged at step {}", i);
      break;
    }
    if (report.contacts > 0) ++figures.steps_with_contacts;
    if (report.warnings.any()) ++figures.warned;
    const double natv = report.residuals.natv_relative;
    if (!(natv < 1e-6)) ++figures.uncertified;
    if (!(natv <= figures.worst_natv)) {
      figures.worst_natv = natv;
      figures.worst = fmt::format("step {}: {}", i, sim.describe_worst());
    }
    if (2 * i >= steps) figures.penetration = std::max(figures.penetration, report.penetration);
    const EnergyAccount& e = report.energy;
    if (i == 0) lowest = highest = e.before();
    work += e.actuators + e.applied + e.stabilisation;
    // The velocity of Euler's rule leads from one configuration to the next: its kinetic energy belongs halfway, and
    // goes with the mean of both potentials. With the potential at the end the sum would sway by h/2 v' grad V. What
    // the position pass adds comes after that motion.
    const double after_motion = e.potential - e.stabilisation;
    const double balance = e.kinetic + 0.5 * (e.potential_before + after_motion) + e.stabilisation - work;
    figures.energy_growth = std::max(figures.energy_growth, balance - lowest_balance);
    lowest_balance = std::min(lowest_balance, balance);
    lowest = std::min(lowest, e.total());
    highest = std::max(highest, e.total());
  }
  figures.seconds = watch.seconds();
  figures.energy_range = std::max(highest - lowest, 0.01 * setup.model->total_mass() * 9.81);
  return figures;
}

}  // namespace touchstone::test
