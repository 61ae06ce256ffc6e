#include "touchstone/sim/integrators/contact_implicit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/model/configuration.hpp"
#include "touchstone/sim/assemble.hpp"
#include "touchstone/sim/events/event_solver.hpp"
#include "touchstone/sim/events/impacts.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone {
namespace {

constexpr int kMostIterations = 40;
constexpr int kUndamped = 10;
constexpr double kSolved = 1e-7;        // m: certificate of positions with which a step is accepted
constexpr double kAgreed = 1e-11;       // m: change of the configuration in an iteration, ..
constexpr double kLeastAgreed = 1e-13;  // or less, where a tolerance below the usual one asks for it
constexpr double kClosedAtEnd = 1e-7;   // m: gaps that are closed where a step ends
constexpr double kNever = 1e6;          // m/s: a bias with which a row stays open

// Zero, with room to spare, so that a few more rows than ever before do not allocate each time.
void clear(VectorX& v, int size) {
  if (v.size() < size) v.resize(2 * size);
  v.setZero();
}

}  // namespace

struct ContactImplicit::Work : ContactKnots {
  explicit Work(const StepContext& s) : ContactKnots(s), context(&s), solver(s) {}

  const StepContext* context;
  EventSolver solver;
  VectorX rows, zero, v;
  double work = 0.0;  // J: of both impulses
};

ContactImplicit::ContactImplicit(const Model& model) : fallback_(model), free_step_(model) {}
ContactImplicit::~ContactImplicit() = default;

void ContactImplicit::step(StepContext& s) {
  if (work_ == nullptr || work_->context != &s) work_ = std::make_unique<Work>(s);
  stage::begin(s, 0.0);
  s.knots = nullptr;
  s.clock.start();
  const bool is_made = !stage::mocap_moves(s) && find_motion(s) && find_velocity(s);
  const bool gave_up = free_step_.given_up() > 0;
  s.report.times.dynamics += s.clock.lap();
  if (is_made) {
    finish(s);
    s.report.warnings.variational_fallback = gave_up;
    s.knots = work_.get();
    return;
  }
  fallback_.step(s);
  s.report.warnings.variational_fallback = true;
}

bool ContactImplicit::find_motion(StepContext& s) {
  Work& w = *work_;
  // Impulses turn bodies to where their velocities do not lead.
  const double speed = s.model.nv > 0 ? s.state.v.cwiseProduct(s.weights.dof_length).cwiseAbs().maxCoeff() : 0.0;
  if (!w.here.look(s, s.state, s.h, s.h * speed)) return false;
  w.here.take_touching(s, std::numeric_limits<double>::infinity());
  if (!w.here.is_rigid()) return false;
  Constraints& c = w.here.c;
  w.bounces.assign(at(c.count()), 0);
  for (int block = 0; block < c.count(); ++block) {
    const int row = w.here.normal(block);
    if (c.blocks.type[at(block)] == BlockType::kBox) {
      c.blocks.lo[at(row)] *= 0.5 * s.h;
      c.blocks.hi[at(row)] *= 0.5 * s.h;
    }
    const bool is_contact = c.list[at(block)].kind == ConstraintKind::kContact || c.recovers[at(row)] != 0;
    w.bounces[at(block)] = is_contact && c.blocks.type[at(block)] != BlockType::kEquality && c.bias[row] < 0.0 ? 1 : 0;
  }
  w.zero.setZero(s.model.nv);
  w.change.setZero(s.model.nv);
  clear(w.lambda, c.rows());
  clear(w.target, c.rows());
  clear(w.rows, c.rows());
  double residual = 0.0;
  const double agreed = std::clamp(1e-5 * s.options.tolerance, kLeastAgreed, kAgreed);
  for (int i = 0; i < kMostIterations; ++i) {
    if (!move(s)) return false;
    if (c.count() == 0) break;
    residual = read_rows(s);
    // Gaps that agree are enough for the usual tolerance; for a lower one friction must, too.
    if (i > 0 && agreed == kAgreed && residual <= agreed) break;
    linearise(s);
    ++s.report.newton;
    if (!w.solver.solve(s, w.here, w.zero)) return false;
    const double way = s.h * (w.solver.change() - w.change).cwiseProduct(s.weights.dof_length).cwiseAbs().maxCoeff();
    // Where rows turn much in a step the iteration may sway: then half of the way is taken.
    const double share = i < kUndamped ? 1.0 : 0.5;
    w.change += share * (w.solver.change() - w.change);
    w.lambda.head(c.rows()) += share * (w.solver.impulses().head(c.rows()) - w.lambda.head(c.rows()));
    if (way > agreed) continue;
    if (!move(s)) return false;
    residual = read_rows(s);
    break;
  }
  s.report.recovery_residual = residual;
  return residual <= kSolved && w.end.q.allFinite();
}

