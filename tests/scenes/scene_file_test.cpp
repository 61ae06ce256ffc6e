#include "touchstone/scenes/scene_file.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message_of(const std::string& text) {
  try {
    SceneRun run(load_scene_text(text, "scene.yaml"));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SceneFile, SetsEverything) {
  const Scene scene = load_scene_text(R"(
model: quadruped:flat
description: a pushed quadruped
duration: 2.5
time_step: 0.001
solver: ncp-admm
integrator: midpoint
options: {tolerance: 1e-5, max_iterations: 50}
stabilisation: {erp: 0.1, slop: 0.001}
gravity: [0, 0, -1.62]
friction: 0.4
keyframe: crouch
start:
  joints: {FL_knee: -1.1}
  velocities: {root: [1, 0, 0, 0, 0, 0]}
controls: {FL_knee: -1.2}
hold: {rate: 20}
pushes:
  - {body: trunk, force: [0, 30, 0], from: 1, until: 1.2}
)",
                                      "folder/moon.yaml");
  const Model& model = *scene.model;
  EXPECT_EQ(scene.name, "moon");
  EXPECT_EQ(scene.description, "a pushed quadruped");
  EXPECT_EQ(scene.duration, 2.5);
  EXPECT_EQ(scene.options.time_step, 0.001);
  EXPECT_EQ(scene.options.solver, "ncp-admm");
  EXPECT_EQ(scene.options.integrator, Integrator::kMoreauMidpoint);
  EXPECT_EQ(scene.options.tolerance, 1e-5);
  EXPECT_EQ(scene.options.max_iterations, 50);
  EXPECT_EQ(scene.options.stabilisation.erp, 0.1);
  EXPECT_EQ(scene.options.stabilisation.slop, 0.001);
  EXPECT_EQ(model.defaults.gravity, Vector3(0, 0, -1.62));
  for (const Material& material : model.defaults.shape_material) EXPECT_EQ(material.friction.x(), 0.4);
  EXPECT_EQ(scene.start.q[2], 0.138);
  EXPECT_EQ(scene.start.q[model.joint_q[static_cast<std::size_t>(model.joint("FL_knee"))]], -1.1);
  EXPECT_EQ(scene.start.v[0], 1.0);
  EXPECT_EQ(scene.control[model.actuator("FL_knee")], -1.2);
  EXPECT_EQ(scene.control[model.actuator("FR_knee")], -2.55);
  ASSERT_TRUE(scene.hold);
  EXPECT_EQ(scene.hold->rate, 20.0);
  ASSERT_EQ(scene.pushes.size(), 1U);
  EXPECT_EQ(scene.pushes[0].force, Vector3(0, 30, 0));
  EXPECT_EQ(scene.pushes[0].end, 1.2);
  SceneRun run(scene);
  EXPECT_NE(run.step().status, StepStatus::kDiverged);
}

TEST(SceneFile, PutsModelsIntoOneWorld) {
  const Scene scene = load_scene_text(R"(
models:
  - {model: "stack:2", name: left}
  - {model: "cube-slide:speed=1,angle=0", name: right, position: [0, 2, 0], euler: [0, 0, 90]}
)");
  const Model& model = *scene.model;
  EXPECT_EQ(model.nbody, 1 + 2 + 1);
  const int cube = model.joint_q[static_cast<std::size_t>(model.joint("right/cube"))];
  EXPECT_NEAR(scene.start.q[cube + 1], 2.0, 1e-12);
  const int dof = model.joint_dof[static_cast<std::size_t>(model.joint("right/cube"))];
  EXPECT_NEAR(scene.start.v[dof], 0.0, 1e-12);
  EXPECT_NEAR(scene.start.v[dof + 1], 1.0, 1e-12) << "its velocity turned with it";
  SceneRun run(scene);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(run.step().status, StepStatus::kOk);
  EXPECT_THAT(message_of("models: [{model: stack}, {model: stack}]"), HasSubstr("scene.yaml:1: models"));
}

TEST(SceneFile, PutsModelsWithLoopJointsIntoOneWorld) {
  const Scene one = make_scene("loops/fourbar-fixed");
  Scene scene = load_scene_text(R"(
models:
  - {model: "loops/fourbar-fixed", name: left}
  - {model: "loops/fourbar-fixed", name: right, position: [0, 2, 0]}
)");
  ASSERT_GT(one.model->nloop, 0);
  ASSERT_EQ(scene.start.loop_q.size(), 2 * one.model->nloop);
  EXPECT_EQ(scene.start.loop_q.head(one.model->nloop), one.start.loop_q);
  scene.options.stabilisation.loops = LoopClosing::kClosed;
  SceneRun run(scene);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(run.step().status, StepStatus::kOk);
  EXPECT_LT(run.simulator().report().loop_error, 1e-8);
}

