"""Arrays without copies: who owns what, what may be written, and what stays."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import touchstone as ts


def test_state_arrays_have_a_fixed_address(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped)
    q, v, control = sim.state.q, sim.state.v, sim.control
    before = q.copy()
    addresses = [a.ctypes.data for a in (q, v, control)]
    sim.step(3)
    snapshot = sim.save()
    sim.step(4)
    sim.restore(snapshot)
    sim.reset()
    sim.step(10)
    sim.reset(sim.state.copy())
    sim.state = sim.state.copy()
    sim.step(5)
    assert [a.ctypes.data for a in (sim.state.q, sim.state.v, sim.control)] == addresses
    np.testing.assert_array_equal(q, sim.state.q)
    assert not np.array_equal(q, before)


def test_writing_to_a_view_changes_the_simulation(ball: ts.Model) -> None:
    sim = ts.Simulator(ball)
    sim.state.q[2] = 5.0
    sim.state.v[0] = 1.0
    sim.step()
    assert sim.state.q[2] == pytest.approx(5.0 - 9.81e-6, abs=1e-12)
    assert sim.state.q[0] == pytest.approx(1e-3, abs=1e-15)
    sim.state.v = 0.0  # one number for all
    assert not sim.state.v.any()
    with pytest.raises(ts.Error, match=r"q .*3"):
        sim.state.q = [1, 2, 3]


def test_views_keep_their_owner_alive(quadruped: ts.Model) -> None:
    def view() -> np.ndarray:
        sim = ts.Simulator(quadruped)
        sim.step(5)
        return sim.state.q

    q = view()
    kept = q.copy()
    for _ in range(20):  # memory that was freed would be used again
        ts.Simulator(quadruped).step()
    gc.collect()
    np.testing.assert_array_equal(q, kept)

    def contacts() -> np.ndarray:
        sim = ts.Simulator(quadruped)
        sim.step(600)
        return sim.contacts.force

    force = contacts()
    gc.collect()
    assert force.shape[1] == 3
    assert np.isfinite(force).all()


def test_contacts_are_a_read_only_snapshot(box: ts.Model) -> None:
    sim = ts.Simulator(box)
    sim.step(10)
    contacts = sim.contacts
    position = contacts.position.copy()
    for array in (contacts.force, contacts.position, contacts.normal, contacts.distance, contacts.body_a):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    sim.state.q[2] += 1.0
    sim.step()
    assert len(sim.contacts) == 0
    np.testing.assert_array_equal(contacts.position, position)


def test_pickling_and_copying_of_states(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped)
    sim.step(17)
    twin = pickle.loads(pickle.dumps(sim.state))
    assert twin == sim.state
    assert copy.deepcopy(sim.state) == sim.state
    twin.q[0] += 1
    assert twin != sim.state
    assert "at 0.034 s" in repr(sim.state)
    with pytest.raises(ts.Error):
        ts.State.__new__(ts.State).__setstate__(b"nonsense")


def test_bad_states_are_refused(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped)
    state = ts.State(quadruped)
    state.q[3] = np.nan
    with pytest.raises(ts.Error, match="q"):
        sim.reset(state)
    with pytest.raises(ts.Error):
        sim.reset(ts.State(ts.load("pendulum")))
    with pytest.raises(ts.Error, match="q"):
        sim.state.assign(ts.State(ts.load("pendulum")))


def test_parameters_take_effect(ball: ts.Model) -> None:
    sim = ts.Simulator(ball)
    sim.reset("up")
    sim.parameters.gravity[2] = -1.62
    sim.step(100)
    assert sim.state.v[2] == pytest.approx(-0.162, rel=1e-12)
    sim.parameters.set_mass(1, 4.0)
    assert sim.parameters.mass(1) == pytest.approx(4.0)
    with pytest.raises(ts.Error, match="mass is -1"):
        sim.parameters.set_mass(1, -1.0)
    friction = sim.parameters.shape_friction
    assert friction.shape == (2, 3)
    friction[:, 0] = 0.25
    np.testing.assert_array_equal(sim.parameters.shape_friction[:, 0], 0.25)
    assert ball.shape("ball").friction[0] == 0.5  # the model is not touched


def test_mocap_bodies_follow() -> None:
    b = ts.ModelBuilder()
    b.add_body("hand", mocap=True)
    b.add_shape("hand", ts.Shape.sphere(0.1))
    model = b.build()
    state = ts.State(model)
    state.set_mocap(0, ts.Transform([1, 2, 3]))
    np.testing.assert_array_equal(state.mocap_positions, [[1, 2, 3]])
    sim = ts.Simulator(model)
    sim.reset(state)
    np.testing.assert_array_equal(sim.pose("hand").position, [1, 2, 3])
    with pytest.raises(ts.Error, match="mocap body 1"):
        state.mocap(1)
