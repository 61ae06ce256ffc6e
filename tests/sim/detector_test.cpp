#include "touchstone/sim/detection/detector.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/mjcf.hpp"

namespace touchstone {
namespace {

struct World {
  explicit World(const std::string& content, const CollisionOptions& options = {})
      : model(load_mjcf_string("<mujoco>" + content + "</mujoco>")),
        state(*model),
        data(*model),
        detector(std::make_shared<const CollisionModel>(*model), options) {}

  std::span<const Contact> detect(double h = 0.0) {
    forward_kinematics(*model, model->defaults, state, data);
    forward_velocity(*model, state.v, data);
    return detector.detect(model->defaults, data, h);
  }

  // Names of the shapes that touch, "a-b", sorted as the contacts are.
  std::vector<std::string> touching() {
    std::vector<std::string> names;
    for (const Contact& c : detect()) {
      const auto& shapes = model->shapes;
      const std::string pair =
          shapes[static_cast<std::size_t>(c.shape_a)].name + "-" + shapes[static_cast<std::size_t>(c.shape_b)].name;
      if (names.empty() || names.back() != pair) names.push_back(pair);
    }
    return names;
  }

  ModelPtr model;
  State state;
  Data data;
  CollisionDetector detector;
};

constexpr const char* kChain = R"(
  <option><flag %s/></option>
  <worldbody>
    <geom name="g" type="sphere" size="0.3"/>
    <body name="a"><joint/><geom name="a" size="0.3"/>
      <body name="aw"><geom name="w" size="0.3"/>
        <body name="b"><joint/><geom name="b" size="0.3"/>
          <body name="c"><joint axis="0 1 0"/><geom name="c" size="0.3"/></body>
        </body>
      </body>
    </body>
  </worldbody>)";

std::string chain(const std::string& flag, const std::string& rest = "") {
  std::string text = kChain;
  text.replace(text.find("%s"), 2, flag);
  return text + rest;
}

// All shapes are in one place: only the filters keep them apart.
TEST(CollisionFilter, ParentAndChildAndWeldedBodiesDoNotTouch) {
  EXPECT_THAT(World(chain("")).touching(), testing::ElementsAre("g-a", "g-w", "g-b", "g-c", "a-c", "w-c"));
  EXPECT_THAT(World(chain("filterparent=\"disable\"")).touching(),
              testing::ElementsAre("g-a", "g-w", "g-b", "g-c", "a-b", "a-c", "w-b", "w-c", "b-c"));
}

// What is found of chosen bodies is what a whole search finds of them, also after bodies have moved.
TEST(CollisionDetector, OfChosenBodies) {
  std::string bodies = "<geom type='plane' size='5 5 1'/>";
  for (int i = 0; i < 8; ++i) {
    bodies +=
        "<body pos='" + std::to_string(0.09 * i) + " 0 .045'><freejoint/><geom type='box' size='.05 .05 .05'/></body>";
  }
  World whole("<worldbody>" + bodies + "</worldbody>"), part("<worldbody>" + bodies + "</worldbody>");
  std::mt19937 random(5);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  for (int k = 0; k < 20; ++k) {
    for (int i = 0; i < 8; ++i) whole.state.q[7 * i] += 0.02 * unit(random);
    part.state.q = whole.state.q;
    std::vector<char> chosen(static_cast<std::size_t>(whole.model->nbody), 0);
    for (char& c : chosen) c = unit(random) > 0.4 ? 1 : 0;
    std::vector<std::pair<int, double>> expected, found;
    const auto is_chosen = [&](int body) { return chosen[static_cast<std::size_t>(body)] != 0; };
    for (const Contact& c : whole.detect()) {
      if (is_chosen(c.body_a) || is_chosen(c.body_b)) expected.emplace_back(100 * c.shape_a + c.shape_b, c.distance);
    }
    forward_kinematics(*part.model, part.model->defaults, part.state, part.data);
    for (const Contact& c : part.detector.detect_of(chosen, part.model->defaults, part.data))
      found.emplace_back(100 * c.shape_a + c.shape_b, c.distance);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].first, expected[i].first);
      EXPECT_NEAR(found[i].second, expected[i].second, 1e-9);
    }
  }
}

