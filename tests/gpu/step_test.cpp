// The batched backend with a team of one lane against the simulator, on the same states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "support/robot_runs.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::test {
namespace {

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

// Kinematics, inertia, factor, forces, servos, springs: free motion of random trees with everything the backend takes.
TEST(BackendStep, FreeMotionOfRandomModelsIsThatOfTheSimulator) {
  std::mt19937_64 random(7);
  const int wanted = whole_family() ? 200 : 20;
  int tried = 0;
  for (int k = 0; k < 20 * wanted && tried < wanted; ++k) {
    const bool is_bound = k % 2 == 1;
    const RandomModelOptions options{.bodies = 2 + k % 14, .damping = true};
    const ModelPtr model = is_bound ? random_bound_model(random, options) : random_model(random, options);
    if (!unsupported_features(*model).empty()) continue;
    WorldFixture world(model);
    State state = random_state(*model, random);
    world.simulator().reset(state);
    randomize_controls(world.simulator(), random);
    world.simulator().input().applied_force = random_vector(model->nv, random);
    ASSERT_TRUE(world.prepare());
    EXPECT_LT(world.free_velocity_difference(), 1e-10) << "model " << k;
    ++tried;
  }
  EXPECT_EQ(tried, wanted);
}

// Random loops over-determine a tree: 18 rows on a few dofs that contradict each other.
ModelPtr without_loops(const Model& model) {
  const auto copy = std::make_shared<Model>(model);
  copy->options.equalities_enabled = false;
  return copy;
}

// Limits, dry friction and saturated servos: the backend's impulses in the simulator's own problem.
TEST(BackendStep, BoundModelsAreCertifiedByTheSimulator) {
  std::mt19937_64 random(11);
  const int wanted = whole_family() ? 200 : 20;
  int tried = 0, solved = 0, certified = 0;
  for (int k = 0; k < 40 * wanted && tried < wanted; ++k) {
    const ModelPtr model = without_loops(*random_bound_model(random, {.bodies = 2 + k % 10, .damping = true}));
    if (!unsupported_features(*model).empty()) continue;
    WorldFixture world(model);
    world.simulator().reset(random_state(*model, random));
    randomize_controls(world.simulator(), random);
    ASSERT_TRUE(world.prepare());
    const double natv = world.solve(1e-8, 2000), truth = world.certified();
    ++tried;
    if (natv < 1e-6) ++solved;
    if (truth < 1e-6) ++certified;
    if (natv < 1e-8) {
      EXPECT_LT(truth, 1e-6) << "model " << k << ": the backend's own certificate was too kind";
    }
  }
  EXPECT_EQ(tried, wanted);
  EXPECT_GT(solved, 0.9 * tried);
  EXPECT_GT(certified, 0.9 * tried);
}

// --- contacts of two shapes ---

struct ShapePair {
  const char* name;
  ShapeType a, b;
  double most_missed;       // share of poses where the points may differ (ties between faces and edges)
  double tolerance = 1e-6;  // m; of round shapes in each other the simulator knows normals to 1e-4 only
};

class BackendContacts : public testing::TestWithParam<ShapePair> {};

// The hull of some points on an ellipsoid, or a prism of regular polygons, whose faces have many corners.
std::shared_ptr<const TriangleMesh> random_mesh(std::mt19937_64& random) {
  std::uniform_real_distribution<double> size(0.05, 0.3);
  std::vector<Vector3> points;
  const Vector3 axes(size(random), size(random), size(random));
  const int corners = 4 + static_cast<int>(random() % 20);
  for (int k = 0; k < corners; ++k) {
    const double angle = 2.0 * 3.14159265358979323846 * k / corners;
    const Vector3 rim(axes[0] * std::cos(angle), axes[1] * std::sin(angle), axes[2]);
    const bool prism = corners % 2 == 0;
    points.push_back(prism ? rim : Vector3(axes.cwiseProduct(random_vector3(random).normalized())));
    points.push_back(prism ? Vector3(rim.x(), rim.y(), -rim.z())
                           : Vector3(axes.cwiseProduct(random_vector3(random).normalized())));
  }
  return std::make_shared<const TriangleMesh>(
      TriangleMesh{.name = "points", .file = "", .vertices = points, .triangles = {}});
}

Shape random_shape(ShapeType type, std::mt19937_64& random) {
  std::uniform_real_distribution<double> size(0.05, 0.3);
  if (type == ShapeType::kMesh) return {.type = type, .mesh = random_mesh(random)};
  return {.type = type, .size = Vector3(size(random), size(random), size(random))};
}

TEST_P(BackendContacts, AreThoseOfTheSimulator) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const int poses = whole_family() ? 3000 : 200;
  int with_contacts = 0, missed = 0;
  for (int round = 0; round < 10; ++round) {
    ModelBuilder builder("pair");
    const ShapeType types[2] = {GetParam().a, GetParam().b};
    for (const ShapeType type : types) {
      const bool is_plane = type == ShapeType::kPlane;
      const int body = is_plane
                           ? 0
                           : builder.add_body({.inertia = mass_properties(
                                                   {.type = ShapeType::kSphere, .size = Vector3(0.1, 0, 0)}, 1000.0)});
      if (!is_plane) builder.add_joint({.body = body, .type = JointType::kFree});
      builder.add_shape({.body = body, .shape = random_shape(type, random)});
    }
    WorldFixture world(builder.build());
    const Model& model = world.simulator().model();
    for (int k = 0; k < poses / 10; ++k) {
      State state(model);
      for (int j = 0; j < model.njoint; ++j) {
        const int q = model.joint_q[at(j)];
        for (int i = 0; i < 3; ++i) state.q[q + i] = 0.25 * uniform(random);
        Quaternion turn = so3_exp(3.0 * random_vector3(random));
        if (k % 3 == 0) turn = so3_exp(0.03 * random_vector3(random));  // faces and edges that are nearly aligned
        state.q.segment<4>(q + 3) << turn.w(), turn.vec();
      }
      world.simulator().reset(state);
      ASSERT_TRUE(world.prepare());
      if (world.simulator().context().contacts().empty() && world.scratch().contact_count == 0) continue;
      ++with_contacts;
      if (!(world.contact_difference() < GetParam().tolerance)) ++missed;
    }
  }
  RecordProperty("with_contacts", with_contacts);
  RecordProperty("missed", missed);
  EXPECT_GT(with_contacts, poses / 20);
  // A few poses say nothing of a share below one of them.
  const double allowed = GetParam().most_missed > 0.0 ? std::max(1.0, GetParam().most_missed * with_contacts) : 0.0;
  EXPECT_LE(missed, allowed) << "of " << with_contacts;
}

