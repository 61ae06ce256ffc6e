// Our broad phase on drifting boxes: bench_collision_broad_phase BOXES STEPS
#include <cstdlib>
#include <utility>

#include "drift.hpp"
#include "touchstone/collision/broad/broad_phase.hpp"

namespace {

using namespace touchstone;

class AllPairs : public PairFilter {
 public:
  bool wanted(int, int) const override { return true; }
};

Aabb bounds(const drift::Box& box) {
  const Vec3 c(box.centre[0], box.centre[1], box.centre[2]), h(box.half[0], box.half[1], box.half[2]);
  return {c - h, c + h};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = std::atoi(argv[1]);
  const AllPairs all;
  BroadPhase broad;
  for (const drift::Box& box : drift::Scene(count).boxes) broad.add(bounds(box), BroadPhase::Kind::kMoving);
  return drift::run(count, std::atoi(argv[2]), [&](const drift::Scene& scene) {
    const double start = drift::now();
    for (int i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double* d = scene.displacement(k);
      broad.update(i, bounds(scene.boxes[k]), Vec3(d[0], d[1], d[2]));
    }
    broad.find_pairs(all);
    std::size_t found = 0;
    for (const BroadPhase::Pair& pair : broad.pairs()) found += broad.near(pair) ? 1u : 0u;
    return std::pair(drift::now() - start, found);
  });
}
