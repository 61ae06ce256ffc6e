// Height fields in the batched backend, against the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>
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

enum class Ground { kRough, kWaves, kSteps, kFlat };

// Two metres wide. Steps have flat floors and vertical-looking walls, waves have normals that turn slowly.
std::shared_ptr<const HeightField> random_field(std::mt19937_64& random, Ground ground, int points = 17) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  HeightField field{.name = "ground", .rows = points, .columns = points + 4};
  field.radius_x = 1.0;
  field.radius_y = 0.8;
  field.elevation = 0.2;
  field.base = 0.1;
  const double phase = 6.0 * uniform(random), wave = 4.0 + 6.0 * uniform(random);
  for (int r = 0; r < field.rows; ++r) {
    for (int c = 0; c < field.columns; ++c) {
      double value = 0.5;
      if (ground == Ground::kRough) value = uniform(random);
      if (ground == Ground::kWaves)
        value = 0.5 + 0.5 * std::sin(wave * c / points + phase) * std::cos(wave * r / points);
      if (ground == Ground::kSteps) value = (r / 4 + c / 5) % 2 == 0 ? 0.3 : 0.6;
      field.values.push_back(value);
    }
  }
  return std::make_shared<const HeightField>(field);
}

std::shared_ptr<const TriangleMesh> random_hull(std::mt19937_64& random) {
  TriangleMesh mesh;
  mesh.name = "points";
  for (int k = 0; k < 14; ++k) mesh.vertices.push_back(0.15 * random_vector3(random).normalized());
  return std::make_shared<const TriangleMesh>(mesh);
}

Shape random_shape(ShapeType type, std::mt19937_64& random) {
  std::uniform_real_distribution<double> size(0.04, 0.2);
  if (type == ShapeType::kMesh) return {.type = type, .mesh = random_hull(random)};
  return {.type = type, .size = Vector3(size(random), size(random), size(random))};
}

int add_free_body(ModelBuilder& builder, const Shape& shape, double density = 1000.0) {
  const Shape solid{.type = ShapeType::kBox, .size = Vector3(0.08, 0.08, 0.08)};
  const int body = builder.add_body({.inertia = mass_properties(solid, density)});
  builder.add_joint({.body = body, .type = JointType::kFree});
  builder.add_shape({.body = body, .shape = shape});
  return body;
}

void place(const Vector3& position, const Quaternion& turn, int q, State& state) {
  state.q.segment<3>(q) = position;
  state.q.segment<4>(q + 3) << turn.w(), turn.vec();
}

struct FieldPair {
  const char* name;
  ShapeType type;
  double most_missed;  // share of poses where the points may differ (ties between faces and edges)
  double tolerance;    // m; of round shapes in each other the simulator knows normals to 1e-4 only
};

class BackendField : public testing::TestWithParam<FieldPair> {};

// A shape anywhere near the ground, in it, or beside its border.
TEST_P(BackendField, ContactsAreThoseOfTheSimulator) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const int poses = whole_family() ? 3000 : 240;
  int with_contacts = 0, missed = 0, several = 0;
  for (int round = 0; round < 12; ++round) {
    ModelBuilder builder("field");
    const Shape field{.type = ShapeType::kHeightField,
                      .height_field = random_field(random, static_cast<Ground>(round % 4), 5 + 4 * (round / 4))};
    const Shape shape = random_shape(GetParam().type, random);
    const bool field_last = round % 3 == 2;  // then the shape is A
    if (field_last) add_free_body(builder, shape);
    builder.add_shape({.pose = {0.1 * random_vector3(random), so3_exp(0.3 * random_vector3(random))}, .shape = field});
    if (!field_last) add_free_body(builder, shape);
    WorldFixture world(builder.build(), 256);
    const Model& model = world.simulator().model();
    for (int k = 0; k < poses / 12; ++k) {
      State state(model);
      const Vector3 position(uniform(random), 0.9 * uniform(random), 0.1 + 0.3 * uniform(random));
      place(position, so3_exp((k % 3 == 0 ? 0.02 : 3.0) * random_vector3(random)), 0, state);
      state.v.setRandom();
      world.simulator().reset(state);
      ASSERT_TRUE(world.prepare());
      const int found = world.scratch().contact_count;
      if (world.simulator().context().contacts().empty() && found == 0) continue;
      ++with_contacts;
      several += found > 4 ? 1 : 0;
      if (!(world.contact_difference() < GetParam().tolerance)) ++missed;
      std::set<int> features;
      for (int i = 0; i < found; ++i) features.insert(world.scratch().contacts[i].feature);
      EXPECT_EQ(static_cast<int>(features.size()), found) << "points of one name";
    }
  }
  RecordProperty("with_contacts", with_contacts);
  RecordProperty("missed", missed);
  RecordProperty("several", several);
  EXPECT_GT(with_contacts, poses / 10);
  EXPECT_LE(missed, std::max(GetParam().most_missed > 0.0 ? 1.0 : 0.0, GetParam().most_missed * with_contacts))
      << "of " << with_contacts;
}

INSTANTIATE_TEST_SUITE_P(Shapes, BackendField,
                         testing::Values(FieldPair{"Sphere", ShapeType::kSphere, 0.0, 1e-6},
                                         FieldPair{"Capsule", ShapeType::kCapsule, 0.01, 1e-6},
                                         FieldPair{"Box", ShapeType::kBox, 0.01, 1e-6},
                                         FieldPair{"Hull", ShapeType::kMesh, 0.01, 1e-6},
                                         FieldPair{"Cylinder", ShapeType::kCylinder, 0.02, 1e-3},
                                         FieldPair{"Ellipsoid", ShapeType::kEllipsoid, 0.02, 1e-3}),
                         [](const auto& pair) { return std::string(pair.param.name); });

