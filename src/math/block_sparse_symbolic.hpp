// What the block-sparse Cholesky and LU factorisations know before they see numbers: the elimination order and where
// each block goes. Both need a symmetric pattern, so they share it.
//
// Method: approximate minimum degree on the graph of blocks (Amestoy, Davis, Duff 1996, as in Eigen); elimination tree
// and
//   postorder (Liu 1990); columns of equal structure become supernodes, small ones are merged with their parents when
//   that adds few zeros. A supernode is eliminated in a dense front (multifrontal method, Duff and Reid 1983), so that
//   nearly all arithmetic is dense. A matrix of few rows is one supernode: the dense path.
// Cost: a little more than the number of blocks of the factor. Allocates; to be reused while the pattern holds.
#pragma once

#include <cstddef>
#include <vector>

#include "touchstone/math/aligned.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"

namespace touchstone {

struct BlockSparseSymbolic {
  struct Supernode {
    int pivots = 0;  // scalar columns that it eliminates
    int size = 0;    // rows of its front: the pivots, then the rows below
    int parent = -1;
    std::size_t rows = 0;                      // where its `size` entries in `row` begin
    int run_begin = 0, run_end = 0;            // its rows below the pivots, in `run`
    int assembly_begin = 0, assembly_end = 0;  // its entries of the matrix, in `assembly`
    int child_begin = 0, child_end = 0;        // its children, in `child`
    std::size_t lower = 0;                     // where its lower panel (size x pivots) begins among all lower panels
    std::size_t upper = 0;  // where its upper panel (pivots x (size - pivots)) begins among all upper panels (LU)
    int first_pivot = 0;    // number of pivots of all supernodes before
  };
  // A block of the matrix that is added to a front.
  struct Assembly {
    int entry = 0;  // in the matrix
    int block_row = 0;
    int row = 0, col = 0;  // position in the front
    bool diagonal = false;
  };

  // Rows of a front below its pivots, counted from the first of these, that follow each other in the parent's too.
  struct Run {
    int begin = 0, end = 0;
    int position = 0;  // of the first in the front of the parent
  };

  std::vector<Supernode> supernodes;  // children before parents
  std::vector<int> row;               // scalar rows (of the matrix as given) of the fronts
  std::vector<Run> run;
  std::vector<Assembly> assembly;
  std::vector<int> child;        // supernodes
  std::size_t lower_values = 0;  // numbers in all lower panels, size x pivots
  std::size_t upper_values = 0;  // numbers in all upper panels, pivots x (size - pivots)
  std::size_t stack_size = 0;    // numbers that the fronts need at once
  int largest_front = 0;

  // The pattern must be symmetric, with equal row and column partitions and all diagonal blocks.
  void analyze(const BlockSparseMatrix& M);

  // Multiplications of one LU factorisation, about.
  double multiplications() const;

  // Whether analyze was called with this very pattern.
  bool matches(const BlockSparseMatrix& M) const { return pattern_.same_pattern(M) && !supernodes.empty(); }

 private:
  BlockSparseMatrix pattern_;  // without values
};

// The fronts of a factorisation in progress. The updates of eliminated supernodes wait on a stack for their parents.
class FrontStack {
 public:
  void resize(const BlockSparseSymbolic& symbolic);
  void clear() { top_ = 0; }

  // What of the fronts counts. Triangle: on and below the diagonal.
  enum class Part { kWhole, kTriangle };

  // The front of a supernode: its blocks of M + shift I + extra and the updates of its children. Supernodes in order.
  double* assemble(const BlockSparseSymbolic& symbolic, int supernode, const BlockSparseMatrix& M, double shift,
                   const BlockDiagonal* extra, Part part);

  // Keeps what remains of the front after its pivots were eliminated, in place of the updates of the children.
  void keep_update(const BlockSparseSymbolic& symbolic, int supernode, Part part);

 private:
  void add_child(const BlockSparseSymbolic& symbolic, int child, Part part, double* front, std::ptrdiff_t n) const;

  AlignedVector values_;
  std::vector<std::size_t> update_;  // by supernode: where its update begins
  std::size_t top_ = 0;              // end of the waiting updates; the front in work begins here
};

}  // namespace touchstone
