#include "touchstone/sim/islands.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/contact/problem_parts.hpp"
#include "touchstone/math/lanes.hpp"

namespace touchstone {
namespace {

void copy_blocks(const Constraints& c, const std::vector<int>& members, ContactProblem& problem) {
  if (static_cast<int>(members.size()) == c.count()) {
    problem.blocks = c.blocks;
    return;
  }
  problem.blocks.clear();
  for (const int block : members) append_block(c.blocks, block, problem.blocks);
}

bool is_left_out(std::span<const char> left_out, int block) { return !left_out.empty() && left_out[at(block)] != 0; }

}  // namespace

void TreeIslands::find(const Model& model, const Constraints& c, bool separate, std::span<const char> left_out) {
  groups_.reset(model.ntree);
  for (int t = 1; t < model.ntree && !separate; ++t) groups_.join(0, t);
  for (const Constraint& constraint : c.list) {
    for (int i = 1; i < constraint.part_count; ++i) {
      groups_.join(c.parts[at(constraint.first_part)].tree, c.parts[at(constraint.first_part + i)].tree);
    }
  }
  island_of_.assign(at(model.ntree), -1);
  count_ = 0;
  for (std::unique_ptr<TreeIsland>& island : islands_) {
    island->blocks.clear();
    island->left_out.clear();
    island->trees.clear();
  }
  // Two passes, so that islands are numbered by their smallest tree and not by their first constraint.
  for (const Constraint& constraint : c.list) {
    if (constraint.part_count > 0) island_of_[at(groups_.root(c.parts[at(constraint.first_part)].tree))] = 0;
  }
  for (int t = 0; t < model.ntree; ++t) {
    if (island_of_[at(t)] == 0) island_of_[at(t)] = count_++;
  }
  local_.resize(at(c.count()));
  while (islands_.size() < at(count_)) islands_.push_back(std::make_unique<TreeIsland>());
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    if (constraint.part_count == 0) continue;  // nothing that moves
    TreeIsland& island = *islands_[at(island_of_[at(groups_.root(c.parts[at(constraint.first_part)].tree))])];
    std::vector<int>& blocks = is_left_out(left_out, block) ? island.left_out : island.blocks;
    local_[at(block)] = static_cast<int>(blocks.size());
    blocks.push_back(block);
  }
  index_uses(model, c, left_out);
  clique_.resize(at(model.ntree));
  for (int t = 0; t < model.ntree; ++t) {
    if (first_use(t + 1) == first_use(t)) continue;
    std::vector<int>& trees = islands_[at(island_of_[at(groups_.root(t))])]->trees;
    clique_[at(t)] = static_cast<int>(trees.size());
    trees.push_back(t);
  }
}

// Which blocks touch each tree, in ascending order.
void TreeIslands::index_uses(const Model& model, const Constraints& c, std::span<const char> left_out) {
  first_use_.assign(at(model.ntree + 1), 0);
  for (int block = 0; block < c.count(); ++block) {
    if (is_left_out(left_out, block)) continue;
    const Constraint& constraint = c.list[at(block)];
    for (int i = 0; i < constraint.part_count; ++i) ++first_use_[at(c.parts[at(constraint.first_part + i)].tree + 1)];
  }
  for (int t = 0; t < model.ntree; ++t) first_use_[at(t + 1)] += first_use_[at(t)];
  uses_.resize(c.parts.size());
  for (int block = 0; block < c.count(); ++block) {
    if (is_left_out(left_out, block)) continue;
    const Constraint& constraint = c.list[at(block)];
    for (int i = 0; i < constraint.part_count; ++i) {
      const int part = constraint.first_part + i;
      uses_[first_use_[at(c.parts[at(part)].tree)]++] = {local_[at(block)], part};
    }
  }
  // Filling has moved each start to its end, which is where the next one begins.
  for (int t = model.ntree; t > 0; --t) first_use_[at(t)] = first_use_[at(t - 1)];
  first_use_[0] = 0;
}

// Whether the blocks join the same trees as in the last problem of this island.
bool TreeIslands::keeps_pattern(const Constraints& c, TreeIsland& island) {
  std::vector<int>& joined = island.joined;
  std::size_t next = 0;
  bool same = true;
  const auto see = [&](int value) {
    if (next == joined.size()) joined.push_back(-1);
    same = same && joined[next] == value;
    joined[next++] = value;
  };
  for (const int block : island.blocks) {
    const Constraint& constraint = c.list[at(block)];
    see(c.blocks.size(block));
    see(constraint.part_count);
    for (int i = 0; i < constraint.part_count; ++i) see(c.parts[at(constraint.first_part + i)].tree);
  }
  same = same && next == joined.size();
  joined.resize(next);
  return same;
}

