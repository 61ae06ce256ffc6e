// The part of the position pass in the derivatives of a step (sim/position_pass.hpp). Its displacement d is a balance
// like the velocity, A d = J' lambda, with A the metric and rows
//     u = J d + b + R lambda,     b = share (gap + slop), or the open gap, or the error,
// of gaps phi + remaining J v' after the step. At constant d and lambda A d is rnea without velocities and weight.
// Constant are taken: the slack R, and servo gains in the metric.
#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone {
namespace {

constexpr double kStiffTime = 1.0;    // s: PositionPass's T
constexpr double kSameMotion = 1e-9;  // of the largest: what the rows ask for and what was done
constexpr double kScaled = 1e-9;      // of a share, by which it must fall short to count as scaled

bool is_two_sided(const Constraint& constraint) { return entry_of(constraint.kind).violation == Violation::kTwoSided; }

}  // namespace

void StepDerivatives::linearise_pass(const StepContext& step) {
  has_pass_ = false;
  displacement_.setZero();
  if (!step.report.recovered) return;
  held_.pass = step.closure.has_value();
  if (!(step.pass.farthest() > 0.0)) return;
  displacement_ = step.pass.displacement();
  const Constraints& rows = step.pass.rows();
  // Rows that contradict each other have impulses as large as the slack lets them: nothing to build on.
  if (step.report.hindered_block >= 0 || !match_pass(step) || !set_metric(step)) {
    held_.pass = true;
    return;
  }
  has_pass_ = true;
  set_pass_slopes(step);
  pass_.begin(model_, rows, columns_);
  add_balance_rows(step, rows, step.pass.impulses().data(), displacement_, displacement_, pass_);
  add_pass_slopes(step);
  pass_.close(model_, rows, ContactModel::kNcp, metric_.L, metric_.D_inverse, step.pass.impulses().head(rows.rows()),
              displacement_, 0.0);
  add_pass_parameters(step);
}

// Which block of the step each block of the pass is.
bool StepDerivatives::match_pass(const StepContext& step) {
  const Constraints &c = step.constraints, &rows = step.pass.rows();
  pass_block_.clear();
  int guess = -1;  // they follow in order, island by island
  for (const Constraint& wanted : rows.list) {
    int tries = 0;
    for (; tries < c.count(); ++tries) {
      guess = (guess + 1) % c.count();
      const Constraint& found = c.list[at(guess)];
      if (found.kind == wanted.kind && found.index == wanted.index && found.side == wanted.side) break;
    }
    if (tries == c.count()) return false;
    pass_block_.push_back(guess);
  }
  return true;
}

// The metric of the pass: that of the step, or the one with springs and servos where a contact or limit asks for more
// than the slop. False if the displacement is not that of the impulses: where it was cut off.
bool StepDerivatives::set_metric(const StepContext& step) {
  const Constraints &c = step.constraints, &rows = step.pass.rows();
  const double slop = step.options.stabilisation.slop;
  double longest = 0.0;
  for (int block = 0; block < rows.count(); ++block) {
    const int row = rows.blocks.row[at(block)];
    if (is_two_sided(rows.list[at(block)]) || !(rows.bias[row] < 0.0)) continue;
    const int own = c.blocks.row[at(pass_block_[at(block)] + 1)] - 1;
    longest = std::max(longest, -c.position[at(own)] - remaining_ * step.row_velocity[own] - slop);
  }
  if (longest <= slop || !factorize_stiff(model_, step.parameters, kStiffTime, step.data, metric_)) {
    metric_.L = step.data.L;
    metric_.D_inverse = step.data.D_inverse;
  }
  v_bar_.setZero(model_.nv);
  add_constraint_force(model_, rows, step.pass.impulses(), v_bar_);
  solve(model_, data_.scope, metric_, v_bar_);
  return (v_bar_ - displacement_).cwiseAbs().maxCoeff() <= kSameMotion * displacement_.cwiseAbs().maxCoeff();
}

// How the bias of each row follows the gap after the step. Where the way of an island is cut to the recovery speed, all
// its rows follow the longest one too.
void StepDerivatives::set_pass_slopes(const StepContext& step) {
  const Constraints &c = step.constraints, &rows = step.pass.rows();
  const StabilisationOptions& options = step.options.stabilisation;
  pass_rows_.assign(at(rows.rows()), {});
  const auto beyond = [&](int own, bool two_sided) {  // minus the way
    const double gap = c.position[at(own)] + remaining_ * step.row_velocity[own];
    return two_sided ? gap : gap + options.slop;
  };
  pass_islands_.find(model_, rows, true);
  for (int i = 0; i < pass_islands_.count(); ++i) {
    double longest = 0.0, share = 1.0, least_share = 1.0;
    int longest_row = -1;
    double longest_beyond = 0.0;
    for (const int block : pass_islands_[i].blocks) {
      const int first = rows.blocks.row[at(block)], size = rows.blocks.size(block), from = pass_block_[at(block)];
      const bool two_sided = is_two_sided(rows.list[at(block)]);
      for (int r = 0; r < size; ++r) {
        PassRow& row = pass_rows_[at(first + r)];
        row.row = two_sided ? c.blocks.row[at(from)] + r : c.blocks.row[at(from + 1)] - 1;
        const double bias = rows.bias[first + r], over = beyond(row.row, two_sided);
        const bool asks = two_sided ? bias != 0.0 : bias < 0.0;
        row.slope = asks ? bias / over : !two_sided && bias > 0.0 ? 1.0 : 0.0;
        const double way = std::abs(bias) * rows.row_length[at(first + r)];
        if (!asks || way <= longest) continue;
        longest = way;
        longest_row = row.row;
        longest_beyond = over;
        share = row.slope;
        least_share = two_sided ? 1.0 : -std::expm1(-longest / (options.recovery_speed * options.time_constant));
      }
    }
    // Cut: the longest way is the recovery speed times the time t, and then the share is less than that of t.
    if (longest_row < 0 || !(share < (1.0 - kScaled) * least_share)) continue;
    // The slack is in proportion to the share, too.
    for (const int block : pass_islands_[i].blocks) {
      for (int r = rows.blocks.row[at(block)]; r < rows.blocks.row[at(block + 1)]; ++r) {
        const bool asks = is_two_sided(rows.list[at(block)]) ? rows.bias[r] != 0.0 : rows.bias[r] < 0.0;
        const double slack = rows.compliance[r] * step.pass.impulses()[r];
        pass_rows_[at(r)].longest = longest_row;
        pass_rows_[at(r)].by_longest = -((asks ? rows.bias[r] : 0.0) + slack) / longest_beyond;
      }
    }
  }
}

// What gaps after the step do at constant v'.
void StepDerivatives::add_pass_slopes(const StepContext&) {
  const int nv = model_.nv;
  ImplicitBalance::View rows = pass_.rows();
  for (std::size_t r = 0; r < pass_rows_.size(); ++r) {
    const auto add = [&](int row, double slope) {
      rows.row(static_cast<Eigen::Index>(r)).head(nv) +=
          slope * (position_.view().row(row) + remaining_ * rate_.view().row(row));
    };
    if (pass_rows_[r].slope != 0.0) add(pass_rows_[r].row, pass_rows_[r].slope);
    if (pass_rows_[r].longest >= 0) add(pass_rows_[r].longest, pass_rows_[r].by_longest);
  }
}

}  // namespace touchstone
