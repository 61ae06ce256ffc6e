#include "touchstone/diff/contact_derivatives.hpp"

#include <algorithm>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"

namespace touchstone {

// Columns that complete a unit vector to an orthonormal basis: those of the reflection that takes it to an axis.
ContactDerivatives::TangentBasis ContactDerivatives::orthogonal_to(const Tangents& t) {
  const Eigen::Index n = t.size();
  Tangents w = t;
  w[0] += t[0] < 0.0 ? -1.0 : 1.0;
  const double scale = 2.0 / w.squaredNorm();
  TangentBasis basis(n, n - 1);
  for (Eigen::Index k = 1; k < n; ++k) {
    basis.col(k - 1) = -scale * w[k] * w;
    basis(k, k - 1) += 1.0;
  }
  return basis;
}

void ContactDerivatives::add_slide(const Blocks& blocks, int block) {
  const int m = blocks.size(block), row = blocks.row[at(block)], tangents = m - 1;
  const auto mu = mu_.view().segment(row, tangents);
  const Tangents scaled = mu.cwiseProduct(u_.view().segment(row, tangents));
  const double speed = scaled.norm();
  Column normal;
  normal.row = row;
  normal.size = m;
  normal.d[tangents] = normal.z[tangents] = 1.0;
  if (!(speed > 0.0)) {  // no friction at all
    columns_.push_back(normal);
    return;
  }
  Slide slide{row, m, unknowns(), scaled / speed, {}};
  slide.across = orthogonal_to(slide.t);
  for (int r = 0; r < tangents; ++r) normal.d[r] = -mu[r] * slide.t[r];
  if (model_ == ContactModel::kCcp) std::copy_n(normal.d, tangents, normal.z);
  columns_.push_back(normal);
  for (int k = 0; k < tangents - 1; ++k) {
    Column turn;
    turn.row = row;
    turn.size = m;
    for (int r = 0; r < tangents; ++r) turn.d[r] = turn.z[r] = mu[r] * slide.across(r, k);
    turn.E = speed / lambda_.view()[row + tangents];
    columns_.push_back(turn);
  }
  slides_.push_back(slide);
}

void ContactDerivatives::add_rows(const Blocks& blocks, int block) {
  switch (modes_[at(block)]) {
    case BlockMode::kOpen:
    case BlockMode::kAtLower:
    case BlockMode::kAtUpper:
      return;
    case BlockMode::kSliding:
      return add_slide(blocks, block);
    default:
      for (int r = blocks.row[at(block)]; r < blocks.row[at(block + 1)]; ++r) {
        Column held;
        held.row = r;
        held.size = 1;
        held.d[0] = held.z[0] = 1.0;
        columns_.push_back(held);
      }
  }
}

void ContactDerivatives::prepare(const Blocks& blocks, ContactModel model, const ConstMatrixRef& G,
                                 const ConstVectorRef& lambda, const ConstVectorRef& u, double share) {
  nrow_ = blocks.rows();
  require_size("rows of G", G.rows(), nrow_);
  require_size("columns of G", G.cols(), nrow_);
  require_size("lambda", lambda.size(), nrow_);
  require_size("u", u.size(), nrow_);
  if (model == ContactModel::kLcp) throw Error("derivatives of the LCP's pyramid are not available; use NCP or CCP");
  model_ = model;
  G_.resize(nrow_, nrow_) = G;
  lambda_.resize(nrow_, 1) = lambda;
  u_.resize(nrow_, 1) = u;
  mu_.resize(nrow_, 1) = Eigen::Map<const VectorX>(blocks.mu.data(), nrow_);
  columns_.clear();
  slides_.clear();
  modes_.clear();
  for (int block = 0; block < blocks.count(); ++block) {
    const int r = blocks.row[at(block)];
    modes_.push_back(block_mode(blocks, block, lambda.data() + r, u.data() + r, share));
    add_rows(blocks, block);
  }
  solve_system(G);
}

// K = Z' G D + E, its inverse, and dlambda/dw = -D K^-1 Z'. An unknown has entries in the rows of one block alone.
void ContactDerivatives::solve_system(const ConstMatrixRef& G) {
  const int n = unknowns();
  Growing<MatrixX>::View K = K_.resize(n, n), inverse = inverse_.resize(n, n);
  Growing<MatrixX>::View half = half_.set_zero(nrow_, n), jacobian = jacobian_.set_zero(nrow_, nrow_);
  for (int c = 0; c < n; ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) {
      if (column.d[r] != 0.0) half.col(c) += column.d[r] * G.col(column.row + r);
    }
  }
  for (int c = 0; c < n; ++c) {
    const Column& column = columns_[at(c)];
    K.row(c).setZero();
    for (int r = 0; r < column.size; ++r) {
      if (column.z[r] != 0.0) K.row(c) += column.z[r] * half.row(column.row + r);
    }
    K(c, c) += column.E;
  }
  factor_.invert(K, inverse);
  half.setZero();
  for (int c = 0; c < n; ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) {
      if (column.d[r] != 0.0) half.row(column.row + r) -= column.d[r] * inverse.row(c);
    }
  }
  for (int c = 0; c < n; ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) {
      if (column.z[r] != 0.0) jacobian.col(column.row + r) += column.z[r] * half.col(c);
    }
  }
}

