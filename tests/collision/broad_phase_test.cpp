#include "touchstone/collision/broad/broad_phase.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "collision/collision_support.hpp"
#include "support/allocation_guard.hpp"

namespace touchstone {
namespace {

using test::Random;
using test::uniform;

Aabb random_box(Random& random, double world, double size) {
  const Vec3 centre(uniform(random, -world, world), uniform(random, -world, world), uniform(random, -world, world));
  const Vec3 half(uniform(random, 0.1, 1.0) * size, uniform(random, 0.1, 1.0) * size, uniform(random, 0.1, 1.0) * size);
  return {centre - half, centre + half};
}

class AllPairs : public PairFilter {
 public:
  bool wanted(int, int) const override { return true; }
};

using PairSet = std::set<std::pair<int, int>>;

PairSet near_pairs(const BroadPhase& broad) {
  PairSet result;
  for (const BroadPhase::Pair& pair : broad.pairs()) {
    if (broad.near(pair)) result.insert({pair.a, pair.b});
  }
  return result;
}

TEST(AabbTree, FindsWhatALoopFinds) {
  Random random(1);
  AabbTree tree;
  std::vector<Aabb> boxes;
  std::vector<int> leaves;
  for (int i = 0; i < 500; ++i) {
    boxes.push_back(random_box(random, 10.0, 1.0));
    leaves.push_back(tree.insert(boxes.back(), i));
  }
  std::vector<bool> present(boxes.size(), true);
  for (int round = 0; round < 2000; ++round) {
    const auto i = static_cast<std::size_t>(random() % boxes.size());
    if (!present[i]) {
      leaves[i] = tree.insert(boxes[i], static_cast<int>(i));
      present[i] = true;
    } else if (random() % 3 == 0) {
      tree.remove(leaves[i]);
      present[i] = false;
    } else {
      boxes[i] = random_box(random, 10.0, 1.0);
      tree.move(leaves[i], boxes[i]);
    }
    if (round % 20 != 0) continue;
    ASSERT_TRUE(tree.valid());
    const Aabb probe = random_box(random, 10.0, 3.0);
    std::vector<int> found, expected;
    tree.query(probe, [&](int item) { found.push_back(item); });
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      if (present[k] && overlap(boxes[k], probe)) expected.push_back(static_cast<int>(k));
    }
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected);
  }
  EXPECT_EQ(tree.leaf_count(), std::count(present.begin(), present.end(), true));
}

TEST(AabbTree, StaysLowForSortedBoxes) {
  AabbTree tree;
  for (int i = 0; i < 4096; ++i) {
    const Vec3 p(static_cast<double>(i), 0.0, 0.0);
    tree.insert({p, p + Vec3(0.9, 0.9, 0.9)}, i);
  }
  ASSERT_TRUE(tree.valid());
  EXPECT_LE(tree.height(), 40);  // 12 would be perfect
}

TEST(AabbTree, EqualBoxesDoNotOverflowTheStack) {
  AabbTree tree;
  const Aabb box(Vec3(0, 0, 0), Vec3(1, 1, 1));
  for (int i = 0; i < 1000; ++i) tree.insert(box, i);
  ASSERT_TRUE(tree.valid());
  EXPECT_LE(tree.height(), 120);
  int count = 0;
  tree.query(box, [&](int) { ++count; });
  EXPECT_EQ(count, 1000);
}

TEST(AabbTree, RayFindsTheFirstBox) {
  Random random(2);
  AabbTree tree;
  std::vector<Aabb> boxes;
  for (int i = 0; i < 300; ++i) {
    boxes.push_back(random_box(random, 10.0, 0.7));
    tree.insert(boxes.back(), i);
  }
  for (int round = 0; round < 500; ++round) {
    const Vec3 origin(uniform(random, -12, 12), uniform(random, -12, 12), uniform(random, -12, 12));
    Vec3 direction(test::random_unit(random));
    if (round % 5 == 0) direction = Vec3(1, 0, 0);  // parallel to four faces
    const Vec3 inverse(1.0 / direction.x(), 1.0 / direction.y(), 1.0 / direction.z());
    double expected = 30.0;
    for (const Aabb& box : boxes) expected = std::min(expected, ray_entry(box, origin, inverse, 30.0));
    double nearest = 30.0;
    int visits = 0;
    tree.raycast(origin, direction, 30.0, [&](int item, double length) {
      ++visits;
      nearest = std::min(length, ray_entry(boxes[static_cast<std::size_t>(item)], origin, inverse, length));
      return nearest;
    });
    ASSERT_EQ(nearest, expected);
    ASSERT_LT(visits, 40);
  }
}

