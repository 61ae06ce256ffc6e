#include "touchstone/contact/islands.hpp"

#include <algorithm>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

// Nodes: the blocks, then the cliques.
void join_all(const ContactProblem& problem, UnionFind& groups) {
  const int nblock = problem.nblock();
  if (problem.has_primal) {
    const BlockSparseMatrix& J = problem.primal.J;
    for (int i = 0; i < nblock; ++i) {
      for (int k = J.start[i]; k < J.start[i + 1]; ++k) groups.join(i, nblock + J.col[k]);
    }
  }
  switch (problem.dual.form) {
    case DualData::Form::kSparse: {
      const BlockSparseMatrix& G = problem.dual.G_sparse;
      for (int i = 0; i < nblock; ++i) {
        for (int k = G.start[i]; k < G.start[i + 1]; ++k) groups.join(i, G.col[k]);
      }
      break;
    }
    case DualData::Form::kDense: {
      const std::vector<int>& row = problem.blocks.row;
      for (int i = 0; i < nblock; ++i) {
        for (int j = 0; j < nblock; ++j) {
          const auto part = problem.dual.G_dense.block(row[i], row[j], row[i + 1] - row[i], row[j + 1] - row[j]);
          if (i != j && (part.array() != 0.0).any()) groups.join(i, j);
        }
      }
      break;
    }
    case DualData::Form::kOperator:
      for (int i = 1; i < nblock; ++i) groups.join(0, i);
      break;
    case DualData::Form::kNone:
      break;
  }
}

// Members of each island from the island of each member; -1 belongs to none.
void group(const std::vector<int>& of, int count, std::vector<int>& start, std::vector<int>& members) {
  start.assign(static_cast<std::size_t>(count) + 1, 0);
  members.resize(of.size());
  for (const int island : of) {
    if (island >= 0) ++start[static_cast<std::size_t>(island) + 1];
  }
  for (std::size_t k = 1; k < start.size(); ++k) start[k] += start[k - 1];
  for (std::size_t k = 0; k < of.size(); ++k) {
    if (of[k] >= 0) members[start[of[k]]++] = static_cast<int>(k);
  }
  members.resize(static_cast<std::size_t>(start.empty() ? 0 : start[start.size() - 1]));
  for (std::size_t k = start.size() - 1; k > 0; --k) start[k] = start[k - 1];
  start[0] = 0;
}

// The entries of M in the given block rows and block columns; position[] holds the new index of a block column.
void extract_matrix(const BlockSparseMatrix& M, const int* rows, int row_count, const std::vector<int>& row_begin,
                    const std::vector<int>& col_begin, const std::vector<int>& position,
                    std::vector<std::pair<int, int>>& pattern, BlockSparseMatrix& part) {
  pattern.clear();
  for (int r = 0; r < row_count; ++r) {
    for (int k = M.start[rows[r]]; k < M.start[rows[r] + 1]; ++k) pattern.emplace_back(r, position[M.col[k]]);
  }
  part.set_pattern(row_begin, col_begin, pattern);
  for (int r = 0; r < row_count; ++r) {
    // Columns keep their order, so entries do too.
    const double* source = M.data(M.start[rows[r]]);
    const std::size_t size = M.offset[M.start[rows[r] + 1]] - M.offset[M.start[rows[r]]];
    std::copy(source, source + size, part.data(part.start[r]));
  }
}

template <typename T>
void extract_rows(const Blocks& blocks, const int* chosen, int count, const T& whole, T& part) {
  if (whole.size() == 0) {
    part.resize(0);
    return;
  }
  int r = 0;
  for (int k = 0; k < count; ++k) r += blocks.size(chosen[k]);
  part.resize(static_cast<decltype(part.size())>(r));
  r = 0;
  for (int k = 0; k < count; ++k) {
    for (int row = blocks.row[chosen[k]]; row < blocks.row[chosen[k] + 1]; ++row) part[r++] = whole[row];
  }
}

