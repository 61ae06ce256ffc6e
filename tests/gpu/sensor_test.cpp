// Sensors of the batched backend against those of the simulator after the same step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/effort.hpp"
#include "support/random_model.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/math/so3.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/sensor_arrays.hpp"

namespace touchstone::test {
namespace {

constexpr SensorType kOfFrames[] = {
    SensorType::kFramePosition,
    SensorType::kFrameQuaternion,
    SensorType::kFrameXAxis,
    SensorType::kFrameYAxis,
    SensorType::kFrameZAxis,
    SensorType::kFrameLinearVelocity,
    SensorType::kFrameAngularVelocity,
    SensorType::kFrameLinearAcceleration,
    SensorType::kFrameAngularAcceleration,
};
constexpr SensorType kOfSites[] = {SensorType::kGyro,         SensorType::kAccelerometer, SensorType::kVelocimeter,
                                   SensorType::kMagnetometer, SensorType::kForce,         SensorType::kTorque};
constexpr SensorType kOfSubtrees[] = {SensorType::kSubtreeCom, SensorType::kSubtreeLinearVelocity,
                                      SensorType::kSubtreeAngularMomentum};

// The model with a site at every body and sensors of all kinds, some with a cutoff or a frame of reference.
ModelPtr with_sensors(const Model& model, std::mt19937_64& random) {
  const auto copy = std::make_shared<Model>(model);
  const auto any_of = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  for (int b = 0; b < model.nbody; ++b)
    copy->sites.push_back({.body = b, .pose = {0.2 * random_vector3(random), so3_exp(2.0 * random_vector3(random))}});
  const auto add = [&](SensorType type, FrameType object_type, int object) -> Sensor& {
    copy->sensors.push_back({.type = type, .object_type = object_type, .object = object});
    if (any_of(4) == 0) copy->sensors.back().cutoff = 0.7;
    return copy->sensors.back();
  };
  for (int round = 0; round < 3; ++round) {
    for (const SensorType type : kOfFrames) {
      const FrameType frames[3] = {FrameType::kBody, FrameType::kBodyInertial, FrameType::kSite};
      Sensor& sensor = add(type, frames[round], any_of(model.nbody));
      const bool may_refer =
          type != SensorType::kFrameLinearAcceleration && type != SensorType::kFrameAngularAcceleration;
      if (!may_refer || any_of(2) == 0) continue;
      sensor.reference_type = frames[any_of(3)];
      sensor.reference = any_of(model.nbody);
    }
    for (const SensorType type : kOfSites) add(type, FrameType::kSite, any_of(model.nbody));
    for (const SensorType type : kOfSubtrees) add(type, FrameType::kBody, any_of(model.nbody));
  }
  for (int j = 0; j < model.njoint; ++j) {
    const JointType type = model.joints[at(j)].type;
    if (type == JointType::kBall) {
      add(SensorType::kBallQuaternion, FrameType::kJoint, j);
      add(SensorType::kBallAngularVelocity, FrameType::kJoint, j);
    }
    if (type == JointType::kBall || type == JointType::kFree) continue;
    add(SensorType::kJointPosition, FrameType::kJoint, j);
    add(SensorType::kJointVelocity, FrameType::kJoint, j);
    add(SensorType::kJointActuatorForce, FrameType::kJoint, j);
    if (model.joints[at(j)].limited) add(SensorType::kJointLimitForce, FrameType::kJoint, j);
  }
  for (int u = 0; u < model.nu; ++u) {
    for (const SensorType type :
         {SensorType::kActuatorPosition, SensorType::kActuatorVelocity, SensorType::kActuatorForce})
      add(type, FrameType::kActuator, u);
  }
  add(SensorType::kClock, FrameType::kNone, -1);
  return copy;
}

// The largest difference of sensors after one step of both, each relative to its size where that is above one.
double sensor_difference(Simulator& sim, gpu::WorldBatch& batch, std::string& worst_name) {
  const Model& model = sim.model();
  batch.write(gpu::BatchField::kPosition, sim.state().q.data());
  batch.write(gpu::BatchField::kVelocity, sim.state().v.data());
  if (model.na > 0) batch.write(gpu::BatchField::kActivation, sim.state().activation.data());
  batch.write(gpu::BatchField::kControl, sim.input().control.data());
  batch.forget();
  batch.step(1);
  batch.observe();
  sim.step();
  VectorX values(batch.sizes().sensor_numbers);
  batch.read(gpu::BatchField::kSensors, values.data());
  const VectorX& expected = sim.sensors();
  EXPECT_EQ(values.size(), expected.size());
  double worst = 0.0;
  Eigen::Index row = 0;
  for (const Sensor& sensor : model.sensors) {
    const int numbers = sensor_dimension(sensor.type);
    const double size = std::max(1.0, expected.segment(row, numbers).lpNorm<Eigen::Infinity>());
    const double difference = (values - expected).segment(row, numbers).lpNorm<Eigen::Infinity>() / size;
    row += numbers;
    if (difference <= worst) continue;
    worst = difference;
    worst_name = std::string(to_string(sensor.type));
  }
  return worst;
}

gpu::BatchOptions thorough() {
  gpu::BatchOptions options;
  options.tolerance = 1e-9;
  options.most_sweeps = 20000;
  return options;
}

// Without constraints everything is exact, by the stages of the first tier.
TEST(BackendSensors, OfRandomModelsAreThoseOfTheSimulator) {
  std::mt19937_64 random(31);
  const int wanted = whole_family() ? 100 : 12;
  int tried = 0;
  for (int k = 0; k < 20 * wanted && tried < wanted; ++k) {
    const ModelPtr model = with_sensors(*random_model(random, {.bodies = 2 + k % 10, .damping = true}), random);
    if (!unsupported_features(*model).empty()) continue;
    ++tried;
    Simulator sim(model, backend_options());
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), 1);
    sim.reset(random_state(*model, random));
    randomize_controls(sim, random);
    for (int step = 0; step < 3; ++step) {
      std::string name;
      EXPECT_LT(sensor_difference(sim, *batch, name), 1e-7) << "model " << k << ", " << name;
    }
  }
  EXPECT_EQ(tried, wanted);
}

