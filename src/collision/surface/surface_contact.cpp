#include "touchstone/collision/surface/surface_contact.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/collision/surface/surface_explained.hpp"

namespace touchstone {
namespace {

using Batch = SurfaceWorkspace::Batch;

// A shape of which less than this fraction reaches to the front of a triangle is behind it.
constexpr double kBehind = 0.1;
// Angles (rad) below which a normal counts as perpendicular to an edge or face: smooth shapes have inexact normals.
constexpr double kAligned = 1e-4;
// How far (sine) a normal may leave the wedge of a ridge.
constexpr double kWedge = 1e-6;

Vec3 outward(Vec3 e, Vec3 normal) {  // of a face, across its edge e
  const Vec3 u = cross(e, normal);
  return u * (1.0 / norm(u));
}

class TriangleContact {
 public:
  TriangleContact(const TriangleSurface& surface, const SurfacePartner& partner, const SurfaceSettings& settings,
                  QueryWorkspace& query, SurfaceWorkspace& workspace)
      : surface_(surface),
        B_(partner.shape),
        X_SB_(partner.X_SB),
        partner_(partner),
        settings_(settings),
        query_(query),
        work_(workspace),
        core_margin_(settings.margin + settings.radius + partner.shape.radius()) {}

  void visit(const SurfaceTriangle& t) {
    t_ = &t;
    look_along(t.normal);
    const double gap = dot(t.normal, lowest_ - t.vertices[0]);
    if (gap > core_margin_) return;
    const double front = dot(t.normal, highest_ - t.vertices[0]);
    if (front < kBehind * (front - gap) - kTie * B_.extent()) return;
    find_feature();
    if (t.is_flat() && !query_.patch.feature_B.disk) return vertices_over();
    clip_along_face();
    double least = core_margin_;
    for (const PatchPoint& p : query_.patch.points) least = std::min(least, p.gap());
    const bool exact = least <= gap + kDepthTie * size_;
    if (exact && gap >= 0.0) return add_patch(true);
    if (!t.has_ridge()) return add_patch(false);
    by_gjk();
  }

  // The deepest point of B against the plane of the triangle, over it or not.
  void force(const SurfaceTriangle& t) {
    t_ = &t;
    look_along(t.normal);
    find_feature();
    const double gap = dot(t.normal, lowest_ - t.vertices[0]);
    Batch& batch = start_batch(t.normal, false, {face_name(t.index), query_.patch.feature_B.name});
    add_point(batch, lowest_ - gap * t.normal, lowest_, face_name(t.index), query_.patch.feature_B.name);
    end_batch();
  }

 private:
  Vec3 support(Vec3 d) const {
    int vertex = -1;
    return X_SB_ * B_.support(transpose_times(X_SB_.R, d), vertex);
  }

  // The extent of B along a normal. Triangles of one plane share it, and the feature.
  void look_along(Vec3 normal) {
    if (known_ && same(normal, normal_)) return;
    normal_ = normal;
    lowest_ = support(-normal);
    highest_ = support(normal);
    known_ = true;
    has_feature_ = false;
  }

  void find_feature() {
    if (has_feature_) return;
    SupportFeature& f = query_.patch.feature_B;
    find_support_feature(B_, transpose_times(X_SB_.R, -normal_), f);
    for (FeatureVertex& v : f.vertices) v.point = X_SB_ * v.point;
    f.normal = X_SB_.R * f.normal;
    f.centre = X_SB_ * f.centre;
    axes_ = contact_frame(normal_);
    has_feature_ = true;
  }

  // Of a triangle inside of a plane only the vertices of B over it count: all that its own edges and vertices could add
  // would be left out by add_point.
  void vertices_over() {
    if (facing_away()) return;
    const SupportFeature& f = query_.patch.feature_B;
    Batch* batch = nullptr;
    for (const FeatureVertex& v : f.vertices) {
      if (!is_over(v.point)) continue;
      const double gap = dot(normal_, v.point - t_->vertices[0]);
      if (gap > core_margin_) continue;
      if (batch == nullptr) batch = &start_batch(normal_, gap >= 0.0, {face_name(t_->index), f.name});
      add_point(*batch, v.point - gap * normal_, v.point, face_name(t_->index),
                f.is_point() ? f.name : vertex_name(v.name));
    }
  }

  bool is_over(Vec3 p) const {
    for (int k = 0; k < 3; ++k) {
      const Vec3 v = t_->vertices[k], e = t_->vertices[k == 2 ? 0 : k + 1] - v;
      const double tie = kTie * (std::abs(e.x()) + std::abs(e.y()) + std::abs(e.z()));
      const double inward = dot(cross(normal_, e), p - v);
      if (inward < 0.0 && inward < -tie * norm(e)) return false;
    }
    return true;
  }

