// Derivatives of steps on surfaces of triangles: what touches the inside of one is differentiated exactly.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone::test {
namespace {

// A valley of two slopes, y < 0 and y > 0, of large triangles.
Shape valley_mesh() {
  const auto mesh = std::make_shared<TriangleMesh>();
  mesh->vertices = {{-1, -1, 0.3}, {1, -1, 0.2}, {-1, 0, 0.0}, {1, 0, -0.1}, {-1, 1, 0.3}, {1, 1, 0.4}};
  mesh->triangles = {{0, 1, 3}, {0, 3, 2}, {2, 3, 5}, {2, 5, 4}};
  Shape shape{.type = ShapeType::kMesh, .mesh = mesh};
  shape.mesh_collision = MeshCollision::kTriangles;
  return shape;
}

Shape valley_field() {
  const auto field = std::make_shared<HeightField>();
  field->rows = field->columns = 3;
  field->radius_x = field->radius_y = 1.0;
  field->elevation = 0.5;
  field->base = 0.1;
  field->values = {0.6, 0.5, 0.4, 0.0, 0.1, 0.0, 0.6, 0.5, 0.7};
  Shape shape{.type = ShapeType::kHeightField};
  shape.height_field = field;
  return shape;
}

struct Thrown {
  const char* name;
  Shape shape;
  Quaternion turn;
};

const Thrown kThrown[] = {
    {"ball", {.type = ShapeType::kSphere, .size = Vector3(0.06, 0, 0)}, Quaternion::Identity()},
    {"corner", {.type = ShapeType::kBox, .size = Vector3(0.06, 0.05, 0.04)}, Quaternion(so3_exp({0.5, 0.6, 0.2}))},
    {"capsule", {.type = ShapeType::kCapsule, .size = Vector3(0.04, 0.06, 0)}, Quaternion(so3_exp({1.2, 0.3, 0.0}))},
};

// Dropped into the inside of a triangle of ground that hangs in springs and tilts; from its first touch on.
void expect_differences(const Shape& ground, const Thrown& thrown, Integrator rule, Figures& figures, int& exact) {
  ModelBuilder builder("triangles");
  builder.set_gravity({0.3, 0.2, -9.81});
  const int base = builder.add_body(
      {.name = "ground", .inertia = mass_properties({.type = ShapeType::kBox, .size = {1, 1, 0.1}}, 200.0)});
  builder.add_joint({.body = base, .type = JointType::kSlide, .axis = {0, 0, 1}, .stiffness = 1e5, .damping = 1e3});
  builder.add_joint(
      {.body = base, .type = JointType::kHinge, .axis = {0.8, 0.6, 0}, .stiffness = 1e4, .damping = 100.0});
  builder.add_shape({.body = base, .shape = ground});
  const int body = builder.add_body({.name = "thrown", .inertia = mass_properties(thrown.shape, 1000.0)});
  builder.add_joint({.body = body, .type = JointType::kFree});
  builder.add_shape({.body = body, .shape = thrown.shape});
  const ModelPtr model = builder.build();
  SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
  options.time_step = 2e-3;
  options.integrator = rule;
  Simulator sim(model, options);
  State state(*model);
  state.q.segment<3>(2) << 0.2, 0.35, 0.45;
  state.q.segment<4>(5) << thrown.turn.w(), thrown.turn.x(), thrown.turn.y(), thrown.turn.z();
  state.v.segment<6>(2) << 0.3, -0.2, -0.5, 0.3, 0.5, -0.2;
  sim.reset(state);
  for (int steps = 0; steps < 400 && sim.step().contacts == 0; ++steps) {
  }
  ASSERT_GT(sim.report().contacts, 0);
  for (int k = 0; k < 3; ++k) {
    Stepper stepper(model, sim.state(), options);
    stepper.step();
    StepDerivatives d(*model);
    d.compute(stepper.sim());
    if (stepper.sim().report().contacts > 0 && d.held().contacts == 0) {
      ++exact;
      compare(stepper, *model, figures, fmt::format("{}, {}", thrown.name, k), {1e-4, 1e-5, 1e-6, 1e-7});
      if (testing::Test::HasFailure()) return;
    }
    sim.step(2);
  }
}

class StepTriangles : public testing::TestWithParam<Integrator> {};

TEST_P(StepTriangles, AreExactInsideOfOne) {
  Figures figures;
  for (const Shape& ground : {valley_mesh(), valley_field()}) {
    for (const Thrown& thrown : kThrown) {
      int exact = 0;
      expect_differences(ground, thrown, GetParam(), figures, exact);
      EXPECT_GE(exact, 1) << thrown.name << (ground.mesh ? " on a mesh" : " on a field");
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(figures.steps, 6);
  EXPECT_GE(figures.kept, figures.columns * 3 / 4) << figures.kept << " of " << figures.columns;
}

INSTANTIATE_TEST_SUITE_P(Rules, StepTriangles,
                         testing::Values(Integrator::kSemiImplicitEuler, Integrator::kMoreauMidpoint),
                         [](const auto& test) {
                           return std::string(test.param == Integrator::kSemiImplicitEuler ? "euler" : "midpoint");
                         });

// Where both slopes meet a ball touches two of them; at a ridge its normal is no triangle's.
TEST(StepTrianglesHeld, AtAnEdge) {
  ModelBuilder builder("ridge");
  Shape ridge = valley_mesh();
  const auto mesh = std::make_shared<TriangleMesh>(*ridge.mesh);
  for (Vector3& v : mesh->vertices) v.z() = -v.z();
  ridge.mesh = mesh;
  builder.add_shape({.shape = ridge});
  const Shape ball{.type = ShapeType::kSphere, .size = Vector3(0.1, 0, 0)};
  const int body = builder.add_body({.name = "ball", .inertia = mass_properties(ball, 1000.0)});
  builder.add_joint({.body = body, .type = JointType::kFree});
  builder.add_shape({.body = body, .shape = ball});
  const ModelPtr model = builder.build();
  Simulator sim(model);
  State state(*model);
  state.q.head<3>() << 0.0, 0.0, 0.05 + 0.0999;
  sim.reset(state);
  sim.step();
  ASSERT_GT(sim.report().contacts, 0);
  StepDerivatives d(*model);
  d.compute(sim);
  EXPECT_GT(d.held().contacts, 0);
}

}  // namespace
}  // namespace touchstone::test
