#include "touchstone/sim/report.hpp"

namespace touchstone {

const char* to_string(StepStatus status) {
  switch (status) {
    case StepStatus::kOk:
      return "ok";
    case StepStatus::kNotConverged:
      return "not converged";
    case StepStatus::kInvalidProblem:
      return "invalid problem";
    case StepStatus::kDiverged:
      return "diverged";
  }
  return "";
}

}  // namespace touchstone
