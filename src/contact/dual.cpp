// Cost: building G from the primal, for each clique with k blocks, is k half solves and k^2 / 2 products of small
// blocks. A G that is given is copied and scaled in one pass.
#include "touchstone/contact/dual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "touchstone/contact/units.hpp"

namespace touchstone {
namespace {

constexpr double kNatvFloor = 4.5e-16;  // natv is never reported below this times |lambda| d
constexpr int kFreeBody = 6;            // dofs of a free body, the usual clique
constexpr int kPointContact = 3;
constexpr double kLeastDiagonal = 1e-280;  // of the largest: below, the inverse is not a number to work with
constexpr double kOrdinaryRange = 1e-30;   // of diagonals: no mixture of masses and lengths has more
// Skew part of G, relative to its largest entry, that is rounding. Steps may then read one half of G; residuals take
// all of it, so nothing depends on the other half being equal.
constexpr double kRoundedSkew = 1e-12;
constexpr double kFrictionOfSolvers = 1e8;  // its fourth power occurs

using Matrix63 = Eigen::Matrix<double, kFreeBody, kPointContact>;

void find_diagonal(DualProblem& dual) {
  dual.diagonal.resize(static_cast<std::size_t>(dual.G.block_rows()));
  for (int i = 0; i < dual.G.block_rows(); ++i) dual.diagonal[i] = dual.G.find(i, i);
}

// --- G from the primal ---

void find_uses(const PrimalData& primal, DualProblem::Primal& s) {
  const BlockSparseMatrix& J = primal.J;
  s.uses.clear();
  s.clique_start.assign(primal.A->clique().size(), 0);
  std::size_t start = 0;
  for (int i = 0; i < J.block_rows(); ++i) {
    int last = -1;
    for (int k = J.start[i]; k < J.start[i + 1]; ++k) {
      const int c = s.clique_of[J.col[k]];
      if (c == last) continue;
      s.uses.push_back({i, c, k, start});
      start += static_cast<std::size_t>(primal.A->clique_size(c)) * static_cast<std::size_t>(J.row_size(i));
      ++s.clique_start[static_cast<std::size_t>(c) + 1];
      last = c;
    }
  }
  s.Y.resize(start);
  for (std::size_t c = 1; c < s.clique_start.size(); ++c) s.clique_start[c] += s.clique_start[c - 1];
  s.clique_use.resize(s.uses.size());
  for (std::size_t u = 0; u < s.uses.size(); ++u)
    s.clique_use[s.clique_start[s.uses[u].clique]++] = static_cast<int>(u);
  for (std::size_t c = s.clique_start.size() - 1; c > 0; --c) s.clique_start[c] = s.clique_start[c - 1];
  s.clique_start[0] = 0;
}

void build_pattern(const ContactProblem& problem, DualProblem& dual) {
  DualProblem::Primal& s = dual.primal;
  const PrimalData& primal = problem.primal;
  s.clique_of = primal.A->clique_of();
  find_uses(primal, s);
  const auto block_at = [&](int slot) { return s.uses[s.clique_use[slot]].block; };
  dual.pattern.clear();
  for (int i = 0; i < problem.nblock(); ++i) dual.pattern.emplace_back(i, i);
  for (int c = 0; c < primal.A->nclique(); ++c) {
    for (int p = s.clique_start[c]; p < s.clique_start[c + 1]; ++p) {
      for (int q = s.clique_start[c]; q < s.clique_start[c + 1]; ++q) {
        if (p != q) dual.pattern.emplace_back(block_at(p), block_at(q));
      }
    }
  }
  dual.G.set_pattern(problem.blocks.row, problem.blocks.row, dual.pattern);
  s.target.clear();
  for (int c = 0; c < primal.A->nclique(); ++c) {
    for (int p = s.clique_start[c]; p < s.clique_start[c + 1]; ++p) {
      for (int q = s.clique_start[c]; q < p; ++q) {
        s.target.push_back(dual.G.find(block_at(p), block_at(q)));
        s.target.push_back(dual.G.find(block_at(q), block_at(p)));
      }
    }
  }
  s.J_pattern.row_begin = primal.J.row_begin;
  s.J_pattern.col_begin = primal.J.col_begin;
  s.J_pattern.start = primal.J.start;
  s.J_pattern.col = primal.J.col;
}

// G_ij += Y_i' Y_j and, for i != j, its mirror image. n: dofs of the clique.
void add_product(int n, int mp, const double* yp, int mq, const double* yq, double* G_pq, double* G_qp) {
  if (n == kFreeBody && mp == kPointContact && mq == kPointContact) {
    const Matrix3 product = Eigen::Map<const Matrix63>(yp).transpose() * Eigen::Map<const Matrix63>(yq);
    Eigen::Map<Matrix3>{G_pq} += product;
    if (G_qp != nullptr) Eigen::Map<Matrix3>{G_qp} += product.transpose();
    return;
  }
  for (int a = 0; a < mp; ++a) {
    for (int b = 0; b < mq; ++b) {
      const double product = Eigen::Map<const VectorX>(yp + a * n, n).dot(Eigen::Map<const VectorX>(yq + b * n, n));
      G_pq[b * mp + a] += product;
      if (G_qp != nullptr) G_qp[a * mq + b] += product;
    }
  }
}

void build_from_primal(const ContactProblem& problem, DualProblem& dual) {
  const PrimalData& primal = problem.primal;
  DualProblem::Primal& s = dual.primal;
  if (s.J_pattern.same_pattern(primal.J) && s.clique_of == primal.A->clique_of() &&
      dual.G.row_begin == problem.blocks.row && !s.clique_start.empty()) {
    dual.G.set_zero();
  } else {
    build_pattern(problem, dual);
  }
  for (const DualProblem::Primal::Use& use : s.uses) {
    int entry = use.entry;
    half_solve_jacobian(primal, use.block, entry, s.Y.data() + use.start);
  }
  std::size_t next = 0;
  for (int c = 0; c < primal.A->nclique(); ++c) {
    const int n = primal.A->clique_size(c);
    for (int p = s.clique_start[c]; p < s.clique_start[c + 1]; ++p) {
      const DualProblem::Primal::Use& own = s.uses[s.clique_use[p]];
      const int i = own.block, m = problem.blocks.size(i);
      const double* y = s.Y.data() + own.start;
      for (int q = s.clique_start[c]; q < p; ++q, next += 2) {
        const DualProblem::Primal::Use& other = s.uses[s.clique_use[q]];
        add_product(n, m, y, problem.blocks.size(other.block), s.Y.data() + other.start, dual.G.data(s.target[next]),
                    dual.G.data(s.target[next + 1]));
      }
      add_product(n, m, y, m, y, dual.G.data(dual.G.find(i, i)), nullptr);
    }
  }
  for (int i = 0; i < problem.nblock() && problem.R.size() > 0; ++i) {
    auto block = dual.G.block(i, dual.G.find(i, i));
    block.diagonal() += problem.R.segment(problem.blocks.row[i], problem.blocks.size(i));
  }
  find_diagonal(dual);
  dual.g.setZero(problem.nrow());
  primal.J.multiply(primal.v_free.data(), dual.g.data());
  if (problem.b.size() > 0) dual.g += problem.b;
}

// --- G as given ---

const double* copy_dense(const ContactProblem& problem, DualProblem& dual) {
  const std::vector<int>& row = problem.blocks.row;
  const MatrixX& G = problem.dual.G_dense;
  const auto part = [&](int i, int j) { return G.block(row[i], row[j], row[i + 1] - row[i], row[j + 1] - row[j]); };
  dual.pattern.clear();
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int j = 0; j < problem.nblock(); ++j) {
      if (i == j || (part(i, j).array() != 0.0).any() || (part(j, i).array() != 0.0).any())
        dual.pattern.emplace_back(i, j);
    }
  }
  dual.G.set_pattern(row, row, dual.pattern);
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int k = dual.G.start[i]; k < dual.G.start[i + 1]; ++k) dual.G.block(i, k) = part(i, dual.G.col[k]);
  }
  find_diagonal(dual);
  return dual.G.values.data();
}

