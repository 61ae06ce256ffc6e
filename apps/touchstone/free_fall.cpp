#include "free_fall.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runge_kutta.hpp"
#include "touchstone/base/clock.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"

namespace touchstone::cli {
namespace {

// Largest relative errors that a step of 1 ms is allowed over a flight of up to ten seconds.
constexpr double kEnergyLimit = 1e-9;
constexpr double kTimeTolerance = 1e-9;  // s
constexpr double kMomentumLimit = 1e-9;
constexpr double kPathLimit = 1e-9;        // m
constexpr double kAgreementLimit = 1e-11;  // between two ways to compute the acceleration

// The maximum so far; NaN once a value is NaN.
void raise(double& maximum, double value) {
  if (std::isnan(value) || value > maximum) maximum = value;
}

Parameters without_losses(const Model& model) {
  Parameters parameters = model.defaults;
  parameters.dof_damping.setZero();
  parameters.dof_friction.setZero();
  parameters.joint_stiffness.setZero();
  parameters.tendon_stiffness.setZero();
  parameters.tendon_damping.setZero();
  parameters.tendon_friction.setZero();
  for (auto& gain : parameters.actuator_gain) gain = {};
  for (auto& bias : parameters.actuator_bias) bias = {};
  return parameters;
}

// Thrown forward and up, tumbling; each joint at a different speed.
State initial_state(const Model& model) {
  constexpr double kStartHeight = 4.0;  // m
  State state(model);
  if (!model.keyframes.empty()) state.q = model.keyframes.front().q;
  state.q[2] = kStartHeight;
  state.v.head<6>() << 6.0, 0.5, 3.0, 1.2, 3.2, -0.8;
  for (Eigen::Index i = 6; i < state.v.size(); ++i) state.v[i] = 2.0 * std::sin(1.0 + 2.4 * static_cast<double>(i));
  return state;
}

// Measures a state against the conserved quantities of the first one.
class Auditor {
 public:
  Auditor(const Model& model, const Parameters& parameters, const State& start)
      : model_(model), parameters_(parameters), input_(model), data_(model) {
    forward_kinematics(model, parameters, start, data_);
    forward_velocity(model, start.v, data_);
    mass_ = model.total_mass();
    com_ = center_of_mass(model, parameters, data_);
    momentum_ = momentum(model, parameters, data_, com_);
    // The fall itself is easy and large; only the motion about the centre of mass can go wrong.
    tumbling_energy_ =
        kinetic_energy(model, parameters, start.v, data_) - momentum_.linear.squaredNorm() / (2.0 * mass_);
  }

  FreeFallSample audit(const State& state) {
    forward_kinematics(model_, parameters_, state, data_);
    forward_velocity(model_, state.v, data_);
    FreeFallSample sample;
    const double t = sample.time = state.time;
    sample.potential_energy = potential_energy(model_, parameters_, state.q, data_);
    sample.kinetic_energy = kinetic_energy(model_, parameters_, state.v, data_);
    sample.com = center_of_mass(model_, parameters_, data_);
    sample.com_expected = com_ + t * momentum_.linear / mass_ + t * t / 2.0 * parameters_.gravity;

    const Momentum now = momentum(model_, parameters_, data_, sample.com);
    const Vector3 expected = momentum_.linear + t * mass_ * parameters_.gravity;
    raise(linear_error_, (now.linear - expected).norm());
    raise(largest_linear_, now.linear.norm());
    raise(angular_error_, (now.angular - momentum_.angular).norm());
    raise(path_error_, (sample.com - sample.com_expected).norm());
    compare_algorithms(state);
    return sample;
  }

  // Of the state that was audited last; `sample` is what came of it.
  Frame frame(const FreeFallSample& sample) const {
    Frame frame;
    frame.time = sample.time;
    frame.poses.reserve(data_.X_WB.size());
    for (const Pose& X : data_.X_WB) frame.poses.push_back(X.transform());
    frame.values = {sample.kinetic_energy, sample.potential_energy, sample.energy(),
                    sample.com.z(),        sample.com_expected.z(), (sample.com - sample.com_expected).norm()};
    return frame;
  }

