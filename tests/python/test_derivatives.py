"""Derivatives of dynamics and of whole steps."""

import numpy as np
import pytest

import touchstone as ts

ARM = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 1" friction="0.6"/>
  <body pos="0 0 1"><joint name="a" axis="0 1 0" damping="0.2"/>
  <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
  <body pos="0.3 0 0"><joint name="b" axis="0 0 1" damping="0.1"/>
  <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
  </body></body></worldbody><actuator><position joint="a" kp="20"/><motor joint="b"/></actuator></mujoco>"""

BALL = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="5 5 1" friction="0.3"/>
  <body pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" friction="0.3"/></body></worldbody></mujoco>"""


def step_from(model, q, v, u, **options):
    sim = ts.Simulator(model, tolerance=1e-13, **options)
    sim.state.q[:] = q
    sim.state.v[:] = v
    if model.nu:
        sim.control[:] = u
    sim.keep_starts()
    sim.step()
    return sim


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"substeps": 4},
        {"integrator": "variational"},
        {"integrator": "contact-implicit"},
        {"integrator": "contact-implicit", "substeps": 3},
        {"integrator": "event"},
        {"integrator": "event", "substeps": 2},
    ],
)
def test_jacobians_of_an_arm_are_those_of_differences(options):
    model = ts.load_string(ARM)
    q, v, u = np.array([0.3, -0.4]), np.array([1.0, -2.0]), np.array([0.1, 0.2])
    j = step_from(model, q, v, u, **options).jacobians()
    assert j.A.shape == (4, 4)
    assert j.B.shape == (4, 2)

    def end(x):
        sim = step_from(model, x[:2], x[2:4], x[4:], **options)
        return np.concatenate([sim.state.q, sim.state.v])

    x, t = np.concatenate([q, v, u]), 1e-5
    expected = np.column_stack([(end(x + t * e) - end(x - t * e)) / (2 * t) for e in np.eye(6)])
    np.testing.assert_allclose(np.hstack([j.A, j.B]), expected, rtol=1e-6, atol=1e-7)
    assert (j.held_contacts, j.held_actuators, j.held_recovery) == (0, 0, False)


def test_reverse_mode_is_the_transpose():
    model = ts.load_string(ARM)
    j = step_from(model, [0.1, 0.2], [0.3, 0.4], [0.0, 1.0]).jacobians()
    bar = np.array([1.0, -2.0, 3.0, 0.5])
    x_bar, u_bar = j.vjp(bar)
    np.testing.assert_allclose(x_bar, j.A.T @ bar)
    np.testing.assert_allclose(u_bar, j.B.T @ bar)


def test_a_sliding_ball_slows_down_with_its_load_alone():
    """Along the slip: v_x' = v_x - mu g h, whatever v_x. Sideways friction turns with the slip."""
    model = ts.load_string(BALL)
    sim = step_from(model, [0, 0, 0.1, 1, 0, 0, 0], [2.0, 0, 0, 0, 0, 0], [])
    j = sim.jacobians()
    change = 0.3 * 9.81 * 0.002
    assert sim.state.v[0] == pytest.approx(2.0 - change, abs=1e-9)
    assert j.A[6, 6] == pytest.approx(1.0, abs=1e-9)
    turn = change / (2.0 - 3.5 * change)  # a solid ball's surface gives way 3.5 times as much as its centre
    assert j.A[7, 7] == pytest.approx(1.0 - turn / (1.0 + 3.5 * turn), abs=1e-8)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_a_rod_on_a_loop_joint_is_a_pendulum(integrator):
    """A rod hangs at rest: (I + h d) dv' = I dv for turns about its pin; at the middle it has swung by h/2 dv."""
    b = ts.ModelBuilder("pendulum")
    b.add_body("rod", position=[0, 0, -0.5], mass=1.0, inertia=np.diag([0.02, 0.02, 0.001]))
    b.add_joint("rod", "free", name="free")
    b.add_loop_joint("revolute", "world", "rod", name="pin", axis=[0, 1, 0], damping=0.1)
    b.add_motor("motor", loop_joint="pin", gear=[2.0])
    h, inertia, swing = 2e-3, 0.02 + 0.25, 9.81 * 0.5
    sim = ts.Simulator(b.build(), dt=h, integrator=integrator)
    sim.step()
    j = sim.jacobians()
    about_pin = np.array([-0.5, 0, 0, 0, 1, 0])
    ahead = 0.5 * h if integrator == "midpoint" else 0.0
    expected = (inertia - h * ahead * swing) / (inertia + h * 0.1)
    np.testing.assert_allclose(j.A[6:, 6:] @ about_pin, expected * about_pin, atol=1e-7)
    np.testing.assert_allclose(j.B[6:, 0], 2.0 * h / (inertia + h * 0.1) * about_pin, atol=1e-9)
    assert (j.held_contacts, j.held_actuators, j.held_recovery) == (0, 0, False)


def test_smoothing_sees_the_ground_before_it_is_touched():
    """A ball that ends 1 mm/s short of the ground: exact derivatives are those of flight; smoothed ones are not."""
    model = ts.load_string(BALL)
    h, gap = 0.002, 1e-4
    speed = gap / h - 9.81 * h - 1e-3
    sim = step_from(model, [0, 0, 0.1 + gap, 1, 0, 0, 0], [0, 0, -speed, 0, 0, 0], [])
    assert sim.jacobians().A[8, 8] == pytest.approx(1.0, abs=1e-9)
    # u = 1e-3 m/s: u lambda d = width^2 with d lambda = u - 1e-3.
    width, u = 1e-3, 1e-3
    expected = 0.5 * (1 + u / np.sqrt(u**2 + 4 * width**2))
    assert sim.jacobians(smoothing=width).A[8, 8] == pytest.approx(expected, abs=1e-6)
    assert sim.jacobians(smoothing=1e-7).A[8, 8] == pytest.approx(1.0, abs=1e-6)
    assert not sim.jacobians(smoothing=width).held_smoothing
    assert sim.jacobians(smoothing=1e200).held_smoothing  # its square is no number
    with pytest.raises(ts.Error, match="smoothing of -1"):
        sim.jacobians(smoothing=-1)


