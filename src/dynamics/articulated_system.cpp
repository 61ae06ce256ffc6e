#include "touchstone/dynamics/articulated_system.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"

namespace touchstone {

void RowList::clear() {
  row.assign(1, 0);
  entry.assign(1, 0);
  dof.clear();
  value_begin.clear();
  value.clear();
}

void RowList::add_entry(int of_dof, const double* values, int count) {
  dof.push_back(of_dof);
  value_begin.push_back(value.size());
  value.insert(value.end(), values, values + count);
}

void RowList::end_block(int count) {
  row.push_back(row.back() + count);
  entry.push_back(static_cast<int>(dof.size()));
}

// --- pattern ---

bool ArticulatedSystem::is_same(std::span<const int> trees, const RowList& rows) const {
  return is_set_ && std::equal(trees.begin(), trees.end(), trees_.begin(), trees_.end()) && rows.row == pattern_.row &&
         rows.entry == pattern_.entry && rows.dof == pattern_.dof;
}

void ArticulatedSystem::set_pattern(const Model& model, std::span<const int> trees, const RowList& rows) {
  if (is_same(trees, rows)) return;
  trees_.assign(trees.begin(), trees.end());
  pattern_.row = rows.row;
  pattern_.entry = rows.entry;
  pattern_.dof = rows.dof;
  is_set_ = true;
  list_nodes(model);
  carry_blocks(model, rows);
  lay_out(rows);
  place_entries(model, rows);
}

// Parents come before their children, as the bodies do.
void ArticulatedSystem::list_nodes(const Model& model) {
  nodes_.assign(1, Node());
  depth_.assign(1, 0);
  node_of_.assign(at(model.nbody), 0);
  for (int b = 1; b < model.nbody; ++b) {
    const BodyKernel& body = model.body_kernels[at(b)];
    if (body.tree < 0 || !std::binary_search(trees_.begin(), trees_.end(), body.tree)) continue;
    Node node;
    node.body = b;
    node.parent = node_of_[at(body.parent)];
    node.first_dof = body.first_dof;
    node.dof_count = body.dof_count;
    node_of_[at(b)] = static_cast<int>(nodes_.size());
    depth_.push_back(depth_[at(node.parent)] + 1);
    nodes_.push_back(node);
  }
  I_.resize(nodes_.size());
  p_.resize(nodes_.size());
  a_.resize(nodes_.size());
  U_.resize(at(model.nv));
  D_inverse_.resize(at(model.nv));
}

int ArticulatedSystem::common_node(int a, int b) const {
  while (a != b) {
    int& deeper = depth_[at(a)] >= depth_[at(b)] ? a : b;
    deeper = nodes_[at(deeper)].parent;
  }
  return a;
}

// Which blocks each body hands on, and where they end: where all parents of bodies that they move meet.
void ArticulatedSystem::carry_blocks(const Model& model, const RowList& rows) {
  carries_.resize(nodes_.size());
  homes_.resize(nodes_.size());
  for (std::vector<int>& list : carries_) list.clear();
  for (std::vector<int>& list : homes_) list.clear();
  const auto node_at = [&](int entry) { return node_of_[at(model.dof_body[at(rows.dof[at(entry)])])]; };
  for (int block = 0; block < rows.count(); ++block) {
    const int begin = rows.entry[at(block)], end = rows.entry[at(block + 1)];
    int home = begin < end ? nodes_[at(node_at(begin))].parent : 0;
    for (int k = begin + 1; k < end; ++k) home = common_node(home, nodes_[at(node_at(k))].parent);
    homes_[at(home)].push_back(block);
    for (int k = begin; k < end; ++k) {
      for (int n = node_at(k); n != home; n = nodes_[at(n)].parent) {
        std::vector<int>& list = carries_[at(n)];
        if (!list.empty() && list.back() == block) break;
        list.push_back(block);
      }
    }
  }
}

// The first row of a block with a node that hands it on.
int ArticulatedSystem::own_place(const Node& node, int block) const {
  const auto first = handed_.begin() + static_cast<std::ptrdiff_t>(node.first_block);
  const auto last = first + static_cast<std::ptrdiff_t>(node.block_count);
  return std::lower_bound(first, last, block, [](const Handed& a, int b) { return a.block < b; })->own;
}

// Where the rows of each node lie, and where those that it hands on lie with its parent.
void ArticulatedSystem::lay_out(const RowList& rows) {
  std::size_t row = 0, square = 0, share = 0;
  handed_.clear();
  home_blocks_.clear();
  home_place_.clear();
  place_.assign(at(rows.count()), 0);
  work_ = 0.0;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    const auto place = [&](const std::vector<int>& blocks) {
      for (const int block : blocks) {
        place_[at(block)] = node.rows;
        node.rows += rows.size(block);
      }
    };
    node.rows = 0;
    place(homes_[n]);
    node.eliminated = node.rows;
    place(carries_[n]);
    node.first_row = row;
    node.first_square = square;
    node.first_share = share;
    node.first_home = home_blocks_.size();
    node.home_count = homes_[n].size();
    for (const int block : homes_[n]) {
      home_blocks_.push_back(block);
      home_place_.push_back(place_[at(block)]);
    }
    node.first_block = handed_.size();
    node.block_count = carries_[n].size();
    for (const int block : carries_[n]) handed_.push_back({block, place_[at(block)], 0, rows.size(block)});
    row += at(node.rows);
    square += at(node.rows) * at(node.rows);
    share += at(node.dof_count) * at(node.carried());
    const double front = 6.0 + node.rows, rest = 6.0 + node.carried();
    work_ += node.eliminated * front * front + node.dof_count * rest * rest;
  }
  K_.resize(row);
  e_.resize(row);
  mu_.resize(row);
  L_.resize(square);
  s_.resize(share);
  pivot_.resize(at(rows.rows()));
  // A block has one place with each node: those of a parent are found again here.
  for (std::size_t n = 1; n < nodes_.size(); ++n) {
    const Node &node = nodes_[n], &parent = nodes_[at(node.parent)];
    for (std::size_t k = node.first_block; k < node.first_block + node.block_count; ++k) {
      const auto first = home_blocks_.begin() + static_cast<std::ptrdiff_t>(parent.first_home);
      const auto last = first + static_cast<std::ptrdiff_t>(parent.home_count);
      const auto home = std::lower_bound(first, last, handed_[k].block);
      const bool is_home = home != last && *home == handed_[k].block;
      handed_[k].parents = is_home ? home_place_[static_cast<std::size_t>(home - home_blocks_.begin())]
                                   : own_place(parent, handed_[k].block);
    }
  }
}

