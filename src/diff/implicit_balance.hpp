// A velocity x (or a displacement) that balances forces, with impulses of rows that obey laws,
//     A x = f + J' lambda,     u = J x + b + R lambda,
// differentiated by many numbers at once. The caller fills in what changes while x and lambda stay: `force` is
// d(f + J' lambda - A x), `rows` is d(J x + b). What x and lambda do about it follows here (contact_derivatives.hpp).
#pragma once

#include <Eigen/LU>

#include "touchstone/diff/balance_response.hpp"
#include "touchstone/diff/contact_derivatives.hpp"
#include "touchstone/diff/dynamics_derivatives.hpp"
#include "touchstone/diff/law_derivatives.hpp"

namespace touchstone {

// The rows of constraints as a dense matrix, nrow x nv: J, or with constraints.Y as `values` the whitened ones.
void fill_rows(const Model& model, const Constraints& constraints, const AlignedVector& values, RowMatrixRef J);

class ImplicitBalance {
 public:
  using View = Growing<RowMatrixX>::View;
  using ConstView = Growing<RowMatrixX>::ConstView;

  // Fills in J; changes are zero.
  void begin(const Model& model, const Constraints& constraints, int columns);
  View force() { return force_.view(); }  // nv x columns
  View rows() { return rows_.view(); }    // nrow x columns
  // The columns from `first` on, nv of them, are of velocities that x begins with: rows change by J there, too.
  void set_velocities(int first) { first_velocity_ = first; }
  ConstView J() const { return J_.view(); }
  // nv x nrow: A^-1 J' of the tree, after form_mobility (or close) and form_inverse_rows.
  ConstView inverse_Jt() const { return inverse_Jt_.view(); }
  void form_inverse_rows(const Model& model);
  // With the factor of A, and the rows Y that are whitened by it. `share`: as in block_mode.
  void close(const Model& model, const Constraints& constraints, const ContactLaw& law, const VectorX& L,
             const VectorX& D_inverse, const ConstVectorRef& lambda, const ConstVectorRef& x, double share);
  // The same where impulses obey compliant laws: `law_changes` are at fixed velocities. Factors the Hessian A + J' W J
  // that Newton's method on the velocities has (Castro et al. 2025, (29)); no system of the rows is formed. After
  // form_mobility; `laws` must stay. `asleep`: dofs whose factors are not known, and which nothing moves.
  void close_laws(const Model& model, const LawDerivatives& laws, const std::vector<int>& asleep);
  // The same where A has no tree factor, or rows are so nearly rigid that 1 / R in W takes the digits of A beside it.
  // With T the tests and dlambda = law - W (rows + T dx), S dlambda = law - W (rows + T A^-1 force) of the size of the
  // rows, S = 1 + W T A^-1 J', whose rows may be scaled. Nothing sleeps.
  void close_stiff_laws(const Model& model, const LawDerivatives& laws);
  // The same with what the rows see, u with R lambda, where that is not J x + b: their changes by x are `tests`.
  void close_tests(const Model& model, const Constraints& constraints, const ContactLaw& law, const VectorX& L,
                   const VectorX& D_inverse, const ConstVectorRef& lambda, const ConstVectorRef& u, double share);
  View set_tests() {  // nrow x nv, in the place of J; after begin
    has_tests_ = true;
    return tests_.set_zero(J_.rows(), J_.cols());
  }
  // The inverse of A (nv x nv) where that has no tree factor; null: it has. The caller keeps it. After begin.
  void set_inverse(const MatrixX* inverse) { dense_inverse_ = inverse; }
  // J A^-1 J' of the tree, as solvers have it.
  Growing<MatrixX>::ConstView form_mobility(const Model& model, const Constraints& constraints, const VectorX& L,
                                            const VectorX& D_inverse);
  const ContactDerivatives& contact() const { return contact_; }
  // The law of an impulse itself changes: of the columns from `first`, by dlambda at fixed data (nrow x count); of
  // compliant laws at fixed velocities.
  View set_law_changes(int first, int count);
  View law_changes() { return law_.view(); }

  // dx of all columns (nv x columns). `more` (nrow x columns), if not null: changes of rows beside `rows`.
  void columns(const Model& model, const Growing<RowMatrixX>* more, MatrixX& dx);

  // Reverse: from x_bar the gradients by all columns (added), and those by `rows` (nrow).
  void reverse(const Model& model, const Scope& scope, const VectorX& x_bar, VectorX& columns_bar);
  auto rows_bar() const { return rows_bar_.view(); }
  // Forward along one direction; `more` as above, or empty.
  void forward(const Model& model, const Scope& scope, const VectorX& direction, const VectorX& more, VectorX& dx);

 private:
  ConstView tests() const { return has_tests_ ? tests_.view() : J_.view(); }
  void solve_mass(const Model& model, const Scope& scope, VectorX& x, bool transposed);
  void law_columns(const Growing<RowMatrixX>* more, MatrixX& dx);
  void form_response(const Model& model, const Constraints& constraints, const VectorX& L, const VectorX& D_inverse);
  void form_pushes(const Model& model);
  void add_tree_matrix(const Model& model, const std::vector<int>& asleep);
  void set_hessian(const Model& model, const std::vector<int>& asleep);
  void solve_hessian(Eigen::Ref<MatrixX> right) const;
  View seen_columns(const Growing<RowMatrixX>* more);
  void stiff_law_columns(const Model& model, const Growing<RowMatrixX>* more, MatrixX& dx);
  template <typename Rows, typename AddLaw>
  void answer_rows(Rows&& seen, const AddLaw& add_law);
  void answer_transposed(Growing<VectorX>::View bar);

  Growing<RowMatrixX> tests_;
  bool has_tests_ = false;
  Growing<RowMatrixX> J_, force_, rows_, inverse_Jt_, seen_, law_;
  PaddedMatrix whitened_;  // nrow x nv
  TileProduct product_;
  BalanceResponse response_;
  Growing<MatrixX> G_;
  Growing<VectorX> u_, rows_bar_, lambda_bar_;
  VectorX solved_, pulled_;  // nv
  TreeFactor factor_;
  ContactDerivatives contact_;
  const MatrixX* dense_inverse_ = nullptr;
  const LawDerivatives* laws_ = nullptr;  // null: none
  RowMatrixX hessian_;                    // nv x nv, of laws: its Cholesky factor
  bool has_row_system_ = false;           // of stiff laws: S, its rows scaled
  RowMatrixX row_system_;
  Growing<RowMatrixX> free_;  // A^-1 force
  VectorX row_scale_, right_;
  Growing<RowMatrixX> ordered_;  // as the factor has its rows
  Eigen::PartialPivLU<RowMatrixX> row_factor_;
  int first_law_ = 0;
  int first_velocity_ = -1;  // none
};

}  // namespace touchstone
