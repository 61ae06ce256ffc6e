#include "touchstone/diff/implicit_balance.hpp"

#include <algorithm>
#include <utility>

#include <Eigen/Cholesky>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"

namespace touchstone {
namespace {

Eigen::Map<RowMatrixX> as_matrix(Growing<VectorX>::View& rows) { return {rows.data(), rows.size(), 1}; }

// Calls use(first row, rows, dof, values) for each block of rows and each dof that it has.
template <typename Use>
void visit_rows(const Model& model, const Constraints& c, const AlignedVector& from, const Use& use) {
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int first = c.blocks.row[at(block)], rows = c.blocks.size(block), stride = c.stride(block);
    for (int k = constraint.first_part; k < constraint.first_part + constraint.part_count; ++k) {
      const TreePart& part = c.parts[at(k)];
      const int* dofs = c.dofs(model, part);
      for (int i = 0; i < part.count; ++i) use(first, rows, dofs[i], from.data() + part.start + at(stride * i));
    }
  }
}

}  // namespace

void fill_rows(const Model& model, const Constraints& c, const AlignedVector& from, RowMatrixRef J) {
  J.setZero();
  visit_rows(model, c, from, [&](int first, int rows, int dof, const double* values) {
    for (int r = 0; r < rows; ++r) J(first + r, dof) = values[r];
  });
}

void ImplicitBalance::begin(const Model& model, const Constraints& c, int columns) {
  fill_rows(model, c, c.J, J_.resize(c.rows(), model.nv));
  force_.set_zero(model.nv, columns);
  rows_.set_zero(c.rows(), columns);
  set_law_changes(columns, 0);
  dense_inverse_ = nullptr;
  first_velocity_ = -1;
  has_tests_ = false;
}

Growing<MatrixX>::ConstView ImplicitBalance::form_mobility(const Model& model, const Constraints& c, const VectorX& L,
                                                           const VectorX& D_inverse) {
  factor_.L = L;
  factor_.D_inverse = D_inverse;
  const Eigen::Index nrow = J_.rows();
  Growing<MatrixX>::View G = G_.resize(nrow, nrow);
  if (nrow > 0) {
    PaddedMatrix::View whitened = whitened_.set_zero(static_cast<int>(nrow), model.nv);
    visit_rows(model, c, c.Y, [&](int first, int rows, int dof, const double* values) {
      std::copy_n(values, rows, whitened.col(dof).data() + first);
    });
    G.setZero();
    product_.add_symmetric(1.0, whitened_, TileProduct::transposed(whitened_), G.data(), nrow);
  }
  return static_cast<const Growing<MatrixX>&>(G_).view();
}

void ImplicitBalance::form_inverse_rows(const Model& model) {
  View inverse_Jt = inverse_Jt_.resize(model.nv, J_.rows());
  if (J_.rows() == 0) return;
  inverse_Jt = J().transpose();
  touchstone::solve_columns(model, factor_.L, factor_.D_inverse, inverse_Jt);
}

// What rows see of impulses.
void ImplicitBalance::form_response(const Model& model, const Constraints& c, const VectorX& L,
                                    const VectorX& D_inverse) {
  if (dense_inverse_ == nullptr && !has_tests_) {
    form_mobility(model, c, L, D_inverse);
  } else {
    factor_.L = L;
    factor_.D_inverse = D_inverse;
    form_pushes(model);
    G_.resize(J_.rows(), J_.rows()).noalias() = tests() * inverse_Jt_.view();
  }
}

// A^-1 J', by whatever is the inverse of A.
void ImplicitBalance::form_pushes(const Model& model) {
  if (dense_inverse_ == nullptr) return form_inverse_rows(model);
  inverse_Jt_.resize(model.nv, J_.rows()).noalias() = *dense_inverse_ * J().transpose();
}