// The entries of J by dof.
void ArticulatedSystem::place_entries(const Model& model, const RowList& rows) {
  entry_begin_.assign(at(model.nv + 1), 0);
  for (const int dof : rows.dof) ++entry_begin_[at(dof + 1)];
  for (std::size_t i = 1; i < entry_begin_.size(); ++i) entry_begin_[i] += entry_begin_[i - 1];
  entries_.resize(rows.dof.size());
  std::vector<std::size_t> next(entry_begin_.begin(), entry_begin_.end() - 1);
  for (int block = 0; block < rows.count(); ++block) {
    for (int k = rows.entry[at(block)]; k < rows.entry[at(block + 1)]; ++k) {
      const int dof = rows.dof[at(k)];
      const Node& node = nodes_[at(node_of_[at(model.dof_body[at(dof)])])];
      entries_[next[at(dof)]++] = {own_place(node, block), rows.size(block), rows.value_begin[at(k)]};
    }
  }
}

// --- factor ---

// A partial Cholesky factorisation of L, with K' as six more rows.
bool ArticulatedSystem::eliminate_rows(const Node& node, int index, const RowList& rows) {
  const int n = node.rows;
  double* L = L_.data() + node.first_square;
  Force* K = K_.data() + node.first_row;
  for (int j = 0; j < node.eliminated; ++j) {
    double* column = L + at(j) * at(n);
    if (!(column[j] > 0.0) || !std::isfinite(column[j])) return false;
    const double root = std::sqrt(column[j]), inverse = 1.0 / root;
    column[j] = root;
    for (int i = j + 1; i < n; ++i) column[i] *= inverse;
    K[j] = K[j] * inverse;
    for (int k = j + 1; k < n; ++k) {
      const double factor = column[k];
      if (factor == 0.0) continue;
      double* other = L + at(k) * at(n);
      for (int i = k; i < n; ++i) other[i] -= column[i] * factor;
      K[k] = K[k] - K[j] * factor;
    }
    remove_product(I_[at(index)], K[j], -1.0);
  }
  int j = 0;
  for (std::size_t h = node.first_home; h < node.first_home + node.home_count; ++h) {
    const int block = home_blocks_[h];
    for (int r = 0; r < rows.size(block); ++r, ++j) {
      const double root = L[at(j) * at(n) + at(j)];
      pivot_[at(rows.row[at(block)] + r)] = root * root;
    }
  }
  return true;
}

