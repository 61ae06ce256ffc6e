#include "touchstone/sim/position_pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/algorithms.hpp"
#include "touchstone/dynamics/forces.hpp"
#include "touchstone/dynamics/long_trees.hpp"
#include "touchstone/math/vec3.hpp"
#include "touchstone/sim/constraints/kinds.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace touchstone {
namespace {

constexpr double kSlack = 1e-5;       // compliance of all rows, relative to the one whose bodies give way least
constexpr double kLeastYield = 1e-5;  // of the row whose bodies give way most: what counts as giving way
constexpr double kStiffTime = 1.0;    // s: T, good for 9.8 m
constexpr double kTolerance = 1e-6;   // of the solve, relative to the largest way
constexpr double kPivotTolerance = 1e-9;
constexpr std::size_t kMostPivotRows = 96;  // of an island that is solved by pivoting
constexpr int kMostGuesses = 20;            // of active rows
constexpr double kUsable = 1e-2;            // natv relative to the largest way, above which an island stays where it is
constexpr double kHindered = 0.5;           // share of its way that a row must be denied to be called hindered
constexpr double kNoticed = 0.5;            // of the slop: how far beyond it a violation must be for that
// Violations approach the slop, or zero, without end: so near, by this share of the slop, they are left alone.
constexpr double kNear = 0.1, kNearEquality = 0.01;
constexpr double kLeastNear = 1e-9, kLeastNoticed = 1e-5;  // m: for a slop of zero
constexpr double kFar = 100.0;  // ways of an island: how far a surface must be for the pass not to reach it

double near_of(const StabilisationOptions& options, Violation violation) {
  return std::max((violation == Violation::kTwoSided ? kNearEquality : kNear) * options.slop, kLeastNear);
}

StabilisedKind stabilised_kind(Violation violation) {
  if (violation == Violation::kOverlap) return StabilisedKind::kContact;
  return violation == Violation::kOneSided ? StabilisedKind::kLimit : StabilisedKind::kLoop;
}

void ensure_rows(VectorX& v, int rows) {
  if (v.size() < rows) v.resize(2 * rows);
}

}  // namespace

