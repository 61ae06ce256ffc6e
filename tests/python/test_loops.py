"""Loop joints: built in Python, read in a simulation, in maximal coordinates, from the file beside a URDF."""

from __future__ import annotations

import math
import pathlib

import numpy as np
import pytest

import touchstone as ts

INERTIA = np.diag([0.02, 0.02, 0.001])


def pendulum(kind: str, **properties: object) -> ts.Model:
    """A free rod that a loop joint holds to the world at its upper end."""
    b = ts.ModelBuilder("pendulum")
    b.add_body("rod", position=[0, 0, -0.5], mass=1.0, inertia=INERTIA)
    b.add_joint("rod", "free", name="free")
    b.add_loop_joint(kind, "world", "rod", name="pin", axis=[0, 1, 0], **properties)  # type: ignore[arg-type]
    return b.build()


def test_a_loop_joint_is_a_hinge() -> None:
    model = pendulum("revolute", limits=[-3, 3], damping=0.1)
    joint = model.loop_joint("pin")
    assert joint.type == "revolute" and joint.between == ("world", "rod") and joint.active
    assert joint.limits == [(-3.0, 3.0)]
    assert joint.loop_q_slice == slice(0, 1)
    np.testing.assert_allclose(joint.frame_b.position, [0, 0, 0.5], atol=1e-12)
    assert model.loop_joints == [joint] and "pin" in repr(joint)
    assert joint.fields()["coordinates"][0]["damping"] == 0.1  # type: ignore[index]

    b = ts.ModelBuilder("tree")
    b.add_body("rod", position=[0, 0, -0.5], mass=1.0, inertia=INERTIA)
    b.add_joint("rod", "hinge", name="pin", axis=[0, 1, 0], anchor=[0, 0, 0.5], damping=0.1)
    tree = ts.Simulator(b.build(), dt=1e-3)
    sim = ts.Simulator(model, dt=1e-3, loops="closed")
    sim.state.v[:] = [-0.5, 0, 0, 0, 1, 0]  # 1 rad/s about the pin
    tree.state.v[:] = [1.0]
    for s in (sim, tree):
        s.step(500)
    reading = sim.loop_joint("pin")
    assert reading.position_error < 1e-6 and reading.rotation_error < 1e-6
    assert reading.position[0] == pytest.approx(tree.state.q[0], abs=2e-3)
    assert reading.velocity[0] == pytest.approx(tree.state.v[0], abs=2e-3)
    assert reading.force[0] == pytest.approx(-0.1 * reading.velocity[0], abs=1e-3)
    assert reading.reaction.shape == (6,) and abs(reading.reaction[:3]).max() > 5.0
    assert "open by" in repr(reading)
    with pytest.raises(ts.Error):
        sim.loop_joint("nothing")


def test_turns_are_counted_and_a_motor_turns_it() -> None:
    b = ts.ModelBuilder("wheel", gravity=[0, 0, 0])
    b.add_body("wheel", mass=1.0, inertia=np.eye(3))
    b.add_joint("wheel", "free", name="free")
    b.add_loop_joint("hinge", 0, "wheel", name="axle")
    b.add_motor("motor", loop_joint="axle", gear=[2.0])
    model = b.build()
    assert model.actuator("motor").transmission == "loop joint"
    assert model.actuator("motor").target == "axle"
    sim = ts.Simulator(model, dt=1e-3)
    sim.control[:] = [5.0]  # 10 N m on 1 kg m^2
    sim.step(2000)
    reading = sim.loop_joint(0)
    assert reading.velocity[0] == pytest.approx(20.0, rel=1e-6)
    assert reading.position[0] == pytest.approx(20.0, rel=2e-3)
    assert sim.state.loop_q[0] == pytest.approx(reading.position[0], abs=0.05)


def test_a_servo_and_a_gear_of_loop_joints() -> None:
    b = ts.ModelBuilder("gears", gravity=[0, 0, 0])
    for i, name in enumerate(["first", "second"]):
        b.add_body(name, position=[float(i), 0, 0], mass=1.0, inertia=np.eye(3))
        b.add_joint(name, "free", name=f"free {name}")
        b.add_loop_joint("revolute", "world", name, name=f"axle {name}", position=[float(i), 0, 0])
    b.add_joint_coupling("axle second[0]", "axle first", [0.0, -2.0], name="gear")
    b.add_position_servo("servo", loop_joint="axle first", kp=100.0, kv=30.0)
    sim = ts.Simulator(b.build(), dt=1e-3)
    sim.control[:] = [0.5]
    sim.step(4000)
    assert sim.loop_joint("axle first").position[0] == pytest.approx(0.5, abs=1e-3)
    assert sim.loop_joint("axle second").position[0] == pytest.approx(-1.0, abs=2e-3)


