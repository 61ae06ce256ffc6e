#include "touchstone/sim/detection/separations.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/detection/detector.hpp"

namespace touchstone {
namespace {

constexpr double kUnknown = -std::numeric_limits<double>::infinity();

TEST(Separations, AreUsedUpByTheMotionOfBothShapes) {
  Separations separations;
  separations.reset(2);
  const BroadPhase::Pair pair{0, 1, 0};
  const int fresh[] = {0};
  separations.prepare(1, fresh);
  EXPECT_FALSE(separations.apart(pair, 0.0));
  separations.set(pair, 1.0, 1.0);
  EXPECT_TRUE(separations.apart(pair, 0.99));
  EXPECT_FALSE(separations.apart(pair, 1.0));  // rounding is allowed for
  separations.move(0, 0.4, 0.0);
  separations.move(1, 0.3, 0.2);
  EXPECT_TRUE(separations.apart(pair, 0.09));
  EXPECT_FALSE(separations.apart(pair, 0.11));
  separations.move(1, 0.0, 0.0);  // it no longer looks ahead
  EXPECT_TRUE(separations.apart(pair, 0.29));
  separations.move(0, 0.4, 0.0);
  EXPECT_FALSE(separations.apart(pair, 0.0));
}

TEST(Separations, NumbersThatAreNotFiniteAreNeverApart) {
  for (const double way : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Separations separations;
    separations.reset(2);
    const BroadPhase::Pair pair{0, 1, 0};
    separations.prepare(1, {});
    separations.set(pair, 1.0, 1.0);
    separations.move(0, way, 0.0);
    EXPECT_FALSE(separations.apart(pair, 0.0));
    separations.set(pair, 1.0, 1.0);
    EXPECT_FALSE(separations.apart(pair, 0.0));
  }
  Separations separations;
  separations.reset(2);
  separations.prepare(1, {});
  separations.set({0, 1, 0}, kUnknown, 1.0);
  EXPECT_FALSE(separations.apart({0, 1, 0}, 0.0));
}

// --- detection with and without a history ---

// Things of every kind, strewn about a ground, a bumpy field, a wall of triangles and an arm.
std::string random_scene(std::mt19937_64& random) {
  const char* geoms[] = {R"(type="sphere" size=".06")",           R"(type="capsule" size=".03 .1")",
                         R"(type="box" size=".05 .08 .03")",      R"(type="cylinder" size=".06 .05")",
                         R"(type="ellipsoid" size=".04 .06 .1")", R"(type="mesh" mesh="wedge")"};
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  std::string text = R"(<mujoco><asset><mesh name="wedge" vertex="0 0 0  .15 0 0  0 .1 0  0 0 .12"/>
    <hfield name="field" nrow="3" ncol="3" size=".3 .3 .1 .05" elevation="0 1 0  1 0 1  0 1 0"/></asset><worldbody>
    <geom type="plane" size="3 3 1" margin=".004"/><geom type="hfield" hfield="field" pos=".4 0 .01"/>
    <body pos="-.4 0 .5"><joint type="hinge" axis="0 1 0"/><geom type="capsule" size=".03 .15"/>
      <body pos="0 0 .2"><joint type="hinge" axis="1 0 0"/><geom type="box" size=".03 .03 .1"/>
        <body pos="0 0 .2"><joint type="ball"/><geom type="mesh" mesh="wedge" gap=".003"/></body></body></body>
    <body mocap="true" pos="0 .4 .3"><geom type="box" size=".1 .02 .1"/></body>)";
  for (int i = 0; i < 14; ++i) {
    text += fmt::format(R"(<body pos="{} {} {}"><freejoint/><geom {}/></body>)", 0.5 * unit(random), 0.5 * unit(random),
                        0.3 + 0.3 * unit(random), geoms[random() % std::size(geoms)]);
  }
  return text + "</worldbody></mujoco>";
}

// The least distance of each pair that touches.
std::map<std::pair<int, int>, double> least_distances(std::span<const Contact> contacts) {
  std::map<std::pair<int, int>, double> least;
  for (const Contact& c : contacts) {
    const auto [entry, is_new] = least.emplace(std::pair(c.shape_a, c.shape_b), c.distance);
    if (!is_new) entry->second = std::min(entry->second, c.distance);
  }
  return least;
}

struct Scene {
  explicit Scene(std::mt19937_64& random)
      : model(load_mjcf_string(random_scene(random))),
        shapes(std::make_shared<const CollisionModel>(*model)),
        state(*model),
        data(*model),
        detector(shapes) {}

