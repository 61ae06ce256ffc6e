// Impulses of the last step, and the velocities u that belonged to them, to start the next solve from.
//
// Contacts are known by their shapes and the feature that touches, limits and the rest by what they belong to. A
// contact with a new feature, as when a corner slides over an edge, takes the nearest impulse of its pair that no other
// contact wants. What belongs to contacts is kept in world axes, since contact frames turn: impulses, which balance
// gravity, stay as they are; velocities turn with the normal, or a fast slip would seem to approach or to separate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "touchstone/sim/constraints.hpp"
#include "touchstone/sim/constraints/kind.hpp"
#include "touchstone/sim/detection/contact.hpp"

namespace touchstone {

class ContactCache {
 public:
  void store(const Constraints& constraints, std::span<const Contact> contacts, const VectorX& lambda,
             const VectorX& u);
  // Fills lambda and u (nrow) with what is known, zero and not a number elsewhere. Returns how many blocks were known.
  int recall(const Constraints& constraints, std::span<const Contact> contacts, VectorX& lambda, VectorX& u);
  // Keeps the impulses of some blocks until they are asked for, however many steps that takes. `owner`: any number, to
  // ask by.
  void keep(const Constraints& constraints, std::span<const Contact> contacts, const VectorX& lambda, const VectorX& u,
            std::span<const int> blocks, int owner);
  // They count as those of the last step.
  void release(int owner) { released_.push_back(owner); }
  void clear() {
    entries_.clear();
    kept_.clear();
    released_.clear();
  }
  int size() const { return static_cast<int>(entries_.size()); }

 private:
  struct Entry {
    WarmStartKey key;
    Vec3 impulse, moment;   // contacts: in world axes; else the first and the last three rows
    Vec3 velocity, spin;    // u, in the same way
    Vec3 position, normal;  // of a contact, world
    bool taken = false;
  };
  struct Kept {
    Entry entry;
    int owner = 0;
  };
  static Entry entry_of_block(const Constraints& c, std::span<const Contact> contacts, const VectorX& lambda,
                              const VectorX& u, int block);
  void sort();
  void take_back();
  Entry* nearest_free(std::uint64_t owner, Vec3 position);

  std::vector<Entry> entries_;  // sorted by key
  std::vector<Kept> kept_;
  std::vector<int> released_;  // owners whose entries are still in kept_
  std::vector<int> unknown_;   // scratch: blocks whose key was not found
};

}  // namespace touchstone
