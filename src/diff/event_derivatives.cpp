#include "touchstone/diff/event_derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/diff/inertial_parameters.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone {
namespace {

constexpr double kColumnWay = 1e-5;  // m, m/s, rad, rad/s: largest entry by which a column is moved; of a size of theta
constexpr double kLeastRate = 1e-12;  // of a guard: below it the moment of an event has no derivative
constexpr double kShareOfSize = 1e-3, kLeastTime = 1e-6;  // s: by which the size of a motion is moved

// Where a map is looked at, as a share of the way, and what it counts for there.
using Difference = std::pair<double, double>;
// Central differences with Richardson's extrapolation.
constexpr Difference kCentral[] = {{1.0, -1.0 / 6.0}, {-1.0, 1.0 / 6.0}, {0.5, 4.0 / 3.0}, {-0.5, -4.0 / 3.0}};
// To one side, for what has a kink: the greater friction of two surfaces counts.
constexpr Difference kForward[] = {{1.0, -1.0}, {0.5, 4.0}, {0.0, -3.0}};

[[noreturn]] void refuse_event_step(const char* what) {
  throw Error(
      "derivatives of a step of the integrator 'event' are not available: {}; take another step size, or 'euler'",
      what);
}

void refuse_time_stepping(const EventReport& report) {
  if (report.fallbacks == 0) return;
  throw Error(
      "derivatives of a step of the integrator 'event' are not available where part of it is made by time stepping "
      "({}); take a smaller step, or 'euler'",
      to_string(report.why));
}

// How large the numbers of theta are, so that a share of it changes bodies as little, however small they are. Moments
// about the origin stay while a mass changes: a body far from there has less to give.
VectorX theta_sizes(const StepContext& step, const StepParameters& theta) {
  VectorX sizes = VectorX::Ones(theta.size());
  Eigen::Index next = theta.gravity ? 3 : 0;
  for (const int b : theta.inertias) {
    const BodyInertia& body = step.parameters.body_inertia[at(b)];
    const double m = body.mass, moment = body.inertia.eigen().trace(), away = m * dot(body.com, body.com);
    if (m > 0.0 && moment > 0.0) {
      sizes[next] = m * moment / (moment + away);
      sizes.segment(next + 1, 3).setConstant(moment / std::sqrt(moment / m + away / m));
      sizes.segment(next + 4, kInertialParameters - 4).setConstant(moment);
    }
    next += kInertialParameters;
  }
  next += static_cast<Eigen::Index>(theta.frictions.size() + theta.restitutions.size());
  for (const int s : theta.stiffnesses) {
    const Material& material = step.parameters.shape_material[at(s)];
    sizes[next++] = std::max({1.0, material.stiffness, material.youngs_modulus});
  }
  next = theta.size() - static_cast<Eigen::Index>(theta.joint_frictions.size() + theta.armatures.size());
  for (const int i : theta.armatures) {
    sizes[next++] = step.data.M[step.model.row_start[at(i)] + step.model.row_length[at(i)] - 1];
  }
  return sizes;
}

// The simulator keeps them.
std::shared_ptr<const CollisionModel> borrowed(const CollisionModel& shapes) {
  return {std::shared_ptr<const CollisionModel>(), &shapes};
}

}  // namespace

struct EventDerivatives::Work {
  Work(const StepContext& step, const StepParameters& parameters)
      : theta(parameters),
        s(step.model_ptr, step.options, borrowed(step.detector.shapes())),
        rule(step.model),
        near(s),
        forces(s.model),
        solver(s),
        impacts(s),
        data(s.model) {}

  const StepParameters& theta;
  VectorX theta_values, theta_sizes;
  StepContext s;  // beside that of the simulator
  EventDriven rule;
  MatrixX X;              // 2 nv x columns
  MatrixX before_event;   // the same, where an event has not been left yet
  VectorX time_of_event;  // columns: dtau
  bool is_at_event = false;
  bool is_grazing = false;  // what closes there has no speed
  VectorX guard;            // columns, and one for time: its derivative
  VectorX rate;             // 2 nv: of where the last smooth motion ended, by its size

  std::optional<SmoothMotion> motion;  // as it began
  Survey near;
  ModeForces forces;
  EventSolver solver;
  Impacts impacts;
  Data data;
  State moved;
  VectorX v;
};

EventDerivatives::EventDerivatives() = default;
EventDerivatives::~EventDerivatives() = default;

double EventDerivatives::way_of(int column) const {
  const Work& w = *work_;
  const Eigen::Index k = column - first_parameter();
  const double least = k >= 0 && k < w.theta.size() ? 1.0 / w.theta_sizes[k] : 1.0;
  return kColumnWay / std::max(least, w.X.col(column).cwiseAbs().maxCoeff());
}

int EventDerivatives::first_parameter() const {
  const Model& model = work_->s.model;
  return 2 * model.nv + model.na + model.nu;
}

