// Closed chains in motion: loops stay closed, energy stays, reactions of redundant loops are those of least norm and
// steady, and no solver breaks on any of it.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numbers>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/scenes/loop_suite.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/mechanism.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

using std::numbers::pi;

// Those of the paper's table have tests of their own (loop_suite_test.cpp).
std::vector<std::string> loop_scenes() {
  std::vector<std::string> names = suite_scenes();
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(suite_systems().size()));
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

// Of all loops at a state, m.
double loop_error(const ModelPtr& model, const State& state) { return Mechanism(model).mobility(state).error; }

class LoopSuite : public testing::TestWithParam<std::string> {
 protected:
  // The largest error of loops in a run. Where loops are closed in each step, one step of a run may be unsolved (of
  // 400,000 with other time steps one was), and not by much.
  static double run(const std::string& name, double step, double seconds, LoopClosing loops) {
    Scene scene = make_scene(name);
    scene.options.time_step = step;
    scene.options.stabilisation.loops = loops;
    SceneRun run(scene);
    double worst = 0.0;
    int steps = 0, unsolved = 0;
    while (run.simulator().state().time < seconds - 0.5 * step) {
      const StepReport& report = run.step();
      ++steps;
      if (loops == LoopClosing::kClosed && report.status != StepStatus::kOk) {
        ++unsolved;
        EXPECT_EQ(report.status, StepStatus::kNotConverged) << name << " at " << report.time << " s";
        EXPECT_LT(report.residuals.natv_relative, 1e-4) << name << " at " << report.time << " s";
      }
      if (report.status == StepStatus::kDiverged) break;
      worst = std::max(worst, loops == LoopClosing::kClosed ? report.loop_error : report.violation);
    }
    EXPECT_LE(unsolved, 1) << name << ", of " << steps;
    return std::max(worst, loop_error(scene.model, run.simulator().state()));
  }
};

// A four-bar without friction for a minute, with each way to keep its loop closed: the largest error of the first
// second and of all, m. Nothing but the error of a step is there to open it.
struct Drift {
  double first = 0.0, all = 0.0;
};

Drift four_bar_drift(std::initializer_list<const char*> options, double seconds) {
  Scene scene = make_scene("loops/four-bar");
  scene.options.time_step = 1e-3;
  for (const char* option : options) set_option(scene.options, option);
  SceneRun run(scene);
  Drift drift;
  while (run.simulator().state().time < seconds - 5e-4) {
    const StepReport& report = run.step();
    EXPECT_EQ(report.status, StepStatus::kOk) << report.time << " s";
    drift.all = std::max(drift.all, report.violation);
    if (report.time <= 1.0) drift.first = drift.all;
  }
  return drift;
}

TEST(LoopDrift, OfAFourBarOverAMinute) {
  const double seconds = test::whole_family() ? 60.0 : 3.0;
  struct Way {
    std::initializer_list<const char*> options;
    double most;  // m
  };
  for (const Way& way :
       {Way{{"loops=closed"}, 1e-9}, Way{{"loops=pass"}, 5e-5}, Way{{"stabilisation=baumgarte"}, 3e-4},
        Way{{"loop_erp=0.2"}, 3e-4}, Way{{"loop_erp=0.8"}, 1e-4}, Way{{"loop_softening=impedance"}, 2e-3}}) {
    const Drift drift = four_bar_drift(way.options, seconds);
    std::cout << fmt::format("| `{}` | {:.1e} | {:.1e} |\n", *way.options.begin(), drift.first, drift.all);
    EXPECT_LE(drift.all, way.most) << *way.options.begin();
    EXPECT_LE(drift.all, 3.0 * drift.first + 1e-9) << *way.options.begin() << ": it does not grow with time";
  }
  const Drift none = four_bar_drift({"loop_erp=0"}, std::min(seconds, 10.0));
  std::cout << fmt::format("| `loop_erp=0` | {:.1e} | {:.1e} |\n", none.first, none.all);
  EXPECT_GT(none.all, 2.0 * none.first) << "without stabilisation it grows";
}

