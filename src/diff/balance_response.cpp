#include "touchstone/diff/balance_response.hpp"

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

TileProduct::Right transposed(const Growing<RowMatrixX>& rows) {
  return {rows.view().data(), static_cast<int>(rows.cols()), static_cast<int>(rows.rows()), 1, rows.cols()};
}

}  // namespace

// L A^-1 = D^-1 L^-T, whose entries before the diagonal are zero: from the root to the leaves, a column from those of
// the dofs before it on its path.
void form_inverse(const Model& model, const VectorX& L, const VectorX& D_inverse, PaddedMatrix& inverse) {
  inverse.set_zero(model.nv, model.nv);
  for (int k = 0; k < model.nv; ++k) {
    const double* row = L.data() + model.row_start[at(k)];
    const int* dof = model.row_dof.data() + model.row_start[at(k)];
    const int before = model.row_length[at(k)] - 1, first = dof[0];
    double* __restrict own = inverse.col(k);
    for (int j = 0; j < before; ++j) {
      const double* other = inverse.col(dof[j]);
      for (int i = first; i < k; ++i) own[i] -= row[j] * other[i];
    }
    double diagonal = D_inverse[k];
    for (int j = 0; j < before; ++j) diagonal -= row[j] * own[dof[j]];
    own[k] = diagonal;
    for (int i = first; i < k; ++i) inverse.col(i)[k] = own[i];
  }
}

void BalanceResponse::set_inverse(const Model& model, const VectorX& L, const VectorX& D_inverse) {
  is_symmetric_ = true;
  form_inverse(model, L, D_inverse, P_);
}

void BalanceResponse::set_inverse(const MatrixX& inverse) {
  is_symmetric_ = false;
  const auto n = static_cast<int>(inverse.rows());
  P_.resize(n, n) = inverse;
  P_transposed_.resize(n, n) = inverse.transpose();
}

// K^-1 = R W L' of the contacts' system with diagonal W, so that Q = -(A^-1 J' D R) W L', P = A^-1 - (..) W (A^-T J' Z
// L)'. Both brackets are the same for most.
void BalanceResponse::form(const ContactDerivatives& contact, const Rows& J, const Rows& seen) {
  const int nv = P_.rows(), n = contact.unknowns();
  Q_.set_zero(nv, n);
  if (n == 0) return;
  const bool is_symmetric = is_symmetric_ && contact.is_symmetric() && J.data() == seen.data();
  contact.form_split(left_, right_, weights_);
  const int rank = left_.cols();
  const auto multiply = [&](const PaddedMatrix& inverse, const PaddedMatrix& part, PaddedMatrix& out) {
    solved_.set_zero(nv, n);
    product_.add(1.0, inverse, transposed(unknown_rows_), solved_);
    out.set_zero(nv, rank);
    product_.add(1.0, solved_, TileProduct::plain(part), out);
  };
  contact.motions_of(J, unknown_rows_.resize(n, nv));
  multiply(P_, contact.is_symmetric() ? left_ : right_, moves_);
  if (is_symmetric) {
    sees_.resize(nv, rank) = moves_.view();
  } else {
    contact.tests_of(seen, unknown_rows_.resize(n, nv));
    multiply(is_symmetric_ ? P_ : P_transposed_, left_, sees_);
  }
  moves_.view().array().rowwise() *= weights_.view().transpose().array();
  product_.add(-1.0, moves_, TileProduct::transposed(left_), Q_);
  if (is_symmetric) {
    product_.add_symmetric(-1.0, moves_, TileProduct::transposed(sees_), P_);
  } else {
    product_.add(-1.0, moves_, TileProduct::transposed(sees_), P_);
  }
}

void BalanceResponse::add_forces(const Rows& force, MatrixX& dx) {
  product_.add(1.0, P_, TileProduct::by_rows(force), dx.data(), dx.outerStride());
}

void BalanceResponse::add_rows(const ContactDerivatives& contact, const Rows& rows, int first, MatrixX& dx) {
  if (contact.unknowns() == 0) return;
  contact.tests_of(rows, unknown_rows_.resize(contact.unknowns(), rows.cols()));
  const Growing<RowMatrixX>::View tests = unknown_rows_.view();
  product_.add(1.0, Q_, TileProduct::by_rows(tests), dx.data() + first * dx.outerStride(), dx.outerStride());
}

}  // namespace touchstone