template <typename Use>
void EventDerivatives::differentiate_along(const State& start, int column, const Use& use) {
  const StepParameters& theta = work_->theta;
  const int friction = column - first_parameter() - (theta.gravity ? 3 : 0) -
                       kInertialParameters * static_cast<int>(theta.inertias.size());
  const int kinks = static_cast<int>(theta.frictions.size() + theta.restitutions.size());
  const bool has_kink = friction >= 0 && friction < kinks;
  const double way = way_of(column);
  for (const auto& [share, weight] : has_kink ? std::span<const Difference>(kForward) : kCentral) {
    move_along(start, column, share * way, [&, w = weight / way](State& state) { use(state, w); });
  }
}

template <typename Use>
void EventDerivatives::move_along(const State& start, int column, double way, const Use& use) {
  Work& w = *work_;
  StepContext& s = w.s;
  const int nv = s.model.nv, na = s.model.na, nu = s.model.nu;
  w.moved = start;
  integrate(s.model, start.q, w.X.col(column).head(nv), way, w.moved.q);
  w.moved.v += way * w.X.col(column).tail(nv);
  const int k = column - 2 * nv, u = k - na, parameter = u - nu;
  if (k >= 0 && k < na) w.moved.activation[k] += way;
  const double control = u >= 0 && u < nu ? s.input.control[u] : 0.0;
  if (u >= 0 && u < nu) s.input.control[u] += way;
  const auto set_theta = [&](double value) {
    if (parameter < 0 || parameter >= w.theta.size()) return;
    w.v = w.theta_values;
    w.v[parameter] += value;
    w.theta.write(w.v, s.parameters);
  };
  set_theta(way);
  use(w.moved);
  if (u >= 0 && u < nu) s.input.control[u] = control;
  set_theta(0.0);
}

template <typename Map>
void EventDerivatives::take_through(const State& start, const State& end, const Map& map) {
  Work& w = *work_;
  StepContext& s = w.s;
  const int nv = s.model.nv;
  const CollisionDetector detector = s.detector;  // the step itself goes on from here
  const StepReport report = s.report;
  VectorX apart(2 * nv), sum(2 * nv);
  for (int column = 0; column < w.X.cols(); ++column) {
    sum.setZero();
    differentiate_along(start, column, [&](State& state, double weight) {
      if (!map(state)) refuse_event_step("the motion near by is another one");
      difference(s.model, end.q, state.q, apart.head(nv));
      apart.tail(nv) = state.v - end.v;
      sum += weight * apart;
    });
    w.X.col(column) = sum;
  }
  s.detector = detector;
  s.report = report;
}

void EventDerivatives::compute(const StepContext& step, const StepParameters& theta, MatrixX& A, MatrixX& B,
                               MatrixX& C) {
  const Model& model = step.model;
  const int nv = model.nv, na = model.na, nu = model.nu, nx = 2 * nv + na;
  refuse_time_stepping(step.report.events);
  work_ = std::make_unique<Work>(step, theta);
  Work& w = *work_;
  w.s.parameters = step.parameters;
  w.s.input = step.input;
  w.s.state = step.before;
  w.s.before = step.before;  // mocap bodies that move are left to time stepping: here they have stayed
  w.s.has_before = true;
  w.s.next_part = step.part_before;
  w.s.h = step.h;
  w.theta_values = theta.read(step.parameters);
  w.theta_sizes = theta_sizes(step, theta);
  w.X.setIdentity(2 * nv, nx + nu + theta.size());
  w.rule.set_watcher(this);
  w.rule.step(w.s);
  if (w.s.report.status == StepStatus::kDiverged) refuse_event_step("the step has diverged");
  refuse_time_stepping(w.s.report.events);
  const MatrixX& X = w.is_at_event ? w.before_event : w.X;
  A.topRows(2 * nv) = X.leftCols(nx);
  B.topRows(2 * nv) = X.middleCols(nx, nu);
  C.topRows(2 * nv) = X.rightCols(theta.size());
}

void EventDerivatives::begin_motion(const SmoothMotion& motion) { work_->motion.emplace(motion); }

// The last smooth motion, from another state or with another size.
bool EventDerivatives::repeat_motion(double size, State& state) const {
  SmoothMotion motion(*work_->motion);
  OdeStep ode(work_->s.options.events.rule);
  VectorX rate;
  motion.begin(state, motion.reach());
  if (!motion.rate(motion.start(), rate)) return false;
  motion.keep_depths();
  if (!ode.make(motion, motion.start(), rate, size)) return false;
  motion.read(ode.end(), state);
  return motion.correct(state);
}

void EventDerivatives::find_rate(const State& start, const State& end, double size) {
  Work& w = *work_;
  const int nv = w.s.model.nv;
  const CollisionDetector detector = w.s.detector;
  const double longest = std::max(kShareOfSize * size, kLeastTime);
  VectorX apart(2 * nv);
  w.rate.setZero(2 * nv);
  for (const auto& [share, weight] : kCentral) {
    State state = start;
    if (!repeat_motion(size + share * longest, state)) refuse_event_step("the motion near by is another one");
    difference(w.s.model, end.q, state.q, apart.head(nv));
    apart.tail(nv) = state.v - end.v;
    w.rate += (weight / longest) * apart;
  }
  w.s.detector = detector;
}

