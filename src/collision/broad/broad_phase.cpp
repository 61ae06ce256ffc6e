#include "touchstone/collision/broad/broad_phase.hpp"

#include <algorithm>

namespace touchstone {
namespace {

std::uint64_t key_of(int a, int b) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) | static_cast<std::uint32_t>(b);
}

std::uint64_t key_of(const BroadPhase::Pair& pair) { return key_of(pair.a, pair.b); }

// False for NaN as well as for crossed bounds.
bool in_order(const Aabb& box) { return aabb_lanes::all_less_equal(box.lower.lanes, box.upper.lanes); }

double largest_side(const Aabb& box) {
  const Vec3 d = box.upper - box.lower;
  return std::max({d.x(), d.y(), d.z()});
}

}  // namespace

BroadPhase::BroadPhase(const BroadPhaseOptions& options) : options_(options) {}

void BroadPhase::reserve(int proxies) {
  proxies_.reserve(index(proxies));
  moved_.reserve(index(proxies));
  moving_.reserve(proxies);
  fixed_.reserve(proxies);
}

Aabb BroadPhase::fatten(const Aabb& box, Vec3 displacement) const {
  return grown(swept(box, options_.prediction * displacement),
               options_.fat_margin + options_.fat_fraction * largest_side(box));
}

int BroadPhase::add(const Aabb& box, Kind kind) {
  const int proxy = size();
  proxies_.emplace_back();
  Proxy& p = proxies_.back();
  p.box = in_order(box) ? box : Aabb::empty();
  p.kind = kind;
  const Aabb start = in_order(box) ? box : Aabb();
  p.leaf = kind == Kind::kMoving ? moving_.insert(fatten(start, {}), proxy) : fixed_.insert(start, proxy);
  mark_moved(proxy);
  return proxy;
}

int BroadPhase::add_half_space(Vec3 normal, double offset, Kind kind) {
  const int proxy = size();
  proxies_.emplace_back();
  Proxy& p = proxies_.back();
  p.half_space = true;
  p.kind = kind;
  p.normal = normal;
  p.offset = offset;
  half_spaces_.push_back(proxy);
  mark_moved(proxy);
  return proxy;
}

void BroadPhase::mark_moved(int proxy) {
  Proxy& p = proxies_[index(proxy)];
  if (p.moved) return;
  p.moved = true;
  moved_.push_back(proxy);
}

void BroadPhase::update(int proxy, const Aabb& box, Vec3 displacement) {
  Proxy& p = proxies_[index(proxy)];
  if (!in_order(box)) {  // NaN must not reach the tree, where it would hide others
    p.box = Aabb::empty();
    return;
  }
  p.box = box;
  if (contains(fat_box(p), box)) return;
  AabbTree& tree = p.kind == Kind::kMoving ? moving_ : fixed_;
  tree.move(p.leaf, fatten(box, displacement));
  mark_moved(proxy);
}

void BroadPhase::update_half_space(int proxy, Vec3 normal, double offset) {
  Proxy& p = proxies_[index(proxy)];
  p.normal = normal;
  p.offset = offset;
  mark_moved(proxy);
}

const Aabb& BroadPhase::fat_box(const Proxy& proxy) const {
  return (proxy.kind == Kind::kMoving ? moving_ : fixed_).box(proxy.leaf);
}

// Of a box above a half-space: that of the corner farthest against the normal.
double BroadPhase::height(const Proxy& half_space, const Aabb& box) {
  const Vec3 n = half_space.normal;
  const Vec3 lowest(n.lanes > Lanes{} ? box.lower.lanes : box.upper.lanes);
  return dot(n, lowest) - half_space.offset;
}

bool BroadPhase::near(int a, int b) const {
  const Proxy &p = proxies_[index(a)], &q = proxies_[index(b)];
  if (p.half_space) return q.half_space || reaches(p, q.box);
  return q.half_space ? reaches(q, p.box) : overlap(p.box, q.box);
}

