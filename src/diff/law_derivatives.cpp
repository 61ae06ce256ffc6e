#include "touchstone/diff/law_derivatives.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

// Of differences, m, m/s, and of a logarithm: far below what deforms a contact in a step (1e-6 m) and the slip within
// which friction holds (1e-4 m/s), so that few of them have the border of a law between their ends, and far above
// rounding, for laws are stiff.
constexpr double kGapWay = 1e-10, kSpeedWay = 1e-8, kLogWay = 1e-5;
constexpr double kShares[] = {1.0, -1.0, 0.5, -0.5};  // of a difference: where it is evaluated

constexpr int kHessian = kMaxBlockSize * kMaxBlockSize;

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

// From the ends of two differences, of which the second is half as long.
void LawDerivatives::set_slope(int row, int size, double way, VectorX& rates) const {
  const auto end = [&](int k) { return ends_[k].segment(row, size); };
  rates.segment(row, size) = (4.0 * (end(2) - end(3)) / way - (end(0) - end(1)) / (2.0 * way)) / 3.0;
}

void LawDerivatives::evaluate(const ConstVectorRef& velocity, VectorX& impulses) const {
  impulses.resize(velocity.size());
  for (int block = 0; block < problem_.nblock(); ++block) {
    const int row = problem_.blocks.row[at(block)];
    evaluate(block, velocity.data() + row, impulses.data() + row, nullptr);
  }
}

void LawDerivatives::evaluate(int block, const double* velocity, double* impulse, double* W) const {
  if (is_regularised_) {
    const double* R = R_.data() + problem_.blocks.row[at(block)];
    RegularisedLaw(problem_.blocks, cone_)(block, R, velocity, impulse, W);
  } else {
    laws_.evaluate(block, velocity, impulse, W);
  }
}

void LawDerivatives::set_hessians(const ConstVectorRef& velocity) {
  hessian_.resize(std::max(hessian_.size(), at(problem_.nblock()) * kHessian));
  for (int block = 0; block < problem_.nblock(); ++block) {
    double gamma[kMaxBlockSize];
    evaluate(block, velocity.data() + problem_.blocks.row[at(block)], gamma, hessian_.data() + at(block) * kHessian);
  }
}

void LawDerivatives::prepare(const Constraints& c, CompliantModel model, double h, const ConstMatrixRef& G,
                             const ConstVectorRef& velocity) {
  const int nrow = c.rows();
  is_regularised_ = false;
  model_ = model;
  set_problem(c, h, G);
  by_gap_.setZero(nrow);
  by_speed_.setZero(nrow);
  by_mobility_.setZero(nrow);
  if (nrow > 0) {
    set_physics_rates(c, velocity, {&ContactPhysics::gap, 0.0, kGapWay}, by_gap_);
    set_physics_rates(c, velocity, {&ContactPhysics::speed, 0.0, kSpeedWay}, by_speed_);
    set_mobility_rates(G, velocity);
  }
  prepare_laws();
  set_hessians(velocity);
}

// A relative change s of R in all rows of a cone divides the impulses by 1 + s, as a change -s c of the velocity does;
// one of a single row is a change of the velocity by s R lambda (the law is that of R lambda + c).
void LawDerivatives::prepare(const Constraints& c, const ContactLaw& law, const ConstMatrixRef& G,
                             const ConstVectorRef& velocity) {
  const int nrow = c.rows();
  problem_.blocks = c.blocks;
  is_regularised_ = true;
  cone_ = law.cone;
  R_.resize(at(nrow));
  for (int row = 0; row < nrow; ++row) {
    R_[at(row)] = c.compliance[row] > 0.0 ? c.compliance[row] : law.alpha * G(row, row);
  }
  set_hessians(velocity);
  by_compliance_.resize(at(nrow));
  const RegularisedLaw laws(problem_.blocks, cone_);
  for (int block = 0; block < problem_.nblock(); ++block) {
    double impulse[kMaxBlockSize];
    const int first = c.blocks.row[at(block)];
    laws(block, R_.data() + first, velocity.data() + first, impulse, nullptr);
    for (int row = first; row < c.blocks.row[at(block + 1)]; ++row) {
      by_compliance_[at(row)] = laws.is_pyramid(block) ? -velocity[row] : R_[at(row)] * impulse[row - first];
    }
  }
}

