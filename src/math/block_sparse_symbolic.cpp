#include "touchstone/math/block_sparse_symbolic.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

namespace touchstone {
namespace {

constexpr int kDenseRows = 48;  // up to here one dense front is quicker than any structure

// --- Elimination tree ---

// order[k] = the block row that is eliminated at step k.
std::vector<int> minimum_degree_order(const BlockSparseMatrix& M) {
  const int n = M.block_rows();
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(M.col.size());
  for (int i = 0; i < n; ++i) {
    for (int k = M.start[i]; k < M.start[i + 1]; ++k) entries.emplace_back(i, M.col[k], 1.0);
  }
  Eigen::SparseMatrix<double> graph(n, n);
  graph.setFromTriplets(entries.begin(), entries.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation;
  Eigen::AMDOrdering<int>()(graph, permutation);
  std::vector<int> order(static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k) order[k] = permutation.indices()[k];
  return order;
}

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> step(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) step[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
  return step;
}

// parent[k] of each elimination step (Liu's algorithm with path compression).
std::vector<int> elimination_tree(const BlockSparseMatrix& M, const std::vector<int>& order) {
  const int n = M.block_rows();
  const std::vector<int> step = inverse(order);
  std::vector<int> parent(order.size(), -1), ancestor(order.size(), -1);
  for (int k = 0; k < n; ++k) {
    const int i = order[k];
    for (int e = M.start[i]; e < M.start[i + 1]; ++e) {
      for (int j = step[M.col[e]]; j >= 0 && j < k;) {
        const int next = ancestor[j];
        ancestor[j] = k;
        if (next < 0) parent[j] = k;
        j = next;
      }
    }
  }
  return parent;
}

// Steps in postorder: children before parents, subtrees together.
std::vector<int> postorder(const std::vector<int>& parent) {
  const int n = static_cast<int>(parent.size());
  std::vector<int> first_child(parent.size(), -1), sibling(parent.size(), -1), result, stack;
  for (int k = n - 1; k >= 0; --k) {
    if (parent[k] < 0) continue;
    sibling[k] = first_child[parent[k]];
    first_child[parent[k]] = k;
  }
  for (int root = 0; root < n; ++root) {
    if (parent[root] >= 0) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const int k = stack.back();
      if (first_child[k] >= 0) {  // visit the children first, each once
        const int child = first_child[k];
        first_child[k] = sibling[child];
        stack.push_back(child);
      } else {
        result.push_back(k);
        stack.pop_back();
      }
    }
  }
  return result;
}

// --- Supernodes of blocks ---

struct Node {
  int first = 0, last = 0;    // steps first .. last
  std::vector<int> below;     // steps after `last` with a block in its columns, ascending
  int columns = 0, rows = 0;  // scalars: of the steps, of `below`
  double zeros = 0.0;         // explicit zeros that merging has added
  int parent = -1;            // node

