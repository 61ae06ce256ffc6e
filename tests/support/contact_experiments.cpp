#include "support/contact_experiments.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "support/robot_runs.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/contact/certify.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/contact_cache.hpp"
#include "touchstone/sim/detection/detector.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone::test {
namespace {

constexpr double kHalf = 0.1;      // m, of the cube
constexpr double kForceRate = 20;  // N/s
constexpr double kTolerance = 1e-9;

std::string cube_scene() {
  return fmt::format(
      "<mujoco><worldbody><geom type='plane' size='50 50 1' friction='{0}'/><body name='cube' pos='0 0 "
      "{1}'><freejoint/>"
      "<geom type='box' size='{1} {1} {1}' mass='{2}' friction='{0}'/></body></worldbody></mujoco>",
      kCubeFriction, kHalf, kCubeMass);
}

Simulator cube_simulator(const std::string& solver, double h, double tolerance = kTolerance) {
  SimulatorOptions options;
  options.solver = solver;
  options.time_step = h;
  options.tolerance = tolerance;
  options.max_iterations = 10000;
  options.collision.margin = 0.05;  // also a cube that hovers keeps its four contacts
  return Simulator(load_mjcf_string(cube_scene()), options);
}

CubeSample sample(Simulator& sim, Vector2 direction) {
  const VectorX &q = sim.state().q, &v = sim.state().v;
  const Vector2 left(-direction.y(), direction.x());
  CubeSample s;
  s.time = sim.state().time;
  s.along = direction.dot(q.head<2>());
  s.across = left.dot(q.head<2>());
  s.height = q[2] - kHalf;
  s.speed = direction.dot(v.head<2>());
  s.energy = sim.kinetic_energy() + kCubeMass * kGravity * s.height;
  for (const ContactForce& f : sim.contacts()) s.lateral.push_back(left.x() * f.force.x() + left.y() * f.force.y());
  return s;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

CubeRun slide_cube(const std::string& solver, double angle, double speed, double h, double seconds) {
  Simulator sim = cube_simulator(solver, h);
  const Vector2 direction(std::cos(angle), std::sin(angle));
  sim.state().v.head<2>() = speed * direction;
  CubeRun run{sample(sim, direction)};
  while (sim.state().time < seconds - 0.5 * h) {
    sim.step();
    run.push_back(sample(sim, direction));
  }
  return run;
}

double sliding_energy(double speed, double time) {
  const double v = std::max(0.0, speed - kCubeFriction * kGravity * time);
  return 0.5 * kCubeMass * v * v;
}

CubeRun drag_cube(const std::string& solver, double h, double seconds) {
  Simulator sim = cube_simulator(solver, h);
  const int body = sim.model().body("cube");
  const Vector2 direction(1.0, 0.0);
  CubeRun run{sample(sim, direction)};
  while (sim.state().time < seconds - 0.5 * h) {
    // The mean force of the step, so that what remains is the error of the contact model.
    sim.input().applied_wrench[at(body)][0] = kForceRate * (sim.state().time + 0.5 * h);
    sim.step();
    run.push_back(sample(sim, direction));
  }
  return run;
}

double drag_speed(double time) {
  const double limit = kCubeFriction * kCubeMass * kGravity, start = limit / kForceRate;
  return time <= start ? 0.0 : 0.5 * kForceRate * (time - start) * (time - start) / kCubeMass;
}

StackFigures stack_cubes(const std::string& solver, double upper, double lower, int steps) {
  const std::string scene = fmt::format(
      "<mujoco><worldbody><geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='{}'/></body>"
      "<body pos='0 0 .3'><freejoint/><geom type='box' size='.1 .1 .1' mass='{}'/></body></worldbody></mujoco>",
      lower, upper);
  SimulatorOptions options;
  options.solver = solver;
  options.time_step = 1e-3;
  options.max_iterations = 1000;
  Simulator sim(load_mjcf_string(scene), options);
  StackFigures figures;
  std::vector<double> natv;
  for (int i = 0; i < steps; ++i) {
    const StepReport& report = sim.step();
    ++figures.steps;
    figures.solved += report.status == StepStatus::kOk ? 1 : 0;
    natv.push_back(report.residuals.model_natv_relative);
  }
  std::nth_element(natv.begin(), natv.begin() + steps / 2, natv.end());
  figures.natv = natv[at(steps / 2)];
  figures.sinking = kHalf - sim.state().q[2];
  return figures;
}

double resting_depth(double stiffness) {
  Simulator sim = cube_simulator("auto", 1e-3);
  for (Material& material : sim.parameters().shape_material) material.stiffness = 2.0 * stiffness;  // two in series
  // Springs without damping swing on; every swing is stopped where it is fastest, and that is where it rests.
  double last = 0.0;
  for (int i = 0; i < 20000; ++i) {
    sim.step();
    const double v = sim.state().v[2];
    if (v * last < 0.0) sim.state().v *= 0.5;
    last = v;
    sim.state().v *= 0.99;
  }
  return kHalf - sim.state().q[2];
}

std::optional<std::vector<ContactProblem>> robot_problems(const std::string& robot, double seconds, int every,
                                                          std::vector<VectorX>& warm_starts) {
  const std::string end = robot == "solo"    ? "solo12.urdf"
                          : robot == "talos" ? "talos_reduced.urdf"
                                             : "wonik_allegro/scene_right.xml";
  const double push = robot == "solo" ? 10.0 : robot == "talos" ? 80.0 : 0.0;  // N
  const std::vector<RobotFile> files = robot_files();
  const auto file = std::find_if(files.begin(), files.end(), [&](const RobotFile& f) { return f.name.ends_with(end); });
  if (file == files.end()) return std::nullopt;
  const RobotSetup setup = set_up(*file);
  SimulatorOptions options;
  options.time_step = 1e-3;
  Simulator sim(setup.model, options);
  sim.reset(setup.start);
  sim.input().control = setup.control;
  std::vector<ContactProblem> problems;
  ContactCache cache;
  TreeIslands islands;
  TreeIslands::Scratch scratch;
  VectorX warm, velocity;
  const int steps = static_cast<int>(seconds / options.time_step), settling = steps / 2;
  for (int i = 0; i < steps; ++i) {
    if (i == settling && push > 0.0) sim.input().applied_wrench[1][1] = push;
    sim.step();
    const Constraints& c = sim.constraints();
    const std::span<const Contact> contacts = sim.detector().contacts();
    if (i >= settling && i % every == 0 && c.count() > 0) {
      warm.setZero(c.rows());
      velocity.setZero(c.rows());
      cache.recall(c, contacts, warm, velocity);
      islands.find(sim.model(), c, false);
      islands.build_problem(0, sim.model(), c, sim.time_step(), scratch);
      problems.push_back(islands[0].problem);
      VectorX own(problems.back().nrow());
      for (int b = 0; b < problems.back().nblock(); ++b) {
        const int from = c.blocks.row[at(islands[0].blocks[at(b)])], to = problems.back().blocks.row[at(b)];
        for (int r = 0; r < problems.back().blocks.size(b); ++r) own[to + r] = warm[from + r];
      }
      warm_starts.push_back(own);
    }
    velocity.setZero(c.rows());
    cache.store(c, contacts, sim.impulses(), velocity);
  }
  return problems;
}

SolverFigures solve_all(const std::string& name, const std::vector<ContactProblem>& problems,
                        const std::vector<VectorX>& warm_starts, bool warm) {
  const CatalogueEntry& entry = find_solver(name);
  const auto solver = entry.make();
  const auto options = solver->make_options();
  const auto workspace = solver->make_workspace();
  options->relative_tolerance = 1e-6;
  options->warm_start = warm;
  options->validation = Validation::kData;
  options->max_iterations = 10000;
  Solution solution;
  SolverFigures figures;
  for (const bool counts : {false, true}) {  // once to warm up
    for (std::size_t i = 0; i < problems.size(); ++i) {
      solution.lambda = warm_starts[i];
      const double begin = processor_seconds();
      const SolveStatus status = solver->solve(problems[i], *options, *workspace, solution);
      const double taken = processor_seconds() - begin;
      if (!counts) continue;
      figures.seconds += taken;
      figures.iterations += solution.iterations;
      figures.solved += status == SolveStatus::kSolved ? 1 : 0;
      const Residuals residuals = certify(problems[i], solution.lambda, entry.certificate);
      figures.certified += residuals.model_natv_relative <= 1e-5 ? 1 : 0;
      ++figures.count;
    }
  }
  figures.seconds /= figures.count;
  figures.iterations /= figures.count;
  return figures;
}

std::vector<double> convergence(const std::string& name, const ContactProblem& problem) {
  const auto solver = make_solver(name);
  const auto options = solver->make_options();
  const auto workspace = solver->make_workspace();
  options->relative_tolerance = 1e-12;
  options->warm_start = false;
  options->record_history = true;
  options->max_iterations = 1000;
  Solution solution;
  solver->solve(problem, *options, *workspace, solution);
  return solution.history;
}

}  // namespace touchstone::test
