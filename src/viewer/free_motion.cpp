#include "touchstone/viewer/free_motion.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "touchstone/base/check.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone {
namespace {

// The spring swings a mass of the whole tree at this rate, critically damped: firm, and slow against the time step.
constexpr double kDragRate = 12.0;                           // rad/s
constexpr double kShortestStep = 1e-5, kLongestStep = 0.02;  // s
constexpr double kLargestPull = 50.0;                        // times the weight of the tree under 9.81 m/s^2

State starting_state(const Model& model) {
  State state(model);
  if (!model.keyframes.empty()) {
    state.q = model.keyframes.front().q;
    state.v = model.keyframes.front().v;
    state.activation = model.keyframes.front().activation;
    state.mocap = model.keyframes.front().mocap;
  }
  return state;
}

double tree_mass(const Model& model, int tree) {
  double mass = 0.0;
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    if (model.body_kernels[b].tree == tree) mass += model.bodies[b].inertia.mass;
  }
  return mass;
}

}  // namespace

FreeMotion::FreeMotion(ModelPtr model)
    : model_(std::move(model)),
      start_(starting_state(*model_)),
      state_(start_),
      input_(*model_),
      data_(*model_),
      step_(std::clamp(model_->options.time_step, kShortestStep, kLongestStep)) {
  if (!model_->keyframes.empty()) input_.control = model_->keyframes.front().control;
}

std::vector<Channel> FreeMotion::channels() const {
  return {{.chart = "Energy", .name = "kinetic", .unit = "J"},
          {.chart = "Energy", .name = "potential", .unit = "J"},
          {.chart = "Energy", .name = "total", .unit = "J"}};
}

LiveChoices FreeMotion::choices() const {
  LiveChoices choices;
  choices.time_step = LiveRange{.value = step_, .minimum = kShortestStep, .maximum = kLongestStep};
  choices.controls = model_->nu > 0;
  choices.drag = model_->nv > 0;
  return choices;
}

std::vector<double> FreeMotion::controls() const { return {input_.control.begin(), input_.control.end()}; }

void FreeMotion::pull() {
  if (pulled_ >= 0) input_.applied_wrench[static_cast<std::size_t>(pulled_)].setZero();
  pulled_ = drag_ ? drag_->body : -1;
  if (!drag_) return;
  forward_kinematics(*model_, model_->defaults, state_, data_);
  forward_velocity(*model_, state_.v, data_);
  const Transform X_WB = body_pose(data_, drag_->body);
  const Vector3 point = X_WB * drag_->point;
  const Vector3 velocity = point_velocity(*model_, data_, drag_->body, point).head<3>();
  const double mass = tree_mass(*model_, model_->body_kernels[static_cast<std::size_t>(drag_->body)].tree);
  const Vector3 wanted = mass * (kDragRate * kDragRate * (drag_->target - point) - 2.0 * kDragRate * velocity);
  const Vector3 force = wanted * std::min(1.0, kLargestPull * 9.81 * mass / wanted.norm());
  const Vector3 arm = point - X_WB * model_->bodies[static_cast<std::size_t>(drag_->body)].inertia.com;
  Vector6& wrench = input_.applied_wrench[static_cast<std::size_t>(drag_->body)];
  wrench.head<3>() = force;
  wrench.tail<3>() = arm.cross(force);
}

void FreeMotion::step() {
  if (failed_) return;
  pull();
  const bool definite = compute_free_motion(*model_, model_->defaults, state_, input_, step_, data_);
  if (!definite || !data_.v_free.allFinite()) {
    failed_ = true;
    return;
  }
  for (int i = 0; i < model_->nu; ++i) {
    const int entry = model_->activation_index[static_cast<std::size_t>(i)];
    if (entry < 0) continue;
    state_.activation[entry] = next_activation(model_->actuators[static_cast<std::size_t>(i)], state_.activation[entry],
                                               data_.activation_rate[entry], step_);
  }
  state_.v = data_.v_free;
  integrate(*model_, state_.q, state_.v, step_, state_.q);
  state_.time += step_;
}

void FreeMotion::reset() {
  state_ = start_;
  drag_.reset();
  failed_ = false;
}

void FreeMotion::read(Frame& frame) {
  forward_kinematics(*model_, model_->defaults, state_, data_);
  forward_velocity(*model_, state_.v, data_);
  frame.time = state_.time;
  frame.poses.resize(data_.X_WB.size());
  std::transform(data_.X_WB.begin(), data_.X_WB.end(), frame.poses.begin(),
                 [](const Pose& X) { return X.transform(); });
  frame.contacts.clear();
  const double kinetic = kinetic_energy(*model_, model_->defaults, state_.v, data_);
  const double potential = potential_energy(*model_, model_->defaults, state_.q, data_);
  frame.values = {kinetic, potential, kinetic + potential};
  frame.certificate.clear();
  if (failed_) {
    frame.certificate.push_back({.name = "motion",
                                 .meaning = "the mass matrix is not positive definite or a number is not finite; "
                                            "reset, and choose a shorter time step",
                                 .value = 1.0,
                                 .limit = 0.0,
                                 .unit = ""});
  }
}

}  // namespace touchstone
