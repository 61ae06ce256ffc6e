#include "touchstone/sim/simulator.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/clock.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

double chosen_step(const Model& model, const SimulatorOptions& options) {
  options.validate();
  return options.time_step > 0.0 ? options.time_step : model.options.time_step;
}

ModelPtr require_model(ModelPtr model) {
  if (model == nullptr) throw Error("Simulator: the model is null");
  return model;
}

}  // namespace

Simulator::Simulator(ModelPtr model, const SimulatorOptions& options)
    : model_(require_model(std::move(model))),
      options_(options),
      h_(chosen_step(*model_, options)),
      parameters_(model_->defaults),
      state_(*model_),
      before_(*model_),
      work_(*model_),
      input_(*model_),
      data_(*model_),
      detector_(std::make_shared<const CollisionModel>(*model_), options.collision),
      solver_(options),
      meter_(*model_),
      total_mass_(model_->total_mass()),
      v_next_(VectorX::Zero(model_->nv)),
      impulse_(VectorX::Zero(model_->nv)) {}

// One step. Semi-implicit Euler evaluates everything at the start and moves on by h v'. Moreau's midpoint rule goes
// half a step with the old velocity, evaluates there, and goes the other half with the new one. `remaining` is how long
// the new velocity acts on the configuration: what a gap may close in.
const StepReport& Simulator::step() {
  const bool midpoint = options_.integrator == Integrator::kMoreauMidpoint;
  const double remaining = midpoint ? 0.5 * h_ : h_;
  report_ = StepReport();
  contact_forces_.clear();
  work_ = state_;
  if (midpoint) ::touchstone::integrate(*model_, state_.q, state_.v, 0.5 * h_, work_.q);
  if (!free_motion()) return report_;
  detect();
  assemble(remaining);
  solve();
  integrate(remaining);
  finish_report();
  return report_;
}

const StepReport& Simulator::step(int count) {
  for (int i = 0; i < count; ++i) {
    if (step().status == StepStatus::kDiverged) break;
  }
  return report_;
}

bool Simulator::free_motion() {
  const Stopwatch watch;
  const bool ok = compute_free_motion(*model_, parameters_, work_, input_, h_, data_) && data_.v_free.allFinite();
  report_.times.dynamics = watch.seconds();
  if (!ok) report_.status = StepStatus::kDiverged;
  return ok;
}

void Simulator::detect() {
  const Stopwatch watch;
  if (model_->options.contacts_enabled) {
    detector_.detect(parameters_, data_, options_.swept_margin ? h_ : 0.0);
    report_.contacts = static_cast<int>(detector_.contacts().size());
  }
  report_.times.collision = watch.seconds();
}

void Simulator::assemble(double remaining) {
  const Stopwatch watch;
  const std::span<const Contact> contacts =
      model_->options.contacts_enabled ? detector_.contacts() : std::span<const Contact>();
  assemble_constraints(*model_, parameters_, work_, data_, contacts, h_, remaining, options_, constraints_);
  solve_constraint_rows(*model_, data_, constraints_);
  if (lambda_.size() < constraints_.rows()) lambda_.resize(2 * constraints_.rows());
  if (options_.warm_start)
    cache_.recall(constraints_, contacts, lambda_);
  else
    lambda_.setZero();
  report_.constraints = constraints_.count();
  report_.rows = constraints_.rows();
  report_.times.assembly = watch.seconds();
}

void Simulator::solve() {
  if (constraints_.count() > 0) solver_.solve(*model_, constraints_, h_, lambda_, report_);
  v_next_ = data_.v_free;
  if (constraints_.count() == 0) return;
  const Stopwatch watch;
  impulse_.setZero();
  add_constraint_force(*model_, constraints_, lambda_, impulse_);
  ::touchstone::solve(*model_, data_, impulse_);
  v_next_ += impulse_;
  report_.times.solve += watch.seconds();
}

void Simulator::integrate(double remaining) {
  const Stopwatch watch;
  ::touchstone::integrate(*model_, work_.q, v_next_, remaining, work_.q);
  if (!work_.q.allFinite() || !v_next_.allFinite()) {
    report_.status = StepStatus::kDiverged;
    return;
  }
  work_.v = v_next_;
  for (int u = 0; u < model_->nu; ++u) {
    const int k = model_->activation_index[at(u)];
    if (k < 0) continue;
    work_.activation[k] = next_activation(model_->actuators[at(u)], state_.activation[k], data_.activation_rate[k], h_);
  }
  work_.time = state_.time + h_;
  before_ = state_;
  state_ = work_;
  report_.times.integrate = watch.seconds();
}

