#include "touchstone/io/convex_pieces.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kTwoPieces =
    "# two tetrahedra\n"
    "o left\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n"
    "o right\r\nv 2 0 0\r\nv 3 0 0\r\nv 2 1e0 0\r\nv 2 0 1\r\n";

constexpr const char* kModel = R"(<mujoco><asset><mesh name="m" scale="2 2 2" vertex="0 0 0 1 0 0 0 1 0 0 0 1"
    face="0 2 1 0 1 3 0 3 2 1 2 3"/></asset><worldbody><body><freejoint/><geom name="g" type="mesh" mesh="m"/>
    <geom name="seen" type="mesh" mesh="m" contype="0" conaffinity="0"/><geom name="ball" size="1"/></body></worldbody>
    </mujoco>)";

std::string error_of(std::string_view text) {
  try {
    parse_pieces(text, "p.obj");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() /
              ("touchstone-pieces-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(ConvexPieces, ReadsObjects) {
  const ConvexPieces pieces = parse_pieces(kTwoPieces, "p.obj");
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0]->name, "left");
  ASSERT_EQ(pieces[1]->vertices.size(), 4u);
  EXPECT_EQ(pieces[1]->vertices[2], Vector3(2, 1, 0));
}

TEST(ConvexPieces, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("p.obj: no object"));
  EXPECT_THAT(error_of("v 0 0 0\n"), HasSubstr("p.obj:1: a vertex before the first object"));
  EXPECT_THAT(error_of("o a\nv 0 0\n"), HasSubstr("p.obj:2: 'v 0 0' is not a vertex"));
  EXPECT_THAT(error_of("o a\nv 0 0 nan\n"), HasSubstr("p.obj:2"));
  EXPECT_THAT(error_of("o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\no b\n"), HasSubstr("p.obj:1: piece 'a' has 3 vertices"));
}

TEST(ConvexPieces, ModelFindsThemByItsMesh) {
  const Folder folder;
  LoadOptions options;
  options.mesh_collision = MeshCollision::kPieces;
  options.pieces_folder = folder.path();
  const ModelPtr without = load_mjcf_string(kModel, options);
  const Shape& hull = without->shapes[0].shape;
  EXPECT_EQ(hull.mesh_collision, MeshCollision::kHull);
  ASSERT_GE(without->warnings.size(), 1u);
  EXPECT_THAT(without->warnings.back().message, HasSubstr("no pieces of mesh 'm'"));

  std::ofstream(pieces_file(*hull.mesh, folder.path())) << kTwoPieces;
  const ModelPtr with = load_mjcf_string(kModel, options);
  EXPECT_EQ(with->shapes[0].shape.mesh_collision, MeshCollision::kPieces);
  EXPECT_EQ(with->shapes[0].shape.pieces.size(), 2u);
  EXPECT_EQ(with->shapes[2].shape.pieces.size(), 0u);
}

TEST(ConvexPieces, TriangleCollisionByOption) {
  LoadOptions options;
  options.mesh_collision = MeshCollision::kTriangles;
  EXPECT_EQ(load_mjcf_string(kModel, options)->shapes[0].shape.mesh_collision, MeshCollision::kTriangles);
}

TEST(ConvexPieces, FileNamesTellMeshesApart) {
  TriangleMesh a;
  a.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  a.triangles = {{0, 1, 2}};
  TriangleMesh b = a;
  EXPECT_EQ(pieces_file(a, "x"), pieces_file(b, "x"));
  b.vertices[0].x() = 1e-9;
  EXPECT_NE(pieces_file(a, "x"), pieces_file(b, "x"));
  b = a;
  b.triangles[0] = {0, 2, 1};
  EXPECT_NE(pieces_file(a, "x"), pieces_file(b, "x"));
}

TEST(ConvexPieces, ObjTextKeepsEveryBit) {
  TriangleMesh a;
  a.vertices = {{0.1, 1.0 / 3.0, 1e-300}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  a.triangles = {{0, 1, 2}};
  const std::string text = "o x\n" + to_obj(a);
  EXPECT_EQ(parse_pieces(text, "x")[0]->vertices, a.vertices);
  EXPECT_THAT(text, HasSubstr("f 1 2 3\n"));
}

}  // namespace
}  // namespace touchstone
