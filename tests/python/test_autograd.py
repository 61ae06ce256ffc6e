"""Gradients through many steps."""

import numpy as np
import pytest

import touchstone as ts

BALL = """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 1" friction="0.1"/>
  <body name="ball" pos="0 0 0.1"><freejoint/><geom name="ball" type="sphere" size="0.1" friction="0.3"/></body>
  </worldbody></mujoco>"""

ARM = """<mujoco><option timestep="0.002"/><worldbody>
  <body name="upper" pos="0 0 1"><joint name="a" axis="0 1 0" damping="0.2"/>
  <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
  <body name="lower" pos="0.3 0 0"><joint name="b" axis="0 0 1" damping="0.1"/>
  <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
  </body></body></worldbody><actuator><position joint="a" kp="20" kv="0.3"/><motor joint="b"/></actuator></mujoco>"""


def exact(xml):
    return ts.Simulator(ts.load_string(xml), tolerance=1e-13)


def differences(function, x, t=1e-6):
    """The gradient of a number, in the shape of x."""
    gradient = np.zeros(x.size)
    for i in range(x.size):
        e = np.zeros(x.size)
        e[i] = t
        gradient[i] = (function(x + e.reshape(x.shape)) - function(x - e.reshape(x.shape))) / (2 * t)
    return gradient.reshape(x.shape)


@pytest.mark.parametrize("steps", [1, 7, 40])
def test_gradients_of_an_arm_are_those_of_differences(steps):
    rng = np.random.default_rng(steps)
    rollout = ts.autograd.Rollout(exact(ARM), steps, inertias=["lower"], gains=[0], dampings=[1], gravity=True)
    q0, v0, u = rng.normal(size=2), rng.normal(size=2), rng.normal(size=(steps, 2))
    theta = rollout.theta
    assert theta.shape == (3 + 10 + 6 + 1,)
    w_q, w_v = rng.normal(size=(steps, 2)), rng.normal(size=(steps, 2))

    def loss(q0=q0, v0=v0, u=u, theta=theta):
        q, v, _ = rollout.run(q0, v0, controls=u, theta=theta)
        return (w_q * q).sum() + (w_v * v).sum()

    expected = [
        differences(lambda x: loss(q0=x), q0),
        differences(lambda x: loss(v0=x), v0),
        differences(lambda x: loss(u=x), u),
        differences(lambda x: loss(theta=x), theta),
    ]
    loss()
    g = rollout.vjp(q_bar=w_q, v_bar=w_v)
    for actual, wanted in zip((g.q0, g.v0, g.controls, g.theta), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(wanted).max()))


def test_friction_of_a_sliding_ball():
    """x' = v - mu g t while it slides: the way of n steps falls by g h^2 n (n + 1) / 2 with mu."""
    steps, h = 30, 0.002
    rollout = ts.autograd.Rollout(exact(BALL), steps, frictions=["ball", "floor"])
    q, _, _ = rollout.run([0, 0, 0.1, 1, 0, 0, 0], [2.0, 0, 0, 0, 0, 0])
    q_bar = np.zeros_like(q)
    q_bar[-1, 0] = 1.0
    g = rollout.vjp(q_bar=q_bar)
    expected = -9.81 * h * h * steps * (steps + 1) / 2
    np.testing.assert_allclose(g.theta, [expected, 0.0], rtol=1e-6, atol=1e-12)  # the rougher surface decides
    assert g.v0[0] == pytest.approx(steps * h, rel=1e-6)
    assert g.q0.shape == (7,)


def test_turns_have_gradients_of_four_numbers():
    """Along the manifold they are those of differences, across it there is none."""
    rollout = ts.autograd.Rollout(exact(BALL), 5)
    q0, v0 = np.array([0, 0, 1.0, 0.5, 0.5, -0.5, 0.5]), np.array([0, 0, 0, 1.0, -2.0, 3.0])
    weights = np.arange(1.0, 36.0).reshape(5, 7)

    def loss(q):
        return (weights * rollout.run(q / np.r_[1, 1, 1, np.full(4, np.linalg.norm(q[3:]))], v0)[0]).sum()

    expected = differences(loss, q0)
    loss(q0)
    g = rollout.vjp(q_bar=weights)
    np.testing.assert_allclose(g.q0, expected, rtol=1e-5, atol=1e-5)
    assert abs(g.q0[3:] @ q0[3:]) < 1e-9


def test_many_worlds_in_threads_give_what_each_gives_alone():
    rollouts = [ts.autograd.Rollout(exact(ARM), 20) for _ in range(4)]
    starts = [{"q0": np.full(2, 0.1 * k), "v0": np.zeros(2)} for k in range(4)]
    states = ts.autograd.run_all(rollouts, starts, threads=2)
    bars = [{"q_bar": np.ones((20, 2))} for _ in range(4)]
    gradients = ts.autograd.vjp_all(rollouts, bars, threads=2)
    for rollout, start, bar, state, gradient in zip(rollouts, starts, bars, states, gradients, strict=True):
        np.testing.assert_array_equal(rollout.run(**start)[0], state[0])
        np.testing.assert_array_equal(rollout.vjp(**bar).q0, gradient.q0)


