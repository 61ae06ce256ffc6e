// What one step says about itself.
#pragma once

#include <cstdint>
#include <string>

#include "touchstone/contact/residuals.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

enum class StepStatus : std::uint8_t {
  kOk,
  kNotConverged,    // some island was not solved to the tolerance; the residuals say how far it is
  kInvalidProblem,  // the solver refused the problem of some island; its constraints were left out
  kDiverged,  // the new state is not finite, or the mass matrix is not positive definite: the state was not changed
};

const char* to_string(StepStatus status);

// Seconds of wall time.
struct StageTimes {
  double dynamics = 0.0;  // kinematics, mass matrix, factor, forces, free motion
  double collision = 0.0;
  double assembly = 0.0;  // constraints, G
  double solve = 0.0;
  double integrate = 0.0;
  double certify = 0.0;
  double total() const { return dynamics + collision + assembly + solve + integrate + certify; }
};

struct StepReport {
  StepStatus status = StepStatus::kOk;
  double time = 0.0;  // s, at the end of the step
  int contacts = 0;
  int constraints = 0;  // blocks of all kinds
  int rows = 0;
  int islands = 0;
  int iterations = 0;          // of all islands
  int largest_iterations = 0;  // of one island
  Residuals residuals;         // the worst of all islands, field by field
  std::string worst;           // why a solver refused an island; empty otherwise
  double penetration = 0.0;    // m, the deepest contact at the start of the step, 0 if none
  double violation = 0.0;      // the largest error of limits and equalities at the start of the step, m or rad
  double shift = 0.0;          // compliance that the solver had to add; 0: the problem as assembled
  StageTimes times;
};

}  // namespace touchstone
