#include "touchstone/solvers/auto/moves.hpp"

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

constexpr int kBatch = 8;                          // sweeps between two looks at the rate
constexpr int kModeSteps = 10, kFewModeSteps = 3;  // usually, and from a cold start where factorisations are dear
constexpr double kPromising = 1e-2;                // natv relative to the velocity scale: the modes are nearly right
constexpr double kLarge = 1e5;                     // scaled impulse that is looked at more closely
constexpr double kRayShare = 0.02;  // of lambda'Glambda to -g'lambda on a ray along which the energy falls for ever

// Costs in nanoseconds of one core; only their ratios matter.
constexpr double kBlockSweep = 30.0;
constexpr double kEntrySweep = 1.0;  // for each number in G
constexpr double kMultiplication = 0.15;
constexpr double kBlockNewton = 150.0;
// Of a Newton step besides its factor, for each block and each number in G.
constexpr double kBlockStep = 400.0, kEntryStep = 3.0;
constexpr double kMostSwept = 2e8;                      // of accelerated sweeps at once
constexpr int kWindow = 10;                             // sweeps between two looks at the rate of accelerated ones
constexpr double kMostWork = 2e9, kFewestSteps = 60.0;  // of Newton steps in all, and steps however dear they are

}  // namespace

bool PipelineMoves::has_rolling(const Blocks& blocks) {
  for (int i = 0; i < blocks.count(); ++i) {
    if (blocks.type[i] == BlockType::kCoulomb && blocks.size(i) > 3) return true;
  }
  return false;
}

void PipelineMoves::prepare_contacts() {
  if (!contacts_ready_) w_.contacts.prepare(dual_);
  contacts_ready_ = true;
}

LocalContacts* PipelineMoves::local_contacts() {
  if (!rolls_) return nullptr;
  prepare_contacts();
  return &w_.contacts;
}

bool PipelineMoves::promising() const { return w_.best_natv <= kPromising * dual_.velocity_scale; }

double PipelineMoves::sweeps_of_a_step() const { return kMultiplication * w_.system.cost() / sweep_cost(); }

// As many as are asked for; where each is dear, as many as are affordable.
int PipelineMoves::most_steps() const {
  const double affordable = std::max(kFewestSteps, kMostWork / (1.0 + kMultiplication * w_.system.cost()));
  return static_cast<int>(std::min<double>(settings_.max_steps, affordable));
}

void PipelineMoves::count_sweeps(int sweeps) {
  w_.sweeps += sweeps;
  if (settings_.budget != nullptr) settings_.budget->spend(sweeps * sweep_cost());
}

void PipelineMoves::count_steps(int steps) {
  w_.steps += steps;
  const int factorizations = w_.system.factorizations() - counted_;
  counted_ += factorizations;
  if (settings_.budget != nullptr) settings_.budget->spend(std::max(steps, factorizations) * step_cost());
}

int PipelineMoves::affordable(int steps) const {
  if (settings_.budget == nullptr) return steps;
  const double most = std::max(1.0, std::ceil(settings_.budget->left() / step_cost()));
  return most < steps ? static_cast<int>(most) : steps;
}

double PipelineMoves::measure_start() {
  if (settings_.warm || settings_.swept) {
    compute_velocity(dual_, w_.lambda, w_.u);
  } else {
    w_.u = dual_.g;  // lambda is zero
  }
  return natv(dual_, ContactModel::kNcp, w_.lambda, w_.u);
}

double PipelineMoves::look() {
  compute_velocity(dual_, w_.lambda, w_.u);
  const double value = natv(dual_, ContactModel::kNcp, w_.lambda, w_.u);
  if (!(value < w_.best_natv)) return value;
  w_.best_natv = value;
  w_.best = w_.lambda;
  w_.best_u = w_.u;
  return value;
}

void PipelineMoves::sweep(int count) {
  for (int k = 0; k < count && !out_of_time(); ++k) {
    const double change = gauss_seidel_sweep(w_, 1.0, w_.contacts);
    rate_ = change_ > 0.0 ? change / change_ : 1.0;
    change_ = change;
    count_sweeps(1);
    if (change <= settings_.tolerance || dual_.nblock() == 1) {
      look();
      if (done()) return;
    }
  }
}

double PipelineMoves::sweep_cost() const {
  return kBlockSweep * dual_.nblock() + kEntrySweep * static_cast<double>(dual_.G.values.size());
}

double PipelineMoves::step_cost() const {
  return kBlockStep * dual_.nblock() + kEntryStep * static_cast<double>(dual_.G.values.size()) +
         kMultiplication * w_.system.cost();
}

// A guess before the symbolic factors exist: a band twice as wide as the mean row, at most dense.
double PipelineMoves::newton_cost() const {
  const double n = dual_.nrow();
  const double row = static_cast<double>(dual_.G.values.size()) / std::max(1.0, n);
  const double width = std::min(n / 2.0, 2.0 * row);
  return kBlockNewton * dual_.nblock() + kMultiplication * n * width * width;
}

