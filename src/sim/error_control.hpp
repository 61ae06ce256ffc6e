// Steps in parts whose size follows from the accuracy that is asked for, for every integrator, hard and compliant
// contact.
//
// A part of the size h is made twice: as one, and as two halves, which are kept. The distance between the two, the
// largest of all dofs in metres (turns by the length of what turns), is the estimate of the error that a part makes; of
// first-order rules it is O(h^2) while modes of contact hold, and O(h) where one changes. A part whose estimate is too
// large is made again with half its size; its first half is known already. The next part is as large as the square root
// law says, at most five times larger: step doubling (Hairer, Norsett, Wanner 1993, II.4), without their extrapolation,
// which impacts would spoil.
//
// Bounded: parts are not halved below SimulatorOptions::min_step, nor if halving has not lowered the estimate several
// times, as where solutions are not unique. Such a part counts as missed, and a warning says so.
//
// Cost: three solves a part, two more for each time it is halved.
#pragma once

#include <functional>
#include <vector>

#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/step_memory.hpp"

namespace touchstone {

class ErrorControl {
 public:
  explicit ErrorControl(const StepContext& s);

  // One step of s.duration from s.state. Trouble is a status of s.report; after kDiverged the state is that before the
  // part that diverged.
  void step(StepContext& s, StepRule& rule);
  // The last step once more from where it began, in the parts that were kept: `look` sees each.
  void repeat(StepContext& s, StepRule& rule, const std::function<void(const StepContext&)>& look);

 private:
  struct Part {
    double size, end;  // s, the end from the start of the step
  };
  // Makes a part of at most this size that begins after `done` seconds of the step. Returns its size.
  double make_part(StepContext& s, StepRule& rule, double size, double done);
  // One call of the rule, that ends after `end` seconds of the step. False: diverged.
  bool make(StepContext& s, StepRule& rule, double size, double end);
  // From the memory of the part's start; keeps the middle. Infinite: one of the halves diverged.
  double make_halves(StepContext& s, StepRule& rule, double size, double done);
  double distance(const StepContext& s, const VectorX& q0, const VectorX& q1);

  StepMemory start_;         // of the part
  StepReport first_;         // of its first half
  VectorX whole_, half_;     // nq: after the part made as one, and after its first half
  VectorX tangent_;          // nv
  StageTimes spent_;         // on what is not kept
  std::vector<Part> parts_;  // of the last step
};

}  // namespace touchstone