TEST_P(LoopSuite, StaysClosed) {
  const double seconds = test::whole_family() ? 10.0 : 0.5;
  const double fine = run(GetParam(), 1e-3, seconds, LoopClosing::kClosed);
  const double coarse = run(GetParam(), 4e-3, seconds, LoopClosing::kClosed);
  const double open = run(GetParam(), 1e-3, seconds, LoopClosing::kPass);
  std::cout << fmt::format("| {:<20} | {:.1e} | {:.1e} | {:.1e} |\n", GetParam(), fine, coarse, open);
  EXPECT_LT(fine, 1e-6);
  EXPECT_LT(coarse, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Library, LoopSuite, testing::ValuesIn(loop_scenes()), test_name);

// A minute, or as much as shows whether something grows.
int energy_steps() { return std::getenv("TOUCHSTONE_LONG") != nullptr ? 60000 : test::whole_family() ? 15000 : 2000; }

// A rod on a point of the world, with a free joint and a connect in place of a hinge.
Simulator rod_in_loop_form(Integrator integrator, double rate) {
  ModelBuilder b("rod");
  const Matrix3 inertia = Vector3(1.0 / 12.0, 1.0 / 12.0, 1e-3).asDiagonal();
  const int rod =
      b.add_body({.name = "rod", .pose = Transform{{0, 0, -0.5}}, .inertia = {1.0, Vector3::Zero(), inertia}});
  b.add_joint({.name = "free", .body = rod, .type = JointType::kFree});
  b.add_equality({.name = "pivot", .a = rod, .b = 0, .anchor_a = {0, 0, 0.5}});
  Simulator sim(b.build(), {.time_step = 1e-3, .integrator = integrator});
  sim.state().v << -0.5 * rate, 0, 0, 0, rate, 0;  // about y through the pivot
  return sim;
}

TEST(LoopEnergy, RodInLoopFormKeepsItWithMidpointRules) {
  for (const double rate : {1.0, 3.0}) {
    for (const Integrator integrator : {Integrator::kMoreauMidpoint, Integrator::kVariational}) {
      Simulator sim = rod_in_loop_form(integrator, rate);
      const double kinetic = sim.kinetic_energy(), start = kinetic + sim.potential_energy();
      double worst = 0.0;
      const int steps = energy_steps();
      for (int k = 0; k < steps; ++k) {
        ASSERT_EQ(sim.step().status, StepStatus::kOk);
        worst = std::max(worst, std::abs(sim.kinetic_energy() + sim.potential_energy() - start));
      }
      std::cout << fmt::format("rod, {} rad/s, rule {}: {:.2e} of the kinetic energy\n", rate,
                               static_cast<int>(integrator), worst / kinetic);
      EXPECT_LT(worst, 1e-3 * kinetic) << rate;
    }
  }
}

// A four-bar of three free bodies, frames at their centres of mass, and four loops; the same lengths as loops/four-bar.
ModelPtr four_bar_of_free_bodies() {
  const Scene scene = make_scene("loops/four-bar");
  const Model& tree = *scene.model;
  Data data(tree);
  forward_kinematics(tree, tree.defaults, scene.start, data);
  ModelBuilder b("maximal");
  std::vector<Vector3> joint, centre;
  for (const char* name : {"crank", "coupler", "rocker"}) {
    const int body = tree.body(name);
    const Transform pose = body_pose(data, body);
    joint.push_back(pose.position);
    MassProperties inertia = tree.defaults.mass_properties(body);
    centre.push_back(pose.position + inertia.com);  // all frames have world axes at the start
    inertia.com.setZero();
    const int own = b.add_body({.name = name, .pose = Transform{centre.back()}, .inertia = inertia});
    b.add_joint({.name = name, .body = own, .type = JointType::kFree});
  }
  joint.emplace_back(1.0, 0.0, 0.0);
  const auto origin = [&](int body) { return body == 0 ? Vector3(Vector3::Zero()) : centre[at(body - 1)]; };
  for (int k = 0; k < 4; ++k) {
    const Vector3& p = joint[at(k)];
    const int a = k < 3 ? k + 1 : 3, c = k < 3 ? k : 0;  // bodies of the builder; 0 is the world
    b.add_equality({.name = std::to_string(k), .a = a, .b = c, .anchor_a = p - origin(a), .anchor_b = p - origin(c)});
  }
  return b.build();
}

TEST(LoopEnergy, FourBarInLoopFormKeepsItWithMidpointRules) {
  const ModelPtr model = four_bar_of_free_bodies();
  for (const Integrator integrator : {Integrator::kMoreauMidpoint, Integrator::kVariational}) {
    SimulatorOptions options{.time_step = 1e-3, .integrator = integrator};
    options.stabilisation.loops = LoopClosing::kClosed;
    Simulator sim(model, options);
    const double start = sim.kinetic_energy() + sim.potential_energy();
    double worst = 0.0, largest = 0.0;
    const int steps = energy_steps();
    for (int k = 0; k < steps; ++k) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      worst = std::max(worst, std::abs(sim.kinetic_energy() + sim.potential_energy() - start));
      largest = std::max(largest, sim.kinetic_energy());
    }
    std::cout << fmt::format("four-bar in loop form, rule {}: {:.2e} of the largest kinetic energy\n",
                             static_cast<int>(integrator), worst / largest);
    EXPECT_GT(largest, 1.0);
    EXPECT_LT(worst, 1e-3 * largest);
  }
}

