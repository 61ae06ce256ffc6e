#include "touchstone/solvers/newton/joint_system.hpp"

#include <cmath>
#include <limits>

#include <Eigen/LU>

namespace touchstone {
namespace {

constexpr int kMostRefinements = 6;      // of one solution
constexpr double kRefined = 1e-12;       // relative residual at which refinement ends
constexpr double kAcceptable = 1e-6;     // relative residual that a Newton step can still use
constexpr double kLeastProgress = 0.25;  // of the residual, from refinement to refinement

using SmallMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMaxBlockSize, kMaxBlockSize>;
using SmallVector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kMaxBlockSize, 1>;
using SmallMap = Eigen::Map<const VectorX>;

// y += B x of one block of m rows, column by column.
void add_block_product(const double* B, int m, const double* x, double* y) {
  for (int c = 0; c < m; ++c) {
    for (int k = 0; k < m; ++k) y[k] += B[c * m + k] * x[c];
  }
}

}  // namespace

void JointSystem::prepare(const DualProblem& dual, const JointSpace& space) {
  dual_ = &dual;
  space_ = space;
  primal_ = &space.primal();
  hessian_.set_pattern(space);
  lu_.analyze(hessian_.H);
  inverse_.set_partition(dual.blocks.row);
  weight_.set_partition(dual.blocks.row);
  measure_.resize(dual.nrow());
  scale_ = (dual.lambda_scale.array() / dual.u_scale.array()).sqrt();
}

// W of a block: the inverse of Lambda + R, for a held one on the plane across'x = 0.
void JointSystem::set_weights(int i, const HeldBlock* held) {
  const VectorX& R = space_.problem->R;
  const int r = dual_->blocks.row[i], m = dual_->blocks.size(i);
  const int given = space_.problem->blocks.row[space_.block(i)];
  SmallMatrix block = Eigen::Map<const MatrixX>(held != nullptr ? held->loose : Lambda_->data(i), m, m);
  for (int k = 0; k < m; ++k)
    block(k, k) += kFloor + (R.size() > 0 ? R[given + k] * scale_[r + k] * scale_[r + k] : 0.0);
  // Where Lambda is large a residual counts as the error in x that it stands for: the product Lambda x has no more
  // digits than that.
  for (int k = 0; k < m; ++k) measure_[r + k] = 1.0 / (1.0 + std::abs(block(k, k)));
  Eigen::Map<MatrixX> inverse(inverse_.data(i), m, m);
  inverse = Eigen::PartialPivLU<SmallMatrix>(block).inverse();
  if (held != nullptr) {
    const SmallVector to = inverse * SmallMap(held->along, m);
    const SmallVector from = inverse.transpose() * SmallMap(held->across, m);
    const double both = SmallMap(held->across, m).dot(to);
    inverse -= to * (from.transpose() / both);
  }
  const auto scale = scale_.segment(r, m).asDiagonal();
  Eigen::Map<MatrixX>(weight_.data(i), m, m) = scale * inverse * scale;
}

bool JointSystem::factorize(const BlockDiagonal& Lambda, std::span<const HeldBlock> held) {
  Lambda_ = &Lambda;
  held_ = held;
  const HeldBlock* next = held.data();
  const HeldBlock* end = next + held.size();
  for (int i = 0; i < dual_->nblock(); ++i) {
    const bool is_held = next != end && next->block == i;
    set_weights(i, is_held ? next++ : nullptr);
    const int m = dual_->blocks.size(i);
    if (!Eigen::Map<const MatrixX>(inverse_.data(i), m, m).allFinite()) return false;
  }
  hessian_.compute(space_, weight_);
  return lu_.factorize(hessian_.H);
}

bool JointSystem::solve(VectorX& x) {
  rhs_ = x;
  solve_once(x);
  if (refine(x)) return true;
  x = rhs_;
  return false;
}

// x <- W (x - J H^-1 J' W x), all scaled.
void JointSystem::solve_once(VectorX& x) {
  const BlockSparseMatrix& J = primal_->J;
  velocity_.setZero(J.cols());
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = dual_->blocks.row[i], m = dual_->blocks.size(i);
    double impulse[kMaxBlockSize] = {};
    add_block_product(inverse_.data(i), m, &x[r], impulse);
    for (int k = 0; k < m; ++k) impulse[k] *= scale_[r + k];
    J.add_row_transpose_product(space_.block(i), impulse, velocity_.data());
  }
  lu_.solve(velocity_);
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = dual_->blocks.row[i], m = dual_->blocks.size(i);
    double change[kMaxBlockSize] = {};
    J.add_row_product(space_.block(i), velocity_.data(), change);
    for (int k = 0; k < m; ++k) change[k] = x[r + k] - scale_[r + k] * change[k];
    for (int k = 0; k < m; ++k) x[r + k] = 0.0;
    add_block_product(inverse_.data(i), m, change, &x[r]);
  }
}

// residual_ = rhs_ - (G + Lambda) x; of held blocks what no force along `along` can balance.
void JointSystem::compute_residual(const VectorX& x) {
  residual_.setZero(x.size());
  dual_->G.multiply(x.data(), residual_.data());
  const HeldBlock* next = held_.data();
  const HeldBlock* end = next + held_.size();
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = dual_->blocks.row[i], m = dual_->blocks.size(i);
    const bool is_held = next != end && next->block == i;
    const double* own = is_held ? next->loose : Lambda_->data(i);
    add_block_product(own, m, &x[r], &residual_[r]);
    auto rows = residual_.segment(r, m);
    rows = rhs_.segment(r, m) - rows;
    if (is_held) {
      const SmallMap along(next->along, m);
      rows -= along * (along.dot(rows) / along.squaredNorm());
      ++next;
    }
  }
}

// The largest entry as it counts. NaN wins.
double JointSystem::measure(const VectorX& rows) const {
  return rows.cwiseProduct(measure_).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

// Returns whether x solves the system of rhs_ well enough.
bool JointSystem::refine(VectorX& x) {
  const double size = measure(rhs_);
  double before = std::numeric_limits<double>::infinity();
  for (int k = 0;; ++k) {
    compute_residual(x);
    const double error = measure(residual_);
    if (error <= kRefined * size) return true;
    if (k == kMostRefinements || !(error <= kLeastProgress * before)) return error <= kAcceptable * size;
    before = error;
    change_ = residual_;
    solve_once(change_);
    x += change_;
  }
}

}  // namespace touchstone
