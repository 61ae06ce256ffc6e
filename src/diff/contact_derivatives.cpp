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
    factor_system(G);
  }
}

// K = Z' G D + E. An unknown has entries in the rows of one block alone.
void ContactDerivatives::factor_system(const ConstMatrixRef& G) {
  const int n = unknowns();
  Growing<MatrixX>::View K = factor_.begin(n);
  Growing<VectorX>::View combined = seen_.resize(nrow_, 1);
  moves_as_tested_ = true;
  for (int c = 0; c < n; ++c) {
    const Column& column = columns_[at(c)];
    const double* moved = G.col(column.row).data();
    for (int r = 0; r < column.size; ++r) moves_as_tested_ = moves_as_tested_ && column.d[r] == column.z[r];
    if (column.size > 1 || column.d[0] != 1.0) {
      combined = column.d[0] * G.col(column.row);
      for (int r = 1; r < column.size; ++r) {
        if (column.d[r] != 0.0) combined += column.d[r] * G.col(column.row + r);
      }
      moved = combined.data();
    }
    test(moved, K.col(c).data());
    K(c, c) += column.E;
  }
  factor_.factor(moves_as_tested_);
}

// -D K^-1 Z' dw.
void ContactDerivatives::apply(const ConstVectorRef& dw, VectorRef dlambda) const {
  if (is_smoothed()) {
    dlambda.noalias() = smoothed_.jacobian() * dw;
    return;
  }
  Growing<VectorX>::View x = unknown_.resize(unknowns(), 1);
  test(dw.data(), x.data());
  factor_.solve(x);
  dlambda.setZero();
  subtract_motion(x, dlambda);
}

// -Z K^-T D' lambda_bar.
void ContactDerivatives::apply_transposed(const ConstVectorRef& lambda_bar, VectorRef w_bar) const {
  if (is_smoothed()) {
    w_bar.noalias() = smoothed_.jacobian().transpose() * lambda_bar;
    return;
  }
  Growing<VectorX>::View x = unknown_.resize(unknowns(), 1);
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    x[c] = 0.0;
    for (int r = 0; r < column.size; ++r) x[c] += column.d[r] * lambda_bar[column.row + r];
  }
  factor_.solve_transposed(x);
  w_bar.setZero();
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) w_bar[column.row + r] -= column.z[r] * x[c];
  }
}

// x = Z' dw.
void ContactDerivatives::test(const double* dw, double* x) const {
  for (const Column& column : columns_) {
    double sum = column.z[0] * dw[column.row];
    for (int r = 1; r < column.size; ++r) sum += column.z[r] * dw[column.row + r];
    *x++ = sum;
  }
}

// dlambda -= D x.
void ContactDerivatives::subtract_motion(const ConstVectorRef& x, VectorRef dlambda) const {
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) dlambda[column.row + r] -= column.d[r] * x[c];
  }
}

void ContactDerivatives::combine(double (Column::*weights)[kMaxBlockSize], const ConstRowsRef& rows,
                                 RowsRef out) const {
  if (is_smoothed()) {
    out = rows;
    return;
  }
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    const double* w = column.*weights;
    out.row(c) = w[0] * rows.row(column.row);
    for (int r = 1; r < column.size; ++r) {
      if (w[r] != 0.0) out.row(c) += w[r] * rows.row(column.row + r);
    }
  }
}

void ContactDerivatives::form_split(PaddedMatrix& left, PaddedMatrix& right, Growing<VectorX>& weights) const {
  if (!is_smoothed()) return factor_.form_split(left, right, weights);
  left.resize(nrow_, nrow_).setIdentity();
  right.resize(nrow_, nrow_) = -smoothed_.jacobian();
  weights.resize(nrow_, 1).setOnes();
}

MatrixX ContactDerivatives::jacobian() const {
  MatrixX result(nrow_, nrow_);
  for (int r = 0; r < nrow_; ++r) apply(VectorX::Unit(nrow_, r), result.col(r));
  return result;
}

void ContactDerivatives::jvp(const ConstMatrixRef& dw, MatrixX& dlambda) const {
  require_size("dw", dw.rows(), nrow_);
  dlambda.resize(nrow_, dw.cols());
  for (Eigen::Index k = 0; k < dw.cols(); ++k) apply(dw.col(k), dlambda.col(k));
}

// dlambda = direct - D x with Z' (G direct) + tests = K x; `tests` is lost.
void ContactDerivatives::jvp_direct(const ConstVectorRef& direct, VectorRef tests, VectorX& dlambda) const {
  Growing<VectorX>::View w = seen_.resize(nrow_, 1);
  w.noalias() = G_.view() * direct;
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) tests[c] += column.z[r] * w[column.row + r];
  }
  factor_.solve(tests);
  dlambda = direct;
  subtract_motion(tests, dlambda);
}

void ContactDerivatives::jvp_friction(const ConstVectorRef& dmu, VectorX& dlambda) const {
  require_size("dmu", dmu.size(), nrow_);
  if (is_smoothed()) {
    Growing<VectorX>::View dw = direct_.resize(nrow_, 1);
    smoothed_.friction_change(dmu, dw);
    dlambda.noalias() = smoothed_.jacobian() * dw;
    return;
  }
  Growing<VectorX>::View direct = direct_.resize(nrow_, 1), tests = unknown_.set_zero(unknowns(), 1);
  direct = by_mu_.view().cwiseProduct(dmu);
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) tests[c] += column.by_mu[r] * dmu[column.row + r];
  }
  jvp_direct(direct, tests, dlambda);
}

void ContactDerivatives::jvp_bounds(const ConstVectorRef& dlo, const ConstVectorRef& dhi, VectorX& dlambda) const {
  require_size("dlo", dlo.size(), nrow_);
  require_size("dhi", dhi.size(), nrow_);
  if (is_smoothed()) {
    Growing<VectorX>::View dw = direct_.resize(nrow_, 1);
    smoothed_.bounds_change(dlo, dhi, dw);
    dlambda.noalias() = smoothed_.jacobian() * dw;
    return;
  }
  Growing<VectorX>::View direct = direct_.resize(nrow_, 1), tests = unknown_.set_zero(unknowns(), 1);
  const auto side = at_bound_.view().array();
  direct = (side < 0.0).select(dlo.array(), (side > 0.0).select(dhi.array(), 0.0));
  jvp_direct(direct, tests, dlambda);
}

void ContactDerivatives::vjp(const VectorX& lambda_bar, Gradients& out) const {
  require_size("lambda_bar", lambda_bar.size(), nrow_);
  out.w.resize(nrow_);
  apply_transposed(lambda_bar, out.w);
  if (is_smoothed()) {
    out.mu = smoothed_.friction_gradient(out.w);
    return;
  }
  out.mu = by_mu_.view().cwiseProduct(lambda_bar + G_.view().transpose() * out.w);
  const Growing<VectorX>::View x = unknown_.view();  // of apply_transposed
  for (int c = 0; c < unknowns(); ++c) {
    const Column& column = columns_[at(c)];
    for (int r = 0; r < column.size; ++r) out.mu[column.row + r] -= column.by_mu[r] * x[c];
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