// Limits and servos at theirs: by the third tier, whose rows are its own.
TEST(BackendSensors, OfBoundModelsAreThoseOfTheSimulator) {
  std::mt19937_64 random(32);
  const int wanted = whole_family() ? 60 : 8;
  int tried = 0, solved = 0, close = 0;
  for (int k = 0; k < 60 * wanted && tried < wanted; ++k) {
    const auto plain = std::make_shared<Model>(*random_bound_model(random, {.bodies = 2 + k % 6, .damping = true}));
    plain->options.equalities_enabled = false;
    const ModelPtr model = with_sensors(*plain, random);
    if (!unsupported_features(*model).empty()) continue;
    ++tried;
    Simulator sim(model, backend_options());
    const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), 1, thorough());
    sim.reset(random_state(*model, random));
    randomize_controls(sim, random);
    std::string name;
    const double difference = sensor_difference(sim, *batch, name);
    int status = 0;
    batch->read(gpu::BatchField::kStatus, &status);
    if (status != 0) continue;
    ++solved;
    if (difference < 1e-4) ++close;
  }
  RecordProperty("solved", solved);
  RecordProperty("close", close);
  EXPECT_EQ(tried, wanted);
  EXPECT_GT(solved, 0.6 * tried);
  EXPECT_GE(close, 0.95 * solved);  // forces that are not unique differ
}

