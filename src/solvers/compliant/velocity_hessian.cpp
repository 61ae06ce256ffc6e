#include "touchstone/solvers/compliant/velocity_hessian.hpp"

#include <algorithm>
#include <array>

namespace touchstone {
namespace {

constexpr int kSix = SmallBlockCholesky::kSize;
// Blocks filled up to six rows may have so many times the rows of the matrix.
constexpr double kMostFilled = 1.5;
// Up to so many dofs the matrix is factored as a dense one: quicker than to look for its pattern, which changes with
// contacts.
constexpr int kDenseDofs = 96;
// What is added to the diagonal of a matrix that rounding has made indefinite, relative to its largest entry.
constexpr double kShifts[] = {0.0, 1e-15, 1e-13, 1e-11};

constexpr int kContact = 3;
using Rows = Eigen::Matrix<double, kContact, kSix>;
using Six = Eigen::Matrix<double, kSix, kSix>;

// target += left' product, blocks of m rows and any columns, into a block of six.
void add_product(int m, const double* left, int left_columns, const double* product, int columns, double* target) {
  if (m == kContact && left_columns == kSix && columns == kSix) {
    Eigen::Map<Six>(target).noalias() +=
        Eigen::Map<const Rows>(left).transpose().lazyProduct(Eigen::Map<const Rows>(product));
    return;
  }
  for (int c = 0; c < columns; ++c) {
    for (int r = 0; r < left_columns; ++r) {
      double sum = 0.0;
      for (int k = 0; k < m; ++k) sum += left[r * m + k] * product[c * m + k];
      target[c * kSix + r] += sum;
    }
  }
}

// product = W right.
void weigh(int m, const double* W, const double* right, int columns, double* product) {
  if (m == kContact && columns == kSix) {
    Eigen::Map<Rows>(product).noalias() = Eigen::Map<const Matrix3>(W).lazyProduct(Eigen::Map<const Rows>(right));
    return;
  }
  for (int c = 0; c < columns; ++c) {
    for (int r = 0; r < m; ++r) {
      double sum = 0.0;
      for (int k = 0; k < m; ++k) sum += W[k * m + r] * right[c * m + k];
      product[c * m + r] = sum;
    }
  }
}

// target[a] += sum of the rows of T, n apart, with their weights.
template <int rows>
void add_rows(const double* T, int n, const double* weight, int count, double* target) {
  for (int a = 0; a < count; ++a) {
    double sum = target[a];
    for (int r = 0; r < rows; ++r) sum += T[r * n + a] * weight[r];
    target[a] = sum;
  }
}

}  // namespace

void VelocityHessian::set_pattern(const JointSpace& space, const BlockSparseMatrix& A) {
  space_ = space;
  A_ = &A;
  const int groups = A.block_rows();
  const bool fits = groups <= SmallBlockCholesky::kMostBlocks && kSix * groups <= kMostFilled * dofs();
  bool is_small = fits;
  for (int g = 0; g < groups && is_small; ++g) is_small = A.row_size(g) <= kSix;
  form_ = is_small ? Form::kBlocks : dofs() <= kDenseDofs ? Form::kDense : Form::kSparse;
  if (form_ == Form::kBlocks) set_blocks();
  if (form_ == Form::kDense) turn_jacobian();
  if (form_ == Form::kSparse) sparse_.set_pattern(space_);
}

void VelocityHessian::set_blocks() {
  const BlockSparseMatrix& J = space_.primal().J;
  blocks_.begin(A_->row_begin);
  for (int i = 0; i < A_->block_rows(); ++i) {
    for (int k = A_->start[i]; k < A_->start[i + 1]; ++k) blocks_.couple(i, A_->col[k]);
  }
  for (int i = 0; i < J.block_rows(); ++i) {
    for (int p = J.start[i]; p < J.start[i + 1]; ++p) {
      for (int q = J.start[i]; q < p; ++q) blocks_.couple(J.col[p], J.col[q]);
    }
  }
  blocks_.order();
}

// The blocks of a block row of J lie side by side: one panel, column by column. Products with it are quicker by rows.
void VelocityHessian::turn_jacobian() {
  const BlockSparseMatrix& J = space_.primal().J;
  turned_.resize(J.offset.back());
  for (int i = 0; i < J.block_rows(); ++i) {
    const int m = J.row_size(i);
    const std::size_t first = J.offset[J.start[i]];
    const auto columns = static_cast<int>((J.offset[J.start[i + 1]] - first) / static_cast<std::size_t>(m));
    for (int c = 0; c < columns; ++c) {
      for (int r = 0; r < m; ++r) turned_[first + r * columns + c] = J.values[first + c * m + r];
    }
  }
}

bool VelocityHessian::factor(const BlockDiagonal& W) {
  switch (form_) {
    case Form::kBlocks:
      return factor_blocks(W);
    case Form::kDense:
      return factor_dense(W);
    case Form::kSparse:
      return factor_sparse(W);
  }
  return false;
}

void VelocityHessian::solve(VectorX& x) {
  switch (form_) {
    case Form::kBlocks:
      return blocks_.solve(x.data());
    case Form::kDense:
      return dense_factor_.solve(x.data());
    case Form::kSparse:
      return sparse_factor_.solve(x);
  }
}

void VelocityHessian::fill_blocks(const BlockDiagonal& W) {
  const BlockSparseMatrix& J = space_.primal().J;
  blocks_.set_zero();
  for (int i = 0; i < A_->block_rows(); ++i) {
    for (int k = A_->start[i]; k < A_->start[i + 1]; ++k) {
      const int j = A_->col[k];
      if (j != i && blocks_.comes_before(i, j)) continue;
      double* target = j == i ? blocks_.diagonal(i) : blocks_.coupling(i, j);
      const double* value = A_->data(k);
      for (int c = 0; c < A_->col_size(j); ++c) {
        for (int r = 0; r < A_->row_size(i); ++r) target[c * kSix + r] += *value++;
      }
    }
  }
  double product[kMaxBlockSize * kSix];
  for (int i = 0; i < J.block_rows(); ++i) {
    const int m = J.row_size(i);
    for (int q = J.start[i]; q < J.start[i + 1]; ++q) {
      const int right = J.col[q], columns = J.col_size(right);
      weigh(m, W.data(i), J.data(q), columns, product);
      for (int p = J.start[i]; p < J.start[i + 1]; ++p) {
        const int left = J.col[p];
        if (p != q && blocks_.comes_before(left, right)) continue;
        double* target = p == q ? blocks_.diagonal(left) : blocks_.coupling(left, right);
        add_product(m, J.data(p), J.col_size(left), product, columns, target);
      }
    }
  }
}

bool VelocityHessian::factor_blocks(const BlockDiagonal& W) {
  return std::any_of(std::begin(kShifts), std::end(kShifts), [&](double shift) {
    fill_blocks(W);
    if (shift > 0.0) blocks_.shift(shift * blocks_.largest_diagonal());
    return blocks_.factorize();
  });
}

// H += J_i' W_i J_i on and below the diagonal, which is what the factor reads.
void VelocityHessian::add_dense(int i, const double* W) {
  const BlockSparseMatrix& J = space_.primal().J;
  const int m = J.row_size(i), n = dofs();
  const std::size_t first = J.offset[J.start[i]];
  const auto columns = static_cast<int>((J.offset[J.start[i + 1]] - first) / static_cast<std::size_t>(m));
  const double* T = turned_.data() + first;
  int b = 0;  // column of the panel
  for (int q = J.start[i]; q < J.start[i + 1]; ++q) {
    for (int own = J.col_begin[J.col[q]]; own < J.col_begin[J.col[q] + 1]; ++own, ++b) {
      double weight[kMaxBlockSize];
      for (int r = 0; r < m; ++r) {
        weight[r] = 0.0;
        for (int k = 0; k < m; ++k) weight[r] += W[k * m + r] * T[k * columns + b];
      }
      int a = b;  // the rest of this group, then the groups behind it
      for (int p = q; p < J.start[i + 1]; ++p) {
        const int from = p == q ? own : J.col_begin[J.col[p]], count = J.col_begin[J.col[p] + 1] - from;
        double* target = dense_.data() + static_cast<std::ptrdiff_t>(own) * n + from;
        if (m == kContact) {
          add_rows<kContact>(T + a, columns, weight, count, target);
        } else {
          for (int r = 0; r < m; ++r) add_rows<1>(T + r * columns + a, columns, weight + r, count, target);
        }
        a += count;
      }
    }
  }
}

void VelocityHessian::fill_dense(const BlockDiagonal& W) {
  const int n = dofs();
  dense_.assign(static_cast<std::size_t>(n) * static_cast<std::size_t>(n), 0.0);
  Eigen::Map<MatrixX> H(dense_.data(), n, n);
  for (int i = 0; i < A_->block_rows(); ++i) {
    for (int k = A_->start[i]; k < A_->start[i + 1]; ++k) {
      const auto block = A_->block(i, k);
      H.block(A_->row_begin[i], A_->col_begin[A_->col[k]], block.rows(), block.cols()) = block;
    }
  }
  for (int i = 0; i < space_.primal().J.block_rows(); ++i) add_dense(i, W.data(i));
}

bool VelocityHessian::factor_dense(const BlockDiagonal& W) {
  const int n = dofs();
  fill_dense(W);
  const double largest = Eigen::Map<MatrixX>(dense_.data(), n, n).diagonal().maxCoeff();
  return std::any_of(std::begin(kShifts), std::end(kShifts), [&](double shift) {
    dense_factor_.resize(n);
    for (int c = 0; c < n; ++c) {
      std::copy_n(dense_.data() + static_cast<std::ptrdiff_t>(c) * n + c, n - c, dense_factor_.column(c) + c);
      dense_factor_.column(c)[c] += shift * largest;
    }
    return dense_factor_.eliminate(n) && dense_factor_.factorize();
  });
}

bool VelocityHessian::factor_sparse(const BlockDiagonal& W) {
  sparse_.compute(space_, W);
  const BlockSparseMatrix& H = sparse_.H;
  double largest = 0.0;
  for (int i = 0; i < H.block_rows(); ++i) largest = std::max(largest, H.block(i, H.find(i, i)).diagonal().maxCoeff());
  return std::any_of(std::begin(kShifts), std::end(kShifts),
                     [&](double shift) { return sparse_factor_.factorize(H, shift * largest); });
}

}  // namespace touchstone
