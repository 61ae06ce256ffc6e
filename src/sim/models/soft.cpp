#include "touchstone/sim/models/soft.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/sim/stages.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone::soft {
namespace {

constexpr double kLeastImpedance = 1e-4, kLargestImpedance = 0.9999;

std::array<double, 5> within_bounds(const std::array<double, 5>& s) {
  const auto clip = [](double x) { return std::clamp(x, kLeastImpedance, kLargestImpedance); };
  return {clip(s[0]), clip(s[1]), std::max(0.0, s[2]), clip(s[3]), std::max(1.0, s[4])};
}

SimulatorOptions solver_options(const Model& model, const SimulatorOptions& chosen) {
  SimulatorOptions options = chosen;
  if (options.solver == "auto") {
    options.solver = "ccp-newton";
    options.solver_options.insert(options.solver_options.begin(), "cone=" + model.options.cone);
  }
  return options;
}

bool free_motion(StepContext& s, SpringRule) {
  const bool made = compute_explicit_motion(s.model, s.parameters, s.work, s.input, s.h, s.data, s.kinematics);
  stage::hold_resting(s, s.data.v_free);  // nobody has computed theirs
  return made;
}

void adopt_free_velocity(StepContext& s) {
  s.acceleration = (s.data.v_free - s.state.v) / s.h;
  multiply_mass(s.model, s.data, s.acceleration, s.data.smooth_force);
}

// Constraint forces are those for M, and the velocity follows from M - h df/dv.
void advance_velocity(StepContext& s) {
  s.impulse = s.h * s.data.smooth_force;
  add_constraint_force(s.model, s.constraints, s.lambda, s.impulse);
  const bool all_dampers = s.model.options.integrator.starts_with("implicit");
  const bool damped = all_dampers || s.model.options.implicit_damping;
  s.acceleration = s.impulse / s.h;
  solve(s.model, s.data, s.acceleration);
  if (!damped) {
    solve(s.model, s.data, s.impulse);
  } else if (factorize_damped(s.model, s.parameters, !all_dampers, s.h, s.data)) {
    solve(s.model, s.data.scope, s.data.damped, s.impulse);
  } else {
    s.report.status = StepStatus::kDiverged;
  }
  s.v_next = s.state.v + s.impulse;
  stage::hold_resting(s, s.v_next);
  stage::hold_resting(s, s.acceleration);
}

void read_forces(StepContext& s) { s.actuator_force = s.data.actuator_force; }

}  // namespace

const ConstraintRules kRules{.is_exact = false,
                             .looks_ahead = false,
                             .skips_immovable = false,
                             .contact_laws = false,
                             .mujoco_loops = true,
                             .law = &KindEntry::soft_law,
                             .implicit_forces = false,
                             .solver_options = solver_options,
                             .free_motion = free_motion,
                             .adopt_free_velocity = adopt_free_velocity,
                             .advance_velocity = advance_velocity,
                             .read_forces = read_forces};

double impedance_at(const std::array<double, 5>& solimp, double r) {
  const auto [d0, dmax, width, midpoint, power] = within_bounds(solimp);
  if (d0 == dmax || width <= kTiny) return 0.5 * (d0 + dmax);
  const double x = std::abs(r) / width;
  if (x >= 1.0) return dmax;
  if (x == 0.0) return d0;
  double y = x;
  if (power != 1.0) {
    y = x <= midpoint ? std::pow(x, power) / std::pow(midpoint, power - 1.0)
                      : 1.0 - std::pow(1.0 - x, power) / std::pow(1.0 - midpoint, power - 1.0);
  }
  return d0 + y * (dmax - d0);
}

double impedance_slope(const std::array<double, 5>& solimp, double r) {
  const auto [d0, dmax, width, midpoint, power] = within_bounds(solimp);
  if (d0 == dmax || width <= kTiny) return 0.0;
  const double x = std::abs(r) / width;
  if (x >= 1.0 || x == 0.0) return 0.0;
  double slope = 1.0;
  if (power != 1.0) {
    slope = power *
            (x <= midpoint ? std::pow(x / midpoint, power - 1.0) : std::pow((1.0 - x) / (1.0 - midpoint), power - 1.0));
  }
  return std::copysign(slope * (dmax - d0) / width, r);
}

ReferenceSpring reference_of(const Impedance& impedance, bool safe, double h) {
  const double dmax = within_bounds(impedance.solimp)[1];
  const ReferenceSpring spring = reference_spring(impedance.solref, safe ? 2.0 * h : 0.0);
  return {spring.stiffness / (dmax * dmax), spring.damping / dmax};
}

void set_row(const ConstraintStep& step, int row, const Impedance& impedance, double distance, bool is_friction,
             double weight, Constraints& c) {
  const double h = step.h;
  const double d = impedance_at(impedance.solimp, distance);
  const ReferenceSpring ref = reference_of(impedance, step.model.options.safe_references, h);
  const double K = is_friction ? 0.0 : ref.stiffness;
  c.compliance[row] = std::max(kTiny, (1.0 - d) / d * weight);
  const double surface = c.surface(row);
  c.bias[row] = surface - (1.0 - h * ref.damping) * (c.velocity[row] + surface) +
                h * (K * d * c.position[at(row)] + c.drift[at(row)]);
}

}  // namespace touchstone::soft
