// Islands: groups of kinematic trees joined by constraints. What is in one island cannot feel another, so each is a
// contact problem of its own.
//
// Method: union-find over trees; the smaller number wins, so that islands are numbered by their smallest tree, whatever
// the order of the constraints. Costs of an island are those of its own constraints, so that a thousand bodies that
// rest each by itself are no more than a thousand small problems.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "touchstone/contact/problem.hpp"
#include "touchstone/math/aligned.hpp"
#include "touchstone/math/union_find.hpp"
#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/tree_inertia.hpp"

namespace touchstone {

struct TreeIsland {
  std::vector<int> blocks;               // in Constraints::list, ascending
  std::vector<int> left_out;             // blocks that are not in the problem, ascending
  std::vector<int> trees;                // with constraints in its problem, ascending
  ContactProblem problem;                // of these blocks, the dual view
  PrimalData primal;                     // of the same step, after build_primal
  std::shared_ptr<TreeInertia> inertia;  // of the primal view
  // For each block its size, its number of trees and these: what the pattern of G follows from.
  std::vector<int> joined;

  int dofs(const Model& model) const;
};

class TreeIslands {
 public:
  // Groups the constraints. With `separate` false all of them are one island. `left_out` (nblock, or empty): 1 for
  // constraints that join trees but are in no problem.
  void find(const Model& model, const Constraints& constraints, bool separate = true,
            std::span<const char> left_out = {});
  int count() const { return count_; }
  TreeIsland& operator[](int i) { return *islands_[static_cast<std::size_t>(i)]; }
  const TreeIsland& operator[](int i) const { return *islands_[static_cast<std::size_t>(i)]; }

  // Memory for build_problem and build_primal: one for each thread.
  struct Scratch {
    std::vector<int> neighbours;
    // Of one tree: rows, first row of each use, the rows of Y packed dof by dof, dofs that strips of them move and
    // those of paths (bits, so many words each), where the rows begin that two strips move, products.
    int rows = 0, words = 0;
    std::vector<int> use_row;
    AlignedVector packed;
    std::vector<std::uint64_t> moves, paths;
    std::vector<int> starts;
    AlignedVector products;
    VectorX whitened;  // nv: Y lambda of an island
  };
  // Numbers in G that may be made: 1.3 GB of memory, and about as much again for a factor. One tree has G for all pairs
  // of its rows, so that is 12,649 rows on one.
  static constexpr double kMostEntries = 1.6e8;
  // Whether the G of an island is below that.
  bool fits(int island, const Constraints& constraints) const;
  // The same of a dense G of all rows that are no equalities (long_tree_solver.hpp).
  bool fits_without_equalities(int island, const Constraints& constraints) const;
  // The problem of one island: G = Y' Y + R and g = J v_free + b. Needs solve_constraint_rows. May run for different
  // islands in different threads, each with a scratch of its own.
  void build_problem(int island, const Model& model, const Constraints& constraints, double h, Scratch& scratch);
  // The same in two parts: all but G, and G.
  void build_rows(int island, const Constraints& constraints, double h);
  void build_matrix(int island, const Model& model, const Constraints& constraints, Scratch& scratch);
  // The primal view of a problem that is built: J, v_free and A with its factor in data. It belongs to the island and
  // is not put into the problem, where solvers would serve it too. Copies that were made of an earlier one stay as they
  // are. `velocity` (nv of the model): what solvers may start from.
  const PrimalData& build_primal(int island, const Model& model, const Data& data, const Constraints& constraints,
                                 Scratch& scratch, const VectorX* velocity = nullptr);

 private:
  // A block on a tree.
  struct Use {
    int block = 0;  // number within its island
    int part = 0;   // in Constraints::parts
  };
  std::size_t first_use(int tree) const { return first_use_[static_cast<std::size_t>(tree)]; }

  void find_groups(const Model& model, const Constraints& constraints, const TreeIsland& island, int block,
                   std::vector<int>& groups) const;
  void index_uses(const Model& model, const Constraints& constraints, std::span<const char> left_out);
  void set_pattern(const Constraints& constraints, TreeIsland& island, Scratch& scratch) const;
  static bool keeps_pattern(const Constraints& constraints, TreeIsland& island);
  void build_jacobian(const Model& model, const Constraints& constraints, TreeIsland& island, Scratch& scratch) const;
  int pack_rows(const Model& model, const Constraints& constraints, const TreeIsland& island, int tree,
                Scratch& scratch) const;
  void spread_products(const Constraints& constraints, TreeIsland& island, int tree, int padded,
                       const Scratch& scratch) const;

  UnionFind groups_;                    // ntree
  std::vector<int> island_of_;          // ntree
  std::vector<int> local_;              // nblock: number within its island
  std::vector<int> clique_;             // ntree: number among the trees of its island
  std::vector<std::size_t> first_use_;  // ntree + 1
  std::vector<Use> uses_;               // by tree, blocks ascending
  std::vector<std::unique_ptr<TreeIsland>> islands_;
  int count_ = 0;
};

}  // namespace touchstone