TEST(RayEntry, KnownCases) {
  const Aabb box(Vec3(1, -1, -1), Vec3(2, 1, 1));
  const Vec3 along_x(1.0, kInfinity, kInfinity);
  EXPECT_EQ(ray_entry(box, Vec3(0, 0, 0), along_x, 10.0), 1.0);
  EXPECT_EQ(ray_entry(box, Vec3(1.5, 0, 0), along_x, 10.0), 0.0);
  EXPECT_EQ(ray_entry(box, Vec3(0, 0, 0), along_x, 0.5), kInfinity);
  EXPECT_EQ(ray_entry(box, Vec3(0, 3, 0), along_x, 10.0), kInfinity);
  EXPECT_EQ(ray_entry(box, Vec3(3, 0, 0), along_x, 10.0), kInfinity);
}

// Boxes that walk at random: near pairs must be those of the double loop at every step.
TEST(BroadPhase, EqualsTheDoubleLoopWhileBoxesMove) {
  Random random(3);
  BroadPhase broad;
  std::vector<Aabb> boxes;
  std::vector<BroadPhase::Kind> kinds;
  for (int i = 0; i < 150; ++i) {
    boxes.push_back(random_box(random, 4.0, 0.6));
    kinds.push_back(i % 4 == 0 ? BroadPhase::Kind::kFixed : BroadPhase::Kind::kMoving);
    broad.add(boxes.back(), kinds.back());
  }
  const int plane = broad.add_half_space(Vec3(0, 0, 1), -3.0);
  const AllPairs all;
  for (int step = 0; step < 300; ++step) {
    const double reach = step % 50 == 0 ? 3.0 : 0.05;  // now and then a jump
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (kinds[i] == BroadPhase::Kind::kFixed) continue;
      const Vec3 motion(reach * test::random_unit(random));
      boxes[i] = {boxes[i].lower + motion, boxes[i].upper + motion};
      broad.update(static_cast<int>(i), boxes[i], motion);
    }
    broad.find_pairs(all);
    PairSet expected;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      for (std::size_t j = i + 1; j < boxes.size(); ++j) {
        const bool both_fixed = kinds[i] == BroadPhase::Kind::kFixed && kinds[j] == BroadPhase::Kind::kFixed;
        if (!both_fixed && overlap(boxes[i], boxes[j])) expected.insert({static_cast<int>(i), static_cast<int>(j)});
      }
      if (kinds[i] == BroadPhase::Kind::kMoving && boxes[i].lower.z() <= -3.0) {
        expected.insert({static_cast<int>(i), plane});
      }
    }
    ASSERT_EQ(near_pairs(broad), expected) << "step " << step;
    ASSERT_TRUE(std::is_sorted(broad.pairs().begin(), broad.pairs().end(),
                               [](const auto& p, const auto& q) { return std::pair(p.a, p.b) < std::pair(q.a, q.b); }));
  }
}

TEST(BroadPhase, SlotsArePrivateAndFollowTheirPairs) {
  Random random(4);
  BroadPhase broad;
  for (int i = 0; i < 60; ++i) broad.add(random_box(random, 2.0, 0.5), BroadPhase::Kind::kMoving);
  const AllPairs all;
  std::vector<std::pair<int, int>> owner;  // by slot
  for (int step = 0; step < 200; ++step) {
    for (int i = 0; i < 60; ++i) {
      const Vec3 motion(0.05 * test::random_unit(random));
      broad.update(i, {broad.box(i).lower + motion, broad.box(i).upper + motion});
    }
    broad.find_pairs(all);
    owner.resize(static_cast<std::size_t>(broad.slot_count()), {-1, -1});
    for (const int slot : broad.fresh_slots()) owner[static_cast<std::size_t>(slot)] = {-1, -1};
    std::set<int> used;
    for (const BroadPhase::Pair& pair : broad.pairs()) {
      ASSERT_TRUE(used.insert(pair.slot).second);
      auto& known = owner[static_cast<std::size_t>(pair.slot)];
      const auto current = std::pair(pair.a, pair.b);
      if (known.first < 0) known = current;
      ASSERT_EQ(known, current);
    }
  }
}

