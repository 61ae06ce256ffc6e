// Meshes, height fields, materials.
#include "io/mjcf_support.hpp"

namespace touchstone {
namespace {

using namespace mjcf_testing;

const std::string kTetrahedron = "vertex=\"0 0 0 1 0 0 0 1 0 0 0 1\"";

// A 2 x 2 gray PNG with the pixels 0 85 / 170 255, compressed with fixed Huffman codes.
const std::string kPng(
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00\x02\x08\x00\x00\x00"
    "\x00\x57\xdd\x52\xf8"
    "\x00\x00\x00\x0e\x49\x44\x41\x54\x78\x01\x63\x60\x08\x65\x58\xf5\x1f\x00\x03\xad\x01\xff\x34\xba\x29\xba"
    "\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82",
    71);

TEST(MjcfMesh, ReferenceFrameThenScale) {
  const ModelPtr model =
      load_body("<joint/><geom type=\"mesh\" mesh=\"m\"/>",
                "<asset><mesh name=\"m\" scale=\"2 2 2\" refpos=\"1 0 0\" " + kTetrahedron + "/></asset>");
  expect_vector(model->shapes[0].shape.mesh->vertices[0], {-2, 0, 0});
  EXPECT_NEAR(model->bodies[1].inertia.mass, 1000 * 8.0 / 6.0, 1e-9);
  expect_vector(model->bodies[1].inertia.com, {-1.5, 0.5, 0.5}, 1e-12);
  const ModelPtr turned =
      load_body("<joint/><geom type=\"mesh\" mesh=\"m\"/>",
                "<asset><mesh name=\"m\" refquat=\"1 0 0 1\" scale=\"1 2 3\" " + kTetrahedron + "/></asset>");
  expect_vector(turned->shapes[0].shape.mesh->vertices[1], {0, -2, 0}, 1e-12);
}

TEST(MjcfMesh, AMirroringScaleKeepsTheOutsideOutside) {
  const ModelPtr model =
      load_body("<joint/><geom type=\"mesh\" mesh=\"m\"/>",
                "<asset><mesh name=\"m\" inertia=\"exact\" scale=\"-1 1 1\" face=\"0 2 1 0 1 3 0 3 2 1 2 3\" " +
                    kTetrahedron + "/></asset>");
  EXPECT_NEAR(model->bodies[1].inertia.mass, 1000.0 / 6.0, 1e-9);
  expect_vector(model->bodies[1].inertia.com, {-0.25, 0.25, 0.25}, 1e-12);
}

TEST(MjcfMesh, FilesAreNamedByTheirStemAndFoundInMeshdir) {
  const std::string obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
  const std::string scene =
      "<asset><mesh file=\"deep\\hull.obj\"/></asset><worldbody><body><joint/><geom type=\"mesh\" "
      "mesh=\"hull\"/></body></worldbody>";
  const ModelPtr model = load("<compiler meshdir=\"meshes\"/>" + scene, {{"meshes/deep/hull.obj", obj}});
  EXPECT_EQ(model->shapes[0].shape.mesh->triangles.size(), 4u);
  EXPECT_EQ(load("<compiler assetdir=\"x\" strippath=\"true\"/>" + scene, {{"x/hull.obj", obj}})->nshape, 1);
}

TEST(MjcfMesh, PrimitivesAreFitted) {
  // A box of half sizes 1, 2, 3 about (1, 1, 1); the longest side becomes z, as MuJoCo sorts moments.
  std::string vertices;
  for (int i = 0; i < 8; ++i) {
    vertices += (i & 1 ? "2 " : "0 ") + std::string(i & 2 ? "3 " : "-1 ") + (i & 4 ? "4 " : "-2 ");
  }
  const auto fitted = [&](const std::string& type, const std::string& aabb) {
    return load("<compiler fitaabb=\"" + aabb + "\"/><asset><mesh name=\"m\" inertia=\"convex\" vertex=\"" + vertices +
                "\"/></asset><worldbody><body><joint/><geom type=\"" + type +
                "\" mesh=\"m\" fitscale=\"2\"/></body></worldbody>")
        ->shapes[0];
  };
  const ShapeElement box = fitted("box", "false");
  EXPECT_EQ(box.shape.type, ShapeType::kBox);
  expect_vector(box.pose.position, {1, 1, 1}, 1e-9);
  expect_vector(box.shape.size, {2, 4, 6}, 1e-6);
  expect_vector(fitted("sphere", "false").shape.size, {4, 0, 0}, 1e-6);
  expect_vector(fitted("sphere", "true").shape.size, {6, 0, 0}, 1e-6);
  expect_vector(fitted("capsule", "false").shape.size, {3, 2 * (3 - 0.75), 0}, 1e-6);
  expect_vector(fitted("cylinder", "true").shape.size, {4, 6, 0}, 1e-6);
}

TEST(MjcfHeightField, InlineRowsRunFromTheTop) {
  const ModelPtr model = load(
      "<asset><hfield name=\"h\" nrow=\"2\" ncol=\"3\" size=\"1 2 3 .4\" elevation=\"0 1 2 3 4 10\"/></asset>"
      "<worldbody><geom type=\"hfield\" hfield=\"h\"/></worldbody>");
  const HeightField& field = *model->shapes[0].shape.height_field;
  EXPECT_EQ(field.rows, 2);
  EXPECT_EQ(field.columns, 3);
  EXPECT_EQ(field.radius_y, 2);
  EXPECT_EQ(field.base, 0.4);
  expect_vector(field.values, {0.3, 0.4, 1, 0, 0.1, 0.2});
}

TEST(MjcfHeightField, PngAndMuJoCosFormat) {
  const std::string scene = "<worldbody><geom type=\"hfield\" hfield=\"h\"/></worldbody>";
  const ModelPtr png = load("<asset><hfield file=\"h.PNG\" size=\"1 1 1 1\"/></asset>" + scene, {{"h.PNG", kPng}});
  expect_vector(png->shapes[0].shape.height_field->values, {170.0 / 255, 1, 0, 85.0 / 255}, 1e-12);
  const std::string custom("\x01\0\0\0\x02\0\0\0\0\0\0\x3f\0\0\0\x40", 16);  // 1 x 2: 0.5, 2
  const ModelPtr binary = load("<asset><hfield file=\"h.bin\" size=\"1 1 1 1\"/></asset>" + scene, {{"h.bin", custom}});
  expect_vector(binary->shapes[0].shape.height_field->values, {0, 1});
}

TEST(MjcfMaterial, AColourOfItsOwnWins) {
  const ModelPtr model = load(
      "<asset><texture name=\"t\" file=\"a.png\"/><texture builtin=\"checker\" type=\"2d\" name=\"c\" width=\"9\" "
      "height=\"9\"/>"
      "<material name=\"m\" texture=\"t\" rgba=\"1 0 0 1\"/></asset>"
      "<worldbody><geom size=\"1\" material=\"m\"/><geom size=\"1\" material=\"m\" rgba=\"0 1 0 1\"/></worldbody>",
      {{"a.png", ""}});
  expect_vector(model->shapes[0].color, {1, 0, 0, 1});
  EXPECT_EQ(model->shapes[0].visual_material, "m");
  expect_vector(model->shapes[1].color, {0, 1, 0, 1});
  EXPECT_EQ(model->visual_materials[0].texture_file, "a.png");
}

}  // namespace
}  // namespace touchstone
