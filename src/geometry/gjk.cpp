#include "touchstone/geometry/gjk.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/geometry/simplex.hpp"

namespace touchstone {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// A core distance below this fraction of the scale is rounding error: the cores touch.
constexpr double kTouching = 1e-13;
// Bounds closer than this many ulps of the scale cannot be told apart.
constexpr double kRoundingUlps = 8.0;
// Beyond this, products of four coordinates may overflow.
constexpr double kLargest = 1e70;

// Momentum ends after so many iterations at the latest: delta is near 1 by then, the direction all but frozen, and a
// few nearly touching pairs would crawl to the iteration limit. Means over ellipsoids change by less than 1 % (16: by
// 10 %).
constexpr int kMomentumLimit = 64;

class Gjk {
 public:
  Gjk(MinkowskiDifference& D, const GjkOptions& options)
      : D_(D), options_(options), rounding_(kRoundingUlps * kEpsilon * D.scale()) {}

  GjkResult run() {
    const Pose& X = D_.X_AB();
    const bool finite_pose = finite(X.p) && finite(X.R.c0) && finite(X.R.c1) && finite(X.R.c2);
    if (!finite_pose || !(D_.scale() < kLargest) || !D_.A().bounded() || !D_.B().bounded()) return result_;
    start();
    if (!done_) options_.variant == GjkVariant::kFrankWolfe ? frank_wolfe() : iterate();
    return finish();
  }

 private:
  void stop(GjkStatus status) {
    result_.status = status;
    done_ = true;
  }

  MinkowskiVertex support(Vec3 d) {
    ++result_.support_calls;
    return D_.support(-d);  // the paper's support minimises
  }

  // x0, and the simplex when one is given (else it is empty: W0 in Alg. 6).
  void start() {
    x_ = Vec3(1.0, 0.0, 0.0);
    if (options_.guess == GjkGuess::kSimplex && options_.simplex != nullptr && options_.simplex->size > 0) {
      simplex_.size = std::min(options_.simplex->size, 4);
      for (int i = 0; i < simplex_.size; ++i) {
        simplex_.vertices[i] = options_.simplex->vertices[i];
        D_.update(simplex_.vertices[i]);
      }
      project();
    } else if (options_.guess == GjkGuess::kDirection) {
      x_ = options_.direction;
    } else {
      if (options_.guess != GjkGuess::kFixedDirection) x_ = D_.A().centre() - D_.X_AB() * D_.B().centre();
    }
    if (!(dot(x_, x_) > 0.0) || !finite(x_)) x_ = Vec3(1.0, 0.0, 0.0);
  }

  // Updates x and the simplex by the projection of the origin. False, with all unchanged, when that is no progress.
  bool project() {
    Vec3 points[4];
    for (int i = 0; i < simplex_.size; ++i) points[i] = simplex_.vertices[i].w;
    const SimplexProjection projection = project_origin(points, simplex_.size);
    if (has_simplex_ && !projection.contains && !(projection.squared < squared_)) return false;
    int kept = 0;
    for (int i = 0; i < simplex_.size; ++i) {
      if (!(projection.weights[i] > 0.0)) continue;
      if (kept != i) simplex_.vertices[kept] = simplex_.vertices[i];
      simplex_.weights[kept++] = projection.weights[i];
    }
    simplex_.size = kept;
    x_ = projection.x;
    squared_ = projection.squared;
    has_simplex_ = true;
    const double touching = kTouching * D_.scale();
    const double near = options_.boolean ? std::max(touching, options_.threshold) : touching;
    if (projection.contains || squared_ <= near * near) stop(GjkStatus::kOverlapping);
    return true;
  }

  // Line 1-3 of Alg. 6, Eq. 33 for the normalised version.
  Vec3 direction(int k) {
    if (!momentum_ || k >= kMomentumLimit) {
      momentum_ = false;
      return x_;
    }
    const double delta = (k + 1.0) / (k + 3.0);
    const Vec3 y = options_.variant == GjkVariant::kPolyak ? x_ : delta * x_ + (1.0 - delta) * last_support_;
    Vec3 previous = last_direction_, gradient = 2.0 * y;
    if (options_.variant == GjkVariant::kNesterovNormalized) {
      const double previous_norm = norm(previous), gradient_norm = norm(gradient);
      if (previous_norm > 0.0) previous = previous * (1.0 / previous_norm);
      if (gradient_norm > 0.0) gradient = gradient * (1.0 / gradient_norm);
    }
    return delta * previous + (1.0 - delta) * gradient;
  }

