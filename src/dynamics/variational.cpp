#include "touchstone/dynamics/variational.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/dynamics/turn_functions.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone {
namespace {

// The equation is solved when a correction is so small a part of the tree's largest velocity; at the rate of
// convergence what is left is then rounding.
constexpr double kTolerance = 1e-13;
// A correction that no longer shrinks is rounding if it is below this part.
constexpr double kRounding = 1e-9;
// Velocities below are nothing, m/s or rad/s.
constexpr double kStill = 1e-15;
// A correction is at most doubled by what the last one taught.
constexpr double kLeastUpdate = 0.5;
// Half the rotation of a step, rad. z/sinh z has a pole at pi.
constexpr double kLargestHalfTurn = 1.5;

// Momentum of a body about the reference point of its tree.
Force momentum_of(const BodyInertia& inertia, const Mat3& R, Vec3 c, const Motion& v) {
  const Vec3 p = inertia.mass * (v.linear + cross(v.angular, c));
  return {R * (inertia.inertia * transpose_times(R, v.angular)) + cross(c, p), p};
}

// The part of armature in the momentum. It does not depend on the configuration.
void add_armature(const Model& model, const Parameters& parameters, const ConstVectorRef& v, VectorRef momentum) {
  momentum += parameters.dof_armature.cwiseProduct(v);
  for (int t = 0; t < model.ntendon; ++t) {
    const double armature = parameters.tendon_armature[t];
    if (armature == 0.0) continue;
    double rate = 0.0;
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      rate += term.coefficient * v[model.joint_dof[at(term.joint)]];
    }
    for (const Tendon::Term& term : model.tendons[at(t)].terms) {
      momentum[model.joint_dof[at(term.joint)]] += armature * term.coefficient * rate;
    }
  }
}

}  // namespace

// T is the sum over bodies of V'I V/2. Dof i carries all bodies beyond it along its axis S_i, and their axes with them:
// of a body's velocity only the part V that is made before the dof does not turn along. Seen from the carried bodies
// that part changes by -S_i x V, and T by its power on their momentum H.
void kinetic_gradient(const Model& model, const Parameters& parameters, const ConstVectorRef& v, Data& data,
                      VectorRef momentum, VectorRef gradient) {
  data.force[0] = Force();
  const std::vector<IndexRange>& bodies = data.scope.bodies;
  for (const IndexRange& range : bodies) {
    for (int b = range.begin; b < range.end; ++b) {
      if (model.body_kernels[at(b)].tree < 0) continue;
      data.force[at(b)] =
          momentum_of(parameters.body_inertia[at(b)], data.X_WB[at(b)].R, data.body_com[at(b)], data.velocity[at(b)]);
    }
  }
  for (auto range = bodies.rbegin(); range != bodies.rend(); ++range) {
    for (int b = range->end - 1; b >= range->begin; --b) {
      const BodyKernel& body = model.body_kernels[at(b)];
      if (body.tree < 0) continue;
      const Force H = data.force[at(b)];
      Motion V = data.velocity[at(body.parent)];
      const JointKernel* joint = model.joint_kernels.data() + body.first_joint;
      for (const JointKernel* last = joint + body.joint_count; joint != last; ++joint) {
        const int end = joint->dof + dof_count(joint->type);
        int i = joint->dof;
        const auto add_axes = [&](int stop) {  // those before `stop` turn with each other
          const int first = i;
          for (; i < stop; ++i) {
            momentum[i] = dot(data.S[at(i)], H);
            gradient[i] = dot(cross(V, data.S[at(i)]), H);
          }
          for (int k = first; k < stop; ++k) V += data.S[at(k)] * v[k];
        };
        if (joint->type == JointType::kFree) add_axes(joint->dof + 3);  // translations are fixed in the world
        add_axes(end);
      }
      data.force[at(body.parent)] += H;
    }
  }
  add_armature(model, parameters, v, momentum);
}

struct VariationalStep::Step {
  const Model& model;
  const Parameters& parameters;
  const State& state;
  double h;
  bool explicit_dampers;
  const Data& data;  // forces and factor of compute_free_motion
};

