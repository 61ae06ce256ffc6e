// Event-driven steps of generated scenes: bounds on the work, rest, the same bits again.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "support/event_models.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

using test::event_options;
using test::with_restitution;
using test::world;

// Bodies of all shapes that fall in a heap.
ModelPtr random_heap(std::mt19937_64& random, int bodies) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::string content = "<geom type='plane' size='5 5 1'/>";
  for (int i = 0; i < bodies; ++i) {
    const double r = 0.05 + 0.1 * unit(random);
    const char* shapes[] = {"sphere", "box", "capsule"};
    content += "<body pos='" + std::to_string(0.3 * unit(random)) + " " + std::to_string(0.3 * unit(random)) + " " +
               std::to_string(0.3 + 0.35 * i) + "' euler='" + std::to_string(90 * unit(random)) + " " +
               std::to_string(90 * unit(random)) + " 0'><freejoint/><geom type='" + shapes[i % 3] + "' size='" +
               std::to_string(r) + " " + std::to_string(r) + " " + std::to_string(r) + "' mass='" +
               std::to_string(0.2 + unit(random)) + "' friction='" + std::to_string(unit(random)) + "'/></body>";
  }
  return load_mjcf_string(world(content));
}

// Bodies near the ground on a grid, thrown at each other: all touch within a tenth of a second.
ModelPtr random_throw(std::mt19937_64& random, int bodies) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::string content = "<geom type='plane' size='5 5 1'/>";
  const auto number = [&](double from, double to) { return std::to_string(from + (to - from) * unit(random)) + " "; };
  for (int i = 0; i < bodies; ++i) {
    const double r = 0.04 + 0.04 * unit(random), height = 2.0 * r + 0.02 * unit(random);
    const char* shapes[] = {"sphere", "box", "capsule"};
    const std::string size = std::to_string(r) + " ";
    content += "<body pos='" + std::to_string(0.33 * (i % 5)) + " " + std::to_string(0.33 * (i / 5)) + " " +
               std::to_string(height) + "' euler='" + number(0, 90) + number(0, 90) + number(0, 90) +
               "'><freejoint/><geom type='" + shapes[i % 3] + "' size='" + size + size + size + "' mass='" +
               number(0.2, 1.2) + "' friction='" + number(0, 1) + "'/></body>";
  }
  return load_mjcf_string(world(content));
}

