#include "touchstone/io/mesh_file.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/geometry/mesh.hpp"

namespace touchstone {
namespace {

using ::testing::HasSubstr;
using Triangles = std::vector<Eigen::Vector3i>;

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string obj_error(const std::string& text) {
  return message_of([&] { parse_obj(text, "a.obj"); });
}
std::string stl_error(const std::string& text) {
  return message_of([&] { parse_stl(text, "a.stl"); });
}
std::string msh_error(const std::string& text) {
  return message_of([&] { parse_msh(text, "a.msh"); });
}

double mesh_volume(const TriangleMesh& mesh, MeshInertia kind = MeshInertia::kExact) {
  return volume({.type = ShapeType::kMesh,
                 .size = Vector3::Zero(),
                 .mesh = std::make_shared<TriangleMesh>(mesh),
                 .height_field = nullptr},
                kind);
}

// Files of a test, removed after it.
class MeshFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("touchstone_mesh_{}", std::random_device{}());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::filesystem::path folder_;
};

constexpr const char* kTetrahedron = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

std::string binary_stl(const TriangleMesh& mesh, const std::string& header = "solid but binary") {
  std::string bytes = header;
  bytes.resize(80, ' ');
  append(bytes, static_cast<std::uint32_t>(mesh.triangles.size()));
  for (const Eigen::Vector3i& t : mesh.triangles) {
    for (int i = 0; i < 3; ++i) append(bytes, 0.0f);
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < 3; ++i) append(bytes, static_cast<float>(mesh.vertices[t[k]][i]));
    append(bytes, std::uint16_t{0});
  }
  return bytes;
}

std::string ascii_stl(const TriangleMesh& mesh) {
  std::string text = "solid a name\n";
  for (const Eigen::Vector3i& t : mesh.triangles) {
    text += " facet normal 0 0 nan\r\n  OUTER LOOP\n";
    for (int k = 0; k < 3; ++k) {
      const Vector3& v = mesh.vertices[t[k]];
      text += fmt::format("   vertex {} +{:e} {}\n", v.x(), v.y(), v.z());
    }
    text += "  endloop\n endfacet\n";
  }
  return text + "endsolid a name\n";
}

std::string msh(const TriangleMesh& mesh, bool with_extras) {
  std::string bytes;
  const auto n = static_cast<std::int32_t>(mesh.vertices.size());
  for (const std::int32_t count : {n, with_extras ? n : 0, with_extras ? n : 0, std::int32_t(mesh.triangles.size())}) {
    append(bytes, count);
  }
  for (const Vector3& v : mesh.vertices)
    for (int i = 0; i < 3; ++i) append(bytes, static_cast<float>(v[i]));
  if (with_extras) bytes.append(static_cast<std::size_t>(n) * 20, '\7');
  for (const Eigen::Vector3i& t : mesh.triangles)
    for (int i = 0; i < 3; ++i) append(bytes, std::int32_t{t[i]});
  return bytes;
}

TEST_F(MeshFileTest, ObjReadsAllCornerNotations) {
  const std::string text =
      "# comment\r\nmtllib none.mtl\no part\nv 0.1 0 0 1.0\r\nv 1e0 0 0 # here, too\nv 0 +2 \\\n 0\nv 0 0 3 1 0 0\n"
      "vn 0 0 1\nvt 0 0\ns off\nf 1 3 2\nf 1/1 2/1 4/1\nf 1//1 4//1 3//1\nf -3/1/1 -2/1/1 -1/1/1";
  const MeshFile file = parse_obj(text, "some/part.obj");
  EXPECT_EQ(file.mesh.name, "part");
  EXPECT_EQ(file.mesh.file, "some/part.obj");
  const std::vector<Vector3> vertices = {{0.1, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 3}};
  EXPECT_EQ(file.mesh.vertices, vertices);  // doubles as written, not rounded to float
  const Triangles triangles = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
  EXPECT_EQ(file.mesh.triangles, triangles);
  EXPECT_FALSE(file.has_color);
}