// What begins later by dtau is shorter by that.
void EventDerivatives::end_motion(double size, const State& end) {
  Work& w = *work_;
  const State start = w.motion->base();
  take_through(start, end, [&](State& state) { return repeat_motion(size, state); });
  find_rate(start, end, size);
  if (w.is_at_event) w.X.noalias() -= w.rate * w.time_of_event.transpose();
  w.is_at_event = w.is_grazing = false;
}

void EventDerivatives::event(const SmoothMotion& motion, const SmoothMotion::Guard& guard) {
  Work& w = *work_;
  if (w.is_at_event) return;  // seen by another guard before
  const Eigen::Index columns = w.X.cols();
  w.before_event = w.X;
  w.is_at_event = true;
  w.time_of_event.setZero(columns);
  // The guard by all columns, and by time.
  w.X.conservativeResize(Eigen::NoChange, columns + 1);
  w.X.col(columns) = w.rate;
  w.guard.setZero(columns + 1);
  const bool is_gap = guard.is_gap() && !guard.is_turn;
  is_gap ? differentiate_gap(motion, guard) : differentiate_member(motion, guard);
  const double rate = w.guard[columns];
  w.is_grazing = is_gap && !(rate < -kLeastRate);
  if (std::abs(rate) > kLeastRate && !w.is_grazing) w.time_of_event = -w.guard.head(columns) / rate;
  w.X = w.before_event;
  w.X.noalias() += w.rate * w.time_of_event.transpose();
}

// The gap changes with q as its row says, and no parameter moves it.
void EventDerivatives::differentiate_gap(const SmoothMotion& motion, const SmoothMotion::Guard& guard) {
  Work& w = *work_;
  const Model& model = w.s.model;
  const Survey& survey = motion.survey();
  if (guard.kind == SmoothMotion::Kind::kLimit) {
    const int block = motion.limit_block(guard);
    if (block < 0) return;
    const Eigen::Map<const VectorX> row(survey.J(survey.first(block)), model.nv);
    w.guard.noalias() = w.X.topRows(model.nv).transpose() * row;
    return;
  }
  const Contact* seen = motion.seen_contact(guard);
  if (seen == nullptr) return;
  const Contact& contact = *seen;
  forward_kinematics(model, w.s.parameters, survey.state, w.data);
  for (int column = 0; column < w.X.cols(); ++column) {
    forward_velocity(model, w.X.col(column).head(model.nv), w.data);
    w.guard[column] = dot(contact.normal(), velocity_at(model, w.data, contact.body_b, contact.position) -
                                                velocity_at(model, w.data, contact.body_a, contact.position));
  }
}

// The force of a member, the velocity along its slip, or of a gap.
void EventDerivatives::differentiate_member(const SmoothMotion& motion, const SmoothMotion::Guard& guard) {
  Work& w = *work_;
  const State here = motion.survey().state;
  const CollisionDetector detector = w.s.detector;
  VectorX rate;
  for (int column = 0; column < w.X.cols(); ++column) {
    differentiate_along(here, column, [&](State& state, double weight) {
      SmoothMotion near(*w.motion);
      near.begin(state, near.reach());
      if (!near.rate(near.start(), rate)) refuse_event_step("the motion near by is another one");
      w.guard[column] += weight * near.distance(guard).value_or(0.0);
    });
  }
  w.s.detector = detector;
}

void EventDerivatives::impact(const Survey& touching, const VectorX& v) {
  Work& w = *work_;
  if (w.is_grazing) refuse_event_step("something closes without speed, as it grazes");
  State end = touching.state;
  end.v = v;
  take_through(touching.state, end, [&](State& state) {
    if (!w.near.look(w.s, state, 0.0)) return false;
    w.near.take_same(w.s, touching);
    if (w.near.c.rows() != touching.c.rows()) return false;
    // What touches does so near by: columns keep its gap, but for their curvature.
    w.near.c.position = touching.c.position;
    w.near.resting_speed = touching.resting_speed;
    return w.impacts.solve(w.s, w.near, w.solver, state.v);
  });
}

void EventDerivatives::impact_without_collision() {
  refuse_event_step("it has an impact without collision (Painleve's paradox)");
}

void EventDerivatives::rest(const Survey& touching, std::span<const int> rows, const VectorX& v) {
  if (rows.empty()) return;
  Work& w = *work_;
  State end = touching.state;
  end.v = v;
  std::vector<double> residual(rows.size());
  take_through(touching.state, end, [&](State& state) {
    if (!w.near.look(w.s, state, 0.0)) return false;
    w.near.take_same(w.s, touching);
    if (w.near.c.rows() != touching.c.rows()) return false;
    for (std::size_t k = 0; k < rows.size(); ++k) residual[k] = w.near.slip(rows[k]);
    state.v += w.forces.least_change(w.s.model, w.near, rows, residual);
    return true;
  });
}

}  // namespace touchstone
