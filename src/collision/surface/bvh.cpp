#include "touchstone/collision/surface/bvh.hpp"

#include <cmath>
#include <limits>

namespace touchstone {
namespace {

constexpr int kLeafSize = 4;
constexpr int kBins = 16;
// Below this depth nodes are halved by count, which bounds the depth of the tree.
constexpr int kSahDepth = 32;

Vec3 smaller(Vec3 a, Vec3 b) { return Vec3(a.lanes < b.lanes ? a.lanes : b.lanes); }
Vec3 larger(Vec3 a, Vec3 b) { return Vec3(a.lanes > b.lanes ? a.lanes : b.lanes); }

struct Box {
  Vec3 lower, upper;
  int count = 0;

  void add(Vec3 low, Vec3 high) {
    lower = count > 0 ? smaller(lower, low) : low;
    upper = count > 0 ? larger(upper, high) : high;
    ++count;
  }
  void add(const Box& other) {
    if (other.count == 0) return;
    const int total = count + other.count;
    add(other.lower, other.upper);
    count = total;
  }
  double half_area() const {
    const Vec3 d = upper - lower;
    return count > 0 ? d.x() * d.y() + d.y() * d.z() + d.z() * d.x() : 0.0;
  }
};

}  // namespace

class Bvh::Builder {
 public:
  Builder(Bvh& tree, const std::vector<Bounds>& boxes) : tree_(tree), boxes_(boxes) {
    tree_.items_.resize(boxes.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) tree_.items_[i] = static_cast<int>(i);
    if (boxes.empty()) return;
    tree_.nodes_.reserve(2 * boxes.size());
    tree_.nodes_.emplace_back();
    fill(0, 0, static_cast<int>(boxes.size()), 0);
  }

 private:
  Box box_of(int item) const {
    const Bounds& b = boxes_[static_cast<std::size_t>(item)];
    return {Vec3(b.lower), Vec3(b.upper), 1};
  }
  Vec3 centre(int item) const {
    const Box b = box_of(item);
    return 0.5 * (b.lower + b.upper);
  }
  int* items() { return tree_.items_.data(); }

  void fill(int index, int first, int last, int depth) {
    Box all, centres;
    for (int k = first; k < last; ++k) {
      all.add(box_of(items()[k]));
      centres.add(centre(items()[k]), centre(items()[k]));
    }
    Node& node = tree_.nodes_[static_cast<std::size_t>(index)];
    node.lower = all.lower;
    node.upper = all.upper;
    const int middle = last - first <= kLeafSize ? first : split(first, last, centres, depth);
    if (middle <= first || middle >= last) {
      node.first = first;
      node.count = last - first;
      return;
    }
    const int left = static_cast<int>(tree_.nodes_.size());
    node.first = left;
    tree_.nodes_.emplace_back();
    tree_.nodes_.emplace_back();
    fill(left, first, middle, depth + 1);
    fill(left + 1, middle, last, depth + 1);
  }

  // Partitions the items and returns the first of the right side.
  int split(int first, int last, const Box& centres, int depth) {
    const Vec3 extent = centres.upper - centres.lower;
    const int axis = extent.x() >= extent.y() ? (extent.x() >= extent.z() ? 0 : 2) : (extent.y() >= extent.z() ? 1 : 2);
    if (depth < kSahDepth && extent[axis] > 0.0) {
      const int middle = split_by_area(first, last, axis, centres.lower[axis], extent[axis]);
      if (middle > first && middle < last) return middle;
    }
    const int middle = first + (last - first) / 2;
    std::nth_element(items() + first, items() + middle, items() + last, [&](int a, int b) {
      const double ca = centre(a)[axis], cb = centre(b)[axis];
      return ca != cb ? ca < cb : a < b;
    });
    return middle;
  }

  // The cut between bins with the least sum of area times count.
  int split_by_area(int first, int last, int axis, double low, double extent) {
    const auto bin = [&](int item) {
      return std::min(static_cast<int>((centre(item)[axis] - low) / extent * kBins), kBins - 1);
    };
    Box bins[kBins];
    for (int k = first; k < last; ++k) bins[bin(items()[k])].add(box_of(items()[k]));
    double right_cost[kBins];
    Box side;
    for (int b = kBins - 1; b > 0; --b) {
      side.add(bins[b]);
      right_cost[b] = side.half_area() * side.count;
    }
    side = Box();
    double least = std::numeric_limits<double>::infinity();
    int cut = 0;
    for (int b = 1; b < kBins; ++b) {
      side.add(bins[b - 1]);
      const double cost = side.half_area() * side.count + right_cost[b];
      if (side.count > 0 && side.count < last - first && cost < least) {
        least = cost;
        cut = b;
      }
    }
    const int* const middle =
        std::stable_partition(items() + first, items() + last, [&](int i) { return bin(i) < cut; });
    return static_cast<int>(middle - items());
  }

  Bvh& tree_;
  const std::vector<Bounds>& boxes_;
};

Bvh::Bvh(const std::vector<Bounds>& boxes) { Builder(*this, boxes); }

// Where the ray enters the box; larger than the limit when it does not.
double Bvh::entry(const Node& node, Vec3 origin, Vec3 direction, double limit) {
  double enter = 0.0, leave = limit;
  for (int k = 0; k < 3; ++k) {
    if (direction[k] == 0.0) {
      if (origin[k] < node.lower[k] || origin[k] > node.upper[k]) return std::numeric_limits<double>::infinity();
      continue;
    }
    const double a = (node.lower[k] - origin[k]) / direction[k], b = (node.upper[k] - origin[k]) / direction[k];
    enter = std::max(enter, std::min(a, b));
    leave = std::min(leave, std::max(a, b));
  }
  return enter <= leave * (1.0 + 1e-12) ? enter : std::numeric_limits<double>::infinity();
}

double Bvh::gap(const Node& node, Vec3 lower, Vec3 upper) {
  double squared = 0.0;
  for (int k = 0; k < 3; ++k) {
    const double d = std::max({node.lower[k] - upper[k], lower[k] - node.upper[k], 0.0});
    squared += d * d;
  }
  return std::sqrt(squared);
}

}  // namespace touchstone