void ImplicitBalance::solve_mass(const Model& model, const Scope& scope, VectorX& x, bool transposed) {
  if (dense_inverse_ == nullptr) return solve(model, scope, factor_, x);
  right_ = x;
  if (transposed) {
    x.noalias() = dense_inverse_->transpose() * right_;
  } else {
    x.noalias() = *dense_inverse_ * right_;
  }
}

void ImplicitBalance::close(const Model& model, const Constraints& c, const ContactLaw& law, const VectorX& L,
                            const VectorX& D_inverse, const ConstVectorRef& lambda, const ConstVectorRef& x,
                            double share) {
  const int nrow = c.rows();
  form_response(model, c, L, D_inverse);
  Growing<MatrixX>::View G = G_.view();
  Growing<VectorX>::View u = u_.resize(nrow, 1);
  if (nrow > 0) {
    G.diagonal() += c.compliance.head(nrow);
    u.noalias() = J() * x;
    u += c.bias.head(nrow) + c.compliance.head(nrow).cwiseProduct(lambda);
  }
  contact_.prepare(c.blocks, law, G, lambda, u, share);
  laws_ = nullptr;
  has_row_system_ = false;
}

void ImplicitBalance::close_tests(const Model& model, const Constraints& c, const ContactLaw& law, const VectorX& L,
                                  const VectorX& D_inverse, const ConstVectorRef& lambda, const ConstVectorRef& u,
                                  double share) {
  form_response(model, c, L, D_inverse);
  Growing<MatrixX>::View G = G_.view();
  if (c.rows() > 0) G.diagonal() += c.compliance.head(c.rows());
  contact_.prepare(c.blocks, law, G, lambda, u, share);
  laws_ = nullptr;
  has_row_system_ = false;
}

// A = L' D L of the tree. Trees sleep as a whole, so that their rows are those of the identity.
void ImplicitBalance::add_tree_matrix(const Model& model, const std::vector<int>& asleep) {
  for (const int k : asleep) hessian_(k, k) = 1.0;
  for (int k = 0; k < model.nv; ++k) {
    if (std::binary_search(asleep.begin(), asleep.end(), k)) continue;
    const double* row = factor_.L.data() + model.row_start[at(k)];
    const int* dof = model.row_dof.data() + model.row_start[at(k)];
    const int last = model.row_length[at(k)] - 1;
    const auto entry = [&](int j) { return j == last ? 1.0 : row[j]; };
    for (int i = 0; i <= last; ++i) {
      const double scaled = entry(i) / factor_.D_inverse[k];
      for (int j = 0; j <= last; ++j) hessian_(dof[i], dof[j]) += scaled * entry(j);
    }
  }
}

// A + J' W J.
void ImplicitBalance::set_hessian(const Model& model, const std::vector<int>& asleep) {
  hessian_.setZero(model.nv, model.nv);
  add_tree_matrix(model, asleep);
  if (J_.rows() == 0) return;
  View weighted = seen_.resize(J_.rows(), model.nv);
  weighted = J();
  laws_->multiply_hessian(weighted);
  hessian_.noalias() += J().transpose() * weighted;
}

void ImplicitBalance::close_laws(const Model& model, const LawDerivatives& laws, const std::vector<int>& asleep) {
  laws_ = &laws;
  has_row_system_ = false;
  set_hessian(model, asleep);
  Eigen::Ref<RowMatrixX> matrix = hessian_;
  const Eigen::LLT<Eigen::Ref<RowMatrixX>> in_place(matrix);
}

void ImplicitBalance::close_stiff_laws(const Model& model, const LawDerivatives& laws) {
  laws_ = &laws;
  has_row_system_ = true;
  const Eigen::Index nrow = J_.rows();
  if (nrow == 0) return;
  form_pushes(model);
  row_system_.resize(nrow, nrow);
  row_system_.noalias() = tests() * inverse_Jt_.view();
  laws_->multiply_hessian(row_system_);
  row_system_.diagonal().array() += 1.0;
  row_scale_ = row_system_.cwiseAbs().rowwise().maxCoeff().cwiseInverse();
  row_system_ = row_scale_.asDiagonal() * row_system_;
  row_factor_.compute(row_system_);
}

