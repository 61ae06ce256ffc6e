#include "runge_kutta.hpp"

#include <limits>

#include "touchstone/dynamics/forces.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone::cli {
namespace {

// The rate of the rotation vector theta for the body's angular velocity w, where R = R0 exp(theta). The series
// ends where a method of fourth order stops to notice.
Vector3 rotation_vector_rate(const Vector3& theta, const Vector3& w) {
  const Vector3 c = theta.cross(w);
  return w + c / 2.0 + theta.cross(c) / 12.0;
}

// dexp^-1(theta) v for all joints: only rotations are not flat.
void tangent_rate(const Model& model, const VectorX& theta, const VectorX& v, VectorX& rate) {
  rate = v;
  for (std::size_t j = 0; j < model.joints.size(); ++j) {
    const JointType type = model.joints[j].type;
    if (type != JointType::kFree && type != JointType::kBall) continue;
    const Eigen::Index i = model.joint_dof[j] + (type == JointType::kFree ? 3 : 0);
    rate.segment<3>(i) = rotation_vector_rate(theta.segment<3>(i), v.segment<3>(i));
  }
}

}  // namespace

RungeKutta4::RungeKutta4(const Model& model, const Parameters& parameters)
    : model_(model), parameters_(parameters), input_(model), data_(model), trial_(model) {
  theta_.setZero(model.nv);
  v_.setZero(model.nv);
  for (Stage& stage : stages_) {
    stage.theta_rate.setZero(model.nv);
    stage.acceleration.setZero(model.nv);
  }
}

void RungeKutta4::evaluate(const State& start, const VectorX& theta, const VectorX& v, Stage& stage) {
  integrate(model_, start.q, theta, 1.0, trial_.q);
  trial_.v = v;
  // NaN spreads through the step, so a failure cannot be overlooked.
  if (!forward_dynamics(model_, parameters_, trial_, input_, data_, stage.acceleration)) {
    stage.acceleration.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  tangent_rate(model_, theta, v, stage.theta_rate);
}

void RungeKutta4::step(State& state, double h) {
  auto& [s1, s2, s3, s4] = stages_;
  theta_.setZero();
  v_ = state.v;
  evaluate(state, theta_, v_, s1);

  theta_ = (h / 2.0) * s1.theta_rate;
  v_ = state.v + (h / 2.0) * s1.acceleration;
  evaluate(state, theta_, v_, s2);

  theta_ = (h / 2.0) * s2.theta_rate;
  v_ = state.v + (h / 2.0) * s2.acceleration;
  evaluate(state, theta_, v_, s3);

  theta_ = h * s3.theta_rate;
  v_ = state.v + h * s3.acceleration;
  evaluate(state, theta_, v_, s4);

  theta_ = (h / 6.0) * (s1.theta_rate + 2.0 * s2.theta_rate + 2.0 * s3.theta_rate + s4.theta_rate);
  state.v += (h / 6.0) * (s1.acceleration + 2.0 * s2.acceleration + 2.0 * s3.acceleration + s4.acceleration);
  integrate(model_, state.q, theta_, 1.0, state.q);
  state.time += h;
}

}  // namespace touchstone::cli
