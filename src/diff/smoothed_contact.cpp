#include "touchstone/diff/smoothed_contact.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/solvers/newton/smooth_law.hpp"

namespace touchstone {
namespace {

constexpr int kMostSteps = 60, kMostHalvings = 12;
constexpr double kLeastDecrease = 0.1;  // of a step, relative to its length
constexpr double kLeastWidth = 1e-7;    // of the largest velocity: slopes of 1 / m would leave no digits for the others
constexpr double kShareOfWidth = 1e-12;   // that may be left of the residual
constexpr double kShareOfRound = 1e-14;   // of the largest velocity
constexpr double kLeastMobility = 1e-30;  // of rows that nothing moves

// The reflection that takes the direction of friction of a contact to its first row with friction.
struct Mirror {
  Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxBlockSize, 1> w;
  double scale = 0.0;  // 0: there is no direction, nothing to turn
  int pivot = 0;

  Mirror(const VectorX& z, const std::vector<char>& fixed, int first, int tangents) : w(z.segment(first, tangents)) {
    for (int k = tangents - 1; k >= 0; --k) {
      if (fixed[at(first + k)] != 0) w[k] = 0.0;
      if (fixed[at(first + k)] == 0) pivot = k;
    }
    const double length = w.norm();
    if (!(length > 0.0)) return;
    w[pivot] += w[pivot] < 0.0 ? -length : length;
    scale = 2.0 / w.squaredNorm();
  }
  template <typename Part>
  void apply(Part&& part) const {
    const double along = scale * w.dot(part);
    part -= along * w;
  }
};

// The slope of a contact in the coordinates of `mirror`, where it is steep in one row alone: what rounding has left of
// that in the others is taken away. `across`: |u_t| / |lambda_t|, the slope there.
void turn_slope(const Mirror& mirror, double across, Eigen::Ref<MatrixX> slope) {
  const int tangents = static_cast<int>(slope.rows()) - 1;
  for (int c = 0; c <= tangents; ++c) mirror.apply(slope.col(c).head(tangents));
  for (int r = 0; r <= tangents; ++r) mirror.apply(slope.row(r).head(tangents).transpose());
  for (int r = 0; r < tangents; ++r) {
    for (int c = 0; c < tangents; ++c) {
      if (r != c) slope(r, c) = 0.0;
    }
    if (r == mirror.pivot) continue;
    slope(r, r) = across;
    slope(r, tangents) = 0.0;
  }
}

constexpr std::size_t kSlopes = std::size_t{kMaxBlockSize} * kMaxBlockSize;

}  // namespace

void SmoothedContact::set_problem(const Blocks& blocks, const ConstMatrixRef& G, const ConstVectorRef& lambda,
                                  const ConstVectorRef& u) {
  const int nrow = blocks.rows();
  blocks_ = blocks;
  kind_.resize(at(blocks.count()));
  fixed_.assign(at(nrow), 0);
  slopes_.resize(at(blocks.count()) * kSlopes);
  mobility_.resize(nrow);
  cone_scale_.setOnes(nrow);
  for (int b = 0; b < blocks.count(); ++b) {
    const int first = blocks.row[at(b)], last = blocks.row[at(b + 1)] - 1;
    const bool is_contact = blocks.type[at(b)] == BlockType::kCoulomb;
    double d = 0.0;
    for (int r = is_contact ? last : first; r <= last; ++r) d += G(r, r);
    d = std::max(kLeastMobility, is_contact ? d : d / (last - first + 1));
    mobility_.segment(first, last - first + 1).setConstant(d);
    kind_[at(b)] = path_kind(blocks, b);
    for (int r = first; r <= last; ++r) {
      blocks_.lo[at(r)] *= d;
      blocks_.hi[at(r)] *= d;
      const bool without_friction = is_contact && r < last && !(blocks.mu[at(r)] > 0.0);
      fixed_[at(r)] = kind_[at(b)] == PathKind::kFixed || without_friction ? 1 : 0;
    }
    if (kind_[at(b)] != PathKind::kCone) continue;
    const ConeView cone(blocks, b);
    for (int k = 1; k <= cone.n; ++k) cone_scale_[cone.index[k]] = cone.largest / cone.mu[k];
  }
  Growing<MatrixX>::View scaled = G_.resize(nrow, nrow);
  for (int r = 0; r < nrow; ++r) scaled.col(r) = G.col(r) / mobility_[r];
  g_ = u;
  g_.noalias() -= G * lambda;
}

// z of the exact solution.
void SmoothedContact::set_start(const ConstVectorRef& lambda, const ConstVectorRef& u) {
  z_ = lambda.cwiseProduct(mobility_).cwiseProduct(cone_scale_) - u.cwiseQuotient(cone_scale_);
  for (int b = 0; b < blocks_.count(); ++b) {
    if (kind_[at(b)] != PathKind::kFree) continue;
    const int first = blocks_.row[at(b)], size = blocks_.size(b);
    z_.segment(first, size) = lambda.segment(first, size).cwiseProduct(mobility_.segment(first, size));
  }
}

// What the path says u is, less what the impulses make it. Returns the largest.
double SmoothedContact::evaluate(const VectorX& z, VectorX& impulses, VectorX& velocity, VectorX& residual) const {
  for (int b = 0; b < blocks_.count(); ++b) smooth_law(blocks_, b, kind_[at(b)], z, m_, impulses, velocity);
  residual.noalias() = G_.view() * impulses;
  residual = velocity - residual - g_;
  for (Eigen::Index r = 0; r < residual.size(); ++r) {
    if (fixed_[at(r)] == 0) continue;
    velocity[r] -= residual[r];
    residual[r] = 0.0;
  }
  return residual.size() > 0 ? residual.cwiseAbs().maxCoeff() : 0.0;
}

void SmoothedContact::set_slopes() {
  for (int b = 0; b < blocks_.count(); ++b) {
    smooth_law_slope(blocks_, b, kind_[at(b)], z_, impulses_, velocity_, m_, slopes_.data() + at(b) * kSlopes,
                     c_.data());
  }
}

// S^-1 M S^-1: from cone coordinates or to them, for a matrix and for an inverse.
void SmoothedContact::scale_to_cones(Eigen::Ref<MatrixX> M) const {
  M.array().colwise() /= cone_scale_.array();
  M.array().rowwise() /= cone_scale_.transpose().array();
}

// H M H, where the reflection H takes the direction of friction, in cone coordinates, to the first row.
void SmoothedContact::turn_to_slips(Eigen::Ref<MatrixX> M) const {
  for (int b = 0; b < blocks_.count(); ++b) {
    if (kind_[at(b)] != PathKind::kCone) continue;
    const int first = blocks_.row[at(b)], tangents = blocks_.size(b) - 1;
    const Mirror mirror(z_, fixed_, first, tangents);
    if (mirror.scale == 0.0) continue;
    for (Eigen::Index c = 0; c < M.cols(); ++c) mirror.apply(M.col(c).segment(first, tangents));
    for (Eigen::Index r = 0; r < M.rows(); ++r) mirror.apply(M.row(r).segment(first, tangents).transpose());
  }
}

// (G + Lambda)^-1 with rows that must not move left out.
void SmoothedContact::invert() {
  const int nrow = blocks_.rows();
  Growing<MatrixX>::View K = factor_.begin(nrow), inverse = inverse_.resize(nrow, nrow);
  K = G_.view();
  // Contacts that slide are steep by 1 / m along their slip: that direction becomes a row of its own, and each row is
  // scaled to one, or the others would look like zero.
  scale_to_cones(K);
  turn_to_slips(K);
  for (int b = 0; b < blocks_.count(); ++b) {
    const int first = blocks_.row[at(b)], size = blocks_.size(b), n = first + size - 1;
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMaxBlockSize, kMaxBlockSize> slope =
        Eigen::Map<const MatrixX>(slopes_.data() + at(b) * kSlopes, size, size);
    const auto scale = cone_scale_.segment(first, size);
    slope.array().colwise() /= scale.array();
    slope.array().rowwise() /= scale.transpose().array();
    const Mirror mirror(z_, fixed_, first, kind_[at(b)] == PathKind::kCone ? size - 1 : 0);
    const double force = impulses_.segment(first, n - first).cwiseProduct(scale.head(size - 1)).norm();
    if (mirror.scale > 0.0 && force > 0.0) {
      double slip = 0.0;  // of rows with friction, in cone coordinates
      for (int r = first; r < n; ++r) {
        if (fixed_[at(r)] == 0) slip += std::pow(velocity_[r] / cone_scale_[r], 2);
      }
      turn_slope(mirror, std::sqrt(slip) / force, slope);
    }
    K.block(first, first, size, size) += slope;
  }
  for (int r = 0; r < nrow; ++r) {
    if (fixed_[at(r)] == 0) continue;
    K.row(r).setZero();
    K.col(r).setZero();
    K(r, r) = 1.0;
  }
  if (nrow == 0) return;
  for (int r = 0; r < nrow; ++r) {
    step_[r] = 1.0 / K.row(r).cwiseAbs().maxCoeff();
    K.row(r) *= step_[r];
  }
  factor_.factor(false);
  factor_.form_inverse(inverse);
  for (int r = 0; r < nrow; ++r) inverse.col(r) *= step_[r];
  turn_to_slips(inverse);
  scale_to_cones(inverse);
  for (int r = 0; r < nrow; ++r) {
    if (fixed_[at(r)] != 0) inverse(r, r) = 0.0;
  }
}

// From the step of impulses to that of z.
void SmoothedContact::set_step() {
  step_.noalias() = inverse_.view() * residual_;
  for (int b = 0; b < blocks_.count(); ++b) {
    const int first = blocks_.row[at(b)], size = blocks_.size(b);
    const double* Lambda = slopes_.data() + at(b) * kSlopes;
    for (int k = 0; k < size; ++k) {
      const int r = first + k;
      way_[r] = fixed_[at(r)] != 0 ? 0.0 : cone_scale_[r] * step_[r];
      if (fixed_[at(r)] != 0 || kind_[at(b)] == PathKind::kFree) continue;
      for (int l = 0; l < size; ++l) {
        if (fixed_[at(first + l)] == 0) way_[r] += Lambda[l * size + k] * step_[first + l] / cone_scale_[r];
      }
    }
  }
}

bool SmoothedContact::advance() {
  double length = 1.0;
  for (int k = 0; k <= kMostHalvings; ++k, length *= 0.5) {
    trial_z_ = z_ + length * way_;
    const double size = evaluate(trial_z_, trial_impulses_, trial_velocity_, trial_residual_);
    if (!(size <= (1.0 - kLeastDecrease * length) * size_)) continue;
    z_.swap(trial_z_);
    impulses_.swap(trial_impulses_);
    velocity_.swap(trial_velocity_);
    residual_.swap(trial_residual_);
    size_ = size;
    return true;
  }
  return false;
}

void SmoothedContact::prepare(const Blocks& blocks, const ConstMatrixRef& G, const ConstVectorRef& lambda,
                              const ConstVectorRef& u, double width) {
  const int nrow = blocks.rows();
  set_problem(blocks, G, lambda, u);
  const double largest = nrow > 0 ? std::max(g_.cwiseAbs().maxCoeff(), u.cwiseAbs().maxCoeff()) : 0.0;
  width = std::max(width, kLeastWidth * largest);
  m_ = width * width;
  for (VectorX* v : {&impulses_, &velocity_, &residual_, &c_, &step_, &way_, &trial_z_, &trial_impulses_,
                     &trial_velocity_, &trial_residual_}) {
    v->setZero(nrow);
  }
  set_start(lambda, u);
  size_ = evaluate(z_, impulses_, velocity_, residual_);
  const double tolerance = kShareOfWidth * width + kShareOfRound * largest;
  for (iterations_ = 0; iterations_ < kMostSteps && size_ > tolerance; ++iterations_) {
    set_slopes();
    invert();
    set_step();
    if (!advance()) break;
  }
  // Rounding of ill-conditioned systems may keep it from the tolerance: a millionth of the width is still the relaxed
  // solution for all that is asked of it.
  solved_ = size_ <= std::max(tolerance, 1e-6 * width);
  set_slopes();
  invert();
  Growing<MatrixX>::View jacobian = jacobian_.resize(nrow, nrow);
  for (int c = 0; c < nrow; ++c) jacobian.col(c) = -inverse_.view().col(c).cwiseQuotient(mobility_);
}

VectorX SmoothedContact::lambda() const { return impulses_.cwiseQuotient(mobility_); }

void SmoothedContact::friction_change(const ConstVectorRef& dmu, VectorRef dw) const {
  dw.setZero();
  for (int b = 0; b < blocks_.count(); ++b) {
    if (kind_[at(b)] != PathKind::kCone) continue;
    const int first = blocks_.row[at(b)], size = blocks_.size(b);
    const double* Lambda = slopes_.data() + at(b) * kSlopes;
    for (int l = 0; l < size - 1; ++l) {
      const int r = first + l;
      if (fixed_[at(r)] != 0) continue;
      const double change = dmu[r] / blocks_.mu[at(r)];
      dw[r] += velocity_[r] * change;
      for (int k = 0; k < size; ++k) {
        if (fixed_[at(first + k)] == 0) dw[first + k] -= Lambda[l * size + k] * impulses_[r] * change;
      }
    }
  }
}

VectorX SmoothedContact::friction_gradient(const VectorX& w_bar) const {
  VectorX mu_bar = VectorX::Zero(w_bar.size());
  for (int b = 0; b < blocks_.count(); ++b) {
    if (kind_[at(b)] != PathKind::kCone) continue;
    const int first = blocks_.row[at(b)], size = blocks_.size(b);
    const double* Lambda = slopes_.data() + at(b) * kSlopes;
    for (int l = 0; l < size - 1; ++l) {
      const int r = first + l;
      if (fixed_[at(r)] != 0) continue;
      double sum = velocity_[r] * w_bar[r];
      for (int k = 0; k < size; ++k) {
        if (fixed_[at(first + k)] == 0) sum -= Lambda[l * size + k] * impulses_[r] * w_bar[first + k];
      }
      mu_bar[r] = sum / blocks_.mu[at(r)];
    }
  }
  return mu_bar;
}

// u = m / (lambda - lo) - m / (hi - lambda).
void SmoothedContact::bounds_change(const ConstVectorRef& dlo, const ConstVectorRef& dhi, VectorRef dw) const {
  dw.setZero();
  for (int b = 0; b < blocks_.count(); ++b) {
    if (kind_[at(b)] != PathKind::kInterval) continue;
    const int r = blocks_.row[at(b)];
    const double low = impulses_[r] - blocks_.lo[at(r)], high = blocks_.hi[at(r)] - impulses_[r];
    dw[r] = -m_ * mobility_[r] * (dlo[r] / (low * low) + dhi[r] / (high * high));
  }
}

}  // namespace touchstone
