#include "touchstone/sim/islands.hpp"

#include <algorithm>

namespace touchstone {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void copy_blocks(const Constraints& c, const std::vector<int>& members, ContactProblem& problem) {
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

// entry += sum over dofs of y_i[k] y_j[k]', column-major with `rows` rows.
void add_products(const Lanes* yi, int width_i, int rows, const Lanes* yj, int width_j, int columns, int dofs,
                  double* entry) {
  if (width_i == 1 && columns == 3 && width_j == 1) {
    Lanes c0{}, c1{}, c2{};
    for (int k = 0; k < dofs; ++k) {
      const Lanes y = yi[k], z = yj[k];
      c0 += y * broadcast(z[0]);
      c1 += y * broadcast(z[1]);
      c2 += y * broadcast(z[2]);
    }
    const Lanes sums[3] = {c0, c1, c2};
    for (int c = 0; c < 3; ++c) {
      for (int r = 0; r < rows; ++r) entry[c * rows + r] += sums[c][r];
    }
    return;
  }
  for (int c = 0; c < columns; ++c) {
    Lanes sums[2] = {};
    for (int k = 0; k < dofs; ++k) {
      const Lanes z = broadcast(yj[k * width_j + c / 4][c % 4]);
      for (int w = 0; w < width_i; ++w) sums[w] += yi[k * width_i + w] * z;
    }
    for (int r = 0; r < rows; ++r) entry[c * rows + r] += sums[r / 4][r % 4];
  }
}

}  // namespace

int Islands::root(int tree) {
  while (parent_[at(tree)] != tree) tree = parent_[at(tree)] = parent_[at(parent_[at(tree)])];
  return tree;
}

void Islands::find(const Model& model, const Constraints& c, bool separate) {
  parent_.resize(at(model.ntree));
  for (int t = 0; t < model.ntree; ++t) parent_[at(t)] = separate ? t : 0;
  for (const Constraint& constraint : c.list) {
    for (int i = 1; i < constraint.part_count; ++i) {
      const int a = root(c.parts[at(constraint.first_part)].tree),
                b = root(c.parts[at(constraint.first_part + i)].tree);
      parent_[at(std::max(a, b))] = std::min(a, b);
    }
  }
  island_of_.assign(at(model.ntree), -1);
  count_ = 0;
  for (std::unique_ptr<Island>& island : islands_) island->blocks.clear();
  // Two passes, so that islands are numbered by their smallest tree and not by their first constraint.
  for (const Constraint& constraint : c.list) {
    if (constraint.part_count > 0) island_of_[at(root(c.parts[at(constraint.first_part)].tree))] = 0;
  }
  for (int t = 0; t < model.ntree; ++t) {
    if (island_of_[at(t)] == 0) island_of_[at(t)] = count_++;
  }
  while (islands_.size() < at(count_)) islands_.push_back(std::make_unique<Island>());
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    if (constraint.part_count == 0) continue;  // nothing that moves
    islands_[at(island_of_[at(root(c.parts[at(constraint.first_part)].tree))])]->blocks.push_back(block);
  }
}