// What impulses do about `seen`, and about changes of the laws: S^-1 (law - W seen), in the place of `seen`.
template <typename Rows, typename AddLaw>
void ImplicitBalance::answer_rows(Rows&& seen, const AddLaw& add_law) {
  laws_->multiply_hessian(seen);
  seen *= -1.0;
  add_law(seen);
  Growing<RowMatrixX>::View ordered = ordered_.resize(seen.rows(), seen.cols());
  for (Eigen::Index row = 0; row < seen.rows(); ++row) {
    ordered.row(row_factor_.permutationP().indices()[row]) = row_scale_[row] * seen.row(row);
  }
  row_factor_.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(ordered);
  row_factor_.matrixLU().triangularView<Eigen::Upper>().solveInPlace(ordered);
  seen = ordered;
}

// The transpose of S^-1 on a single row.
void ImplicitBalance::answer_transposed(Growing<VectorX>::View bar) {
  const auto factor = row_factor_.matrixLU().transpose();
  factor.triangularView<Eigen::Lower>().solveInPlace(bar);
  factor.triangularView<Eigen::UnitUpper>().solveInPlace(bar);
  Growing<RowMatrixX>::View ordered = ordered_.resize(bar.size(), 1);
  ordered.col(0) = bar;
  for (Eigen::Index row = 0; row < bar.size(); ++row) {
    bar[row] = row_scale_[row] * ordered(row_factor_.permutationP().indices()[row], 0);
  }
}

void ImplicitBalance::solve_hessian(Eigen::Ref<MatrixX> right) const {
  hessian_.triangularView<Eigen::Lower>().solveInPlace(right);
  hessian_.transpose().triangularView<Eigen::Upper>().solveInPlace(right);
}

ImplicitBalance::View ImplicitBalance::set_law_changes(int first, int count) {
  first_law_ = first;
  return law_.set_zero(J_.rows(), count);
}

// What rows see at constant x.
ImplicitBalance::View ImplicitBalance::seen_columns(const Growing<RowMatrixX>* more) {
  View seen = seen_.resize(J_.rows(), rows_.cols());
  seen = rows();
  if (more != nullptr) seen += more->view();
  if (first_velocity_ >= 0) seen.middleCols(first_velocity_, J_.cols()) += tests();
  return seen;
}

// H^-1 (force - J' W rows + J' law).
void ImplicitBalance::law_columns(const Growing<RowMatrixX>* more, MatrixX& dx) {
  dx = force();
  if (J_.rows() > 0) {
    View seen = seen_columns(more);
    laws_->multiply_hessian(seen);
    dx.noalias() -= J().transpose() * seen;
    if (law_.cols() > 0) dx.middleCols(first_law_, law_.cols()).noalias() += J().transpose() * law_.view();
  }
  solve_hessian(dx);
}

void ImplicitBalance::stiff_law_columns(const Model& model, const Growing<RowMatrixX>* more, MatrixX& dx) {
  if (dense_inverse_ != nullptr) {
    dx.noalias() = *dense_inverse_ * force();
  } else {
    View free = free_.resize(model.nv, force_.cols());
    free = force();
    touchstone::solve_columns(model, factor_.L, factor_.D_inverse, free);
    dx = free;
  }
  if (J_.rows() == 0) return;
  View seen = seen_columns(more);
  seen.noalias() += tests() * dx;
  answer_rows(seen, [&](View& impulses) {
    if (law_.cols() > 0) impulses.middleCols(first_law_, law_.cols()) += law_.view();
  });
  dx.noalias() += inverse_Jt_.view() * seen;
}

