#include "touchstone/sim/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "touchstone/base/clock.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone {
namespace {

double chosen_step(const Model& model, const SimulatorOptions& options) {
  options.validate();
  return (options.time_step > 0.0 ? options.time_step : model.options.time_step) / options.substeps;
}

// "auto" stands for the solver of the constraint model.
SimulatorOptions resolved(const Model& model, SimulatorOptions options) {
  if (options.constraints == ConstraintModel::kMujoco && options.solver == "auto") {
    options.solver = "ccp-newton";
    options.solver_options.insert(options.solver_options.begin(), "cone=" + model.options.cone);
  }
  return options;
}

ModelPtr require_model(ModelPtr model) {
  if (model == nullptr) throw Error("Simulator: the model is null");
  return model;
}

}  // namespace

Simulator::Simulator(const ModelPtr& model, const SimulatorOptions& options)
    : Simulator(model, options, std::make_shared<const CollisionModel>(*require_model(model))) {}

Simulator::Simulator(ModelPtr model, const SimulatorOptions& options, std::shared_ptr<const CollisionModel> shapes)
    : model_(require_model(std::move(model))),
      options_(options),
      h_(chosen_step(*model_, options)),
      parameters_(model_->defaults),
      state_(*model_),
      before_(*model_),
      work_(*model_),
      input_(*model_),
      data_(*model_),
      weights_(*model_),
      detector_(std::move(shapes), options.collision),
      solver_(resolved(*model_, options)),
      meter_(*model_),
      total_mass_(model_->total_mass()),
      v_next_(VectorX::Zero(model_->nv)),
      impulse_(VectorX::Zero(model_->nv)),
      acceleration_(VectorX::Zero(model_->nv)),
      actuator_force_(VectorX::Zero(model_->nu)),
      sensors_(*model_) {
  if (options.integrator == Integrator::kVariational) variational_.emplace(*model_);
}

// One step. Semi-implicit Euler evaluates everything at the start and moves on by h v'. Moreau's midpoint rule goes
// half a step with the old velocity, evaluates there, and goes the other half with the new one. `remaining` is how long
// the new velocity acts on the configuration: what a gap may close in. The variational rule has the constraints of
// Moreau's, with another v_free; without constraints it moves by its own velocity w, and an impulse, which changes the
// velocity in the middle of the step, moves by half of what it does to v'.
void Simulator::advance() {
  const bool midpoint = options_.integrator != Integrator::kSemiImplicitEuler;
  const double remaining = midpoint ? 0.5 * h_ : h_;
  report_ = StepReport();
  report_.time = state_.time;  // unless the step comes to its end
  contact_forces_.clear();
  work_ = state_;
  if (midpoint) ::touchstone::integrate(*model_, state_.q, state_.v, 0.5 * h_, work_.q);
  if (!free_motion()) return;
  detect();
  assemble(remaining);
  solve();
  bound_servos(remaining);
  integrate(remaining);
  finish_report();
}

const StepReport& Simulator::step() {
  StepReport earlier;
  for (int i = 0; i < options_.substeps; ++i) {
    if (i > 0) earlier = report_;
    advance();
    if (i > 0) merge(earlier);
    if (report_.status == StepStatus::kDiverged) break;
  }
  sensors_known_ = false;
  if (callback_) callback_(*this);
  return report_;
}

// The report of several substeps: counts and contacts of the last, the worst of all residuals, sums of times and work.
void Simulator::merge(const StepReport& earlier) {
  report_.status = std::max(report_.status, earlier.status);
  report_.iterations += earlier.iterations;
  report_.largest_iterations = std::max(report_.largest_iterations, earlier.largest_iterations);
  const int worst = earlier.residuals.natv > report_.residuals.natv ? -1 : report_.residuals.worst_block;
  keep_worst(earlier.residuals, report_.residuals);
  report_.residuals.worst_block = worst;  // a block of an earlier substep no longer exists
  if (report_.worst.empty()) report_.worst = earlier.worst;
  report_.penetration = std::max(report_.penetration, earlier.penetration);
  report_.violation = std::max(report_.violation, earlier.violation);
  report_.shift = std::max(report_.shift, earlier.shift);
  report_.energy.add_earlier(earlier.energy);
  report_.warnings.energy_jump |= earlier.warnings.energy_jump;
  report_.warnings.deep_penetration |= earlier.warnings.deep_penetration;
  report_.warnings.recovery_conflict |= earlier.warnings.recovery_conflict;
  report_.warnings.variational_fallback |= earlier.warnings.variational_fallback;
  report_.times.add(earlier.times);
}

