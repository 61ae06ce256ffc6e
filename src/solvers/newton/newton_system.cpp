#include "touchstone/solvers/newton/newton_system.hpp"

#include <cmath>
#include <limits>

#include <Eigen/LU>

namespace touchstone {
namespace {

constexpr int kSmallest = 24;            // rows: below, nothing is cheaper than a dense matrix
constexpr double kFullShare = 0.15;      // of entries that are not empty, above which a small matrix counts as dense
constexpr double kWorthJoint = 0.7;      // share of the factorisation's cost below which joint space is worth it
constexpr int kMostRefinements = 6;      // of one solution in joint space
constexpr double kRefined = 1e-12;       // relative residual at which refinement ends
constexpr double kAcceptable = 1e-6;     // relative residual that a Newton step can still use
constexpr double kLeastProgress = 0.25;  // of the residual, from refinement to refinement

using SmallMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMaxBlockSize, kMaxBlockSize>;

double cost_of(const BlockSparseSymbolic& symbolic) {
  double sum = 0.0;
  for (const BlockSparseSymbolic::Supernode& node : symbolic.supernodes)
    sum += static_cast<double>(node.pivots) * node.size * node.size;
  return sum;
}

bool is_small_and_full(const DualProblem& dual) {
  const double n = dual.nrow();
  if (n > NewtonSystem::kLargestDense) return false;
  return n <= kSmallest || static_cast<double>(dual.G.values.size()) >= kFullShare * n * n;
}

// y += B x, block by block.
void add_product(const DualProblem& dual, const BlockDiagonal& B, const VectorX& x, VectorX& y) {
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i], m = dual.blocks.size(i);
    const double* block = B.data(i);
    for (int c = 0; c < m; ++c) {
      for (int k = 0; k < m; ++k) y[r + k] += block[c * m + k] * x[r + c];
    }
  }
}

}  // namespace

void NewtonSystem::prepare(const DualProblem& dual, const JointSpace& space) {
  dual_ = &dual;
  Lambda.set_partition(dual.blocks.row);
  space_ = {};
  is_dense_ = is_small_and_full(dual);
  if (!space.available() || dual.nrow() <= kLargestDense || space.dofs() >= dual.nrow()) return;
  if (!space.problem->has_primal()) space.source->add_primal();
  hessian_.set_pattern(space);
  if (!is_joint_space_cheaper()) return;
  space_ = space;
  inverse_.set_partition(dual.blocks.row);
  weight_.set_partition(dual.blocks.row);
  scale_ = (dual.lambda_scale.array() / dual.u_scale.array()).sqrt();
}

bool NewtonSystem::is_joint_space_cheaper() {
  lu_.analyze(dual_->G);
  joint_lu_.analyze(hessian_.H);
  return cost_of(joint_lu_.symbolic()) < kWorthJoint * cost_of(lu_.symbolic());
}

double NewtonSystem::cost() const {
  if (is_dense_) return std::pow(dense_.size(), 3) / 3.0;
  return cost_of(in_joint_space() ? joint_lu_.symbolic() : lu_.symbolic());
}

bool NewtonSystem::factorize() {
  if (in_joint_space()) {
    ++factorizations_;
    if (factorize_joint()) return true;
    space_ = {};
  }
  if (is_dense_) order_moving();
  for (double shift = kFloor; shift < 1e-6; shift *= 1e3) {
    ++factorizations_;
    if (is_dense_ ? factorize_dense(shift) : lu_.factorize(dual_->G, shift, &Lambda)) return true;
  }
  return false;
}

void NewtonSystem::solve(VectorX& x) {
  if (is_dense_) {
    solve_dense(x);
    return;
  }
  if (!in_joint_space()) {
    lu_.solve(x);
    return;
  }
  rhs_ = x;
  solve_joint(x);
  if (refine_joint(x)) return;
  space_ = {};  // joint space is not accurate enough here
  x = rhs_;
  if (factorize()) lu_.solve(x);
}

// --- Small ---

// Which rows move, those of symmetric blocks first.
void NewtonSystem::order_moving() {
  const auto is_symmetric = [&](int i) {
    const int m = dual_->blocks.size(i);
    const double* block = Lambda.data(i);
    for (int c = 0; c < m; ++c) {
      for (int r = 0; r < c; ++r) {
        if (block[c * m + r] != block[r * m + c]) return false;
      }
    }
    return true;
  };
  moving_.clear();
  position_.assign(static_cast<std::size_t>(dual_->nrow()), -1);
  symmetric_.resize(static_cast<std::size_t>(dual_->nblock()));
  for (int i = 0; i < dual_->nblock(); ++i) symmetric_[i] = dual_->symmetric && is_symmetric(i) ? 1 : 0;
  for (const char wanted : {1, 0}) {
    for (int i = 0; i < dual_->nblock(); ++i) {
      if (symmetric_[i] != wanted) continue;
      const int r = dual_->blocks.row[i], m = dual_->blocks.size(i);
      const double* block = Lambda.data(i);
      for (int k = 0; k < m; ++k) {
        if (block[k * (m + 1)] >= kFixed) continue;
        position_[r + k] = static_cast<int>(moving_.size());
        moving_.push_back({r + k, i});
      }
    }
    if (wanted == 1) symmetric_rows_ = static_cast<int>(moving_.size());
  }
}

