#include <gtest/gtest.h>

#include "io/urdf_support.hpp"

namespace touchstone {
namespace {

using namespace urdf_testing;

std::vector<std::string> body_names(const Model& model) {
  std::vector<std::string> names;
  for (const Body& body : model.bodies) names.push_back(body.name);
  return names;
}

// root - hinge - arm - fixed - tool - hinge - finger, and root - hinge - leg, the latter first in the file.
const std::string kRobot =
    robot(link("finger") + link("tool", R"(<inertial><origin xyz="0 0 1"/><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><origin xyz="0 1 0"/><geometry><sphere radius="0.1"/></geometry></collision>)") +
          link("arm") + link("leg") +
          link("root", kInertial + "<collision><geometry><sphere radius=\"1\"/></geometry></collision>") +
          joint("continuous", "hip", "root", "leg") + joint("continuous", "shoulder", "root", "arm") +
          joint("fixed", "mount", "arm", "tool", R"(<origin xyz="1 0 0" rpy="1.5707963267948966 0 0"/>)") +
          joint("continuous", "knuckle", "tool", "finger", R"(<origin xyz="0 0 1"/>)"));

TEST(UrdfTree, BodiesAreDepthFirstInTheOrderOfTheJoints) {
  EXPECT_EQ(body_names(*load(kRobot)), (std::vector<std::string>{"world", "leg", "arm", "finger"}));
  LoadOptions options;
  options.merge_fixed = false;
  options.floating_base = true;
  EXPECT_EQ(body_names(*load(kRobot, options)),
            (std::vector<std::string>{"world", "root", "leg", "arm", "tool", "finger"}));
}

TEST(UrdfTree, MergedLinksLeaveInertiaShapesAndASite) {
  const ModelPtr model = load(kRobot);
  const int arm = model->body("arm");
  const Site& site = model->sites[model->site("tool")];
  EXPECT_EQ(site.body, arm);
  EXPECT_EQ(site.pose.position, Vector3(1, 0, 0));

  // tool's centre of mass: (1, 0, 0) + Rx(90 deg) (0, 0, 1) = (1, -1, 0); arm has mass 2 at the origin.
  const MassProperties& inertia = model->bodies[arm].inertia;
  EXPECT_EQ(inertia.mass, 3);
  EXPECT_TRUE(inertia.com.isApprox(Vector3(1, -1, 0) / 3, 1e-14));
  const Vector3 apart(1, -1, 0);
  const Matrix3 expected = Matrix3(Vector3(3, 4, 5).asDiagonal()) + Matrix3::Identity() +
                           2.0 / 3.0 * (apart.squaredNorm() * Matrix3::Identity() - apart * apart.transpose());
  EXPECT_LT((inertia.inertia - expected).cwiseAbs().maxCoeff(), 1e-14);

  const ShapeElement& shape = model->shapes[model->shape("tool_collision")];
  EXPECT_EQ(shape.body, arm);
  EXPECT_TRUE(shape.pose.position.isApprox(Vector3(1, 0, 1), 1e-15));
  EXPECT_TRUE(model->bodies[model->body("finger")].pose.position.isApprox(Vector3(1, -1, 0), 1e-15));
  EXPECT_EQ(model->bodies[model->body("finger")].parent, arm);
}

TEST(UrdfTree, AFixedRootBelongsToTheWorld) {
  const ModelPtr model = load(kRobot);
  EXPECT_EQ(model->sites[model->site("root")].body, 0);
  EXPECT_EQ(model->shapes[model->shape("root_collision")].body, 0);
  EXPECT_EQ(model->bodies[0].inertia.mass, 0);
  EXPECT_EQ(model->nv, 3);
}

TEST(UrdfTree, KeptLinksStayBodies) {
  LoadOptions options;
  options.merge_fixed = false;
  const ModelPtr model = load(kRobot, options);
  EXPECT_EQ(model->nsite, 0);
  EXPECT_EQ(model->nv, 3);
  EXPECT_EQ(model->bodies[model->body("tool")].parent, model->body("arm"));
  EXPECT_EQ(model->bodies[model->body("tool")].inertia.mass, 1);
  EXPECT_EQ(model->bodies[model->body("root")].inertia.mass, 2);
  EXPECT_EQ(model->body_weld[model->body("tool")], model->body("arm"));
}

TEST(UrdfTree, AFloatingBaseHasAFreeRootJoint) {
  LoadOptions options;
  options.floating_base = true;
  const ModelPtr model = load(kRobot, options);
  EXPECT_EQ(model->nv, 9);
  const Joint& joint = model->joints[model->joint("root_joint")];
  EXPECT_EQ(joint.type, JointType::kFree);
  EXPECT_EQ(model->bodies[joint.body].name, "root");
  EXPECT_EQ(model->total_mass(), 9);
}

TEST(UrdfTree, ARootCalledWorldDoesNotFloat) {
  const std::string xml = robot("<link name=\"world\"/>" + link("b") + joint("continuous", "j", "world", "b"));
  for (const bool merge : {true, false}) {
    LoadOptions options;
    options.floating_base = true;
    options.merge_fixed = merge;
    const ModelPtr model = load(xml, options);
    EXPECT_EQ(model->nbody, 2);
    EXPECT_EQ(model->nv, 1);
  }
}

TEST(UrdfTree, ASingleLinkLoads) {
  EXPECT_EQ(load(robot(link("only")))->nbody, 1);
  LoadOptions options;
  options.floating_base = true;
  EXPECT_EQ(load(robot(link("only")), options)->nv, 6);
}

std::string chain(int count, const std::string& type) {
  std::string content;
  for (int i = 0; i < count; ++i) content += link("l" + std::to_string(i));
  for (int i = 1; i < count; ++i) {
    content += joint(type, "j" + std::to_string(i), "l" + std::to_string(i - 1), "l" + std::to_string(i),
                     R"(<origin xyz="0 0 0.1"/>)");
  }
  return robot(content);
}

TEST(UrdfTree, LongFixedChainsLoad) {
  const ModelPtr fixed = load(chain(10'000, "fixed"));
  EXPECT_EQ(fixed->nsite, 10'000);
  LoadOptions kept;
  kept.merge_fixed = false;
  EXPECT_EQ(load(chain(10'000, "fixed"), kept)->nbody, 10'001);
}

TEST(UrdfTree, ALongMovingChainLoads) {
  const ModelPtr model = load(chain(10'000, "continuous"));
  EXPECT_EQ(model->nv, 9'999);
}

TEST(UrdfTree, ManyChildrenLoad) {
  std::string content = link("root");
  for (int i = 0; i < 10'000; ++i) {
    content +=
        link("l" + std::to_string(i)) + joint("continuous", "j" + std::to_string(i), "root", "l" + std::to_string(i));
  }
  EXPECT_EQ(load(robot(content))->nv, 10'000);
}

}  // namespace
}  // namespace touchstone
