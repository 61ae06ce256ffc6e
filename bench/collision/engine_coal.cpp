// Coal as an engine of the collision benchmark, called the ways that its interface offers, cheapest first: its table of
// pair functions with one solver for all calls (what coal::ComputeDistance does, without one solver for each pair), and
// GJKSolver::shapeDistance, which skips that table and the formulas for some pairs.
#include <coal/collision_func_matrix.h>
#include <coal/distance_func_matrix.h>
#include <coal/narrowphase/narrowphase.h>
#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include "engine.hpp"

namespace {

coal::Transform3s pose(const bench::PoseSpec& X) {
  coal::Matrix3s R;
  R << X[0], X[3], X[6], X[1], X[4], X[7], X[2], X[5], X[8];
  return {R, coal::Vec3s(X[9], X[10], X[11])};
}

std::shared_ptr<coal::ShapeBase> shape(const bench::ShapeSpec& spec) {
  const double* s = spec.size;
  switch (spec.kind) {
    case bench::ShapeKind::kSphere:
      return std::make_shared<coal::Sphere>(s[0]);
    case bench::ShapeKind::kBox:
      return std::make_shared<coal::Box>(2.0 * s[0], 2.0 * s[1], 2.0 * s[2]);
    case bench::ShapeKind::kCapsule:
      return std::make_shared<coal::Capsule>(s[0], 2.0 * s[1]);
    case bench::ShapeKind::kCylinder:
      return std::make_shared<coal::Cylinder>(s[0], 2.0 * s[1]);
    case bench::ShapeKind::kCone:
      return std::make_shared<coal::Cone>(s[0], 2.0 * s[1]);
    case bench::ShapeKind::kEllipsoid:
      return std::make_shared<coal::Ellipsoid>(s[0], s[1], s[2]);
    case bench::ShapeKind::kHull:
      break;
  }
  auto points = std::make_shared<std::vector<coal::Vec3s>>();
  for (const auto& v : spec.vertices) points->emplace_back(v[0], v[1], v[2]);
  auto triangles = std::make_shared<std::vector<coal::Triangle>>();
  for (const auto& t : spec.triangles) triangles->emplace_back(t[0], t[1], t[2]);
  return std::make_shared<coal::Convex<coal::Triangle>>(points, points->size(), triangles, triangles->size());
}

struct Variant {
  std::string name;
  bool solver;  // GJKSolver::shapeDistance, not the table
  coal::GJKVariant gjk;
  coal::GJKInitialGuess guess;
};

std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  const std::pair<const char*, coal::GJKVariant> gjks[] = {{"GJK", coal::GJKVariant::DefaultGJK},
                                                           {"Polyak", coal::GJKVariant::PolyakAcceleration},
                                                           {"Nesterov", coal::GJKVariant::NesterovAcceleration}};
  const std::pair<const char*, coal::GJKInitialGuess> guesses[] = {
      {"fixed guess", coal::GJKInitialGuess::DefaultGuess}, {"centres", coal::GJKInitialGuess::BoundingVolumeGuess}};
  for (const bool solver : {false, true}) {
    for (const auto& [gjk_name, gjk] : gjks) {
      for (const auto& [guess_name, guess] : guesses) {
        all.push_back(
            {std::string(solver ? "solver, " : "table, ") + gjk_name + ", " + guess_name, solver, gjk, guess});
      }
    }
  }
  return all;
}

class Coal final : public bench::Engine {
 public:
  std::vector<std::string> variants(bench::Query) const override {
    std::vector<std::string> names;
    for (const Variant& v : variants_) names.push_back(v.name);
    return names;
  }

  void load(const std::vector<bench::ShapeSpec>& shapes, const std::vector<bench::PairSpec>& pairs) override {
    shapes_.clear();
    pairs_.clear();
    for (const bench::ShapeSpec& spec : shapes) {
      shapes_.push_back(shape(spec));
      shapes_.back()->computeLocalAABB();
    }
    for (const bench::PairSpec& p : pairs) {
      const coal::ShapeBase *a = shapes_[static_cast<std::size_t>(p.a)].get(),
                            *b = shapes_[static_cast<std::size_t>(p.b)].get();
      pairs_.push_back({a, b, pose(p.X_WA), pose(p.X_WB),
                        distances_.distance_matrix[a->getNodeType()][b->getNodeType()],
                        collisions_.collision_matrix[a->getNodeType()][b->getNodeType()]});
    }
  }

