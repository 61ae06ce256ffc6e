// Compiled against the installed headers and libraries only.

#include <cstdio>

#include "touchstone/base/cpu.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/version.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/simulator.hpp"

int main() {
  try {
    touchstone::require_supported_cpu();
    touchstone::SceneRun run(touchstone::make_scene("quadruped"));
    for (int i = 0; i < 100; ++i) run.step();
    std::printf("touchstone %s, %zu scenes, natv %.1e m/s\n", touchstone::kVersion, touchstone::scenes().size(),
                run.simulator().report().residuals.natv);
    return run.simulator().report().status == touchstone::StepStatus::kOk ? 0 : 1;
  } catch (const touchstone::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
