// Every way to get a URDF wrong that we know of: an InputError that says where, what and what to do.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/urdf_support.hpp"

namespace touchstone {
namespace {

using namespace urdf_testing;
using ::testing::HasSubstr;

const std::string kA = link("a"), kB = link("b"), kC = link("c");

struct Case {
  std::string xml;
  std::vector<std::string> parts;  // of the message
};

void expect_errors(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const std::string message = error_of(c.xml);
    for (const std::string& part : c.parts) EXPECT_THAT(message, HasSubstr(part)) << c.xml;
  }
}

std::string with_inertial(const std::string& content) {
  return robot(kA + link("b", "<inertial>" + content + "</inertial>") + joint("continuous", "j", "a", "b"));
}

std::string inertia(const std::string& xx, const std::string& xy) {
  return "<mass value=\"1\"/><inertia ixx=\"" + xx + "\" iyy=\"1\" izz=\"1\" ixy=\"" + xy + "\" ixz=\"0\" iyz=\"0\"/>";
}

TEST(UrdfErrors, Files) {
  EXPECT_THROW(load_urdf("/nonexistent/robot.urdf"), InputError);
  EXPECT_THROW(load_urdf("/"), InputError);
  try {
    load_urdf("/nonexistent/robot.urdf");
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/robot.urdf"));
  }
}

TEST(UrdfErrors, Xml) {
  expect_errors({
      {"", {"<urdf>"}},
      {"   \n", {"<urdf>"}},
      {"<robot name='r'>\n<link name='a'>\n</robot>", {"<urdf>:3", "not well-formed"}},
      {"<robot", {"not well-formed"}},
      {std::string("<robot>\0</robot>", 16), {"zero byte"}},
      {"<mujoco/>", {"<urdf>:1: mujoco", "<mujoco>", "MJCF"}},
      {"<robot name='r'><xacro:include filename='x'/></robot>", {"xacro", "expand the file first"}},
      {robot(link("a", R"(<inertial><mass value="${m}"/></inertial>)")), {"<urdf>:2: mass", "${m}", "xacro"}},
  });
}

TEST(UrdfErrors, RandomBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 300, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_THROW(load(bytes), InputError);
    EXPECT_THROW(load("<robot>" + bytes), InputError);
  }
}

TEST(UrdfErrors, Topology) {
  expect_errors({
      {robot(""), {"<urdf>:1: robot 'r'", "no links", "add a <link>"}},
      {robot(kA + kB), {"<urdf>:3: link 'b'", "more than one", "'a', 'b'", "fixed"}},
      {robot(kA + kB + joint("continuous", "j", "a", "b") + joint("continuous", "k", "b", "a")), {"cycle", "remove"}},
      {robot(kA + kB + kC + joint("continuous", "j", "b", "c") + joint("continuous", "k", "c", "b")),
       {"<urdf>:6: joint 'k'", "cycle", "'b'"}},
      {robot(kA + joint("continuous", "j", "a", "a")), {"cycle"}},
      {robot(kA + joint("continuous", "j", "a", "x")), {"<urdf>:3: joint 'j'", "child link 'x'", "correct the name"}},
      {robot(kA + joint("continuous", "j", "x", "a")), {"parent link 'x'"}},
      {robot(kA + kA), {"<urdf>:3: link 'a'", "taken by line 2", "rename"}},
      {robot(kA + kB + kC + joint("continuous", "j", "a", "b") + joint("continuous", "j", "b", "c")),
       {"<urdf>:6: joint 'j'", "taken by line 5"}},
      {robot(kA + kB + kC + joint("continuous", "j", "a", "b") + joint("continuous", "k", "a", "c") +
             joint("continuous", "l", "b", "c")),
       {"<urdf>:7: joint 'l'", "link 'c' has two parent joints", "'k' and 'l'"}},
      {robot("<link/>"), {"<urdf>:2: link", "'name' is missing"}},
      {robot(kA + kB + "<joint type='fixed'><parent link='a'/><child link='b'/></joint>"), {"'name' is missing"}},
      {robot(kA + kB + "<joint name='j' type='fixed'><parent link='a'/></joint>"), {"joint 'j'", "<child> is missing"}},
      {robot(kA + kB + "<joint name='j' type='fixed'><parent/><child link='b'/></joint>"),
       {"parent of joint 'j'", "'link'"}},
      {robot(kA + kB + "<joint name='j'><parent link='a'/><child link='b'/></joint>"),
       {"'type' is missing", "revolute"}},
      {two_links("wobbly"), {"joint 'j'", "'wobbly'", "revolute"}},
      {robot(kA + "<loop_joint name='l'/>"), {"loop", "allow_ignored"}},
  });
}