TEST_F(MeshFileTest, ObjCutsPolygons) {
  // A quad along its shorter diagonal, whichever that is; larger faces as a fan.
  const std::string wide = "v 0 0 0\nv 1 0 0\nv 4 2 0\nv 0 1 0\nf 1 2 3 4\n";
  const std::string tall = "v 0 0 0\nv 4 0 0\nv 1 1 0\nv 0 4 0\nf 1 2 3 4\n";
  EXPECT_EQ(parse_obj(wide, "a").mesh.triangles, (Triangles{{0, 1, 3}, {1, 2, 3}}));
  EXPECT_EQ(parse_obj(tall, "a").mesh.triangles, (Triangles{{0, 1, 2}, {0, 2, 3}}));
  const std::string pentagon = "v 0 0 0\nv 2 0 0\nv 3 1 0\nv 1 3 0\nv -1 1 0\nf 1 2 3 4 5\n";
  EXPECT_EQ(parse_obj(pentagon, "a").mesh.triangles, (Triangles{{0, 1, 2}, {0, 2, 3}, {0, 3, 4}}));
}

TEST_F(MeshFileTest, ObjConcavePolygonKeepsItsArea) {
  // A comb, of area 5 + 3 teeth of 1; a fan from any corner would overlap itself.
  const std::string comb =
      "v 5 1 0\nv 5 2 0\nv 4 2 0\nv 4 1 0\nv 3 1 0\nv 3 2 0\nv 2 2 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 0\n"
      "v 5 0 0\nf 1 2 3 4 5 6 7 8 9 10 11 12 13\n";
  const TriangleMesh mesh = parse_obj(comb, "comb").mesh;
  EXPECT_EQ(mesh.triangles.size(), 11u);
  EXPECT_NEAR(mesh_volume(mesh, MeshInertia::kShell), 8.0, 1e-12);
  for (const Eigen::Vector3i& t : mesh.triangles) {
    const auto& v = mesh.vertices;
    EXPECT_GE((v[t[1]] - v[t[0]]).cross(v[t[2]] - v[t[0]]).z(), 0.0);
  }
}

TEST_F(MeshFileTest, ObjKnowsItsFirstPart) {
  EXPECT_EQ(parse_obj(kTetrahedron, "a").first_part, 4u);
  const std::string two = "g none\no first\n" + std::string(kTetrahedron) + "g second\nf 1 2 3 4\ng third\nf 1 2 3\n";
  EXPECT_EQ(parse_obj(two, "a").first_part, 4u);
  EXPECT_EQ(parse_obj(two, "a").mesh.triangles.size(), 7u);
}

TEST_F(MeshFileTest, ObjPointCloud) {
  const MeshFile file = parse_obj("v 0 0 0\nv 1 0 0\nv 1e-400 2 0\nv 0 0 3", "a.obj");
  EXPECT_TRUE(file.mesh.triangles.empty());
  EXPECT_NEAR(mesh_volume(file.mesh), 1.0, 1e-14);
}

