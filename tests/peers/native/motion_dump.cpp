// Motions under MuJoCo's softened constraints or rigid ones, with sensors, for the comparison with MuJoCo.
//
//   motion_dump MODEL INPUT
//
// INPUT is JSON: {"cone": name, "integrator": name, "steps": count, "states": [{"q", "v", "activation", "control"}]},
// and, if the constraints are to be rigid, "rigid": true.
// Standard output: JSON, for each state the q, v and sensors after each step.
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::peers {
namespace {

using Json = nlohmann::json;

VectorX vector_of(const Json& numbers) {
  const auto list = numbers.get<std::vector<double>>();
  return Eigen::Map<const VectorX>(list.data(), static_cast<Eigen::Index>(list.size()));
}

std::vector<double> list_of(const VectorX& v) { return {v.data(), v.data() + v.size()}; }

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3) {
    std::cerr << "usage: motion_dump MODEL INPUT\n";
    return 2;
  }
  const Json input = Json::parse(std::ifstream(arguments[2]));
  auto model = std::make_shared<Model>(*load_model(arguments[1]));
  model->options.cone = input["cone"].get<std::string>();
  model->options.integrator = input["integrator"].get<std::string>();
  SimulatorOptions options;
  const bool rigid = input.value("rigid", false);
  options.constraints = rigid ? ConstraintModel::kRigid : ConstraintModel::kMujoco;
  options.tolerance = rigid ? 1e-9 : 1e-13;
  options.max_iterations = 500;
  Simulator sim(model, options);
  Json results = Json::array();
  for (const Json& given : input["states"]) {
    State state(*model);
    state.q = vector_of(given["q"]);
    state.v = vector_of(given["v"]);
    state.activation = vector_of(given["activation"]);
    sim.reset(state);
    sim.input().control = vector_of(given["control"]);
    Json steps = Json::array();
    for (int i = 0; i < input["steps"].get<int>(); ++i) {
      const StepReport& report = sim.step();
      steps.push_back({{"q", list_of(sim.state().q)},
                       {"v", list_of(sim.state().v)},
                       {"contacts", report.contacts},
                       {"sensors", list_of(sim.sensors())}});
    }
    results.push_back(steps);
  }
  std::cout << results.dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace touchstone::peers

int main(int argc, char** argv) { return touchstone::peers::run_program(touchstone::peers::run, argc, argv); }
