#include "touchstone/contact/laws/block_laws.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "touchstone/contact/laws/mobility.hpp"

namespace touchstone {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kSpringPeriod = 0.1;  // beta of limits and equalities, in steps

// R of a spring with a period of so many steps.
double near_rigid_compliance(double period, double w) { return period * period * w / (4.0 * kPi * kPi); }

double entry(const VectorX& v, int row) { return v.size() > 0 ? v[row] : 0.0; }

void copy_friction(const Blocks& blocks, int block, double* mu) {
  const int r = blocks.row[block], n = blocks.size(block) - 1;
  for (int k = 0; k < n; ++k) mu[k] = std::min(blocks.mu[r + k], kUnboundedFriction);
}

// The tangential velocity at which surfaces do not slip, which is not zero where they move on their own.
void copy_slip(const ContactProblem& problem, int block, double* shift) {
  const int r = problem.blocks.row[block], n = problem.blocks.size(block) - 1;
  for (int k = 0; k < n; ++k) shift[k] = -entry(problem.b, r + k);
}

// epsilon of |mu v_t|_s, (26): mu times that of v_t, with the largest mu of an ellipse.
double soft_slip(const ContactProblem& problem, int block, const ContactPhysics& physics, double w, double lagged) {
  double mu = 0.0;
  for (int r = problem.blocks.row[block]; r < problem.blocks.row[block + 1] - 1; ++r)
    mu = std::max(mu, std::min(problem.blocks.mu[r], kUnboundedFriction) / problem.length(r));
  return mu * std::max(physics.stiction, physics.sigma * w * mu * lagged);
}

// The largest slope of the impulse by a velocity, about, where the law is pressed by `depth`: of the spring and the
// damper, of one that moves with the slip, and of friction within its epsilon.
double steepness(const ContactProblem& problem, int block, const NormalLaw& law, double depth, double epsilon) {
  double mu = 0.0;
  for (int r = problem.blocks.row[block]; r < problem.blocks.row[block + 1] - 1; ++r)
    mu = std::max(mu, std::min(problem.blocks.mu[r], kUnboundedFriction));
  const double speed = std::abs(problem.physics[static_cast<std::size_t>(block)].speed);
  const double damping = 1.0 + law.dissipation * speed, force = law.h * law.stiffness * depth;
  const double reach = law.h + std::abs(law.relaxation);
  const double bend = law.elasticity == Elasticity::kHertz ? 1.5 * std::sqrt(depth) : 1.0;
  const double normal = law.h * law.stiffness * bend * reach * damping + force * law.dissipation;
  return std::max((1.0 + mu * mu) * normal, mu > 0.0 ? mu * mu * force * damping / epsilon : 0.0);
}

}  // namespace

double BlockLaws::row_mobility(const ContactProblem& problem, int block, int k) const {
  const double own = mobility_.data(block)[k * (problem.blocks.size(block) + 1)];
  return own > 0.0 ? own : fallback_;
}

double BlockLaws::contact_mobility(int block, int size) const {
  const double w = inverse_mass(mobility_.data(block), size);
  return w > 0.0 ? w : fallback_;
}

std::string BlockLaws::prepare(const ContactProblem& problem, CompliantModel model) {
  const Blocks& blocks = problem.blocks;
  const bool has_physics = !problem.physics.empty();
  shift_ = stiffness_ = amplification_ = 0.0;
  laws_.resize(static_cast<std::size_t>(problem.nblock()));
  compute_mobility(problem, mobility_, scratch_);
  fallback_ = 0.0;
  for (int i = 0; i < problem.nblock(); ++i) {
    for (int k = 0; k < blocks.size(i); ++k)
      fallback_ = std::max(fallback_, mobility_.data(i)[k * (blocks.size(i) + 1)]);
  }
  if (!(fallback_ > 0.0)) fallback_ = 1.0;
  for (int i = 0; i < problem.nblock(); ++i) {
    Law& law = laws_[static_cast<std::size_t>(i)];
    if (blocks.type[i] != BlockType::kCoulomb) {
      law = spring(problem, i, model);
    } else if (has_physics) {
      const ContactPhysics& physics = problem.physics[static_cast<std::size_t>(i)];
      const bool is_sap = model == CompliantModel::kSap;
      if (is_sap && physics.elasticity != Elasticity::kLinear)
        return fmt::format("{}: SAP has linear springs only; use lagged or similar", problem.describe_block(i));
      if (is_sap && !(physics.sigma > 0.0))
        return fmt::format("{}: sigma is 0, and SAP's friction needs one above 0", problem.describe_block(i));
      law = contact(problem, i, model, kInfinity);
    } else if (model == CompliantModel::kLagged) {
      return fmt::format(
          "{} has no physics (gap, speed, stiffness), from which lagged takes the normal impulse of its friction; use "
          "similar or sap, which take it for near-rigid",
          problem.describe_block(i));
    } else {
      law = rigid_contact(problem, i, model);
    }
  }
  return {};
}