void Simulator::finish_report() {
  const Stopwatch watch;
  const std::span<const Contact> contacts =
      model_->options.contacts_enabled ? detector_.contacts() : std::span<const Contact>();
  cache_.store(constraints_, contacts, lambda_);
  report_.time = state_.time;
  for (const Contact& contact : contacts) {
    report_.penetration = std::max(report_.penetration, contact.margin - contact.distance);
  }
  for (int block = 0; block < constraints_.count(); ++block) {
    const ConstraintKind kind = constraints_.list[at(block)].kind;
    if (kind == ConstraintKind::kContact) continue;
    for (int r = constraints_.blocks.row[at(block)]; r < constraints_.blocks.row[at(block + 1)]; ++r) {
      const double x = constraints_.position[at(r)];
      report_.violation = std::max(report_.violation, kind == ConstraintKind::kEquality ? std::abs(x) : -x);
    }
  }
  report_.warnings.deep_penetration = report_.penetration > options_.watch.penetration;
  fill_contact_forces();
  if (options_.watch.energy && report_.status != StepStatus::kDiverged) watch_energy();
  report_.times.certify += watch.seconds();
}

void Simulator::watch_energy() {
  const bool at_start = options_.integrator == Integrator::kSemiImplicitEuler;
  const StepMotion motion{before_, state_, input_, h_, constraints_, lambda_};
  report_.energy = meter_.account(*model_, parameters_, motion, at_start, data_);
  const double g_h = parameters_.gravity.norm() * h_;
  report_.warnings.energy_jump = is_energy_jump(report_.energy, options_.watch.energy_jump, total_mass_ * g_h * g_h);
}

void Simulator::fill_contact_forces() {
  const std::span<const Contact> contacts = detector_.contacts();
  const double rate = 1.0 / h_;
  for (int block = 0; block < constraints_.count(); ++block) {
    const Constraint& constraint = constraints_.list[at(block)];
    if (constraint.kind != ConstraintKind::kContact) continue;
    const Contact& contact = contacts[at(constraint.index)];
    const int m = constraints_.blocks.size(block);
    const double* lambda = lambda_.data() + constraints_.blocks.row[at(block)];
    ContactForce f;
    f.contact = &contact;
    f.local_force = rate * Vec3(m > 1 ? lambda[0] : 0.0, m > 1 ? lambda[1] : 0.0, lambda[m - 1]);
    f.force = contact.frame * f.local_force;
    if (m >= 4) f.torque = rate * (contact.frame * Vec3(m == 6 ? lambda[3] : 0.0, m == 6 ? lambda[4] : 0.0, lambda[2]));
    contact_forces_.push_back(f);
  }
}

Vector6 Simulator::contact_wrench(int body) const {
  if (body < 0 || body >= model_->nbody) throw Error("body {} of a model with {}", body, model_->nbody);
  Vec3 force, torque;
  const Vec3 origin = data_.X_WB[at(body)].p;
  for (const ContactForce& f : contact_forces_) {
    for (const auto& [other, sign] : {std::pair(f.contact->body_a, -1.0), std::pair(f.contact->body_b, 1.0)}) {
      if (other != body) continue;
      force += sign * f.force;
      torque += sign * (f.torque + cross(f.contact->position - origin, f.force));
    }
  }
  Vector6 wrench;
  wrench << force.eigen(), torque.eigen();
  return wrench;
}

void Simulator::reset() { reset(State(*model_)); }

void Simulator::reset(int keyframe) {
  if (keyframe < 0 || keyframe >= static_cast<int>(model_->keyframes.size())) {
    throw Error("keyframe {} of a model with {}", keyframe, model_->keyframes.size());
  }
  const Keyframe& key = model_->keyframes[at(keyframe)];
  State state(*model_);
  state.q = key.q;
  state.v = key.v;
  state.activation = key.activation;
  state.time = key.time;
  if (!key.mocap.empty()) state.mocap = key.mocap;
  reset(state);
  input_.control = key.control;
}

void Simulator::reset(std::string_view keyframe) { reset(model_->keyframe(keyframe)); }

void Simulator::reset(const State& state) {
  state.validate(*model_);
  state_ = state;
  cache_.clear();
  detector_.reset();
  contact_forces_.clear();
  report_ = StepReport();
  report_.time = state.time;
}

void Simulator::restore(const Snapshot& snapshot) {
  snapshot.state.validate(*model_);
  state_ = snapshot.state;
  input_ = snapshot.input;
  cache_ = snapshot.cache;
  detector_ = snapshot.detector;
  contact_forces_.clear();
  report_ = StepReport();
  report_.time = state_.time;
}

}  // namespace touchstone
