// Robots whose base is fixed to the world: the base is their parent too, although it does not move.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/io/mjcf.hpp"
#include "touchstone/io/urdf.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/model/serialize.hpp"
#include "touchstone/scenes/scene.hpp"
#include "touchstone/sim/detection/detector.hpp"

namespace touchstone {
namespace {

std::string link(const std::string& name, const std::string& shape, const std::string& xyz = "0 0 0") {
  return fmt::format(
      "<link name='{}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
      "<collision><origin xyz='{}'/><geometry>{}</geometry></collision></link>\n",
      name, xyz, shape);
}

std::string ball(double radius) { return fmt::format("<sphere radius='{}'/>", radius); }

std::string joint(const std::string& type, const std::string& parent, const std::string& child,
                  const std::string& xyz = "0 0 0") {
  return fmt::format(
      "<joint name='{0}_{1}' type='{2}'><parent link='{0}'/><child link='{1}'/><origin xyz='{3}'/><axis xyz='0 1 0'/>"
      "<limit lower='-1' upper='1' effort='1' velocity='1'/></joint>\n",
      parent, child, type, xyz);
}

std::string robot(const std::string& content) { return "<robot name='r'>\n" + content + "</robot>"; }

ModelPtr load(const std::string& xml, bool floating = false, bool merge = true) {
  LoadOptions options;
  options.floating_base = floating;
  options.merge_fixed = merge;
  return load_urdf_string(xml, "/nonexistent", options);
}

// "a-b" for all shapes that may collide.
std::set<std::string> colliding_pairs(const Model& model) {
  const CollisionModel shapes(model);
  std::set<std::string> pairs;
  for (int i = 0; i < static_cast<int>(shapes.colliders().size()); ++i) {
    for (int j = i + 1; j < static_cast<int>(shapes.colliders().size()); ++j) {
      if (!shapes.wanted(i, j)) continue;
      const auto [a, b] = std::minmax(model.shapes[at(shapes.colliders()[at(i)].shape)].name,
                                      model.shapes[at(shapes.colliders()[at(j)].shape)].name);
      pairs.insert(a + "-" + b);
    }
  }
  return pairs;
}

std::set<std::string> pairs_of(const std::string& xml, bool floating = false, bool merge = true) {
  return colliding_pairs(*load(xml, floating, merge));
}

int deep_contacts(const Model& model) {
  CollisionDetector detector(std::make_shared<const CollisionModel>(model));
  Data data(model);
  forward_kinematics(model, model.defaults, State(model), data);
  const auto contacts = detector.detect(model.defaults, data);
  return static_cast<int>(
      std::count_if(contacts.begin(), contacts.end(), [](const Contact& c) { return c.distance < -1e-4; }));
}

TEST(FixedBase, DoesNotCollideWithWhatIsMountedOnIt) {
  const std::string xml = robot(link("base", ball(0.1)) + link("upper", ball(0.1)) + link("lower", ball(0.1), "0 0 1") +
                                joint("revolute", "base", "upper", "0 0 0.05") + joint("revolute", "upper", "lower"));
  // The grandchild may touch the base.
  EXPECT_EQ(pairs_of(xml), std::set<std::string>{"base_collision-lower_collision"});
  EXPECT_EQ(deep_contacts(*load(xml)), 0);
}

TEST(FixedBase, IsEverythingThatFixedJointsHoldTogether) {
  // base - plate - foot, all fixed; a joint on each of them.
  std::string xml = link("base", ball(0.1)) + link("plate", ball(0.1), "0 0 1") + link("foot", ball(0.1), "0 0 2") +
                    joint("fixed", "base", "plate") + joint("fixed", "plate", "foot");
  for (const std::string parent : {"base", "plate", "foot"}) {
    xml += link("on_" + parent, ball(0.1), "0 3 0") + joint("revolute", parent, "on_" + parent);
  }
  // The three moving links overlap one another and nothing else may collide.
  EXPECT_EQ(pairs_of(robot(xml)), std::set<std::string>{});
}

TEST(FixedBase, GroundCollidesWithEverythingThatMoves) {
  const std::string xml =
      robot(link("base", ball(0.1)) + link("upper", ball(0.1)) + joint("revolute", "base", "upper"));
  const ModelPtr model = load(xml);
  const ModelPtr grounded = with_ground(*model, model->reference_q);
  EXPECT_EQ(colliding_pairs(*grounded), std::set<std::string>{"ground-upper_collision"});
}

TEST(FixedBase, WorldLinkIsWhatTheRobotStandsOn) {
  const std::string arm =
      link("base", ball(0.1)) + link("upper", ball(0.1), "0 0 0.1") + joint("revolute", "base", "upper", "0 0 0.05");
  // The table belongs to the surroundings, so the arm touches it, even where it overlaps from the start.
  EXPECT_EQ(pairs_of(robot(link("world", ball(0.2)) + arm + joint("fixed", "world", "base"))),
            std::set<std::string>{"upper_collision-world_collision"});
  // A cup that floats above it is no part of it.
  EXPECT_EQ(pairs_of(robot(link("world", ball(0.2)) + link("cup", ball(0.1)) + joint("floating", "world", "cup"))),
            std::set<std::string>{"cup_collision-world_collision"});
  // A door that is hinged to it is.
  EXPECT_EQ(pairs_of(robot(link("world", ball(0.2)) + link("door", ball(0.1)) + joint("revolute", "world", "door"))),
            std::set<std::string>{});
}

TEST(FixedBase, OtherRobotsCollideWithIt) {
  const ModelPtr one =
      load(robot(link("base", ball(0.1)) + link("arm", ball(0.1), "0 0 0.5") + joint("revolute", "base", "arm")));
  ModelBuilder builder("two");
  builder.add_model(*one, {}, "a/");
  builder.add_model(*one, Transform{Vector3(1, 0, 0), Quaternion::Identity()}, "b/");
  const std::set<std::string> expected{"a/arm_collision-b/arm_collision", "a/arm_collision-b/base_collision",
                                       "a/base_collision-b/arm_collision"};
  EXPECT_EQ(colliding_pairs(*builder.build()), expected);
}

TEST(FixedBase, IsKeptInRecordingsAndCopies) {
  const ModelPtr model =
      load(robot(link("base", ball(0.1)) + link("a", ball(0.1)) + link("b", ball(0.1)) + link("c", ball(0.1), "0 0 1") +
                 joint("revolute", "base", "a") + joint("revolute", "a", "b") + joint("revolute", "b", "c")));
  const std::set<std::string> pairs = colliding_pairs(*model);
  EXPECT_EQ(pairs, (std::set<std::string>{"a_collision-c_collision", "base_collision-c_collision"}));
  EXPECT_EQ(colliding_pairs(*deserialize_model(serialize(*model))), pairs);
  EXPECT_EQ(colliding_pairs(*ModelBuilder(*model).build()), pairs);
}

TEST(FixedBase, MjcfKeepsTheRuleOfMujoco) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><worldbody><geom name="world" size=".1"/>
    <body><geom name="pedestal" size=".1"/><body><joint/><geom name="arm" size=".1"/></body></body>
    </worldbody></mujoco>)");
  EXPECT_EQ(colliding_pairs(*model), (std::set<std::string>{"arm-pedestal", "arm-world"}));
}

