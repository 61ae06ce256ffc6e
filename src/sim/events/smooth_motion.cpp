#include "touchstone/sim/events/smooth_motion.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/model/configuration.hpp"

namespace touchstone {
namespace {

constexpr double kForceNoise = 1e-6;  // of the largest force
constexpr double kSpeedNoise = 1e-9;  // m/s
constexpr double kGapNoise = 1e-11;   // m
constexpr double kNoGuard = 1e300;
constexpr int kWorks = 4;

// theta' of R = R_0 exp(theta) with the angular velocity w in the body: the inverse of the right Jacobian of SO(3).
Vector3 rate_of_turn(const Vector3& theta, const Vector3& w) {
  const double angle_2 = theta.squaredNorm();
  const Vector3 once = theta.cross(w);
  const double angle = std::sqrt(angle_2);
  const double factor = angle < 1e-2 ? 1.0 / 12.0 + angle_2 / 720.0 + angle_2 * angle_2 / 30240.0
                                     : (1.0 - 0.5 * angle / std::tan(0.5 * angle)) / angle_2;
  return w + 0.5 * once + factor * theta.cross(once);
}

// Of all joints.
void rate_of_way(const Model& model, const ConstVectorRef& theta, const ConstVectorRef& v, VectorRef rate) {
  rate = v;
  for (int j = 0; j < model.njoint; ++j) {
    const JointType type = model.joints[at(j)].type;
    if (type != JointType::kFree && type != JointType::kBall) continue;
    const int dof = model.joint_dof[at(j)] + (type == JointType::kFree ? 3 : 0);
    rate.segment<3>(dof) = rate_of_turn(theta.segment<3>(dof), v.segment<3>(dof));
  }
}

double length(const Vec3& x) { return std::sqrt(dot(x, x)); }

std::uint64_t owner_of(const Contact& contact) { return key_of(contact).owner; }

// Of a limit: a number that no pair of shapes has.
std::uint64_t owner_of(const Constraint& limit) {
  const WarmStartKey key = key_of_element(limit);
  return key.owner ^ (key.feature << 20);
}

double gap_of(const Contact& contact) { return contact.distance - contact.margin; }

double dot_rows(const double* a, const double* b, int count) {
  double sum = 0.0;
  for (int i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

SmoothMotion::SmoothMotion(StepContext& s)
    : s_(s),
      regime_(s),
      survey_(s),
      other_(s),
      forces_(s.model),
      knots_(s.model),
      base_(s.state),
      at_(s.state),
      y_(VectorX::Zero(2 * s.model.nv + kWorks)),
      change_(VectorX::Zero(s.model.nv)) {}

void SmoothMotion::set_modes(const Survey& touching, const std::vector<Member>& members) {
  members_.clear();
  regime_.contacts.clear();
  ignored_.clear();
  force_ = 1e-12;
  std::vector<int>& block_of = rows_;
  block_of.assign(touching.contacts.size(), -1);
  for (const Member& member : members) {
    if (member.constraint.kind == ConstraintKind::kContact) block_of[at(member.constraint.index)] = 0;
    if (member.mode == Mode::kOpen) continue;
    members_.push_back(member);
    force_ = std::max({force_, length(member.force), length(member.torque)});
    if (member.constraint.kind != ConstraintKind::kContact) continue;
    regime_.contacts.push_back(touching.contacts[at(member.constraint.index)]);
    members_.back().constraint.index = static_cast<int>(regime_.contacts.size()) - 1;
  }
  for (std::size_t i = 0; i < block_of.size(); ++i) {
    if (block_of[i] < 0) ignored_.push_back(owner_of(touching.contacts[i]));
  }
  now_ = members_;
}

void SmoothMotion::begin(const State& state, double reach) {
  base_ = state;
  at_ = state;
  reach_ = reach;
  y_.setZero();
  y_.segment(s_.model.nv, s_.model.nv) = state.v;
}

void SmoothMotion::read(const VectorX& y, State& state) const {
  const int nv = s_.model.nv;
  integrate(s_.model, base_.q, y.head(nv), 1.0, state.q);
  state.v = y.segment(nv, nv);
}

SmoothMotion::Work SmoothMotion::work(const VectorX& y) const {
  const auto w = y.tail<kWorks>();
  return {w[0], w[1], w[2], w[3]};
}

bool SmoothMotion::rate(const VectorX& y, VectorX& dy) {
  const int nv = s_.model.nv;
  read(y, at_);
  if (!evaluate()) return false;
  dy.resize(y.size());
  rate_of_way(s_.model, y.head(nv), at_.v, dy.head(nv));
  dy.segment(nv, nv) = forces_.acceleration();
  const Data& data = survey_.data;
  double dampers = 0.0;
  if (s_.model.options.dampers_enabled) {
    dampers = -s_.parameters.dof_damping.dot(at_.v.cwiseAbs2());
    if (data.tendon_velocity.size() > 0) dampers -= s_.parameters.tendon_damping.dot(data.tendon_velocity.cwiseAbs2());
  }
  const double actuators = data.actuation.dot(at_.v);
  const double applied = (data.smooth_force + data.bias - data.passive - data.actuation).dot(at_.v);
  dy.tail<kWorks>() << forces_.power(survey_), actuators, dampers, applied;
  return true;
}

bool SmoothMotion::evaluate() {
  if (!survey_.look(s_, at_, reach_)) return false;
  survey_.take_same(s_, regime_);
  survey_.find_drift(s_, other_);
  match();
  update_slips(true);
  return forces_.solve(s_.model, survey_, now_, blocks_) && turn_steady_slips();
}

bool SmoothMotion::make_step(double h, VectorX& end, int& iterations) {
  const bool is_made = knots_.make(*this, h, end);
  iterations = knots_.iterations();
  return is_made;
}

// The blocks of the members in the survey.
void SmoothMotion::match() {
  blocks_.resize(members_.size());
  has_member_.assign(at(survey_.c.count()), 0);
  int hint = 0;
  for (std::size_t k = 0; k < members_.size(); ++k) {
    blocks_[k] = survey_.c.count() > 0 ? survey_.find_block(members_[k].constraint, hint) : -1;
    if (blocks_[k] < 0) continue;
    hint = (blocks_[k] + 1) % survey_.c.count();
    has_member_[at(blocks_[k])] = 1;
  }
}

// The direction of a slip is that of its velocity, until that has turned back; that of a steady one is sought from
// where it was (turn_steady_slips).
void SmoothMotion::update_slips(bool is_start) {
  now_ = members_;
  for (std::size_t k = 0; k < members_.size(); ++k) {
    Member& member = now_[k];
    if (member.mode != Mode::kSlide || member.type != BlockType::kCoulomb || blocks_[k] < 0) continue;
    const Contact& contact = survey_.contacts[at(member.constraint.index)];
    const int first = survey_.first(blocks_[k]), count = survey_.normal(blocks_[k]) - first;
    double slip[6] = {}, old[6] = {};
    slip_rows(contact, member, old);
    for (int j = 0; j < count; ++j) slip[j] = survey_.slip(first + j);
    const double speed = std::sqrt(dot_rows(slip, slip, count));
    if (speed <= kSpeedNoise || (is_start && member.is_steady) || dot_rows(slip, old, count) <= 0.0) continue;
    for (int j = 0; j < count; ++j) slip[j] /= speed;
    set_slip(contact, slip, member);
  }
}

double SmoothMotion::acceleration_scale() const {
  return std::max(1.0, s_.model.nv > 0 ? forces_.acceleration().cwiseAbs().maxCoeff() : 0.0);
}

// Slow slips in balance are stiff.
bool SmoothMotion::turn_steady_slips() {
  const double scale = acceleration_scale();
  if (directions_.settle(s_.model, survey_, now_, blocks_, scale, blur_of(s_.options), forces_)) return true;
  update_slips(false);
  return forces_.solve(s_.model, survey_, now_, blocks_);
}

// Two values of a member: its normal force, and what keeps it sticking or sliding.
void SmoothMotion::member_guards(std::size_t k, double* out) const {
  const Member& member = members_[k];
  const int block = blocks_[k];
  out[0] = out[1] = kNoGuard;
  const bool is_contact = member.constraint.kind == ConstraintKind::kContact;
  if (block < 0 || (is_contact && survey_.is_lost(at(member.constraint.index)))) {
    out[0] = member.type == BlockType::kEquality ? kNoGuard : -1.0;
    return;
  }
  const Blocks& b = survey_.c.blocks;
  const VectorX& lambda = forces_.forces();
  const int first = survey_.first(block), normal = survey_.normal(block), count = normal - first;
  if (member.type == BlockType::kBox) {
    out[1] = member.mode == Mode::kSlide
                 ? std::copysign(1.0, member.linear.x()) * survey_.slip(first)
                 : std::min(lambda[first] - b.lo[at(first)], b.hi[at(first)] - lambda[first]) / force_;
    return;
  }
  if (member.type == BlockType::kEquality) return;
  out[0] = lambda[normal] / force_;
  if (count == 0) return;
  if (member.mode == Mode::kHeld) {
    double squared = 0.0;
    for (int j = 0; j < count; ++j) {
      const double mu = b.mu[at(first + j)];
      if (mu > 0.0) squared += std::pow(lambda[first + j] / mu, 2);
    }
    out[1] = (lambda[normal] - std::sqrt(squared)) / force_;
    return;
  }
  double slip[6] = {}, old[6] = {};
  slip_rows(survey_.contacts[at(member.constraint.index)], member, old);
  for (int j = 0; j < count; ++j) slip[j] = survey_.slip(first + j);
  out[1] = dot_rows(slip, old, count);
}

bool SmoothMotion::is_closed(const Contact& contact) const {
  const WarmStartKey key = key_of(contact);
  return std::any_of(survey_.contacts.begin(), survey_.contacts.end(),
                     [&](const Contact& closed) { return key_of(closed) == key; });
}

bool SmoothMotion::is_ignored(const Contact& contact) const {
  return std::find(ignored_.begin(), ignored_.end(), owner_of(contact)) != ignored_.end();
}

bool SmoothMotion::is_open_limit(int block) const {
  return survey_.c.blocks.type[at(block)] == BlockType::kNonNegative && has_member_[at(block)] == 0;
}

void SmoothMotion::arm(double patience) {
  force_noise_ = patience * kForceNoise;
  armed_.assign(2 * members_.size(), 0);
  for (std::size_t k = 0; k < members_.size(); ++k) {
    double values[2];
    member_guards(k, values);
    armed_[2 * k] = values[0] > force_noise_ ? 1 : 0;
    const bool is_speed = members_[k].mode == Mode::kSlide;
    armed_[2 * k + 1] = values[1] > (is_speed ? kSpeedNoise : force_noise_) ? 1 : 0;
  }
  floors_.clear();
  for (const Contact& contact : survey_.seen) {
    const std::uint64_t owner = owner_of(contact);
    if (floors_.empty() || floors_.back().owner != owner) floors_.push_back({owner, gap_of(contact)});
    floors_.back().floor = std::min(floors_.back().floor, gap_of(contact));
  }
  for (int block = 0; block < survey_.c.count(); ++block) {
    if (!is_open_limit(block)) continue;
    floors_.push_back({owner_of(survey_.c.list[at(block)]), survey_.c.position[at(survey_.first(block))]});
  }
}

namespace {

double threshold(double floor) { return floor > kGapNoise ? 0.0 : std::min(floor, 0.0) - kGapNoise; }

// Where what has this threshold is closed: at zero, or as deep as it was.
double closed_at(double threshold) { return threshold < 0.0 ? threshold + kGapNoise : 0.0; }

// What leaves its surface may be below it for a moment between the ends of a rule of low order, whose interpolant has
// positions and velocities with errors of their own. That is no event.
bool is_leaving(double gap, double speed) { return gap < 0.0 && speed > 0.0; }

}  // namespace

SmoothMotion::Guard SmoothMotion::guard() const {
  Guard least{.value = kNoGuard};
  for (std::size_t k = 0; k < members_.size(); ++k) {
    double values[2];
    member_guards(k, values);
    for (const int which : {0, 1}) {
      const bool is_speed = which == 1 && members_[k].mode == Mode::kSlide;
      const double noise = armed_[2 * k + at(which)] != 0 ? 0.0 : is_speed ? kSpeedNoise : force_noise_;
      if (!(values[which] + noise < least.value)) continue;
      least = {.value = values[which] + noise,
               .kind = is_speed ? Kind::kSlip : Kind::kForce,
               .index = static_cast<int>(k),
               .which = which,
               .floor = -noise};
    }
  }
  const auto floor_of = [&](std::uint64_t owner) {
    for (const PairFloor& f : floors_) {
      if (f.owner == owner) return threshold(f.floor);
    }
    return 0.0;
  };
  for (const Contact& contact : survey_.seen) {
    const double gap = gap_of(contact);
    if (gap >= least.value || is_closed(contact) || is_ignored(contact)) continue;
    const double floor = floor_of(owner_of(contact));
    if (!(gap - floor < least.value)) continue;
    const double speed = normal_speed(contact);
    if (is_leaving(gap - floor, speed)) continue;
    least = {.value = gap - floor,
             .kind = Kind::kContact,
             .key = key_of(contact),
             .floor = closed_at(floor),
             .speed = speed};
  }
  for (int block = 0; block < survey_.c.count(); ++block) {
    if (!is_open_limit(block)) continue;
    const int row = survey_.first(block);
    const double floor = floor_of(owner_of(survey_.c.list[at(block)]));
    const double gap = survey_.c.position[at(row)];
    if (!(gap - floor < least.value) || is_leaving(gap - floor, survey_.c.velocity[row])) continue;
    least = {.value = gap - floor,
             .kind = Kind::kLimit,
             .key = key_of_element(survey_.c.list[at(block)]),
             .floor = closed_at(floor),
             .speed = survey_.c.velocity[row]};
  }
  return least;
}

double SmoothMotion::normal_speed(const Contact& contact) const {
  return dot(contact.normal(), velocity_at(s_.model, survey_.data, contact.body_b, contact.position) -
                                   velocity_at(s_.model, survey_.data, contact.body_a, contact.position));
}

const Contact* SmoothMotion::seen_contact(const Guard& guard) const {
  const auto found = std::find_if(survey_.seen.begin(), survey_.seen.end(),
                                  [&](const Contact& contact) { return key_of(contact) == guard.key; });
  return found != survey_.seen.end() ? &*found : nullptr;
}

int SmoothMotion::limit_block(const Guard& guard) const {
  for (int block = 0; block < survey_.c.count(); ++block) {
    if (is_open_limit(block) && key_of_element(survey_.c.list[at(block)]) == guard.key) return block;
  }
  return -1;
}

std::optional<double> SmoothMotion::distance(const Guard& guard) const {
  if (guard.kind == Kind::kContact) {
    const Contact* contact = seen_contact(guard);
    if (contact == nullptr) return std::nullopt;
    return guard.is_turn ? normal_speed(*contact) : gap_of(*contact) - guard.floor;
  }
  if (guard.kind == Kind::kLimit) {
    const int block = limit_block(guard);
    if (block < 0) return std::nullopt;
    const int row = survey_.first(block);
    return guard.is_turn ? survey_.c.velocity[row] : survey_.c.position[at(row)] - guard.floor;
  }
  if (guard.index < 0) return std::nullopt;  // forces were not to be had there
  double values[2];
  member_guards(at(guard.index), values);
  return values[guard.which] - guard.floor;
}

bool SmoothMotion::any_near() const {
  return std::any_of(survey_.seen.begin(), survey_.seen.end(),
                     [&](const Contact& contact) { return !is_closed(contact) && !is_ignored(contact); });
}

int SmoothMotion::stopping_member(double speed) const {
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const bool slides = members_[k].mode == Mode::kSlide && members_[k].type == BlockType::kCoulomb && blocks_[k] >= 0;
    if (!slides || slip_speed(survey_, blocks_[k]) > speed) continue;
    double along = 0.0;
    for (int row = survey_.first(blocks_[k]); row < survey_.normal(blocks_[k]); ++row)
      along += survey_.slip(row) * forces_.row_acceleration(survey_, row);
    if (along < 0.0) return static_cast<int>(k);
  }
  return -1;
}

double SmoothMotion::turning_time() const {
  constexpr double kStraight = 1e-9;  // of the acceleration: what is across it is rounding
  double least = kNoGuard;
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const bool slides = now_[k].mode == Mode::kSlide && now_[k].type == BlockType::kCoulomb && blocks_[k] >= 0;
    if (!slides || now_[k].is_steady) continue;
    const int first = survey_.first(blocks_[k]), count = survey_.normal(blocks_[k]) - first;
    double slip[6] = {}, a[6] = {};
    for (int j = 0; j < count; ++j) {
      slip[j] = survey_.slip(first + j);
      a[j] = forces_.row_acceleration(survey_, first + j);
    }
    const double speed = std::sqrt(dot_rows(slip, slip, count)), size = std::sqrt(dot_rows(a, a, count));
    if (!(speed > kSpeedNoise)) continue;
    const double along = dot_rows(a, slip, count) / speed;
    const double across = std::sqrt(std::max(0.0, size * size - along * along));
    if (across > kStraight * size) least = std::min(least, speed / across);
  }
  return least;
}

void SmoothMotion::keep_depths() {
  for (std::size_t k = 0; k < members_.size(); ++k) {
    if (members_[k].target < 0.0 && blocks_[k] >= 0)
      members_[k].target = survey_.c.position[at(survey_.normal(blocks_[k]))];
  }
}

bool SmoothMotion::take_drift(bool positions, State& state) {
  rows_.clear();
  residual_.clear();
  double largest = 0.0;
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const Member& member = members_[k];
    const int block = blocks_[k];
    if (block < 0 || (member.type == BlockType::kBox && (positions || member.mode == Mode::kSlide))) continue;
    const int normal = survey_.normal(block);
    const bool all = member.type == BlockType::kEquality || (!positions && member.mode == Mode::kHeld);
    for (int row = all ? survey_.first(block) : normal; row <= normal; ++row) {
      rows_.push_back(row);
      residual_.push_back(positions ? survey_.c.position[at(row)] - member.target : survey_.slip(row));
      largest = std::max(largest, std::abs(residual_.back()));
    }
  }
  if (!(largest > (positions ? 1e-14 : 1e-15))) return false;
  change_ = forces_.least_change(s_.model, survey_, rows_, residual_);
  if (positions) {
    integrate(s_.model, state.q, change_, 1.0, state.q);
  } else {
    state.v += change_;
  }
  return true;
}

// Newton's method for positions, then velocities of the rows that are there: with those of where the positions were
// before, what is closed would be left with a speed of the size of the drift times that of the rows, leave its surface
// with it and fall back in microseconds.
bool SmoothMotion::correct(State& state) {
  constexpr int kMostRounds = 2;  // drift of 1e-5 m leaves 1e-9 m, then rounding
  bool is_elsewhere = false;
  for (int i = 0; i < kMostRounds && take_drift(true, state); ++i) {
    at_ = state;
    if (!survey_.look(s_, at_, reach_)) return false;
    survey_.take_same(s_, regime_);
    match();
    is_elsewhere = true;
  }
  is_elsewhere = take_drift(false, state) || is_elsewhere;
  at_ = state;
  return !is_elsewhere || evaluate();
}

void SmoothMotion::keep_directions() {
  if (!directions_.choose_steady(s_.model, survey_, now_, blocks_, acceleration_scale(), blur_of(s_.options), forces_))
    now_ = members_;
  for (std::size_t k = 0; k < members_.size(); ++k) {
    if (members_[k].mode == Mode::kSlide && members_[k].type == BlockType::kCoulomb) {
      members_[k].is_steady = now_[k].is_steady;
      members_[k].linear = now_[k].linear;
      members_[k].angular = now_[k].angular;
    }
  }
  for (std::size_t i = 0; i < regime_.contacts.size(); ++i) regime_.contacts[i] = survey_.contacts[i];
}

}  // namespace touchstone