TEST(CollisionFilter, ExclusionsAndPairsOfTheModel) {
  EXPECT_THAT(World(chain("", R"(<contact><exclude body1="a" body2="c"/><exclude body1="world" body2="b"/></contact>)"))
                  .touching(),
              testing::ElementsAre("g-a", "g-w", "g-c", "w-c"));
  EXPECT_THAT(
      World(chain("", R"(<contact><exclude body1="a" body2="b"/><pair geom1="b" geom2="a"/></contact>)")).touching(),
      testing::ElementsAre("g-a", "g-w", "g-b", "g-c", "a-b", "a-c", "w-c"));
}

TEST(CollisionFilter, TypeAndAffinityBits) {
  World world(R"(<worldbody>
    <body name="a"><freejoint/><geom name="a" size="1" contype="1" conaffinity="2"/></body>
    <body name="b"><freejoint/><geom name="b" size="1" contype="2" conaffinity="4"/></body>
    <body name="c"><freejoint/><geom name="c" size="1" contype="4" conaffinity="0"/></body>
    <body name="d"><freejoint/><geom name="d" size="1" contype="0" conaffinity="0"/></body>
  </worldbody>)");
  EXPECT_THAT(world.touching(), testing::ElementsAre("a-b", "b-c"));
  EXPECT_EQ(world.detector.shapes().collider_of(3), -1);
}

TEST(Detector, BoxOnPlane) {
  World world(R"(<worldbody><geom name="floor" type="plane" size="1 1 1" friction="0.7"/>
    <body pos="0.3 0.2 0.099"><freejoint/><geom name="box" type="box" size="0.2 0.3 0.1" friction="0.4"/></body>
  </worldbody>)");
  const std::span<const Contact> contacts = world.detect();
  ASSERT_EQ(contacts.size(), 4u);
  std::vector<std::pair<double, double>> corners;
  for (const Contact& c : contacts) {
    EXPECT_NEAR(c.distance, -0.001, 1e-15);
    EXPECT_NEAR(c.position.z(), -0.0005, 1e-15);
    EXPECT_NEAR(c.normal().z(), 1.0, 1e-15);  // from the floor to the box
    EXPECT_NEAR((c.frame.eigen().transpose() * c.frame.eigen() - Matrix3::Identity()).norm(), 0.0, 1e-14);
    EXPECT_NEAR(c.frame.eigen().determinant(), 1.0, 1e-14);
    EXPECT_EQ(c.material.friction[0], 0.7);
    EXPECT_EQ(c.body_a, 0);
    EXPECT_EQ(c.body_b, 1);
    EXPECT_EQ(c.active.A.type, FeatureType::kFace);
    EXPECT_EQ(c.active.B.type, FeatureType::kVertex);
    corners.emplace_back(c.position.x(), c.position.y());
  }
  std::sort(corners.begin(), corners.end());
  const std::vector<std::pair<double, double>> expected{{0.1, -0.1}, {0.1, 0.5}, {0.5, -0.1}, {0.5, 0.5}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(corners[i].first, expected[i].first, 1e-14);
    EXPECT_NEAR(corners[i].second, expected[i].second, 1e-14);
  }
}

TEST(Detector, ReportsWithinMarginsOnly) {
  const auto contacts_at = [](double gap, const std::string& attributes, double option_margin) {
    CollisionOptions options;
    options.margin = option_margin;
    World world("<worldbody><geom type=\"plane\" size=\"1 1 1\" margin=\"0.01\"/><body pos=\"0 0 " +
                    std::to_string(0.1 + gap) + "\"><freejoint/><geom size=\"0.1\" " + attributes +
                    "/></body></worldbody>",
                options);
    return world.detect().size();
  };
  EXPECT_EQ(contacts_at(0.009, "", 0.0), 1u);
  EXPECT_EQ(contacts_at(0.011, "", 0.0), 0u);
  EXPECT_EQ(contacts_at(0.029, "margin=\"0.02\"", 0.0), 1u);  // margins add up
  EXPECT_EQ(contacts_at(0.031, "margin=\"0.02\"", 0.0), 0u);
  EXPECT_EQ(contacts_at(0.034, "margin=\"0.02\" gap=\"0.005\"", 0.0), 1u);
  EXPECT_EQ(contacts_at(0.036, "margin=\"0.02\" gap=\"0.005\"", 0.0), 0u);
  EXPECT_EQ(contacts_at(0.014, "", 0.005), 1u);
  EXPECT_EQ(contacts_at(0.016, "", 0.005), 0u);
}

