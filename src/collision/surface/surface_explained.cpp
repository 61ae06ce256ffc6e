#include "touchstone/collision/surface/surface_explained.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace touchstone {
namespace {

using Batch = SurfaceWorkspace::Batch;
using Plane = SurfaceWorkspace::Plane;
using Node = SurfaceWorkspace::PlaneNode;

class Explanations {
 public:
  Explanations(const SurfacePartner& partner, std::size_t first, SurfaceWorkspace& workspace)
      : work_(workspace), tolerance_(kTie * partner.shape.extent()) {
    work_.planes.clear();
    double farthest = 0.0;
    for (std::size_t i = first; i < work_.batches.size(); ++i) {
      const Batch& batch = work_.batches[i];
      if (!finite(batch.normal)) continue;
      int vertex = -1;
      const Vec3 d = transpose_times(partner.X_SB.R, -batch.normal);
      const Vec3 lowest = partner.X_SB * partner.shape.support(d, vertex);
      work_.planes.push_back({batch.normal, lowest, batch.least, i});
      farthest = std::max(farthest, norm(lowest));
      for (const Vec3 corner : batch.corners) farthest = std::max(farthest, norm(corner));
    }
    room_ = tolerance_ + kRounding * farthest;
    work_.plane_nodes.clear();
    if (!work_.planes.empty()) build(0, 0, work_.planes.size());
  }

  bool explain(const Batch& doubtful) {
    if (work_.planes.empty()) return false;
    doubtful_ = &doubtful;
    return search(0, 0, work_.planes.size());
  }

 private:
  static constexpr double kRounding = 1e-12;

  // Children of node k are 2k + 1 and 2k + 2, with half of its planes each.
  void build(std::size_t index, std::size_t begin, std::size_t end) {
    if (work_.plane_nodes.size() <= index) work_.plane_nodes.resize(index + 1);
    Node node;
    node.lower = node.upper = work_.planes[begin].normal;
    node.least = node.height = -std::numeric_limits<double>::infinity();
    for (std::size_t i = begin; i < end; ++i) node.origin += work_.batches[work_.planes[i].batch].corners[0];
    node.origin = node.origin * (1.0 / static_cast<double>(end - begin));
    for (std::size_t i = begin; i < end; ++i) {
      const Plane& p = work_.planes[i];
      node.lower = Vec3(p.normal.lanes < node.lower.lanes ? p.normal.lanes : node.lower.lanes);
      node.upper = Vec3(p.normal.lanes > node.upper.lanes ? p.normal.lanes : node.upper.lanes);
      node.least = std::max(node.least, p.least);
      node.height = std::max(node.height, dot(p.normal, p.lowest - node.origin) - p.least);
    }
    work_.plane_nodes[index] = node;
    if (end - begin <= kFewContacts) return;
    const Vec3 size = node.upper - node.lower;
    const int axis = size.x() >= size.y() ? (size.x() >= size.z() ? 0 : 2) : (size.y() >= size.z() ? 1 : 2);
    const auto at = [&](std::size_t i) { return work_.planes.begin() + static_cast<std::ptrdiff_t>(i); };
    const std::size_t middle = begin + (end - begin) / 2;
    std::nth_element(at(begin), at(middle), at(end),
                     [&](const Plane& a, const Plane& b) { return a.normal[axis] < b.normal[axis]; });
    build(2 * index + 1, begin, middle);
    build(2 * index + 2, middle, end);
  }

  bool search(std::size_t index, std::size_t begin, std::size_t end) {
    ++work_.comparisons;
    if (!may_explain(work_.plane_nodes[index])) return false;
    if (end - begin <= kFewContacts) {
      work_.comparisons += end - begin;
      return std::any_of(work_.planes.begin() + static_cast<std::ptrdiff_t>(begin),
                         work_.planes.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](const Plane& p) { return explains(p); });
    }
    const std::size_t middle = begin + (end - begin) / 2;
    return search(2 * index + 1, begin, middle) || search(2 * index + 2, middle, end);
  }

  bool may_explain(const Node& node) const {
    if (node.least < doubtful_->least + tolerance_) return false;
    for (const Vec3 corner : doubtful_->corners) {
      const Vec3 arm = corner - node.origin;
      const Lanes a = node.lower.lanes * arm.lanes, b = node.upper.lanes * arm.lanes;
      if (node.height - sum(a < b ? a : b) < -room_) return false;
    }
    return true;
  }

  bool explains(const Plane& shorter) const {
    const Batch& batch = work_.batches[shorter.batch];
    if (shorter.least < doubtful_->least + tolerance_ || batch.dropped || &batch == doubtful_) return false;
    double highest = dot(shorter.normal, doubtful_->corners[0]);
    for (int k = 1; k < 3; ++k) highest = std::max(highest, dot(shorter.normal, doubtful_->corners[k]));
    return dot(shorter.normal, shorter.lowest) - highest >= shorter.least - tolerance_;
  }

  SurfaceWorkspace& work_;
  const double tolerance_;
  const Batch* doubtful_ = nullptr;
  double room_ = 0.0;  // by which a bound may fail
};

}  // namespace

void drop_explained(const SurfacePartner& partner, std::size_t first, SurfaceWorkspace& workspace) {
  std::vector<Batch>& batches = workspace.batches;
  const auto is_doubtful = [](const Batch& batch) { return !batch.proven; };
  if (batches.size() < first + 2) return;
  if (std::none_of(batches.begin() + static_cast<std::ptrdiff_t>(first), batches.end(), is_doubtful)) return;
  Explanations explanations(partner, first, workspace);
  for (std::size_t i = first; i < batches.size(); ++i) {
    if (is_doubtful(batches[i])) batches[i].dropped = explanations.explain(batches[i]);
  }
}

}  // namespace touchstone
