// Scenes that diverge, or whose meshes are far inside each other: each step ends, in bounded memory, and says what it
// could not do.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/detection/collision_limits.hpp"
#include "touchstone/sim/detection/detector.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

MassProperties unit_inertia() { return {1.0, Vector3::Zero(), Matrix3(Vector3::Constant(0.1).asDiagonal())}; }

// A sphere of triangles with bumps: cells x 2 cells x 2 of them.
std::shared_ptr<const TriangleMesh> bumpy_ball(int cells, double radius) {
  auto mesh = std::make_shared<TriangleMesh>();
  mesh->name = "ball";
  constexpr double kPi = 3.14159265358979323846;
  for (int i = 0; i <= cells; ++i) {
    for (int j = 0; j < 2 * cells; ++j) {
      const double a = kPi * (i + 1e-3) / (cells + 2e-3), b = kPi * j / cells;
      const double r = radius * (1.0 + 0.05 * std::sin(7.0 * a) * std::cos(5.0 * b));
      mesh->vertices.emplace_back(r * std::sin(a) * std::cos(b), r * std::sin(a) * std::sin(b), r * std::cos(a));
    }
  }
  const auto vertex = [&](int i, int j) { return 2 * cells * i + j % (2 * cells); };
  for (int i = 0; i < cells; ++i) {
    for (int j = 0; j < 2 * cells; ++j) {
      mesh->triangles.emplace_back(vertex(i, j), vertex(i + 1, j), vertex(i + 1, j + 1));
      mesh->triangles.emplace_back(vertex(i, j), vertex(i + 1, j + 1), vertex(i, j + 1));
    }
  }
  return mesh;
}

ModelPtr mesh_balls(int count, int cells) {
  ModelBuilder b;
  b.set_gravity(Vector3::Zero());
  const auto mesh = bumpy_ball(cells, 0.1);
  for (int k = 0; k < count; ++k) {
    const int body = b.add_body({.name = "ball" + std::to_string(k), .inertia = unit_inertia()});
    b.add_joint({.body = body, .type = JointType::kFree});
    Shape shape;
    shape.type = ShapeType::kMesh;
    shape.mesh = mesh;
    shape.mesh_collision = MeshCollision::kTriangles;
    b.add_shape({.body = body, .shape = shape});
  }
  return b.build();
}

// Meshes that fly at each other so fast that a step sweeps over all of both, and meshes one inside the other.
TEST(Bounds, CollisionOfMeshes) {
  constexpr int kBalls = 3;
  const ModelPtr model = mesh_balls(kBalls, 9);
  for (const double speed : {0.0, 1e2, 1e6}) {
    State state(*model);
    for (int k = 0; k < kBalls; ++k) {
      state.q.segment<3>(7 * k) = Vector3(0.03 * k, 0.02 * k * k, 0.01 * k);
      state.v.segment<6>(6 * k) = (k % 2 == 0 ? speed : -speed) * Vector6::LinSpaced(6, 0.1, 1.0);
    }
    Data data(*model);
    forward_kinematics(*model, model->defaults, state, data);
    forward_velocity(*model, state.v, data);
    CollisionDetector detector(std::make_shared<const CollisionModel>(*model));
    const std::span<const Contact> contacts = detector.detect(model->defaults, data, 1e-3);
    EXPECT_GT(contacts.size(), 0U);
    EXPECT_LE(contacts.size(), kBalls * (kBalls - 1) / 2 * CollisionLimits::kContactsOfPair);
  }
}

// A ball that fills a bowl of triangles, each of which it touches along a normal of its own.
ModelPtr ball_in_bowl(double radius) {
  constexpr int kCells = 32;
  auto bowl = std::make_shared<TriangleMesh>();
  bowl->name = "bowl";
  for (int i = 0; i <= kCells; ++i) {
    for (int j = 0; j <= kCells; ++j) {
      const double x = 2.0 * j / kCells - 1.0, y = 2.0 * i / kCells - 1.0;
      bowl->vertices.emplace_back(x, y, radius - std::sqrt(radius * radius - x * x - y * y));
    }
  }
  for (int i = 0; i < kCells; ++i) {
    for (int j = 0; j < kCells; ++j) {
      const int v = i * (kCells + 1) + j, w = v + kCells + 1;
      bowl->triangles.emplace_back(v, v + 1, w + 1);
      bowl->triangles.emplace_back(v, w + 1, w);
    }
  }
  ModelBuilder b;
  Shape shape;
  shape.type = ShapeType::kMesh;
  shape.mesh = bowl;
  shape.mesh_collision = MeshCollision::kTriangles;
  b.add_shape({.body = 0, .shape = shape});
  const int body = b.add_body({.name = "ball", .inertia = unit_inertia()});
  b.add_joint({.body = body, .type = JointType::kFree});
  b.add_shape({.body = body, .shape = {.type = ShapeType::kSphere, .size = Vector3::Constant(radius)}});
  return b.build();
}

