#include "touchstone/sim/closure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/constraints/coupling.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone {
namespace {

constexpr double kLimitReach = 1.0;  // m or rad: how near a limit must be to be a row
constexpr double kMoreDamping = 100.0, kLessDamping = 0.1, kMostDamping = 1e14;
constexpr double kLeastGain = 1e-6;  // of the sum of squares, that an iteration must bring
constexpr int kMostIdle = 3;         // iterations in a row with less
constexpr double kQuickGain = 1e-2;  // of the sum of squares, below which an iteration with an old factor must bring it

}  // namespace

LoopClosure::LoopClosure(const Model& model) : model_(model), data_(model) {
  data_.v_free.setZero(model.nv);
  options_.slop = 0.0;
  options_.time_constant = std::numeric_limits<double>::min();  // all of a violation at once
  options_.recovery_speed = std::numeric_limits<double>::infinity();
  at_ = State(model);
}

double LoopClosure::error_of(int block) const {
  const bool is_two_sided = entry_of(rows_.list[at(block)].kind).violation == Violation::kTwoSided;
  double worst = 0.0;
  for (int row = rows_.blocks.row[at(block)]; row < rows_.blocks.row[at(block + 1)]; ++row) {
    const double value = rows_.position[at(row)] * rows_.row_length[at(row)];
    worst = std::max(worst, is_two_sided ? std::abs(value) : -value);
  }
  return worst;
}

void LoopClosure::add_rows(const Parameters& parameters, const ReferenceWeights& weights, const State& state,
                           bool limits, ConstraintWriter::Parts parts) {
  at_.q = state.q;
  at_.mocap = state.mocap;
  at_.loop_q = state.loop_q;
  forward_kinematics(model_, parameters, at_, data_);
  if (model_.ntendon > 0) compute_tendons(model_, at_.q, at_.v, data_);
  rows_.clear();
  const ConstraintStep step{{model_, data_, {}, rules_of(ConstraintModel::kRigid)},
                            parameters,
                            at_,
                            weights,
                            1.0,
                            1.0,
                            options_,
                            kLimitReach};
  ConstraintWriter writer(model_, data_, rows_, parts);
  for (const KindEntry& kind : constraint_kinds()) {
    if (kind.violation == Violation::kTwoSided || (limits && kind.violation == Violation::kOneSided))
      kind.add(step, writer);
  }
  for (std::size_t i = 0; i < driven_.size(); ++i) {
    writer.begin(ConstraintKind::kEquality, -1 - static_cast<int>(i));
    JointCoupling::add(step, driven_[i], writer);
  }
  error_ = merit_ = 0.0;
  for (int block = 0; block < rows_.count(); ++block) {
    const bool is_two_sided = entry_of(rows_.list[at(block)].kind).violation == Violation::kTwoSided;
    for (int row = rows_.blocks.row[at(block)]; row < rows_.blocks.row[at(block + 1)]; ++row) {
      const double value = rows_.position[at(row)] * rows_.row_length[at(row)];
      const double violation = is_two_sided ? std::abs(value) : std::max(-value, 0.0);
      error_ = std::max(error_, violation);
      merit_ += violation * violation;
    }
  }
}

void LoopClosure::update(const Parameters& parameters, const ReferenceWeights& weights, const State& state,
                         bool limits) {
  add_rows(parameters, weights, state, limits, ConstraintWriter::Parts::kAll);
  rows_.recovers.assign(at(rows_.rows()), 1);
}

void LoopClosure::measure(const Parameters& parameters, const ReferenceWeights& weights, const State& state) {
  add_rows(parameters, weights, state, false, ConstraintWriter::Parts::kPositions);
}

void LoopClosure::solve_rows() { solve_constraint_rows(model_, data_.scope, data_.L, data_.D_inverse, rows_); }

