"""Configurations that reach targets."""

import numpy as np
import pytest

import touchstone as ts

ARM = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="upper" pos="0 0 1"><joint name="a" axis="0 1 0" limited="true" range="-3 3"/>
  <geom type="capsule" fromto="0 0 0 1 0 0" size="0.05" mass="1"/>
  <body name="lower" pos="1 0 0"><joint name="b" axis="0 1 0" limited="true" range="0.1 2.5"/>
  <geom type="capsule" fromto="0 0 0 1 0 0" size="0.05" mass="1"/></body></body></worldbody></mujoco>"""


def test_two_links_obey_the_law_of_cosines():
    model = ts.load_string(ARM)
    target = ts.IkTarget("lower", [0.8, 0, 1.9], point=[1, 0, 0])
    result = ts.inverse_kinematics(model, [target], [0.0, 0.5])
    assert result.reached
    assert result.q[1] == pytest.approx(np.arccos((0.8**2 + 0.9**2) / 2 - 1), abs=1e-6)
    dynamics = ts.Dynamics(model)
    dynamics.update(result.q)
    pose = dynamics.pose("lower")
    np.testing.assert_allclose(pose.position + pose.matrix[:3, :3] @ [1, 0, 0], [0.8, 0, 1.9], atol=1e-6)


def test_what_is_out_of_reach_is_said_to_be():
    model = ts.load_string(ARM)
    result = ts.inverse_kinematics(model, [ts.IkTarget("lower", [3.0, 0, 1.0], point=[1, 0, 0])], [0.3, 1.0])
    assert not result.reached
    assert result.q[1] == pytest.approx(0.1)
    assert result.position_error == pytest.approx(3.0 - 2.0 * np.cos(0.05), abs=1e-6)
    free = ts.inverse_kinematics(model, [ts.IkTarget("lower", [2.0, 0, 1.0], point=[1, 0, 0])], limits=False)
    assert free.position_error < 1e-4


def test_rotations_and_the_centre_of_mass():
    model = ts.load_string(ARM)
    half = np.pi / 8
    turned = ts.IkTarget("lower", rotation=[np.cos(half), 0, np.sin(half), 0])
    result = ts.inverse_kinematics(model, [turned], [0.0, 0.5], centre_of_mass=[0.6, 0.0])
    assert result.q.sum() == pytest.approx(np.pi / 4, abs=1e-5)
    assert result.angle_error < 1e-5


def test_bad_targets_are_refused():
    model = ts.load_string(ARM)
    with pytest.raises(ts.Error, match="position, a rotation"):
        ts.IkTarget("lower")
    with pytest.raises(ts.Error, match="nobody"):
        ts.inverse_kinematics(model, [ts.IkTarget("nobody", [0, 0, 0])])
    with pytest.raises(ts.Error, match="nothing is wanted"):
        ts.inverse_kinematics(model, [])
