// Model arrays and their file, what is refused, and a batch on the processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/gpu/batch.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/model_arrays.hpp"

namespace touchstone::test {
namespace {

using testing::HasSubstr;

// A box of 2 kg above a plane.
ModelPtr box_on_plane(double height, int dimension = 3) {
  ModelBuilder builder("box");
  const Shape box{.type = ShapeType::kBox, .size = Vector3(0.1, 0.1, 0.1)};
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  const int body = builder.add_body({.name = "box",
                                     .pose = {Vector3(0, 0, height), Quaternion::Identity()},
                                     .inertia = with_mass(mass_properties(box, 1000.0), 2.0)});
  builder.add_joint({.body = body, .type = JointType::kFree});
  builder.add_shape({.name = "cube", .body = body, .shape = box, .contact_dimension = dimension});
  return builder.build();
}

TEST(ModelArrays, ComeBackFromAFileAsTheyWere) {
  const gpu::ModelArrays arrays = make_model_arrays(*box_on_plane(1.0));
  const std::string path = (std::filesystem::temp_directory_path() / "touchstone_box.arrays").string();
  gpu::write_model_arrays(arrays, path);
  const gpu::ModelArrays again = gpu::read_model_arrays(path);
  EXPECT_EQ(again.sizes.nv, 6);
  EXPECT_EQ(again.settings.time_step, arrays.settings.time_step);
#define TOUCHSTONE_FIELD(name) EXPECT_EQ(again.name, arrays.name);
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  std::string bytes = gpu::pack_model_arrays(arrays);
  bytes[8] = static_cast<char>(bytes[8] + 1);  // the signature of other sources
  EXPECT_THROW(gpu::unpack_model_arrays(bytes), std::runtime_error);
  std::filesystem::resize_file(path, 500);
  EXPECT_THROW(gpu::read_model_arrays(path), std::runtime_error);
  std::ofstream(path) << "no arrays at all";
  EXPECT_THROW(gpu::read_model_arrays(path), std::runtime_error);
  std::filesystem::remove(path);
}

TEST(ModelArrays, RefuseWhatTheyCannotHoldByName) {
  try {
    const auto model = std::make_shared<Model>(*box_on_plane(1.0));
    model->shapes[1].surface_velocity[0] = 1.0;
    make_model_arrays(*model);
    FAIL() << "a moving surface was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("moving surface"));
    EXPECT_THAT(error.what(), HasSubstr("cube"));
  }
  SimulatorOptions options;
  options.integrator = Integrator::kVariational;
  EXPECT_THAT(unsupported_features(*box_on_plane(1.0), options), testing::ElementsAre(HasSubstr("integrators")));
}

// Falls 0.2 m, lies still at the slop, in every world; the weight is carried by four corners.
TEST(CpuBatch, ABoxFallsAndLies) {
  const int worlds = 5;
  const gpu::ModelArrays arrays = make_model_arrays(*box_on_plane(0.3));
  const auto batch = gpu::make_cpu_batch(arrays, worlds);
  const double h = arrays.settings.time_step;
  batch->step(static_cast<int>(0.1 / h));
  std::vector<double> q(at(7 * worlds)), v(at(6 * worlds)), natv(at(worlds));
  batch->read(gpu::BatchField::kVelocity, v.data());
  EXPECT_NEAR(v[2], -9.81 * 0.1, 1e-9);
  batch->step(static_cast<int>(2.0 / h));
  batch->read(gpu::BatchField::kPosition, q.data());
  batch->read(gpu::BatchField::kVelocity, v.data());
  batch->read(gpu::BatchField::kNatv, natv.data());
  for (int w = 0; w < worlds; ++w) {
    EXPECT_NEAR(q[at(7 * w + 2)], 0.1, 5e-4);
    EXPECT_LT(std::abs(v[at(6 * w + 2)]), 1e-4);
    EXPECT_LT(natv[at(w)], 1e-3);
    EXPECT_EQ(q[at(7 * w + 2)], q[2]) << "worlds are the same to the last bit";
  }
  const gpu::WorldImpulses impulses = batch->impulses(0);
  double up = 0.0;
  for (std::size_t k = 2; k < impulses.impulse.size(); k += 3) up += impulses.impulse[k];
  EXPECT_EQ(impulses.key.size(), 4u);
  EXPECT_NEAR(up, 2.0 * 9.81 * h, 1e-3 * 2.0 * 9.81 * h);
}

// Four contacts do not fit into a first tier with room for two, nor into a second with room for three.
TEST(CpuBatch, WhatDoesNotFitAPoolGoesToTheNextTier) {
  gpu::BatchOptions options;
  options.small_pool = 2;
  options.middle_pool = 4;
  const auto two = gpu::make_cpu_batch(make_model_arrays(*box_on_plane(0.1)), 1, options);
  two->step(1);
  EXPECT_EQ(two->tiers().second, 1);
  EXPECT_EQ(two->tiers().third, 0);
  options.middle_pool = 3;
  options.large_pool = 4;
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*box_on_plane(0.1)), 1, options);
  int status = -1, contacts = 0;
  double natv = 0.0;
  batch->step(1);
  batch->read(gpu::BatchField::kStatus, &status);
  batch->read(gpu::BatchField::kContacts, &contacts);
  EXPECT_EQ(batch->tiers().third, 1);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(contacts, 4);
  options.large_pool = 3;
  const auto small = gpu::make_cpu_batch(make_model_arrays(*box_on_plane(0.1)), 1, options);
  small->step(1);
  small->read(gpu::BatchField::kStatus, &status);
  EXPECT_EQ(status, 2) << "too many contacts";
  small->read(gpu::BatchField::kNatv, &natv);
  EXPECT_EQ(natv, std::numeric_limits<double>::infinity()) << "no step, no certificate";
}

