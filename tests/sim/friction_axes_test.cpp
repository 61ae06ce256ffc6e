// Pair friction with two values, along the tangents that MuJoCo gives a contact.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/collision/manifold/contact_frame.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/io/urdf.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/serialize.hpp"
#include "touchstone/sim/contact_cache.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {
namespace {

constexpr double kGravity = 9.81, kStep = 1e-3, kSpeed = 2.0;

std::string text(const Quaternion& q) { return fmt::format("{} {} {} {}", q.w(), q.x(), q.y(), q.z()); }
std::string text(const Vector3& v) { return fmt::format("{} {} {}", v.x(), v.y(), v.z()); }

// A shape of 1 kg on a plane through the origin, turned by R, with gravity along its normal.
struct Slide {
  Quaternion R = Quaternion::Identity();
  double friction_1 = 1.0, friction_2 = 1.0;
  std::string shape = "type='box' size='.1 .1 .05'";
  double height = 0.05;
  Quaternion turned = Quaternion::Identity();  // of the shape, on the plane

  std::string xml() const {
    const Vector3 normal = R * Vector3::UnitZ();
    return fmt::format(
        "<mujoco><option gravity='{}'/><worldbody><geom name='floor' type='plane' size='9 9 1' quat='{}'/>"
        "<body pos='{}' quat='{}'><freejoint/><geom name='b' {} mass='1'/></body></worldbody>"
        "<contact><pair geom1='floor' geom2='b' condim='3' friction='{} {}'/></contact></mujoco>",
        text(Vector3(-kGravity * normal)), text(R), text(Vector3(height * normal)), text(Quaternion(R * turned)), shape,
        friction_1, friction_2);
  }
};

// How far it comes along a unit vector in so many steps.
double way(const ModelPtr& model, Vec3 direction, int steps, ConstraintModel constraints = ConstraintModel::kRigid) {
  SimulatorOptions options;
  options.time_step = kStep;
  options.tolerance = 1e-9;
  options.constraints = constraints;
  Simulator sim(model, options);
  const Vector3 start = sim.state().q.head<3>();
  sim.state().v.head<3>() = kSpeed * direction.eigen();
  sim.step(steps);
  return direction.eigen().dot(Vector3(sim.state().q.head<3>() - start));
}

// Of the time stepping: the speed falls by mu g h each step, down to zero.
double expected_way(double mu, int steps) {
  double x = 0.0, v = kSpeed;
  for (int i = 0; i < steps; ++i) {
    v = std::max(0.0, v - mu * kGravity * kStep);
    x += kStep * v;
  }
  return x;
}

TEST(FrictionAxes, SlidesOnTheFloorAlongXAndY) {
  for (const auto& [along_y, along_x] : {std::pair(1.0, 0.1), {0.1, 1.0}, {0.3, 0.6}, {0.0, 0.5}, {0.4, 0.4}}) {
    const ModelPtr model = load_mjcf_string(Slide{.friction_1 = along_y, .friction_2 = along_x}.xml());
    EXPECT_NEAR(way(model, Vec3(1, 0, 0), 250), expected_way(along_x, 250), 1e-6) << along_x << ' ' << along_y;
    EXPECT_NEAR(way(model, Vec3(0, 1, 0), 250), expected_way(along_y, 250), 1e-6) << along_x << ' ' << along_y;
  }
}

// Planes of any direction. Their normals are on both sides of the jump of the rule.
TEST(FrictionAxes, SlidesOnPlanesOfAnyDirection) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> coefficient(0.05, 0.9);
  int steep = 0;
  for (int i = 0; i < 24; ++i) {
    Slide slide;
    slide.R = Quaternion(normal(random), normal(random), normal(random), normal(random)).normalized();
    slide.friction_1 = coefficient(random);
    slide.friction_2 = coefficient(random);
    const ModelPtr model = load_mjcf_string(slide.xml());
    const Vec3 n(Vector3(slide.R * Vector3::UnitZ()));
    const Mat3 F = mujoco_contact_frame(n);
    steep += std::abs(n.y()) > 0.5 ? 1 : 0;
    EXPECT_NEAR(way(model, F.c0, 150), expected_way(slide.friction_1, 150), 2e-6) << i;
    EXPECT_NEAR(way(model, F.c1, 150), expected_way(slide.friction_2, 150), 2e-6) << i;
  }
  EXPECT_GT(steep, 5);
  EXPECT_LT(steep, 19);
}