void extract_blocks(const Blocks& whole, const int* chosen, int count, Blocks& part) {
  part.clear();
  for (int k = 0; k < count; ++k) {
    part.type.push_back(whole.type[chosen[k]]);
    part.row.push_back(part.row.back() + whole.size(chosen[k]));
  }
  extract_rows(whole, chosen, count, whole.mu, part.mu);
  extract_rows(whole, chosen, count, whole.lo, part.lo);
  extract_rows(whole, chosen, count, whole.hi, part.hi);
}

void extract_primal(const ContactProblem& problem, Islands& islands, int island, ContactProblem& part) {
  const PrimalData& whole = problem.primal;
  PrimalData& own = part.primal;
  const int* chosen = islands.blocks.data() + islands.block_start[island];
  const int count = islands.block_start[island + 1] - islands.block_start[island];
  own.clear();
  islands.position.assign(static_cast<std::size_t>(whole.nclique()), -1);
  for (int k = islands.clique_start[island]; k < islands.clique_start[island + 1]; ++k) {
    const int c = islands.cliques[k];
    islands.position[c] = own.nclique();
    own.clique.push_back(own.nv() + whole.clique_size(c));
    own.A.insert(own.A.end(), whole.A.begin() + static_cast<std::ptrdiff_t>(whole.A_offset[c]),
                 whole.A.begin() + static_cast<std::ptrdiff_t>(whole.A_offset[c + 1]));
    own.A_offset.push_back(own.A.size());
  }
  own.v_free.resize(own.nv());
  for (int k = islands.clique_start[island]; k < islands.clique_start[island + 1]; ++k) {
    const int c = islands.cliques[k], own_clique = islands.position[c];
    own.v_free.segment(own.clique[own_clique], whole.clique_size(c)) =
        whole.v_free.segment(whole.clique[c], whole.clique_size(c));
  }
  extract_rows(problem.blocks, chosen, count, whole.R, own.R);
  extract_rows(problem.blocks, chosen, count, whole.b, own.b);
  extract_matrix(whole.J, chosen, count, part.blocks.row, own.clique, islands.position, islands.pattern, own.J);
}

void extract_dual(const ContactProblem& problem, Islands& islands, int island, ContactProblem& part) {
  const int* chosen = islands.blocks.data() + islands.block_start[island];
  const int count = islands.block_start[island + 1] - islands.block_start[island];
  extract_rows(problem.blocks, chosen, count, problem.dual.g, part.dual.g);
  part.dual.form = problem.dual.form;
  part.dual.symmetric = problem.dual.symmetric;
  part.dual.G_operator = problem.dual.G_operator;
  if (problem.dual.form == DualData::Form::kSparse) {
    islands.position.assign(static_cast<std::size_t>(problem.nblock()), -1);
    for (int k = 0; k < count; ++k) islands.position[chosen[k]] = k;
    extract_matrix(problem.dual.G_sparse, chosen, count, part.blocks.row, part.blocks.row, islands.position,
                   islands.pattern, part.dual.G_sparse);
  } else if (problem.dual.form == DualData::Form::kDense) {
    part.dual.G_dense.resize(part.nrow(), part.nrow());
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < count; ++j) {
        part.dual.G_dense.block(part.blocks.row[i], part.blocks.row[j], part.blocks.size(i), part.blocks.size(j)) =
            problem.dual.G_dense.block(problem.blocks.row[chosen[i]], problem.blocks.row[chosen[j]],
                                       part.blocks.size(i), part.blocks.size(j));
      }
    }
  }
}

template <typename Function>
void for_rows(const ContactProblem& problem, const Islands& islands, int island, Function&& function) {
  int own = 0;
  for (int k = islands.block_start[island]; k < islands.block_start[island + 1]; ++k) {
    const int block = islands.blocks[k];
    for (int row = problem.blocks.row[block]; row < problem.blocks.row[block + 1]; ++row) function(row, own++);
  }
}

// --- append ---

