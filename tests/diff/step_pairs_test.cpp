// Derivatives of steps in which two shapes meet anyhow: on faces, at edges, corners and rims, nearly along them too.
#include <algorithm>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/step_instants.hpp"
#include "support/effort.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone::test {
namespace {

double uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

Shape random_shape(ShapeType type, std::mt19937_64& random) {
  return {.type = type,
          .size = Vector3(uniform(random, 0.03, 0.1), uniform(random, 0.03, 0.1), uniform(random, 0.03, 0.1))};
}

// Any rotation; one in two is within four degrees of one by quarter turns, so that faces nearly lie on each other.
Quaternion random_turn(std::mt19937_64& random) {
  if (uniform(random, 0.0, 1.0) < 0.5) return Quaternion(so3_exp(random_vector3(random) * 2.0));
  const Vector3 axis = Vector3::Unit(std::uniform_int_distribution<int>(0, 2)(random));
  const double quarter = 1.5707963267948966 * std::uniform_int_distribution<int>(0, 3)(random);
  return Quaternion(so3_exp(quarter * axis) * so3_exp(random_vector3(random) * 0.04));
}

// Pairs of which the search knows normals and points to 1e-5, which differences feel.
bool is_rough(ShapeType a, ShapeType b) {
  const auto is_round = [](ShapeType type) { return type == ShapeType::kCylinder || type == ShapeType::kCone; };
  const auto is_simple = [](ShapeType type) { return type == ShapeType::kPlane || type == ShapeType::kSphere; };
  return (is_round(a) && !is_simple(b)) || (is_round(b) && !is_simple(a));
}

// A shape is thrown at one that a hinge and a spring hold.
TEST(StepDerivativesOfPairs, ThatMeetAnyhow) {
  constexpr ShapeType kThrown[] = {ShapeType::kSphere, ShapeType::kCapsule, ShapeType::kBox, ShapeType::kCylinder,
                                   ShapeType::kCone};
  constexpr ShapeType kHeld[] = {ShapeType::kPlane, ShapeType::kSphere,   ShapeType::kCapsule,
                                 ShapeType::kBox,   ShapeType::kCylinder, ShapeType::kCone};
  std::mt19937_64 random(23);
  Tally tally;
  const int throws = whole_family() ? 40 : 3;
  for (const ShapeType thrown : kThrown) {
    for (const ShapeType held : kHeld) {
      if (is_rough(thrown, held)) continue;
      for (int k = 0; k < throws; ++k) {
        ModelBuilder builder("pair");
        builder.set_gravity(Vector3::Zero());
        int base = 0;
        if (held != ShapeType::kPlane) {
          const Shape shape = random_shape(held, random);
          base = builder.add_body({.name = "held", .inertia = mass_properties(shape, 2000.0)});
          builder.add_joint({.body = base,
                             .type = JointType::kHinge,
                             .axis = random_vector3(random).normalized(),
                             .stiffness = 20.0});
          builder.add_shape({.body = base, .pose = {Vector3::Zero(), random_turn(random)}, .shape = shape});
        } else {
          builder.add_shape({.shape = {.type = held}});
        }
        const Shape shape = random_shape(thrown, random);
        const int body = builder.add_body({.name = "thrown", .inertia = mass_properties(shape, 1000.0)});
        builder.add_joint({.body = body, .type = JointType::kFree});
        builder.add_shape({.body = body, .shape = shape});
        const ModelPtr model = builder.build();
        SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
        options.time_step = 2e-3;
        Simulator sim(model, options);
        State state(*model);
        const int q = base > 0 ? 1 : 0, v = q;
        const Quaternion turn = random_turn(random);
        state.q.segment<3>(q) << uniform(random, -0.08, 0.08), uniform(random, -0.08, 0.08), 0.4;
        state.q.segment<4>(q + 3) << turn.w(), turn.x(), turn.y(), turn.z();
        state.v.segment<3>(v) << uniform(random, -0.1, 0.1), uniform(random, -0.1, 0.1), -1.0;
        state.v.segment<3>(v + 3) = 0.2 * random_vector3(random);
        sim.reset(state);
        int steps = 0;
        while (steps++ < 300 && sim.step().contacts == 0) {
        }
        sim.step(std::uniform_int_distribution<int>(0, 3)(random));
        const bool is_at_rest =
            sim.state().v.lpNorm<Eigen::Infinity>() < 1e-6;  // without gravity: on the border of modes
        if (sim.report().contacts == 0 || is_at_rest) continue;
        Stepper stepper(model, sim.state(), options);
        compare_instant(stepper, *model,
                        fmt::format("{} on {}, {}", static_cast<int>(thrown), static_cast<int>(held), k), 10,
                        {1e-4, 1e-5, 1e-6, 1e-7}, random, tally);
        if (HasFailure()) return;
      }
    }
  }
  RecordProperty("figures", tally.text());
  EXPECT_GE(tally.figures.steps, tally.instants / 2) << tally.text();
  EXPECT_GE(tally.figures.kept, tally.figures.columns * 3 / 4) << tally.text();
}

}  // namespace
}  // namespace touchstone::test
