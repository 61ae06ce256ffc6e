#include "touchstone/solvers/auto/repair.hpp"

#include <algorithm>

#include "touchstone/solvers/auto/dual_part.hpp"
#include "touchstone/solvers/auto/pipeline.hpp"

namespace touchstone {
namespace {

constexpr double kInnerTolerance = 0.1;  // of a region, relative to that of the whole,
constexpr double kInnerProgress = 1e-3;  // or to the residual of the seed
constexpr int kInnerSteps = 15;          // of Newton: with its surroundings fixed a region may have no solution

double residual_of(const DualProblem& dual, int block, const double* lambda, const double* u) {
  double map[kMaxBlockSize];
  return dual.weight[block] * natural_map_block(dual.blocks, block, ContactModel::kNcp, dual.d[block], lambda, u, map);
}

// The velocity of a block with the newest impulses.
void velocity_of(const DualProblem& dual, int block, const VectorX& lambda, double* u) {
  std::copy_n(dual.g.data() + dual.blocks.row[block], dual.blocks.size(block), u);
  dual.G.add_row_product(block, lambda.data(), u);
}

}  // namespace

RegionRepair::RegionRepair() = default;
RegionRepair::~RegionRepair() = default;
RegionRepair::RegionRepair(RegionRepair&&) noexcept = default;
RegionRepair& RegionRepair::operator=(RegionRepair&&) noexcept = default;

void RegionRepair::find_seeds(const DualProblem& dual, const RepairSettings& settings, const VectorX& lambda,
                              const VectorX& u) {
  seeds_.resize(static_cast<std::size_t>(dual.nblock()));
  double largest = 0.0;
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i];
    seeds_[i] = {residual_of(dual, i, lambda.data() + r, u.data() + r), i};
    largest = std::max(largest, seeds_[i].residual);
  }
  const double least = std::max(settings.share * largest, settings.tolerance);
  const auto is_small = [&](const Seed& seed) { return !(seed.residual >= least); };
  seeds_.erase(std::remove_if(seeds_.begin(), seeds_.end(), is_small), seeds_.end());
  const auto is_worse = [](const Seed& a, const Seed& b) {
    return a.residual != b.residual ? a.residual > b.residual : a.block < b.block;
  };
  std::sort(seeds_.begin(), seeds_.end(), is_worse);
}

double RegionRepair::residual_now(const DualProblem& dual, int block, const VectorX& lambda) {
  double u[kMaxBlockSize];
  velocity_of(dual, block, lambda, u);
  return residual_of(dual, block, lambda.data() + dual.blocks.row[block], u);
}

// Breadth first from the seed, as many blocks as a dense system holds.
void RegionRepair::grow(const DualProblem& dual, int seed) {
  const BlockSparseMatrix& G = dual.G;
  blocks_.assign(1, seed);
  chosen_[seed] = 1;
  int rows = dual.blocks.size(seed);
  for (std::size_t next = 0; next < blocks_.size(); ++next) {
    for (int k = G.start[blocks_[next]]; k < G.start[blocks_[next] + 1]; ++k) {
      const int j = G.col[k];
      if (chosen_[j] != 0 || rows + dual.blocks.size(j) > NewtonSystem::kLargestDense) continue;
      chosen_[j] = 1;
      rows += dual.blocks.size(j);
      blocks_.push_back(j);
    }
  }
  for (const int i : blocks_) chosen_[i] = 0;
  std::sort(blocks_.begin(), blocks_.end());
}

void RegionRepair::solve(const DualProblem& dual, double tolerance, const RepairSettings& settings, VectorX& lambda) {
  const int count = static_cast<int>(blocks_.size());
  extract_part(dual, blocks_.data(), count, position_, part_->dual);
  gather_part(dual, blocks_.data(), count, lambda, part_->lambda);
  own_.setZero(part_->lambda.size());
  part_->dual.G.multiply(part_->lambda.data(), own_.data());
  for (int k = 0; k < count; ++k) {
    const int r = part_->dual.blocks.row[k];
    velocity_of(dual, blocks_[k], lambda, part_->dual.g.data() + r);
  }
  part_->dual.g -= own_;
  part_->space = {};
  run_pipeline({.tolerance = tolerance,
                .warm = true,
                .thorough = false,
                .max_steps = kInnerSteps,
                .deadline = settings.deadline,
                .budget = settings.budget},
               *part_);
  scatter_part(dual, blocks_.data(), count, part_->lambda, lambda);
}

int RegionRepair::run(const DualProblem& dual, const RepairSettings& settings, VectorX& lambda, const VectorX& u) {
  if (part_ == nullptr) part_ = std::make_unique<PipelineWorkspace>();
  chosen_.assign(static_cast<std::size_t>(dual.nblock()), 0);
  find_seeds(dual, settings, lambda, u);
  int count = 0;
  for (const Seed& seed : seeds_) {
    if (count == settings.max_regions || settings.deadline.passed()) break;
    if (settings.budget != nullptr && settings.budget->ended()) break;
    if (residual_now(dual, seed.block, lambda) < seeds_.back().residual) continue;  // an earlier region has mended it
    grow(dual, seed.block);
    solve(dual, std::max(kInnerTolerance * settings.tolerance, kInnerProgress * seed.residual), settings, lambda);
    ++count;
  }
  return count;
}

}  // namespace touchstone
