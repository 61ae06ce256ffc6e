#include "touchstone/solvers/newton/compliance_path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/solvers/newton/coulomb_path.hpp"

namespace touchstone {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Compliances, scaled: where a start is looked for, and the end. What is left of it is a proximal term of this size.
constexpr double kStarts[] = {1e-2, 1e-1, 1.0, 10.0};
constexpr double kEnd = 1e-9, kMost = 1e3;
constexpr int kStartSteps = 12;
constexpr double kFall = 0.9, kRise = 2.0;  // largest change of the compliance in a step, relative
constexpr double kTurn = 0.2;               // rad: of a sliding direction in a step, about
// Relative to the largest z: residual of a point of the curve, distance from the facet that a step ends at, and how far
// a block may be beyond its mode.
constexpr double kAccurate = 1e-9, kOnFacet = 1e-12, kBeyond = 1e-10;
constexpr double kSlowRate = 0.3;  // a corrector that converges more slowly started too far away
constexpr int kCorrections = 12, kMostFactors = 2, kHalvings = 25, kFewCorrections = 3;
constexpr double kLonger = 4.0;  // of what a step may change, after an easy one

}  // namespace

void CompliancePath::start(const DualProblem& dual, const VectorX& lambda, const VectorX& u) {
  dual_ = &dual;
  const Blocks& blocks = dual.blocks;
  if (!K_.same_pattern(dual.G)) K_ = dual.G;
  mode_.assign(static_cast<std::size_t>(dual.nblock()), Mode::kConstant);
  radius_.assign(static_cast<std::size_t>(dual.nblock()), 0.0);
  scale_.setOnes(dual.nrow());
  for (int i = 0; i < dual.nblock(); ++i) {
    if (blocks.type[i] != BlockType::kCoulomb) continue;
    const ConeView cone(blocks, i);
    radius_[i] = cone.n > 0 ? cone.largest : 0.0;
    for (int r = cone.row; r < cone.normal; ++r) scale_[r] = cone.n > 0 ? blocks.mu[r] / cone.largest : 0.0;
  }
  centre_ = lambda;
  trial_.resize(dual.nrow());
  for (int r = 0; r < dual.nrow(); ++r) trial_[r] = scale_[r] > 0.0 ? lambda[r] / scale_[r] - scale_[r] * u[r] : 0.0;
  last_ = {};
  sign_ = -1.0;
  reach_ = kInfinite;
  steps_ = turns_ = 0;
}

void CompliancePath::classify(const VectorX& z) {
  const Blocks& blocks = dual_->blocks;
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = blocks.row[i], last = normal_row(i);
    switch (path_kind(blocks, i)) {
      case PathKind::kFree:
        mode_[i] = Mode::kInside;
        break;
      case PathKind::kFixed:
        mode_[i] = Mode::kConstant;
        break;
      case PathKind::kOrthant:
        mode_[i] = z[last] > 0.0 ? Mode::kInside : Mode::kLow;
        break;
      case PathKind::kInterval:
        mode_[i] = z[r] <= blocks.lo[r] ? Mode::kLow : z[r] >= blocks.hi[r] ? Mode::kHigh : Mode::kInside;
        break;
      case PathKind::kCone: {
        const double slip = z.segment(r, last - r).norm();
        mode_[i] = !(z[last] > 0.0) ? Mode::kLow : slip <= radius_[i] * z[last] ? Mode::kInside : Mode::kSlide;
        break;
      }
    }
  }
}

// lambda = scale * P(z) in the modes as they are, which may be those of a piece that z has just left.
void CompliancePath::impulses(const VectorX& z, VectorX& lambda) const {
  const Blocks& blocks = dual_->blocks;
  lambda.resize(z.size());
  for (int i = 0; i < dual_->nblock(); ++i) {
    const int r = blocks.row[i], last = normal_row(i), m = last - r + 1;
    const bool box = blocks.type[i] == BlockType::kBox;
    switch (mode_[i]) {
      case Mode::kConstant:
      case Mode::kLow:
        lambda.segment(r, m).setConstant(box ? blocks.lo[r] : 0.0);
        break;
      case Mode::kHigh:
        lambda[r] = blocks.hi[r];
        break;
      case Mode::kInside:
        lambda.segment(r, m) = scale_.segment(r, m).cwiseProduct(z.segment(r, m));
        break;
      case Mode::kSlide: {
        const double share = radius_[i] * z[last] / z.segment(r, m - 1).norm();
        lambda.segment(r, m - 1) = share * scale_.segment(r, m - 1).cwiseProduct(z.segment(r, m - 1));
        lambda[last] = z[last];
        break;
      }
    }
  }
}

