// What ncp-ipm, ncp-newton and auto share around a path: the sweeps before it and the polish on the way.
#pragma once

#include <algorithm>

#include "touchstone/solvers/gauss_seidel.hpp"
#include "touchstone/solvers/interior_point.hpp"
#include "touchstone/solvers/local_contact.hpp"
#include "touchstone/solvers/mode_newton.hpp"
#include "touchstone/solvers/smoothing_newton.hpp"

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

}  // namespace touchstone