const StepReport& Simulator::step(int count) {
  for (int i = 0; i < count; ++i) {
    if (step().status == StepStatus::kDiverged) break;
  }
  return report_;
}

bool Simulator::free_motion() {
  const Stopwatch watch;
  const SpringRule springs = variational_ ? SpringRule::kMiddle : SpringRule::kEnd;
  const bool computed =
      is_soft() ? compute_explicit_motion(*model_, parameters_, work_, input_, h_, data_)
                : compute_free_motion(*model_, parameters_, work_, input_, h_, data_, ServoMode::kBounded, springs);
  const bool ok = computed && data_.v_free.allFinite();
  if (ok) refine_free_motion();
  report_.times.dynamics = watch.seconds();
  if (!ok) report_.status = StepStatus::kDiverged;
  return ok;
}

// Puts the variational rule's velocity in the place of Moreau's, if that is asked for and succeeds.
void Simulator::refine_free_motion() {
  if (!variational_) return;
  const bool solved = variational_->solve(*model_, parameters_, state_, input_, h_, is_soft(), data_);
  report_.warnings.variational_fallback = !solved;
  if (!solved || !is_soft()) return;
  acceleration_ = (data_.v_free - state_.v) / h_;
  multiply_mass(*model_, data_, acceleration_, data_.smooth_force);
}

void Simulator::detect() {
  const Stopwatch watch;
  if (model_->options.contacts_enabled) detector_.detect(parameters_, data_, options_.swept_margin ? h_ : 0.0);
  report_.times.collision = watch.seconds();
}

void Simulator::assemble(double remaining) {
  const Stopwatch watch;
  const std::span<const Contact> contacts =
      model_->options.contacts_enabled ? detector_.contacts() : std::span<const Contact>();
  assemble_constraints(*model_, parameters_, work_, data_, contacts, weights_, h_, remaining, options_, constraints_);
  solve_constraint_rows(*model_, data_, constraints_);
  if (lambda_.size() < constraints_.rows()) lambda_.resize(2 * constraints_.rows());
  if (options_.warm_start)
    cache_.recall(constraints_, contacts, lambda_);
  else
    lambda_.setZero();
  report_.constraints = constraints_.count();
  report_.rows = constraints_.rows();
  report_.times.assembly += watch.seconds();
}

void Simulator::solve() {
  if (constraints_.count() > 0) solver_.solve(*model_, constraints_, h_, lambda_, report_);
  if (is_soft()) {
    advance_damped();
    return;
  }
  v_next_ = data_.v_free;
  if (constraints_.count() == 0) return;
  const Stopwatch watch;
  impulse_.setZero();
  add_constraint_force(*model_, constraints_, lambda_, impulse_);
  ::touchstone::solve(*model_, data_, impulse_);
  v_next_ += impulse_;
  report_.times.solve += watch.seconds();
}

// MuJoCo's way: constraint forces are those for M, and the velocity follows from M - h df/dv.
void Simulator::advance_damped() {
  const Stopwatch watch;
  impulse_ = h_ * data_.smooth_force;
  add_constraint_force(*model_, constraints_, lambda_, impulse_);
  const bool all_dampers = model_->options.integrator.starts_with("implicit");
  const bool damped = all_dampers || model_->options.implicit_damping;
  acceleration_ = impulse_ / h_;
  ::touchstone::solve(*model_, data_, acceleration_);
  if (damped && !factorize_damped(*model_, parameters_, !all_dampers, h_, data_)) {
    report_.status = StepStatus::kDiverged;
  }
  ::touchstone::solve(*model_, data_, impulse_);
  v_next_ = state_.v + impulse_;
  report_.times.solve += watch.seconds();
}

// A servo that was not expected to reach its force limit and did: it becomes a block of the problem, and the step is
// solved again. Seldom, and seldom more than once.
void Simulator::bound_servos(double remaining) {
  if (is_soft()) return;
  constexpr int kRounds = 4;
  for (int i = 0; i < kRounds; ++i) {
    if (!bound_exceeding_servos(*model_, state_.v, v_next_, h_, data_)) return;
    if (!repeat_free_motion(*model_, work_, h_, data_)) return;
    refine_free_motion();
    report_.status = StepStatus::kOk;
    report_.residuals = Residuals();
    assemble(remaining);
    solve();
  }
}