  // Puts the points of the patch along the face normal into the workspace.
  void clip_along_face() {
    const SurfaceTriangle& t = *t_;
    SupportFeature& face = query_.patch.feature_A;
    face.name = face_name(t.index);
    face.normal = t.normal;
    face.disk = face.unbounded = false;
    face.vertices.clear();
    for (int k = 0; k < 3; ++k) face.vertices.push_back({t.vertices[k], t.names[k]});
    frame_ = {lowest_ - dot(t.normal, lowest_ - t.vertices[0]) * t.normal, axes_};
    size_ = intersect_features(frame_, frame_.axes.c0, query_.patch, true);
  }

  bool facing_away() const {
    return partner_.triangle != nullptr && query_.patch.feature_B.is_face() &&
           dot(X_SB_.R * partner_.triangle->normal, t_->normal) > 0.0;
  }

  void add_patch(bool proven) {
    if (facing_away()) return;
    Batch& batch = start_batch(t_->normal, proven, {face_name(t_->index), query_.patch.feature_B.name});
    for (const PatchPoint& p : query_.patch.points) {
      if (p.gap() > core_margin_) continue;
      add_point(batch, frame_.point(p.x, p.y, p.z_A), frame_.point(p.x, p.y, p.z_B), p.A, p.B);
    }
    end_batch();
  }

  void by_gjk() {
    const SurfaceTriangle& t = *t_;
    const ConvexShape triangle = ConvexShape::triangle(t.vertices[0], t.vertices[1], t.vertices[2], settings_.radius);
    const ContactResult contact = collide(triangle, Pose(), B_, X_SB_, query_, settings_.options);
    if (!contact.valid() || contact.distance > settings_.margin) return;
    const Vec3 change = contact.normal - t.normal;
    if (dot(change, change) <= kAligned * kAligned) {
      if (!query_.patch.points.empty()) return add_patch(true);
    } else if (!allowed(contact.normal)) {
      return add_patch(false);
    }
    const Manifold m = manifold_of_contact(triangle, Pose(), B_, X_SB_, contact, settings_.margin, query_);
    has_feature_ = false;  // overwritten
    Batch& batch = start_batch(m.normal, true, {on_surface(m.active.A), m.active.B});
    batch.status = m.status;
    for (const ManifoldPoint& p : m) {
      add_point(batch, p.point_A - settings_.radius * m.normal, p.point_B + B_.radius() * m.normal,
                on_surface(p.active.A), p.active.B);
    }
    end_batch();
  }

  // Names of the triangle's corners in the surface.
  FeatureName on_surface(FeatureName name) const {
    if (name.type == FeatureType::kVertex) return vertex_name(t_->names[name.first]);
    if (name.type == FeatureType::kEdge) return edge_name(t_->names[name.first], t_->names[name.second]);
    return name.type == FeatureType::kFace ? face_name(t_->index) : name;
  }

  // Whether n may be the normal of a contact of this triangle: between the faces of a ridge, or of a vertex.
  bool allowed(Vec3 n) const {
    const SurfaceTriangle& t = *t_;
    int top = 0;
    for (int k = 1; k < 3; ++k) {
      if (dot(n, t.vertices[k] - t.vertices[top]) > 0.0) top = k;
    }
    const int before = (top + 2) % 3, after = (top + 1) % 3;
    const bool level_before = is_level(n, t.vertices[before] - t.vertices[top]);
    const bool level_after = is_level(n, t.vertices[after] - t.vertices[top]);
    if (level_before && level_after) return dot(n, t.normal) > 0.0;
    if (level_after) return edge_allows(top, n);
    if (level_before) return edge_allows(before, n);
    return dot(n, t.normal) > -kWedge && surface_.vertex_allows(t.names[top], n);
  }

  static bool is_level(Vec3 n, Vec3 e) { return std::abs(dot(n, e)) <= kAligned * norm(e); }

  bool edge_allows(int k, Vec3 n) const {
    const SurfaceTriangle& t = *t_;
    if (t.edges[k] < EdgeKind::kConvex) return false;
    const Vec3 e = t.vertices[(k + 1) % 3] - t.vertices[k];
    if (dot(n, outward(e, t.normal)) < -kWedge) return false;
    if (t.edges[k] == EdgeKind::kBorder) return dot(n, t.normal) > -kWedge;
    return dot(n, outward(-e, t.across[k])) >= -kWedge;
  }

  Batch& start_batch(Vec3 normal, bool proven, ActiveFeatures active) {
    Batch batch;
    batch.normal = normal;
    batch.proven = proven;
    batch.least = core_margin_;
    for (int k = 0; k < 3; ++k) batch.corners[k] = t_->vertices[k];
    batch.first = work_.points.size();
    batch.triangle = t_->index;
    batch.sub_shape_B = partner_.sub_shape;
    batch.active = {active.A, on_partner(active.B)};
    work_.batches.push_back(batch);
    return work_.batches.back();
  }