TEST_F(MeshFileTest, ObjErrorsSayWhere) {
  EXPECT_THAT(obj_error("v 0 0 0\nv 1 zero 0\n"), HasSubstr("a.obj:2: y is 'zero', not a finite number"));
  EXPECT_THAT(obj_error("v 0 0 0\nv 1 \\\n 0 nan\n"), HasSubstr("a.obj:3: z is 'nan'"));
  EXPECT_THAT(obj_error("v 0 0 1e999\n"), HasSubstr("z is '1e999'"));
  EXPECT_THAT(obj_error("v 0 0\n"), HasSubstr("a.obj:1: z is missing"));
  EXPECT_THAT(obj_error("v 0 0 0x10\n"), HasSubstr("'0x10'"));
  EXPECT_THAT(obj_error(std::string(kTetrahedron) + "f 1 2\n"), HasSubstr("a.obj:9: face has 2 corners"));
  EXPECT_THAT(obj_error(std::string(kTetrahedron) + "f 1 2 5\n\n"), HasSubstr("a.obj:9: face refers to vertex 5 of 4"));
  EXPECT_THAT(obj_error("v 0 0 0\nf 1 1 0\n"), HasSubstr("vertex '0'"));
  EXPECT_THAT(obj_error("v 0 0 0\nf 1 1 -2\n"), HasSubstr("vertex '-2'"));
  EXPECT_THAT(obj_error("v 0 0 0\nf 1 1 99999999999\n"), HasSubstr("99999999999"));
  EXPECT_THAT(obj_error("v 0 0 0\nf 1 1 99999999999999999999999\n"), HasSubstr("not a corner"));
  EXPECT_THAT(obj_error("v 0 0 0\nf 1 1 a\n"), HasSubstr("'a' is not a corner"));
  EXPECT_THAT(obj_error(""), HasSubstr("a.obj: no vertices"));
}

TEST_F(MeshFileTest, ObjColorFromItsLibrary) {
  write("colors.mtl",
        "newmtl other\nKd 0 0 0\nnewmtl steel\nKa 1 1 1\nKd 0.25 0.5 0.75\nd 0.5\nnewmtl last\nKd 1 1 1\n");
  const auto path = write("a.obj", "mtllib colors.mtl\n" + std::string(kTetrahedron) + "usemtl steel\nf 1 2 3\n");
  const MeshFile file = read_mesh_file(path);
  EXPECT_TRUE(file.has_color);
  EXPECT_EQ(file.color, Eigen::Vector4d(0.25, 0.5, 0.75, 0.5));
  EXPECT_FALSE(read_mesh_file(write("b.OBJ", "mtllib gone.mtl\n" + std::string(kTetrahedron))).has_color);
}

TEST_F(MeshFileTest, StlBinaryAndAsciiAgree) {
  const TriangleMesh mesh = parse_obj(kTetrahedron, "a").mesh;
  for (const std::string& bytes : {binary_stl(mesh), binary_stl(mesh) + "trailing", ascii_stl(mesh)}) {
    const MeshFile file = parse_stl(bytes.starts_with("solid a") ? bytes : "x" + bytes.substr(1), "a.stl");
    EXPECT_EQ(file.mesh.vertices.size(), 4u);  // merged
    EXPECT_EQ(file.mesh.triangles.size(), 4u);
    EXPECT_NEAR(mesh_volume(file.mesh), 1.0, 1e-14);
  }
  EXPECT_EQ(parse_stl(binary_stl(mesh), "a.stl").mesh.triangles.size(), 4u);  // although it begins with "solid"
}

TEST_F(MeshFileTest, StlErrorsSayWhere) {
  TriangleMesh mesh = parse_obj(kTetrahedron, "a").mesh;
  const std::string good = binary_stl(mesh, "header");
  EXPECT_THAT(stl_error(good.substr(0, good.size() - 1)), HasSubstr("announces 4 triangles at byte 80 but holds 3"));
  EXPECT_THAT(stl_error(good.substr(0, 83)), HasSubstr("83 bytes are too few"));
  EXPECT_THAT(stl_error(""), HasSubstr("a.stl: 0 bytes"));
  std::string huge = good;
  std::memset(huge.data() + 80, 0xFF, 4);
  EXPECT_THAT(stl_error(huge), HasSubstr("4294967295"));
  std::string empty = good.substr(0, 84);
  std::memset(empty.data() + 80, 0, 4);
  EXPECT_THAT(stl_error(empty), HasSubstr("no triangles"));
  mesh.vertices[3].z() = std::nan("");
  EXPECT_THAT(stl_error(binary_stl(mesh)), HasSubstr("triangle 1 at byte 170"));
  mesh.vertices.assign(4, Vector3::Zero());
  EXPECT_THAT(stl_error(binary_stl(mesh)), HasSubstr("degenerate"));

  EXPECT_THAT(stl_error("solid\nfacet\nouter loop\nvertex 0 0 a"), HasSubstr("a.stl:4: z is 'a'"));
  EXPECT_THAT(stl_error("solid\nfacet\nouter loop\nvertex 0 0 0\nendloop"), HasSubstr("loop has 1 vertices"));
  EXPECT_THAT(stl_error("solid\nvertex 0 0 0"), HasSubstr("outside a loop"));
  EXPECT_THAT(stl_error("solid\nouter loop\nvertex 0 0 0\n"), HasSubstr("ends inside a loop"));
  EXPECT_THAT(stl_error("solid\nouter loop\nouter loop"), HasSubstr("inside a loop"));
  EXPECT_THAT(stl_error("solid\nnonsense"), HasSubstr("a.stl:2: 'nonsense'"));
  EXPECT_THAT(stl_error("solid\nendsolid"), HasSubstr("no triangles"));
}

