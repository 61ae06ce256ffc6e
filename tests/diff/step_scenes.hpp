// Scenes in which a step is differentiated: each shows at least one mode of its constraints.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>

#include "touchstone/sim/step_record.hpp"

namespace touchstone::test {

struct Scene {
  const char* name;
  const char* xml;
  BlockMode mode;  // that is seen
  double push;
};

inline const Scene kScenes[] = {
    {"RollingSphere", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.3"/>
       <body pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" friction="0.3"/></body></worldbody>
       <keyframe/></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"BallOnATiltedPlane", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.1" euler="0 30 10"/>
       <body pos="0 0 0.12"><freejoint/><geom type="sphere" size="0.1" friction="0.1"/></body></worldbody></mujoco>)",
     BlockMode::kSliding, 0.0},
    {"TwoBalls", R"(<mujoco><worldbody><body pos="0 0 0"><joint type="slide" axis="1 0 0" damping="0.1"/>
       <joint type="hinge" axis="0 1 0"/><geom type="sphere" size="0.1" friction="0.3"/></body>
       <body pos="0.02 0.03 0.2"><freejoint/><geom type="sphere" size="0.1" friction="0.3"/></body></worldbody></mujoco>)",
     BlockMode::kSliding, 0.0},
    {"AnisotropicBalls",
     R"(<mujoco><worldbody><body name="a" pos="0 0 0"><joint type="slide" axis="1 0 0" damping="0.1"/>
       <joint type="hinge" axis="0 1 0"/><geom name="a" type="sphere" size="0.1"/></body>
       <body pos="0.02 0.03 0.2"><freejoint/><geom name="b" type="sphere" size="0.1"/></body></worldbody>
       <contact><pair geom1="a" geom2="b" friction="0.2 0.4 0.005 0.0001 0.0001" condim="3"/></contact></mujoco>)",
     BlockMode::kSliding, 0.0},
    {"CapsuleRolls", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.5" euler="0 10 0"/>
       <body pos="0 0 0.101" euler="80 5 0"><freejoint/><geom type="capsule" size="0.1 0.2" friction="0.5"/></body></worldbody>
       </mujoco>)",
     BlockMode::kSticking, 0.0},
    {"BoxSticks", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.8" euler="0 15 0"/>
       <body pos="0 0 0.08" euler="1 15 2"><freejoint/><geom type="box" size="0.1 0.08 0.06" friction="0.8"/></body></worldbody>
       </mujoco>)",
     BlockMode::kSticking, 0.0},
    {"EllipsoidRolls", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.5" euler="0 8 0"/>
       <body pos="0 0 0.11"><freejoint/><geom type="ellipsoid" size="0.15 0.1 0.08" friction="0.5"/></body></worldbody></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"CylinderOnItsRim", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.2" euler="0 5 0"/>
       <body pos="0 0 0.18"><joint type="slide" axis="1 0 0" damping="0.1"/><joint type="slide" axis="0 0 1"/>
       <joint type="hinge" axis="1 0.2 0.1" stiffness="3" damping="0.02"/><joint type="hinge" axis="0 1 0.3" stiffness="3" damping="0.02"/>
       <geom type="cylinder" size="0.1 0.12" euler="30 20 0" friction="0.2"/></body></worldbody></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"EdgeOnEdge", R"(<mujoco><worldbody><geom type="box" size="1 0.2 0.2" euler="45 0 0" friction="0.3"/>
       <body pos="0 0 0.43"><joint type="slide" axis="1 0 0" damping="0.1"/><joint type="slide" axis="0 0 1"/>
       <joint type="hinge" axis="1 0.2 0.1" stiffness="5" damping="0.05"/><joint type="hinge" axis="0 1 0.3" stiffness="5" damping="0.05"/>
       <geom type="box" size="0.1 0.5 0.1" euler="3 45 10" friction="0.3"/></body></worldbody></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"CapsuleOnAnEdge", R"(<mujoco><worldbody><geom type="box" size="1 0.2 0.2" euler="45 0 0" friction="0.3"/>
       <body pos="0 0 0.35"><joint type="slide" axis="1 0 0" damping="0.1"/><joint type="slide" axis="0 0 1"/>
       <joint type="hinge" axis="1 0.2 0.1" stiffness="5" damping="0.05"/><joint type="hinge" axis="0 1 0.3" stiffness="5" damping="0.05"/>
       <geom type="capsule" size="0.05 0.3" euler="80 10 0" friction="0.3"/></body></worldbody></mujoco>)",
     BlockMode::kSticking, 0.0},
    {"TripodSlides", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.2" euler="0 25 0"/>
       <body pos="0 0 0.07" euler="0 25 20"><freejoint/><geom type="sphere" pos="0.1 0 0" size="0.05" friction="0.2"/>
       <geom type="sphere" pos="-0.1 0.1 0" size="0.05" friction="0.2"/><geom type="sphere" pos="-0.1 -0.08 0" size="0.05" friction="0.2"/>
       </body></worldbody></mujoco>)",
     BlockMode::kSliding, 0.0},
    {"ArmPushesABall", R"(<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.6"/>
       <body pos="0 0 0.3"><joint name="a" type="hinge" axis="0 1 0" damping="0.2" range="-90 90" limited="true"/>
       <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.5"/>
       <body pos="0.3 0 0"><joint name="b" type="hinge" axis="0 1 0" damping="0.2"/><joint name="c" type="hinge" axis="0 0 1" damping="0.2"/>
       <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.3" friction="0.6"/></body></body></worldbody>
       <actuator><position joint="a" kp="20" kv="1" forcerange="-5 5"/><motor joint="b"/><velocity joint="c" kv="0.5"/></actuator>
       </mujoco>)",
     BlockMode::kSliding, 0.4},
    {"BoundByAConnect", R"(<mujoco><worldbody>
       <body name="a" pos="0 0 1"><joint type="ball" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
       <body name="b" pos="0.3 0 0"><joint type="hinge" axis="0 1 0" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0.1" size="0.02"/>
       </body></body></worldbody><equality><connect body1="b" anchor="0.3 0 0.1"/></equality></mujoco>)",
     BlockMode::kHeld, 0.0},
    {"BoundByAWeld", R"(<mujoco><worldbody>
       <body name="a" pos="0 0 1"><joint type="hinge" axis="0 1 0" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/></body>
       <body name="b" pos="0.3 0 1.1"><freejoint/><geom type="box" size="0.1 0.07 0.05"/></body></worldbody>
       <equality><weld body1="a" body2="b" torquescale="0.7"/></equality></mujoco>)",
     BlockMode::kHeld, 0.0},
    {"BoundByLimitsAndCouplings", R"(<mujoco><compiler angle="radian"/><worldbody>
       <body pos="0 0 1"><joint name="a" type="hinge" axis="0 1 0" limited="true" range="-0.3 0.2" stiffness="3"/>
       <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.5"/>
       <body pos="0.3 0 0"><joint name="b" type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="0.3"/>
       <body pos="0.3 0 0"><joint name="c" type="ball" limited="true" range="0 0.3"/><geom type="capsule" fromto="0 0 0 0.2 0.1 0" size="0.03" mass="0.3"/>
       </body></body></body>
       <body pos="0 1 1"><joint name="d" type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="0.2"/></body></worldbody>
       <equality><joint joint1="d" joint2="b" polycoef="0 0.5 0.3 0.1 0"/></equality>
       <actuator><position joint="b" kp="30" kv="1"/></actuator></mujoco>)",
     BlockMode::kHeld, 0.2},
};

inline const Scene& scene_named(const std::string& name) {
  return *std::find_if(std::begin(kScenes), std::end(kScenes), [&](const Scene& s) { return s.name == name; });
}

}  // namespace touchstone::test
