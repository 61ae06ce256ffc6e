#include "touchstone/sim/position_pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

constexpr double kSlack = 1e-5;       // compliance of all rows, relative to the one whose bodies give way least
constexpr double kLeastYield = 1e-5;  // of the row whose bodies give way most: what counts as giving way
constexpr double kStiffTime = 0.3;    // s: T, good for 0.9 m
constexpr double kTolerance = 1e-6;   // of the solve, relative to the largest way
constexpr double kPivotTolerance = 1e-9;
constexpr int kMostPivotRows = 96;  // of an island that is solved by pivoting, larger ones by `auto`
constexpr int kMostGuesses = 20;    // of active rows
constexpr double kUsable = 1e-2;    // natv relative to the largest way, above which an island stays where it is
constexpr double kHindered = 0.5;   // share of its way that a row must be denied to be called hindered
constexpr double kNoticed = 0.5;    // of the slop: how far beyond it a violation must be for that
// Violations approach the slop, or zero, without end: so near, by this share of the slop, they are left alone.
constexpr double kNear = 0.01;
constexpr double kLeastNear = 1e-9, kLeastNoticed = 1e-5;  // m: for a slop of zero

double near_of(const StabilisationOptions& options) { return std::max(kNear * options.slop, kLeastNear); }

void ensure_rows(VectorX& v, int rows) {
  if (v.size() < rows) v.resize(2 * rows);
}

}  // namespace

PositionPass::PositionPass() : solver_(make_solver("auto")), solver_options_(solver_->make_options()) {
  solver_options_->relative_tolerance = kTolerance;
  solver_options_->warm_start = false;
  solver_options_->validation = Validation::kData;
}

// After the step; the error of an equality.
double PositionPass::gap(const Step& step, int row) const {
  return step.constraints.position[at(row)] + step.remaining * step.next_velocity[row];
}

bool PositionPass::asks(const Step& step, int block) const {
  const Constraints& c = step.constraints;
  const int first = c.blocks.row[at(block)], last = c.blocks.row[at(block + 1)] - 1;
  if (c.recovers[at(last)] == 0) return false;
  const double near = near_of(step.options);
  if (entry_of(c.list[at(block)].kind).violation != Violation::kTwoSided)
    return -gap(step, last) - step.options.slop > near;
  for (int row = first; row <= last; ++row) {
    if (std::abs(gap(step, row)) * c.row_length[at(row)] > near) return true;
  }
  return false;
}

// Rows [row, row + rows) of a block's Jacobian and of Y, as a block of its own.
void PositionPass::copy_parts(const Constraints& from, int block, int row, int rows) {
  const Constraint& constraint = from.list[at(block)];
  const int stride = from.stride(block), own = Constraints::stride_of(rows);
  rows_.list.push_back(constraint);
  rows_.list.back().first_part = static_cast<int>(rows_.parts.size());
  for (int p = 0; p < constraint.part_count; ++p) {
    TreePart part = from.parts[at(constraint.first_part + p)];
    const std::size_t start = part.start + at(row);
    part.start = rows_.J.size();
    rows_.J.resize(rows_.J.size() + at(own * part.count), 0.0);
    rows_.Y.resize(rows_.J.size(), 0.0);
    for (int k = 0; k < part.count; ++k) {
      for (int r = 0; r < rows; ++r) {
        rows_.J[part.start + at(own * k + r)] = from.J[start + at(stride * k + r)];
        rows_.Y[part.start + at(own * k + r)] = from.Y[start + at(stride * k + r)];
      }
    }
    rows_.parts.push_back(part);
  }
  block_of_.push_back(block);
  for (int r = 0; r < rows; ++r) rows_.row_length.push_back(from.row_length[at(from.blocks.row[at(block)] + row + r)]);
}

// A contact or limit.
void PositionPass::add_row(const Step& step, int block, int row) {
  const Constraints& c = step.constraints;
  const double distance = gap(step, row);
  rows_.blocks.add_nonnegative();
  copy_parts(c, block, row - c.blocks.row[at(block)], 1);
  const bool asks_for_it = asks(step, block);
  way_.push_back(asks_for_it ? -distance - step.options.slop : 0.0);
  rows_.bias[rows_.rows() - 1] = std::max(0.0, distance);
  one_sided_ = one_sided_ || asks_for_it;
}

// An equality.
void PositionPass::add_rows(const Step& step, int block) {
  const Constraints& c = step.constraints;
  const int m = c.blocks.size(block);
  rows_.blocks.add_equality(m);
  copy_parts(c, block, 0, m);
  const double near = near_of(step.options);
  for (int r = 0; r < m; ++r) {
    const int row = c.blocks.row[at(block)] + r;
    const double error = gap(step, row);
    way_.push_back(std::abs(error) * c.row_length[at(row)] > near ? -error : 0.0);
    rows_.bias[rows_.rows() - m + r] = 0.0;
  }
}

