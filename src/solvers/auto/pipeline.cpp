#include "touchstone/solvers/auto/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "touchstone/solvers/auto/moves.hpp"

namespace touchstone {
namespace {

constexpr int kWarmSweeps = 1, kColdSweeps = 4;
constexpr int kFewBlocks = 3;   // up to here sweeps are as cheap as a Newton step, and end nearer to the solution
constexpr int kKnownSteps = 6;  // with the modes of the similar problem that a warm start is from
constexpr double kRetryDamping = 1.0;  // of Newton with guessed modes
constexpr int kRetrySweeps = 4, kRetrySteps = 12;
constexpr double kRestingShare = 0.5, kRestingSpeed = 1e-3;  // of the contacts, and of the largest free velocity
constexpr double kGoodEnough = 1e-3;  // natv relative to the velocity scale: the splitting method hands over to modes
// Rounds of a large problem: one Newton step with guessed modes, repair of regions, sweeps.
constexpr int kManyRows = 400;     // below, and
constexpr double kFullRows = 0.2;  // where G has this share of all entries, a region is as large as the problem
constexpr int kMostRounds = 40, kRoundsOfPatience = 12, kRoundSweeps = 10;
constexpr double kRoundProgress = 0.5;  // of natv in so many rounds
constexpr double kRoundDamping = 30.0;  // epsilon for each unit of natv relative to the velocity scale,
constexpr double kMostRoundDamping = 0.1;
constexpr int kSmoothingSteps = 50, kInteriorSteps = 60;
constexpr double kInteriorStart = 3.0, kFarStart = 30.0, kFartherStart = 300.0;  // how far inside the cones
constexpr double kRestartBarrier = 100.0;                                        // of the squared residual
constexpr int kSweptSweeps = 2, kZeroSweeps[] = {10, 60, 0}, kPathSweeps = 10, kRestartSweeps = 60;
// The proximal loop: shift of the scaled diagonal, and the steps that a problem with it may take.
constexpr double kFirstShift = 1e-2, kMostShift = 1e3, kShiftUp = 5.0, kShiftDown = 0.5;
constexpr int kProximalRounds = 100, kProximalSteps = 200, kProximalSmoothing = 15, kProximalInterior = 40, kQuick = 6;
// Many starts of a small problem.
constexpr int kStarts = 16;
constexpr double kSpread = 0.5;  // of the largest impulse, around a start
constexpr double kStartDampings[] = {1e-4, 1e-2, 1e-9, 1e-6};
constexpr int kLastRounds = 5, kLastSweeps = 1000;
constexpr int kSweepsOfCoupled = 6;  // at least so many sweeps before internal forces are looked for
constexpr int kMostRefreshed = 30;   // blocks: above, the extra factorisation is not worth it

// Newton steps that sweeps may cost instead: before modes are tried (warm and cold), and before a path is followed.
constexpr double kWarmStepsOfModes = 0.5, kColdStepsOfModes = 2.0, kStepsOfPath = 6.0;
constexpr double kStepsOfAcceleration = 6.0, kStepsOfPatience = 40.0;
constexpr double kDearStep = 100.0;                           // sweeps that a Newton step costs, above which
constexpr double kStepsOfSweeps = 4.0, kSweepProgress = 0.3;  // sweeps go on, so many at once, while natv falls by this
constexpr double kStepsOfRestart = 20.0, kFewestSweeps = 60.0, kMostSweeps = 4000.0;  // after a path has failed

class Pipeline : PipelineMoves {
 public:
  Pipeline(const PipelineSettings& settings, PipelineWorkspace& workspace, DualProblem& dual)
      : PipelineMoves(settings, workspace, dual) {}

  double run();

