#include "touchstone/geometry/mass_properties.hpp"

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/geometry/mesh.hpp"

namespace touchstone {
namespace {

Shape primitive(ShapeType type, double x, double y = 0.0, double z = 0.0) {
  return {.type = type, .size = {x, y, z}, .mesh = nullptr, .height_field = nullptr};
}

Shape mesh_shape(TriangleMesh mesh) {
  return {.type = ShapeType::kMesh,
          .size = Vector3::Zero(),
          .mesh = std::make_shared<TriangleMesh>(std::move(mesh)),
          .height_field = nullptr};
}

// A warped cube whose vertices are exact in float, as MuJoCo rounds to that.
TriangleMesh warped_cube() {
  TriangleMesh mesh;
  mesh.name = "warped";
  mesh.vertices = {{0, 0, 0},   {32, 2, -1}, {-3, 48, 0}, {30, 50, 4},
                   {1, -2, 64}, {36, 0, 60}, {0, 44, 70}, {28, 46, 66}};
  for (Vector3& v : mesh.vertices) v /= 64.0;
  mesh.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                    {1, 3, 7}, {1, 7, 5}, {3, 2, 6}, {3, 6, 7}, {2, 0, 4}, {2, 4, 6}};
  return mesh;
}

// Turns a profile (radius, z), from the lowest point on the axis to the highest, about z.
TriangleMesh revolve(const std::vector<Vector2>& profile, int sides) {
  TriangleMesh mesh;
  const int rows = static_cast<int>(profile.size());
  for (const Vector2& p : profile) {
    for (int k = 0; k < sides; ++k) {
      const double angle = 2.0 * std::numbers::pi * k / sides;
      mesh.vertices.emplace_back(p.x() * std::cos(angle), p.x() * std::sin(angle), p.y());
    }
  }
  for (int i = 0; i + 1 < rows; ++i) {
    for (int k = 0; k < sides; ++k) {
      const int a = i * sides + k, b = i * sides + (k + 1) % sides;
      mesh.triangles.emplace_back(a, b, b + sides);
      mesh.triangles.emplace_back(a, b + sides, a + sides);
    }
  }
  return mesh;
}

std::vector<Vector2> arc(double radius, double offset, double from, double to) {
  std::vector<Vector2> profile;
  for (int i = 0; i <= 100; ++i) {
    const double angle = from + (to - from) * i / 100.0;
    profile.emplace_back(radius * std::cos(angle), offset + radius * std::sin(angle));
  }
  return profile;
}

void expect_near(const MassProperties& a, const MassProperties& b, double relative) {
  const double size = std::sqrt(b.inertia.norm() / b.mass);
  EXPECT_NEAR(a.mass, b.mass, relative * b.mass);
  EXPECT_LE((a.com - b.com).norm(), relative * size);
  EXPECT_LE((a.inertia - b.inertia).norm(), relative * b.inertia.norm()) << a.inertia << "\n\n" << b.inertia;
}

struct Reference {
  double mass;
  Vector3 moments;  // decreasing
};

void expect_reference(const MassProperties& p, const Reference& r, double relative = 1e-12) {
  EXPECT_NEAR(p.mass, r.mass, relative * r.mass);
  EXPECT_LE((principal_inertia(p.inertia).moments - r.moments).norm(), relative * r.moments.norm());
}

// Values of MuJoCo 4.0.0 (body_mass, body_inertia) at density 700.
TEST(MassProperties, PrimitivesAsMujoco) {
  using enum ShapeType;
  expect_reference(mass_properties(primitive(kSphere, 0.13), 700),
                   {6.441940455940991, {0.04354751748216111, 0.04354751748216111, 0.04354751748216111}});
  expect_reference(mass_properties(primitive(kCapsule, 0.11, 0.23), 700),
                   {16.142969130716033, {0.5522589567487282, 0.5522589567487282, 0.09294270128193463}});
  expect_reference(mass_properties(primitive(kEllipsoid, 0.1, 0.2, 0.35), 700),
                   {20.525072003453314, {0.6670648401122327, 0.5439144080915128, 0.20525072003453318}});
  expect_reference(mass_properties(primitive(kCylinder, 0.11, 0.23), 700),
                   {12.240273296916552, {0.2528636458588011, 0.2528636458588011, 0.07405365344634514}});
  expect_reference(mass_properties(primitive(kBox, 0.1, 0.2, 0.35), 700),
                   {39.2, {2.123333333333333, 1.7313333333333334, 0.6533333333333335}});
}

TEST(MassProperties, ShellsAsMujoco) {
  using enum ShapeType;
  expect_reference(shell_mass_properties(primitive(kSphere, 0.13), 700),
                   {148.66016436786902, {1.6749045185446576, 1.6749045185446576, 1.6749045185446576}});
  expect_reference(shell_mass_properties(primitive(kCapsule, 0.11, 0.23), 700),
                   {328.9875826839231, {14.452714790465937, 14.452714790465937, 3.5514532087575272}});
  expect_reference(shell_mass_properties(primitive(kCylinder, 0.11, 0.23), 700),
                   {275.76900313211206, {8.24698492656183, 8.24698492656183, 3.014832531610099}});
  expect_reference(shell_mass_properties(primitive(kBox, 0.1, 0.2, 0.35), 700),
                   {700.0, {52.28999999999999, 42.67666666666666, 19.506666666666668}});
  // MuJoCo subtracts nearly equal ellipsoids and so has ten digits.
  expect_reference(shell_mass_properties(primitive(kEllipsoid, 0.1, 0.2, 0.35), 700),
                   {393.67870959903894, {17.64474997133948, 14.400826242635958, 6.582350327720633}}, 2e-10);
}

TEST(MassProperties, MeshesAsMujoco) {
  const Shape closed = mesh_shape(warped_cube());
  const auto check = [](const Shape& shape, MeshInertia kind, double mass, const Vector3& com, const Vector3& moments) {
    const MassProperties p = mass_properties(shape, 1000, kind);
    expect_reference(p, {mass, moments});
    EXPECT_LE((p.com - com).norm(), 1e-13);
  };
  const Vector3 com(0.23405192056159294, 0.3644155066824829, 0.5107677474101465);
  const Vector3 moments(47.28833715703152, 38.03316015875772, 24.307754601883193);
  check(closed, MeshInertia::kExact, 365.5344645182292, com, moments);
  check(closed, MeshInertia::kLegacy, 365.5344645182292, com, moments);
  check(closed, MeshInertia::kConvex, 382.8468322753906, {0.2418100734473551, 0.36525907100367677, 0.5052822980913901},
        {49.746553454217405, 40.83530194467058, 25.610237465064866});
  check(closed, MeshInertia::kShell, 3242.1918217038256, {0.23467618157835074, 0.36499403462057955, 0.5084886238183599},
        {636.1896582286246, 525.1008402068372, 367.836919239001});

  TriangleMesh flipped = warped_cube();
  std::swap(flipped.triangles[0][0], flipped.triangles[0][2]);
  check(mesh_shape(flipped), MeshInertia::kLegacy, 365.5344645182292, com, moments);
  EXPECT_THROW(mass_properties(mesh_shape(flipped), 1000, MeshInertia::kExact), Error);

  TriangleMesh open = warped_cube();
  open.triangles.erase(open.triangles.begin(), open.triangles.begin() + 2);
  for (const MeshInertia kind : {MeshInertia::kExact, MeshInertia::kLegacy}) {
    check(mesh_shape(open), kind, 293.70415220386667, {0.23459406252003803, 0.3597144964580229, 0.593574704221508},
          {33.45924877547864, 25.308669403280195, 21.335511552145473});
  }
  check(mesh_shape(open), MeshInertia::kShell, 2857.576885797135,
        {0.23527134852955153, 0.36127596549805346, 0.5744691561553569},
        {512.8400143789651, 411.66375142010924, 341.2579871157946});
}

// Independent of MuJoCo: the formulas against finely cut surfaces, solid and shell.
TEST(MassProperties, PrimitivesAsTheirSurfaces) {
  using enum ShapeType;
  const double half_pi = 0.5 * std::numbers::pi, r = 0.3, h = 0.5;
  std::vector<Vector2> capsule = arc(r, -h, -half_pi, 0.0);
  for (const Vector2& p : arc(r, h, 0.0, half_pi)) capsule.push_back(p);
  const std::vector<std::pair<Shape, TriangleMesh>> cases = {
      {primitive(kSphere, r), revolve(arc(r, 0.0, -half_pi, half_pi), 200)},
      {primitive(kCapsule, r, h), revolve(capsule, 200)},
      {primitive(kCylinder, r, h), revolve({{0, -h}, {r, -h}, {r, h}, {0, h}}, 200)},
      {primitive(kCone, r, h), revolve({{0, -h}, {r, -h}, {0, h}}, 200)}};
  for (const auto& [shape, mesh] : cases) {
    SCOPED_TRACE(to_string(shape.type));
    expect_near(mass_properties(mesh_shape(mesh), 900), mass_properties(shape, 900), 1e-3);
    expect_near(mass_properties(mesh_shape(mesh), 9, MeshInertia::kShell), shell_mass_properties(shape, 9), 1e-3);
  }
  TriangleMesh ellipsoid = revolve(arc(1.0, 0.0, -half_pi, half_pi), 200);
  for (Vector3& v : ellipsoid.vertices) v = v.cwiseProduct(Vector3(0.3, 0.4, 0.6));
  expect_near(mass_properties(mesh_shape(ellipsoid), 900), mass_properties(primitive(kEllipsoid, 0.3, 0.4, 0.6), 900),
              1e-3);
  // Here the formulas are approximations themselves.
  expect_near(mass_properties(mesh_shape(ellipsoid), 9, MeshInertia::kShell),
              shell_mass_properties(primitive(kEllipsoid, 0.3, 0.4, 0.6), 9), 2e-2);
}

TEST(MassProperties, PlanesAndHeightFieldsAreMassless) {
  for (const ShapeType type : {ShapeType::kPlane, ShapeType::kHeightField}) {
    EXPECT_EQ(mass_properties(primitive(type, 1, 1, 1), 1000).mass, 0.0);
    EXPECT_EQ(shell_mass_properties(primitive(type, 1, 1, 1), 1000).mass, 0.0);
  }
}

TEST(MassProperties, PointCloudStandsForItsHull) {
  TriangleMesh cloud = warped_cube();
  cloud.triangles.clear();
  expect_near(mass_properties(mesh_shape(cloud), 1000, MeshInertia::kLegacy),
              mass_properties(mesh_shape(warped_cube()), 1000, MeshInertia::kConvex), 1e-12);
}

// A mesh far away keeps its digits, and moving it is the same as moving its properties.
TEST(MassProperties, MovedMeshIsTransformedMass) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 20; ++i) {
    const Transform X{{100 * normal(random), normal(random), normal(random)},
                      Quaternion(normal(random), normal(random), normal(random), normal(random)).normalized()};
    TriangleMesh moved = warped_cube();
    for (Vector3& v : moved.vertices) v = X * v;
    for (const MeshInertia kind :
         {MeshInertia::kExact, MeshInertia::kConvex, MeshInertia::kLegacy, MeshInertia::kShell}) {
      expect_near(mass_properties(mesh_shape(moved), 500, kind),
                  transformed(X, mass_properties(mesh_shape(warped_cube()), 500, kind)), 1e-11);
    }
  }
}

