#include "touchstone/sim/simulator.hpp"

#include <algorithm>
#include <exception>
#include <random>
#include <utility>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/error_control.hpp"
#include "touchstone/sim/integrators/integrator.hpp"
#include "touchstone/sim/loop_reading.hpp"
#include "touchstone/sim/sensors.hpp"
#include "touchstone/sim/stages.hpp"
#include "touchstone/sim/step_context.hpp"
#include "touchstone/sim/step_memory.hpp"

namespace touchstone {

struct SimulatorSnapshot {
  StepMemory memory;
  Input input;
};

struct StepReplay {
  explicit StepReplay(const StepContext& s) : start(s), input(s.input), end(s.state) {}

  StepMemory start;
  Input input;
  State end;
  StepReport report;
  bool is_known = false;
};

Simulator::Simulator(const ModelPtr& model, const SimulatorOptions& options)
    : Simulator(model, options, std::make_shared<const CollisionModel>(*require_model(model))) {}

Simulator::Simulator(ModelPtr model, const SimulatorOptions& options, std::shared_ptr<const CollisionModel> shapes)
    : s_(std::make_unique<StepContext>(std::move(model), options, std::move(shapes))),
      rule_(entry_of(options.integrator).make(s_->model)),
      error_control_(options.accuracy > 0.0 && options.integrator != Integrator::kEvent
                         ? std::make_unique<ErrorControl>(*s_)
                         : nullptr),
      sensors_(std::make_unique<Sensors>(s_->model)) {}

Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;
Simulator::~Simulator() = default;

const Model& Simulator::model() const { return s_->model; }
const ModelPtr& Simulator::model_ptr() const { return s_->model_ptr; }
const SimulatorOptions& Simulator::options() const { return s_->options; }
double Simulator::time_step() const { return s_->duration; }
double Simulator::part_size() const { return s_->h; }
State& Simulator::state() {
  s_->lent.state = true;
  return s_->state;
}
const State& Simulator::state() const { return s_->state; }
Input& Simulator::input() {
  s_->lent.input = true;
  return s_->input;
}
const Input& Simulator::input() const { return s_->input; }
Parameters& Simulator::parameters() {
  s_->lent.parameters = true;
  return s_->parameters;
}
const Parameters& Simulator::parameters() const { return s_->parameters; }
const StepReport& Simulator::report() const { return s_->report; }
std::span<const ContactForce> Simulator::contacts() const { return s_->contact_forces; }
const VectorX& Simulator::actuator_forces() const { return s_->actuator_force; }
const VectorX& Simulator::acceleration() const { return s_->acceleration; }
const Data& Simulator::data() const { return s_->data; }
const Constraints& Simulator::constraints() const { return s_->constraints; }
const VectorX& Simulator::impulses() const { return s_->lambda; }
const CollisionDetector& Simulator::detector() const { return s_->detector; }
StepContext& Simulator::context() {
  s_->lent = {true, true, true};
  return *s_;
}
double Simulator::kinetic_energy() { return s_->meter.measure_all(s_->model, s_->parameters, s_->state).kinetic; }
double Simulator::potential_energy() { return s_->meter.measure_all(s_->model, s_->parameters, s_->state).potential; }

// Equal parts.
void Simulator::step_in_parts(const std::function<void(const StepContext&)>* look) {
  const int count = s_->options.substeps;
  StepReport earlier;
  if (count > 1) stage::begin_parts(*s_);
  for (int i = 0; i < count; ++i) {
    if (i > 0) earlier = s_->report;
    if (count > 1) stage::move_mocap(*s_, static_cast<double>(i + 1) / count);
    if (!stage::settle(*s_)) {
      const StageClock::Chain chain(s_->clock);
      rule_->step(*s_);
    }
    s_->report.times.add(s_->settle_times);
    if (look != nullptr && s_->report.status != StepStatus::kDiverged) (*look)(*s_);
    if (i > 0) s_->report.merge_earlier(earlier);
    if (s_->report.status != StepStatus::kDiverged) continue;
    if (count > 1) stage::move_mocap(*s_, 1.0);
    break;
  }
}

const StepReport& Simulator::step() {
  if (replay_ != nullptr) {
    replay_->start.keep(*s_);
    replay_->input = s_->input;
    replay_->is_known = true;
  }
  if (error_control_ != nullptr) {
    error_control_->step(*s_, *rule_);
  } else {
    step_in_parts();
  }
  s_->sensors_known = false;
  if (callback_) callback_(*this);
  return s_->report;
}

namespace {

// Nobody sees the reports of steps while it lives.
class Unseen {
 public:
  explicit Unseen(StepContext& s) : s_(s) { s_.is_seen = false; }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
  ~Unseen() { s_.is_seen = true; }

