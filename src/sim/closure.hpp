// Brings a configuration onto all loops (and limits): the position pass, evaluated anew and repeated.
//
// Problem: find q near the given one with f(q) = 0 for all loops and phi(q) >= 0 for limits, where rows may say the
// same twice, contradict each other, or have no solution near. Method: Gauss-Newton on the configuration manifold with
// Levenberg's damping (Levenberg 1944, Marquardt 1963). Each iteration is one PositionPass: the least displacement d in
// the metric A with J d = -f up to a slack mu in every row, which is d = A^-1 J' (J A^-1 J' + mu)^-1 (-f) where no
// limit takes part. mu > 0 makes redundant rows harmless; it grows a hundredfold where the sum of squared errors (in
// metres) would not fall, and falls tenfold where it does. A is the factor that the caller has put into data(): the
// mass matrix, or a plain metric of lengths; dofs whose inverse is zero there stay. Cost: rows and one solve an
// iteration; from nearby two or three. Bounded by max_iterations; never worse than the start.
//
// After a step the configuration is so near that its own rows serve again (the simplified Newton method, Ortega and
// Rheinboldt 1970, 7.1): d = -A^-1 J' (J A^-1 J')^-1 f with J, A and the factor of the step and f where the
// configuration is now. An error shrinks by what J changes in a step, a hundredth to a thousandth, at the cost of
// kinematics and substitutions. Where it does not, Gauss-Newton takes over.
#pragma once

#include <span>

#include "touchstone/sim/constraints/kind.hpp"
#include "touchstone/sim/island_solver.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/position_pass.hpp"

namespace touchstone {

struct ClosureSettings {
  double tolerance = 1e-9;  // m: largest error of a row that counts as closed; 1e-9 is the least
  int max_iterations = 100;
  double reach = 0.5;  // m: largest motion of a dof in an iteration
  bool limits = true;  // also into the limits of joints and tendons
};

struct ClosureResult {
  bool closed = false;
  int iterations = 0;
  double error = 0.0;  // m: the largest that is left
};

class LoopClosure {
 public:
  explicit LoopClosure(const Model& model);

  // Its scope and factor (L, D_inverse) are the caller's; poses are those of the last update.
  Data& data() { return data_; }

  // What is brought to a value beside the loops from now on: couplings without a second joint, whose constant is the
  // wanted displacement. Their blocks follow all others, with an index below zero.
  std::vector<Equality>& driven() { return driven_; }

  // The rows of all loops and of limits that are near, at a configuration.
  void update(const Parameters& parameters, const ReferenceWeights& weights, const State& state, bool limits);
  const Constraints& rows() const { return rows_; }
  void solve_rows();                       // their Y, with the factor in data()
  double error() const { return error_; }  // m: the largest
  double error_of(int block) const;        // m

  // The errors of loops alone, without Jacobians: error(), and kinematics in data().
  void measure(const Parameters& parameters, const ReferenceWeights& weights, const State& state);

  // A step that was solved, and by whom.
  struct Solved {
    const IslandSolver::Step& step;
    IslandSolver& solver;
  };
  // Moves state.q, which was measured, by the factors of the step; at most settings.max_iterations times. Not closed:
  // the step has no such factor, or it is too far away; use run.
  ClosureResult follow(const Solved& solved, const Parameters& parameters, const ReferenceWeights& weights,
                       const ClosureSettings& settings, State& state);

  // Moves state.q. Ends with the rows and poses at the new configuration.
  ClosureResult run(const Parameters& parameters, const ReferenceWeights& weights, const ClosureSettings& settings,
                    State& state);

 private:
  bool find_step(const Parameters& parameters, const ReferenceWeights& weights, const ClosureSettings& settings,
                 double damping);
  void add_rows(const Parameters& parameters, const ReferenceWeights& weights, const State& state, bool limits,
                ConstraintWriter::Parts parts);
  bool match(const Constraints& step);
  void correct(const Solved& solved);

  const Model& model_;
  Data data_;
  Constraints rows_;
  TreeIslands islands_;
  PositionPass pass_;
  StabilisationOptions options_;
  std::vector<Equality> driven_;
  State at_;                         // where the rows are
  VectorX no_motion_;                // at least nrow: zero
  VectorX start_;                    // nq
  std::vector<int> row_of_;          // of each block: its first row in the step
  VectorX impulses_, displacement_;  // rows of the step; nv
  double error_ = 0.0, merit_ = 0.0;
};

}  // namespace touchstone