// The same as a tree with one loop: Coriolis forces must be those of the motion with the loop. At 3 rad/s without
// gravity, and falling.
TEST(LoopEnergy, FourBarAsATreeKeepsItWithMidpointRules) {
  for (const double rate : {0.0, 3.0}) {
    for (const Integrator integrator : {Integrator::kMoreauMidpoint, Integrator::kVariational}) {
      const Scene scene = make_scene("loops/four-bar");
      SimulatorOptions options{.time_step = 1e-3, .integrator = integrator};
      options.stabilisation.loops = LoopClosing::kClosed;
      Simulator sim(scene.model, options);
      sim.reset(scene.start);
      if (rate > 0.0) {
        sim.parameters().gravity.setZero();
        sim.state().v << rate, 0.0, 0.0;
        Mechanism(scene.model).project_velocity(sim.state());
        sim.state().v *= rate / std::abs(sim.state().v[0]);
      }
      const double start = sim.kinetic_energy() + sim.potential_energy();
      double worst = 0.0, largest = 0.0;
      const int steps = energy_steps();
      for (int k = 0; k < steps; ++k) {
        ASSERT_EQ(sim.step().status, StepStatus::kOk);
        worst = std::max(worst, std::abs(sim.kinetic_energy() + sim.potential_energy() - start));
        largest = std::max(largest, sim.kinetic_energy());
      }
      std::cout << fmt::format("four-bar as a tree, {} rad/s, rule {}: {:.2e} of the largest kinetic energy\n", rate,
                               static_cast<int>(integrator), worst / largest);
      EXPECT_LT(worst, 1e-3 * largest) << rate;
    }
  }
}

// A velocity that somebody puts in is projected by the next step, not reflected for ever.
TEST(LoopEnergy, InconsistentVelocitiesAreProjectedOnce) {
  Simulator sim = rod_in_loop_form(Integrator::kMoreauMidpoint, 0.0);
  sim.step(10);
  sim.state().v[2] = 1.0;  // away from the pivot
  sim.step();
  EXPECT_LT(std::abs(sim.state().v[2]), 0.05);
}