  double values() const { return columns * (0.5 * (columns + 1) + rows); }
};

// Structure of each column of the factor, then columns of equal structure joined.
std::vector<Node> fundamental_supernodes(const BlockSparseMatrix& M, const std::vector<int>& order) {
  const int n = M.block_rows();
  const std::vector<int> step = inverse(order);
  const std::vector<int> parent = elimination_tree(M, order);
  std::vector<std::vector<int>> below(order.size());
  std::vector<std::vector<int>> children(order.size());
  std::vector<int> mark(order.size(), -1);
  for (int k = 0; k < n; ++k) {
    mark[k] = k;
    const auto add = [&](int i) {
      if (i <= k || mark[i] == k) return;
      mark[i] = k;
      below[k].push_back(i);
    };
    for (int e = M.start[order[k]]; e < M.start[order[k] + 1]; ++e) add(step[M.col[e]]);
    for (const int child : children[k]) {
      for (const int i : below[child]) add(i);
    }
    std::sort(below[k].begin(), below[k].end());
    if (parent[k] >= 0) children[parent[k]].push_back(k);
  }
  std::vector<Node> nodes;
  for (int k = 0; k < n; ++k) {
    const bool joins = k > 0 && parent[k - 1] == k && below[k - 1].size() == below[k].size() + 1 && !nodes.empty();
    if (!joins) nodes.push_back({.first = k});
    nodes.back().last = k;
    nodes.back().below = std::move(below[k]);
    nodes.back().columns += M.row_size(order[k]);
    if (joins) below[k].clear();
  }
  for (Node& node : nodes) {
    for (const int i : node.below) node.rows += M.row_size(order[i]);
  }
  return nodes;
}

bool worth_merging(const Node& child, const Node& parent, double& zeros) {
  Node merged;
  merged.columns = child.columns + parent.columns;
  merged.rows = parent.rows;
  zeros = child.zeros + parent.zeros + merged.values() - child.values() - parent.values();
  const double share = zeros / merged.values();
  return (merged.columns <= 16 && share < 0.5) || (merged.columns <= 48 && share < 0.2) || share < 0.05;
}

// Joins a node with the parent that follows it directly where that adds few zeros.
std::vector<Node> merge_supernodes(std::vector<Node> nodes) {
  std::vector<Node> result;
  for (Node& node : nodes) {
    result.push_back(std::move(node));
    while (result.size() > 1) {
      Node& child = result[result.size() - 2];
      Node& parent = result.back();
      double zeros = 0.0;
      const bool adjacent = !child.below.empty() && child.below.front() <= parent.last;
      if (!adjacent || !worth_merging(child, parent, zeros)) break;
      parent.first = child.first;
      parent.columns += child.columns;
      parent.zeros = zeros;
      result.erase(result.end() - 2);
    }
  }
  return result;
}

}  // namespace

double BlockSparseSymbolic::multiplications() const {
  double sum = 0.0;
  for (const Supernode& node : supernodes) sum += static_cast<double>(node.pivots) * node.size * node.size;
  return sum;
}

void BlockSparseSymbolic::analyze(const BlockSparseMatrix& M) {
  pattern_.row_begin = M.row_begin;
  pattern_.col_begin = M.col_begin;
  pattern_.start = M.start;
  pattern_.col = M.col;
  supernodes.clear();
  row.clear();
  run.clear();
  assembly.clear();
  child.clear();
  lower_values = upper_values = stack_size = 0;
  largest_front = 0;
  const int n = M.block_rows();
  if (n == 0) return;

  std::vector<int> order(static_cast<std::size_t>(n));
  std::vector<Node> nodes;
  if (M.rows() <= kDenseRows) {
    std::iota(order.begin(), order.end(), 0);
    nodes.push_back({.first = 0, .last = n - 1, .columns = M.rows()});
  } else {
    order = minimum_degree_order(M);
    const std::vector<int> visit = postorder(elimination_tree(M, order));
    std::vector<int> reordered;
    reordered.reserve(order.size());
    for (const int k : visit) reordered.push_back(order[k]);
    order = std::move(reordered);
    nodes = merge_supernodes(fundamental_supernodes(M, order));
  }

  const std::vector<int> step = inverse(order);
  std::vector<int> node_of(order.size());
  for (std::size_t s = 0; s < nodes.size(); ++s) {
    for (int k = nodes[s].first; k <= nodes[s].last; ++k) node_of[k] = static_cast<int>(s);
  }
  std::vector<int> position(order.size());  // of a step in the front at hand
  std::vector<std::vector<int>> children(nodes.size());
  std::size_t stacked = 0;
  int eliminated = 0;
  supernodes.resize(nodes.size());
  for (std::size_t s = 0; s < nodes.size(); ++s) {
    const Node& node = nodes[s];
    Supernode& target = supernodes[s];
    target.rows = row.size();
    target.first_pivot = eliminated;
    const auto place = [&](int k) {
      position[k] = target.size;
      for (int r = M.row_begin[order[k]]; r < M.row_begin[order[k] + 1]; ++r) row.push_back(r);
      target.size += M.row_size(order[k]);
    };
    for (int k = node.first; k <= node.last; ++k) place(k);
    target.pivots = target.size;
    eliminated += target.pivots;
    for (const int k : node.below) place(k);
    target.parent = node.below.empty() ? -1 : node_of[node.below.front()];
    if (target.parent >= 0) children[target.parent].push_back(static_cast<int>(s));

    target.assembly_begin = static_cast<int>(assembly.size());
    for (int k = node.first; k <= node.last; ++k) {
      const int i = order[k];
      for (int e = M.start[i]; e < M.start[i + 1]; ++e) {
        const int other = step[M.col[e]];
        if (other < node.first) continue;  // belongs to an earlier front
        assembly.push_back({e, i, position[k], position[other], other == k});
        if (other > node.last) {  // the mirror image, whose block row is eliminated later
          assembly.push_back({M.find(M.col[e], i), M.col[e], position[other], position[k], false});
        }
      }
    }
    target.assembly_end = static_cast<int>(assembly.size());

    // Where the rows of the children's updates go.
    target.child_begin = static_cast<int>(child.size());
    for (const int c : children[s]) {
      child.push_back(c);
      supernodes[c].run_begin = static_cast<int>(run.size());
      int begin = 0;
      for (const int k : nodes[c].below) {
        const int end = begin + M.row_size(order[k]);
        if (begin > 0 && run.back().position + run.back().end - run.back().begin == position[k]) {
          run.back().end = end;
        } else {
          run.push_back({begin, end, position[k]});
        }
        begin = end;
      }
      supernodes[c].run_end = static_cast<int>(run.size());
    }
    target.child_end = static_cast<int>(child.size());
    const auto size = static_cast<std::size_t>(target.size), pivots = static_cast<std::size_t>(target.pivots);
    stack_size = std::max(stack_size, stacked + size * size);
    for (const int c : children[s]) {
      const auto rest = static_cast<std::size_t>(supernodes[c].size - supernodes[c].pivots);
      stacked -= rest * rest;
    }
    stacked += (size - pivots) * (size - pivots);
    stack_size = std::max(stack_size, stacked);
    largest_front = std::max(largest_front, target.size);
    target.lower = lower_values;
    target.upper = upper_values;
    lower_values += size * pivots;
    upper_values += pivots * (size - pivots);
  }
}

void FrontStack::resize(const BlockSparseSymbolic& symbolic) {
  values_.resize(symbolic.stack_size);
  update_.assign(symbolic.supernodes.size(), 0);
  top_ = 0;
}

double* FrontStack::assemble(const BlockSparseSymbolic& symbolic, int supernode, const BlockSparseMatrix& M,
                             double shift, const BlockDiagonal* extra, Part part) {
  const BlockSparseSymbolic::Supernode& node = symbolic.supernodes[supernode];
  const std::ptrdiff_t n = node.size;
  const bool whole = part == Part::kWhole;
  double* front = values_.data() + top_;
  for (std::ptrdiff_t c = 0; c < n; ++c) std::fill(front + c * n + (whole ? 0 : c), front + (c + 1) * n, 0.0);
  for (int a = node.assembly_begin; a < node.assembly_end; ++a) {
    const BlockSparseSymbolic::Assembly& item = symbolic.assembly[a];
    if (!whole && item.row < item.col) continue;
    const int rows = M.row_size(item.block_row), cols = M.col_size(M.col[item.entry]);
    const double* value = M.data(item.entry);
    const double* added = item.diagonal && extra != nullptr ? extra->data(item.block_row) : nullptr;
    double* target = front + item.row + item.col * n;
    for (int c = 0; c < cols; ++c, target += n) {
      for (int r = 0; r < rows; ++r) target[r] += *value++;
      if (added != nullptr) {
        for (int r = 0; r < rows; ++r) target[r] += *added++;
      }
      if (item.diagonal) target[c] += shift;
    }
  }
  for (int k = node.child_begin; k < node.child_end; ++k) add_child(symbolic, symbolic.child[k], part, front, n);
  return front;
}

void FrontStack::add_child(const BlockSparseSymbolic& symbolic, int child, Part part, double* front,
                           std::ptrdiff_t n) const {
  const BlockSparseSymbolic::Supernode& node = symbolic.supernodes[child];
  const BlockSparseSymbolic::Run* runs = symbolic.run.data();
  const int m = node.size - node.pivots;
  const double* update = values_.data() + update_[child];
  for (int i = node.run_begin; i < node.run_end; ++i) {
    double* target = front + runs[i].position * n;
    for (int c = runs[i].begin; c < runs[i].end; ++c, target += n) {
      const double* column = update + static_cast<std::ptrdiff_t>(c) * m;
      for (int j = part == Part::kWhole ? node.run_begin : i; j < node.run_end; ++j) {
        const int begin = part == Part::kWhole ? runs[j].begin : std::max(runs[j].begin, c);
        double* rows = target + runs[j].position - runs[j].begin;
        for (int r = begin; r < runs[j].end; ++r) rows[r] += column[r];
      }
    }
  }
}

void FrontStack::keep_update(const BlockSparseSymbolic& symbolic, int supernode, Part part) {
  const BlockSparseSymbolic::Supernode& node = symbolic.supernodes[supernode];
  const std::ptrdiff_t n = node.size, rest = node.size - node.pivots;
  const std::size_t bottom = node.child_begin < node.child_end ? update_[symbolic.child[node.child_begin]] : top_;
  double* target = values_.data() + bottom;
  for (std::ptrdiff_t c = 0; c < rest; ++c) {  // downwards in memory, so forward copies may overlap
    const std::ptrdiff_t first = part == Part::kWhole ? 0 : c;
    const double* source = values_.data() + top_ + node.pivots + (node.pivots + c) * n;
    std::copy(source + first, source + rest, target + c * rest + first);
  }
  update_[supernode] = bottom;
  top_ = bottom + static_cast<std::size_t>(rest * rest);
}

}  // namespace touchstone
