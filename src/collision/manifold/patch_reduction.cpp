// Four points for a whole contact patch: see reduce_patch in contact_patch.hpp.
//
// The four of largest area are found exactly, in O(n^2): the vertices of a convex polygon in order, every diagonal, and
// the farthest vertex on either side of it, which moves on monotonically with the diagonal's end. Area is a question of
// geometry alone, hence noise in the depths of a flat contact does not change the answer.
//
// Cost: O(n log n) for n points: those near each other are merged with the help of a grid, and a polygon of many
// corners is thinned out before the search.
#include <algorithm>
#include <cmath>

#include "touchstone/base/index.hpp"
#include "touchstone/collision/manifold/contact_patch.hpp"

namespace touchstone {
namespace {

// Points nearer to each other than this fraction of the patch are one.
constexpr double kMerge = 1e-2;
// Corners of a polygon with less area than this fraction of the patch's square are straight.
constexpr double kStraight = 1e-9;
// More points than these are merged with the help of a grid,
constexpr std::size_t kMany = 128;
// with so many cells to either side of the first point: the patch has 1 / kMerge at most, and their neighbours.
constexpr int kReach = 104, kSide = 2 * kReach + 1;
// Polygons of more corners are thinned out first.
constexpr int kDirections = 16;
// The previous points stay while they span this fraction of the patch (the largest four have at least 2/pi of it),
constexpr double kKeepArea = 0.55;
// and none of the others is deeper by this fraction of the size.
constexpr double kKeepDepth = 1e-6;

double twice_area(const PatchPoint& a, const PatchPoint& b, const PatchPoint& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

double distance2(const PatchPoint& a, const PatchPoint& b) {
  const double dx = a.x - b.x, dy = a.y - b.y;
  return dx * dx + dy * dy;
}

// A vertex is a better name than an edge, and one of A than one of B: which of two equal places stays.
int rank(const PatchPoint& p) {
  const auto is_point = [](const FeatureName& n) { return n.type == FeatureType::kVertex; };
  if (is_point(p.A)) return 0;
  if (is_point(p.B)) return 1;
  if (p.A.type == FeatureType::kSmooth && p.B.type == FeatureType::kFace) return 2;
  return p.B.type == FeatureType::kSmooth && p.A.type == FeatureType::kFace ? 3 : 4;
}
constexpr int kRanks = 5;

class Reduction {
 public:
  Reduction(double size, PatchWorkspace& workspace) : size_(size), work_(workspace), points_(workspace.points) {}

  int run(double margin, const std::uint64_t* previous, int previous_count) {
    std::erase_if(points_, [&](const PatchPoint& p) { return !(p.gap() <= margin); });
    if (points_.size() <= 1) return static_cast<int>(points_.size());
    find_deepest();
    span_ = 0.0;
    for (const PatchPoint& p : points_) span_ = std::max(span_, std::sqrt(distance2(p, points_[0])));
    merge();
    if (work_.kept.size() > 4) {
      make_hull();
      if (previous_count != 4 || !keep_previous(previous)) {
        if (hull_size() > kDirections) thin_out();
        largest_quadrilateral();
      }
    }
    include_deepest();
    std::swap(points_, work_.kept);
    return static_cast<int>(points_.size());
  }

 private:
  void find_deepest() {
    deepest_ = points_[0];
    for (const PatchPoint& p : points_) {
      if (p.gap() < deepest_.gap()) deepest_ = p;
    }
  }

  double merge_radius() const { return std::max(kMerge * span_, kTie * size_); }

  void merge() {
    work_.kept.clear();
    const bool by_cells = points_.size() > kMany;
    if (by_cells) clear_cells();
    for (int wanted = 0; wanted < kRanks; ++wanted) {
      for (const PatchPoint& p : points_) {
        if (rank(p) != wanted || (by_cells ? near_in_cells(p) : near_a_kept_point(p))) continue;
        if (by_cells) enter_cell(p);
        work_.kept.push_back(p);
      }
    }
  }

  // The grid of kept points: cells a little wider than the radius, so that all that is near lies in neighbouring cells.
  // The points of one cell are linked; as they are not near each other they are few.
  void clear_cells() {
    work_.cells.assign(at(kSide) * at(kSide), -1);
    work_.next_in_cell.clear();
    cell_width_ = 1.01 * merge_radius();
  }

  void enter_cell(const PatchPoint& p) {
    int& first = work_.cells[cell_of(p)];
    work_.next_in_cell.push_back(first);
    first = static_cast<int>(work_.kept.size());
  }

  std::size_t cell_of(const PatchPoint& p) const {
    const auto along = [&](double offset) {
      const double cell = std::floor(offset / cell_width_);
      if (!(cell > 1 - kReach)) return at(1);  // also for NaN
      return cell < kReach - 1 ? at(static_cast<int>(cell) + kReach) : at(kSide - 2);
    };
    return along(p.x - points_[0].x) * at(kSide) + along(p.y - points_[0].y);
  }

  bool near_in_cells(const PatchPoint& p) {
    const double radius = merge_radius(), radius2 = radius * radius;
    const std::size_t centre = cell_of(p);
    for (const std::size_t row : {centre - at(kSide), centre, centre + at(kSide)}) {
      for (const std::size_t cell : {row - 1, row, row + 1}) {
        for (int k = work_.cells[cell]; k >= 0; k = work_.next_in_cell[at(k)]) {
          ++work_.comparisons;
          if (distance2(p, kept(k)) <= radius2) return true;
        }
      }
    }
    return false;
  }

  bool near_a_kept_point(const PatchPoint& p) {
    const double radius = merge_radius(), radius2 = radius * radius;
    work_.comparisons += work_.kept.size();
    return std::any_of(work_.kept.begin(), work_.kept.end(),
                       [&](const PatchPoint& q) { return distance2(p, q) <= radius2; });
  }

  const PatchPoint& kept(int i) const { return work_.kept[at(i)]; }
  const PatchPoint& corner(int i) const { return kept(work_.hull[at(i % hull_size())]); }
  int hull_size() const { return static_cast<int>(work_.hull.size()); }

  // Andrew's monotone chain.
  void make_hull() {
    std::vector<PatchPoint>& p = work_.kept;
    std::sort(p.begin(), p.end(),
              [](const PatchPoint& a, const PatchPoint& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
    std::vector<int>& hull = work_.hull;
    hull.clear();
    const int count = static_cast<int>(p.size());
    const double straight = kStraight * span_ * span_;
    const auto grow = [&](int i, std::size_t start) {
      while (hull.size() >= start + 2 &&
             twice_area(kept(hull[hull.size() - 2]), kept(hull.back()), kept(i)) <= straight) {
        hull.pop_back();
      }
      hull.push_back(i);
    };
    for (int i = 0; i < count; ++i) grow(i, 0);
    hull.pop_back();
    const std::size_t start = hull.size();
    for (int i = count - 1; i >= 0; --i) grow(i, start);
    hull.pop_back();
  }

  void largest_quadrilateral() {
    const int n = hull_size();
    int best[4] = {0, 1, 2, 3};
    if (n > 4) {
      double most = -1.0;
      for (int i = 0; i < n - 2; ++i) {
        for (int k = i + 2, j = i + 1, l = i + 3; k < n; ++k) {
          l = std::max(l, k + 1);
          while (j + 1 < k &&
                 twice_area(corner(i), corner(j + 1), corner(k)) > twice_area(corner(i), corner(j), corner(k)))
            ++j;
          while (l + 1 < i + n &&
                 twice_area(corner(i), corner(k), corner(l + 1)) > twice_area(corner(i), corner(k), corner(l)))
            ++l;
          const double other = l < i + n ? twice_area(corner(i), corner(k), corner(l)) : 0.0;
          const double area = twice_area(corner(i), corner(j), corner(k)) + other;
          if (area > most * (1.0 + 1e-12)) {
            most = area;
            best[0] = i, best[1] = j, best[2] = k, best[3] = l % n;
          }
        }
      }
    }
    const int chosen = std::min(n, 4);
    PatchPoint result[4];
    for (int k = 0; k < chosen; ++k) result[k] = corner(best[k]);
    work_.kept.assign(result, result + chosen);
  }

  // Twice the area of four points in order.
  static double area_of(const PatchPoint* p) { return twice_area(p[0], p[1], p[2]) + twice_area(p[0], p[2], p[3]); }

  // The previous four, when they are all there still, in convex order, large and deep enough.
  bool keep_previous(const std::uint64_t* previous) {
    PatchPoint old[4];
    double least = deepest_.gap() + 2.0 * kKeepDepth * size_;
    for (int k = 0; k < 4; ++k) {
      const auto found = std::find_if(points_.begin(), points_.end(),
                                      [&](const PatchPoint& p) { return feature_id(p.A, p.B) == previous[k]; });
      if (found == points_.end()) return false;
      old[k] = *found;
      least = std::min(least, old[k].gap());
    }
    if (least > deepest_.gap() + kKeepDepth * size_ || std::abs(area_of(old)) < kKeepArea * hull_area()) return false;
    work_.kept.assign(old, old + 4);
    keeps_previous_ = true;
    return true;
  }

  double hull_area() const {
    double area = 0.0;
    for (int k = 1; k + 1 < hull_size(); ++k) area += twice_area(corner(0), corner(k), corner(k + 1));
    return area;
  }

  // Keeps the corners farthest in kDirections directions: a polygon of at least 97 % of the area.
  void thin_out() {
    std::vector<int>& hull = work_.hull;
    std::size_t used = 0;
    int chosen[kDirections];
    for (int d = 0; d < kDirections; ++d) {
      const double angle = 2.0 * 3.14159265358979323846 * d / kDirections, x = std::cos(angle), y = std::sin(angle);
      int best = 0;
      for (int k = 1; k < hull_size(); ++k) {
        if (x * corner(k).x + y * corner(k).y > x * corner(best).x + y * corner(best).y) best = k;
      }
      chosen[d] = best;
    }
    std::sort(chosen, chosen + kDirections);
    for (int d = 0; d < kDirections; ++d) {
      if (d == 0 || chosen[d] != chosen[d - 1]) hull[used++] = hull[at(chosen[d])];
    }
    hull.resize(used);
  }

  // In the place of the point whose loss costs least area.
  void include_deepest() {
    if (keeps_previous_) return;
    for (const PatchPoint& p : work_.kept) {
      if (p.gap() <= deepest_.gap() + kDepthTie * size_) return;
    }
    if (work_.kept.size() < 4 && !near_a_kept_point(deepest_)) {
      work_.kept.push_back(deepest_);
      return;
    }
    std::size_t nearest = 0;
    for (std::size_t k = 1; k < work_.kept.size(); ++k) {
      if (distance2(work_.kept[k], deepest_) < distance2(work_.kept[nearest], deepest_)) nearest = k;
    }
    work_.kept[nearest] = deepest_;
  }

  const double size_;
  PatchWorkspace& work_;
  std::vector<PatchPoint>& points_;
  PatchPoint deepest_;
  double span_ = 0.0, cell_width_ = 0.0;
  bool keeps_previous_ = false;
};

// The finaliser of splitmix64 (Steele, Lea, Flood, 2014): every bit of the input changes half of the output.
std::uint64_t scramble(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

std::uint64_t key(const FeatureName& name) {
  const auto word = [](int i) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(i)); };
  if (name.type == FeatureType::kFace) return 2;
  return scramble(word(name.first) << 32 | word(name.second)) + static_cast<std::uint64_t>(name.type);
}

}  // namespace

std::uint64_t mix_ids(std::uint64_t id, std::uint64_t more) { return scramble(id ^ scramble(more)); }

std::uint64_t feature_id(const FeatureName& A, const FeatureName& B) { return mix_ids(key(A), key(B)); }

int reduce_patch(double margin, double size, const std::uint64_t* previous, int previous_count,
                 PatchWorkspace& workspace) {
  return Reduction(size, workspace).run(margin, previous, previous_count);
}

}  // namespace touchstone
