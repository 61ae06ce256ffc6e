// The problems of islands against dense linear algebra, and islands in several threads.
#include "touchstone/sim/islands.hpp"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

// Two trees that touch each other and one apart; blocks of one, three, four and six rows.
constexpr const char* kMixed =
    R"(<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 1'/>
    <body pos='0 0 0.2'><freejoint/><geom type='box' size='.1 .1 .1' mass='2' condim='4'/>
      <body pos='0.1 0 0.1'><joint axis='0 1 0' frictionloss='0.2' range='-10 10' limited='true'/>
        <geom type='capsule' fromto='0 0 0 .3 0 0' size='.03' mass='0.4'/>
        <body pos='0.3 0 0'><joint axis='0 0 1' frictionloss='0.1'/>
          <geom type='capsule' fromto='0 0 0 .1 .1 -.2' size='.03' mass='0.3'/></body></body></body>
    <body pos='0.05 0.02 0.399'><freejoint/><geom type='box' size='.1 .1 .1' mass='1' condim='6'/></body>
    <body pos='2 0 0.0999'><freejoint/><geom size='0.1' mass='1'/></body></worldbody></mujoco>)";

TEST(Islands, ProblemsAreThoseOfDenseAlgebra) {
  Simulator sim(load_mjcf_string(kMixed));
  int several = 0;
  for (int step = 0; step < 200; ++step) {
    sim.step();
    const Model& model = sim.model();
    const Constraints& c = sim.constraints();
    MatrixX J = MatrixX::Zero(c.rows(), model.nv);
    for (int block = 0; block < c.count(); ++block) {
      const Constraint& constraint = c.list[static_cast<std::size_t>(block)];
      for (int p = 0; p < constraint.part_count; ++p) {
        const TreePart& part = c.parts[static_cast<std::size_t>(constraint.first_part + p)];
        const int stride = c.stride(block);
        for (int k = 0; k < part.count; ++k) {
          for (int r = 0; r < c.blocks.size(block); ++r) {
            J(c.blocks.row[static_cast<std::size_t>(block)] + r, c.dofs(model, part)[k]) =
                c.J[part.start + static_cast<std::size_t>(stride * k + r)];
          }
        }
      }
    }
    MatrixX AinvJt = J.transpose();
    for (int column = 0; column < c.rows(); ++column) solve(model, sim.data(), AinvJt.col(column));
    const MatrixX G = J * AinvJt;
    TreeIslands islands;
    TreeIslands::Scratch scratch;
    islands.find(model, c);
    if (islands.count() == 2) ++several;
    int blocks = 0;
    for (int i = 0; i < islands.count(); ++i) {
      islands.build_problem(i, model, c, sim.time_step(), scratch);
      const ContactProblem& problem = islands[i].problem;
      const MatrixX own = problem.dual.G_sparse.dense();
      blocks += problem.nblock();
      for (int a = 0; a < problem.nblock(); ++a) {
        for (int b = 0; b < problem.nblock(); ++b) {
          const int rows = problem.blocks.size(a), columns = problem.blocks.size(b);
          const auto expected = G.block(
              c.blocks.row[static_cast<std::size_t>(islands[i].blocks[static_cast<std::size_t>(a)])],
              c.blocks.row[static_cast<std::size_t>(islands[i].blocks[static_cast<std::size_t>(b)])], rows, columns);
          const auto found = own.block(problem.blocks.row[static_cast<std::size_t>(a)],
                                       problem.blocks.row[static_cast<std::size_t>(b)], rows, columns);
          ASSERT_LT((found - expected).lpNorm<Eigen::Infinity>(), 1e-12 * G.lpNorm<Eigen::Infinity>())
              << "step " << step << ", blocks " << a << " and " << b;
        }
      }
    }
    ASSERT_EQ(blocks, c.count());
  }
  EXPECT_GT(several, 50);
}

std::string many_boxes() {
  std::string xml = "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='9 9 1'/>";
  for (int i = 0; i < 12; ++i) {
    const std::string x = std::to_string(0.5 * (i % 4)), y = std::to_string(0.5 * (i / 4));
    for (const char* z : {"0.11", "0.32"}) {
      xml += "<body pos='" + x + " " + y + " " + z +
             "' euler='0 3 20'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>";
    }
  }
  return xml + "</worldbody></mujoco>";
}

TEST(Islands, SameBitsForAnyNumberOfThreads) {
  const ModelPtr model = load_mjcf_string(many_boxes());
  Simulator serial(model);
  serial.step(400);
  EXPECT_EQ(serial.report().islands, 12);
  for (const int threads : {2, 4}) {
    SimulatorOptions options;
    options.threads = threads;
    Simulator parallel(model, options);
    parallel.step(400);
    EXPECT_TRUE(parallel.state() == serial.state()) << threads << " threads";
    EXPECT_EQ(parallel.report().iterations, serial.report().iterations);
    EXPECT_EQ(parallel.report().residuals.natv, serial.report().residuals.natv);
    EXPECT_EQ(parallel.report().residuals.worst_block, serial.report().residuals.worst_block);
  }
}

// A ball that is 5 mm deep in the walls on both sides cannot leave both. Violations stay, nothing explodes, and the
// step says why; with a little room on one side the ball goes there.
TEST(Islands, ContradictingRecoveriesAreGivenUp) {
  const auto squeezed = [](double right) {
    return load_mjcf_string(fmt::format(R"(
      <mujoco><option gravity='0 0 0'/><worldbody>
        <geom type='box' size='.1 1 1' pos='-.195 0 0'/><geom type='box' size='.1 1 1' pos='{} 0 0'/>
        <body><freejoint/><geom size='.1' mass='1'/></body></worldbody></mujoco>)",
                                        right));
  };
  Simulator sim(squeezed(0.195));
  for (int i = 0; i < 100; ++i) {
    const StepReport& report = sim.step();
    ASSERT_EQ(report.status, StepStatus::kOk) << i;
    ASSERT_TRUE(report.warnings.recovery_conflict) << i;
    ASSERT_LE(report.residuals.natv_relative, 1e-6) << i;
    ASSERT_LT(sim.state().v.lpNorm<Eigen::Infinity>(), 1e-9) << i;
    ASSERT_NEAR(report.energy.stabilisation, 0.0, 1e-12) << i;
  }
  Simulator free(squeezed(0.206));
  free.step(2000);
  EXPECT_FALSE(free.report().warnings.recovery_conflict);
  EXPECT_LT(free.report().penetration, 1e-4);
}

TEST(Islands, LoopsJoinTreesWithoutAStep) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><worldbody>
    <body name='a'><freejoint/><geom size='.1'/></body>
    <body name='b' pos='1 0 0'><freejoint/><geom size='.1'/></body>
    <body name='c' pos='2 0 0'><joint name='c'/><geom size='.1'/></body>
    <body name='d' pos='3 0 0'><joint name='d'/><geom size='.1'/></body>
    <body name='e' pos='4 0 0'><freejoint/><geom size='.1'/></body></worldbody>
    <equality><connect body1='a' body2='b' anchor='.5 0 0'/><joint joint1='c' joint2='d'/>
      <connect body1='e' anchor='0 0 0'/><weld body1='a' body2='c' active='false'/></equality></mujoco>)");
  UnionFind trees;
  trees.reset(model->ntree);
  join_loops(*model, trees);
  std::vector<int> roots;
  for (int t = 0; t < model->ntree; ++t) roots.push_back(trees.root(t));
  EXPECT_EQ(roots, (std::vector<int>{0, 0, 2, 2, 4}));
}

}  // namespace
}  // namespace touchstone
