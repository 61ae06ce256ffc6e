"""Derivatives of distances, and inverse dynamics with contact."""

import numpy as np
import pytest

import touchstone as ts

BOX = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 1" friction="0.4"/>
  <body name="box" pos="0 0 0.1"><freejoint/><geom name="box" type="box" size="0.2 0.15 0.1" mass="3" friction="0.4"/>
  </body></worldbody></mujoco>"""


def pose(position, quaternion=(1, 0, 0, 0)):
    return ts.Transform(position, quaternion)


def test_distance_derivatives_are_those_of_differences():
    a, b = ts.Shape.ellipsoid([0.3, 0.2, 0.1]), ts.Shape.box([0.2, 0.1, 0.3])
    q = np.array([0.9, 0.2, -0.3, 0.1]) / np.linalg.norm([0.9, 0.2, -0.3, 0.1])
    there = np.array([0.5, 0.4, 0.3])
    d = ts.distance_derivatives(a, pose([0, 0, 0]), b, pose(there, q))
    assert d.valid and d.unique
    t = 1e-5
    for k in range(3):
        e = t * np.eye(3)[k]
        ends = [ts.distance_derivatives(a, pose([0, 0, 0]), b, pose(there + s * e, q)).contact for s in (1, -1)]
        np.testing.assert_allclose(d.by_b.distance[k], (ends[0].distance - ends[1].distance) / (2 * t), atol=1e-7)
        np.testing.assert_allclose(d.by_b.point_a[:, k], (ends[0].point_a - ends[1].point_a) / (2 * t), atol=1e-6)
        np.testing.assert_allclose(d.by_b.normal[:, k], (ends[0].normal - ends[1].normal) / (2 * t), atol=1e-6)
    np.testing.assert_allclose(d.by_a.distance[:3], -d.by_b.distance[:3], atol=1e-12)
    sizes = [p for p in d.by_shape if p["kind"] == "size" and p["shape"] == "a"]
    assert [p["index"] for p in sizes] == [0, 1, 2]
    grown = ts.distance_derivatives(ts.Shape.ellipsoid([0.3 + t, 0.2, 0.1]), pose([0, 0, 0]), b, pose(there, q))
    np.testing.assert_allclose((grown.contact.distance - d.contact.distance) / t, sizes[0]["distance"], atol=1e-4)


@pytest.mark.parametrize("method", ["zeroth-order", "gaussian", "gumbel"])
def test_smoothed_derivatives_see_the_curvature_of_a_hull(method):
    """Two boxes corner to corner: exactly their points stay in them; smoothed they move."""
    a, b = ts.Shape.box([0.2, 0.2, 0.2]), ts.Shape.box([0.2, 0.2, 0.2])
    at = pose([0, 0, 0]), pose([0.6, 0.65, 0.7])
    exact = ts.distance_derivatives(a, at[0], b, at[1])
    smooth = ts.distance_derivatives(a, at[0], b, at[1], method=method, noise=0.3)
    assert np.abs(exact.by_b.point_a).max() < 1e-12
    assert np.linalg.norm(smooth.by_b.point_a[:, :3]) > 1e-3
    again = ts.distance_derivatives(a, at[0], b, at[1], method=method, noise=0.3)
    assert np.array_equal(smooth.by_b.point_a, again.by_b.point_a)


def test_bad_options_are_named():
    a = ts.Shape.sphere(0.1)
    with pytest.raises(ts.Error, match="exact, zeroth-order, gaussian and gumbel"):
        ts.distance_derivatives(a, pose([0, 0, 0]), a, pose([1, 0, 0]), method="best")


def test_inverse_dynamics_of_a_box_at_rest():
    sim = ts.Simulator(ts.load_string(BOX))
    f = ts.inverse_contact_dynamics(sim, np.zeros(6))
    assert f.solved and f.residual_norm < 1e-6 and f.violation < 1e-9
    np.testing.assert_allclose(np.abs(f.force[:, 2]), 3 * 9.81 / 4, atol=1e-6)
    lifted = ts.inverse_contact_dynamics(sim, np.zeros(6), actuated=[0, 1, 2, 3, 4, 5])
    np.testing.assert_allclose(lifted.tau[2], 3 * 9.81, atol=1e-9)
    np.testing.assert_array_equal(sim.state.v, np.zeros(6))


def test_inverse_dynamics_take_the_parameters_of_the_simulator():
    sim = ts.Simulator(ts.load_string(BOX))
    sim.parameters.set_mass(1, 5.0)
    sim.parameters.gravity[2] = -4.0
    f = ts.inverse_contact_dynamics(sim, np.zeros(6), actuated=[0, 1, 2, 3, 4, 5])
    np.testing.assert_allclose(f.tau[2], 5 * 4.0, atol=1e-9)
    np.testing.assert_allclose(ts.inverse_contact_dynamics(sim, np.zeros(6)).force[:, 2].sum(), 5 * 4.0, atol=1e-6)
    with pytest.raises(ts.Error, match="integrator=euler"):
        ts.inverse_contact_dynamics(ts.Simulator(sim.model, integrator="midpoint"), np.zeros(6))


def test_the_step_takes_other_gradients_of_collision():
    xml = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
      <body pos="0 0 0.2" quat="0.9 0.3 0.2 0.1"><freejoint/><geom name="hull" type="box" size="0.1 0.1 0.1"/></body>
      </worldbody></mujoco>"""
    sim = ts.Simulator(ts.load_string(xml))
    for _ in range(400):
        sim.step()
        if len(sim.contacts.distance) == 1 and sim.contacts.force[0, 2] > 0:
            break
    exact = ts.StepGradient(sim)
    smooth = ts.StepGradient(sim)
    smooth.set_collision("gumbel", noise=0.01, a="floor", b="hull")
    A, B = exact.jacobians().A, smooth.jacobians().A
    assert np.isfinite(B).all() and np.abs(A - B).max() > 1e-6
