// Time of one contact problem of a robot that stands: bench_small_contact [--benchmark_filter=...]. A sequence of
// problems as a simulation makes them, solved one after the other: feet with four contacts each, joined to a trunk that
// sways; the joints are eliminated, so that only contacts remain and G is dense. `warm` starts from the impulses of the
// problem before, `cold` from zero. Counters: the mean number of iterations, and the share of problems whose start was
// already good enough.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Cholesky>

#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace {

using namespace touchstone;

constexpr int kProblems = 200;
constexpr double kTimeStep = 2e-3;  // s

// The contacts alone: joints hold exactly whatever the contacts do.
ContactProblem eliminate_joints(const ContactProblem& scene) {
  DualProblem dual;
  prepare_dual(scene, {.scaling = DualScaling::kUnits}, dual);
  const MatrixX G = dual.G.dense();
  const VectorX g = dual.g.cwiseProduct(dual.u_scale);
  std::vector<int> contact, joint;
  ContactProblem problem;
  problem.time_step = scene.time_step;
  for (int i = 0; i < scene.nblock(); ++i) {
    const bool is_contact = scene.blocks.type[i] == BlockType::kCoulomb;
    if (is_contact) problem.blocks.add_coulomb(scene.blocks.mu[scene.blocks.row[i]]);
    for (int r = scene.blocks.row[i]; r < scene.blocks.row[i + 1]; ++r) (is_contact ? contact : joint).push_back(r);
  }
  const MatrixX Y = G(joint, joint).ldlt().solve(G(joint, contact));
  const MatrixX reduced = G(contact, contact) - G(contact, joint) * Y;
  std::vector<std::pair<int, int>> pattern;
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int j = 0; j < problem.nblock(); ++j) pattern.emplace_back(i, j);
  }
  BlockSparseMatrix sparse;
  sparse.set_pattern(problem.blocks.row, problem.blocks.row, pattern);
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int k = sparse.start[i]; k < sparse.start[i + 1]; ++k)
      sparse.block(i, k) = reduced.block<3, 3>(3 * i, 3 * sparse.col[k]);
  }
  problem.dual.set(std::move(sparse), g(contact) - Y.transpose() * g(joint));
  return problem;
}

// At time t of a slow sway that sometimes lifts a corner.
ContactProblem standing(int feet, double t) {
  SceneBuilder builder({.time_step = kTimeStep, .friction = 0.8});
  const Vector3 sway(0.02 * std::sin(3.0 * t), 0.03 * std::sin(2.0 * t), 0.0);
  const Vector3 velocity(0.06 * std::cos(3.0 * t), 0.06 * std::cos(2.0 * t), 0.0);
  const Vector3 centre = Vector3(0.0, 0.0, 0.9) + sway;
  const int trunk = builder.add_box(40.0, centre, {0.15, 0.2, 0.3}, 0.01 * velocity);
  for (int i = 0; i < feet; ++i) {
    const double angle = 6.283185307179586 * (i + 0.5) / feet;
    const Vector3 foot(0.25 * std::cos(angle), 0.25 * std::sin(angle), 0.03);
    const int body = builder.add_box(1.2, foot, {0.1, 0.05, 0.03});
    // Hip and knee as one: the trunk carries the foot at two points, so that the foot cannot turn freely.
    builder.add_ball_joint(trunk, body, foot + Vector3(0.0, 0.0, 0.08));
    builder.add_ball_joint(trunk, body, foot + Vector3(0.05, 0.02, 0.1));
    for (int corner = 0; corner < 4; ++corner) {
      const Vector3 point = foot + Vector3(corner % 2 == 0 ? 0.1 : -0.1, corner / 2 == 0 ? 0.05 : -0.05, -0.03);
      builder.add_contact(-1, body, point, Vector3::UnitZ());
    }
  }
  return eliminate_joints(builder.finish());
}

void run(benchmark::State& state, bool warm, const char* solver_name) {
  std::vector<ContactProblem> problems;
  problems.reserve(kProblems);
  for (int k = 0; k < kProblems; ++k) problems.push_back(standing(static_cast<int>(state.range(0)), k * kTimeStep));
  const auto solver = make_solver(solver_name);
  const auto options = solver->make_options();
  const auto workspace = solver->make_workspace();
  options->relative_tolerance = 1e-6;
  options->warm_start = warm;
  options->validation = Validation::kData;
  Solution solution;
  std::int64_t iterations = 0, accepted = 0, solves = 0;
  double worst = 0.0;
  for (const ContactProblem& problem : problems) {  // the first time, to know that they are solved
    solver->solve(problem, *options, *workspace, solution);
    worst = std::max(worst, certify(problem, solution.lambda).natv_relative);
  }
  if (!(worst <= 1e-5)) state.SkipWithError("a problem was not solved");
  std::size_t next = 0;
  for (auto _ : state) {
    solver->solve(problems[next], *options, *workspace, solution);
    next = next + 1 < problems.size() ? next + 1 : 0;
    iterations += solution.iterations;
    accepted += solution.iterations == 0 ? 1 : 0;
    ++solves;
  }
  state.counters["iterations"] = static_cast<double>(iterations) / static_cast<double>(solves);
  state.counters["accepted"] = static_cast<double>(accepted) / static_cast<double>(solves);
}

void warm(benchmark::State& state) { run(state, true, "auto"); }
void cold(benchmark::State& state) { run(state, false, "auto"); }

BENCHMARK(warm)->Arg(1)->Arg(2)->Arg(4)->Arg(10);
BENCHMARK(cold)->Arg(1)->Arg(2)->Arg(4)->Arg(10);

}  // namespace

BENCHMARK_MAIN();