namespace {

// Which blocks of the island touch each tree, in ascending order.
void index_uses(const Model& model, const Constraints& c, const std::vector<int>& members, Islands::Scratch& s) {
  s.first_use.assign(at(model.ntree + 1), 0);
  std::size_t part_count = 0;
  for (const int block : members) {
    const Constraint& constraint = c.list[at(block)];
    part_count += at(constraint.part_count);
    for (int i = 0; i < constraint.part_count; ++i) ++s.first_use[at(c.parts[at(constraint.first_part + i)].tree + 1)];
  }
  s.trees.clear();
  for (int t = 0; t < model.ntree; ++t) {
    if (s.first_use[at(t + 1)] > 0) s.trees.push_back(t);
    s.first_use[at(t + 1)] += s.first_use[at(t)];
  }
  s.uses.resize(part_count);
  for (std::size_t local = 0; local < members.size(); ++local) {
    const Constraint& constraint = c.list[at(members[local])];
    for (int i = 0; i < constraint.part_count; ++i) {
      const TreePart& part = c.parts[at(constraint.first_part + i)];
      s.uses[at(s.first_use[at(part.tree)]++)] = {static_cast<int>(local), part.start};
    }
  }
  // Filling has moved each start to its end, which is where the next one begins.
  for (int t = model.ntree; t > 0; --t) s.first_use[at(t)] = s.first_use[at(t - 1)];
  s.first_use[0] = 0;
}

// G joins the blocks that share a tree. Made row by row, already sorted.
void set_pattern(const Constraints& c, const std::vector<int>& members, const Blocks& blocks, Islands::Scratch& s,
                 BlockSparseMatrix& G) {
  G.row_begin = blocks.row;
  G.col_begin = blocks.row;
  G.start.assign(1, 0);
  G.col.clear();
  G.offset.assign(1, 0);
  G.all_3x3 = true;
  for (int local = 0; local < blocks.count(); ++local) {
    const Constraint& constraint = c.list[at(members[at(local)])];
    s.neighbours.clear();
    for (int i = 0; i < constraint.part_count; ++i) {
      const int tree = c.parts[at(constraint.first_part + i)].tree;
      for (int u = s.first_use[at(tree)]; u < s.first_use[at(tree + 1)]; ++u)
        s.neighbours.push_back(s.uses[at(u)].first);
    }
    if (constraint.part_count > 1) {
      std::sort(s.neighbours.begin(), s.neighbours.end());
      s.neighbours.erase(std::unique(s.neighbours.begin(), s.neighbours.end()), s.neighbours.end());
    }
    const int rows = blocks.size(local);
    G.all_3x3 = G.all_3x3 && rows == 3;
    for (const int other : s.neighbours) {
      G.col.push_back(other);
      G.offset.push_back(G.offset.back() + at(rows * blocks.size(other)));
    }
    G.start.push_back(static_cast<int>(G.col.size()));
  }
  G.values.assign(G.offset.back() + BlockSparseMatrix::kPadding, 0.0);
}

// The lower triangle tree by tree, then its mirror image.
void add_values(const Model& model, const Constraints& c, const std::vector<int>& members, const Blocks& blocks,
                const Islands::Scratch& s, BlockSparseMatrix& G) {
  for (const int tree : s.trees) {
    const int dofs = model.tree_first_dof[at(tree + 1)] - model.tree_first_dof[at(tree)];
    for (int a = s.first_use[at(tree)]; a < s.first_use[at(tree + 1)]; ++a) {
      const auto [i, start_i] = s.uses[at(a)];
      for (int b = s.first_use[at(tree)]; b <= a; ++b) {
        const auto [j, start_j] = s.uses[at(b)];
        add_products(c.Y.data() + start_i, c.width(members[at(i)]), blocks.size(i), c.Y.data() + start_j,
                     c.width(members[at(j)]), blocks.size(j), dofs, G.data(G.find(i, j)));
      }
    }
  }
  for (int i = 0; i < blocks.count(); ++i) {
    const int rows = blocks.size(i);
    for (int k = G.start[at(i)]; G.col[at(k)] < i; ++k) {
      const int columns = blocks.size(G.col[at(k)]);
      const double* from = G.data(k);
      double* to = G.data(G.find(G.col[at(k)], i));
      for (int r = 0; r < rows; ++r) {
        for (int column = 0; column < columns; ++column) to[r * columns + column] = from[column * rows + r];
      }
    }
  }
}

}  // namespace

void Islands::build_problem(int index, const Model& model, const Constraints& c, double h, Scratch& scratch) {
  ContactProblem& problem = islands_[at(index)]->problem;
  const std::vector<int>& members = islands_[at(index)]->blocks;
  BlockSparseMatrix& G = problem.dual.G_sparse;
  copy_blocks(c, members, problem);
  problem.time_step = h;
  problem.dual.form = DualData::Form::kSparse;
  index_uses(model, c, members, scratch);
  set_pattern(c, members, problem.blocks, scratch, G);
  add_values(model, c, members, problem.blocks, scratch, G);
  problem.dual.g.resize(problem.nrow());
  problem.row_length.resize(at(problem.nrow()));
  problem.primal.R.resize(problem.nrow());
  for (int i = 0; i < problem.nblock(); ++i) {
    const int from = c.blocks.row[at(members[at(i)])], to = problem.blocks.row[at(i)], rows = problem.blocks.size(i);
    double* diagonal = G.data(G.find(i, i));
    for (int r = 0; r < rows; ++r) {
      problem.dual.g[to + r] = c.free_velocity[from + r] + c.bias[from + r];
      problem.primal.R[to + r] = c.compliance[from + r];
      problem.row_length[at(to + r)] = c.row_length[at(from + r)];
      diagonal[r * rows + r] += c.compliance[from + r];
    }
  }
}

}  // namespace touchstone
