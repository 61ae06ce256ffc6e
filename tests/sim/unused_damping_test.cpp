#include "touchstone/sim/unused_damping.hpp"

#include <gtest/gtest.h>

#include "touchstone/model/builder.hpp"

namespace touchstone {
namespace {

ModelPtr ball(double dissipation, double relaxation_time) {
  ModelBuilder b;
  Body body;
  body.name = "ball";
  body.inertia = {1.0, Vector3::Zero(), 1e-2 * Matrix3::Identity()};
  const int index = b.add_body(body);
  Joint joint;
  joint.name = "free";
  joint.body = index;
  joint.type = JointType::kFree;
  b.add_joint(joint);
  ShapeElement shape;
  shape.name = "pad";
  shape.body = index;
  shape.shape = {.type = ShapeType::kSphere, .size = {0.1, 0, 0}};
  shape.material.stiffness = 1e5;
  shape.material.dissipation = dissipation;
  shape.material.relaxation_time = relaxation_time;
  b.add_shape(shape);
  return b.build();
}

std::string text(double dissipation, double relaxation_time, const std::string& solver, bool linear = false) {
  SimulatorOptions options;
  options.solver = solver;
  options.laws.linear_damping = linear;
  const ModelPtr model = ball(dissipation, relaxation_time);
  EXPECT_TRUE(model->warnings.empty());
  const auto warning = unused_damping(*model, options);
  if (!warning) return "";
  EXPECT_NE(warning->origin.element.find("pad"), std::string::npos);
  return warning->message;
}

TEST(UnusedDamping, IsSaidOnlyWhereASolverDoesNotUseIt) {
  const std::string all =
      "dissipation and relaxation time (1 shape) have an effect with the solvers sap, lagged and "
      "similar only";
  EXPECT_EQ(text(0.5, 0.0, "auto"), all);
  EXPECT_EQ(text(0.0, 1e-3, "ncp-pgs"), all);
  EXPECT_EQ(text(0.0, 0.0, "auto"), "");
  for (const char* solver : {"lagged", "similar"}) {
    EXPECT_EQ(text(0.5, 0.0, solver), "");
    EXPECT_EQ(text(0.5, 1e-3, solver), "");
    EXPECT_NE(text(0.0, 1e-3, solver).find("relaxation time (1 shape) has no effect with " + std::string(solver)),
              std::string::npos);
    EXPECT_EQ(text(0.0, 1e-3, solver, true), "");
    EXPECT_NE(text(0.5, 0.0, solver, true).find("dissipation (1 shape) has no effect with linear_damping=true"),
              std::string::npos);
  }
  EXPECT_NE(text(0.5, 0.0, "sap").find("dissipation (1 shape) has no effect with sap"), std::string::npos);
  EXPECT_EQ(text(0.0, 1e-3, "sap"), "");
  EXPECT_EQ(text(0.5, 1e-3, "sap"), "");
}

}  // namespace
}  // namespace touchstone