// Compliant contacts and limits are not brought back, but nothing is pushed into them.
void PositionPass::add_block(const Step& step, int block) {
  const Constraints& c = step.constraints;
  const int last = c.blocks.row[at(block + 1)] - 1;
  const Violation violation = entry_of(c.list[at(block)].kind).violation;
  if (violation == Violation::kNone) return;
  if (violation != Violation::kTwoSided) return add_row(step, block, last);
  if (c.recovers[at(last)] != 0) add_rows(step, block);
}

// The rows of all islands in which one asks for a way. Returns false if there are none.
bool PositionPass::gather(const Step& step) {
  const Constraints& c = step.constraints;
  bool any = false;
  for (int i = 0; i < step.islands.count(); ++i) {
    const std::vector<int>& blocks = step.islands[i].blocks;
    if (std::none_of(blocks.begin(), blocks.end(), [&](int block) { return asks(step, block); })) continue;
    if (!any) {
      any = true;
      rows_.clear();
      rows_.Y.clear();
      block_of_.clear();
      way_.clear();
      one_sided_ = false;
      if (rows_.all_dofs.size() < c.all_dofs.size()) rows_.all_dofs = c.all_dofs;
      for (VectorX* v : {&rows_.bias, &rows_.free_velocity, &rows_.compliance, &rows_.recovery}) {
        ensure_rows(*v, c.rows());
      }
    }
    for (int block : blocks) add_block(step, block);
  }
  return any;
}

// The metric with springs and servos, if there are any.
bool PositionPass::stiffen(const Step& step) {
  if (!one_sided_ || !factorize_stiff(step.model, step.parameters, kStiffTime, step.data, stiff_)) return false;
  solve_constraint_rows(step.model, stiff_.L, stiff_.D_inverse, rows_);
  return true;
}

// How the bodies of each row give way, m^2 where the row is an angle. Needs Y.
void PositionPass::measure_rows() {
  const int n = rows_.rows();
  rows_.free_velocity.head(n).setZero();
  rows_.recovery.head(n).setZero();
  rows_.compliance.head(n).setZero();
  for (int block = 0; block < rows_.count(); ++block) {
    const Constraint& constraint = rows_.list[at(block)];
    const int stride = rows_.stride(block), first = rows_.blocks.row[at(block)], m = rows_.blocks.size(block);
    for (int p = 0; p < constraint.part_count; ++p) {
      const TreePart& part = rows_.parts[at(constraint.first_part + p)];
      const double* Y = rows_.Y.data() + part.start;
      for (int k = 0; k < part.count; ++k, Y += stride) {
        for (int r = 0; r < m; ++r) rows_.compliance[first + r] += Y[r] * Y[r];
      }
    }
  }
}

// The way that each row of an island asks for, and its slack. Both are the same for all rows in metres, but for the
// length of the way: then the squares of the violations, added up, cannot grow. Returns false if nothing is asked for.
bool PositionPass::set_ways(const Step& step, const TreeIsland& island) {
  double longest = 0.0, least = std::numeric_limits<double>::infinity(), most = 0.0;
  const auto for_rows = [&](auto&& visit) {
    for (int block : island.blocks) {
      for (int row = rows_.blocks.row[at(block)]; row < rows_.blocks.row[at(block + 1)]; ++row) visit(row);
    }
  };
  for_rows([&](int row) {
    const double length = rows_.row_length[at(row)];
    longest = std::max(longest, std::abs(way_[at(row)]) * length);
    const double yields = rows_.compliance[row] * length * length;
    most = std::max(most, yields);
    if (yields > 0.0) least = std::min(least, yields);
  });
  if (longest == 0.0 || most == 0.0) return false;
  const double share = -std::expm1(-step.h / step.options.time_constant);
  scale_ = std::min(share, step.options.recovery_speed * step.h / longest);
  const double slack = kSlack * std::max(least, kLeastYield * most);
  for_rows([&](int row) {
    const double length = rows_.row_length[at(row)];
    rows_.compliance[row] = slack / (length * length);
    way_[at(row)] *= scale_;
    if (way_[at(row)] != 0.0) rows_.bias[row] = -way_[at(row)];
  });
  return true;
}

