// Every way to get an MJCF file wrong that we know of: an InputError that says where, what and what to do.
#include <random>

#include "io/mjcf_support.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone {
namespace {

using namespace mjcf_testing;
using ::testing::HasSubstr;

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

// Line 3 holds the content of a body.
std::string body(const std::string& content, const std::string& rest = "") {
  return "<mujoco><compiler angle=\"radian\"/>\n<worldbody><body name=\"b\">\n" + content + "\n</body></worldbody>" +
         rest + "</mujoco>";
}
// Line 2 holds the content of the model.
std::string model(const std::string& content) { return "<mujoco>\n" + content + "\n</mujoco>"; }

TEST(MjcfErrors, Files) {
  try {
    load_mjcf("/nonexistent/robot.xml");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "/nonexistent/robot.xml: no such file; check its name");
  }
  EXPECT_THROW(load_mjcf("/"), InputError);
  expect_errors(
      {{model("<include file=\"nowhere.xml\"/>"), {"test.xml:2: include", "'nowhere.xml'", "no such file"}},
       {model("<asset><mesh file=\"no.stl\"/></asset>"), {"test.xml:2: mesh", "'file'", "'no.stl'", "no such file"}},
       {model("<asset><hfield file=\"no.png\" size=\"1 1 1 1\"/></asset>"), {"test.xml:2: hfield", "'no.png'"}},
       {model("<asset><model file=\"no.xml\"/></asset>"), {"test.xml:2: model", "'no.xml'"}}});
}

TEST(MjcfErrors, Xml) {
  expect_errors({{"", {"test.xml", "not well-formed XML"}},
                 {"<mujoco>\n<worldbody>\n</mujoco>", {"test.xml:3", "not well-formed XML"}},
                 {"<mujoco/>\n<mujoco/>", {"test.xml:2: mujoco", "second top-level"}},
                 {"<mujoco model=\"a\"\n model=\"b\"/>", {"test.xml:1: mujoco", "'model' is given twice"}},
                 {std::string("<mujoco>\n\0</mujoco>", 19), {"test.xml:2", "zero byte"}},
                 {"<robot name=\"r\"/>", {"test.xml:1: robot 'r'", "<robot>", "begins with <mujoco>"}}});
}

TEST(MjcfErrors, RandomBytesNeverCrash) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(static_cast<std::size_t>(random() % 300), ' ');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_THAT(error_of(bytes), HasSubstr("test.xml"));
  }
}

TEST(MjcfErrors, Includes) {
  const Files files{{"a.xml", "<x><include file=\"b.xml\"/></x>"},
                    {"b.xml", "<x>\n<include file=\"a.xml\"/></x>"},
                    {"c.xml", "<x/>"}};
  EXPECT_THAT(error_of(model("<include file=\"a.xml\"/>"), files),
              HasSubstr("b.xml:2: include: attribute 'file': value 'a.xml': the file includes itself"));
  EXPECT_THAT(error_of(model("<include file=\"c.xml\"/><include file=\"c.xml\"/>"), files),
              HasSubstr("included before"));
  const Files self{{"m.xml", "<mujoco><asset>\n<model name=\"m\" file=\"m.xml\"/></asset></mujoco>"}};
  EXPECT_THAT(error_of(model("<asset><model name=\"m\" file=\"m.xml\"/></asset>"), self),
              HasSubstr("m.xml:2: model 'm'"));
}

