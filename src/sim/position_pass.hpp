// Brings violated contacts, limits and equalities back after a step: moves the configuration, not the velocity.
//
// With phi the gap (or the error f) after the step, linearised, the displacement d is the least one in the metric of A,
//     min 1/2 d' A d   subject to   J_n d >= share (-phi - slop)   for violated contacts and limits,
//                                   J_n d >= -max(0, phi)          for all others that are near,
//                                   J d = -share f                 for equalities,
// share = 1 - exp(-h / time constant), in an island where a row would move by more than recovery_speed h all the
// smaller. A little slack in every row makes it soluble whatever the rows ask for: where they contradict each other the
// sum of the squared violations that are left is the least, and it never grows. No friction, no servos: nothing holds a
// body in a place where it cannot be. It is a contact problem of NonNegative and Equality blocks on rows and a factor
// that the step has, in metres instead of metres a second, and has a certificate. Cost: nothing where nothing is
// violated; else one solve for each island with a violation.
#pragma once

#include <memory>
#include <vector>

#include "touchstone/contact/certify.hpp"
#include "touchstone/math/principal_pivoting.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/options.hpp"
#include "touchstone/solvers/solver.hpp"

namespace touchstone {

class PositionPass {
 public:
  PositionPass();

  struct Step {
    const Model& model;
    const Parameters& parameters;
    const Data& data;                // with the factor of A
    const Constraints& constraints;  // with Y
    const VectorX& v_next;
    double h;          // s
    double remaining;  // s: how long v_next acts on the configuration that the constraints were assembled at
    const StabilisationOptions& options;
  };

  // Whether anything is violated and can be moved: then displacement() is what to add to the configuration.
  bool run(const Step& step);
  const VectorX& displacement() const { return displacement_; }  // nv

  double residual() const { return residual_; }  // m: natv of the islands' problems, the worst
  // A block that asks for more than others let it have, of Step::constraints; -1: none.
  int hindered() const { return hindered_; }

 private:
  bool gather(const Step& step);
  void add_row(const Step& step, int block, int row);
  void add_rows(const Step& step, int block);
  void copy_parts(const Constraints& from, int block, int row, int rows);
  bool stiffen(const Step& step);
  void measure_rows();
  bool set_ways(const Step& step, const TreeIsland& island);
  bool pivot(const ContactProblem& problem);
  bool solve_island(const Step& step, TreeIsland& island);

  std::unique_ptr<ContactSolver> solver_;
  std::unique_ptr<SolverOptions> solver_options_;
  std::unique_ptr<SolverWorkspace> workspace_;
  PrincipalPivoting pivoting_;
  Solution solution_;
  CertificateWorkspace certificate_;
  TreeIslands islands_;
  TreeIslands::Scratch scratch_;
  Constraints rows_;           // of the pass
  std::vector<int> block_of_;  // of its blocks: the block of the step
  std::vector<double> way_;    // of its rows: the one that is asked for, 0 if none
  bool one_sided_ = false;     // a contact or limit asks for a way
  TreeFactor stiff_;           // of the metric with springs and servos
  double scale_ = 0.0;         // of the island at hand: the share of its violations that is asked for
  VectorX next_velocity_;      // of the step's rows
  VectorX lambda_, displacement_;
  double residual_ = 0.0;
  int hindered_ = -1;
};

}  // namespace touchstone