// G joins the blocks that share a tree. Made row by row, already sorted.
void TreeIslands::set_pattern(const Constraints& c, TreeIsland& island, Scratch& s) const {
  const Blocks& blocks = island.problem.blocks;
  BlockSparseMatrix& G = island.problem.dual.G_sparse;
  if (keeps_pattern(c, island)) {
    for (int i = 0; i < blocks.count(); ++i) {  // rows of one tree are written whole
      if (c.list[at(island.blocks[at(i)])].joins_trees())
        std::fill(G.data(G.start[at(i)]), G.data(G.start[at(i + 1)]), 0.0);
    }
    return;
  }
  G.row_begin = blocks.row;
  G.col_begin = blocks.row;
  if (island.trees.size() == 1) {
    set_full_pattern(blocks, G);  // on one tree all blocks are joined
    return;
  }
  G.start.assign(1, 0);
  G.col.clear();
  G.offset.assign(1, 0);
  G.all_3x3 = true;
  for (int local = 0; local < blocks.count(); ++local) {
    const Constraint& constraint = c.list[at(island.blocks[at(local)])];
    s.neighbours.clear();
    for (int i = 0; i < constraint.part_count; ++i) {
      const int tree = c.parts[at(constraint.first_part + i)].tree;
      for (std::size_t u = first_use(tree); u < first_use(tree + 1); ++u) s.neighbours.push_back(uses_[u].block);
    }
    if (constraint.joins_trees()) {
      std::sort(s.neighbours.begin(), s.neighbours.end());
      s.neighbours.erase(std::unique(s.neighbours.begin(), s.neighbours.end()), s.neighbours.end());
    }
    const int rows = blocks.size(local);
    G.all_3x3 = G.all_3x3 && rows == 3;
    G.col.insert(G.col.end(), s.neighbours.begin(), s.neighbours.end());
    std::size_t offset = G.offset.back(), entry = G.offset.size();
    G.offset.resize(entry + s.neighbours.size());
    for (const int other : s.neighbours) {
      offset += at(rows * blocks.size(other));
      G.offset[entry++] = offset;
    }
    G.start.push_back(static_cast<int>(G.col.size()));
  }
  G.values.assign(G.offset.back() + BlockSparseMatrix::kPadding, 0.0);
}

// --- the values of G ---
//
// Tree by tree: the rows of Y that live on the tree are packed dof by dof into a matrix P (dofs x rows), their products
// C = P'P are made in tiles of eight by four, and C is spread over the blocks of G. A constraint moves only the dofs
// between itself and the root, so a tile skips the dofs that one of its two strips leaves alone: of an arm and a leg
// only those of the trunk are left.

namespace {

constexpr int kStrip = 8;

constexpr int kWord = 64;

// C(i .. i + 8, j .. j + 4) = sum of P_i P_j' over the listed rows of P (where they begin), and its mirror image if it
// is off the diagonal.
void multiply_tile(const double* packed, int padded, std::span<const int> starts, int i, int j, double* C) {
  Lanes low[4] = {}, high[4] = {};
  for (const int start : starts) {
    const double* row = packed + start;
    const Lanes a = load_lanes(row + i), b = load_lanes(row + i + 4);
    for (int column = 0; column < 4; ++column) {
      const Lanes factor = broadcast(row[j + column]);
      low[column] += a * factor;
      high[column] += b * factor;
    }
  }
  for (int column = 0; column < 4; ++column) {
    double* target = C + at((j + column) * padded + i);
    store_lanes(low[column], target);
    store_lanes(high[column], target + 4);
  }
  if (j + 4 > i) return;
  transpose(low);
  transpose(high);
  for (int column = 0; column < 4; ++column) {
    store_lanes(low[column], C + at((i + column) * padded + j));
    store_lanes(high[column], C + at((i + 4 + column) * padded + j));
  }
}

// C = P'P.
void multiply_packed(int padded, TreeIslands::Scratch& s) {
  s.products.resize(at(padded * padded));
  s.starts.resize(at(kWord * s.words));
  for (int i = 0; i < padded; i += kStrip) {
    for (int j = 0; j <= i; j += kStrip) {
      std::size_t count = 0;
      for (int w = 0; w < s.words; ++w) {
        std::uint64_t both = s.moves[at(i / kStrip * s.words + w)] & s.moves[at(j / kStrip * s.words + w)];
        for (; both != 0; both &= both - 1) s.starts[count++] = (w * kWord + std::countr_zero(both)) * padded;
      }
      const std::span<const int> starts(s.starts.data(), count);
      multiply_tile(s.packed.data(), padded, starts, i, j, s.products.data());
      multiply_tile(s.packed.data(), padded, starts, i, j + 4, s.products.data());
    }
  }
}

// panel = or += rows [row, row + m) and columns [column, column + n) of C. C is symmetric: its rows are its columns.
template <bool add>
void write_panel(const double* C, int padded, int row, int m, int column, int n, double* __restrict panel) {
  const double* from = C + at(row * padded + column);
  const auto write = [](double& target, double value) { target = add ? target + value : value; };
  if (m == 1) {
    for (int c = 0; c < n; ++c) write(panel[c], from[c]);
  } else if (m == 3) {
    for (int c = 0; c < n; ++c) {
      for (int r = 0; r < 3; ++r) write(panel[3 * c + r], from[r * padded + c]);
    }
  } else {
    for (int c = 0; c < n; ++c) {
      for (int r = 0; r < m; ++r) write(panel[m * c + r], from[r * padded + c]);
    }
  }
}

}  // namespace

