// Cylinders, ellipsoids and hulls in the batched backend: heaps that move, against the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::test {
namespace {

std::shared_ptr<const TriangleMesh> cloud(std::mt19937_64& random, int points, double size) {
  TriangleMesh mesh;
  mesh.name = "cloud";
  for (int k = 0; k < points; ++k) mesh.vertices.push_back(size * random_vector3(random).normalized());
  return std::make_shared<const TriangleMesh>(mesh);
}

std::shared_ptr<const TriangleMesh> prism(int corners) {
  TriangleMesh mesh;
  mesh.name = "prism";
  for (int k = 0; k < corners; ++k) {
    const double angle = 2.0 * 3.14159265358979323846 * k / corners;
    for (const double z : {-0.1, 0.1}) mesh.vertices.emplace_back(0.1 * std::cos(angle), 0.1 * std::sin(angle), z);
  }
  return std::make_shared<const TriangleMesh>(mesh);
}

// All kinds of shapes on a plane, with torsional and rolling friction on some.
ModelPtr mixed_heap(std::mt19937_64& random, int bodies) {
  std::uniform_real_distribution<double> size(0.05, 0.12);
  const ShapeType types[6] = {ShapeType::kMesh, ShapeType::kCylinder,  ShapeType::kBox,
                              ShapeType::kMesh, ShapeType::kEllipsoid, ShapeType::kSphere};
  ModelBuilder builder("mixed");
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  for (int k = 0; k < bodies; ++k) {
    Shape shape{.type = types[k % 6], .size = Vector3(size(random), size(random), size(random))};
    if (shape.type == ShapeType::kMesh) shape.mesh = k % 2 == 0 ? cloud(random, 20, 0.1) : prism(12);
    const Shape solid{.type = ShapeType::kBox, .size = Vector3(0.08, 0.08, 0.08)};
    const int body = builder.add_body({.name = "body" + std::to_string(k), .inertia = mass_properties(solid, 1000.0)});
    builder.add_joint({.body = body, .type = JointType::kFree});
    builder.add_shape({.body = body, .shape = shape, .contact_dimension = k % 3 == 2 ? 6 : 3});
  }
  return builder.build();
}

State scattered(const Model& model, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  State state(model);
  for (int j = 0; j < model.njoint; ++j) {
    const int q = model.joint_q[at(j)];
    state.q[q] = 0.15 * uniform(random);
    state.q[q + 1] = 0.15 * uniform(random);
    state.q[q + 2] = 0.15 + 0.15 * j;
    const Quaternion turn = so3_exp(2.0 * random_vector3(random));
    state.q.segment<4>(q + 3) << turn.w(), turn.vec();
  }
  return state;
}

// A batch in float along its own motion: bodies fall and come to rest on each other. Contacts of every fifth step are
// the simulator's, and its impulses are certified by it.
TEST(BackendConvex, HeapsMoveAsInTheSimulator) {
  std::mt19937_64 random(21);
  int compared = 0, missed = 0, certified = 0, unsolved = 0;
  for (int k = 0; k < (whole_family() ? 30 : 4); ++k) {
    const ModelPtr model = mixed_heap(random, 3 + k % 4);
    WorldFixture world(model);
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), 1);
    State state = scattered(*model, random);
    batch->write(gpu::BatchField::kPosition, state.q.data());
    for (int step = 0; step < 300; ++step) {
      batch->read(gpu::BatchField::kPosition, state.q.data());
      batch->read(gpu::BatchField::kVelocity, state.v.data());
      batch->step(1);
      if (step % 5 != 0) continue;
      world.simulator().reset(state);
      ASSERT_TRUE(world.prepare());
      if (world.simulator().context().contacts().empty()) continue;
      ++compared;
      int status = 0;
      batch->read(gpu::BatchField::kStatus, &status);
      unsolved += status == 0 ? 0 : 1;
      if (!(world.contact_difference() < 1e-3)) {
        ++missed;  // another choice of points for the same patch
        continue;
      }
      if (world.certified(batch->impulses(0)) < 2e-3) ++certified;
    }
  }
  RecordProperty("compared", compared);
  RecordProperty("missed", missed);
  RecordProperty("certified", certified);
  RecordProperty("unsolved", unsolved);
  EXPECT_GT(compared, 100);
  EXPECT_LE(missed, 0.02 * compared);
  EXPECT_GE(certified + unsolved, 0.95 * (compared - missed));  // what it calls solved is
  EXPECT_LE(unsolved, 0.1 * compared);
}

TEST(BackendConvex, HullsBeyondTheLimitsAreRefusedByName) {
  std::mt19937_64 random(1);
  ModelBuilder builder("large");
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  const Shape shape{.type = ShapeType::kMesh, .mesh = prism(40)};
  const int body =
      builder.add_body({.inertia = mass_properties({.type = ShapeType::kSphere, .size = Vector3(0.1, 0, 0)}, 1000.0)});
  builder.add_joint({.body = body, .type = JointType::kFree});
  builder.add_shape({.name = "wheel", .body = body, .shape = shape});
  try {
    make_model_arrays(*builder.build());
    FAIL() << "a face of 40 corners was accepted";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("wheel"), std::string::npos) << what;
    EXPECT_NE(what.find("40 vertices; at most 32"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace touchstone::test