INSTANTIATE_TEST_SUITE_P(Pairs, BackendContacts,
                         testing::Values(ShapePair{"PlaneSphere", ShapeType::kPlane, ShapeType::kSphere, 0.0},
                                         ShapePair{"PlaneCapsule", ShapeType::kPlane, ShapeType::kCapsule, 0.0},
                                         ShapePair{"PlaneBox", ShapeType::kPlane, ShapeType::kBox, 0.0},
                                         ShapePair{"PlaneEllipsoid", ShapeType::kPlane, ShapeType::kEllipsoid, 0.0},
                                         ShapePair{"SphereSphere", ShapeType::kSphere, ShapeType::kSphere, 0.0},
                                         ShapePair{"SphereCapsule", ShapeType::kSphere, ShapeType::kCapsule, 0.0},
                                         ShapePair{"SphereBox", ShapeType::kSphere, ShapeType::kBox, 0.0},
                                         ShapePair{"CapsuleCapsule", ShapeType::kCapsule, ShapeType::kCapsule, 0.01},
                                         ShapePair{"CapsuleBox", ShapeType::kCapsule, ShapeType::kBox, 0.005},
                                         ShapePair{"BoxBox", ShapeType::kBox, ShapeType::kBox, 0.005}),
                         [](const auto& pair) { return std::string(pair.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Iterated, BackendContacts,
    testing::Values(ShapePair{"PlaneCylinder", ShapeType::kPlane, ShapeType::kCylinder, 0.0},
                    ShapePair{"PlaneHull", ShapeType::kPlane, ShapeType::kMesh, 0.0},
                    ShapePair{"SphereHull", ShapeType::kSphere, ShapeType::kMesh, 0.0},
                    ShapePair{"CapsuleHull", ShapeType::kCapsule, ShapeType::kMesh, 0.005},
                    ShapePair{"BoxHull", ShapeType::kBox, ShapeType::kMesh, 0.005},
                    ShapePair{"HullHull", ShapeType::kMesh, ShapeType::kMesh, 0.005},
                    ShapePair{"SphereCylinder", ShapeType::kSphere, ShapeType::kCylinder, 0.002, 1e-3},
                    ShapePair{"CapsuleCylinder", ShapeType::kCapsule, ShapeType::kCylinder, 0.01, 1e-3},
                    ShapePair{"BoxCylinder", ShapeType::kBox, ShapeType::kCylinder, 0.01, 1e-3},
                    ShapePair{"CylinderCylinder", ShapeType::kCylinder, ShapeType::kCylinder, 0.01, 1e-3},
                    ShapePair{"CylinderHull", ShapeType::kCylinder, ShapeType::kMesh, 0.01, 1e-3},
                    ShapePair{"SphereEllipsoid", ShapeType::kSphere, ShapeType::kEllipsoid, 0.01, 1e-3},
                    ShapePair{"CapsuleEllipsoid", ShapeType::kCapsule, ShapeType::kEllipsoid, 0.01, 1e-3},
                    ShapePair{"BoxEllipsoid", ShapeType::kBox, ShapeType::kEllipsoid, 0.01, 1e-3},
                    ShapePair{"CylinderEllipsoid", ShapeType::kCylinder, ShapeType::kEllipsoid, 0.01, 1e-3},
                    ShapePair{"HullEllipsoid", ShapeType::kMesh, ShapeType::kEllipsoid, 0.01, 1e-3},
                    ShapePair{"EllipsoidEllipsoid", ShapeType::kEllipsoid, ShapeType::kEllipsoid, 0.01, 1e-3}),
    [](const auto& pair) { return std::string(pair.param.name); });

// --- robots ---

// Contacts of a robot with cylinders, ellipsoids or hulls along the simulator's motion.
void compare_contacts(const RobotSetup& setup, WorldFixture& world, const std::string& name) {
  Simulator runner(setup.model, backend_options());
  runner.reset(setup.start);
  std::mt19937_64 random(1);
  int missed = 0, states = 0;
  for (int k = 0; k < 100; ++k) {
    if (k % 10 == 0) randomize_controls(runner, random);
    runner.step();
    if (k % 5 != 0) continue;
    world.simulator().reset(runner.state());
    world.simulator().input() = runner.input();
    ASSERT_TRUE(world.prepare()) << name;
    EXPECT_LT(world.free_velocity_difference(), 1e-10) << name << " step " << k;
    ++states;
    missed += world.contact_difference() < 1e-3 ? 0 : 1;
  }
  testing::Test::RecordProperty(name, std::to_string(missed) + " of " + std::to_string(states));
  EXPECT_LE(missed, 0.1 * states) << name;
}

TEST(BackendStep, RobotsMoveAsInTheSimulator) {
  int robots = 0;
  for (const RobotFile& file : robot_files()) {
    const RobotSetup setup = set_up(file);
    if (!unsupported_features(*setup.model).empty()) continue;
    ++robots;
    WorldFixture world(setup.model, 512);
    if (world.model().sizes.iterated > 0) {  // distances to rounding, but normals of round shapes to 1e-3 only
      compare_contacts(setup, world, file.name);
      continue;
    }
    Simulator runner(setup.model, backend_options());
    runner.reset(setup.start);
    std::mt19937_64 random(1);
    const int states = whole_family() ? 200 : 20;
    std::vector<double> own, truth, difference;
    for (int k = 0; k < 5 * states; ++k) {
      if (k % 10 == 0) randomize_controls(runner, random);
      runner.step();
      if (k % 5 != 0) continue;
      world.simulator().reset(runner.state());
      world.simulator().input() = runner.input();
      ASSERT_TRUE(world.prepare()) << file.name;
      EXPECT_LT(world.free_velocity_difference(), 1e-10) << file.name << " step " << k;
      EXPECT_LT(world.contact_difference(), 1e-7) << file.name << " step " << k;
      own.push_back(world.solve(1e-6, 2000));
      truth.push_back(world.certified());
      difference.push_back(world.velocity_difference());
      if (own.back() < 1e-6) {
        EXPECT_LT(truth.back(), 2e-6) << file.name << " step " << k;
      }
    }
    // A step that is certified to 1e-6 ends with the simulator's velocities, but where forces are not unique.
    EXPECT_LT(quantile(difference, 0.5), 1e-6) << file.name;
    if (!whole_family()) continue;  // too few states for tails
    EXPECT_LT(quantile(truth, 0.9), 1e-5) << file.name;
    EXPECT_LT(quantile(truth, 0.99), 2e-2) << file.name;
    EXPECT_LT(quantile(difference, 0.9), 1e-3) << file.name;
  }
  if (robots == 0) GTEST_SKIP() << "no robots; set TOUCHSTONE_DATA to the folder that holds models/";
  EXPECT_GE(robots, 5);
}

// Impulses of a batch along its own motion, in the simulator's own problem.
struct Certificates {
  std::vector<double> truth;  // relative natv by contact/certify
  double kindest = 0.0;       // how much more that is than what the batch says
};

Certificates certify_motion(const RobotSetup& setup, int states, const gpu::BatchOptions& options) {
  const Model& model = *setup.model;
  Certificates found;
  WorldFixture world(setup.model, 512);
  const auto batch = gpu::make_cpu_batch(make_model_arrays(model, backend_options()), 1, options);
  State state = setup.start;
  batch->write(gpu::BatchField::kPosition, state.q.data());
  batch->write(gpu::BatchField::kVelocity, state.v.data());
  std::mt19937_64 random(1);
  for (int k = 0; k < states; ++k) {
    batch->step(4);
    batch->read(gpu::BatchField::kPosition, state.q.data());
    batch->read(gpu::BatchField::kVelocity, state.v.data());
    if (model.na > 0) batch->read(gpu::BatchField::kActivation, state.activation.data());
    world.simulator().reset(state);
    if (k % 2 == 0) randomize_controls(world.simulator(), random);
    batch->write(gpu::BatchField::kControl, world.simulator().input().control.data());
    if (!world.prepare()) return {};
    double said = 0.0;
    batch->step(1);
    batch->read(gpu::BatchField::kNatv, &said);
    const gpu::WorldImpulses impulses = batch->impulses(0);
    const double judged = world.certified(impulses);
    // A servo that turned out to be beyond its limits is a block more than the problem began with.
    if (static_cast<int>(impulses.key.size()) != world.scratch().block_count) continue;
    found.truth.push_back(judged);
    found.kindest = std::max(found.kindest, judged - 1.1 * said);
  }
  return found;
}

// The batch as users have it, in float with default settings, and in its certified mode: what is promised of the true
// certificate. Of robots whose contacts are those of the simulator.
TEST(BackendStep, ImpulsesOfABatchAreCertifiedByTheSimulator) {
  constexpr int kCertified = 2000;  // sweeps
  const int states = whole_family() ? 500 : 50;
  int robots = 0;
  for (const RobotFile& file : robot_files()) {
    const RobotSetup setup = set_up(file);
    if (!unsupported_features(*setup.model, backend_options()).empty()) continue;
    if (make_model_arrays(*setup.model, backend_options()).sizes.iterated > 0) continue;
    ++robots;
    for (const bool certified : {false, true}) {
      Certificates found = certify_motion(setup, states, {.most_sweeps = certified ? kCertified : 0});
      const std::string mode = file.name + (certified ? ", certified mode" : "");
      ASSERT_GT(static_cast<int>(found.truth.size()), states / 2) << mode;
      RecordProperty(mode + " p50", std::to_string(quantile(found.truth, 0.5)));
      RecordProperty(mode + " p99", std::to_string(quantile(found.truth, 0.99)));
      EXPECT_LE(quantile(found.truth, 0.5), 1e-4) << mode;
      EXPECT_LE(quantile(found.truth, 0.99), certified ? 1e-3 : 1e-2) << mode;
      EXPECT_LT(found.kindest, 1e-4) << mode << ": the certificate of the batch was too kind";
    }
  }
  if (robots == 0) GTEST_SKIP() << "no robots; set TOUCHSTONE_DATA to the folder that holds models/";
  EXPECT_GE(robots, 5);
}

}  // namespace
}  // namespace touchstone::test