 private:
  void remove_internal_forces();
  bool begin();
  // The procedures of the table, in its order.
  void known_modes();
  void first_sweeps();
  void split_at_rest();
  void first_modes();
  void more_sweeps();
  void damped_modes();
  void try_rounds();
  void try_splitting();
  void sweep_where_steps_are_dear();
  void accelerated_sweeps();
  void patient_sweeps();
  void interior() { try_interior(kInteriorStart, kInteriorSteps); }
  void interior_after_sweeps();
  void from_zero();
  void smoothing() { try_smoothing(0.0, kSmoothingSteps); }
  void restart();
  void proximal_loop();
  void last_sweeps();
  void many_starts();
  // When they apply.
  bool always() const { return true; }
  bool is_small() const { return small(); }
  bool is_small_and_new() const { return small() && !knows_modes(); }
  bool knows_modes() const { return settings_.warm && w_.knows_u && dual_.nblock() > kFewBlocks; }
  bool is_hopeless() { return diverges(); }
  bool is_sparse() const { return !w_.system.is_dense(); }
  bool seems_at_rest() const;
  bool warm() const { return settings_.warm; }
  bool cold() const { return !settings_.warm; }
  // Where contacts roll, modes that known ones have not led to are rarely found from a sweep.
  bool nearly_right_and_new() const { return (settings_.warm || promising()) && !(rolls() && knows_modes()); }
  bool thorough() const { return settings_.thorough; }
  bool thorough_and_small() const { return settings_.thorough && small(); }
  bool thorough_and_sparse() const { return settings_.thorough && is_sparse(); }
  // Whether a region of the problem is a small part of it.
  bool is_loose() const {
    const double n = dual_.nrow();
    return n > kManyRows && static_cast<double>(dual_.G.values.size()) < kFullRows * n * n;
  }

