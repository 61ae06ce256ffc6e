#include "touchstone/scenes/scenes.hpp"

#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/scenes/embedded.hpp"

namespace touchstone {
namespace {

TEST(Scenes, AllLoadWithoutWarnings) {
  std::set<std::string_view> names;
  for (const Scene& scene : scenes()) {
    EXPECT_TRUE(names.insert(scene.name).second) << scene.name << " twice";
    EXPECT_FALSE(scene.description.empty()) << scene.name;
    const ModelPtr model = load_scene(scene.name);
    EXPECT_GT(model->nv, 0) << scene.name;
    for (const Warning& warning : model->warnings) ADD_FAILURE() << scene.name << ": " << warning.message;
    State state(*model);
    for (const Keyframe& keyframe : model->keyframes) {
      state.q = keyframe.q;
      EXPECT_NO_THROW(state.validate(*model)) << scene.name << ", keyframe " << keyframe.name;
    }
  }
}

TEST(Scenes, UnknownNameListsTheKnownOnes) {
  EXPECT_EQ(find_scene("quadrupede"), nullptr);
  try {
    load_scene("quadrupede");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("quadrupede"));
    EXPECT_THAT(error.what(), testing::HasSubstr("double-pendulum"));
  }
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
  const ModelPtr model = load_scene("quadruped-ground");
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
