#include "touchstone/sim/constraints.hpp"

#include <cmath>

#include <fmt/format.h>

namespace touchstone {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool is_zero(Lanes a) { return a[0] == 0.0 && a[1] == 0.0 && a[2] == 0.0 && a[3] == 0.0; }

}  // namespace

const char* to_string(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::kContact:
      return "contact";
    case ConstraintKind::kJointLimit:
      return "joint limit";
    case ConstraintKind::kJointFriction:
      return "joint friction";
    case ConstraintKind::kTendonLimit:
      return "tendon limit";
    case ConstraintKind::kTendonFriction:
      return "tendon friction";
    case ConstraintKind::kEquality:
      return "equality";
    case ConstraintKind::kServo:
      return "servo";
  }
  return "";
}

void Constraints::clear() {
  blocks.clear();
  list.clear();
  parts.clear();
  J.clear();
  position.clear();
  drift.clear();
  row_length.clear();
}

void ConstraintWriter::begin(ConstraintKind kind, int index, int side) {
  c_.list.push_back({kind, index, side, static_cast<int>(c_.parts.size()), 0});
}

// The lanes of the block that is being written on a tree, zero when new.
Lanes* ConstraintWriter::part(int tree) {
  Constraint& constraint = c_.list.back();
  for (int i = 0; i < constraint.part_count; ++i) {
    const TreePart& known = c_.parts[at(constraint.first_part + i)];
    if (known.tree == tree) return c_.J.data() + known.start;
  }
  const int dofs = model_.tree_first_dof[at(tree + 1)] - model_.tree_first_dof[at(tree)];
  const int width = c_.width(c_.count() - 1);
  c_.parts.push_back({tree, c_.J.size()});
  ++constraint.part_count;
  c_.J.resize(c_.J.size() + at(dofs * width), Lanes{});
  return c_.J.data() + c_.parts.back().start;
}

void ConstraintWriter::add_dof(int dof, int row, double value) {
  const int tree = model_.dof_tree[at(dof)];
  const int width = c_.width(c_.count() - 1);
  Lanes* lanes = part(tree) + width * (dof - model_.tree_first_dof[at(tree)]);
  lanes[row / 4][row % 4] += value;
}

void ConstraintWriter::add_point(int body, Vec3 p, double sign, const Vec3* linear, const Vec3* angular, int rows) {
  const int tree = model_.body_kernels[at(body)].tree;
  if (tree < 0) return;
  const int width = c_.width(c_.count() - 1), first = model_.tree_first_dof[at(tree)];
  Lanes* lanes = part(tree);
  const Vec3 arm = p - data_.reference_point[at(tree)];
  // linear.(S.linear + S.angular x arm) = linear.S.linear + (arm x linear).S.angular
  Vec3 moment[6];
  for (int r = 0; r < rows; ++r) moment[r] = sign * (cross(arm, linear[r]) + angular[r]);
  for (int dof = model_.body_last_dof[at(body)]; dof >= 0; dof = model_.dof_parent[at(dof)]) {
    const Motion& S = data_.S[at(dof)];
    Lanes* target = lanes + width * (dof - first);
    for (int r = 0; r < rows; ++r) {
      target[r / 4][r % 4] += sum(sign * linear[r].lanes * S.linear.lanes + moment[r].lanes * S.angular.lanes);
    }
  }
}

void ConstraintWriter::end(const double* position, const double* length) {
  const int rows = c_.blocks.size(c_.count() - 1);
  c_.position.insert(c_.position.end(), position, position + rows);
  c_.row_length.insert(c_.row_length.end(), length, length + rows);
  c_.drift.resize(c_.position.size(), 0.0);
}

void ConstraintWriter::set_drift(const Vec3& drift, int first) {
  double* rows = c_.drift.data() + c_.blocks.row[at(c_.count() - 1)] + first;
  for (int k = 0; k < 3; ++k) rows[k] = drift[k];
}

void ConstraintWriter::cancel() {
  const Constraint& constraint = c_.list.back();
  if (constraint.part_count > 0) c_.J.resize(c_.parts[at(constraint.first_part)].start);
  c_.parts.resize(at(constraint.first_part));
  c_.list.pop_back();
  Blocks& b = c_.blocks;
  b.type.pop_back();
  b.row.pop_back();
  for (std::vector<double>* values : {&b.mu, &b.lo, &b.hi}) values->resize(at(b.rows()));
}

double ConstraintWriter::mobility(int row, const VectorX& dof_weight) const {
  const Constraint& constraint = c_.list.back();
  const int width = c_.width(c_.count() - 1);
  double sum = 0.0;
  for (int i = 0; i < constraint.part_count; ++i) {
    const TreePart& part = c_.parts[at(constraint.first_part + i)];
    const int first = model_.tree_first_dof[at(part.tree)], end = model_.tree_first_dof[at(part.tree + 1)];
    for (int k = first; k < end; ++k) {
      const double J = c_.J[part.start + at(width * (k - first) + row / 4)][row % 4];
      sum += J * J * dof_weight[k];
    }
  }
  return sum;
}