bool ArticulatedSystem::eliminate_dofs(const Node& node, int index, const std::vector<Motion>& S,
                                       const VectorX& diagonal, const RowList& rows) {
  const int n = node.rows, first = node.eliminated, carried = node.carried();
  ArticulatedInertia& I = I_[at(index)];
  Force* K = K_.data() + node.first_row + first;
  for (int d = node.dof_count - 1; d >= 0; --d) {
    const int dof = node.first_dof + d;
    const Force U = times(I, S[at(dof)]);
    const double D = dot(S[at(dof)], U) + diagonal[dof];
    if (!(D > 0.0) || !std::isfinite(D)) return false;
    const double D_inverse = 1.0 / D;
    U_[at(dof)] = U;
    D_inverse_[at(dof)] = D_inverse;
    remove_product(I, U, D_inverse);
    if (carried == 0) continue;
    double* s = s_.data() + node.first_share + at(d) * at(carried);
    for (int j = 0; j < carried; ++j) s[j] = dot(S[at(dof)], K[j]);
    for (std::size_t k = entry_begin_[at(dof)]; k < entry_begin_[at(dof + 1)]; ++k) {
      const double* value = rows.value.data() + entries_[k].value;
      for (int r = 0; r < entries_[k].size; ++r) s[entries_[k].own - first + r] += value[r];
    }
    for (int j = 0; j < carried; ++j) {
      const double share = s[j] * D_inverse;
      K[j] = K[j] - U * share;
      double* column = L_.data() + node.first_square + at(first + j) * at(n) + at(first);
      for (int i = j; i < carried; ++i) column[i] += s[i] * share;
    }
  }
  return true;
}

void ArticulatedSystem::hand_on(const Node& node, int index) {
  const Node& parent = nodes_[at(node.parent)];
  I_[at(node.parent)] += I_[at(index)];
  const Handed* blocks = handed_.data() + node.first_block;
  const double* from = L_.data() + node.first_square;
  double* to = L_.data() + parent.first_square;
  for (std::size_t b = 0; b < node.block_count; ++b) {
    for (int r = 0; r < blocks[b].size; ++r)
      K_[parent.first_row + at(blocks[b].parents + r)] += K_[node.first_row + at(blocks[b].own + r)];
    for (std::size_t a = b; a < node.block_count; ++a) {
      for (int c = 0; c < blocks[b].size; ++c) {
        for (int r = a == b ? c : 0; r < blocks[a].size; ++r) {
          const int row = blocks[a].parents + r, column = blocks[b].parents + c;
          to[at(std::min(row, column)) * at(parent.rows) + at(std::max(row, column))] +=
              from[at(blocks[b].own + c) * at(node.rows) + at(blocks[a].own + r)];
        }
      }
    }
  }
}

bool ArticulatedSystem::factorize(const std::vector<SpatialInertia>& inertia, const std::vector<Motion>& S,
                                  const VectorX& diagonal, const RowList& rows, const VectorX& compliance) {
  std::fill(K_.begin(), K_.end(), Force());
  std::fill(L_.begin(), L_.end(), 0.0);
  I_[0] = ArticulatedInertia();
  for (std::size_t n = 1; n < nodes_.size(); ++n) I_[n] = articulated(inertia[at(nodes_[n].body)]);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    double* L = L_.data() + node.first_square;
    int j = 0;
    for (std::size_t h = node.first_home; h < node.first_home + node.home_count; ++h) {
      const int block = home_blocks_[h];
      for (int r = 0; r < rows.size(block); ++r, ++j)
        L[at(j) * at(node.rows) + at(j)] = compliance[rows.row[at(block)] + r];
    }
  }
  for (int n = static_cast<int>(nodes_.size()) - 1; n > 0; --n) {
    const Node& node = nodes_[at(n)];
    if (node.eliminated > 0 && !eliminate_rows(node, n, rows)) return false;
    if (!eliminate_dofs(node, n, S, diagonal, rows)) return false;
    if (node.parent > 0 || node.rows > 0) hand_on(node, n);
  }
  return eliminate_rows(nodes_[0], 0, rows);
}

// --- solve ---

