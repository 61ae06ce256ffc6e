#include "touchstone/contact/problem_parts.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"

namespace touchstone {

void append_block(const Blocks& from, int block, Blocks& to) {
  const auto first = at(from.row[at(block)]), end = at(from.row[at(block + 1)]);
  to.type.push_back(from.type[at(block)]);
  to.row.push_back(to.row.back() + from.size(block));
  for (std::size_t row = first; row < end; ++row) {
    to.mu.push_back(from.mu[row]);
    to.lo.push_back(from.lo[row]);
    to.hi.push_back(from.hi[row]);
  }
}

void set_full_pattern(const Blocks& blocks, BlockSparseMatrix& G) {
  const int n = blocks.count();
  G.start.resize(at(n + 1));
  G.col.resize(at(n) * at(n));
  G.offset.resize(at(n) * at(n) + 1);
  G.all_3x3 = true;
  std::size_t entry = 0, offset = 0;
  for (int i = 0; i < n; ++i) {
    const int rows = blocks.size(i);
    G.start[at(i)] = static_cast<int>(entry);
    G.all_3x3 = G.all_3x3 && rows == 3;
    for (int j = 0; j < n; ++j, ++entry) {
      G.col[entry] = j;
      G.offset[entry] = offset + at(rows) * at(blocks.row[at(j)]);
    }
    offset += at(rows) * at(blocks.rows());
  }
  G.start[at(n)] = static_cast<int>(entry);
  G.offset[entry] = offset;
  G.values.resize(offset + BlockSparseMatrix::kPadding);
  std::fill(G.values.end() - BlockSparseMatrix::kPadding, G.values.end(), 0.0);
}

}  // namespace touchstone