TEST(Detector, PairOfTheModelDecidesMarginAndFriction) {
  World world(R"(<worldbody><geom name="f" type="plane" size="1 1 1" contype="0" conaffinity="0"/>
    <body pos="0 0 0.14"><freejoint/><geom name="b" size="0.1" contype="0" conaffinity="0"/></body></worldbody>
    <contact><pair geom1="f" geom2="b" margin="0.05" friction="0.1 0.2 0.3 0.4 0.5" condim="6"/></contact>)");
  const std::span<const Contact> contacts = world.detect();
  ASSERT_EQ(contacts.size(), 1u);
  const std::array<double, 5> friction{0.1, 0.2, 0.3, 0.4, 0.5};
  EXPECT_EQ(contacts[0].material.friction, friction);
  EXPECT_EQ(contacts[0].material.dimension, 6);
  EXPECT_EQ(contacts[0].margin, 0.05);
}

TEST(Detector, RejectsBadOptions) {
  CollisionOptions options;
  options.margin = -1.0;
  EXPECT_THROW(World("<worldbody/>", options), Error);
  options.margin = std::nan("");
  EXPECT_THROW(World("<worldbody/>", options), Error);
}

TEST(Detector, PosesThatAreNotFiniteAreCounted) {
  World world(R"(<worldbody><geom type="plane" size="1 1 1"/>
    <body><freejoint/><geom size="0.1"/></body><body pos="0 0 0.1"><freejoint/><geom size="0.1"/></body></worldbody>)");
  world.state.q[2] = std::nan("");
  const std::span<const Contact> contacts = world.detect();
  for (const Contact& c : contacts) EXPECT_TRUE(std::isfinite(c.distance));
  EXPECT_EQ(contacts.size(), 1u);  // the other ball
}

constexpr const char* kBullet = R"(<option gravity="0 0 0"/><worldbody>
    <geom name="wall" type="box" size="0.0005 2 2"/>
    <body pos="-1 0 0"><freejoint/>%s</body></worldbody>)";

// Free flight in steps of h, where a contact takes what would carry the surfaces through each other: v_n >= -phi/h.
// Returns the largest x that the body's centre reaches.
double fly(World& world, double h, int steps, bool swept) {
  double farthest = world.state.q[0];
  for (int step = 0; step < steps; ++step) {
    const std::span<const Contact> contacts = world.detect(swept ? h : 0.0);
    Vector3 velocity = world.state.v.head<3>();
    for (int sweep = 0; sweep < 50; ++sweep) {
      for (const Contact& c : contacts) {
        const Vector3 n = c.normal().eigen();  // from the wall to the body
        const double excess = std::min(0.0, n.dot(velocity) + c.distance / h);
        velocity -= excess * n;
      }
    }
    world.state.v.head<3>() = velocity;
    world.state.q.head<3>() += h * velocity;
    farthest = std::max(farthest, world.state.q[0]);
  }
  return farthest;
}

TEST(Detector, BulletsDoNotTunnelThroughAThinWall) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (const char* shape :
       {"<geom size=\"0.005\"/>", "<geom type=\"box\" size=\"0.01 0.003 0.002\"/>",
        "<geom type=\"capsule\" size=\"0.002 0.01\"/>", "<geom type=\"ellipsoid\" size=\".01 .004 .003\"/>"}) {
    std::string text = kBullet;
    text.replace(text.find("%s"), 2, shape);
    int tunnelled_without = 0;
    for (int i = 0; i < 50; ++i) {
      const double h = 1e-3, speed = 100.0 + 900.0 * unit(random);  // up to 1 m a step, the wall is 1 mm thick
      const auto start = [&](World& world) {
        std::mt19937_64 same(static_cast<std::uint64_t>(i));
        std::uniform_real_distribution<double> u(-1.0, 1.0);
        world.state.q.head<3>() = Vector3(-0.6 + 0.4 * u(same), 0.5 * u(same), 0.5 * u(same));
        world.state.v.head<3>() = speed * Vector3(1.0, 0.3 * u(same), 0.3 * u(same)).normalized();
      };
      World swept(text), plain(text);
      start(swept);
      start(plain);
      ASSERT_LE(fly(swept, h, 20, true), 0.0) << shape << " " << i;
      if (fly(plain, h, 20, false) > 0.0) ++tunnelled_without;
    }
    EXPECT_GT(tunnelled_without, 40) << shape;  // the test would be worth nothing if this were small
  }
}

