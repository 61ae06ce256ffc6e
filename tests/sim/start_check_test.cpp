// Impulses that are checked without the matrix of their island, against the matrix.
#include "touchstone/sim/start_check.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr const char* kScenes[] = {"stack:4", "card-house", "quadruped", "pile:20", "humanoid", "hand", "wheel"};

TEST(StartCheck, RowsGiveWhatTheMatrixGives) {
  std::mt19937_64 draw(5);
  std::normal_distribution<double> normal;
  int checked = 0;
  for (const char* name : kScenes) {
    SceneRun run(make_scene(name));
    Simulator& sim = run.simulator();
    for (int step = 0; step < 60; ++step) run.step();
    const Model& model = sim.model();
    const Constraints& c = sim.constraints();
    TreeIslands islands;
    TreeIslands::Scratch scratch;
    CertificateWorkspace by_rows, by_matrix;
    islands.find(model, c);
    for (int i = 0; i < islands.count(); ++i) {
      islands.build_problem(i, model, c, sim.time_step(), scratch);
      const ContactProblem& problem = islands[i].problem;
      VectorX lambda(problem.nrow());
      for (double& x : lambda) x = 0.1 * normal(draw);
      VectorX change, diagonal;
      multiply_rows(model, c, islands[i], lambda, scratch, change, diagonal);
      const MatrixX G = problem.dual.G_sparse.dense();
      const double size = G.lpNorm<Eigen::Infinity>() * lambda.lpNorm<Eigen::Infinity>();
      ASSERT_LT((change - G * lambda).lpNorm<Eigen::Infinity>(), 1e-12 * size) << name;
      ASSERT_LT((diagonal - G.diagonal()).lpNorm<Eigen::Infinity>(), 1e-12 * G.lpNorm<Eigen::Infinity>()) << name;
      by_rows.change = change;
      by_rows.diagonal = diagonal;
      const Residuals a = certify_product(problem, lambda, kInfinity, by_rows);
      const Residuals b = certify(problem, lambda, by_matrix);
      ASSERT_NEAR(a.natv_relative, b.natv_relative, 1e-10 * b.natv_relative) << name;
      ASSERT_NEAR(a.complementarity, b.complementarity, 1e-10 * b.complementarity) << name;
      by_rows.change = change;
      by_rows.diagonal = diagonal;
      EXPECT_GT(certify_product(problem, lambda, 1e-6, by_rows).natv_relative, 1e-6) << name;  // ends early
      ++checked;
    }
  }
  EXPECT_GT(checked, 3);
}

// What rests is accepted at the start, and the certificate that the step reports is that of the matrix.
TEST(StartCheck, RestIsAcceptedAndCertified) {
  SceneRun run(make_scene("stack:5"));
  Simulator& sim = run.simulator();
  int accepted = 0;
  for (int step = 0; step < 600; ++step) {
    run.step();
    const StepReport& report = sim.report();
    if (report.rows == 0 || report.stage.number != 0) continue;
    ++accepted;
    const Constraints& c = sim.constraints();
    TreeIslands islands;
    TreeIslands::Scratch scratch;
    islands.find(sim.model(), c);
    double worst = 0.0;
    for (int i = 0; i < islands.count(); ++i) {
      islands.build_problem(i, sim.model(), c, sim.time_step(), scratch);
      VectorX lambda(islands[i].problem.nrow());
      for (int k = 0; k < islands[i].problem.nblock(); ++k) {
        const int from = c.blocks.row[static_cast<std::size_t>(islands[i].blocks[static_cast<std::size_t>(k)])];
        const int to = islands[i].problem.blocks.row[static_cast<std::size_t>(k)];
        for (int r = 0; r < islands[i].problem.blocks.size(k); ++r) lambda[to + r] = sim.impulses()[from + r];
      }
      worst = std::max(worst, certify(islands[i].problem, lambda).natv_relative);
      // By its rows too, and not with impulses that are wrong by a thousandth.
      CertificateWorkspace workspace;
      VectorX u;
      Residuals residuals;
      const auto accepts = [&](const VectorX& start) {
        return is_solution(sim.model(), c, islands[i], start, 1.001e-6, scratch, workspace, u, residuals);
      };
      ASSERT_FALSE(accepts(1.001 * lambda)) << step;
      ASSERT_TRUE(accepts(lambda)) << step;
      const VectorX expected = islands[i].problem.dual.G_sparse * lambda + islands[i].problem.dual.g;
      ASSERT_LT((u - expected).lpNorm<Eigen::Infinity>(), 1e-12) << step;
    }
    ASSERT_LE(worst, 1.001e-6) << step;
    ASSERT_NEAR(worst, report.residuals.natv_relative, 1e-12 + 1e-3 * worst) << step;
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace touchstone
