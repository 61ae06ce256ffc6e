// Contacts with torsional, rolling and anisotropic friction in the batched backend, against the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/contact/blocks.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/math/cones.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::test {
namespace {

// A few balls, capsules and boxes on a plane, each with friction of its own kind.
ModelPtr random_heap(std::mt19937_64& random, int bodies) {
  std::uniform_real_distribution<double> size(0.05, 0.12), unit(0.0, 1.0);
  const ShapeType types[3] = {ShapeType::kSphere, ShapeType::kCapsule, ShapeType::kBox};
  ModelBuilder builder("heap");
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}, .contact_dimension = 1});
  for (int k = 0; k < bodies; ++k) {
    const Shape shape{.type = types[k % 3], .size = Vector3(size(random), size(random), size(random))};
    const int body =
        builder.add_body({.name = "body" + std::to_string(k), .inertia = mass_properties(shape, 500.0 + 500.0 * k)});
    builder.add_joint({.body = body, .type = JointType::kFree});
    Material material;
    material.friction = Vector3(0.2 + unit(random), 0.02 * unit(random), k % 4 == 3 ? 0.0 : 0.01 * unit(random));
    builder.add_shape({.body = body,
                       .shape = shape,
                       .contact_dimension = k % 3 == 0 ? 6 : (k % 3 == 1 ? 4 : 3),
                       .material = material});
  }
  return builder.build();
}

State random_heap_state(const Model& model, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  State state(model);
  for (int j = 0; j < model.njoint; ++j) {
    const int q = model.joint_q[at(j)];
    state.q[q] = 0.12 * uniform(random);
    state.q[q + 1] = 0.12 * uniform(random);
    state.q[q + 2] = 0.1 + 0.04 * uniform(random);
    const Quaternion turn = so3_exp(2.0 * random_vector3(random));
    state.q.segment<4>(q + 3) << turn.w(), turn.vec();
  }
  state.v = random_vector(model.nv, random);
  return state;
}

double share_below(const std::vector<double>& values, double bound) {
  return static_cast<double>(std::count_if(values.begin(), values.end(), [&](double x) { return x < bound; })) /
         static_cast<double>(values.size());
}

TEST(BackendCones, HeapsAreCertifiedByTheSimulator) {
  std::mt19937_64 random(5);
  const int models = whole_family() ? 200 : 20;
  std::vector<double> truth, difference;
  int rows = 0;
  for (int k = 0; k < models; ++k) {
    WorldFixture world(random_heap(random, 1 + k % 6));
    for (int pose = 0; pose < 5; ++pose) {
      world.simulator().reset(random_heap_state(world.simulator().model(), random));
      ASSERT_TRUE(world.prepare());
      const double natv = world.solve(1e-8, 3000);
      if (world.scratch().row_count == 0) continue;
      for (int block = 0; block < world.scratch().block_count; ++block)
        rows += world.scratch().blocks[block].type == gpu::BlockType::kCone ? 1 : 0;
      truth.push_back(world.certified());
      difference.push_back(world.velocity_difference());
      if (natv < 1e-8) {
        EXPECT_LT(truth.back(), 1e-7) << "model " << k << ": the backend's own certificate was too kind";
      }
    }
  }
  RecordProperty("solved", std::to_string(share_below(truth, 1e-6)));
  RecordProperty("same", std::to_string(share_below(difference, 1e-5)));
  EXPECT_GT(rows, models);
  EXPECT_GT(share_below(truth, 1e-6), 0.9);
  EXPECT_GT(share_below(difference, 1e-5), 0.9);
}

// A coin spins on a plane: torsional friction alone brakes it, by mu m g, whatever the inertia.
TEST(BackendCones, TorsionalFrictionBrakesASpinningBall) {
  ModelBuilder builder("ball");
  builder.add_shape({.shape = {.type = ShapeType::kPlane}});
  const Shape ball{.type = ShapeType::kSphere, .size = Vector3(0.1, 0, 0)};
  const int body = builder.add_body(
      {.pose = {Vector3(0, 0, 0.1), Quaternion::Identity()}, .inertia = mass_properties(ball, 1000.0)});
  builder.add_joint({.body = body, .type = JointType::kFree});
  Material material;
  material.friction = Vector3(0.5, 0.004, 0.0);
  builder.add_shape({.body = body, .shape = ball, .contact_dimension = 4, .material = material});
  const ModelPtr model = builder.build();
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*model), 1);
  std::vector<double> v(6, 0.0);
  v[5] = 20.0;
  batch->write(gpu::BatchField::kVelocity, v.data());
  const double h = model->options.time_step;
  const int steps = 100;
  batch->step(steps);
  batch->read(gpu::BatchField::kVelocity, v.data());
  const double inertia = 0.4 * 0.1 * 0.1, mu = std::max(0.004, 0.005);  // the larger of both surfaces
  EXPECT_NEAR(v[5], 20.0 - mu * 9.81 * steps * h / inertia, 0.02);
  EXPECT_EQ(batch->impulses(0).impulse.size(), 6u);
}