bool ContactImplicit::move(StepContext& s) {
  Work& w = *work_;
  w.start = s.state;
  w.start.v += w.change;
  s.work = w.start;
  integrate(s.model, s.state.q, w.start.v, 0.5 * s.h, s.work.q);
  if (!compute_free_motion(s.model, s.parameters, s.work, s.input, s.h, s.data, ServoMode::kExplicit,
                           SpringRule::kMiddle))
    return false;
  if (!free_step_.solve(s.model, s.parameters, w.start, s.input, s.h, false, s.data)) return false;
  w.w = free_step_.velocity();
  w.end = s.state;
  integrate(s.model, s.state.q, w.w, s.h, w.end.q);
  w.end.v = w.w;
  if (w.here.c.count() == 0) return true;
  w.ahead.place(s, w.end, 0.0);
  w.ahead.take_same(s, w.here);
  return true;
}

double ContactImplicit::read_rows(StepContext& s) {
  Work& w = *work_;
  const Constraints& c = w.here.c;
  constraint_velocity(s.model, c, w.w, w.rows);
  double worst = 0.0;
  for (int block = 0; block < c.count(); ++block) {
    const int first = w.here.first(block), normal = w.here.normal(block);
    const int ahead = w.ahead.find_block(c.list[at(block)], block);
    for (int row = first; row <= normal; ++row) w.target[row] = w.rows[row] + c.surface(row);
    const BlockType type = c.blocks.type[at(block)];
    if (type == BlockType::kBox) continue;
    // Limits that the step does not come near have no rows ahead.
    for (int row = type == BlockType::kEquality ? first : normal; row <= normal; ++row) {
      const double gap = ahead >= 0 ? w.ahead.c.position[at(w.ahead.first(ahead) + row - first)] : c.position[at(row)];
      const bool is_held = type == BlockType::kEquality;
      // What overlaps at the start is not thrown out.
      const double floor = is_held ? 0.0 : std::min(0.0, c.position[at(row)]);
      w.target[row] = w.bounces[at(block)] != 0 ? kNever : (gap - floor) / s.h;
      if (w.bounces[at(block)] != 0) continue;
      const double push = s.h * w.lambda[row] / s.total_mass;
      worst = std::max(worst, is_held ? std::abs(gap) : std::abs(std::min(gap - floor, push)));
    }
  }
  return worst;
}

// u = G lambda + g with u = target at the impulses at hand.
void ContactImplicit::linearise(StepContext& s) {
  Work& w = *work_;
  Constraints& c = w.here.c;
  constraint_velocity(s.model, c, w.change, w.rows);
  for (int row = 0; row < c.rows(); ++row) {
    c.bias[row] = w.target[row] - w.rows[row];
    c.recovery[row] = 0.0;
  }
}