TEST(MjcfErrors, Names) {
  expect_errors(
      {{body("<geom class=\"c\" size=\"1\"/>"), {"test.xml:3: geom", "'class'", "'c'", "no such default class"}},
       {model("<worldbody><body childclass=\"c\"/></worldbody>"), {"test.xml:2: body", "'childclass'", "'c'"}},
       {model("<default><default class=\"c\"/>\n<default class=\"c\"/></default>"),
        {"test.xml:3: default", "exists already"}},
       {body("<body name=\"x\"/>\n<body name=\"x\"/>"), {"test.xml:4: body 'x'", "taken by test.xml:3: body 'x'"}},
       {body("<joint name=\"x\"/><geom size=\"1\"/>\n<joint name=\"x\"/>"), {"test.xml:4: joint 'x'", "test.xml:3"}},
       {model("<asset><material name=\"m\"/>\n<material name=\"m\"/></asset>"),
        {"test.xml:3: material 'm'", "test.xml:2"}},
       {body("<geom type=\"mesh\" mesh=\"m\"/>"), {"test.xml:3: geom", "no mesh 'm'"}},
       {body("<geom size=\"1\"/>", "<actuator>\n<motor name=\"a\" joint=\"x\"/></actuator>"),
        {"test.xml:5: motor 'a'", "no joint 'x'"}},
       {model("<contact><exclude body1=\"x\" body2=\"y\"/></contact>"), {"test.xml:2: exclude", "no body 'x'"}},
       {body("<body name=\"world\"/>"), {"test.xml:3: body 'world'", "taken by the world"}}});
}

TEST(MjcfErrors, MassAndInertia) {
  const std::string geom = "<geom size=\".1\"/>";
  expect_errors(
      {{body("<joint/><geom size=\".1\" mass=\"0\"/>"), {"test.xml:2: body 'b'", "mass is 0"}},
       {body("<joint/><geom size=\".1\" mass=\"-2\"/>"), {"test.xml:3: geom", "mass -2"}},
       {body("<joint/><inertial pos=\"0 0 0\" mass=\"1\"/>"), {"test.xml:2: body 'b'", "inertia (0, 0, 0)"}},
       {body("<joint/><inertial pos=\"0 0 0\" mass=\"-1\" diaginertia=\"1 1 1\"/>"),
        {"test.xml:3: inertial", "'mass'", "'-1'"}},
       {body("<joint/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 3\"/>"),
        {"test.xml:3: inertial", "(1, 1, 3)", "balanceinertia"}},
       {body("<joint/><inertial pos=\"0 0 0\" mass=\"1\" fullinertia=\"1 1 1 2 0 0\"/>"),
        {"test.xml:3: inertial", "-1"}},
       {body("<joint/><inertial mass=\"1\" diaginertia=\"1 1 1\"/>"), {"test.xml:3: inertial", "'pos' is missing"}},
       {body("<joint/>" + geom, "") + "", {"no error"}}});
}

TEST(MjcfErrors, Numbers) {
  for (const std::string bad : {"nan", "inf", "-inf", "1e999", "abc", "1,0", "0x10", "--1", "1 2"}) {
    EXPECT_THAT(error_of(body("<joint armature=\"" + bad + "\"/>")),
                HasSubstr("test.xml:3: joint: attribute 'armature': value '" + bad + "'"));
  }
  expect_errors(
      {{body("<geom pos=\"0 nan 0\" size=\"1\"/>"), {"test.xml:3: geom", "'pos'", "'nan' is not a finite number"}},
       {body("<geom pos=\"0 0\" size=\"1\"/>"), {"expected 3 numbers, found 2"}},
       {body("<geom size=\"1\" condim=\"3.5\"/>"), {"'condim'", "not an integer"}},
       {body("<geom size=\"1\" contype=\"99999999999\"/>"), {"'contype'", "not an integer"}},
       {body("<geom size=\"1\" type=\"blob\"/>"), {"'type'", "'blob'", "expected one of: plane"}},
       {model("<default>\n<geom friction=\"nan\"/></default>"), {"test.xml:3: geom", "'friction'"}},
       {model("<keyframe><key qpos=\"inf\"/></keyframe>"), {"test.xml:2: key", "'qpos'"}},
       {model("<option gravity=\"0 0 nan\"/>"), {"test.xml:2: option", "'gravity'"}}});
}