// Whether the pattern is symmetric with all diagonal blocks; then `diagonal` is filled. One pass: what mirrors the
// entries above the diagonal comes in the order of its row.
bool is_complete(const BlockSparseMatrix& G, std::vector<int>& next, std::vector<int>& diagonal) {
  const int n = G.block_rows();
  if (G.entries() == n * n) {  // every row is full
    diagonal.resize(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) diagonal[i] = i * (n + 1);
    return true;
  }
  next.assign(G.start.begin(), G.start.end());
  diagonal.assign(static_cast<std::size_t>(n), -1);
  for (int i = 0; i < n; ++i) {
    for (int k = G.start[i]; k < G.start[i + 1]; ++k) {
      const int j = G.col[k];
      if (j < i) continue;
      if (j == i) {
        if (next[i] != k) return false;
        diagonal[i] = k;
      } else {
        if (next[j] >= G.start[j + 1] || G.col[next[j]] != i) return false;
        ++next[j];
      }
    }
    if (diagonal[i] < 0) return false;
  }
  return true;
}

// Returns where the values are that scaling is to read.
const double* copy_sparse(const ContactProblem& problem, DualProblem& dual) {
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  if (is_complete(G, dual.definiteness.next, dual.diagonal)) {
    // A full matrix has no other pattern than that of its partition.
    const int n = G.block_rows(), known = dual.G.values.size() == G.values.size() ? dual.G.entries() : -1;
    if (G.entries() == n * n && known == n * n && dual.G.row_begin == G.row_begin) return G.values.data();
    dual.G.row_begin.assign(G.row_begin.begin(), G.row_begin.end());
    dual.G.col_begin.assign(G.col_begin.begin(), G.col_begin.end());
    dual.G.start.assign(G.start.begin(), G.start.end());
    dual.G.col.assign(G.col.begin(), G.col.end());
    dual.G.offset.assign(G.offset.begin(), G.offset.end());
    dual.G.all_3x3 = G.all_3x3;
    dual.G.values.resize(G.values.size());
    return G.values.data();
  }
  // The pattern becomes symmetric, with all diagonal blocks.
  dual.pattern.clear();
  for (int i = 0; i < problem.nblock(); ++i) {
    dual.pattern.emplace_back(i, i);
    for (int k = G.start[i]; k < G.start[i + 1]; ++k) {
      dual.pattern.emplace_back(i, G.col[k]);
      dual.pattern.emplace_back(G.col[k], i);
    }
  }
  dual.G.set_pattern(problem.blocks.row, problem.blocks.row, dual.pattern);
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int k = G.start[i]; k < G.start[i + 1]; ++k) dual.G.block(i, dual.G.find(i, G.col[k])) = G.block(i, k);
  }
  find_diagonal(dual);
  return dual.G.values.data();
}

