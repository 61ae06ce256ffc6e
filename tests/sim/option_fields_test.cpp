#include "touchstone/sim/option_fields.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

using testing::HasSubstr;

std::string message_of(const std::string& assignment) {
  SimulatorOptions options;
  try {
    set_option(options, assignment);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SimulatorOptionFields, SetBothKinds) {
  SimulatorOptions options;
  set_option(options, "solver=nbgs");
  set_option(options, "erp=0.125");
  set_option(options, "integrator=midpoint");
  set_option(options, "relaxation=0.5");  // of the solver
  set_option(options, "relaxation=0.75");
  EXPECT_EQ(options.solver, "nbgs");
  EXPECT_EQ(options.stabilisation.erp, 0.125);
  EXPECT_EQ(options.integrator, Integrator::kMoreauMidpoint);
  set_option(options, "integrator=variational");
  EXPECT_EQ(options.integrator, Integrator::kVariational);
  EXPECT_EQ(options.solver_options, std::vector<std::string>{"relaxation=0.75"});
}

TEST(SimulatorOptionFields, ComeBackFromTheirText) {
  SimulatorOptions options;
  set_option(options, "solver=nbgs");
  set_option(options, "relaxation=0.75");
  options.time_step = 1.0 / 3.0;
  options.tolerance = 1.23456789012345e-7;
  options.stabilisation.recovery_speed = 0.1;
  options.warm_start = false;
  SimulatorOptions again;
  for (const auto& [name, value] : option_values(options)) set_option(again, name, value);
  EXPECT_EQ(option_values(again), option_values(options));
  EXPECT_EQ(again.time_step, options.time_step);
  EXPECT_EQ(again.tolerance, options.tolerance);
}

TEST(SimulatorOptionFields, MistakesAreExplained) {
  EXPECT_THAT(message_of("erpp=1"), HasSubstr("did you mean 'erp'"));
  EXPECT_THAT(message_of("erp=2"), HasSubstr("[0, 1]"));
  EXPECT_THAT(message_of("erp=nan"), HasSubstr("[0, 1]"));
  EXPECT_THAT(message_of("erp"), HasSubstr("name=value"));
  EXPECT_THAT(message_of("solver=ncp-pgz"), HasSubstr("ncp-pgs"));
  EXPECT_THAT(message_of("integrator=rk4"), HasSubstr("euler|midpoint|variational"));
  EXPECT_THAT(message_of("time_step=-1"), HasSubstr("time_step"));
}

}  // namespace
}  // namespace touchstone
