// What users do with a batch: parameters, wrenches and resets of single worlds, and a batch behind a backend's table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/random_model.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/gpu/backend.hpp"
#include "touchstone/gpu/reset.hpp"
#include "touchstone/sim/model_arrays.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone::test {
namespace {

using gpu::BatchField;
using gpu::WorldParameter;
using testing::HasSubstr;

// Two jointed bodies above a plane, the first free.
ModelPtr hopper() {
  ModelBuilder builder("hopper");
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  const Shape ball{.type = ShapeType::kSphere, .size = Vector3(0.1, 0, 0)};
  const int torso = builder.add_body({.name = "torso",
                                      .pose = {Vector3(0, 0, 1.0), Quaternion::Identity()},
                                      .inertia = {.mass = 2.0, .inertia = Vector3(0.02, 0.03, 0.04).asDiagonal()}});
  builder.add_joint({.body = torso, .type = JointType::kFree});
  const int leg = builder.add_body({.name = "leg",
                                    .parent = torso,
                                    .pose = {Vector3(0.1, 0, -0.3), Quaternion::Identity()},
                                    .inertia = {.mass = 0.5, .inertia = Vector3(0.01, 0.01, 0.005).asDiagonal()}});
  builder.add_joint({.name = "knee",
                     .body = leg,
                     .type = JointType::kHinge,
                     .axis = Vector3::UnitY(),
                     .limited = true,
                     .range = Vector2(-1.0, 1.0)});
  builder.add_shape({.name = "foot", .body = leg, .shape = ball});
  return builder.build();
}

std::vector<double> read(const gpu::WorldBatch& batch, BatchField field, int width) {
  std::vector<double> values(at(batch.worlds() * width));
  batch.read(field, values.data());
  return values;
}

// Each world with its own gravity, masses, damping and wrench moves as a simulator with these.
TEST(WorldBatch, ParametersOfAWorldAreThoseOfASimulator) {
  const ModelPtr model = hopper();
  const int worlds = 4, steps = 400;  // falls, hits the floor, goes on
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*model, backend_options()), worlds,
                                         {.tolerance = 1e-9, .most_sweeps = 2000});
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  std::vector<double> gravity(at(3 * worlds)), mass(at(3 * worlds)), inertia(at(27 * worlds)), friction(at(worlds));
  std::vector<double> damping(at(7 * worlds)), wrench(at(18 * worlds));
  std::vector<Simulator> simulators;
  for (int w = 0; w < worlds; ++w) {
    Simulator& sim = simulators.emplace_back(model, backend_options());
    Parameters& p = sim.parameters();
    p.gravity = Vector3(0.5 * uniform(random), 0.0, -9.81 * uniform(random));
    for (int k = 0; k < 3; ++k) gravity[at(3 * w + k)] = p.gravity[k];
    for (int b = 1; b < 3; ++b) {
      const double factor = uniform(random);
      BodyInertia& body = p.body_inertia[at(b)];
      body.mass *= factor;
      body.inertia = Mat3(Matrix3(factor * body.inertia.eigen()));
      Vector6 applied = Vector6::Random();
      sim.input().applied_wrench[at(b)] = applied;
      for (int k = 0; k < 6; ++k) wrench[at(18 * w + 6 * b + k)] = applied[k];
    }
    for (int b = 0; b < 3; ++b) {
      mass[at(3 * w + b)] = p.body_inertia[at(b)].mass;
      const Matrix3 J = p.body_inertia[at(b)].inertia.eigen();
      for (int k = 0; k < 9; ++k) inertia[at(27 * w + 9 * b + k)] = J.data()[k];
    }
    p.dof_damping[6] = uniform(random);
    damping[at(7 * w + 6)] = p.dof_damping[6];
    p.shape_material[1].friction[0] = p.shape_material[1].friction[1] = friction[at(w)] = 1.0 + 0.1 * uniform(random);
  }
  batch->set_parameter(WorldParameter::kGravityVector, gravity.data());
  batch->set_parameter(WorldParameter::kBodyMass, mass.data());
  batch->set_parameter(WorldParameter::kBodyInertia, inertia.data());
  batch->set_parameter(WorldParameter::kDofDamping, damping.data());
  batch->set_parameter(WorldParameter::kAppliedWrench, wrench.data());
  batch->set_parameter(WorldParameter::kPairFriction, friction.data());
  batch->step(steps);
  const std::vector<double> q = read(*batch, BatchField::kPosition, 8), time = read(*batch, BatchField::kTime, 1);
  int touching = 0;
  for (int w = 0; w < worlds; ++w) {
    Simulator& sim = simulators[at(w)];
    for (int k = 0; k < steps; ++k) {
      sim.step();
      touching += sim.contacts().empty() ? 0 : 1;
    }
    for (int i = 0; i < 8; ++i) EXPECT_NEAR(q[at(8 * w + i)], sim.state().q[i], 1e-5) << "world " << w << " q " << i;
    EXPECT_NEAR(time[at(w)], sim.state().time, 1e-12);
  }
  EXPECT_GT(touching, 10);
  // The model's own again: all worlds alike.
  batch->set_parameter(WorldParameter::kGravityVector, nullptr);
  std::vector<double> now(at(3 * worlds));
  batch->parameter(WorldParameter::kGravityVector, now.data());
  EXPECT_EQ(now[2], model->defaults.gravity.z());
}

