// What a balance (implicit_balance.hpp) answers to changes, as two matrices: with the tests Z' of its contacts
//     dx = P df + Q Z' dw,     Q = -A^-1 J' D K^-1,     P = A^-1 + Q Z' J A^-1
// P has all of the mobility that contacts leave, so that many columns cost one product each, and products leave out
// what is zero in columns of forces and rows: dofs that are on other branches of the tree (math/tile_product.hpp).
#pragma once

#include "touchstone/diff/contact_derivatives.hpp"
#include "touchstone/diff/dynamics_derivatives.hpp"
#include "touchstone/math/tile_product.hpp"

namespace touchstone {

class BalanceResponse {
 public:
  using Rows = Growing<RowMatrixX>::ConstView;

  // A^-1: of its tree factor, or given (nv x nv, of any kind).
  void set_inverse(const Model& model, const VectorX& L, const VectorX& D_inverse);
  void set_inverse(const MatrixX& inverse);
  // After set_inverse. J: the rows by which impulses push; `seen`: those by which they see x, the same for most.
  void form(const ContactDerivatives& contact, const Rows& J, const Rows& seen);

  // dx (nv x columns) += P force; += Q Z' rows, for the columns from `first` on.
  void add_forces(const Rows& force, MatrixX& dx);
  void add_rows(const ContactDerivatives& contact, const Rows& rows, int first, MatrixX& dx);

 private:
  PaddedMatrix P_, P_transposed_, Q_;
  bool is_symmetric_ = true;                           // A
  PaddedMatrix solved_, left_, right_, moves_, sees_;  // nv x unknowns; of K^-1; nv x rank: A^-1 J' D .., A^-T J' Z ..
  Growing<VectorX> weights_;
  Growing<RowMatrixX> unknown_rows_;  // unknowns x columns
  TileProduct product_;
};

// A^-1 of a tree, from its factor.
void form_inverse(const Model& model, const VectorX& L, const VectorX& D_inverse, PaddedMatrix& inverse);

}  // namespace touchstone
