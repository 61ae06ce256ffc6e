"""Many worlds as one vectorised Gymnasium environment, stepped by a Batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .. import _core
from .env import Observation, checked_action, spaces_of
from .tasks import BoolArray, FloatArray, Task

Actions = npt.NDArray[np.float32]


class TouchstoneVectorEnv(VectorEnv[Observation, Actions, npt.NDArray[Any]]):
    """A task in many worlds. An episode that ends starts anew at the next step (Gymnasium's NEXT_STEP mode).

    A world whose step diverges ends its episode; `info["diverged"]` marks it.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self, task: Task, num_envs: int, max_episode_steps: int = 1000, threads: int = 0, solver: str = "auto"
    ) -> None:
        self.task = task
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        self.batch = _core.Batch(task.model, num_envs, dt=task.dt, solver=solver, threads=threads)
        self.single_observation_space, self.single_action_space = spaces_of(task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._action: FloatArray = np.zeros((num_envs, task.action_size))
        _, _, self._goal = task.start(np.random.default_rng(0), num_envs)
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._over: BoolArray = np.zeros(num_envs, dtype=bool)

    def _start(self, worlds: BoolArray) -> None:
        count = int(worlds.sum())
        if count == 0:
            return
        q, v, goal = self.task.start(self.np_random, count)
        for world in np.flatnonzero(worlds):
            self.batch.reset(int(world))
        self.batch.q[worlds], self.batch.v[worlds] = q, v
        for world in np.flatnonzero(worlds):
            self.batch.forget(int(world))
        self._goal[worlds] = goal
        self._action[worlds] = 0.0
        self._steps[worlds] = 0

    def _observe(self) -> Observation:
        observation = self.task.observe(self.batch.q, self.batch.v, self._action, self._goal)
        return observation.astype(np.float32)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed if not isinstance(seed, list) else seed[0])
        self._start(np.ones(self.num_envs, dtype=bool))
        self._over[:] = False
        return self._observe(), self.task.info(self.batch.q, self.batch.v, self._goal)

    def step(
        self, actions: Actions
    ) -> tuple[Observation, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        task, batch, fresh = self.task, self.batch, self._over.copy()
        action = checked_action(actions, (self.num_envs, task.action_size))  # before anything changes
        self._start(fresh)
        kept = batch.q[fresh], batch.v[fresh]
        self._action = action
        self._action[fresh] = 0.0
        batch.control = task.control(self._action)
        batch.step(task.decimation)
        if fresh.any():  # a new episode begins with its first observation: these worlds wait
            batch.q[fresh], batch.v[fresh] = kept
            for world in np.flatnonzero(fresh):
                batch.forget(int(world))
        self._steps += ~fresh
        q, v = batch.q, batch.v
        diverged = ~batch.ok & np.array([batch.report(w).diverged for w in range(self.num_envs)]) & ~fresh
        rewards = np.where(fresh | diverged, 0.0, task.reward(q, v, self._action, self._goal))
        terminated: BoolArray = (task.terminated(q, v, self._goal) | diverged) & ~fresh
        truncated: BoolArray = (self._steps >= self.max_episode_steps) & ~terminated
        self._over = terminated | truncated
        info = task.info(q, v, self._goal)
        info["diverged"] = diverged
        return self._observe(), rewards, terminated, truncated, info

    def close_extras(self, **kwargs: Any) -> None:
        """Nothing to close."""
