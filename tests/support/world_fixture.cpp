#include "support/world_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/contact/certify.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/loop_joints.hpp"
#include "touchstone/sim/constraints/contact.hpp"
#include "touchstone/sim/stages.hpp"

namespace touchstone::test {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

VectorX mapped(const double* values, int size) { return Eigen::Map<const VectorX>(values, size); }
Vector3 vector(gpu::Vec v) { return {v.x, v.y, v.z}; }

// The contact of the backend that is nearest to one of the simulator, of the same shapes.
const gpu::Contact* nearest(const gpu::ModelView& m, const gpu::Scratch<double>& s, const Contact& contact) {
  const gpu::Contact* best = nullptr;
  double least = kNever;
  for (int i = 0; i < s.contact_count; ++i) {
    const gpu::Contact& c = s.contacts[i];
    if (m.shape_element[m.pair_a[c.pair]] != contact.shape_a || m.shape_element[m.pair_b[c.pair]] != contact.shape_b)
      continue;
    const double distance = (vector(c.position) - contact.position.eigen()).norm();
    if (distance < least) least = distance, best = &c;
  }
  return best;
}

gpu::BlockKind kind_of(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::kJointLimit:
      return gpu::BlockKind::kLimit;
    case ConstraintKind::kJointFriction:
      return gpu::BlockKind::kFriction;
    case ConstraintKind::kTendonLimit:
      return gpu::BlockKind::kTendonLimit;
    case ConstraintKind::kServo:
      return gpu::BlockKind::kServo;
    case ConstraintKind::kLoopLimit:
      return gpu::BlockKind::kLoopLimit;
    case ConstraintKind::kLoopFriction:
      return gpu::BlockKind::kLoopFriction;
    default:
      return gpu::BlockKind::kContact;
  }
}

// How many coordinates of active loop joints before this one there are for which wanted(coordinate).
template <typename Wanted>
int coordinates_before(const Model& model, int coordinate, const Wanted& wanted) {
  int count = 0;
  for (int k = 0; k < coordinate; ++k) {
    if (model.loop_joints[at(loop_joint_of(model, k))].active && wanted(loop_coordinate(model, k))) ++count;
  }
  return count;
}

// The number in the backend of an equality of the simulator.
int equality_of(const Model& model, const Constraint& constraint) {
  const bool is_equality = constraint.kind == ConstraintKind::kEquality;
  int active = 0;
  const int equalities = is_equality ? constraint.index : static_cast<int>(model.equalities.size());
  for (int e = 0; e < equalities; ++e)
    active += model.equalities[at(e)].active && model.options.equalities_enabled ? 1 : 0;
  if (is_equality) return active;
  const bool is_spring = constraint.kind == ConstraintKind::kLoopSpring;
  const int joints = is_spring ? static_cast<int>(model.loop_joints.size()) : constraint.index;
  for (int j = 0; j < joints; ++j) active += model.loop_joints[at(j)].active ? 1 : 0;
  if (!is_spring) return active;
  return active + coordinates_before(model, constraint.index, [&](const LoopCoordinate& c) {
           return loop_stiffness(model, c) > 0.0 || (model.options.dampers_enabled && c.damping > 0.0) ||
                  c.armature > 0.0;
         });
}

// The number in the backend of the element of a single row.
int element_of(const Model& model, const gpu::ModelView& m, const Constraint& constraint) {
  switch (constraint.kind) {
    case ConstraintKind::kJointLimit:
      return static_cast<int>(std::find(m.limit_joint, m.limit_joint + m.sizes.limits, constraint.index) -
                              m.limit_joint);
    case ConstraintKind::kLoopLimit:
      return coordinates_before(model, constraint.index, [](const LoopCoordinate& c) { return c.limited; });
    case ConstraintKind::kLoopFriction:
      return coordinates_before(model, constraint.index, [](const LoopCoordinate& c) { return c.friction > 0.0; });
    default:
      return constraint.index;
  }
}

}  // namespace

SimulatorOptions backend_options() {
  SimulatorOptions options;
  options.stabilisation.method = Stabilisation::kBaumgarte;
  options.islands = false;
  options.warm_start = false;
  options.tolerance = 1e-9;
  options.watch.energy = false;
  options.sleep.mode = SleepMode::kOff;
  return options;
}