// The partitions joined, the entries of `other` behind those of `M`, shifted.
void append_matrix(BlockSparseMatrix& M, const BlockSparseMatrix& other) {
  const int rows = M.rows(), cols = M.cols(), block_cols = M.block_cols(), entries = M.entries();
  const std::size_t values = M.offset.back();
  for (int i = 1; i <= other.block_rows(); ++i) {
    M.row_begin.push_back(rows + other.row_begin[i]);
    M.start.push_back(entries + other.start[i]);
  }
  for (int j = 1; j <= other.block_cols(); ++j) M.col_begin.push_back(cols + other.col_begin[j]);
  for (const int j : other.col) M.col.push_back(block_cols + j);
  for (std::size_t k = 1; k < other.offset.size(); ++k) M.offset.push_back(values + other.offset[k]);
  M.values.resize(values);
  M.values.insert(M.values.end(), other.values.begin(), other.values.end());  // with the padding of `other`
  M.all_3x3 = (M.all_3x3 || entries == 0) && (other.all_3x3 || other.entries() == 0);
}

void append_vector(VectorX& v, const VectorX& other) {
  const Eigen::Index n = v.size();
  v.conservativeResize(n + other.size());
  v.tail(other.size()) = other;
}

// Optional vectors: what is missing on one side becomes `fallback`.
template <typename T>
void append_optional(std::vector<T>& v, std::size_t expected, const std::vector<T>& other, std::size_t other_expected,
                     const T& fallback) {
  if (v.empty() && other.empty()) return;
  v.resize(expected, fallback);
  v.insert(v.end(), other.begin(), other.end());
  v.resize(expected + other_expected, fallback);
}

void append_optional(VectorX& v, int expected, const VectorX& other, int other_expected) {
  if (v.size() == 0 && other.size() == 0) return;
  if (v.size() == 0) v.setZero(expected);
  append_vector(v, other.size() > 0 ? other : VectorX(VectorX::Zero(other_expected)));
}

void append_dual(DualData& dual, const DualData& other) {
  if (dual.form != other.form || dual.form == DualData::Form::kOperator)
    throw Error(
        "problems with different forms of G, or a matrix-free one, cannot be joined; give both as matrices alike");
  if (dual.form == DualData::Form::kDense) {
    const Eigen::Index n = dual.G_dense.rows(), m = other.G_dense.rows();
    MatrixX joined = MatrixX::Zero(n + m, n + m);
    joined.topLeftCorner(n, n) = dual.G_dense;
    joined.bottomRightCorner(m, m) = other.G_dense;
    dual.G_dense = std::move(joined);
  } else {
    append_matrix(dual.G_sparse, other.G_sparse);
  }
  append_vector(dual.g, other.g);
  dual.symmetric = dual.symmetric && other.symmetric;
}

}  // namespace

void find_islands(const ContactProblem& problem, Islands& islands) {
  const int nblock = problem.nblock(), nclique = problem.has_primal ? problem.primal.nclique() : 0;
  islands.groups.reset(nblock + nclique);
  join_all(problem, islands.groups);
  islands.of_block.resize(static_cast<std::size_t>(nblock));
  islands.of_clique.assign(static_cast<std::size_t>(nclique), -1);
  int count = 0;
  for (int i = 0; i < nblock; ++i) {
    const int root = islands.groups.root(i);  // the smallest member, so it has been numbered if it is not i
    islands.of_block[i] = root == i ? count++ : islands.of_block[root];
  }
  for (int c = 0; c < nclique; ++c) {
    const int root = islands.groups.root(nblock + c);
    if (root < nblock) islands.of_clique[c] = islands.of_block[root];
  }
  group(islands.of_block, count, islands.block_start, islands.blocks);
  group(islands.of_clique, count, islands.clique_start, islands.cliques);
}