TEST(MassProperties, SumOfHalvesIsTheWhole) {
  const MassProperties half = mass_properties(primitive(ShapeType::kBox, 0.1, 0.2, 0.3), 700);
  const MassProperties left = transformed({{-0.1, 0, 0}, Quaternion::Identity()}, half);
  const MassProperties right = transformed({{0.1, 0, 0}, Quaternion::Identity()}, half);
  expect_near(left + right, mass_properties(primitive(ShapeType::kBox, 0.2, 0.2, 0.3), 700), 1e-14);
  expect_near(left + MassProperties{}, left, 1e-15);
  EXPECT_EQ((MassProperties{} + MassProperties{}).mass, 0.0);
}

TEST(MassProperties, WithMassScalesInertia) {
  const Shape box = primitive(ShapeType::kBox, 0.1, 0.2, 0.3);
  expect_near(with_mass(mass_properties(box, 700), 2.0), mass_properties(box, 2.0 / volume(box)), 1e-14);
  EXPECT_TRUE(with_mass(MassProperties{}, 2.0).inertia.isZero());
  EXPECT_EQ(with_mass(MassProperties{}, 2.0).mass, 2.0);
}

TEST(MassProperties, PrincipalAxesRebuildTheInertia) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (int i = 0; i < 100; ++i) {
    const Matrix3 A = Matrix3::NullaryExpr([&] { return uniform(random); });
    const Matrix3 inertia = A * A.transpose() * std::pow(10.0, 8.0 * uniform(random));
    const PrincipalInertia p = principal_inertia(inertia);
    const Matrix3 R = p.axes.toRotationMatrix();
    EXPECT_LE((R * p.moments.asDiagonal() * R.transpose() - inertia).norm(), 1e-14 * inertia.norm());
    EXPECT_GE(p.moments[0], p.moments[1]);
    EXPECT_GE(p.moments[1], p.moments[2]);
  }
}