// Links of 4, 4 and 4 m on a ground of 2 m hang at rest as a trapezium: cos q_A = 1/4.
TEST(LoopMotion, FourBarComesToRestWhereStaticsSay) {
  for (const char* joint : {"connect", "pin"}) {
    Scene scene =
        make_scene(fmt::format("loops/four-bar:crank=4,coupler=4,rocker=4,ground=2,angle=-100,damping=60,"
                               "branch=crossed,joint={}",
                               joint));
    scene.options.time_step = 5e-3;
    SceneRun run(scene);
    while (run.simulator().state().time < 60.0) ASSERT_EQ(run.step().status, StepStatus::kOk);
    const VectorX& q = run.simulator().state().q;
    EXPECT_LT(run.simulator().state().v.norm(), 1e-8);
    // From x to the crank, which hangs; the other two lie mirrored, so the trapezium is symmetric.
    const double crank = -100.0 * pi / 180.0 + q[0];
    EXPECT_NEAR(std::abs(crank), pi - std::acos(0.25), 1e-6) << joint;
  }
}

// Impulses of the equalities of the last step, and what they do to joints.
VectorX impulses_of_loops(const Simulator& sim) { return sim.impulses().head(sim.constraints().rows()); }

MatrixX dense_jacobian(const Simulator& sim) {
  const Constraints& c = sim.constraints();
  MatrixX J(c.rows(), sim.model().nv);
  VectorX rates(c.rows());
  for (int k = 0; k < sim.model().nv; ++k) {
    constraint_velocity(sim.model(), c, VectorX::Unit(sim.model().nv, k), rates);
    J.col(k) = rates;
  }
  return J;
}

// How far the reactions of the last step are from those of least norm, by the pseudo-inverse.
double from_least_norm(const Simulator& sim) {
  const Constraints& c = sim.constraints();
  const VectorX lambda = impulses_of_loops(sim);
  VectorX scaled = lambda;
  MatrixX J = dense_jacobian(sim);
  for (int r = 0; r < c.rows(); ++r) {
    const auto block = std::upper_bound(c.blocks.row.begin(), c.blocks.row.end(), r) - c.blocks.row.begin() - 1;
    const ConstraintKind kind = c.list[at(block)].kind;
    const bool is_loop = kind == ConstraintKind::kEquality || kind == ConstraintKind::kLoopJoint;
    J.row(r) *= is_loop ? c.row_length[at(r)] : 0.0;
    scaled[r] = is_loop ? lambda[r] / c.row_length[at(r)] : 0.0;
  }
  Eigen::CompleteOrthogonalDecomposition<MatrixX> decomposition;
  decomposition.setThreshold(1e-7);
  decomposition.compute(J.transpose());
  return (decomposition.solve(J.transpose() * scaled) - scaled).norm();
}

TEST(RedundantLoops, ReactionsAreOfLeastNormAndSteady) {
  for (const char* name :
       {"loops/four-bar:joint=pin", "loops/bennett", "loops/table", "loops/table:7", "loops/ladder:5",
        "loops/slider-crank:speed=2", "loops/four-bar:crank=0.5,coupler=1,rocker=0.5,ground=1,joint=pin,angle=20"}) {
    Scene scene = make_scene(name);
    SceneRun run(scene);
    Simulator& sim = run.simulator();
    VectorX before;
    double worst = 0.0, jump = 0.0, largest = 0.0;
    for (int k = 0; k < 400; ++k) {
      ASSERT_EQ(run.step().status, StepStatus::kOk) << name << ", step " << k;
      const VectorX lambda = impulses_of_loops(sim);
      if (k % 20 == 19) worst = std::max(worst, from_least_norm(sim));
      largest = std::max(largest, lambda.norm());
      if (k > 320 && before.size() == lambda.size())  // pushes and motors have begun and ended
        jump = std::max(jump, (lambda - before).norm());
      before = lambda;
    }
    std::cout << fmt::format("{}: {:.1e} from the least norm, jumps {:.1e}\n", name, worst / largest, jump / largest);
    EXPECT_LT(worst, 1e-6 * largest) << name;
    EXPECT_LT(jump, 0.1 * largest) << name;
  }
}

