#include "touchstone/sim/islands.hpp"

#include <algorithm>
#include <bit>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

void copy_blocks(const Constraints& c, const std::vector<int>& members, ContactProblem& problem) {
  if (static_cast<int>(members.size()) == c.count()) {
    problem.blocks = c.blocks;
    return;
  }
  problem.blocks.clear();
  for (const int block : members) {
    const int row = c.blocks.row[at(block)];
    switch (c.blocks.type[at(block)]) {
      case BlockType::kEquality:
        problem.blocks.add_equality(c.blocks.size(block));
        break;
      case BlockType::kNonNegative:
        problem.blocks.add_nonnegative();
        break;
      case BlockType::kBox:
        problem.blocks.add_box(c.blocks.lo[at(row)], c.blocks.hi[at(row)]);
        break;
      case BlockType::kCoulomb:
        problem.blocks.add_coulomb(c.blocks.mu.data() + row, c.blocks.size(block) - 1);
        break;
    }
  }
}

}  // namespace

void TreeIslands::find(const Model& model, const Constraints& c, bool separate) {
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
    std::vector<int>& blocks =
        islands_[at(island_of_[at(groups_.root(c.parts[at(constraint.first_part)].tree))])]->blocks;
    local_[at(block)] = static_cast<int>(blocks.size());
    blocks.push_back(block);
  }
  index_uses(model, c);
  clique_.resize(at(model.ntree));
  for (int t = 0; t < model.ntree; ++t) {
    if (first_use(t + 1) == first_use(t)) continue;
    std::vector<int>& trees = islands_[at(island_of_[at(groups_.root(t))])]->trees;
    clique_[at(t)] = static_cast<int>(trees.size());
    trees.push_back(t);
  }
}

