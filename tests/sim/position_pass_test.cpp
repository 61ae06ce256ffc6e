// Violated constraints are brought back by moving the configuration: how far, how fast, and without any velocity.
#include "touchstone/sim/position_pass.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/simulator.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone {
namespace {

constexpr double kRest = 3e-4;  // m: the slop and a little

SimulatorOptions options_of(double h) {
  SimulatorOptions options;
  options.time_step = h;
  return options;
}

std::string box_at(double x, double y, double z, double size = 0.1, double mass = 1.0) {
  return fmt::format("<body pos='{} {} {}'><freejoint/><geom type='box' size='{} {} {}' mass='{}'/></body>", x, y, z,
                     size, size, size, mass);
}

ModelPtr on_ground(const std::string& bodies, const std::string& gravity = "0 0 -9.81", const std::string& rest = "") {
  return load_mjcf_string(
      fmt::format("<mujoco><option gravity='{}'/><worldbody><geom type='plane' size='9 9 1'/>{}</worldbody>{}</mujoco>",
                  gravity, bodies, rest));
}

// How deep beyond the slop a box is a time t later: x' = -min(x / T, recovery_speed).
double depth_after(double x, double t, const StabilisationOptions& options) {
  const double T = options.time_constant, limit = T * options.recovery_speed;
  const double straight = std::clamp((x - limit) / options.recovery_speed, 0.0, t);
  return (x - straight * options.recovery_speed) * std::exp(-(t - straight) / T);
}

// A box that starts deep leaves the ground without a hop, and at a rate that does not depend on the time step. A pass
// every t = max(h, T/2), the first in the first step, undoes min(1 - exp(-t/T), speed t / x) of what is beyond the slop
// but for the slack of its rows, 1e-5. Where t = T, passes leave the constant speed early, by up to 12 % of the depth.
TEST(PositionPass, ADeepBoxRisesWithoutVelocity) {
  for (const double depth : {0.001, 0.01, 0.05}) {
    for (const double h : {0.0005, 0.001, 0.002, 0.004}) {
      Simulator sim(on_ground(box_at(0, 0, 0.1 - depth)), options_of(h));
      const StabilisationOptions& options = sim.options().stabilisation;
      const double start = depth - options.slop, T = options.time_constant, t_pass = std::max(h, 0.5 * T);
      const int steps_of_pass = static_cast<int>(std::lround(t_pass / h));
      double fastest = 0.0, highest = -1.0, expected = start;
      for (int step = 0; step < std::lround(1.0 / h); ++step) {
        ASSERT_EQ(sim.step().status, StepStatus::kOk);
        fastest = std::max(fastest, sim.state().v.norm());
        highest = std::max(highest, sim.state().q[2]);
        if ((step + 1) * h > 0.0161) continue;
        const double left = 0.1 - sim.state().q[2] - options.slop;
        if (step % steps_of_pass == 0) {
          expected -= std::min(-std::expm1(-t_pass / T) * expected, options.recovery_speed * t_pass);
          const double law = depth_after(start, (step / steps_of_pass + 1) * t_pass, options);
          EXPECT_NEAR(left, law, 0.12 * law + 1e-5 * depth) << depth << ' ' << h << ' ' << step;
        }
        EXPECT_NEAR(left, expected, 1e-5 * depth) << depth << ' ' << h << ' ' << step;
      }
      EXPECT_LT(fastest, 1e-6) << depth << ' ' << h;
      EXPECT_LT(highest, 0.1) << depth << ' ' << h;
      EXPECT_NEAR(sim.state().q[2], 0.1, kRest) << depth << ' ' << h;
      EXPECT_FALSE(sim.report().warnings.any());
    }
  }
}

// What lies on a deep box is lifted with it, and never pressed into it.
TEST(PositionPass, NothingIsPushedIntoItsNeighbours) {
  std::string tower;
  for (int k = 0; k < 4; ++k) tower += box_at(0.01 * k, 0, 0.07 + 0.2 * k);
  Simulator sim(on_ground(tower), options_of(0.002));
  for (int step = 0; step < 500; ++step) {
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    for (int k = 1; k < 4; ++k) {
      const double gap = sim.state().q[7 * k + 2] - sim.state().q[7 * (k - 1) + 2] - 0.2;
      ASSERT_GT(gap, -kRest) << step << ' ' << k;
    }
  }
  EXPECT_NEAR(sim.state().q[2], 0.1, kRest);
}

// A lift that is too wide for its rails is not locked by them: nothing presses, so nothing holds it by friction.
TEST(PositionPass, ASqueezedLiftFalls) {
  for (const char* joint : {"<joint type='slide' axis='0 0 1'/><joint type='slide' axis='1 0 0'/>", "<freejoint/>"}) {
    Simulator sim(load_mjcf_string(fmt::format(
                      "<mujoco><worldbody><geom type='box' pos='-0.2 0 0' size='.15 .2 9'/><geom type='box' pos='0.2 0 "
                      "0' size='.15 .2 9'/><body pos='0 0 1'>{}<geom type='box' size='.097 .1 .1' mass='10'/></body>"
                      "</worldbody></mujoco>",
                      joint)),
                  options_of(0.002));
    for (int step = 0; step < 100; ++step) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk) << step;
      ASSERT_TRUE(sim.report().warnings.recovery_conflict) << step;
    }
    EXPECT_NE(sim.describe_hindered().find("contact of"), std::string::npos);
    const double speed = std::abs(sim.state().v[sim.model().nv == 2 ? 0 : 2]);
    EXPECT_NEAR(speed, 9.81 * 0.2, 0.2);
    EXPECT_NEAR(sim.report().penetration, 0.047, 0.02);  // as it must be
  }
}

