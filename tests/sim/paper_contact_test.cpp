// What Le Lidec et al. (2024, section IV) say about contact models and solvers, with numbers. `./run bench contact`
// plots it.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/contact_experiments.hpp"

namespace touchstone::test {
namespace {

constexpr double kDegree = M_PI / 180.0;

// Fig. 9: the pyramid of the LCP turns friction towards its edges, so that a cube that slides between them leaves its
// straight line. Cones have no such edges.
TEST(PaperContact, Figure9PyramidsBendTheWay) {
  for (const int angle : {20, 25, 30}) {
    const CubeRun lcp = slide_cube("lcp-pgs", angle * kDegree, 2.0, 1e-3, 0.5);
    EXPECT_GT(std::abs(lcp.back().across), 5e-3) << angle;
    for (const char* solver : {"ncp-pgs", "ccp-admm", "auto"}) {
      const CubeRun run = slide_cube(solver, angle * kDegree, 2.0, 1e-3, 0.5);
      EXPECT_LT(std::abs(run.back().across), 1e-5) << solver << ", " << angle;
    }
  }
  // Along a tangent axis the pyramid is right.
  EXPECT_LT(std::abs(slide_cube("lcp-pgs", 0.0, 2.0, 1e-3, 0.5).back().across), 1e-6);
}

// Fig. 10: without De Saxce's correction u_n = mu |u_t|: a cube that is set on the plane at speed v takes off at
// mu v_t, with v_t = v - mu (mu v + g h) / (1 + mu^2) after the first step, and flies. The NCP stays down and loses
// energy as maximum dissipation says.
TEST(PaperContact, Figure10TheConvexModelLiftsOff) {
  const double h = 1e-3, speed = 2.0, mu = kCubeFriction;
  const CubeRun ccp = slide_cube("ccp-admm", 25 * kDegree, speed, h, 0.4);
  const CubeRun ncp = slide_cube("auto", 25 * kDegree, speed, h, 0.4);
  const double slowed = speed - mu * (mu * speed + kGravity * h) / (1.0 + mu * mu);
  EXPECT_NEAR(ccp[1].speed, slowed, 1e-6);
  EXPECT_NEAR(ccp[1].height, h * mu * slowed, 1e-8);
  double highest = 0.0, ccp_error = 0.0;
  for (const CubeSample& s : ccp) {
    highest = std::max(highest, s.height);
    ccp_error = std::max(ccp_error, std::abs(s.energy - sliding_energy(speed, s.time)));
  }
  const double flight = mu * mu * slowed * slowed / (2.0 * kGravity);
  EXPECT_NEAR(highest, flight, 0.02 * flight);
  const double initial = sliding_energy(speed, 0.0);
  EXPECT_GT(ccp_error, 0.1 * initial);
  for (const CubeSample& s : ncp) {
    EXPECT_LT(std::abs(s.height), 1e-6) << s.time;
    EXPECT_NEAR(s.energy, sliding_energy(speed, s.time), 2e-3 * initial) << s.time;
  }
}

// Fig. 11: a cube that slides under the CCP hovers at h mu |v|, in proportion to the step.
TEST(PaperContact, Figure11TheErrorOfTheConvexModelIsProportionalToTheStep) {
  const auto highest = [](const char* solver, double h) {
    double height = 0.0;
    for (const CubeSample& s : drag_cube(solver, h, 1.0)) height = std::max(height, std::abs(s.height));
    return height;
  };
  const double fine = highest("ccp-admm", 1e-3), coarse = highest("ccp-admm", 8e-3);
  EXPECT_NEAR(fine, 1e-3 * kCubeFriction * drag_speed(1.0), 0.05 * fine);
  EXPECT_NEAR(std::log(coarse / fine) / std::log(8.0), 1.0, 0.05);
  EXPECT_LT(highest("auto", 8e-3), 1e-6);
}

// The dragged cube: at rest up to mu m g, then by the integral; the force of a step is its mean, so that the NCP is
// exact but for the step in which sliding begins.
TEST(PaperContact, Figure12SpeedOfTheDraggedCube) {
  for (const CubeSample& s : drag_cube("auto", 1e-3, 1.0)) EXPECT_NEAR(s.speed, drag_speed(s.time), 2e-5) << s.time;
}

// Fig. 12: at stiction the lateral forces of the four corners are internal. Methods that work on the whole problem
// leave them out, those that go from contact to contact do not; their sum vanishes in any case.
TEST(PaperContact, Figure12InternalForcesAtStiction) {
  const auto at_stiction = [](const char* solver) {
    const CubeRun run = drag_cube(solver, 1e-3, 0.15);
    double sum = 0.0, largest = 0.0;
    for (const double f : run.back().lateral) {
      sum += f;
      largest = std::max(largest, std::abs(f));
    }
    EXPECT_EQ(run.back().lateral.size(), 4u) << solver;
    EXPECT_LT(std::abs(sum), 1e-4) << solver;
    return largest;
  };
  EXPECT_LT(at_stiction("ncp-admm"), 1e-3);
  const double pgs = at_stiction("ncp-pgs");
  EXPECT_GT(pgs, 1e-2);
  EXPECT_LT(at_stiction("auto"), pgs);  // keeps what its warm start has
}

// Fig. 13: a thousand kilogrammes on a gramme.
TEST(PaperContact, Figure13HeavyOnLight) {
  for (const char* solver : {"auto", "ncp-newton", "ncp-ipm"}) {
    const StackFigures f = stack_cubes(solver, 1e3, 1e-3, 50);
    EXPECT_EQ(f.solved, f.steps) << solver;
    EXPECT_LT(f.natv, 1e-6) << solver;
    EXPECT_LT(std::abs(f.sinking), 1e-5) << solver;
  }
  const StackFigures pgs = stack_cubes("ncp-pgs", 1e3, 1e-3, 50);
  EXPECT_LT(pgs.solved, pgs.steps);
  const StackFigures even = stack_cubes("ncp-pgs", 1.0, 1.0, 50);
  EXPECT_EQ(even.solved, even.steps);
}

// Fig. 14: the depth is the weight over the stiffness of the four corners.
TEST(PaperContact, Figure14DepthIsProportionalToTheCompliance) {
  for (const double stiffness : {1e3, 1e4}) {
    const double expected = kCubeMass * kGravity / (4.0 * stiffness);
    EXPECT_NEAR(resting_depth(stiffness), expected, 0.01 * expected) << stiffness;
  }
}

// Fig. 15: by how much the way changes with the step. All errors are of first order here; that of the CCP has its
// height on top.
TEST(PaperContact, Figure15TheNcpDependsLeastOnTheStep) {
  const auto change = [](const char* solver) {
    const CubeRun coarse = drag_cube(solver, 4e-3, 1.0), fine = drag_cube(solver, 1e-4, 1.0);
    double largest = 0.0;
    for (std::size_t i = 0; i < coarse.size(); ++i) {
      largest = std::max(largest, std::abs(coarse[i].height - fine[40 * i].height));
    }
    return largest;
  };
  EXPECT_LT(change("auto"), 1e-6);
  EXPECT_GT(change("ccp-admm"), 1e-3);
}

// Fig. 16, 17: on the robots `auto` is certified from cold and from warm starts, and a warm start saves sweeps where
// there is more than one contact (Solo and Talos; the ball rests on one).
TEST(PaperContact, Figure17RobotsWarmAndCold) {
  bool any = false;
  for (const char* robot : {"solo", "talos", "allegro"}) {
    std::vector<VectorX> warm_starts;
    const auto problems = robot_problems(robot, 0.4, 20, warm_starts);
    if (!problems) continue;
    any = true;
    ASSERT_FALSE(problems->empty()) << robot;
    const SolverFigures cold = solve_all("auto", *problems, warm_starts, false);
    const SolverFigures warm = solve_all("auto", *problems, warm_starts, true);
    EXPECT_EQ(cold.certified, cold.count) << robot;
    EXPECT_EQ(warm.certified, warm.count) << robot;
    const SolverFigures cold_sweeps = solve_all("nbgs", *problems, warm_starts, false);
    const SolverFigures warm_sweeps = solve_all("nbgs", *problems, warm_starts, true);
    EXPECT_LE(warm_sweeps.iterations, cold_sweeps.iterations) << robot;
    if (std::string_view(robot) != "allegro") {
      EXPECT_LT(warm_sweeps.iterations, cold_sweeps.iterations) << robot;
    }
  }
  if (!any) GTEST_SKIP() << "no models: set TOUCHSTONE_DATA";
}

}  // namespace
}  // namespace touchstone::test
