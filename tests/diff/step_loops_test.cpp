// Derivatives of steps of mechanisms with loop joints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/random_loops.hpp"
#include "diff/step_compare.hpp"

namespace touchstone::test {
namespace {

constexpr int kTypes = static_cast<int>(LoopJointType::kPointOnPlane) + 1;

class StepDerivativesOfLoops : public testing::TestWithParam<int> {};

TEST_P(StepDerivativesOfLoops, OnRandomMechanisms) {
  const auto type = static_cast<LoopJointType>(GetParam());
  std::mt19937_64 random(100 + static_cast<unsigned>(GetParam()));
  Figures figures;
  for (int i = 0; i < 12; ++i) {
    const bool in_pass = i % 4 >= 2;  // nearly closed: the slack of the pass, 1e-5 of its way, counts as constant
    const auto [model, state] = looped(type, random, i % 2 == 0, in_pass ? 4e-5 : 0.02);
    SimulatorOptions options = exact_options(in_pass ? Stabilisation::kPosition : Stabilisation::kBaumgarte);
    options.tolerance = 1e-13;  // m/s: rounding of rows that move at 1 m/s
    Stepper stepper(model, state, options);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare(stepper, *model, figures, fmt::format("{} {}", to_string(type), i), {1e-3, 1e-4, 1e-5});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 8);
  EXPECT_GE(figures.passes, 2);
  RecordProperty("worst", fmt::format("{:.1e}", figures.worst));
}

TEST_P(StepDerivativesOfLoops, ByParameters) {
  const auto type = static_cast<LoopJointType>(GetParam());
  std::mt19937_64 random(200 + static_cast<unsigned>(GetParam()));
  Figures figures;
  for (int i = 0; i < 3; ++i) {
    const auto [model, state] = looped(type, random, i % 2 == 0, 0.02);
    SimulatorOptions options = exact_options(Stabilisation::kBaumgarte);
    options.tolerance = 1e-13;
    Stepper stepper(model, state, options);
    if (model->nu > 0) stepper.control() = random_vector(model->nu, random);
    compare_parameters(stepper, *model, figures, fmt::format("{} {}", to_string(type), i), {1e-2, 1e-3, 1e-4});
    if (HasFailure()) return;
  }
  EXPECT_GE(figures.kept, figures.columns / 2) << figures.kept << " of " << figures.columns;
  EXPECT_GE(figures.steps, 1);
}

INSTANTIATE_TEST_SUITE_P(Types, StepDerivativesOfLoops, testing::Range(0, kTypes), [](const auto& type) {
  return std::string(to_string(static_cast<LoopJointType>(type.param)));
});

}  // namespace
}  // namespace touchstone::test