void BlockLaws::soften(const ContactProblem& problem, CompliantModel model, double stiffest) {
  if (problem.physics.empty() || model == CompliantModel::kSap) return;
  for (int i = 0; i < problem.nblock(); ++i) {
    if (problem.blocks.type[i] == BlockType::kCoulomb)
      laws_[static_cast<std::size_t>(i)] = contact(problem, i, model, stiffest);
  }
}

BlockLaws::Law BlockLaws::spring(const ContactProblem& problem, int block, CompliantModel model) {
  // Dry friction of joints has the tolerances of contacts.
  const ContactPhysics defaults;
  const ContactPhysics& physics = problem.physics.empty() ? defaults : problem.physics[static_cast<std::size_t>(block)];
  const BlockType type = problem.blocks.type[block];
  const int r = problem.blocks.row[block], m = problem.blocks.size(block);
  const double lo = problem.blocks.lo[r], hi = problem.blocks.hi[r];
  const bool is_friction = type == BlockType::kBox && lo == -hi && std::isfinite(hi) && !(entry(problem.R, r) > 0.0);
  if (is_friction && model != CompliantModel::kSap) {
    const double length = problem.length(r);
    const double soft = physics.sigma * row_mobility(problem, block, 0) * hi;
    const double epsilon = std::max(physics.stiction / length, soft);
    amplification_ = std::max(amplification_, row_mobility(problem, block, 0) * hi / epsilon);
    return DryFrictionLaw{hi, epsilon, -entry(problem.b, r)};
  }
  QuadraticLaw law;
  law.size = m;
  for (int k = 0; k < m; ++k) {
    const double w = row_mobility(problem, block, k), R = entry(problem.R, r + k);
    const double sigma = physics.sigma > 0.0 ? physics.sigma : defaults.sigma;
    const double floor = is_friction ? sigma * w : near_rigid_compliance(kSpringPeriod, w);
    const bool is_given = problem.physics.empty() && R > 0.0;
    law.R[k] = is_given ? R : std::max(R, floor);
    amplification_ = std::max(amplification_, w / law.R[k]);
    if (problem.physics.empty() && !is_given) shift_ = std::max(shift_, floor);
    law.shift[k] = -entry(problem.b, r + k);
    law.lo[k] = type == BlockType::kBox ? lo : type == BlockType::kNonNegative ? 0.0 : -kInfinity;
    law.hi[k] = type == BlockType::kBox ? hi : kInfinity;
  }
  return law;
}

