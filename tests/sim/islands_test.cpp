// The problems of islands against dense linear algebra, and islands in several threads.
#include "touchstone/sim/islands.hpp"

#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "touchstone/contact/validate.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/element_trees.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/step_context.hpp"
#include "touchstone/solvers/catalogue.hpp"
#include "touchstone/solvers/newton/newton_system.hpp"

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

// G = J A^-1 J' + R and g = J v_free + b, and the operations of A are those of one matrix.
void expect_views_agree(const Simulator& sim, const std::string& what) {
  TreeIslands islands;
  TreeIslands::Scratch scratch;
  islands.find(sim.model(), sim.constraints());
  for (int i = 0; i < islands.count(); ++i) {
    islands.build_problem(i, sim.model(), sim.constraints(), sim.time_step(), scratch);
    const AlignedVector first_time = islands[i].problem.dual.G_sparse.values;
    islands.build_problem(i, sim.model(), sim.constraints(), sim.time_step(), scratch);  // the pattern is known now
    ASSERT_EQ(islands[i].problem.dual.G_sparse.values, first_time) << what;
    islands[i].problem.primal = islands.build_primal(i, sim.model(), sim.data(), sim.constraints(), scratch);
    const ContactProblem& problem = islands[i].problem;
    ASSERT_TRUE(validate(problem).usable()) << what << ": " << validate(problem).message;
    const Inertia& inertia = *problem.primal.A;
    ASSERT_EQ(inertia.nv(), islands[i].dofs(sim.model())) << what;
    const MatrixX J = problem.primal.J.dense(), A = inertia.matrix().dense();
    ASSERT_EQ(A, MatrixX(A.transpose())) << what;
    VectorX velocity = J * problem.primal.v_free + problem.b;
    EXPECT_LE((velocity - problem.dual.g).lpNorm<Eigen::Infinity>(),
              1e-10 * (1.0 + problem.dual.g.lpNorm<Eigen::Infinity>()))
        << what;
    const MatrixX G = problem.dual.G_sparse.dense();
    const double largest = G.lpNorm<Eigen::Infinity>();
    for (int r = 0; r < problem.nrow(); r += 1 + problem.nrow() / 40) {
      VectorX x = J.row(r);
      const VectorX right = x;
      inertia.solve(x);
      EXPECT_LE((A * x - right).lpNorm<Eigen::Infinity>(), 1e-8 * right.lpNorm<Eigen::Infinity>()) << what;
      VectorX column = J * x;
      column[r] += problem.R[r];
      EXPECT_LE((column - G.col(r)).lpNorm<Eigen::Infinity>(), 1e-9 * largest) << what << ", row " << r;
    }
    EXPECT_LE((inertia.scaled(2.5)->matrix().dense() - 2.5 * A).norm(), 1e-14 * A.norm()) << what;
    for (int c = 0; c < inertia.nclique(); ++c) {
      const int first = inertia.first_dof(c), n = inertia.clique_size(c);
      const MatrixX block = A.block(first, first, n, n);
      MatrixX S = MatrixX::Identity(n, n);
      inertia.half_solve(c, S.data(), n);
      EXPECT_LE((S * block * S.transpose() - MatrixX::Identity(n, n)).norm(), 1e-8) << what;
    }
  }
}

TEST(Islands, PrimalAndDualViewAgree) {
  Simulator mixed(load_mjcf_string(kMixed));
  for (int step = 0; step < 100; ++step) {
    mixed.step();
    expect_views_agree(mixed, fmt::format("mixed, step {}", step));
  }
  int found = 0;
  for (const SceneInfo& info : scenes()) {
    for (const bool soft : {false, true}) {
      Scene scene = make_scene(info.name);
      if (soft && find_solver(scene.options.solver).law) continue;  // has a contact model of its own
      if (soft && info.name == "loops/ironman") continue;  // masses of 1 to 25,544: soft loops diverge, also in MuJoCo
      if (scene.options.integrator == Integrator::kEvent) continue;  // lists constraints, but makes no problem of all
      if (soft) scene.options.constraints = ConstraintModel::kMujoco;
      SceneRun run(scene);
      for (int k = 0; k < 30; ++k) run.step();
      if (run.simulator().constraints().rows() > 1500) continue;  // dense algebra
      ++found;
      expect_views_agree(run.simulator(), fmt::format("{}{}", info.name, soft ? ", softened" : ""));
    }
  }
  EXPECT_GT(found, 20);
}

// Loops, tendons and servos within a tree and between trees, one step from random states.
TEST(Islands, PrimalAndDualViewAgreeOnRandomModels) {
  std::mt19937_64 random(21);
  int found = 0;
  for (int k = 0; k < (test::whole_family() ? 200 : 20); ++k) {
    const ModelPtr model = test::random_bound_model(random, {.bodies = 3 + k % 12, .damping = true});
    for (const ConstraintModel kind : {ConstraintModel::kRigid, ConstraintModel::kMujoco}) {
      Simulator sim(model, {.constraints = kind});
      sim.reset(test::random_state(*model, random));
      sim.step();
      if (sim.constraints().count() == 0) continue;
      ++found;
      expect_views_agree(sim, fmt::format("random model {}", k));
    }
  }
  EXPECT_GT(found, 30);
}

