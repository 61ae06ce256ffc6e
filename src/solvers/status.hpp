// How a solve ended.
#pragma once

#include <cstdint>

namespace touchstone {

enum class SolveStatus : std::uint8_t {
  kSolved,          // the solver's criterion is met
  kMaxIterations,   // it is not, after max_iterations; lambda is the best or last iterate
  kStalled,         // no progress any more, or the iterate is no longer finite (then lambda is zero)
  kUnsupported,     // the problem has something this solver cannot honour; the message says what
  kInvalidProblem,  // the data make no sense; the message says what, where, and the remedy
  kTimeLimit,       // the criterion is not met after time_limit; lambda is the best or last iterate
};

const char* status_name(SolveStatus status);

// The stage that gave the answer, of a solver that has several: the dearest that a part of the problem needed. Dearer
// ones have larger numbers; -1 if the solver has none.
struct SolverStage {
  int number = -1;
  const char* name = "";
};

}  // namespace touchstone
