// The contact problem of an island whose trees have long paths: equalities by elimination along the trees, in time
// linear in the number of bodies and loops, and a problem of the other rows for a solver.
//
// Problem and notation are those of loop_elimination.hpp: E are equalities, C all others. Here G is not made. For the
// equations of motion with the rows E held (dynamics/articulated_system.hpp) a solve is linear, so that
//     S = J_C Y,  Y the velocities that impulses on the rows C make where E hold,   g' = g_C + J_C (what E make of g_E)
// cost a solve for each row of C. Rows that are to be hard have a proximal term: with R = e W, W = 1/length^2, and
//     J v + R lambda_k+1 = -g + R lambda_k
// a few solves take the compliance out again, and of redundant rows find impulses of least norm in the metric W, since
// they begin at zero (minimum_norm.hpp has the same norm). Where the compliance that the problem states moves rows by
// more than can be left out, it stays: (R - stated) lambda_k on the right then.
#pragma once

#include <span>
#include <vector>

#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/problem.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/sim/constraints.hpp"

namespace touchstone {

class LongTreeSolver {
 public:
  // An island: its blocks of the constraints, its trees (ascending), and its problem without G
  // (TreeIslands::build_rows).
  struct Island {
    const Model& model;
    const Data& data;
    const VectorX& diagonal;  // nv: of A beside the inertia of bodies
    const Constraints& constraints;
    std::span<const int> blocks, trees;
    const ContactProblem& problem;
    // >= 0: impulses of hard equalities are those of least norm, and their compliance is taken out where it moves no
    // row by more than this share of the largest free velocity. -1: the problem as it is.
    double left_out = -1.0;
  };
  // Factorises, and makes the problem of C. False if a pivot is not positive.
  bool begin(const Island& island);
  // The blocks C; none if all are equalities.
  const ContactProblem& rest() const { return rest_; }
  void gather(const ContactProblem& problem, const VectorX& all, VectorX& rest) const;
  // Impulses of all rows, and the velocities that they make, from those of C. False if they are not finite.
  bool finish(const Island& island, const VectorX& rest, VectorX& lambda);
  // What finish has found: change of velocity (nv; zero on other trees), u = G lambda + g, and the residuals of that.
  const VectorX& velocity_change() const { return change_; }
  Residuals certify(const Island& island, const VectorX& lambda, CertificateWorkspace& workspace, VectorX& u) const;
  // Whether the last island was factored, unless that was forgotten.
  bool has_factor() const { return has_factor_; }
  void forget() { has_factor_ = false; }
  // Of the last island, where others do nothing: rows of E, velocities <- the impulses that make them; `velocity` (nv)
  // <- what these make of the dofs of its trees, where it was zero.
  void solve_equalities(const ContactProblem& problem, const std::vector<Motion>& S, VectorX& rows, VectorX& velocity);
  // Products that a factorisation and a solve take.
  double work() const { return system_.work(); }

 private:
  void choose(const Island& island);
  double correct(const Island& island, const VectorX& rest, const VectorX& right);
  void list_rest(const ContactProblem& problem);
  void set_column(int block, int row);
  void push_row(const Island& island, int block, int row);
  void build_rest(const Island& island);
  void add_forces(const VectorX& rest, VectorX& force) const;
  void multiply(const RowList& rows, const VectorX& v, double* rates) const;

  RowList equal_, others_;
  std::vector<int> equal_blocks_, other_blocks_;  // of the problem
  VectorX compliance_;                            // rows of E: with the proximal term
  VectorX proximal_, stated_;                     // rows of E: of it what is taken out again, and the problem's own
  VectorX wanted_, mu_, lambda_equal_;            // rows of E
  ArticulatedSystem system_, free_;               // with the rows E, and without
  VectorX change_, column_, rates_;
  VectorX diagonal_;  // rows of C: of G
  ContactProblem rest_;
  bool has_factor_ = false;
};

}  // namespace touchstone
