#include "touchstone/sim/tree_inertia.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

constexpr int kLargestGroup = 6;  // dofs

}  // namespace

void TreeInertia::set(const Model& model, const Data& data, const std::vector<int>& trees) {
  set_structure(model, trees);
  L_.resize(row_start_.back());
  D_inverse_.resize(nv());
  broken_clique_ = -1;
  for (int c = 0; c < nclique(); ++c) {
    const int from = model.tree_first_dof[at(trees[at(c)])], to = first_dof(c), n = clique_size(c);
    for (int k = 0; k < n; ++k) {
      std::copy_n(data.L.data() + model.row_start[at(from + k)], row_length(to + k),
                  L_.data() + row_start_[at(to + k)]);  // rows of the model are padded
    }
    D_inverse_.segment(to, n) = data.D_inverse.segment(from, n);
    const auto pivots = D_inverse_.segment(to, n);
    if (broken_clique_ < 0 && !(pivots.allFinite() && (pivots.array() > 0.0).all())) broken_clique_ = c;
  }
  root_ = D_inverse_.cwiseSqrt();
  expand_factor();
}

void TreeInertia::set_structure(const Model& model, const std::vector<int>& trees) {
  std::size_t next = 0;
  bool same = trees == trees_;
  for (std::size_t t = 0; t < trees.size() && same; ++t) {
    const int first = model.tree_first_dof[at(trees[t])], end = model.tree_first_dof[at(trees[t] + 1)];
    for (int k = first; k < end && same; ++k, ++next)
      same = next < lengths_.size() && model.row_length[at(k)] == lengths_[next];
  }
  if (same && next == lengths_.size()) return;
  trees_ = trees;
  lengths_.clear();
  row_start_.assign(1, 0);
  row_dof_.clear();
  group_of_.clear();
  group_.assign(1, 0);
  clique_.assign(1, 0);
  clique_of_.clear();
  for (const int tree : trees) add_groups(model, tree);
}

void TreeInertia::add_groups(const Model& model, int tree) {
  const int first = model.tree_first_dof[at(tree)], end = model.tree_first_dof[at(tree + 1)], offset = nv() - first;
  const auto parent = [&](int k) {
    const int length = model.row_length[at(k)];
    return length > 1 ? model.row_dof[at(model.row_start[at(k)] + length - 2)] : -1;
  };
  children_.assign(at(end - first), 0);
  for (int k = first; k < end; ++k) {
    if (parent(k) >= 0) ++children_[at(parent(k) - first)];
  }
  int open = 0;  // dofs of the group that is being filled
  for (int k = first; k < end; ++k) {
    const bool joins = open > 0 && open < kLargestGroup && parent(k) == k - 1 && children_[at(k - 1 - first)] == 1;
    if (!joins) {
      group_.push_back(group_.back());
      clique_of_.push_back(nclique());
      open = 0;
    }
    ++open;
    ++group_.back();
    group_of_.push_back(ngroup() - 1);
    const int length = model.row_length[at(k)];
    lengths_.push_back(length);
    for (int j = 0; j < length; ++j) row_dof_.push_back(model.row_dof[at(model.row_start[at(k)] + j)] + offset);
    row_start_.push_back(static_cast<int>(row_dof_.size()));
  }
  clique_.push_back(ngroup());
}

// A = L' D L, row by row along the paths.
void TreeInertia::expand_factor() {
  A_.setZero(row_start_.back());
  for (int k = 0; k < nv(); ++k) {
    const int start = row_start_[at(k)], last = row_length(k) - 1;
    const double* row = L_.data() + start;
    const double D = row[last];
    const auto entry = [&](int j) { return j == last ? 1.0 : row[j]; };
    for (int i = 0; i <= last; ++i) {
      const double factor = entry(i) * D;
      double* target = A_.data() + row_start_[at(row_dof_[at(start + i)])];
      for (int j = 0; j <= i; ++j) target[j] += factor * entry(j);
    }
  }
}

void TreeInertia::half_solve(int clique, double* x, int columns) const {
  const int first = first_dof(clique), n = clique_size(clique);
  for (int column = 0; column < columns; ++column, x += n) {
    for (int k = n - 1; k >= 0; --k) {
      if (x[k] == 0.0) continue;
      const int start = row_start_[at(first + k)], last = row_length(first + k) - 1;
      for (int j = 0; j < last; ++j) x[row_dof_[at(start + j)] - first] -= L_[start + j] * x[k];
      x[k] *= root_[first + k];
    }
  }
}

void TreeInertia::solve(int clique, double* x) const {
  const int first = first_dof(clique), n = clique_size(clique);
  half_solve(clique, x, 1);
  for (int k = 0; k < n; ++k) {
    const int start = row_start_[at(first + k)], last = row_length(first + k) - 1;
    x[k] *= root_[first + k];
    for (int j = 0; j < last; ++j) x[k] -= L_[start + j] * x[row_dof_[at(start + j)] - first];
  }
}

template <typename Use>
void TreeInertia::for_path(int group, Use use) const {
  const int last = group_[at(group + 1)] - 1, start = row_start_[at(last)], length = row_length(last);
  for (int first = 0; first < length;) {
    const int other = group_of_[at(row_dof_[at(start + first)])];
    int end = first + 1;
    while (end < length && group_of_[at(row_dof_[at(start + end)])] == other) ++end;
    use(other, first, end);
    first = end;
  }
}

void TreeInertia::append_pattern(std::vector<std::pair<int, int>>& pattern) const {
  for (int p = 0; p < ngroup(); ++p) {
    for_path(p, [&](int q, int, int) {
      pattern.emplace_back(p, q);
      if (q != p) pattern.emplace_back(q, p);
    });
  }
}

void TreeInertia::add_to(BlockSparseMatrix& H) const {
  for (int p = 0; p < ngroup(); ++p) {
    const int rows = group_[at(p + 1)] - group_[at(p)];
    for_path(p, [&](int q, int first, int end) {
      const int columns = group_[at(q + 1)] - group_[at(q)];
      double *own = H.data(H.find(p, q)), *mirror = H.data(H.find(q, p));
      for (int r = 0; r < rows; ++r) {
        const int dof = group_[at(p)] + r;
        const double* row = A_.data() + row_start_[at(dof)];
        for (int j = first; j < std::min(end, row_length(dof)); ++j) {
          const int c = j - first;
          own[c * rows + r] += row[j];
          if (q != p || c != r) mirror[r * columns + c] += row[j];
        }
      }
    });
  }
}

std::shared_ptr<const Inertia> TreeInertia::scaled(double factor) const {
  auto result = std::make_shared<TreeInertia>(*this);
  result->A_ *= factor;
  result->D_inverse_ /= factor;
  result->root_ = result->D_inverse_.cwiseSqrt();
  for (int k = 0; k < nv(); ++k) result->L_[row_start_[at(k + 1)] - 1] *= factor;
  return result;
}

bool TreeInertia::all_finite() const { return A_.allFinite(); }

}  // namespace touchstone
