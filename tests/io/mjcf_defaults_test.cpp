// Default classes and actuators, whose defaults are entangled.
#include <cmath>
#include <numbers>

#include "io/mjcf_support.hpp"

namespace touchstone {
namespace {

using namespace mjcf_testing;

TEST(MjcfDefaults, ClassesInheritAndChildclassReachesDown) {
  const ModelPtr model = load(
      "<default><geom size=\".1 .2 .3\" density=\"10\"/><default class=\"a\"><geom type=\"box\" density=\"20\"/>"
      "<default class=\"b\"><geom size=\".5\"/></default></default></default>"
      "<worldbody><geom name=\"main\"/><body childclass=\"a\"><geom name=\"a\"/><body><geom name=\"below\"/></body>"
      "<geom name=\"own\" class=\"b\"/><frame childclass=\"b\"><geom name=\"framed\"/></frame>"
      "<geom name=\"reset\" class=\"main\"/></body></worldbody>");
  EXPECT_EQ(model->shapes[model->shape("main")].shape.type, ShapeType::kSphere);
  EXPECT_EQ(model->shapes[model->shape("a")].shape.type, ShapeType::kBox);
  EXPECT_EQ(model->shapes[model->shape("below")].shape.type, ShapeType::kBox);
  // A shorter list replaces only the first numbers.
  expect_vector(model->shapes[model->shape("own")].shape.size, {0.5, 0.2, 0.3});
  expect_vector(model->shapes[model->shape("framed")].shape.size, {0.5, 0.2, 0.3});
  EXPECT_EQ(model->shapes[model->shape("reset")].shape.type, ShapeType::kSphere);
}

TEST(MjcfDefaults, ReachEveryKindOfElement) {
  const ModelPtr model = load(
      "<default><default class=\"c\"><joint damping=\"1\" range=\"-1 1\"/><site size=\".7\"/><tendon stiffness=\"2\"/>"
      "<equality solref=\".3 .4\" active=\"false\"/><pair condim=\"4\"/><mesh scale=\"2 2 2\"/><material "
      "shininess=\".9\"/>"
      "<position kp=\"5\"/></default></default>"
      "<asset><material name=\"m\" class=\"c\"/><mesh name=\"me\" class=\"c\" vertex=\"0 0 0 1 0 0 0 1 0 0 0 "
      "1\"/></asset>"
      "<worldbody><body childclass=\"c\"><joint name=\"j\"/><site/><geom name=\"g\" size=\".1\"/><geom name=\"h\" "
      "type=\"mesh\" mesh=\"me\"/>"
      "</body></worldbody><tendon><fixed name=\"t\" class=\"c\"><joint joint=\"j\" coef=\"2\"/></fixed></tendon>"
      "<equality><joint class=\"c\" joint1=\"j\"/></equality><contact><pair class=\"c\" geom1=\"g\" "
      "geom2=\"h\"/></contact>"
      "<actuator><position class=\"c\" joint=\"j\"/></actuator>");
  EXPECT_EQ(model->joints[0].damping, 1);
  EXPECT_TRUE(model->joints[0].limited);
  EXPECT_EQ(model->sites[0].shape.size[0], 0.7);
  EXPECT_EQ(model->tendons[0].stiffness, 2);
  EXPECT_EQ(model->equalities[0].impedance.solref[1], 0.4);
  EXPECT_FALSE(model->equalities[0].active);
  EXPECT_EQ(model->contact_pairs[0].contact_dimension, 4);
  EXPECT_EQ(model->shapes[1].shape.mesh->vertices[1][0], 2);
  EXPECT_EQ(model->visual_materials[0].shininess, 0.9);
  EXPECT_EQ(model->actuators[0].gain[0], 5);
}

// --- actuators ---------------------------------------------------------------------------------------------------

Actuator actuator(const std::string& element, const std::string& defaults = "") {
  return load("<compiler angle=\"radian\"/><default>" + defaults +
              "</default><worldbody><body><joint name=\"j\" range=\"-1 3\"/><geom "
              "size=\".1\"/></body></worldbody><actuator>" +
              element + "</actuator>")
      ->actuators.back();
}

TEST(MjcfActuator, Shortcuts) {
  const Actuator motor = actuator("<motor joint=\"j\" gear=\"3\" ctrlrange=\"-1 1\"/>");
  EXPECT_EQ(motor.gear[0], 3);
  EXPECT_TRUE(motor.control_limited);
  expect_vector(motor.gain, {1, 0, 0});
  const Actuator position = actuator("<position joint=\"j\" kp=\"5\" kv=\"2\" timeconst=\".1\"/>");
  EXPECT_EQ(position.dynamics, ActuatorDynamics::kFilterExact);
  EXPECT_EQ(position.time_constant, 0.1);
  expect_vector(position.gain, {5, 0, 0});
  expect_vector(position.bias, {0, -5, -2});
  const Actuator velocity = actuator("<velocity joint=\"j\" kv=\"3\"/>");
  expect_vector(velocity.gain, {3, 0, 0});
  expect_vector(velocity.bias, {0, 0, -3});
  const Actuator integrated = actuator("<intvelocity joint=\"j\" kp=\"3\" actrange=\"-1 1\"/>");
  EXPECT_EQ(integrated.dynamics, ActuatorDynamics::kIntegrator);
  EXPECT_TRUE(integrated.activation_limited);
  const Actuator damper = actuator("<damper joint=\"j\" kv=\"3\" ctrlrange=\"0 2\"/>");
  EXPECT_EQ(damper.gain_type, ActuatorGain::kAffine);
  expect_vector(damper.gain, {0, 0, -3});
  const Actuator cylinder = actuator("<cylinder joint=\"j\" diameter=\"2\" timeconst=\".5\" bias=\"1 2 3\"/>");
  EXPECT_EQ(cylinder.dynamics, ActuatorDynamics::kFilter);
  EXPECT_NEAR(cylinder.gain[0], std::numbers::pi, 1e-15);
  expect_vector(cylinder.bias, {1, 2, 3});
}

TEST(MjcfActuator, General) {
  const Actuator general = actuator(
      "<general joint=\"j\" dyntype=\"filter\" dynprm=\".3 9\" gaintype=\"affine\" gainprm=\"1 2\" biastype=\"affine\" "
      "biasprm=\"3 4 5\" actearly=\"true\" forcerange=\"-2 2\" group=\"3\"/>");
  EXPECT_EQ(general.time_constant, 0.3);
  expect_vector(general.gain, {1, 2, 0});
  expect_vector(general.bias, {3, 4, 5});
  EXPECT_TRUE(general.early_activation);
  EXPECT_TRUE(general.force_limited);
}

TEST(MjcfActuator, AShortcutInheritsFromTheSameShortcutOrGeneral) {
  // Numbers from MuJoCo 4.0.0.
  const std::string servo = "<position kp=\"10\" kv=\"1\" ctrlrange=\"0 1\"/>";
  expect_vector(actuator("<position joint=\"j\"/>", servo).bias, {0, -10, -1});
  expect_vector(actuator("<general joint=\"j\"/>", servo).bias, {0, -10, -1});
  const Actuator motor = actuator("<motor joint=\"j\"/>", servo);
  expect_vector(motor.gain, {1, 0, 0});
  EXPECT_EQ(motor.bias_type, ActuatorBias::kNone);
  EXPECT_TRUE(motor.control_limited);
  expect_vector(actuator("<velocity joint=\"j\"/>", servo).gain, {1, 0, 0});
  const std::string general = "<general gainprm=\"10\" biasprm=\"0 -10 -3\" biastype=\"affine\"/>";
  expect_vector(actuator("<position joint=\"j\"/>", general).bias, {0, -10, -3});
  expect_vector(actuator("<velocity joint=\"j\"/>", general).bias, {0, 0, -10});
  expect_vector(actuator("<cylinder joint=\"j\"/>", general).bias, {0, -10, -3});
  const std::string nested =
      "<default class=\"a\"><position kp=\"11\" timeconst=\".3\"/><default class=\"b\"><velocity kv=\"4\" "
      "gear=\"7\"/></default></default>";
  const Actuator from_grandparent = actuator("<position joint=\"j\" class=\"b\"/>", nested);
  EXPECT_EQ(from_grandparent.gain[0], 11);
  EXPECT_EQ(from_grandparent.time_constant, 0.3);
  EXPECT_EQ(from_grandparent.gear[0], 7);
}

TEST(MjcfActuator, RangesAndRatios) {
  const Actuator inherits = actuator("<position joint=\"j\" inheritrange=\".5\"/>");
  expect_vector(inherits.control_range, {0, 2});
  const Actuator integrator = actuator("<intvelocity joint=\"j\" inheritrange=\"1\"/>");
  expect_vector(integrator.activation_range, {-1, 3});
  EXPECT_FALSE(integrator.control_limited);
  const Actuator damped = actuator("<position joint=\"j\" kp=\"4\" dampratio=\".5\"/>");
  const double inertia = 0.4 * 0.01 * 1000 * 4.0 / 3.0 * std::numbers::pi * 1e-3;
  EXPECT_NEAR(damped.bias[2], -2 * 0.5 * std::sqrt(4 * inertia), 1e-12);
  const Actuator general = actuator("<general joint=\"j\" gainprm=\"4\" biastype=\"affine\" biasprm=\"0 -4 .5\"/>");
  EXPECT_NEAR(general.bias[2], damped.bias[2], 1e-15);
}

TEST(MjcfActuator, ItsDampingAndArmatureActOnTheJoint) {
  const ModelPtr model = load(
      "<worldbody><body><joint name=\"j\" armature=\"1\"/><geom size=\".1\"/></body></worldbody>"
      "<actuator><motor joint=\"j\" gear=\"3\" armature=\".5\" damping=\".2\"/></actuator>");
  EXPECT_NEAR(model->joints[0].armature, 1 + 9 * 0.5, 1e-14);
  EXPECT_NEAR(model->joints[0].damping, 9 * 0.2, 1e-14);
}

TEST(MjcfActuator, Transmissions) {
  const ModelPtr model = load(
      "<worldbody><body><joint name=\"j\"/><geom size=\".1\"/><site name=\"s\"/><body><joint name=\"b\" type=\"ball\"/>"
      "<geom size=\".1\"/><site name=\"t\"/></body></body></worldbody>"
      "<tendon><fixed name=\"f\"><joint joint=\"j\" coef=\"2\"/></fixed></tendon>"
      "<actuator><motor jointinparent=\"b\" gear=\"0 1 0\"/><motor tendon=\"f\"/><motor site=\"t\" refsite=\"s\"/>"
      "<motor cranksite=\"s\" slidersite=\"t\" cranklength=\".5\"/></actuator>");
  EXPECT_EQ(model->actuators[0].transmission, TransmissionType::kJointInParent);
  EXPECT_EQ(model->actuators[0].target, 1);
  EXPECT_EQ(model->actuators[1].transmission, TransmissionType::kTendon);
  EXPECT_EQ(model->actuators[2].target, 1);
  EXPECT_EQ(model->actuators[2].reference_site, 0);
  EXPECT_EQ(model->actuators[3].transmission, TransmissionType::kSliderCrank);
  EXPECT_EQ(model->actuators[3].crank_length, 0.5);
}

}  // namespace
}  // namespace touchstone