namespace {

// The dofs of each path of a tree, as bits.
void find_paths(const Model& model, int first, int dofs, TreeIslands::Scratch& s) {
  s.words = (dofs + kWord - 1) / kWord;
  s.paths.assign(at(dofs * s.words), 0);
  for (int k = 0; k < dofs; ++k) {
    std::uint64_t* own = s.paths.data() + at(k * s.words);
    const int parent = model.dof_parent[at(first + k)];
    if (parent >= 0) std::copy_n(s.paths.data() + at((parent - first) * s.words), s.words, own);
    own[k / kWord] |= std::uint64_t{1} << (k % kWord);
  }
}

// Notes which dofs are moved by the strips that the rows of a part fall into: those of its path, or, where it covers
// the whole tree, those that are not zero.
void mark_moved(const TreePart& part, int first, int row, int size, const double* y, TreeIslands::Scratch& s) {
  const auto mark = [&](int word, std::uint64_t bits) {
    s.moves[at(row / kStrip * s.words + word)] |= bits;
    s.moves[at((row + size - 1) / kStrip * s.words + word)] |= bits;
  };
  if (part.path >= 0) {
    for (int w = 0; w < s.words; ++w) mark(w, s.paths[at((part.path - first) * s.words + w)]);
    return;
  }
  for (int k = 0; k < part.count; ++k, y += Constraints::stride_of(size)) {
    const bool moves = !std::all_of(y, y + size, [](double value) { return value == 0.0; });
    if (moves) mark(k / kWord, std::uint64_t{1} << (k % kWord));
  }
}

}  // namespace

// Packs the rows of Y on a tree, and notes which dofs each strip of them moves; returns their number, padded to whole
// strips.
int TreeIslands::pack_rows(const Model& model, const Constraints& c, const TreeIsland& island, int tree,
                           Scratch& s) const {
  const int first = model.tree_first_dof[at(tree)], dofs = model.tree_first_dof[at(tree + 1)] - first;
  int rows = 0;
  s.use_row.clear();
  for (std::size_t u = first_use(tree); u < first_use(tree + 1); ++u) {
    s.use_row.push_back(rows);
    rows += island.problem.blocks.size(uses_[u].block);
  }
  s.rows = rows;
  const int padded = (rows + kStrip - 1) / kStrip * kStrip;
  s.packed.assign(at(padded * dofs), 0.0);
  find_paths(model, first, dofs, s);
  s.moves.assign(at(padded / kStrip * s.words), 0);
  for (std::size_t u = first_use(tree); u < first_use(tree + 1); ++u) {
    const int size = island.problem.blocks.size(uses_[u].block), stride = Constraints::stride_of(size);
    const TreePart& part = c.parts[at(uses_[u].part)];
    const int* dof = c.dofs(model, part);
    const double* y = c.Y.data() + part.start;
    const int row = s.use_row[u - first_use(tree)];
    mark_moved(part, first, row, size, y, s);
    double* column = s.packed.data() + row;
    for (int k = 0; k < part.count; ++k, y += stride) {
      const int own = dof[k] - first;
      double* target = column + at(own * padded);
      if (size == 1) {
        *target = *y;
      } else if (size == 3) {
        for (int r = 0; r < 3; ++r) target[r] = y[r];
      } else {
        std::copy_n(y, size, target);
      }
    }
  }
  return padded;
}

