// Parts of contact problems: what problems that are taken out of others are made with.
#pragma once

#include "touchstone/contact/blocks.hpp"
#include "touchstone/math/block_sparse_matrix.hpp"

namespace touchstone {

// A block of `from`, at the end of `to`.
void append_block(const Blocks& from, int block, Blocks& to);

// The pattern of a G in which all blocks are joined to all, as in a dense matrix. Values are left to be written whole,
// but for the padding; row_begin and col_begin are the caller's.
void set_full_pattern(const Blocks& blocks, BlockSparseMatrix& G);

}  // namespace touchstone