// A ball on two legs with feet of touch sensors of all shapes.
ModelPtr walker(std::mt19937_64& random) {
  ModelBuilder builder("walker");
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  const int torso = builder.add_body({.name = "torso",
                                      .pose = {Vector3(0, 0, 0.55), Quaternion::Identity()},
                                      .inertia = {.mass = 3.0, .inertia = Vector3(0.05, 0.06, 0.04).asDiagonal()}});
  builder.add_joint({.body = torso, .type = JointType::kFree});
  const ShapeType volumes[5] = {ShapeType::kSphere, ShapeType::kBox, ShapeType::kCapsule, ShapeType::kCylinder,
                                ShapeType::kEllipsoid};
  int volume = static_cast<int>(random() % 5);
  for (int leg = 0; leg < 4; ++leg) {
    const Vector3 hip(leg % 2 == 0 ? 0.2 : -0.2, leg < 2 ? 0.15 : -0.15, 0.0);
    const int shin = builder.add_body(
        {.parent = torso,
         .pose = {hip, Quaternion::Identity()},
         .inertia = {.mass = 0.4, .com = Vector3(0, 0, -0.2), .inertia = Vector3(0.01, 0.01, 0.003).asDiagonal()}});
    const int joint = builder.add_joint({.body = shin, .type = JointType::kHinge, .axis = Vector3::UnitY()});
    builder.add_actuator({.name = "servo" + std::to_string(leg),
                          .transmission = TransmissionType::kJoint,
                          .target = joint,
                          .bias_type = ActuatorBias::kAffine,
                          .gain = {40.0, 0.0, 0.0},
                          .bias = {0.0, -40.0, -2.0}});
    builder.add_shape({.body = shin,
                       .pose = {Vector3(0, 0, -0.4), Quaternion::Identity()},
                       .shape = {.type = ShapeType::kSphere, .size = Vector3(0.05, 0, 0)}});
    const int site = builder.add_site({.name = "foot" + std::to_string(leg),
                                       .body = shin,
                                       .pose = {Vector3(0, 0, -0.4), so3_exp(random_vector3(random))},
                                       .shape = {.type = volumes[volume++ % 5], .size = Vector3(0.06, 0.07, 0.08)}});
    for (const SensorType type :
         {SensorType::kTouch, SensorType::kForce, SensorType::kTorque, SensorType::kAccelerometer})
      builder.add_sensor({.name = "sensor" + std::to_string(leg) + std::string(to_string(type)),
                          .type = type,
                          .object_type = FrameType::kSite,
                          .object = site});
  }
  return builder.build();
}

// Forces of contacts, along a fall: by the first tier (float) and by the third.
TEST(BackendSensors, OfContactsAreThoseOfTheSimulator) {
  std::mt19937_64 random(33);
  for (const bool exact : {false, true}) {
    int touching = 0, close = 0, compared = 0;
    for (int k = 0; k < (whole_family() ? 20 : 4); ++k) {
      const ModelPtr model = walker(random);
      Simulator sim(model, backend_options());
      gpu::BatchOptions options = thorough();
      if (!exact) {
        options.tolerance = 1e-6;
        options.sweeps = 400;
        options.most_sweeps = 0;
      }
      const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), 1, options);
      for (int i = 0; i < 4; ++i) sim.input().control[i] = 0.4 * (static_cast<double>(random() % 100) / 50.0 - 1.0);
      for (int step = 0; step < 300; ++step) {
        if (step % 10 != 0) {
          sim.step();
          continue;
        }
        std::string name;
        const double difference = sensor_difference(sim, *batch, name);
        ++compared;
        bool any = false;
        for (int leg = 0; leg < 4; ++leg) any = any || sim.sensor("sensor" + std::to_string(leg) + "touch")[0] > 0.0;
        touching += any ? 1 : 0;
        close += difference < (exact ? 1e-5 : 2e-2) ? 1 : 0;
      }
    }
    RecordProperty(exact ? "close" : "close_float", close);
    EXPECT_GT(touching, compared / 4);
    // Forces of four feet are not unique: sweeps, those in float more than others, may share them out otherwise. A
    // fifth of the family, with sanitizers, has fewer steps, of which one robot's are a quarter.
    const double share = (exact ? 0.97 : 0.9) - (whole_family() ? 0.0 : 0.1);
    EXPECT_GE(close, share * compared) << "of " << compared << (exact ? ", third tier" : ", first tier");
  }
}