void extract_island(const ContactProblem& problem, Islands& islands, int island, ContactProblem& part) {
  const int* chosen = islands.blocks.data() + islands.block_start[island];
  const int count = islands.block_start[island + 1] - islands.block_start[island];
  extract_blocks(problem.blocks, chosen, count, part.blocks);
  part.time_step = problem.time_step;
  extract_rows(problem.blocks, chosen, count, problem.row_length, part.row_length);
  part.block_names.clear();
  part.laws.clear();
  for (int k = 0; k < count; ++k) {
    if (!problem.block_names.empty()) part.block_names.push_back(problem.block_names[chosen[k]]);
    if (!problem.laws.empty()) part.laws.push_back(problem.laws[chosen[k]]);
  }
  part.has_primal = problem.has_primal;
  part.dual.form = DualData::Form::kNone;
  if (problem.has_primal) {
    extract_primal(problem, islands, island, part);
  } else {
    extract_rows(problem.blocks, chosen, count, problem.primal.R, part.primal.R);  // the compliance in G
  }
  if (problem.has_dual()) extract_dual(problem, islands, island, part);
}

void gather_rows(const ContactProblem& problem, const Islands& islands, int island, const VectorX& whole,
                 VectorX& part) {
  int rows = 0;
  for_rows(problem, islands, island, [&](int, int) { ++rows; });
  part.resize(rows);
  for_rows(problem, islands, island, [&](int row, int own) { part[own] = whole[row]; });
}

void scatter_rows(const ContactProblem& problem, const Islands& islands, int island, const VectorX& part,
                  VectorX& whole) {
  for_rows(problem, islands, island, [&](int row, int own) { whole[row] = part[own]; });
}

void scatter_dofs(const ContactProblem& problem, const Islands& islands, int island, const VectorX& part,
                  VectorX& whole) {
  int own = 0;
  for (int k = islands.clique_start[island]; k < islands.clique_start[island + 1]; ++k) {
    const int c = islands.cliques[k], n = problem.primal.clique_size(c);
    whole.segment(problem.primal.clique[c], n) = part.segment(own, n);
    own += n;
  }
}

void append_problem(ContactProblem& problem, const ContactProblem& other) {
  if (problem.has_primal != other.has_primal || problem.has_dual() != other.has_dual())
    throw Error("problems with different views cannot be joined; give both by G or both by A and J");
  const auto rows = static_cast<std::size_t>(problem.nrow()), other_rows = static_cast<std::size_t>(other.nrow());
  const auto count = static_cast<std::size_t>(problem.nblock()), other_count = static_cast<std::size_t>(other.nblock());
  append_optional(problem.row_length, rows, other.row_length, other_rows, 1.0);
  append_optional(problem.block_names, count, other.block_names, other_count, std::string());
  append_optional(problem.laws, count, other.laws, other_count, ContactLaw());
  if (problem.has_dual()) append_dual(problem.dual, other.dual);
  append_optional(problem.primal.R, problem.nrow(), other.primal.R, other.nrow());
  if (problem.has_primal) {
    PrimalData& primal = problem.primal;
    append_matrix(primal.J, other.primal.J);
    for (int c = 0; c < other.primal.nclique(); ++c) primal.add_clique(other.primal.A_block(c));
    append_vector(primal.v_free, other.primal.v_free);
    append_optional(primal.b, problem.nrow(), other.primal.b, other.nrow());
  }
  Blocks& blocks = problem.blocks;
  blocks.type.insert(blocks.type.end(), other.blocks.type.begin(), other.blocks.type.end());
  const int first = blocks.rows();
  for (std::size_t k = 1; k < other.blocks.row.size(); ++k) blocks.row.push_back(first + other.blocks.row[k]);
  blocks.mu.insert(blocks.mu.end(), other.blocks.mu.begin(), other.blocks.mu.end());
  blocks.lo.insert(blocks.lo.end(), other.blocks.lo.begin(), other.blocks.lo.end());
  blocks.hi.insert(blocks.hi.end(), other.blocks.hi.begin(), other.blocks.hi.end());
}

}  // namespace touchstone
