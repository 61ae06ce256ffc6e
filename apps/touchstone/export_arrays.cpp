#include "export_arrays.hpp"

#include <cstdint>
#include <fstream>
#include <random>
#include <stdexcept>
#include <vector>

#include <fmt/core.h>

#include "console.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/sim/model_arrays.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::cli {
namespace {

constexpr int kRuns = 16;
constexpr int kInterval = 25;  // steps between two states, and between changes of the controls

void randomize(Simulator& simulator, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  const Model& model = simulator.model();
  for (int u = 0; u < model.nu; ++u) {
    const Actuator& actuator = model.actuators[at(u)];
    const Vector2 range = actuator.control_limited ? actuator.control_range : Vector2(-1.0, 1.0);
    simulator.input().control[u] = range[0] + (range[1] - range[0]) * uniform(random);
  }
}

// q, v and control of all states, one after another. A run that fails is left where it was.
std::vector<double> collect_states(const Scene& scene, const SimulatorOptions& options, const ArrayFiles& files) {
  std::vector<double> all;
  std::mt19937_64 random(static_cast<std::uint64_t>(files.seed));
  Simulator simulator(scene.model, options);
  const int each = (files.count + kRuns - 1) / kRuns;
  for (int k = 0; k < files.count; ++k) {
    if (k % each == 0) simulator.reset(scene.start);
    randomize(simulator, random);
    for (int step = 0; step < kInterval; ++step) simulator.step();
    const State& state = simulator.state();
    all.insert(all.end(), state.q.begin(), state.q.end());
    all.insert(all.end(), state.v.begin(), state.v.end());
    all.insert(all.end(), simulator.input().control.begin(), simulator.input().control.end());
  }
  return all;
}

}  // namespace

void export_arrays(const Scene& scene, const ArrayFiles& files) {
  require_distinct({{"--arrays", files.arrays}, {"--states", files.states}}, {});
  const SimulatorOptions& options = scene.options;
  const gpu::ModelArrays arrays = make_model_arrays(*scene.model, options);
  try {
    gpu::write_model_arrays(arrays, files.arrays);
  } catch (const std::runtime_error& error) {  // the backend knows no Error of ours
    throw Error("export: {}", error.what());
  }
  print(fmt::format("{} dofs, {} pairs of shapes: {}\n", arrays.sizes.nv, arrays.sizes.pairs, files.arrays));
  if (files.states.empty()) return;
  const std::vector<double> states = collect_states(scene, options, files);
  const Model& model = *scene.model;
  const std::int32_t header[4] = {files.count, model.nq, model.nv, model.nu};
  std::ofstream file(files.states, std::ios::binary);
  file.write(reinterpret_cast<const char*>(header), sizeof header);
  file.write(reinterpret_cast<const char*>(states.data()),
             static_cast<std::streamsize>(states.size() * sizeof(double)));
  file.flush();
  if (!file) throw Error("export: cannot write '{}'", files.states);
  print(fmt::format("{} states: {}\n", files.count, files.states));
}

}  // namespace touchstone::cli
