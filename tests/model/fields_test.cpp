// The lists of fields: complete, and what follows from them.
#include "touchstone/model/fields.hpp"

#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/random_model.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/serialize.hpp"

namespace touchstone {
namespace {

// Another value of the same type.
template <typename T>
void change(T& x) {
  if constexpr (HasFields<T>) {
    bool first = true;
    for_each_field<T>([&](auto field) {
      if (std::exchange(first, false)) change(x.*field.member);
    });
  } else if constexpr (std::is_same_v<T, bool>) {
    x = !x;
  } else if constexpr (std::is_enum_v<T>) {
    x = static_cast<T>(static_cast<int>(x) == 0 ? 1 : 0);
  } else if constexpr (std::is_arithmetic_v<T>) {
    x += T(1);
  } else if constexpr (std::is_same_v<T, std::string>) {
    x += "x";
  } else if constexpr (std::is_same_v<T, Quaternion>) {
    x.x() += 0.5;
  } else if constexpr (std::is_same_v<T, Vec3>) {
    x = x + Vec3(1.0, 0.0, 0.0);
  } else if constexpr (std::is_same_v<T, Mat3>) {
    change(x.c1);
  } else if constexpr (requires { x.get(); }) {
    auto fresh = std::make_shared<std::remove_const_t<typename T::element_type>>();
    change(*fresh);
    x = fresh;
  } else if constexpr (requires { x.push_back({}); }) {
    x.emplace_back();
  } else if constexpr (std::is_same_v<T, VectorX>) {
    x = VectorX::Constant(x.size() + 1, 2.0);
  } else {
    change(x.data()[0]);
  }
}

template <typename Element>
void expect_every_field_counts() {
  for_each_field<Element>([](auto field) {
    Element a, b;
    EXPECT_TRUE(same_value(a, b));
    change(b.*field.member);
    EXPECT_FALSE(same_value(a, b)) << field.name;
    copy_fields(b, a);
    EXPECT_TRUE(same_value(a, b)) << field.name;
  });
}

TEST(Fields, EachOneIsComparedAndCopied) {
  expect_every_field_counts<Body>();
  expect_every_field_counts<Joint>();
  expect_every_field_counts<Material>();
  expect_every_field_counts<TriangleMesh>();
  expect_every_field_counts<HeightField>();
  expect_every_field_counts<Shape>();
  expect_every_field_counts<ShapeElement>();
  expect_every_field_counts<VisualMaterial>();
  expect_every_field_counts<Site>();
  expect_every_field_counts<ContactPair>();
  expect_every_field_counts<ContactExclusion>();
  expect_every_field_counts<Tendon>();
  expect_every_field_counts<Equality>();
  expect_every_field_counts<LoopCoordinate>();
  expect_every_field_counts<LoopJoint>();
  expect_every_field_counts<Actuator>();
  expect_every_field_counts<Sensor>();
  expect_every_field_counts<Keyframe>();
  expect_every_field_counts<SimulationOptions>();
  expect_every_field_counts<Parameters>();
  expect_every_field_counts<Model>();
}

// Every option comes back, and changes the hash.
TEST(Fields, EveryOptionSurvivesSerialisation) {
  const ModelPtr model = load_mjcf_string("<mujoco><worldbody><geom type='plane' size='1 1 1'/></worldbody></mujoco>");
  for_each_field<SimulationOptions>([&](auto field) {
    Model changed = *model;
    if constexpr (std::is_same_v<decltype(field.member), std::string SimulationOptions::*>) {
      changed.options.*field.member = std::string(field.name) == "cone" ? "elliptic" : "implicitfast";
    } else {
      change(changed.options.*field.member);
    }
    const ModelPtr again = deserialize_model(serialize(changed));
    EXPECT_TRUE(same_value(again->options, changed.options)) << field.name;
    EXPECT_FALSE(same_elements(*again, *model)) << field.name;
    EXPECT_NE(hash_elements(*again), hash_elements(*model)) << field.name;
  });
}

TEST(Fields, RandomModelsComeBackFieldByField) {
  std::mt19937_64 random(7);
  for (int k = 0; k < 100; ++k) {
    const ModelPtr model = test::random_model(random);
    const ModelPtr again = deserialize_model(serialize(*model));
    EXPECT_TRUE(same_elements(*model, *again)) << k;
    EXPECT_EQ(hash_elements(*model), hash_elements(*again)) << k;
    const ModelPtr built = ModelBuilder(*model).build();
    for_each_field<Model>([&](auto field) {
      if (std::string(field.name) == "defaults" || std::string(field.name) == "warnings") return;
      EXPECT_TRUE(same_value((*model).*field.member, (*built).*field.member)) << k << " " << field.name;
    });
  }
}

// Equal models have equal hashes, whatever the sign of their zeros and whoever shares their meshes.
TEST(Fields, EqualModelsHashAlike) {
  const ModelPtr model =
      load_mjcf_string(R"(<mujoco><asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
    <worldbody><body><freejoint/><geom type="mesh" mesh="wedge"/><geom type="mesh" mesh="wedge" pos="0 0 1"/></body>
    </worldbody></mujoco>)");
  Model other = *model;
  other.shapes[0].shape.mesh = std::make_shared<TriangleMesh>(*model->shapes[0].shape.mesh);
  other.shapes[0].margin = -0.0;
  EXPECT_TRUE(same_elements(*model, other));
  EXPECT_EQ(hash_elements(*model), hash_elements(other));
  other.shapes[0].margin = 1e-3;
  EXPECT_FALSE(same_elements(*model, other));
  EXPECT_NE(hash_elements(*model), hash_elements(other));
}

}  // namespace
}  // namespace touchstone