// Small islands: a guess of what is active is right at once, or nearly. Returns false if it is not.
bool PositionPass::pivot(const ContactProblem& problem, Work& work) {
  const int n = problem.nrow();
  if (n > kMostPivotRows) return false;
  const BlockSparseMatrix& G = problem.dual.G_sparse;
  PrincipalPivoting& pivoting = work.pivoting;
  pivoting.resize(n);
  for (int c = 0; c < n; ++c) std::fill_n(pivoting.column(c), n, 0.0);
  for (int i = 0; i < problem.nblock(); ++i) {
    const int row = problem.blocks.row[at(i)], m = problem.blocks.size(i);
    for (int k = G.start[at(i)]; k < G.start[at(i + 1)]; ++k) {
      const int column = G.col_begin[at(G.col[at(k)])], columns = G.col_size(G.col[at(k)]);
      for (int c = 0; c < columns; ++c) std::copy_n(G.data(k) + c * m, m, pivoting.column(column + c) + row);
    }
    for (int r = 0; r < m && problem.blocks.type[at(i)] == BlockType::kEquality; ++r) pivoting.set_free(row + r);
  }
  const double tolerance = kPivotTolerance * problem.dual.g.lpNorm<Eigen::Infinity>();
  work.solution.lambda.resize(n);
  return pivoting.solve(problem.dual.g.data(), tolerance, kMostGuesses, work.solution.lambda.data());
}

// Returns false if the island has no answer that is good enough; it is not moved then, and hindered.
bool PositionPass::solve_island(const Step& step, const TreeIsland& island, Work& work) {
  const ContactProblem& problem = island.problem;
  if (!pivot(problem, work)) {
    if (work.workspace == nullptr) work.workspace = solver_->make_workspace();
    work.solution.lambda.setZero(problem.nrow());
    solver_->solve(problem, *solver_options_, *work.workspace, work.solution);
  }
  const VectorX& lambda = work.solution.lambda;
  const Residuals residuals = certify(problem, lambda, work.certificate);
  residual_ = std::max(residual_, residuals.natv);
  const bool is_usable = residuals.natv_relative <= kUsable;
  const double noticed = std::max(kNoticed * step.options.slop, kLeastNoticed);
  for (int k = 0; k < problem.nblock(); ++k) {
    const int block = island.blocks[at(k)], from = problem.blocks.row[at(k)], to = rows_.blocks.row[at(block)];
    for (int r = 0; r < problem.blocks.size(k); ++r) {
      lambda_[to + r] = is_usable ? lambda[from + r] : 0.0;
      const double way = std::abs(way_[at(to + r)]);
      const double denied = is_usable ? rows_.compliance[to + r] * std::abs(lambda[from + r]) : way;
      const double violation = way / scale_ * rows_.row_length[at(to + r)];
      if (violation > noticed && denied > kHindered * way) hindered_ = block_of_[at(block)];
    }
  }
  return is_usable;
}

// No dof farther than what was looked at; islands are scaled as a whole, which keeps what their rows promise.
void PositionPass::limit_motion(const Step& step) {
  const Model& model = step.model;
  farthest_ = 0.0;
  for (int i = 0; i < islands_.count(); ++i) {
    const auto for_dofs = [&](auto&& visit) {
      for (int tree : islands_[i].trees) {
        for (int dof = model.tree_first_dof[at(tree)]; dof < model.tree_first_dof[at(tree + 1)]; ++dof) visit(dof);
      }
    };
    double motion = 0.0;
    for_dofs([&](int dof) { motion = std::max(motion, std::abs(displacement_[dof]) * step.dof_length[dof]); });
    farthest_ = std::max(farthest_, std::min(motion, step.reach));
    if (motion > step.reach) for_dofs([&](int dof) { displacement_[dof] *= step.reach / motion; });
  }
}

bool PositionPass::run(const Step& step) {
  residual_ = farthest_ = 0.0;
  hindered_ = -1;
  if (!gather(step)) return false;
  const bool is_stiff = stiffen(step);
  measure_rows();
  lambda_.setZero(std::max<Eigen::Index>(lambda_.size(), rows_.rows()));
  islands_.find(step.model, rows_, true);
  while (work_.size() < at(islands_.count())) work_.push_back(std::make_unique<Work>());
  bool moved = false;
  for (int i = 0; i < islands_.count(); ++i) {
    if (!set_ways(step, islands_[i])) continue;
    islands_.build_problem(i, step.model, rows_, 0.0, scratch_);
    moved = solve_island(step, islands_[i], *work_[at(i)]) || moved;
  }
  if (!moved) return false;
  displacement_.setZero(step.model.nv);
  add_constraint_force(step.model, rows_, lambda_, displacement_);
  is_stiff ? solve(step.model, stiff_, displacement_) : solve(step.model, step.data, displacement_);
  limit_motion(step);
  return displacement_.allFinite();
}

}  // namespace touchstone
