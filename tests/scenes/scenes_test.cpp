#include "touchstone/scenes/scenes.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/scenes/scene_run.hpp"

namespace touchstone {
namespace {

TEST(Scenes, AllLoadWithoutWarnings) {
  std::set<std::string_view> names;
  for (const SceneInfo& info : scenes()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " twice";
    EXPECT_FALSE(info.description.empty()) << info.name;
    const Scene scene = make_scene(info.name);
    EXPECT_EQ(scene.name, info.name);
    EXPECT_EQ(scene.description, info.description);
    EXPECT_GT(scene.model->nv, 0) << info.name;
    EXPECT_EQ(scene.control.size(), scene.model->nu);
    EXPECT_NO_THROW(scene.start.validate(*scene.model)) << info.name;
    for (const Warning& warning : scene.model->warnings) ADD_FAILURE() << info.name << ": " << warning.message;
    for (const SceneParameter& parameter : info.parameters) {
      EXPECT_FALSE(parameter.help.empty()) << info.name << " " << parameter.name;
      const std::string spec = fmt::format("{}:{}={}", info.name, parameter.name, parameter.default_text());
      EXPECT_EQ(make_scene(spec).start.q, scene.start.q) << spec;
    }
  }
}

// Each of them with the default solver: every step solved to the tolerance, nothing sinks in.
class SceneRuns : public testing::TestWithParam<std::string> {};

TEST_P(SceneRuns, StablyWithTheDefaultSolver) {
  SceneRun run(make_scene(GetParam()));
  Simulator& sim = run.simulator();
  const double duration = std::min(1.0, run.scene().duration);
  while (sim.state().time < duration) {
    const StepReport& report = run.step();
    ASSERT_EQ(report.status, StepStatus::kOk) << report.time << " s: " << report.residuals.natv_relative;
    ASSERT_LE(report.residuals.natv_relative, 1.001e-6);
  }
  EXPECT_LT(sim.report().penetration, 5e-4);
}

INSTANTIATE_TEST_SUITE_P(Library, SceneRuns,
                         testing::Values("cube-slide", "cube-drag", "cube-tilt", "mass-ratio", "stack:5", "sphere-roll",
                                         "domino:4", "card-house:2", "arch:9", "newtons-cradle", "pile:20",
                                         "conveyor:2", "quadruped", "quadruped:flat,push=40", "humanoid", "hand",
                                         "wheel", "pendulum", "double-pendulum", "woodpecker"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

void advance(SceneRun& run, double time) {
  while (run.simulator().state().time < time - 1e-9) run.step();
}

TEST(Scenes, DoWhatTheySay) {
  const double g = 9.81;
  {
    SceneRun run(make_scene("cube-slide:3,friction=0.5,angle=30"));
    advance(run, 1.0);
    const VectorX& q = run.simulator().state().q;
    const double way = 9.0 / (2 * 0.5 * g);  // the discrete sum is longer by half a step's way
    EXPECT_NEAR(std::hypot(q[0], q[1]), way, 0.5 * 0.002 * 3.0 + 1e-3);
    EXPECT_NEAR(std::atan2(q[1], q[0]), 30.0 * 3.14159265358979323846 / 180.0, 1e-4);
  }
  {
    SceneRun run(make_scene("cube-drag:8,friction=0.5"));
    advance(run, 1.0);
    EXPECT_NEAR(run.simulator().state().v.head<2>().norm(), 8.0 - 0.5 * g, 1e-4);
  }
  SceneRun holds(make_scene("cube-tilt:26")), slides(make_scene("cube-tilt:28"));  // atan 0.5 = 26.6 degrees
  advance(holds, 1.0);
  advance(slides, 1.0);
  EXPECT_LT(holds.simulator().state().v.norm(), 1e-4);
  EXPECT_GT(slides.simulator().state().v.norm(), 0.1);
  SceneRun ball(make_scene("sphere-roll:2"));
  advance(ball, 2.0);
  EXPECT_NEAR(ball.simulator().state().v[0], 2.0 * 5.0 / 7.0, 1e-4);
}

TEST(Scenes, StructuresStandOrFall) {
  const auto sunk = [](const std::string& name, double time) {  // how far the highest body comes down
    SceneRun run(make_scene(name));
    int highest = 2;
    for (int i = 2; i < run.scene().model->nq; i += 7)
      if (run.scene().start.q[i] > run.scene().start.q[highest]) highest = i;
    advance(run, time);
    return run.scene().start.q[highest] - run.simulator().state().q[highest];
  };
  EXPECT_LT(sunk("card-house:2", 1.0), 1e-4);
  EXPECT_LT(sunk("arch:9,thickness=0.2", 1.0), 1e-4);
  EXPECT_GT(sunk("arch:31,thickness=0.08", 1.0), 0.05);
  SceneRun domino(make_scene("domino:4"));
  advance(domino, 1.3);
  for (int i = 0; i < 4; ++i) EXPECT_LT(domino.simulator().state().q[7 * i + 2], 0.06) << "domino " << i;
}

// As many balls leave as come, and the others rest.
TEST(Scenes, TheCradleSwings) {
  const double lifted = 35.0 * 3.14159265358979323846 / 180.0;
  SceneRun one(make_scene("newtons-cradle")), two(make_scene("newtons-cradle:lifted=2"));
  advance(one, 0.72);
  advance(two, 0.72);
  const double angles_one[] = {0, 0, 0, 0, -lifted}, angles_two[] = {0, 0, 0, -lifted, -lifted};
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(one.simulator().state().q[i], angles_one[i], 0.01) << i;
    EXPECT_NEAR(two.simulator().state().q[i], angles_two[i], 0.01) << i;
  }
}

TEST(Scenes, RobotsStand) {
  SceneRun humanoid(make_scene("humanoid"));
  advance(humanoid, 2.0);
  EXPECT_NEAR(humanoid.simulator().state().q[2], humanoid.scene().start.q[2], 0.01);
  SceneRun quadruped(make_scene("quadruped:drop=0.1"));
  advance(quadruped, 2.0);
  EXPECT_GT(quadruped.simulator().state().q[2], 0.2);
  const Quaternion turn = quaternion_at(quadruped.simulator().state().q, 3);
  EXPECT_GT((turn * Vector3::UnitZ()).z(), 0.8);
  SceneRun hand(make_scene("hand"));
  advance(hand, 2.0);
  const int ball = hand.scene().model->nq - 7;
  EXPECT_GT(hand.simulator().state().q[ball + 2], 0.04) << "the ball is in the hand";
  EXPECT_LT(hand.simulator().state().v.tail<6>().norm(), 0.05);
}

std::string message_of(const std::string& name) {
  try {
    make_scene(name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Scenes, WrongNamesAndValuesAreExplained) {
  EXPECT_EQ(find_scene("quadrupede"), nullptr);
  EXPECT_NE(find_scene("pile:200"), nullptr);
  EXPECT_THAT(message_of("quadrupede"), testing::HasSubstr("did you mean 'quadruped'"));
  EXPECT_THAT(message_of("pile:many"), testing::HasSubstr("n is 'many'"));
  EXPECT_THAT(message_of("pile:0"), testing::HasSubstr("1 to 20000"));
  EXPECT_THAT(message_of("pile:2.5"), testing::HasSubstr("integer"));
  EXPECT_THAT(message_of("pile:colour=red"), testing::HasSubstr("it has n, shape, seed"));
  EXPECT_THAT(message_of("pile:5,shape=cones"), testing::HasSubstr("mixed|boxes|spheres"));
  EXPECT_THAT(message_of("pile:5,6"), testing::HasSubstr("no parameter '6'"));
  EXPECT_THAT(message_of("pendulum:3"), testing::HasSubstr("it has none"));
  EXPECT_THAT(message_of("stack:nan"), testing::HasSubstr("n is 'nan'"));
}

TEST(Scenes, AHoldKeepsARobotUp) {
  Scene scene = make_scene("humanoid");
  ModelBuilder builder(*scene.model);  // without its servos
  auto limp = std::make_shared<Model>(*builder.build());
  for (auto& gain : limp->defaults.actuator_gain) gain = {0, 0, 0};
  for (auto& bias : limp->defaults.actuator_bias) bias = {0, 0, 0};
  limp->defaults.dof_damping.setZero();
  scene.model = limp;
  SceneRun falls(scene);
  scene.hold = Hold();
  SceneRun stands(scene);
  advance(falls, 2.0);
  advance(stands, 2.0);
  EXPECT_LT(falls.simulator().state().q[2], 0.8);
  EXPECT_NEAR(stands.simulator().state().q[2], scene.start.q[2], 0.01);
}

TEST(Scenes, BadScenesAreRefused) {
  Scene scene = make_scene("quadruped:flat");
  scene.control = VectorX::Zero(3);
  EXPECT_THROW(SceneRun{scene}, Error);
  scene.control = VectorX::Constant(12, NAN);
  EXPECT_THROW(SceneRun{scene}, Error);
  scene = make_scene("quadruped:flat");
  scene.pushes.push_back({.body = 99});
  EXPECT_THROW(SceneRun{scene}, Error);
  scene = make_scene("quadruped:flat");
  scene.start.q[0] = NAN;
  EXPECT_THROW(SceneRun{scene}, Error);
  scene = make_scene("quadruped:flat");
  scene.options.time_step = -1.0;
  EXPECT_THROW(SceneRun{scene}, Error);
}

TEST(Scenes, GroundGoesBelowTheLowestPoint) {
  const ModelPtr robot = load_scene("quadruped:none");
  const Scene scene = scene_of(robot);
  const ModelPtr grounded = with_ground(*robot, scene.start.q);
  EXPECT_EQ(grounded->nshape, robot->nshape + 1);
  const double height = grounded->shapes[static_cast<std::size_t>(grounded->shape("ground"))].pose.position.z();
  EXPECT_NEAR(height, 0.0, 1e-3);
  ModelBuilder nothing("nothing");
  EXPECT_THROW(with_ground(*nothing.build(), VectorX(0)), InputError);
}

// Options that change while it runs keep the state.
TEST(Scenes, OptionsMayChangeOnTheWay) {
  SceneRun run(make_scene("stack:3"));
  advance(run, 0.1);
  const State before = run.simulator().state();
  SimulatorOptions options = run.simulator().options();
  options.solver = "ncp-admm";
  options.time_step = 0.004;
  run.set_options(options);
  EXPECT_TRUE(run.simulator().state() == before);
  EXPECT_EQ(run.step().status, StepStatus::kOk);
  EXPECT_NEAR(run.simulator().state().time, before.time + 0.004, 1e-12);
}

// What the header of the file promises.
TEST(Scenes, PendulumIsTheTextbooks) {
  const ModelPtr model = load_scene("pendulum");
  Data data(*model);
  const double angle = 0.7;
  State state(*model);
  state.q[0] = angle;
  VectorX a(1);
  ASSERT_TRUE(forward_dynamics(*model, model->defaults, state, Input(*model), data, a));
  EXPECT_NEAR(dense_mass_matrix(*model, data)(0, 0), 1.0 / 3.0, 1e-15);
  EXPECT_NEAR(a[0], -1.5 * 9.81 * std::sin(angle), 1e-12);
}

TEST(Scenes, DoublePendulumIsTheTextbooks) {
  const ModelPtr model = load_scene("double-pendulum");
  Data data(*model);
  State state(*model);
  state.q << 0.4, -1.1;
  VectorX a(2);
  ASSERT_TRUE(forward_dynamics(*model, model->defaults, state, Input(*model), data, a));
  const double c = std::cos(-1.1);
  const MatrixX M = dense_mass_matrix(*model, data);  // relative angles, unit masses and lengths
  EXPECT_NEAR(M(0, 0), 3.0 + 2.0 * c, 1e-8);
  EXPECT_NEAR(M(1, 0), 1.0 + c, 1e-8);
  EXPECT_NEAR(M(1, 1), 1.0, 1e-8);
}

TEST(Scenes, QuadrupedStandsOnItsFeetAtHome) {
  const ModelPtr model = load_scene("quadruped:flat");
  EXPECT_NEAR(model->total_mass(), 12.16, 1e-12);
  EXPECT_EQ(model->nv, 18);
  EXPECT_EQ(model->nu, 12);
  State state(*model);
  state.q = model->keyframes[static_cast<std::size_t>(model->keyframe("home"))].q;
  Data data(*model);
  forward_kinematics(*model, model->defaults, state, data);
  Vector3 sum = Vector3::Zero();
  for (const char* name : {"FL_foot", "FR_foot", "RL_foot", "RR_foot"}) {
    const int foot = model->shape(name);
    const Vector3 center = shape_pose(*model, data, foot).position;
    EXPECT_NEAR(center.z(), model->shapes[static_cast<std::size_t>(foot)].shape.size.x(), 1e-3) << name;
    sum += center;
  }
  // The centre of mass lies above the middle of the feet, so the robot does not tip.
  const Vector3 com = center_of_mass(*model, model->defaults, data);
  EXPECT_NEAR(com.x(), sum.x() / 4.0, 0.03);
  EXPECT_NEAR(com.y(), sum.y() / 4.0, 1e-9);
}

}  // namespace
}  // namespace touchstone
