// Derivatives of a step that is made of several parts (substeps, or those that keep to an accuracy), and of one in
// which something sleeps.
//
// x' = f_n(.. f_1(x, u) .., u): A = A_n A_(n-1) .., B = A_n B_(n-1) + B_n, and so on. The parts are made once more
// (Simulator::replay), each of the size that it had, and each is multiplied to what came before it, so that memory does
// not grow with their number. Their impulses are not remembered: products (vjp, jvp) are those of the matrices.
//
// An island that sleeps stays where it is, at rest, whatever it was before: q' = q, v' = 0, activations stay. That is
// the derivative of the step as it was; anything that really moved it would have woken it up.
#include <algorithm>
#include <functional>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/step_derivatives.hpp"
#include "touchstone/sim/integrators/loop_velocity.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {

void StepDerivatives::compute(Simulator& sim) {
  const SimulatorOptions& options = sim.options();
  if (!has_parts(options)) return compute(sim.context());
  has_result_ = false;
  require_usable(sim.context());
  bool is_first = true;
  Held held;
  const auto add_part = [&](const StepContext& step) {
    compute_part(step);
    chain(is_first);
    chain_memory(step, is_first);
    add_held(held);
    held = held_;
    is_first = false;
  };
  sim.replay(std::ref(add_part));  // by reference: without memory of its own
  A.swap(A_chain_);
  B.swap(B_chain_);
  C.swap(C_chain_);
  has_only_matrices_ = has_result_ = true;
}

void StepDerivatives::linearise(Simulator& sim) {
  if (has_parts(sim.options())) return compute(sim);
  linearise(sim.context());
}

// A, B and C of this substep after those of the chain. Leaves the product in the chain.
void StepDerivatives::chain(bool is_first) {
  if (is_first) {
    A_chain_ = A;
    B_chain_ = B;
    C_chain_ = C;
    return;
  }
  B.noalias() += A * B_chain_;
  C.noalias() += A * C_chain_;
  chain_scratch_.noalias() = A * A_chain_;
  A_chain_.swap(chain_scratch_);
  B_chain_ = B;
  C_chain_ = C;
}

// Midpoint rules with loops also read the three velocities before the one that a part begins with: their loops'
// velocity follows these by a share of an alternation (loop_velocity.hpp). Those of before the step are constants.
void StepDerivatives::chain_memory(const StepContext& step, bool is_first) {
  const int nv = model_.nv;
  const Integrator rule = step.options.integrator;
  if (!may_have_loops(model_) || (rule != Integrator::kMoreauMidpoint && rule != Integrator::kVariational)) return;
  if (is_first) {
    for (MatrixX& past : past_) past.setZero(nv, columns_);
    past_[0].middleCols(nv, nv).setIdentity();
  } else {
    if (is_settled_ && step.damps_alternation && step.constraints.rows() > 0) add_memory(step);
    past_[2].swap(past_[1]);
    past_[1].swap(past_[0]);
    past_[0] = left_;
  }
  left_.resize(nv, columns_);
  left_.leftCols(nx_) = A_chain_.middleRows(nv, nv);
  if (model_.nu > 0) left_.middleCols(nx_, model_.nu) = B_chain_.middleRows(nv, nv);
  if (ntheta_ > 0) left_.rightCols(ntheta_) = C_chain_.middleRows(nv, nv);
}

// What older velocities do to the last part.
void StepDerivatives::add_memory(const StepContext& step) {
  const Constraints& c = step.constraints;
  by_loop_velocity_.resize(nx_, model_.nv);
  for (int dof = 0; dof < model_.nv; ++dof) {
    columns_bar_.setZero(columns_);
    rows_vector_.setZero(c.rows());
    for (int block = 0; block < c.count(); ++block) {
      if (!holds_loop(step, c.list[at(block)])) continue;
      const int first = c.blocks.row[at(block)], size = c.blocks.size(block);
      rows_vector_.segment(first, size) = main_.J().col(dof).segment(first, size);
    }
    push(by_loop_velocity_.col(dof));
  }
  past_change_ = (kAlternationShare / 8.0) * (3.0 * (past_[0] - past_[1]) + past_[2]);
  A_chain_.noalias() += by_loop_velocity_ * past_change_.leftCols(nx_);
  if (model_.nu > 0) B.noalias() += by_loop_velocity_ * past_change_.middleCols(nx_, model_.nu);
  if (ntheta_ > 0) C.noalias() += by_loop_velocity_ * past_change_.rightCols(ntheta_);
  B_chain_ = B;
  C_chain_ = C;
}

void StepDerivatives::add_held(const Held& earlier) {
  held_.contacts += earlier.contacts;
  held_.actuators += earlier.actuators;
  held_.pass = held_.pass || earlier.pass;
  held_.smoothing = held_.smoothing || earlier.smoothing;
}

void StepDerivatives::find_sleeping(const StepContext& step) {
  asleep_.clear();
  if (step.data.scope.is_whole() && !step.is_resting) return;
  for (int i = 0; i < model_.nv; ++i) {
    if (step.is_resting || !step.data.scope.has_tree(model_.dof_tree[at(i)])) asleep_.push_back(i);
  }
}

// Rows and the pass are those of what is awake: only forces and activations know sleepers. Columns of their velocities
// are taken away where columns are of the start.
void StepDerivatives::hold_sleeping(const StepContext& step) {
  if (asleep_.empty()) return;
  for (const int i : asleep_) {
    main_.force().row(i).setZero();
    v_next_[i] = 0.0;
  }
  const std::vector<int>& awake = step.data.scope.actuators;
  for (int u = 0; u < model_.nu; ++u) {
    const int k = model_.activation_index[at(u)];
    if (k < 0 || (!step.is_resting && std::find(awake.begin(), awake.end(), u) != awake.end())) continue;
    activation_.row(k).setZero();
    activation_(k, 2 * model_.nv + k) = 1.0;
  }
}

}  // namespace touchstone
