// Repair of a large problem where it is spoiled.
#include "touchstone/solvers/auto/repair.hpp"

#include <gtest/gtest.h>

#include "touchstone/contact/generate.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

// A wall of bricks, solved, scaled.
struct Wall {
  DualProblem dual;
  VectorX lambda, u;

  Wall() {
    const ContactProblem problem = make_wall(400);
    const auto solver = find_solver("auto").make();
    const auto options = solver->make_options();
    options->relative_tolerance = 1e-10;
    const auto workspace = solver->make_workspace();
    Solution solution;
    EXPECT_EQ(solver->solve(problem, *options, *workspace, solution), SolveStatus::kSolved);
    EXPECT_TRUE(prepare_dual(problem, {}, dual).usable());
    scale_lambda(dual, solution.lambda, lambda);
  }

  double natv_now() {
    compute_velocity(dual, lambda, u);
    return natv(dual, ContactModel::kNcp, lambda, u) / dual.velocity_scale;
  }
};

TEST(RegionRepair, RepairWhatIsSpoiled) {
  Wall wall;
  EXPECT_LT(wall.natv_now(), 1e-9);
  const VectorX before = wall.lambda;
  // Two places far from each other.
  const int first = 10, second = wall.dual.nblock() - 10;
  for (const int block : {first, second}) {
    const int row = wall.dual.blocks.row[block];
    wall.lambda.segment(row, 3) *= -0.5;
  }
  const double spoiled = wall.natv_now();
  EXPECT_GT(spoiled, 1e-3);
  RegionRepair repair;
  const double tolerance = 1e-8 * wall.dual.velocity_scale;
  EXPECT_EQ(repair.run(wall.dual, {.tolerance = tolerance}, wall.lambda, wall.u), 2);
  EXPECT_LT(wall.natv_now(), 2e-3 * spoiled);  // a region is solved to a thousandth of what was wrong
  // What is not near has kept its impulses, bit for bit.
  int kept = 0;
  for (int i = 0; i < wall.dual.nblock(); ++i) {
    const int row = wall.dual.blocks.row[i];
    kept += wall.lambda.segment(row, 3) == before.segment(row, 3) ? 1 : 0;
  }
  EXPECT_GE(kept, wall.dual.nblock() - 2 * 32);
  EXPECT_LT(kept, wall.dual.nblock());
}

TEST(RegionRepair, LeaveASolutionAlone) {
  Wall wall;
  const VectorX before = wall.lambda;
  wall.natv_now();
  RegionRepair repair;
  EXPECT_EQ(repair.run(wall.dual, {.tolerance = 1e-8 * wall.dual.velocity_scale}, wall.lambda, wall.u), 0);
  EXPECT_EQ(wall.lambda, before);
}

TEST(RegionRepair, NoMoreThanAsked) {
  Wall wall;
  wall.lambda *= 0.9;  // wrong everywhere
  wall.natv_now();
  RegionRepair repair;
  EXPECT_EQ(repair.run(wall.dual, {.tolerance = 1e-8, .max_regions = 3}, wall.lambda, wall.u), 3);
}

}  // namespace
}  // namespace touchstone