TEST(WorldBatch, ParametersThatMakeNoSenseAreRefused) {
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*hopper()), 2);
  std::vector<double> mass = {0, 1, 1, 0, -1, 1}, friction(14, 0.0);
  EXPECT_THROW(batch->set_parameter(WorldParameter::kBodyMass, mass.data()), std::runtime_error);
  mass[4] = std::nan("");
  EXPECT_THROW(batch->set_parameter(WorldParameter::kBodyMass, mass.data()), std::runtime_error);
  friction[6] = 0.1;  // a row more than there is room for
  EXPECT_THROW(batch->set_parameter(WorldParameter::kDofFriction, friction.data()), std::runtime_error);
}

TEST(WorldBatch, ResetsTheWorldsOfAMask) {
  const ModelPtr model = hopper();
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*model), 3);
  batch->step(50);
  const std::vector<double> before = read(*batch, BatchField::kPosition, 8);
  const unsigned char mask[3] = {1, 0, 1};
  std::vector<double> q(before.size()), v(at(7 * 3), 0.25);
  for (int w = 0; w < 3; ++w) {
    for (int i = 0; i < 8; ++i) q[at(8 * w + i)] = model->reference_q[i];
    q[at(8 * w)] = 10.0 + w;
  }
  gpu::ResetRequest request;
  request.mask = mask;
  request.q = q.data();
  request.v = v.data();
  batch->reset(request);
  const std::vector<double> after = read(*batch, BatchField::kPosition, 8),
                            speed = read(*batch, BatchField::kVelocity, 7);
  const std::vector<double> time = read(*batch, BatchField::kTime, 1);
  EXPECT_EQ(after[0], 10.0);
  EXPECT_EQ(after[8], before[8]);
  EXPECT_EQ(after[16], 12.0);
  EXPECT_EQ(speed[0], 0.25);
  EXPECT_NE(speed[7], 0.25);
  EXPECT_EQ(time[0], 0.0);
  EXPECT_GT(time[1], 0.0);
}

TEST(WorldBatch, NoiseFollowsFromTheSeedAndKeepsLimits) {
  const ModelPtr model = hopper();
  const int worlds = 200;
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*model), worlds);
  gpu::ResetRequest request;
  request.noise_q = 2.0;  // the knee would leave its limits
  request.noise_v = 0.5;
  request.seed = 7;
  batch->reset(request);
  const std::vector<double> q = read(*batch, BatchField::kPosition, 8), v = read(*batch, BatchField::kVelocity, 7);
  double sum = 0.0, largest = 0.0;
  int at_limit = 0;
  for (int w = 0; w < worlds; ++w) {
    EXPECT_LE(std::abs(q[at(8 * w + 7)]), 1.0);
    at_limit += std::abs(q[at(8 * w + 7)]) == 1.0 ? 1 : 0;
    const double* turn = q.data() + 8 * w + 3;
    EXPECT_NEAR(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2] + turn[3] * turn[3], 1.0, 1e-12);
    EXPECT_LE(std::abs(q[at(8 * w + 2)] - 1.0), 2.0);
    for (int i = 0; i < 7; ++i) largest = std::max(largest, std::abs(v[at(7 * w + i)]));
    sum += v[at(7 * w)];
  }
  EXPECT_NEAR(at_limit, 0.5 * worlds, 40);
  EXPECT_LE(largest, 0.5);
  EXPECT_GT(largest, 0.49);
  EXPECT_NEAR(sum / worlds, 0.0, 0.1);
  batch->reset(request);
  EXPECT_EQ(read(*batch, BatchField::kPosition, 8), q);
  request.seed = 8;
  batch->reset(request);
  EXPECT_NE(read(*batch, BatchField::kPosition, 8), q);
}

// Seeds and worlds that are side by side have nothing in common, nor has a number with its neighbour's next one.
TEST(WorldBatch, NoiseOfASeedIsNotThatOfAnotherWorldWithTheNext) {
  std::set<double> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (int world = 0; world < 20; ++world) {
      for (int k = 0; k < 20; ++k) seen.insert(gpu::noise(seed, world, k));
    }
  }
  EXPECT_EQ(seen.size(), 20u * 20u * 20u);
}