TEST(SceneFile, ErrorsNameLineKeyAndTheNearest) {
  EXPECT_THAT(message_of("model: stack\ntime_stepp: 0.1"),
              AllOf(HasSubstr("scene.yaml:2: time_stepp"), HasSubstr("did you mean 'time_step'")));
  EXPECT_THAT(message_of("model: stack\npushes:\n  - body: box1\n    forse: [0, 0, 1]"),
              AllOf(HasSubstr("scene.yaml:4: forse"), HasSubstr("'force'")));
  EXPECT_THAT(message_of("model: stack\nstabilisation:\n  erpp: 1"), HasSubstr("scene.yaml:3: erpp"));
  EXPECT_THAT(message_of("model: stack\noptions:\n  toleranse: 1"),
              AllOf(HasSubstr("scene.yaml:3: toleranse"), HasSubstr("'tolerance'")));
  EXPECT_THAT(message_of("model: stack\nsolver: autoo"), AllOf(HasSubstr("scene.yaml:2"), HasSubstr("auto")));
  EXPECT_THAT(message_of("model: stakk"), AllOf(HasSubstr("scene.yaml:1"), HasSubstr("stakk")));
  EXPECT_THAT(message_of("model: stack:many"), AllOf(HasSubstr("scene.yaml:1"), HasSubstr("many")));
  EXPECT_THAT(message_of("model: stack\nmodel: arch"), HasSubstr("twice"));
}

TEST(SceneFile, WrongValuesAreExplained) {
  EXPECT_THAT(message_of(""), HasSubstr("model"));
  EXPECT_THAT(message_of("- a\n- b"), HasSubstr("not a map"));
  EXPECT_THAT(message_of("model: [stack"), HasSubstr("scene.yaml:"));
  EXPECT_THAT(message_of("time_step: 0.1"), HasSubstr("no model"));
  EXPECT_THAT(message_of("model: stack\ntime_step: 0"), HasSubstr("positive"));
  EXPECT_THAT(message_of("model: stack\ntime_step: -0.1"), HasSubstr("positive"));
  EXPECT_THAT(message_of("model: stack\ntime_step: fast"), HasSubstr("'fast' is not a finite number"));
  EXPECT_THAT(message_of("model: stack\nduration: 0"), HasSubstr("positive"));
  EXPECT_THAT(message_of("model: stack\ngravity: [0, 1]"), HasSubstr("[x, y, z]"));
  EXPECT_THAT(message_of("model: stack\ngravity: [0, 0, .nan]"), HasSubstr("finite"));
  EXPECT_THAT(message_of("model: stack\nhold: maybe"), HasSubstr("true or false"));
  EXPECT_THAT(message_of("model: stack\nkeyframe: home"), HasSubstr("no keyframes"));
  EXPECT_THAT(message_of("model: quadruped\nkeyframe: hom"), AllOf(HasSubstr("scene.yaml:2"), HasSubstr("'home'")));
  EXPECT_THAT(message_of("model: quadruped\ncontrols: [1, 2]"), HasSubstr("the model needs 12"));
  EXPECT_THAT(message_of("model: quadruped\ncontrols: {FL_kne: 1}"), HasSubstr("'FL_knee'"));
  EXPECT_THAT(message_of("model: quadruped\ncontrols: {FL_knee: .nan}"), HasSubstr("finite"));
  EXPECT_THAT(message_of("model: quadruped\nstart: {q: [1]}"), HasSubstr("the model needs 19"));
  EXPECT_THAT(message_of("model: quadruped\npushes: [{body: trank, force: [0, 0, 1]}]"), HasSubstr("'trunk'"));
}

// A ball on a belt, both of rubber: it rests at the depth of its weight and goes along.
TEST(SceneFile, Materials) {
  Scene scene = load_scene_text(R"(
model: sphere-roll:speed=0
solver: lagged
materials:
  - {stiffness: 2e4, dissipation: 20, friction: 0.5}
  - {shapes: [ground], friction: 0.25, surface_velocity: [0.3, 0, 0]}
)",
                                "scene.yaml");
  const Material& ground = scene.model->defaults.shape_material[0];
  EXPECT_EQ(ground.stiffness, 2e4);
  EXPECT_EQ(ground.friction.x(), 0.25);
  EXPECT_EQ(scene.model->defaults.shape_material[1].friction.x(), 0.5);
  const double weight = 9.81 * scene.model->defaults.body_inertia[1].mass;
  SceneRun run(std::move(scene));
  double depth = 0.0;
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(run.step().status, StepStatus::kOk);
    depth = -run.simulator().contacts()[0].contact->distance;
  }
  EXPECT_NEAR(depth, weight / 1e4, 1e-3 * weight / 1e4);
  EXPECT_NEAR(run.simulator().state().v[0], 0.3 * 2.0 / 7.0, 1e-3);  // a ball that rolls on a belt
}

TEST(SceneFile, BadMaterialsAreNamed) {
  const std::string start = "model: sphere-roll\nmaterials:\n  - ";
  EXPECT_THAT(message_of(start + "{stiffness: -1}"), AllOf(HasSubstr("ground"), HasSubstr("-1")));
  EXPECT_THAT(message_of(start + "{dissipation: 5}"), AllOf(HasSubstr("ground"), HasSubstr("without stiffness")));
  EXPECT_THAT(message_of(start + "{shapes: sphre}"), HasSubstr("sphre"));
  EXPECT_THAT(message_of(start + "{stifness: 1}"), HasSubstr("stiffness"));
  EXPECT_THAT(message_of(start + "{surface_velocity: [1, 2]}"), HasSubstr("2 numbers"));
}

}  // namespace
}  // namespace touchstone
