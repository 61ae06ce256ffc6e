// Islands: groups of kinematic trees joined by constraints. What is in one island cannot feel another, so each is a
// contact problem of its own.
//
// Method: union-find over trees; the smaller number wins, so that islands are numbered by their smallest tree, whatever
// the order of the constraints.
#pragma once

#include <memory>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/sim/constraints.hpp"

namespace touchstone {

struct Island {
  std::vector<int> blocks;  // in Constraints::list, ascending
  ContactProblem problem;   // of these blocks, dual view; primal.R says what part of G is compliance
};

class Islands {
 public:
  // Groups the constraints. With `separate` false all of them are one island.
  void find(const Model& model, const Constraints& constraints, bool separate = true);
  int count() const { return count_; }
  Island& operator[](int i) { return *islands_[static_cast<std::size_t>(i)]; }
  const Island& operator[](int i) const { return *islands_[static_cast<std::size_t>(i)]; }

  // The problem of one island: G = Y' Y + R and g = J v_free + b. Needs solve_constraint_rows. May run for different
  // islands in different threads, each with a scratch of its own.
  struct Scratch {
    std::vector<int> first_use;                     // ntree + 1
    std::vector<std::pair<int, std::size_t>> uses;  // (local block, start in Y) by tree
    std::vector<int> trees;
    std::vector<int> neighbours;
  };
  void build_problem(int island, const Model& model, const Constraints& constraints, double h, Scratch& scratch);

 private:
  int root(int tree);

  std::vector<int> parent_;     // ntree
  std::vector<int> island_of_;  // ntree
  std::vector<std::unique_ptr<Island>> islands_;
  int count_ = 0;
};

}  // namespace touchstone
