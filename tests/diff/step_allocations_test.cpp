// A warm call allocates nothing: every rule, with and without all parameters, exact and smoothed.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diff/step_compare.hpp"
#include "diff/step_scenes.hpp"
#include "support/allocation_guard.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/integrators/integrator.hpp"

namespace touchstone::test {
namespace {

struct AllocationCase {
  Integrator rule;
  bool by_parameters;
  const char* solver = "auto";
  double smoothing = 0.0;
};

class StepAllocations : public testing::TestWithParam<AllocationCase> {};

TEST_P(StepAllocations, NoneOnceWarm) {
  if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const auto [rule, by_parameters, solver, smoothing] = GetParam();
  for (const Scene& scene : kScenes) {
    const ModelPtr model = load_mjcf_string(scene.xml);
    SimulatorOptions options;
    options.integrator = rule;
    options.solver = solver;
    Simulator sim(model, options);
    if (model->nu > 0) sim.input().control.setConstant(scene.push);
    sim.step(60);
    StepDerivatives d(*model, by_parameters ? all_parameters(*model) : StepParameters());
    d.set_smoothing(smoothing);
    VectorX y = VectorX::Ones(d.nx()), x_bar(d.nx()), u_bar(model->nu), theta_bar(d.ntheta());
    const auto call = [&] {
      d.compute(sim.context());
      d.vjp(y, x_bar, u_bar, theta_bar);
      d.jvp(x_bar, u_bar, theta_bar, y);
      d.linearise(sim.context());
      d.vjp(y, x_bar, u_bar, theta_bar);
    };
    call();
    call();
    const AllocationGuard guard;
    call();
    EXPECT_EQ(guard.allocations(), 0u) << scene.name;
  }
}

constexpr AllocationCase kCases[] = {
    {Integrator::kSemiImplicitEuler, false},
    {Integrator::kSemiImplicitEuler, true},
    {Integrator::kSemiImplicitEuler, false, "sap"},
    {Integrator::kSemiImplicitEuler, true, "sap"},
    {Integrator::kSemiImplicitEuler, false, "auto", 1e-3},
    {Integrator::kSemiImplicitEuler, true, "auto", 1e-3},
    {Integrator::kSemiImplicitEuler, true, "ccp-newton"},
    {Integrator::kSemiImplicitEuler, true, "raisim"},
    {Integrator::kMoreauMidpoint, false},
    {Integrator::kMoreauMidpoint, true},
    {Integrator::kMoreauMidpoint, true, "sap"},
    {Integrator::kVariational, false},
    {Integrator::kVariational, true},
    {Integrator::kVariational, true, "lagged"},
    {Integrator::kContactImplicit, false},
    {Integrator::kContactImplicit, true},
};

INSTANTIATE_TEST_SUITE_P(Rules, StepAllocations, testing::ValuesIn(kCases), [](const auto& test) {
  std::string name =
      fmt::format("{}_{}{}{}", entry_of(test.param.rule).name, test.param.solver,
                  test.param.by_parameters ? "_parameters" : "", test.param.smoothing > 0.0 ? "_smoothed" : "");
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace touchstone::test
