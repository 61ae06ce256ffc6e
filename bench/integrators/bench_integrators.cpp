// All figures of the benchmark `integrators` as JSON on the standard output (run.py plots them): the tossed cube of
// Boussema's comparison of time stepping and event-driven simulation, orders of convergence, error against effort.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "self_consistency.hpp"
#include "touchstone/base/clock.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/simulator.hpp"

namespace {

using namespace touchstone;
using nlohmann::json;

// --- contestants ---

struct Contestant {
  const char* name;
  Integrator integrator;
  SmoothRule rule = SmoothRule::kDormandPrince;
};

constexpr Contestant kContestants[] = {
    {"euler", Integrator::kSemiImplicitEuler},
    {"midpoint", Integrator::kMoreauMidpoint},
    {"variational", Integrator::kVariational},
    {"contact-implicit", Integrator::kContactImplicit},
    {"event rk4", Integrator::kEvent, SmoothRule::kRungeKutta},
    {"event midpoint", Integrator::kEvent, SmoothRule::kMidpoint},
    {"event variational", Integrator::kEvent, SmoothRule::kVariational},
    {"event dopri", Integrator::kEvent, SmoothRule::kDormandPrince},
};

SimulatorOptions options_of(const Contestant& contestant, double h) {
  SimulatorOptions options;
  options.integrator = contestant.integrator;
  options.events.rule = contestant.rule;
  options.time_step = h;
  return options;
}

// --- systems ---

struct System {
  const char* name;
  const char* title;
  const char* xml;
  void (*start)(State& state);
  double seconds;
  double restitution = 0.0;
};

constexpr const char* kCube = R"(<mujoco><worldbody><geom type='plane' size='5 5 1' friction='.3'/>
  <body pos='0 0 1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1' friction='.3'/></body></worldbody></mujoco>)";

void toss(State& state) { state.v << 1.0, 0.5, 1.0, 1.0, 2.0, 1.5; }

const System kSystems[] = {
    {"pendulum", "double pendulum, smooth",
     R"(<mujoco><worldbody><body><joint axis='0 1 0'/>
       <geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02' contype='0' conaffinity='0'/>
       <body pos='0 0 -.5'><joint axis='0 1 0'/>
       <geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02' contype='0' conaffinity='0'/></body></body></worldbody></mujoco>)",
     [](State& state) { state.q << 2.0, 1.0; }, 0.5},
    {"top", "spinning body in free flight, smooth",
     R"(<mujoco><worldbody><body pos='0 0 1'><freejoint/>
       <inertial pos='0 0 0' mass='1' diaginertia='.01 .02 .025'/></body></worldbody></mujoco>)",
     [](State& state) { state.v << 0.0, 0.0, 1.0, 0.1, 10.0, 0.1; }, 0.5},
    {"ball", "ball that slides, then rolls: sustained contact, one change of mode",
     R"(<mujoco><worldbody><geom type='plane' size='5 5 1' friction='.3'/><body pos='0 0 .1'><freejoint/>
       <geom size='.1' mass='1' friction='.3'/></body></worldbody></mujoco>)",
     [](State& state) { state.v << 1.0, 0.3, 0.0, 0.0, 0.0, 2.0; }, 0.5},
    {"bounce", "ball that bounces three times",
     R"(<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .6'><freejoint/>
       <geom size='.1' mass='1'/></body></worldbody></mujoco>)",
     [](State& state) { state.v[0] = 0.3; }, 1.3, 0.8},
    {"pin", "pendulum on a sliding ring, pressed on a rail: sustained contact, stick and slip",
     R"(<mujoco><worldbody><geom type='plane' size='5 5 1' friction='.2'/><body pos='0 0 .1'>
       <joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>
       <geom type='box' size='.1 .1 .1' mass='1' friction='.2'/>
       <body pos='0 0 .15'><joint axis='0 1 0'/>
       <geom type='capsule' fromto='0 0 0 0 0 .5' size='.02' mass='.3' contype='0' conaffinity='0'/></body></body></worldbody></mujoco>)",
     [](State& state) { state.q[2] = 0.5; }, 1.0},
};

ModelPtr model_of(const System& system) {
  const ModelPtr loaded = load_mjcf_string(system.xml);
  auto model = std::make_shared<Model>(*loaded);
  for (Material& material : model->defaults.shape_material) material.restitution = system.restitution;
  return model;
}

// --- runs ---

struct Run {
  VectorX q;
  double seconds = 0.0;  // of the processor
  int steps = 0, fallbacks = 0;
};

Run run(const System& system, const ModelPtr& model, const SimulatorOptions& options) {
  Simulator sim(model, options);
  State state(*model);
  system.start(state);
  sim.reset(state);
  Run result;
  result.steps = static_cast<int>(std::lround(system.seconds / options.time_step));
  const Stopwatch watch;
  for (int i = 0; i < result.steps; ++i) {
    if (sim.step().status == StepStatus::kDiverged) break;
    result.fallbacks += sim.report().events.fallbacks;
  }
  result.seconds = watch.seconds();
  result.q = sim.state().q;
  return result;
}

double distance(const Model& model, const VectorX& a, const VectorX& b) {
  VectorX way(model.nv);
  difference(model, a, b, way);
  return way.cwiseAbs().maxCoeff();
}