namespace {

// x <- D^-1/2 L^-T x on one tree, for `width` groups of lanes a dof. Leaves come last, so dofs are visited backwards;
// off the paths of the block all is zero and stays so.
template <int width>
void half_solve_tree(const Model& model, const Data& data, int tree, Lanes* x) {
  const int first = model.tree_first_dof[at(tree)], end = model.tree_first_dof[at(tree + 1)];
  for (int k = end - 1; k >= first; --k) {
    Lanes* xk = x + width * (k - first);
    bool zero = is_zero(xk[0]);
    if constexpr (width == 2) zero = zero && is_zero(xk[1]);
    if (zero) continue;
    const double* row = data.L.data() + model.row_start[at(k)];
    const int* dof = model.row_dof.data() + model.row_start[at(k)];
    const int ancestors = model.row_length[at(k)] - 1;
    for (int j = 0; j < ancestors; ++j) {
      Lanes* xj = x + width * (dof[j] - first);
      const Lanes factor = broadcast(row[j]);
      for (int w = 0; w < width; ++w) xj[w] -= factor * xk[w];
    }
    const Lanes scale = broadcast(std::sqrt(data.D_inverse[k]));
    for (int w = 0; w < width; ++w) xk[w] *= scale;
  }
}

}  // namespace

void solve_constraint_rows(const Model& model, const Data& data, Constraints& c) {
  c.Y.assign(c.J.begin(), c.J.end());
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    for (int i = 0; i < constraint.part_count; ++i) {
      const TreePart& part = c.parts[at(constraint.first_part + i)];
      Lanes* x = c.Y.data() + part.start;
      c.width(block) == 1 ? half_solve_tree<1>(model, data, part.tree, x)
                          : half_solve_tree<2>(model, data, part.tree, x);
    }
  }
}

void constraint_velocity(const Model& model, const Constraints& c, const ConstVectorRef& v, VectorRef result) {
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int width = c.width(block), row = c.blocks.row[at(block)];
    Lanes sums[2] = {};
    for (int i = 0; i < constraint.part_count; ++i) {
      const TreePart& part = c.parts[at(constraint.first_part + i)];
      const int first = model.tree_first_dof[at(part.tree)], end = model.tree_first_dof[at(part.tree + 1)];
      const Lanes* J = c.J.data() + part.start;
      for (int k = first; k < end; ++k) {
        for (int w = 0; w < width; ++w) sums[w] += J[width * (k - first) + w] * broadcast(v[k]);
      }
    }
    for (int r = 0; r < c.blocks.size(block); ++r) result[row + r] = sums[r / 4][r % 4];
  }
}

void add_constraint_force(const Model& model, const Constraints& c, const ConstVectorRef& lambda, VectorRef tau) {
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int width = c.width(block), row = c.blocks.row[at(block)];
    Lanes impulse[2] = {};
    for (int r = 0; r < c.blocks.size(block); ++r) impulse[r / 4][r % 4] = lambda[row + r];
    for (int i = 0; i < constraint.part_count; ++i) {
      const TreePart& part = c.parts[at(constraint.first_part + i)];
      const int first = model.tree_first_dof[at(part.tree)], end = model.tree_first_dof[at(part.tree + 1)];
      const Lanes* J = c.J.data() + part.start;
      for (int k = first; k < end; ++k) {
        Lanes products = J[width * (k - first)] * impulse[0];
        if (width == 2) products += J[width * (k - first) + 1] * impulse[1];
        tau[k] += sum(products);
      }
    }
  }
}

std::string describe(const Model& model, const Constraints& constraints, std::span<const Contact> contacts, int block) {
  const Constraint& c = constraints.list[at(block)];
  const char* side = c.side == 0 ? "lower" : "upper";
  switch (c.kind) {
    case ConstraintKind::kContact:
      return fmt::format("contact of '{}' and '{}'", model.shapes[at(contacts[at(c.index)].shape_a)].name,
                         model.shapes[at(contacts[at(c.index)].shape_b)].name);
    case ConstraintKind::kJointLimit:
      return fmt::format("{} limit of joint '{}'", side, model.joints[at(c.index)].name);
    case ConstraintKind::kJointFriction:
      return fmt::format("friction of joint '{}'", model.joints[at(model.dof_joint[at(c.index)])].name);
    case ConstraintKind::kTendonLimit:
      return fmt::format("{} limit of tendon '{}'", side, model.tendons[at(c.index)].name);
    case ConstraintKind::kTendonFriction:
      return fmt::format("friction of tendon '{}'", model.tendons[at(c.index)].name);
    case ConstraintKind::kEquality:
      return fmt::format("equality '{}'", model.equalities[at(c.index)].name);
    case ConstraintKind::kServo:
      return fmt::format("force limit of actuator '{}'", model.actuators[at(c.index)].name);
  }
  return "";
}

}  // namespace touchstone