  FeatureName on_partner(FeatureName name) const {
    const SurfaceTriangle* other = partner_.triangle;
    if (other == nullptr) return name;
    if (name.type == FeatureType::kVertex) return vertex_name(other->names[name.first]);
    if (name.type == FeatureType::kEdge) return edge_name(other->names[name.first], other->names[name.second]);
    return face_name(other->index);
  }

  // Leaves out points made by flat edges and by vertices inside of a plane: they lie inside of a larger patch.
  void add_point(Batch& batch, Vec3 a, Vec3 b, FeatureName A, FeatureName B) {
    batch.least = std::min(batch.least, dot(batch.normal, b - a));
    if (inside_a_plane(surface_, *t_, A, true)) return;
    if (partner_.triangle != nullptr && inside_a_plane(*partner_.surface, *partner_.triangle, B, false)) return;
    work_.points.push_back({a, b, A, on_partner(B)});
    ++batch.count;
  }

  // `global`: the name is one of the surface, else of the triangle's own corners.
  static bool inside_a_plane(const TriangleSurface& surface, const SurfaceTriangle& t, FeatureName name, bool global) {
    if (name.type != FeatureType::kVertex && name.type != FeatureType::kEdge) return false;
    for (int k = 0; k < 3; ++k) {
      const int v = global ? t.names[k] : k, w = global ? t.names[(k + 1) % 3] : (k + 1) % 3;
      if (name == vertex_name(v)) return surface.is_inner(t.names[k]);
      if (name == edge_name(v, w)) return t.edges[k] == EdgeKind::kFlat;
    }
    return false;
  }

  void end_batch() {
    if (work_.batches.back().count == 0) work_.batches.pop_back();
  }

  const TriangleSurface& surface_;
  const ConvexShape& B_;
  const Pose& X_SB_;
  const SurfacePartner& partner_;
  const SurfaceSettings& settings_;
  QueryWorkspace& query_;
  SurfaceWorkspace& work_;
  const double core_margin_;
  const SurfaceTriangle* t_ = nullptr;
  Vec3 normal_, lowest_, highest_;            // of the last triangle, and B along it
  bool known_ = false, has_feature_ = false;  // whether these, and the feature of B, are those of the normal
  Mat3 axes_;
  PatchFrame frame_;
  double size_ = 0.0;
};

// A half-space touches the lowest vertices of a surface.
void half_space_contacts(const TriangleSurface& surface, const SurfacePartner& partner, const SurfaceSettings& settings,
                         SurfaceWorkspace& work) {
  const Vec3 up = partner.X_SB.R.c2;
  const double core_margin = settings.margin + settings.radius + partner.shape.radius();
  Batch batch;
  batch.normal = -up;
  batch.proven = true;
  batch.first = work.points.size();
  batch.sub_shape_B = partner.sub_shape;
  work.triangles.clear();
  surface.vertices_below(up, dot(up, partner.X_SB.p) + core_margin, work.triangles);
  for (const int v : work.triangles) {
    const Vec3 p = surface.vertex(v);
    const double height = dot(up, p - partner.X_SB.p);
    if (batch.count == 0 || height < batch.least) {
      batch.least = height;
      batch.active = {vertex_name(v), face_name(0)};
    }
    work.points.push_back({p, p - height * up, vertex_name(v), face_name(0)});
    ++batch.count;
  }
  if (batch.count > 0) work.batches.push_back(batch);
}

}  // namespace

void find_surface_contacts(const TriangleSurface& surface, const SurfacePartner& partner,
                           const SurfaceSettings& settings, QueryWorkspace& query, SurfaceWorkspace& workspace) {
  if (!partner.shape.bounded()) return half_space_contacts(surface, partner, settings, workspace);
  const std::size_t first = workspace.batches.size();
  Bounds box = partner.shape.bounds(partner.X_SB);
  const Vector3 room = Vector3::Constant(settings.margin + settings.radius);
  box.lower -= room;
  box.upper += room;
  workspace.triangles.clear();
  surface.overlapping(box, workspace.triangles);
  TriangleContact contact(surface, partner, settings, query, workspace);
  SurfaceWorkspace::Allowance& left = workspace.allowance;
  for (const int index : workspace.triangles) {
    if (left.is_spent()) break;
    --left.visits;
    ++workspace.visits;
    const std::size_t before = workspace.batches.size();
    contact.visit(surface.triangle(index));
    left.batches -= std::min(left.batches, workspace.batches.size() - before);
  }
  drop_explained(partner, first, workspace);
  if (workspace.batches.size() > first) return;
  const int above = surface.triangle_above(partner.X_SB * partner.shape.centre());
  if (above >= 0) contact.force(surface.triangle(above));
}

}  // namespace touchstone
