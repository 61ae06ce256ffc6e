#include "pairs.hpp"

#include <algorithm>
#include <cstdio>

#include "touchstone/base/error.hpp"
#include "touchstone/io/mesh_file.hpp"

namespace bench {

using namespace touchstone;

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

namespace {

Vector3 random_unit(Random& random) {
  std::normal_distribution<double> normal;
  return Vector3(normal(random), normal(random), normal(random)).normalized();
}

ShapeSpec hull_spec(const ConvexShape& hull) {
  ShapeSpec spec;
  spec.kind = ShapeKind::kHull;
  for (const Vec3& v : hull.polytope()->vertices) spec.vertices.push_back({v.x(), v.y(), v.z()});
  for (const Eigen::Vector3i& t : hull.polytope()->triangles) spec.triangles.push_back({t[0], t[1], t[2]});
  return spec;
}

}  // namespace

Pose random_pose(Random& random, double distance_of_origins) {
  std::normal_distribution<double> normal;
  const Quaternion rotation(normal(random), normal(random), normal(random), normal(random));
  return Pose(Transform{distance_of_origins * random_unit(random), rotation.normalized()});
}

PoseSpec spec(const Pose& X) {
  const Mat3& R = X.R;
  return {R.c0.x(), R.c0.y(), R.c0.z(), R.c1.x(), R.c1.y(), R.c1.z(),
          R.c2.x(), R.c2.y(), R.c2.z(), X.p.x(),  X.p.y(),  X.p.z()};
}

ConvexShape convex(const ShapeSpec& spec) {
  const Vector3 size(spec.size[0], spec.size[1], spec.size[2]);
  switch (spec.kind) {
    case ShapeKind::kSphere:
      return ConvexShape::sphere(size[0]);
    case ShapeKind::kBox:
      return ConvexShape::box(size);
    case ShapeKind::kCapsule:
      return ConvexShape::capsule(size[0], size[1]);
    case ShapeKind::kCylinder:
      return ConvexShape::cylinder(size[0], size[1]);
    case ShapeKind::kCone:
      return ConvexShape::cone(size[0], size[1]);
    case ShapeKind::kEllipsoid:
      return ConvexShape::ellipsoid(size);
    case ShapeKind::kHull:
      break;
  }
  std::vector<Vector3> points;
  points.reserve(spec.vertices.size());
  for (const auto& v : spec.vertices) points.emplace_back(v[0], v[1], v[2]);
  return ConvexShape::polytope(points);
}

ShapeSpec random_shape(Random& random, ShapeKind kind) {
  ShapeSpec spec;
  spec.kind = kind;
  for (double& s : spec.size) s = uniform(random, 0.05, 0.5);
  return spec;
}

ShapeSpec random_hull(Random& random, int count) {
  const Vector3 stretch(uniform(random, 0.1, 0.5), uniform(random, 0.1, 0.5), uniform(random, 0.1, 0.5));
  std::vector<Vector3> points;
  points.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) points.push_back(stretch.cwiseProduct(random_unit(random)));
  return hull_spec(ConvexShape::polytope(points));
}

std::vector<ShapeSpec> robot_hulls(const std::filesystem::path& models) {
  constexpr double kLargestLink = 3.0;  // m; larger numbers are millimetres
  std::vector<std::filesystem::path> files;
  for (const char* robot : {"mjcf/pal_talos/assets", "mjcf/shadow_hand/assets", "mjcf/wonik_allegro/assets",
                            "urdf/example-robot-data/robots/panda_description/meshes/collision",
                            "urdf/example-robot-data/robots/solo_description/meshes/obj"}) {
    if (!std::filesystem::is_directory(models / robot)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(models / robot)) {
      const std::string extension = lower_extension(entry.path());
      if (extension == ".obj" || extension == ".stl") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<ShapeSpec> hulls;
  for (const auto& file : files) {
    try {
      TriangleMesh mesh = read_mesh_file(file).mesh;
      const Bounds box = bounds(mesh);
      if ((box.upper - box.lower).maxCoeff() > kLargestLink) {
        for (Vector3& v : mesh.vertices) v *= 1e-3;
      }
      // About their middle: links lie far from the origin in the frames of some files.
      const Bounds metres = bounds(mesh);
      for (Vector3& v : mesh.vertices) v -= 0.5 * (metres.upper + metres.lower);
      const ConvexShape hull = ConvexShape::polytope(mesh.vertices);
      if (!hull.polytope()->triangles.empty()) hulls.push_back(hull_spec(hull));
    } catch (const Error& error) {
      std::fprintf(stderr, "left out: %s\n", error.what());
    }
  }
  return hulls;
}

Pose pose_at(Random& random, const ConvexShape& A, const ConvexShape& B, double distance) {
  const double apart = A.extent() + A.radius() + B.extent() + B.radius();
  Pose X_AB = random_pose(random, 1.2 * apart);
  const ContactResult start = touchstone::distance(A, Pose(), B, X_AB);
  X_AB.p += start.normal * (distance - start.distance);  // nearest points and normal stay as they are
  return X_AB;
}

}  // namespace bench