// Parameters where they lie: what is written there is what the next step uses, and the memory outlives its use.
TEST(WorldBatch, ParametersAreWrittenWhereTheyLie) {
  const auto batch = gpu::make_cpu_batch(make_model_arrays(*hopper()), 2);
  double* gravity = batch->parameter_data(WorldParameter::kGravityVector);
  EXPECT_EQ(gravity[2], -9.81);
  gravity[3 + 2] = -1.62;
  double* wrench = batch->parameter_data(WorldParameter::kAppliedWrench);
  wrench[6] = 2.5;  // N along x at the first body of the first world, 2.5 kg in all
  batch->step(1);
  std::vector<double> v = read(*batch, BatchField::kVelocity, 7);
  const double h = 0.002;
  EXPECT_NEAR(v[7 + 2], -1.62 * h, 1e-12);
  EXPECT_NEAR(v[7], 0.0, 1e-12);
  EXPECT_GT(v[0], 0.5 * h);
  batch->set_parameter(WorldParameter::kGravityVector, nullptr);
  EXPECT_EQ(gravity[3 + 2], -1.62) << "the memory is gone";
  batch->step(1);
  v = read(*batch, BatchField::kVelocity, 7);
  EXPECT_NEAR(v[7 + 2], -(1.62 + 9.81) * h, 1e-12);
  EXPECT_EQ(batch->parameter_data(WorldParameter::kGravityVector), gravity);
  EXPECT_EQ(gravity[3 + 2], -9.81);
  EXPECT_THROW(batch->parameter_data(WorldParameter::kShapeSize), std::runtime_error);
}

// Batches know nothing of each other: two models by turns, or at the same time in two threads, move as alone.
TEST(WorldBatch, BatchesOfSeveralModelsStepSideBySide) {
  std::mt19937_64 random(5);
  const gpu::ModelArrays arrays[] = {make_model_arrays(*hopper()),
                                     make_model_arrays(*random_model(random, {}), backend_options())};
  constexpr int kSteps = 300;
  std::unique_ptr<gpu::WorldBatch> alone[2], turns[2], threads[2];
  gpu::ResetRequest request;
  request.noise_v = 0.5;
  for (auto* group : {&alone, &turns, &threads}) {
    for (int k = 0; k < 2; ++k) {
      (*group)[k] = gpu::make_cpu_batch(arrays[k], 3 + k);
      (*group)[k]->reset(request);
    }
  }
  for (const auto& batch : alone) batch->step(kSteps);
  for (int step = 0; step < kSteps; ++step) {
    for (const auto& batch : turns) batch->step(1);
  }
  std::thread other([&] { threads[0]->step(kSteps); });
  threads[1]->step(kSteps);
  other.join();
  for (int k = 0; k < 2; ++k) {
    const std::vector<double> q = read(*alone[k], BatchField::kPosition, arrays[k].sizes.nq);
    EXPECT_EQ(read(*turns[k], BatchField::kPosition, arrays[k].sizes.nq), q);
    EXPECT_EQ(read(*threads[k], BatchField::kPosition, arrays[k].sizes.nq), q);
  }
}

std::unique_ptr<gpu::WorldBatch> make_lanes(gpu::ModelArrays arrays, int worlds, const gpu::BatchOptions& options) {
  return gpu::make_cpu_batch(std::move(arrays), worlds, options);
}

// The functions that a shared library exports, here around the batch of the processor.
TEST(Backend, ABatchBehindATableIsTheSame) {
  gpu::BackendTable table = gpu::make_backend_table<make_lanes>();
  const gpu::ModelArrays arrays = make_model_arrays(*hopper());
  const auto own = gpu::make_cpu_batch(arrays, 2), other = gpu::make_backend_batch(table, arrays, 2);
  gpu::ResetRequest request;
  request.noise_q = 0.2;
  std::vector<double> gravity = {0, 0, -9.81, 0, 0, -3.7};
  for (gpu::WorldBatch* batch : {own.get(), other.get()}) {
    batch->set_parameter(WorldParameter::kGravityVector, gravity.data());
    batch->reset(request);
    batch->step(600);
  }
  EXPECT_EQ(read(*own, BatchField::kPosition, 8), read(*other, BatchField::kPosition, 8));
  EXPECT_EQ(own->impulses(0).key, other->impulses(0).key);
  EXPECT_EQ(own->impulses(0).impulse, other->impulses(0).impulse);
  EXPECT_FALSE(own->impulses(0).key.empty());
  try {
    other->set_parameter(WorldParameter::kBodyMass, std::vector<double>(6, -1.0).data());
    FAIL() << "a negative mass was accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("not negative"));
  }
  EXPECT_EQ(other->device(), -1);
  const auto refusal = [&] {
    try {
      gpu::make_backend_batch(table, arrays, 2);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  ++table.signature;
  EXPECT_THAT(refusal(), HasSubstr("built from other sources"));
  table.version = 0;
  EXPECT_THAT(refusal(), HasSubstr("of another version (0, wanted"));
}

TEST(Backend, AMissingLibraryIsNamed) {
  try {
    gpu::load_backend("/no/such/libtouchstone_cuda.so");
    FAIL() << "a missing library was loaded";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/libtouchstone_cuda.so"));
  }
}

}  // namespace
}  // namespace touchstone::test