// F_ at z; its largest entry.
double CompliancePath::residual(const VectorX& z, double eps) {
  impulses(z, lambda_);
  compute_velocity(*dual_, lambda_, F_);
  F_ += eps * (lambda_ - centre_);
  for (int r = 0; r < z.size(); ++r) F_[r] = scale_[r] > 0.0 ? scale_[r] * F_[r] - lambda_[r] / scale_[r] + z[r] : z[r];
  return F_.lpNorm<Eigen::Infinity>();
}

// dP/dz of a block, m x m, column-major.
void CompliancePath::set_derivative(int i, const VectorX& z, double* D) const {
  const Blocks& blocks = dual_->blocks;
  const int r = blocks.row[i], m = blocks.size(i), n = m - 1;
  std::fill(D, D + m * m, 0.0);
  if (mode_[i] == Mode::kInside) {
    for (int k = 0; k < m; ++k) D[k * (m + 1)] = scale_[r + k] > 0.0 ? 1.0 : 0.0;
  } else if (mode_[i] == Mode::kSlide) {
    const auto slip = z.segment(r, n);
    const double length = slip.norm(), across = radius_[i] * z[r + n] / length;
    for (int b = 0; b < n; ++b) {
      for (int a = 0; a < n; ++a)
        D[b * m + a] = across * ((a == b ? 1.0 : 0.0) - slip[a] * slip[b] / (length * length));
      D[n * m + b] = radius_[i] * slip[b] / length;
    }
    D[n * (m + 1)] = 1.0;
    for (int k = 0; k < n; ++k) {
      if (scale_[r + k] > 0.0) continue;
      for (int b = 0; b < m; ++b) D[b * m + k] = 0.0;
    }
  }
}

// K = scale (G + eps) scale D + I - D.
bool CompliancePath::factorize(const VectorX& z, double eps) {
  const BlockSparseMatrix& G = dual_->G;
  const std::vector<int>& row = dual_->blocks.row;
  double D[kMaxBlockSize * kMaxBlockSize];
  // The pattern is symmetric: the entries of a block column are found in the rows that its own row names.
  for (int j = 0; j < G.block_rows(); ++j) {
    const int n = G.row_size(j);
    set_derivative(j, z, D);
    const Eigen::Map<const MatrixX> slope(D, n, n);
    for (int e = G.start[j]; e < G.start[j + 1]; ++e) {
      const int i = G.col[e], entry = i == j ? e : G.find(i, j);
      auto block = K_.block(i, entry);
      const auto left = scale_.segment(row[i], G.row_size(i)).asDiagonal();
      const auto right = scale_.segment(row[j], n).asDiagonal();
      if (i != j) {
        block.noalias() = (left * G.block(i, entry) * right) * slope;
        continue;
      }
      work_.resize(n * n);
      Eigen::Map<MatrixX> compliant(work_.data(), n, n);
      compliant = G.block(i, entry);
      compliant.diagonal().array() += eps;
      block.noalias() = (left * compliant * right) * slope;
      block -= slope;
      block.diagonal().array() += 1.0;
    }
  }
  ++steps_;
  factored_elsewhere_ = &z != &z_;
  return lu_.factorize(K_);
}

// z_ on the curve, for the smallest compliance of a list at which Newton's method gets there.
bool CompliancePath::find_start() {
  way_ = trial_;  // z of the impulses as given
  for (const double eps : kStarts) {
    eps_ = eps;
    z_ = way_;
    for (int k = 0; k < kStartSteps && steps_ < settings_.max_steps && !settings_.deadline.passed(); ++k) {
      classify(z_);
      const double error = residual(z_, eps);
      size_ = 1.0 + z_.lpNorm<Eigen::Infinity>();
      if (error <= kAccurate * size_) return true;
      if (!std::isfinite(error) || !factorize(z_, eps)) break;
      lu_.solve(F_);
      z_ -= F_;
    }
  }
  return false;
}

// dz/deps = K^-1 scale (c - lambda) with the last factor, and one step of refinement.
void CompliancePath::set_tangent(const VectorX& z) {
  impulses(z, lambda_);
  work_ = scale_.cwiseProduct(centre_ - lambda_);
  tangent_ = work_;
  lu_.solve(tangent_);
  K_.multiply(tangent_.data(), F_.data());
  F_ = work_ - F_;
  lu_.solve(F_);
  tangent_ += F_;
}

// Whether the compliance grows (1) or falls (-1) in this piece: the curve goes on through the facet, or as before.
double CompliancePath::choose_sign() const {
  if (way_.size() == 0) return -1.0;
  if (last_.block < 0) return way_.dot(tangent_) >= 0.0 ? 1.0 : -1.0;
  return normal_.dot(tangent_) * side_ > 0.0 ? 1.0 : -1.0;
}

