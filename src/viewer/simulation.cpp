#include "touchstone/viewer/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/element_trees.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

// The spring swings a mass of the whole tree at this rate, critically damped: firm, and slow against the time step.
constexpr double kDragRate = 12.0;                           // rad/s
constexpr double kLargestPull = 50.0;                        // times the weight of the tree under 9.81 m/s^2
constexpr double kShortestStep = 1e-5, kLongestStep = 0.02;  // s, that the page offers
constexpr double kLargestFriction = 2.0;
constexpr double kEdge = 0.999;      // share of the friction cone at which a contact may slip
constexpr double kSlipSpeed = 1e-4;  // m/s

double tree_mass(const Model& model, int tree) {
  double mass = 0.0;
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    if (model.body_kernels[b].tree == tree) mass += model.bodies[b].inertia.mass;
  }
  return mass;
}

double largest_friction(const Model& model) {
  double friction = 0.0;
  for (const Material& material : model.defaults.shape_material) friction = std::max(friction, material.friction.x());
  return friction;
}

// How fast the surfaces move along each other.
double slip_speed(const Model& model, const Data& data, const Contact& contact) {
  const Vector3 point = contact.position.eigen(), normal = contact.normal().eigen();
  const Vector3 velocity =
      (point_velocity(model, data, contact.body_b, point) - point_velocity(model, data, contact.body_a, point))
          .head<3>();
  return (velocity - normal.dot(velocity) * normal).norm();
}

ContactMode mode_of(const Model& model, const Data& data, const ContactForce& f) {
  const Vec3& force = f.local_force;
  if (!(force.z() > 0.0)) return ContactMode::kOpen;
  const auto& mu = f.contact->material.friction;
  if (f.contact->material.dimension < 3 || mu[0] <= 0.0 || mu[1] <= 0.0) return ContactMode::kSlip;
  const bool at_edge = std::hypot(force.x() / mu[0], force.y() / mu[1]) >= kEdge * force.z();
  return at_edge && slip_speed(model, data, *f.contact) > kSlipSpeed ? ContactMode::kSlip : ContactMode::kStick;
}

}  // namespace

std::vector<Channel> step_channels() {
  return {{.chart = "Energy", .name = "kinetic", .unit = "J"},
          {.chart = "Energy", .name = "potential", .unit = "J"},
          {.chart = "Energy", .name = "total", .unit = "J"},
          {.chart = "Certificate", .name = "natv, relative", .unit = "", .logarithmic = true},
          {.chart = "Certificate", .name = "law, relative", .unit = "", .logarithmic = true},
          {.chart = "Contacts", .name = "contacts", .unit = ""},
          {.chart = "Penetration", .name = "penetration", .unit = "mm"},
          {.chart = "Iterations", .name = "iterations", .unit = ""},
          {.chart = "Time of a step", .name = "dynamics", .unit = "us"},
          {.chart = "Time of a step", .name = "collision", .unit = "us"},
          {.chart = "Time of a step", .name = "assembly", .unit = "us"},
          {.chart = "Time of a step", .name = "solve", .unit = "us"}};
}

StepValues step_values(const StepReport& report, double kinetic, double potential) {
  constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
  const StageTimes& t = report.times;
  const bool stepped = t.total() > 0.0;
  const auto micro = [stepped](double seconds) { return stepped ? 1e6 * seconds : kGap; };
  return {kinetic,
          potential,
          kinetic + potential,
          report.residuals.natv_relative > 0.0 ? report.residuals.natv_relative : kGap,
          report.residuals.law_natv_relative > 0.0 ? report.residuals.law_natv_relative : kGap,
          static_cast<double>(report.contacts),
          1e3 * report.penetration,
          static_cast<double>(report.iterations),
          micro(t.dynamics),
          micro(t.collision),
          micro(t.assembly),
          micro(t.solve)};
}