TEST(MassProperties, PhysicalInertias) {
  const auto physical = [](double a, double b, double c) { return is_physical(Vector3(a, b, c).asDiagonal()); };
  EXPECT_TRUE(physical(1, 1, 1));
  EXPECT_TRUE(physical(1, 2, 3));  // a plate
  EXPECT_FALSE(physical(1, 2, 3.1));
  EXPECT_FALSE(physical(1, 1, 0));
  EXPECT_FALSE(physical(1, 1, -1e-3));
  EXPECT_FALSE(physical(1, 1, std::nan("")));
}

TEST(MassProperties, RefusesWhatHasNoMass) {
  TriangleMesh inward = warped_cube();
  for (Eigen::Vector3i& t : inward.triangles) std::swap(t[0], t[1]);
  EXPECT_THROW(mass_properties(mesh_shape(inward), 1000), Error);
  EXPECT_NO_THROW(mass_properties(mesh_shape(inward), 1000, MeshInertia::kLegacy));

  TriangleMesh flat = warped_cube();
  for (Vector3& v : flat.vertices) v.z() = 0.1 * v.x() + 0.3;
  for (const MeshInertia kind : {MeshInertia::kExact, MeshInertia::kConvex, MeshInertia::kLegacy}) {
    EXPECT_THROW(mass_properties(mesh_shape(flat), 1000, kind), Error);
  }
  EXPECT_GT(volume(mesh_shape(flat), MeshInertia::kShell), 0.0);

  TriangleMesh broken = warped_cube();
  broken.triangles[3][1] = 8;
  EXPECT_THROW(mass_properties(mesh_shape(broken), 1000), Error);
  broken = warped_cube();
  broken.vertices[3][1] = std::nan("");
  EXPECT_THROW(mass_properties(mesh_shape(broken), 1000), Error);
  TriangleMesh points = warped_cube();
  for (Vector3& v : points.vertices) v.setOnes();
  EXPECT_THROW(mass_properties(mesh_shape(points), 1000, MeshInertia::kShell), Error);
  EXPECT_THROW(mass_properties(primitive(ShapeType::kMesh, 1), 1000), Error);
  EXPECT_THROW(mass_properties(primitive(ShapeType::kSphere, -1), 1000), Error);
  EXPECT_THROW(mass_properties(primitive(ShapeType::kSphere, std::nan("")), 1000), Error);
}

}  // namespace
}  // namespace touchstone
