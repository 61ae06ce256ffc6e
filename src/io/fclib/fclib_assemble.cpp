#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

#include "touchstone/contact/validate.hpp"
#include "touchstone/io/fclib/fclib_parts.hpp"

namespace touchstone::fclib {
namespace {

constexpr const char* kCheckWriter = "check the program that wrote the file";
constexpr double kMaxDenseInertia = 1e8;  // numbers in the dense blocks of M

void require_length(const std::string& name, const char* what, std::size_t length, std::ptrdiff_t expected) {
  if (static_cast<std::ptrdiff_t>(length) != expected)
    fail(name, what, fmt::format("it has {} numbers, expected {}", length, expected), kCheckWriter);
}

void require_matrix(const std::string& name, const char* what, const Matrix& matrix, std::ptrdiff_t rows,
                    std::ptrdiff_t cols) {
  if (matrix.rows != rows || matrix.cols != cols)
    fail(name, what, fmt::format("it is {} x {}, expected {} x {}", matrix.rows, matrix.cols, rows, cols),
         kCheckWriter);
}

void require_finite(const std::string& name, const char* what, const std::vector<double>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!std::isfinite(values[k])) fail(name, what, fmt::format("number {} is {}", k, values[k]), kCheckWriter);
  }
}

void require_finite(const std::string& name, const char* what, const Matrix& matrix) {
  for (const Entry& entry : matrix.entries) {
    if (!std::isfinite(entry.value))
      fail(name, what, fmt::format("entry ({}, {}) is {}", entry.row, entry.col, entry.value), kCheckWriter);
  }
}

// Numbers that are finite one by one need not be so together: sums of entries, forces over tiny inertias.
void require_usable(const std::string& name, const ContactProblem& problem) {
  const Verdict verdict = validate_data(problem);
  if (!verdict.usable())
    fail(name, "problem", verdict.message.substr(0, verdict.message.find(';')) + ", though each number is finite",
         kCheckWriter);
}

void add_blocks(const std::string& name, const std::vector<double>& mu, int equalities, Blocks& blocks) {
  for (std::size_t k = 0; k < mu.size(); ++k) {
    if (!(mu[k] >= 0.0 && std::isfinite(mu[k])))
      fail(name, "mu", fmt::format("the friction of contact {} is {}", k, mu[k]), "give a number >= 0");
    blocks.add_coulomb(mu[k]);
  }
  for (int k = 0; k < equalities; ++k) blocks.add_equality(1);
}

// Calls add(row, col, value) with the rows and columns of the problem.
template <typename Add>
void for_entries(const Matrix& matrix, int row_offset, int col_offset, int contact_rows, bool transposed, Add&& add) {
  for (const Entry& entry : matrix.entries) {
    const int row = row_from_file(row_offset + entry.row, contact_rows);
    const int col = row_from_file(col_offset + entry.col, contact_rows);
    transposed ? add(col, row, entry.value) : add(row, col, entry.value);
  }
}

int block_of(int row, int contacts) { return row < 3 * contacts ? row / 3 : contacts + row - 3 * contacts; }

// A file may hold one triangle of a symmetric matrix.
Matrix completed(Matrix M) {
  const auto all = [&](auto&& test) { return std::all_of(M.entries.begin(), M.entries.end(), test); };
  const bool upper = all([](const Entry& e) { return e.row <= e.col; });
  const bool lower = all([](const Entry& e) { return e.row >= e.col; });
  if (upper == lower) return M;  // full, or diagonal
  const std::size_t count = M.entries.size();
  for (std::size_t k = 0; k < count; ++k) {
    const Entry e = M.entries[k];
    if (e.row != e.col) M.entries.push_back({e.col, e.row, e.value});
  }
  return M;
}

// Dofs that M couples: the smallest dof of each set names it.
std::vector<int> coupled_dofs(const Matrix& M) {
  std::vector<int> root(static_cast<std::size_t>(M.rows));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int k) {
    while (root[k] != k) {
      root[k] = root[root[k]];
      k = root[k];
    }
    return k;
  };
  for (const Entry& entry : M.entries) {
    if (entry.value == 0.0) continue;
    const int a = find(entry.row), b = find(entry.col);
    root[std::max(a, b)] = std::min(a, b);
  }
  for (int k = 0; k < M.rows; ++k) root[k] = find(k);
  return root;
}

// The inertia by cliques, and where each dof of the file went.
struct Cliques {
  DenseInertia inertia;
  std::vector<int> place;      // by dof of the file: its dof here
  std::vector<int> clique_of;  // by dof of the file
};

// Fills `dof`: by dof here, the one of the file.
Cliques find_cliques(const std::string& name, const Matrix& M, std::vector<int>& dof) {
  const std::vector<int> root = coupled_dofs(M);
  std::vector<int> size(root.size(), 0), number(root.size(), -1), begin(root.size(), 0);
  for (const int r : root) ++size[r];
  double numbers = 0.0;
  for (const int n : size) numbers += static_cast<double>(n) * n;
  if (numbers > kMaxDenseInertia)
    fail(name, "M", fmt::format("it couples so many dofs that its dense blocks have {:.3g} numbers", numbers),
         "give the local problem (W, q) instead");
  std::vector<MatrixX> blocks;
  int next = 0;
  for (int k = 0; k < M.rows; ++k) {
    if (root[k] != k) continue;
    number[k] = static_cast<int>(blocks.size());
    begin[k] = next;
    next += size[k];
    blocks.emplace_back(MatrixX::Zero(size[k], size[k]));
  }
  Cliques result;
  result.place.resize(root.size());
  result.clique_of.resize(root.size());
  std::vector<int> used(root.size(), 0);
  dof.assign(root.size(), 0);
  for (int k = 0; k < M.rows; ++k) {
    const int r = root[k];
    result.clique_of[k] = number[r];
    result.place[k] = begin[r] + used[r]++;
    dof[result.place[k]] = k;
  }
  for (const Entry& entry : M.entries) {
    const int first = begin[root[entry.row]];
    if (entry.value != 0.0)
      blocks[result.clique_of[entry.row]](result.place[entry.row] - first, result.place[entry.col] - first) +=
          entry.value;
  }
  for (MatrixX& block : blocks) {
    result.inertia.add(block);
    block.resize(0, 0);  // large problems need the memory
  }
  if (const int broken = result.inertia.broken_clique(); broken >= 0)
    fail(name, "M", fmt::format("the inertia of clique {} is not positive definite", broken), kCheckWriter);
  return result;
}

}  // namespace