// Adds C to the blocks of G. The row of a block that is on this tree alone joins the tree's blocks and no others: it is
// written as one panel. In other rows uses and columns ascend, so one walk finds all entries of a row; neighbours in
// both lie side by side in G and are added together.
void TreeIslands::spread_products(const Constraints& c, TreeIsland& island, int tree, int padded,
                                  const Scratch& s) const {
  const Blocks& blocks = island.problem.blocks;
  BlockSparseMatrix& G = island.problem.dual.G_sparse;
  const std::size_t first = first_use(tree), end = first_use(tree + 1);
  for (std::size_t a = first; a < end; ++a) {
    const int i = uses_[a].block, rows = blocks.size(i), row = s.use_row[a - first];
    int entry = G.start[at(i)];
    if (!c.list[at(island.blocks[at(i)])].joins_trees()) {
      write_panel<false>(s.products.data(), padded, row, rows, 0, s.rows, G.data(entry));
      continue;
    }
    for (std::size_t b = first; b < end;) {
      const int j = uses_[b].block, column = s.use_row[b - first];
      while (G.col[at(entry)] < j) ++entry;
      double* panel = G.data(entry);
      int columns = 0, next = j;
      for (; b < end && uses_[b].block == next && G.col[at(entry)] == next; ++b, ++entry)
        columns += blocks.size(next++);
      write_panel<true>(s.products.data(), padded, row, rows, column, columns, panel);
    }
  }
}

bool TreeIslands::fits(int island, const Constraints& c) const {
  double entries = 0.0;
  for (const int tree : islands_[at(island)]->trees) {
    double rows = 0.0;
    for (std::size_t u = first_use(tree); u < first_use(tree + 1); ++u)
      rows += c.blocks.size(islands_[at(island)]->blocks[at(uses_[u].block)]);
    entries += rows * rows;
  }
  return entries <= kMostEntries;
}

bool TreeIslands::fits_without_equalities(int island, const Constraints& c) const {
  double rows = 0.0;
  for (const int block : islands_[at(island)]->blocks) {
    if (c.blocks.type[at(block)] != BlockType::kEquality) rows += c.blocks.size(block);
  }
  return rows * rows <= kMostEntries;
}

void TreeIslands::build_problem(int index, const Model& model, const Constraints& c, double h, Scratch& scratch) {
  if (!c.listed.empty()) {
    throw Error({.where = {},
                 .message = "paths to the root are so long that the matrix of the contact problem is not made",
                 .remedy = "set the option long_trees=false"});
  }
  build_rows(index, c, h);
  build_matrix(index, model, c, scratch);
}

void TreeIslands::build_rows(int index, const Constraints& c, double h) {
  TreeIsland& island = *islands_[at(index)];
  ContactProblem& problem = island.problem;
  const std::vector<int>& members = island.blocks;
  copy_blocks(c, members, problem);
  problem.time_step = h;
  problem.dual.form = DualData::Form::kSparse;
  problem.dual.symmetric = true;
  problem.dual.g.resize(problem.nrow());
  problem.row_length.resize(at(problem.nrow()));
  problem.R.resize(problem.nrow());
  problem.primal.A.reset();
  island.primal.A.reset();
  problem.b.resize(problem.nrow());
  problem.physics.clear();
  if (!c.physics.empty()) {
    for (const int block : members) problem.physics.push_back(c.physics[at(block)]);
  }
  for (int i = 0; i < problem.nblock(); ++i) {
    const int from = c.blocks.row[at(members[at(i)])], to = problem.blocks.row[at(i)], rows = problem.blocks.size(i);
    for (int r = 0; r < rows; ++r) {
      problem.dual.g[to + r] = c.free_velocity[from + r] + c.bias[from + r];
      problem.R[to + r] = c.compliance[from + r];
      problem.b[to + r] = c.bias[from + r];
      problem.row_length[at(to + r)] = c.row_length[at(from + r)];
    }
  }
}

void TreeIslands::build_matrix(int index, const Model& model, const Constraints& c, Scratch& scratch) {
  TreeIsland& island = *islands_[at(index)];
  ContactProblem& problem = island.problem;
  BlockSparseMatrix& G = problem.dual.G_sparse;
  set_pattern(c, island, scratch);
  for (const int tree : island.trees) {
    const int padded = pack_rows(model, c, island, tree, scratch);
    multiply_packed(padded, scratch);
    spread_products(c, island, tree, padded, scratch);
  }
  for (int i = 0; i < problem.nblock(); ++i) {
    const bool is_full = G.start[at(i + 1)] - G.start[at(i)] == problem.nblock();
    double* diagonal = G.data(is_full ? G.start[at(i)] + i : G.find(i, i));
    const int row = problem.blocks.row[at(i)], rows = problem.blocks.size(i);
    for (int r = 0; r < rows; ++r) diagonal[r * rows + r] += problem.R[row + r];
  }
}