def test_dynamics_derivatives_agree_with_each_other():
    model = ts.load_string(ARM)
    q, v, a = [0.3, -0.4], [1.0, -2.0], [0.5, 0.7]
    dtau_dq, dtau_dv, dtau_da = ts.inverse_dynamics_derivatives(model, q, v, a)
    tau = ts.Dynamics(model).inverse_dynamics(q, v, a)
    da_dq, da_dv, da_dtau = ts.forward_dynamics_derivatives(model, q, v, tau)
    np.testing.assert_allclose(da_dtau @ dtau_da, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(da_dq, -da_dtau @ dtau_dq, atol=1e-10)
    np.testing.assert_allclose(da_dv, -da_dtau @ dtau_dv, atol=1e-10)


def test_regressor_and_log_cholesky():
    model = ts.load_string(ARM)
    Y = ts.regressor(model, [0.3, -0.4], [1.0, -2.0], [0.5, 0.7])
    assert Y.shape == (2, 10 * model.nbody)
    theta = np.linspace(-0.5, 0.4, 10)
    pi, by_theta = ts.from_log_cholesky(theta)
    assert pi[0] > 0
    np.testing.assert_allclose(ts.to_log_cholesky(pi), theta, atol=1e-10)
    t = 1e-6
    step = t * np.eye(10)[4]
    column = (ts.from_log_cholesky(theta + step)[0] - ts.from_log_cholesky(theta - step)[0]) / (2 * t)
    np.testing.assert_allclose(by_theta[:, 4], column, atol=1e-8)


def test_refusals():
    model = ts.load_string(ARM)
    with pytest.raises(ts.Error, match="make one first"):
        ts.Simulator(model).jacobians()
    sim = ts.Simulator(model, constraints="mujoco", solver="raisim")
    sim.step()
    with pytest.raises(ts.Error, match="softened constraints"):
        sim.jacobians()
    sim = ts.Simulator(model, integrator="contact-implicit")
    sim.step()
    with pytest.raises(ts.Error, match="integrator 'contact-implicit'"):
        sim.jacobians(smoothing=1e-3)
    sim = ts.Simulator(model, substeps=2)
    sim.step()
    with pytest.raises(ts.Error, match="keep_starts"):
        sim.jacobians()
    with pytest.raises(ts.Error):
        ts.inverse_dynamics_derivatives(model, [0.0], [0.0], [0.0])


def test_derivatives_of_a_point_are_those_of_differences():
    model = ts.load_string(ARM)
    rng = np.random.default_rng(4)
    q, v, a = rng.normal(size=(3, model.nv))
    body, t = 2, 1e-5
    dynamics = ts.Dynamics(model)

    def look(q, v):
        dynamics.update(q, v)
        return dynamics.velocity(body), dynamics.jacobian(body)

    dv_dq, da_dq, da_dv = ts.point_derivatives(model, q, v, a, body)
    dJ = ts.jacobian_derivative(model, q, body)
    assert dJ.shape == (6, model.nv, model.nv)
    for k, e in enumerate(np.eye(model.nv)):
        (ahead, J_ahead), (behind, J_behind) = look(q + t * e, v), look(q - t * e, v)
        np.testing.assert_allclose(dv_dq[:, k], (ahead - behind) / (2 * t), atol=1e-8)
        np.testing.assert_allclose(dJ[:, :, k], (J_ahead - J_behind) / (2 * t), atol=1e-8)
    # The acceleration is J a + dJ/dq(v) v, so that it is linear in v twice: da/dv v is twice its part by velocities.
    np.testing.assert_allclose(da_dv @ v, 2 * np.einsum("rik,i,k->r", dJ, v, v), atol=1e-10)
    still = ts.point_derivatives(model, q, 0 * v, a, body)[1]
    np.testing.assert_allclose(still, np.einsum("rik,i->rk", dJ, a), atol=1e-10)
    assert da_dq.shape == (6, model.nv)


def test_energy_gradients_are_those_of_differences():
    model = ts.load_string(ARM)
    rng = np.random.default_rng(5)
    q, v = rng.normal(size=(2, model.nv))
    dynamics = ts.Dynamics(model)

    def energies(q, v):
        dynamics.update(q, v)
        return np.array([dynamics.kinetic_energy(), dynamics.potential_energy()])

    t, unit = 1e-5, np.eye(model.nv)
    by_q = np.array([(energies(q + t * e, v) - energies(q - t * e, v)) / (2 * t) for e in unit])
    by_v = np.array([(energies(q, v + t * e) - energies(q, v - t * e)) / (2 * t) for e in unit])
    kinetic_by_q, kinetic_by_v, potential_by_q = ts.energy_gradients(model, q, v)
    np.testing.assert_allclose(kinetic_by_q, by_q[:, 0], atol=1e-8)
    np.testing.assert_allclose(kinetic_by_v, by_v[:, 0], atol=1e-8)
    np.testing.assert_allclose(potential_by_q, by_q[:, 1], atol=1e-8)
