#include "support/convex_limit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

constexpr double kTiny = 2e-5;     // s: the step of what counts as exact
constexpr double kCreep = 0.1;     // m/s^2: v_s / h
constexpr double kRebound = 0.05;  // s^2/m: d h
constexpr double kGravity = 9.81;

bool is_ball(LimitCase kind) { return kind == LimitCase::kRoll || kind == LimitCase::kDrop; }

std::string describe(const LimitOptions& o) {
  const double tilt = o.kind == LimitCase::kSlope ? o.angle : 0.0;
  const double above = o.kind == LimitCase::kDrop ? o.height : 0.0;
  return fmt::format(
      "<mujoco><option gravity='{:.17g} 0 {:.17g}'/>"
      "<worldbody><geom type='plane' size='9 9 1' friction='{:.17g}' surfacevel='{:.17g} 0 0'/>"
      "<body pos='0 0 {:.17g}'><freejoint/><geom type='{}' size='{:.17g} {:.17g} {:.17g}' mass='{:.17g}' "
      "friction='{:.17g}'/></body></worldbody></mujoco>",
      kGravity * std::sin(tilt), -kGravity * std::cos(tilt), o.friction, o.kind == LimitCase::kBelt ? o.speed : 0.0,
      o.size + above, is_ball(o.kind) ? "sphere" : "box", o.size, o.size, o.size, o.mass, o.friction);
}

// Positions of the centre at multiples of `spacing`.
std::vector<Vector3> run(const LimitOptions& o, const std::string& solver, double h, double spacing) {
  SimulatorOptions options;
  options.solver = solver;
  options.time_step = h;
  options.tolerance = 1e-9;
  options.collision.margin = 0.01;
  options.stabilisation.slop = 0.0;
  options.laws.stiction_tolerance = kCreep * h;
  options.laws.sigma = 0.0;
  options.laws.dissipation = kRebound / h;
  Simulator sim(load_mjcf_string(describe(o)), options);
  if (o.kind != LimitCase::kBelt) sim.state().v[0] = o.speed;
  sim.state().v[4] = is_ball(o.kind) ? o.spin : 0.0;
  std::vector<Vector3> way{sim.state().q.head<3>()};
  const long steps = std::lround(o.seconds / h), every = std::lround(spacing / h);
  for (long i = 1; i <= steps; ++i) {
    const StepReport& report = sim.step();
    if (report.status != StepStatus::kOk)
      throw Error("{} with {} at {} s: {}", to_string(o.kind), solver, report.time,
                  touchstone::to_string(report.status));
    if (i % every == 0) way.push_back(sim.state().q.head<3>());
  }
  return way;
}

double largest_distance(const std::vector<Vector3>& a, const std::vector<Vector3>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) largest = std::max(largest, (a[i] - b[i]).norm());
  return largest;
}

}  // namespace

const char* to_string(LimitCase kind) {
  constexpr std::array kNames{"slide", "roll", "drop", "belt", "slope"};
  return kNames.at(static_cast<std::size_t>(kind));
}

LimitOptions random_limit(LimitCase kind, std::mt19937& random) {
  const auto uniform = [&](double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); };
  LimitOptions o;
  o.kind = kind;
  o.mass = std::pow(10.0, uniform(-1.0, 1.0));
  o.size = uniform(0.04, 0.1);
  o.friction = uniform(0.2, 0.5);
  o.speed = uniform(0.5, 1.5);
  o.spin = uniform(-20.0, 20.0);
  o.height = uniform(0.01, 0.1);
  o.angle = uniform(0.1, 0.4);
  return o;
}

LimitErrors limit_errors(const LimitOptions& o, const std::vector<double>& steps) {
  const double spacing = *std::max_element(steps.begin(), steps.end());
  const std::vector<Vector3> exact = run(o, "auto", kTiny, spacing);
  LimitErrors out;
  for (std::size_t i = 1; i < exact.size(); ++i) out.way += (exact[i] - exact[i - 1]).norm();
  for (const double h : steps) {
    const std::vector<Vector3> lagged = run(o, "lagged", h, spacing);
    out.same_step.push_back(largest_distance(lagged, run(o, "auto", h, spacing)));
    out.exact.push_back(largest_distance(lagged, exact));
  }
  return out;
}

}  // namespace touchstone::test
