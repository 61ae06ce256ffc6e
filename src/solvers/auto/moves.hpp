// What the stages of `auto` are made of: sweeps, Newton's method with guessed modes, paths, each from a point to a
// better one, with a count of what they cost. pipeline.cpp says in which order.
#pragma once

#include "touchstone/solvers/auto/pipeline.hpp"

namespace touchstone {

class PipelineMoves {
 protected:
  static constexpr double kModeDamping = 1e-4;  // largest epsilon of Newton with guessed modes, usually

  PipelineMoves(const PipelineSettings& settings, PipelineWorkspace& workspace, DualProblem& dual)
      : settings_(settings),
        w_(workspace),
        dual_(dual),
        counted_(workspace.system.factorizations()),
        rolls_(has_rolling(dual.blocks)) {}

  bool done() const { return w_.best_natv <= settings_.tolerance; }
  // Whether the modes are nearly right.
  bool promising() const;
  bool small() const { return w_.system.is_dense() && dual_.nrow() <= NewtonSystem::kLargestDense; }
  bool exhausted() const { return done() || w_.steps >= most_steps() || out_of_time(); }
  bool out_of_time() const { return settings_.deadline.passed() || (settings_.budget && settings_.budget->ended()); }

  // What was done since the last count; Newton steps with all factorisations that polish has added.
  void count_sweeps(int sweeps);
  void count_steps(int steps);
  // So many Newton steps, or as many as the budget has left, but one.
  int affordable(int steps) const;

  // The natv of the start, with its velocity.
  double measure_start();
  // The current point against the best. Returns its natv.
  double look();
  void sweep(int count);
  void sweep_from_best(double count);
  // While the rate says that they cost less than so many Newton steps.
  void sweep_while_cheap(double newton_steps);
  // With Anderson's acceleration, from the best point, for the cost of at most so many Newton steps. Unless patient
  // only while their rate says that this suffices.
  void sweep_accelerated(double newton_steps, bool patient);
  void try_modes(bool minimum_norm, double damping = kModeDamping);
  void try_smoothing(double barrier, int steps);
  void try_interior(double shift, int steps);
  // Through the turns at which the paths with a barrier stop.
  void try_compliance();
  // After try_interior: whether its impulses show that there is no solution.
  bool diverges();
  // A method from the current point as if it was the best. What was the best so far is, unless there is a better one.
  template <typename Method>
  void from_here(Method&& method) {
    const double before = w_.best_natv;
    w_.earlier = w_.best;
    w_.earlier_u = w_.best_u;
    w_.best_natv = kInfinity;
    look();
    method();
    if (w_.best_natv < before) return;
    w_.best_natv = before;
    w_.best = w_.earlier;
    w_.best_u = w_.earlier_u;
  }

  // A method whose point is forgotten unless it is a solution.
  template <typename Method>
  void or_forget(Method&& method) {
    const double before = w_.best_natv;
    w_.earlier = w_.best;
    w_.earlier_u = w_.best_u;
    method();
    if (done()) return;
    w_.best_natv = before;
    w_.best = w_.earlier;
    w_.best_u = w_.earlier_u;
  }

  double sweeps_of_a_step() const;
  void prepare_contacts();
  // Some contacts have torsion or rolling.
  bool rolls() const { return rolls_; }
  // For the guesses of modes: prepared, or null where no contact needs them.
  LocalContacts* local_contacts();

  const PipelineSettings& settings_;
  PipelineWorkspace& w_;
  DualProblem& dual_;

 private:
  static bool has_rolling(const Blocks& blocks);
  int most_steps() const;
  double sweep_cost() const;
  double step_cost() const;
  double newton_cost() const;

  double change_ = 0.0, rate_ = 1.0;  // of the last sweeps
  int counted_ = 0;                   // factorisations of the system
  bool rolls_ = false, contacts_ready_ = false;
};

}  // namespace touchstone
