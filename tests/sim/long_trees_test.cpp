// Trees whose paths to the root are long are stepped without a mass matrix: the same velocities and certificates as
// with one, and work that is linear in bodies and loops.
#include "touchstone/dynamics/long_trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/long_models.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/long_tree_solver.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/step_context.hpp"
#include "touchstone/sim/step_record.hpp"

namespace touchstone {
namespace {

using test::chain;
using test::ladder;

MassProperties rod_mass() { return {0.1, {0.05, 0, 0}, Vector3(1e-4, 2e-4, 2e-4).asDiagonal()}; }

// A tree with a long trunk and short branches, everything that joints may have, loops and things that touch the ground.
class DeepTree {
 public:
  explicit DeepTree(unsigned seed) : random_(seed) {}

  ModelPtr make(int trunk, bool with_loops) {
    ModelBuilder b("deep");
    b.add_shape({.body = 0, .shape = {.type = ShapeType::kPlane}});
    int parent = 0, last_joint = -1;
    for (int i = 0; i < trunk; ++i) {
      const Vector3 offset =
          i == 0 ? Vector3(0, 0, uniform(0.2, 0.6)) : Vector3(uniform(0.04, 0.1), uniform(-0.02, 0.02), 0);
      const int body = add_body(b, parent, offset, i == 0);
      if (i % 7 == 3) {
        const int twig = add_body(b, body, 0.1 * vector(), false);
        if (with_loops && i % 2 == 0) pins_.push_back({twig, body});
      }
      if (with_loops && i % 25 == 20) {
        b.add_equality(
            {.type = EqualityType::kJoint, .a = joints_.back(), .b = last_joint, .polynomial = {0, 0.7, 0, 0, 0}});
      }
      last_joint = joints_.back();
      parent = body;
    }
    add_pins(b);
    add_servos(b);
    return b.build();
  }

 private:
  struct Pin {
    int a, b;
  };

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  Vector3 vector() { return {uniform(-1.0, 1.0), uniform(-1.0, 1.0), uniform(-1.0, 1.0)}; }
  bool chance(double share) { return uniform(0.0, 1.0) < share; }

  int add_body(ModelBuilder& b, int parent, const Vector3& offset, bool is_root) {
    const double mass = uniform(0.05, 0.3);
    const Matrix3 inertia = (1e-3 * mass * Vector3(1, 1.3, 1.6)).asDiagonal();
    const int body = b.add_body({.parent = parent,
                                 .pose = Transform{offset, is_root ? Quaternion::Identity() : so3_exp(0.1 * vector())},
                                 .inertia = {mass, 0.03 * vector(), inertia}});
    if (is_root && chance(0.5)) {
      b.add_joint({.body = body, .type = JointType::kFree});
      joints_.push_back(b.add_joint({.body = add_link(b, body)}));
      return body;
    }
    Joint joint{.body = body, .type = JointType::kHinge, .axis = vector().normalized()};
    if (chance(0.1)) joint.type = JointType::kSlide;
    joint.armature = chance(0.3) ? uniform(0.0, 1e-3) : 0.0;
    joint.damping = chance(0.5) ? uniform(0.0, 0.05) : 0.0;
    joint.stiffness = chance(0.4) ? uniform(0.0, 5.0) : 0.0;
    joint.friction = chance(0.1) ? 0.01 : 0.0;
    if (chance(0.15)) {
      joint.limited = true;
      joint.range = {-uniform(0.0, 0.05), uniform(0.0, 0.05)};
    }
    joints_.push_back(b.add_joint(joint));
    if (chance(0.1)) b.add_shape({.body = body, .shape = {.type = ShapeType::kSphere, .size = {0.03, 0, 0}}});
    return body;
  }
  int add_link(ModelBuilder& b, int parent) {
    return b.add_body({.parent = parent, .pose = Transform{{0.05, 0, 0}}, .inertia = rod_mass()});
  }
  // Rods from twigs to the trunk beside them: loops of a few bodies.
  void add_pins(ModelBuilder& b) {
    for (std::size_t k = 0; k + 1 < pins_.size(); k += 2) {
      LoopJoint rod{.type = LoopJointType::kDistance, .body_a = pins_[k].a, .body_b = pins_[k + 1].a};
      rod.length = 0.6;
      if (k % 4 == 0) {
        rod.type = LoopJointType::kCartesian;
        rod.coordinates.resize(3);
      }
      b.add_loop_joint(rod);
    }
  }
  void add_servos(ModelBuilder& b) {
    for (std::size_t k = 0; k < joints_.size(); k += 9) {
      Actuator servo{.target = joints_[k]};
      servo.bias_type = ActuatorBias::kAffine;
      servo.gain = {5.0, 0.0, 0.0};
      servo.bias = {0.0, -5.0, -0.1};
      servo.force_limited = chance(0.5);
      servo.force_range = {-0.05, 0.05};
      b.add_actuator(servo);
    }
  }