// The impulse at the end, for what is closed there.
bool ContactImplicit::find_velocity(StepContext& s) {
  Work& w = *work_;
  w.end.v = w.v_before = s.data.v_free;
  w.work = 0.0;
  if (!w.closed.look(s, w.end, s.h)) return false;
  w.closed.take_touching(s, kClosedAtEnd);
  Constraints& c = w.closed.c;
  clear(w.lambda_end, c.rows());
  if (c.count() > 0) {
    for (int block = 0; block < c.count(); ++block) {
      const int row = w.closed.normal(block);
      const BlockType type = c.blocks.type[at(block)];
      if (type == BlockType::kBox) {
        c.blocks.lo[at(row)] *= 0.5 * s.h;
        c.blocks.hi[at(row)] *= 0.5 * s.h;
      } else if (type == BlockType::kEquality) {
        for (int r = w.closed.first(block); r <= row; ++r) c.bias[r] = 0.0;
      } else if (c.position[at(row)] > kClosedAtEnd) {
        c.bias[row] = kNever;
      } else {
        c.bias[row] = std::min(0.0, c.bias[row]);
      }
    }
    if (!w.solver.solve(s, w.closed, w.end.v)) return false;
    w.lambda_end.head(c.rows()) = w.solver.impulses().head(c.rows());
    clear(w.rows, c.rows());
    w.end.v += 0.5 * w.solver.change();
    constraint_velocity(s.model, c, w.end.v, w.rows);
    w.work += w.rows.head(c.rows()).dot(w.lambda_end.head(c.rows()));
    w.end.v += 0.5 * w.solver.change();
  }
  const Constraints& first = w.here.c;
  if (first.count() > 0) {
    clear(w.rows, first.rows());
    w.v = s.state.v + 0.5 * w.change;
    constraint_velocity(s.model, first, w.v, w.rows);
    w.work += w.rows.head(first.rows()).dot(w.lambda.head(first.rows()));
  }
  return w.end.v.allFinite() && !adds_energy(s);
}

// Impulses of bodies that rest or are passed by lose energy, or sway about none. Steps that are too long for the motion
// may do otherwise.
bool ContactImplicit::adds_energy(StepContext& s) {
  constexpr double kShare = 0.05;
  const Work& w = *work_;
  if (!w.here.c.surface_velocity.empty() || !w.closed.c.surface_velocity.empty()) return false;
  const double g_h = s.parameters.gravity.norm() * s.h;
  const double kinetic = s.meter.measure_all(s.model, s.parameters, s.state).kinetic;
  return w.work > kShare * kinetic + s.total_mass * g_h * g_h;
}

EnergyAccount ContactImplicit::energy(StepContext& s) {
  Work& w = *work_;
  const Energies before = s.meter.measure_all(s.model, s.parameters, s.state);
  const Energies after = s.meter.measure_all(s.model, s.parameters, w.end);
  EnergyAccount e;
  e.kinetic_before = before.kinetic;
  e.potential_before = before.potential;
  e.kinetic = after.kinetic;
  e.potential = after.potential;
  e.constraints = w.work;
  const VectorX& v_end = s.data.v_free;
  actuator_impulse(s.model, s.data, w.start.v, v_end, s.h, s.impulse);
  e.actuators = s.impulse.dot(w.w);
  damper_impulse(s.model, s.parameters, s.data, v_end, s.h, s.impulse, false);
  e.dampers = s.impulse.dot(w.w);
  s.impulse = s.input.applied_force;
  add_applied_wrenches(s.model, s.parameters, s.input.applied_wrench, s.data, s.impulse);
  e.applied = s.h * s.impulse.dot(w.w);
  return e;
}

void ContactImplicit::finish(StepContext& s) {
  Work& w = *work_;
  const EnergyAccount account = s.watches_energy() ? energy(s) : EnergyAccount();
  s.work.q = w.end.q;
  s.work.v = s.v_next = w.end.v;
  stage::finish_motion(s);
  if (s.report.status == StepStatus::kDiverged) return;
  if (!compute_explicit_motion(s.model, s.parameters, s.work, s.input, s.h, s.data)) {
    s.report.status = StepStatus::kDiverged;
    return;
  }
  stage::detect(s);
  assemble_constraints(s.constraint_step(), s.constraints);
  stage::clear_impulses(s);
  w.here.add_impulses(s, w.lambda, 1.0);
  w.closed.add_impulses(s, w.lambda_end, 1.0);
  s.report.constraints = s.constraints.count();
  s.report.rows = s.constraints.rows();
  stage::compute_row_velocity(s);
  stage::account(s);
  s.report.energy = account;
  s.report.warnings.energy_jump =
      s.watches_energy() &&
      is_energy_jump(account, s.options.watch.energy_jump, s.total_mass * s.parameters.gravity.norm() * 1e-3);
}

}  // namespace touchstone
