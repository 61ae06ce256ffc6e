#include "touchstone/diff/law_derivatives.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/LU>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

// Of differences, m or m/s, and of a logarithm: far below what deforms a contact in a step (1e-6 m), so that few of
// them have the border of a law between their ends, and far above rounding, for laws are stiff.
constexpr double kWay = 1e-10, kLogWay = 1e-5;
constexpr double kShares[] = {1.0, -1.0, 0.5, -0.5};  // of a difference: where it is evaluated

VectorX slope(const VectorX (&ends)[4], int row, int size, double way) {
  const auto end = [&](int k) { return ends[k].segment(row, size); };
  return (4.0 * (end(2) - end(3)) / way - (end(0) - end(1)) / (2.0 * way)) / 3.0;
}

}  // namespace

void LawDerivatives::set_problem(const Constraints& c, double h, const ConstMatrixRef& G) {
  const int nrow = c.rows();
  problem_.blocks = c.blocks;
  problem_.time_step = h;
  problem_.R = c.compliance.head(nrow);
  problem_.b = c.bias.head(nrow);
  problem_.row_length = c.row_length;
  problem_.physics = c.physics;
  problem_.dual.form = DualData::Form::kDense;
  problem_.dual.G_dense = G;
  problem_.dual.G_dense.diagonal() += problem_.R;
  problem_.dual.g.setZero(nrow);
  problem_.dual.symmetric = true;
}

void LawDerivatives::evaluate(const ConstVectorRef& velocity, VectorX& impulses) const {
  impulses.resize(velocity.size());
  for (int block = 0; block < problem_.nblock(); ++block) {
    const int row = problem_.blocks.row[at(block)];
    laws_.evaluate(block, velocity.data() + row, impulses.data() + row, nullptr);
  }
}

void LawDerivatives::prepare(const Constraints& c, CompliantModel model, double h, const ConstMatrixRef& G,
                             const ConstVectorRef& velocity) {
  const int nrow = c.rows();
  set_problem(c, h, G);
  by_gap_.setZero(nrow);
  by_speed_.setZero(nrow);
  by_mobility_.setZero(nrow);
  if (nrow > 0) {
    set_physics_rates(c, model, velocity, &ContactPhysics::gap, by_gap_);
    set_physics_rates(c, model, velocity, &ContactPhysics::speed, by_speed_);
    set_mobility_rates(model, G, velocity);
  }
  prepare_laws(model);
  Growing<MatrixX>::View W = W_.set_zero(nrow, nrow), system = system_.resize(nrow, nrow);
  for (int block = 0; block < problem_.nblock(); ++block) {
    const int row = c.blocks.row[at(block)], size = c.blocks.size(block);
    double gamma[kMaxBlockSize], hessian[kMaxBlockSize * kMaxBlockSize];
    laws_.evaluate(block, velocity.data() + row, gamma, hessian);
    W.block(row, row, size, size) = Eigen::Map<const MatrixX>(hessian, size, size);
  }
  system.noalias() = W * G;
  system.diagonal().array() += 1.0;
  Growing<MatrixX>::View settled = settled_.resize(nrow, nrow), jacobian = jacobian_.resize(nrow, nrow);
  if (nrow == 0) return;
  settled = system.partialPivLu().inverse();
  jacobian.noalias() = -settled * W;
}

void LawDerivatives::prepare_laws(CompliantModel model) {
  if (const std::string why = laws_.prepare(problem_, model); !why.empty()) throw Error("{}", why);
}

void LawDerivatives::set_physics_rates(const Constraints& c, CompliantModel model, const ConstVectorRef& velocity,
                                       double ContactPhysics::*number, VectorX& rates) {
  for (int end = 0; end < 4; ++end) {
    for (int block = 0; block < problem_.nblock(); ++block) {
      problem_.physics[at(block)].*number = c.physics[at(block)].*number + kShares[end] * kWay;
    }
    prepare_laws(model);
    evaluate(velocity, ends_[end]);
  }
  problem_.physics = c.physics;
  for (int block = 0; block < problem_.nblock(); ++block) {
    if (c.blocks.type[at(block)] != BlockType::kCoulomb) continue;
    const int row = c.blocks.row[at(block)], size = c.blocks.size(block);
    rates.segment(row, size) = slope(ends_, row, size, kWay);
  }
}

void LawDerivatives::set_mobility_rates(CompliantModel model, const ConstMatrixRef& G, const ConstVectorRef& velocity) {
  const auto set = [&](double factor) {
    problem_.dual.G_dense = factor * G;
    problem_.dual.G_dense.diagonal() += problem_.R;
  };
  for (int end = 0; end < 4; ++end) {
    set(std::exp(kShares[end] * kLogWay));
    prepare_laws(model);
    evaluate(velocity, ends_[end]);
  }
  set(1.0);
  const int nrow = problem_.nrow();
  by_mobility_ = slope(ends_, 0, nrow, kLogWay);
}

}  // namespace touchstone