  std::mt19937 random_;
  std::vector<int> joints_;
  std::vector<Pin> pins_;
};

SimulatorOptions options_with(bool long_trees) {
  SimulatorOptions options{.time_step = 1e-3};
  options.tolerance = 1e-11;
  options.long_trees = long_trees;
  return options;
}

State random_state(const Model& model, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  State state(model);
  for (int i = 0; i < model.nv; ++i) state.v[i] = 0.3 * normal(random);
  return state;
}

// What one step differs by, relative to what the step has changed.
struct Difference {
  double velocity = 0.0, position = 0.0;
  int contacts = 0, rows = 0;
};

Difference compare_steps(const ModelPtr& model, const State& start, int count) {
  Simulator with(model, options_with(false)), without(model, options_with(true));
  EXPECT_FALSE(with.context().data.long_trees.used);
  EXPECT_TRUE(without.context().data.long_trees.used);
  Difference worst;
  with.reset(start);
  for (int k = 0; k < count; ++k) {
    const State before = with.state();
    without.reset(before);  // both from the same state, each with what it remembers of none
    with.reset(before);
    Data& data = without.context().data;
    data.M.setConstant(std::numeric_limits<double>::quiet_NaN());  // nobody may read them
    data.L.setConstant(std::numeric_limits<double>::quiet_NaN());
    const StepReport a = with.step(), b = without.step();
    EXPECT_EQ(a.status, b.status) << k;
    EXPECT_EQ(a.rows, b.rows) << k;
    EXPECT_EQ(a.contacts, b.contacts) << k;
    EXPECT_EQ(a.islands, b.islands) << k;
    EXPECT_LT(b.residuals.natv_relative, 1e-8) << k;
    const double scale = std::max(1.0, (with.state().v - before.v).lpNorm<Eigen::Infinity>());
    worst.velocity = std::max(worst.velocity, (with.state().v - without.state().v).lpNorm<Eigen::Infinity>() / scale);
    worst.position = std::max(worst.position, (with.state().q - without.state().q).lpNorm<Eigen::Infinity>());
    worst.contacts = std::max(worst.contacts, b.contacts);
    worst.rows = std::max(worst.rows, b.rows);
  }
  return worst;
}

TEST(LongTrees, AreThoseOfManyLinksInARow) {
  EXPECT_FALSE(has_long_paths(*chain(60)));
  EXPECT_TRUE(has_long_paths(*chain(120)));
  EXPECT_FALSE(Simulator(chain(60)).context().data.long_trees.used);
  EXPECT_TRUE(Simulator(chain(120)).context().data.long_trees.used);
  SimulatorOptions closed;
  closed.integrator = Integrator::kMoreauMidpoint;
  EXPECT_FALSE(Simulator(chain(120), closed).context().data.long_trees.used);
}

TEST(LongTrees, ChainsAndLaddersMoveAsWithAMassMatrix) {
  for (const ModelPtr& model : {chain(150), ladder(110, false), ladder(110)}) {
    ASSERT_TRUE(has_long_paths(*model)) << model->name;
    const bool is_ladder = !model->equalities.empty();
    State start = is_ladder ? State(*model) : random_state(*model, 1);
    const Difference d = compare_steps(model, start, 5);
    EXPECT_LT(d.velocity, 1e-8) << model->name;
    EXPECT_LT(d.position, 1e-8) << model->name;
  }
}

// Limits, dry friction, contacts, armature, damping, springs, servos (with force limits), loops and couplings.
TEST(LongTrees, RandomTreesMoveAsWithAMassMatrix) {
  int contacts = 0, rows = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const ModelPtr model = DeepTree(seed).make(110, seed % 2 == 1);
    ASSERT_TRUE(has_long_paths(*model));
    const Difference d = compare_steps(model, random_state(*model, seed), 3);
    EXPECT_LT(d.velocity, 1e-8) << seed;
    EXPECT_LT(d.position, 1e-5) << seed;
    contacts += d.contacts;
    rows += d.rows;
    ::testing::Test::RecordProperty(fmt::format("difference{}", seed), fmt::format("{:.2g}", d.velocity));
  }
  EXPECT_GT(contacts, 0);
  EXPECT_GT(rows, 100);
}

// Products of a factorisation with the loops held, and numbers in J.
double counted_work(const ModelPtr& model) {
  Simulator sim(model, options_with(true));
  sim.step();
  StepContext& s = sim.context();
  double work = s.data.long_trees.motion.work() + static_cast<double>(s.constraints.J.size());
  TreeIslands islands;
  islands.find(*model, s.constraints);
  for (int i = 0; i < islands.count(); ++i) {
    islands.build_rows(i, s.constraints, s.h);
    LongTreeSolver solver;
    EXPECT_TRUE(solver.begin({*model, s.data, s.data.long_trees.diagonal, s.constraints, islands[i].blocks,
                              islands[i].trees, islands[i].problem, 1e-7}));
    EXPECT_EQ(solver.rest().nrow(), 0);
    work += solver.work();
  }
  return work;
}

TEST(LongTrees, WorkIsLinearInLinksAndLoops) {
  for (const auto make : {+[](int n) { return chain(n); }, +[](int n) { return ladder(n); }}) {
    const double few = counted_work(make(110)), many = counted_work(make(1100));
    EXPECT_NEAR(many / few, 10.0, 0.2);
  }
}

// Loops of a ladder stay closed, redundant rows and all, and steps are solved.
TEST(LongTrees, LongLaddersStayClosed) {
  const ModelPtr model = ladder(200);
  Simulator sim(model, options_with(true));
  sim.input().applied_force[3] = 0.5;
  for (int k = 0; k < 50; ++k) {
    const StepReport& report = sim.step();
    ASSERT_EQ(report.status, StepStatus::kOk) << k;
    EXPECT_LT(report.violation, 1e-5) << k;
    EXPECT_LT(report.residuals.natv_relative, 1e-8) << k;
  }
  EXPECT_GT(sim.state().v.lpNorm<Eigen::Infinity>(), 1e-3);
}

// The same with loops=closed, by the factors of the step; and where the start is far from closed.
TEST(LongTrees, LoopsAreClosedInEveryStep) {
  const ModelPtr model = ladder(200);
  SimulatorOptions options = options_with(true);
  options.stabilisation.loops = LoopClosing::kClosed;
  Simulator sim(model, options);
  ASSERT_TRUE(sim.context().data.long_trees.used);
  SimulatorOptions with_matrix = options_with(false);
  with_matrix.stabilisation.loops = LoopClosing::kClosed;
  Simulator other(model, with_matrix);
  for (Simulator* s : {&sim, &other}) s->input().applied_force[3] = 0.5;
  for (int k = 0; k < 30; ++k) {
    const StepReport& report = sim.step();
    ASSERT_EQ(report.status, StepStatus::kOk) << k;
    EXPECT_LE(report.loop_error, 1e-9) << k;
    EXPECT_LT(report.residuals.natv_relative, 1e-8) << k;
    if (k < 5) {
      other.step();
      EXPECT_LT((sim.state().v - other.state().v).lpNorm<Eigen::Infinity>(), 1e-7) << k;
      EXPECT_LT((sim.state().q - other.state().q).lpNorm<Eigen::Infinity>(), 1e-8) << k;
    }
  }
  EXPECT_GT(sim.state().v.lpNorm<Eigen::Infinity>(), 1e-3);
  Simulator open(model, options);
  open.state().q[0] = 0.02;  // the first rail: its loop opens by 2 mm
  EXPECT_LE(open.step().loop_error, 1e-9);
}

// TOUCHSTONE_LONG=1: processor time of a step against the number of links and loops, as a table.
TEST(LongTrees, TimeIsLinearInLinksAndLoops) {
  if (std::getenv("TOUCHSTONE_LONG") == nullptr) GTEST_SKIP() << "set TOUCHSTONE_LONG=1";
  const std::vector<int> sizes{10, 32, 100, 316, 1000};
  for (const bool is_ladder : {false, true}) {
    std::vector<double> links, times;
    for (const int n : sizes) {
      Simulator sim(is_ladder ? ladder(n) : chain(n), SimulatorOptions{.time_step = 1e-3});
      sim.step(3);
      double best = std::numeric_limits<double>::infinity();
      const int steps = std::max(3, 1000 / n);
      for (int trial = 0; trial < 20; ++trial) {
        const std::clock_t begin = std::clock();
        for (int k = 0; k < steps; ++k) ASSERT_EQ(sim.step().status, StepStatus::kOk);
        best = std::min(best, 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / steps);
      }
      fmt::print("{} {}: {:.4f} ms\n", is_ladder ? "ladder" : "chain", n, best);
      links.push_back(n);
      times.push_back(best);
    }
    const double slope = test::log_slope(links, times);
    fmt::print("slope of log-log {:.3f}\n", slope);
    EXPECT_LT(slope, 1.15);
  }
}

TEST(LongTrees, WhatNeedsAMassMatrixSaysSo) {
  Simulator sim(chain(120));
  sim.step();
  try {
    record_step(sim.context());
    FAIL() << "recorded";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("long_trees=false"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace touchstone
