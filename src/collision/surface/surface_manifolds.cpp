// Manifolds from the contacts of single triangles: groups of one normal, each reduced to four points.
#include "touchstone/collision/surface/surface_contact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace touchstone {
namespace {

using Batch = SurfaceWorkspace::Batch;

bool in_one_group(const Batch& a, const Batch& b) {
  const Vec3 change = a.normal - b.normal;
  return a.sub_shape_B == b.sub_shape_B && dot(change, change) <= kOneNormal * kOneNormal;
}

// Batches by their normals: sorted by the cells of a grid, one of which is a little wider than kOneNormal, so that what
// belongs to one group lies in neighbouring cells. Cells along z follow each other, hence nine runs are searched. The
// heads of groups are farther apart than kOneNormal: a batch is looked at by a bounded number of them.
class NormalGrid {
 public:
  explicit NormalGrid(SurfaceWorkspace& work) : work_(work) {
    work_.by_normal.clear();
    if (is_small()) return;
    for (std::size_t i = 0; i < work_.batches.size(); ++i) {
      const Vec3 n = work_.batches[i].normal;
      if (!work_.batches[i].dropped) work_.by_normal.push_back({key(cell(n.x()), cell(n.y()), cell(n.z())), i});
    }
    std::sort(work_.by_normal.begin(), work_.by_normal.end());
  }

  // Collects the batches of the head's group, itself at least, in their order.
  void collect(std::size_t head) {
    head_ = head;
    work_.group.clear();
    if (is_small()) {
      for (std::size_t i = 0; i < work_.batches.size(); ++i) consider(i);
      return;
    }
    const Vec3 n = work_.batches[head].normal;
    const std::uint64_t x = cell(n.x()), y = cell(n.y()), z = cell(n.z());
    for (std::uint64_t i = x - 1; i <= x + 1; ++i) {
      for (std::uint64_t j = y - 1; j <= y + 1; ++j) consider_run(key(i, j, z - 1), key(i, j, z + 1));
    }
    std::sort(work_.group.begin(), work_.group.end());
  }

 private:
  static constexpr std::size_t kFew = 16;
  static constexpr double kCell = 1.01 * kOneNormal;

  bool is_small() const { return work_.batches.size() <= kFew; }

  // From 1 on; what is no component of a unit vector (NaN too) goes into the first cell.
  static std::uint64_t cell(double component) {
    return std::abs(component) < 2.0 ? static_cast<std::uint64_t>((component + 2.0) / kCell) + 1 : 1;
  }
  static std::uint64_t key(std::uint64_t x, std::uint64_t y, std::uint64_t z) { return x << 40 | y << 20 | z; }

  void consider_run(std::uint64_t from, std::uint64_t to) {
    auto place = std::lower_bound(work_.by_normal.begin(), work_.by_normal.end(), from,
                                  [](const auto& a, std::uint64_t wanted) { return a.key < wanted; });
    for (; place != work_.by_normal.end() && place->key <= to; ++place) consider(place->batch);
  }

  void consider(std::size_t i) {
    ++work_.comparisons;
    const Batch& batch = work_.batches[i];
    if (batch.grouped || batch.dropped) return;
    if (i == head_ || in_one_group(work_.batches[head_], batch)) work_.group.push_back(i);
  }

  SurfaceWorkspace& work_;
  std::size_t head_ = 0;
};

// The deepest batch leads the first group, and so on, so that the deepest point keeps its own normal.
void sort_by_depth(SurfaceWorkspace& work) {
  work.by_depth.clear();
  for (std::size_t i = 0; i < work.batches.size(); ++i) {
    const double depth = work.batches[i].least;
    if (work.batches[i].dropped) continue;
    work.by_depth.push_back({std::isnan(depth) ? -std::numeric_limits<double>::infinity() : depth, i});
  }
  std::sort(work.by_depth.begin(), work.by_depth.end());
}

class GroupBuilder {
 public:
  GroupBuilder(const Pose& X_WS, const SurfaceSettings& settings, double other_radius, bool swapped,
               const QueryCache* cache, QueryWorkspace& query, SurfaceWorkspace& work)
      : X_WS_(X_WS),
        settings_(settings),
        other_radius_(other_radius),
        swapped_(swapped),
        cache_(cache),
        query_(query),
        work_(work) {}