// Arms of random hinges whose tips are held to each other or to the world, every loop up to three times and as
// connects, welds or loop joints: reactions are of least norm and follow each other.
ModelPtr random_redundant_mechanism(std::mt19937_64& random) {
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  const auto vector = [&] { return Vector3(number(random), number(random), number(random)); };
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  ModelBuilder b("redundant");
  std::vector<Vector3> origin = {Vector3::Zero()};
  const int bodies = 4 + below(5);
  for (int i = 1; i <= bodies; ++i) {
    const int parent = i % 4 == 1 ? 0 : i - 1;
    const Vector3 step = 0.4 * vector();
    const Matrix3 inertia = Vector3(0.02, 0.03, 0.025).asDiagonal();
    b.add_body({.name = fmt::format("b{}", i),
                .parent = parent,
                .pose = Transform{step},
                .inertia = {1.0, 0.2 * vector(), inertia}});
    b.add_joint({.name = fmt::format("j{}", i), .body = i, .axis = vector().normalized(), .damping = 0.2});
    origin.push_back(origin[at(parent)] + step);
  }
  const int loops = 1 + below(2);
  for (int k = 0; k < loops; ++k) {
    const int a = 1 + below(bodies), other = below(bodies + 1), c = other == a ? 0 : other;
    const int copies = 1 + below(3), type = below(3);
    const Vector3 point = 0.2 * vector();
    for (int copy = 0; copy < copies; ++copy) {
      const std::string name = fmt::format("loop{}/{}", k, copy);
      const Vector3 in_c = origin[at(a)] + point - origin[at(c)];
      if (type == 2) {
        b.add_loop_joint({.name = name,
                          .type = LoopJointType::kUniversal,
                          .body_a = c,
                          .body_b = a,
                          .frame_a = Transform{in_c},
                          .frame_b = Transform{point}});
      } else {
        b.add_equality({.name = name,
                        .type = type == 0 ? EqualityType::kConnect : EqualityType::kWeld,
                        .a = type == 0 ? a : c,
                        .b = type == 0 ? c : a,
                        .anchor_a = type == 0 ? point : Vector3(Vector3::Zero()),
                        .anchor_b = in_c,
                        .relative_pose = Transform{origin[at(a)] - origin[at(c)]}});
      }
    }
  }
  return b.build();
}

TEST(RedundantLoops, ReactionsOfRandomMechanismsAreOfLeastNormAndSteady) {
  std::mt19937_64 random(17);
  const int count = test::whole_family() ? 100 : 10;
  int unsolved = 0, steps = 0;
  std::vector<double> distances, jumps;
  for (int n = 0; n < count; ++n) {
    Simulator sim(random_redundant_mechanism(random), {.time_step = 1e-3});
    VectorX before;
    double worst = 0.0, jump = 0.0, largest = 0.0;
    for (int k = 0; k < 200; ++k, ++steps) {
      const bool solved = sim.step().status == StepStatus::kOk;
      unsolved += solved ? 0 : 1;
      const VectorX lambda = impulses_of_loops(sim);
      largest = std::max(largest, lambda.norm());
      if (k % 20 == 19 && solved) worst = std::max(worst, from_least_norm(sim));
      if (k > 20) jump = std::max(jump, (lambda - before).norm());
      before = lambda;
    }
    if (largest == 0.0) continue;
    distances.push_back(worst / largest);
    jumps.push_back(jump / largest);
  }
  std::sort(distances.begin(), distances.end());
  std::sort(jumps.begin(), jumps.end());
  std::cout << fmt::format(
      "{} mechanisms, {} of {} steps not solved; from the least norm: median {:.1e}, worst {:.1e}; "
      "jumps: median {:.1e}, worst {:.1e}\n",
      count, unsolved, steps, distances[distances.size() / 2], distances.back(), jumps[jumps.size() / 2], jumps.back());
  EXPECT_EQ(unsolved, 0);
  EXPECT_LT(distances.back(), 1e-5);
  EXPECT_LT(jumps.back(), 0.2);
}

