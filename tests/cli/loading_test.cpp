// What the program says about a file when it loads it.
#include "command_line.hpp"

using testing::AllOf;

TEST_F(CommandLine, UnsupportedPartsAreNamedAtOnceWithTheOptionOfTheCommandLine) {
  write("robot.xml",
        R"(<mujoco><option density="1.2"/><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
<actuator><muscle joint="j"/></actuator></mujoco>)");
  for (const char* command : {"info", "run"}) {
    const Outcome outcome = run(std::string(command) + " robot.xml");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.error, AllOf(HasSubstr("a fluid"), HasSubstr("line 2, muscle: a muscle actuator"),
                                     HasSubstr("load with --allow-ignored"), Not(HasSubstr("LoadOptions"))));
  }
  EXPECT_EQ(run("info robot.xml --allow-ignored").exit_code, 0);
}

TEST_F(CommandLine, AdviceNamesTheSearchPathOption) {
  write("robot.urdf", R"(<robot name="r"><link name="a"><collision><geometry><mesh filename="package://p/m.stl"/>
</geometry></collision></link></robot>)");
  EXPECT_THAT(run("info robot.urdf").error, AllOf(HasSubstr("--search-path"), Not(HasSubstr("LoadOptions"))));
}

TEST_F(CommandLine, InfoNamesShapesThatOverlap) {
  write("pile.xml", R"(<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="ball" pos="0 0 .05"><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>)");
  EXPECT_THAT(run("info pile.xml").out,
              HasSubstr("two shapes overlap at the start and will be pushed apart: 'floor' and "
                        "'ball' by 0.05 m"));
  std::string links = "<link name='base'/>";
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    links += "<link name='l" + n +
             "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial><collision>" +
             "<geometry><sphere radius='.1'/></geometry></collision></link><joint name='j" + n +
             "' type='continuous'><parent link='base'/><child link='l" + n + "'/></joint>";
  }
  write("star.urdf", "<robot name='star'>" + links + "</robot>");
  EXPECT_THAT(run("info star.urdf").out, AllOf(HasSubstr("190 pairs of shapes overlap in the reference configuration"),
                                               HasSubstr("and 182 more")));
}

TEST_F(CommandLine, InfoGuessesMisspeltAttributes) {
  write("typo.xml", R"(<mujoco><worldbody><body><freejoint/><geom size=".1" mas="7"/></body></worldbody></mujoco>)");
  EXPECT_THAT(run("info typo.xml").out, HasSubstr("unknown attribute 'mas' is ignored; did you mean 'mass'?"));
}

TEST_F(CommandLine, LoopsOfAUrdfComeFromTheFileBesideItAndAreListed) {
  const std::string inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>";
  write("robot.urdf",
        "<robot name='r'><link name='base'/><link name='arm'>" + inertial +
            "</link><joint name='j' type='floating'><parent link='base'/><child link='arm'/></joint></robot>");
  write("robot.loops.yaml", "loops: {pin: {type: universal, between: [world, arm], limits: [[-1, 2], ~]}}");
  EXPECT_THAT(run("info robot.urdf").out, AllOf(HasSubstr("1 loop joint"), HasSubstr("universal"),
                                                HasSubstr("world, arm"), HasSubstr("rad [-1, 2], rad")));
  const auto json = nlohmann::json::parse(run("info robot.urdf --json").out);
  ASSERT_EQ(json["loop_joints"].size(), 1U);
  EXPECT_EQ(json["loop_joints"][0]["type"], "universal");
  EXPECT_EQ(json["loop_joints"][0]["rows"], 4);
  EXPECT_EQ(json["loop_joints"][0]["coordinates"][0]["range"], (nlohmann::json{-1, 2}));
  EXPECT_EQ(json["mobility"]["mobility"], 2);
  EXPECT_THAT(run("info robot.urdf --loops none").out, Not(HasSubstr("loop joint")));
  EXPECT_THAT(run("info robot.urdf --loops other.yaml").error, HasSubstr("other.yaml"));
}