void ImplicitBalance::columns(const Model& model, const Growing<RowMatrixX>* more, MatrixX& dx) {
  if (laws_ != nullptr) return has_row_system_ ? stiff_law_columns(model, more, dx) : law_columns(more, dx);
  if (dense_inverse_ != nullptr) {
    response_.set_inverse(*dense_inverse_);
  } else {
    response_.set_inverse(model, factor_.L, factor_.D_inverse);
  }
  response_.form(contact_, J(), tests());
  dx.setZero(model.nv, force_.cols());
  response_.add_forces(std::as_const(force_).view(), dx);
  if (J_.rows() == 0) return;
  response_.add_rows(contact_, std::as_const(rows_).view(), 0, dx);
  if (more != nullptr) response_.add_rows(contact_, more->view(), 0, dx);
  if (first_velocity_ >= 0) response_.add_rows(contact_, tests(), first_velocity_, dx);
  if (law_.cols() == 0) return;
  form_pushes(model);
  dx.middleCols(first_law_, law_.cols()).noalias() += inverse_Jt_.view() * law_.view();
}

// With y = A^-1 x_bar, or that of the Hessian: impulses see J y, and answer by rows_bar.
void ImplicitBalance::reverse(const Model& model, const Scope& scope, const VectorX& x_bar, VectorX& columns_bar) {
  const bool has_hessian = laws_ != nullptr && !has_row_system_;
  solved_ = x_bar;
  has_hessian ? solve_hessian(solved_) : solve_mass(model, scope, solved_, true);
  const int nrow = static_cast<int>(J_.rows());
  Growing<VectorX>::View lambda_bar = lambda_bar_.resize(nrow, 1), rows_bar = rows_bar_.resize(nrow, 1);
  if (nrow > 0) {
    lambda_bar.noalias() = J() * solved_;
    if (has_row_system_) answer_transposed(lambda_bar);
    if (laws_ != nullptr) {
      rows_bar = -lambda_bar;
      laws_->multiply_hessian(as_matrix(rows_bar));
    } else {
      contact_.apply_transposed(lambda_bar, rows_bar);
    }
    columns_bar.noalias() += rows().transpose() * rows_bar;
    pulled_.noalias() = tests().transpose() * rows_bar;
    if (first_velocity_ >= 0) columns_bar.segment(first_velocity_, J_.cols()) += pulled_;
    if (!has_hessian) {
      solve_mass(model, scope, pulled_, true);
      solved_ += pulled_;
    }
    if (law_.cols() > 0) {
      columns_bar.segment(first_law_, law_.cols()).noalias() += law_.view().transpose() * lambda_bar;
    }
  }
  columns_bar.noalias() += force().transpose() * solved_;
}

void ImplicitBalance::forward(const Model& model, const Scope& scope, const VectorX& direction, const VectorX& more,
                              VectorX& dx) {
  const bool has_hessian = laws_ != nullptr && !has_row_system_;
  dx.noalias() = force() * direction;
  if (!has_hessian) solve_mass(model, scope, dx, false);
  const int nrow = static_cast<int>(J_.rows());
  if (nrow > 0) {
    Growing<VectorX>::View seen = rows_bar_.resize(nrow, 1), impulses = lambda_bar_.resize(nrow, 1);
    const auto add_law = [&](auto& to) {
      if (law_.cols() > 0) to.col(0).noalias() += law_.view() * direction.segment(first_law_, law_.cols());
    };
    seen.noalias() = rows() * direction;
    if (first_velocity_ >= 0) seen.noalias() += tests() * direction.segment(first_velocity_, J_.cols());
    if (more.size() > 0) seen += more.head(nrow);
    if (!has_hessian) seen.noalias() += tests() * dx;
    if (has_row_system_) {
      impulses = seen;
      answer_rows(as_matrix(impulses), add_law);
    } else if (has_hessian) {
      impulses = -seen;
      laws_->multiply_hessian(as_matrix(impulses));
      add_law(impulses);
    } else {
      contact_.apply(seen, impulses);
      add_law(impulses);
    }
    pulled_.noalias() = J().transpose() * impulses;
    if (!has_hessian) solve_mass(model, scope, pulled_, false);
    dx += pulled_;
  }
  if (has_hessian) solve_hessian(dx);
}

}  // namespace touchstone