TEST_F(MeshFileTest, Msh) {
  const TriangleMesh mesh = parse_obj(kTetrahedron, "a").mesh;
  for (const bool with_extras : {false, true}) {
    const MeshFile file = parse_msh(msh(mesh, with_extras), "a.msh");
    EXPECT_EQ(file.mesh.vertices, mesh.vertices);
    EXPECT_EQ(file.mesh.triangles, mesh.triangles);
  }
  const std::string good = msh(mesh, false);
  EXPECT_THAT(msh_error(good.substr(0, 10)), HasSubstr("10 bytes are too few"));
  EXPECT_THAT(msh_error(good + " "), HasSubstr("asks for 112 bytes, the file has 113"));
  for (const std::size_t field : {0, 4, 8, 12}) {
    for (const std::int32_t value : {-1, 0x7FFFFFFF, std::int32_t(0x80000000), 3}) {
      std::string bad = good;
      std::memcpy(bad.data() + field, &value, 4);
      EXPECT_THAT(msh_error(bad), HasSubstr("the MSH header"));
    }
  }
  TriangleMesh broken = mesh;
  broken.triangles[2][0] = 4;
  EXPECT_THAT(msh_error(msh(broken, false)), HasSubstr("face 2 refers to the vertices 4, 3, 2 of 4"));
  broken = mesh;
  broken.vertices[1].x() = std::nan("");
  EXPECT_THAT(msh_error(msh(broken, true)), HasSubstr("vertex 1"));
}

// Truncated and scrambled files give a mesh or an Error, nothing else.
TEST_F(MeshFileTest, DamagedFilesDoNotCrash) {
  const TriangleMesh mesh = parse_obj(kTetrahedron, "a").mesh;
  std::mt19937 random(7);
  const auto try_all = [](const std::string& bytes) {
    for (auto* parse :
         {static_cast<MeshFile (*)(std::string_view, const std::string&)>(parse_obj), parse_stl, parse_msh}) {
      try {
        const MeshFile file = parse(bytes, "damaged");
        EXPECT_FALSE(file.mesh.vertices.empty());
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("damaged"));
      }
    }
  };
  for (const std::string& good : {std::string(kTetrahedron), binary_stl(mesh), ascii_stl(mesh), msh(mesh, true)}) {
    for (std::size_t n = 0; n <= good.size(); ++n) try_all(good.substr(0, n));
    for (int i = 0; i < 2000; ++i) {
      std::string bad = good;
      for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
      try_all(bad);
    }
  }
}

std::string collada(const std::string& unit, const std::string& up_axis, const std::string& matrix) {
  return fmt::format(
      R"(<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="{}"/><up_axis>{}</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><lambert><diffuse><color>0.25 0.5 0.75 1</color>
</diffuse></lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m" name="paint"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 2 0 0 0 3
</float_array><technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="4" material="s">
<input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry>
</library_geometries><library_visual_scenes><visual_scene id="s"><node id="n"><matrix>{}</matrix>
<instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="s" target="#m"/>
</technique_common></bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>)",
      unit, up_axis, matrix);
}