// --- units and scaling ---

int exponent_of(double largest) {
  if (!(largest > 0.0) || (largest > 1.0 / kHarmless && largest < kHarmless)) return 0;
  return std::ilogb(largest);
}

double largest_entry(const double* values, std::size_t count) {
  Lanes a{}, b{};
  std::size_t k = 0;
  for (; k + 8 <= count; k += 8) {
    const Lanes x = load_lanes(values + k), y = load_lanes(values + k + 4);
    const Lanes size_x = x < 0.0 ? -x : x, size_y = y < 0.0 ? -y : y;
    a = a < size_x ? size_x : a;
    b = b < size_y ? size_y : b;
  }
  double largest = 0.0;
  for (int lane = 0; lane < 4; ++lane) largest = std::max({largest, a[lane], b[lane]});
  for (; k < count; ++k) largest = std::max(largest, std::abs(values[k]));
  return largest;
}

// G and g in units that are powers of two, if their squares could overflow or vanish. Returns where the values of G
// are; `values` may be those of G.
const double* apply_units(const double* values, DualProblem& dual) {
  const std::size_t count = dual.G.values.size();
  dual.G_exponent = exponent_of(largest_entry(values, count));
  dual.g_exponent = exponent_of(dual.g.lpNorm<Eigen::Infinity>());
  dual.doubtful = dual.G_exponent != 0 || dual.g_exponent != 0;
  if (!dual.doubtful) return values;
  for (std::size_t k = 0; k < count; ++k) dual.G.values[k] = std::ldexp(values[k], -dual.G_exponent);
  for (double& g : dual.g) g = std::ldexp(g, -dual.g_exponent);
  for (std::vector<double>* bounds : {&dual.blocks.lo, &dual.blocks.hi}) {
    for (double& bound : *bounds) bound = std::ldexp(bound, dual.G_exponent - dual.g_exponent);
  }
  return dual.G.values.data();
}

