#include "touchstone/sim/events/mode_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/constraints/contact.hpp"

namespace touchstone {
namespace {

constexpr double kFast = 1e3;     // slip in the problem, over the largest acceleration
constexpr double kFits = 1e-8;    // of forces and accelerations, relative
constexpr double kWeak = 1e-2;    // of the largest force
constexpr double kOnCone = 1e-7;  // relative distance to the surface of the cone

bool is_unilateral(BlockType type) { return type == BlockType::kCoulomb || type == BlockType::kNonNegative; }

// |lambda_t / mu| of a contact.
double cone_norm(const Blocks& blocks, int block, const double* lambda) {
  double squared = 0.0;
  const int first = blocks.row[at(block)];
  for (int j = 0; j + 1 < blocks.size(block); ++j) {
    const double mu = blocks.mu[at(first + j)];
    if (lambda[j] != 0.0) squared += mu > 0.0 ? std::pow(lambda[j] / mu, 2) : 0.0;
  }
  return std::sqrt(squared);
}

}  // namespace

double slip_speed(const Survey& survey, int block) {
  double squared = 0.0;
  const int last =
      survey.c.blocks.type[at(block)] == BlockType::kCoulomb ? survey.normal(block) : survey.normal(block) + 1;
  for (int row = survey.first(block); row < last; ++row)
    squared += std::pow(survey.slip(row) * survey.c.row_length[at(row)], 2);
  return std::sqrt(squared);
}

bool ModeChoice::any_slides_fast() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& m) { return m.mode == Mode::kSlide && m.type == BlockType::kCoulomb; });
}

// The bias of all rows: dJ/dt v, and what keeps sliding contacts sliding and leaving ones open.
void ModeChoice::begin(StepContext& s, Survey& survey) {
  Constraints& c = survey.c;
  const int rows = c.rows();
  if (row_acceleration_.size() < rows) row_acceleration_.resize(2 * rows);
  constraint_velocity(s.model, c, survey.a_free, row_acceleration_);
  row_acceleration_.head(rows) += survey.drift.head(rows);
  acceleration_ = std::max(1.0, rows > 0 ? row_acceleration_.head(rows).cwiseAbs().maxCoeff() : 0.0);
  c.bias.head(rows) = survey.drift.head(rows);
  c.recovery.head(rows).setZero();
  may_close_.assign(at(c.count()), 1);
  for (int block = 0; block < c.count(); ++block) {
    const BlockType type = c.blocks.type[at(block)];
    const int normal = survey.normal(block);
    if (is_unilateral(type)) {
      const bool rests = c.position[at(normal)] <= kTouching && c.velocity[normal] <= survey.resting_speed;
      may_close_[at(block)] = rests ? 1 : 0;
      if (!rests) c.bias[normal] += kFast * acceleration_;
    }
    const double speed = type == BlockType::kEquality ? 0.0 : slip_speed(survey, block);
    if (!(speed > survey.resting_speed) || type == BlockType::kNonNegative) continue;
    const int last = type == BlockType::kCoulomb ? normal : normal + 1;
    for (int row = survey.first(block); row < last; ++row)
      c.bias[row] += kFast * acceleration_ * survey.slip(row) / speed;
  }
}

void ModeChoice::read_contact(const Survey& survey, const VectorX& lambda, int block, Member& member) {
  const Contact& contact = survey.contacts[at(survey.c.list[at(block)].index)];
  const int first = survey.first(block), normal = survey.normal(block);
  const double* force = lambda.data() + first;
  const ContactImpulse world = to_world(contact, force);
  member.force = world.force;
  member.torque = world.torque;
  member.target = survey.c.position[at(normal)] < -kTouching ? survey.c.position[at(normal)] : 0.0;
  const bool pushes = lambda[normal] > kFits * force_;
  if (may_close_[at(block)] == 0 || (!pushes && row_acceleration_[normal] > kFits * acceleration_)) return;
  member.mode = Mode::kHeld;
  if (first == normal) return;
  const double speed = slip_speed(survey, block);
  double slip[6] = {};
  if (speed > survey.resting_speed) {
    for (int row = first; row < normal; ++row) slip[row - first] = survey.slip(row) / speed;
  } else {
    double largest = 0.0;
    for (int row = first; row < normal; ++row) {
      slip[row - first] = row_acceleration_[row];
      largest = std::max(largest, std::abs(row_acceleration_[row]) * survey.c.row_length[at(row)]);
    }
    const bool holds = cone_norm(survey.c.blocks, block, force) < (1.0 - kOnCone) * lambda[normal];
    if (holds || !(largest > kFits * acceleration_)) return;
    member.is_slow = true;
  }
  member.mode = Mode::kSlide;
  set_slip(contact, slip, member);
}

