#include "solve_run.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "touchstone/base/clock.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/contact/laws/certify_law.hpp"
#include "touchstone/io/fclib.hpp"

namespace touchstone::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kRepeatSeconds = 0.02;  // quick solves are repeated, for the clock and the caches
constexpr int kMaxRepeats = 5;
constexpr double kRounding = 1.001;  // the solver stops on scaled data, the certificate looks at the original

// The files of a folder by their names; also those that will turn out to be unreadable.
std::vector<fs::path> list_problems(const std::string& path) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string extension = entry.path().extension().string();
    std::error_code none;
    if (!entry.is_directory(none) && (extension == ".hdf5" || extension == ".h5" || extension == ".dat"))
      files.push_back(entry.path());
  }
  if (files.empty())
    throw InputError({.where = {path, 0, ""},
                      .message = "the folder has no problems",
                      .remedy = "it needs .hdf5, .h5 or .dat files"});
  std::sort(files.begin(), files.end());
  return files;
}

// A solver with its options and memory, used for all problems.
struct Candidate {
  const CatalogueEntry* entry = nullptr;
  std::unique_ptr<ContactSolver> solver;
  std::unique_ptr<SolverOptions> options;
  std::unique_ptr<SolverWorkspace> workspace;
};

Candidate make_candidate(const SolveRequest& request, const std::string& name) {
  Candidate candidate;
  candidate.entry = &find_solver(name);
  candidate.solver = candidate.entry->make();
  candidate.options = candidate.solver->make_options();
  candidate.workspace = candidate.solver->make_workspace();
  candidate.options->relative_tolerance = request.tolerance;
  candidate.options->record_history = request.history;
  if (request.max_iterations >= 0) candidate.options->max_iterations = request.max_iterations;
  if (request.time_limit >= 0.0) candidate.options->time_limit = request.time_limit;
  for (const std::string& option : request.options) set_option(*candidate.options, option);
  return candidate;
}

SolveResult solve_one(const ContactProblem& problem, const Candidate& candidate, bool keep_impulses) {
  SolveResult result;
  result.blocks = problem.nblock();
  result.rows = problem.nrow();
  result.solver = candidate.entry->name;
  result.own_law = candidate.entry->law.has_value();
  result.own_model = result.own_law || candidate.entry->certificate != ContactModel::kNcp;
  Solution solution;
  double total = 0.0;
  const int repeats = std::isfinite(candidate.options->time_limit) ? 1 : kMaxRepeats;
  for (int repeat = 0; repeat < repeats && (repeat == 0 || total < kRepeatSeconds); ++repeat) {
    if (!candidate.options->warm_start) solution.lambda.resize(0);
    const Stopwatch watch;
    result.status = candidate.solver->solve(problem, *candidate.options, *candidate.workspace, solution);
    const double seconds = watch.seconds();
    total += seconds;
    result.seconds = repeat == 0 ? seconds : std::min(result.seconds, seconds);
    if (result.status != SolveStatus::kSolved) break;
  }
  result.message = solution.message;
  result.warning = solution.warning;
  result.infeasible = solution.infeasible;
  result.shift = solution.shift;
  result.iterations = solution.iterations;
  result.history = std::move(solution.history);
  if (result.status == SolveStatus::kInvalidProblem || result.status == SolveStatus::kUnsupported) return result;
  result.certified = true;
  result.residuals = certify(problem, solution.lambda, candidate.entry->certificate);
  double own = result.residuals.model_natv, own_relative = result.residuals.model_natv_relative;
  if (candidate.entry->law) {
    LawCertificateWorkspace laws;
    certify_law(problem, solution.lambda, *candidate.entry->law, laws, result.residuals);
    own = result.residuals.law_natv;
    own_relative = result.residuals.law_natv_relative;
  }
  if (result.residuals.worst_block >= 0) result.worst_block = problem.describe_block(result.residuals.worst_block);
  result.solved =
      result.status == SolveStatus::kSolved && (own_relative <= kRounding * candidate.options->relative_tolerance ||
                                                own <= kRounding * candidate.options->absolute_tolerance);
  if (keep_impulses) {
    result.layout = problem.blocks;
    result.impulses = solution.lambda;
    result.velocities = solution.u;
    result.next_velocity = solution.v;
  }
  return result;
}

}  // namespace

SolveResults run_solvers(const SolveRequest& request) {
  std::vector<Candidate> candidates;
  candidates.reserve(request.solvers.size());
  for (const std::string& name : request.solvers) candidates.push_back(make_candidate(request, name));
  SolveResults results;
  const auto solve_all = [&](const fs::path& file) {
    const ContactProblem problem = load_problem(file).problem;
    for (const Candidate& candidate : candidates) {
      results.solved.push_back(solve_one(problem, candidate, request.impulses));
      results.solved.back().problem = file.filename().string();
    }
  };
  if (!fs::is_directory(request.path)) {
    solve_all(request.path);
    return results;
  }
  for (const fs::path& file : list_problems(request.path)) {
    try {
      solve_all(file);
    } catch (const Error& error) {
      results.unreadable.push_back({file.filename().string(), error.what()});
    }
  }
  return results;
}

}  // namespace touchstone::cli
