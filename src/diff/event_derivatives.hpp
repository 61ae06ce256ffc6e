// Derivatives of a step of the event-driven integrator, across its events.
//
// The step is made once more beside the simulator, and columns of tangent vectors go along with it: dx of the state, by
// the state at the start, the controls and theta. Three kinds of maps move them.
//
//   smooth motion   of its rule, its size and its modes, with what it takes away of drift; rest: slow rows are held
//   impacts         v+ (q, v-) of what touches, with the law and the cone that the user has chosen
//   events          dx moves in time by dtau = -dg/g' of the guard g that ended the motion, before what happens there
//                   and back after it: dx+ = D (dx- + f- dtau) - f+ dtau, D the map of impacts, f the rates on both
//                   sides (of the rule: how its end changes with its size). For one event that is the saltation matrix
//                   D + (f+ - D f-) dg'/g' (Leine, Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical
//                   Systems, 2004, ch. 7).
//
// Contacts that open and begin to slip have the same acceleration on both sides: there dtau matters as far as the rule
// has an error. The maps are smooth where modes are held, and are differentiated along each column by central
// differences with Richardson's extrapolation (those of friction to one side, as it grows: of two surfaces the rougher
// one counts). Their accelerations have the drift dJ/dt v in them, for which no second derivative exists. So this
// costs some four steps a column, however many events there are, and allocates.
#pragma once

#include <memory>
#include <optional>

#include "touchstone/diff/step_parameters.hpp"
#include "touchstone/sim/events/event_watcher.hpp"
#include "touchstone/sim/events/impacts.hpp"
#include "touchstone/sim/integrators/event_driven.hpp"

namespace touchstone {

class EventDerivatives final : private EventWatcher {
 public:
  EventDerivatives();
  ~EventDerivatives() override;

  // A, B and C of a step of the integrator 'event' (step_derivatives.hpp). Throws Error if part of the step was made by
  // time stepping, or if the motion near by is another one.
  void compute(const StepContext& step, const StepParameters& theta, MatrixX& A, MatrixX& B, MatrixX& C);

 private:
  struct Work;

  void begin_motion(const SmoothMotion& motion) override;
  void end_motion(double size, const State& end) override;
  void event(const SmoothMotion& motion, const SmoothMotion::Guard& guard) override;
  void impact(const Survey& touching, const VectorX& v) override;
  void impact_without_collision() override;
  void rest(const Survey& touching, std::span<const int> rows, const VectorX& v) override;

  // Takes all columns through a map of states, which has led from `start` to `end`.
  template <typename Map>
  void take_through(const State& start, const State& end, const Map& map);
  // Calls use(state) with a state that column `column` has moved by `way`, controls and parameters too.
  template <typename Use>
  void move_along(const State& start, int column, double way, const Use& use);
  // Calls use(state, weight) where column `column` is looked at: the sum of what is found there is its derivative.
  template <typename Use>
  void differentiate_along(const State& start, int column, const Use& use);
  // By how much a column is moved at most.
  double way_of(int column) const;
  int first_parameter() const;  // the first column of theta
  bool repeat_motion(double size, State& state) const;
  // How the end of the last smooth motion changes with its size.
  void find_rate(const State& start, const State& end, double size);
  void differentiate_gap(const SmoothMotion& motion, const SmoothMotion::Guard& guard);
  void differentiate_member(const SmoothMotion& motion, const SmoothMotion::Guard& guard);

  std::unique_ptr<Work> work_;
};

}  // namespace touchstone
