// Brings violated contacts, limits and equalities back after a step: moves the configuration, not the velocity.
//
// With phi the gap (or the error f) after the step, linearised, the displacement d is the least one in a metric A,
//     min 1/2 d' A d   subject to   J_n d >= share (-phi - slop)   for violated contacts and limits,
//                                   J_n d >= -max(0, phi)          for all others that are near,
//                                   J d = -f                       for equalities,
// share = 1 - exp(-t / time constant), in an island where a row would move by more than recovery_speed t all ways are
// that much shorter, t the time since the last pass: a step, or half the time constant if that is longer and no
// equality is there to drift. A little slack in every row makes it soluble whatever the rows ask for: where they
// contradict each other the sum of the squared violations that are left is the least, and it never grows. No friction
// and no forces: nothing holds a body in a place where it cannot be. It is a contact problem of NonNegative and
// Equality blocks on rows that the step has, in metres instead of metres a second, and has a certificate.
//
// A is that of the step, or M + T^2 K with all springs and servos where contacts or limits are violated. Else a robot
// in the ground would bend its light legs instead of being lifted, and jump as they stretch again. A body on a spring
// of frequency w that is lifted by x bends it by x / (T w)^2, which carries no weight as long as x < g T^2.
//
// What is not near enough to be a row can be run into. So no dof moves farther than `reach` in a step; while a pass
// moves things far, the next steps look for contacts and limits that much farther.
// Cost: a look at the gaps where nothing is violated; else one solve for each island with a violation.
#pragma once

#include <memory>
#include <vector>

#include "touchstone/contact/certify.hpp"
#include "touchstone/dynamics/data.hpp"
#include "touchstone/math/principal_pivoting.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/islands.hpp"
#include "touchstone/sim/long_tree_solver.hpp"
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
    const TreeIslands& islands;      // of them
    const VectorX& next_velocity;    // of their rows, after the step
    const VectorX& dof_length;       // m
    double time;                     // s: since the last pass
    double remaining;  // s: how long next_velocity acts on the configuration that the constraints were assembled at
    double reach;      // m: how far beyond the surfaces and limits the step has looked
    const StabilisationOptions& options;
    bool springs = true;   // count in the metric
    double damping = 1.0;  // >= 1: the slack is so many times larger (Levenberg)
  };

  // Whether anything is violated and was moved: then displacement() is what to add to the configuration.
  bool run(const Step& step);
  const VectorX& displacement() const { return displacement_; }  // nv
  double farthest() const { return farthest_; }                  // m: the largest motion of a dof

  double residual() const { return residual_; }  // m: natv of the islands' problems, the worst
  // The problem of the last pass, all islands: see TreeIslands::build_problem.
  const Constraints& rows() const { return rows_; }
  const VectorX& impulses() const { return lambda_; }  // at least nrow
  // A block that asks for more than others let it have, of Step::constraints; -1: none.
  int hindered() const { return hindered_; }

 private:
  // What belongs to one island, by number.
  struct Work {
    PrincipalPivoting pivoting;
    std::vector<int> row;           // of the island's rows: that of the pass
    std::vector<char> is_equality;  // of the same
    std::vector<double> bias, lambda, length;
    std::unique_ptr<SolverWorkspace> workspace;  // of solver_, if it was needed
    Solution solution;
    CertificateWorkspace certificate;
    LongTreeSolver long_trees;
    VectorX all, u;  // of its rows, where paths are long
  };

  double gap(const Step& step, int row) const;
  bool asks(const Step& step, int block) const;
  bool gather(const Step& step);
  double find_asking(const Step& step, const std::vector<int>& blocks);
  void add_block(const Step& step, int block, double far);
  void add_row(const Step& step, int block, int row);
  void add_rows(const Step& step, int block);
  void copy_parts(const Constraints& from, int block, int row, int rows);
  bool stiffen(const Step& step);
  void measure_rows(const Step& step);
  bool set_ways(const Step& step, const TreeIsland& island);
  void build_dense(const Step& step, const TreeIsland& island, Work& work);
  bool pivot(const Step& step, const TreeIsland& island, Work& work);
  bool solve_by_default(const TreeIsland& island, Work& work);
  bool solve_long_trees(const Step& step, int island, const VectorX& diagonal, Work& work);
  bool solve_island(const Step& step, int island, bool is_stiff, Work& work);
  void limit_motion(const Step& step);

  std::unique_ptr<ContactSolver> solver_;  // of large islands
  std::unique_ptr<SolverOptions> solver_options_;
  std::vector<std::unique_ptr<Work>> work_;
  TreeIslands islands_;
  TreeIslands::Scratch scratch_;
  std::vector<char> asks_;        // of the step's blocks: whether one asks for a way
  Constraints rows_;              // of the pass
  std::vector<int> tree_offset_;  // ntree: where the dofs of a tree are in a packed row
  AlignedVector packed_;          // rows of Y of an island, densely
  std::vector<int> block_of_;     // of its blocks: the block of the step
  std::vector<double> way_;       // of its rows: the one that is asked for, 0 if none
  std::vector<double> share_;     // of the same: that of the violation
  double longest_ = 0.0;          // m: way that a contact or limit asks for
  TreeFactor stiff_;              // of the metric with springs and servos
  VectorX stiff_diagonal_;        // the same where paths are long
  VectorX lambda_, displacement_;
  double residual_ = 0.0, farthest_ = 0.0;
  int hindered_ = -1;
};

}  // namespace touchstone