double CompliancePath::longest_step(double sign, Crossing& next) const {
  double length = sign < 0.0 ? (eps_ > kEnd / (1.0 - kFall) ? kFall * eps_ : eps_ - kEnd) : kRise * eps_;
  length = std::min(length, reach_ / direction_.lpNorm<Eigen::Infinity>());
  const Blocks& blocks = dual_->blocks;
  for (int i = 0; i < dual_->nblock(); ++i) {
    if (mode_[i] != Mode::kSlide) continue;
    const int r = blocks.row[i], n = blocks.size(i) - 1;
    length = std::min(length, kTurn * z_.segment(r, n).norm() / direction_.segment(r, n).norm());
  }
  next = {};
  for (int i = 0; i < dual_->nblock(); ++i) {
    if (blocks.type[i] != BlockType::kEquality && mode_[i] != Mode::kConstant) offer_crossings(i, length, next);
  }
  return length;
}

void CompliancePath::offer_crossings(int i, double& length, Crossing& next) const {
  const Blocks& blocks = dual_->blocks;
  const int row = normal_row(i);
  const double z = z_[row], d = direction_[row];
  const bool box = blocks.type[i] == BlockType::kBox;
  const double low = box ? blocks.lo[row] : 0.0, high = box ? blocks.hi[row] : kInfinite;
  const auto offer = [&](double border, Mode mode) {
    const double way = std::max(0.0, (border - z) / d);
    if (!(way < length)) return;
    length = way;
    next = {i, mode};
  };
  switch (mode_[i]) {
    case Mode::kLow:
      if (d > 0.0) {
        const bool slides = radius_[i] > 0.0 && z_.segment(blocks.row[i], row - blocks.row[i]).norm() > 0.0;
        offer(low, slides ? Mode::kSlide : Mode::kInside);
      }
      break;
    case Mode::kHigh:
      if (d < 0.0) offer(high, Mode::kInside);
      break;
    default:
      if (d < 0.0) offer(low, Mode::kLow);
      if (d > 0.0 && std::isfinite(high)) offer(high, Mode::kHigh);
      if (radius_[i] > 0.0) offer_slide(i, length, next);
  }
}

// Where a contact begins to slide, or to stick: the cone |z_t| = mu z_n along the direction.
void CompliancePath::offer_slide(int i, double& length, Crossing& next) const {
  const Blocks& blocks = dual_->blocks;
  const int r = blocks.row[i], last = normal_row(i), n = last - r;
  const bool slides = mode_[i] == Mode::kSlide;
  const double mu2 = radius_[i] * radius_[i], outward = slides ? -1.0 : 1.0;
  // a t^2 + b t + c, below zero within the mode.
  const double a = outward * (direction_.segment(r, n).squaredNorm() - mu2 * direction_[last] * direction_[last]);
  const double b = outward * 2.0 * (z_.segment(r, n).dot(direction_.segment(r, n)) - mu2 * z_[last] * direction_[last]);
  const double c = outward * (z_.segment(r, n).squaredNorm() - mu2 * z_[last] * z_[last]);
  double way = kInfinite;
  // The facet that z is on may be this cone, or that of contacts that close.
  const bool has_crossed = i == last_.block && !normal_.segment(r, n).isZero(0.0);
  if (c >= 0.0 || has_crossed) {  // on the border: it may leave at once, or come back
    if (b > 0.0 && !has_crossed) way = 0.0;
    if (b < 0.0 && a > 0.0) way = -b / a;
  } else if (const double discriminant = b * b - 4.0 * a * c; discriminant >= 0.0) {
    const double q = -0.5 * (b + std::copysign(std::sqrt(discriminant), b));
    for (const double root : {q / a, c / q}) {
      if (root > 0.0) way = std::min(way, root);
    }
  }
  if (!(way < length)) return;
  length = way;
  next = {i, slides ? Mode::kInside : Mode::kSlide};
}

// The facet between a block's mode and the next one: its value, and its gradient in `normal`, zero elsewhere.
double CompliancePath::facet(const Crossing& next, const VectorX& z, VectorX& normal) const {
  const Blocks& blocks = dual_->blocks;
  const int i = next.block, r = blocks.row[i], last = normal_row(i);
  normal.setZero(z.size());
  const auto scalar = [&](double border) {
    normal[last] = 1.0;
    return z[last] - border;
  };
  const bool box = blocks.type[i] == BlockType::kBox;
  if (next.mode == Mode::kLow || mode_[i] == Mode::kLow) return scalar(box ? blocks.lo[r] : 0.0);
  if (next.mode == Mode::kHigh || mode_[i] == Mode::kHigh) return scalar(blocks.hi[r]);
  const double length = z.segment(r, last - r).norm();
  normal.segment(r, last - r) = z.segment(r, last - r) / length;
  normal[last] = -radius_[i];
  return length - radius_[i] * z[last];
}

