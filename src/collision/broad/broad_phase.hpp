// Which of many boxes may touch: the broad phase.
//
// Method: each proxy keeps a fat box in a tree (aabb_tree.hpp). A proxy that stays in its fat box costs one comparison;
// one that leaves it is put back with a new fat box and asks the trees for its partners. Pairs live as long as their
// fat boxes overlap, so that in a slow scene almost nothing is done. Fixed proxies have a tree of their own, and never
// meet each other. Half-spaces are no boxes: they are kept beside the trees and meet every moving proxy whose box
// reaches below them. Order: pairs come sorted by proxy, whatever the order of the updates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/collision/broad/aabb_tree.hpp"
#include "touchstone/collision/narrow/query_options.hpp"

namespace touchstone {

// Says which pairs are wanted. Asked once when a pair is first found; a pair that it refuses is not kept.
class PairFilter {
 public:
  virtual ~PairFilter() = default;
  virtual bool wanted(int a, int b) const = 0;
};

class BroadPhase {
 public:
  enum class Kind : std::uint8_t { kFixed, kMoving };

  explicit BroadPhase(const BroadPhaseOptions& options = {});

  // Proxies are numbered 0, 1, ... in the order they are added.
  int add(const Aabb& box, Kind kind);
  // The half-space normal.x <= offset.
  int add_half_space(Vec3 normal, double offset, Kind kind = Kind::kFixed);
  void reserve(int proxies);

  // The proxy is in `box` now and moves by about `displacement` in a step. A box with NaN is near nothing.
  void update(int proxy, const Aabb& box, Vec3 displacement = {});
  void update_half_space(int proxy, Vec3 normal, double offset);

  struct Pair {
    int a = 0, b = 0;  // proxies, a < b
    int slot = 0;      // a small number that the pair keeps for life: where the caller keeps what it knows of the pair
  };

  // Brings the pairs up to date with the updates since the last call.
  void find_pairs(const PairFilter& filter);

  // Pairs whose fat boxes overlap, sorted by (a, b).
  std::span<const Pair> pairs() const { return pairs_; }
  // Whether the boxes themselves overlap, as last updated.
  bool near(const Pair& pair) const { return near(pair.a, pair.b); }
  bool near(int a, int b) const;
  // A lower bound of the distance of what is in the boxes, as last updated: their largest gap along an axis.
  double gap(const Pair& pair) const;
  // All slots are below this.
  int slot_count() const { return slot_count_; }
  // Slots that were given to new pairs by the last find_pairs: what the caller knew under them is of other pairs.
  std::span<const int> fresh_slots() const { return fresh_slots_; }

  int size() const { return static_cast<int>(proxies_.size()); }
  const Aabb& box(int proxy) const { return proxies_[index(proxy)].box; }

  // Calls visit(proxy) for each proxy whose box overlaps `box`; half-spaces that reach into it included.
  template <class Visit>
  void query(const Aabb& box, Visit&& visit) const {
    const auto in_tree = [&](int proxy) {
      if (overlap(proxies_[index(proxy)].box, box)) visit(proxy);
    };
    moving_.query(box, in_tree);
    fixed_.query(box, in_tree);
    for (const int proxy : half_spaces_) {
      if (reaches(proxies_[index(proxy)], box)) visit(proxy);
    }
  }

  // length = visit(proxy, length) for each proxy that the ray may hit; see AabbTree::raycast.
  template <class Visit>
  void raycast(Vec3 origin, Vec3 direction, double length, Visit&& visit) const {
    for (const int proxy : half_spaces_) length = visit(proxy, length);
    const auto shorten = [&](int proxy, double rest) { return length = visit(proxy, rest); };
    moving_.raycast(origin, direction, length, shorten);
    fixed_.raycast(origin, direction, length, shorten);
  }

 private:
  struct Proxy {
    Aabb box;
    Vec3 normal;          // of a half-space
    double offset = 0.0;  // of a half-space
    int leaf = -1;        // in its tree; -1 for half-spaces
    Kind kind = Kind::kMoving;
    bool half_space = false;
    bool moved = false;  // has a new fat box since the last find_pairs
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static double height(const Proxy& half_space, const Aabb& box);
  static bool reaches(const Proxy& half_space, const Aabb& box) { return height(half_space, box) <= 0.0; }
  const Aabb& fat_box(const Proxy& proxy) const;
  bool fat_boxes_meet(int a, int b) const;
  Aabb fatten(const Aabb& box, Vec3 displacement) const;
  void mark_moved(int proxy);
  void propose(int a, int b, const PairFilter& filter);
  void drop_parted_pairs();
  void merge_new_pairs();

  BroadPhaseOptions options_;
  AabbTree moving_, fixed_;
  std::vector<Proxy> proxies_;
  std::vector<int> half_spaces_;
  std::vector<int> moved_;
  std::vector<Pair> pairs_, merged_;
  std::vector<std::uint64_t> proposals_;
  std::vector<int> free_slots_, fresh_slots_;
  int slot_count_ = 0;
};

}  // namespace touchstone