// Bodies that were spawned in each other: boxes and spheres, four to twelve.
std::string heap_of(int heap, std::mt19937& random) {
  std::uniform_real_distribution<double> place(-0.1, 0.1), size(0.03, 0.08);
  std::string bodies;
  for (int k = 0; k < 4 + heap % 9; ++k) {
    bodies += fmt::format(
        "<body name='{}' pos='{} {} {}' euler='{} {} 0'><freejoint/><geom type='{}' size='{} {} {}' mass='{}'/></body>",
        k, place(random), place(random), 0.3 + place(random), 900 * place(random), 900 * place(random),
        (k + heap) % 2 == 0 ? "box" : "sphere", size(random), size(random), size(random), 10.0 * size(random));
  }
  return bodies;
}

// Without gravity all heaps come apart, and nothing moves by itself.
TEST(PositionPass, HeapsComeApartWithoutVelocity) {
  std::mt19937 random(3);
  const int heaps = test::whole_family() ? 100 : 8;
  for (int heap = 0; heap < heaps; ++heap) {
    Simulator sim(on_ground(heap_of(heap, random), "0 0 0"), options_of(0.002));
    for (int step = 0; step < 500; ++step) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk) << heap << ' ' << step;
      ASSERT_LT(sim.state().v.lpNorm<Eigen::Infinity>(), 1e-9) << heap << ' ' << step;
    }
    EXPECT_LT(sim.report().penetration, kRest) << heap;
    EXPECT_FALSE(sim.report().recovered) << heap;
  }
}

// A problem in the form of small islands.
void fill(const ContactProblem& problem, PrincipalPivoting& pivoting) {
  const MatrixX G = problem.dual.G_sparse.dense();
  pivoting.resize(problem.nrow());
  for (int i = 0; i < problem.nrow(); ++i) Eigen::Map<VectorX>(pivoting.column(i), problem.nrow()) = G.col(i);
  for (int block = 0; block < problem.nblock(); ++block) {
    if (problem.blocks.type[block] != BlockType::kEquality) continue;
    for (int row = problem.blocks.row[block]; row < problem.blocks.row[block + 1]; ++row) pivoting.set_free(row);
  }
}