// Node transforms and units count, the up axis does not.
TEST_F(MeshFileTest, Collada) {
  const std::string shifted = "1 0 0 10 0 1 0 20 0 0 1 30 0 0 0 1", mirrored = "-1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1";
  for (const char* up_axis : {"X_UP", "Y_UP", "Z_UP"}) {
    const MeshFile file = read_mesh_file(write("a.dae", collada("0.001", up_axis, shifted)));
    const Bounds box = bounds(file.mesh);
    EXPECT_LE((box.lower - Vector3(0.010, 0.020, 0.030)).norm(), 1e-8) << up_axis;
    EXPECT_LE((box.upper - Vector3(0.011, 0.022, 0.033)).norm(), 1e-8) << up_axis;
    EXPECT_TRUE(file.has_color);
    EXPECT_LE((file.color - Eigen::Vector4d(0.25, 0.5, 0.75, 1.0)).norm(), 1e-6);
  }
  EXPECT_NEAR(mesh_volume(read_mesh_file(write("b.dae", collada("1", "Z_UP", mirrored))).mesh), 1.0, 1e-6);
}

TEST_F(MeshFileTest, OtherFormatsByAssimp) {
  const std::string ply =
      "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 4\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 2 0\n0 0 3\n"
      "3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n";
  const MeshFile file = read_mesh_file(write("a.ply", ply));
  EXPECT_EQ(file.mesh.vertices.size(), 4u);
  EXPECT_NEAR(mesh_volume(file.mesh), 1.0, 1e-12);
  EXPECT_FALSE(file.has_color);
}

TEST_F(MeshFileTest, FilesThatCannotBeRead) {
  const auto error = [&](const std::filesystem::path& path) { return message_of([&] { read_mesh_file(path); }); };
  EXPECT_THAT(error(folder_ / "gone.stl"), HasSubstr("gone.stl: no such mesh file"));
  EXPECT_THAT(error(folder_), HasSubstr("this is a folder"));
  EXPECT_THAT(error(write("a.txt", "hello")), HasSubstr("'.txt' is not a known kind of mesh file"));
  EXPECT_THAT(error(write("bare", "hello")), HasSubstr("is not a known kind of mesh file"));
  EXPECT_THAT(error(write("a.dae", "<COLLADA")), HasSubstr("a.dae: "));
  EXPECT_THAT(error(write("empty.stl", "")), HasSubstr("empty.stl: 0 bytes"));
  EXPECT_THAT(error(write("empty.obj", "")), HasSubstr("no vertices"));
}

// Every mesh of the robots at hand has a mass and a convex hull around it.
TEST(MeshFiles, OfAllModels) {
  const char* data = std::getenv("TOUCHSTONE_DATA");
  const std::filesystem::path models = std::filesystem::path(data ? data : "") / "models";
  if (!data || !std::filesystem::is_directory(models)) GTEST_SKIP() << "TOUCHSTONE_DATA is not set";
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(models)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".stl" && extension != ".STL" && extension != ".obj" && extension != ".dae") continue;
    SCOPED_TRACE(entry.path());
    const TriangleMesh mesh = read_mesh_file(entry.path()).mesh;
    ++count;
    EXPECT_GT(mesh_volume(mesh, MeshInertia::kShell), 0.0);
    if (entry.path().filename() == "plane.obj") continue;  // flat
    const double hull = mesh_volume(mesh, MeshInertia::kConvex);
    EXPECT_GT(hull, 0.0);
    const Vector3 size = bounds(mesh).upper - bounds(mesh).lower;
    EXPECT_LE(hull, size.prod() * (1.0 + 1e-12));
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace touchstone
