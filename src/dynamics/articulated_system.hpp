// The equations of motion of trees with rows that are held, by articulated bodies: linear in the number of bodies.
//
// Problem: for forces x and wanted velocities e of the rows J,
//     [ A  J' ] [ y  ]   [ x ]
//     [ J  -R ] [ mu ] = [ e ],        A = M + a diagonal, R > 0,
// so that -mu are the impulses that hold the rows. A factor of M has the sum of the squared lengths of all paths to the
// root as its cost, and J M^-1 J' is dense: both are cubic for chains and ladders. Method: elimination of the equations
// of bodies and joints from the leaves to the root (Featherstone, ch. 7), with the multipliers of the rows carried
// along (Vereshchagin 1974; Sathya and Carpentier, "Constrained articulated body dynamics algorithms", 2024). What is
// beyond a body acts on it and on the rows that begin there by
//     force = I a + K mu - p,    rate of the rows = K' a - L mu - e,
// a joint's dof with S is eliminated by its pivot D = S' I S + diagonal and s = S' K + its entries of J, and a row as
// soon as all dofs that it moves are: below the body from which its two ends branch off, since what moves both alike
// moves no row between them. The matrix is quasi-definite (R > 0), so that any order has pivots. Cost: for each dof (6
// + rows that pass it)^2; rows of loops between neighbours pass few bodies.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/articulated_inertia.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

// Rows of a Jacobian in blocks. The rows of a block are stored side by side for each dof that it moves.
struct RowList {
  std::vector<int> row{0};               // nblock + 1: first row
  std::vector<int> entry{0};             // nblock + 1: first of its dofs
  std::vector<int> dof;                  // by entry
  std::vector<std::size_t> value_begin;  // by entry
  std::vector<double> value;

  int count() const { return static_cast<int>(row.size()) - 1; }
  int rows() const { return row.back(); }
  int size(int block) const { return row[at(block + 1)] - row[at(block)]; }
  void clear();
  // Begins a block; then its entries; then end_block.
  void add_entry(int of_dof, const double* values, int count);
  void end_block(int count);
};

class ArticulatedSystem {
 public:
  // Chooses trees, and rows on them. Does nothing if they are those of the last call; values may differ.
  void set_pattern(const Model& model, std::span<const int> trees, const RowList& rows);

  // `inertia` by body, S and `diagonal` by dof, `compliance` by row. False if a pivot is not positive: massless parts,
  // or numbers that are not finite.
  [[nodiscard]] bool factorize(const std::vector<SpatialInertia>& inertia, const std::vector<Motion>& S,
                               const VectorX& diagonal, const RowList& rows, const VectorX& compliance);
  // One at a time. x <- y on the dofs of the trees, others stay; mu: e, then mu.
  void solve(const std::vector<Motion>& S, VectorRef x, VectorRef mu) const;
  void solve(const std::vector<Motion>& S, VectorRef x) const;

  double D_inverse(int dof) const { return D_inverse_[static_cast<std::size_t>(dof)]; }  // of a dof of the trees
  double pivot(int row) const { return pivot_[static_cast<std::size_t>(row)]; }          // of a row
  // Products that a factorisation and a solve take, counted from the pattern.
  double work() const { return work_; }

 private:
  // A body. Its rows: those that are eliminated at it, then those that it hands to its parent.
  struct Node {
    int body = 0, parent = 0;  // node of the parent; node 0 is the world
    int first_dof = 0, dof_count = 0;
    int eliminated = 0, rows = 0;  // of rows, and with those that are handed on
    std::size_t first_row = 0;     // in K_, e_
    std::size_t first_square = 0;  // in L_: column after column
    std::size_t first_share = 0;   // in s_: those of its dofs one after the other
    std::size_t first_block = 0;   // in handed_
    std::size_t block_count = 0;
    std::size_t first_home = 0, home_count = 0;  // in home_blocks_
    int carried() const { return rows - eliminated; }
  };
  // A block that a body hands to its parent: first row with itself and with the parent.
  struct Handed {
    int block = 0, own = 0, parents = 0, size = 0;
  };
  // An entry of J at a dof.
  struct Entry {
    int own = 0, size = 0;  // first row with the dof's body
    std::size_t value = 0;
  };

  bool is_same(std::span<const int> trees, const RowList& rows) const;
  void list_nodes(const Model& model);
  int common_node(int a, int b) const;
  void carry_blocks(const Model& model, const RowList& rows);
  int own_place(const Node& node, int block) const;
  void lay_out(const RowList& rows);
  void place_entries(const Model& model, const RowList& rows);
  bool eliminate_rows(const Node& node, int index, const RowList& rows);
  bool eliminate_dofs(const Node& node, int index, const std::vector<Motion>& S, const VectorX& diagonal,
                      const RowList& rows);
  void hand_on(const Node& node, int index);
  void forward_rows(const Node& node, int index, const VectorRef& mu) const;
  void backward_rows(const Node& node, const Motion& a, VectorRef mu) const;

  // --- pattern ---
  std::vector<int> trees_;
  RowList pattern_;  // without values
  bool is_set_ = false;
  std::vector<Node> nodes_;
  std::vector<int> node_of_;               // nbody; 0: the world, and bodies of other trees
  std::vector<int> depth_;                 // by node
  std::vector<std::vector<int>> carries_;  // by node: blocks that it hands on
  std::vector<std::vector<int>> homes_;    // by node: blocks that are eliminated at it
  std::vector<int> home_blocks_;           // the same one after the other
  std::vector<int> home_place_;            // and the first row of each with its node
  std::vector<Handed> handed_;
  std::vector<int> place_;                // by block: first row with the node that is laid out
  std::vector<std::size_t> entry_begin_;  // nv + 1
  std::vector<Entry> entries_;            // by dof
  double work_ = 0.0;

  // --- factor ---
  std::vector<ArticulatedInertia> I_;  // by node
  std::vector<Force> K_, U_;           // by rows of nodes, by dof
  std::vector<double> L_, s_, D_inverse_, pivot_;

  // --- solve ---
  mutable std::vector<Force> p_;    // by node
  mutable std::vector<Motion> a_;   // by node
  mutable std::vector<double> e_;   // by rows of nodes: right sides, then
  mutable std::vector<double> mu_;  // multipliers
};

}  // namespace touchstone
