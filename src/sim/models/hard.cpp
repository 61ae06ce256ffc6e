#include "touchstone/sim/models/hard.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/rebound.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::hard {
namespace {

// Compliance of equalities, as a share of what their bodies give way to. Loops that say the same twice have no unique
// force, loops at dead centre no finite one for what stabilisation asks for; this chooses and bounds it, and is far
// below the accuracy of a step everywhere else.
constexpr double kLoopCompliance = 1e-9;

// The speed at which a violation is left, 0 within the slop.
double recovery(double gap, double h, double share, const StabilisationOptions& s) {
  if (share == 0.0) return 0.0;
  return std::max(share * std::min(0.0, gap + s.slop) / h, -s.recovery_speed);
}

struct Bias {
  double total = 0.0, recovery = 0.0;
};

// A hard contact or limit: its gap, and its velocities before the step and after it without constraints.
struct Unilateral {
  double gap = 0.0, velocity = 0.0, free_velocity = 0.0;
  double share = 0.0;  // of the gap, that a step removes where it is violated
};

Bias unilateral_bias(const Unilateral& u, double restitution, const Impedance& impedance, double h, double remaining,
                     const StabilisationOptions& s) {
  const double back = recovery(u.gap, remaining, u.share, s);
  if (u.velocity < -s.restitution_threshold && u.gap + remaining * u.free_velocity <= 0.0) {
    const double load = (u.velocity - u.free_velocity) / h;
    const double share = std::max(restitution, rebound(impedance, -u.velocity, load));
    const double bounce = share * u.velocity;
    if (share > 0.0) return {std::min(bounce, back), std::min(0.0, back - bounce)};
  }
  return {std::max(0.0, u.gap) / remaining + back, back};
}

SimulatorOptions solver_options(const Model&, const SimulatorOptions& options) { return options; }

bool free_motion(StepContext& s, SpringRule springs) {
  return compute_free_motion(s.model, s.parameters, s.work, s.input, s.h, s.data, ServoMode::kBounded, springs,
                             s.kinematics);
}

void adopt_free_velocity(StepContext&) {}

void advance_velocity(StepContext& s) {
  const std::span<const IndexRange> dofs = s.data.scope.dofs;
  copy_ranges(dofs, s.data.v_free, s.v_next);
  if (s.constraints.count() == 0) return;
  over(dofs, [&](int i, int n) { s.impulse.segment(i, n).setZero(); });
  add_constraint_force(s.model, s.constraints, s.lambda, s.impulse);
  solve(s.model, s.data, s.impulse);
  over(dofs, [&](int i, int n) { s.v_next.segment(i, n) += s.impulse.segment(i, n); });
}

void read_forces(StepContext& s) {
  over(s.data.scope.dofs, [&](int i, int n) {
    s.acceleration.segment(i, n) = (s.state.v.segment(i, n) - s.before.v.segment(i, n)) / s.h;
  });
  applied_actuator_forces(s.model, s.data, s.before.v, s.state.v, s.h, s.actuator_force);
}

}  // namespace

const ConstraintRules kRules{.is_exact = true,
                             .looks_ahead = true,
                             .skips_immovable = true,
                             .contact_laws = false,
                             .mujoco_loops = false,
                             .law = &KindEntry::hard_law,
                             .implicit_forces = true,
                             .solver_options = solver_options,
                             .free_motion = free_motion,
                             .adopt_free_velocity = adopt_free_velocity,
                             .advance_velocity = advance_velocity,
                             .read_forces = read_forces};

void set_unilateral(const ConstraintStep& step, StabilisedKind kind, int row, double restitution,
                    const Impedance& impedance, Constraints& c) {
  const Unilateral u{c.position[at(row)], c.velocity[row], c.free_velocity[row], step.stabilisation.share_of(kind)};
  const Bias bias = unilateral_bias(u, restitution, impedance, step.h, step.remaining, step.stabilisation);
  c.bias[row] = bias.total;
  c.recovery[row] = bias.recovery;
  c.recovers[at(row)] = 1;
}

void set_bilateral(const ConstraintStep& step, int row, double weight, Constraints& c) {
  const double share = step.stabilisation.share_of(StabilisedKind::kLoop);
  c.bias[row] = c.recovery[row] = share * c.position[at(row)] / step.remaining;
  // J(q_m) (v + v') / 2 = 0 does no work: J(q_m) v' = 0 alone would lose what the old velocity has across the loop.
  if (step.loop_velocity != nullptr) c.bias[row] += c.loop_velocity[row];
  c.recovers[at(row)] = 1;
  c.compliance[row] = kLoopCompliance * weight;
}

}  // namespace touchstone::hard
