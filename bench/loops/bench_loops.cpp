// The program of the benchmark `loops` for what other engines need; run.py calls it. JSON on the standard output.
//
//   bench_loops_touchstone run SCENE COORDINATES SECONDS STEP UPKEEP
//     a run with `auto`: errors of loops, time of a step; UPKEEP is closed, pass or none
//   bench_loops_touchstone mjcf SCENE HULLS
//     the system in reduced coordinates for MuJoCo, with its start, controls and pushes
#include <cmath>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mjcf.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/scenes/loop_samples.hpp"

namespace {

using namespace touchstone;
using bench::to_mjcf;
using bench::writes;
using nlohmann::json;

SuiteCoordinates coordinates_of(const std::string& name) {
  if (name == "reduced") return SuiteCoordinates::kReduced;
  if (name == "maximal") return SuiteCoordinates::kMaximal;
  throw std::runtime_error("coordinates are 'reduced' or 'maximal', not '" + name + "'");
}

LoopUpkeep upkeep_of(const std::string& name) {
  if (name == "closed") return LoopUpkeep::kClosed;
  if (name == "pass") return LoopUpkeep::kPass;
  if (name == "none") return LoopUpkeep::kNone;
  throw std::runtime_error("loops are kept by 'closed', 'pass' or 'none', not '" + name + "'");
}

json finite(double value) { return std::isfinite(value) ? json(value) : json(1e300); }

json run(const std::vector<std::string>& words) {
  const SuiteRun run = run_suite_system(load_suite_system(words.at(0), coordinates_of(words.at(1))),
                                        std::stod(words.at(2)), std::stod(words.at(3)), upkeep_of(words.at(4)));
  return {{"steps", run.steps},
          {"unsolved", run.unsolved},
          {"contacts", run.contacts},
          {"error", finite(run.error)},
          {"settled", finite(run.settled)},
          {"natv", finite(run.natv)},
          {"seconds", run.seconds},
          {"median", run.median}};
}

// World axes, at the centre of mass: what xfrc_applied is.
json pushes_of(const Scene& scene) {
  json pushes = json::array();
  for (const Push& push : scene.pushes) {
    const std::vector<double> force(push.force.begin(), push.force.end());
    const std::vector<double> torque(push.torque.begin(), push.torque.end());
    pushes.push_back({{"body", scene.model->bodies[at(push.body)].name},
                      {"force", force},
                      {"torque", torque},
                      {"start", push.start},
                      {"end", finite(push.end)}});
  }
  return pushes;
}

json answer(const std::string& command, const std::vector<std::string>& words) {
  if (command == "run") return run(words);
  if (command == "mjcf") {
    const Scene scene = load_suite_system(words.at(0), SuiteCoordinates::kReduced);
    std::vector<double> control;
    for (int u = 0; u < scene.model->nu; ++u) {
      if (!writes(scene.model->actuators[at(u)])) continue;
      control.push_back(scene.control.size() > 0 ? scene.control[u] : 0.0);
    }
    const std::vector<double> q(scene.start.q.begin(), scene.start.q.end());
    const std::vector<double> v(scene.start.v.begin(), scene.start.v.end());
    return {{"xml", to_mjcf(scene, words.at(1) == "hulls")},
            {"control", control},
            {"pushes", pushes_of(scene)},
            {"q", q},
            {"v", v}};
  }
  throw std::runtime_error("unknown command '" + command + "'");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw std::runtime_error("a command is missing");
    std::cout << answer(argv[1], {argv + 2, argv + argc}).dump() << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