// A table on three points of one circle carries a third of its weight on each, and nothing sideways.
TEST(RedundantLoops, TableSharesItsWeight) {
  for (const int n : {3, 4, 7}) {
    Scene scene = make_scene(fmt::format("loops/table:{}", n));
    SceneRun run(scene);
    for (int k = 0; k < 10; ++k) run.step();
    const VectorX lambda = impulses_of_loops(run.simulator());
    ASSERT_EQ(lambda.size(), 3 * n);
    for (int i = 0; i < n; ++i) {
      EXPECT_NEAR(std::abs(lambda[3 * i + 2]), 10.0 * 9.81 * 1e-3 / n, 1e-8) << n;
      EXPECT_NEAR(lambda.segment<2>(3 * i).norm(), 0.0, 1e-8) << n;
    }
  }
}

// A parallelogram falls through its flat position, where rank is lost and two branches meet.
TEST(RedundantLoops, ParallelogramPassesThroughItsFlatPosition) {
  for (const char* joint : {"connect", "pin"}) {
    const Scene scene =
        make_scene(fmt::format("loops/four-bar:crank=0.5,coupler=1,rocker=0.5,ground=1,angle=30,joint={}", joint));
    SceneRun run(scene);
    double worst = 0.0;
    bool passed = false;
    for (int k = 0; k < 2000; ++k) {
      ASSERT_EQ(run.step().status, StepStatus::kOk) << joint << ", step " << k;
      worst = std::max(worst, run.simulator().report().loop_error);
      passed = passed || run.simulator().state().q[0] < -0.7;  // 30 degrees is 0.52
      ASSERT_LT(run.simulator().state().v.norm(), 100.0);
    }
    EXPECT_TRUE(passed);
    EXPECT_LT(worst, 1e-6);
  }
}

// Every solver of the catalogue on problems with redundant rows: it solves all of them, and its status tells the truth.
// The one that does not: the fixed point of `ncp-prox` at the flat parallelogram, where rank is lost.
TEST(RedundantLoops, NoSolverBreaks) {
  const std::string flat = "loops/four-bar:crank=0.5,coupler=1,rocker=0.5,ground=1,angle=0,joint=pin";
  for (const std::string& name : {std::string("loops/four-bar:joint=pin"), std::string("loops/bennett"),
                                  std::string("loops/table"), std::string("loops/ladder:4"), flat}) {
    for (const CatalogueEntry& entry : solver_catalogue()) {
      Scene scene = make_scene(name);
      scene.options.solver = entry.name;
      scene.options.constraints = ConstraintModel::kRigid;
      SceneRun run(scene);
      int solved = 0;
      for (int k = 0; k < 50; ++k) {
        const StepReport& report = run.step();
        ASSERT_NE(report.status, StepStatus::kDiverged) << name << ", " << entry.name;
        ASSERT_TRUE(run.simulator().state().q.allFinite()) << name << ", " << entry.name;
        if (report.status != StepStatus::kOk) continue;
        ++solved;
        if (!entry.law) {
          EXPECT_LE(report.residuals.natv_relative, 1e-3) << name << ", " << entry.name;
        }
      }
      EXPECT_GE(solved, name == flat && entry.name == "ncp-prox" ? 10 : 50) << name << ", " << entry.name;
      if (solved < 50) std::cout << fmt::format("{}, {}: {} of 50 solved\n", name, entry.name, solved);
    }
  }
}

}  // namespace
}  // namespace touchstone
