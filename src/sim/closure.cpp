#include "touchstone/sim/closure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone {
namespace {

constexpr double kLimitReach = 1.0;  // m or rad: how near a limit must be to be a row
constexpr double kMoreDamping = 100.0, kLessDamping = 0.1, kMostDamping = 1e14;
constexpr double kLeastGain = 1e-6;  // of the sum of squares, that an iteration must bring
constexpr int kMostIdle = 3;         // iterations in a row with less

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

void LoopClosure::update(const Parameters& parameters, const ReferenceWeights& weights, const State& state,
                         bool limits) {
  at_.q = state.q;
  at_.mocap = state.mocap;
  at_.v.setZero();
  forward_kinematics(model_, parameters, at_, data_);
  rows_.clear();
  const ConstraintStep step{{model_, data_, {}, rules_of(ConstraintModel::kRigid)},
                            parameters,
                            at_,
                            weights,
                            1.0,
                            1.0,
                            options_,
                            kLimitReach};
  ConstraintWriter writer(model_, data_, rows_);
  for (const KindEntry& kind : constraint_kinds()) {
    if (kind.violation == Violation::kTwoSided || (limits && kind.violation == Violation::kOneSided))
      kind.add(step, writer);
  }
  rows_.recovers.assign(at(rows_.rows()), 1);
  error_ = merit_ = 0.0;
  for (int block = 0; block < rows_.count(); ++block) {
    error_ = std::max(error_, error_of(block));
    const bool is_two_sided = entry_of(rows_.list[at(block)].kind).violation == Violation::kTwoSided;
    for (int row = rows_.blocks.row[at(block)]; row < rows_.blocks.row[at(block + 1)]; ++row) {
      const double value = rows_.position[at(row)] * rows_.row_length[at(row)];
      if (is_two_sided || value < 0.0) merit_ += value * value;
    }
  }
}

void LoopClosure::solve_rows() { solve_constraint_rows(model_, data_.scope, data_.L, data_.D_inverse, rows_); }

// A displacement of the rows as they are, in pass_.
bool LoopClosure::find_step(const Parameters& parameters, const ReferenceWeights& weights,
                            const ClosureSettings& settings, double damping) {
  solve_rows();
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

}  // namespace touchstone