// The mode that a solution of the problem means.
void ModeChoice::read(const Survey& survey, const VectorX& lambda, int block) {
  const Constraints& c = survey.c;
  Member& member = members_[at(block)];
  member = Member();
  member.constraint = c.list[at(block)];
  member.type = c.blocks.type[at(block)];
  const int first = survey.first(block);
  if (member.type == BlockType::kCoulomb) return read_contact(survey, lambda, block, member);
  double rows[6] = {};
  std::copy_n(lambda.data() + first, c.blocks.size(block), rows);
  member.force = Vec3(rows[0], rows[1], rows[2]);
  member.torque = Vec3(rows[3], rows[4], rows[5]);
  member.mode = Mode::kHeld;
  if (member.type == BlockType::kNonNegative) {
    member.target = c.position[at(first)] < -kTouching ? c.position[at(first)] : 0.0;
    const bool pushes = lambda[first] > kFits * force_;
    if (may_close_[at(block)] == 0 || (!pushes && row_acceleration_[first] > kFits * acceleration_))
      member.mode = Mode::kOpen;
  } else if (member.type == BlockType::kBox) {
    const bool is_fast = slip_speed(survey, block) > survey.resting_speed;
    const bool is_bound = lambda[first] <= c.blocks.lo[at(first)] || lambda[first] >= c.blocks.hi[at(first)];
    if (!is_fast && !is_bound) return;
    member.mode = Mode::kSlide;
    member.is_slow = !is_fast;
    member.linear = Vec3(is_fast ? survey.slip(first) : -lambda[first], 0, 0);
  }
}

// A contact or limit that is open, or pulls.
double ModeChoice::misfit_of_normal(const Survey& survey, const ModeForces& forces, int block, Member& changed) const {
  const Member& member = members_[at(block)];
  const int first = survey.first(block), normal = survey.normal(block);
  if (member.mode != Mode::kOpen) {
    changed.mode = Mode::kOpen;
    return -forces.forces()[normal] / force_;
  }
  if (may_close_[at(block)] == 0) return 0.0;
  changed.mode = Mode::kHeld;
  if (member.type == BlockType::kCoulomb && first < normal && slip_speed(survey, block) > survey.resting_speed) {
    double slip[6] = {};
    for (int row = first; row < normal; ++row) slip[row - first] = survey.slip(row);
    changed.mode = Mode::kSlide;
    set_slip(survey.contacts[at(member.constraint.index)], slip, changed);
  }
  return -forces.row_acceleration(survey, normal) / acceleration_;
}

// A contact that sticks with too much friction, or begins to slip against its own acceleration.
double ModeChoice::misfit_of_slip(const Survey& survey, const ModeForces& forces, int block, Member& changed) const {
  const Member& member = members_[at(block)];
  const Contact& contact = survey.contacts[at(member.constraint.index)];
  const int first = survey.first(block), normal = survey.normal(block);
  const VectorX& lambda = forces.forces();
  double rows[6] = {};
  if (member.mode == Mode::kHeld) {
    for (int row = first; row < normal; ++row) rows[row - first] = -lambda[row];
    changed.mode = Mode::kSlide;
    changed.is_slow = true;
    set_slip(contact, rows, changed);
    return (cone_norm(survey.c.blocks, block, lambda.data() + first) - lambda[normal]) / force_;
  }
  if (!member.is_slow) return 0.0;
  slip_rows(contact, member, rows);
  double along = 0.0, norm = 0.0;
  for (int row = first; row < normal; ++row) {
    along += rows[row - first] * forces.row_acceleration(survey, row);
    norm += rows[row - first] * rows[row - first];
  }
  changed.mode = Mode::kHeld;
  changed.is_slow = false;
  return -along / (std::sqrt(norm) * acceleration_);
}

// Dry friction of joints.
double ModeChoice::misfit_of_box(const Survey& survey, const ModeForces& forces, int block, Member& changed) const {
  const Member& member = members_[at(block)];
  const Blocks& b = survey.c.blocks;
  const int row = survey.first(block);
  const double lambda = forces.forces()[row];
  if (member.mode == Mode::kHeld) {
    changed.mode = Mode::kSlide;
    changed.is_slow = true;
    changed.linear = Vec3(-lambda, 0, 0);
    return std::max(b.lo[at(row)] - lambda, lambda - b.hi[at(row)]) / force_;
  }
  if (!member.is_slow) return 0.0;
  changed.mode = Mode::kHeld;
  changed.is_slow = false;
  return -std::copysign(1.0, member.linear.x()) * forces.row_acceleration(survey, row) / acceleration_;
}

