// The pipeline of `auto` for one prepared dual problem whose blocks are coupled.
//
// Methods from cheap to safe, each from the best point so far, until natv is small enough: the table kStages in
// pipeline.cpp, in its order, each where it applies. Newton with the modes of a warm start that comes with its
// velocities is first; then exact-local Gauss-Seidel sweeps, as long as the observed rate says that they are cheaper
// than Newton; then Newton with guessed modes, damped, from a cold start towards impulses of minimum norm; where G is
// mostly empty accelerated sweeps, before and after the first path; paths (splitting, interior point, smoothing
// Newton), polished by modes, from a warm start also from zero; then restarts from further away, and proximal points: G
// + eps I, g - eps lambda, solved by the paths again and again. The number of Newton steps is limited, and with it the
// work. Costs are counted, not timed, so that the same problem takes the same way on every machine.
#pragma once

#include <limits>

#include "touchstone/solvers/admm/splitting.hpp"
#include "touchstone/solvers/auto/repair.hpp"
#include "touchstone/solvers/auto/work_budget.hpp"
#include "touchstone/solvers/gauss_seidel/anderson.hpp"
#include "touchstone/solvers/newton/compliance_path.hpp"
#include "touchstone/solvers/newton/path_following.hpp"

namespace touchstone {

struct PipelineSettings {
  double tolerance = 1e-8;       // m/s
  bool warm = false;             // lambda comes from a similar problem
  bool swept = false;            // lambda comes from sweeps over a larger problem; if neither, it is zero
  bool thorough = true;          // also restarts and the proximal loop
  int max_steps = 500;           // Newton steps of all methods together
  Deadline deadline = {};        // best effort until then
  WorkBudget* budget = nullptr;  // the caller's: best effort until it has ended; none: without end
  // natv of lambda, where the caller has computed it and u; else not a number.
  double start_natv = std::numeric_limits<double>::quiet_NaN();
};

struct PipelineWorkspace : GaussSeidelWorkspace {
  JointSpace space;               // what `dual` was prepared from, or cut out of; none: only G is known
  std::vector<int> space_blocks;  // those of a part
  LocalContacts contacts;
  NewtonSystem system;
  InteriorPoint interior;
  SmoothingNewton smoothing;
  ModeNewton modes;
  CompliancePath compliance;
  Splitting splitting;
  Anderson anderson;
  RegionRepair repair;
  bool knows_u = false;        // the warm start comes with velocities:
  VectorX known_u;             // nrow, scaled; not finite where they are not known
  VectorX best, best_u;        // scaled
  VectorX kept;                // the answer before a compliance is tried
  VectorX earlier, earlier_u;  // the best point before a start from elsewhere
  VectorX last;                // of long sweeps
  VectorX unswept;             // before a sweep that is accelerated
  double best_natv = 0.0;
  int sweeps = 0, steps = 0;
  bool infeasible = false;  // there is no solution: impulses can grow without bound (Pipeline::diverges)
  int stage = 0;            // number of the stage that found `best`, see stage_name
  // Of the proximal loop: the shifted problem, its centre and its solution.
  DualProblem shifted;
  VectorX centre, inner, inner_u;
};

// "sweeps", "modes", ...: what reports call a stage. 0 is the start itself.
const char* stage_name(int stage);
int stage_count();

// Memory for workspace.dual, if it is small, before it is first needed: an island that rests may need none for long.
void reserve_pipeline(PipelineWorkspace& workspace);

// Solves workspace.dual from workspace.lambda; lambda and u become the best point. Returns its natv (m/s).
double run_pipeline(const PipelineSettings& settings, PipelineWorkspace& workspace);

// The last resort where no solution exists: the same with `shift` (scaled: relative to the mean diagonal) added to the
// diagonal of G. Returns natv of the shifted problem; lambda is its solution, u the velocity in the problem as given.
double run_shifted(const PipelineSettings& settings, double shift, PipelineWorkspace& workspace);

}  // namespace touchstone
