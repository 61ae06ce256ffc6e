#include "touchstone/diff/contact_derivatives.hpp"

#include <algorithm>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"

namespace touchstone {

void ContactDerivatives::prepare(const Blocks& blocks, const ContactLaw& law, const ConstMatrixRef& G,
                                 const ConstVectorRef& lambda, const ConstVectorRef& u, double share) {
  nrow_ = blocks.rows();
  require_size("rows of G", G.rows(), nrow_);
  require_size("columns of G", G.cols(), nrow_);
  require_size("lambda", lambda.size(), nrow_);
  require_size("u", u.size(), nrow_);
  law.validate();
  law_ = law;
  G_.resize(nrow_, nrow_) = G;
  lambda_.resize(nrow_, 1) = lambda;
  u_.resize(nrow_, 1) = u;
  mu_.resize(nrow_, 1) = Eigen::Map<const VectorX>(blocks.mu.data(), nrow_);
  by_mu_.set_zero(nrow_, 1);
  at_bound_.set_zero(nrow_, 1);
  columns_.clear();
  couplings_.clear();
  modes_.clear();
  for (int block = 0; block < blocks.count(); ++block) add_block(blocks, block, share);
  if (is_smoothed()) {
    smoothed_.prepare(blocks, G, lambda, u, law.width);
  } else {
    solve_system(G);
  }
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
  dlambda.noalias() = jacobian() * dw;
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
  if (is_smoothed()) {
    dlambda = jacobian() * smoothed_.friction_change(dmu);
    return;
  }
  const VectorX direct = by_mu_.view().cwiseProduct(dmu);
  VectorX tests = VectorX::Zero(unknowns());
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) tests[c] += column.by_mu[r] * dmu[column.row + r];
  }
  jvp_direct(direct, tests, dlambda);
}

void ContactDerivatives::jvp_bounds(const VectorX& dlo, const VectorX& dhi, VectorX& dlambda) const {
  require_size("dlo", dlo.size(), nrow_);
  require_size("dhi", dhi.size(), nrow_);
  if (is_smoothed()) {
    dlambda = jacobian() * smoothed_.bounds_change(dlo, dhi);
    return;
  }
  const auto side = at_bound_.view().array();
  const VectorX direct = (side < 0.0).select(dlo.array(), (side > 0.0).select(dhi.array(), 0.0));
  jvp_direct(direct, VectorX::Zero(unknowns()), dlambda);
}

void ContactDerivatives::vjp(const VectorX& lambda_bar, Gradients& out) const {
  require_size("lambda_bar", lambda_bar.size(), nrow_);
  if (is_smoothed()) {
    out.w = jacobian().transpose() * lambda_bar;
    out.mu = smoothed_.friction_gradient(out.w);
    return;
  }
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
  out.mu = by_mu_.view().cwiseProduct(lambda_bar + G_.view().transpose() * out.w);
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) out.mu[column.row + r] += column.by_mu[r] * x_bar[c];
  }
}

// At which the problem is differentiated.
VectorX ContactDerivatives::impulses() const { return is_smoothed() ? smoothed_.lambda() : VectorX(lambda_.view()); }

void ContactDerivatives::add_mobility_change(const ConstMatrixRef& dG, VectorRef dw) const {
  require_size("rows of dG", dG.rows(), nrow_);
  require_size("dw", dw.size(), nrow_);
  dw.noalias() += dG * impulses();
  for (const Coupling& c : couplings_) {
    const int tangents = c.size - 1, n = c.row + tangents;
    const double share = c.alpha / c.G_nn;
    for (int r = 0; r < tangents; ++r) dw[c.row + r] += share * (dG(n, c.row + r) - c.ratio[r] * dG(n, n));
  }
}

void ContactDerivatives::add_mobility_gradient(const ConstVectorRef& w_bar, Eigen::Ref<MatrixX> G_bar) const {
  require_size("w_bar", w_bar.size(), nrow_);
  require_size("rows of G_bar", G_bar.rows(), nrow_);
  G_bar.noalias() += w_bar * impulses().transpose();
  for (const Coupling& c : couplings_) {
    const int tangents = c.size - 1, n = c.row + tangents;
    for (int r = 0; r < tangents; ++r) {
      const double share = c.alpha / c.G_nn * w_bar[c.row + r];
      G_bar(n, c.row + r) += share;
      G_bar(n, n) -= share * c.ratio[r];
    }
  }
}

}  // namespace touchstone