void LawDerivatives::multiply_hessian(RowMatrixRef rows) const {
  for (int block = 0; block < problem_.nblock(); ++block) {
    const int row = problem_.blocks.row[at(block)], size = problem_.blocks.size(block);
    const double* W = hessian_.data() + at(block) * kHessian;
    for (Eigen::Index c = 0; c < rows.cols(); ++c) {
      double before[kMaxBlockSize];
      for (int r = 0; r < size; ++r) before[r] = rows(row + r, c);
      for (int r = 0; r < size; ++r) {
        double sum = 0.0;
        for (int k = 0; k < size; ++k) sum += W[k * size + r] * before[k];
        rows(row + r, c) = sum;
      }
    }
  }
}

// By the first two tangents of contacts, whose friction is one number, and by the bounds of boxes.
void LawDerivatives::prepare_frictions(const Constraints& c, const ConstVectorRef& velocity) {
  const int nrow = c.rows();
  by_friction_.setZero(nrow);
  by_bound_.setZero(nrow);
  for (int end = 0; end < 4; ++end) {
    const double way = kShares[end] * kLogWay;
    for (int block = 0; block < problem_.nblock(); ++block) {
      const int row = c.blocks.row[at(block)], size = c.blocks.size(block);
      const BlockType type = c.blocks.type[at(block)];
      for (int r = row; r < row + 2 && type == BlockType::kCoulomb && size >= 3; ++r) {
        problem_.blocks.mu[at(r)] = c.blocks.mu[at(r)] + way;
      }
      for (int r = row; r < row + size && type == BlockType::kBox; ++r) {
        problem_.blocks.lo[at(r)] = c.blocks.lo[at(r)] * (1.0 + way);
        problem_.blocks.hi[at(r)] = c.blocks.hi[at(r)] * (1.0 + way);
      }
    }
    prepare_laws();
    evaluate(velocity, ends_[end]);
  }
  problem_.blocks = c.blocks;
  prepare_laws();
  for (int block = 0; block < problem_.nblock(); ++block) {
    const int row = c.blocks.row[at(block)], size = c.blocks.size(block);
    if (c.blocks.type[at(block)] == BlockType::kCoulomb) set_slope(row, size, kLogWay, by_friction_);
    if (c.blocks.type[at(block)] != BlockType::kBox) continue;
    set_slope(row, size, kLogWay, by_bound_);
    for (int r = row; r < row + size; ++r) {
      if (c.blocks.hi[at(r)] > 0.0) by_bound_[r] /= c.blocks.hi[at(r)];
    }
  }
}

void LawDerivatives::prepare_laws() {
  if (is_regularised_) return;
  if (const std::string why = laws_.prepare(problem_, model_); !why.empty()) throw Error("{}", why);
}

void LawDerivatives::prepare_materials(const Constraints& c, const ConstVectorRef& velocity) {
  by_stiffness_.setZero(c.rows());
  by_dissipation_.setZero(c.rows());
  by_relaxation_.setZero(c.rows());
  if (c.rows() == 0) return;
  set_physics_rates(c, velocity, {&ContactPhysics::stiffness, kLogWay, 0.0}, by_stiffness_);
  set_physics_rates(c, velocity, {&ContactPhysics::dissipation, kLogWay, kLogWay}, by_dissipation_);
  set_physics_rates(c, velocity, {&ContactPhysics::relaxation, kLogWay, kLogWay * problem_.time_step}, by_relaxation_);
  prepare_laws();
}

void LawDerivatives::set_physics_rates(const Constraints& c, const ConstVectorRef& velocity, const Number& number,
                                       VectorX& rates) {
  const auto way = [&](int block) {
    return std::max(number.share * std::abs(c.physics[at(block)].*number.of), number.least);
  };
  for (int end = 0; end < 4; ++end) {
    for (int block = 0; block < problem_.nblock(); ++block) {
      problem_.physics[at(block)].*number.of = c.physics[at(block)].*number.of + kShares[end] * way(block);
    }
    prepare_laws();
    evaluate(velocity, ends_[end]);
  }
  problem_.physics = c.physics;
  for (int block = 0; block < problem_.nblock(); ++block) {
    if (c.blocks.type[at(block)] != BlockType::kCoulomb || !(way(block) > 0.0)) continue;
    const int row = c.blocks.row[at(block)], size = c.blocks.size(block);
    set_slope(row, size, way(block), rates);
  }
}

void LawDerivatives::set_mobility_rates(const ConstMatrixRef& G, const ConstVectorRef& velocity) {
  const auto set = [&](double factor) {
    problem_.dual.G_dense = factor * G;
    problem_.dual.G_dense.diagonal() += problem_.R;
  };
  for (int end = 0; end < 4; ++end) {
    set(std::exp(kShares[end] * kLogWay));
    prepare_laws();
    evaluate(velocity, ends_[end]);
  }
  set(1.0);
  set_slope(0, problem_.nrow(), kLogWay, by_mobility_);
}

}  // namespace touchstone