VariationalStep::VariationalStep(const Model& model)
    : moved_(model),
      work_(model),
      w_(VectorX::Zero(model.nv)),
      v_end_(w_),
      zero_(w_),
      start_momentum_(w_),
      momentum_(w_),
      gradient_(w_),
      applied_(w_),
      impulse_(w_),
      scratch_(w_),
      correction_(w_),
      steps_(MatrixX::Zero(model.nv, kMaxIterations)) {
  given_up_.assign(at(model.ntree), 0);
  tree_size_.setZero(model.ntree);
  for (int j = 0; j < model.njoint; ++j) {
    const JointType type = model.joints[at(j)].type;
    if (type == JointType::kFree) rotations_.push_back(model.joint_dof[at(j)] + 3);
    if (type == JointType::kBall) rotations_.push_back(model.joint_dof[at(j)]);
  }
  for (const int i : rotations_) {
    int tree = 0;
    while (model.tree_first_dof[at(tree) + 1] <= i) ++tree;
    rotation_tree_.push_back(tree);
  }
}

void VariationalStep::give_up(const Step& step, int tree) {
  if (given_up_[at(tree)] != 0) return;
  given_up_[at(tree)] = 1;
  ++given_up_count_;
  const int first = step.model.tree_first_dof[at(tree)], count = step.model.tree_first_dof[at(tree) + 1] - first;
  w_.segment(first, count) = 0.5 * (step.state.v + step.data.v_free).segment(first, count);
}

void VariationalStep::give_up_unsolved(const Step& step) {
  for (int tree = 0; tree < step.model.ntree; ++tree) {
    if (!(tree_size_[tree] <= 1.0)) give_up(step, tree);
  }
}

bool VariationalStep::solve(const Model& model, const Parameters& parameters, const State& state, const Input& input,
                            double h, bool explicit_dampers, Data& data, const VectorX* impulse) {
  const Step step{model, parameters, state, h, explicit_dampers, data};
  if (!data.scope.is_whole() || !work_.scope.is_whole()) work_.scope = data.scope;
  moved_ = state;
  forward_kinematics(model, parameters, moved_, work_);
  forward_velocity(model, state.v, work_);
  kinetic_gradient(model, parameters, state.v, work_, start_momentum_, gradient_);
  applied_ = h * input.applied_force;
  scratch_.setZero();
  add_applied_wrenches(model, parameters, input.applied_wrench, data, scratch_);
  applied_ += h * scratch_;
  if (impulse != nullptr) applied_ += *impulse;

  w_ = 0.5 * (state.v + data.v_free);
  std::fill(given_up_.begin(), given_up_.end(), char{0});
  given_up_count_ = tree_count_ = 0;
  for (int tree = 0; tree < model.ntree; ++tree) {
    const bool moves = model.tree_first_dof[at(tree) + 1] > model.tree_first_dof[at(tree)];
    tree_count_ += moves && data.scope.has_tree(tree) ? 1 : 0;
  }
  double previous = HUGE_VAL;
  for (iterations_ = 0; iterations_ < kMaxIterations;) {
    if (!evaluate(step)) return false;
    const double size = improve(step, iterations_++);
    if (!std::isfinite(size)) return false;
    if (size <= 1.0 || (size > 0.5 * previous && size * kTolerance < kRounding)) break;
    previous = size;
    if (iterations_ == kMaxIterations) give_up_unsolved(step);
  }
  if (!evaluate(step) || !finish(step)) return false;
  data.v_free = v_end_;
  return true;
}

void VariationalStep::move(const Step& step, double time) {
  integrate(step.model, step.state.q, w_, time, moved_.q);
  forward_kinematics(step.model, step.parameters, moved_, work_);
}

