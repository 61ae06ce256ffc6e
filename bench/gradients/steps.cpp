// Times of derivatives of a step: bench_gradients_steps [--benchmark_filter=...]. For an arm of seven joints in free
// motion and for robots that stand in contact: the step itself, one gradient (linearise and vjp), A and B (compute),
// and the derivatives of inverse dynamics alone. Counters: dofs and rows of constraints. Talos is there
// where TOUCHSTONE_DATA has its file.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "models.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/scene.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/simulator.hpp"

namespace {

using namespace touchstone;

std::filesystem::path talos_file() {
  const char* data = std::getenv("TOUCHSTONE_DATA");
  return std::filesystem::path(data == nullptr ? "../shared" : data) / "models/mjcf/pal_talos/scene_motor.xml";
}

std::vector<std::string> names() {
  std::vector<std::string> result = {"arm", "quadruped:flat", "humanoid", "humanoid36"};
  if (std::filesystem::exists(talos_file())) result.emplace_back("talos");
  return result;
}

Scene scene_named(const std::string& name) {
  if (name == "humanoid36") return scene_of(load_mjcf_string(humanoid36_xml()));
  if (name == "talos") return scene_of(load_mjcf(talos_file()));
  return make_scene(name);
}

// Where it stands after a while.
Simulator standing(const std::string& name) {
  if (name == "arm") return Simulator(load_mjcf_string(arm_xml()));
  const Scene scene = scene_named(name);
  Simulator sim(scene.model, scene.options);
  sim.reset(scene.start);
  sim.input().control = scene.control;
  sim.step(1000);
  return sim;
}

void count(benchmark::State& state, Simulator& sim) {
  state.counters["dofs"] = sim.model().nv;
  state.counters["rows"] = sim.report().rows;
}

void step(benchmark::State& state, const std::string& name) {
  Simulator sim = standing(name);
  for (auto _ : state) sim.step();
  count(state, sim);
}

void gradient(benchmark::State& state, const std::string& name) {
  Simulator sim = standing(name);
  sim.step();
  StepDerivatives d(sim.model());
  const VectorX y = VectorX::Ones(d.nx());
  VectorX x_bar(d.nx()), u_bar(d.nu()), none(0);
  for (auto _ : state) {
    d.linearise(sim.context());
    d.vjp(y, x_bar, u_bar, none);
    benchmark::DoNotOptimize(x_bar.data());
  }
  count(state, sim);
}

void jacobians(benchmark::State& state, const std::string& name) {
  Simulator sim = standing(name);
  sim.step();
  StepDerivatives d(sim.model());
  for (auto _ : state) {
    d.compute(sim.context());
    benchmark::DoNotOptimize(d.A.data());
  }
  count(state, sim);
}

void inverse_dynamics(benchmark::State& state, const std::string& name) {
  Simulator sim = standing(name);
  sim.step();
  const Model& model = sim.model();
  Data data(model);
  InverseDynamicsDerivatives d(model);
  const VectorX a = VectorX::Ones(model.nv);
  for (auto _ : state) {
    rnea_derivatives(model, sim.parameters(), sim.state().q, sim.state().v, a, data, d);
    benchmark::DoNotOptimize(d.dtau_dq.data());
  }
  count(state, sim);
}

const bool kRegistered = [] {
  for (const std::string& name : names()) {
    const auto add = [&](const char* what, auto function) {
      benchmark::RegisterBenchmark((std::string(what) + "/" + name).c_str(), [=](benchmark::State& state) {
        function(state, name);
      })->Unit(benchmark::kMicrosecond);
    };
    add("step", step);
    add("gradient", gradient);
    add("jacobians", jacobians);
    add("inverse_dynamics", inverse_dynamics);
  }
  return true;
}();

}  // namespace

// --arm and --humanoid36 print these models, for other engines.
int main(int argc, char** argv) {
  const std::string first = argc == 2 ? argv[1] : "";
  if (first == "--arm" || first == "--humanoid36") {
    std::puts((first == "--arm" ? arm_xml() : humanoid36_xml()).c_str());
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