// On a plane the first tangent of a capsule is its axis, whichever way it lies.
TEST(FrictionAxes, CapsulesSlideAlongTheirAxisWithTheFirst) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> angle(-3.0, 3.0);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 12; ++i) {
    const Slide slide{
        .R = Quaternion(normal(random), normal(random), normal(random), normal(random)).normalized(),
        .friction_1 = 0.2,
        .friction_2 = 0.7,
        .shape = "type='capsule' size='.05 .2'",
        .height = 0.05,
        .turned = Eigen::AngleAxisd(angle(random), Vector3::UnitZ()) * Eigen::AngleAxisd(M_PI / 2, Vector3::UnitY())};
    const Vec3 axis(Vector3(slide.R * slide.turned * Vector3::UnitZ()));
    EXPECT_NEAR(way(load_mjcf_string(slide.xml()), axis, 150), expected_way(0.2, 150), 2e-6) << i;
  }
}

TEST(FrictionAxes, HoldWithSoftenedConstraintsToo) {
  for (const char* cone : {"pyramidal", "elliptic"}) {
    for (const auto& [along_y, along_x] : {std::pair(1.0, 0.1), {0.1, 1.0}, {0.3, 0.6}}) {
      auto model =
          std::make_shared<Model>(*load_mjcf_string(Slide{.friction_1 = along_y, .friction_2 = along_x}.xml()));
      model->options.cone = cone;
      const auto soft_way = [&](Vec3 direction) { return way(model, direction, 200, ConstraintModel::kMujoco); };
      // The box sinks in while it slides, and stops within a few time constants of the constraint.
      EXPECT_NEAR(soft_way(Vec3(1, 0, 0)), expected_way(along_x, 200), 0.03 * kSpeed * 0.2) << cone << along_x;
      EXPECT_NEAR(soft_way(Vec3(0, 1, 0)), expected_way(along_y, 200), 0.03 * kSpeed * 0.2) << cone << along_y;
    }
  }
}

// Without a preferred direction the tangents do not matter.
TEST(FrictionAxes, IsotropicFrictionDoesNotSeeTheRule) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 8; ++i) {
    Slide slide;
    slide.R = Quaternion(normal(random), normal(random), normal(random), normal(random)).normalized();
    slide.friction_1 = slide.friction_2 = 0.3;
    auto model = std::make_shared<Model>(*load_mjcf_string(slide.xml()));
    const Vec3 direction = mujoco_contact_frame(Vec3(Vector3(slide.R * Vector3::UnitZ()))).c1;
    const double mujoco_way = way(model, direction, 150);
    model->options.mujoco_contact_frames = false;
    EXPECT_NEAR(way(model, direction, 150), mujoco_way, 1e-6);
  }
}

// Which models have the rule, and that it stays with them.
TEST(FrictionAxes, TheRuleIsAPropertyOfTheModel) {
  const ModelPtr mjcf = load_mjcf_string(Slide{.friction_1 = 1.0, .friction_2 = 0.1}.xml());
  EXPECT_TRUE(mjcf->options.mujoco_contact_frames);
  EXPECT_TRUE(deserialize_model(serialize(*mjcf))->options.mujoco_contact_frames);
  EXPECT_TRUE(ModelBuilder(*mjcf).build()->options.mujoco_contact_frames);
  ModelBuilder builder("other");
  EXPECT_FALSE(builder.options().mujoco_contact_frames);
  builder.add_model(*mjcf, {}, "part/");
  const ModelPtr attached = builder.build();
  EXPECT_TRUE(attached->options.mujoco_contact_frames) << "the pairs of the part rely on it";
  EXPECT_NEAR(way(attached, Vec3(1, 0, 0), 250), expected_way(0.1, 250), 1e-6);
}

TEST(FrictionAxes, OtherModelsKeepTheSmoothFrame) {
  const ModelPtr urdf = load_urdf_string("<robot name='r'><link name='l'/></robot>", "");
  EXPECT_FALSE(urdf->options.mujoco_contact_frames);
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 20; ++i) {
    Slide slide;
    slide.R = Quaternion(normal(random), normal(random), normal(random), normal(random)).normalized();
    auto model = std::make_shared<Model>(*load_mjcf_string(slide.xml()));
    for (const bool mujoco : {false, true}) {
      model->options.mujoco_contact_frames = mujoco;
      Simulator sim(model);
      sim.step();
      ASSERT_EQ(sim.contacts().size(), 4U);
      for (const ContactForce& f : sim.contacts()) {
        const Vec3 n = f.contact->normal();
        const Vec3 d = f.contact->frame.c0 - (mujoco ? mujoco_contact_frame(n) : contact_frame(n)).c0;
        EXPECT_LT(dot(d, d), 1e-24);
      }
    }
  }
}

