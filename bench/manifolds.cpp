// Time of one contact manifold: bench_manifolds [--benchmark_filter=...]. Poses are resting ones, slightly varied, all
// in contact; caches as a simulation would have them.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "touchstone/collision/collision_shape.hpp"

namespace {

using namespace touchstone;

constexpr int kPoses = 256;

Mat3 turn_about_z(double angle) {
  return {Vec3(std::cos(angle), std::sin(angle), 0), Vec3(-std::sin(angle), std::cos(angle), 0), Vec3(0, 0, 1)};
}

// A trajectory that slides and turns on the plane z = height, 1e-4 m into it.
std::vector<Pose> resting_poses(double height) {
  std::vector<Pose> poses;
  for (int i = 0; i < kPoses; ++i) {
    const double t = static_cast<double>(i) / kPoses;
    poses.emplace_back(turn_about_z(0.3 + 0.5 * t), Vec3(0.2 * t, 0.1 * t, height - 1e-4));
  }
  return poses;
}

// Points on two rings and a cap, with a flat face below: a hull of 2 * count + 1 vertices.
ConvexShape drum(int count) {
  std::vector<Vector3> points{{0.0, 0.0, 0.5}};
  for (int i = 0; i < count; ++i) {
    const double angle = 6.283185307179586 * i / count;
    points.emplace_back(0.4 * std::cos(angle), 0.4 * std::sin(angle), -0.3);
    points.emplace_back(0.5 * std::cos(angle + 0.1), 0.5 * std::sin(angle + 0.1), 0.3);
  }
  return ConvexShape::polytope(points);
}

std::shared_ptr<TriangleMesh> floor_mesh(int cells, double radius) {
  auto mesh = std::make_shared<TriangleMesh>();
  for (int r = 0; r <= cells; ++r) {
    for (int c = 0; c <= cells; ++c) {
      mesh->vertices.emplace_back(-radius + 2.0 * radius * c / cells, -radius + 2.0 * radius * r / cells, 0.0);
    }
  }
  for (int r = 0; r < cells; ++r) {
    for (int c = 0; c < cells; ++c) {
      const int v = r * (cells + 1) + c, w = v + cells + 1;
      mesh->triangles.emplace_back(v, v + 1, w + 1);
      mesh->triangles.emplace_back(v, w + 1, w);
    }
  }
  return mesh;
}

CollisionShape triangle_floor(int cells, double radius) {
  Shape shape;
  shape.type = ShapeType::kMesh;
  shape.mesh = floor_mesh(cells, radius);
  shape.mesh_collision = MeshCollision::kTriangles;
  return CollisionShape::make(shape);
}

CollisionShape field_floor(int cells, double radius) {
  auto field = std::make_shared<HeightField>();
  field->rows = field->columns = cells + 1;
  field->radius_x = field->radius_y = radius;
  field->elevation = field->base = 1.0;
  field->values.assign(static_cast<std::size_t>(field->rows) * static_cast<std::size_t>(field->columns), 0.0);
  Shape shape;
  shape.type = ShapeType::kHeightField;
  shape.height_field = field;
  return CollisionShape::make(shape);
}

void run(benchmark::State& state, const CollisionShape& under, const CollisionShape& top, double height) {
  const std::vector<Pose> poses = resting_poses(height);
  CollisionWorkspace workspace;
  PairCache cache;
  std::vector<Manifold> out;
  std::size_t i = 0, points = 0;
  for (auto _ : state) {
    out.clear();
    collide(under, Pose(), top, poses[i++ % kPoses], 1e-3, workspace, &cache, out);
    for (const Manifold& m : out) points += static_cast<std::size_t>(m.count);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["points"] = static_cast<double>(points) / static_cast<double>(state.iterations());
}

const ConvexShape kBox = ConvexShape::box({0.1, 0.08, 0.06});

void box_plane(benchmark::State& state) {
  run(state, CollisionShape(ConvexShape::half_space()), CollisionShape(kBox), 0.06);
}
void box_box(benchmark::State& state) {
  run(state, CollisionShape(ConvexShape::box({1, 1, 1})), CollisionShape(kBox), 1.06);
}
void equal_boxes(benchmark::State& state) { run(state, CollisionShape(kBox), CollisionShape(kBox), 0.12); }
void cylinder_plane(benchmark::State& state) {
  run(state, CollisionShape(ConvexShape::half_space()), CollisionShape(ConvexShape::cylinder(0.1, 0.2)), 0.2);
}
void cylinder_box(benchmark::State& state) {
  run(state, CollisionShape(ConvexShape::box({1, 1, 1})), CollisionShape(ConvexShape::cylinder(0.1, 0.2)), 1.2);
}
void hull_plane(benchmark::State& state) {
  run(state, CollisionShape(ConvexShape::half_space()), CollisionShape(drum(static_cast<int>(state.range(0)))), 0.3);
}
void hull_hull(benchmark::State& state) {
  const ConvexShape hull = drum(static_cast<int>(state.range(0)));
  const ConvexShape base = ConvexShape::polytope(
      {{-1, -1, -1}, {1, -1, -1}, {-1, 1, -1}, {1, 1, -1}, {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}, {1, 1, 0}});
  run(state, CollisionShape(base), CollisionShape(hull), 0.3);
}
// 10,082 triangles; the argument is how many of their cells the box is long (0.2 m).
void box_triangles(benchmark::State& state) {
  run(state, triangle_floor(71, 0.1 * 71.0 / static_cast<double>(state.range(0))), CollisionShape(kBox), 0.06);
}
void box_field(benchmark::State& state) {
  run(state, field_floor(71, 0.1 * 71.0 / static_cast<double>(state.range(0))), CollisionShape(kBox), 0.06);
}
void sphere_triangles(benchmark::State& state) {
  run(state, triangle_floor(71, 0.1 * 71.0 / static_cast<double>(state.range(0))),
      CollisionShape(ConvexShape::sphere(0.1)), 0.1);
}

BENCHMARK(box_plane);
BENCHMARK(box_box);
BENCHMARK(equal_boxes);
BENCHMARK(cylinder_plane);
BENCHMARK(cylinder_box);
BENCHMARK(hull_plane)->Arg(8)->Arg(64);
BENCHMARK(hull_hull)->Arg(8)->Arg(64);
BENCHMARK(box_triangles)->Arg(1)->Arg(4)->Arg(16);
BENCHMARK(box_field)->Arg(1)->Arg(4)->Arg(16);
BENCHMARK(sphere_triangles)->Arg(1)->Arg(4)->Arg(16);

}  // namespace

BENCHMARK_MAIN();
