#include "touchstone/sim/events/knot_step.hpp"

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/turn_functions.hpp"
#include "touchstone/dynamics/variational.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/sim/events/smooth_motion.hpp"

namespace touchstone {
namespace {

constexpr int kMostKnotIterations = 50;
constexpr double kKnotAgreed = 1e-14;      // a correction so small a part of the velocity: the equation is solved
constexpr double kKnotRounding = 1e-10;    // and one that no longer shrinks is rounding below this
constexpr double kMostKnotHalfTurn = 1.5;  // rad: z/sinh z has a pole at pi

}  // namespace

KnotStep::KnotStep(const Model& model)
    : nv_(model.nv), w_(VectorX::Zero(model.nv)), p0_(w_), momentum_(w_), force_(w_), gravity_(w_), correction_(w_) {
  for (int j = 0; j < model.njoint; ++j) {
    const JointType type = model.joints[at(j)].type;
    if (type == JointType::kFree) rotations_.push_back(model.joint_dof[at(j)] + 3);
    if (type == JointType::kBall) rotations_.push_back(model.joint_dof[at(j)]);
  }
}

void KnotStep::find_force(SmoothMotion& motion) {
  const StepContext& s = motion.context();
  Survey& survey = motion.survey();
  kinetic_gradient(s.model, s.parameters, survey.state.v, survey.data, momentum_, force_);
  gravity_force(s.model, s.parameters, survey.data, gravity_);
  force_ += survey.data.smooth_force + survey.data.bias - gravity_;
  const VectorX& lambda = motion.forces().forces();
  for (int row = 0; row < survey.c.rows(); ++row) {
    if (lambda[row] == 0.0) continue;
    force_ += lambda[row] * Eigen::Map<const VectorX>(survey.J(row), nv_);
  }
}

bool KnotStep::find_velocity(SmoothMotion& motion, double h) {
  double previous = HUGE_VAL, share = 1.0;
  for (iterations_ = 0; iterations_ < kMostKnotIterations;) {
    for (const int i : rotations_) {
      if (!(0.5 * h * w_.segment<3>(i).norm() < kMostKnotHalfTurn)) return false;
    }
    y_.setZero();
    y_.head(nv_) = 0.5 * h * w_;
    y_.segment(nv_, nv_) = w_;
    if (!motion.rate(y_, rate_)) return false;
    find_force(motion);
    ++iterations_;
    correction_ = p0_ + 0.5 * h * force_ - momentum_;
    for (const int i : rotations_) {
      const Vector3 x = 0.5 * h * w_.segment<3>(i);
      correction_.segment<3>(i) = so3_exp(x).conjugate() * Vector3(p0_.segment<3>(i)) +
                                  half_carried(x, h * force_.segment<3>(i)) - stretched(x, momentum_.segment<3>(i));
    }
    solve(motion.context().model, motion.survey().data, correction_);
    const double size = correction_.lpNorm<Eigen::Infinity>() / (1e-12 + w_.lpNorm<Eigen::Infinity>());
    if (!std::isfinite(size)) return false;
    if (size <= kKnotAgreed || (size > 0.5 * previous && size < kKnotRounding)) return true;
    if (size > 0.7 * previous) share = 0.5;  // as in OdeStep::midpoint
    w_ += share * correction_;
    previous = size;
  }
  return false;
}

bool KnotStep::make(SmoothMotion& motion, double h, VectorX& end) {
  const StepContext& s = motion.context();
  y_.resize(motion.start().size());
  if (!motion.rate(motion.start(), rate_)) return false;
  Survey& survey = motion.survey();
  kinetic_gradient(s.model, s.parameters, survey.state.v, survey.data, p0_, force_);
  w_ = survey.state.v + 0.5 * h * rate_.segment(nv_, nv_);
  if (!find_velocity(motion, h)) return false;
  end = motion.start() + h * rate_;  // the works
  momentum_ = p0_ + h * force_;
  for (const int i : rotations_) {
    const Quaternion back = so3_exp(0.5 * h * w_.segment<3>(i)).conjugate();
    momentum_.segment<3>(i) = back * (back * Vector3(p0_.segment<3>(i)) + Vector3(h * force_.segment<3>(i)));
  }
  end.head(nv_) = h * w_;
  end.segment(nv_, nv_) = w_;
  if (!end.allFinite() || !motion.rate(end, rate_)) return false;
  solve(s.model, survey.data, momentum_);  // with M where the step ends
  end.segment(nv_, nv_) = momentum_;
  return true;
}

}  // namespace touchstone
