"""Kinematics and dynamics: identities that need no other engine, and layouts of others."""

from __future__ import annotations

import numpy as np
import pytest

import touchstone as ts


def test_forward_and_inverse_dynamics_are_inverse(quadruped: ts.Model, rng: np.random.Generator) -> None:
    dynamics = ts.Dynamics(quadruped)
    q, v = quadruped.random_configuration(4), rng.normal(size=quadruped.nv)
    tau = rng.normal(size=quadruped.nv)
    a = dynamics.forward_dynamics(q, v, tau)
    dynamics.update(q, v)
    np.testing.assert_allclose(dynamics.mass_matrix() @ a + dynamics.bias(), tau, atol=1e-9)
    armature = np.array([quadruped.joints[0].armature] * 6 + [j.armature for j in quadruped.joints[1:]])
    np.testing.assert_allclose(dynamics.inverse_dynamics(q, v, a) + armature * a, tau, atol=1e-9)


def test_jacobians_are_derivatives(quadruped: ts.Model, rng: np.random.Generator) -> None:
    dynamics = ts.Dynamics(quadruped)
    q, v = quadruped.random_configuration(5), rng.normal(size=quadruped.nv)
    h = 1e-6
    dynamics.update(quadruped.integrate(q, v, -h))
    before = dynamics.pose("FL_shank").position
    dynamics.update(quadruped.integrate(q, v, h))
    after = dynamics.pose("FL_shank").position
    dynamics.update(q, v)
    J = dynamics.jacobian("FL_shank")
    np.testing.assert_allclose(J[:3] @ v, (after - before) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(J @ v, dynamics.velocity("FL_shank"), atol=1e-12)
    assert 0.5 * v @ dynamics.mass_matrix() @ v == pytest.approx(dynamics.kinetic_energy(), rel=1e-12)


def test_asking_too_early_is_an_error(quadruped: ts.Model) -> None:
    with pytest.raises(ts.Error, match="call update"):
        ts.Dynamics(quadruped).mass_matrix()


def test_pinocchio_layout(quadruped: ts.Model, rng: np.random.Generator) -> None:
    layout = ts.PinocchioLayout(quadruped)
    q, v = quadruped.random_configuration(6), rng.normal(size=quadruped.nv)
    theirs = layout.q_to_pinocchio(q)
    np.testing.assert_allclose(theirs[3:7], q[[4, 5, 6, 3]])
    np.testing.assert_allclose(layout.q_from_pinocchio(theirs), q, atol=1e-14)
    their_v = layout.v_to_pinocchio(q, v)
    dynamics = ts.Dynamics(quadruped)
    dynamics.update(q)
    np.testing.assert_allclose(their_v[:3], dynamics.pose("trunk").rotation.T @ v[:3], atol=1e-12)
    np.testing.assert_allclose(layout.velocity_map(q) @ v, their_v, atol=1e-12)
    np.testing.assert_allclose(layout.v_from_pinocchio(q, their_v), v, atol=1e-12)
    force = rng.normal(size=quadruped.nv)
    assert layout.force_to_pinocchio(q, force) @ their_v == pytest.approx(force @ v, rel=1e-12)
    with pytest.raises(ts.Error):
        ts.PinocchioLayout(quadruped, ["no such joint"])