void ContactDerivatives::jvp(const ConstMatrixRef& dw, MatrixX& dlambda) const {
  require_size("dw", dw.rows(), nrow_);
  dlambda.noalias() = jacobian_.view() * dw;
}

// What friction does apart from du: the part of dlambda that is known, and the right-hand side of the tests.
void ContactDerivatives::friction_terms(const VectorX& dmu, VectorX& direct, VectorX& tests) const {
  direct.setZero(nrow_);
  tests.setZero(unknowns());
  const auto u = u_.view();
  for (const Slide& s : slides_) {
    const int tangents = s.size - 1;
    const auto change = dmu.segment(s.row, tangents);
    const Tangents turn = u.segment(s.row, tangents).cwiseProduct(change);
    direct.segment(s.row, tangents) = -lambda_.view()[s.row + tangents] * s.t.cwiseProduct(change);
    tests.segment(s.column + 1, tangents - 1) = s.across.transpose() * turn;
    if (model_ == ContactModel::kCcp) tests[s.column] = -s.t.dot(turn);
  }
}

// dlambda = direct + D x with Z' (G direct) + tests + K x = 0.
void ContactDerivatives::jvp_direct(const VectorX& direct, const VectorX& tests, VectorX& dlambda) const {
  const VectorX w = G_.view() * direct;
  VectorX right = tests;
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) right[c] += column.z[r] * w[column.row + r];
  }
  const VectorX x = -(inverse_.view() * right);
  dlambda = direct;
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) dlambda[column.row + r] += column.d[r] * x[c];
  }
}

void ContactDerivatives::jvp_friction(const VectorX& dmu, VectorX& dlambda) const {
  require_size("dmu", dmu.size(), nrow_);
  VectorX direct, tests;
  friction_terms(dmu, direct, tests);
  jvp_direct(direct, tests, dlambda);
}

void ContactDerivatives::jvp_bounds(const VectorX& dbound, VectorX& dlambda) const {
  require_size("dbound", dbound.size(), nrow_);
  jvp_direct(dbound, VectorX::Zero(unknowns()), dlambda);
}

void ContactDerivatives::vjp(const VectorX& lambda_bar, Gradients& out) const {
  require_size("lambda_bar", lambda_bar.size(), nrow_);
  VectorX y = VectorX::Zero(unknowns());
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) y[c] += column.d[r] * lambda_bar[column.row + r];
  }
  const VectorX x_bar = -inverse_.view().transpose() * y;
  out.w.setZero(nrow_);
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) out.w[column.row + r] += column.z[r] * x_bar[c];
  }
  out.mu.setZero(nrow_);
  const VectorX direct_bar = lambda_bar + G_.view().transpose() * out.w;
  const auto u = u_.view();
  for (const Slide& s : slides_) {
    const int tangents = s.size - 1;
    Tangents turn_bar = s.across * x_bar.segment(s.column + 1, tangents - 1);
    if (model_ == ContactModel::kCcp) turn_bar -= s.t * x_bar[s.column];
    out.mu.segment(s.row, tangents) =
        u.segment(s.row, tangents).cwiseProduct(turn_bar) -
        lambda_.view()[s.row + tangents] * s.t.cwiseProduct(direct_bar.segment(s.row, tangents));
  }
}

}  // namespace touchstone