json work_precision() {
  json out = json::array();
  for (const System& system : kSystems) {
    const ModelPtr model = model_of(system);
    SimulatorOptions exact = options_of(kContestants[std::size(kContestants) - 1], 0.005);
    exact.events.tolerance = 1e-13;
    const VectorX truth = run(system, model, exact).q;
    json curves;
    const auto add = [&](const std::string& name, const SimulatorOptions& options) {
      // The least time of a few: what else the machine does is not part of it.
      Run r = run(system, model, options);
      for (int i = 0; i < 3; ++i) r.seconds = std::min(r.seconds, run(system, model, options).seconds);
      curves[name].push_back({{"h", options.time_step},
                              {"accuracy", options.accuracy},
                              {"error", distance(*model, truth, r.q)},
                              {"seconds", r.seconds},
                              {"fallbacks", r.fallbacks}});
    };
    for (const Contestant& contestant : kContestants) {
      if (contestant.integrator == Integrator::kEvent && contestant.rule == SmoothRule::kDormandPrince) {
        for (const double tolerance : {1e-4, 1e-6, 1e-8, 1e-10}) {
          SimulatorOptions options = options_of(contestant, 0.05);
          options.accuracy = tolerance;
          add("event dopri, accuracy", options);
        }
        continue;
      }
      for (const double h : {0.02, 0.01, 0.005, 0.0025, 0.00125}) add(contestant.name, options_of(contestant, h));
    }
    for (const int k : {0, 2}) {
      for (const double accuracy : {1e-3, 1e-4, 1e-5, 1e-6}) {
        SimulatorOptions options = options_of(kContestants[k], 0.05);
        options.accuracy = accuracy;
        add(std::string(kContestants[k].name) + ", accuracy", options);
      }
    }
    out.push_back({{"name", system.name}, {"title", system.title}, {"curves", curves}});
  }
  return out;
}

// --- the tossed cube ---

json tossed_cube() {
  json out;
  const System cube{"cube", "tossed cube", kCube, toss, 2.0};
  const ModelPtr model = model_of(cube);
  for (const Contestant& contestant : kContestants) {
    for (const double h : {0.01, 0.05}) {
      Simulator sim(model, options_of(contestant, h));
      State state(*model);
      toss(state);
      sim.reset(state);
      json time = json::array(), x = json::array(), y = json::array(), z = json::array(), force = json::array(),
           energy = json::array();
      double seconds = 0.0, deepest = 0.0, gained = 0.0, before = sim.kinetic_energy() + sim.potential_energy();
      int steps = 0, events = 0, fallbacks = 0, unsolved = 0;
      while (sim.state().time < cube.seconds - 0.5 * h) {
        const Stopwatch watch;
        const StepReport report = sim.step();
        seconds += watch.seconds();
        ++steps;
        events += report.events.events;
        fallbacks += report.warnings.event_fallback || report.warnings.variational_fallback ? 1 : 0;
        unsolved += report.status != StepStatus::kOk ? 1 : 0;
        double normal = 0.0;
        for (const ContactForce& f : sim.contacts()) {
          normal += f.local_force.z();
          deepest = std::max(deepest, -f.contact->distance);
        }
        const double now = sim.kinetic_energy() + sim.potential_energy();
        gained = std::max(gained, now - before);
        before = now;
        time.push_back(sim.state().time);
        x.push_back(sim.state().q[0]);
        y.push_back(sim.state().q[1]);
        z.push_back(sim.state().q[2]);
        force.push_back(normal);
        energy.push_back(now);
      }
      out.push_back({{"name", contestant.name},
                     {"h", h},
                     {"time", time},
                     {"x", x},
                     {"y", y},
                     {"z", z},
                     {"force", force},
                     {"energy", energy},
                     {"speed", sim.state().v.norm()},
                     {"seconds_per_step", seconds / steps},
                     {"events", events},
                     {"fallbacks", fallbacks},
                     {"unsolved", unsolved},
                     {"deepest", deepest},
                     {"gained", gained}});
    }
  }
  return out;
}

// --- long times ---

// The largest distance of the energy to its start in each second.
json long_energy() {
  json out;
  const System& system = kSystems[0];
  const ModelPtr model = model_of(system);
  for (const Contestant& contestant : kContestants) {
    for (const double h : {0.01, 0.005}) {
      Simulator sim(model, options_of(contestant, h));
      State state(*model);
      system.start(state);
      sim.reset(state);
      const double start = sim.kinetic_energy() + sim.potential_energy();
      json errors = json::array();
      const int a_second = static_cast<int>(std::lround(1.0 / h));
      for (int second = 0; second < 30; ++second) {
        double worst = 0.0;
        for (int i = 0; i < a_second; ++i) {
          sim.step();
          worst = std::max(worst, std::abs(sim.kinetic_energy() + sim.potential_energy() - start));
        }
        errors.push_back(worst);
      }
      out.push_back({{"name", contestant.name}, {"h", h}, {"errors", errors}});
    }
  }
  return out;
}

}  // namespace

int main() {
  try {
    std::cout << json{{"cube", tossed_cube()},
                      {"precision", work_precision()},
                      {"energy", long_energy()},
                      {"consistency", self_consistency()}}
              << "\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