// Newton's method from trial_ to the curve: on the facet, at the end of the compliance, or in the plane across the
// direction. False if it does not get there, or only beyond the modes of the piece. With the factor of the step's start
// while that converges, then with new ones.
bool CompliancePath::correct(const Crossing& next, bool ends) {
  double before = kInfinite;
  int factors = 0;
  for (int k = 0; k < kCorrections; ++k) {
    const double error = residual(trial_, trial_eps_);
    const double distance = next.block >= 0 ? facet(next, trial_, normal_) : 0.0;
    if (error <= kAccurate * size_ && std::abs(distance) <= kOnFacet * size_) {
      if (k <= kFewCorrections && factors == 0) reach_ *= kLonger;
      return modes_hold(next.block) && trial_eps_ >= kEnd;
    }
    if (!(error <= kSlowRate * before) && error > kAccurate * size_) {
      if (!(error <= before) || factors++ == kMostFactors || !factorize(trial_, trial_eps_)) return false;
      set_tangent(trial_);
      residual(trial_, trial_eps_);
    }
    before = error;
    lu_.solve(F_);  // minus the change of z at a fixed compliance
    double change = 0.0;
    if (next.block >= 0) {
      change = (normal_.dot(F_) - distance) / normal_.dot(tangent_);
    } else if (!ends) {
      change = direction_.dot(F_) / direction_.dot(tangent_);
    }
    if (!std::isfinite(change)) return false;
    trial_ += change * tangent_ - F_;
    trial_eps_ += change;
  }
  return false;
}

bool CompliancePath::modes_hold(int except) const {
  const Blocks& blocks = dual_->blocks;
  const double slack = kBeyond * size_;
  for (int i = 0; i < dual_->nblock(); ++i) {
    if (i == except || mode_[i] == Mode::kConstant || blocks.type[i] == BlockType::kEquality) continue;
    const int r = blocks.row[i], last = normal_row(i);
    const bool box = blocks.type[i] == BlockType::kBox;
    const double above = trial_[last] - (box ? blocks.lo[r] : 0.0),
                 below = box ? blocks.hi[r] - trial_[last] : kInfinite;
    if (mode_[i] == Mode::kLow ? above > slack : above < -slack) return false;
    if (mode_[i] == Mode::kHigh ? below > slack : below < -slack) return false;
    if (!(radius_[i] > 0.0) || mode_[i] == Mode::kLow) continue;
    const double beyond = trial_.segment(r, last - r).norm() - radius_[i] * trial_[last];
    if (mode_[i] == Mode::kSlide ? beyond < -slack : beyond > slack) return false;
  }
  return true;
}

// From z_ to the next facet, or as far as the curve is nearly straight. False if there is no such step.
bool CompliancePath::take_step() {
  if (!factorize(z_, eps_)) return false;
  set_tangent(z_);
  if (!tangent_.allFinite()) return false;
  const double sign = choose_sign();
  if (sign > 0.0 && sign_ < 0.0) ++turns_;
  sign_ = sign;
  direction_ = sign * tangent_;
  Crossing next;
  double length = longest_step(sign, next);
  size_ = 1.0 + z_.lpNorm<Eigen::Infinity>();
  for (int k = 0; k < kHalvings; ++k) {
    if (k > 0 && (steps_ >= settings_.max_steps || settings_.deadline.passed())) return false;
    trial_ = z_ + length * direction_;
    trial_eps_ = eps_ + sign * length;
    const bool ends = sign < 0.0 && next.block < 0 && trial_eps_ <= kEnd;
    if (ends) trial_eps_ = kEnd;
    if (correct(next, ends)) {
      way_ = trial_ - z_;
      if (next.block >= 0) {
        side_ = normal_.dot(direction_) > 0.0 ? 1.0 : -1.0;
        mode_[next.block] = next.mode;
      }
      last_ = next;
      z_ = trial_;
      eps_ = trial_eps_;
      return true;
    }
    if (factored_elsewhere_) {
      if (!factorize(z_, eps_)) return false;
      set_tangent(z_);
    }
    length *= 0.5;
    reach_ = length * direction_.lpNorm<Eigen::Infinity>();
    next = {};
  }
  return false;
}

// Along the curve to the end of the compliance.
bool CompliancePath::follow() {
  way_.resize(0);
  while (eps_ > kEnd) {
    if (steps_ >= settings_.max_steps || settings_.deadline.passed() || !(eps_ < kMost) || !take_step()) return false;
  }
  return true;
}

double CompliancePath::run(const DualProblem& dual, const CompliancePathSettings& settings, double given,
                           VectorX& lambda, VectorX& u) {
  settings_ = settings;
  start(dual, lambda, u);
  if (!find_start() || !follow()) return given;
  impulses(z_, lambda_);
  compute_velocity(dual, lambda_, F_);
  const double value = natv(dual, ContactModel::kNcp, lambda_, F_);
  if (!(value < given)) return given;
  lambda = lambda_;
  u = F_;
  return value;
}

}  // namespace touchstone
