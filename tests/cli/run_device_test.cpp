// touchstone run --device: many worlds beside a run.
#include <cmath>

#include "command_line.hpp"
#include "touchstone/record/recording.hpp"

namespace {

using nlohmann::json;

// Worlds that start with other velocities end elsewhere, each where its recording says.
TEST_F(CommandLine, RunOnADeviceShowsTheWorldThatIsAskedFor) {
  double x[2] = {};
  for (int world = 0; world < 2; ++world) {
    const std::string record = "world" + std::to_string(world) + ".h5";
    const Outcome outcome = run("run cube-slide:2 --time 0.2 --device lanes --worlds 3 --noise 0.3 --json --record " +
                                record + " --world " + std::to_string(world));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.error;
    const json figures = json::parse(outcome.out), batch = figures["batch"];
    EXPECT_EQ(batch["worlds"], 3);
    EXPECT_EQ(batch["world"], world);
    EXPECT_EQ(batch["steps"], 3 * figures["steps"].get<int>());
    EXPECT_EQ(batch["lost"], 0);
    EXPECT_LE(batch["natv_worst"].get<double>(), 1e-3);
    EXPECT_LT(batch["difference"].get<double>(), 1e-2);
    x[world] = figures["final"]["q"][0].get<double>();
    const touchstone::Recording recording(folder_ / record);
    EXPECT_EQ(recording.rows(), figures["steps"].get<std::size_t>() + 1);
  }
  EXPECT_GT(std::abs(x[0] - x[1]), 1e-4);
  const Outcome table = run("run cube-slide:2 --time 0.1 --device lanes --worlds 2");
  EXPECT_THAT(table.out, HasSubstr("2 worlds on lanes"));
  EXPECT_THAT(table.out, HasSubstr("worst natv of the batch"));
}

TEST_F(CommandLine, RunOnADeviceRefusesWhatItCannotDo) {
  const Outcome cuda = run("run stack:2 --device cuda");
  EXPECT_EQ(cuda.exit_code, 2);
  EXPECT_THAT(cuda.error, HasSubstr("TOUCHSTONE_CUDA_LIBRARY"));
  EXPECT_THAT(cuda.error, HasSubstr("--device lanes"));
  const Outcome world = run("run stack:2 --device lanes --worlds 2 --world 2");
  EXPECT_EQ(world.exit_code, 2);
  EXPECT_THAT(world.error, HasSubstr("--world 2"));
  EXPECT_EQ(run("run stack:2 --device tpu").exit_code, 2);
  EXPECT_THAT(run("run woodpecker --device lanes").error, HasSubstr("integrators"));
}

// Legs on a height field, with limited servos.
TEST_F(CommandLine, RunOnADeviceStepsARobotOnAHeightField) {
  const Outcome outcome = run("run quadruped --time 0.3 --device lanes --worlds 2 --json");
  const json batch = json::parse(outcome.out)["batch"];
  EXPECT_EQ(batch["lost"], 0) << outcome.error;
  EXPECT_LE(batch["natv_p50"].get<double>(), 1e-3);
  EXPECT_LT(batch["difference"].get<double>(), 0.1);
}

}  // namespace
