#include "touchstone/collision/narrow/gjk.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/collision/narrow/simplex.hpp"

namespace touchstone {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// A core distance below this fraction of the scale is rounding error: the cores touch.
constexpr double kTouching = 1e-13;
// Bounds closer than this many ulps of the scale cannot be told apart.
constexpr double kRoundingUlps = 8.0;

// Momentum ends after so many iterations at the latest: delta is near 1 by then, the direction all but frozen, and a
// few nearly touching pairs would crawl to the iteration limit. Means over ellipsoids change by less than 1 % (16: by
// 10 %).
constexpr int kMomentumLimit = 64;

// kAutomatic uses momentum where the first support plane is neither farther away than this fraction of the extents nor
// deeper. Means over ellipsoids, cones, cylinders and boxes: far cores take half as many iterations without momentum;
// overlapping ones take fewer too, and in Boolean queries only the overlapping ones are left after the first plane.
constexpr double kFar = 0.3, kDeep = 0.2, kDeepBoolean = 0.05;

class Gjk {
 public:
  Gjk(MinkowskiDifference& D, const GjkOptions& options, GjkResult& result)
      : D_(D),
        options_(options),
        result_(result),
        simplex_(result.simplex),
        touching_(kTouching * D.scale()),
        absolute_(std::max(kRoundingUlps * kEpsilon * D.scale(), options.absolute_tolerance)),
        relative_(D.polyhedral() ? 0.0 : options.relative_tolerance),
        polyhedral_(D.polyhedral()) {}

  void run() {
    if (!(D_.scale() < kLargestCoordinate) || !finite(D_.X_AB().R.c0 + D_.X_AB().R.c1 + D_.X_AB().R.c2)) return;
    if (!D_.A().bounded() || !D_.B().bounded()) return;
    start();
    if (!done_) options_.variant == GjkVariant::kFrankWolfe ? frank_wolfe() : iterate();
    finish();
  }

 private:
  void stop(GjkStatus status) {
    result_.status = status;
    done_ = true;
  }

  // The place of the next vertex.
  MinkowskiVertex& slot() { return simplex_.vertices[simplex_.size]; }

  void support(Vec3 d, MinkowskiVertex& s) {
    ++result_.support_calls;
    D_.support(-d, s);  // the paper's support minimises
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
    } else if (options_.guess != GjkGuess::kFixedDirection) {
      x_ = D_.A().centre() - D_.X_AB() * D_.B().centre();
    }
    if (!(dot(x_, x_) > 0.0) || !finite(x_)) x_ = Vec3(1.0, 0.0, 0.0);
  }

  // Updates x and the simplex by the projection of the origin. False, with all unchanged, when that is no progress.
  bool project() {
    Vec3 points[4];
    for (int i = 0; i < simplex_.size; ++i) points[i] = simplex_.vertices[i].w;
    const SimplexProjection projection = project_origin(points, simplex_.size);
    if (has_simplex_ && !projection.contains && !(projection.squared < squared_)) return false;
    for (int i = 0; i < simplex_.size; ++i) simplex_.weights[i] = projection.weights[i];
    for (int i = simplex_.size - 1; i >= 0; --i) {  // the last vertex takes the place of one that is not needed
      if (simplex_.weights[i] > 0.0) continue;
      const int last = --simplex_.size;
      if (i == last) continue;
      simplex_.vertices[i] = simplex_.vertices[last];
      simplex_.weights[i] = simplex_.weights[last];
    }
    x_ = projection.x;
    squared_ = projection.squared;
    has_simplex_ = true;
    const double near = options_.boolean ? std::max(touching_, options_.threshold) : touching_;
    if (projection.contains || squared_ <= near * near) stop(GjkStatus::kOverlapping);
    return true;
  }