// A random tree of links with all kinds of joints but floating ones.
std::string random_robot(unsigned seed) {
  std::mt19937 random(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / static_cast<double>(std::mt19937::max());
  };
  const int links = 2 + static_cast<int>(random() % 12);
  const char* types[] = {"fixed", "fixed", "revolute", "continuous", "prismatic", "planar"};
  std::string xml;
  for (int i = 0; i < links; ++i) {
    const std::string shape = random() % 2 == 0 ? ball(uniform(0.05, 0.3))
                                                : fmt::format("<box size='{} {} {}'/>", uniform(0.05, 0.6),
                                                              uniform(0.05, 0.6), uniform(0.05, 0.6));
    const auto place = [&](double size) {
      return fmt::format("{} {} {}", uniform(-size, size), uniform(-size, size), uniform(-size, size));
    };
    xml += link(fmt::format("l{}", i), shape, place(0.2));
    if (i == 0) continue;
    xml += joint(types[random() % std::size(types)], fmt::format("l{}", random() % static_cast<unsigned>(i)),
                 fmt::format("l{}", i), place(0.3));
  }
  return robot(xml);
}

TEST(FixedBase, RandomRobotsCollideWithThemselvesAsFloatingOnesDo) {
  int with_pairs = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    const std::string xml = random_robot(seed);
    const std::set<std::string> floating = pairs_of(xml, true);
    EXPECT_EQ(pairs_of(xml, true, false), floating) << xml;
    EXPECT_EQ(pairs_of(xml), floating) << xml;
    EXPECT_EQ(pairs_of(xml, false, false), floating) << xml;
    EXPECT_EQ(deep_contacts(*load(xml)), 0) << xml;
    with_pairs += floating.empty() ? 0 : 1;
  }
  EXPECT_GT(with_pairs, 100);
}

TEST(FixedBase, RobotFilesCollideWithThemselvesAsFloatingOnesDo) {
  namespace fs = std::filesystem;
  const char* data = std::getenv("TOUCHSTONE_DATA");
  const fs::path robots = fs::path(data != nullptr ? data : "/nonexistent") / "models" / "urdf";
  if (!fs::is_directory(robots)) GTEST_SKIP() << "no robots in " << robots;
  int count = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(robots)) {
    if (entry.path().extension() != ".urdf") continue;
    ++count;
    LoadOptions options;
    options.search_paths = {robots};
    const ModelPtr fixed = load_model(entry.path(), options);
    options.floating_base = true;
    const ModelPtr floating = load_model(entry.path(), options);
    EXPECT_EQ(colliding_pairs(*fixed), colliding_pairs(*floating)) << entry.path();
    EXPECT_EQ(deep_contacts(*fixed), 0) << entry.path();
    EXPECT_EQ(deep_contacts(*floating), 0) << entry.path();
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace touchstone