  void run(bench::Query query, int variant, double tolerance, int passes, double* answers) override {
    const Variant& v = variants_[static_cast<std::size_t>(variant)];
    if (v.solver) return by_solver(query, v, tolerance, passes, answers);
    if (query == bench::Query::kDistance) return by_distance(v, tolerance, passes, answers);
    by_collision(query, v, tolerance, passes, answers);
  }

 private:
  struct Pair {
    const coal::ShapeBase *a, *b;
    coal::Transform3s X_a, X_b;
    coal::DistanceFunctionMatrix::DistanceFunc distance;
    coal::CollisionFunctionMatrix::CollisionFunc collision;
  };

  static void set(coal::QueryRequest& request, const Variant& v, double tolerance) {
    request.gjk_variant = v.gjk;
    request.gjk_initial_guess = v.guess;
    request.gjk_tolerance = request.epa_tolerance = tolerance;
    request.gjk_max_iterations = request.epa_max_iterations = 255;
  }

  void by_distance(const Variant& v, double tolerance, int passes, double* answers) {
    coal::DistanceRequest request(true, false);
    set(request, v, tolerance);
    coal::GJKSolver solver(request);
    coal::DistanceResult result;
    for (int pass = 0; pass < passes; ++pass) {
      double* answer = answers;
      for (const Pair& p : pairs_) {
        result.clear();
        *answer++ = p.distance(p.a, p.X_a, p.b, p.X_b, &solver, request, result);
      }
    }
  }

  void by_collision(bench::Query query, const Variant& v, double tolerance, int passes, double* answers) {
    coal::CollisionRequest request(query == bench::Query::kContact ? coal::CONTACT : coal::NO_REQUEST, 1);
    set(request, v, tolerance);
    if (query == bench::Query::kOverlap) request.distance_upper_bound = 0.0;  // ends when separated for certain
    coal::GJKSolver solver(request);
    coal::CollisionResult result;
    for (int pass = 0; pass < passes; ++pass) {
      double* answer = answers;
      for (const Pair& p : pairs_) {
        result.clear();
        const std::size_t count = p.collision(p.a, p.X_a, p.b, p.X_b, &solver, request, result);
        if (query == bench::Query::kOverlap) {
          *answer++ = count > 0 ? 1.0 : 0.0;
        } else {
          *answer++ = count > 0 ? result.getContact(0).penetration_depth : result.distance_lower_bound;
        }
      }
    }
  }

  void by_solver(bench::Query query, const Variant& v, double tolerance, int passes, double* answers) {
    coal::GJKSolver solver;
    solver.gjk_variant = v.gjk;
    solver.gjk_initial_guess = v.guess;
    solver.gjk_tolerance = solver.epa_tolerance = tolerance;
    solver.gjk_max_iterations = solver.epa_max_iterations = 255;
    if (query == bench::Query::kOverlap) solver.distance_upper_bound = 0.0;
    const bool depth = query == bench::Query::kContact;
    coal::Vec3s a, b, normal;
    for (int pass = 0; pass < passes; ++pass) {
      double* answer = answers;
      for (const Pair& p : pairs_) {
        const double found = solver.shapeDistance(*p.a, p.X_a, *p.b, p.X_b, depth, a, b, normal);
        *answer++ = query == bench::Query::kOverlap ? (found <= tolerance ? 1.0 : 0.0) : found;
      }
    }
  }

  std::vector<Variant> variants_ = all_variants();
  std::vector<std::shared_ptr<coal::ShapeBase>> shapes_;
  std::vector<Pair> pairs_;
  coal::DistanceFunctionMatrix distances_;
  coal::CollisionFunctionMatrix collisions_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) bench::Engine* bench::make_engine() { return new Coal; }