WorldFixture::WorldFixture(ModelPtr model, int contacts)
    : shared_(std::move(model)),
      simulator_(std::make_unique<Simulator>(shared_, backend_options())),
      arrays_(make_model_arrays(*shared_, backend_options())),
      view_(gpu::view_of(arrays_)) {
  const gpu::Pool pool = gpu::full_pool(arrays_.sizes, contacts);
  q_.resize(at(shared_->nq));
  v_.resize(at(shared_->nv));
  activation_.resize(at(shared_->na));
  control_.resize(at(shared_->nu));
  force_.resize(at(shared_->nv));
  key_.resize(at(pool.blocks));
  impulse_.resize(at(gpu::impulse_width(arrays_.sizes) * pool.blocks));
  loop_q_ = arrays_.reference_loop;
  mocap_before_.resize(at(7 * arrays_.sizes.followed), std::numeric_limits<double>::quiet_NaN());
  memory_.resize(gpu::carve(arrays_.sizes, pool, nullptr, scratch_) / sizeof(double) + 1);
  gpu::carve(arrays_.sizes, pool, reinterpret_cast<char*>(memory_.data()), scratch_);
}

gpu::WorldState WorldFixture::world() {
  gpu::WorldState world;
  world.q = q_.data(), world.v = v_.data(), world.activation = activation_.data();
  world.control = control_.data(), world.applied_force = force_.data();
  world.natv = &natv_, world.time = &time_, world.status = &status_, world.contacts = &contacts_,
  world.sweeps = &sweeps_;
  world.since_pass = &since_pass_, world.reach = &reach_;
  world.warm = {&warm_count_, key_.data(), impulse_.data()};
  world.loop_q = loop_q_.data();
  world.mocap_before = mocap_before_.data();
  return world;
}

void WorldFixture::copy_state() {
  const State& state = simulator_->state();
  std::copy(state.q.begin(), state.q.end(), q_.begin());
  std::copy(state.v.begin(), state.v.end(), v_.begin());
  std::copy(state.activation.begin(), state.activation.end(), activation_.begin());
  std::copy_n(state.loop_q.begin(), loop_q_.size(), loop_q_.begin());
  const Input& input = simulator_->input();
  std::copy(input.control.begin(), input.control.end(), control_.begin());
  std::copy(input.applied_force.begin(), input.applied_force.end(), force_.begin());
  for (std::size_t k = 0; k < state.mocap.size(); ++k) {
    const Transform& X = state.mocap[k];
    const double pose[7] = {X.position.x(), X.position.y(), X.position.z(), X.rotation.w(),
                            X.rotation.x(), X.rotation.y(), X.rotation.z()};
    std::copy_n(pose, 7, arrays_.mocap_pose.begin() + static_cast<std::ptrdiff_t>(7 * k));
  }
  warm_count_ = 0;
}

bool WorldFixture::prepare() {
  copy_state();
  StepContext& s = simulator_->context();
  stage::begin(s, 0.0);
  if (!stage::free_motion(s)) return false;
  stage::detect(s);
  return gpu::with_serial_team(view_.sizes, [&](const auto& team) {
    if (!gpu::begin_step(team, view_, world(), scratch_)) return false;
    if (gpu::is_full(view_.sizes)) gpu::place_coordinates(team, view_, world(), scratch_);
    return gpu::find_contacts(team, view_, scratch_);
  });
}

double WorldFixture::solve(double tolerance, int most_sweeps) {
  StepContext& s = simulator_->context();
  stage::assemble(s);
  stage::solve(s);
  return gpu::with_serial_team(view_.sizes, [&](const auto& team) {
    gpu::begin_loops(team, view_, world(), scratch_);
    gpu::assemble(team, view_, world(), scratch_);
    int sweeps = 0;
    return gpu::solve_contacts(team, view_, scratch_, tolerance, most_sweeps, 20, sweeps);
  });
}

