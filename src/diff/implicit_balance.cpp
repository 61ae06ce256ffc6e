#include "touchstone/diff/implicit_balance.hpp"

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"

namespace touchstone {

void fill_jacobian(const Model& model, const Constraints& c, RowMatrixRef J) {
  J.setZero();
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const int first = c.blocks.row[at(block)], rows = c.blocks.size(block), stride = c.stride(block);
    for (int k = constraint.first_part; k < constraint.first_part + constraint.part_count; ++k) {
      const TreePart& part = c.parts[at(k)];
      const int* dofs = c.dofs(model, part);
      for (int i = part.first; i < part.count; ++i) {
        const double* values = c.J.data() + part.start + at(stride * i);
        for (int r = 0; r < rows; ++r) J(first + r, dofs[i]) = values[r];
      }
    }
  }
}

void ImplicitBalance::begin(const Model& model, const Constraints& c, int columns) {
  fill_jacobian(model, c, J_.resize(c.rows(), model.nv));
  force_.set_zero(model.nv, columns);
  rows_.set_zero(c.rows(), columns);
  set_law_changes(columns, 0);
  dense_inverse_ = nullptr;
}

Growing<MatrixX>::ConstView ImplicitBalance::form_mobility(const Model& model, const VectorX& L,
                                                           const VectorX& D_inverse) {
  factor_.L = L;
  factor_.D_inverse = D_inverse;
  const Eigen::Index nrow = J_.rows();
  View inverse_Jt = inverse_Jt_.resize(model.nv, nrow);
  Growing<MatrixX>::View G = G_.resize(nrow, nrow);
  if (nrow > 0) {
    if (dense_inverse_ != nullptr) {
      inverse_Jt.noalias() = *dense_inverse_ * J().transpose();
    } else {
      inverse_Jt = J().transpose();
      touchstone::solve_columns(model, L, D_inverse, inverse_Jt);
    }
    G.noalias() = J() * inverse_Jt;
  }
  return static_cast<const Growing<MatrixX>&>(G_).view();
}

void ImplicitBalance::close(const Model& model, const Constraints& c, const ContactLaw& law, const VectorX& L,
                            const VectorX& D_inverse, const ConstVectorRef& lambda, const ConstVectorRef& x,
                            double share) {
  const int nrow = c.rows();
  form_mobility(model, L, D_inverse);
  Growing<MatrixX>::View G = G_.view();
  Growing<VectorX>::View u = u_.resize(nrow, 1);
  if (nrow > 0) {
    G.diagonal() += c.compliance.head(nrow);
    u.noalias() = J() * x;
    u += c.bias.head(nrow) + c.compliance.head(nrow).cwiseProduct(lambda);
  }
  contact_.prepare(c.blocks, law, G, lambda, u, share);
  // Impulses of redundant rows are large where velocities are not: one product serves all directions alike.
  response_.resize(model.nv, nrow).noalias() = inverse_Jt_.view() * contact_.jacobian();
}

void ImplicitBalance::close_laws(const Model& model, const LawDerivatives& laws) {
  const Eigen::Index nrow = J_.rows();
  response_.resize(model.nv, nrow);
  if (nrow == 0) return;
  response_.view().noalias() = inverse_Jt_.view() * laws.jacobian();
  seen_.resize(nrow, law_.cols()) = law_.view();
  law_.view().noalias() = laws.settled() * seen_.view();
}

ImplicitBalance::View ImplicitBalance::set_law_changes(int first, int count) {
  first_law_ = first;
  return law_.set_zero(J_.rows(), count);
}

// dx = A^-1 (force + J' law) + response (rows + J A^-1 force): the response is A^-1 J' dlambda/dw.
void ImplicitBalance::columns(const Model& model, const Growing<RowMatrixX>* more, RowMatrixX& dx) {
  if (dense_inverse_ != nullptr) {
    dx.noalias() = *dense_inverse_ * force();
  } else {
    dx = force();
    touchstone::solve_columns(model, factor_.L, factor_.D_inverse, dx);
  }
  if (J_.rows() == 0) return;
  View seen = seen_.resize(J_.rows(), dx.cols());
  seen = rows();
  if (more != nullptr) seen += more->view();
  seen.noalias() += J() * dx;
  dx.noalias() += response_.view() * seen;
  if (law_.cols() > 0) dx.middleCols(first_law_, law_.cols()).noalias() += inverse_Jt_.view() * law_.view();
}

void ImplicitBalance::reverse(const Model& model, const Scope& scope, const VectorX& x_bar, VectorX& columns_bar) {
  solved_ = x_bar;
  const int nrow = static_cast<int>(J_.rows());
  Growing<VectorX>::View lambda_bar = lambda_bar_.resize(nrow, 1), rows_bar = rows_bar_.resize(nrow, 1);
  if (nrow > 0) {
    rows_bar.noalias() = response_.view().transpose() * x_bar;
    solved_.noalias() += J().transpose() * rows_bar;
    columns_bar.noalias() += rows().transpose() * rows_bar;
    if (law_.cols() > 0) {
      lambda_bar.noalias() = inverse_Jt_.view().transpose() * x_bar;
      columns_bar.segment(first_law_, law_.cols()).noalias() += law_.view().transpose() * lambda_bar;
    }
  }
  if (dense_inverse_ != nullptr) {
    solved_ = (dense_inverse_->transpose() * solved_).eval();
  } else {
    solve(model, scope, factor_, solved_);
  }
  columns_bar.noalias() += force().transpose() * solved_;
}

void ImplicitBalance::forward(const Model& model, const Scope& scope, const VectorX& direction, const VectorX& more,
                              VectorX& dx) {
  dx.noalias() = force() * direction;
  if (dense_inverse_ != nullptr) {
    dx = (*dense_inverse_ * dx).eval();
  } else {
    solve(model, scope, factor_, dx);
  }
  const int nrow = static_cast<int>(J_.rows());
  if (nrow == 0) return;
  Growing<VectorX>::View seen = rows_bar_.resize(nrow, 1), impulses = lambda_bar_.resize(nrow, 1);
  seen.noalias() = rows() * direction;
  if (more.size() > 0) seen += more.head(nrow);
  seen.noalias() += J() * dx;
  dx.noalias() += response_.view() * seen;
  if (law_.cols() == 0) return;
  impulses.noalias() = law_.view() * direction.segment(first_law_, law_.cols());
  dx.noalias() += inverse_Jt_.view() * impulses;
}

}  // namespace touchstone