TEST(Detector, FlyingPastIsNoContact) {
  std::string text = kBullet;
  text.replace(text.find("%s"), 2, "<geom size=\"0.005\"/>");
  World world(text);
  world.state.q.head<3>() = Vector3(-0.5, 0.0, 0.0);
  world.state.v.head<3>() = Vector3(0.0, 1000.0, 0.0);  // along the wall, half a metre before it
  EXPECT_TRUE(world.detect(1e-3).empty());
  world.state.v.head<3>() = Vector3(-1000.0, 0.0, 0.0);  // away from it
  EXPECT_TRUE(world.detect(1e-3).empty());
  world.state.v.head<3>() = Vector3(1000.0, 0.0, 0.0);
  EXPECT_EQ(world.detect(1e-3).size(), 1u);
}

constexpr const char* kPile = R"(<worldbody><geom type="plane" size="5 5 1"/>
    <replicate count="4" offset="0.19 0 0"><replicate count="4" offset="0 0.19 0"><replicate count="3" offset="0 0 0.199">
      <body pos="0 0 0.099"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
    </replicate></replicate></replicate></worldbody>)";

TEST(Detector, SameStateGivesTheSameContacts) {
  World one(kPile), two(kPile);
  std::mt19937_64 random(10);
  std::normal_distribution<double> normal;
  for (int step = 0; step < 20; ++step) {
    for (int i = 0; i < one.state.q.size(); ++i) one.state.q[i] += 1e-4 * normal(random);
    two.state.q = one.state.q;
    const std::span<const Contact> a = one.detect(), b = two.detect();
    ASSERT_EQ(a.size(), b.size());
    ASSERT_GT(a.size(), 100u);
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].shape_a, b[i].shape_a);
      ASSERT_EQ(a[i].feature, b[i].feature);
      ASSERT_EQ(a[i].distance, b[i].distance);
      if (i > 0) {
        ASSERT_LE(std::pair(a[i - 1].shape_a, a[i - 1].shape_b), std::pair(a[i].shape_a, a[i].shape_b));
      }
    }
  }
}

// Features may change where an edge passes above another, and nowhere else.
TEST(Detector, FeaturesAreUniqueInAPairAndStay) {
  World world(kPile);
  for (int body = 0; body < world.model->njoint; ++body) {
    world.state.q[7 * body] += 0.004 * std::sin(3.0 * body);
    world.state.q[7 * body + 1] += 0.004 * std::cos(5.0 * body);
  }
  using Name = std::tuple<int, int, std::uint64_t>;
  std::vector<Name> before;
  std::size_t points = 0, changes = 0;
  for (int step = 0; step < 30; ++step) {
    for (int body = 0; body < world.model->njoint; ++body) {
      world.state.q[7 * body] += 1e-5 * std::sin(body);
      world.state.q[7 * body + 1] += 1e-5 * std::cos(body);
    }
    std::vector<Name> now;
    for (const Contact& c : world.detect()) now.emplace_back(c.shape_a, c.shape_b, c.feature);
    std::sort(now.begin(), now.end());
    ASSERT_EQ(std::adjacent_find(now.begin(), now.end()), now.end());
    std::vector<Name> fresh;
    std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::back_inserter(fresh));
    if (step > 0) changes += fresh.size();
    points += now.size();
    before = now;
  }
  EXPECT_GT(points, 10000u);
  EXPECT_LT(changes, points / 200);
}

