// Equalities solved for at once: what is left is a contact problem of the other blocks alone.
//
// Problem: of the blocks of an island some are equalities (loops, springs, dampers), E, whose rows ask for
// (G lambda + g)_E = 0; the rest C are contacts, limits, friction and bounded servos. Method: the Schur complement,
//     lambda_E = -G_EE^-1 (g_E + G_EC lambda_C),   S = G_CC - G_CE G_EE^-1 G_EC,   g' = g_C - G_CE G_EE^-1 g_E,
// by one partial Cholesky factorisation of the rows E, then C, then g as a last row: it leaves S and g' in place, and
// lambda_E follows by substitution. G holds the compliance of the equalities, so that rows which say the same twice
// have positive pivots. The answer is one of the whole problem, and is certified as such. Of a walking linkage with
// 72 rows of loops and 12 of contacts a solver then iterates on 12 rows in place of 84, whose condition is that of
// contacts. Cost: a dense factorisation, once; so for islands of few rows whose equalities are a good part of them.
//
// With `least_norm` the same factor gives the impulses of minimum_norm.hpp. Hard equalities then have e W in place of
// the compliance R, so that x_1 = -(G_EE + e W)^-1 g', g' = g_E + G_EC lambda_C, is orthogonal to the null space of
// J_E' in the metric W: e W x_1 = -g' - G_EE x_1 lies in the range of J_E. x_k+1 = x_k + (G_EE + e W)^-1 e W (x_k -
// x_k-1), x_0 = 0, the proximal point method, stays there and takes e W out; once or twice is enough. In S it is left
// at first, as if loops gave way a little: feet of a stiff machine then ask for velocities, about 1e-7 of others, that
// contradict each other. refine() takes it out of S and g' to first order, by as many solves as C has rows.
#pragma once

#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/math/aligned.hpp"

namespace touchstone {

constexpr double kLeastNormShare = 1e-9;  // e, of the largest diagonal of G in metres
constexpr double kLeastNormFelt = 1e-7;   // of the largest free velocity: what choosing impulses may move

// Of a problem with a sparse dual view.
bool is_hard_equality(const ContactProblem& problem, int block);

class LoopElimination {
 public:
  static constexpr int kMostEqualities = 128, kMostOthers = 96;
  // Others for each row of equalities, above which making S costs more than it saves: of a humanoid with 6 rows of
  // couplings and 90 others half a step's time.
  static constexpr int kMostOthersOfEqual = 2;
  // Where time does not count: 0.05 s.
  static constexpr int kWidestEqualities = 512, kWidestOthers = 192;

  // Takes a problem with a symmetric sparse dual view apart. False: it has no equalities, or is too large, or a row of
  // C cannot move once the loops hold; then it is better solved whole. `wide`: whatever it takes.
  bool begin(const ContactProblem& problem, bool least_norm = false, bool wide = false);
  // S and g' without e W; after begin() with `least_norm`. False as begin().
  bool refine(const ContactProblem& problem);
  // Whether the last problem was factored.
  bool has_factor() const { return has_factor_; }
  void forget() { has_factor_ = false; }

  // The blocks C with S and g'; without blocks if all are equalities.
  const ContactProblem& rest() const { return rest_; }
  // The impulses, or velocities, of C out of those of all rows.
  void gather(const ContactProblem& problem, const VectorX& lambda, VectorX& rest) const;
  // Velocities of all rows from those of C; those of E are left as they are.
  void scatter(const ContactProblem& problem, const VectorX& rest, VectorX& u) const;
  // The impulses of all rows from those of C. False if they are not finite; with least_norm also where impulses are so
  // large that the compliance must stay: at a dead centre, or where loops contradict each other.
  bool finish(const ContactProblem& problem, const VectorX& rest, VectorX& lambda);
  bool keeps_compliance() const { return keeps_compliance_; }  // whether it was for that
  // Rows of the problem: those of E <- G_EE^-1 of them.
  void solve_equalities(const ContactProblem& problem, double* rows);

 private:
  bool choose(const ContactProblem& problem, bool wide);
  void fill(const ContactProblem& problem);
  void set_proximal(const ContactProblem& problem);
  bool build_rest(const ContactProblem& problem);
  void solve(double* x) const;
  bool correct(double limit);
  double* column(int c) { return values_.data() + static_cast<std::size_t>(c) * static_cast<std::size_t>(leading_); }

  int equal_rows_ = 0, rows_ = 0, leading_ = 0;
  std::vector<int> place_;  // nblock: first row in the dense matrix
  AlignedVector values_;    // rows E, C and g; columns `leading_` apart
  VectorX diagonal_;        // rows of C: of G
  AlignedVector inverse_;   // rows of E: of the factor's diagonal
  AlignedVector response_;  // rows of E, columns C and g: (G_EE + e W)^-1 [G_EC g_E]
  VectorX x_;               // rows of E, and of C behind them
  bool has_factor_ = false, least_norm_ = false, keeps_compliance_ = false;
  VectorX proximal_, stated_, length_, change_;  // rows of E: e W, R, lengths, x_k+1 - x_k
  ContactProblem rest_;
};

}  // namespace touchstone
