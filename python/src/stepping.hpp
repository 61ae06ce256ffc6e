// Long native calls that Python can interrupt.
#pragma once

#include <nanobind/nanobind.h>

#include "touchstone/base/clock.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone::python {

// Calls step() so often, without the GIL, and ends early when it returns false. Now and then it looks whether the user
// pressed Ctrl-C, so that no call is beyond reach.
template <typename Step>
void run_steps(int count, Step step) {
  constexpr double kPatience = 0.05;  // s
  if (count < 0) throw Error("step({}); give the number of steps", count);
  bool interrupted = false;
  {
    const nanobind::gil_scoped_release release;
    Stopwatch watch;
    for (int i = 0; i < count && !interrupted; ++i) {
      if (!step()) break;
      if (i + 1 < count && watch.seconds() > kPatience) {
        const nanobind::gil_scoped_acquire acquire;
        interrupted = PyErr_CheckSignals() != 0;
        watch = Stopwatch();
      }
    }
  }
  if (interrupted) throw nanobind::python_error();
}

}  // namespace touchstone::python
