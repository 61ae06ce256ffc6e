// What the collision benchmark asks of an engine. Each engine is a module of its own (a shared library that exports
// make_engine and nothing else), so that engines built with different instruction sets and alignments live in one
// process and take turns.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace bench {

enum class ShapeKind { kSphere, kBox, kCapsule, kCylinder, kCone, kEllipsoid, kHull };

// Sizes: sphere (radius), box (half extents), capsule, cylinder and cone (radius, half length, -), ellipsoid
// (semi-axes).
struct ShapeSpec {
  ShapeKind kind = ShapeKind::kSphere;
  double size[3] = {0, 0, 0};
  std::vector<std::array<double, 3>> vertices;  // of a hull, outward triangles
  std::vector<std::array<int, 3>> triangles;
};

// A pose: three columns of the rotation, then the position.
using PoseSpec = std::array<double, 12>;

struct PairSpec {
  int a = 0, b = 0;
  PoseSpec X_WA{}, X_WB{};
};

enum class Query {
  kDistance,  // distance of separated shapes with witness points
  kOverlap,   // yes or no
  kContact,   // signed distance, normal and witness points
};

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // Ways to answer a query, all of them measured; the fastest counts.
  virtual std::vector<std::string> variants(Query query) const = 0;
  virtual void load(const std::vector<ShapeSpec>& shapes, const std::vector<PairSpec>& pairs) = 0;
  // Answers the query for every pair `passes` times: a distance, or 1 and 0. Distances are wanted to `tolerance` (m).
  virtual void run(Query query, int variant, double tolerance, int passes, double* answers) = 0;
};

extern "C" Engine* make_engine();
using MakeEngine = Engine* (*)();

}  // namespace bench