double BroadPhase::gap(const Pair& pair) const {
  const Proxy &p = proxies_[index(pair.a)], &q = proxies_[index(pair.b)];
  if (p.half_space && q.half_space) return 0.0;
  if (p.half_space || q.half_space) return p.half_space ? height(p, q.box) : height(q, p.box);
  const Lanes gaps = aabb_lanes::max(p.box.lower.lanes - q.box.upper.lanes, q.box.lower.lanes - p.box.upper.lanes);
  return std::max({gaps[0], gaps[1], gaps[2]});
}

bool BroadPhase::fat_boxes_meet(int a, int b) const {
  const Proxy &p = proxies_[index(a)], &q = proxies_[index(b)];
  if (p.half_space) return q.half_space || reaches(p, fat_box(q));
  return q.half_space ? reaches(q, fat_box(p)) : overlap(fat_box(p), fat_box(q));
}

void BroadPhase::propose(int a, int b, const PairFilter& filter) {
  const Proxy &p = proxies_[index(a)], &q = proxies_[index(b)];
  if (a == b || (p.kind == Kind::kFixed && q.kind == Kind::kFixed)) return;
  if (p.moved && q.moved && b < a) return;  // the other one proposes it
  const std::uint64_t key = key_of(std::min(a, b), std::max(a, b));
  const auto found = std::lower_bound(pairs_.begin(), pairs_.end(), key,
                                      [](const Pair& pair, std::uint64_t k) { return key_of(pair) < k; });
  if (found != pairs_.end() && key_of(*found) == key) return;
  if (filter.wanted(std::min(a, b), std::max(a, b))) proposals_.push_back(key);
}

void BroadPhase::find_pairs(const PairFilter& filter) {
  fresh_slots_.clear();
  if (moved_.empty()) return;
  drop_parted_pairs();
  proposals_.clear();
  std::sort(moved_.begin(), moved_.end());
  for (const int proxy : moved_) {
    const Proxy& p = proxies_[index(proxy)];
    if (p.half_space) {
      for (int other = 0; other < size(); ++other) {
        if (fat_boxes_meet(proxy, other)) propose(proxy, other, filter);
      }
      continue;
    }
    const Aabb& fat = fat_box(p);
    const auto visit = [&](int other) { propose(proxy, other, filter); };
    moving_.query(fat, visit);
    if (p.kind == Kind::kMoving) fixed_.query(fat, visit);
    for (const int half_space : half_spaces_) {
      if (reaches(proxies_[index(half_space)], fat)) propose(proxy, half_space, filter);
    }
  }
  for (const int proxy : moved_) proxies_[index(proxy)].moved = false;
  moved_.clear();
  merge_new_pairs();
}

void BroadPhase::drop_parted_pairs() {
  std::size_t kept = 0;
  for (const Pair& pair : pairs_) {
    const bool moved = proxies_[index(pair.a)].moved || proxies_[index(pair.b)].moved;
    if (moved && !fat_boxes_meet(pair.a, pair.b)) {
      free_slots_.push_back(pair.slot);
    } else {
      pairs_[kept++] = pair;
    }
  }
  pairs_.resize(kept);
}

void BroadPhase::merge_new_pairs() {
  if (proposals_.empty()) return;
  std::sort(proposals_.begin(), proposals_.end());
  merged_.clear();
  const std::size_t needed = pairs_.size() + proposals_.size();
  if (merged_.capacity() < needed) {  // all that grows with the pairs grows here, with room to spare
    merged_.reserve(2 * needed);
    pairs_.reserve(2 * needed);
    free_slots_.reserve(2 * needed);
    fresh_slots_.reserve(2 * needed);
    proposals_.reserve(2 * needed);
  }
  std::size_t old = 0;
  for (const std::uint64_t key : proposals_) {
    while (old < pairs_.size() && key_of(pairs_[old]) < key) merged_.push_back(pairs_[old++]);
    int slot = slot_count_;
    if (free_slots_.empty()) {
      ++slot_count_;
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
    }
    fresh_slots_.push_back(slot);
    merged_.push_back({static_cast<int>(key >> 32), static_cast<int>(key & 0xffffffffu), slot});
  }
  merged_.insert(merged_.end(), pairs_.begin() + static_cast<std::ptrdiff_t>(old), pairs_.end());
  pairs_.swap(merged_);
}

}  // namespace touchstone
