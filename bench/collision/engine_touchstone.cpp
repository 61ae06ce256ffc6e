// Our engine of the collision benchmark.
#include "engine.hpp"
#include "touchstone/collision/narrow/query.hpp"

namespace {

using namespace touchstone;

Pose pose(const bench::PoseSpec& X) {
  return {Mat3(Vec3(X[0], X[1], X[2]), Vec3(X[3], X[4], X[5]), Vec3(X[6], X[7], X[8])), Vec3(X[9], X[10], X[11])};
}

ConvexShape shape(const bench::ShapeSpec& spec) {
  const Vector3 size(spec.size[0], spec.size[1], spec.size[2]);
  switch (spec.kind) {
    case bench::ShapeKind::kSphere:
      return ConvexShape::sphere(size[0]);
    case bench::ShapeKind::kBox:
      return ConvexShape::box(size);
    case bench::ShapeKind::kCapsule:
      return ConvexShape::capsule(size[0], size[1]);
    case bench::ShapeKind::kCylinder:
      return ConvexShape::cylinder(size[0], size[1]);
    case bench::ShapeKind::kCone:
      return ConvexShape::cone(size[0], size[1]);
    case bench::ShapeKind::kEllipsoid:
      return ConvexShape::ellipsoid(size);
    case bench::ShapeKind::kHull:
      break;
  }
  std::vector<Vector3> points;
  points.reserve(spec.vertices.size());
  for (const auto& v : spec.vertices) points.emplace_back(v[0], v[1], v[2]);
  return ConvexShape::polytope(points);
}

class Touchstone final : public bench::Engine {
 public:
  std::vector<std::string> variants(bench::Query) const override { return {"default"}; }

  void load(const std::vector<bench::ShapeSpec>& shapes, const std::vector<bench::PairSpec>& pairs) override {
    shapes_.clear();
    pairs_.clear();
    for (const bench::ShapeSpec& spec : shapes) shapes_.push_back(shape(spec));
    for (const bench::PairSpec& p : pairs) pairs_.push_back({p.a, p.b, pose(p.X_WA), pose(p.X_WB)});
  }

  void run(bench::Query query, int, double tolerance, int passes, double* answers) override {
    QueryOptions options;
    options.gjk.relative_tolerance = options.gjk.absolute_tolerance = tolerance;
    options.epa.absolute_tolerance = tolerance;
    for (int pass = 0; pass < passes; ++pass) {
      double* answer = answers;
      for (const Pair& p : pairs_) {
        const ConvexShape &A = shapes_[static_cast<std::size_t>(p.a)], &B = shapes_[static_cast<std::size_t>(p.b)];
        if (query == bench::Query::kDistance) {
          *answer++ = distance(A, p.X_WA, B, p.X_WB, options).distance;
        } else if (query == bench::Query::kContact) {
          *answer++ = collide(A, p.X_WA, B, p.X_WB, workspace_, options).distance;
        } else {
          *answer++ = overlaps(A, p.X_WA, B, p.X_WB, 0.0, options) == OverlapStatus::kOverlapping ? 1.0 : 0.0;
        }
      }
    }
  }

 private:
  struct Pair {
    int a, b;
    Pose X_WA, X_WB;
  };
  std::vector<ConvexShape> shapes_;
  std::vector<Pair> pairs_;
  QueryWorkspace workspace_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) bench::Engine* bench::make_engine() { return new Touchstone; }