// What a small island says of its answer is what certify says of the same problem, at the answer and elsewhere. Of a
// block with m rows certify takes the norm, the island the largest row.
TEST(PositionPass, ResidualsAreThoseOfTheCertificate) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  PrincipalPivoting pivoting;
  int islands_seen = 0;
  for (int heap = 0; heap < 48; ++heap) {
    const bool is_welded = heap % 2 == 1;  // the first two bodies, as they are not
    const std::string weld = "<equality><weld body1='0' body2='1' relpose='.05 0 0 1 0 0 0'/></equality>";
    Simulator sim(on_ground(heap_of(heap, random), "0 0 0", is_welded ? weld : ""), options_of(0.01));
    ASSERT_TRUE(sim.step().recovered) << heap;
    const PositionPass& pass = sim.context().pass;
    TreeIslands islands;
    TreeIslands::Scratch scratch;
    islands.find(sim.model(), pass.rows());
    double worst = 0.0, rounding = 0.0;
    for (int i = 0; i < islands.count(); ++i) {
      islands.build_problem(i, sim.model(), pass.rows(), 0.0, scratch);
      const ContactProblem& problem = islands[i].problem;
      VectorX lambda(problem.nrow());
      for (int block = 0; block < problem.nblock(); ++block) {
        const int from = pass.rows().blocks.row[islands[i].blocks[block]], m = problem.blocks.size(block);
        lambda.segment(problem.blocks.row[block], m) = pass.impulses().segment(from, m);
      }
      const VectorX moved = problem.dual.G_sparse.dense().cwiseAbs() * lambda.cwiseAbs();
      worst = std::max(worst, certify(problem, lambda).natv);
      rounding = std::max(rounding, 1e-15 * problem.nrow() * moved.maxCoeff());
      fill(problem, pivoting);
      const VectorX other = lambda + VectorX::NullaryExpr(lambda.size(), [&] {
                              return 0.1 * lambda.lpNorm<Eigen::Infinity>() * normal(random);
                            });
      const double own = pivoting.residual(problem.dual.g.data(), other.data(), problem.row_length.data());
      const double certified = certify(problem, other).natv;
      ASSERT_GE(certified, own * (1.0 - 1e-9)) << heap << ' ' << i;
      ASSERT_LE(certified, own * (is_welded ? std::sqrt(6.0) : 1.0) * (1.0 + 1e-9)) << heap << ' ' << i;
      ++islands_seen;
    }
    EXPECT_NEAR(sim.report().recovery_residual, worst, rounding) << heap;
  }
  EXPECT_GE(islands_seen, 48);
}

// Equalities that start open close at most at the recovery speed.
TEST(PositionPass, EqualitiesCloseAtALimitedSpeed) {
  for (const char* kind :
       {"connect body1='a' body2='b' anchor='0 0 0'", "weld body1='a' body2='b' relpose='0 0 0 1 0 0 0'"}) {
    Simulator sim(load_mjcf_string(fmt::format(
                      "<mujoco><option gravity='0 0 0'/><worldbody><body name='a'><freejoint/><geom size='.02' "
                      "mass='1'/></body><body name='b' pos='0.4 0.1 0' euler='0 0 40'><freejoint/><geom size='.02' "
                      "mass='3' contype='0' conaffinity='0'/></body></worldbody><equality><{}/></equality>"
                      "<keyframe><key qpos='0.4 0 0 1 0 0 0 -0.4 0.1 0 1 0 0 0'/></keyframe></mujoco>",
                      kind)),
                  options_of(0.002));
    sim.reset(0);
    double before = sim.step().violation;
    EXPECT_GT(before, 0.1);
    for (int step = 0; step < 999; ++step) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      ASSERT_LT((before - sim.report().violation) / 0.002, 1.01) << step;  // m/s: recovery_speed
      ASSERT_LE(sim.report().violation, before * 1.001) << step;
      ASSERT_LT(sim.state().v.lpNorm<Eigen::Infinity>(), 1e-9) << step;
      before = sim.report().violation;
    }
    EXPECT_LT(before, 3e-6) << kind;
  }
}

// What a mocap body holds has its velocity, and carries others along; a jump has none.
TEST(PositionPass, AMocapBodyLendsItsVelocity) {
  for (const char* hold : {"<weld body1='hand' body2='tray'/>", "<weld body1='tray' body2='hand'/>",
                           "<connect body1='hand' body2='tray' anchor='.2 0 0'/><connect body1='hand' body2='tray' "
                           "anchor='-.2 0 0'/><connect body1='hand' body2='tray' anchor='0 .2 0'/>"}) {
    const ModelPtr model = load_mjcf_string(fmt::format(
        "<mujoco><worldbody><body name='hand' mocap='true' pos='0 0 .5'/><body name='tray' pos='0 0 .5'><freejoint/>"
        "<geom type='box' size='.2 .2 .01' mass='.5' friction='1'/></body><body pos='0 0 .56'><freejoint/><geom "
        "type='box' size='.05 .05 .05' mass='.2' friction='1'/></body></worldbody><equality>{}</equality></mujoco>",
        hold));
    Simulator sim(model, options_of(0.002));
    for (int step = 0; step < 500; ++step) {
      const double v = 0.5 * std::min(1.0, 0.004 * step);
      sim.state().mocap[0].position.x() += 0.002 * v;
      ASSERT_EQ(sim.step().status, StepStatus::kOk) << step;
      ASSERT_NEAR(sim.state().v[0], v, 1e-6) << step;
      ASSERT_NEAR(sim.state().q[0], sim.state().mocap[0].position.x(), 1e-5) << step;
    }
    EXPECT_NEAR(sim.state().q[7], sim.state().q[0], 1e-3);  // what lies on the tray
    const double before = sim.state().q[0];
    sim.state().mocap[0].position.x() += 0.1;  // 50 m/s
    sim.step();
    EXPECT_NEAR(sim.state().v[0], 0.0, 1e-6);
    EXPECT_NEAR(sim.state().q[0], before + 0.002, 2e-3);
  }
}

