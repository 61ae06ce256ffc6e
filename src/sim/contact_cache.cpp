#include "touchstone/sim/contact_cache.hpp"

#include <algorithm>

#include "touchstone/base/index.hpp"

namespace touchstone {
namespace {

// The rows of a contact are [t1, t2, spin, roll1, roll2, n] up to its dimension, the normal last.
void to_world(const Contact& contact, const double* lambda, Vec3& impulse, Vec3& moment) {
  const int m = contact.material.dimension;
  const Mat3& F = contact.frame;
  impulse = F.c2 * lambda[m - 1];
  moment = Vec3();
  if (m >= 3) impulse += F.c0 * lambda[0] + F.c1 * lambda[1];
  if (m >= 4) moment += F.c2 * lambda[2];
  if (m >= 6) moment += F.c0 * lambda[3] + F.c1 * lambda[4];
}

void to_rows(const Contact& contact, Vec3 impulse, Vec3 moment, double* lambda) {
  const int m = contact.material.dimension;
  const Mat3& F = contact.frame;
  lambda[m - 1] = dot(F.c2, impulse);
  if (m >= 3) {
    lambda[0] = dot(F.c0, impulse);
    lambda[1] = dot(F.c1, impulse);
  }
  if (m >= 4) lambda[2] = dot(F.c2, moment);
  if (m >= 6) {
    lambda[3] = dot(F.c0, moment);
    lambda[4] = dot(F.c1, moment);
  }
}

}  // namespace

ContactCache::Key ContactCache::key_of(const Constraint& c, std::span<const Contact> contacts) {
  if (c.kind == ConstraintKind::kContact) {
    const Contact& contact = contacts[at(c.index)];
    return {(static_cast<std::uint64_t>(contact.shape_a) << 32) | static_cast<std::uint32_t>(contact.shape_b),
            contact.feature};
  }
  constexpr std::uint64_t kNotAContact = 1ull << 63;
  return {kNotAContact | (static_cast<std::uint64_t>(c.kind) << 1) | static_cast<std::uint64_t>(c.side),
          static_cast<std::uint64_t>(c.index)};
}

void ContactCache::store(const Constraints& c, std::span<const Contact> contacts, const VectorX& lambda) {
  entries_.clear();
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    const double* rows = lambda.data() + c.blocks.row[at(block)];
    Entry entry;
    entry.key = key_of(constraint, contacts);
    if (constraint.kind == ConstraintKind::kContact) {
      to_world(contacts[at(constraint.index)], rows, entry.impulse, entry.moment);
      entry.position = contacts[at(constraint.index)].position;
    } else {
      for (int r = 0; r < c.blocks.size(block); ++r) (r < 3 ? entry.impulse : entry.moment).lanes[r % 3] = rows[r];
    }
    entries_.push_back(entry);
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
}

int ContactCache::recall(const Constraints& c, std::span<const Contact> contacts, VectorX& lambda) {
  for (Entry& entry : entries_) entry.taken = false;
  unknown_.clear();
  int known = 0;
  const auto use = [&](int block, Entry& entry) {
    const Constraint& constraint = c.list[at(block)];
    double* rows = lambda.data() + c.blocks.row[at(block)];
    entry.taken = true;
    ++known;
    if (constraint.kind == ConstraintKind::kContact) {
      to_rows(contacts[at(constraint.index)], entry.impulse, entry.moment, rows);
    } else {
      for (int r = 0; r < c.blocks.size(block); ++r) rows[r] = (r < 3 ? entry.impulse : entry.moment)[r % 3];
    }
  };
  for (int block = 0; block < c.count(); ++block) {
    const Constraint& constraint = c.list[at(block)];
    double* rows = lambda.data() + c.blocks.row[at(block)];
    std::fill(rows, rows + c.blocks.size(block), 0.0);
    const Key key = key_of(constraint, contacts);
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), key,
                                        [](const Entry& entry, const Key& k) { return entry.key < k; });
    if (found != entries_.end() && found->key == key) {
      use(block, *found);
    } else if (constraint.kind == ConstraintKind::kContact) {
      unknown_.push_back(block);
    }
  }
  for (const int block : unknown_) {
    const Contact& contact = contacts[at(c.list[at(block)].index)];
    Entry* entry = nearest_free(key_of(c.list[at(block)], contacts).owner, contact.position);
    if (entry != nullptr) use(block, *entry);
  }
  return known;
}

ContactCache::Entry* ContactCache::nearest_free(std::uint64_t owner, Vec3 position) {
  Entry* nearest = nullptr;
  double least = 0.0;
  auto entry = std::lower_bound(entries_.begin(), entries_.end(), Key{owner, 0},
                                [](const Entry& e, const Key& k) { return e.key < k; });
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
