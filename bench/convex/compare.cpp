// Our side of the comparison with Drake (drake_engine.py): scenes of the library as data, and their motion, as JSON.
//
//   model SCENE                         bodies, joints, shapes, materials and start
//   run SCENE SOLVER H STEPS TOLERANCE  positions after each step
//   steps SCENE SOLVER H EVERY COUNT    COUNT states, EVERY steps apart, and the velocity one step later
//   time SCENE SOLVER H STEPS           processor seconds a step, from the state that standard input has, if any
//
//   lost SCENE SOLVER H SECONDS         when the last free body is 5 cm lower than at the start
//
// Contacts are those that overlap, as in Drake. The belt's speed is given: the third argument of `run` on a conveyor.
#include <cmath>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace {

using namespace touchstone;
using nlohmann::json;

constexpr double kBeltAmplitude = 0.2, kBeltRate = 2.0 * M_PI;

json list(const VectorX& v) { return std::vector<double>(v.data(), v.data() + v.size()); }
json list3(const Vector3& v) { return {v.x(), v.y(), v.z()}; }
json pose(const Transform& X) {
  return {{"position", list3(X.position)},
          {"rotation", {X.rotation.w(), X.rotation.x(), X.rotation.y(), X.rotation.z()}}};
}

json describe(const Scene& scene) {
  const Model& model = *scene.model;
  json out{{"q", list(scene.start.q)}, {"v", list(scene.start.v)}, {"control", list(scene.control)}};
  for (int i = 1; i < model.nbody; ++i) {
    const Body& body = model.bodies[at(i)];
    const Matrix3& I = body.inertia.inertia;
    out["bodies"].push_back({{"name", body.name},
                             {"parent", body.parent},
                             {"pose", pose(body.pose)},
                             {"mass", body.inertia.mass},
                             {"com", list3(body.inertia.com)},
                             {"inertia", {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)}}});
  }
  for (const Joint& joint : model.joints) {
    const char* type = joint.type == JointType::kFree ? "free" : joint.type == JointType::kSlide ? "slide" : "hinge";
    out["joints"].push_back({{"name", joint.name},
                             {"body", joint.body},
                             {"type", type},
                             {"axis", list3(joint.axis)},
                             {"damping", joint.damping},
                             {"armature", joint.armature}});
  }
  out["motors"] = json::array();  // the joint of each control
  for (const Actuator& actuator : model.actuators) out["motors"].push_back(actuator.target);
  out["couplers"] = json::array();
  for (const Equality& e : model.equalities)
    out["couplers"].push_back({{"a", e.a}, {"b", e.b}, {"ratio", e.polynomial[1]}});
  out["pushes"] = json::array();
  for (const Push& push : scene.pushes)
    out["pushes"].push_back({{"body", push.body}, {"force", list3(push.force)}, {"start", push.start}});
  for (const ShapeElement& shape : model.shapes) {
    if (shape.visual_only) continue;
    const Material& m = shape.material;
    const ShapeType t = shape.shape.type;
    const char* type = t == ShapeType::kPlane    ? "plane"
                       : t == ShapeType::kSphere ? "sphere"
                       : t == ShapeType::kBox    ? "box"
                                                 : "cylinder";
    out["shapes"].push_back({{"name", shape.name},
                             {"body", shape.body},
                             {"pose", pose(shape.pose)},
                             {"type", type},
                             {"size", list3(shape.shape.size)},
                             {"filter", {shape.contact_type, shape.contact_affinity}},
                             {"friction", m.friction.x()},
                             {"stiffness", m.stiffness},
                             {"dissipation", m.dissipation},
                             {"relaxation", m.relaxation_time}});
  }
  return out;
}

bool is_conveyor(const std::string& name) { return name.starts_with("convex/conveyor"); }

// Without pushes from `end` on, which a run would look at in every step.
SceneRun start(const std::string& name, const std::string& solver, double h, double end = kInfinity) {
  Scene scene = make_scene(name);
  scene.options.solver = solver;
  scene.options.time_step = h;
  scene.options.collision.margin = 0.0;
  scene.options.swept_margin = false;
  if (is_conveyor(name)) scene.pushes.clear();  // the belt's speed is given
  std::erase_if(scene.pushes, [&](const Push& push) { return push.start >= end; });
  return SceneRun(std::move(scene));
}