// Bodies of all kinds fall on rough ground and come to rest, by the batch along its own motion: contacts of every fifth
// step are the simulator's, and its impulses are certified by it.
TEST(BackendFieldMotion, BodiesComeToRestAsInTheSimulator) {
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const ShapeType types[6] = {ShapeType::kSphere,   ShapeType::kBox,  ShapeType::kCapsule,
                              ShapeType::kCylinder, ShapeType::kMesh, ShapeType::kEllipsoid};
  int compared = 0, missed = 0, certified = 0, unsolved = 0;
  for (int k = 0; k < (whole_family() ? 24 : 4); ++k) {
    ModelBuilder builder("ground");
    builder.add_shape({.shape = {.type = ShapeType::kHeightField,
                                 .height_field = random_field(random, static_cast<Ground>(k % 4), 9)}});
    for (int b = 0; b < 3; ++b) add_free_body(builder, random_shape(types[(k + 2 * b) % 6], random));
    const ModelPtr model = builder.build();
    WorldFixture world(model, 256);
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), 1);
    State state(*model);
    for (int b = 0; b < 3; ++b)
      place({0.5 * (b - 1), 0.3 * uniform(random), 0.45}, so3_exp(2.0 * random_vector3(random)), 7 * b, state);
    batch->write(gpu::BatchField::kPosition, state.q.data());
    for (int step = 0; step < 250; ++step) {
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
    batch->read(gpu::BatchField::kPosition, state.q.data());
    for (int b = 0; b < 3; ++b) EXPECT_GT(state.q[7 * b + 2], 0.0) << "fell through, model " << k;
  }
  RecordProperty("compared", compared);
  RecordProperty("missed", missed);
  RecordProperty("certified", certified);
  RecordProperty("unsolved", unsolved);
  EXPECT_GT(compared, 80);
  EXPECT_LE(missed, 0.03 * compared);
  EXPECT_GE(certified + unsolved, 0.95 * (compared - missed));  // what it calls solved is
  EXPECT_LE(unsolved, 0.1 * compared);
}

// Too little room is a status, and the world stays: no contact is dropped.
TEST(BackendFieldMotion, TooManyContactsAreAStatus) {
  std::mt19937_64 random(2);
  ModelBuilder builder("ground");
  builder.add_shape(
      {.shape = {.type = ShapeType::kHeightField, .height_field = random_field(random, Ground::kRough, 20)}});
  add_free_body(builder, {.type = ShapeType::kBox, .size = Vector3(0.6, 0.6, 0.1)});
  const ModelPtr model = builder.build();
  gpu::BatchOptions options;
  options.middle_pool = 2;
  options.large_pool = 4;
  const gpu::ModelArrays arrays = make_model_arrays(*model, backend_options());
  const auto tight = gpu::make_cpu_batch(arrays, 1, options), roomy = gpu::make_cpu_batch(arrays, 1);
  State state(*model);
  place({0, 0, 0.27}, Quaternion::Identity(), 0, state);
  for (const auto& batch : {tight.get(), roomy.get()}) {
    batch->write(gpu::BatchField::kPosition, state.q.data());
    batch->step(1);
  }
  int status = 0, contacts = 0;
  VectorX q(model->nq);
  tight->read(gpu::BatchField::kStatus, &status);
  tight->read(gpu::BatchField::kPosition, q.data());
  EXPECT_EQ(status, static_cast<int>(gpu::WorldStatus::kTooManyContacts));
  EXPECT_EQ(q, state.q);
  roomy->read(gpu::BatchField::kStatus, &status);
  roomy->read(gpu::BatchField::kContacts, &contacts);
  EXPECT_LE(status, static_cast<int>(gpu::WorldStatus::kNotConverged));
  EXPECT_GT(contacts, 4);
}

// A slab on more peaks than a patch has room for stands on four of them.
TEST(BackendFieldMotion, ASlabOnManyPeaksIsThatOfTheSimulator) {
  HeightField peaks{.name = "peaks", .rows = 41, .columns = 41};
  peaks.radius_x = peaks.radius_y = 1.0;
  peaks.elevation = 0.1;
  for (int k = 0; k < 41 * 41; ++k) peaks.values.push_back(k / 41 % 3 == 1 && k % 41 % 3 == 1 ? 1.0 : 0.0);
  ModelBuilder builder("peaks");
  builder.add_shape(
      {.shape = {.type = ShapeType::kHeightField, .height_field = std::make_shared<const HeightField>(peaks)}});
  add_free_body(builder, {.type = ShapeType::kBox, .size = Vector3(0.9, 0.9, 0.05)});
  WorldFixture world(builder.build(), 1024);
  State state(world.simulator().model());
  place({0.01, 0.02, 0.1499}, so3_exp(Vector3(1e-5, 2e-5, 0.3)), 0, state);
  world.simulator().reset(state);
  ASSERT_TRUE(world.prepare());
  EXPECT_EQ(world.scratch().contact_count, 4);
  EXPECT_LT(world.contact_difference(), 1e-6);
}

TEST(BackendFieldMotion, FieldsAgainstPlanesAreRefusedByName) {
  std::mt19937_64 random(2);
  ModelBuilder builder("ground");
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  add_free_body(builder, {.type = ShapeType::kHeightField, .height_field = random_field(random, Ground::kRough)});
  const std::vector<std::string> complaints = unsupported_features(*builder.build());
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_NE(complaints[0].find("floor"), std::string::npos) << complaints[0];
}

}  // namespace
}  // namespace touchstone::test
