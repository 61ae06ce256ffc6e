#include "touchstone/sim/events/mode_forces.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/sim/constraints/contact.hpp"

namespace touchstone {
namespace {

constexpr double kWeakest = 1e-6;  // N

}  // namespace

void friction_of_slip(const Blocks& blocks, int block, const double* slip, double* force) {
  const int first = blocks.row[at(block)], tangents = blocks.size(block) - 1;
  double squared = 0.0;
  for (int j = 0; j < tangents; ++j) squared += std::pow(blocks.mu[at(first + j)] * slip[j], 2);
  const double norm = std::sqrt(squared);
  for (int j = 0; j < tangents; ++j) {
    const double mu = blocks.mu[at(first + j)];
    force[j] = norm > 0.0 ? -mu * mu * slip[j] / norm : 0.0;
  }
}

void slip_rows(const Contact& contact, const Member& member, double* rows) {
  const ContactImpulse slip{member.linear, member.angular};
  to_rows(contact, slip, rows);
}

void set_slip(const Contact& contact, const double* rows, Member& member) {
  double with_normal[6] = {};
  std::copy_n(rows, contact.material.dimension - 1, with_normal);
  const ContactImpulse slip = to_world(contact, with_normal);
  member.linear = slip.force;
  member.angular = slip.torque;
}

ModeForces::ModeForces(const Model& model)
    : nv_(model.nv), a_(VectorX::Zero(model.nv)), column_(VectorX::Zero(model.nv)), change_(VectorX::Zero(model.nv)) {}

void ModeForces::list_unknowns(const Survey& survey, std::span<const Member> members, std::span<const int> blocks) {
  unknowns_.clear();
  for (std::size_t k = 0; k < members.size(); ++k) {
    const Member& member = members[k];
    if (blocks[k] < 0 || member.mode == Mode::kOpen) continue;
    const int first = survey.first(blocks[k]), normal = survey.normal(blocks[k]);
    if (member.mode == Mode::kSlide && member.type == BlockType::kBox) continue;
    const bool slides = member.mode == Mode::kSlide;
    for (int row = slides ? normal : first; row <= normal; ++row) unknowns_.push_back({row, blocks[k], slides});
  }
}

// Dry friction that slides; and what the rows' forces were when the modes were chosen.
void ModeForces::add_known_forces(const Model& model, const Survey& survey, std::span<const Member> members,
                                  std::span<const int> blocks) {
  const Blocks& b = survey.c.blocks;
  if (lambda_.size() < survey.c.rows()) lambda_.resize(2 * survey.c.rows());
  lambda_.head(survey.c.rows()).setZero();
  slip_.assign(at(survey.c.rows()), 0.0);
  weight_.assign(at(survey.c.rows()), 1.0);
  a_ = survey.a_free;
  column_.setZero();
  bool any = false;
  for (std::size_t k = 0; k < members.size(); ++k) {
    const int block = blocks[k];
    const Member& member = members[k];
    if (block < 0 || member.mode == Mode::kOpen) continue;
    const int first = survey.first(block);
    if (member.type == BlockType::kBox && member.mode == Mode::kSlide) {
      lambda_[first] = member.linear.x() > 0.0 ? b.lo[at(first)] : b.hi[at(first)];
      for (int i = 0; i < nv_; ++i) column_[i] += survey.J(first)[i] * lambda_[first];
      any = true;
      continue;
    }
    if (member.type == BlockType::kCoulomb && member.mode == Mode::kSlide && b.size(block) > 1) {
      double slip[6];
      slip_rows(survey.contacts[at(survey.c.list[at(block)].index)], member, slip);
      friction_of_slip(b, block, slip, slip_.data() + first);
    }
    set_reference(survey, member, block);
  }
  if (!any) return;
  touchstone::solve(model, survey.data, column_);
  a_ += column_;
}

void ModeForces::set_reference(const Survey& survey, const Member& member, int block) {
  double rows[6] = {};
  const int m = survey.c.blocks.size(block);
  if (member.constraint.kind == ConstraintKind::kContact) {
    to_rows(survey.contacts[at(survey.c.list[at(block)].index)], {member.force, member.torque}, rows);
  } else {
    for (int r = 0; r < m; ++r) rows[r] = r < 3 ? member.force[r] : member.torque[r - 3];
  }
  const bool slides = member.mode == Mode::kSlide;
  for (int r = slides ? m - 1 : 0; r < m; ++r) lambda_[survey.first(block) + r] = rows[r];
  if (member.constraint.kind != ConstraintKind::kContact) return;
  // Weak contacts change little, so that they stay closed where others can bear what changes.
  for (int r = 0; r < m; ++r) weight_[at(survey.first(block) + r)] = std::max(rows[m - 1], kWeakest);
}

// Of each unknown what it does to the velocity.
void ModeForces::solve_columns(const Model& model, const Survey& survey) {
  columns_.resize(unknowns_.size() * at(nv_));
  for (std::size_t k = 0; k < unknowns_.size(); ++k) {
    const Unknown& unknown = unknowns_[k];
    Eigen::Map<VectorX> column(columns_.data() + k * at(nv_), nv_);
    column = Eigen::Map<const VectorX>(survey.J(unknown.row), nv_);
    if (unknown.slides) {
      for (int row = survey.first(unknown.block); row < unknown.row; ++row) {
        column += slip_[at(row)] * Eigen::Map<const VectorX>(survey.J(row), nv_);
      }
    }
    touchstone::solve(model, survey.data, column);
  }
}

bool ModeForces::solve(const Model& model, const Survey& survey, std::span<const Member> members,
                       std::span<const int> blocks) {
  add_known_forces(model, survey, members, blocks);
  list_unknowns(survey, members, blocks);
  const int n = static_cast<int>(unknowns_.size());
  if (n == 0) return a_.allFinite();
  solve_columns(model, survey);
  const auto column = [&](int k) { return Eigen::Map<const VectorX>(columns_.data() + at(k) * at(nv_), nv_); };
  for (int k = 0; k < n; ++k) a_ += lambda_[unknowns_[at(k)].row] * column(k);
  system_.begin(n);
  for (int i = 0; i < n; ++i) {
    const int row = unknowns_[at(i)].row;
    const Eigen::Map<const VectorX> J(survey.J(row), nv_);
    for (int j = 0; j < n; ++j) system_.G(i, j) = J.dot(column(j));
    system_.r(i) = -(J.dot(a_) + survey.drift[row]);
    system_.weight(i) = weight_[at(row)];
  }
  system_.solve();
  for (int k = 0; k < n; ++k) {
    lambda_[unknowns_[at(k)].row] += system_.x(k);
    a_ += system_.x(k) * column(k);
  }
  for (const Unknown& unknown : unknowns_) {
    if (!unknown.slides) continue;
    for (int row = survey.first(unknown.block); row < unknown.row; ++row) {
      lambda_[row] = slip_[at(row)] * lambda_[unknown.row];
    }
  }
  return a_.allFinite();
}

double ModeForces::row_acceleration(const Survey& survey, int row) const {
  return Eigen::Map<const VectorX>(survey.J(row), nv_).dot(a_) + survey.drift[row];
}

double ModeForces::power(const Survey& survey) const {
  return lambda_.head(survey.c.rows()).dot(survey.c.velocity.head(survey.c.rows()));
}

const VectorX& ModeForces::least_change(const Model& model, const Survey& survey, std::span<const int> rows,
                                        std::span<const double> residual) {
  unknowns_.clear();
  for (const int row : rows) unknowns_.push_back({row, -1, false});
  change_.setZero();
  const int n = static_cast<int>(rows.size());
  if (n == 0) return change_;
  solve_columns(model, survey);
  system_.begin(n);
  for (int i = 0; i < n; ++i) {
    const Eigen::Map<const VectorX> J(survey.J(rows[at(i)]), nv_);
    for (int j = 0; j < n; ++j) {
      system_.G(i, j) = J.dot(Eigen::Map<const VectorX>(columns_.data() + at(j) * at(nv_), nv_));
    }
    system_.r(i) = -residual[at(i)];
  }
  system_.solve();
  for (int k = 0; k < n; ++k)
    change_ += system_.x(k) * Eigen::Map<const VectorX>(columns_.data() + at(k) * at(nv_), nv_);
  return change_;
}

}  // namespace touchstone
