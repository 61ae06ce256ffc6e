#include "touchstone/collision/collision_shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

Bounds united(const Bounds& a, const Bounds& b) { return {a.lower.cwiseMin(b.lower), a.upper.cwiseMax(b.upper)}; }

// The box in the frame X around a box: |R| times the half extents.
Bounds turned(const Bounds& box, const Pose& X) {
  const Vector3 half = 0.5 * (box.upper - box.lower), centre = 0.5 * (box.upper + box.lower);
  if (!half.allFinite()) return {Vector3::Constant(-kInfinity), Vector3::Constant(kInfinity)};
  const Vector3 reach = X.R.eigen().cwiseAbs() * half, middle = (X * Vec3(centre)).eigen();
  return {middle - reach, middle + reach};
}

bool usable(const Pose& X) {
  const double size = norm(X.p) + norm(X.R.c0) + norm(X.R.c1) + norm(X.R.c2);
  return std::isfinite(size) && size < kLargestCoordinate;
}

bool usable(const CollisionShape& shape) {
  if (shape.surface() == nullptr) return true;  // the queries of convex shapes look after themselves
  const Bounds box = shape.bounds();
  return box.lower.cwiseAbs().maxCoeff() < kLargestCoordinate && box.upper.cwiseAbs().maxCoeff() < kLargestCoordinate;
}

// Calls visit(i) for the pieces of a shape that may touch the box, which is in the frame of the shape.
template <typename Visit>
void pieces_near(const CollisionShape& shape, const Bounds& box, const Visit& visit) {
  if (shape.is_convex()) {
    visit(0);
    return;
  }
  shape.tree().overlapping(box, [&](int i) {
    visit(i);
    return true;
  });
}

const ConvexShape& piece(const CollisionShape& shape, int i) { return shape.pieces()[static_cast<std::size_t>(i)]; }

// Two shapes made of convex pieces.
QueryStatus collide_pieces(const CollisionShape& A, const Pose& X_WA, const CollisionShape& B, const Pose& X_WB,
                           double margin, CollisionWorkspace& workspace, std::vector<Manifold>& out,
                           const QueryOptions& options) {
  QueryStatus worst = QueryStatus::kConverged;
  const Pose X_AB = relative(X_WA, X_WB), X_BA = relative(X_WB, X_WA);
  pieces_near(A, grown(B.bounds(X_AB), margin), [&](int i) {
    pieces_near(B, grown(piece(A, i).bounds(X_BA), margin), [&](int j) {
      Manifold m = collide_manifold(piece(A, i), X_WA, piece(B, j), X_WB, margin, workspace.query, options);
      worst = std::max(worst, m.status);
      if (m.count == 0) return;
      m.sub_shape_A = i;
      m.sub_shape_B = j;
      const std::uint64_t pair = static_cast<std::uint64_t>(i) << 32 | static_cast<std::uint64_t>(j);
      for (int k = 0; k < m.count; ++k) m.points[k].feature = mix_ids(m.points[k].feature, pair);
      out.push_back(m);
    });
  });
  return worst;
}

// The surface S with the convex pieces, or the triangles, of the other shape. False if the allowance was spent.
bool collide_surface(const CollisionShape& S, const Pose& X_WS, const CollisionShape& other, const Pose& X_WO,
                     double margin, bool swapped, CollisionWorkspace& workspace, QueryCache* cache,
                     std::vector<Manifold>& out, const QueryOptions& options) {
  QueryOptions near = options;
  near.cutoff = std::min(near.cutoff, margin);
  const SurfaceSettings settings{S.surface_radius(), margin, near};
  const Pose X_SO = relative(X_WS, X_WO);
  const Bounds box = grown(turned(S.bounds(), relative(X_WO, X_WS)), margin);  // of the surface, seen from the other
  const std::size_t first = out.size();
  SurfaceWorkspace& work = workspace.surface;
  if (other.surface() == nullptr) {
    pieces_near(other, box, [&](int i) {
      if (work.allowance.is_spent()) return;
      find_surface_contacts(*S.surface(), {piece(other, i), X_SO, i, nullptr, nullptr}, settings, workspace.query,
                            work);
      flush_surface_contacts(X_WS, settings, piece(other, i).radius(), swapped, other.is_convex() ? cache : nullptr,
                             workspace.query, work, out);
    });
  } else {
    const double radius = other.surface_radius();
    work.other_triangles.clear();
    other.surface()->overlapping(box, work.other_triangles);
    for (const int index : work.other_triangles) {
      if (work.allowance.is_spent()) break;
      const SurfaceTriangle t = other.surface()->triangle(index);
      const ConvexShape triangle = ConvexShape::triangle(t.vertices[0], t.vertices[1], t.vertices[2], radius);
      find_surface_contacts(*S.surface(), {triangle, X_SO, 0, other.surface(), &t}, settings, workspace.query, work);
    }
    flush_surface_contacts(X_WS, settings, radius, swapped, cache, workspace.query, work, out);
  }
  number_equal_ids(first, work, out);
  return !work.allowance.is_spent();
}

