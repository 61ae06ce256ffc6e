"""Many worlds: the same numbers as one by one, whatever the number of threads."""

from __future__ import annotations

import contextlib
import gc
import threading

import numpy as np
import pytest

import touchstone as ts


def test_worlds_are_simulators(quadruped: ts.Model) -> None:
    batch = ts.Batch(quadruped, 5, dt=1e-3, threads=2)
    assert (len(batch), batch.threads, batch.q.shape) == (5, 2, (5, 19))
    batch.reset(keyframe="home")
    batch.v[:, 0] = np.linspace(0, 1, 5)
    batch.forget()
    batch.step(200)
    assert batch.ok.all()
    for world in range(5):
        sim = ts.Simulator(quadruped, dt=1e-3)
        sim.reset("home")
        sim.state.v[0] = np.linspace(0, 1, 5)[world]
        sim.step(200)
        np.testing.assert_array_equal(batch.q[world], sim.state.q)
        np.testing.assert_array_equal(batch.contacts(world).force, sim.contacts.force)
        assert batch.time[world] == sim.time


@pytest.mark.parametrize("threads", [1, 3])
def test_one_call_or_many(quadruped: ts.Model, threads: int) -> None:
    a, b = ts.Batch(quadruped, 4, threads=threads), ts.Batch(quadruped, 4, threads=1)
    for batch in (a, b):
        batch.q[:, 2] += np.arange(4) * 0.01
        batch.forget()
    a.step(150)
    for _ in range(150):
        b.step()
    np.testing.assert_array_equal(a.q, b.q)


def test_arrays_are_views_that_stay(quadruped: ts.Model) -> None:
    def make() -> np.ndarray:
        batch = ts.Batch(quadruped, 3)
        batch.step(2)
        return batch.q

    q = make()
    kept = q.copy()
    gc.collect()
    np.testing.assert_array_equal(q, kept)
    batch = ts.Batch(quadruped, 3)
    address = batch.q.ctypes.data
    batch.step(5)
    batch.reset()
    assert batch.q.ctypes.data == address
    assert not batch.time.flags.writeable
    batch.control = 0.1
    np.testing.assert_array_equal(batch.control, 0.1)
    batch.control = np.arange(12)
    np.testing.assert_array_equal(batch.control[2], np.arange(12))
    with pytest.raises(ts.Error, match="control has shape 5"):
        batch.control = np.zeros(5)


def test_parameters_of_one_world(ball: ts.Model) -> None:
    batch = ts.Batch(ball, 2)
    batch.reset(keyframe="up")
    batch.parameters(1).gravity[2] = 0.0
    batch.step(10)
    assert batch.q[0, 2] < 1.0
    assert batch.q[1, 2] == 1.0


def test_trouble_stays_in_its_world(ball: ts.Model) -> None:
    batch = ts.Batch(ball, 3)
    batch.v[1, 0] = np.inf
    batch.step(3)
    assert batch.ok.tolist() == [True, False, True]
    assert batch.report(1).diverged
    batch.reset(1)
    batch.step()
    assert batch.ok.all()


def test_bad_arguments(ball: ts.Model) -> None:
    with pytest.raises(ts.Error, match="0 worlds"):
        ts.Batch(ball, 0)
    with pytest.raises(ts.Error, match="world 7 of a batch with 2"):
        ts.Batch(ball, 2).parameters(7)
    with pytest.raises(ts.Error, match="nonsense"):
        ts.Batch(ball, 2, nonsense=1)


def test_two_threads_on_one_batch_are_an_error(quadruped: ts.Model) -> None:
    batch = ts.Batch(quadruped, 8)
    done = threading.Event()

    def step_on() -> None:
        while not done.is_set():
            with contextlib.suppress(ts.Error):  # where the other thread was first
                batch.step(500)

    thread = threading.Thread(target=step_on)
    thread.start()
    try:
        with pytest.raises(ts.Error, match="another thread"):
            for _ in range(10_000):
                batch.step()
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("worlds", [0, -1, 2**31 - 1, 10**9, 2**31, 10**12, 10**30, -(10**30)])
def test_more_worlds_than_fit_are_refused(ball: ts.Model, worlds: int) -> None:
    with pytest.raises(ts.Error, match="worlds"):
        ts.Batch(ball, worlds)


@pytest.mark.parametrize("threads", [-1, 10**6, 2**31, 10**30])
def test_more_threads_than_make_sense_are_refused(ball: ts.Model, threads: int) -> None:
    with pytest.raises(ts.Error, match="threads"):
        ts.Batch(ball, 2, threads=threads)