 private:
  StepContext& s_;
};

}  // namespace

const StepReport& Simulator::step(int count) {
  int left = count;
  // Steps before the last need no account of energy, which motion does not depend on; what falls asleep notes its own.
  if (!callback_ && error_control_ == nullptr && !s_->sleep.is_enabled()) {
    const Unseen unseen(*s_);
    for (; left > 1; --left) {
      if (step().status == StepStatus::kDiverged) return s_->report;
    }
  }
  for (; left > 0; --left) {
    if (step().status == StepStatus::kDiverged) break;
  }
  return s_->report;
}

void Simulator::keep_starts(bool keep) {
  const bool has_parts = s_->options.substeps > 1 || error_control_ != nullptr;
  if (!keep || !has_parts) {
    replay_.reset();
  } else if (replay_ == nullptr) {
    replay_ = std::make_unique<StepReplay>(*s_);
  }
}

void Simulator::replay(const std::function<void(const StepContext&)>& look) {
  if (replay_ == nullptr || !replay_->is_known) {
    throw Error(
        "there is no step of several parts whose start is known: call keep_starts() of the simulator before the step");
  }
  replay_->end = s_->state;
  replay_->report = s_->report;
  const double next_part = s_->next_part;
  replay_->start.restore(*s_);
  std::swap(s_->input, replay_->input);  // that of the step, for the user may have changed it since
  s_->lent = {true, true, true};
  std::exception_ptr error;  // the step is made to its end all the same
  const std::function<void(const StepContext&)> careful = [&](const StepContext& s) {
    if (error) return;
    try {
      look(s);
    } catch (...) {
      error = std::current_exception();
    }
  };
  error_control_ != nullptr ? error_control_->repeat(*s_, *rule_, careful) : step_in_parts(&careful);
  std::swap(s_->input, replay_->input);
  s_->next_part = next_part;
  s_->state = replay_->end;
  s_->report = replay_->report;
  if (error) std::rethrow_exception(error);
}

std::string Simulator::describe_worst() const {
  const int block = s_->report.residuals.worst_block;
  const SleepReport& sleep = s_->report.sleep;
  if (sleep.islands > 0 && sleep.residuals.natv >= s_->report.residuals.natv)
    return s_->sleep.describe_worst(s_->model);
  if (block < 0 || block >= s_->constraints.count()) return s_->report.worst;
  return describe(s_->model, s_->constraints, s_->detector.contacts(), block);
}

std::string Simulator::describe_hindered() const {
  const int block = s_->report.hindered_block;
  if (block < 0 || block >= s_->constraints.count()) return {};
  return describe(s_->model, s_->constraints, s_->detector.contacts(), block);
}

Vector6 Simulator::contact_wrench(int body) const {
  if (body < 0 || body >= s_->model.nbody) throw Error("body {} of a model with {}", body, s_->model.nbody);
  Vec3 force, torque;
  const Vec3 origin = s_->data.X_WB[at(body)].p;
  for (const ContactForce& f : s_->contact_forces) {
    for (const auto& [other, sign] : {std::pair(f.contact->body_a, -1.0), std::pair(f.contact->body_b, 1.0)}) {
      if (other != body) continue;
      force += sign * f.force;
      torque += sign * (f.torque + cross(f.contact->position - origin, f.force));
    }
  }
  Vector6 wrench;
  wrench.head<3>() = force.eigen();
  wrench.tail<3>() = torque.eigen();
  return wrench;
}

const VectorX& Simulator::sensors() {
  if (!s_->sensors_known) {
    sensors_->read({s_->model, s_->parameters, s_->before, s_->input, s_->acceleration, s_->actuator_force,
                    s_->constraints, s_->lambda, s_->detector, s_->rules, s_->h, s_->sleep.islands()});
    s_->sensors_known = true;
  }
  return sensors_->values();
}

std::span<const double> Simulator::sensor(std::string_view name) {
  const int index = s_->model.sensor(name);
  const double* first = sensors().data() + sensors_->start(index);
  return {first, static_cast<std::size_t>(sensor_dimension(s_->model.sensors[at(index)].type))};
}

LoopReading Simulator::loop_joint(int index) {
  if (index < 0 || at(index) >= s_->model.loop_joints.size()) {
    throw Error("loop joint {} of a model with {}", index, s_->model.loop_joints.size());
  }
  if (readings_ == nullptr) readings_ = std::make_unique<Data>(s_->model);
  forward_kinematics(s_->model, s_->parameters, s_->state, *readings_);
  forward_velocity(s_->model, s_->state.v, *readings_);
  LoopReading reading = read_loop_joint(s_->model, *readings_, s_->state.loop_memory(), index);
  if (s_->has_before) add_loop_forces(s_->constraint_step(), s_->constraints, s_->lambda, s_->h, index, reading);
  return reading;
}

LoopReading Simulator::loop_joint(std::string_view name) { return loop_joint(s_->model.loop_joint(name)); }

bool Simulator::is_asleep(int body) const {
  const int tree = tree_of(body);
  return tree >= 0 && s_->sleep.is_enabled() && s_->sleep.is_asleep(tree);
}

int Simulator::tree_of(int body) const {
  if (body < 0 || body >= s_->model.nbody) throw Error("body {} of a model with {}", body, s_->model.nbody);
  return s_->model.body_kernels[at(body)].tree;
}

void Simulator::wake() { s_->sleep.wake_all(s_->cache); }

void Simulator::wake(int body) {
  if (const int tree = tree_of(body); tree >= 0) s_->sleep.wake(tree, s_->cache);
}

void Simulator::put_to_sleep(int body) {
  if (!s_->sleep.is_enabled()) {
    throw Error({.where = {}, .message = "nothing may sleep", .remedy = "set the option sleep=true"});
  }
  if (const int tree = tree_of(body); tree >= 0) s_->sleep.request(tree);
}

void Simulator::reset() { reset(State(s_->model)); }

void Simulator::reset_random(std::uint64_t seed, double spread, double speed) {
  constexpr int kTrials = 1000;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  State state(s_->model);
  Data data(s_->model);
  CollisionDetector detector(std::make_shared<const CollisionModel>(s_->model), s_->options.collision);
  for (int trial = 0; trial < kTrials; ++trial) {
    random_configuration(s_->model, random, state.q);
    for (int j = 0; j < s_->model.njoint; ++j) {
      if (s_->model.joints[at(j)].type != JointType::kFree) continue;
      const int q = s_->model.joint_q[at(j)];
      for (int k = 0; k < 3; ++k) state.q[q + k] = s_->model.reference_q[q + k] + spread * unit(random);
    }
    for (int i = 0; i < s_->model.nv; ++i) state.v[i] = speed * unit(random);
    forward_kinematics(s_->model, s_->parameters, state, data);
    const std::span<const Contact> contacts =
        s_->model.options.contacts_enabled ? detector.detect(s_->parameters, data) : std::span<const Contact>();
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
  if (keyframe < 0 || keyframe >= static_cast<int>(s_->model.keyframes.size())) {
    throw Error("keyframe {} of a model with {}", keyframe, s_->model.keyframes.size());
  }
  const Keyframe& key = s_->model.keyframes[at(keyframe)];
  reset(State(s_->model, key));
  s_->input.control = key.control;
}

void Simulator::reset(std::string_view keyframe) { reset(s_->model.keyframe(keyframe)); }

void Simulator::reset(const State& state) {
  state.validate(s_->model);
  s_->state = state;
  s_->forget();
  forget_step();
}

// What the last step said is no longer true of the state.
void Simulator::forget_step() {
  if (replay_ != nullptr) replay_->is_known = false;
  s_->sensors_known = true;
  sensors_->clear();
  s_->contact_forces.clear();
  s_->resting_contacts = 0;
  s_->report = StepReport();
  s_->report.time = s_->state.time;
}

const State& Simulator::Snapshot::state() const { return data_->memory.state; }

Simulator::Snapshot Simulator::save() const {
  return Snapshot(std::make_shared<SimulatorSnapshot>(SimulatorSnapshot{StepMemory(*s_), s_->input}));
}

void Simulator::restore(const Snapshot& snapshot) {
  snapshot.state().validate(s_->model);
  snapshot.data_->memory.restore(*s_);
  s_->input = snapshot.data_->input;
  forget_step();
  stage::list_resting_contacts(*s_);
}

}  // namespace touchstone