  // d.s/|d| bounds the distance from below for every d, since s minimises d.x over D.
  void bound(Vec3 d, const MinkowskiVertex& s) {
    const double along = dot(d, s.w);
    if (along > 0.0) result_.lower_bound = std::max(result_.lower_bound, along / norm(d));
    if (options_.boolean && result_.lower_bound > options_.threshold) stop(GjkStatus::kSeparated);
  }

  // The fixed point condition (32) for the support point s.
  bool converged(const MinkowskiVertex& s) const {
    const double gap = squared_ - dot(x_, s.w);
    const double relative = D_.polyhedral() ? 0.0 : options_.relative_tolerance * squared_;
    const double absolute = std::max(rounding_, options_.absolute_tolerance) * std::sqrt(squared_);
    return !(gap > std::max({relative, 0.5 * options_.gap_tolerance, absolute}));
  }

  bool in_simplex(const MinkowskiVertex& s) const {
    for (int i = 0; i < simplex_.size; ++i) {
      if (same(simplex_.vertices[i].w, s.w)) return true;
    }
    return false;
  }

  // Alg. 6; without momentum Alg. 4.
  void iterate() {
    momentum_ = options_.variant != GjkVariant::kVanilla;
    last_direction_ = last_support_ = x_;
    result_.status = GjkStatus::kIterationLimit;
    for (int k = 0; k < options_.max_iterations && !done_; ++k) {
      ++result_.iterations;
      const Vec3 d = direction(k);
      MinkowskiVertex s = support(d);
      bound(d, s);
      if (done_) return;
      if (has_simplex_ && (converged(s) || in_simplex(s))) {
        if (!momentum_) return stop(GjkStatus::kSeparated);
        momentum_ = false;
        s = support(x_);
        bound(x_, s);
        if (done_) return;
        if (converged(s) || in_simplex(s)) return stop(GjkStatus::kSeparated);
      }
      last_direction_ = d;
      last_support_ = s.w;
      simplex_.vertices[simplex_.size++] = s;
      if (!project()) {
        --simplex_.size;
        if (!momentum_) return stop(GjkStatus::kSeparated);
        momentum_ = false;
      }
    }
  }

  // Alg. 1. The iterate is a single point of D, kept as a simplex of one vertex that is not a support point.
  void frank_wolfe() {
    result_.status = GjkStatus::kIterationLimit;
    if (!has_simplex_) {
      simplex_.vertices[0] = support(x_);
      simplex_.size = 1;
      if (project(); done_) return;
    }
    for (int k = 0; k < options_.max_iterations && !done_; ++k) {
      ++result_.iterations;
      merge_to_point();
      const MinkowskiVertex s = support(x_);
      bound(x_, s);
      if (done_) return;
      if (converged(s)) return stop(GjkStatus::kSeparated);
      simplex_.vertices[simplex_.size++] = s;
      if (!project()) {
        --simplex_.size;
        return stop(GjkStatus::kSeparated);
      }
    }
  }

  void merge_to_point() {
    MinkowskiVertex point;
    for (int i = 0; i < simplex_.size; ++i) {
      point.a += simplex_.weights[i] * simplex_.vertices[i].a;
      point.b += simplex_.weights[i] * simplex_.vertices[i].b;
    }
    point.w = x_;
    simplex_.vertices[0] = point;
    simplex_.weights[0] = 1.0;
    simplex_.size = 1;
  }

  GjkResult finish() {
    Vec3 b;
    for (int i = 0; i < simplex_.size; ++i) {
      result_.point_a += simplex_.weights[i] * simplex_.vertices[i].a;
      b += simplex_.weights[i] * simplex_.vertices[i].b;
    }
    result_.point_b = D_.X_AB() * b;
    if (has_simplex_) {
      result_.separation = x_;
      result_.distance = std::sqrt(squared_);
    } else {  // a Boolean query that one support point has answered
      result_.separation = x_;
      result_.distance = result_.lower_bound;
    }
    result_.lower_bound = std::min(result_.lower_bound, result_.distance);
    result_.simplex = simplex_;
    if (!finite(x_)) result_.status = GjkStatus::kInvalid;
    return result_;
  }

  MinkowskiDifference& D_;
  const GjkOptions& options_;
  const double rounding_;
  GjkResult result_;
  Simplex simplex_;
  Vec3 x_, last_direction_, last_support_;
  double squared_ = 0.0;  // |x|^2
  bool has_simplex_ = false, momentum_ = false, done_ = false;
};

}  // namespace

GjkResult gjk(MinkowskiDifference& D, const GjkOptions& options) { return Gjk(D, options).run(); }

}  // namespace touchstone
