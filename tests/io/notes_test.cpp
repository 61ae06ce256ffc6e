// What loaders say about a file as a whole: everything that is not supported, everything that they do not know.
#include "touchstone/io/notes.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "touchstone/io/mjcf.hpp"
#include "touchstone/io/urdf.hpp"

namespace touchstone {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> texts(const std::vector<Warning>& warnings) {
  std::vector<std::string> lines;
  for (const Warning& warning : warnings) lines.push_back(warning.origin.text() + ": " + warning.message);
  return lines;
}

std::vector<std::string> mjcf_warnings(const std::string& content, const LoadOptions& options = {}) {
  return texts(load_mjcf_string("<mujoco>" + content + "</mujoco>", options, {}, "test.xml")->warnings);
}

std::vector<std::string> urdf_warnings(const std::string& content) {
  return texts(load_urdf_string("<robot name='r'>" + content + "</robot>", "/nonexistent")->warnings);
}

template <typename Load>
std::string error_of(const Load& load) {
  try {
    load();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// --- not supported ---------------------------------------------------------------------------------------------------

const std::string kUnsupported = R"(<mujoco>
<option density="1.2"/>
<worldbody><body name="b"><joint name="j"/><geom size="1"/><geom type="sdf"/>
<composite type="cable"/></body></worldbody>
<tendon><spatial name="s"/></tendon>
<actuator><muscle joint="j"/>
<muscle joint="j"/><motor tendon="s"/></actuator>
</mujoco>)";

TEST(Unsupported, PartsOfAnMjcfFileAreNamedAtOnce) {
  const std::string message = error_of([] { load_mjcf_string(kUnsupported, {}, {}, "test.xml"); });
  EXPECT_THAT(message, AllOf(HasSubstr("test.xml:2: option: a fluid"), HasSubstr("type 'sdf' is not supported"),
                             HasSubstr("line 4, composite: <composite> is not supported"),
                             HasSubstr("line 5, spatial 's': a spatial tendon is not supported"),
                             HasSubstr("line 6, muscle: a muscle actuator is not supported (and at 1 more place)")));
  // One of them cannot be ignored, so nobody is told to try.
  EXPECT_THAT(message, AllOf(HasSubstr("remove them"), Not(HasSubstr("allow_ignored"))));
}

TEST(Unsupported, OptionThatIgnoresItIsSpelledAsTheInterfaceDoes) {
  LoadOptions options;
  const std::string one = "<mujoco><option density='1'/></mujoco>";
  EXPECT_THAT(error_of([&] { load_mjcf_string(one, options); }),
              HasSubstr("not supported; remove it, or load with LoadOptions::allow_ignored to go on without it"));
  options.names.allow_ignored = "--allow-ignored";
  EXPECT_THAT(error_of([&] { load_mjcf_string(one, options); }), HasSubstr("or load with --allow-ignored"));
  const std::string loop = "<robot name='r'><link name='a'/><loop_joint name='l'/></robot>";
  EXPECT_THAT(error_of([&] { load_urdf_string(loop, "/nonexistent", options); }),
              HasSubstr("load with --allow-ignored"));
  const std::string massless =
      "<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='continuous'><parent link='a'/>"
      "<child link='b'/></joint></robot>";
  EXPECT_THAT(error_of([&] { load_urdf_string(massless, "/nonexistent", options); }),
              HasSubstr("with --allow-ignored"));
}

TEST(Unsupported, ManyPartsAreNamedInBoundedLength) {
  std::string xml = "<mujoco>\n<worldbody>";
  for (int i = 0; i < 1000; ++i) {
    xml += fmt::format("<body>\n<joint stiffness='1 {}'/><joint axis='1 0 0' springyield='2'/><geom size='1'/></body>",
                       i + 1);
  }
  const std::string message = error_of([&] { load_mjcf_string(xml + "</worldbody></mujoco>", {}, {}, "test.xml"); });
  EXPECT_THAT(message, AllOf(HasSubstr("stiffness '1 1'"), HasSubstr("plastic spring"), HasSubstr("999 more places"),
                             HasSubstr("and 989 more")));
  EXPECT_LT(message.size(), 2000u);
}

TEST(Unsupported, AnotherMistakeIsNamedBesides) {
  const std::string message =
      error_of([] { load_mjcf_string("<mujoco><option density='1'/>\n<default><geom size='x'/></default></mujoco>"); });
  EXPECT_THAT(message, AllOf(HasSubstr("a fluid"), HasSubstr("besides, line 2, geom"), HasSubstr("value 'x'")));
}

TEST(Unsupported, PartsOfAUrdfFileAreNamedAtOnce) {
  const std::string message = error_of([] {
    load_urdf_string(R"(<robot name="r"><link name="a">
<collision><geometry><mesh filename="no.stl"/></geometry></collision>
<collision><geometry><box size="0 0 0"/></geometry></collision>
<collision><geometry><torus/></geometry></collision></link>
<loop_joint name="l"/></robot>)",
                     "/nonexistent");
  });
  EXPECT_THAT(message, AllOf(HasSubstr("<urdf>:3: "), HasSubstr("a box without extent"),
                             HasSubstr("line 4, collision of link 'a': <geometry> holds torus"),
                             HasSubstr("line 5, loop_joint 'l': closed loops"), HasSubstr("line 2"),
                             HasSubstr("mesh 'no.stl' does not exist")));
}

// --- not known -------------------------------------------------------------------------------------------------------

TEST(Unknown, MisspeltAttributesAreNamedWithAGuess) {
  const std::vector<std::string> warnings = mjcf_warnings(
      "<worldbody><body name='b'><freejoint/><geom name='g' size='1' mas='7' frictoin='1'/></body></worldbody>");
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_THAT(warnings[0], HasSubstr("test.xml:1: geom 'g': unknown attribute 'mas' is ignored; did you mean 'mass'?"));
  EXPECT_THAT(warnings[1], HasSubstr("unknown attribute 'frictoin' is ignored; did you mean 'friction'?"));
}

TEST(Unknown, EveryPlaceOfMjcfIsLookedAt) {
  const std::vector<std::string> contents{
      "<compiler X='1'/>",
      "<compiler><lengthrange X='1'/></compiler>",
      "<compiler><X/></compiler>",
      "<option X='1'/>",
      "<option><flag X='enable'/></option>",
      "<option><X/></option>",
      "<statistic X='1'/>",
      "<visual X='1'/>",
      "<visual><X/></visual>",
      "<visual><global X='1'/></visual>",
      "<custom><numeric name='n' data='1' X='1'/></custom>",
      "<custom><tuple name='n'><element X='1'/></tuple></custom>",
      "<default X='1'/>",
      "<default><X/></default>",
      "<default><geom X='1'/></default>",
      "<default><default class='c'><joint X='1'/></default></default>",
      "<default><position X='1'/></default>",
      "<default><tendon X='1'/></default>",
      "<default><equality X='1'/></default>",
      "<default><camera X='1'/></default>",
      "<asset X='1'/>",
      "<asset><material name='m' X='1'/></asset>",
      "<asset><material name='m'><layer X='1'/></material></asset>",
      "<asset><X/></asset>",
      "<worldbody><geom size='1' X='1'/></worldbody>",
      "<worldbody><geom size='1'><X/></geom></worldbody>",
      "<worldbody><body><X/></body></worldbody>",
      "<worldbody><frame X='1'/></worldbody>",
      "<worldbody><frame><site X='1'/></frame></worldbody>",
      "<worldbody><replicate count='1'><body X='1'/></replicate></worldbody>",
      "<worldbody><camera X='1'/></worldbody>",
      "<contact X='1'/>",
      "<contact><exclude body1='world' body2='world' X='1'/></contact>",
      "<equality><X/></equality>",
      "<tendon X='1'/>",
      "<worldbody><body><joint name='j'/><geom size='1'/></body></worldbody>"
      "<tendon><fixed><joint joint='j' coef='1' X='1'/></fixed></tendon>",
      "<actuator><X/></actuator>",
      "<sensor><clock X='1'/></sensor>",
      "<keyframe><key X='1'/></keyframe>",
      "<keyframe X='1'/>",
      "<X/>",
  };
  for (const std::string& content : contents) {
    EXPECT_THAT(mjcf_warnings(content), Contains(HasSubstr("unknown"))) << content;
  }
  EXPECT_THAT(texts(load_mjcf_string("<mujoco modell='m'/>")->warnings), Contains(HasSubstr("did you mean 'model'?")));
}

TEST(Unknown, EveryPlaceOfUrdfIsLookedAt) {
  const std::string inertial =
      "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>";
  const auto in_link = [](const std::string& content) { return "<link name='a'>" + content + "</link>"; };
  const auto in_joint = [&](const std::string& content) {
    return "<link name='a'/><link name='b'>" + inertial +
           "</link><joint name='j' type='continuous'><parent link='a'/><child link='b'/>" + content + "</joint>";
  };
  const auto in_shape = [&](const std::string& content) { return in_link("<collision>" + content + "</collision>"); };
  const std::string box = "<geometry><box size='1 1 1'/></geometry>";
  const std::vector<std::string> contents{
      "<link name='a' X='1'/>",
      "<link name='a'/><X/>",
      in_link("<X/>"),
      in_link("<inertial X='1'><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"),
      in_link("<inertial><mass value='1' X='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"),
      in_link("<inertial><X/><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"),
      in_link("<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' X='1'/></inertial>"),
      in_shape(box + "<origin X='1'/>"),
      in_shape(box + "<X/>"),
      in_shape("<geometry><box size='1 1 1' X='1'/></geometry>"),
      in_shape("<geometry><box size='1 1 1'/><X/></geometry>"),
      in_shape(box + "<material name='m'><color rgba='1 1 1 1' X='1'/></material>"),
      in_joint("<axis X='1'/>"),
      in_joint("<limit effort='1' velocity='1' X='1'/>"),
      in_joint("<dynamics X='1'/>"),
      in_joint("<X/>"),
  };
  for (const std::string& content : contents) {
    EXPECT_THAT(urdf_warnings(content), Contains(HasSubstr("unknown"))) << content;
  }
  EXPECT_THAT(urdf_warnings(in_joint("<dynamics dampng='1'/>")), Contains(HasSubstr("did you mean 'damping'?")));
  EXPECT_THAT(urdf_warnings(in_link("<colision>" + box + "</colision>")),
              Contains(HasSubstr("did you mean <collision>?")));
  EXPECT_TRUE(
      urdf_warnings(in_joint("") + "<gazebo><X y='1'/></gazebo><transmission name='t'><X/></transmission>").empty());
}

TEST(Unknown, HostileFilesCauseABoundedNumberOfWarnings) {
  std::string same = "<worldbody>", different = "<worldbody>";
  for (int i = 0; i < 20'000; ++i) {
    same += "<geom size='1' mas='1'/>";
    different += fmt::format("<geom size='1' x{}='1'/>", i);
  }
  const std::vector<std::string> alike = mjcf_warnings(same + "</worldbody>");
  EXPECT_EQ(alike.size(), static_cast<std::size_t>(WarningList::kMostAlike));
  EXPECT_THAT(alike.back(), HasSubstr("(and 19995 more like it)"));
  const std::vector<std::string> many = mjcf_warnings(different + "</worldbody>");
  EXPECT_EQ(many.size(), WarningList::kMost + 1);
  EXPECT_THAT(many.back(), HasSubstr("19900 more warnings are left out"));
  const std::string name(100'000, 'x');
  const std::vector<std::string> longest =
      mjcf_warnings("<worldbody><" + name + "/><geom name='" + name + "' size='1' " + name + "='1'/></worldbody>");
  for (const std::string& line : longest) EXPECT_LT(line.size(), 1000u);
  EXPECT_EQ(longest.size(), 2u);
}

// --- MuJoCo's habits (compared with MuJoCo 4.0 in tests/peers) -------------------------------------------------------

TEST(EmptyNumbers, CountAsAbsent) {
  const ModelPtr model = load_mjcf_string(R"(<mujoco><option timestep="" gravity=" "/><worldbody>
    <body pos=""><joint range="" damping="" ref=""/><geom size="1" rgba="" pos="" mass="" contype="" friction=""/></body>
    </worldbody></mujoco>)");
  EXPECT_EQ(model->shapes[0].color, Eigen::Vector4d(0.5, 0.5, 0.5, 1.0));
  EXPECT_EQ(model->options.time_step, 0.002);
  EXPECT_EQ(model->shapes[0].contact_type, 1u);
  EXPECT_FALSE(model->joints[0].limited);
  EXPECT_NEAR(model->total_mass(), 1000.0 * 4.0 / 3.0 * 3.14159265358979, 1e-6);
  // What is needed is still needed, and half a colour is none.
  const auto error = [](const std::string& content) {
    return error_of([&] { load_mjcf_string("<mujoco><worldbody>" + content + "</worldbody></mujoco>"); });
  };
  EXPECT_THAT(error("<body><inertial pos='0 0 0' mass='' diaginertia='1 1 1'/></body>"), HasSubstr("'mass' is empty"));
  EXPECT_THAT(error("<geom size=''/>"), HasSubstr("size"));
  EXPECT_THAT(error("<geom size='1' rgba='1 0'/>"), HasSubstr("expected 4 numbers"));
  EXPECT_THAT(error("<geom size='1' type=''/>"), HasSubstr("'type'"));
  EXPECT_THAT(error("<geom size='1' class=''/>"), HasSubstr("'class'"));
}

TEST(EmptyNumbers, CountAsAbsentInUrdf) {
  const ModelPtr model = load_urdf_string(
      R"(<robot name="r"><link name="a"><visual><origin xyz="" rpy=""/><geometry><box size="1 1 1"/></geometry>
      <material name=""><color rgba=""/></material></visual></link></robot>)",
      "/nonexistent");
  EXPECT_EQ(model->shapes[0].color, Eigen::Vector4d(0.5, 0.5, 0.5, 1.0));
  EXPECT_EQ(model->shapes[0].pose.position, Vector3::Zero());
}

TEST(Fragment, OfABodyIsAnEmptyWorldWithAWarning) {
  const ModelPtr model =
      load_mjcf_string("<mujoco><body name='b'><geom size='1'/><joint class='nowhere'/></body></mujoco>");
  EXPECT_EQ(model->nbody, 1);
  EXPECT_THAT(texts(model->warnings), Contains(HasSubstr("<body> outside of <worldbody> is ignored")));
}

TEST(Fragment, MadeToBeIncludedIsRefused) {
  EXPECT_THAT(error_of([] { load_mjcf_string("<mujocoinclude><body/></mujocoinclude>"); }),
              HasSubstr("load the file that includes it"));
  for (const char* root : {"body", "worldbody", "geom", "Mujoco"}) {
    EXPECT_THAT(error_of([&] { load_mjcf_string(fmt::format("<{}/>", root)); }), HasSubstr("begins with <mujoco>"));
  }
}

}  // namespace
}  // namespace touchstone