TEST(UrdfErrors, Inertia) {
  expect_errors({
      {with_inertial(R"(<mass value="-1"/>)"), {"<urdf>:3: mass of link 'b'", "'-1'", "negative", "kilograms"}},
      {with_inertial(R"(<mass value="nan"/>)"), {"mass of link 'b'", "'nan'"}},
      {with_inertial(R"(<mass value="inf"/>)"), {"'inf'"}},
      {with_inertial(R"(<mass value="abc"/>)"), {"'abc'", "not a finite number"}},
      {with_inertial(R"(<mass value="1e20"/>)"), {"1e20", "larger than"}},
      {with_inertial("<mass/>"), {"'value' is missing"}},
      {with_inertial(""), {"inertial of link 'b'", "<mass> is missing"}},
      {with_inertial(inertia("-1", "0")), {"inertia of link 'b'", "not physical", "-1", "no moment may be negative"}},
      {with_inertial(inertia("1", "2")), {"not physical", "-1"}},
      {with_inertial(inertia("nan", "0")), {"'ixx'", "nan"}},
      {with_inertial(R"(<mass value="1"/><inertia ixx="1" iyy="1"/>)"), {"'izz' is missing"}},
      {with_inertial(R"(<origin xyz="1 2"/><mass value="1"/>)"), {"origin of link 'b'", "expected 3 numbers, found 2"}},
      {robot(link("a", kInertial + kInertial)), {"second <inertial>"}},
  });
}

TEST(UrdfErrors, Joints) {
  const auto limit = [](const std::string& attributes) { return two_links("revolute", "<limit " + attributes + "/>"); };
  expect_errors({
      {two_links("revolute"), {"<urdf>:4: joint 'j'", "needs <limit>", "continuous"}},
      {two_links("prismatic"), {"needs <limit>", "add <limit"}},
      {limit(R"(lower="1" upper="-1" effort="1" velocity="1")"),
       {"limit of joint 'j'", "reversed", "lower 1 > upper -1"}},
      {limit(R"(lower="-inf" upper="1" effort="1" velocity="1")"), {"'-inf'"}},
      {limit(R"(lower="-1" upper="nan" effort="1" velocity="1")"), {"'nan'"}},
      {limit(R"(lower="-1" upper="1" effort="-1" velocity="1")"), {"'effort'", "negative"}},
      {two_links("continuous", R"(<axis xyz="0 0 0"/>)"), {"axis of joint 'j'", "'0 0 0'", "not zero"}},
      {two_links("planar", R"(<axis xyz="0 0 0"/>)"), {"no direction"}},
      {two_links("continuous", R"(<axis xyz="1 0"/>)"), {"expected 3"}},
      {two_links("continuous", R"(<axis xyz="1,0,0"/>)"), {"'1,0,0'"}},
      {two_links("continuous", R"(<axis xyz="nan 0 0"/>)"), {"'nan'"}},
      {two_links("continuous", R"(<origin rpy="0 inf 0"/>)"), {"origin of joint 'j'", "'inf'"}},
      {two_links("continuous", R"(<origin xyz="0 1e300 0"/>)"), {"larger than", "metres"}},
      {two_links("continuous", R"(<origin quat_xyzw="0 0 0 0"/>)"), {"not a rotation"}},
      {two_links("continuous", R"(<dynamics damping="-1"/>)"), {"dynamics of joint 'j'", "negative"}},
      {two_links("continuous", R"(<dynamics friction="-1"/>)"), {"'friction'", "negative"}},
      {two_links("continuous", R"(<mimic joint="x"/>)"), {"mimic of joint 'j'", "'x' does not exist", "name a joint"}},
      {two_links("continuous", R"(<mimic joint="j"/>)"), {"mimics itself"}},
      {two_links("continuous", "<mimic/>"), {"'joint' is missing"}},
      {two_links("floating", R"(<mimic joint="x"/>)"), {"more than one degree of freedom"}},
      {robot(kA + kB + kC + joint("planar", "p", "a", "b", R"(<axis xyz="0 0 1"/>)") +
             joint("continuous", "j", "b", "c", R"(<mimic joint="p"/>)")),
       {"'p'", "more than one degree of freedom"}},
  });
}

TEST(UrdfErrors, Geometry) {
  const auto collision = [](const std::string& shape) {
    return robot(link("a", kInertial + "<collision><geometry>" + shape + "</geometry></collision>"));
  };
  expect_errors({
      {collision(R"(<box size="1 1"/>)"), {"box of link 'a'", "expected 3"}},
      {collision(R"(<box size="1e16 1 1"/>)"), {"larger than"}},
      {collision(R"(<box size="1 1 0"/>)"), {"collision of link 'a'", "without extent", "positive"}},
      {collision(R"(<sphere radius="-1"/>)"), {"without extent"}},
      {collision("<sphere/>"), {"'radius' is missing"}},
      {collision(R"(<cylinder radius="1"/>)"), {"'length' is missing"}},
      {collision("<mesh/>"), {"'filename' is missing"}},
      {collision(R"(<mesh filename="x.obj"/>)"),
       {"<urdf>:2: collision of link 'a'", "x.obj", "does not exist", "search"}},
      {collision("<torus/>"), {"torus", "use box"}},
      {robot(link("a", kInertial + "<collision/>")), {"holds nothing"}},
      {robot(link("a", kInertial + R"(<contact><lateral_friction value="-1"/></contact>)")), {"negative"}},
  });
}

TEST(UrdfErrors, LoopsMayBeIgnoredOnPurpose) {
  LoadOptions options;
  options.allow_ignored = true;
  EXPECT_TRUE(has_warning(*load(robot(kA + "<loop_joint name='l'/>"), options), "ignored"));
}

TEST(UrdfErrors, DeepNestingIsRefused) {
  std::string xml = "<robot name='r'>";
  for (int i = 0; i < 100'000; ++i) xml += "<x>";
  for (int i = 0; i < 100'000; ++i) xml += "</x>";
  EXPECT_THAT(error_of(xml + "</robot>"), HasSubstr("nested"));
}

}  // namespace
}  // namespace touchstone
