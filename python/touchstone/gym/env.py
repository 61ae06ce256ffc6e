"""One world as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .. import _core
from .tasks import FloatArray, Task

Observation = npt.NDArray[np.float32]


def spaces_of(task: Task) -> tuple[spaces.Box[np.float32], spaces.Box[np.float32]]:
    """Of observations and actions."""
    observation = spaces.Box(-np.inf, np.inf, (task.observation_size,), np.float32)
    action = spaces.Box(-1.0, 1.0, (task.action_size,), np.float32)
    return observation, action


def checked_action(action: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """The action as numbers within [-1, 1]. Raises Error if its shape is another one or a number is not finite."""
    try:
        values = np.asarray(action, dtype=float)
    except (TypeError, ValueError) as error:
        raise _core.Error(f"the action is not an array of numbers ({error}); give one of shape {shape}") from error
    if values.shape != shape:
        raise _core.Error(f"the action has shape {values.shape}; give {shape}")
    if not np.isfinite(values).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise _core.Error(f"entry {place} of the action is {values[place]}; give finite numbers from -1 to 1")
    clipped: FloatArray = np.clip(values, -1.0, 1.0)
    return clipped


class TouchstoneEnv(gymnasium.Env[Observation, npt.NDArray[np.float32]]):
    """A task in one simulator. A step that diverges ends the episode, and `info["diverged"]` says so."""

    metadata = {"render_modes": [], "render_fps": 50}  # noqa: RUF012

    def __init__(self, task: Task, render_mode: str | None = None, solver: str = "auto") -> None:
        if render_mode is not None:
            raise _core.Error(f"render_mode '{render_mode}'; this environment does not render: use touchstone view")
        self.task = task
        self.render_mode = render_mode
        self.sim = _core.Simulator(task.model, dt=task.dt, solver=solver)
        self.observation_space, self.action_space = spaces_of(task)
        self._action: FloatArray = np.zeros((1, task.action_size))
        self._goal: FloatArray = np.zeros((1, 0))

    def _rows(self) -> tuple[FloatArray, FloatArray]:
        return self.sim.state.q[None, :], self.sim.state.v[None, :]

    def _observe(self) -> Observation:
        q, v = self._rows()
        observation: Observation = self.task.observe(q, v, self._action, self._goal)[0].astype(np.float32)
        return observation

    def _info(self) -> dict[str, Any]:
        q, v = self._rows()
        return {name: value[0] for name, value in self.task.info(q, v, self._goal).items()}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        q, v, goal = self.task.start(self.np_random, 1)
        state = _core.State(self.task.model)
        state.q, state.v = q[0], v[0]
        self.sim.reset(state)
        self._action, self._goal = np.zeros((1, self.task.action_size)), goal
        return self._observe(), self._info()

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._action = checked_action(action, (self.task.action_size,))[None, :]
        self.sim.control = self.task.control(self._action)[0]
        report = self.sim.step(self.task.decimation)
        q, v = self._rows()
        info = self._info()
        info["natv"] = report.residuals.natv
        if report.diverged:
            info["diverged"] = True
            return self._observe(), 0.0, True, False, info
        reward = float(self.task.reward(q, v, self._action, self._goal)[0])
        terminated = bool(self.task.terminated(q, v, self._goal)[0])
        return self._observe(), reward, terminated, False, info