// Momentum and h F at the middle. False if the velocity is out of the reach of the rule.
bool VariationalStep::evaluate(const Step& step) {
  const auto& [model, parameters, state, h, explicit_dampers, data] = step;
  for (std::size_t k = 0; k < rotations_.size(); ++k) {
    if (!(0.5 * h * w_.segment<3>(rotations_[k]).norm() < kLargestHalfTurn)) give_up(step, rotation_tree_[k]);
  }
  if (given_up_count_ > 0 && given_up_count_ >= tree_count_) return false;
  move(step, 0.5 * h);
  forward_velocity(model, w_, work_);
  kinetic_gradient(model, parameters, w_, work_, momentum_, gradient_);

  v_end_ = state.v;
  if (!explicit_dampers) v_end_ = 2.0 * w_ - state.v;
  impulse_.setZero();  // both are computed in scope alone
  scratch_.setZero();
  damper_impulse(model, parameters, data, v_end_, h, impulse_, false);
  actuator_impulse(model, data, state.v, v_end_, h, scratch_);
  impulse_ += scratch_ + applied_;
  gravity_force(model, parameters, work_, scratch_);
  compute_tendons(model, moved_.q, zero_, work_);
  compute_passive(model, parameters, moved_.q, zero_, work_);
  impulse_ += h * (gradient_ - scratch_ + work_.passive);
  return true;
}

// One quasi-Newton step. Returns the largest correction in units of what is allowed in the end.
double VariationalStep::improve(const Step& step, int iteration) {
  const Model& model = step.model;
  correction_ = start_momentum_ + 0.5 * impulse_ - momentum_;
  for (const int i : rotations_) {
    const Vector3 x = 0.5 * step.h * w_.segment<3>(i);
    correction_.segment<3>(i) = so3_exp(x).conjugate() * Vector3(start_momentum_.segment<3>(i)) +
                                half_carried(x, impulse_.segment<3>(i)) - stretched(x, momentum_.segment<3>(i));
  }
  ::touchstone::solve(model, step.data, correction_);
  double worst = 0.0;
  for (int tree = 0; tree < model.ntree; ++tree) {
    const int first = model.tree_first_dof[at(tree)], count = model.tree_first_dof[at(tree) + 1] - first;
    tree_size_[tree] = 0.0;
    if (count == 0 || !step.data.scope.has_tree(tree) || given_up_[at(tree)] != 0) continue;
    auto s = correction_.segment(first, count);
    const auto old = [&](int k) { return steps_.col(k).segment(first, count); };
    for (int k = 0; k < iteration; ++k) {
      const double squared = old(k).squaredNorm();
      if (squared == 0.0) continue;
      const double share = old(k).dot(s) / squared;
      if (k + 1 < iteration) {
        s += share * old(k + 1);
      } else {
        s /= std::max(1.0 - share, kLeastUpdate);
      }
    }
    const double scale = w_.segment(first, count).lpNorm<Eigen::Infinity>() +
                         step.state.v.segment(first, count).lpNorm<Eigen::Infinity>();
    const double size = s.lpNorm<Eigen::Infinity>() / (kTolerance * scale + kStill);
    if (!std::isfinite(size)) {
      give_up(step, tree);
      continue;
    }
    tree_size_[tree] = size;
    if (!(size <= worst)) worst = size;
    w_.segment(first, count) += s;
    if (size <= 1.0) s.setZero();  // rounding teaches the updates nothing
    steps_.col(iteration).segment(first, count) = s;
  }
  return worst;
}

// v1, from the momentum at the end.
bool VariationalStep::finish(const Step& step) {
  v_end_ = start_momentum_ + impulse_;
  for (const int i : rotations_) {
    const Quaternion back = so3_exp(0.5 * step.h * w_.segment<3>(i)).conjugate();
    v_end_.segment<3>(i) = back * (back * Vector3(start_momentum_.segment<3>(i)) + Vector3(impulse_.segment<3>(i)));
  }
  move(step, step.h);
  crba(step.model, step.parameters, work_);
  if (!factorize(step.model, work_)) return false;
  ::touchstone::solve(step.model, work_, v_end_);
  for (int tree = 0; tree < step.model.ntree && given_up_count_ > 0; ++tree) {
    const int first = step.model.tree_first_dof[at(tree)], count = step.model.tree_first_dof[at(tree) + 1] - first;
    if (given_up_[at(tree)] != 0) v_end_.segment(first, count) = step.data.v_free.segment(first, count);
  }
  return v_end_.allFinite();
}

}  // namespace touchstone
