#include "touchstone/contact/validate.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "touchstone/contact/dual.hpp"

namespace touchstone {
namespace {

template <typename... Args>
Verdict invalid(fmt::format_string<Args...> format, Args&&... args) {
  return {ProblemStatus::kInvalid, fmt::format(format, std::forward<Args>(args)...), 0.0};
}

// Finite if and only if 0 x == 0. Eight sums at once, because one would wait for itself.
bool all_finite(const double* x, std::size_t n) {
  const Lanes zero{};
  Lanes a{}, b{};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Lanes p = load_lanes(x + i), q = load_lanes(x + i + 4);
    a += zero * p;
    b += zero * q;
  }
  a += b;
  double sum = (a[0] + a[1]) + (a[2] + a[3]);
  for (; i < n; ++i) sum += 0.0 * x[i];
  return sum == 0.0;
}

bool all_finite(const VectorX& x) { return all_finite(x.data(), static_cast<std::size_t>(x.size())); }

std::ptrdiff_t first_not_finite(const double* x, std::ptrdiff_t n) {
  std::ptrdiff_t i = 0;
  while (i < n && std::isfinite(x[i])) ++i;
  return i;
}

int block_of_row(const Blocks& blocks, std::ptrdiff_t row) {
  int i = 0;
  while (i + 1 < blocks.count() && blocks.row[i + 1] <= row) ++i;
  return i;
}

Verdict not_finite(const ContactProblem& problem, const char* what, const VectorX& x) {
  const std::ptrdiff_t row = first_not_finite(x.data(), x.size());
  return invalid("{}: {} is {} in row {}; check what produced it",
                 problem.describe_block(block_of_row(problem.blocks, row)), what, x[row], row);
}

Verdict wrong_size(const char* what, std::ptrdiff_t size, std::ptrdiff_t expected) {
  return invalid("{} has {} entries, expected {}; fill it for every row or block", what, size, expected);
}

bool is_allowed_size(BlockType type, int size) {
  switch (type) {
    case BlockType::kEquality:
      return size >= 1 && size <= kMaxBlockSize;
    case BlockType::kNonNegative:
    case BlockType::kBox:
      return size == 1;
    case BlockType::kCoulomb:
      return size == 1 || size == 3 || size == 4 || size == 6;
  }
  return false;
}

Verdict check_block(const ContactProblem& problem, int i) {
  const Blocks& blocks = problem.blocks;
  const int size = blocks.size(i);
  if (!is_allowed_size(blocks.type[i], size)) {
    return invalid("{} has {} rows; equalities have 1 to {}, limits and boxes 1, contacts 1, 3, 4 or 6",
                   problem.describe_block(i), size, kMaxBlockSize);
  }
  for (int r = blocks.row[i]; r < blocks.row[i + 1]; ++r) {
    if (!(blocks.mu[r] >= 0.0) || !std::isfinite(blocks.mu[r])) {
      return invalid("{}: the friction coefficient is {}; it must be a number >= 0", problem.describe_block(i),
                     blocks.mu[r]);
    }
    if (blocks.type[i] == BlockType::kBox && !(blocks.lo[r] <= blocks.hi[r])) {
      return invalid("{}: the bounds are [{}, {}]; the lower one must not be greater", problem.describe_block(i),
                     blocks.lo[r], blocks.hi[r]);
    }
  }
  return {};
}

// What check_block asks, without words for an answer.
bool is_block_valid(const Blocks& blocks, int i) {
  if (!is_allowed_size(blocks.type[i], blocks.size(i))) return false;
  bool valid = true;
  for (int r = blocks.row[i]; r < blocks.row[i + 1]; ++r) {
    valid = valid && blocks.mu[r] >= 0.0 && std::isfinite(blocks.mu[r]);
    valid = valid && (blocks.type[i] != BlockType::kBox || blocks.lo[r] <= blocks.hi[r]);
  }
  return valid;
}

Verdict check_blocks(const ContactProblem& problem) {
  const Blocks& blocks = problem.blocks;
  const auto nrow = static_cast<std::size_t>(blocks.rows()), nblock = static_cast<std::size_t>(blocks.count());
  if (blocks.row.size() != nblock + 1) return wrong_size("Blocks::row", std::ssize(blocks.row), blocks.count() + 1);
  if (blocks.mu.size() != nrow) return wrong_size("Blocks::mu", std::ssize(blocks.mu), blocks.rows());
  if (blocks.lo.size() != nrow) return wrong_size("Blocks::lo", std::ssize(blocks.lo), blocks.rows());
  if (blocks.hi.size() != nrow) return wrong_size("Blocks::hi", std::ssize(blocks.hi), blocks.rows());
  for (int i = 0; i < blocks.count(); ++i) {
    if (!is_block_valid(blocks, i)) return check_block(problem, i);
  }
  if (!problem.block_names.empty() && problem.block_names.size() != nblock)
    return wrong_size("block_names", std::ssize(problem.block_names), blocks.count());
  if (!problem.row_length.empty() && problem.row_length.size() != nrow)
    return wrong_size("row_length", std::ssize(problem.row_length), blocks.rows());
  for (std::size_t r = 0; r < problem.row_length.size(); ++r) {
    if (!(problem.row_length[r] > 0.0) || !std::isfinite(problem.row_length[r]))
      return invalid("the length of row {} is {}; it must be positive", r, problem.row_length[r]);
  }
  if (!(problem.time_step >= 0.0)) return invalid("the time step is {}; it must not be negative", problem.time_step);
  return {};
}

Verdict check_dual(const ContactProblem& problem) {
  const DualData& dual = problem.dual;
  const int nrow = problem.nrow();
  if (dual.g.size() != nrow) return wrong_size("g", dual.g.size(), nrow);
  if (!all_finite(dual.g)) return not_finite(problem, "g", dual.g);
  switch (dual.form) {
    case DualData::Form::kDense:
      if (dual.G_dense.rows() != nrow || dual.G_dense.cols() != nrow)
        return invalid("G is {} x {}, expected {} x {}", dual.G_dense.rows(), dual.G_dense.cols(), nrow, nrow);
      if (const auto size = static_cast<std::size_t>(dual.G_dense.size()); !all_finite(dual.G_dense.data(), size)) {
        const std::ptrdiff_t k = first_not_finite(dual.G_dense.data(), dual.G_dense.size());
        return invalid("{}: G is {} in row {}, column {}; check what produced it",
                       problem.describe_block(block_of_row(problem.blocks, k % nrow)), dual.G_dense.data()[k], k % nrow,
                       k / nrow);
      }
      break;
    case DualData::Form::kSparse: {
      const BlockSparseMatrix& G = dual.G_sparse;
      if (G.row_begin != problem.blocks.row || G.col_begin != problem.blocks.row)
        return invalid("the block partition of G ({} x {}) differs from that of the blocks ({} rows)", G.rows(),
                       G.cols(), nrow);
      if (!all_finite(G.values.data(), G.values.size())) return invalid("G has entries that are not finite");
      break;
    }
    case DualData::Form::kNone:
      break;
  }
  return {};
}

// What both views share.
Verdict check_rows(const ContactProblem& problem) {
  if (problem.R.size() != 0 && problem.R.size() != problem.nrow())
    return wrong_size("R", problem.R.size(), problem.nrow());
  if (problem.b.size() != 0 && problem.b.size() != problem.nrow())
    return wrong_size("b", problem.b.size(), problem.nrow());
  if (!all_finite(problem.b)) return not_finite(problem, "b", problem.b);
  for (int r = 0; r < problem.R.size(); ++r) {
    if (!(problem.R[r] >= 0.0) || !std::isfinite(problem.R[r]))
      return invalid("{}: the compliance R is {}; it must be a number >= 0",
                     problem.describe_block(block_of_row(problem.blocks, r)), problem.R[r]);
  }
  return {};
}

Verdict check_physics(const ContactProblem& problem) {
  if (problem.physics.empty()) return {};
  if (std::ssize(problem.physics) != problem.nblock())
    return wrong_size("physics", std::ssize(problem.physics), problem.nblock());
  if (!(problem.time_step > 0.0) || !std::isfinite(problem.time_step))
    return invalid("the time step is {}; physics of contacts need a positive one", problem.time_step);
  for (int i = 0; i < problem.nblock(); ++i) {
    if (problem.blocks.type[i] != BlockType::kCoulomb) continue;
    const ContactPhysics& p = problem.physics[static_cast<std::size_t>(i)];
    struct Field {
      const char* name;
      double value, least;
    };
    if (!(p.elapsed >= 0.0 && p.elapsed < problem.time_step))
      return invalid("{}: {} s of a step of {} s have elapsed", problem.describe_block(i), p.elapsed,
                     problem.time_step);
    constexpr double kLowest = std::numeric_limits<double>::lowest(), kLeast = std::numeric_limits<double>::min();
    for (const Field& f : {Field{"gap", p.gap, kLowest}, Field{"speed", p.speed, kLowest},
                           Field{"stiffness", p.stiffness, 0.0}, Field{"dissipation", p.dissipation, 0.0},
                           Field{"relaxation time", p.relaxation, 0.0}, Field{"stiction velocity", p.stiction, kLeast},
                           Field{"sigma", p.sigma, 0.0}, Field{"near-rigid period", p.near_rigid, kLeast}}) {
      if (!(f.value >= f.least) || !std::isfinite(f.value))
        return invalid("{}: the {} is {}; it must be a number{}", problem.describe_block(i), f.name, f.value,
                       f.least < 0.0    ? ""
                       : f.least == 0.0 ? " >= 0"
                                        : " > 0");
    }
  }
  return {};
}

Verdict check_primal(const ContactProblem& problem) {
  const PrimalData& primal = problem.primal;
  if (primal.J.row_begin != problem.blocks.row || primal.J.col_begin != primal.A->group())
    return invalid(
        "J is {} x {} in blocks that differ from the constraint blocks ({} rows) and the groups of A ({} dofs)",
        primal.J.rows(), primal.J.cols(), problem.nrow(), primal.nv());
  if (primal.v_free.size() != primal.nv()) return wrong_size("v_free", primal.v_free.size(), primal.nv());
  if (!all_finite(primal.v_free)) {
    const std::ptrdiff_t dof = first_not_finite(primal.v_free.data(), primal.v_free.size());
    return invalid("v_free is {} at dof {}; check what produced it", primal.v_free[dof], dof);
  }
  if (primal.v_start.size() != 0 && primal.v_start.size() != primal.nv())
    return wrong_size("v_start", primal.v_start.size(), primal.nv());
  if (!all_finite(primal.v_start)) return invalid("v_start has entries that are not finite; leave it empty");
  if (!primal.A->all_finite()) return invalid("A has entries that are not finite");
  if (!all_finite(primal.J.values.data(), primal.J.values.size())) return invalid("J has entries that are not finite");
  if (const int broken = primal.A->broken_clique(); broken >= 0)
    return invalid("the inertia A of clique {} ({} dofs) is not positive definite; check masses and inertias", broken,
                   primal.A->clique_size(broken));
  return {};
}

}  // namespace

Verdict validate_data(const ContactProblem& problem) {
  if (!problem.has_dual() && !problem.has_primal() && problem.nrow() > 0)
    return invalid("the problem has neither G and g nor A, J and v_free; give one of the two");
  if (Verdict verdict = check_blocks(problem); !verdict.usable()) return verdict;
  if (problem.has_dual()) {
    if (Verdict verdict = check_dual(problem); !verdict.usable()) return verdict;
  }
  if (Verdict verdict = check_rows(problem); !verdict.usable()) return verdict;
  if (Verdict verdict = check_physics(problem); !verdict.usable()) return verdict;
  return problem.has_primal() ? check_primal(problem) : Verdict{};
}

Verdict validate(const ContactProblem& problem) {
  DualProblem dual;
  return prepare_dual(problem, {.check_definiteness = true}, dual);
}

}  // namespace touchstone