def test_what_is_not_given_is_as_the_simulator_had_it():
    """Whatever has run before: the control, mocap bodies and the time of when the rollout was made."""
    hand = """<body name="hand" mocap="true" pos="0 0 1"/><body name="held" pos="0 0 1"><freejoint/>
      <geom size="0.1" contype="0" conaffinity="0"/></body></worldbody>
      <equality><weld body1="hand" body2="held"/></equality>"""
    sim = exact(ARM.replace("</worldbody>", hand))
    sim.control[:] = [0.4, -0.3]
    sim.state.set_mocap(0, ts.Transform([0.01, 0, 1], [1, 0, 0, 0]))
    sim.state.time = 2.0
    rollout = ts.autograd.Rollout(sim, 5)
    q0, v0 = np.array(sim.state.q), np.zeros(8)
    q, v, _ = rollout.run(q0, v0)
    assert sim.state.time == pytest.approx(2.0 + 5 * 0.002)
    assert abs(q[-1, 2]) > 1e-4  # held where the hand was put
    np.testing.assert_array_equal(rollout.controls, np.tile([0.4, -0.3], (5, 1)))
    rollout.run(q0, v0, controls=np.arange(10.0).reshape(5, 2))
    np.testing.assert_array_equal(rollout.run(q0, v0)[0], q)
    np.testing.assert_array_equal(rollout.run(q0, v0, controls=rollout.controls)[1], v)


def test_jvp_and_vjp_are_transposes():
    sim = exact(BALL)
    sim.state.v[:] = [1.0, 0.5, 0, 0, 0, 0]
    gradient = ts.StepGradient(sim, gravity=True, frictions=["ball"])
    with pytest.raises(ts.Error, match="linearise"):
        gradient.vjp(np.zeros(12))
    sim.step()
    gradient.linearise()
    rng = np.random.default_rng(0)
    dx, dtheta, y = rng.normal(size=12), rng.normal(size=4), rng.normal(size=12)
    x_bar, _, theta_bar = gradient.vjp(y)
    assert y @ gradient.jvp(dx, dtheta=dtheta) == pytest.approx(x_bar @ dx + theta_bar @ dtheta, rel=1e-10)
    j = gradient.jacobians()
    np.testing.assert_allclose(j.C.T @ y, theta_bar, rtol=1e-9, atol=1e-12)


def test_bad_input_says_what_is_wrong():
    sim = exact(ARM)
    with pytest.raises(ts.Error, match="nobody"):
        ts.autograd.Rollout(sim, 3, inertias=["nobody"])
    with pytest.raises(ts.Error, match="at least one step"):
        ts.autograd.Rollout(sim, 0)
    with pytest.raises(ts.Error, match="run"):
        ts.autograd.Rollout(sim, 3).vjp()


def test_torch_has_the_same_gradients():
    torch = pytest.importorskip("torch")
    rollout = ts.autograd.Rollout(exact(ARM), 12, dampings=[0])
    f = ts.autograd.torch_function(rollout)
    q0 = torch.tensor([0.1, -0.2], dtype=torch.float64, requires_grad=True)
    v0 = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    u = torch.full((12, 2), 0.3, dtype=torch.float64, requires_grad=True)
    theta = torch.tensor(rollout.theta, requires_grad=True)
    q, v = f(q0, v0, u, theta)
    (q.sum() + 2 * v.sum()).backward()
    g = rollout.vjp(q_bar=np.ones((12, 2)), v_bar=np.full((12, 2), 2.0))
    for actual, expected in ((q0, g.q0), (v0, g.v0), (u, g.controls), (theta, g.theta)):
        np.testing.assert_allclose(actual.grad.numpy(), expected)


def test_torch_has_the_same_controls_unless_given():
    torch = pytest.importorskip("torch")
    sim = exact(ARM)
    sim.control[:] = [0.4, -0.3]
    rollout = ts.autograd.Rollout(sim, 6)
    q0, v0 = np.array([0.1, -0.2]), np.zeros(2)
    expected, _, _ = rollout.run(q0, v0)
    q, _ = ts.autograd.torch_function(rollout)(torch.tensor(q0), torch.tensor(v0))
    np.testing.assert_array_equal(q.numpy(), expected)


def test_torch_is_differentiated_once():
    torch = pytest.importorskip("torch")
    f = ts.autograd.torch_function(ts.autograd.Rollout(exact(ARM), 4))
    q0 = torch.tensor([0.1, -0.2], dtype=torch.float64, requires_grad=True)
    q, _ = f(q0, torch.zeros(2, dtype=torch.float64))
    (by_q,) = torch.autograd.grad(q.square().sum(), q0, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        by_q.sum().backward()


def test_torch_gives_results_where_its_inputs_are():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    f = ts.autograd.torch_function(ts.autograd.Rollout(exact(ARM), 4))
    q0 = torch.tensor([0.1, -0.2], device="cuda", requires_grad=True)
    v0 = torch.zeros(2, device="cuda", requires_grad=True)
    q, v = f(q0, v0)
    assert q.device == v.device == q0.device and q.dtype == q0.dtype
    (q.sum() + v.sum()).backward()
    assert q0.grad.device == v0.grad.device == q0.device


def test_jax_has_the_same_controls_unless_given():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    sim = exact(ARM)
    sim.control[:] = [0.4, -0.3]
    rollout = ts.autograd.Rollout(sim, 6)
    q0, v0 = np.array([0.1, -0.2]), np.zeros(2)
    expected, _, _ = rollout.run(q0, v0)
    np.testing.assert_allclose(ts.autograd.jax_function(rollout)(q0, v0)[0], expected)


def test_jax_has_the_same_gradients():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    rollout = ts.autograd.Rollout(exact(ARM), 12)
    f = ts.autograd.jax_function(rollout)
    q0, v0, u = np.array([0.1, -0.2]), np.zeros(2), np.full((12, 2), 0.3)
    by_q, by_v, by_u = jax.jit(jax.grad(lambda *x: f(*x)[0].sum(), argnums=(0, 1, 2)))(q0, v0, u)
    rollout.run(q0, v0, controls=u)
    g = rollout.vjp(q_bar=np.ones((12, 2)))
    for actual, expected in ((by_q, g.q0), (by_v, g.v0), (by_u, g.controls)):
        np.testing.assert_allclose(np.asarray(actual), expected)