// Of too many contacts the deepest stay.
TEST(Bounds, TheDeepestContactsStay) {
  constexpr double kRadius = 1.6, kMargin = 5e-3;
  const ModelPtr model = ball_in_bowl(kRadius);
  State state(*model);
  state.q.head<3>() = Vector3(1e-3, 2e-3, kRadius);
  Data data(*model);
  forward_kinematics(*model, model->defaults, state, data);
  const auto shapes = std::make_shared<const CollisionModel>(*model);
  CollisionOptions options;
  options.margin = kMargin;
  CollisionDetector detector(shapes, options);
  const std::span<const Contact> contacts = detector.detect(model->defaults, data);
  ASSERT_EQ(detector.counts().shortened, 1);
  ASSERT_GT(contacts.size(), CollisionLimits::kContactsOfPair - 4);
  EXPECT_LE(contacts.size(), CollisionLimits::kContactsOfPair);
  CollisionWorkspace workspace;
  std::vector<Manifold> all;
  const Collider &a = shapes->colliders()[0], &b = shapes->colliders()[1];
  collide(shapes->shape(a), data.X_WB[at(a.body)], shapes->shape(b), data.X_WB[at(b.body)], kMargin, workspace, nullptr,
          all);
  std::vector<double> expected;  // one for each manifold: its deepest
  for (const Manifold& m : all) {
    expected.push_back(m.points[0].distance);
    for (const ManifoldPoint& p : m) expected.back() = std::min(expected.back(), p.distance);
  }
  std::sort(expected.begin(), expected.end());
  double deepest = 1.0;
  for (const Contact& c : contacts) deepest = std::min(deepest, c.distance);
  EXPECT_EQ(deepest, expected.front());
  // A manifold has at most four points, so that at least a fourth as many manifolds stay, and they are the deepest.
  std::size_t found = 0;
  for (const Contact& c : contacts) found += c.distance <= expected[CollisionLimits::kContactsOfPair / 4 - 1] ? 1 : 0;
  EXPECT_GE(found, CollisionLimits::kContactsOfPair / 4);
}

// Through a whole step: the report says that contacts were left out.
TEST(Bounds, StepsOfMeshesFarInsideEachOther) {
  const ModelPtr model = mesh_balls(2, 5);
  for (const double speed : {0.0, 1e4, 1e8}) {
    Simulator sim(model, {});
    State state(*model);
    state.q[7] = 0.05;
    state.v.segment<6>(6) = -speed * Vector6::LinSpaced(6, 0.1, 1.0);
    sim.reset(state);
    for (int k = 0; k < 3 && sim.step().status != StepStatus::kDiverged; ++k) {
      EXPECT_EQ(sim.report().warnings.contacts_left_out, sim.detector().counts().shortened > 0);
      EXPECT_LE(sim.report().contacts, static_cast<int>(CollisionLimits::kContactsOfPair));
    }
  }
}

// Numbers that grow without bound are a status long before they are infinite, and the state stays.
TEST(Bounds, LargeStatesHaveDiverged) {
  const ModelPtr model = mesh_balls(1, 4);
  Simulator sim(model, {});
  State state(*model);
  state.v[0] = 0.9 * kLargestState;
  sim.reset(state);
  EXPECT_NE(sim.step().status, StepStatus::kDiverged);
  const double x = sim.state().q[0];
  sim.state().v[0] = 1.1 * kLargestState;
  EXPECT_EQ(sim.step().status, StepStatus::kDiverged);
  EXPECT_EQ(sim.state().q[0], x);
}

// A plate on more points than can be solved for at once: a status that says so.
TEST(Bounds, TooManyRowsOnOneTree) {
  ModelBuilder b;
  b.add_shape({.body = 0, .shape = {.type = ShapeType::kPlane}});
  const int plate = b.add_body({.name = "plate", .inertia = unit_inertia()});
  b.add_joint({.body = plate, .type = JointType::kFree});
  const int side = static_cast<int>(std::sqrt(std::sqrt(TreeIslands::kMostEntries) / 3.0)) + 1;
  for (int i = 0; i < side * side; ++i) {
    ShapeElement foot{.body = plate, .shape = {.type = ShapeType::kSphere, .size = Vector3::Constant(0.01)}};
    const int column = i % side, row = i / side;
    foot.pose.position = Vector3(0.03 * column, 0.03 * row, 0.01);
    b.add_shape(foot);
  }
  Simulator sim(b.build(), {});
  const StepReport& report = sim.step();
  EXPECT_EQ(report.status, StepStatus::kInvalidProblem);
  EXPECT_NE(report.worst.find(std::to_string(3 * side * side) + " rows"), std::string::npos) << report.worst;
  EXPECT_EQ(report.contacts, side * side);
  EXPECT_LT(sim.state().v[2], 0.0) << "its contacts are left out";
}

}  // namespace
}  // namespace touchstone