// Which blocks touch each tree, in ascending order.
void TreeIslands::index_uses(const Model& model, const Constraints& c) {
  first_use_.assign(at(model.ntree + 1), 0);
  for (const TreePart& part : c.parts) ++first_use_[at(part.tree + 1)];
  for (int t = 0; t < model.ntree; ++t) first_use_[at(t + 1)] += first_use_[at(t)];
  uses_.resize(c.parts.size());
  for (int block = 0; block < c.count(); ++block) {
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
bool TreeIslands::keeps_pattern(const Constraints& c, TreeIsland& island, Scratch& s) {
  s.joined.clear();
  for (const int block : island.blocks) {
    const Constraint& constraint = c.list[at(block)];
    s.joined.push_back(c.blocks.size(block));
    s.joined.push_back(constraint.part_count);
    for (int i = 0; i < constraint.part_count; ++i) s.joined.push_back(c.parts[at(constraint.first_part + i)].tree);
  }
  if (s.joined == island.joined) return true;
  island.joined.assign(s.joined.begin(), s.joined.end());
  return false;
}

// G joins the blocks that share a tree. Made row by row, already sorted.
void TreeIslands::set_pattern(const Constraints& c, TreeIsland& island, Scratch& s) const {
  const Blocks& blocks = island.problem.blocks;
  BlockSparseMatrix& G = island.problem.dual.G_sparse;
  if (keeps_pattern(c, island, s)) {
    for (int i = 0; i < blocks.count(); ++i) {  // rows of one tree are written whole
      if (c.list[at(island.blocks[at(i)])].joins_trees())
        std::fill(G.data(G.start[at(i)]), G.data(G.start[at(i + 1)]), 0.0);
    }
    return;
  }
  G.row_begin = blocks.row;
  G.col_begin = blocks.row;
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

// Rows of four lanes as columns.
void transpose(Lanes* a) {
  const Lanes low01 = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6);
  const Lanes high01 = __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7);
  const Lanes low23 = __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6);
  const Lanes high23 = __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
  a[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  a[1] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  a[2] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  a[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

// C(i .. i + 8, j .. j + 4) = sum over the listed dofs of P_i P_j', and its mirror image if it is off the diagonal.
void multiply_tile(const double* packed, int padded, const std::vector<int>& dofs, int i, int j, double* C) {
  Lanes low[4] = {}, high[4] = {};
  for (const int k : dofs) {
    const double* row = packed + at(k * padded);
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

constexpr int kWord = 64;

// One bit for each dof that a strip moves, strip by strip. Returns the words of a strip.
int find_moved(int padded, int dofs, TreeIslands::Scratch& s) {
  const int words = (dofs + kWord - 1) / kWord;
  s.moves.assign(at(padded / kStrip * words), 0);
  for (int k = 0; k < dofs; ++k) {
    const double* row = s.packed.data() + at(k * padded);
    for (int i = 0; i < padded; i += kStrip, row += kStrip) {
      const Lanes largest = load_lanes(row) * load_lanes(row) + load_lanes(row + 4) * load_lanes(row + 4);
      const std::uint64_t moved = sum(largest) != 0.0 ? 1 : 0;  // NaN counts as moved
      s.moves[at(i / kStrip * words + k / kWord)] |= moved << (k % kWord);
    }
  }
  return words;
}

// C = P'P.
void multiply_packed(int padded, int dofs, TreeIslands::Scratch& s) {
  s.products.resize(at(padded * padded));
  const int words = find_moved(padded, dofs, s);
  for (int i = 0; i < padded; i += kStrip) {
    for (int j = 0; j <= i; j += kStrip) {
      s.moved.clear();
      for (int w = 0; w < words; ++w) {
        std::uint64_t both = s.moves[at(i / kStrip * words + w)] & s.moves[at(j / kStrip * words + w)];
        for (; both != 0; both &= both - 1) s.moved.push_back(w * kWord + std::countr_zero(both));
      }
      multiply_tile(s.packed.data(), padded, s.moved, i, j, s.products.data());
      multiply_tile(s.packed.data(), padded, s.moved, i, j + 4, s.products.data());
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

// Packs the rows of Y on a tree; returns their number, padded to whole strips.
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
  for (std::size_t u = first_use(tree); u < first_use(tree + 1); ++u) {
    const int size = island.problem.blocks.size(uses_[u].block), stride = Constraints::stride_of(size);
    const TreePart& part = c.parts[at(uses_[u].part)];
    const int* dof = c.dofs(model, part);
    const double* y = c.Y.data() + part.start;
    double* column = s.packed.data() + s.use_row[u - first_use(tree)];
    for (int k = 0; k < part.count; ++k, y += stride) {
      double* target = column + at((dof[k] - first) * padded);
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

void TreeIslands::build_problem(int index, const Model& model, const Constraints& c, double h, Scratch& scratch) {
  TreeIsland& island = *islands_[at(index)];
  ContactProblem& problem = island.problem;
  const std::vector<int>& members = island.blocks;
  BlockSparseMatrix& G = problem.dual.G_sparse;
  copy_blocks(c, members, problem);
  problem.time_step = h;
  problem.dual.form = DualData::Form::kSparse;
  problem.dual.symmetric = true;
  set_pattern(c, island, scratch);
  for (const int tree : island.trees) {
    const int dofs = model.tree_first_dof[at(tree + 1)] - model.tree_first_dof[at(tree)];
    const int padded = pack_rows(model, c, island, tree, scratch);
    multiply_packed(padded, dofs, scratch);
    spread_products(c, island, tree, padded, scratch);
  }
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
    double* diagonal = G.data(G.find(i, i));
    for (int r = 0; r < rows; ++r) {
      problem.dual.g[to + r] = c.free_velocity[from + r] + c.bias[from + r];
      problem.R[to + r] = c.compliance[from + r];
      problem.b[to + r] = c.bias[from + r];
      problem.row_length[at(to + r)] = c.row_length[at(from + r)];
      diagonal[r * rows + r] += c.compliance[from + r];
    }
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
