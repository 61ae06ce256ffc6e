#include "touchstone/sim/events/impact_cones.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "touchstone/base/index.hpp"

namespace touchstone {

ImpactCones::ImpactCones(const StepContext& s) {
  if (s.options.events.impact_cone == ImpactCone::kLinear)
    pyramid_ = std::make_unique<EventSolver>(s, s.options.events.cone_directions);
}

bool ImpactCones::solve(StepContext& s, Survey& survey, EventSolver& exact, const VectorX& v_free) {
  last_ = &exact;
  switch (s.options.events.impact_cone) {
    case ImpactCone::kExact:
      return exact.solve(s, survey, v_free);
    case ImpactCone::kLinear:
      return solve_linear(s, survey, v_free);
    case ImpactCone::kSmooth:
      return solve_smooth(s, survey, exact, v_free);
  }
  return false;
}

bool ImpactCones::solve_linear(StepContext& s, Survey& survey, const VectorX& v_free) {
  Blocks& blocks = survey.c.blocks;
  const double inside = std::cos(std::numbers::pi / s.options.events.cone_directions);
  mu_ = blocks.mu;
  for (int block = 0; block < blocks.count(); ++block) {
    if (blocks.type[at(block)] != BlockType::kCoulomb) continue;
    for (int j = 0; j + 1 < blocks.size(block); ++j) {
      // Torsion has one row, and an interval is its cone.
      if (j != 2) blocks.mu[at(survey.first(block) + j)] *= inside;
    }
  }
  const bool is_solved = pyramid_->solve(s, survey, v_free);
  blocks.mu = mu_;
  last_ = pyramid_.get();
  return is_solved;
}

bool ImpactCones::solve_smooth(StepContext& s, Survey& survey, EventSolver& exact, const VectorX& v_free) {
  constexpr int kMostRounds = 60, kUndampedRounds = 10;
  constexpr double kSame = 1e-10;       // change of the impulses, relative
  constexpr double kLargestGain = 1e3;  // of friction, where there is hardly any impact
  Blocks& blocks = survey.c.blocks;
  mu_ = blocks.mu;
  before_.setZero(survey.c.rows());
  bool is_same = false;
  for (int round = 0; round < kMostRounds && !is_same; ++round) {
    if (!exact.solve(s, survey, v_free)) break;
    const VectorX& lambda = exact.impulses();
    const double largest = lambda.head(survey.c.rows()).lpNorm<Eigen::Infinity>();
    is_same = (lambda.head(survey.c.rows()) - before_).lpNorm<Eigen::Infinity>() <= kSame * largest;
    before_ = lambda.head(survey.c.rows());
    for (int block = 0; block < blocks.count(); ++block) {
      const int first = survey.first(block), normal = survey.normal(block);
      if (blocks.type[at(block)] != BlockType::kCoulomb || first == normal) continue;
      const double mu = mu_[at(first)], bound = mu * lambda[normal];
      if (!(bound > 0.0)) continue;
      const double gain = std::min(kLargestGain, std::sqrt(1.0 + 2.0 * s.options.events.cone_smoothing / bound));
      const double share = round < kUndampedRounds ? 1.0 : 0.5;
      for (int row = first; row < normal; ++row)
        blocks.mu[at(row)] += share * (gain * mu_[at(row)] - blocks.mu[at(row)]);
    }
  }
  blocks.mu = mu_;
  return is_same;
}

}  // namespace touchstone