PositionPass::PositionPass()
    : solver_(make_solver(SimulatorOptions().solver)), solver_options_(solver_->make_options()) {
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
  const Violation violation = entry_of(c.list[at(block)].kind).violation;
  if (!step.options.passes(stabilised_kind(violation))) return false;
  const double near = near_of(step.options, violation);
  if (violation != Violation::kTwoSided) return -gap(step, last) - step.options.slop > near;
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
    const auto copy = [&](const AlignedVector& all, AlignedVector& to) {
      for (int k = 0; k < part.count; ++k) {
        for (int r = 0; r < rows; ++r) to[part.start + at(own * k + r)] = all[start + at(stride * k + r)];
      }
    };
    copy(from.J, rows_.J);
    if (part.list >= 0) {  // of rows with lists no Y is made
      const auto first = from.listed.begin() + part.list;
      part.list = static_cast<int>(rows_.listed.size());
      rows_.listed.insert(rows_.listed.end(), first, first + part.count);
    } else {
      rows_.Y.resize(rows_.J.size(), 0.0);
      copy(from.Y, rows_.Y);
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
  const bool asks_for_it = asks_[at(block)] != 0;
  way_.push_back(asks_for_it ? -distance - step.options.slop : 0.0);
  rows_.bias[rows_.rows() - 1] = std::max(0.0, distance);
  if (asks_for_it) longest_ = std::max(longest_, way_.back());
}

// An equality.
void PositionPass::add_rows(const Step& step, int block) {
  const Constraints& c = step.constraints;
  const int m = c.blocks.size(block);
  rows_.blocks.add_equality(m);
  copy_parts(c, block, 0, m);
  const double near = near_of(step.options, Violation::kTwoSided);
  const bool is_held = !step.options.passes(StabilisedKind::kLoop);  // as far open as it is
  for (int r = 0; r < m; ++r) {
    const int row = c.blocks.row[at(block)] + r;
    const double error = gap(step, row);
    way_.push_back(is_held || std::abs(error) * c.row_length[at(row)] <= near ? 0.0 : -error);
    rows_.bias[rows_.rows() - m + r] = 0.0;
  }
}

// Compliant contacts and limits are not brought back, but nothing is pushed into them.
void PositionPass::add_block(const Step& step, int block, double far) {
  const Constraints& c = step.constraints;
  const int last = c.blocks.row[at(block + 1)] - 1;
  const Violation violation = entry_of(c.list[at(block)].kind).violation;
  if (violation == Violation::kNone) return;
  if (violation != Violation::kTwoSided) {
    if (gap(step, last) * c.row_length[at(last)] <= far) add_row(step, block, last);
    return;
  }
  if (c.recovers[at(last)] != 0) add_rows(step, block);
}

// Which blocks of an island ask for a way, and the longest one, m: what is much farther away is out of reach. 0 if none
// does.
double PositionPass::find_asking(const Step& step, const std::vector<int>& blocks) {
  const Constraints& c = step.constraints;
  double longest = 0.0;
  for (int block : blocks) {
    asks_[at(block)] = asks(step, block) ? 1 : 0;
    if (asks_[at(block)] == 0) continue;
    for (int row = c.blocks.row[at(block)]; row < c.blocks.row[at(block + 1)]; ++row) {
      longest = std::max(longest, std::abs(gap(step, row)) * c.row_length[at(row)]);
    }
  }
  return longest;
}

// The rows of all islands in which one asks for a way. Returns false if there are none.
bool PositionPass::gather(const Step& step) {
  const Constraints& c = step.constraints;
  bool any = false;
  asks_.resize(std::max(asks_.size(), at(c.count())));
  for (int i = 0; i < step.islands.count(); ++i) {
    const std::vector<int>&blocks = step.islands[i].blocks, &left_out = step.islands[i].left_out;
    const double longest = std::max(find_asking(step, blocks), find_asking(step, left_out));
    if (longest == 0.0) continue;
    if (!any) {
      any = true;
      rows_.clear();
      rows_.Y.clear();
      block_of_.clear();
      way_.clear();
      longest_ = 0.0;
      if (rows_.all_dofs.size() < c.all_dofs.size()) rows_.all_dofs = c.all_dofs;
      for (VectorX* v : {&rows_.bias, &rows_.free_velocity, &rows_.compliance, &rows_.recovery}) {
        ensure_rows(*v, c.rows());
      }
    }
    for (int block : blocks) add_block(step, block, kFar * longest);
    for (int block : left_out) add_block(step, block, kFar * longest);
  }
  return any;
}

// The metric with springs and servos, if there are any.
bool PositionPass::stiffen(const Step& step) {
  // What moves by less than the slop in all rises no farther.
  if (!step.springs || longest_ <= step.options.slop) return false;
  if (step.data.long_trees.used) {
    return stiff_diagonal(step.model, step.parameters, kStiffTime, step.data, stiff_diagonal_);
  }
  if (!factorize_stiff(step.model, step.parameters, kStiffTime, step.data, stiff_)) return false;
  solve_constraint_rows(step.model, step.data.scope, stiff_.L, stiff_.D_inverse, rows_);
  return true;
}

// How the bodies of each row give way, m^2 where the row is an angle. Needs Y.
void PositionPass::measure_rows(const Step& step) {
  const int n = rows_.rows();
  rows_.free_velocity.head(n).setZero();
  rows_.recovery.head(n).setZero();
  rows_.compliance.head(n).setZero();
  for (int block = 0; block < rows_.count(); ++block) {
    const Constraint& constraint = rows_.list[at(block)];
    const int stride = rows_.stride(block), first = rows_.blocks.row[at(block)], m = rows_.blocks.size(block);
    for (int p = 0; p < constraint.part_count; ++p) {
      const TreePart& part = rows_.parts[at(constraint.first_part + p)];
      if (part.list >= 0) {  // what its own dofs give way by, which is all that the slack needs
        const double* J = rows_.J.data() + part.start;
        const int* dofs = rows_.dofs(step.model, part);
        for (int k = 0; k < part.count; ++k, J += stride) {
          const double weight = step.data.long_trees.motion.D_inverse(dofs[k]);
          for (int r = 0; r < m; ++r) rows_.compliance[first + r] += J[r] * J[r] * weight;
        }
        continue;
      }
      const double* Y = rows_.Y.data() + part.start;
      for (int k = 0; k < part.count; ++k, Y += stride) {
        for (int r = 0; r < m; ++r) rows_.compliance[first + r] += Y[r] * Y[r];
      }
    }
  }
}

// The way that each row of an island asks for, and its slack. Both are the same share of all violations in metres: then
// the squares of the violations, added up, cannot grow. Returns false if nothing is asked for.
bool PositionPass::set_ways(const Step& step, const TreeIsland& island) {
  double longest = 0.0, least = std::numeric_limits<double>::infinity(), most = 0.0;
  const auto for_rows = [&](auto&& visit) {
    for (int block : island.blocks) {
      for (int row = rows_.blocks.row[at(block)]; row < rows_.blocks.row[at(block + 1)]; ++row) visit(row);
    }
  };
  share_.resize(at(rows_.rows()));
  for (int block : island.blocks) {
    const bool is_equality = rows_.blocks.type[at(block)] == BlockType::kEquality;
    const double share = is_equality ? 1.0 : -std::expm1(-step.time / step.options.time_constant);
    for (int row = rows_.blocks.row[at(block)]; row < rows_.blocks.row[at(block + 1)]; ++row) share_[at(row)] = share;
  }
  for_rows([&](int row) {
    const double length = rows_.row_length[at(row)];
    longest = std::max(longest, share_[at(row)] * std::abs(way_[at(row)]) * length);
    const double yields = rows_.compliance[row] * length * length;
    most = std::max(most, yields);
    if (yields > 0.0) least = std::min(least, yields);
  });
  if (longest == 0.0 || most == 0.0) return false;
  const double scale = std::min(1.0, step.options.recovery_speed * step.time / longest);
  const double slack = step.damping * kSlack * std::max(least, kLeastYield * most);
  for_rows([&](int row) {
    const double length = rows_.row_length[at(row)];
    share_[at(row)] *= scale;
    rows_.compliance[row] = slack * share_[at(row)] / (length * length);
    way_[at(row)] *= share_[at(row)];
    if (way_[at(row)] != 0.0) rows_.bias[row] = -way_[at(row)];
  });
  return true;
}

// G = Y' Y + R of an island, densely, in work.pivoting. Needs set_ways.
void PositionPass::build_dense(const Step& step, const TreeIsland& island, Work& work) {
  const Model& model = step.model;
  int width = 0;
  tree_offset_.resize(at(model.ntree));
  for (int tree : island.trees) {
    tree_offset_[at(tree)] = width - model.tree_first_dof[at(tree)];
    width += model.tree_first_dof[at(tree + 1)] - model.tree_first_dof[at(tree)];
  }
  width = (width + 3) / 4 * 4;
  const int n = static_cast<int>(work.row.size());
  packed_.assign(at(n) * at(width), 0.0);
  double* row = packed_.data();
  for (int block : island.blocks) {
    const Constraint& constraint = rows_.list[at(block)];
    const int stride = rows_.stride(block), m = rows_.blocks.size(block);
    for (int p = 0; p < constraint.part_count; ++p) {
      const TreePart& part = rows_.parts[at(constraint.first_part + p)];
      const double* Y = rows_.Y.data() + part.start;
      const int* dof = rows_.dofs(model, part);
      for (int k = 0; k < part.count; ++k, Y += stride) {
        const int at_dof = tree_offset_[at(part.tree)] + dof[k];
        for (int r = 0; r < m; ++r) row[at(r * width + at_dof)] = Y[r];
      }
    }
    row += at(m * width);
  }
  work.pivoting.resize(n);
  for (int i = 0; i < n; ++i) {
    const double* a = packed_.data() + at(i * width);
    for (int j = 0; j <= i; ++j) {
      const double* b = packed_.data() + at(j * width);
      Lanes sum{};
      for (int k = 0; k < width; k += 4) sum += load_lanes(a + k) * load_lanes(b + k);
      const double product = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      work.pivoting.column(j)[i] = work.pivoting.column(i)[j] = product;
    }
    work.pivoting.column(i)[i] += rows_.compliance[work.row[at(i)]];
    if (work.is_equality[at(i)] != 0) work.pivoting.set_free(i);
  }
}

// Small islands: a guess of what is active is right at once, or nearly. Returns false if it is not.
bool PositionPass::pivot(const Step& step, const TreeIsland& island, Work& work) {
  work.row.clear();
  work.is_equality.clear();
  for (int block : island.blocks) {
    const bool is_equality = rows_.blocks.type[at(block)] == BlockType::kEquality;
    for (int row = rows_.blocks.row[at(block)]; row < rows_.blocks.row[at(block + 1)]; ++row) {
      work.row.push_back(row);
      work.is_equality.push_back(is_equality ? 1 : 0);
    }
    if (work.row.size() > kMostPivotRows) return false;
  }
  build_dense(step, island, work);
  double longest = 0.0;
  work.bias.clear();
  work.length.clear();
  for (int row : work.row) {
    work.bias.push_back(rows_.bias[row]);
    work.length.push_back(rows_.row_length[at(row)]);
    longest = std::max(longest, std::abs(way_[at(row)]));
  }
  work.lambda.resize(work.row.size());
  if (!work.pivoting.solve(work.bias.data(), kPivotTolerance * longest, kMostGuesses, work.lambda.data())) return false;
  const double residual = work.pivoting.residual(work.bias.data(), work.lambda.data(), work.length.data());
  if (!(residual <= kTolerance * longest)) return false;
  residual_ = std::max(residual_, residual);
  return true;
}

// Larger ones by the default solver. Returns false if there is no answer that is good enough.
bool PositionPass::solve_by_default(const TreeIsland& island, Work& work) {
  const ContactProblem& problem = island.problem;
  if (work.workspace == nullptr) work.workspace = solver_->make_workspace();
  work.solution.lambda.setZero(problem.nrow());
  solver_->solve(problem, *solver_options_, *work.workspace, work.solution);
  const Residuals residuals = certify(problem, work.solution.lambda, work.certificate);
  residual_ = std::max(residual_, residuals.natv);
  work.lambda.assign(work.solution.lambda.begin(), work.solution.lambda.end());
  return residuals.natv_relative <= kUsable;
}

// Where paths are long: equalities by elimination, the rest by the default solver. Adds to the displacement.
bool PositionPass::solve_long_trees(const Step& step, int index, const VectorX& diagonal, Work& work) {
  if (!islands_.fits_without_equalities(index, rows_)) return false;
  const TreeIsland& island = islands_[index];
  islands_.build_rows(index, rows_, 0.0);
  const LongTreeSolver::Island equations{step.model,    step.data,    diagonal,      rows_,
                                         island.blocks, island.trees, island.problem};
  if (!work.long_trees.begin(equations)) return false;
  const ContactProblem& rest = work.long_trees.rest();
  work.solution.lambda.setZero(rest.nrow());
  if (rest.nrow() > 0) {
    if (work.workspace == nullptr) work.workspace = solver_->make_workspace();
    solver_->solve(rest, *solver_options_, *work.workspace, work.solution);
  }
  VectorX& lambda = work.all;
  if (work.solution.lambda.size() != rest.nrow() || !work.long_trees.finish(equations, work.solution.lambda, lambda))
    return false;
  const Residuals residuals = work.long_trees.certify(equations, lambda, work.certificate, work.u);
  residual_ = std::max(residual_, residuals.natv);
  work.lambda.assign(lambda.begin(), lambda.end());
  if (!(residuals.natv_relative <= kUsable)) return false;
  displacement_ += work.long_trees.velocity_change();
  return true;
}

// Returns false if the island has no answer that is good enough; it is not moved then, and hindered.
bool PositionPass::solve_island(const Step& step, int index, bool is_stiff, Work& work) {
  const TreeIsland& island = islands_[index];
  bool is_usable = false;
  if (step.data.long_trees.used) {
    is_usable = solve_long_trees(step, index, is_stiff ? stiff_diagonal_ : step.data.long_trees.diagonal, work);
  } else {
    is_usable = pivot(step, island, work);
  }
  if (!is_usable && !step.data.long_trees.used && islands_.fits(index, rows_)) {
    islands_.build_problem(index, step.model, rows_, 0.0, scratch_);
    is_usable = solve_by_default(island, work);
  }
  const double noticed = std::max(kNoticed * step.options.slop, kLeastNoticed);
  std::size_t local = 0;
  for (int block : island.blocks) {
    for (int row = rows_.blocks.row[at(block)]; row < rows_.blocks.row[at(block + 1)]; ++row, ++local) {
      lambda_[row] = is_usable ? work.lambda[local] : 0.0;
      const double way = std::abs(way_[at(row)]);
      const double denied = is_usable ? rows_.compliance[row] * std::abs(lambda_[row]) : way;
      const double violation = way / share_[at(row)] * rows_.row_length[at(row)];
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
  measure_rows(step);
  lambda_.setZero(std::max<Eigen::Index>(lambda_.size(), rows_.rows()));
  islands_.find(step.model, rows_, true);
  while (work_.size() < at(islands_.count())) work_.push_back(std::make_unique<Work>());
  displacement_.setZero(step.model.nv);
  bool moved = false;
  for (int i = 0; i < islands_.count(); ++i) {
    if (!set_ways(step, islands_[i])) continue;
    moved = solve_island(step, i, is_stiff, *work_[at(i)]) || moved;
  }
  if (!moved) return false;
  if (!step.data.long_trees.used) {
    add_constraint_force(step.model, rows_, lambda_, displacement_);
    is_stiff ? solve(step.model, step.data.scope, stiff_, displacement_) : solve(step.model, step.data, displacement_);
  }
  limit_motion(step);
  return displacement_.allFinite();
}

}  // namespace touchstone