// How far a mode is from fitting, and what it should be; not above kFits: it fits.
double ModeChoice::misfit(const Survey& survey, const ModeForces& forces, int block, Member& changed) const {
  const Member& member = members_[at(block)];
  changed = member;
  if (member.type == BlockType::kBox) return misfit_of_box(survey, forces, block, changed);
  if (!is_unilateral(member.type)) return 0.0;
  const double normal = misfit_of_normal(survey, forces, block, changed);
  const bool has_friction = member.type == BlockType::kCoulomb && survey.first(block) < survey.normal(block);
  if (normal > kFits || member.mode == Mode::kOpen || !has_friction) return normal;
  changed = member;
  return misfit_of_slip(survey, forces, block, changed);
}

bool ModeChoice::repair(const Survey& survey, const ModeForces& forces) {
  double worst = kFits;
  int at_block = -1;
  Member changed, best;
  for (int block = 0; block < survey.c.count(); ++block) {
    const double value = misfit(survey, forces, block, changed);
    if (!(value > worst)) continue;
    worst = value;
    at_block = block;
    best = changed;
  }
  if (at_block < 0) return false;
  members_[at(at_block)] = best;
  return true;
}

double ModeChoice::weakest(const Survey& survey, const ModeForces& forces) const {
  double least = std::numeric_limits<double>::infinity();
  for (int block = 0; block < survey.c.count(); ++block) {
    const Member& member = members_[at(block)];
    if (member.type != BlockType::kCoulomb || member.mode == Mode::kOpen) continue;
    const int first = survey.first(block), normal = survey.normal(block);
    const double* force = forces.forces().data() + first;
    const double friction = member.mode == Mode::kHeld ? cone_norm(survey.c.blocks, block, force) : 0.0;
    least = std::min(least, forces.forces()[normal] - friction);
  }
  return least;
}

// Several contacts of one face share what they bear in many ways. Of these the even one is kept, so that none is nearly
// without force and opens at once, only to close again, if it moves nothing in another way.
bool ModeChoice::spread(const Model& model, const Survey& survey, ModeForces& forces) {
  const double before = weakest(survey, forces);
  if (!(before < kWeak * force_)) return true;
  before_ = members_;
  a_before_ = forces.acceleration();
  for (Member& member : members_) {
    if (member.type == BlockType::kCoulomb) member.force = member.torque = Vec3();
  }
  bool is_better = forces.solve(model, survey, members_, blocks_) && weakest(survey, forces) > before &&
                   (forces.acceleration() - a_before_).cwiseAbs().maxCoeff() <= kFits * acceleration_;
  Member changed;
  for (int block = 0; block < survey.c.count() && is_better; ++block)
    is_better = misfit(survey, forces, block, changed) <= kFits;
  if (!is_better) {
    members_ = before_;
    return forces.solve(model, survey, members_, blocks_);
  }
  for (int block = 0; block < survey.c.count(); ++block) {
    Member& member = members_[at(block)];
    if (member.type != BlockType::kCoulomb) continue;
    const ContactImpulse world =
        to_world(survey.contacts[at(member.constraint.index)], forces.forces().data() + survey.first(block));
    member.force = world.force;
    member.torque = world.torque;
  }
  return true;
}

bool ModeChoice::choose(StepContext& s, Survey& survey, EventSolver& solver, ModeForces& forces) {
  const Constraints& c = survey.c;
  const int count = c.count();
  members_.resize(at(count));
  blocks_.resize(at(count));
  for (int block = 0; block < count; ++block) blocks_[at(block)] = block;
  if (count == 0) return forces.solve(s.model, survey, members_, blocks_);
  begin(s, survey);
  if (!solver.solve(s, survey, survey.a_free)) return false;
  const VectorX& lambda = solver.impulses();
  force_ = std::max(1e-12, lambda.head(c.rows()).cwiseAbs().maxCoeff());
  forces.set_acceleration(survey.a_free + solver.change());
  for (int row = 0; row < c.rows(); ++row) row_acceleration_[row] = forces.row_acceleration(survey, row);
  for (int block = 0; block < count; ++block) read(survey, lambda, block);
  const int rounds = 3 * count + 20;
  for (int i = 0; i < rounds; ++i) {
    if (!forces.solve(s.model, survey, members_, blocks_)) return false;
    if (repair(survey, forces)) continue;
    before_ = members_;
    if (!directions_.choose_steady(s.model, survey, members_, blocks_, acceleration_, blur_of(s.options), forces)) {
      // As they were: motion finds its way from there, in short steps.
      members_ = before_;
      if (!forces.solve(s.model, survey, members_, blocks_)) return false;
    } else if (directions_.any_turned() && repair(survey, forces)) {
      continue;
    }
    return spread(s.model, survey, forces);
  }
  return false;
}

}  // namespace touchstone
