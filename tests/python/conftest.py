"""Shared by the tests of the Python package."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import touchstone as ts

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared"))

BALL_ON_FLOOR = """
<mujoco model="ball">
  <option timestep="0.001"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" friction="0.5"/>
    <body name="ball" pos="0 0 0.1">
      <freejoint name="root"/>
      <geom name="ball" type="sphere" size="0.1" mass="2" friction="0.5"/>
    </body>
  </worldbody>
  <keyframe><key name="up" qpos="0 0 1 1 0 0 0"/></keyframe>
</mujoco>
"""


@pytest.fixture
def quadruped() -> ts.Model:
    return ts.load("quadruped:flat")


@pytest.fixture
def ball() -> ts.Model:
    return ts.load_string(BALL_ON_FLOOR)


@pytest.fixture
def box() -> ts.Model:
    """A box of 1 kg and 0.2 m at rest on a plane, friction 0.6."""
    b = ts.ModelBuilder("box")
    b.add_shape("world", ts.Shape.plane(), name="floor", friction=0.6)
    b.add_body("box", position=[0, 0, 0.1])
    b.add_joint("box", "free", name="root")
    b.add_shape("box", ts.Shape.box([0.1, 0.1, 0.1]), name="box", mass=1.0, friction=0.6)
    return b.build()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