void add_marks(const StepReport& report, std::vector<Mark>& marks) {
  const EventReport& events = report.events;
  const double last = events.events > 0 ? events.last : report.time;
  if (events.impacts > 0) {
    marks.push_back({last, MarkKind::kImpact});
  } else if (events.events > 0) {
    marks.push_back({last, MarkKind::kEvent});
  }
  if (events.fallbacks > 0 || report.warnings.variational_fallback) marks.push_back({report.time, MarkKind::kFallback});
}

void fill_contacts(const Model& model, const Data& data, std::span<const ContactForce> forces,
                   std::vector<FrameContact>& contacts) {
  UnionFind trees;
  trees.reset(model.ntree);
  join_loops(model, trees);
  const auto tree = [&model](int body) { return model.body_kernels[at(body)].tree; };
  for (const ContactForce& f : forces) {
    const int a = tree(f.contact->body_a), b = tree(f.contact->body_b);
    if (a >= 0 && b >= 0) trees.join(a, b);
  }
  contacts.clear();
  for (const ContactForce& f : forces) {
    const int moving = std::max(tree(f.contact->body_a), tree(f.contact->body_b));
    FrameContact c;
    c.position = f.contact->position.eigen();
    c.normal = f.contact->normal().eigen();
    c.force = f.force.eigen();
    c.distance = f.contact->distance;
    c.friction = f.contact->material.dimension >= 3 ? f.contact->material.friction[0] : 0.0;
    c.mode = mode_of(model, data, f);
    c.island = moving >= 0 ? trees.root(moving) : -1;
    c.body_a = f.contact->body_a;
    c.body_b = f.contact->body_b;
    contacts.push_back(c);
  }
}

SimulatorSource::SimulatorSource(const Model& model) : data_(model), friction_(largest_friction(model)) {}

std::vector<Channel> SimulatorSource::channels() const { return step_channels(); }

LiveChoices SimulatorSource::choices() const {
  const Model& m = *model();
  LiveChoices choices;
  if (m.nshape > 0)
    choices.friction = LiveRange{.value = friction_, .minimum = 0.0, .maximum = std::max(friction_, kLargestFriction)};
  choices.controls = m.nu > 0;
  choices.drag = m.nv > 0;
  return choices;
}

std::vector<double> SimulatorSource::controls() const {
  const VectorX& control = simulator().input().control;
  return {control.begin(), control.end()};
}

void SimulatorSource::set_friction(double coefficient) {
  friction_ = coefficient;
  for (Material& material : simulator().parameters().shape_material) material.friction.x() = coefficient;
}

void SimulatorSource::pull() {
  Input& input = simulator().input();
  if (pulled_ >= 0) input.applied_wrench[at(pulled_)].setZero();
  apply_pushes();
  pulled_ = drag_ ? drag_->body : -1;
  if (!drag_) return;
  const Model& m = *model();
  const State& now = simulator().state();
  forward_kinematics(m, simulator().parameters(), now, data_);
  forward_velocity(m, now.v, data_);
  const Transform X_WB = body_pose(data_, drag_->body);
  const Vector3 point = X_WB * drag_->point;
  const Vector3 velocity = point_velocity(m, data_, drag_->body, point).head<3>();
  const double mass = tree_mass(m, m.body_kernels[at(drag_->body)].tree);
  const Vector3 wanted = mass * (kDragRate * kDragRate * (drag_->target - point) - 2.0 * kDragRate * velocity);
  const Vector3 force = wanted * std::min(1.0, kLargestPull * 9.81 * mass / std::max(wanted.norm(), 1e-300));
  const Vector3 arm = point - X_WB * m.bodies[at(drag_->body)].inertia.com;
  Vector6& wrench = input.applied_wrench[at(drag_->body)];
  wrench.head<3>() += force;
  wrench.tail<3>() += arm.cross(force);
}

void SimulatorSource::step() {
  if (simulator().report().status == StepStatus::kDiverged) return;
  pull();
  move();
  take_step();
}