def test_builder_errors_say_what_to_do() -> None:
    with pytest.raises(ts.Error, match="there is no loop joint of type 'hing'; give fixed, revolute"):
        pendulum("hing")
    with pytest.raises(ts.Error, match="give axis or quaternion"):
        pendulum("revolute", quaternion=[1, 0, 0, 0])
    with pytest.raises(ts.Error, match="one pair for 2 coordinates"):
        pendulum("cylindrical", limits=[-1, 1])
    with pytest.raises(ts.Error, match="damping"):
        pendulum("cylindrical", damping=[1, 2, 3])
    b = ts.ModelBuilder()
    with pytest.raises(ts.Error, match="no body 'arm'"):
        b.add_loop_joint("fixed", 0, "arm")
    with pytest.raises(ts.Error, match="no joint or loop joint 'x'"):
        b.add_joint_coupling("x", None, [0.0])
    with pytest.raises(ts.Error, match="one of joint, tendon, site and loop_joint"):
        b.add_motor("motor")


@pytest.mark.parametrize(
    "kind", ["fixed", "prismatic", "universal", "spherical", "planar", "distance", "point_on_line"]
)
def test_every_kind_can_be_built(kind: str) -> None:
    b = ts.ModelBuilder("one")
    b.add_body("rod", position=[0, 0, -0.5], mass=1.0, inertia=INERTIA)
    b.add_joint("rod", "free", name="free")
    b.add_loop_joint(kind, "world", "rod", name="pin", position_b=[0, 0, 0.25] if kind == "distance" else None)
    model = b.build()
    if kind == "distance":
        assert model.loop_joint("pin").length == pytest.approx(0.25)
    sim = ts.Simulator(model, dt=1e-3)
    sim.step(50)
    assert sim.loop_joint("pin").position_error < 1e-4


def test_maximal_coordinates_and_back() -> None:
    b = ts.ModelBuilder("double pendulum")
    for i, parent in enumerate(["world", "arm 0"]):
        b.add_body(f"arm {i}", parent=parent, position=[0, 0, -1.0 * i], mass=1.0, com=[0, 0, -0.5], inertia=INERTIA)
        b.add_joint(f"arm {i}", "hinge", name=f"hinge {i}", axis=[0, 1, 0])
    reduced = b.build()
    maximal = ts.to_maximal(reduced)
    assert maximal.nv == 12 and [j.name for j in maximal.loop_joints] == ["hinge 0", "hinge 1"]
    state = ts.State(reduced)
    state.q[:] = [0.4, 2.0 * math.pi + 0.3]
    state.v[:] = [1.0, -2.0]
    there = ts.to_maximal_state(reduced, maximal, state)
    back = ts.to_reduced_state(reduced, maximal, there)
    np.testing.assert_allclose(back.q, state.q, atol=1e-12)
    np.testing.assert_allclose(back.v, state.v, atol=1e-12)
    ends = []
    for model, start in ((reduced, state), (maximal, there)):
        sim = ts.Simulator(model, dt=1e-4)
        sim.reset(start)
        sim.step(1000)
        ends.append(sim.state.copy())
    reached = ts.to_reduced_state(reduced, maximal, ends[1])
    np.testing.assert_allclose(reached.q, ends[0].q, atol=1e-3)
    with pytest.raises(ts.Error):
        ts.to_maximal_state(maximal, reduced, there)


def test_loops_of_a_urdf(tmp_path: pathlib.Path) -> None:
    inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    urdf = (
        f"<robot name='r'><link name='base'/><link name='arm'>{inertial}</link><joint name='j' type='floating'>"
        "<parent link='base'/><child link='arm'/></joint></robot>"
    )
    (tmp_path / "robot.urdf").write_text(urdf)
    (tmp_path / "robot.loops.yaml").write_text("loops: {pin: {type: revolute, between: [world, arm]}}")
    assert ts.load(tmp_path / "robot.urdf").loop_joint("pin").type == "revolute"
    assert ts.load(tmp_path / "robot.urdf", loops="none").loop_joints == []
    assert len(ts.load_string(urdf, loops=tmp_path / "robot.loops.yaml").loop_joints) == 1
    (tmp_path / "robot.loops.yaml").write_text("loops: {pin: {type: revolute, between: [world, hand]}}")
    with pytest.raises(ts.InputError, match=r"robot\.loops\.yaml:1.*no link 'hand'.*did you mean 'arm'"):
        ts.load(tmp_path / "robot.urdf")