int read_count(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

// Counts over many scenes, and what must hold in each step of them.
struct SceneCounts {
  long steps = 0, fallbacks = 0, events = 0;
  int scenes = 0, most = 0, paradoxes = 0;
  std::map<std::string, int> reasons;

  void run(Simulator& sim, int count) {
    double energy = sim.kinetic_energy() + sim.potential_energy();
    ++scenes;
    for (int i = 0; i < count; ++i) {
      const StepReport& report = sim.step();
      ASSERT_NE(report.status, StepStatus::kDiverged) << "step " << i;
      ASSERT_LE(report.events.events, sim.options().events.max_events);
      EXPECT_EQ(report.events.fallbacks > 0, report.warnings.event_fallback);
      EXPECT_EQ(report.events.fallbacks > 0, report.events.why != EventFallback::kNone);
      EXPECT_NEAR(sim.state().time, 0.01 * (i + 1), 1e-9);
      const double now = sim.kinetic_energy() + sim.potential_energy();
      // Newton's law of impact may add energy where there is friction (Kane and Levinson 1985): a paradox of the law.
      const double paradox = std::max(0.0, report.energy.inelastic);
      EXPECT_LT(paradox, 0.02 * (1.0 + std::abs(energy))) << i;
      EXPECT_LT(now, energy + paradox + 1e-6 * (1.0 + std::abs(energy)) + (report.events.fallbacks > 0 ? 0.05 : 0.0))
          << i;
      paradoxes += paradox > 1e-6 * (1.0 + std::abs(energy)) ? 1 : 0;
      energy = now;
      ++steps;
      fallbacks += report.events.fallbacks;
      events += report.events.events;
      most = std::max(most, report.events.events);
      if (report.events.fallbacks > 0) ++reasons[to_string(report.events.why)];
    }
  }

  void print() const {
    std::cout << scenes << " scenes, " << steps << " steps, " << events << " events, at most " << most << " in a step, "
              << paradoxes << " steps whose impacts add energy, " << fallbacks << " fallbacks";
    for (const auto& [why, count] : reasons) std::cout << "; " << why << ": " << count;
    std::cout << std::endl;
  }
};

// Heaps of one to twenty bodies that fall for a second: 12 small ones, with TOUCHSTONE_LONG 300 (four minutes).
TEST(EventDriven, RandomScenesHaveBoundedEvents) {
  const bool is_long = std::getenv("TOUCHSTONE_LONG") != nullptr;
  std::mt19937_64 random(19);
  SceneCounts counts;
  for (int k = 0; k < (is_long ? 300 : 12); ++k) {
    SCOPED_TRACE(k);
    const int bodies = is_long ? 1 + k % 20 : 1 + k % 3;
    Simulator sim(with_restitution(random_heap(random, bodies), 0.25 * (k % 4)), event_options(0.01));
    counts.run(sim, is_long ? 100 : 60);
  }
  counts.print();
  EXPECT_LE(counts.fallbacks, 2 + counts.steps / 100) << "of " << counts.steps;
}

// One to twenty bodies thrown at each other, for 0.15 s: ten scenes, with TOUCHSTONE_EVENT_SCENES=10000 so many.
TEST(EventDriven, RandomThrowsHaveBoundedEvents) {
  const int scenes = read_count("TOUCHSTONE_EVENT_SCENES", 10);
  SceneCounts counts;
  for (int k = 0; k < scenes; ++k) {
    SCOPED_TRACE(k);
    std::mt19937_64 random(static_cast<std::uint64_t>(1000 + k));
    Simulator sim(with_restitution(random_throw(random, 1 + k % 20), 0.25 * (k % 4)), event_options(0.01));
    std::normal_distribution<double> speed(0.0, 1.0);
    for (int i = 0; i < sim.model().nv; ++i) sim.state().v[i] = speed(random);
    counts.run(sim, 15);
    if (k % 500 == 499) counts.print();
  }
  counts.print();
  EXPECT_LE(counts.fallbacks, 2 + counts.steps / 100) << "of " << counts.steps;
}

// A capsule that spins on the ground rattles from one end to the other, ever faster: after some events of a step that
// counts as rest, and the step is still made from event to event.
TEST(EventDriven, RattlingComesToRest) {
  std::mt19937_64 random(19);
  ModelPtr model;
  for (int k = 0; k <= 46; ++k) model = random_heap(random, 1 + k % 20);
  Simulator sim(with_restitution(model, 0.5), event_options(0.01));
  int fallbacks = 0;
  for (int i = 0; i < 75; ++i) {
    ASSERT_NE(sim.step().status, StepStatus::kDiverged);
    fallbacks += sim.report().events.fallbacks;
  }
  EXPECT_LE(fallbacks, 1);
}

// The same bits again, and through a snapshot in another simulator.
TEST(EventDriven, GivesTheSameBitsAgain) {
  std::mt19937_64 random(3);
  const ModelPtr model = with_restitution(random_heap(random, 3), 0.5);
  Simulator one(model, event_options(0.01)), two(model, event_options(0.01)), three(model, event_options(0.01));
  one.step(30);
  const Simulator::Snapshot snapshot = one.save();
  one.step(40);
  two.step(70);
  EXPECT_TRUE(one.state() == two.state());
  three.step(11);
  three.restore(snapshot);
  three.step(40);
  EXPECT_TRUE(one.state() == three.state());
}

}  // namespace
}  // namespace touchstone