void Simulator::integrate(double remaining) {
  const Stopwatch watch;
  if (variational_ && !report_.warnings.variational_fallback) {
    v_mean_ = variational_->velocity() + 0.5 * (v_next_ - data_.v_free);
    ::touchstone::integrate(*model_, state_.q, v_mean_, h_, work_.q);
  } else {
    ::touchstone::integrate(*model_, work_.q, v_next_, remaining, work_.q);
  }
  if (!work_.q.allFinite() || !v_next_.allFinite() || report_.status == StepStatus::kDiverged) {
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
  if (is_soft()) {
    actuator_force_ = data_.actuator_force;
  } else {
    acceleration_ = (state_.v - before_.v) / h_;
    applied_actuator_forces(*model_, data_, before_.v, state_.v, h_, actuator_force_);
  }
  report_.times.integrate = watch.seconds();
}

void Simulator::finish_report() {
  const Stopwatch watch;
  const std::span<const Contact> contacts =
      model_->options.contacts_enabled ? detector_.contacts() : std::span<const Contact>();
  cache_.store(constraints_, contacts, lambda_);
  report_.time = state_.time;
  for (int block = 0; block < constraints_.count(); ++block) {
    const ConstraintKind kind = constraints_.list[at(block)].kind;
    if (kind == ConstraintKind::kContact) {
      ++report_.contacts;
      const int normal = constraints_.blocks.row[at(block + 1)] - 1;
      report_.penetration = std::max(report_.penetration, -constraints_.position[at(normal)]);
    }
    if (kind == ConstraintKind::kContact || kind == ConstraintKind::kServo) continue;
    for (int r = constraints_.blocks.row[at(block)]; r < constraints_.blocks.row[at(block + 1)]; ++r) {
      const double x = constraints_.position[at(r)];
      report_.violation = std::max(report_.violation, kind == ConstraintKind::kEquality ? std::abs(x) : -x);
    }
  }
  report_.warnings.deep_penetration = report_.penetration > options_.watch.penetration;
  report_.immovable = static_cast<int>(contacts.size()) - report_.contacts;
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

std::string Simulator::describe_worst() const {
  const int block = report_.residuals.worst_block;
  if (block < 0 || block >= constraints_.count()) return report_.worst;
  return describe(*model_, constraints_, detector_.contacts(), block);
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

const VectorX& Simulator::sensors() {
  if (!sensors_known_) {
    sensors_.read(
        {*model_, parameters_, before_, input_, acceleration_, actuator_force_, constraints_, lambda_, detector_, h_});
    sensors_known_ = true;
  }
  return sensors_.values();
}

std::span<const double> Simulator::sensor(std::string_view name) {
  const int index = model_->sensor(name);
  const double* first = sensors().data() + sensors_.start(index);
  return {first, static_cast<std::size_t>(sensor_dimension(model_->sensors[at(index)].type))};
}

void Simulator::reset() { reset(State(*model_)); }

void Simulator::reset_random(std::uint64_t seed, double spread, double speed) {
  constexpr int kTrials = 1000;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  State state(*model_);
  Data data(*model_);
  CollisionDetector detector(std::make_shared<const CollisionModel>(*model_), options_.collision);
  for (int trial = 0; trial < kTrials; ++trial) {
    random_configuration(*model_, random, state.q);
    for (int j = 0; j < model_->njoint; ++j) {
      if (model_->joints[at(j)].type != JointType::kFree) continue;
      const int q = model_->joint_q[at(j)];
      for (int k = 0; k < 3; ++k) state.q[q + k] = model_->reference_q[q + k] + spread * unit(random);
    }
    for (int i = 0; i < model_->nv; ++i) state.v[i] = speed * unit(random);
    forward_kinematics(*model_, parameters_, state, data);
    const std::span<const Contact> contacts =
        model_->options.contacts_enabled ? detector.detect(parameters_, data) : std::span<const Contact>();
    const auto overlaps = [](const Contact& c) { return c.distance < c.margin; };
    if (std::any_of(contacts.begin(), contacts.end(), overlaps)) continue;
    reset(state);
    return;
  }
  throw Error(ErrorDetail{.where = {},
                          .message = fmt::format("no state without overlaps in {} random ones", kTrials),
                          .remedy = "give a larger spread, or reset to a state of your own"});
}

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
  sensors_known_ = true;
  sensors_.clear();
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
  sensors_known_ = true;
  sensors_.clear();
  contact_forces_.clear();
  report_ = StepReport();
  report_.time = state_.time;
}

}  // namespace touchstone