// The batch in float, with warm starts, along its own motion, by contact/certify.
TEST(BackendCones, ImpulsesOfABatchAreCertified) {
  std::mt19937_64 random(9);
  std::vector<double> truth;
  for (int k = 0; k < (whole_family() ? 40 : 6); ++k) {
    const ModelPtr model = random_heap(random, 3 + k % 4);
    WorldFixture world(model);
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), 1);
    State state = random_heap_state(*model, random);
    batch->write(gpu::BatchField::kPosition, state.q.data());
    batch->write(gpu::BatchField::kVelocity, state.v.data());
    for (int step = 0; step < 100; ++step) {
      batch->read(gpu::BatchField::kPosition, state.q.data());
      batch->read(gpu::BatchField::kVelocity, state.v.data());
      batch->step(1);
      if (step % 5 != 0) continue;
      world.simulator().reset(state);
      ASSERT_TRUE(world.prepare());
      truth.push_back(world.certified(batch->impulses(0)));
    }
  }
  EXPECT_GT(share_below(truth, 2e-3), 0.9);
  EXPECT_GT(share_below(truth, 1e-4), 0.5);
}

// A pair whose sliding friction differs between its tangents, and one that also rolls more easily one way.
ModelPtr anisotropic_pair(const Shape& shape, int dimension, const std::array<double, 5>& friction) {
  ModelBuilder builder("anisotropic");
  const int floor = builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  const int body = builder.add_body({.name = "body", .inertia = mass_properties(shape, 1000.0)});
  builder.add_joint({.body = body, .type = JointType::kFree});
  const int own = builder.add_shape({.name = "own", .body = body, .shape = shape});
  builder.add_contact_pair(
      {.name = "pair", .shape_a = floor, .shape_b = own, .contact_dimension = dimension, .friction = friction});
  return builder.build();
}

TEST(BackendCones, AnisotropicPairsAreCertifiedByTheSimulator) {
  struct Case {
    ShapeType type;
    int dimension;
    std::array<double, 5> friction;
  };
  const Case cases[] = {{ShapeType::kBox, 3, {0.8, 0.3, 0.0, 0.0, 0.0}},
                        {ShapeType::kSphere, 3, {0.8, 0.3, 0.0, 0.0, 0.0}},
                        {ShapeType::kBox, 6, {0.8, 0.3, 0.01, 0.02, 0.004}},
                        {ShapeType::kSphere, 6, {0.6, 0.6, 0.01, 0.02, 0.004}}};
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (const Case& c : cases) {
    WorldFixture world(anisotropic_pair({.type = c.type, .size = Vector3(0.1, 0.1, 0.1)}, c.dimension, c.friction));
    for (int k = 0; k < 20; ++k) {
      State state(world.simulator().model());
      state.q[2] = 0.0999;
      state.v << 3.0 * uniform(random), 3.0 * uniform(random), -0.2, random_vector3(random);
      world.simulator().reset(state);
      ASSERT_TRUE(world.prepare());
      EXPECT_LT(world.solve(1e-9, 5000), 1e-8);
      ASSERT_GT(world.scratch().block_count, 0);
      for (int block = 0; block < world.scratch().block_count; ++block)
        EXPECT_EQ(world.scratch().blocks[block].type, gpu::BlockType::kCone);
      EXPECT_LT(world.certified(), 1e-7) << "dimension " << c.dimension << ", state " << k;
      if (world.scratch().block_count > 1) continue;  // solutions of several contacts with friction are not unique
      EXPECT_LT(world.velocity_difference(), 1e-5) << "dimension " << c.dimension << ", state " << k;
    }
  }
}

TEST(BackendCones, ProjectionIsThatOfTheSimulator) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0), size(0.001, 2.0);
  for (int k = 0; k < 2000; ++k) {
    const int m = 3 + k % 4;
    double mu[6] = {}, x[6], expected[6], found[6];
    for (int r = 0; r < m; ++r) x[r] = uniform(random), mu[r] = k % 7 == 0 && r == 1 ? 0.0 : size(random);
    project_cone(m, mu, x, expected);
    gpu::project_on_cone(m, mu, x, found);
    for (int r = 0; r < m; ++r) EXPECT_NEAR(found[r], expected[r], 1e-12);
  }
}

}  // namespace
}  // namespace touchstone::test
