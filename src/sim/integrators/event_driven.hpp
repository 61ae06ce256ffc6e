// From event to event: smooth motion with fixed modes of contact (sim/events/smooth_motion.hpp), at the order of its
// rule (EventOptions::rule), until a contact or limit closes, opens, slips or sticks; there an impact, or other modes.
// One step advances by exactly h, whatever happens in it.
//
// Impacts solve the contact problem of what touches, with the full cone, by the solvers of time steps; modes are chosen
// by the same problem at the level of accelerations. Where there are more events in a step than
// EventOptions::max_events (bounces that become ever shorter), where no modes fit, and where something is compliant or
// moved by the user (mocap), the rest of the step is made by semi-implicit Euler, with a warning.
//
// Everything is found from the state at the start of a step, so that nothing has to be remembered. Contacts that
// overlap at the start are kept as they are: there is no way out of violations here but that of Euler's steps.
#pragma once

#include <memory>

#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/integrators/semi_implicit_euler.hpp"

namespace touchstone {

class EventWatcher;  // sim/events/event_watcher.hpp

class EventDriven : public StepRule {
 public:
  explicit EventDriven(const Model& model);
  ~EventDriven() override;
  void step(StepContext& s) override;
  // Who is told what happens in steps; null: nobody.
  void set_watcher(EventWatcher* watcher) { watcher_ = watcher; }

 private:
  struct Work;

  bool make_parts(StepContext& s);
  // Says why, and returns false.
  static bool fail(StepContext& s, EventFallback why);
  // Impacts, then modes. False: none fit.
  bool find_modes(StepContext& s);
  void jump(StepContext& s);
  void rest(StepContext& s);
  // At most to the end of the step. False: no motion.
  bool advance(StepContext& s);
  bool make_smooth_step(StepContext& s, double& size);
  // The share of the smooth step at which something happens first; 1 or more: nothing does.
  double find_event(StepContext& s);
  // Makes the smooth step of this size, to w.state.
  bool end_motion(StepContext& s, double size);
  bool end_smoothly();
  // Makes the smooth step that ends where the event happens that was found about `size` seconds from its start.
  bool end_at_event(StepContext& s, double& size);
  void list_constraints(StepContext& s);
  EnergyAccount energy(StepContext& s);
  void finish(StepContext& s);
  void fall_back(StepContext& s);

  SemiImplicitEuler fallback_;
  EventWatcher* watcher_ = nullptr;
  std::unique_ptr<Work> work_;
};

}  // namespace touchstone