// d_i with lengths; blocks without a diagonal get the mean of the others. `values`: of G before scaling.
void mean_diagonals(const ContactProblem& problem, const double* values, DualProblem& dual) {
  double total = 0.0;
  int positive = 0;
  dual.d.resize(problem.nblock());
  for (int i = 0; i < problem.nblock(); ++i) {
    const double* block = values + dual.G.offset[dual.diagonal[i]];
    const int m = problem.blocks.size(i);
    double sum = 0.0;
    for (int r = 0; r < m; ++r) {
      const double length = problem.length(problem.blocks.row[i] + r);
      sum += length * length * block[r * (m + 1)];
    }
    dual.d[i] = sum / m;
    if (dual.d[i] > 0.0) {
      total += dual.d[i];
      ++positive;
    }
  }
  const double fallback = positive > 0 ? total / positive : 1.0, largest = dual.d.size() > 0 ? dual.d.maxCoeff() : 0.0;
  for (double& d : dual.d) {
    if (!(d > kLeastDiagonal * largest)) d = fallback;
    dual.doubtful = dual.doubtful || d < kOrdinaryRange * largest;
  }
}

// target = left source s, for a panel of one row and n columns; target may be source.
void scale_row(const double* source, double left, const double* s, int n, double* target) {
  int c = 0;
  const Lanes factor = broadcast(left);
  for (; c + 4 <= n; c += 4) store_lanes(load_lanes(source + c) * (factor * load_lanes(s + c)), target + c);
  for (; c < n; ++c) target[c] = source[c] * (left * s[c]);
}

// The same for three rows: twelve numbers are four columns.
void scale_rows_3(const double* source, const double* left, const double* s, int n, double* target) {
  const Lanes x{left[0], left[1], left[2], left[0]}, y{left[1], left[2], left[0], left[1]};
  const Lanes z{left[2], left[0], left[1], left[2]};
  int c = 0;
  for (; c + 4 <= n; c += 4, source += 12, target += 12) {
    const Lanes t = load_lanes(s + c);
    const Lanes a = load_lanes(source), b = load_lanes(source + 4), d = load_lanes(source + 8);
    store_lanes(a * (x * __builtin_shufflevector(t, t, 0, 0, 0, 1)), target);
    store_lanes(b * (y * __builtin_shufflevector(t, t, 1, 1, 2, 2)), target + 4);
    store_lanes(d * (z * __builtin_shufflevector(t, t, 2, 3, 3, 3)), target + 8);
  }
  for (; c < n; ++c, source += 3, target += 3) {
    for (int r = 0; r < 3; ++r) target[r] = source[r] * (left[r] * s[c]);
  }
}

