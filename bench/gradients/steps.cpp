// Times of derivatives of a step: bench_gradients_steps [--benchmark_filter=...]. For an arm of seven joints in free
// motion and for robots that stand in contact: the step itself, one gradient (linearise and vjp), A and B (compute),
// and the derivatives of inverse dynamics alone. Counters: dofs and rows of constraints.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/scenes/scene.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/sim/simulator.hpp"

namespace {

using namespace touchstone;

std::string arm_xml() {
  std::string xml = "<mujoco><worldbody>", end;
  const char* axes[7] = {"0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1"};
  for (const char* axis : axes) {
    xml += std::string("<body pos='0 0 0.2'><joint axis='") + axis +
           "' damping='0.1'/><geom type='capsule' fromto='0 0 0 0.05 0 0.2' size='0.05' contype='0'/>";
    end += "</body>";
  }
  return xml + end + "</worldbody></mujoco>";
}

// Where it stands after a while.
Simulator standing(const std::string& name) {
  if (name == "arm") return Simulator(load_mjcf_string(arm_xml()));
  const Scene scene = make_scene(name);
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
  for (const char* name : {"arm", "quadruped:flat", "humanoid"}) {
    const std::string scene = name;
    const auto add = [&](const char* what, auto function) {
      benchmark::RegisterBenchmark((std::string(what) + "/" + name).c_str(), [=](benchmark::State& state) {
        function(state, scene);
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

// --arm prints the model of the arm, for other engines.
int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--arm") {
    std::puts(arm_xml().c_str());
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