ContactProblem assemble(const Local& local, const std::string& name) {
  const int contacts = static_cast<int>(local.mu.size());
  const int equalities = static_cast<int>(local.s.size());
  const std::ptrdiff_t contact_rows = 3 * static_cast<std::ptrdiff_t>(contacts);
  require_matrix(name, "W", local.W, contact_rows, contact_rows);
  require_length(name, "q", local.q.size(), contact_rows);
  if (equalities > 0) {
    require_matrix(name, "V", local.V, contact_rows, equalities);
    require_matrix(name, "R", local.R, equalities, equalities);
  }
  for (const auto& [what, matrix] : {std::pair{"W", &local.W}, {"V", &local.V}, {"R", &local.R}})
    require_finite(name, what, *matrix);
  require_finite(name, "q", local.q);
  require_finite(name, "s", local.s);

  ContactProblem problem;
  add_blocks(name, local.mu, equalities, problem.blocks);
  const int rows = static_cast<int>(contact_rows);
  const auto visit = [&](auto&& add) {
    for_entries(local.W, 0, 0, rows, false, add);
    for_entries(local.V, 0, rows, rows, false, add);
    for_entries(local.V, 0, rows, rows, true, add);
    for_entries(local.R, rows, rows, rows, false, add);
  };
  std::vector<std::pair<int, int>> pattern;
  visit([&](int row, int col, double value) {
    if (value != 0.0) pattern.emplace_back(block_of(row, contacts), block_of(col, contacts));
  });
  BlockSparseMatrix G;
  G.set_pattern(problem.blocks.row, problem.blocks.row, pattern);
  visit([&](int row, int col, double value) {
    if (value == 0.0) return;
    const int i = block_of(row, contacts), j = block_of(col, contacts);
    G.block(i, G.find(i, j))(row - G.row_begin[i], col - G.col_begin[j]) += value;
  });
  VectorX g(problem.nrow());
  for (int k = 0; k < rows; ++k) g[row_from_file(k, rows)] = local.q[k];
  for (int k = 0; k < equalities; ++k) g[rows + k] = local.s[k];
  problem.dual.set(std::move(G), std::move(g));
  require_usable(name, problem);
  return problem;
}

ContactProblem assemble(const Global& global, const std::string& name, std::vector<int>& dof) {
  const int contacts = static_cast<int>(global.mu.size());
  const int equalities = static_cast<int>(global.b.size());
  const std::ptrdiff_t contact_rows = 3 * static_cast<std::ptrdiff_t>(contacts);
  const auto nv = std::ssize(global.f);
  require_matrix(name, "M", global.M, nv, nv);
  require_matrix(name, "H", global.H, nv, contact_rows);
  require_length(name, "w", global.w.size(), contact_rows);
  if (equalities > 0) require_matrix(name, "G", global.G, nv, equalities);
  for (const auto& [what, matrix] : {std::pair{"M", &global.M}, {"H", &global.H}, {"G", &global.G}})
    require_finite(name, what, *matrix);
  for (const auto& [what, values] : {std::pair{"f", &global.f}, {"w", &global.w}, {"b", &global.b}})
    require_finite(name, what, *values);

  ContactProblem problem;
  add_blocks(name, global.mu, equalities, problem.blocks);
  PrimalData& primal = problem.primal;
  Cliques cliques = find_cliques(name, completed(global.M), dof);
  const std::vector<int>&place = cliques.place, &clique_of = cliques.clique_of;
  primal.set_inertia(std::move(cliques.inertia));
  const int rows = static_cast<int>(contact_rows);
  // J = [H'; G'].
  const auto visit = [&](auto&& add) {
    for (const Entry& entry : global.H.entries) add(row_from_file(entry.col, rows), entry.row, entry.value);
    for (const Entry& entry : global.G.entries) add(rows + entry.col, entry.row, entry.value);
  };
  std::vector<std::pair<int, int>> pattern;
  visit([&](int row, int k, double value) {
    if (value != 0.0) pattern.emplace_back(block_of(row, contacts), clique_of[k]);
  });
  primal.J.set_pattern(problem.blocks.row, primal.A->group(), pattern);
  visit([&](int row, int k, double value) {
    if (value == 0.0) return;
    const int i = block_of(row, contacts), c = clique_of[k];
    primal.J.block(i, primal.J.find(i, c))(row - problem.blocks.row[i], place[k] - primal.A->first_dof(c)) += value;
  });
  primal.v_free.resize(nv);
  for (std::ptrdiff_t k = 0; k < nv; ++k) primal.v_free[place[k]] = global.f[k];
  primal.A->solve(primal.v_free);
  problem.b.resize(problem.nrow());
  for (int k = 0; k < rows; ++k) problem.b[row_from_file(k, rows)] = global.w[k];
  for (int k = 0; k < equalities; ++k) problem.b[rows + k] = global.b[k];
  require_usable(name, problem);
  return problem;
}

}  // namespace touchstone::fclib