TEST(MjcfErrors, Values) {
  expect_errors(
      {{body("<joint range=\"1 -1\"/>"), {"test.xml:3: joint", "range is [1, -1]", "lower limit first"}},
       {body("<joint limited=\"true\"/>"), {"range is [0, 0]"}},
       {body("<joint type=\"ball\" range=\"1 2\"/>"), {"ball joint", "[1, 2]"}},
       {body("<joint axis=\"0 0 0\"/>"), {"axis is (0, 0, 0)"}},
       {body("<joint springdamper=\"1 -1\"/>"), {"springdamper is (1, -1)"}},
       {body("<geom size=\"0\"/>"), {"test.xml:3: geom", "size is (0, 0, 0)", "sphere needs 1 positive"}},
       {body("<geom type=\"capsule\" size=\".1\"/>"), {"capsule needs 2 positive"}},
       {body("<geom fromto=\"0 0 0 1 0 0\" size=\".1\"/>"), {"fromto"}},
       {body("<geom type=\"capsule\" fromto=\"1 0 0 1 0 0\" size=\".1\"/>"), {"the same"}},
       {body("<geom size=\"1\" quat=\"0 0 0 0\"/>"), {"'quat'", "zero"}},
       {body("<geom size=\"1\" quat=\"1 0 0 0\" euler=\"1 0 0\"/>"), {"more than one of quat"}},
       {body("<joint/><geom size=\"1\"/><geom type=\"plane\" size=\"1 1 1\"/>"), {"body that moves"}},
       {body("<joint type=\"free\"/><geom size=\"1\"/><joint/>"), {"free joint"}},
       {body("<body><freejoint/><geom size=\"1\"/></body>"), {"test.xml:3: freejoint", "below the top level"}},
       {model("<worldbody><joint/></worldbody>"), {"test.xml:2: joint", "world has no joints"}},
       {model("<compiler coordinate=\"global\"/>"), {"test.xml:2: compiler", "'global'"}},
       {model("<compiler eulerseq=\"xy\"/>"), {"'eulerseq'", "'xy'"}},
       {model("<option timestep=\"0\"/>"), {"'timestep'"}}});
}

TEST(MjcfErrors, Actuators) {
  const auto actuator = [](const std::string& element) {
    return body("<joint name=\"j\"/><geom size=\".1\"/><site name=\"s\"/>", "<actuator>\n" + element + "</actuator>");
  };
  expect_errors(
      {{actuator("<motor/>"), {"test.xml:5: motor", "acts on nothing"}},
       {actuator("<motor joint=\"j\" site=\"s\"/>"), {"more than one of joint"}},
       {actuator("<motor joint=\"j\" ctrlrange=\"1 0\"/>"), {"ctrlrange is [1, 0]"}},
       {actuator("<position joint=\"j\" kv=\"1\" dampratio=\"1\"/>"), {"kv and dampratio"}},
       {actuator("<position joint=\"j\" inheritrange=\"1\"/>"), {"no range"}},
       {actuator("<position joint=\"j\" inheritrange=\"1\" ctrlrange=\"0 1\"/>"), {"inheritrange and ctrlrange"}},
       {actuator("<damper joint=\"j\" ctrlrange=\"-1 1\"/>"), {"cannot be negative"}},
       {actuator("<motor cranksite=\"s\" cranklength=\"1\"/>"), {"'slidersite' is missing"}},
       {actuator("<motor cranksite=\"s\" slidersite=\"s\"/>"), {"cranklength is 0"}}});
}

TEST(MjcfErrors, RelationsAndKeyframes) {
  expect_errors(
      {{model("<keyframe><key name=\"k\" qpos=\"1\"/></keyframe>"),
        {"test.xml:2: key 'k'", "qpos has 1 numbers, the model takes 0"}},
       {model("<keyframe><key ctrl=\"1 2\"/></keyframe>"), {"ctrl has 2"}},
       {model("<keyframe><key mpos=\"1 2 3\"/></keyframe>"), {"mpos has 3"}},
       {model("<equality><weld body1=\"world\" site1=\"x\"/></equality>"), {"test.xml:2: weld", "either body1"}},
       {model("<equality><connect body1=\"world\"/></equality>"), {"'anchor' is missing"}},
       {model("<equality><weld body1=\"world\"/></equality>"), {"with itself"}},
       {model("<tendon><fixed name=\"t\"/></tendon>"), {"fixed 't'", "no joints"}},
       {model("<sensor><framepos objname=\"x\"/></sensor>"), {"'objtype' is missing"}}});
}

