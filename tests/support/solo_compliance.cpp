#include "support/solo_compliance.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "support/robot_runs.hpp"
#include "touchstone/contact/certify.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone::test {
namespace {

constexpr int kSettling = 200, kSteps = 400, kEvery = 40;
constexpr double kPush = 10.0;   // N
constexpr double kLocked = 1e9;  // kg m^2: with such rotors its joints hold like welds
constexpr double kTolerance = 1e-9;

bool is_contact(const ContactProblem& problem, int block) {
  return problem.blocks.type[block] == BlockType::kCoulomb && problem.blocks.size(block) == 3;
}

// The same problem with compliant contacts. Along the tangents alone would not do: four feet of a rigid body leave the
// normal impulses open too, and these bound friction.
ContactProblem with_compliance(const ContactProblem& rigid, double share) {
  ContactProblem problem = rigid;
  if (problem.dual.form == DualData::Form::kSparse)
    problem.dual.set(rigid.dual.G_sparse.dense(), VectorX(rigid.dual.g));
  if (problem.R.size() == 0) problem.R.setZero(problem.nrow());
  VectorX added = VectorX::Zero(problem.nrow());
  for (int i = 0; i < problem.nblock(); ++i) {
    if (!is_contact(problem, i)) continue;
    const int r = problem.blocks.row[i];
    for (int k = 0; k < 3; ++k) added[r + k] = share * problem.dual.G_dense(r + k, r + k);
  }
  problem.R += added;
  problem.dual.G_dense.diagonal() += added;
  return problem;
}

Solution solve(const ContactProblem& problem, const VectorX& start) {
  const auto solver = find_solver("nbgs").make();
  const auto options = solver->make_options();
  const auto workspace = solver->make_workspace();
  options->relative_tolerance = kTolerance;
  options->max_iterations = 20000;
  options->warm_start = true;
  Solution solution;
  solution.lambda = start;
  solver->solve(problem, *options, *workspace, solution);  // natv says how well
  return solution;
}

// Tangential impulses away from each other, as large as friction allows.
VectorX stretched(const ContactProblem& problem, const VectorX& lambda) {
  VectorX start = lambda;
  for (int i = 0, contact = 0; i < problem.nblock(); ++i) {
    if (!is_contact(problem, i)) continue;
    const int r = problem.blocks.row[i];
    const double angle = 1.3 * contact++;
    start[r] = problem.blocks.mu[r] * lambda[r + 2] * std::cos(angle);
    start[r + 1] = problem.blocks.mu[r + 1] * lambda[r + 2] * std::sin(angle);
  }
  return start;
}

void add(const ContactProblem& problem, ComplianceFigures& out) {
  const VectorX zero = VectorX::Zero(problem.nrow());
  const Solution one = solve(problem, zero), two = solve(problem, stretched(problem, one.lambda));
  for (const Solution* s : {&one, &two}) out.natv = std::max(out.natv, certify(problem, s->lambda).natv);
  double weight = 0.0;
  for (int i = 0; i < problem.nblock(); ++i) {
    if (is_contact(problem, i)) weight += one.lambda[problem.blocks.row[i] + 2];
  }
  const VectorX change = two.u - one.u;
  for (int i = 0; i < problem.nblock(); ++i) {
    if (!is_contact(problem, i)) continue;
    const int r = problem.blocks.row[i];
    const auto tangent = one.lambda.segment<2>(r);
    const double bound = problem.blocks.mu[r] * one.lambda[r + 2];
    const Eigen::Vector2d slip = one.u.segment<2>(r) - problem.R.segment<2>(r).cwiseProduct(tangent);
    if (tangent.norm() < 0.9 * bound) out.creep = std::max(out.creep, slip.norm());
    out.jam = std::max(out.jam, (two.lambda.segment<2>(r) - tangent).norm() / weight);
    out.moved = std::max(out.moved, change.segment<3>(r).norm());
  }
  ++out.problems;
}

// Problems of steps in which the robot is pushed. With joints that give way, a leg of three joints decides the force of
// its foot; only a robot that holds its joints is undetermined.
std::optional<std::vector<ContactProblem>> pushed_solo() {
  const std::vector<RobotFile> files = robot_files();
  const auto file =
      std::find_if(files.begin(), files.end(), [](const RobotFile& f) { return f.name.ends_with("solo12.urdf"); });
  if (file == files.end()) return std::nullopt;
  const RobotSetup setup = set_up(*file);
  SimulatorOptions options;
  options.time_step = 1e-3;
  Simulator sim(setup.model, options);
  sim.reset(setup.start);
  sim.input().control = setup.control;
  sim.parameters().dof_armature.tail(setup.model->nv - 6).setConstant(kLocked);
  std::vector<ContactProblem> problems;
  TreeIslands islands;
  TreeIslands::Scratch scratch;
  for (int i = 0; i < kSteps; ++i) {
    if (i == kSettling) sim.input().applied_wrench[1][1] = kPush;
    sim.step();
    if (i < kSettling || i % kEvery != 0 || sim.constraints().count() == 0) continue;
    islands.find(sim.model(), sim.constraints(), false);
    islands.build_problem(0, sim.model(), sim.constraints(), sim.time_step(), scratch);
    problems.push_back(islands[0].problem);
  }
  return problems;
}

}  // namespace

std::optional<std::vector<ComplianceFigures>> solo_compliance(const std::vector<double>& shares) {
  const auto problems = pushed_solo();
  if (!problems) return std::nullopt;
  std::vector<ComplianceFigures> out;
  for (const double share : shares) {
    ComplianceFigures figures{.share = share};
    for (const ContactProblem& problem : *problems) add(with_compliance(problem, share), figures);
    out.push_back(figures);
  }
  return out;
}

}  // namespace touchstone::test
