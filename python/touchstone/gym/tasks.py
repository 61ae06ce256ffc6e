"""What is to be learnt: models, observations, rewards. All functions work on many worlds at once, one a row."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Shape
from .._load import load

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Task(Protocol):
    """A task: one model, `decimation` steps for each action, actions in [-1, 1]."""

    model: _core.Model
    dt: float
    decimation: int
    action_size: int
    observation_size: int

    def start(self, rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, v and goal of new episodes."""

    def control(self, action: FloatArray) -> FloatArray:
        """The controls of the model for actions."""

    def observe(self, q: FloatArray, v: FloatArray, action: FloatArray, goal: FloatArray) -> FloatArray: ...

    def reward(self, q: FloatArray, v: FloatArray, action: FloatArray, goal: FloatArray) -> FloatArray: ...

    def terminated(self, q: FloatArray, v: FloatArray, goal: FloatArray) -> BoolArray: ...

    def info(self, q: FloatArray, v: FloatArray, goal: FloatArray) -> dict[str, Any]: ...


def rotate_back(quaternion: FloatArray, vector: FloatArray) -> FloatArray:
    """Vectors of the world seen from bodies: R' x, for rows of [w x y z]."""
    w, u = quaternion[:, :1], -quaternion[:, 1:]
    t = 2.0 * np.cross(u, vector)
    result: FloatArray = vector + w * t + np.cross(u, t)
    return result


