#include "touchstone/sim/contact_cache.hpp"

#include <algorithm>
#include <limits>

#include "touchstone/base/index.hpp"
#include "touchstone/sim/constraints/contact.hpp"
#include "touchstone/sim/constraints/kinds.hpp"

namespace touchstone {
namespace {

// The smallest rotation that takes one unit vector to another. Those that point away from each other have none that
// would mean anything: nothing turns.
class Turn {
 public:
  Turn(Vec3 from, Vec3 to) : axis_(cross(from, to)), cosine_(dot(from, to)) {
    if (cosine_ > 0.0) return;
    axis_ = {};
    cosine_ = 1.0;
  }
  Vec3 operator()(Vec3 v) const { return v * cosine_ + cross(axis_, v) + axis_ * (dot(axis_, v) / (1.0 + cosine_)); }

 private:
  Vec3 axis_;
  double cosine_;
};

}  // namespace

ContactCache::Entry ContactCache::entry_of_block(const Constraints& c, std::span<const Contact> contacts,
                                                 const VectorX& lambda, const VectorX& u, int block) {
  const Constraint& constraint = c.list[at(block)];
  const double* rows = lambda.data() + c.blocks.row[at(block)];
  const double* speeds = u.data() + c.blocks.row[at(block)];
  Entry entry;
  entry.key = entry_of(constraint.kind).key(contacts, constraint);
  if (constraint.kind == ConstraintKind::kContact) {
    const ContactImpulse world = to_world(contacts[at(constraint.index)], rows);
    entry.impulse = world.force;
    entry.moment = world.torque;
    const ContactImpulse motion = to_world(contacts[at(constraint.index)], speeds);
    entry.velocity = motion.force;
    entry.spin = motion.torque;
    entry.position = contacts[at(constraint.index)].position;
    entry.normal = contacts[at(constraint.index)].normal();
  } else {
    for (int r = 0; r < c.blocks.size(block); ++r) {
      (r < 3 ? entry.impulse : entry.moment).lanes[r % 3] = rows[r];
      (r < 3 ? entry.velocity : entry.spin).lanes[r % 3] = speeds[r];
    }
  }
  return entry;
}

void ContactCache::sort() {
  // They come nearly in order: the points of a pair and the sides of limits are all that may not be.
  const auto before = [](const Entry& a, const Entry& b) { return a.key < b.key; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), before)) std::sort(entries_.begin(), entries_.end(), before);
}

void ContactCache::store(const Constraints& c, std::span<const Contact> contacts, const VectorX& lambda,
                         const VectorX& u) {
  entries_.clear();
  for (int block = 0; block < c.count(); ++block) entries_.push_back(entry_of_block(c, contacts, lambda, u, block));
  sort();
}

void ContactCache::keep(const Constraints& c, std::span<const Contact> contacts, const VectorX& lambda,
                        const VectorX& u, std::span<const int> blocks, int owner) {
  if (!released_.empty()) take_back();  // of an earlier owner with this number
  for (const int block : blocks) kept_.push_back({entry_of_block(c, contacts, lambda, u, block), owner});
}

void ContactCache::take_back() {
  std::sort(released_.begin(), released_.end());
  std::size_t rest = 0;
  for (const Kept& kept : kept_) {
    if (std::binary_search(released_.begin(), released_.end(), kept.owner)) {
      entries_.push_back(kept.entry);
    } else {
      kept_[rest++] = kept;
    }
  }
  kept_.resize(rest);
  released_.clear();
  sort();
}

int ContactCache::recall(const Constraints& c, std::span<const Contact> contacts, VectorX& lambda, VectorX& u) {
  if (!released_.empty()) take_back();
  for (Entry& entry : entries_) entry.taken = false;
  unknown_.clear();
  int known = 0;
  const auto use = [&](int block, Entry& entry) {
    const Constraint& constraint = c.list[at(block)];
    double* rows = lambda.data() + c.blocks.row[at(block)];
    double* speeds = u.data() + c.blocks.row[at(block)];
    entry.taken = true;
    ++known;
    if (constraint.kind == ConstraintKind::kContact) {
      const Contact& contact = contacts[at(constraint.index)];
      const Turn turn(entry.normal, contact.normal());
      to_rows(contact, {entry.impulse, entry.moment}, rows);
      to_rows(contact, {turn(entry.velocity), turn(entry.spin)}, speeds);
    } else {
      for (int r = 0; r < c.blocks.size(block); ++r) {
        rows[r] = (r < 3 ? entry.impulse : entry.moment)[r % 3];
        speeds[r] = (r < 3 ? entry.velocity : entry.spin)[r % 3];
      }
    }
  };
  auto next = entries_.begin();
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    double* rows = lambda.data() + c.blocks.row[at(block)];
    std::fill(rows, rows + c.blocks.size(block), 0.0);
    std::fill_n(u.data() + c.blocks.row[at(block)], c.blocks.size(block), std::numeric_limits<double>::quiet_NaN());
    const WarmStartKey key = entry_of(constraint.kind).key(contacts, constraint);
    // From step to step most blocks follow each other as they did.
    if (next == entries_.end() || !(next->key == key)) {
      next = std::lower_bound(entries_.begin(), entries_.end(), key,
                              [](const Entry& entry, const WarmStartKey& k) { return entry.key < k; });
    }
    if (next != entries_.end() && next->key == key) {
      use(block, *next++);
    } else if (constraint.kind == ConstraintKind::kContact) {
      unknown_.push_back(block);
    }
  }
  for (const int block : unknown_) {
    const Contact& contact = contacts[at(c.list[at(block)].index)];
    Entry* entry = nearest_free(ContactKind::key(contacts, c.list[at(block)]).owner, contact.position);
    if (entry != nullptr) use(block, *entry);
  }
  return known;
}

ContactCache::Entry* ContactCache::nearest_free(std::uint64_t owner, Vec3 position) {
  Entry* nearest = nullptr;
  double least = 0.0;
  auto entry = std::lower_bound(entries_.begin(), entries_.end(), WarmStartKey{owner, 0},
                                [](const Entry& e, const WarmStartKey& k) { return e.key < k; });
  for (; entry != entries_.end() && entry->key.owner == owner; ++entry) {
    const Vec3 d = entry->position - position;
    const double squared = dot(d, d);
    if (entry->taken || (nearest != nullptr && squared >= least)) continue;
    nearest = &*entry;
    least = squared;
  }
  return nearest;
}

}  // namespace touchstone