  // Line 1-3 of Alg. 6, Eq. 33 for the normalised version.
  Vec3 momentum(int k) const {
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
  void bound(Vec3 d, Vec3 s) {
    const double along = dot(d, s);
    if (!(along > 0.0)) return;
    const double squared = along * along, length = dot(d, d);
    if (options_.boolean && squared > options_.threshold * options_.threshold * length) stop(GjkStatus::kSeparated);
    if (squared > lower_ * length) lower_ = squared / length;
    if (squared > options_.cutoff * options_.cutoff * length) {
      result_.beyond = true;
      x_ = d;
      stop(GjkStatus::kSeparated);
    }
  }

  // The fixed point condition (32) for the support point s.
  bool fixed_point(Vec3 s) const {
    const double gap = squared_ - dot(x_, s);
    if (!(gap > relative_ * squared_) || !(gap > 0.5 * options_.gap_tolerance)) return true;
    return !(gap * gap > absolute_ * absolute_ * squared_);
  }

  // The bounds of the distance, from whatever directions, are close enough.
  bool bounds_meet() const {
    if (!(lower_ > 0.0)) return false;
    const double goal = (1.0 - relative_) * std::sqrt(squared_) - absolute_;
    return !(lower_ < goal * std::abs(goal));
  }

  // By the indices: for smooth shapes the projection tells.
  bool in_simplex(const MinkowskiVertex& s) const {
    if (!polyhedral_) return false;
    for (int i = 0; i < simplex_.size; ++i) {
      const MinkowskiVertex& v = simplex_.vertices[i];
      if (v.vertex_a == s.vertex_a && v.vertex_b == s.vertex_b) return true;
    }
    return false;
  }

  bool is_close(Vec3 d, Vec3 s) const {
    const double along = dot(d, s), size = norm(d) * (D_.A().extent() + D_.B().extent());
    return along < kFar * size && along > -(options_.boolean ? kDeepBoolean : kDeep) * size;
  }

  // Alg. 6; without momentum Alg. 4.
  void iterate() {
    momentum_ = options_.variant != GjkVariant::kVanilla;
    last_direction_ = last_support_ = x_;
    result_.status = GjkStatus::kIterationLimit;
    for (int k = 0; k < options_.max_iterations && !done_; ++k) {
      if (k >= kMomentumLimit) momentum_ = false;
      ++result_.iterations;
      Vec3 d = momentum_ ? momentum(k) : x_;
      MinkowskiVertex& s = slot();
      while (true) {
        support(d, s);
        bound(d, s.w);
        if (done_) return;
        if (!has_simplex_) {
          if (options_.variant == GjkVariant::kAutomatic) momentum_ = is_close(d, s.w);
          break;
        }
        const bool ended = fixed_point(s.w) || in_simplex(s);
        if ((ended && !momentum_) || bounds_meet()) return stop(GjkStatus::kSeparated);
        if (!ended) break;
        momentum_ = false;
        d = x_;
      }
      last_direction_ = d;
      last_support_ = s.w;
      ++simplex_.size;
      if (!project()) {
        --simplex_.size;
        if (!momentum_) return stagnate();
        momentum_ = false;
      }
    }
  }

  // Only rounding errors are left. Without a separating direction by now, the cores touch.
  void stagnate() { stop(lower_ > 0.0 ? GjkStatus::kSeparated : GjkStatus::kOverlapping); }

  // Alg. 1. The iterate is a single point of D, kept as a simplex of one vertex that is not a support point.
  void frank_wolfe() {
    result_.status = GjkStatus::kIterationLimit;
    if (!has_simplex_) {
      support(x_, slot());
      simplex_.size = 1;
      if (project(); done_) return;
    }
    for (int k = 0; k < options_.max_iterations && !done_; ++k) {
      ++result_.iterations;
      merge_to_point();
      MinkowskiVertex& s = slot();
      support(x_, s);
      bound(x_, s.w);
      if (done_) return;
      if (fixed_point(s.w)) return stop(GjkStatus::kSeparated);
      ++simplex_.size;
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

  void finish() {
    result_.separation = x_;
    result_.lower_bound = std::sqrt(lower_);
    // Without a simplex: a Boolean query that one support point has answered.
    result_.distance = has_simplex_ ? std::sqrt(squared_) : result_.lower_bound;
    if (result_.beyond) result_.distance = result_.lower_bound;
    result_.lower_bound = std::min(result_.lower_bound, result_.distance);
    if (!finite(x_)) result_.status = GjkStatus::kInvalid;
    if (options_.boolean) return;
    Vec3 a, b;
    for (int i = 0; i < simplex_.size; ++i) {
      a += simplex_.weights[i] * simplex_.vertices[i].a;
      b += simplex_.weights[i] * simplex_.vertices[i].b;
    }
    result_.point_a = a;
    result_.point_b = D_.X_AB() * b;
  }

  MinkowskiDifference& D_;
  const GjkOptions& options_;
  GjkResult& result_;
  Simplex& simplex_;
  const double touching_, absolute_, relative_;  // tolerances: m, m, and of the distance
  const bool polyhedral_;
  Vec3 x_, last_direction_, last_support_;
  double squared_ = 0.0;  // |x|^2
  double lower_ = 0.0;    // the square of a lower bound of the distance
  bool has_simplex_ = false, momentum_ = false, done_ = false;
};

}  // namespace

GjkResult gjk(MinkowskiDifference& D, const GjkOptions& options) {
  GjkResult result;
  Gjk(D, options, result).run();
  return result;
}

}  // namespace touchstone