  std::vector<Check> checks(const std::vector<FreeFallSample>& samples) const {
    double drift = 0.0;
    for (const FreeFallSample& sample : samples) raise(drift, std::abs(sample.energy() - samples.front().energy()));
    return {
        {"energy", "largest drift, of the energy of the tumbling", drift / tumbling_energy_, kEnergyLimit, ""},
        {"linear momentum", "against p0 + m g t, of the largest", linear_error_ / largest_linear_, kMomentumLimit, ""},
        {"angular momentum", "about the centre of mass, of its size", angular_error_ / momentum_.angular.norm(),
         kMomentumLimit, ""},
        {"path", "centre of mass against the parabola", path_error_, kPathLimit, "m"},
        {"two algorithms", "CRBA and factor against ABA, accelerations", disagreement_ / largest_acceleration_,
         kAgreementLimit, ""},
    };
  }

 private:
  void compare_algorithms(const State& state) {
    VectorX factored(model_.nv), articulated(model_.nv);
    const VectorX no_torque = VectorX::Zero(model_.nv);
    const bool definite = forward_dynamics(model_, parameters_, state, input_, data_, factored);
    aba(model_, parameters_, state.q, state.v, no_torque, data_, articulated);
    raise(disagreement_, definite ? (factored - articulated).norm() : std::numeric_limits<double>::quiet_NaN());
    raise(largest_acceleration_, factored.norm());
  }

  const Model& model_;
  const Parameters& parameters_;
  Input input_;
  Data data_;
  double mass_ = 0.0;
  double tumbling_energy_ = 0.0;  // J, kinetic energy about the centre of mass at the start
  Vector3 com_;
  Momentum momentum_;
  double linear_error_ = 0.0, largest_linear_ = 0.0, angular_error_ = 0.0, path_error_ = 0.0;
  double disagreement_ = 0.0, largest_acceleration_ = 0.0;
};

}  // namespace

std::vector<Channel> free_fall_channels() {
  return {{.chart = "Energy", .name = "kinetic", .unit = "J"},
          {.chart = "Energy", .name = "potential", .unit = "J"},
          {.chart = "Energy", .name = "total", .unit = "J"},
          {.chart = "Height of the centre of mass", .name = "simulated", .unit = "m"},
          {.chart = "Height of the centre of mass", .name = "closed form", .unit = "m"},
          {.chart = "Distance from the parabola", .name = "distance", .unit = "m", .logarithmic = true}};
}

bool FreeFall::passed() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.passed(); });
}

FreeFall simulate_free_fall(const Model& model, const FreeFallOptions& options) {
  if (model.joints.empty() || model.joints.front().type != JointType::kFree) {
    throw Error("'{}' does not start with a free joint, so it cannot be tossed", model.name);
  }
  const Parameters parameters = without_losses(model);
  State state = initial_state(model);
  RungeKutta4 integrator(model, parameters);
  Auditor auditor(model, parameters, state);

  const int steps = std::max(1, static_cast<int>(std::ceil(options.duration / options.step - 1e-9)));
  FreeFall result;
  result.step = options.duration / steps;
  result.samples.reserve(static_cast<std::size_t>(steps) + 1);
  for (int i = 0; i <= steps; ++i) {
    if (i > 0) {
      const Stopwatch watch;
      integrator.step(state, result.step);
      result.seconds += watch.seconds();
    }
    result.samples.push_back(auditor.audit(state));
    if (state.time >= static_cast<double>(result.frames.size()) / options.frame_rate - kTimeTolerance || i == steps) {
      result.frames.push_back(auditor.frame(result.samples.back()));
    }
    const auto taken = static_cast<int>(result.snapshots.size());
    if (taken < options.snapshots && i * (options.snapshots - 1) >= taken * steps) result.snapshots.push_back(state.q);
  }
  result.checks = auditor.checks(result.samples);
  return result;
}

}  // namespace touchstone::cli