class QuadrupedTask:
    """The quadruped on flat ground: stand at a height, or walk forward at a speed.

    Actions: 12 offsets from the standing pose, times 0.5 rad. Observations: height (m), direction of gravity, velocity
    (m/s) and angular velocity (rad/s) in the trunk, joint angles (rad) from the standing pose, joint velocities (rad/s)
    and the last action. An episode ends when the trunk is too low or leans more than 60 degrees.
    """

    decimation = 10
    action_size = 12
    observation_size = 10 + 3 * 12
    action_scale = 0.5

    def __init__(self, task: str = "stand", target_speed: float = 0.5, dt: float = 0.002) -> None:
        if task not in ("stand", "walk"):
            raise _core.Error(f"task '{task}'; give stand or walk")
        self.task, self.target_speed, self.dt = task, target_speed, dt
        self.model = load("quadruped:flat")
        home = self.model.keyframe("home")
        self.pose, self.height = home.control, float(home.q[2])  # of the twelve joints (rad) and the trunk (m)
        limits = np.array([a.control_range for a in self.model.actuators])
        self._low, self._high = limits[:, 0], limits[:, 1]

    def start(self, rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        q = np.zeros((count, 19))
        q[:, 2], q[:, 3] = self.height, 1.0
        q[:, 7:] = self.pose + rng.uniform(-0.05, 0.05, (count, 12))
        return q, rng.uniform(-0.02, 0.02, (count, 18)), np.zeros((count, 0))

    def control(self, action: FloatArray) -> FloatArray:
        return np.clip(self.pose + self.action_scale * action, self._low, self._high)

    def observe(self, q: FloatArray, v: FloatArray, action: FloatArray, goal: FloatArray) -> FloatArray:
        down = rotate_back(q[:, 3:7], np.tile([0.0, 0.0, -1.0], (len(q), 1)))
        velocity = rotate_back(q[:, 3:7], v[:, :3])
        return np.hstack([q[:, 2:3], down, velocity, v[:, 3:6], q[:, 7:] - self.pose, v[:, 6:], action])

    def _upright(self, q: FloatArray) -> FloatArray:
        result: FloatArray = 1.0 - 2.0 * (q[:, 4] ** 2 + q[:, 5] ** 2)  # z of the trunk's z axis
        return result

    def reward(self, q: FloatArray, v: FloatArray, action: FloatArray, goal: FloatArray) -> FloatArray:
        posture = np.exp(-100.0 * (q[:, 2] - self.height) ** 2) * np.clip(self._upright(q), 0.0, 1.0)
        effort = 0.01 * (action**2).sum(axis=1)
        if self.task == "stand":
            still = np.exp(-4.0 * (v[:, :2] ** 2).sum(axis=1))
            standing: FloatArray = posture * still - effort
            return standing
        forward = rotate_back(q[:, 3:7], v[:, :3])[:, 0]
        pace = np.exp(-8.0 * (forward - self.target_speed) ** 2)
        result: FloatArray = 0.3 * posture + pace - effort
        return result

    def terminated(self, q: FloatArray, v: FloatArray, goal: FloatArray) -> BoolArray:
        result: BoolArray = (q[:, 2] < 0.15) | (self._upright(q) < 0.5)
        return result

    def info(self, q: FloatArray, v: FloatArray, goal: FloatArray) -> dict[str, Any]:
        return {"x_position": q[:, 0].copy(), "x_velocity": v[:, 0].copy()}


def push_model() -> _core.Model:
    """A block that slides on a table, and a finger on two rails that pushes it."""
    b = _core.ModelBuilder("push", dt=0.002)
    b.add_shape("world", Shape.plane(), name="table", friction=0.4)
    b.add_body("block", position=[0, 0, 0.04])
    b.add_joint("block", "free", name="block")
    b.add_shape("block", Shape.box([0.06, 0.06, 0.04]), name="block", mass=0.5, friction=0.4, color=[0.85, 0.5, 0.1])
    b.add_body("carriage", position=[0, 0, 0.05], mass=0.2, inertia=[1e-3, 1e-3, 1e-3])
    b.add_joint("carriage", "slide", name="x", axis=[1, 0, 0], limits=[-0.6, 0.6])
    b.add_body("finger", parent="carriage")
    b.add_joint("finger", "slide", name="y", axis=[0, 1, 0], limits=[-0.6, 0.6])
    b.add_shape("finger", Shape.capsule(0.02, 0.02), name="finger", mass=0.3, friction=0.4, color=[0.2, 0.4, 0.7])
    for name in ("x", "y"):
        b.add_velocity_servo(f"drive_{name}", name, kv=50.0, control_range=[-1, 1], force_range=[-20, 20])
    return b.build()


class PushTask:
    """Push a block to a goal on a table, by contact alone.

    Actions: velocity of the finger along x and y, times 0.5 m/s. Observations: finger (m, m/s), block (m, cosine and
    sine of its yaw, m/s, rad/s about z), goal from the block (m), last action. An episode ends when the block is within
    2 cm of the goal.
    """

    decimation = 10
    action_size = 2
    observation_size = 15
    speed = 0.5
    reached = 0.02  # m

    def __init__(self, dt: float = 0.002) -> None:
        self.dt = dt
        self.model = push_model()
        self._block = self.model.joint("block")
        self._x, self._y = self.model.joint("x"), self.model.joint("y")

    def start(self, rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        q = np.tile(self.model.reference_q, (count, 1))
        k = self._block.q_index
        q[:, k : k + 2] = rng.uniform(-0.1, 0.1, (count, 2))
        yaw = rng.uniform(-np.pi, np.pi, count)
        q[:, k + 3], q[:, k + 6] = np.cos(yaw / 2), np.sin(yaw / 2)
        q[:, self._x.q_index] = q[:, k] - rng.uniform(0.15, 0.25, count)
        q[:, self._y.q_index] = q[:, k + 1] + rng.uniform(-0.1, 0.1, count)
        angle, radius = rng.uniform(-np.pi, np.pi, count), rng.uniform(0.15, 0.3, count)
        goal = q[:, k : k + 2] + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return q, np.zeros((count, self.model.nv)), goal

    def control(self, action: FloatArray) -> FloatArray:
        return self.speed * np.asarray(action)

    def _places(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        k = self._block.q_index
        return q[:, k : k + 2], q[:, [self._x.q_index, self._y.q_index]]

    def observe(self, q: FloatArray, v: FloatArray, action: FloatArray, goal: FloatArray) -> FloatArray:
        k, d = self._block.q_index, self._block.v_index
        block, finger = self._places(q)
        w, z = q[:, k + 3], q[:, k + 6]
        yaw = np.arctan2(2.0 * w * z, 1.0 - 2.0 * z * z)
        heading = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
        rails = v[:, [self._x.v_index, self._y.v_index]]
        return np.hstack([finger, rails, block, heading, v[:, d : d + 2], v[:, d + 5 : d + 6], goal - block, action])

    def reward(self, q: FloatArray, v: FloatArray, action: FloatArray, goal: FloatArray) -> FloatArray:
        block, finger = self._places(q)
        distance = np.linalg.norm(goal - block, axis=1)
        near = np.linalg.norm(finger - block, axis=1)
        result: FloatArray = -distance - 0.1 * near + 5.0 * (distance < self.reached)
        return result

    def terminated(self, q: FloatArray, v: FloatArray, goal: FloatArray) -> BoolArray:
        block, _ = self._places(q)
        result: BoolArray = np.linalg.norm(goal - block, axis=1) < self.reached
        return result

    def info(self, q: FloatArray, v: FloatArray, goal: FloatArray) -> dict[str, Any]:
        block, _ = self._places(q)
        return {"distance": np.linalg.norm(goal - block, axis=1)}