// The rows of G that move, row by row; of a symmetric G only the entries on and below the diagonal.
void NewtonSystem::fill_dense(bool lower, double shift) {
  const BlockSparseMatrix& G = dual_->G;
  const int n = static_cast<int>(moving_.size());
  dense_.resize(n);
  for (int k = 0; k < n; ++k) {
    const auto [row, i] = moving_[k];
    const int m = dual_->blocks.size(i), own = row - dual_->blocks.row[i];
    // Symmetric: the entries of this row are those of column k.
    const auto entry = [&](int other) -> double& { return lower ? dense_.column(k)[other] : dense_.column(other)[k]; };
    if (G.start[i + 1] - G.start[i] == dual_->nblock()) {  // a full row is one panel
      const double* panel = G.data(G.start[i]) + own;
      for (int other = lower ? k : 0; other < n; ++other) entry(other) = panel[m * moving_[other].row];
    } else {
      for (int other = lower ? k : 0; other < n; ++other) entry(other) = 0.0;
      for (int e = G.start[i]; e < G.start[i + 1]; ++e) {
        const int j = G.col[e], first = dual_->blocks.row[j], width = dual_->blocks.size(j);
        for (int c = 0; c < width; ++c) {
          const int other = position_[first + c];
          if (other >= (lower ? k : 0)) entry(other) = G.data(e)[c * m + own];
        }
      }
    }
    dense_.column(k)[k] += shift;
  }
}

// Adds Lambda of the rows [first, end).
void NewtonSystem::add_lambda(int first, int end) {
  for (int k = first; k < end; ++k) {
    const auto [row, i] = moving_[k];
    const int r = dual_->blocks.row[i], m = dual_->blocks.size(i);
    for (int c = 0; c < m; ++c) {
      if (position_[r + c] >= 0) dense_.column(position_[r + c])[k] += Lambda.data(i)[c * m + row - r];
    }
  }
}

bool NewtonSystem::factorize_dense(double shift) {
  const int n = static_cast<int>(moving_.size());
  if (symmetric_rows_ > 0) {
    fill_dense(true, shift);
    add_lambda(0, symmetric_rows_);
    if (dense_.eliminate(symmetric_rows_)) {
      add_lambda(symmetric_rows_, n);
      return dense_.factorize();
    }
  }
  fill_dense(false, shift);
  add_lambda(0, n);
  return dense_.factorize();
}

void NewtonSystem::solve_dense(VectorX& x) {
  gather_.resize(moving_.size());
  for (std::size_t k = 0; k < moving_.size(); ++k) gather_[k] = x[moving_[k].row];
  dense_.solve(gather_.data());
  x.setZero();
  for (std::size_t k = 0; k < moving_.size(); ++k) x[moving_[k].row] = gather_[k];
}

// --- Joint space ---

bool NewtonSystem::factorize_joint() {
  const VectorX& R = space_.problem->R;
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = dual_->blocks.row[i], m = dual_->blocks.size(i);
    const int given = space_.problem->blocks.row[space_.block(i)];
    SmallMatrix block = Eigen::Map<const MatrixX>(Lambda.data(i), m, m);
    for (int k = 0; k < m; ++k)
      block(k, k) += kFloor + (R.size() > 0 ? R[given + k] * scale_[r + k] * scale_[r + k] : 0.0);
    Eigen::Map<MatrixX> inverse(inverse_.data(i), m, m);
    inverse = Eigen::PartialPivLU<SmallMatrix>(block).inverse();
    if (!inverse.allFinite()) return false;
    const auto scale = scale_.segment(r, m).asDiagonal();
    Eigen::Map<MatrixX>(weight_.data(i), m, m) = scale * inverse * scale;
  }
  hessian_.compute(space_, weight_);
  return joint_lu_.factorize(hessian_.H);
}

// x <- W (x - J H^-1 J' W x), all scaled.
void NewtonSystem::solve_joint(VectorX& x) {
  const BlockSparseMatrix& J = space_.problem->primal.J;
  residual_.setZero(x.size());
  add_product(*dual_, inverse_, x, residual_);
  velocity_.setZero(J.cols());
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = dual_->blocks.row[i], m = dual_->blocks.size(i), given = space_.block(i);
    double impulse[kMaxBlockSize];
    for (int k = 0; k < m; ++k) impulse[k] = scale_[r + k] * residual_[r + k];
    J.add_row_transpose_product(given, impulse, velocity_.data());
  }
  joint_lu_.solve(velocity_);
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = dual_->blocks.row[i], m = dual_->blocks.size(i);
    double change[kMaxBlockSize] = {};
    J.add_row_product(space_.block(i), velocity_.data(), change);
    for (int k = 0; k < m; ++k) residual_[r + k] = x[r + k] - scale_[r + k] * change[k];
  }
  x.setZero();
  add_product(*dual_, inverse_, residual_, x);
}

// Returns whether x solves the system of rhs_ well enough.
bool NewtonSystem::refine_joint(VectorX& x) {
  const double size = rhs_.lpNorm<Eigen::Infinity>();
  double before = std::numeric_limits<double>::infinity();
  for (int k = 0;; ++k) {
    change_.setZero(x.size());
    dual_->G.multiply(x.data(), change_.data());
    add_product(*dual_, Lambda, x, change_);
    change_ = rhs_ - change_;
    const double error = change_.lpNorm<Eigen::Infinity>();
    if (error <= kRefined * size) return true;
    if (k == kMostRefinements || !(error <= kLeastProgress * before)) return error <= kAcceptable * size;
    before = error;
    solve_joint(change_);
    x += change_;
  }
}

}  // namespace touchstone