// G = s `values` s; `values` may be those of G. Neighbouring blocks of a row are one panel.
void scale_entries(const double* values, const VectorX& s, DualProblem& dual) {
  BlockSparseMatrix& G = dual.G;
  for (int i = 0; i < G.block_rows(); ++i) {
    const double* left = s.data() + G.row_begin[i];
    const int m = G.row_size(i);
    const double* source = values + G.offset[G.start[i]];
    double* target = G.data(G.start[i]);
    for (int k = G.start[i]; k < G.start[i + 1];) {
      const ColumnRun run = next_run(G, G.start[i + 1], k);
      const int n = run.end - run.first;
      const double* right = s.data() + run.first;
      if (m == 1) {
        scale_row(source, left[0], right, n, target);
      } else if (m == 3) {
        scale_rows_3(source, left, right, n, target);
      } else {
        for (int c = 0; c < n; ++c) {
          for (int r = 0; r < m; ++r) target[c * m + r] = source[c * m + r] * (left[r] * right[c]);
        }
      }
      source += m * n;
      target += m * n;
    }
  }
  std::fill(G.values.end() - BlockSparseMatrix::kPadding, G.values.end(), 0.0);
}

void scale_problem(const ContactProblem& problem, DualScaling scaling, const double* values, DualProblem& dual) {
  const int nrow = problem.nrow();
  mean_diagonals(problem, values, dual);
  VectorX& s = dual.lambda_scale;
  s.resize(nrow);
  dual.u_scale.resize(nrow);
  dual.weight.resize(problem.nblock());
  double free_speed = 0.0, beta = 0.0;
  for (int i = 0; i < problem.nblock(); ++i) {
    const double sigma = scaling == DualScaling::kBlocks ? 1.0 / std::sqrt(dual.d[i]) : 1.0;
    for (int r = problem.blocks.row[i]; r < problem.blocks.row[i + 1]; ++r) {
      const double length = problem.length(r);
      s[r] = length * sigma;
      free_speed = std::max(free_speed, std::abs(length * dual.g[r]));
      beta = std::max(beta, std::abs(s[r] * dual.g[r]));
    }
    dual.weight[i] = dual.d[i] * sigma;
    dual.d[i] *= sigma * sigma;
  }
  if (!(beta > 0.0)) beta = 1.0;
  dual.velocity_scale = std::max(std::ldexp(free_speed, dual.g_exponent), kGravity * problem.time_step);
  if (!(dual.velocity_scale > 0.0)) dual.velocity_scale = 1.0;
  scale_entries(values, s, dual);
  dual.weight *= beta;

  Blocks& blocks = dual.blocks;
  for (int i = 0; i < problem.nblock(); ++i) {
    const int last = blocks.row[i + 1] - 1;
    if (blocks.type[i] == BlockType::kBox) {
      blocks.lo[last] /= s[last] * beta;
      blocks.hi[last] /= s[last] * beta;
    }
    if (blocks.type[i] != BlockType::kCoulomb) continue;
    for (int r = blocks.row[i]; r <= last; ++r) {
      blocks.mu[r] *= s[last] / s[r];
      dual.doubtful = dual.doubtful || blocks.mu[r] > kFrictionOfSolvers;
      blocks.mu[r] = std::min(blocks.mu[r], kFrictionOfSolvers);
    }
  }
  for (int r = 0; r < nrow; ++r) {
    dual.g[r] *= s[r] / beta;
    dual.u_scale[r] = beta / s[r];
    s[r] *= beta;
  }
  if (dual.G_exponent == 0 && dual.g_exponent == 0) return;
  for (int r = 0; r < nrow; ++r) {
    dual.u_scale[r] = std::ldexp(dual.u_scale[r], dual.g_exponent);
    s[r] = std::ldexp(s[r], dual.g_exponent - dual.G_exponent);
  }
  for (double& weight : dual.weight) weight = std::ldexp(weight, dual.g_exponent);
}

// The skew part of G relative to its largest entry, in the problem's own units.
double skew_as_given(const DualProblem& dual) {
  const BlockSparseMatrix& G = dual.G;
  double largest = 0.0, skew = 0.0;
  const auto given = [&](double value, int row, int col) {
    return value * (dual.u_scale[row] / dual.lambda_scale[col]);
  };
  for (int i = 0; i < G.block_rows(); ++i) {
    for (int k = G.start[i]; k < G.start[i + 1]; ++k) {
      const int j = G.col[k], mirror = G.find(j, i);
      for (int c = 0; c < G.row_size(j); ++c) {
        for (int r = 0; r < G.row_size(i); ++r) {
          const int row = G.row_begin[i] + r, col = G.row_begin[j] + c;
          const double x = given(G.block(i, k)(r, c), row, col), y = given(G.block(j, mirror)(c, r), col, row);
          largest = std::max(largest, std::abs(x));
          skew = std::max(skew, 0.5 * std::abs(x - y));
        }
      }
    }
  }
  return largest > 0.0 ? skew / largest : 0.0;
}