TEST(Detector, DoesNotAllocateOnceWarm) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  World world(kPile);
  for (int i = 0; i < 3; ++i) world.detect(1e-3);
  const test::AllocationGuard guard;
  for (int i = 0; i < 10; ++i) {
    world.state.q[2] += 1e-4;
    world.detect(1e-3);
  }
  EXPECT_EQ(guard.allocations(), 0u);
}

TEST(Detector, ResetForgets) {
  World world(kPile);
  world.detect();
  const std::vector<Contact> first(world.detector.contacts().begin(), world.detector.contacts().end());
  const VectorX q = world.state.q;
  world.state.q[2] += 1.0;
  world.detect();
  world.state.q = q;
  world.detector.reset();
  const std::span<const Contact> again = world.detect();
  ASSERT_EQ(again.size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i) ASSERT_EQ(again[i].distance, first[i].distance);
}

TEST(Detector, RayFindsTheNearestShape) {
  World world(R"(<worldbody><geom name="floor" type="plane" size="5 5 1"/>
    <body pos="0 0 1"><freejoint/><geom name="ball" size="0.1"/></body>
    <body pos="0 0 2"><freejoint/><geom name="box" type="box" size="0.1 0.2 0.3"/></body></worldbody>)");
  world.detect();
  const RayHit down = world.detector.raycast(Vec3(0, 0, 5), Vec3(0, 0, -2));
  EXPECT_EQ(down.shape, world.model->shape("box"));
  EXPECT_NEAR(down.distance, 2.7, 1e-12);
  EXPECT_NEAR(down.normal.z(), 1.0, 1e-12);
  const RayHit between = world.detector.raycast(Vec3(0, 0, 1.5), Vec3(0, 0, -1));
  EXPECT_EQ(between.shape, world.model->shape("ball"));
  EXPECT_NEAR(between.distance, 0.4, 1e-12);
  EXPECT_EQ(world.detector.raycast(Vec3(1, 0, 1.5), Vec3(0, 0, -1)).shape, world.model->shape("floor"));
  EXPECT_EQ(world.detector.raycast(Vec3(1, 0, 1.5), Vec3(0, 0, 1)).shape, -1);
  EXPECT_EQ(world.detector.raycast(Vec3(0, 0, 1.5), Vec3(0, 0, -1), 0.3).shape, -1);
  EXPECT_EQ(world.detector.raycast(Vec3(0, 0, 1.5), Vec3(0, 0, 0)).shape, -1);
}

// A U profile with walls of thickness t: its volume is 9 t - 2 t^2, that of its hull 9.
std::string u_profile(const std::string& t, const std::string& rest) {
  std::string vertices;
  for (const char* y : {" 0 ", " 1 "}) {
    for (const auto& [x, z] : {std::pair<std::string, std::string>{"0", "0"},
                               {"3", "0"},
                               {"3", "3"},
                               {rest, "3"},
                               {rest, t},
                               {t, t},
                               {t, "3"},
                               {"0", "3"}}) {
      vertices += x + y + z + "  ";
    }
  }
  return "<asset><mesh name='u' vertex='" + vertices + R"(' face='
      0 1 4  0 4 5  1 2 3  1 3 4  0 5 6  0 6 7  8 12 9  8 13 12  9 11 10  9 12 11  8 14 13  8 15 14
      0 9 1  0 8 9  1 10 2  1 9 10  2 11 3  2 10 11  3 12 4  3 11 12  4 13 5  4 12 13  5 14 6  5 13 14
      6 15 7  6 14 15  7 8 0  7 15 8'/></asset>
    <worldbody><body><freejoint/><geom name='cup' type='mesh' mesh='u'/></body></worldbody>)";
}

TEST(CollisionModel, WarnsOfHollowMeshes) {
  EXPECT_TRUE(World(u_profile("1", "2")).detector.shapes().warnings().empty());  // 9 to 7: not worth a word
  World hollow(u_profile("0.1", "2.9"));
  const std::vector<Warning>& warnings = hollow.detector.shapes().warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].message, testing::AllOf(testing::HasSubstr("'cup'"), testing::HasSubstr("10.2 times")));
}

}  // namespace
}  // namespace touchstone