void PipelineMoves::sweep_while_cheap(double newton_steps) {
  double budget = newton_steps * newton_cost();
  while (!done()) {
    const double rate = std::min(rate_, 0.9999);
    const double needed = std::log(settings_.tolerance / change_) / std::log(rate);
    if (!(needed * sweep_cost() <= budget) || !(budget > 0.0) || out_of_time()) break;
    const int count = std::min(kBatch, std::max(1, static_cast<int>(std::ceil(needed))));
    const int before = w_.sweeps;
    sweep(count);
    budget -= (w_.sweeps - before) * sweep_cost() * 0.5;
  }
  look();
}

// What a sweep changes goes up and down when it is accelerated: the least change of a window counts.
void PipelineMoves::sweep_accelerated(double newton_steps, bool patient) {
  if (exhausted()) return;
  const int most = static_cast<int>(std::min(newton_steps * step_cost(), kMostSwept) / sweep_cost());
  double before = kInfinity, least = kInfinity;
  w_.lambda = w_.best;
  w_.anderson.start(dual_.nrow());
  for (int k = 1; k <= most && !out_of_time(); ++k) {
    w_.unswept = w_.lambda;
    const double change = gauss_seidel_sweep(w_, 1.0, w_.contacts);
    count_sweeps(1);
    if (!std::isfinite(change)) return;
    least = std::min(least, change);
    const bool window = k % kWindow == 0;
    if (window || change <= 2.0 * settings_.tolerance) look();
    if (done()) return;
    if (window) {
      const double needed = kWindow * std::log(settings_.tolerance / least) / std::log(least / before);
      const bool promises = k == kWindow || (least < before && needed <= most - k);
      if (!patient && !promises) return;
      before = least;
      least = kInfinity;
    }
    w_.anderson.mix(w_.unswept, w_.lambda);
  }
}

void PipelineMoves::try_modes(bool minimum_norm, double damping) {
  if (exhausted()) return;
  const ModeNewtonSettings settings{.tolerance = settings_.tolerance,
                                    .max_steps = small() || settings_.warm ? kModeSteps : kFewModeSteps,
                                    .minimum_norm = minimum_norm && !settings_.warm,
                                    .damping = damping,
                                    .patience = small() ? kInfinity : 1.0,
                                    .contacts = local_contacts(),
                                    .deadline = settings_.deadline};
  compute_velocity(dual_, w_.lambda, w_.u);
  w_.best_natv = w_.modes.run(dual_, w_.system, w_.lambda, w_.u, settings, w_.best_natv, w_.best, w_.best_u);
  count_steps(w_.modes.steps());
}

void PipelineMoves::try_smoothing(double barrier, int steps) {
  if (exhausted()) return;
  const SmoothingNewtonSettings settings{.tolerance = settings_.tolerance,
                                         .max_iterations = affordable(steps),
                                         .barrier = barrier,
                                         .deadline = settings_.deadline};
  w_.lambda = w_.best;
  w_.u = w_.best_u;
  follow_path(settings, true, w_.system, w_.smoothing, w_.modes, dual_, w_.best, w_.best_u, w_.best_natv);
  count_steps(w_.smoothing.iterations());
}

void PipelineMoves::try_interior(double shift, int steps) {
  if (exhausted()) return;
  const InteriorPointSettings settings{.tolerance = settings_.tolerance,
                                       .max_iterations = affordable(steps),
                                       .shift = shift,
                                       .deadline = settings_.deadline};
  follow_path(settings, true, w_.system, w_.interior, w_.modes, dual_, w_.best, w_.best_u, w_.best_natv);
  count_steps(w_.interior.iterations());
}

void PipelineMoves::try_compliance() {
  if (exhausted()) return;
  // The other half is for the stages behind it.
  const CompliancePathSettings settings{.max_steps = affordable((most_steps() - w_.steps) / 2),
                                        .deadline = settings_.deadline};
  w_.best_natv = w_.compliance.run(dual_, settings, w_.best_natv, w_.best, w_.best_u);
  count_steps(w_.compliance.steps());
  w_.lambda = w_.best;
  try_modes(false);
}

// Where no solution exists, the barrier's impulses grow without bound, along a ray of Farkas: lambda in the cones, G
// lambda nearly zero and g'lambda < 0, so that no velocity satisfies all constraints. With large friction the cone is
// nearly a half-space and friction alone can make up a ray, which proves nothing: a contact may also slide. There only
// the normal impulses count.
bool PipelineMoves::diverges() {
  if (done() || w_.interior.lambda().size() != dual_.nrow()) return false;
  VectorX& ray = w_.lambda;
  ray = w_.interior.lambda();
  const Blocks& blocks = dual_.blocks;
  for (int i = 0; i < dual_.nblock(); ++i) {
    const int r = blocks.row[i], last = blocks.row[i + 1] - 1;
    if (std::any_of(&blocks.mu[r], &blocks.mu[last], [](double mu) { return mu > kLargeFriction; }))
      ray.segment(r, last - r).setZero();
  }
  if (!(ray.lpNorm<Eigen::Infinity>() > kLarge)) return false;
  compute_velocity(dual_, ray, w_.u);
  const double gain = -dual_.g.dot(ray), cost = w_.u.dot(ray) + gain;
  w_.infeasible = cost < kRayShare * gain;
  return w_.infeasible;
}

void PipelineMoves::sweep_from_best(double count) {
  if (exhausted()) return;
  w_.lambda = w_.best;
  sweep(static_cast<int>(count));
  look();
}

}  // namespace touchstone
