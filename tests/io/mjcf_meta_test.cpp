// What assembles models: include, frame, replicate, attach.
#include <cmath>
#include <filesystem>

#include "io/mjcf_support.hpp"

namespace touchstone {
namespace {

using namespace mjcf_testing;

TEST(MjcfInclude, FilesAreRelativeToTheMainFile) {
  const Files files{{"sub/a.xml", "<mujocoinclude><include file=\"sub/b.xml\"/><body name=\"a\"/></mujocoinclude>"},
                    {"sub/b.xml", "<x><body name=\"b\">\n<body name=\"c\"/></body></x>"}};
  const ModelPtr model = load("<worldbody><include file=\"sub/a.xml\"/><body name=\"d\"/></worldbody>", files);
  ASSERT_EQ(model->nbody, 5);
  EXPECT_EQ(model->bodies[1].name, "b");
  EXPECT_EQ(model->bodies[2].origin.text(), "sub/b.xml:2: body 'c'");
  EXPECT_EQ(model->bodies[3].name, "a");
}

TEST(MjcfInclude, OrElseToTheFileThatIncludesThem) {
  const Files files{{"sub/a.xml", "<x><include file=\"b.xml\"/><include file=\"c.xml\"/></x>"},
                    {"sub/b.xml", "<x><body name=\"beside\"/></x>"},
                    {"sub/c.xml", "<x><body name=\"beside too\"/></x>"},
                    {"c.xml", "<x><body name=\"main\"/></x>"}};
  const ModelPtr model = load("<worldbody><include file=\"sub/a.xml\"/></worldbody>", files);
  EXPECT_EQ(model->bodies[1].name, "beside");
  EXPECT_EQ(model->bodies[2].name, "main");
}

TEST(MjcfInclude, FilesOnDisk) {
  const std::filesystem::path folder = std::filesystem::path(TOUCHSTONE_SOURCE_DIR) / "tests/data/mjcf";
  const ModelPtr model = load_mjcf(folder / "scene.xml");
  EXPECT_EQ(model->nbody, 3);
  EXPECT_EQ(model->shapes[model->shape("hull")].shape.mesh->vertices.size(), 4u);
  EXPECT_TRUE(model->warnings.empty());
}

TEST(MjcfFrame, PosesCompose) {
  const ModelPtr model = load(
      "<worldbody><frame pos=\"1 0 0\" euler=\"0 0 90\"><frame pos=\"0 0 2\"><body name=\"b\" pos=\"1 0 0\"><frame "
      "euler=\"0 0 90\">"
      "<joint axis=\"1 0 0\" pos=\"1 0 0\"/><inertial pos=\"1 0 0\" mass=\"1\" diaginertia=\"1 2 3\"/><site name=\"s\" "
      "pos=\"0 0 1\"/></frame>"
      "</body></frame><geom size=\"1\" pos=\"1 0 0\"/></frame></worldbody>");
  expect_vector(model->bodies[1].pose.position, {1, 1, 2});
  expect_vector(model->joints[0].axis, {0, 1, 0});
  expect_vector(model->joints[0].anchor, {0, 1, 0});
  expect_vector(model->bodies[1].inertia.com, {0, 1, 0});
  expect_vector(model->bodies[1].inertia.inertia.diagonal().eval(), {2, 1, 3});
  expect_vector(model->shapes[0].pose.position, {1, 1, 0});
}

TEST(MjcfReplicate, NamesPosesAndReferences) {
  const ModelPtr model = load(
      "<worldbody><replicate count=\"2\" offset=\"1 0 0\" euler=\"0 0 90\" sep=\"-\"><body name=\"a\" pos=\"1 0 "
      "0\"><joint name=\"j\"/>"
      "<geom size=\".1\"/><site name=\"s\"/></body></replicate><body name=\"z\"><joint name=\"k\"/><geom "
      "size=\".1\"/></body></worldbody>"
      "<actuator><motor name=\"m\" joint=\"j\"/><motor name=\"n\" joint=\"k\"/></actuator>"
      "<sensor><framepos name=\"p\" objtype=\"site\" objname=\"s\" reftype=\"body\" refname=\"z\"/></sensor>"
      "<contact><exclude body1=\"a\" body2=\"z\"/></contact><keyframe><key qpos=\"1 2 3\"/></keyframe>");
  EXPECT_EQ(model->bodies[1].name, "a-0");
  EXPECT_EQ(model->bodies[2].name, "a-1");
  EXPECT_EQ(model->bodies[3].name, "z");
  expect_vector(model->bodies[2].pose.position, {1, 1, 0});
  expect_rotation(model->bodies[2].pose.rotation, Quaternion(1, 0, 0, 1));
  // The originals go, the copies come last.
  ASSERT_EQ(model->nu, 3);
  EXPECT_EQ(model->actuators[0].name, "n");
  EXPECT_EQ(model->actuators[1].name, "m-0");
  EXPECT_EQ(model->actuators[2].target, model->joint("j-1"));
  ASSERT_EQ(model->sensors.size(), 2u);
  EXPECT_EQ(model->sensors[1].name, "p-1");
  EXPECT_EQ(model->sensors[1].reference, model->body("z"));
  EXPECT_EQ(model->contact_exclusions.size(), 2u);
  expect_vector(model->keyframes[0].q, {1, 2, 3});
}

TEST(MjcfReplicate, NestsAndPads) {
  const ModelPtr model = load(
      "<worldbody><replicate count=\"10\" offset=\"0 0 1\"><replicate count=\"2\" offset=\"0 1 0\" sep=\"_\"><geom "
      "name=\"g\" size=\".1\"/>"
      "</replicate></replicate></worldbody>");
  ASSERT_EQ(model->nshape, 20);
  EXPECT_EQ(model->shapes[1].name, "g_100");
  EXPECT_EQ(model->shapes[19].name, "g_109");
  expect_vector(model->shapes[19].pose.position, {0, 1, 9});
}

const Files kChild{
    {"parts/child.xml",
     "<mujoco model=\"arm\"><compiler angle=\"radian\" meshdir=\"meshes\"/><default><joint damping=\"2\"/></default>"
     "<asset><mesh name=\"m\" file=\"m.obj\"/><material name=\"red\" rgba=\"1 0 0 1\"/></asset>"
     "<worldbody><frame name=\"f\" pos=\"0 0 1\"><body name=\"base\" pos=\"0 1 0\"><joint name=\"j\" range=\"-1 1\"/>"
     "<geom name=\"g\" type=\"mesh\" mesh=\"m\" material=\"red\"/><site name=\"tip\"/></body></frame>"
     "<body name=\"other\"><joint name=\"k\"/><geom size=\".1\"/></body></worldbody>"
     "<tendon><fixed name=\"t\"><joint joint=\"j\" coef=\"1\"/></fixed></tendon>"
     "<actuator><motor name=\"mj\" tendon=\"t\"/><motor name=\"mk\" joint=\"k\"/></actuator>"
     "<sensor><gyro name=\"imu\" site=\"tip\"/></sensor><contact><exclude body1=\"base\" body2=\"other\"/></contact>"
     "<keyframe><key name=\"home\" qpos=\".5 .6\" ctrl=\"7 8\"/></keyframe></mujoco>"},
    {"parts/meshes/m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"}};

ModelPtr load_parent(const std::string& attachment) {
  return load(
      "<asset><model name=\"arm\" file=\"parts/child.xml\"/></asset><worldbody><body name=\"p\"><joint name=\"pj\"/>"
      "<geom size=\".1\"/>" +
          attachment +
          "</body></worldbody><actuator><motor name=\"pm\" joint=\"pj\"/></actuator>"
          "<keyframe><key name=\"own\" qpos=\"1\"/></keyframe>",
      kChild);
}

TEST(MjcfAttach, ABodyBringsWhatBelongsToIt) {
  const ModelPtr model = load_parent(
      "<frame pos=\"3 0 0\"><attach model=\"arm\" body=\"base\" prefix=\"l_\"/></frame>"
      "<attach model=\"arm\" body=\"base\" prefix=\"r_\"/>");
  ASSERT_EQ(model->nbody, 4);
  EXPECT_EQ(model->bodies[2].name, "l_base");
  expect_vector(model->bodies[2].pose.position, {3, 1, 0});
  EXPECT_EQ(model->joints[1].damping, 2);
  expect_vector(model->joints[1].range, {-1, 1});  // the child's file is in radians
  EXPECT_EQ(model->shapes[1].shape.mesh, model->shapes[2].shape.mesh);
  EXPECT_EQ(model->shapes[1].visual_material, "l_red");
  ASSERT_EQ(model->nu, 3);  // not the actuator of the other body
  EXPECT_EQ(model->actuators[2].name, "r_mj");
  EXPECT_EQ(model->tendons[1].terms[0].joint, model->joint("r_j"));
  EXPECT_EQ(model->sensors[0].name, "l_imu");
  EXPECT_TRUE(model->contact_exclusions.empty());
  ASSERT_EQ(model->keyframes.size(), 3u);
  EXPECT_EQ(model->keyframes[0].name, "own");
  expect_vector(model->keyframes[1].q, {0, 0.5, 0});
  expect_vector(model->keyframes[2].control, {0, 0, 7});
}

TEST(MjcfAttach, AFrameOrAWholeModel) {
  const ModelPtr frame = load_parent("<attach model=\"arm\" frame=\"f\" prefix=\"x_\"/>");
  ASSERT_EQ(frame->nbody, 3);
  expect_vector(frame->bodies[2].pose.position, {0, 1, 1});
  const ModelPtr whole = load_parent("<attach model=\"arm\" prefix=\"x_\"/>");
  EXPECT_EQ(whole->nbody, 4);
  EXPECT_EQ(whole->nu, 3);
  EXPECT_EQ(whole->contact_exclusions.size(), 1u);
}

TEST(MjcfAttach, ToItself) {
  const ModelPtr model = load(
      "<worldbody><body name=\"a\"><joint name=\"j\"/><geom size=\".1\"/></body><frame pos=\"1 0 0\"><attach "
      "body=\"a\" prefix=\"b\"/></frame>"
      "</worldbody><actuator><motor name=\"m\" joint=\"j\"/></actuator>");
  ASSERT_EQ(model->nbody, 3);
  EXPECT_EQ(model->bodies[2].name, "ba");
  EXPECT_EQ(model->actuators[1].name, "bm");
}

TEST(MjcfDepth, AChainOfTenThousandBodiesLoads) {
  std::string xml = "<mujoco><worldbody>";
  for (int i = 0; i < 10'000; ++i) xml += "<body pos=\"0 0 .1\"><geom size=\".01\"/>";
  for (int i = 0; i < 10'000; ++i) xml += "</body>";
  EXPECT_EQ(load_mjcf_string(xml + "</worldbody></mujoco>")->nbody, 10'001);
}

}  // namespace
}  // namespace touchstone