// The same with what one pair may cost. Where that is spent the margin was too wide, or the shapes are far inside each
// other: with a smaller margin what is nearest is found still; without any, what was found has to do.
QueryStatus collide_within_allowance(const CollisionShape& S, const Pose& X_WS, const CollisionShape& other,
                                     const Pose& X_WO, double margin, bool swapped, CollisionWorkspace& workspace,
                                     QueryCache* cache, std::vector<Manifold>& out, const QueryOptions& options) {
  constexpr double kSmaller = 1.0 / 64.0;
  constexpr int kMostTrials = 3;
  const std::size_t first = out.size();
  const double wanted = margin;
  const SurfaceWorkspace::Allowance allowance = workspace.surface.allowance;
  bool is_whole = false;
  for (int trial = 0; trial < kMostTrials; ++trial) {
    out.resize(first);
    workspace.surface.allowance = allowance;
    is_whole = collide_surface(S, X_WS, other, X_WO, margin, swapped, workspace, cache, out, options);
    if (is_whole || margin == 0.0) break;
    margin = trial + 2 < kMostTrials ? kSmaller * margin : 0.0;
  }
  const bool is_limited = !is_whole || margin != wanted;
  workspace.surface.allowance = allowance;
  return is_limited ? QueryStatus::kLimited : QueryStatus::kConverged;
}

}  // namespace

CollisionShape::CollisionShape(const ConvexShape& convex) : pieces_{convex}, local_(convex.bounds()) {}

CollisionShape CollisionShape::make(const Shape& shape, double margin) {
  if (!(margin >= 0.0) || !std::isfinite(margin)) {
    throw Error("a collision shape has the margin {}; it must be finite and not negative", margin);
  }
  CollisionShape result;
  result.radius_ = margin;
  if (shape.type == ShapeType::kHeightField) {
    result.surface_ = make_field_surface(shape.height_field);
  } else if (shape.type == ShapeType::kMesh && shape.mesh_collision == MeshCollision::kTriangles) {
    if (!shape.mesh) throw Error("a mesh shape has no mesh; set Shape::mesh");
    result.surface_ = make_mesh_surface(*shape.mesh);
  } else if (shape.type == ShapeType::kMesh && shape.mesh_collision == MeshCollision::kPieces) {
    if (shape.pieces.empty()) throw Error("a mesh shape collides as pieces but has none; set Shape::pieces");
    std::vector<Bounds> boxes;
    for (const auto& mesh : shape.pieces) {
      if (!mesh) throw Error("piece {} of a mesh shape is null", result.pieces_.size());
      result.pieces_.push_back(ConvexShape::make({.type = ShapeType::kMesh, .mesh = mesh}, margin));
      boxes.push_back(result.pieces_.back().bounds());
      result.local_ = boxes.size() == 1 ? boxes[0] : united(result.local_, boxes.back());
    }
    if (boxes.size() > 1) result.tree_ = Bvh(boxes);
    return result;
  } else {
    return CollisionShape(ConvexShape::make(shape, margin));
  }
  result.local_ = grown(result.surface_->bounds(), margin);
  return result;
}

Bounds CollisionShape::bounds(const Pose& X_WS) const {
  if (is_convex()) return pieces_[0].bounds(X_WS);
  return turned(local_, X_WS);
}

QueryStatus collide(const CollisionShape& A, const Pose& X_WA, const CollisionShape& B, const Pose& X_WB, double margin,
                    CollisionWorkspace& workspace, PairCache* cache, std::vector<Manifold>& out,
                    const QueryOptions& options) {
  QueryCache* const query_cache = cache != nullptr ? &cache->query : nullptr;
  if (A.is_convex() && B.is_convex()) {
    const Manifold m =
        collide_manifold(A.pieces()[0], X_WA, B.pieces()[0], X_WB, margin, workspace.query, options, query_cache);
    if (m.count > 0) out.push_back(m);
    return m.status;
  }
  if (query_cache != nullptr) query_cache->apart = -kInfinity;
  if (!usable(X_WA) || !usable(X_WB) || !usable(A) || !usable(B)) return QueryStatus::kInvalid;
  if (A.surface() == nullptr && B.surface() == nullptr) {
    return collide_pieces(A, X_WA, B, X_WB, margin, workspace, out, options);
  }
  if (A.surface() != nullptr)
    return collide_within_allowance(A, X_WA, B, X_WB, margin, false, workspace, query_cache, out, options);
  return collide_within_allowance(B, X_WB, A, X_WA, margin, true, workspace, query_cache, out, options);
}

}  // namespace touchstone
