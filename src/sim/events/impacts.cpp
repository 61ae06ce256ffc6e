#include "touchstone/sim/events/impacts.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/sim/events/mode_choice.hpp"

namespace touchstone {
namespace {

constexpr double kNever = 1e6;  // m/s: a bias with which a row stays open

bool is_unilateral(const Survey& survey, int block) {
  const BlockType type = survey.c.blocks.type[at(block)];
  return type == BlockType::kCoulomb || type == BlockType::kNonNegative;
}

bool touches(const Survey& survey, int block) {
  return is_unilateral(survey, block) && survey.c.position[at(survey.normal(block))] <= kTouching;
}

}  // namespace

bool Impacts::are_due(const Survey& survey) {
  for (int block = 0; block < survey.c.count(); ++block) {
    if (touches(survey, block) && survey.c.velocity[survey.normal(block)] < -survey.resting_speed) return true;
  }
  return false;
}

// What does not touch takes no part, and dry friction has no impulses.
void Impacts::leave_out_open(Survey& survey) const {
  Constraints& c = survey.c;
  for (int block = 0; block < c.count(); ++block) {
    const int row = survey.normal(block);
    if (is_unilateral(survey, block)) {
      if (!touches(survey, block)) c.bias[row] = kNever;
    } else if (c.blocks.type[at(block)] == BlockType::kBox) {
      c.blocks.lo[at(row)] = c.blocks.hi[at(row)] = 0.0;
    }
  }
}

bool Impacts::solve(StepContext& s, Survey& survey, EventSolver& solver, VectorX& v) {
  Constraints& c = survey.c;
  leave_out_open(survey);
  for (int block = 0; block < c.count(); ++block) {
    const int normal = survey.normal(block);
    if (!touches(survey, block)) continue;
    if (c.bias[normal] > 0.0) c.bias[normal] = 0.0;  // the rest of a gap
    if (!(c.velocity[normal] < -survey.resting_speed)) continue;
    for (int row = survey.first(block); row < normal; ++row)
      c.bias[row] += s.options.events.tangential_restitution * survey.slip(row);
  }
  v = survey.state.v;
  ++s.report.events.impacts;
  if (s.options.events.impact_order == ImpactOrder::kSequence) return solve_next(s, survey, solver, v);
  return solve_together(s, survey, solver, v);
}

bool Impacts::solve_together(StepContext& s, Survey& survey, EventSolver& solver, VectorX& v) {
  Constraints& c = survey.c;
  const int rows = c.rows();
  if (s.options.events.impact_law == ImpactLaw::kNewton) {
    if (!cones_.solve(s, survey, solver, v)) return false;
    v += cones_.change();
    return true;
  }
  if (bias_.size() < rows) bias_.resize(2 * rows);
  bias_.head(rows) = c.bias.head(rows);
  for (int row = 0; row < rows; ++row) c.bias[row] = std::max(c.bias[row], 0.0);
  if (!cones_.solve(s, survey, solver, v)) return false;
  if (expansion_.size() < rows) expansion_.resize(2 * rows);
  expansion_.setZero();
  for (int block = 0; block < c.count(); ++block) {
    const int normal = survey.normal(block);
    if (!touches(survey, block)) continue;
    // The coefficient, from the bias e u_n of Newton's law. A contact that did not approach has none.
    const double e = bias_[normal] < 0.0 ? bias_[normal] / c.velocity[normal] : 0.0;
    for (int row = survey.first(block); row <= normal; ++row) expansion_[row] = e * cones_.impulses()[row];
  }
  v += cones_.change();
  velocity_.setZero();
  add_constraint_force(s.model, c, expansion_, velocity_);
  touchstone::solve(s.model, survey.data, velocity_);
  v += velocity_;
  if (!cones_.solve(s, survey, solver, v)) return false;  // what the expansion pushes into its neighbours
  v += cones_.change();
  return true;
}

// The contact that approaches fastest alone, with all equalities.
bool Impacts::solve_next(StepContext& s, Survey& survey, EventSolver& solver, VectorX& v) {
  Constraints& c = survey.c;
  int fastest = -1;
  for (int block = 0; block < c.count(); ++block) {
    if (!touches(survey, block)) continue;
    if (fastest < 0 || c.velocity[survey.normal(block)] < c.velocity[survey.normal(fastest)]) fastest = block;
  }
  for (int block = 0; block < c.count(); ++block) {
    if (block != fastest && is_unilateral(survey, block)) c.bias[survey.normal(block)] = kNever;
  }
  return solve_together(s, survey, solver, v);
}

bool Impacts::solve_without_collision(StepContext& s, Survey& survey, EventSolver& solver, VectorX& v) {
  constexpr double kTime = 1e-6;  // s
  Constraints& c = survey.c;
  leave_out_open(survey);
  for (int block = 0; block < c.count(); ++block) {
    const int normal = survey.normal(block);
    for (int row = survey.first(block); row <= normal; ++row) {
      if (c.bias[row] != kNever) c.bias[row] = c.surface(row) + kTime * survey.drift[row];
    }
  }
  velocity_ = survey.state.v + kTime * survey.a_free;
  v = survey.state.v;
  if (!solver.solve(s, survey, velocity_)) return false;
  v += solver.change();
  // Forces would change it by no more than some g in this time.
  const double change = solver.change().cwiseProduct(s.weights.dof_length).cwiseAbs().maxCoeff();
  const double usual = kTime * (survey.a_free.cwiseProduct(s.weights.dof_length).cwiseAbs().maxCoeff() + 1.0);
  if (!(change > 100.0 * usual)) return false;
  ++s.report.events.impacts;
  return true;
}

}  // namespace touchstone
