#include "touchstone/solvers/auto/dual_part.hpp"

#include <algorithm>

namespace touchstone {

void DualParts::find(const DualProblem& dual, const std::vector<char>& chosen) {
  const BlockSparseMatrix& G = dual.G;
  const auto n = static_cast<std::size_t>(dual.nblock());
  part_.assign(n, -1);
  start.assign(1, 0);
  blocks.clear();
  for (int first = 0; first < dual.nblock(); ++first) {
    if (chosen[first] == 0 || part_[first] >= 0) continue;
    const int part = count();
    const std::size_t begin = blocks.size();
    part_[first] = part;
    blocks.push_back(first);
    for (std::size_t next = begin; next < blocks.size(); ++next) {
      const int i = blocks[next];
      for (int k = G.start[i]; k < G.start[i + 1]; ++k) {
        const int j = G.col[k];
        if (chosen[j] == 0 || part_[j] >= 0) continue;
        part_[j] = part;
        blocks.push_back(j);
      }
    }
    std::sort(blocks.begin() + static_cast<std::ptrdiff_t>(begin), blocks.end());
    start.push_back(static_cast<int>(blocks.size()));
  }
}

namespace {

// Blocks, weights and the free velocity; `position` gets the number of each block within the part, -1 for the others.
void extract_blocks(const DualProblem& dual, const int* chosen, int count, std::vector<int>& position,
                    DualProblem& part) {
  const auto n = static_cast<std::size_t>(count);
  position.assign(static_cast<std::size_t>(dual.nblock()), -1);
  Blocks& blocks = part.blocks;
  blocks.clear();
  part.d.resize(count);
  part.weight.resize(count);
  blocks.type.resize(n);
  blocks.row.resize(n + 1);
  blocks.row[0] = 0;
  for (int k = 0; k < count; ++k) {
    const int i = chosen[k];
    position[i] = k;
    blocks.type[k] = dual.blocks.type[i];
    blocks.row[k + 1] = blocks.row[k] + dual.blocks.size(i);
    part.d[k] = dual.d[i];
    part.weight[k] = dual.weight[i];
  }
  const auto nrow = static_cast<std::size_t>(blocks.row.back());
  for (std::vector<double>* values : {&blocks.mu, &blocks.lo, &blocks.hi}) values->resize(nrow);
  for (VectorX* values : {&part.g, &part.lambda_scale, &part.u_scale}) values->resize(blocks.row.back());
  for (int k = 0; k < count; ++k) {
    const int from = dual.blocks.row[chosen[k]], to = blocks.row[k];
    for (int r = 0; r < blocks.size(k); ++r) {
      blocks.mu[to + r] = dual.blocks.mu[from + r];
      blocks.lo[to + r] = dual.blocks.lo[from + r];
      blocks.hi[to + r] = dual.blocks.hi[from + r];
      part.g[to + r] = dual.g[from + r];
      part.lambda_scale[to + r] = dual.lambda_scale[from + r];
      part.u_scale[to + r] = dual.u_scale[from + r];
    }
  }
}

void extract_matrix(const DualProblem& dual, const int* chosen, int count, const std::vector<int>& position,
                    DualProblem& part) {
  const auto n = static_cast<std::size_t>(count);
  BlockSparseMatrix& G = part.G;
  G.row_begin = part.blocks.row;
  G.col_begin = part.blocks.row;
  G.start.resize(n + 1);
  G.start[0] = 0;
  G.col.clear();
  G.offset.assign(1, 0);
  G.values.clear();
  G.all_3x3 = dual.G.all_3x3;
  part.diagonal.resize(n);
  for (int k = 0; k < count; ++k) {
    const int i = chosen[k];
    for (int e = dual.G.start[i]; e < dual.G.start[i + 1]; ++e) {
      const int j = position[dual.G.col[e]];
      if (j < 0) continue;
      if (j == k) part.diagonal[k] = static_cast<int>(G.col.size());
      G.col.push_back(j);
      const double* value = dual.G.data(e);
      G.values.insert(G.values.end(), value, value + (dual.G.offset[e + 1] - dual.G.offset[e]));
      G.offset.push_back(G.values.size());
    }
    G.start[k + 1] = static_cast<int>(G.col.size());
  }
  G.values.insert(G.values.end(), BlockSparseMatrix::kPadding, 0.0);
}

}  // namespace

void extract_part(const DualProblem& dual, const int* chosen, int count, std::vector<int>& position,
                  DualProblem& part) {
  part.velocity_scale = dual.velocity_scale;
  part.symmetric = dual.symmetric;
  part.doubtful = dual.doubtful;
  extract_blocks(dual, chosen, count, position, part);
  extract_matrix(dual, chosen, count, position, part);
}

void gather_part(const DualProblem& dual, const int* blocks, int count, const VectorX& whole, VectorX& part) {
  int to = 0;
  for (int k = 0; k < count; ++k) to += dual.blocks.size(blocks[k]);
  part.resize(to);
  to = 0;
  for (int k = 0; k < count; ++k) {
    for (int r = dual.blocks.row[blocks[k]]; r < dual.blocks.row[blocks[k] + 1]; ++r) part[to++] = whole[r];
  }
}

void scatter_part(const DualProblem& dual, const int* blocks, int count, const VectorX& part, VectorX& whole) {
  int from = 0;
  for (int k = 0; k < count; ++k) {
    for (int r = dual.blocks.row[blocks[k]]; r < dual.blocks.row[blocks[k] + 1]; ++r) whole[r] = part[from++];
  }
}

}  // namespace touchstone
