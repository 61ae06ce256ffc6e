// Cost: building G from the primal, for each clique with k blocks, is k solves with L and k^2 / 2 products of small
// blocks. The definiteness test is Lanczos' method without reorthogonalisation on the symmetric part of the scaled G:
// its extreme Ritz values lie within the spectrum, so a negative one proves indefiniteness. It can miss a negative
// eigenvalue whose eigenvector the start vector hardly contains; a transposed or misread block is far from that.
#include "touchstone/contact/dual.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace touchstone {
namespace {

constexpr double kGravity = 9.81;       // m/s^2
constexpr double kNatvFloor = 4.5e-16;  // natv is never reported below this times |lambda| d
constexpr int kLanczosSteps = 24;
constexpr int kBody = 6;  // dofs of a free body, the usual clique
constexpr int kContact = 3;

using Matrix63 = Eigen::Matrix<double, kBody, kContact>;

// --- G from the primal ---

void order_by_clique(const PrimalData& primal, DualProblem::Primal& scratch) {
  const BlockSparseMatrix& J = primal.J;
  scratch.clique_start.assign(primal.clique.size(), 0);
  for (const int c : J.col) ++scratch.clique_start[static_cast<std::size_t>(c) + 1];
  for (std::size_t c = 1; c < scratch.clique_start.size(); ++c) scratch.clique_start[c] += scratch.clique_start[c - 1];
  scratch.clique_entry.resize(J.col.size());
  scratch.clique_block.resize(J.col.size());
  for (int i = 0; i < J.block_rows(); ++i) {
    for (int k = J.start[i]; k < J.start[i + 1]; ++k) {
      const int slot = scratch.clique_start[J.col[k]]++;
      scratch.clique_entry[slot] = k;
      scratch.clique_block[slot] = i;
    }
  }
  for (std::size_t c = scratch.clique_start.size() - 1; c > 0; --c)
    scratch.clique_start[c] = scratch.clique_start[c - 1];
  scratch.clique_start[0] = 0;
}

void build_pattern(const ContactProblem& problem, DualProblem& dual) {
  DualProblem::Primal& scratch = dual.primal;
  order_by_clique(problem.primal, scratch);
  dual.pattern.clear();
  for (int i = 0; i < problem.nblock(); ++i) dual.pattern.emplace_back(i, i);
  for (int c = 0; c < problem.primal.nclique(); ++c) {
    for (int p = scratch.clique_start[c]; p < scratch.clique_start[c + 1]; ++p) {
      for (int q = scratch.clique_start[c]; q < scratch.clique_start[c + 1]; ++q) {
        if (p != q) dual.pattern.emplace_back(scratch.clique_block[p], scratch.clique_block[q]);
      }
    }
  }
  dual.G.set_pattern(problem.blocks.row, problem.blocks.row, dual.pattern);
  scratch.target.clear();
  for (int c = 0; c < problem.primal.nclique(); ++c) {
    for (int p = scratch.clique_start[c]; p < scratch.clique_start[c + 1]; ++p) {
      for (int q = scratch.clique_start[c]; q < p; ++q) {
        scratch.target.push_back(dual.G.find(scratch.clique_block[p], scratch.clique_block[q]));
        scratch.target.push_back(dual.G.find(scratch.clique_block[q], scratch.clique_block[p]));
      }
    }
  }
  scratch.J_pattern.row_begin = problem.primal.J.row_begin;
  scratch.J_pattern.col_begin = problem.primal.J.col_begin;
  scratch.J_pattern.start = problem.primal.J.start;
  scratch.J_pattern.col = problem.primal.J.col;
}

// G_ij += Y_i' Y_j and, for i != j, its mirror image.
void add_product(const PrimalData& primal, const DualProblem::Primal& scratch, int c, int p, int q, double* G_pq,
                 double* G_qp) {
  const int n = primal.clique_size(c);
  const int mp = primal.J.row_size(scratch.clique_block[p]), mq = primal.J.row_size(scratch.clique_block[q]);
  const double* yp = scratch.Y.data() + primal.J.offset[scratch.clique_entry[p]];
  const double* yq = scratch.Y.data() + primal.J.offset[scratch.clique_entry[q]];
  if (n == kBody && mp == kContact && mq == kContact) {
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

Verdict not_positive_definite(const PrimalData& primal, int clique) {
  return {ProblemStatus::kInvalid,
          fmt::format("the inertia A of clique {} ({} dofs) is not positive definite; check masses and inertias",
                      clique, primal.clique_size(clique))};
}

Verdict build_from_primal(const ContactProblem& problem, DualProblem& dual) {
  const PrimalData& primal = problem.primal;
  DualProblem::Primal& scratch = dual.primal;
  if (scratch.J_pattern.same_pattern(primal.J) && dual.G.row_begin == problem.blocks.row &&
      !scratch.clique_start.empty()) {
    dual.G.set_zero();
  } else {
    build_pattern(problem, dual);
  }
  if (const int bad = scratch.factor.factorize(primal); bad >= 0) return not_positive_definite(primal, bad);
  scratch.factor.half_solve_jacobian(primal, scratch.Y);
  std::size_t next = 0;
  for (int c = 0; c < primal.nclique(); ++c) {
    for (int p = scratch.clique_start[c]; p < scratch.clique_start[c + 1]; ++p) {
      for (int q = scratch.clique_start[c]; q < p; ++q, next += 2) {
        add_product(primal, scratch, c, p, q, dual.G.data(scratch.target[next]), dual.G.data(scratch.target[next + 1]));
      }
      const int i = scratch.clique_block[p];
      add_product(primal, scratch, c, p, p, dual.G.data(dual.G.find(i, i)), nullptr);
    }
  }
  for (int i = 0; i < problem.nblock() && primal.R.size() > 0; ++i) {
    auto block = dual.G.block(i, dual.G.find(i, i));
    block.diagonal() += primal.R.segment(problem.blocks.row[i], problem.blocks.size(i));
  }
  dual.g.setZero(problem.nrow());
  primal.J.multiply(primal.v_free.data(), dual.g.data());
  if (primal.b.size() > 0) dual.g += primal.b;
  return {};
}

// --- G as given ---

void copy_dense(const ContactProblem& problem, DualProblem& dual) {
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
}

void copy_sparse(const ContactProblem& problem, DualProblem& dual) {
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  bool complete = true;
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int k = G.start[i]; k < G.start[i + 1]; ++k) complete = complete && G.find(G.col[k], i) >= 0;
    complete = complete && G.find(i, i) >= 0;
  }
  if (complete) {
    dual.G = G;
    return;
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
}

// --- scaling ---

double length_of(const ContactProblem& problem, int row) {
  return problem.row_length.empty() ? 1.0 : problem.row_length[row];
}

// d_i with lengths; blocks without a diagonal get the mean of the others.
void mean_diagonals(const ContactProblem& problem, DualProblem& dual) {
  double total = 0.0;
  int positive = 0;
  dual.d.resize(problem.nblock());
  for (int i = 0; i < problem.nblock(); ++i) {
    const auto block = std::as_const(dual.G).block(i, dual.diagonal[i]);
    double sum = 0.0;
    for (int r = 0; r < block.rows(); ++r) {
      const double length = length_of(problem, problem.blocks.row[i] + r);
      sum += length * length * block(r, r);
    }
    dual.d[i] = sum / static_cast<double>(block.rows());
    if (dual.d[i] > 0.0) {
      total += dual.d[i];
      ++positive;
    }
  }
  const double fallback = positive > 0 ? total / positive : 1.0;
  for (double& d : dual.d) {
    if (!(d > 0.0)) d = fallback;
  }
}

void scale_entries(DualProblem& dual, const VectorX& s) {
  BlockSparseMatrix& G = dual.G;
  for (int i = 0; i < G.block_rows(); ++i) {
    const double* left = s.data() + G.row_begin[i];
    const int m = G.row_size(i);
    for (int k = G.start[i]; k < G.start[i + 1]; ++k) {
      double* value = G.data(k);
      for (int c = G.col_begin[G.col[k]]; c < G.col_begin[G.col[k] + 1]; ++c) {
        for (int r = 0; r < m; ++r) *value++ *= left[r] * s[c];
      }
    }
  }
}

void scale_problem(const ContactProblem& problem, DualScaling scaling, DualProblem& dual) {
  const int nrow = problem.nrow();
  mean_diagonals(problem, dual);
  VectorX& s = dual.lambda_scale;
  s.resize(nrow);
  dual.u_scale.resize(nrow);
  dual.weight.resize(problem.nblock());
  double free_speed = 0.0, beta = 0.0;
  for (int i = 0; i < problem.nblock(); ++i) {
    const double sigma = scaling == DualScaling::kBlocks ? 1.0 / std::sqrt(dual.d[i]) : 1.0;
    for (int r = problem.blocks.row[i]; r < problem.blocks.row[i + 1]; ++r) {
      const double length = length_of(problem, r);
      s[r] = length * sigma;
      free_speed = std::max(free_speed, std::abs(length * dual.g[r]));
      beta = std::max(beta, std::abs(s[r] * dual.g[r]));
    }
    dual.weight[i] = dual.d[i] * sigma;
    dual.d[i] *= sigma * sigma;
  }
  if (!(beta > 0.0)) beta = 1.0;
  dual.velocity_scale = std::max(free_speed, kGravity * problem.time_step);
  if (!(dual.velocity_scale > 0.0)) dual.velocity_scale = 1.0;
  scale_entries(dual, s);
  dual.weight *= beta;

  Blocks& blocks = dual.blocks;
  for (int i = 0; i < problem.nblock(); ++i) {
    const int last = blocks.row[i + 1] - 1;
    for (int r = blocks.row[i]; r <= last; ++r) {
      blocks.mu[r] *= s[last] / s[r];
      blocks.lo[r] /= s[r] * beta;
      blocks.hi[r] /= s[r] * beta;
    }
  }
  for (int r = 0; r < nrow; ++r) {
    dual.g[r] *= s[r] / beta;
    dual.u_scale[r] = beta / s[r];
    s[r] *= beta;
  }
}

// --- definiteness ---

// Number of eigenvalues of a symmetric tridiagonal matrix below x (Sturm sequence).
int count_below(const std::array<double, kLanczosSteps>& a, const std::array<double, kLanczosSteps>& b, int n,
                double x) {
  int count = 0;
  double q = 1.0;
  for (int i = 0; i < n; ++i) {
    q = a[i] - x - (i > 0 ? b[i - 1] * b[i - 1] / q : 0.0);
    if (q == 0.0) q = 1e-300;
    count += q < 0.0 ? 1 : 0;
  }
  return count;
}

// The k-th smallest eigenvalue by bisection.
double tridiagonal_eigenvalue(const std::array<double, kLanczosSteps>& a, const std::array<double, kLanczosSteps>& b,
                              int n, int k) {
  double radius = 0.0;
  for (int i = 0; i < n; ++i)
    radius = std::max(radius, std::abs(a[i]) + std::abs(b[i]) + (i > 0 ? std::abs(b[i - 1]) : 0.0));
  double low = -radius, high = radius;
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + high);
    (count_below(a, b, n, middle) > k ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

// Extreme Ritz values of (G + G') / 2.
std::pair<double, double> extreme_ritz_values(DualProblem& dual) {
  const int n = dual.nrow();
  VectorX &previous = dual.lanczos[0], &current = dual.lanczos[1], &product = dual.lanczos[2];
  previous.setZero(n);
  current.resize(n);
  product.resize(n);
  for (int i = 0; i < n; ++i) current[i] = std::sin(1.0 + 2.399963 * i);  // any vector without symmetry
  current.normalize();
  std::array<double, kLanczosSteps> a{}, b{};
  const int steps = std::min(n, kLanczosSteps);
  int done = 0;
  double beta = 0.0;
  while (done < steps) {
    dual.G.multiply(current.data(), product.data());
    dual.G.multiply_transpose_add(current.data(), product.data());
    product *= 0.5;
    a[done] = current.dot(product);
    product -= a[done] * current + beta * previous;
    beta = product.norm();
    b[done++] = beta;
    if (beta <= 1e-12 * std::abs(a[0])) break;
    previous = current;
    current = product / beta;
  }
  return {tridiagonal_eigenvalue(a, b, done, 0), tridiagonal_eigenvalue(a, b, done, done - 1)};
}

Verdict check_definiteness(DualProblem& dual) {
  const double skew = relative_skew(dual.G);
  if (skew > kMaxRelativeSkew) {
    return {ProblemStatus::kInvalid,
            fmt::format(
                "G is not symmetric: its skew part is {:.3g} of its largest entry (scaled), more than {:g}; check the "
                "order of rows and columns",
                skew, kMaxRelativeSkew)};
  }
  const auto [smallest, largest] = extreme_ritz_values(dual);
  if (smallest < -kMaxRelativeIndefiniteness * std::max(largest, -smallest)) {
    return {ProblemStatus::kInvalid,
            fmt::format(
                "G is indefinite: its scaled symmetric part has eigenvalues from {:.3g} to {:.3g}; check the order of "
                "rows and columns, masses and signs",
                smallest, largest)};
  }
  return {};
}

}  // namespace

Verdict prepare_dual(const ContactProblem& problem, const PrepareOptions& options, DualProblem& dual) {
  if (Verdict verdict = validate_data(problem); !verdict.usable()) return verdict;
  const DualData::Form form = problem.dual.form;
  dual.blocks = problem.blocks;
  if (form == DualData::Form::kDense || form == DualData::Form::kSparse) {
    form == DualData::Form::kDense ? copy_dense(problem, dual) : copy_sparse(problem, dual);
    dual.g = problem.dual.g;
    dual.primal.clique_start.clear();  // G no longer has the pattern of a primal
    if (problem.has_primal) {
      const int bad = dual.primal.factor.factorize(problem.primal);
      if (bad >= 0) return not_positive_definite(problem.primal, bad);
    }
  } else if (problem.has_primal) {
    if (Verdict verdict = build_from_primal(problem, dual); !verdict.usable()) return verdict;
  } else if (problem.nrow() > 0) {
    return {ProblemStatus::kUnsupported,
            "this solver needs the entries of G, and the problem has them only as an operator; give the primal view or "
            "the matrix"};
  }
  dual.diagonal.resize(problem.blocks.type.size());
  for (int i = 0; i < problem.nblock(); ++i) dual.diagonal[i] = dual.G.find(i, i);
  scale_problem(problem, options.scaling, dual);
  if (options.check_definiteness && form != DualData::Form::kNone && problem.nrow() > 0)
    return check_definiteness(dual);
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
    const double floor = kNatvFloor * lambda.segment(r, dual.blocks.size(i)).norm();
    // Written so that NaN wins.
    const double value = dual.weight[i] * (size < floor ? floor : size);
    if (!(value <= worst)) worst = value;
  }
  return worst;
}

void compute_next_velocity(const ContactProblem& problem, const DualProblem& dual, const VectorX& lambda, VectorX& v) {
  if (!problem.has_primal) {
    v.resize(0);
    return;
  }
  const PrimalData& primal = problem.primal;
  v.setZero(primal.nv());
  primal.J.multiply_transpose_add(lambda.data(), v.data());
  dual.primal.factor.solve(primal, v);
  v += primal.v_free;
}

}  // namespace touchstone
