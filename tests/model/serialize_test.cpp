#include "touchstone/model/serialize.hpp"

#include <string>

#include <gtest/gtest.h>

#include "touchstone/base/error.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/builder.hpp"

namespace touchstone {
namespace {

ModelPtr rich_model() {
  return load_mjcf_string(R"(<mujoco model="rich"><asset>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
    <hfield name="field" nrow="2" ncol="3" size="1 1 .5 .1" elevation="0 1 2 3 4 5"/></asset>
    <worldbody><geom type="hfield" hfield="field"/>
    <body pos="0 0 1"><joint axis="1 1 0.3" damping=".2" range="-1 1" limited="true"/>
      <geom type="mesh" mesh="wedge"/><geom type="mesh" mesh="wedge" pos="0 0 1"/>
      <body pos="1 0 0"><joint name="j2" axis="0 .6 .8"/><geom size=".1" friction=".3"/><site name="s"/></body></body>
    <body mocap="true" name="m" pos="3 0 0"/></worldbody>
    <tendon><fixed name="t"><joint joint="j2" coef="2"/></fixed></tendon>
    <actuator><position joint="j2" kp="10" dampratio="1"/><motor tendon="t"/></actuator>
    <sensor><jointpos joint="j2"/></sensor>
    <keyframe><key name="k" qpos=".1 .2" ctrl="1 2"/></keyframe></mujoco>)");
}

// The bytes are a complete description, so models are equal when their bytes are.
TEST(SerializedModel, ComesBackBitForBit) {
  const ModelPtr model = rich_model();
  const std::string bytes = serialize(*model);
  const ModelPtr again = deserialize_model(bytes);
  EXPECT_EQ(serialize(*again), bytes);
  EXPECT_EQ(again->nq, model->nq);
  EXPECT_EQ(again->joint("j2"), model->joint("j2"));
  EXPECT_EQ(again->reference_q, model->reference_q);
  EXPECT_EQ(again->row_dof, model->row_dof);
  for (std::size_t j = 0; j < model->joint_kernels.size(); ++j) {
    for (int k = 0; k < 3; ++k) EXPECT_EQ(again->joint_kernels[j].axis[k], model->joint_kernels[j].axis[k]);
  }
  EXPECT_EQ(again->shapes[1].shape.mesh, again->shapes[2].shape.mesh) << "one mesh, used twice";
}

TEST(SerializedModel, KeepsChangedParameters) {
  Model model = *rich_model();
  model.defaults.gravity = {1, 2, 3};
  model.defaults.dof_damping[0] = 7.0;
  const ModelPtr again = deserialize_model(serialize(model));
  EXPECT_EQ(again->defaults.gravity, Vector3(1, 2, 3));
  EXPECT_EQ(again->defaults.dof_damping[0], 7.0);
}

TEST(SerializedModel, DamagedBytesAreRefused) {
  const std::string bytes = serialize(*rich_model());
  EXPECT_THROW(deserialize_model(""), Error);
  EXPECT_THROW(deserialize_model("touchstone"), Error);
  for (std::size_t size = 0; size < bytes.size(); size += 97)
    EXPECT_THROW(deserialize_model(bytes.substr(0, size)), Error);
  for (std::size_t i = 0; i < bytes.size(); i += 131) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_THROW(deserialize_model(damaged), Error) << i;
  }
}

TEST(AddedModel, StandsInItsPlaceWithItsNames) {
  const ModelPtr part = load_mjcf_string(R"(<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <body name="a" pos="1 0 0"><freejoint/><geom size=".1"/><body name="b" pos="0 0 1"><joint name="j"/><geom size=".1"/></body></body>
    </worldbody><actuator><motor name="u" joint="j"/></actuator>
    <equality><connect body1="b" anchor="0 0 0"/></equality>
    <contact><exclude body1="a" body2="b"/></contact></mujoco>)");
  ModelBuilder builder("two");
  const Transform there{{0, 2, 0}, Quaternion(Eigen::AngleAxisd(0.5 * 3.14159265358979323846, Vector3::UnitZ()))};
  builder.add_model(*part, {}, "one/");
  builder.add_model(*part, there, "two/");
  const ModelPtr both = builder.build();
  EXPECT_EQ(both->nv, 2 * part->nv);
  EXPECT_EQ(both->nu, 2);
  EXPECT_EQ(both->joints[static_cast<std::size_t>(both->actuators[1].target)].name, "two/j");
  EXPECT_EQ(both->bodies[static_cast<std::size_t>(both->body("two/b"))].parent, both->body("two/a"));
  EXPECT_TRUE(
      both->bodies[static_cast<std::size_t>(both->body("two/a"))].pose.position.isApprox(Vector3(0, 3, 0), 1e-12));
  EXPECT_EQ(both->contact_exclusions[1].body_a, both->body("two/a"));
  EXPECT_EQ(both->equalities[1].a, both->body("two/b"));
  EXPECT_TRUE(both->equalities[1].anchor_b.isApprox(there * part->equalities[0].anchor_b, 1e-12));
  builder.add_model(*part, {}, "two/");
  EXPECT_THROW(builder.build(), Error) << "names twice";
}

}  // namespace
}  // namespace touchstone
