"""States of MuJoCo and Pinocchio; the real packages where they are installed."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BALL_ON_FLOOR, ROOT

import touchstone as ts


def test_mujoco_there_and_back() -> None:
    mujoco = pytest.importorskip("mujoco")
    file = ROOT / "models" / "quadruped" / "quadruped.xml"
    theirs = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(theirs)
    mujoco.mj_resetDataKeyframe(theirs, data, 0)
    data.qvel[:] = np.arange(theirs.nv)
    mujoco.mj_forward(theirs, data)
    model = ts.load(file)
    state = ts.convert.from_mujoco(model, theirs, data)
    np.testing.assert_array_equal(state.q, data.qpos)
    dynamics = ts.Dynamics(model)
    dynamics.update(state.q, state.v)
    np.testing.assert_allclose(dynamics.pose("RR_shank").position, data.body("RR_shank").xpos, atol=1e-12)
    other = mujoco.MjData(theirs)
    ts.convert.to_mujoco(model, state, theirs, other)
    np.testing.assert_array_equal(other.qpos, data.qpos)
    np.testing.assert_array_equal(other.qvel, data.qvel)
    with pytest.raises(ts.Error, match="same file"):
        ts.convert.from_mujoco(ts.load_string(BALL_ON_FLOOR), theirs, data)


def test_pinocchio_there_and_back(rng: np.random.Generator) -> None:
    pin = pytest.importorskip("pinocchio")
    theirs = pin.buildSampleModelManipulator()
    names = [str(n) for n in theirs.names[1:]]
    b = ts.ModelBuilder("arm")
    parent: int = 0
    for name in names:
        parent = b.add_body(name, parent=parent, mass=1.0, inertia=[1, 1, 1])
        b.add_joint(parent, name=name)
    model = b.build()
    q, v = rng.normal(size=theirs.nq), rng.normal(size=theirs.nv)
    state = ts.convert.from_pinocchio(model, theirs, q, v)
    np.testing.assert_allclose(state.q, q)
    back_q, back_v = ts.convert.to_pinocchio(model, state, theirs)
    np.testing.assert_allclose(back_q, q)
    np.testing.assert_allclose(back_v, v)
