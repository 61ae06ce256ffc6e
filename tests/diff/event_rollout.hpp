// Steps of the event-driven integrator with what happened in them, for differences that stay in one sequence of events.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "touchstone/sim/events/event_watcher.hpp"
#include "touchstone/sim/events/mode_choice.hpp"
#include "touchstone/sim/integrators/event_driven.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {

class EventRollout final : private EventWatcher {
 public:
  EventRollout(const ModelPtr& model, const SimulatorOptions& options)
      : sim_(model, options), s_(model, options, shared_shapes()), rule_(*model) {
    rule_.set_watcher(this);
  }

  // Contacts that may slide at once and have forces of their own: three of a free body, any of one in a plane.
  int most_sliding = 3;

  // `steps` steps from a state.
  void roll(const State& start, const VectorX& control, int steps) {
    sim_.reset(start);
    s_.state = sim_.state();
    s_.parameters = sim_.parameters();
    s_.input = sim_.input();
    s_.input.control = control;
    s_.next_part = 0.0;
    s_.has_before = true;
    s_.h = sim_.options().time_step;
    states.clear();
    traces.clear();
    events.clear();
    slips_settle.clear();
    text.clear();
    shortest = kInfinity;
    for (int i = 0; i < steps; ++i) {
      traces.emplace_back();
      slips_settle.push_back(0);
      text += fmt::format("step {}\n", i);
      s_.before = s_.state;
      rule_.step(s_);
      const EventReport& report = s_.report.events;
      traces.back().insert(traces.back().end(), {report.fallbacks, s_.report.status == StepStatus::kOk ? 0 : 1});
      events.push_back(report.events);
      // Nor do they solve their equation where it turns fast; then parts of the step are made.
      if (is_fixed() && report.rejected > 0) slips_settle.back() = 1;
      states.push_back(s_.state);
    }
  }

  // One for each step.
  std::vector<State> states;              // after it
  std::vector<std::vector<long>> traces;  // what happened, in numbers
  std::vector<int> events;                // how many
  // Whether slips came to their balance and were blurred (sim/events/slip_directions.hpp), or more contacts slid than
  // have forces of their own: there a step has numbers that are the rule's, and no derivative of the motion.
  std::vector<char> slips_settle;
  double shortest = kInfinity;              // s: of all motions
  int impacts = 0, slides = 0, sticks = 0;  // since the last clear_counts
  void clear_counts() { impacts = slides = sticks = 0; }
  std::string text;  // all of it, to be read

 private:
  std::shared_ptr<const CollisionModel> shared_shapes() {
    return {std::shared_ptr<const CollisionModel>(), &sim_.context().detector.shapes()};
  }

  bool is_fixed() const { return s_.options.events.rule != SmoothRule::kDormandPrince; }
  static long name_of(const SmoothMotion& motion, const Member& member) {
    if (member.constraint.kind != ConstraintKind::kContact) return member.constraint.index;
    const auto index = static_cast<std::size_t>(member.constraint.index);
    return static_cast<long>(key_of(motion.survey().contacts[index]).feature);
  }
  void add(std::initializer_list<long> numbers) { traces.back().insert(traces.back().end(), numbers); }

  void begin_motion(const SmoothMotion& motion) override {
    text += "  moves with";
    int sliding = 0;
    for (const Member& m : motion.members()) {
      const int mode = static_cast<int>(m.mode) + (m.is_slow ? 10 : 0) + (m.is_steady ? 20 : 0);
      const bool is_contact = m.type == BlockType::kCoulomb, is_slide = is_contact && m.mode == Mode::kSlide;
      sliding += is_slide ? 1 : 0;
      slides += is_slide ? 1 : 0;
      sticks += is_contact && m.mode == Mode::kHeld ? 1 : 0;
      if (m.is_steady || sliding > most_sliding) slips_settle.back() = 1;
      add({static_cast<long>(m.constraint.kind), name_of(motion, m), mode});
      text += fmt::format(" {}:{:x}:{}", static_cast<int>(m.constraint.kind), name_of(motion, m), mode);
      if (m.target != 0) text += fmt::format("target{:.3g}", m.target);
    }
  }
  void end_motion(double size, const State&) override {
    add({-1});
    shortest = std::min(shortest, size);
    text += fmt::format(" for {:.6g} s\n", size);
  }
  void event(const SmoothMotion& motion, const SmoothMotion::Guard& guard) override {
    const long name = guard.is_gap() ? static_cast<long>(guard.key.feature) : guard.index;
    add({-2, static_cast<long>(guard.kind), name});
    // Rules of a fixed size do not follow a slip that turns as it stops.
    if (is_fixed() && guard.kind == SmoothMotion::Kind::kSlip) slips_settle.back() = 1;
    text += fmt::format("  event {} of {:x}, {:.3g} away, {:.3g} m/s\n", static_cast<int>(guard.kind), name,
                        motion.distance(guard).value_or(kInfinity), guard.speed);
  }
  void impact(const Survey& touching, const VectorX& v) override {
    add({-3});
    ++impacts;
    if (static_cast<int>(touching.contacts.size()) > most_sliding) slips_settle.back() = 1;
    text += "  impact:";
    for (const Contact& c : touching.contacts) add({static_cast<long>(key_of(c).feature)});
    for (int row = 0; row < touching.c.rows(); ++row) {
      const Eigen::Map<const VectorX> J(touching.J(row), v.size());
      // Rows that rest after it.
      add({std::abs(J.dot(v)) < 1e-9 ? 1 : 0});
      text += fmt::format(" {:.3g}->{:.3g}", touching.c.velocity[row], J.dot(v));
    }
    text += "\n";
  }
  void impact_without_collision() override { add({-4}); }
  void rest(const Survey&, std::span<const int> rows, const VectorX&) override {
    add({-5});
    for (const int row : rows) add({row});
  }

  Simulator sim_;
  StepContext s_;
  EventDriven rule_;
};

}  // namespace touchstone::test
