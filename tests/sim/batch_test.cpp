// Many worlds: independent of each other and of the number of threads.
#include "touchstone/sim/batch.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/base/hash.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone {
namespace {

// An arm that pushes a box about, and a ball.
constexpr const char* kScene =
    R"(<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 1'/>
    <body pos='0 0 0.3'><joint name='turn' axis='0 0 1' damping='0.1' frictionloss='0.01'/>
      <geom type='capsule' fromto='0 0 0 0.4 0 -0.2' size='0.05' mass='1'/></body>
    <body pos='0.45 0.2 0.1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>
    <body pos='-1 0 0.2'><freejoint/><geom size='0.1' mass='1'/></body></worldbody>
    <actuator><motor joint='turn' ctrlrange='-2 2'/></actuator>
    <keyframe><key qpos='0.5  0.45 0.2 0.1 1 0 0 0  -1 0 0.5 1 0 0 0' ctrl='1.5'/></keyframe></mujoco>)";

ModelPtr scene() {
  static const ModelPtr model = load_mjcf_string(kScene);
  return model;
}

std::uint64_t hash_of(Batch& batch) {
  std::uint64_t hash = fnv1a(batch.q().data(), batch.q().size_bytes());
  return fnv1a(batch.v().data(), batch.v().size_bytes(), hash);
}

// Different controls, frictions, masses and gravity.
void vary(Batch& batch) {
  for (int w = 0; w < batch.worlds(); ++w) {
    batch.control(w)[0] = std::sin(1.0 + w);
    Parameters& p = batch.parameters(w);
    p.gravity = Vector3(0.1 * w, 0.0, -9.81 + 0.3 * w);
    for (Material& material : p.shape_material) material.friction[0] = 0.2 + 0.1 * w;
    p.body_inertia[2].mass *= 1.0 + 0.2 * w;
  }
}

TEST(Batch, SameBitsForAnyNumberOfThreads) {
  std::uint64_t first = 0;
  for (const int threads : {1, 2, 4}) {
    Batch batch(scene(), 9, {}, threads);
    EXPECT_EQ(batch.threads(), threads);
    vary(batch);
    for (int i = 0; i < 100; ++i) batch.step(10);
    if (threads == 1) first = hash_of(batch);
    EXPECT_EQ(hash_of(batch), first) << threads << " threads";
    for (const StepStatus status : batch.statuses()) EXPECT_EQ(status, StepStatus::kOk);
  }
}

TEST(Batch, AWorldIsASimulator) {
  Batch batch(scene(), 3, {}, 2);
  vary(batch);
  Simulator sim(scene());
  sim.parameters() = batch.parameters(2);
  sim.input().control[0] = batch.control(2)[0];
  batch.step(300);
  sim.step(300);
  for (int i = 0; i < sim.model().nq; ++i) EXPECT_EQ(batch.q(2)[static_cast<std::size_t>(i)], sim.state().q[i]);
  EXPECT_EQ(batch.time(2), sim.state().time);
  EXPECT_NE(batch.q(1)[0], batch.q(2)[0]);
  EXPECT_NEAR(batch.simulator(2).contact_wrench(3)[2], 9.81 - 0.6, 1e-3);  // the ball under its own gravity
}

TEST(Batch, TroubleInOneWorldStaysThere) {
  Batch good(scene(), 4, {}, 2), batch(scene(), 4, {}, 2);
  batch.v(1)[0] = std::numeric_limits<double>::quiet_NaN();
  batch.control(2)[0] = std::numeric_limits<double>::infinity();
  batch.input(3).applied_force.resize(2);
  batch.step(50);
  good.step(50);
  EXPECT_EQ(batch.status(0), StepStatus::kOk);
  EXPECT_EQ(batch.status(1), StepStatus::kDiverged);
  EXPECT_EQ(batch.status(3), StepStatus::kDiverged);
  EXPECT_THAT(batch.error(3), testing::HasSubstr("applied_force"));
  EXPECT_TRUE(batch.error(0).empty());
  for (int i = 0; i < batch.model().nq; ++i) {
    EXPECT_EQ(batch.q(0)[static_cast<std::size_t>(i)], good.q(0)[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(std::isfinite(batch.q(2)[static_cast<std::size_t>(i)]));  // controls are clamped
  }
  // Mended, they go on.
  batch.reset(1);
  batch.input(3).applied_force.setZero(batch.model().nv);
  batch.step(10);
  EXPECT_EQ(batch.status(1), StepStatus::kOk);
  EXPECT_EQ(batch.status(3), StepStatus::kOk);
  EXPECT_TRUE(batch.error(3).empty());
}

TEST(Batch, ResetsAndKeyframes) {
  Batch batch(scene(), 2, {}, 1);
  batch.step(20);
  batch.reset(1, 0);
  EXPECT_EQ(batch.q(1)[0], 0.5);
  EXPECT_EQ(batch.control(1)[0], 1.5);
  EXPECT_EQ(batch.time(1), 0.0);
  EXPECT_GT(batch.time(0), 0.0);
  batch.q(0)[0] = 0.25;
  batch.forget(0);
  EXPECT_EQ(batch.simulator(0).state().q[0], 0.25);
  EXPECT_THROW(batch.q(2), Error);
  EXPECT_THROW(batch.reset(0, 1), Error);
  EXPECT_THROW(Batch(scene(), 0), Error);
  EXPECT_THROW(Batch(nullptr, 1), Error);
  EXPECT_THROW(Batch(scene(), 1, {}, -2), Error);
}

TEST(Batch, AllocatesNothingOnceWarm) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  Batch batch(scene(), 4, {}, 2);
  vary(batch);
  batch.step(3000);
  const test::AllocationGuard guard;
  for (int i = 0; i < 20; ++i) batch.step(5);
  EXPECT_EQ(guard.allocations(), 0u);
}

// Worlds that cannot fit are refused at once, not after the machine has swapped.
TEST(Batch, RefusesMoreWorldsThanFit) {
  for (const int worlds : {std::numeric_limits<int>::max(), 1'000'000'000}) {
    try {
      const Batch batch(scene(), worlds);
      ADD_FAILURE() << worlds << " worlds";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(worlds) + " worlds"));
      EXPECT_THAT(error.what(), testing::HasSubstr("of memory"));
      EXPECT_THAT(error.what(), testing::HasSubstr("give at most"));
    }
  }
  EXPECT_THROW(Batch(scene(), 0), Error);
  EXPECT_THROW(Batch(scene(), -5), Error);
  EXPECT_THROW(Batch(scene(), 2, {}, 1'000'000), Error) << "threads";
}

}  // namespace
}  // namespace touchstone