// The figures of the step that was made, for the next frame and for the certificate of the run.
void SimulatorSource::take_step() {
  Simulator& sim = simulator();
  const StepReport& report = sim.report();
  if (!certificate_) certificate_.emplace(sim.options());
  certificate_->add(report, &sim);
  if (frame_read_) forget_steps();
  const bool measured = sim.options().watch.energy && report.status != StepStatus::kDiverged;
  extremes_.add(step_values(report, measured ? report.energy.kinetic : sim.kinetic_energy(),
                            measured ? report.energy.potential : sim.potential_energy()));
  add_marks(report, marks_);
  since_frame_.status = std::max(since_frame_.status, report.status);
  since_frame_.penetration = std::max(since_frame_.penetration, report.penetration);
  since_frame_.violation = std::max(since_frame_.violation, report.violation);
  keep_worst(report.residuals, since_frame_.residuals);
  taken_at_ = sim.state().time;
}

void SimulatorSource::forget_steps() {
  extremes_.clear();
  marks_.clear();
  since_frame_ = StepReport();
  frame_read_ = false;
}

std::vector<CertificateItem> SimulatorSource::run_certificate() const {
  return certificate_ ? certificate_->items() : std::vector<CertificateItem>();
}

void SimulatorSource::reset() {
  const VectorX control = simulator().input().control;  // the sliders stay where they are
  go_to_start();
  simulator().input().control = control;
  if (pulled_ >= 0) simulator().input().applied_wrench[at(pulled_)].setZero();
  drag_.reset();
  pulled_ = -1;
  certificate_.reset();
  forget_steps();
  taken_at_ = kNever;
}

void SimulatorSource::read(Frame& frame) {
  const Model& m = *model();
  const Simulator& sim = simulator();
  const State& state = sim.state();
  forward_kinematics(m, sim.parameters(), state, data_);
  forward_velocity(m, state.v, data_);
  frame.time = state.time;
  frame.poses.resize(data_.X_WB.size());
  std::transform(data_.X_WB.begin(), data_.X_WB.end(), frame.poses.begin(),
                 [](const Pose& X) { return X.transform(); });
  fill_contacts(m, data_, sim.contacts(), frame.contacts);
  frame.asleep.clear();
  for (int b = 1; b < m.nbody; ++b) {
    if (sim.is_asleep(b)) frame.asleep.push_back(b);
  }
  const auto values = step_values(sim.report(), kinetic_energy(m, sim.parameters(), state.v, data_),
                                  potential_energy(m, sim.parameters(), state, data_));
  frame.values.assign(values.begin(), values.end());
  if (taken_at_ != state.time) {  // the start, or others made the step: this moment stands for itself
    forget_steps();
    since_frame_ = sim.report();
    taken_at_ = state.time;
  }
  extremes_.add(values);
  frame.low = extremes_.low();
  frame.high = extremes_.high();
  frame.marks = marks_;
  frame.certificate = step_certificate(since_frame_, sim.options().tolerance);
  frame_read_ = true;
}

Simulation::Simulation(Scene scene) : SimulatorSource(*scene.model), run_(std::move(scene)) {}

LiveChoices Simulation::choices() const {
  LiveChoices choices = SimulatorSource::choices();
  for (const CatalogueEntry& entry : solver_catalogue()) choices.solvers.emplace_back(entry.name);
  choices.solver = run_.simulator().options().solver;
  const double step = run_.simulator().time_step();
  choices.time_step =
      LiveRange{.value = step, .minimum = std::min(step, kShortestStep), .maximum = std::max(step, kLongestStep)};
  return choices;
}

void Simulation::set_solver(std::string_view name) {
  SimulatorOptions options = run_.simulator().options();
  options.solver = name;
  options.solver_options.clear();  // they belong to the solver before
  run_.set_options(options);
}

void Simulation::set_time_step(double seconds) {
  SimulatorOptions options = run_.simulator().options();
  options.time_step = seconds;
  run_.set_options(options);
}

}  // namespace touchstone