TEST(BroadPhase, PairsDoNotDependOnTheOrderOfUpdates) {
  Random random(5);
  BroadPhase forward, backward;
  std::vector<Aabb> boxes;
  for (int i = 0; i < 80; ++i) {
    boxes.push_back(random_box(random, 2.0, 0.4));
    forward.add(boxes.back(), BroadPhase::Kind::kMoving);
    backward.add(boxes.back(), BroadPhase::Kind::kMoving);
  }
  const AllPairs all;
  for (int step = 0; step < 50; ++step) {
    for (Aabb& box : boxes) {
      const Vec3 motion(0.1 * test::random_unit(random));
      box = {box.lower + motion, box.upper + motion};
    }
    for (int i = 0; i < 80; ++i) forward.update(i, boxes[static_cast<std::size_t>(i)]);
    for (int i = 79; i >= 0; --i) backward.update(i, boxes[static_cast<std::size_t>(i)]);
    forward.find_pairs(all);
    backward.find_pairs(all);
    ASSERT_EQ(near_pairs(forward), near_pairs(backward));
  }
}

TEST(BroadPhase, AsksTheFilterAndKeepsNothingItRefuses) {
  class Odd : public PairFilter {
   public:
    bool wanted(int a, int b) const override { return (a + b) % 2 == 1; }
  };
  BroadPhase broad;
  const Aabb box(Vec3(0, 0, 0), Vec3(1, 1, 1));
  for (int i = 0; i < 6; ++i) broad.add(box, BroadPhase::Kind::kMoving);
  broad.find_pairs(Odd());
  EXPECT_EQ(broad.pairs().size(), 9u);
  for (const BroadPhase::Pair& pair : broad.pairs()) EXPECT_EQ((pair.a + pair.b) % 2, 1);
}

TEST(BroadPhase, NotANumberHidesNobody) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  BroadPhase broad;
  const Aabb box(Vec3(0, 0, 0), Vec3(1, 1, 1));
  for (int i = 0; i < 4; ++i) broad.add(box, BroadPhase::Kind::kMoving);
  const AllPairs all;
  broad.update(1, {Vec3(nan, 0, 0), Vec3(1, nan, 1)});
  broad.find_pairs(all);
  EXPECT_EQ(near_pairs(broad), (PairSet{{0, 2}, {0, 3}, {2, 3}}));
  broad.update(1, box);
  broad.find_pairs(all);
  EXPECT_EQ(near_pairs(broad).size(), 6u);
}

TEST(BroadPhase, InfiniteBoxesMeetEverything) {
  const double infinity = std::numeric_limits<double>::infinity();
  BroadPhase broad;
  Random random(6);
  for (int i = 0; i < 30; ++i) broad.add(random_box(random, 10.0, 0.1), BroadPhase::Kind::kMoving);
  const Vec3 far(infinity, infinity, infinity);
  broad.add({-far, far}, BroadPhase::Kind::kFixed);
  broad.find_pairs(AllPairs());
  int with_infinite = 0;
  for (const auto& [a, b] : near_pairs(broad)) with_infinite += b == 30 ? 1 : 0;
  EXPECT_EQ(with_infinite, 30);
}

TEST(BroadPhase, DoesNotAllocateOnceWarm) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  Random random(7);
  BroadPhase broad;
  std::vector<Aabb> boxes;
  for (int i = 0; i < 300; ++i) {
    boxes.push_back(random_box(random, 3.0, 0.3));
    broad.add(boxes.back(), BroadPhase::Kind::kMoving);
  }
  const AllPairs all;
  const auto shake = [&](int steps, double reach) {
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        const Vec3 motion(reach * std::sin(0.37 * step + static_cast<double>(i)), 0.0, 0.0);
        broad.update(static_cast<int>(i), {boxes[i].lower + motion, boxes[i].upper + motion});
      }
      broad.find_pairs(all);
    }
  };
  shake(200, 0.3);
  const test::AllocationGuard guard;
  shake(200, 0.3);
  EXPECT_EQ(guard.allocations(), 0u);
}

TEST(BroadPhase, TenThousandBoxesStaySparse) {
  Random random(8);
  BroadPhase broad;
  broad.reserve(10000);
  for (int i = 0; i < 10000; ++i) broad.add(random_box(random, 40.0, 0.5), BroadPhase::Kind::kMoving);
  broad.find_pairs(AllPairs());
  std::size_t near = 0;
  for (const BroadPhase::Pair& pair : broad.pairs()) near += broad.near(pair) ? 1u : 0u;
  EXPECT_GT(near, 100u);
  EXPECT_LT(broad.pairs().size(), 20000u);
}

}  // namespace
}  // namespace touchstone
