#include "support/robot_runs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "touchstone/base/clock.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

namespace fs = std::filesystem;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

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

// The robot on a plane z = 0, with servos on its joints.
ModelPtr on_ground(const Model& robot) {
  ModelBuilder builder(robot.name);
  builder.set_file(robot.file);
  builder.options() = robot.options;
  for (std::size_t b = 1; b < robot.bodies.size(); ++b) builder.add_body(robot.bodies[b]);
  for (const Joint& joint : robot.joints) builder.add_joint(joint);
  for (const ShapeElement& shape : robot.shapes) builder.add_shape(shape);
  for (const Site& site : robot.sites) builder.add_site(site);
  for (const Equality& equality : robot.equalities) builder.add_equality(equality);
  ShapeElement ground;
  ground.name = "ground";
  ground.shape.type = ShapeType::kPlane;
  builder.add_shape(ground);
  for (int j = 0; j < robot.njoint; ++j) {
    if (dof_count(robot.joints[at(j)].type) == 1) builder.add_actuator(servo(robot, j));
  }
  return builder.build();
}

// The lowest point of all colliding shapes but planes.
double lowest_point(const Model& model, const State& state) {
  Data data(model);
  forward_kinematics(model, model.defaults, state, data);
  const CollisionModel shapes(model);
  double lowest = std::numeric_limits<double>::infinity();
  for (const Collider& c : shapes.colliders()) {
    if (c.half_space) continue;
    lowest = std::min(lowest, shapes.shape(c).bounds(data.X_WB[at(c.body)] * c.X_BS).lower.z());
  }
  return lowest;
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
  setup.control = hold(*setup.model, setup.start);
  if (file.urdf) {
    setup.start.q[2] += kDropHeight - lowest_point(*setup.model, setup.start);
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
      figures.worst = fmt::format("step {}: {}", i, report.worst);
    }
    if (2 * i >= steps) figures.penetration = std::max(figures.penetration, report.penetration);
    const EnergyAccount& e = report.energy;
    if (i == 0) lowest_balance = lowest = highest = e.before();
    work += e.actuators + e.applied + e.stabilisation;
    const double balance = e.total() - work;
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
