"""Gymnasium's own check, and what the tasks promise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import touchstone as ts  # noqa: E402
import touchstone.gym  # noqa: E402

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


@pytest.mark.parametrize("name", ["touchstone/Quadruped-v0", "touchstone/Push-v0"])
def test_vectorised_worlds_agree_with_single_ones(name: str) -> None:
    many = gymnasium.make_vec(name, num_envs=3, vectorization_mode="vector_entry_point", threads=2)
    one = gymnasium.make(name).unwrapped
    observation, _ = many.reset(seed=4)
    assert many.observation_space.contains(observation)
    # The third world's start, given to a single environment.
    state = ts.State(one.task.model)
    state.q, state.v = many.batch.q[2], many.batch.v[2]
    one.reset(seed=0)
    one.sim.reset(state)
    one._goal = many._goal[2:].copy()
    rng = np.random.default_rng(1)
    for _ in range(10):
        actions = rng.uniform(-1, 1, many.action_space.shape).astype(np.float32)
        observation, reward, terminated, truncated, info = many.step(actions)
        alone, alone_reward, over, _, _ = one.step(actions[2])
        np.testing.assert_array_equal(observation[2], alone)
        assert reward[2] == pytest.approx(alone_reward, rel=1e-12)
        assert terminated[2] == over
        assert truncated.shape == (3,)
        assert not info["diverged"].any()
    many.close()


def test_vectorised_worlds_start_anew() -> None:
    many = gymnasium.make_vec(
        "touchstone/Push-v0", num_envs=4, vectorization_mode="vector_entry_point", max_episode_steps=5
    )
    many.reset(seed=1)
    still = np.zeros((4, 2), dtype=np.float32)
    ends = [many.step(still)[3].all() for _ in range(5)]
    assert ends == [False, False, False, False, True]
    before = many.batch.q.copy()
    _, reward, terminated, truncated, _ = many.step(still)
    assert not (reward.any() or terminated.any() or truncated.any())
    assert not np.array_equal(many.batch.q, before)
    assert (many._steps == 0).all()


BAD_ACTIONS = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("value", BAD_ACTIONS)
@pytest.mark.parametrize(("name", "size"), [("touchstone/Quadruped-v0", 12), ("touchstone/Push-v0", 2)])
def test_a_nan_action_is_an_error(name: str, size: int, value: float) -> None:
    env = gymnasium.make(name).unwrapped
    env.reset(seed=1)
    before = env.sim.state.q.copy()
    action = np.zeros(size, dtype=np.float32)
    action[1] = value
    with pytest.raises(ts.Error, match=r"entry \(1,\) of the action is .*finite"):
        env.step(action)
    assert np.array_equal(env.sim.state.q, before), "nothing has happened"
    observation, *_ = env.step(np.zeros(size, dtype=np.float32))
    assert np.isfinite(observation).all()


def test_an_action_of_another_shape_is_an_error() -> None:
    env = gymnasium.make("touchstone/Push-v0").unwrapped
    env.reset(seed=1)
    for action in (np.zeros(3), np.zeros((1, 2)), 0.0, [], np.zeros(0)):
        with pytest.raises(ts.Error, match=r"the action has shape .*; give \(2,\)"):
            env.step(action)
    for words in (["a", "b"], None, [[1.0], [1.0, 2.0]]):
        with pytest.raises(ts.Error, match="action"):
            env.step(words)


def test_a_nan_action_of_one_world_is_an_error() -> None:
    envs = gymnasium.make_vec("touchstone/Push-v0", num_envs=3, vectorization_mode="vector_entry_point")
    envs.reset(seed=1)
    before = envs.batch.q.copy()
    actions = np.zeros((3, 2), dtype=np.float32)
    for value in BAD_ACTIONS:
        actions[2, 1] = value
        with pytest.raises(ts.Error, match=r"entry \(2, 1\) of the action is"):
            envs.step(actions)
    with pytest.raises(ts.Error, match=r"shape \(2, 2\); give \(3, 2\)"):
        envs.step(np.zeros((2, 2)))
    assert np.array_equal(envs.batch.q, before)
    observations, *_ = envs.step(np.zeros((3, 2)))
    assert np.isfinite(observations).all()