Verdict judge_matrix(DualProblem& dual) {
  Verdict verdict = check_definiteness(dual.G, dual.definiteness);
  if (verdict.skew <= kRoundedSkew) dual.symmetric = true;
  if (!(verdict.skew > kMaxRelativeSkew)) return verdict;
  const double skew = skew_as_given(dual);
  if (skew > kMaxRelativeSkew) return verdict;
  verdict = check_definiteness(dual.G, dual.definiteness, std::numeric_limits<double>::infinity());
  verdict.skew = skew;
  return verdict;
}

}  // namespace

Verdict prepare_dual(const ContactProblem& problem, const PrepareOptions& options, DualProblem& dual) {
  if (Verdict verdict = validate_data(problem); !verdict.usable()) return verdict;
  const DualData::Form form = problem.dual.form;
  dual.blocks = problem.blocks;
  const double* values = dual.G.values.data();
  if (form == DualData::Form::kDense || form == DualData::Form::kSparse) {
    values = form == DualData::Form::kDense ? copy_dense(problem, dual) : copy_sparse(problem, dual);
    dual.g = problem.dual.g;
    dual.symmetric = problem.dual.symmetric;
    dual.primal.clique_start.clear();  // G no longer has the pattern of a primal
  } else if (problem.has_primal()) {
    build_from_primal(problem, dual);
    values = dual.G.values.data();
    dual.symmetric = true;
  } else {  // no rows
    dual.pattern.clear();
    dual.G.set_pattern(problem.blocks.row, problem.blocks.row, dual.pattern);
    dual.g.resize(0);
    dual.primal.clique_start.clear();
    find_diagonal(dual);
  }
  values = apply_units(values, dual);
  scale_problem(problem, options.scaling, values, dual);
  if (options.check_definiteness && form != DualData::Form::kNone && problem.nrow() > 0) return judge_matrix(dual);
  return {};
}

void scale_lambda(const DualProblem& dual, const VectorX& lambda, VectorX& scaled) {
  scaled = lambda.cwiseQuotient(dual.lambda_scale);
}

void unscale_lambda(const DualProblem& dual, const VectorX& scaled, VectorX& lambda) {
  lambda = scaled.cwiseProduct(dual.lambda_scale);
}

void compute_velocity(const DualProblem& dual, const VectorX& lambda, VectorX& u) {
  u = dual.g;
  dual.G.multiply_add(lambda.data(), u.data());
}

double natv(const DualProblem& dual, ContactModel model, const VectorX& lambda, const VectorX& u) {
  double worst = 0.0;
  double residual[kMaxBlockSize];
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i];
    const double size = natural_map_block(dual.blocks, i, model, dual.d[i], lambda.data() + r, u.data() + r, residual);
    double sum = 0.0;
    for (int k = r; k < dual.blocks.row[i + 1]; ++k) sum += lambda[k] * lambda[k];
    const double floor = kNatvFloor * std::sqrt(sum);
    // Written so that NaN wins.
    const double value = dual.weight[i] * (size < floor ? floor : size);
    if (!(value <= worst)) worst = value;
  }
  return worst;
}

void compute_next_velocity(const ContactProblem& problem, const VectorX& lambda, VectorX& v) {
  if (!problem.has_primal()) {
    v.resize(0);
    return;
  }
  const PrimalData& primal = problem.primal;
  v.setZero(primal.nv());
  primal.J.multiply_transpose_add(lambda.data(), v.data());
  primal.A->solve(v);
  v += primal.v_free;
}

}  // namespace touchstone
