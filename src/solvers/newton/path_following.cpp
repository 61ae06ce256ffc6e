#include "touchstone/solvers/newton/path_following.hpp"

namespace touchstone {
namespace {

constexpr double kFirstPolish = 1e-2;  // natv relative to the velocity scale below which modes are tried
constexpr double kNextPolish = 0.1;    // and again when natv has fallen by this
constexpr double kPatience = 0.1;      // a polishing step must reduce natv to this share to be followed by another

template <typename Settings, typename Path>
PathOutcome follow(Settings& settings, bool polish, NewtonSystem& system, Path& path, ModeNewton& modes,
                   const DualProblem& dual, VectorX& lambda, VectorX& u, double& natv) {
  settings.pause_at = polish ? kFirstPolish * dual.velocity_scale : 0.0;
  PathOutcome outcome = PathOutcome::kReady;
  while (outcome == PathOutcome::kReady) {
    outcome = path.iterate(system, settings);
    const double rounded = path.rounded_natv();
    if (rounded < natv) {
      lambda = path.rounded();
      u = path.rounded_velocity();
      natv = rounded;
    }
    if (outcome != PathOutcome::kReady) break;
    const ModeNewtonSettings mode_settings{
        .tolerance = settings.tolerance, .patience = kPatience, .deadline = settings.deadline};
    natv = modes.run(dual, system, path.lambda(), path.slack(), mode_settings, natv, lambda, u);
    if (natv <= settings.tolerance) break;
    settings.pause_at = kNextPolish * std::min(rounded, settings.pause_at);
  }
  return natv <= settings.tolerance ? PathOutcome::kConverged : outcome;
}

}  // namespace

double sweep_first(int sweeps, double tolerance, LocalContacts& contacts, GaussSeidelWorkspace& workspace) {
  const DualProblem& dual = workspace.dual;
  const auto current_natv = [&] {
    compute_velocity(dual, workspace.lambda, workspace.u);
    return natv(dual, ContactModel::kNcp, workspace.lambda, workspace.u);
  };
  const double before = current_natv();
  if (before <= tolerance || sweeps == 0) return before;
  workspace.prepare_equalities();
  contacts.prepare(dual);
  for (int k = 0; k < sweeps && !workspace.deadline.passed(); ++k) gauss_seidel_sweep(workspace, 1.0, contacts);
  return current_natv();
}

SolveStatus status_of(PathOutcome outcome) {
  switch (outcome) {
    case PathOutcome::kConverged:
      return SolveStatus::kSolved;
    case PathOutcome::kLimit:
      return SolveStatus::kMaxIterations;
    case PathOutcome::kTime:
      return SolveStatus::kTimeLimit;
    default:
      return SolveStatus::kStalled;
  }
}

PathOutcome follow_path(InteriorPointSettings settings, bool polish, NewtonSystem& system, InteriorPoint& path,
                        ModeNewton& modes, const DualProblem& dual, VectorX& lambda, VectorX& u, double& natv) {
  path.start(dual, lambda, scaled_residual(dual, lambda, u), settings);
  return follow(settings, polish, system, path, modes, dual, lambda, u, natv);
}

PathOutcome follow_path(SmoothingNewtonSettings settings, bool polish, NewtonSystem& system, SmoothingNewton& path,
                        ModeNewton& modes, const DualProblem& dual, VectorX& lambda, VectorX& u, double& natv) {
  path.start(dual, lambda, u, settings);
  return follow(settings, polish, system, path, modes, dual, lambda, u, natv);
}

}  // namespace touchstone
