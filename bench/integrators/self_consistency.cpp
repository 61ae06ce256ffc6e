#include "self_consistency.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/sim/simulator.hpp"

namespace {

using namespace touchstone;
using nlohmann::json;

// The preprint's cube: on a plane, with a tangential velocity. Its size, mass, friction and velocity are not given.
constexpr const char* kSlidingCube = R"(<mujoco><worldbody><geom type='plane' size='5 5 1' friction='.4'/>
  <body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1' friction='.4'/></body></worldbody></mujoco>)";
constexpr double kSeconds = 1.0, kSpeed[2] = {2.0, 1.0};  // s, m/s

// One or more solvers of every model.
constexpr const char* kModels[] = {"auto", "ncp-pgs", "ccp-pgs", "raisim", "lcp-pgs", "sap", "lagged", "similar"};

struct Slide {
  std::vector<double> time, energy;
  std::vector<Vector3> position;
};

Slide make_slide(const char* solver, double h, double tolerance) {
  const ModelPtr model = load_mjcf_string(kSlidingCube);
  SimulatorOptions options;
  options.solver = solver;
  options.time_step = h;
  options.tolerance = tolerance;
  options.warm_start = false;  // or the last step would be the answer, whatever the criterion
  Simulator sim(model, options);
  sim.state().v.head<2>() << kSpeed[0], kSpeed[1];
  Slide motion;
  const auto keep = [&] {
    motion.time.push_back(sim.state().time);
    motion.position.emplace_back(sim.state().q.head<3>());
    motion.energy.push_back(sim.kinetic_energy() + sim.potential_energy());
  };
  keep();
  const int steps = static_cast<int>(std::lround(kSeconds / h));
  for (int i = 0; i < steps && sim.step().status != StepStatus::kDiverged; ++i) keep();
  return motion;
}

// Of a motion in equal steps, linear between them.
Vector3 position_at(const Slide& motion, double time) {
  const double h = motion.time[1] - motion.time[0];
  const double place = std::clamp(time / h, 0.0, static_cast<double>(motion.position.size() - 1));
  const auto i = std::min(static_cast<std::size_t>(place), motion.position.size() - 2);
  const double share = place - static_cast<double>(i);
  return (1.0 - share) * motion.position[i] + share * motion.position[i + 1];
}

// The integral of the distance over time, m s, by the trapezoidal rule on the knots of the coarser motion.
double consistency_error(const Slide& motion, const Slide& reference) {
  double sum = 0.0, before = 0.0;
  for (std::size_t i = 1; i < motion.time.size(); ++i) {
    const double now = (motion.position[i] - position_at(reference, motion.time[i])).norm();
    sum += 0.5 * (now + before) * (motion.time[i] - motion.time[i - 1]);
    before = now;
  }
  return sum;
}

json row_of(const char* solver, double value, const Slide& motion, const Slide& reference) {
  json time = json::array(), energy = json::array();
  const std::size_t stride = std::max<std::size_t>(1, motion.time.size() / 200);
  for (std::size_t i = 0; i < motion.time.size(); i += stride) {
    time.push_back(motion.time[i]);
    energy.push_back(motion.energy[i]);
  }
  return {{"solver", solver},
          {"value", value},
          {"error", consistency_error(motion, reference)},
          {"time", time},
          {"energy", energy}};
}

}  // namespace

json self_consistency() {
  json steps = json::array(), criteria = json::array();
  for (const char* solver : kModels) {
    const Slide fine = make_slide(solver, 1e-4, 1e-9);
    for (const double h : {1e-3, 1e-2, 1e-1}) steps.push_back(row_of(solver, h, make_slide(solver, h, 1e-9), fine));
    const Slide strict = make_slide(solver, 1e-3, 1e-9);
    for (int digits = 8; digits >= 2; --digits) {
      const double tolerance = std::pow(10.0, -digits);
      criteria.push_back(row_of(solver, tolerance, make_slide(solver, 1e-3, tolerance), strict));
    }
  }
  return {{"steps", steps}, {"criteria", criteria}};
}
