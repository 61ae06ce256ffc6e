// A contact problem as a linear complementarity problem w = M z + q, z >= 0, w >= 0, z'w = 0, for the pivoting methods.
//
// lambda = base + P z for all rows but equalities, which are eliminated with the pseudoinverse of their block of G. The
// variables z:
//   limit               z = lambda                                         w = u
//   contact, normal     z = lambda_n                                       w = u_n
//   contact, friction   lambda_t = sum of beta_j d_j, d_j the corners      w = d_j . u_t + gamma
//     of its polygon; z = gamma, the slip speed:                           w = lambda_n - sum of beta_j
//   box                 lambda = lo + z (or hi - z without lo)             w = +-u + gamma
//     z = gamma, if both bounds are finite                                 w = hi - lo - z
//   box without bounds  an equality
// (Stewart and Trinkle; Anitescu and Potra.) M is copositive, so Lemke's method ends at a solution; with lambda_n of
// the friction bounds held fixed it is monotone, which Dantzig's method needs.
#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/QR>

#include "touchstone/contact/dual.hpp"
#include "touchstone/solvers/lcp/pyramid.hpp"

namespace touchstone {

// Most variables of the dense methods, about 140 contacts with 4 facets: a pivot passes over 1,000 x 1,000 numbers, and
// there are thousands of pivots.
constexpr int kMaxLcpVariables = 1000;

class LcpForm {
 public:
  MatrixX M;
  VectorX q;

  int size() const { return static_cast<int>(variables_.size()); }

  // Lists the variables. More than kMaxLcpVariables: call nothing else.
  void set_structure(const DualProblem& dual, const Pyramid& pyramid);

  // Fills M and q. With `coupled` friction bounds move with the normal impulses; else they take those of `lambda`.
  void assemble(const DualProblem& dual, bool coupled, const VectorX& lambda);

  // q alone, for new friction bounds.
  void update_bounds(const VectorX& lambda);

  void impulses(const VectorX& z, VectorX& lambda) const;

 private:
  enum class Kind : std::uint8_t { kImpulse, kFrictionBound, kBoxBound };

  // A column of P has at most two entries.
  struct Variable {
    Kind kind = Kind::kImpulse;
    int row[2] = {-1, -1};
    double value[2] = {0.0, 0.0};
    int bound = -1;      // of an impulse: its gamma, if any
    int normal = -1;     // of a friction bound: the variable of lambda_n
    double range = 0.0;  // of a box bound: hi - lo
  };

  int add(const Variable& variable);
  void add_friction(const DualProblem& dual, const Pyramid& pyramid, int block, int normal);
  void add_box(const DualProblem& dual, int row);
  void eliminate_equalities(const DualProblem& dual);

  std::vector<Variable> variables_;
  std::vector<int> equality_;  // rows
  VectorX base_;               // nrow
  MatrixX G_, G_ee_, G_eo_, gain_;
  VectorX g_, offset_;
  Eigen::CompleteOrthogonalDecomposition<MatrixX> decomposition_;
};

}  // namespace touchstone
