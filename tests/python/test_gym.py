"""Gymnasium's own check, and what the tasks promise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import touchstone.gym  # noqa: E402, F401

MAKES = [
    ("touchstone/Quadruped-v0", {"task": "stand"}),
    ("touchstone/Quadruped-v0", {"task": "walk"}),
    ("touchstone/Push-v0", {}),
]


@pytest.mark.parametrize(("name", "kwargs"), MAKES)
def test_check_env(name: str, kwargs: dict[str, str]) -> None:
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(name, **kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Observations are physical quantities without bounds; that is what these two warnings are about.
        warnings.filterwarnings("ignore", message=".*(infinity|minimum value|maximum value).*")
        check_env(env.unwrapped, skip_render_check=True)


def test_the_standing_pose_stands() -> None:
    env = gymnasium.make("touchstone/Quadruped-v0")
    observation, _ = env.reset(seed=1)
    total = 0.0
    for _ in range(250):  # five seconds
        observation, reward, terminated, _, _ = env.step(np.zeros(12, dtype=np.float32))
        total += reward
        assert not terminated
    assert observation[0] == pytest.approx(env.unwrapped.task.height, abs=0.03)
    np.testing.assert_allclose(observation[1:4], [0, 0, -1], atol=0.05)
    assert total > 200


def test_a_fall_ends_the_episode() -> None:
    env = gymnasium.make("touchstone/Quadruped-v0")
    env.reset(seed=2)
    legs_out = np.tile([1.0, 1.0, 1.0], 4).astype(np.float32)
    outcomes = [env.step(legs_out if k % 20 < 10 else -legs_out)[2] for k in range(400)]
    assert any(outcomes)


def test_pushing_moves_the_block() -> None:
    env = gymnasium.make("touchstone/Push-v0").unwrapped
    env.reset(seed=3)
    block = env.task.model.joint("block").q_index
    start = env.sim.state.q[block : block + 2].copy()
    for _ in range(60):  # towards the block
        finger = env.sim.pose("finger").position[:2]
        towards = env.sim.state.q[block : block + 2] - finger
        env.step((towards / np.linalg.norm(towards)).astype(np.float32))
    moved = env.sim.state.q[block : block + 2] - start
    assert moved[0] > 0.05


def test_seeds_repeat() -> None:
    def episode(seed: int) -> np.ndarray:
        env = gymnasium.make("touchstone/Push-v0")
        env.reset(seed=seed)
        env.action_space.seed(seed)
        return np.array([env.step(env.action_space.sample())[1] for _ in range(20)])

    np.testing.assert_array_equal(episode(5), episode(5))
    assert not np.array_equal(episode(5), episode(6))


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="stand or walk"):
        gymnasium.make("touchstone/Quadruped-v0", task="fly")
