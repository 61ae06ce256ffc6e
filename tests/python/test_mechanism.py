"""Closed chains: configurations, velocities, mobility."""

from __future__ import annotations

import numpy as np
import pytest

import touchstone as ts


def test_close_loops_and_project() -> None:
    scene = ts.scene("loops/four-bar")
    q = scene.start.q + np.array([0.1, -0.2, 0.05])
    closure = ts.close_loops(scene.model, q)
    assert closure and closure.closed and closure.error < 1e-9
    assert closure.open == {}
    held = ts.close_loops(scene.model, q, held=["crank"], metric="plain")
    assert held.closed and held.q[0] == q[0]
    sim = scene.simulator()
    sim.state.q[:] = q
    sim.state.v[:] = [1.0, 0.0, 0.0]
    assert sim.project().closed
    np.testing.assert_allclose(sim.state.q, closure.q, atol=1e-12)
    mechanism = ts.Mechanism(scene.model)
    np.testing.assert_allclose(mechanism.project_velocity(sim.state.q, sim.state.v), sim.state.v, atol=1e-12)


def test_forward_kinematics_and_jacobian() -> None:
    scene = ts.scene("loops/slider-crank")
    mechanism = ts.Mechanism(scene.model)
    there = mechanism.move_to(scene.start.q, {"crank": 1.0})
    assert there.closed and there.reached == 1.0
    r, rod, start = 0.2, 0.6, np.radians(40.0)

    def piston(angle: float) -> float:
        return r * np.cos(angle) + np.sqrt(rod**2 - (r * np.sin(angle)) ** 2)

    slide = scene.model.joint("piston").q_slice
    assert there.q[slide][0] == pytest.approx(piston(start + 1.0) - piston(start), abs=1e-8)
    J = mechanism.jacobian(there.q, ["crank"])
    rate = (piston(start + 1.0 + 1e-6) - piston(start + 1.0 - 1e-6)) / 2e-6
    assert J.J[2, 0] == pytest.approx(rate, abs=1e-8)
    assert J.free == 0 and J.error[0] < 1e-9 and np.asarray(J).shape == (3, 1)
    V = mechanism.project_velocity(there.q, np.eye(3))
    assert V.shape == (3, 3)
    assert np.linalg.matrix_rank(V, tol=1e-8) == 1


def test_loop_joints_drive_and_count_turns() -> None:
    builder = ts.ModelBuilder("screw")
    builder.add_body("nut", mass=1.0, inertia=np.eye(3) * 0.1)
    builder.add_joint("nut", "free", name="free")
    builder.add_loop_joint("screw", "world", "nut", name="thread", pitch=0.004)
    model = builder.build()
    mechanism = ts.Mechanism(model)
    there = mechanism.move_to(ts.State(model), {"thread": 20.0})
    assert there.closed
    assert there.state.loop_q[0] == pytest.approx(20.0, abs=1e-8)
    assert there.q[2] == pytest.approx(0.08, abs=1e-8)
    assert np.allclose(mechanism.close(there.state).q, there.q, atol=1e-9)
    assert mechanism.jacobian(there.state, ["thread"]).J[2, 0] == pytest.approx(0.004, abs=1e-9)
    assert mechanism.move_to(there.state, {("thread", 0): 21.0}).closed
    with pytest.raises(ts.Error, match="coordinate 1"):
        mechanism.jacobian(there.state, [("thread", 1)])


def test_mobility_and_errors() -> None:
    model = ts.load("loops/bennett")
    mobility = ts.Mechanism(model).mobility()
    assert (mobility.gruebler, mobility.mobility, mobility.redundancy) == (-3, 1, 4)
    assert "1 dofs left of 3" in repr(mobility)
    with pytest.raises(ts.Error, match="metric"):
        ts.close_loops(model, model.reference_q, metric="none")
    with pytest.raises(ts.Error):
        ts.Mechanism(model).move_to(model.reference_q, {"no such joint": 0.0})