// Worlds that cannot make their step stay where they were, without a certificate; others go on.
TEST(CpuBatch, AWorldThatDivergesHasNoCertificate) {
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*box_on_plane(1.0)), 2);
  std::vector<double> v(12, 0.0), q(14), before(14), natv(2);
  v[6 + 3] = 1e200;
  batch->write(gpu::BatchField::kVelocity, v.data());
  batch->read(gpu::BatchField::kPosition, before.data());
  batch->step(1);
  std::vector<int> status(2);
  batch->read(gpu::BatchField::kStatus, status.data());
  batch->read(gpu::BatchField::kNatv, natv.data());
  batch->read(gpu::BatchField::kPosition, q.data());
  EXPECT_THAT(status, testing::ElementsAre(0, 3));
  EXPECT_THAT(natv, testing::ElementsAre(0.0, std::numeric_limits<double>::infinity()));
  EXPECT_NE(q[2], before[2]);
  EXPECT_TRUE(std::equal(q.begin() + 7, q.end(), before.begin() + 7));
}

// A minute on a slope that holds it: nothing sinks, nothing creeps.
TEST(CpuBatch, ABoxRestsForAMinute) {
  const auto model = std::make_shared<Model>(*box_on_plane(0.1));
  model->defaults.gravity = {2.0, 0.0, -9.6};  // a slope of 12 degrees, friction 1
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*model), 1);
  const double h = model->options.time_step;
  double q[7], start[7], natv = 0.0;
  batch->step(static_cast<int>(2.0 / h));
  batch->read(gpu::BatchField::kPosition, start);
  for (int second = 0; second < 60; ++second) {
    batch->step(static_cast<int>(1.0 / h));
    batch->read(gpu::BatchField::kNatv, &natv);
    EXPECT_LT(natv, 1e-3);
  }
  batch->read(gpu::BatchField::kPosition, q);
  EXPECT_NEAR(q[0], start[0], 1e-4);
  EXPECT_NEAR(q[2], start[2], 1e-6);
  EXPECT_NEAR(q[2], 0.1, 4e-4);  // penetration at the slop
}

}  // namespace
}  // namespace touchstone::test