double WorldFixture::certified() const {
  const StepContext& s = simulator_->context();
  const Constraints& c = s.constraints;
  const int n = c.rows();
  if (n == 0) return 0.0;
  ContactProblem problem;
  problem.blocks = c.blocks;
  problem.row_length = c.row_length;
  problem.time_step = s.h;
  MatrixX G(n, n);
  VectorX tau(shared_->nv), lambda = VectorX::Zero(n), g(n);
  for (int k = 0; k < n; ++k) {
    tau.setZero();
    add_constraint_force(*shared_, c, VectorX(VectorX::Unit(n, k)), tau);
    touchstone::solve(*shared_, s.data, tau);
    constraint_velocity(*shared_, c, tau, G.col(k));
  }
  G.diagonal() += c.compliance.head(n);
  constraint_velocity(*shared_, c, s.data.v_free, g);
  g += c.bias.head(n);
  problem.dual.set(G, g);
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int row = c.blocks.row[at(block)];
    if (constraint.kind == ConstraintKind::kLoopJoint || constraint.kind == ConstraintKind::kEquality ||
        constraint.kind == ConstraintKind::kLoopSpring) {
      const int first = view_.equality_row[equality_of(*shared_, constraint)];
      for (int r = 0; r < c.blocks.size(block); ++r) lambda[row + r] = scratch_.lambda_e[first + r];
      continue;
    }
    const bool is_contact = constraint.kind == ConstraintKind::kContact;
    const Contact* contact = is_contact ? &s.contacts()[at(constraint.index)] : nullptr;
    const gpu::Contact* same = is_contact ? nearest(view_, scratch_, *contact) : nullptr;
    for (int k = 0; k < scratch_.block_count; ++k) {
      const gpu::Block<double>& other = scratch_.blocks[k];
      if (other.kind != kind_of(constraint.kind)) continue;
      const gpu::ContactWrench wrench = gpu::block_wrench<gpu::GeneralTeam<gpu::SerialTeam>>(scratch_, other);
      const Vector3 impulse = vector(wrench.force);
      if (is_contact) {
        if (&scratch_.contacts[other.index] == same)
          to_rows(*contact, {Vec3(impulse), Vec3(vector(wrench.torque))}, lambda.data() + row);
        continue;
      }
      if (other.index == element_of(*shared_, view_, constraint) && other.side == constraint.side)
        lambda[row] = impulse.x();
    }
  }
  return certify(problem, lambda).natv_relative;
}

double WorldFixture::certified(const gpu::WorldImpulses& impulses) {
  stage::assemble(simulator_->context());
  warm_count_ = static_cast<int>(std::min(impulses.key.size(), key_.size()));
  std::copy_n(impulses.key.begin(), warm_count_, key_.begin());
  std::copy_n(impulses.impulse.begin(), gpu::impulse_width(arrays_.sizes) * warm_count_, impulse_.begin());
  gpu::with_serial_team(view_.sizes, [&](const auto& team) {
    gpu::begin_loops(team, view_, world(), scratch_);
    gpu::assemble(team, view_, world(), scratch_);  // recalls the impulses
    gpu::advance_velocity(team, view_, scratch_);   // and gives the equalities theirs
    return 0;
  });
  return certified();
}

double WorldFixture::contact_difference() const {
  const std::span<const Contact> contacts = simulator_->context().contacts();
  if (static_cast<int>(contacts.size()) != scratch_.contact_count) return kNever;
  double worst = 0.0;
  for (const Contact& contact : contacts) {
    const gpu::Contact* same = nearest(view_, scratch_, contact);
    if (same == nullptr) return kNever;
    worst = std::max({worst, (vector(same->position) - contact.position.eigen()).norm(),
                      (vector(same->normal) - contact.normal().eigen()).norm(),
                      std::abs(same->gap + contact.margin - contact.distance)});
  }
  return worst;
}

double WorldFixture::free_velocity_difference() const {
  const VectorX& expected = simulator_->context().data.v_free;
  return (mapped(scratch_.v_free, shared_->nv) - expected).lpNorm<Eigen::Infinity>() /
         std::max(1.0, expected.lpNorm<Eigen::Infinity>());
}

double WorldFixture::velocity_difference() const {
  return (mapped(scratch_.v_next, shared_->nv) - simulator_->context().v_next).lpNorm<Eigen::Infinity>();
}

void randomize_controls(Simulator& simulator, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (int u = 0; u < simulator.model().nu; ++u) {
    const Actuator& actuator = simulator.model().actuators[at(u)];
    const Vector2 range = actuator.control_limited ? actuator.control_range : Vector2(-1.0, 1.0);
    simulator.input().control[u] = 0.5 * (range[0] + range[1]) + 0.5 * (range[1] - range[0]) * uniform(random);
  }
}

}  // namespace touchstone::test