BlockLaws::Law BlockLaws::contact(const ContactProblem& problem, int block, CompliantModel model, double stiffest) {
  const ContactPhysics& physics = problem.physics[static_cast<std::size_t>(block)];
  const int r = problem.blocks.row[block], m = problem.blocks.size(block);
  const double h = problem.time_step, w = contact_mobility(block, m);
  const double near_rigid = near_rigid_compliance(physics.near_rigid, w);
  if (model == CompliantModel::kSap) {
    SapLaw law;
    law.size = m;
    copy_friction(problem.blocks, block, law.mu);
    copy_slip(problem, block, law.shift);
    const double reach = h - physics.elapsed + physics.relaxation;
    for (int k = 0; k < m - 1; ++k) {
      const double length = problem.length(r + k);
      law.R[k] = physics.sigma * w / (length * length);
    }
    const double own = physics.stiffness > 0.0 ? 1.0 / (h * reach * physics.stiffness) : 0.0;
    law.R[m - 1] = std::max(own, near_rigid);
    amplification_ = std::max(amplification_, w / std::min(law.R[m - 1], physics.sigma * w));
    law.shift[m - 1] = -physics.gap / reach;
    return law;
  }
  const bool linear = physics.damping == ContactDamping::kLinear;
  NormalLaw normal{h,
                   physics.stiffness,
                   -physics.gap,
                   linear ? 0.0 : physics.dissipation,
                   (linear ? physics.relaxation : 0.0) - physics.elapsed,
                   physics.elasticity};
  if (!(physics.stiffness > 0.0)) {
    normal.stiffness = 1.0 / (h * h * near_rigid);
    normal.elasticity = Elasticity::kLinear;
  }
  // n_0 = h f(phi_0, v_n0): the deformation at the end of the step is that of its start.
  NormalLaw now = normal;
  now.deformation += (h - physics.elapsed) * physics.speed;
  const double lagged = now.impulse(physics.speed);
  // Of Hertz: the slope of the force where the step may lead.
  const double depth = std::max(0.0, -physics.gap) + h * std::abs(physics.speed);
  const double slope = normal.elasticity == Elasticity::kHertz ? 1.5 * std::sqrt(depth) : 1.0;
  const double stiffness = h * h * w * normal.stiffness * slope;
  stiffness_ = std::max(stiffness_, stiffness);
  double epsilon = soft_slip(problem, block, physics, w, lagged);
  const double bend = model == CompliantModel::kSimilar ? epsilon : kInfinity;  // Lagged's friction is in stiffness_
  amplification_ = std::max(amplification_, w * steepness(problem, block, normal, depth, bend));
  if (stiffness > stiffest) normal.stiffness *= stiffest / stiffness;
  if (model == CompliantModel::kLagged) {
    const double mu = m > 1 ? std::min(problem.blocks.mu[r], kUnboundedFriction) : 0.0;
    if (mu > 0.0) stiffness_ = std::max(stiffness_, mu * mu * w * lagged / epsilon);
    epsilon = std::max(epsilon, mu * mu * w * lagged / stiffest);
    LaggedLaw law{normal, m, {}, lagged, epsilon, {}};
    copy_friction(problem.blocks, block, law.mu);
    copy_slip(problem, block, law.shift);
    return law;
  }
  SimilarLaw law{normal, m, {}, epsilon, {}};
  copy_friction(problem.blocks, block, law.mu);
  copy_slip(problem, block, law.shift);
  return law;
}

// A block that has R and b alone: a spring that reaches its rest in one step, if R does not say more.
BlockLaws::Law BlockLaws::rigid_contact(const ContactProblem& problem, int block, CompliantModel model) {
  const ContactPhysics defaults;
  const int r = problem.blocks.row[block], m = problem.blocks.size(block);
  const double w = contact_mobility(block, m);
  SapLaw sap;
  sap.size = m;
  copy_friction(problem.blocks, block, sap.mu);
  for (int k = 0; k < m; ++k) {
    const double R = entry(problem.R, r + k);
    const double length = problem.length(r + k);
    const double soft = k < m - 1 ? defaults.sigma * w : near_rigid_compliance(defaults.near_rigid, w);
    sap.R[k] = R > 0.0 ? R : soft / (length * length);
    sap.shift[k] = -entry(problem.b, r + k);
    if (!(R > 0.0)) shift_ = std::max(shift_, sap.R[k]);
    amplification_ = std::max(amplification_, w / sap.R[k]);
  }
  if (model == CompliantModel::kSap) return sap;
  const NormalLaw normal{.h = 1.0, .stiffness = 1.0 / sap.R[m - 1], .deformation = sap.shift[m - 1]};
  SimilarLaw law{normal, m, {}, soft_slip(problem, block, defaults, w, 0.0), {}};
  copy_friction(problem.blocks, block, law.mu);
  copy_slip(problem, block, law.shift);
  return law;
}

}  // namespace touchstone