  struct Stage {
    const char* name;
    bool (Pipeline::*applies)() const;
    void (Pipeline::*procedure)();
    bool (Pipeline::*shows_none)() = nullptr;  // asked afterwards, where the procedure can show it
  };
  static const Stage kStages[];
  bool modes_failed_ = false;  // the first ones, from the point that first sweeps have reached
  friend const char* ::touchstone::stage_name(int stage);
  friend int ::touchstone::stage_count();
};

// Whether bodies seem to rest on each other: most contacts lie between the same two bodies as the next one (they are
// coupled to the same contacts), and most have no free velocity, for gravity alone moves all bodies alike.
bool Pipeline::seems_at_rest() const {
  if (settings_.warm || dual_.nrow() <= kManyRows) return false;
  const BlockSparseMatrix& G = dual_.G;
  const double small = kRestingSpeed * dual_.g.lpNorm<Eigen::Infinity>();
  int resting = 0, alike = 0;
  for (int i = 0; i < dual_.nblock(); ++i) {
    const auto g = dual_.g.segment(dual_.blocks.row[i], dual_.blocks.size(i));
    if (g.lpNorm<Eigen::Infinity>() <= small) ++resting;
  }
  if (resting < kRestingShare * dual_.nblock()) return false;
  for (int i = 0; i + 1 < dual_.nblock(); ++i) {
    const int begin = G.start[i], next = G.start[i + 1], end = G.start[i + 2];
    if (next - begin == end - next && std::equal(&G.col[begin], &G.col[next], &G.col[next])) ++alike;
  }
  return alike >= kRestingShare * dual_.nblock();
}

// For a large problem, where some mode is always wrong. The step is taken even if natv, which is that of the worst
// block, grows: what it spoils is local, and so is the repair.
void Pipeline::try_rounds() {
  if (exhausted() || !is_loose()) return;
  w_.lambda = w_.best;
  w_.u = w_.best_u;
  double value = w_.best_natv, mark = value;
  int since = 0;
  for (int round = 0; round < kMostRounds && !exhausted(); ++round) {
    const double relative = value / dual_.velocity_scale;
    const ModeNewtonSettings settings{.tolerance = settings_.tolerance,
                                      .max_steps = 1,
                                      .damping = std::min(kRoundDamping * relative, kMostRoundDamping)};
    w_.modes.run(dual_, w_.system, w_.lambda, w_.u, settings, kInfinity, w_.lambda, w_.u);
    count_steps(w_.modes.steps());
    look();
    if (done()) return;
    w_.repair.run(dual_, {.tolerance = settings_.tolerance, .deadline = settings_.deadline, .budget = settings_.budget},
                  w_.lambda, w_.u);
    for (int k = 0; k < kRoundSweeps; ++k) gauss_seidel_sweep(w_, 1.0, w_.contacts);
    count_sweeps(kRoundSweeps);
    value = look();
    if (!std::isfinite(value)) return;
    if (w_.best_natv <= kRoundProgress * mark) {
      mark = w_.best_natv;
      since = 0;
    } else if (++since == kRoundsOfPatience) {
      return;
    }
  }
}

// There sweeps are slow, because several contacts share what two bodies exchange. A point that is no solution is
// forgotten: the paths after it do better from that of the sweeps.
void Pipeline::split_at_rest() {
  w_.unswept = w_.lambda;
  w_.system.prepare(dual_, w_.space);
  or_forget([&] {
    w_.best_natv = w_.splitting.run_at_rest(dual_, w_.system, settings_.tolerance, w_.best_natv, w_.best, w_.best_u);
    count_steps(w_.splitting.steps());
    if (w_.best_natv > kGoodEnough * dual_.velocity_scale) return;
    w_.lambda = w_.best;
    try_modes(false);
  });
  w_.lambda = w_.unswept;
}

void Pipeline::try_splitting() {
  if (exhausted() || settings_.warm || !promising()) return;
  const double before = w_.best_natv;
  const SplittingSettings settings{.tolerance = settings_.tolerance, .good_enough = kGoodEnough * dual_.velocity_scale};
  w_.best_natv = w_.splitting.run(dual_, w_.system, settings, w_.best_natv, w_.best, w_.best_u);
  count_steps(w_.splitting.steps());
  if (w_.best_natv == before) return;
  w_.lambda = w_.best;
  try_modes(false);
}

// Many sweeps speak of coupled contacts, and sweeps leave internal forces behind.
void Pipeline::remove_internal_forces() {
  if (settings_.warm || w_.sweeps < kSweepsOfCoupled || dual_.nblock() < 3 || dual_.nblock() > kMostRefreshed) return;
  w_.system.prepare(dual_, w_.space);
  const ModeNewtonSettings settings{.tolerance = settings_.tolerance, .max_steps = 1, .minimum_norm = true};
  w_.best_natv = w_.modes.run(dual_, w_.system, w_.best, w_.best_u, settings, w_.best_natv, w_.best, w_.best_u);
  count_steps(w_.modes.steps());
}

// Before a path. In three dimensions a factorisation costs hundreds of sweeps: these go on as long as they help, and
// modes finish.
void Pipeline::sweep_where_steps_are_dear() {
  sweep_from_best(std::min(sweeps_of_a_step(), kFewestSweeps));
  if (sweeps_of_a_step() < kDearStep) return;
  for (double before = kInfinity; !exhausted() && w_.best_natv < kSweepProgress * before;) {
    before = w_.best_natv;
    sweep_from_best(std::min(kStepsOfSweeps * sweeps_of_a_step(), kMostSweeps));
    try_modes(false);
  }
  try_rounds();
}

// What they have not solved is forgotten: a path from a point that is nearly one of the solution, but not in the middle
// of its path, is short of room.
void Pipeline::accelerated_sweeps() {
  if (exhausted()) return;
  or_forget([&] { sweep_accelerated(kStepsOfAcceleration, false); });
}

// Once the first path has ended they are cheaper than other paths, whatever their rate.
void Pipeline::patient_sweeps() {
  sweep_accelerated(kStepsOfPatience, true);
  w_.lambda = w_.best;
  try_modes(false);
}

// The best point may be one that modes have led astray; sweeps lead back.
void Pipeline::interior_after_sweeps() {
  w_.lambda = w_.best;
  sweep(kPathSweeps);
  from_here([&] { interior(); });
}

// A start that was wrong about much (contacts that have come and gone) leads nowhere, however small its natv. Which
// start a path likes is not known before: some end from few sweeps and not from many, others the other way round.
void Pipeline::from_zero() {
  for (const int sweeps : kZeroSweeps) {
    if (exhausted()) return;
    w_.lambda.setZero();
    sweep(sweeps);
    from_here([&] {
      if (sweeps > 0) try_modes(true);
      interior();
    });
  }
}

void Pipeline::restart() {
  const auto barrier = [&](double factor) {
    const double size = scaled_residual(dual_, w_.best, w_.best_u);
    return factor * size * size;
  };
  // Where a factorisation costs as much as hundreds of sweeps, hundreds are worth a try.
  sweep_from_best(std::clamp(kStepsOfRestart * sweeps_of_a_step(), kFewestSweeps, kMostSweeps));
  try_modes(false);
  try_smoothing(barrier(kRestartBarrier), kSmoothingSteps);
  sweep_from_best(kRestartSweeps);
  try_interior(kFarStart, kInteriorSteps);
  try_interior(kFartherStart, kInteriorSteps);
}

// lambda <- solution of (G + eps I) lambda = -g + eps lambda under the laws: monotone enough to be solved, and its
// fixed points are those of the problem.
void Pipeline::proximal_loop() {
  if (exhausted()) return;
  w_.shifted = dual_;
  double eps = kFirstShift, previous = 0.0;
  w_.centre = w_.best;
  const int most = w_.steps + kProximalSteps;
  for (int outer = 0; outer < kProximalRounds && w_.steps < most && !exhausted(); ++outer) {
    for (int i = 0; i < dual_.nblock(); ++i) {
      const int m = dual_.blocks.size(i);
      double* block = w_.shifted.G.data(w_.shifted.diagonal[i]);
      for (int k = 0; k < m; ++k) block[k * (m + 1)] += eps - previous;
    }
    previous = eps;
    w_.shifted.g = dual_.g - eps * w_.centre;
    const double tolerance =
        std::max(0.1 * settings_.tolerance, std::min(1e-3 * w_.best_natv, 1e-6 * dual_.velocity_scale));
    w_.inner = w_.centre;
    compute_velocity(w_.shifted, w_.inner, w_.inner_u);
    double value = natv(w_.shifted, ContactModel::kNcp, w_.inner, w_.inner_u);
    w_.system.prepare(w_.shifted);
    const SmoothingNewtonSettings smooth{
        .tolerance = tolerance, .max_iterations = kProximalSmoothing, .deadline = settings_.deadline};
    follow_path(smooth, true, w_.system, w_.smoothing, w_.modes, w_.shifted, w_.inner, w_.inner_u, value);
    int used = w_.smoothing.iterations();
    if (value > tolerance) {
      const InteriorPointSettings interior{
          .tolerance = tolerance, .max_iterations = kProximalInterior, .deadline = settings_.deadline};
      follow_path(interior, true, w_.system, w_.interior, w_.modes, w_.shifted, w_.inner, w_.inner_u, value);
      used += w_.interior.iterations();
    }
    count_steps(used);
    w_.system.prepare(dual_, w_.space);
    if (value > tolerance) {
      eps *= kShiftUp;
      if (eps > kMostShift) break;
      continue;
    }
    w_.centre = w_.inner;
    w_.lambda = w_.inner;
    look();
    if (done()) break;
    if (used <= kQuick) eps *= kShiftDown;
    try_modes(false);
  }
}

// As a rule most modes are those of the similar problem that the warm start is from. Of contacts that creep nothing
// else knows them: their slips are smaller than what the error of the warm impulses makes of u.
void Pipeline::known_modes() {
  w_.system.prepare(dual_, w_.space);
  for (int r = 0; r < dual_.nrow(); ++r) {
    if (!std::isfinite(w_.known_u[r])) w_.known_u[r] = w_.best_u[r];
  }
  const ModeNewtonSettings settings{.tolerance = settings_.tolerance,
                                    .max_steps = kKnownSteps,
                                    .damping = kModeDamping,
                                    .patience = kInfinity,
                                    .known_slip = true,
                                    .contacts = local_contacts(),
                                    .deadline = settings_.deadline};
  w_.best_natv = w_.modes.run(dual_, w_.system, w_.best, w_.known_u, settings, w_.best_natv, w_.best, w_.best_u);
  count_steps(w_.modes.steps());
  w_.lambda = w_.best;
}

void Pipeline::first_sweeps() {
  w_.prepare_equalities();
  prepare_contacts();
  sweep(settings_.swept ? kSweptSweeps : settings_.warm ? kWarmSweeps : kColdSweeps);
  sweep_while_cheap(settings_.warm ? kWarmStepsOfModes : kColdStepsOfModes);
  if (done()) {
    remove_internal_forces();
  } else if (!out_of_time()) {
    w_.system.prepare(dual_, w_.space);
  }
}

void Pipeline::first_modes() {
  const double before = w_.best_natv;
  try_modes(true);
  modes_failed_ = w_.best_natv == before;
}

// Modes that have failed would fail again from the same point.
void Pipeline::more_sweeps() {
  const int before = w_.sweeps;
  sweep_while_cheap(kStepsOfPath);
  if (!modes_failed_ || w_.sweeps > before) try_modes(true);
}

void Pipeline::damped_modes() {
  sweep_from_best(kRetrySweeps);
  if (exhausted()) return;
  const ModeNewtonSettings settings{.tolerance = settings_.tolerance,
                                    .max_steps = kRetrySteps,
                                    .damping = kRetryDamping,
                                    .patience = kInfinity,
                                    .monotone = true,
                                    .contacts = local_contacts(),
                                    .deadline = settings_.deadline};
  w_.best_natv = w_.modes.run(dual_, w_.system, w_.best, w_.best_u, settings, w_.best_natv, w_.best, w_.best_u);
  count_steps(w_.modes.steps());
}

// Sweeps get slower and slower, but on small problems they cost little, and from zero they do not lose their way.
void Pipeline::last_sweeps() {
  w_.last.setZero(dual_.nrow());
  for (int k = 0; k < kLastRounds && !exhausted(); ++k) {
    w_.lambda = w_.last;
    sweep(kLastSweeps);
    w_.last = w_.lambda;
    from_here([&] { try_modes(false); });
  }
}

// A few contacts at the border between modes can hide their solution from every path. They are cheap: tried from many
// points around zero and around the best one, with epsilons of all sizes.
void Pipeline::many_starts() {
  const double size = w_.best.lpNorm<Eigen::Infinity>();
  std::minstd_rand draw;  // the same numbers each time
  for (int k = 0; k < kStarts && !exhausted(); ++k) {
    w_.lambda = w_.best;
    if (k % 2 != 0) w_.lambda.setZero();
    for (double& x : w_.lambda) x += kSpread * size * (2.0 * draw() / std::minstd_rand::max() - 1.0);
    for (int i = 0; i < dual_.nblock(); ++i) {
      double* x = w_.lambda.data() + dual_.blocks.row[i];
      project_block(dual_.blocks, i, x, x);
    }
    sweep(1 + k);
    from_here([&] { try_modes(false, kStartDampings[k % std::size(kStartDampings)]); });
  }
}

// What `auto` does, in this order, until natv is small enough, steps or time are used up, or there is no solution.
const Pipeline::Stage Pipeline::kStages[] = {
    {"known modes", &Pipeline::knows_modes, &Pipeline::known_modes},
    {"splitting at rest", &Pipeline::seems_at_rest, &Pipeline::split_at_rest},
    {"sweeps", &Pipeline::always, &Pipeline::first_sweeps},
    {"modes", &Pipeline::nearly_right_and_new, &Pipeline::first_modes},
    {"more sweeps", &Pipeline::cold, &Pipeline::more_sweeps},
    {"damped modes", &Pipeline::is_small_and_new, &Pipeline::damped_modes},
    {"splitting", &Pipeline::cold, &Pipeline::try_splitting},
    {"long sweeps", &Pipeline::cold, &Pipeline::sweep_where_steps_are_dear},
    {"accelerated sweeps", &Pipeline::is_sparse, &Pipeline::accelerated_sweeps},
    {"interior point", &Pipeline::always, &Pipeline::interior, &Pipeline::is_hopeless},
    {"patient sweeps", &Pipeline::is_sparse, &Pipeline::patient_sweeps},
    {"from zero", &Pipeline::warm, &Pipeline::from_zero},
    {"warm rounds", &Pipeline::warm, &Pipeline::try_rounds},
    {"swept interior point", &Pipeline::is_small, &Pipeline::interior_after_sweeps},
    {"smoothing", &Pipeline::always, &Pipeline::smoothing},
    {"many starts", &Pipeline::thorough_and_small, &Pipeline::many_starts},
    {"rounds", &Pipeline::cold, &Pipeline::try_rounds},
    {"restart", &Pipeline::thorough, &Pipeline::restart},
    {"compliance path", &Pipeline::thorough_and_sparse, &Pipeline::try_compliance},
    {"last sweeps", &Pipeline::thorough_and_small, &Pipeline::last_sweeps},
    {"proximal point", &Pipeline::thorough, &Pipeline::proximal_loop},
};

// The start as the best point so far. Whether it is good enough.
bool Pipeline::begin() {
  w_.best_natv = std::isnan(settings_.start_natv) ? measure_start() : settings_.start_natv;
  w_.best = w_.lambda;
  w_.best_u = w_.u;
  w_.stage = 0;
  if (!std::isfinite(w_.best_natv)) w_.best_natv = std::numeric_limits<double>::max();
  return done();
}

double Pipeline::run() {
  if (begin()) return w_.best_natv;
  int number = 0;
  for (const Stage& stage : kStages) {
    ++number;
    if (!(this->*stage.applies)()) continue;
    const double before = w_.best_natv;
    (this->*stage.procedure)();
    if (w_.best_natv < before) w_.stage = number;
    if (stage.shows_none != nullptr && (this->*stage.shows_none)()) break;
    if (exhausted()) break;
  }
  return w_.best_natv;
}

}  // namespace

int stage_count() { return static_cast<int>(std::size(Pipeline::kStages)) + 1; }

const char* stage_name(int stage) { return stage == 0 ? "start" : Pipeline::kStages[stage - 1].name; }

void reserve_pipeline(PipelineWorkspace& w) {
  const DualProblem& dual = w.dual;
  if (dual.nrow() > NewtonSystem::kLargestDense || w.best.size() == dual.nrow()) return;
  for (VectorX* v : {&w.best, &w.best_u}) v->resize(dual.nrow());
  w.system.reserve_dense(dual);
  w.modes.reserve(dual);
}

double run_pipeline(const PipelineSettings& settings, PipelineWorkspace& workspace) {
  workspace.sweeps = 0;
  workspace.steps = 0;
  workspace.infeasible = false;
  workspace.system.reset_count();
  Pipeline pipeline(settings, workspace, workspace.dual);
  const double value = pipeline.run();
  workspace.lambda = workspace.best;
  workspace.u = workspace.best_u;
  return value;
}

double run_shifted(const PipelineSettings& settings, double shift, PipelineWorkspace& workspace) {
  DualProblem& dual = workspace.dual;
  const auto add = [&](double value) {
    for (int i = 0; i < dual.nblock(); ++i) {
      const int m = dual.blocks.size(i);
      double* block = dual.G.data(dual.diagonal[i]);
      for (int k = 0; k < m; ++k) block[k * (m + 1)] += value * dual.d[i];
    }
  };
  add(shift);
  workspace.space = {};  // the shifted matrix is not that of the problem
  workspace.knows_u = false;
  const int steps = workspace.steps;
  workspace.steps = 0;
  workspace.lambda.setZero(dual.nrow());
  Pipeline pipeline(settings, workspace, dual);
  const double value = pipeline.run();
  workspace.steps += steps;
  add(-shift);
  workspace.lambda = workspace.best;
  compute_velocity(dual, workspace.lambda, workspace.u);
  return value;
}

}  // namespace touchstone
