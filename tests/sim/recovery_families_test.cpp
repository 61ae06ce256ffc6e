// Generated scenes that start where they cannot be: wedges, rails, boxes in boxes, grasped bodies, heaps, coupled
// grippers. What is asked of every one of them, and the worst per cent of what was measured.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "support/robot_runs.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone {
namespace {

constexpr double kFar = 1e9;

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  double operator()(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  int operator()(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

 private:
  std::mt19937 random_;
};

std::string scene(const std::string& world, const std::string& rest = "") {
  return fmt::format("<mujoco><compiler angle='radian'/><worldbody>{}</worldbody>{}</mujoco>", world, rest);
}

std::string shape(Dice& dice, double size) {
  const char* types[] = {"box", "sphere", "capsule", "cylinder", "ellipsoid"};
  return fmt::format("<geom type='{}' size='{} {} {}' mass='{}' friction='{}'/>", types[dice(5)], size,
                     size * dice(0.6, 1.4), size * dice(0.6, 1.4), dice(0.05, 5.0), dice(0.0, 1.2));
}

// A body in the corner of two slopes, up to 50 mm deep in both.
std::string wedge(Dice& dice) {
  const double angle = dice(0.3, 1.2), size = dice(0.05, 0.15), depth = dice(0.001, 0.05);
  const double height = size * (1.0 / std::cos(angle)) - depth;
  return scene(
      fmt::format("<geom type='plane' size='9 9 1' euler='0 {} 0'/><geom type='plane' size='9 9 1' "
                  "euler='0 {} 0'/><body pos='0 0 {}' euler='{} {} {}'><freejoint/>{}</body>",
                  angle, -angle, height, dice(-0.3, 0.3), dice(-0.3, 0.3), dice(-0.3, 0.3), shape(dice, size)));
}

// A lift that has less room between its rails than it needs, or more.
std::string rails(Dice& dice) {
  const double half = dice(0.05, 0.2), room = dice(-0.04, 0.004);
  const char* joints[] = {"<freejoint/>", "<joint type='slide' axis='0 0 1'/><joint type='slide' axis='1 0 0'/>"};
  return scene(fmt::format(
      "<geom type='box' pos='{0} 0 0' size='.1 .3 9' friction='{2}'/><geom type='box' pos='{1} 0 0' size='.1 .3 9' "
      "friction='{2}'/><body pos='{3} 0 0'>{4}<geom type='box' size='{5} .1 .1' mass='{6}' friction='{2}'/></body>",
      -half - 0.1 - 0.5 * room, half + 0.1 + 0.5 * room, dice(0.0, 1.5), dice(-0.01, 0.01), joints[dice(2)], half,
      dice(0.1, 50.0)));
}

// A box in a larger one without lid, through its walls or its floor.
std::string nested(Dice& dice) {
  const double inner = dice(0.03, 0.08), outer = inner + dice(0.01, 0.05), wall = 0.02;
  std::string walls = fmt::format("<geom type='box' size='{0} {0} {1}' mass='.3'/>", outer + wall, wall);
  for (int side = 0; side < 4; ++side) {
    const double x = side < 2 ? (side == 0 ? 1.0 : -1.0) : 0.0, y = side < 2 ? 0.0 : (side == 2 ? 1.0 : -1.0);
    walls += fmt::format("<geom type='box' pos='{} {} {}' size='{} {} {}' mass='.2'/>", x * (outer + 0.5 * wall),
                         y * (outer + 0.5 * wall), outer, side < 2 ? 0.5 * wall : outer + wall,
                         side < 2 ? outer + wall : 0.5 * wall, outer);
  }
  const double reach = outer - inner + 0.4 * wall;
  return scene(
      fmt::format("<geom type='plane' size='9 9 1'/><body pos='0 0 {}'><freejoint/>{}</body><body pos='{} {} "
                  "{}'><freejoint/><geom type='box' size='{} {} {}' mass='{}'/></body>",
                  wall - dice(0.0, 0.015), walls, dice(-reach, reach), dice(-reach, reach),
                  2.0 * wall + inner - dice(-0.01, 0.015), inner, inner, inner, dice(0.05, 2.0)));
}

// Two fingers that are servoed shut, and start in the body that they hold.
std::string grasp(Dice& dice) {
  const double half = dice(0.02, 0.06), deep = dice(0.0, 0.01), force = dice(20.0, 100.0);
  std::string fingers;
  for (const int side : {-1, 1}) {
    fingers += fmt::format(
        "<body pos='{} 0 .3'><joint name='f{}' type='slide' axis='{} 0 0' damping='1'/><geom type='box' size='.01 .03 "
        ".05' mass='.2' friction='{}'/></body>",
        side * (half + 0.01 - deep), side, -side, dice(0.6, 1.2));
  }
  return scene(
      fmt::format("{}<body pos='0 0 .3' euler='0 0 {}'><freejoint/><geom type='box' size='{} {} {}' mass='{}'/>"
                  "</body>",
                  fingers, dice(-0.05, 0.05), half, dice(0.02, 0.05), dice(0.02, 0.05), dice(0.05, 0.5)),
      fmt::format("<actuator><position joint='f-1' kp='3000' kv='30' forcerange='-{0} {0}'/>"
                  "<position joint='f1' kp='3000' kv='30' forcerange='-{0} {0}'/></actuator>",
                  force));
}

// Bodies that were spawned in each other and in the ground.
std::string heap(Dice& dice) {
  std::string bodies = "<geom type='plane' size='9 9 1'/>";
  const int count = 3 + dice(8);
  for (int k = 0; k < count; ++k) {
    bodies +=
        fmt::format("<body pos='{} {} {}' euler='{} {} {}'><freejoint/>{}</body>", dice(-0.12, 0.12), dice(-0.12, 0.12),
                    dice(0.0, 0.25), dice(-2.0, 2.0), dice(-2.0, 2.0), dice(-2.0, 2.0), shape(dice, dice(0.03, 0.07)));
  }
  return scene(bodies);
}

// Fingers whose angles are coupled, at angles that do not fit, beside a body; one finger is a loop closed by a
// connection that starts open.
std::string gripper(Dice& dice) {
  const double length = dice(0.05, 0.12), gap = dice(0.02, 0.05);
  std::string fingers;
  for (const int side : {-1, 1}) {
    fingers += fmt::format(
        "<body pos='{} 0 0'><joint name='j{}' axis='0 {} 0' range='-1 1' limited='true' ref='{}' damping='.02'/><geom "
        "type='capsule' fromto='0 0 0 0 0 {}' size='.008' mass='.05'/></body>",
        side * gap, side, side, dice(-0.3, 0.3), -length);
  }
  fingers += fmt::format(
      "<body name='link' pos='{} .1 0'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0 0 -.1' size='.008' "
      "mass='.05'/><body name='end' pos='0 0 -.1'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .1 0 0' "
      "size='.008' mass='.05'/></body></body>",
      gap);
  return scene(
      fmt::format("<body pos='0 0 .3'><geom size='.02' mass='.3' contype='0' conaffinity='0'/>{}</body><body "
                  "pos='0 0 {}'><freejoint/><geom type='box' size='{} .02 .02' mass='.05'/></body><geom type='plane' "
                  "size='9 9 1'/>",
                  fingers, 0.3 - length, gap * dice(0.6, 1.1)),
      fmt::format("<equality><joint joint1='j-1' joint2='j1' polycoef='{} 1 0 0 0'/><connect body1='end' "
                  "anchor='{} 0 {}'/></equality>",
                  dice(-0.5, 0.5), 0.1 + dice(-0.03, 0.03), dice(-0.03, 0.03)));
}

struct Outcome {
  int unsolved = 0;          // steps
  double residual = 0.0;     // m: certificate of the pass, the worst
  double growth = 0.0;       // of the sum of squared violations in a pass, relative, the worst
  double deepest = kFar;     // m: contacts, errors of equalities and limits; the least of the last steps
  bool is_hindered = false;  // in the last steps
};

double squares(const Constraints& c, const VectorX& rate, const std::vector<double>& from, double slop) {
  double sum = 0.0;
  for (int block = 0; block < c.count(); ++block) {
    const bool both = entry_of(c.list[static_cast<std::size_t>(block)].kind).violation == Violation::kTwoSided;
    const int first = c.blocks.row[block], end = c.blocks.row[block + 1];
    for (int row = both ? first : end - 1; row < end; ++row) {
      if (c.recovers[static_cast<std::size_t>(row)] == 0) continue;
      const double at = (from[static_cast<std::size_t>(row)] + rate[row]) * c.row_length[static_cast<std::size_t>(row)];
      const double violation = both ? at : std::min(0.0, at + slop);
      sum += violation * violation;
    }
  }
  return sum;
}

// How much the pass of the last step changed the squared violations of its rows, linearised.
double growth_in_pass(Simulator& sim) {
  const StepContext& s = sim.context();
  const Constraints& c = s.constraints;
  if (!sim.report().recovered) return 0.0;
  VectorX way(c.rows()), back(c.rows());
  constraint_velocity(sim.model(), c, s.v_next, way);
  std::vector<double> before(static_cast<std::size_t>(c.rows()));
  for (int row = 0; row < c.rows(); ++row) {
    before[static_cast<std::size_t>(row)] = c.position[static_cast<std::size_t>(row)] + s.remaining * way[row];
  }
  constraint_velocity(sim.model(), c, s.pass.displacement(), back);
  const double slop = sim.options().stabilisation.slop;
  const double old = squares(c, VectorX::Zero(c.rows()), before, slop), now = squares(c, back, before, slop);
  return (now - old) / old;
}

// One second.
Outcome play(Simulator& sim) {
  const double h = sim.options().time_step;
  const int steps = static_cast<int>(std::lround(1.0 / h));
  Outcome outcome;
  for (int k = 0; k < steps; ++k) {
    const StepReport& report = sim.step();
    outcome.unsolved += report.status == StepStatus::kOk ? 0 : 1;
    outcome.residual = std::max(outcome.residual, report.recovery_residual);
    outcome.growth = std::max(outcome.growth, growth_in_pass(sim));
    // A body that arrives in the last step may be deeper: gaps are linearised.
    if (k <= steps - 20) continue;
    outcome.deepest = std::min(outcome.deepest, std::max(report.penetration, report.violation));
    outcome.is_hindered = outcome.is_hindered || report.warnings.recovery_conflict;
    EXPECT_EQ(report.warnings.recovery_conflict, !sim.describe_hindered().empty());
  }
  return outcome;
}

// Without forces nothing gets a velocity.
double float_freely(Simulator& sim) {
  sim.parameters().gravity.setZero();
  double speed = 0.0;
  for (int k = 0; k < 50; ++k) {
    sim.step();
    speed = std::max(speed, sim.state().v.lpNorm<Eigen::Infinity>());
  }
  return speed;
}

void try_family(const char* name, std::string (*make)(Dice&), int count) {
  std::vector<double> deepest, residual, growth;
  int steps = 0;
  for (int k = 0; k < (test::whole_family() ? count : 4); ++k) {
    SCOPED_TRACE(fmt::format("{} {}", name, k));
    Dice dice(static_cast<unsigned>(1000 + k));
    const ModelPtr model = load_mjcf_string(make(dice));
    SimulatorOptions options;
    options.time_step = k % 3 == 0 ? 0.001 : k % 3 == 1 ? 0.002 : 0.005;
    Simulator sim(model, options);
    const Outcome outcome = play(sim);
    steps += static_cast<int>(std::lround(1.0 / options.time_step));
    EXPECT_EQ(outcome.unsolved, 0);
    EXPECT_LT(outcome.growth, 1e-9);
    EXPECT_LT(outcome.residual, 1e-9);
    if (!outcome.is_hindered) {
      EXPECT_LT(outcome.deepest, options.stabilisation.slop + 1e-4);
      deepest.push_back(outcome.deepest);
    }
    residual.push_back(outcome.residual);
    growth.push_back(outcome.growth);
    if (model->nu > 0) continue;
    Simulator floating(model, options);
    EXPECT_LT(float_freely(floating), 1e-9);
  }
  const auto worst = [](std::vector<double>& v) {
    std::sort(v.begin(), v.end());
    const std::size_t last = v.size() - 1;
    return v.empty() ? std::string("-") : fmt::format("{:.2g} ({:.2g})", v[last - last / 100], v.back());
  };
  fmt::print(
      "  {}: {} scenes, {} steps, {} cannot come apart; worst per cent (worst) of the others: {} m deep after 1 s; "
      "of all: residual {} m, growth of squared violations {}\n",
      name, residual.size(), steps, residual.size() - deepest.size(), worst(deepest), worst(residual), worst(growth));
}

// The splitting methods, which have no answer for contradicting rows, meet none: nothing asks for a velocity.
TEST(RecoveryFamilies, SplittingMethodsDoNotDiverge) {
  const int count = test::whole_family() ? 30 : 2;
  for (const char* solver : {"ncp-admm", "ccp-admm"}) {
    int unsolved = 0, steps = 0;
    for (int k = 0; k < count; ++k) {
      for (std::string (*make)(Dice&) : {rails, heap, grasp, nested}) {
        Dice dice(static_cast<unsigned>(2000 + k));
        SimulatorOptions options;
        options.time_step = 0.002;
        options.solver = solver;
        Simulator sim(load_mjcf_string(make(dice)), options);
        for (int step = 0; step < 50; ++step, ++steps) {
          const StepReport& report = sim.step();
          ASSERT_NE(report.status, StepStatus::kDiverged) << solver << ' ' << k;
          unsolved += report.status == StepStatus::kOk ? 0 : 1;
        }
        // What falls for 0.1 s is slower than 2 m/s; a body that turns over an edge, a little faster at its corners.
        EXPECT_LT(sim.state().v.lpNorm<Eigen::Infinity>(), 40.0) << solver << ' ' << k;
        EXPECT_LT(sim.report().energy.kinetic, 0.5 * 4.0 * sim.model().total_mass()) << solver << ' ' << k;
      }
    }
    fmt::print("  {}: {} of {} steps not solved\n", solver, unsolved, steps);
    EXPECT_LT(unsolved, steps / 50) << solver;
  }
}

// A trunk on two to six legs of two or three links, with servos, springs or neither at the joints.
std::string legged(Dice& dice) {
  const int legs = 2 + dice(5), links = 2 + dice(2), kind = dice(3);
  std::string bodies, actuators;
  for (int leg = 0; leg < legs; ++leg) {
    const double angle = 6.283 * leg / legs;
    bodies += fmt::format("<body pos='{} {} 0' euler='0 0 {}'>", 0.15 * std::cos(angle), 0.15 * std::sin(angle), angle);
    for (int link = 0; link < links; ++link) {
      const double length = dice(0.08, 0.2), bend = link % 2 == 0 ? dice(0.1, 0.8) : -dice(0.2, 1.2);
      const double stiffness = kind == 1 ? dice(20.0, 2000.0) : 0.0;
      bodies += fmt::format(
          "<body euler='0 {} 0' pos='0 0 {}'><joint name='j{}_{}' axis='0 1 0' stiffness='{}' damping='{}'/><geom "
          "type='capsule' fromto='0 0 0 0 0 {}' size='.015' mass='{}' contype='1' conaffinity='2'/>",
          -bend, link == 0 ? 0.0 : -0.15, leg, link, stiffness, dice(0.1, 2.0), -std::min(length, 0.15),
          dice(0.05, 0.5));
      if (kind == 2) {
        actuators +=
            fmt::format("<position joint='j{}_{}' kp='{}' kv='{}'/>", leg, link, dice(50.0, 5000.0), dice(1.0, 30.0));
      }
    }
    for (int link = 0; link < links; ++link) bodies += "</body>";
    bodies += "</body>";
  }
  return scene(fmt::format("<geom type='plane' size='9 9 1' contype='2' conaffinity='1'/><body pos='0 0 1'><freejoint/>"
                           "<geom type='box' size='.15 .15 .04' mass='{}' contype='1' conaffinity='2'/>{}</body>",
                           dice(1.0, 20.0), bodies),
               fmt::format("<actuator>{}</actuator>", actuators));
}

TEST(RecoveryFamilies, LeggedRobots) {
  std::vector<double> rises;
  int jumpers = 0;
  for (int k = 0; k < (test::whole_family() ? 200 : 4); ++k) {
    SCOPED_TRACE(fmt::format("robot {}", k));
    Dice dice(static_cast<unsigned>(3000 + k));
    const ModelPtr model = load_mjcf_string(legged(dice));
    SimulatorOptions options;
    options.time_step = k % 3 == 0 ? 0.001 : k % 3 == 1 ? 0.002 : 0.005;
    const auto lowest_point = test::lowest_point_of(*model);
    const auto rise_from = [&](double depth) {
      Simulator sim(model, options);
      sim.state().q[2] -= lowest_point(sim.state()) + depth;
      double highest = -1.0, work = 0.0;
      int unsolved = 0;
      for (double t = 0.0; t < 1.0; t += options.time_step) {
        unsolved += sim.step().status == StepStatus::kOk ? 0 : 1;
        highest = std::max(highest, lowest_point(sim.state()));
        work += sim.report().energy.stabilisation;
      }
      EXPECT_EQ(unsolved, 0);
      EXPECT_LT(sim.report().penetration, options.stabilisation.slop + 1e-4);
      EXPECT_LT(work, 1.05 * 9.81 * model->total_mass() * depth);  // that of lifting it
      return highest;
    };
    // Some robots on springs sag, swing back and leave the ground by themselves. Those may; the others must not.
    const double by_itself = rise_from(options.stabilisation.slop), rise = rise_from(std::pow(10.0, dice(-3.0, -1.3)));
    jumpers += by_itself > options.stabilisation.slop ? 1 : 0;
    if (by_itself > options.stabilisation.slop) continue;
    EXPECT_LT(rise, std::max(0.0, by_itself) + options.stabilisation.slop);
    rises.push_back(rise);
  }
  std::sort(rises.begin(), rises.end());
  fmt::print(
      "  {} robots, and {} that jump by themselves: above the ground by at most {:.2g} m, worst per cent {:.2g} m\n",
      rises.size(), jumpers, rises.back(), rises[rises.size() - 1 - rises.size() / 100]);
}

TEST(RecoveryFamilies, Wedges) { try_family("wedges", wedge, 200); }
TEST(RecoveryFamilies, Rails) { try_family("rails", rails, 200); }
TEST(RecoveryFamilies, NestedBoxes) { try_family("nested boxes", nested, 200); }
TEST(RecoveryFamilies, GraspedBodies) { try_family("grasped bodies", grasp, 200); }
TEST(RecoveryFamilies, Heaps) { try_family("heaps", heap, 100); }
TEST(RecoveryFamilies, Grippers) { try_family("grippers", gripper, 200); }

}  // namespace
}  // namespace touchstone