// Substeps share the motion of a mocap body: they are steps of the same length between which the user moves it.
TEST(PositionPass, SubstepsShareTheMotionOfAMocapBody) {
  const ModelPtr model = load_mjcf_string(
      "<mujoco><worldbody><body name='hand' mocap='true' pos='0 0 .5'/><body name='tray' pos='0 0 "
      ".5'><freejoint/><geom "
      "type='box' size='.2 .2 .01' mass='.5'/></body></worldbody><equality><weld body1='hand' body2='tray'/></equality>"
      "</mujoco>");
  constexpr int kSubsteps = 4;
  constexpr double kStep = 0.02;
  SimulatorOptions options = options_of(kStep);
  options.substeps = kSubsteps;
  Simulator whole(model, options), parts(model, options_of(kStep / kSubsteps));
  const Vector3 speed(0.4, -0.2, 0.1), turn(0.3, 0.5, -1.5);  // m/s, rad/s
  const auto pose_at = [&](double t) { return Transform{Vector3(0, 0, 0.5) + t * speed, so3_exp(t * turn)}; };
  for (int step = 0; step < 50; ++step) {
    whole.state().mocap[0] = pose_at(kStep * step);
    ASSERT_EQ(whole.step().status, StepStatus::kOk) << step;
    ASSERT_EQ(whole.state().mocap[0].position, pose_at(kStep * step).position) << step;
    ASSERT_EQ(whole.state().mocap[0].rotation.coeffs(), pose_at(kStep * step).rotation.coeffs()) << step;
    for (int part = 1; part <= kSubsteps; ++part) {
      parts.state().mocap[0] = pose_at(step == 0 ? 0.0 : kStep * (step - 1.0 + static_cast<double>(part) / kSubsteps));
      ASSERT_EQ(parts.step().status, StepStatus::kOk) << step;
    }
    ASSERT_LT((whole.state().q - parts.state().q).norm(), 1e-11) << step;
    ASSERT_LT((whole.state().v - parts.state().v).norm(), 1e-9) << step;
    if (step == 0) continue;
    // Rows are those of the tray where the substep starts: of first order.
    const double h = kStep / kSubsteps;
    ASSERT_LT((whole.state().v.head<3>() - speed).norm(), h * speed.norm() * turn.norm() + 1e-6) << step;
    ASSERT_LT((pose_at(kStep * step).rotation * whole.state().v.tail<3>() - turn).norm(), h * turn.squaredNorm());
    ASSERT_LT((whole.state().q.head<3>() - pose_at(kStep * step).position).norm(), 1e-5) << step;
  }
  const double before = whole.state().q[0];
  whole.state().mocap[0].position.x() += 1.0;  // 50 m/s: no substep has a velocity, all bring the tray back
  whole.step();
  EXPECT_EQ(whole.context().before.mocap[0].position.x(), whole.state().mocap[0].position.x());
  EXPECT_LT(whole.state().v.norm(), 1e-6);
  // The first substep has not looked farther than its margin.
  const double way = kStep * options.stabilisation.recovery_speed, first = way / kSubsteps;
  EXPECT_GT(whole.state().q[0], before + way - first);
  EXPECT_LT(whole.state().q[0], before + way);
}