void ArticulatedSystem::forward_rows(const Node& node, int index, const VectorRef& mu) const {
  const double* L = L_.data() + node.first_square;
  double* e = e_.data() + node.first_row;
  int j = 0;
  for (std::size_t h = node.first_home; h < node.first_home + node.home_count; ++h) {
    const int row = pattern_.row[at(home_blocks_[h])], size = pattern_.size(home_blocks_[h]);
    for (int r = 0; r < size; ++r) e[j++] += mu[row + r];
  }
  for (j = 0; j < node.eliminated; ++j) {
    const double* column = L + at(j) * at(node.rows);
    e[j] /= column[j];
    for (int i = j + 1; i < node.rows; ++i) e[i] -= column[i] * e[j];
    p_[at(index)] += K_[node.first_row + at(j)] * e[j];
  }
}

void ArticulatedSystem::backward_rows(const Node& node, const Motion& a, VectorRef mu) const {
  const double* L = L_.data() + node.first_square;
  const double* e = e_.data() + node.first_row;
  double* own = mu_.data() + node.first_row;
  for (int j = node.eliminated - 1; j >= 0; --j) {
    const double* column = L + at(j) * at(node.rows);
    double sum = dot(a, K_[node.first_row + at(j)]) - e[j];
    for (int i = j + 1; i < node.rows; ++i) sum -= column[i] * own[i];
    own[j] = sum / column[j];
  }
  int j = 0;
  for (std::size_t h = node.first_home; h < node.first_home + node.home_count; ++h) {
    const int row = pattern_.row[at(home_blocks_[h])], size = pattern_.size(home_blocks_[h]);
    for (int r = 0; r < size; ++r) mu[row + r] = own[j++];
  }
}

void ArticulatedSystem::solve(const std::vector<Motion>& S, VectorRef x, VectorRef mu) const {
  std::fill(p_.begin(), p_.end(), Force());
  std::fill(e_.begin(), e_.end(), 0.0);
  for (int n = static_cast<int>(nodes_.size()) - 1; n >= 0; --n) {
    const Node& node = nodes_[at(n)];
    if (node.eliminated > 0) forward_rows(node, n, mu);
    Force& p = p_[at(n)];
    double* e = e_.data() + node.first_row + node.eliminated;
    const int carried = node.carried();
    for (int d = node.dof_count - 1; d >= 0; --d) {
      const int dof = node.first_dof + d;
      const double t = x[dof] + dot(S[at(dof)], p), change = t * D_inverse_[at(dof)];
      x[dof] = t;
      p = p - U_[at(dof)] * change;
      const double* s = s_.data() + node.first_share + at(d) * at(carried);
      for (int j = 0; j < carried; ++j) e[j] -= s[j] * change;
    }
    if (n == 0) break;
    p_[at(node.parent)] += p;
    double* above = e_.data() + nodes_[at(node.parent)].first_row;
    for (std::size_t k = node.first_block; k < node.first_block + node.block_count; ++k) {
      const Handed& block = handed_[k];
      for (int r = 0; r < block.size; ++r) above[block.parents + r] += e[block.own - node.eliminated + r];
    }
  }
  a_[0] = Motion();
  backward_rows(nodes_[0], a_[0], mu);
  for (std::size_t n = 1; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    const double* above = mu_.data() + nodes_[at(node.parent)].first_row;
    double* own = mu_.data() + node.first_row;
    for (std::size_t k = node.first_block; k < node.first_block + node.block_count; ++k) {
      const Handed& block = handed_[k];
      for (int r = 0; r < block.size; ++r) own[block.own + r] = above[block.parents + r];
    }
    Motion a = a_[at(node.parent)];
    const int carried = node.carried();
    for (int d = 0; d < node.dof_count; ++d) {
      const int dof = node.first_dof + d;
      double t = x[dof] - dot(a, U_[at(dof)]);
      const double* s = s_.data() + node.first_share + at(d) * at(carried);
      for (int j = 0; j < carried; ++j) t -= s[j] * own[node.eliminated + j];
      x[dof] = t * D_inverse_[at(dof)];
      a += S[at(dof)] * x[dof];
    }
    a_[n] = a;
    if (node.eliminated > 0) backward_rows(node, a, mu);
  }
}

void ArticulatedSystem::solve(const std::vector<Motion>& S, VectorRef x) const {
  VectorX none(0);
  solve(S, x, none);
}

}  // namespace touchstone
