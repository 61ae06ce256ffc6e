#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/urdf_support.hpp"

namespace touchstone {
namespace {

using namespace urdf_testing;

constexpr double kHalfPi = 1.5707963267948966;

// Link b of the robot, carried by a hinge.
ModelPtr with_link(const std::string& content, const std::string& more = "", const LoadOptions& options = {}) {
  return load(robot(more + link("a") + link("b", kInertial + content) + joint("continuous", "j", "a", "b")), options);
}

std::string sphere(const std::string& tag, const std::string& more = "") {
  return "<" + tag + "><geometry><sphere radius=\"0.1\"/></geometry>" + more + "</" + tag + ">";
}

TEST(UrdfLinks, InertialOriginTurnsTheInertia) {
  const std::string inertial = R"(<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>
    <inertia ixx="3" iyy="4" izz="5" ixy="0.5" ixz="0" iyz="0"/></inertial>)";
  const ModelPtr model = load(robot(link("a") + link("b", inertial) + joint("continuous", "j", "a", "b")));
  const MassProperties& body = model->bodies[1].inertia;
  EXPECT_EQ(body.mass, 2);
  EXPECT_TRUE(body.com.isApprox(Vector3(1, 2, 3), 1e-15));
  Matrix3 expected;
  expected << 4, -0.5, 0, -0.5, 3, 0, 0, 0, 5;
  EXPECT_LT((body.inertia - expected).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(UrdfLinks, RollPitchYawTurnsAboutFixedAxes) {
  const ModelPtr model = load(two_links("continuous", R"(<origin rpy="0.1 0.2 0.3"/>)"));
  Matrix3 expected;  // from Pinocchio
  expected << 0.9362933635841992, -0.27509584731824366, 0.21835066314633442, 0.28962947762551555, 0.9564250858492325,
      -0.036957013524625144, -0.19866933079506122, 0.0978433950072557, 0.9751703272018158;
  EXPECT_LT((model->bodies[1].pose.rotation.toRotationMatrix() - expected).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(UrdfLinks, ReadsPrimitiveShapes) {
  const ModelPtr model = with_link(R"(
    <collision><geometry><box size="2 4 6"/></geometry><origin xyz="1 0 0"/></collision>
    <collision><geometry><cylinder radius="0.5" length="3"/></geometry></collision>
    <collision><geometry><sphere radius="0.25"/></geometry></collision>
    <collision><geometry><capsule radius="0.5" length="3"/></geometry></collision>)");
  ASSERT_EQ(model->nshape, 4);
  EXPECT_EQ(model->shapes[0].shape.type, ShapeType::kBox);
  EXPECT_EQ(model->shapes[0].shape.size, Vector3(1, 2, 3));
  EXPECT_EQ(model->shapes[0].pose.position, Vector3(1, 0, 0));
  EXPECT_EQ(model->shapes[1].shape.type, ShapeType::kCylinder);
  EXPECT_EQ(model->shapes[1].shape.size, Vector3(0.5, 1.5, 0));
  EXPECT_EQ(model->shapes[2].shape.type, ShapeType::kSphere);
  EXPECT_EQ(model->shapes[3].shape.type, ShapeType::kCapsule);
  EXPECT_EQ(model->shapes[3].shape.size, Vector3(0.5, 1.5, 0));
  for (const ShapeElement& shape : model->shapes) {
    EXPECT_EQ(shape.body, 1);
    EXPECT_FALSE(shape.visual_only);
  }
}

TEST(UrdfLinks, VisualsDoNotCollide) {
  const ModelPtr model = with_link(sphere("visual"));
  ASSERT_EQ(model->nshape, 1);
  EXPECT_TRUE(model->shapes[0].visual_only);
  EXPECT_EQ(model->shapes[0].contact_type, 0U);
  EXPECT_EQ(model->shapes[0].contact_affinity, 0U);
}

// Group of a shape; 0 to 2 are shown.
bool shown(const Model& model, const std::string& name) {
  const int i = model.shape(name);
  EXPECT_GE(i, 0) << name;
  return i >= 0 && model.shapes[static_cast<std::size_t>(i)].group < 3;
}

TEST(UrdfLinks, CollisionHullsAreNotDrawnOverVisuals) {
  const std::string both = kInertial + sphere("visual") + sphere("collision"), hull = kInertial + sphere("collision");
  // a: both; b: a hull alone, on a joint of its own; c: a hull alone, fixed to a; d: both, fixed to b.
  const std::string xml = robot(link("a", both) + link("b", hull) + link("c", hull) + link("d", both) +
                                link("e", hull) + joint("continuous", "ab", "a", "b") + joint("fixed", "ac", "a", "c") +
                                joint("fixed", "bd", "b", "d") + joint("continuous", "be", "b", "e"));
  for (const bool merge : {true, false}) {
    for (const bool floating : {true, false}) {
      const ModelPtr model = load(xml, {.floating_base = floating, .merge_fixed = merge});
      EXPECT_TRUE(shown(*model, "a_visual"));
      EXPECT_TRUE(shown(*model, "d_visual"));
      for (const char* hidden : {"a_collision", "b_collision", "c_collision", "d_collision"}) {
        EXPECT_FALSE(shown(*model, hidden)) << hidden << ", merged " << merge << ", floating " << floating;
      }
      EXPECT_TRUE(shown(*model, "e_collision"));  // all that there is to see of it
    }
  }
}

TEST(UrdfLinks, AHullIsDrawnWhenItsVisualCannotBe) {
  const std::string lost = R"(<visual><geometry><mesh filename="nowhere.stl"/></geometry></visual>)";
  EXPECT_TRUE(shown(*with_link(lost + sphere("collision")), "b_collision"));
  const std::string clear =
      R"(<visual><geometry><sphere radius="1"/></geometry><material name="m"><color rgba="1 0 0 0"/></material></visual>)";
  EXPECT_TRUE(shown(*with_link(clear + sphere("collision")), "b_collision"));
  EXPECT_FALSE(shown(*with_link(lost + sphere("visual") + sphere("collision")), "b_collision"));
}

TEST(UrdfLinks, ShapesGetUniqueNames) {
  const ModelPtr model = with_link(sphere("visual") + sphere("visual") + sphere("collision") +
                                   R"(<visual name="b_visual"><geometry><sphere radius="1"/></geometry></visual>)");
  EXPECT_GE(model->shape("b_visual"), 0);
  EXPECT_GE(model->shape("b_visual_1"), 0);
  EXPECT_GE(model->shape("b_visual_2"), 0);
  EXPECT_GE(model->shape("b_collision"), 0);
}

TEST(UrdfLinks, MaterialsAreGlobalOrInline) {
  const ModelPtr model =
      with_link(sphere("visual", R"(<material name="red"/>)") +
                    sphere("visual", R"(<material name=""><color rgba="0 1 0 0.5"/></material>)") +
                    sphere("visual", R"(<material name="blue"><color rgba="0 0 1 1"/></material>)") +
                    sphere("visual", R"(<material name="blue"/>)") +
                    sphere("visual", R"(<material name="blue"><color rgba="0 0 0.5 1"/></material>)"),
                R"(<material name="red"><color rgba="1 0 0 1"/></material>)");
  const auto color = [&](int i) { return model->shapes[i].color; };
  EXPECT_EQ(color(0), Eigen::Vector4d(1, 0, 0, 1));
  EXPECT_EQ(color(1), Eigen::Vector4d(0, 1, 0, 0.5));
  EXPECT_EQ(color(2), Eigen::Vector4d(0, 0, 1, 1));
  EXPECT_EQ(color(3), Eigen::Vector4d(0, 0, 1, 1));
  EXPECT_EQ(color(4), Eigen::Vector4d(0, 0, 0.5, 1));
  EXPECT_EQ(model->shapes[0].visual_material, "red");
  EXPECT_EQ(model->shapes[1].visual_material, "");
  EXPECT_EQ(model->shapes[3].visual_material, "blue");
  EXPECT_EQ(model->shapes[4].visual_material, "") << "same name, other colour";
  EXPECT_EQ(model->visual_materials.size(), 2U);
}

TEST(UrdfLinks, AnUndefinedMaterialIsAWarning) {
  EXPECT_TRUE(has_warning(*with_link(sphere("visual", R"(<material name="nothing"/>)")), "'nothing' is not defined"));
}

TEST(UrdfLinks, ReadsTheContactExtension) {
  const ModelPtr model = with_link(sphere("collision") + R"(<contact><lateral_friction value="0.7"/>
    <rolling_friction value="0.01"/><spinning_friction value="0.02"/><restitution value="0.5"/><contact_cfm value="0"/>
    </contact>)");
  EXPECT_EQ(model->shapes[0].material.friction, Vector3(0.7, 0.02, 0.01));
  EXPECT_EQ(model->shapes[0].material.restitution, 0.5);
  EXPECT_TRUE(has_warning(*model, "contact_cfm"));
}

TEST(UrdfLinks, ALinkWithoutInertiaIsMassless) {
  const ModelPtr model = load(robot(link("a") + link("b", "") + link("c") + joint("continuous", "j", "a", "b") +
                                    joint("continuous", "k", "b", "c", R"(<axis xyz="0 1 0"/>)")));
  EXPECT_EQ(model->bodies[1].inertia.mass, 0);
}

TEST(UrdfLinks, AnInertiaThatNoBodyHasIsAWarning) {
  const std::string inertial =
      R"(<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial>)";
  const ModelPtr model = load(robot(link("a") + link("b", inertial) + joint("continuous", "j", "a", "b")));
  EXPECT_EQ(model->bodies[1].inertia.inertia(2, 2), 3);
  EXPECT_TRUE(has_warning(*model, "link 'b': no body has this inertia"));
}

TEST(UrdfLinks, RoundingBelowZeroIsCut) {
  const std::string inertial =
      R"(<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="-1e-8" ixy="0" ixz="0" iyz="0"/></inertial>)";
  const ModelPtr model = load(robot(link("a") + link("b", inertial) + joint("continuous", "j", "a", "b")));
  EXPECT_NEAR(model->bodies[1].inertia.inertia(2, 2), 0.0, 1e-16);
  EXPECT_FALSE(model->warnings.empty());
}

TEST(UrdfLinks, MissingProductsOfInertiaAreZero) {
  const std::string inertial = R"(<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>)";
  const ModelPtr model = load(robot(link("a") + link("b", inertial) + joint("continuous", "j", "a", "b")));
  EXPECT_TRUE(model->bodies[1].inertia.inertia.isIdentity(1e-15));
}

TEST(UrdfLinks, UselessVisualsAreWarningsUselessCollisionsErrors) {
  for (const char* shape : {R"(<sphere radius="0"/>)", R"(<box size="1 1 -1"/>)",
                            R"(<cylinder radius="1" length="0"/>)", R"(<torus/>)", ""}) {
    const std::string content = std::string("<geometry>") + shape + "</geometry>";
    const ModelPtr model = with_link("<visual>" + content + "</visual>");
    EXPECT_EQ(model->nshape, 0);
    EXPECT_TRUE(has_warning(*model, "visual of link 'b'")) << shape;
    EXPECT_THROW(with_link("<collision>" + content + "</collision>"), InputError) << shape;
    LoadOptions options;
    options.allow_ignored = true;
    EXPECT_TRUE(has_warning(*with_link("<collision>" + content + "</collision>", "", options), "ignored")) << shape;
  }
}

std::string proximity(const std::string& content) {
  return R"(<collision><geometry><sphere radius="0.1"/></geometry><drake:proximity_properties>)" + content +
         "</drake:proximity_properties></collision>";
}

TEST(UrdfLinks, ProximityPropertiesOfDrakeAreRead) {
  const ModelPtr model = with_link(proximity(R"(
      <drake:point_contact_stiffness value="2e5"/><drake:hunt_crossley_dissipation value="1.25"/>
      <drake:relaxation_time value="0.01"/><drake:mu_dynamic value="0.4"/><drake:mu_static value="0.6"/>)"));
  ASSERT_EQ(model->nshape, 1);
  const Material& material = model->shapes[0].material;
  EXPECT_EQ(material.stiffness, 2e5);
  EXPECT_EQ(material.dissipation, 1.25);
  EXPECT_EQ(material.relaxation_time, 0.01);
  EXPECT_EQ(material.friction[0], 0.4);
  EXPECT_TRUE(has_warning(*model, "<drake:mu_static> 0.6 is not used"));
  EXPECT_FALSE(has_warning(*model, "unknown"));
  // One coefficient is that of both.
  const ModelPtr one = with_link(proximity(R"(<drake:mu_static value="0.3"/>)"));
  EXPECT_EQ(one->shapes[0].material.friction[0], 0.3);
  EXPECT_FALSE(has_warning(*one, "mu_static"));
}

TEST(UrdfLinks, HydroelasticPropertiesAreIgnoredWithAWarning) {
  const ModelPtr model = with_link(proximity(R"(<drake:compliant_hydroelastic/><drake:hydroelastic_modulus value="1e7"/>
      <drake:hunt_crossley_dissipation value="1.25"/>)"));
  EXPECT_EQ(model->shapes[0].material.stiffness, 0.0);
  EXPECT_EQ(model->shapes[0].material.dissipation, 0.0);
  EXPECT_TRUE(has_warning(*model, "<drake:hydroelastic_modulus> is ignored"));
  EXPECT_TRUE(has_warning(*model, "<drake:compliant_hydroelastic> is ignored"));
  EXPECT_TRUE(has_warning(*model, "dissipation 1.25 without <drake:point_contact_stiffness> is not used"));
}

TEST(UrdfLinks, BadProximityPropertiesAreNamed) {
  for (const char* value : {"-1", "nan", "much"}) {
    const std::string xml =
        robot(link("b", kInertial + proximity(fmt::format(R"(<drake:point_contact_stiffness value="{}"/>)", value))));
    const std::string message = error_of(xml);
    EXPECT_NE(message.find("drake:point_contact_stiffness"), std::string::npos) << message;
    EXPECT_NE(message.find("collision of link 'b'"), std::string::npos) << message;
    EXPECT_NE(message.find(value), std::string::npos) << message;
  }
  const std::string slippery = robot(link("b", kInertial + proximity(R"(<drake:mu_dynamic value="1e9"/>)")));
  EXPECT_NE(error_of(slippery).find("friction is 1000000000"), std::string::npos) << error_of(slippery);
}

TEST(UrdfLinks, QuaternionOriginsAreRead) {
  const ModelPtr model = load(two_links("continuous", R"(<origin quat_xyzw="0 0 2 2"/>)"));
  EXPECT_TRUE(model->bodies[1].pose.rotation.isApprox(Quaternion(Eigen::AngleAxisd(kHalfPi, Vector3::UnitZ())), 1e-15));
}

}  // namespace
}  // namespace touchstone