// A lever that is lifted near its pivot runs far at its tip: it is not turned into what is there.
TEST(PositionPass, NothingIsRunInto) {
  for (const double h : {0.002, 0.005}) {
    Simulator sim(
        load_mjcf_string("<mujoco><option gravity='0 0 0'/><worldbody><geom type='box' pos='.05 0 -.015' size='.01 .1 "
                         ".01'/><geom type='box' pos='1 0 .03' size='.05 .1 .01'/><body><joint axis='0 -1 0'/><geom "
                         "type='capsule' fromto='0 0 0 1 0 0' size='.01' mass='1'/></body></worldbody></mujoco>"),
        options_of(h));
    double deepest = 0.0;
    for (int step = 0; step < 300; ++step) {
      ASSERT_EQ(sim.step().status, StepStatus::kOk);
      // The upper box is 10 mm from the tip, and the block asks for 5 mm at 5 cm: they contradict each other.
      for (const ContactForce& f : sim.contacts()) {
        if (f.contact->position.x() > 0.5) deepest = std::max(deepest, -f.contact->distance);
      }
    }
    EXPECT_LT(deepest, 0.006) << h;
    EXPECT_TRUE(sim.report().warnings.recovery_conflict);
  }
}

// Violations of zero slop are those of rounding.
TEST(PositionPass, NeedsNoSlop) {
  SimulatorOptions options = options_of(0.002);
  options.stabilisation.slop = 0.0;
  Simulator sim(on_ground(box_at(0, 0, 0.1) + box_at(0.01, 0, 0.3)), options);
  for (int step = 0; step < 500; ++step) {
    ASSERT_FALSE(sim.step().warnings.any()) << step;
    ASSERT_EQ(sim.report().status, StepStatus::kOk);
  }
}

// The old way: a violated row asks for the velocity that undoes a share of it in the step (001, eq. 89 to 93).
TEST(PositionPass, BaumgarteAsksForAVelocity) {
  SimulatorOptions options = options_of(0.01);
  options.stabilisation.method = Stabilisation::kBaumgarte;
  options.stabilisation.erp = 0.2;
  for (const double depth : {1e-4, 0.005, 0.2}) {
    Simulator sim(on_ground(box_at(0, 0, 0.3 - depth, 0.3), "0 0 0"), options);
    ASSERT_EQ(sim.step().status, StepStatus::kOk);
    const double share = 0.2 * std::max(0.0, depth - options.stabilisation.slop) / 0.01;
    EXPECT_NEAR(sim.state().v[2], std::min(share, options.stabilisation.recovery_speed), 1e-6) << depth;
    EXPECT_FALSE(sim.report().recovered);
  }
  Simulator sim(
      load_mjcf_string("<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='a' type='slide'/><geom "
                       "size='.1'/></body><body pos='1 0 0'><joint name='b' type='slide' ref='-0.01'/><geom "
                       "size='.1'/></body></worldbody><equality><joint joint1='a' joint2='b'/></equality>"
                       "</mujoco>"),
      options);
  sim.state().q[1] = sim.state().q[0] + 0.01;
  const double error = sim.step().violation;
  EXPECT_NEAR(std::abs(sim.state().v[0] - sim.state().v[1]), 0.2 * error / 0.01, 1e-6);
}

// Where nothing is violated nothing is done.
TEST(PositionPass, RestsWhereNothingIsViolated) {
  SceneRun run(make_scene("stack"));
  for (int k = 0; k < 300; ++k) {
    run.step();
    ASSERT_FALSE(run.simulator().report().recovered) << k;
  }
}

// A robot whose feet start in the ground stands up without a hop.
TEST(PositionPass, ARobotWithDeepFeetDoesNotHop) {
  for (const double depth : {0.001, 0.01, 0.05}) {
    SceneRun run(make_scene("quadruped:flat,drop=0"));
    Simulator& sim = run.simulator();
    sim.state().q[2] -= depth;
    const double start = sim.state().q[2];
    double highest = start, work = 0.0;
    for (int k = 0; k < 500; ++k) {
      run.step();
      ASSERT_EQ(sim.report().status, StepStatus::kOk) << depth << ' ' << k;
      highest = std::max(highest, sim.state().q[2]);
      work += sim.report().energy.stabilisation;
    }
    EXPECT_LT(highest, start + depth + kRest) << depth;
    EXPECT_LT(sim.report().penetration, kRest) << depth;
    EXPECT_LT(work, 1.3 * 9.81 * 20.0 * depth + 1e-3) << depth;  // what lifting it takes
  }
}

}  // namespace
}  // namespace touchstone