  // The manifold of the workspace's group, with the normal of the head.
  Manifold build(std::size_t index) {
    const Batch& head = work_.batches[index];
    frame_ = {head.count > 0 ? work_.points[head.first].a : head.corners[0], contact_frame(head.normal)};
    query_.patch.points.clear();
    double size = norm(head.corners[1] - head.corners[0]);
    Manifold m;
    m.status = QueryStatus::kConverged;
    for (const std::size_t i : work_.group) {
      Batch& batch = work_.batches[i];
      batch.grouped = true;
      if (batch.status != QueryStatus::kConverged) m.status = batch.status;
      for (std::size_t k = batch.first; k < batch.first + batch.count; ++k) size = std::max(size, add(work_.points[k]));
    }
    const double core_margin = settings_.margin + settings_.radius + other_radius_;
    m.count = reduce_patch(core_margin, size, cache_ != nullptr ? cache_->features : nullptr,
                           cache_ != nullptr ? cache_->feature_count : 0, query_.patch);
    m.normal = X_WS_.R * head.normal;
    m.active = head.active;
    m.sub_shape_A = head.triangle;
    m.sub_shape_B = head.sub_shape_B;
    for (int k = 0; k < m.count; ++k) place(query_.patch.points[static_cast<std::size_t>(k)], m.points[k], head);
    for (const ManifoldPoint& p : m) {
      if (!finite(p.point_A) || !finite(p.point_B) || !finite(m.normal)) m.status = QueryStatus::kInvalid;
    }
    if (swapped_) swap(m);
    return m;
  }

 private:
  // Returns its distance from the origin of the frame.
  double add(const SurfaceWorkspace::Point& p) {
    const Vec3 a = transpose_times(frame_.axes, p.a - frame_.origin);
    const Vec3 b = transpose_times(frame_.axes, p.b - frame_.origin);
    query_.patch.points.push_back({b.x(), b.y(), a.z(), b.z(), p.A, p.B});
    return norm(a);
  }

  void place(const PatchPoint& p, ManifoldPoint& point, const Batch& head) const {
    point.point_A = X_WS_ * frame_.point(p.x, p.y, p.z_A + settings_.radius);
    point.point_B = X_WS_ * frame_.point(p.x, p.y, p.z_B - other_radius_);
    point.distance = p.gap() - (settings_.radius + other_radius_);
    point.active = {p.A, p.B};
    point.feature = feature_id(p.A, p.B);
    if (head.sub_shape_B != 0) point.feature = mix_ids(point.feature, static_cast<std::uint64_t>(head.sub_shape_B));
  }

  static void swap(Manifold& m) {
    m.normal = -m.normal;
    std::swap(m.active.A, m.active.B);
    std::swap(m.sub_shape_A, m.sub_shape_B);
    for (int k = 0; k < m.count; ++k) {
      std::swap(m.points[k].point_A, m.points[k].point_B);
      std::swap(m.points[k].active.A, m.points[k].active.B);
    }
  }

  const Pose& X_WS_;
  const SurfaceSettings& settings_;
  const double other_radius_;
  const bool swapped_;
  const QueryCache* cache_;
  QueryWorkspace& query_;
  SurfaceWorkspace& work_;
  PatchFrame frame_;
};

}  // namespace

void flush_surface_contacts(const Pose& X_WS, const SurfaceSettings& settings, double other_radius, bool swapped,
                            QueryCache* cache, QueryWorkspace& query, SurfaceWorkspace& workspace,
                            std::vector<Manifold>& out) {
  const std::size_t first = out.size();
  GroupBuilder builder(X_WS, settings, other_radius, swapped, cache, query, workspace);
  NormalGrid grid(workspace);
  sort_by_depth(workspace);
  for (const auto& place : workspace.by_depth) {
    if (workspace.batches[place.batch].grouped) continue;
    grid.collect(place.batch);
    const Manifold m = builder.build(place.batch);
    if (m.count > 0 && m.valid()) out.push_back(m);
  }
  workspace.batches.clear();
  workspace.points.clear();
  if (cache == nullptr) return;
  cache->feature_count = 0;
  const auto full = std::find_if(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
                                 [](const Manifold& m) { return m.count == 4; });
  if (full == out.end()) return;
  cache->feature_count = 4;
  for (int k = 0; k < 4; ++k) cache->features[k] = full->points[k].feature;
}

void number_equal_ids(std::size_t first, SurfaceWorkspace& workspace, std::vector<Manifold>& out) {
  std::vector<SurfaceWorkspace::Identity>& all = workspace.identities;
  all.clear();
  for (std::size_t i = first; i < out.size(); ++i) {
    for (int k = 0; k < out[i].count; ++k) all.push_back({out[i].points[k].feature, out[i].normal, i, k});
  }
  std::sort(all.begin(), all.end(), [](const SurfaceWorkspace::Identity& a, const SurfaceWorkspace::Identity& b) {
    return std::make_tuple(a.id, a.normal.x(), a.normal.y(), a.normal.z(), a.manifold, a.point) <
           std::make_tuple(b.id, b.normal.x(), b.normal.y(), b.normal.z(), b.manifold, b.point);
  });
  std::uint64_t number = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    number = all[i].id == all[i - 1].id ? number + 1 : 0;
    if (number > 0) out[all[i].manifold].points[all[i].point].feature = mix_ids(all[i].id, number);
  }
}

}  // namespace touchstone