std::string wall(int rows, int columns, int condim = 3) {
  std::string xml = fmt::format(
      "<mujoco><option timestep='0.002'/><default><geom condim='{}'/></default><worldbody><geom type='plane' size='9 9 "
      "1'/>",
      condim);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      xml += fmt::format("<body pos='{} 0 {}'><freejoint/><geom type='box' size='.1 .05 .05' mass='1'/></body>",
                         0.2001 * c + (r % 2 == 0 ? 0.0 : 0.1), 0.05 + 0.1 * r);
    }
  }
  return xml + "</worldbody></mujoco>";
}

// A wall of bricks has more rows than dofs: its Newton steps are made in joint space.
TEST(Islands, AWallIsSolvedInJointSpace) {
  Simulator sim(load_mjcf_string(wall(8, 8)));
  for (int step = 0; step < 60; ++step) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk) << step;
    ASSERT_LE(sim.report().residuals.natv_relative, 1e-6) << step;
  }
  TreeIslands islands;
  TreeIslands::Scratch scratch;
  islands.find(sim.model(), sim.constraints());
  ASSERT_EQ(islands.count(), 1);
  islands.build_problem(0, sim.model(), sim.constraints(), sim.time_step(), scratch);
  islands[0].problem.primal = islands.build_primal(0, sim.model(), sim.data(), sim.constraints(), scratch);
  const ContactProblem& problem = islands[0].problem;
  EXPECT_GT(problem.nrow(), problem.primal.nv());
  DualProblem dual;
  ASSERT_TRUE(prepare_dual(problem, {}, dual).usable());
  NewtonSystem system;
  system.prepare(dual, {&problem});
  EXPECT_TRUE(system.in_joint_space());
}

// With all contacts in every step the pattern stays, and nothing is allocated once warm.
TEST(Islands, AWallInJointSpaceAllocatesNothing) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "this build does not count allocations";
  SimulatorOptions options;
  options.solver_options = {"reduce=false"};
  Simulator sim(load_mjcf_string(wall(8, 8)), options);
  sim.step(100);
  const test::AllocationGuard guard;
  int newton_steps = 0;
  for (int step = 0; step < 60; ++step) newton_steps += sim.step().stage.number > 0 ? 1 : 0;
  EXPECT_EQ(guard.allocations(), 0u);
  EXPECT_GT(newton_steps, 0);
}

// The same with torsional and rolling friction.
TEST(Islands, AWallWithLargerConesIsSolvedInJointSpace) {
  for (const int condim : {4, 6}) {
    Simulator sim(load_mjcf_string(wall(5, 5, condim)));
    for (int step = 0; step < 30; ++step) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk) << condim << ' ' << step;
      ASSERT_LE(sim.report().residuals.natv_relative, 1e-6) << condim << ' ' << step;
    }
  }
}

// The problem of a simulation that is kept has its own inertia.
TEST(Islands, CopiesOfAProblemKeepTheirInertia) {
  Simulator sim(load_mjcf_string(kMixed));
  sim.step(50);
  TreeIslands islands;
  TreeIslands::Scratch scratch;
  const auto build = [&] {
    islands.find(sim.model(), sim.constraints(), false);
    islands.build_problem(0, sim.model(), sim.constraints(), sim.time_step(), scratch);
    islands[0].problem.primal = islands.build_primal(0, sim.model(), sim.data(), sim.constraints(), scratch);
  };
  build();
  const ContactProblem kept = islands[0].problem;
  const MatrixX before = kept.primal.A->matrix().dense();
  sim.step(50);
  build();
  EXPECT_EQ(kept.primal.A->matrix().dense(), before);
  EXPECT_NE(islands[0].problem.primal.A, kept.primal.A);
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
  SimulatorOptions options;
  options.stabilisation.method = Stabilisation::kBaumgarte;
  const auto squeezed = [](double right) {
    return load_mjcf_string(fmt::format(R"(
      <mujoco><option gravity='0 0 0'/><worldbody>
        <geom type='box' size='.1 1 1' pos='-.195 0 0'/><geom type='box' size='.1 1 1' pos='{} 0 0'/>
        <body><freejoint/><geom size='.1' mass='1'/></body></worldbody></mujoco>)",
                                        right));
  };
  Simulator sim(squeezed(0.195), options);
  for (int i = 0; i < 100; ++i) {
    const StepReport& report = sim.step();
    ASSERT_EQ(report.status, StepStatus::kOk) << i;
    ASSERT_TRUE(report.warnings.recovery_conflict) << i;
    ASSERT_LE(report.residuals.natv_relative, 1e-6) << i;
    ASSERT_LT(sim.state().v.lpNorm<Eigen::Infinity>(), 1e-9) << i;
    ASSERT_NEAR(report.energy.stabilisation, 0.0, 1e-12) << i;
  }
  Simulator free(squeezed(0.206), options);
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
