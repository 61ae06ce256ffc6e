"""Gymnasium environments (`pip install touchstone-sim[gym]`).

    import gymnasium
    import touchstone.gym

    env = gymnasium.make("touchstone/Quadruped-v0", task="walk")
    many = gymnasium.make_vec("touchstone/Quadruped-v0", num_envs=64, vectorization_mode="vector_entry_point")

Single environments step a Simulator, vectorised ones a Batch; both share the same tasks (touchstone.gym.tasks).
"""

from __future__ import annotations

from typing import Any

try:
    import gymnasium
except ImportError as error:
    raise ImportError("touchstone.gym needs gymnasium: pip install touchstone-sim[gym]") from error

from .env import TouchstoneEnv
from .tasks import PushTask, QuadrupedTask, Task
from .vector import TouchstoneVectorEnv

__all__ = ["PushTask", "QuadrupedTask", "Task", "TouchstoneEnv", "TouchstoneVectorEnv"]

_TASKS: dict[str, Any] = {"touchstone/Quadruped-v0": QuadrupedTask, "touchstone/Push-v0": PushTask}


def _make(env_id: str, render_mode: str | None = None, solver: str = "auto", **kwargs: Any) -> TouchstoneEnv:
    return TouchstoneEnv(_TASKS[env_id](**kwargs), render_mode=render_mode, solver=solver)


def _make_vector(
    env_id: str,
    num_envs: int,
    max_episode_steps: int = 1000,
    threads: int = 0,
    solver: str = "auto",
    **kwargs: Any,
) -> TouchstoneVectorEnv:
    kwargs.pop("render_mode", None)
    return TouchstoneVectorEnv(_TASKS[env_id](**kwargs), num_envs, max_episode_steps, threads, solver)


for _id, _steps in (("touchstone/Quadruped-v0", 1000), ("touchstone/Push-v0", 300)):
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point=f"{__name__}:_make",
            vector_entry_point=f"{__name__}:_make_vector",
            max_episode_steps=_steps,
            kwargs={"env_id": _id},
        )