// A displacement of the rows as they are, in pass_.
bool LoopClosure::find_step(const Parameters& parameters, const ReferenceWeights& weights,
                            const ClosureSettings& settings, double damping) {
  if (!data_.long_trees.used) solve_rows();
  islands_.find(model_, rows_);
  if (no_motion_.size() < rows_.rows()) no_motion_.setZero(2 * rows_.rows());
  return pass_.run({.model = model_,
                    .parameters = parameters,
                    .data = data_,
                    .constraints = rows_,
                    .islands = islands_,
                    .next_velocity = no_motion_,
                    .dof_length = weights.dof_length,
                    .time = 1.0,
                    .remaining = 0.0,
                    .reach = settings.reach,
                    .options = options_,
                    .springs = false,
                    .damping = damping});
}

ClosureResult LoopClosure::run(const Parameters& parameters, const ReferenceWeights& weights,
                               const ClosureSettings& settings, State& state) {
  ClosureResult result;
  update(parameters, weights, state, settings.limits);
  double damping = 1.0;
  int idle = 0;
  while (error_ > settings.tolerance && result.iterations < settings.max_iterations && idle < kMostIdle) {
    ++result.iterations;
    if (!find_step(parameters, weights, settings, damping)) break;
    const double merit = merit_;
    start_ = state.q;
    integrate(model_, data_.scope.joints, start_, pass_.displacement(), 1.0, state.q);
    update(parameters, weights, state, settings.limits);
    if (merit_ < merit) {
      damping = std::max(1.0, kLessDamping * damping);
      idle = merit_ > (1.0 - kLeastGain) * merit ? idle + 1 : 0;
      continue;
    }
    state.q = start_;
    update(parameters, weights, state, settings.limits);
    damping *= kMoreDamping;
    if (damping > kMostDamping) break;
  }
  result.error = error_;
  result.closed = error_ <= settings.tolerance;
  return result;
}

// Finds the loops among the rows of a step, which has them in the same order. False if one is missing.
bool LoopClosure::match(const Constraints& c) {
  row_of_.resize(at(rows_.count()));
  int next = 0;
  for (int block = 0; block < rows_.count(); ++block, ++next) {
    const Constraint& wanted = rows_.list[at(block)];
    const auto differs = [&](const Constraint& found) {
      return found.kind != wanted.kind || found.index != wanted.index || found.side != wanted.side;
    };
    while (next < c.count() && differs(c.list[at(next)])) ++next;
    if (next == c.count()) return false;
    row_of_[at(block)] = c.blocks.row[at(next)];
  }
  return true;
}

// The displacement that closes the loops where the rows of the step are.
void LoopClosure::correct(const Solved& solved) {
  const Constraints& c = solved.step.constraints;
  impulses_.setZero(std::max<Eigen::Index>(impulses_.size(), c.rows()));
  for (int block = 0; block < rows_.count(); ++block) {
    const int first = rows_.blocks.row[at(block)];
    for (int r = 0; r < rows_.blocks.size(block); ++r)
      impulses_[row_of_[at(block)] + r] = -rows_.position[at(first + r)];
  }
  displacement_.setZero(model_.nv);
  solved.solver.close_loops(solved.step, impulses_, displacement_);
}

ClosureResult LoopClosure::follow(const Solved& solved, const Parameters& parameters, const ReferenceWeights& weights,
                                  const ClosureSettings& settings, State& state) {
  ClosureResult result;
  bool goes_on = error_ > settings.tolerance && solved.solver.has_loop_factors() && match(solved.step.constraints);
  while (goes_on && result.iterations < settings.max_iterations) {
    ++result.iterations;
    correct(solved);
    if (!(displacement_.cwiseProduct(weights.dof_length).lpNorm<Eigen::Infinity>() <= settings.reach)) break;
    const double merit = merit_;
    start_ = state.q;
    integrate(model_, data_.scope.joints, start_, displacement_, 1.0, state.q);
    measure(parameters, weights, state);
    if (!(merit_ < merit)) {
      state.q = start_;
      return result;
    }
    goes_on = error_ > settings.tolerance && merit_ < kQuickGain * merit;
  }
  result.error = error_;
  result.closed = error_ <= settings.tolerance;
  return result;
}

}  // namespace touchstone
