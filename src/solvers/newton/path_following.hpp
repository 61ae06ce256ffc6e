// What ncp-ipm, ncp-newton and auto share around a path: the sweeps before it and the polish on the way.
#pragma once

#include <algorithm>

#include "touchstone/solvers/gauss_seidel/gauss_seidel.hpp"
#include "touchstone/solvers/gauss_seidel/local_contact.hpp"
#include "touchstone/solvers/newton/interior_point.hpp"
#include "touchstone/solvers/newton/mode_newton.hpp"
#include "touchstone/solvers/newton/smoothing_newton.hpp"

namespace touchstone {

// natv of workspace.lambda, after `sweeps` exact-local sweeps unless it was good enough before. Fills workspace.u.
double sweep_first(int sweeps, double tolerance, LocalContacts& contacts, GaussSeidelWorkspace& workspace);

SolveStatus status_of(PathOutcome outcome);

// Follows the path from lambda and its velocity u, whose natv (m/s) is given. Lambda, u and natv become the best point
// found. With polish, Newton's method with the modes of the rounded point is tried whenever natv has fallen by a
// decade.
PathOutcome follow_path(InteriorPointSettings settings, bool polish, NewtonSystem& system, InteriorPoint& path,
                        ModeNewton& modes, const DualProblem& dual, VectorX& lambda, VectorX& u, double& natv);
PathOutcome follow_path(SmoothingNewtonSettings settings, bool polish, NewtonSystem& system, SmoothingNewton& path,
                        ModeNewton& modes, const DualProblem& dual, VectorX& lambda, VectorX& u, double& natv);

// A whole solver on one path: sweeps, then the path from up to kPathAttempts starts; widen(settings) makes the next one
// more cautious. Options have sweeps and polish; the workspace is that of ncp-ipm or ncp-newton.
constexpr int kPathAttempts = 6;
// From this one on after so many sweeps: where paths have ended they lead nowhere, but with large mass ratios sweeps
// spoil what they have reached.
constexpr int kSweptAttempt = 4, kAttemptSweeps = 60;

template <typename Settings, typename Options, typename Workspace, typename Widen>
SolveStatus solve_on_path(const ContactProblem& problem, const Options& options, Settings settings,
                          Workspace& workspace, Solution& solution, Widen&& widen) {
  SolveStatus status{};
  const DualProblem& dual = workspace.dual;
  if (!begin_dual_solve(problem, options, DualScaling::kBlocks, workspace, solution, workspace.lambda, status))
    return status;
  settings.tolerance = velocity_tolerance(options, dual);
  settings.max_iterations = options.max_iterations;
  settings.deadline = workspace.deadline;
  double natv = sweep_first(options.sweeps, settings.tolerance, workspace.contacts, workspace);
  PathOutcome outcome = natv <= settings.tolerance ? PathOutcome::kConverged : PathOutcome::kLimit;
  if (outcome != PathOutcome::kConverged)
    workspace.system.prepare(dual, {dual.doubtful ? nullptr : &problem, nullptr, workspace.primal_source});
  workspace.system.reset_count();
  workspace.path.history = options.record_history ? &solution.history : nullptr;
  for (int attempt = 0; attempt < kPathAttempts && outcome != PathOutcome::kConverged && settings.max_iterations > 0;
       ++attempt) {
    if (attempt >= kSweptAttempt) natv = sweep_first(kAttemptSweeps, settings.tolerance, workspace.contacts, workspace);
    outcome = follow_path(settings, options.polish, workspace.system, workspace.path, workspace.polish, dual,
                          workspace.lambda, workspace.u, natv);
    solution.iterations += workspace.path.iterations();
    if (outcome == PathOutcome::kLimit || outcome == PathOutcome::kTime) break;
    settings.max_iterations = options.max_iterations - solution.iterations;
    widen(settings);
  }
  solution.factorizations = workspace.system.factorizations();
  return end_dual_solve(problem, dual, workspace.lambda, status_of(outcome), solution);
}

}  // namespace touchstone
