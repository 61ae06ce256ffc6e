#include "touchstone/sim/step_record.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/math/cones.hpp"

namespace touchstone {

const char* to_string(BlockMode mode) {
  switch (mode) {
    case BlockMode::kHeld:
      return "held";
    case BlockMode::kOpen:
      return "open";
    case BlockMode::kClosed:
      return "closed";
    case BlockMode::kSticking:
      return "sticking";
    case BlockMode::kSliding:
      return "sliding";
    case BlockMode::kInside:
      return "inside";
    case BlockMode::kAtLower:
      return "at lower bound";
    case BlockMode::kAtUpper:
      return "at upper bound";
  }
  return "unknown";
}

namespace {

// Friction opposes motion where it is at its limit.
bool slides(const Blocks& blocks, int block, const double* lambda, const double* u, double share) {
  const int m = blocks.size(block);
  const double* mu = blocks.mu.data() + blocks.row[at(block)];
  if (cone_excess(m, mu, lambda) < -share * lambda[m - 1]) return false;
  double power = 0.0;
  for (int k = 0; k < m - 1; ++k) power += lambda[k] * u[k];
  return power < 0.0 || std::all_of(mu, mu + m - 1, [](double value) { return value == 0.0; });
}

}  // namespace

BlockMode block_mode(const Blocks& blocks, int block, const double* lambda, const double* u, double share) {
  const int m = blocks.size(block), r = blocks.row[at(block)];
  switch (blocks.type[at(block)]) {
    case BlockType::kEquality:
      return BlockMode::kHeld;
    case BlockType::kNonNegative:
      return lambda[0] > 0.0 ? BlockMode::kClosed : BlockMode::kOpen;
    case BlockType::kBox: {
      const double width = blocks.hi[at(r)] - blocks.lo[at(r)];
      const double slack = share * std::max(std::abs(lambda[0]), std::isfinite(width) ? width : 0.0);
      if (lambda[0] <= blocks.lo[at(r)] + slack) return BlockMode::kAtLower;
      if (lambda[0] >= blocks.hi[at(r)] - slack) return BlockMode::kAtUpper;
      return BlockMode::kInside;
    }
    case BlockType::kCoulomb:
      break;
  }
  if (!(lambda[m - 1] > 0.0)) return BlockMode::kOpen;
  if (m == 1) return BlockMode::kClosed;
  return slides(blocks, block, lambda, u, share) ? BlockMode::kSliding : BlockMode::kSticking;
}

StepRecord record_step(const StepContext& step) {
  step.require_mass_matrix("a record of a step");
  StepRecord record;
  const Constraints& c = step.constraints;
  record.h = step.h;
  record.before = step.before;
  record.after = step.state;
  record.input = step.input;
  record.contacts.assign(step.contacts().begin(), step.contacts().end());
  record.constraints = c;
  record.factor = {step.data.L, step.data.D_inverse};
  record.v_free = step.data.v_free;
  record.v_next = step.v_next;
  record.lambda = step.lambda.head(c.rows());
  record.u.resize(c.rows());
  if (c.rows() == 0) return record;
  VectorX v = VectorX::Zero(step.model.nv);
  add_constraint_force(step.model, c, record.lambda, v);
  solve(step.model, step.data.scope, record.factor, v);
  v += record.v_free;
  constraint_velocity(step.model, c, v, record.u);
  record.u += c.bias.head(c.rows()) + c.compliance.head(c.rows()).cwiseProduct(record.lambda);
  for (int block = 0; block < c.count(); ++block) {
    const int r = c.blocks.row[at(block)];
    record.modes.push_back(block_mode(c.blocks, block, record.lambda.data() + r, record.u.data() + r));
  }
  return record;
}

}  // namespace touchstone
