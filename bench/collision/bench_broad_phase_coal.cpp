// Coal's dynamic tree on drifting boxes: bench_collision_broad_phase_coal BOXES STEPS
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <coal/broadphase/broadphase_callbacks.h>
#include <coal/broadphase/broadphase_dynamic_AABB_tree.h>
#include <coal/shape/geometric_shapes.h>

#include "drift.hpp"

namespace {

struct Count : coal::CollisionCallBackBase {
  std::size_t pairs = 0;
  bool collide(coal::CollisionObject* a, coal::CollisionObject* b) override {
    pairs += a->getAABB().overlap(b->getAABB()) ? 1u : 0u;
    return false;
  }
};

coal::Vec3s centre(const drift::Box& box) { return {box.centre[0], box.centre[1], box.centre[2]}; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = std::atoi(argv[1]);
  std::vector<std::unique_ptr<coal::CollisionObject>> objects;
  coal::DynamicAABBTreeCollisionManager manager;
  for (const drift::Box& box : drift::Scene(count).boxes) {
    const auto shape = std::make_shared<coal::Box>(2 * box.half[0], 2 * box.half[1], 2 * box.half[2]);
    objects.push_back(std::make_unique<coal::CollisionObject>(shape, coal::Matrix3s::Identity(), centre(box)));
    manager.registerObject(objects.back().get());
  }
  manager.setup();
  return drift::run(count, std::atoi(argv[2]), [&](const drift::Scene& scene) {
    Count counter;
    const double start = drift::now();
    for (std::size_t i = 0; i < objects.size(); ++i) {
      objects[i]->setTranslation(centre(scene.boxes[i]));
      objects[i]->computeAABB();
    }
    manager.update();
    manager.collide(&counter);
    return std::pair(drift::now() - start, counter.pairs);
  });
}
