#include "touchstone/sim/events/slip_directions.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/events/mode_choice.hpp"

namespace touchstone {
namespace {

constexpr double kSettled = 1e-9;     // rad
constexpr double kGoodEnough = 1e-6;  // rad: what motion itself mends as soon as there is a slip
constexpr double kRounding = 1e-12;   // of usual accelerations
constexpr double kNoise = 1e-9;       // m/s
constexpr double kFarthest = 1e-2;    // s
constexpr int kMostIterations = 12;
constexpr int kMostUnknowns = 60;

// Vectors across d by Gram and Schmidt from the axes.
void span_across(const double* d, int count, double basis[4][5]) {
  int found = 0;
  for (int axis = 0; axis < count && found + 1 < count; ++axis) {
    double e[5] = {};
    e[axis] = 1.0;
    const auto take_away = [&](const double* u) {
      double along = 0.0;
      for (int j = 0; j < count; ++j) along += e[j] * u[j];
      for (int j = 0; j < count; ++j) e[j] -= along * u[j];
    };
    for (int pass = 0; pass < 2; ++pass) {
      take_away(d);
      for (int k = 0; k < found; ++k) take_away(basis[k]);
    }
    double norm = 0.0;
    for (int j = 0; j < count; ++j) norm += e[j] * e[j];
    norm = std::sqrt(norm);
    // Of `count` axes at most one has less than this outside of the span of the others.
    if (!(norm > 0.5 / count)) continue;
    for (int j = 0; j < count; ++j) basis[found][j] = e[j] / norm;
    ++found;
  }
}

}  // namespace

double blur_of(const SimulatorOptions& options) {
  return 100.0 * (options.accuracy > 0.0 ? options.accuracy : options.events.tolerance);
}

// How far ahead the velocity of a slip is sought. False: as it is now.
bool SlipDirections::look_ahead(const Survey& survey, double blur, const ModeForces& forces, Slip& slip) const {
  double speed = 0.0, along = 0.0;
  for (int j = 0; j < slip.count; ++j) {
    slip.velocity[j] = survey.slip(slip.first + j);
    speed += slip.velocity[j] * slip.velocity[j];
    along += slip.velocity[j] * forces.row_acceleration(survey, slip.first + j);
  }
  speed = std::sqrt(speed);
  if (!(speed < kFast)) return false;
  slip.ahead = std::min(kFarthest, blur / std::max(speed, 1e-12)) * (1.0 - speed / kFast);
  // What slows down is not turned round.
  if (along < 0.0 && speed > kNoise) slip.ahead = std::min(slip.ahead, 0.25 * speed * speed / -along);
  return slip.ahead > 0.0;
}

void SlipDirections::list(const Survey& survey, std::span<const Member> members, std::span<const int> blocks,
                          double blur, const ModeForces& forces) {
  slips_.clear();
  unknowns_ = 0;
  for (std::size_t k = 0; k < members.size(); ++k) {
    const Member& member = members[k];
    if (blocks[k] < 0 || !member.is_steady || member.mode != Mode::kSlide) continue;
    Slip slip;
    slip.member = static_cast<int>(k);
    slip.first = survey.first(blocks[k]);
    slip.count = survey.normal(blocks[k]) - slip.first;
    slip.unknown = unknowns_;
    if (slip.count < 2 || !look_ahead(survey, blur, forces, slip)) continue;
    unknowns_ += slip.count - 1;
    slips_.push_back(slip);
  }
  read_directions(survey, members);
}

void SlipDirections::read_directions(const Survey& survey, std::span<const Member> members) {
  for (Slip& slip : slips_) {
    const Member& member = members[at(slip.member)];
    double rows[6] = {}, norm = 0.0;
    slip_rows(survey.contacts[at(member.constraint.index)], member, rows);
    for (int j = 0; j < slip.count; ++j) norm += rows[j] * rows[j];
    norm = std::sqrt(norm);
    for (int j = 0; j < slip.count; ++j) slip.direction[j] = norm > 0.0 ? rows[j] / norm : j == 0 ? 1.0 : 0.0;
    span_across(slip.direction, slip.count, slip.basis);
  }
}

SlipDirections::Misfit SlipDirections::find_residual(const Survey& survey, double scale, const ModeForces& forces,
                                                     std::vector<double>& out) {
  Misfit worst;
  out.assign(at(unknowns_), 0.0);
  for (Slip& slip : slips_) {
    double w[5] = {}, norm = 0.0, speed = 0.0;
    slip.along = 0.0;
    for (int j = 0; j < slip.count; ++j) {
      w[j] = slip.velocity[j] + slip.ahead * forces.row_acceleration(survey, slip.first + j);
      norm += w[j] * w[j];
      speed += slip.velocity[j] * slip.velocity[j];
      slip.along += w[j] * slip.direction[j];
    }
    const double usual = std::sqrt(speed) + slip.ahead * scale;
    slip.along /= usual;
    for (int k = 0; k + 1 < slip.count; ++k) {
      double across = 0.0;
      for (int j = 0; j < slip.count; ++j) across += w[j] * slip.basis[k][j];
      out[at(slip.unknown + k)] = across / usual;
      worst.size = std::max(worst.size, std::abs(across) / usual);
      if (std::abs(across) > kRounding * usual) worst.angle = std::max(worst.angle, std::abs(across) / std::sqrt(norm));
    }
  }
  return worst;
}

void SlipDirections::turn(const Survey& survey, std::span<Member> members, const std::vector<double>& way,
                          double share) {
  for (const Slip& slip : slips_) {
    double rows[6] = {}, norm = 0.0;
    for (int j = 0; j < slip.count; ++j) {
      rows[j] = slip.direction[j];
      for (int k = 0; k + 1 < slip.count; ++k) rows[j] += share * way[at(slip.unknown + k)] * slip.basis[k][j];
      norm += rows[j] * rows[j];
    }
    for (int j = 0; j < slip.count; ++j) rows[j] /= std::sqrt(norm);
    Member& member = members[at(slip.member)];
    set_slip(survey.contacts[at(member.constraint.index)], rows, member);
  }
}

// Newton's step for the residual, by differences.
bool SlipDirections::find_way(const Model& model, const Survey& survey, std::span<Member> members,
                              std::span<const int> blocks, double scale, ModeForces& forces) {
  constexpr double kDifference = 1e-7;
  system_.begin(unknowns_);
  way_.assign(at(unknowns_), 0.0);
  for (int i = 0; i < unknowns_; ++i) {
    way_[at(i)] = kDifference;
    turn(survey, members, way_, 1.0);
    way_[at(i)] = 0.0;
    if (!forces.solve(model, survey, members, blocks)) return false;
    find_residual(survey, scale, forces, other_);
    for (int j = 0; j < unknowns_; ++j) system_.G(j, i) = (other_[at(j)] - residual_[at(j)]) / kDifference;
  }
  // The directions themselves turn, too.
  for (const Slip& slip : before_) {
    for (int k = 0; k + 1 < slip.count; ++k) system_.G(slip.unknown + k, slip.unknown + k) -= slip.along;
  }
  for (int j = 0; j < unknowns_; ++j) system_.r(j) = -residual_[at(j)];
  system_.solve();
  double largest = 0.0;
  for (int j = 0; j < unknowns_; ++j) largest = std::max(largest, std::abs(system_.x(j)));
  const double share = largest > 0.5 ? 0.5 / largest : 1.0;
  for (int j = 0; j < unknowns_; ++j) way_[at(j)] = share * system_.x(j);
  return std::isfinite(largest);
}

bool SlipDirections::settle(const Model& model, const Survey& survey, std::span<Member> members,
                            std::span<const int> blocks, double scale, double blur, ModeForces& forces) {
  any_turned_ = false;
  list(survey, members, blocks, blur, forces);
  if (unknowns_ == 0) return true;
  Misfit before = find_residual(survey, scale, forces, residual_), after;
  for (int i = 0; i < kMostIterations && before.angle > kSettled; ++i) {
    before_ = slips_;
    if (unknowns_ > kMostUnknowns || !find_way(model, survey, members, blocks, scale, forces)) return false;
    double share = 1.0;
    for (int k = 0; k < 6; ++k, share *= 0.5) {
      slips_ = before_;
      turn(survey, members, way_, share);
      if (!forces.solve(model, survey, members, blocks)) return false;
      read_directions(survey, members);
      after = find_residual(survey, scale, forces, other_);
      if (after.size < before.size) break;
    }
    if (!(after.size < before.size)) {
      slips_ = before_;
      turn(survey, members, way_, 0.0);
      return forces.solve(model, survey, members, blocks) && before.angle <= kGoodEnough;
    }
    residual_.swap(other_);
    before = after;
    any_turned_ = true;
  }
  return before.angle <= kGoodEnough;
}

// Those whose velocity points elsewhere. Whether there were any.
bool SlipDirections::drop_unsteady(const Survey& survey, std::span<Member> members, bool all, double blur) {
  constexpr double kNear = 10.0;
  bool any = false;
  for (const Slip& slip : slips_) {
    Member& member = members[at(slip.member)];
    double along = 0.0, away = 0.0;
    for (int j = 0; j < slip.count; ++j) along += slip.velocity[j] * slip.direction[j];
    for (int j = 0; j < slip.count; ++j) away += std::pow(slip.velocity[j] - along * slip.direction[j], 2);
    const bool is_near = along >= 0.0 && std::sqrt(away) <= kNear * blur;
    if (member.is_slow || (is_near && !all)) continue;
    member.is_steady = false;
    any = true;
    set_slip(survey.contacts[at(member.constraint.index)], slip.velocity, member);
  }
  return any;
}

bool SlipDirections::choose_steady(const Model& model, const Survey& survey, std::span<Member> members,
                                   std::span<const int> blocks, double scale, double blur, ModeForces& forces) {
  for (std::size_t k = 0; k < members.size(); ++k) {
    Member& member = members[k];
    const bool slides = blocks[k] >= 0 && member.type == BlockType::kCoulomb && member.mode == Mode::kSlide;
    member.is_steady = slides && (member.is_slow || slip_speed(survey, blocks[k]) < kFast);
  }
  const bool is_settled = settle(model, survey, members, blocks, scale, blur, forces);
  if (!drop_unsteady(survey, members, !is_settled, blur)) return is_settled;
  const bool is_solved = forces.solve(model, survey, members, blocks);
  const bool is_done = is_solved && settle(model, survey, members, blocks, scale, blur, forces);
  any_turned_ = true;
  return is_done;
}

}  // namespace touchstone