  // Both with the history of the run and without any.
  void compare(double h) {
    forward_kinematics(*model, model->defaults, state, data);
    forward_velocity(*model, state.v, data);
    CollisionDetector fresh(shapes);
    const auto expected = least_distances(fresh.detect(model->defaults, data, h));
    const auto found = least_distances(detector.detect(model->defaults, data, h));
    skipped += detector.counts().apart;
    touching += static_cast<int>(found.size());
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [pair, distance] : expected) {
      ASSERT_TRUE(found.contains(pair)) << pair.first << " " << pair.second;
      ASSERT_NEAR(found.at(pair), distance, 1e-6);  // of disks and of four points kept of more
    }
  }

  ModelPtr model;
  std::shared_ptr<const CollisionModel> shapes;
  State state;
  Data data;
  CollisionDetector detector;
  int skipped = 0, touching = 0;
};

TEST(Separations, DetectionFindsWhatOneWithoutAHistoryFinds) {
  constexpr int kScenes = 200, kSteps = 40;
  constexpr double kStep = 2e-3;
  std::mt19937_64 random(31);
  std::normal_distribution<double> normal;
  int skipped = 0, touching = 0;
  for (int number = 0; number < kScenes; ++number) {
    SCOPED_TRACE(number);
    Scene scene(random);
    const double speed = std::pow(10.0, number % 4 - 2);  // m/s and rad/s, from creeping to flying
    for (double& v : scene.state.v) v = speed * normal(random);
    const double h = number % 3 == 0 ? 0.0 : kStep;  // h: the same motion is looked ahead
    std::unique_ptr<CollisionDetector> saved;
    VectorX saved_q;
    for (int step = 0; step < kSteps; ++step) {
      integrate(*scene.model, scene.state.q, scene.state.v, kStep, scene.state.q);
      scene.state.mocap[0].position.y() -= speed * kStep;
      if (step % 13 == 7) {  // a teleport, and others turn round
        const int body = static_cast<int>(random() % 14);
        const int q = scene.model->nq - 7 * (body + 1);
        for (int k = 0; k < 3; ++k) scene.state.q[q + k] += 0.2 * normal(random);
        for (double& v : scene.state.v) v = -v;
      }
      if (step == 20) {
        saved = std::make_unique<CollisionDetector>(scene.detector);
        saved_q = scene.state.q;
      }
      if (step == 30) {
        scene.detector = *saved;
        scene.state.q = saved_q;
      }
      scene.compare(h);
      if (HasFatalFailure()) return;
    }
    skipped += scene.skipped;
    touching += scene.touching;
  }
  EXPECT_GT(skipped, 2 * kScenes * kSteps);
  EXPECT_GT(touching, 3 * kScenes * kSteps);
}

// Bodies at rest far from each other cost a comparison each, however long they rest.
TEST(Separations, WhatRestsApartIsNotAskedAgain) {
  std::mt19937_64 random(32);
  Scene scene(random);
  scene.compare(2e-3);
  const int tested = scene.detector.counts().tested;
  for (int step = 0; step < 100; ++step) {
    forward_kinematics(*scene.model, scene.model->defaults, scene.state, scene.data);
    scene.detector.detect(scene.model->defaults, scene.data, 2e-3);
    ASSERT_EQ(scene.detector.counts().tested + scene.detector.counts().apart, scene.detector.counts().candidates);
    ASSERT_LE(scene.detector.counts().tested, tested);
  }
}

}  // namespace
}  // namespace touchstone
