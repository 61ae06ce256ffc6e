#include "touchstone/diff/contact_derivatives.hpp"

#include <algorithm>

#include <Eigen/Dense>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

// Below this share of the largest pivot the system counts as singular.
constexpr double kRankTolerance = 1e-11;

// Columns that complete a unit vector to an orthonormal basis: those of the reflection that takes it to an axis.
MatrixX orthogonal_to(const VectorX& t) {
  const Eigen::Index n = t.size();
  VectorX w = t;
  w[0] += t[0] < 0.0 ? -1.0 : 1.0;
  const MatrixX reflection = MatrixX::Identity(n, n) - (2.0 / w.squaredNorm()) * w * w.transpose();
  return reflection.rightCols(n - 1);
}

}  // namespace

void ContactDerivatives::add_slide(const Blocks& blocks, ContactModel model, const VectorX& lambda, const VectorX& u,
                                   int block) {
  const int m = blocks.size(block), row = blocks.row[at(block)], normal = row + m - 1;
  Slide slide{row, m, columns_, 0.0, {}, {}};
  const auto mu = mu_.segment(row, m - 1);
  const VectorX scaled = mu.cwiseProduct(u.segment(row, m - 1));
  slide.speed = scaled.norm();
  D_(normal, columns_) = Z_(normal, columns_) = 1.0;
  if (!(slide.speed > 0.0)) {  // no friction at all
    ++columns_;
    return;
  }
  slide.t = scaled / slide.speed;
  slide.across = orthogonal_to(slide.t);
  D_.block(row, columns_, m - 1, 1) = -mu.cwiseProduct(slide.t);
  if (model == ContactModel::kCcp) Z_.block(row, columns_, m - 1, 1) = D_.block(row, columns_, m - 1, 1);
  for (int k = 0; k < m - 2; ++k) {
    const int column = columns_ + 1 + k;
    D_.block(row, column, m - 1, 1) = mu.cwiseProduct(slide.across.col(k));
    Z_.block(row, column, m - 1, 1) = D_.block(row, column, m - 1, 1);
    E_[column] = slide.speed / lambda[normal];
  }
  columns_ += m - 1;
  slides_.push_back(std::move(slide));
}

void ContactDerivatives::add_rows(const Blocks& blocks, ContactModel model, const VectorX& lambda, const VectorX& u,
                                  int block) {
  switch (modes_[at(block)]) {
    case BlockMode::kOpen:
    case BlockMode::kAtLower:
    case BlockMode::kAtUpper:
      return;
    case BlockMode::kSliding:
      return add_slide(blocks, model, lambda, u, block);
    default:
      for (int r = blocks.row[at(block)]; r < blocks.row[at(block + 1)]; ++r, ++columns_) {
        D_(r, columns_) = Z_(r, columns_) = 1.0;
      }
  }
}

void ContactDerivatives::prepare(const Blocks& blocks, ContactModel model, const MatrixX& G, const VectorX& lambda,
                                 const VectorX& u, double share) {
  nrow_ = blocks.rows();
  require_size("rows of G", G.rows(), nrow_);
  require_size("columns of G", G.cols(), nrow_);
  require_size("lambda", lambda.size(), nrow_);
  require_size("u", u.size(), nrow_);
  if (model == ContactModel::kLcp) throw Error("derivatives of the LCP's pyramid are not available; use NCP or CCP");
  model_ = model;
  G_ = G;
  lambda_ = lambda;
  u_ = u;
  mu_ = Eigen::Map<const VectorX>(blocks.mu.data(), nrow_);
  D_.setZero(nrow_, nrow_);
  Z_.setZero(nrow_, nrow_);
  E_.setZero(nrow_);
  columns_ = 0;
  slides_.clear();
  modes_.clear();
  for (int block = 0; block < blocks.count(); ++block) {
    const int r = blocks.row[at(block)];
    modes_.push_back(block_mode(blocks, block, lambda.data() + r, u.data() + r, share));
    add_rows(blocks, model, lambda, u, block);
  }
  D_.conservativeResize(nrow_, columns_);
  Z_.conservativeResize(nrow_, columns_);
  E_.conservativeResize(columns_);
  rank_ = 0;
  inverse_.setZero(columns_, columns_);
  jacobian_.setZero(nrow_, nrow_);
  if (columns_ == 0) return;
  MatrixX K = Z_.transpose() * G * D_;
  K.diagonal() += E_;
  factor_.setThreshold(kRankTolerance);
  factor_.compute(K);
  rank_ = static_cast<int>(factor_.rank());
  inverse_ = factor_.pseudoInverse();
  jacobian_.noalias() = -D_ * inverse_ * Z_.transpose();
}

void ContactDerivatives::jvp(const MatrixX& dw, MatrixX& dlambda) const {
  require_size("dw", dw.rows(), nrow_);
  dlambda.noalias() = jacobian_ * dw;
}

// What friction does apart from du: the part of dlambda that is known, and the right-hand side of the tests.
void ContactDerivatives::friction_terms(const VectorX& dmu, VectorX& direct, VectorX& tests) const {
  direct.setZero(nrow_);
  tests.setZero(columns_);
  for (const Slide& s : slides_) {
    const int tangents = s.size - 1;
    const auto change = dmu.segment(s.row, tangents);
    const VectorX turn = u_.segment(s.row, tangents).cwiseProduct(change);
    direct.segment(s.row, tangents) = -lambda_[s.row + tangents] * s.t.cwiseProduct(change);
    tests.segment(s.column + 1, tangents - 1) = s.across.transpose() * turn;
    if (model_ == ContactModel::kCcp) tests[s.column] = -s.t.dot(turn);
  }
}

void ContactDerivatives::jvp_friction(const VectorX& dmu, VectorX& dlambda) const {
  require_size("dmu", dmu.size(), nrow_);
  VectorX direct, tests;
  friction_terms(dmu, direct, tests);
  dlambda = direct - D_ * (inverse_ * (Z_.transpose() * (G_ * direct) + tests));
}

void ContactDerivatives::vjp(const VectorX& lambda_bar, Gradients& out) const {
  require_size("lambda_bar", lambda_bar.size(), nrow_);
  const VectorX x_bar = -inverse_.transpose() * (D_.transpose() * lambda_bar);
  out.w = Z_ * x_bar;
  out.mu.setZero(nrow_);
  const VectorX direct_bar = lambda_bar + G_.transpose() * out.w;
  for (const Slide& s : slides_) {
    const int tangents = s.size - 1;
    VectorX turn_bar = s.across * x_bar.segment(s.column + 1, tangents - 1);
    if (model_ == ContactModel::kCcp) turn_bar -= s.t * x_bar[s.column];
    out.mu.segment(s.row, tangents) = u_.segment(s.row, tangents).cwiseProduct(turn_bar) -
                                      lambda_[s.row + tangents] * s.t.cwiseProduct(direct_bar.segment(s.row, tangents));
  }
}

}  // namespace touchstone
