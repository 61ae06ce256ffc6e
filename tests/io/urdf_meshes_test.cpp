#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/urdf_support.hpp"
#include "touchstone/io/urdf/urdf_resources.hpp"

namespace touchstone {
namespace {

using namespace urdf_testing;
using ::testing::HasSubstr;

const std::string kTetrahedron = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

std::string with_mesh(const std::string& tag, const std::string& uri, const std::string& more = "") {
  return robot(link("a", kInertial + "<" + tag + "><geometry><mesh filename=\"" + uri + "\" " + more +
                             "/></geometry></" + tag + ">"));
}

// Sets an environment variable for the length of a test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

class UrdfMeshes : public ::testing::Test {
 protected:
  ModelPtr load_there(const std::string& xml) {
    return load_urdf(folder.write("ws/pkg/urdf/robot.urdf", xml), options);
  }

  TemporaryFolder folder;
  LoadOptions options;
};

TEST_F(UrdfMeshes, AreFoundByEveryKindOfUri) {
  const std::string mesh = folder.write("ws/pkg/meshes/t.obj", kTetrahedron).string();
  for (const std::string& uri :
       {std::string("package://pkg/meshes/t.obj"), std::string("package:///pkg/meshes/t.obj"),
        std::string("model://pkg/meshes/t.obj"), std::string("../meshes/t.obj"), std::string("file://../meshes/t.obj"),
        std::string("..\\meshes\\t.obj"), "file://" + mesh, mesh}) {
    const ModelPtr model = load_there(with_mesh("collision", uri));
    ASSERT_EQ(model->nshape, 1) << uri;
    ASSERT_TRUE(model->shapes[0].shape.mesh) << uri;
    EXPECT_EQ(model->shapes[0].shape.mesh->vertices.size(), 4U) << uri;
  }
}

TEST_F(UrdfMeshes, AreFoundInSearchPathsAndEnvironment) {
  folder.write("elsewhere/other/t.obj", kTetrahedron);
  folder.write("prefix/share/ament/t.obj", kTetrahedron);
  const std::string elsewhere = (folder.path() / "elsewhere").string();
  const std::string xml = with_mesh("collision", "package://other/t.obj");
  EXPECT_THROW(load_there(xml), InputError);
  for (const std::string& path : {elsewhere, elsewhere + "/other", elsewhere + "/other/"}) {
    options.search_paths = {path};
    EXPECT_EQ(load_there(xml)->nshape, 1) << path;
  }
  options.search_paths = {elsewhere};
  EXPECT_EQ(load_there(with_mesh("collision", "other/t.obj"))->nshape, 1);
  options.search_paths.clear();
  {
    const Environment ros("ROS_PACKAGE_PATH", "/nowhere::" + elsewhere);
    EXPECT_EQ(load_there(xml)->nshape, 1);
  }
  {
    const Environment ament("AMENT_PREFIX_PATH", (folder.path() / "prefix").string());
    EXPECT_EQ(load_there(with_mesh("collision", "package://ament/t.obj"))->nshape, 1);
  }
}

TEST_F(UrdfMeshes, BlanksMayBeEncoded) {
  folder.write("ws/pkg/a b.obj", kTetrahedron);
  EXPECT_EQ(load_there(with_mesh("collision", "package://pkg/a%20b.obj"))->nshape, 1);
  EXPECT_EQ(load_there(with_mesh("collision", "package://pkg/a b.obj"))->nshape, 1);
}

TEST_F(UrdfMeshes, AMissingCollisionMeshIsAnErrorThatListsThePlaces) {
  options.search_paths = {"/some/where"};
  try {
    load_there(with_mesh("collision", "package://pkg/none.obj"));
    FAIL() << "loads";
  } catch (const InputError& error) {
    EXPECT_EQ(error.where().line, 2);
    EXPECT_THAT(error.what(), HasSubstr("robot.urdf:2: collision of link 'a': mesh 'package://pkg/none.obj'"));
    EXPECT_THAT(error.what(), HasSubstr("/some/where/pkg/none.obj"));
    EXPECT_THAT(error.what(), HasSubstr("ws/pkg/none.obj"));
    EXPECT_THAT(error.what(), HasSubstr("ROS_PACKAGE_PATH"));
  }
}

TEST_F(UrdfMeshes, AMissingVisualMeshIsAWarning) {
  const ModelPtr model = load_there(with_mesh("visual", "package://pkg/none.obj"));
  EXPECT_EQ(model->nshape, 0);
  EXPECT_TRUE(has_warning(*model, "does not exist"));
}

TEST_F(UrdfMeshes, ABrokenMeshNamesItself) {
  folder.write("ws/pkg/broken.obj", "v 1 2\n");
  try {
    load_there(with_mesh("collision", "package://pkg/broken.obj"));
    FAIL() << "loads";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("robot.urdf:2"));
    EXPECT_THAT(error.what(), HasSubstr("broken.obj"));
  }
  EXPECT_EQ(load_there(with_mesh("visual", "package://pkg/broken.obj"))->warnings.size(), 1U);
}

TEST_F(UrdfMeshes, OtherSchemesAreRefused) {
  EXPECT_THROW(load_there(with_mesh("collision", "http://example.org/t.obj")), InputError);
}

TEST_F(UrdfMeshes, ScaleMirrorsAndKeepsTrianglesOutward) {
  folder.write("ws/pkg/t.obj", kTetrahedron);
  const auto mesh = [&](const std::string& scale) {
    return load_there(with_mesh("collision", "package://pkg/t.obj", scale))->shapes[0].shape;
  };
  const Shape plain = mesh("");
  const Shape mirrored = mesh(R"(scale="1 -2 1")");
  EXPECT_EQ(mirrored.mesh->vertices[2], Vector3(0, -4, 0));
  EXPECT_NEAR(volume(plain), 1.0, 1e-14);
  EXPECT_NEAR(volume(mirrored), 2.0, 1e-14);
}

TEST_F(UrdfMeshes, AreReadOnce) {
  folder.write("ws/pkg/t.obj", kTetrahedron);
  folder.write("ws/pkg/urdf/robot.urdf", "");
  UrdfResources resources(folder.path() / "ws/pkg/urdf", options);
  const auto first = resources.mesh("package://pkg/t.obj", Vector3::Ones());
  const auto scaled = resources.mesh("../t.obj", Vector3::Constant(2.0));
  std::filesystem::remove(folder.path() / "ws/pkg/t.obj");
  folder.write("ws/pkg/t.obj", "changed");
  EXPECT_EQ(resources.mesh("../t.obj", Vector3::Ones()).mesh, first.mesh);
  EXPECT_NE(scaled.mesh, first.mesh);
  EXPECT_EQ(resources.mesh("../t.obj", Vector3::Constant(3.0)).mesh->vertices[1], Vector3(3, 0, 0));
}

TEST_F(UrdfMeshes, TexturesAreResolved) {
  folder.write("ws/pkg/t.png", "not read");
  const ModelPtr model = load_there(robot(link("a", kInertial + R"(<visual><geometry><sphere radius="1"/></geometry>
    <material name="m"><texture filename="package://pkg/t.png"/></material></visual>
    <visual><geometry><sphere radius="1"/></geometry><material name="n"><texture filename="none.png"/></material></visual>)")));
  ASSERT_EQ(model->visual_materials.size(), 2U);
  EXPECT_THAT(model->visual_materials[0].texture_file, HasSubstr("ws/pkg/t.png"));
  EXPECT_TRUE(has_warning(*model, "none.png"));
}

}  // namespace
}  // namespace touchstone