// The cache keeps impulses in world axes: a jump of the frame does not spoil the start of a solve.
TEST(FrictionAxes, ImpulsesOutliveAJumpOfTheFrame) {
  Contact before;
  before.shape_a = 0;
  before.shape_b = 1;
  before.material.dimension = 6;
  Contact after = before;
  const double tilt = std::asin(0.5);
  const auto frame = [](double angle) { return mujoco_contact_frame(Vec3(0, std::sin(angle), std::cos(angle))); };
  before.frame = frame(tilt - 1e-6);
  after.frame = frame(tilt + 1e-6);
  ASSERT_LT(std::abs(dot(before.frame.c0, after.frame.c0) + 1.0), 1e-5) << "t1 turns round";
  Constraints constraints;
  constraints.list.push_back({.kind = ConstraintKind::kContact});
  constraints.blocks.add_coulomb(before.material.friction.data(), 5);
  VectorX impulse(6), velocity(6), recalled(6), recalled_velocity(6);
  impulse << 1, 2, 3, 4, 5, 6;
  velocity = 0.1 * impulse;
  ContactCache cache;
  EXPECT_EQ(cache.recall(constraints, {&after, 1}, recalled, recalled_velocity), 0);
  EXPECT_TRUE(recalled.isZero());
  EXPECT_TRUE(recalled_velocity.array().isNaN().all()) << "nothing is known";
  cache.store(constraints, {&before, 1}, impulse, velocity);
  EXPECT_EQ(cache.recall(constraints, {&after, 1}, recalled, recalled_velocity), 1);
  VectorX expected(6);
  expected << -1, -2, 3, -4, -5, 6;
  EXPECT_LT((recalled - expected).norm(), 1e-4) << recalled.transpose();
  EXPECT_LT((recalled_velocity - 0.1 * expected).norm(), 1e-5) << recalled_velocity.transpose();
}

// A body that tips turns its contact with it. What slid along the surface slides along it still, and does not approach
// it; impulses, which balance weights, stay where they were in the world.
TEST(FrictionAxes, KnownVelocitiesTurnWithTheNormal) {
  std::mt19937 draw(3);
  std::normal_distribution<double> normal;
  const auto random_unit = [&] {
    const Vector3 v(normal(draw), normal(draw), normal(draw));
    return Vec3(v.normalized());
  };
  for (int trial = 0; trial < 100; ++trial) {
    Contact before;
    before.shape_a = 0;
    before.shape_b = 1;
    const Vec3 n = random_unit(), other = n + random_unit() * 0.2;
    before.frame = contact_frame(n);
    Contact after = before;
    after.frame = contact_frame(other * (1.0 / std::sqrt(dot(other, other))));
    Constraints constraints;
    constraints.list.push_back({.kind = ConstraintKind::kContact});
    constraints.blocks.add_coulomb(before.material.friction.data(), 2);
    VectorX impulse = VectorX::Zero(3), slip(3), recalled(3), known(3);
    impulse << normal(draw), normal(draw), 1.0;
    slip << normal(draw), normal(draw), 0.0;
    ContactCache cache;
    cache.store(constraints, {&before, 1}, impulse, slip);
    ASSERT_EQ(cache.recall(constraints, {&after, 1}, recalled, known), 1);
    EXPECT_LT(std::abs(known[2]), 1e-14);
    EXPECT_LT(std::abs(known.norm() - slip.norm()), 1e-14);
    EXPECT_LT((after.frame.eigen() * recalled - before.frame.eigen() * impulse).norm(), 1e-14);
    // No more than the normal turns.
    const double way = (after.frame.eigen() * known - before.frame.eigen() * slip).norm();
    EXPECT_LE(way, (after.frame.c2.eigen() - before.frame.c2.eigen()).norm() * slip.norm() + 1e-14);
  }
}

// Where the normal turns round, nothing says how the rest would.
TEST(FrictionAxes, KnownVelocitiesStayWhereTheNormalTurnsRound) {
  Contact before;
  before.shape_a = 0;
  before.shape_b = 1;
  Contact after = before;
  before.frame = contact_frame(Vec3(0, 0, 1));
  after.frame = contact_frame(Vec3(0, 0, -1));
  Constraints constraints;
  constraints.list.push_back({.kind = ConstraintKind::kContact});
  constraints.blocks.add_coulomb(before.material.friction.data(), 2);
  VectorX impulse = VectorX::Ones(3), velocity(3), recalled(3), known(3);
  velocity << 1.0, 2.0, 3.0;
  ContactCache cache;
  cache.store(constraints, {&before, 1}, impulse, velocity);
  ASSERT_EQ(cache.recall(constraints, {&after, 1}, recalled, known), 1);
  EXPECT_LT((after.frame.eigen() * known - before.frame.eigen() * velocity).norm(), 1e-15);
}

}  // namespace
}  // namespace touchstone