// The mean over the step that ends at `time`.
double belt_speed(double time, double h) {
  return kBeltAmplitude * (std::sin(kBeltRate * time) - std::sin(kBeltRate * (time - h))) / h;
}

json motion(const std::string& name, const std::string& solver, double h, int steps, double tolerance) {
  SceneRun run = start(name, solver, h);
  Simulator& sim = run.simulator();
  SimulatorOptions options = sim.options();
  options.tolerance = tolerance;
  run.set_options(options);
  json out;
  for (int i = 1; i <= steps; ++i) {
    if (is_conveyor(name)) sim.state().v[0] = belt_speed(i * h, h);
    if (run.step().status != StepStatus::kOk) throw Error("{} with {}: step {} is not solved", name, solver, i);
    out["q"].push_back(list(sim.state().q));
    out["v"].push_back(list(sim.state().v));
  }
  return out;
}

json single_steps(const std::string& name, const std::string& solver, double h, int every, int count) {
  SceneRun run = start(name, solver, h);
  Simulator& sim = run.simulator();
  json out;
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < every; ++k) run.step();
    json state{{"q", list(sim.state().q)}, {"v", list(sim.state().v)}};
    run.step();
    state["next"] = list(sim.state().v);
    state["contacts"] = sim.report().contacts;
    out.push_back(state);
  }
  return out;
}

// The end of the time if it is not.
double lost(const std::string& name, const std::string& solver, double h, double seconds) {
  constexpr double kLost = 0.05;  // m
  SceneRun run = start(name, solver, h);
  const Simulator& sim = run.simulator();
  const Eigen::Index height = sim.model().nq - 5;
  const double begin = sim.state().q[height];
  while (sim.state().time < seconds - 0.5 * h) {
    if (run.step().status == StepStatus::kDiverged) throw Error("{} with {} diverged", name, solver);
    if (sim.state().q[height] < begin - kLost) break;
  }
  return sim.state().time;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Of the time of a step.
json shares(const StageTimes& times) {
  const double total = times.total();
  return {{"dynamics", times.dynamics / total},   {"collision", times.collision / total},
          {"assembly", times.assembly / total},   {"solve", times.solve / total},
          {"integrate", times.integrate / total}, {"certify", times.certify / total}};
}

json timing(const std::string& name, const std::string& solver, double h, int steps) {
  SceneRun run = start(name, solver, h, h * steps);
  Simulator& sim = run.simulator();
  const json from = json::parse(std::cin, nullptr, false);
  if (from.is_object()) {
    State state = sim.state();
    for (int i = 0; i < state.q.size(); ++i) state.q[i] = from["q"][at(i)];
    for (int i = 0; i < state.v.size(); ++i) state.v[i] = from["v"][at(i)];
    sim.reset(state);
  }
  long contacts = 0, iterations = 0;
  int unsolved = 0;
  StageTimes times;
  const double begin = processor_seconds();
  for (int i = 0; i < steps; ++i) {
    const StepReport& report = run.step();
    contacts += report.contacts;
    iterations += report.largest_iterations;
    unsolved += report.status == StepStatus::kOk ? 0 : 1;
    times.add(report.times);
  }
  const double taken = processor_seconds() - begin;
  return {{"seconds", taken / steps},
          {"contacts", static_cast<double>(contacts) / steps},
          {"iterations", static_cast<double>(iterations) / steps},
          {"unsolved", unsolved},
          {"shares", shares(times)},
          {"q", list(sim.state().q)},
          {"v", list(sim.state().v)}};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> a(argv + 1, argv + argc);
    const auto number = [&](std::size_t i) { return std::stod(a.at(i)); };
    const auto count = [&](std::size_t i) { return std::stoi(a.at(i)); };
    json out;
    if (a.at(0) == "model") out = describe(make_scene(a.at(1)));
    if (a.at(0) == "run") out = motion(a.at(1), a.at(2), number(3), count(4), number(5));
    if (a.at(0) == "steps") out = single_steps(a.at(1), a.at(2), number(3), count(4), count(5));
    if (a.at(0) == "lost") out = lost(a.at(1), a.at(2), number(3), number(4));
    if (a.at(0) == "time") out = timing(a.at(1), a.at(2), number(3), count(4));
    std::cout << out.dump() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