// Targets that users move: frames of mocap bodies, each world's where it was put.
TEST(BackendSensors, SeeMocapBodiesWhereTheyAre) {
  std::mt19937_64 random(5);
  ModelBuilder builder("reach");
  const int arm = builder.add_body({.inertia = {.mass = 1.0, .inertia = Vector3(0.1, 0.1, 0.1).asDiagonal()}});
  builder.add_joint({.body = arm, .type = JointType::kHinge, .axis = Vector3::UnitY()});
  const int target =
      builder.add_body({.name = "target", .pose = {Vector3(1, 2, 3), Quaternion::Identity()}, .mocap = true});
  const int mark = builder.add_body({.parent = target, .pose = {Vector3(0, 0, 0.5), so3_exp(Vector3(0, 1, 0))}});
  const auto add = [&](SensorType type, int body, int reference) {
    builder.add_sensor({.name = "sensor" + std::to_string(static_cast<int>(type)) + std::to_string(body),
                        .type = type,
                        .object_type = FrameType::kBody,
                        .object = body,
                        .reference_type = reference >= 0 ? FrameType::kBody : FrameType::kNone,
                        .reference = reference});
  };
  for (const SensorType type :
       {SensorType::kFramePosition, SensorType::kFrameQuaternion, SensorType::kFrameLinearVelocity}) {
    add(type, mark, -1);
    add(type, arm, target);
  }
  const ModelPtr model = builder.build();
  constexpr int kWorlds = 3;
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), kWorlds);
  const auto read = [&] {
    MatrixX values(batch->sizes().sensor_numbers, kWorlds);
    batch->step(1);
    batch->observe();
    batch->read(gpu::BatchField::kSensors, values.data());
    return values;
  };
  Simulator sim(model, backend_options());
  sim.step();
  EXPECT_LT((read().col(1) - sim.sensors()).lpNorm<Eigen::Infinity>(), 1e-12);
  std::vector<Transform> poses;
  std::vector<double> numbers;
  for (int w = 0; w < kWorlds; ++w) {
    poses.push_back({random_vector3(random), so3_exp(2.0 * random_vector3(random))});
    const Transform& X = poses.back();
    numbers.insert(numbers.end(), {X.position.x(), X.position.y(), X.position.z(), X.rotation.w(), X.rotation.x(),
                                   X.rotation.y(), X.rotation.z()});
  }
  batch->set_parameter(gpu::WorldParameter::kMocapPose, numbers.data());
  const MatrixX values = read();
  for (int w = 0; w < kWorlds; ++w) {
    Simulator other(model, backend_options());
    other.step();
    other.state().mocap[0] = poses[at(w)];
    other.step();
    EXPECT_LT((values.col(w) - other.sensors()).lpNorm<Eigen::Infinity>(), 1e-12) << "world " << w;
  }
}

TEST(BackendSensors, AreZeroAfterAReset) {
  std::mt19937_64 random(1);
  const ModelPtr model = walker(random);
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), 2);
  const unsigned char mask[2] = {0, 1};
  batch->step(100);
  batch->reset({.mask = mask});
  batch->observe();
  const int numbers = batch->sizes().sensor_numbers;
  VectorX values(2 * numbers);
  batch->read(gpu::BatchField::kSensors, values.data());
  EXPECT_GT(values.head(numbers).lpNorm<Eigen::Infinity>(), 0.1);
  EXPECT_EQ(values.tail(numbers).lpNorm<Eigen::Infinity>(), 0.0);
}

TEST(BackendSensors, WhatIsNotSupportedIsNamed) {
  std::mt19937_64 random(1);
  auto copy = std::make_shared<Model>(*walker(random));
  copy->sensors[0].type = SensorType::kRangefinder;
  EXPECT_THAT(unsupported_sensors(*copy), testing::ElementsAre(testing::HasSubstr("rangefinder 'sensor0touch'")));
  EXPECT_EQ(make_model_arrays(*copy, backend_options()).sizes.sensors, 0);
  SimulatorOptions midpoint = backend_options();
  midpoint.integrator = Integrator::kMoreauMidpoint;
  EXPECT_THAT(unsupported_sensors(*walker(random), midpoint), testing::ElementsAre(testing::HasSubstr("midpoint")));
}

}  // namespace
}  // namespace touchstone::test
