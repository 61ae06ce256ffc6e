#include "touchstone/sim/long_tree_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/contact/problem_parts.hpp"

namespace touchstone {
namespace {

constexpr int kMostCorrections = 8;   // of the proximal term
constexpr double kCorrected = 1e-13;  // of the largest free velocity: a correction below it is the last

// The Jacobian of a block, at the end of a list.
void append_rows(const Model& model, const Constraints& c, int block, RowList& rows) {
  const Constraint& constraint = c.list[at(block)];
  const int stride = c.stride(block), m = c.blocks.size(block);
  for (int p = 0; p < constraint.part_count; ++p) {
    const TreePart& part = c.parts[at(constraint.first_part + p)];
    const int* dofs = c.dofs(model, part);
    for (int k = part.first; k < part.count; ++k) rows.add_entry(dofs[k], c.J.data() + part.start + at(stride * k), m);
  }
  rows.end_block(m);
}

double largest_rate(const ContactProblem& problem) {
  double largest = 0.0;
  for (int row = 0; row < problem.nrow(); ++row)
    largest = std::max(largest, std::abs(problem.dual.g[row]) * problem.length(row));
  return largest;
}

}  // namespace

// Rows of equalities and others, and the compliance that equalities are factored with.
void LongTreeSolver::choose(const Island& island) {
  const ContactProblem& problem = island.problem;
  equal_.clear();
  others_.clear();
  equal_blocks_.clear();
  other_blocks_.clear();
  for (int i = 0; i < problem.nblock(); ++i) {
    const bool is_equal = problem.blocks.type[at(i)] == BlockType::kEquality;
    append_rows(island.model, island.constraints, island.blocks[at(i)], is_equal ? equal_ : others_);
    (is_equal ? equal_blocks_ : other_blocks_).push_back(i);
  }
  compliance_.resize(equal_.rows());
  proximal_.setZero(equal_.rows());
  stated_.resize(equal_.rows());
  double largest = 0.0;  // of hard rows in metres: e
  const auto for_rows = [&](auto&& visit) {
    for (std::size_t k = 0; k < equal_blocks_.size(); ++k) {
      const int first = problem.blocks.row[at(equal_blocks_[k])];
      const int of_all = island.constraints.blocks.row[at(island.blocks[at(equal_blocks_[k])])];
      for (int r = 0; r < equal_.size(static_cast<int>(k)); ++r) {
        const bool is_hard = island.left_out >= 0.0 && island.constraints.recovers[at(of_all + r)] != 0;
        visit(equal_.row[k] + r, first + r, is_hard);
      }
    }
  };
  for_rows([&](int own, int row, bool is_hard) {
    compliance_[own] = problem.R[row];
    if (is_hard) largest = std::max(largest, problem.R[row] * problem.length(row) * problem.length(row));
  });
  for_rows([&](int own, int row, bool is_hard) {
    stated_[own] = is_hard ? problem.R[row] : 0.0;
    if (is_hard) compliance_[own] = proximal_[own] = largest / (problem.length(row) * problem.length(row));
  });
}

void LongTreeSolver::multiply(const RowList& rows, const VectorX& v, double* rates) const {
  std::fill_n(rates, rows.rows(), 0.0);
  for (int block = 0; block < rows.count(); ++block) {
    const int first = rows.row[at(block)], m = rows.size(block);
    for (int k = rows.entry[at(block)]; k < rows.entry[at(block + 1)]; ++k) {
      const double* value = rows.value.data() + rows.value_begin[at(k)];
      const double speed = v[rows.dof[at(k)]];
      for (int r = 0; r < m; ++r) rates[first + r] += value[r] * speed;
    }
  }
}

// force += J_C' lambda
void LongTreeSolver::add_forces(const VectorX& rest, VectorX& force) const {
  for (int block = 0; block < others_.count(); ++block) {
    const int first = others_.row[at(block)], m = others_.size(block);
    for (int k = others_.entry[at(block)]; k < others_.entry[at(block + 1)]; ++k) {
      const double* value = others_.value.data() + others_.value_begin[at(k)];
      for (int r = 0; r < m; ++r) force[others_.dof[at(k)]] += value[r] * rest[first + r];
    }
  }
}

// Impulses of E from zero, with `right` times those before on the right side. Returns how fast a row moves by the
// compliance that the problem states, m/s.
double LongTreeSolver::correct(const Island& island, const VectorX& rest, const VectorX& right) {
  const ContactProblem& problem = island.problem;
  const double enough = kCorrected * largest_rate(problem);
  double correction = 0.0, compliant = 0.0;
  lambda_equal_.setZero(equal_.rows());
  for (int k = 0; k < kMostCorrections; ++k) {
    change_.setZero(island.model.nv);
    add_forces(rest, change_);
    mu_ = wanted_ + right.cwiseProduct(lambda_equal_);
    system_.solve(island.data.S, change_, mu_);
    correction = compliant = 0.0;
    for (std::size_t b = 0; b < equal_blocks_.size(); ++b) {
      const int first = problem.blocks.row[at(equal_blocks_[b])];
      for (int row = equal_.row[b]; row < equal_.row[b + 1]; ++row) {
        const double length = problem.length(first + row - equal_.row[b]);
        correction = std::max(correction, right[row] * std::abs(mu_[row] + lambda_equal_[row]) * length);
        compliant = std::max(compliant, stated_[row] * std::abs(mu_[row]) * length);
      }
    }
    lambda_equal_ = -mu_;
    if (!(correction > enough)) break;
  }
  return compliant;
}

// The blocks of C, without values.
void LongTreeSolver::list_rest(const ContactProblem& problem) {
  Blocks& blocks = rest_.blocks;
  blocks.clear();
  rest_.row_length.clear();
  for (const int i : other_blocks_) {
    append_block(problem.blocks, i, blocks);
    for (int row = problem.blocks.row[at(i)]; row < problem.blocks.row[at(i + 1)]; ++row)
      rest_.row_length.push_back(problem.length(row));
  }
  rest_.time_step = problem.time_step;
  rest_.dual.form = DualData::Form::kSparse;
  rest_.dual.symmetric = true;
  rest_.dual.g.setZero(blocks.rows());
  diagonal_.resize(blocks.rows());
  rates_.resize(blocks.rows());
}

// column_ = what a unit impulse on row r of a block makes of the velocities where E hold, as in correct: without the
// proximal term.
void LongTreeSolver::push_row(const Island& island, int block, int r) {
  lambda_equal_.setZero(equal_.rows());
  double first = 0.0;
  for (int k = 0; k < kMostCorrections; ++k) {
    set_column(block, r);
    mu_ = proximal_.cwiseProduct(lambda_equal_);
    system_.solve(island.data.S, column_, mu_);
    if (equal_.rows() == 0) return;
    const double correction = (mu_ + lambda_equal_).cwiseAbs().cwiseProduct(proximal_).maxCoeff();
    if (k == 0) first = correction;
    lambda_equal_ = -mu_;
    if (!(correction > kCorrected * first) || correction == 0.0) return;
  }
}

// column_ = the row of J.
void LongTreeSolver::set_column(int block, int r) {
  column_.setZero();
  for (int k = others_.entry[at(block)]; k < others_.entry[at(block + 1)]; ++k)
    column_[others_.dof[at(k)]] += others_.value[others_.value_begin[at(k)] + at(r)];
}

void LongTreeSolver::build_rest(const Island& island) {
  const ContactProblem& problem = island.problem;
  list_rest(problem);
  const Blocks& blocks = rest_.blocks;
  if (blocks.rows() == 0) return;
  const double compliant = correct(island, rest_.dual.g, proximal_);
  if (island.left_out >= 0.0 && compliant > island.left_out * largest_rate(problem)) {
    proximal_ -= stated_;
    stated_.setZero();
    correct(island, rest_.dual.g, proximal_);
  }
  multiply(others_, change_, rates_.data());
  gather(problem, problem.dual.g, rest_.dual.g);
  rest_.dual.g += rates_;
  BlockSparseMatrix& G = rest_.dual.G_sparse;
  G.row_begin = G.col_begin = blocks.row;
  set_full_pattern(blocks, G);
  column_.resize(island.model.nv);
  for (int b = 0; b < blocks.count(); ++b) {
    for (int r = 0; r < blocks.size(b); ++r) {
      const int row = blocks.row[at(b)] + r;
      const double compliance = problem.R[problem.blocks.row[at(other_blocks_[at(b)])] + r];
      push_row(island, b, r);
      multiply(others_, column_, rates_.data());
      for (int i = 0; i < blocks.count(); ++i) {
        double* panel = G.data(G.start[at(i)] + b) + at(r * blocks.size(i));
        std::copy_n(rates_.data() + blocks.row[at(i)], blocks.size(i), panel);
        if (i == b) panel[r] += compliance;
      }
      if (equal_.rows() > 0) {  // without loops: the scale of the certificate
        set_column(b, r);
        free_.solve(island.data.S, column_);
        multiply(others_, column_, rates_.data());
      }
      diagonal_[row] = rates_[row] + compliance;
    }
  }
}

bool LongTreeSolver::begin(const Island& island) {
  has_factor_ = false;
  choose(island);
  system_.set_pattern(island.model, island.trees, equal_);
  if (!system_.factorize(island.data.long_trees.inertia, island.data.S, island.diagonal, equal_, compliance_))
    return false;
  wanted_.resize(equal_.rows());
  for (std::size_t k = 0; k < equal_blocks_.size(); ++k) {
    const int first = island.problem.blocks.row[at(equal_blocks_[k])];
    for (int row = equal_.row[k]; row < equal_.row[k + 1]; ++row)
      wanted_[row] = -island.problem.dual.g[first + row - equal_.row[k]];
  }
  if (equal_.rows() > 0 && others_.rows() > 0) {
    static const RowList kNone;
    free_.set_pattern(island.model, island.trees, kNone);
    if (!free_.factorize(island.data.long_trees.inertia, island.data.S, island.diagonal, kNone, VectorX()))
      return false;
  }
  build_rest(island);
  has_factor_ = true;
  return true;
}

void LongTreeSolver::solve_equalities(const ContactProblem& problem, const std::vector<Motion>& S, VectorX& rows,
                                      VectorX& velocity) {
  mu_.resize(equal_.rows());
  const auto for_blocks = [&](auto&& visit) {
    for (std::size_t k = 0; k < equal_blocks_.size(); ++k)
      visit(rows.data() + problem.blocks.row[at(equal_blocks_[k])], mu_.data() + equal_.row[k],
            equal_.size(static_cast<int>(k)));
  };
  for_blocks([](const double* from, double* to, int size) { std::copy_n(from, size, to); });
  system_.solve(S, velocity, mu_);
  for_blocks([](double* to, const double* from, int size) {
    std::transform(from, from + size, to, [](double x) { return -x; });
  });
}

void LongTreeSolver::gather(const ContactProblem& problem, const VectorX& all, VectorX& rest) const {
  rest.resize(others_.rows());
  for (std::size_t k = 0; k < other_blocks_.size(); ++k) {
    const int first = problem.blocks.row[at(other_blocks_[k])];
    std::copy_n(all.data() + first, others_.size(static_cast<int>(k)), rest.data() + others_.row[k]);
  }
}

bool LongTreeSolver::finish(const Island& island, const VectorX& rest, VectorX& lambda) {
  const ContactProblem& problem = island.problem;
  const double compliant = correct(island, rest, proximal_);
  // Where there are other rows build_rest has chosen, and they were solved for with that.
  if (others_.rows() == 0 && island.left_out >= 0.0 && compliant > island.left_out * largest_rate(problem)) {
    proximal_ -= stated_;
    correct(island, rest, proximal_);
  }
  lambda.resize(problem.nrow());
  const auto scatter = [&](const std::vector<int>& blocks, const RowList& rows, const VectorX& values) {
    for (std::size_t k = 0; k < blocks.size(); ++k)
      std::copy_n(values.data() + rows.row[k], rows.size(static_cast<int>(k)),
                  lambda.data() + problem.blocks.row[at(blocks[k])]);
  };
  scatter(equal_blocks_, equal_, lambda_equal_);
  scatter(other_blocks_, others_, rest);
  return change_.allFinite() && lambda.allFinite();
}

Residuals LongTreeSolver::certify(const Island& island, const VectorX& lambda, CertificateWorkspace& w,
                                  VectorX& u) const {
  const ContactProblem& problem = island.problem;
  w.change.resize(problem.nrow());
  w.diagonal.resize(problem.nrow());
  VectorX& rates = w.v;
  const auto fill = [&](const std::vector<int>& blocks, const RowList& rows, auto&& diagonal) {
    rates.resize(rows.rows());
    multiply(rows, change_, rates.data());
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const int first = problem.blocks.row[at(blocks[k])];
      for (int row = rows.row[k]; row < rows.row[k + 1]; ++row) {
        const int to = first + row - rows.row[k];
        w.change[to] = rates[row] + problem.R[to] * lambda[to];
        w.diagonal[to] = diagonal(row);
      }
    }
  };
  fill(equal_blocks_, equal_, [&](int row) { return system_.pivot(row); });
  fill(other_blocks_, others_, [&](int row) { return diagonal_[row]; });
  u = problem.dual.g + w.change;
  return certify_product(problem, lambda, std::numeric_limits<double>::infinity(), w);
}

}  // namespace touchstone
