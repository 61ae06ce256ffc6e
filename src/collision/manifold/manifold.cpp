#include "touchstone/collision/manifold/manifold.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/collision/manifold/contact_patch.hpp"

namespace touchstone {
namespace {

// Smooth cores: EPA knows depths to 1e-9 and so normals to about 1e-4. A face whose normal is within kNearlyAligned
// of the answer and not worse by more than kAsGood of the scale is the better answer.
constexpr double kNearlyAligned = 1e-3;
constexpr double kAsGood = 2e-9;

// Everything about the pair in the frame of A, on the cores.
class ManifoldBuilder {
 public:
  ManifoldBuilder(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                  const ContactResult& contact, QueryWorkspace& workspace)
      : A_(A), B_(B), X_WA_(X_WA), work_(workspace.patch) {
    const Mat3 R_AW = transpose(X_WA.R);
    X_AB_ = {R_AW * X_WB.R, R_AW * (X_WB.p - X_WA.p)};
    normal_ = R_AW * contact.normal;
    witness_ = R_AW * (contact.point_A - X_WA.p) - A.radius() * normal_;
    gap_ = contact.distance + A.radius() + B.radius();
  }

  Manifold build(double margin, QueryStatus status, QueryCache* cache) {
    find_features();
    if (!(A_.polyhedral() || !A_.bounded()) || !(B_.polyhedral() || !B_.bounded())) refine_normal();
    frame_ = {witness_, contact_frame(normal_)};
    size_ = intersect_features(frame_, rim_direction(), work_);
    include_witness();
    const double core_margin = margin + A_.radius() + B_.radius();
    const int count = reduce_patch(core_margin, size_, cache != nullptr ? cache->features : nullptr,
                                   cache != nullptr ? cache->feature_count : 0, work_);
    return result(status, count, cache);
  }

 private:
  void find_features() {
    find_support_feature(A_, normal_, work_.feature_A);
    find_support_feature(B_, transpose_times(X_AB_.R, -normal_), work_.feature_B);
    SupportFeature& f = work_.feature_B;
    for (FeatureVertex& v : f.vertices) v.point = X_AB_ * v.point;
    f.normal = X_AB_.R * f.normal;
    f.centre = X_AB_ * f.centre;
  }

  double gap_along(Vec3 n) const {
    int vertex = -1;
    const Vec3 a = A_.support(n, vertex);
    vertex = -1;
    const Vec3 b = X_AB_ * B_.support(transpose_times(X_AB_.R, -n), vertex);
    return dot(n, b - a);
  }

  // Replaces the normal by that of a face, or by its part perpendicular to an edge, when that is as good a normal: the
  // gap along a normal is the distance for the best one, and less for all others.
  void refine_normal() {
    if (!A_.bounded() || !B_.bounded()) return;
    const double least = gap_along(normal_) - kAsGood * (A_.extent() + B_.extent());
    const SupportFeature &a = work_.feature_A, &b = work_.feature_B;
    if (a.is_face() && adopt(a.normal, least)) return;
    if (b.is_face() && adopt(-b.normal, least)) return;
    for (const SupportFeature* f : {&a, &b}) {
      if (!f->is_edge()) continue;
      const Vec3 e = f->vertices[1].point - f->vertices[0].point;
      const Vec3 across = normal_ - (dot(normal_, e) / dot(e, e)) * e;
      if (adopt(across * (1.0 / norm(across)), least)) return;
    }
  }

  bool adopt(Vec3 n, double least) {
    const Vec3 change = n - normal_;
    if (!(dot(change, change) <= kNearlyAligned * kNearlyAligned)) return false;
    const double gap = gap_along(n);
    if (!(gap >= least)) return false;
    normal_ = n;
    gap_ = gap;
    int vertex = -1;
    witness_ += dot(n, A_.support(n, vertex) - witness_) * n;
    return true;
  }

  // A direction that turns with the shape a disk lies on, not with the disk; for two disks, with the larger shape.
  Vec3 rim_direction() const {
    const bool disk_A = work_.feature_A.disk, disk_B = work_.feature_B.disk;
    if (!disk_A && !disk_B) return {};
    const bool follow_A = disk_A && disk_B ? A_.extent() >= B_.extent() : disk_B;
    if (follow_A) return contact_frame(normal_).c0;
    return X_AB_.R * contact_frame(transpose_times(X_AB_.R, -normal_)).c0;
  }

  // The answer of collide() itself, when the features have no common point, or none as deep.
  void include_witness() {
    for (const PatchPoint& p : work_.points) {
      if (p.gap() <= gap_ + kDepthTie * size_) return;
    }
    work_.points.push_back({0.0, 0.0, 0.0, gap_, work_.feature_A.name, work_.feature_B.name});
  }

  Manifold result(QueryStatus status, int count, QueryCache* cache) const {
    Manifold manifold;
    manifold.status = status;
    manifold.normal = X_WA_.R * normal_;
    manifold.count = count;
    manifold.active = {work_.feature_A.name, work_.feature_B.name};
    for (int k = 0; k < count; ++k) {
      const PatchPoint& p = work_.points[static_cast<std::size_t>(k)];
      ManifoldPoint& point = manifold.points[k];
      point.point_A = X_WA_ * frame_.point(p.x, p.y, p.z_A + A_.radius());
      point.point_B = X_WA_ * frame_.point(p.x, p.y, p.z_B - B_.radius());
      point.distance = p.gap() - (A_.radius() + B_.radius());
      point.feature = feature_id(p.A, p.B);
      point.active = {p.A, p.B};
      if (!finite(point.point_A) || !finite(point.point_B)) manifold.status = QueryStatus::kInvalid;
    }
    if (!manifold.valid()) manifold.count = 0;
    if (cache != nullptr) {
      cache->feature_count = manifold.count;
      for (int k = 0; k < manifold.count; ++k) cache->features[k] = manifold.points[k].feature;
    }
    return manifold;
  }

  const ConvexShape &A_, &B_;
  const Pose& X_WA_;
  PatchWorkspace& work_;
  Pose X_AB_;
  Vec3 normal_, witness_;
  double gap_ = 0.0, size_ = 0.0;
  PatchFrame frame_;
};

}  // namespace

Manifold manifold_of_contact(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB,
                             const ContactResult& contact, double margin, QueryWorkspace& workspace,
                             QueryCache* cache) {
  return ManifoldBuilder(A, X_WA, B, X_WB, contact, workspace).build(margin, contact.status, cache);
}

Manifold collide_manifold(const ConvexShape& A, const Pose& X_WA, const ConvexShape& B, const Pose& X_WB, double margin,
                          QueryWorkspace& workspace, const QueryOptions& options, QueryCache* cache) {
  QueryOptions near = options;
  near.cutoff = std::min(near.cutoff, margin);
  const ContactResult contact = collide(A, X_WA, B, X_WB, workspace, near, cache);
  const bool is_apart = contact.status == QueryStatus::kConverged && contact.distance > margin;
  if (cache != nullptr) cache->apart = is_apart ? contact.distance : -kInfinity;
  if (contact.valid() && contact.distance <= margin) {
    return manifold_of_contact(A, X_WA, B, X_WB, contact, margin, workspace, cache);
  }
  Manifold none;
  none.status = contact.status;
  none.normal = contact.normal;
  if (cache != nullptr) cache->feature_count = 0;
  return none;
}

}  // namespace touchstone