TEST(MjcfErrors, AbsurdSizes) {
  std::string deep = "<mujoco>";
  for (int i = 0; i < 20'001; ++i) deep += "<a>";
  for (int i = 0; i < 20'001; ++i) deep += "</a>";
  expect_errors({{model("<worldbody><replicate count=\"1000000000\"><geom size=\"1\"/></replicate></worldbody>"),
                  {"test.xml:2: replicate", "'1000000000'"}},
                 {model("<worldbody><replicate count=\"-1\"/></worldbody>"), {"'-1'", "positive"}},
                 {model("<worldbody><replicate count=\"1000\"><replicate count=\"1000\"><geom size=\"1\"/><geom "
                        "size=\"1\"/></replicate>"
                        "</replicate></worldbody>"),
                  {"test.xml:2: replicate", "more than 1000000 elements"}},
                 {model("<asset><hfield name=\"h\" nrow=\"1000000000\" ncol=\"1000000000\" size=\"1 1 1 1\"/></asset>"),
                  {"test.xml:2: hfield 'h'", "1000000000"}},
                 {deep + "</mujoco>", {"test.xml:1: a", "nested more than 20000"}}});
}

TEST(MjcfErrors, BadMaterialsNameTheShape) {
  for (const auto& [friction, part] : std::vector<std::pair<std::string, std::string>>{
           {"-1", "friction is -1"}, {"1e9", "friction is 1000000000"}, {"nan", "nan"}}) {
    const std::string message = error_of(body("<geom name=\"sole\" size=\"1\" friction=\"" + friction + "\"/>"));
    EXPECT_THAT(message, HasSubstr("sole"));
    EXPECT_THAT(message, HasSubstr(part));
  }
}

// --- what is not supported ---------------------------------------------------------------------------------------

TEST(MjcfErrors, WhatChangesThePhysicsIsRefusedUnlessAllowed) {
  const std::string joint = "<joint name=\"j\"/><geom name=\"g\" size=\".1\"/><site name=\"s\"/>";
  const std::vector<std::pair<std::string, std::string>> cases{
      {body(joint,
            "<tendon>\n<spatial name=\"t\"><site site=\"s\"/></spatial></tendon><actuator><motor "
            "tendon=\"t\"/></actuator>"
            "<sensor><tendonpos tendon=\"t\"/></sensor><keyframe><key ctrl=\"1\"/></keyframe>"),
       "test.xml:5: spatial 't'"},
      {body(joint, "<actuator>\n<muscle joint=\"j\"/></actuator>"), "test.xml:5: muscle"},
      {body(joint, "<actuator>\n<adhesion body=\"b\" ctrlrange=\"0 1\"/></actuator>"), "test.xml:5: adhesion"},
      {body(joint, "<actuator>\n<general joint=\"j\" dyntype=\"muscle\"/></actuator>"), "dyntype 'muscle'"},
      {body(joint, "<actuator>\n<motor joint=\"j\" delay=\".1\" nsample=\"2\"/></actuator>"), "test.xml:5: motor"},
      {model("<option density=\"1.2\"/>"), "density '1.2'"},
      {model("<extension><plugin plugin=\"p\"/></extension>"), "test.xml:2: plugin"},
      {model("<deformable><flex name=\"f\"/></deformable>"), "test.xml:2: flex 'f'"},
      {body("<flexcomp name=\"f\"/>"), "test.xml:3: flexcomp 'f'"},
      {body("<composite type=\"cable\"/>"), "test.xml:3: composite"},
      {body("<joint stiffness=\"1 2\"/><geom size=\"1\"/>"), "stiffness '1 2'"},
  };
  LoadOptions allow;
  allow.allow_ignored = true;
  for (const auto& [xml, part] : cases) {
    const std::string message = error_of(xml);
    EXPECT_THAT(message, HasSubstr(part));
    EXPECT_THAT(message, HasSubstr("not supported"));
    EXPECT_THAT(message, HasSubstr("or load with LoadOptions::allow_ignored"));
    const ModelPtr loaded = load_mjcf_string(xml, allow);
    EXPECT_FALSE(loaded->warnings.empty()) << xml;
  }
}

}  // namespace
}  // namespace touchstone
