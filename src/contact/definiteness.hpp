// Whether the matrix of a dual problem is symmetric and positive semidefinite, up to inexact data.
//
// Method: one pass over the entries finds the skew part, tests all 2 x 2 minors and fills the diagonal parts of
//   neighbouring blocks; the Cholesky factorisation of each part, with a shift below what is tolerated, proves that it
//   is not indefinite. Up to kExactRows rows there is one part, the whole matrix: the test is exact. Larger matrices
//   get a few steps of Lanczos' method as well, which sees what is spread over all of them: its smallest Ritz value
//   lies within the spectrum, so a negative one proves indefiniteness. It can miss a negative eigenvalue whose
//   eigenvector the start vector hardly contains; a misread matrix is far from that.
// Where a factorisation fails, eigenvalues decide: of the whole matrix if it is small, else of the part and of more
//   steps of Lanczos' method.
// Cost: about the price of two sweeps up to 16 contacts; beyond, about ten products with the matrix. No allocation
//   unless eigenvalues are needed.
#pragma once

#include <vector>

#include "touchstone/contact/validate.hpp"
#include "touchstone/math/aligned.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"

namespace touchstone {

struct DefinitenessScratch {
  std::vector<int> next;   // nblock: the next entry of a row that mirrors one above the diagonal
  AlignedVector part;      // a diagonal part, column-major
  AlignedVector saved;     // the same before its factorisation
  AlignedVector diagonal;  // nrow
  VectorX lanczos[3];
};

// M must be scaled to order one, with a symmetric pattern and all diagonal blocks. The limits are in validate.hpp.
// The verdict has the skew part.
Verdict check_definiteness(const BlockSparseMatrix& M, DefinitenessScratch& scratch,
                           double max_skew = kMaxRelativeSkew);

}  // namespace touchstone