int TreeIsland::dofs(const Model& model) const {
  int sum = 0;
  for (const int tree : trees) sum += model.tree_first_dof[at(tree + 1)] - model.tree_first_dof[at(tree)];
  return sum;
}

// The groups of dofs that a block touches on its trees, ascending.
void TreeIslands::find_groups(const Model& model, const Constraints& c, const TreeIsland& island, int block,
                              std::vector<int>& groups) const {
  const TreeInertia& A = *island.inertia;
  const Constraint& constraint = c.list[at(block)];
  groups.clear();
  for (int i = 0; i < constraint.part_count; ++i) {
    const TreePart& part = c.parts[at(constraint.first_part + i)];
    const int offset = A.first_dof(clique_[at(part.tree)]) - model.tree_first_dof[at(part.tree)];
    const int* dof = c.dofs(model, part);
    for (int k = part.first; k < part.count; ++k) {
      const int group = A.group_of()[at(dof[k] + offset)];
      if (groups.empty() || groups.back() != group) groups.push_back(group);
    }
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
}

// J on the groups of the island's inertia.
void TreeIslands::build_jacobian(const Model& model, const Constraints& c, TreeIsland& island, Scratch& s) const {
  const ContactProblem& problem = island.problem;
  const TreeInertia& A = *island.inertia;
  BlockSparseMatrix& J = island.primal.J;
  J.row_begin = problem.blocks.row;
  J.col_begin = A.group();
  J.start.assign(1, 0);
  J.col.clear();
  J.offset.assign(1, 0);
  J.all_3x3 = false;
  for (int i = 0; i < problem.nblock(); ++i) {
    find_groups(model, c, island, island.blocks[at(i)], s.neighbours);
    for (const int group : s.neighbours) {
      J.col.push_back(group);
      J.offset.push_back(J.offset.back() + at(problem.blocks.size(i) * J.col_size(group)));
    }
    J.start.push_back(static_cast<int>(J.col.size()));
  }
  J.values.assign(J.offset.back() + BlockSparseMatrix::kPadding, 0.0);
  for (int i = 0; i < problem.nblock(); ++i) {
    const Constraint& constraint = c.list[at(island.blocks[at(i)])];
    const int rows = problem.blocks.size(i), stride = Constraints::stride_of(rows);
    for (int p = 0; p < constraint.part_count; ++p) {
      const TreePart& part = c.parts[at(constraint.first_part + p)];
      const int offset = A.first_dof(clique_[at(part.tree)]) - model.tree_first_dof[at(part.tree)];
      const int* dof = c.dofs(model, part);
      for (int k = part.first, entry = -1, group = -1; k < part.count; ++k) {
        const int own = dof[k] + offset;
        if (A.group_of()[at(own)] != group) {
          group = A.group_of()[at(own)];
          entry = J.find(i, group);
        }
        double* column = J.data(entry) + at(rows * (own - J.col_begin[at(group)]));
        std::copy_n(c.J.data() + part.start + at(stride * k), rows, column);
      }
    }
  }
}

const PrimalData& TreeIslands::build_primal(int index, const Model& model, const Data& data, const Constraints& c,
                                            Scratch& s, const VectorX* velocity) {
  TreeIsland& island = *islands_[at(index)];
  PrimalData& primal = island.primal;
  primal.A.reset();
  if (!island.inertia || island.inertia.use_count() > 1) island.inertia = std::make_shared<TreeInertia>();
  TreeInertia& A = *island.inertia;
  A.set(model, data, island.trees);
  primal.A = island.inertia;
  build_jacobian(model, c, island, s);
  primal.v_free.resize(A.nv());
  primal.v_start.resize(velocity != nullptr ? A.nv() : 0);
  for (int t = 0; t < A.nclique(); ++t) {
    const int from = model.tree_first_dof[at(island.trees[at(t)])], to = A.first_dof(t), count = A.clique_size(t);
    primal.v_free.segment(to, count) = data.v_free.segment(from, count);
    if (velocity != nullptr) primal.v_start.segment(to, count) = velocity->segment(from, count);
  }
  return primal;
}

}  // namespace touchstone
