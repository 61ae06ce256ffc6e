"""Gradients through many steps: plain numpy, PyTorch and JAX.

    sim = ts.Simulator(model)
    rollout = ts.autograd.Rollout(sim, steps=200, frictions=["cube"])
    q, v, activation = rollout.run(q0, v0, controls=controls, theta=rollout.theta)
    gradients = rollout.vjp(q_bar=q_bar, v_bar=v_bar)      # .q0, .v0, .activation0, .controls, .theta

    f = ts.autograd.torch_function(rollout)                # f(q0, v0, controls, theta) -> q, v, with backward()
    f = ts.autograd.jax_function(rollout)                  # the same, with jax.grad (outside of jit and within)

Configurations are given with all their numbers (nq; quaternions w x y z). Gradients by them have as many: the one of
least norm that is right for every motion on the manifold, so that steps along it stay nearly there. Only every k-th
state is kept, k about the root of the number of steps; a gradient makes each step once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from ._core import Error, Model, Simulator, StepGradient

Array = npt.NDArray[np.float64]
Names = Sequence[Union[int, str]]


@dataclass
class Gradients:
    """Of one number by everything a rollout starts from."""

    q0: Array
    v0: Array
    activation0: Array
    controls: Array
    theta: Array


def _quaternions(model: Model) -> list[tuple[int, int]]:
    """Where quaternions are in q, and their turns in v."""
    places, q, v = [], 0, 0
    for joint in model.joints:
        if joint.type == "free":
            places.append((q + 3, v + 3))
        elif joint.type == "ball":
            places.append((q, v))
        size = {"free": (7, 6), "ball": (4, 3)}.get(joint.type, (1, 1))
        q, v = q + size[0], v + size[1]
    return places


def _turn(quaternion: Array) -> Array:
    """dq/dw of q exp(w): half the quaternion times the axes, 4 x 3."""
    w, x, y, z = quaternion
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


class Rollout:
    """Some steps of a simulator as a function that can be differentiated. It owns the simulator while it runs.

    What `run` is not given is as the simulator had it when the rollout was made: the control (in every step), the poses
    of mocap bodies and the time. So the same arguments give the same states, whatever has run before.
    """

    def __init__(
        self,
        simulator: Simulator,
        steps: int,
        *,
        gravity: bool = False,
        inertias: Names = (),
        frictions: Names = (),
        restitutions: Names = (),
        stiffnesses: Names = (),
        dissipations: Names = (),
        relaxations: Names = (),
        gains: Names = (),
        dampings: Sequence[int] = (),
        armatures: Sequence[int] = (),
        joint_frictions: Sequence[int] = (),
    ) -> None:
        if steps < 1:
            raise Error(f"a rollout needs at least one step, not {steps}")
        self.simulator, self.steps = simulator, steps
        self.model = simulator.model
        self._start, self._control = simulator.state.copy(), np.array(simulator.control)
        self._every = max(1, math.isqrt(steps))
        self._make: Callable[[], StepGradient] = lambda: StepGradient(
            simulator,
            gravity=gravity,
            inertias=list(inertias),
            frictions=list(frictions),
            restitutions=list(restitutions),
            stiffnesses=list(stiffnesses),
            dissipations=list(dissipations),
            relaxations=list(relaxations),
            gains=list(gains),
            dampings=list(dampings),
            armatures=list(armatures),
            joint_frictions=list(joint_frictions),
        )
        self._gradients = [self._make()]  # one for each step between two states that are kept
        self._quaternions = _quaternions(self.model)
        self._kept: list[Any] = []
        self._q = np.zeros((0, self.model.nq))
        self._controls = np.zeros((0, self.model.nu))

    @property
    def theta(self) -> Array:
        """The parameters as the simulator has them."""
        return np.array(self._gradients[0].theta)

    @property
    def controls(self) -> Array:
        """What acts where `run` is given none, steps x nu: in every step the control of when the rollout was made."""
        return np.tile(self._control, (self.steps, 1))

    def run(
        self,
        q0: Array,
        v0: Array,
        *,
        activation0: Array | None = None,
        controls: Array | None = None,
        theta: Array | None = None,
    ) -> tuple[Array, Array, Array]:
        """All states after the start: q (steps x nq), v (steps x nv), activation (steps x na).

        Unless given, activations start at zero, and theta stays as it is.
        """
        sim, model = self.simulator, self.model
        sim.reset(self._start)
        sim.state.q[:], sim.state.v[:] = np.asarray(q0), np.asarray(v0)
        if model.na:
            sim.state.activation[:] = 0.0 if activation0 is None else np.asarray(activation0)
        if theta is not None:
            self._gradients[0].theta = np.asarray(theta, dtype=float)
        if controls is None:
            controls = self.controls
        self._controls = np.array(controls, dtype=float).reshape(self.steps, model.nu)
        self._kept = []
        q, v = np.empty((self.steps + 1, model.nq)), np.empty((self.steps, model.nv))
        activation = np.empty((self.steps, model.na))
        q[0] = sim.state.q
        for k in range(self.steps):
            if k % self._every == 0:
                self._kept.append(sim.save())
            self._step(k)
            q[k + 1], v[k] = sim.state.q, sim.state.v
            activation[k] = sim.state.activation
        self._q = q
        return q[1:].copy(), v, activation

    def _step(self, k: int) -> None:
        if self.model.nu:
            self.simulator.control[:] = self._controls[k]
        self.simulator.step()

    def _to_tangent(self, q: Array, q_bar: Array) -> Array:
        """A gradient by the numbers of q, as one by motions."""
        places = self._quaternions
        if not places:
            return np.array(q_bar, dtype=float)
        parts, last = [], 0
        for i, _ in places:
            parts += [q_bar[last:i], _turn(q[i : i + 4]).T @ q_bar[i : i + 4]]
            last = i + 4
        return np.concatenate([*parts, q_bar[last:]])

    def _from_tangent(self, q: Array, bar: Array) -> Array:
        parts, last = [], 0
        for i, j in self._quaternions:
            parts += [bar[last:j], 4.0 * _turn(q[i : i + 4]) @ bar[j : j + 3]]
            last = j + 3
        return np.concatenate([*parts, bar[last:]])

    def vjp(
        self,
        *,
        q_bar: Array | None = None,
        v_bar: Array | None = None,
        activation_bar: Array | None = None,
    ) -> Gradients:
        """Gradients of a number whose gradients by all states of the last run are given (zero unless given)."""
        if not self._kept:
            raise Error("there is nothing to differentiate yet: call run() first")
        model, nv, n = self.model, self.model.nv, self.steps
        q_bar = np.zeros((n, model.nq)) if q_bar is None else np.asarray(q_bar, dtype=float)
        v_bar = np.zeros((n, nv)) if v_bar is None else np.asarray(v_bar, dtype=float)
        a_bar = np.zeros((n, model.na)) if activation_bar is None else np.asarray(activation_bar, dtype=float)
        while len(self._gradients) < min(self._every, n):
            self._gradients.append(self._make())
        x_bar = np.zeros(2 * nv + model.na)
        u_bar = np.zeros((n, model.nu))
        theta_bar = np.zeros(len(self.theta))
        for kept in reversed(range(len(self._kept))):
            first = kept * self._every
            last = min(first + self._every, n)
            self.simulator.restore(self._kept[kept])
            for k in range(first, last):
                self._step(k)
                self._gradients[k - first].linearise()
            for k in reversed(range(first, last)):
                x_bar[:nv] += self._to_tangent(self._q[k + 1], q_bar[k])
                x_bar[nv : 2 * nv] += v_bar[k]
                x_bar[2 * nv :] += a_bar[k]
                x_bar, u_bar[k], by_theta = self._gradients[k - first].vjp(x_bar)
                theta_bar += by_theta
        q0_bar = self._from_tangent(self._q[0], x_bar[:nv])
        return Gradients(q0_bar, np.array(x_bar[nv : 2 * nv]), np.array(x_bar[2 * nv :]), u_bar, theta_bar)


def run_all(
    rollouts: Sequence[Rollout], arguments: Sequence[dict[str, Any]], threads: int = 0
) -> list[tuple[Array, Array, Array]]:
    """`run` of many worlds, each with its own simulator and arguments, in threads (0: as many as processors)."""
    with ThreadPoolExecutor(threads or None) as pool:
        return list(pool.map(lambda pair: pair[0].run(**pair[1]), zip(rollouts, arguments)))


def vjp_all(rollouts: Sequence[Rollout], arguments: Sequence[dict[str, Any]], threads: int = 0) -> list[Gradients]:
    """`vjp` of many worlds."""
    with ThreadPoolExecutor(threads or None) as pool:
        return list(pool.map(lambda pair: pair[0].vjp(**pair[1]), zip(rollouts, arguments)))


def torch_function(rollout: Rollout) -> Callable[..., Any]:
    """f(q0, v0, controls=None, theta=None) -> (q, v) of torch tensors, with backward(), once.

    Steps are made in double precision on the processor; states and gradients are given in the type and on the device of
    what they belong to (q of q0, v of v0).
    """
    import torch

    class Steps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q0: Any, v0: Any, controls: Any, theta: Any) -> Any:
            ctx.places = [(x.device, x.dtype) for x in (q0, v0, controls, theta)]
            ctx.inputs = tuple(x.detach().cpu().double().numpy().copy() for x in (q0, v0, controls, theta))
            q, v = _forward(rollout, ctx.inputs)
            return torch.from_numpy(q).to(q0), torch.from_numpy(v).to(v0)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, q_bar: Any, v_bar: Any) -> Any:
            bars = _backward(rollout, ctx.inputs, q_bar.cpu().double().numpy(), v_bar.cpu().double().numpy())
            return tuple(
                torch.from_numpy(bar).to(device=device, dtype=dtype) for bar, (device, dtype) in zip(bars, ctx.places)
            )

    def function(q0: Any, v0: Any, controls: Any = None, theta: Any = None) -> Any:
        controls = torch.from_numpy(rollout.controls) if controls is None else controls
        theta = torch.from_numpy(rollout.theta) if theta is None else theta
        return Steps.apply(q0, v0, controls, theta)

    return function


def jax_function(rollout: Rollout) -> Callable[..., Any]:
    """f(q0, v0, controls=None, theta=None) -> (q, v) of JAX arrays, with reverse mode, by a call to the host."""
    import jax
    import jax.numpy as jnp

    model, n = rollout.model, rollout.steps

    def shapes(*sizes: tuple[int, ...]) -> tuple[Any, ...]:
        dtype = jnp.zeros(0).dtype
        return tuple(jax.ShapeDtypeStruct(size, dtype) for size in sizes)

    def host_forward(*inputs: Any) -> Any:
        return tuple(np.asarray(x, jnp.zeros(0).dtype) for x in _forward(rollout, [np.asarray(x) for x in inputs]))

    def host_backward(inputs: Any, q_bar: Any, v_bar: Any) -> Any:
        bars = _backward(rollout, [np.asarray(x) for x in inputs], np.asarray(q_bar), np.asarray(v_bar))
        return tuple(np.asarray(bar, jnp.zeros(0).dtype) for bar in bars)

    @jax.custom_vjp
    def steps(q0: Any, v0: Any, controls: Any, theta: Any) -> Any:
        return jax.pure_callback(host_forward, shapes((n, model.nq), (n, model.nv)), q0, v0, controls, theta)

    def forward(q0: Any, v0: Any, controls: Any, theta: Any) -> Any:
        inputs = (q0, v0, controls, theta)
        return steps(*inputs), inputs

    def backward(inputs: Any, bars: Any) -> Any:
        sizes = shapes((model.nq,), (model.nv,), (n, model.nu), (len(rollout.theta),))
        return jax.pure_callback(host_backward, sizes, inputs, *bars)

    steps.defvjp(forward, backward)

    def function(q0: Any, v0: Any, controls: Any = None, theta: Any = None) -> Any:
        controls = jnp.asarray(rollout.controls) if controls is None else controls
        theta = jnp.asarray(rollout.theta) if theta is None else theta
        return steps(jnp.asarray(q0), jnp.asarray(v0), controls, theta)

    return function


def _forward(rollout: Rollout, inputs: Sequence[Array]) -> tuple[Array, Array]:
    q0, v0, controls, theta = inputs
    q, v, _ = rollout.run(q0, v0, controls=controls, theta=theta)
    return q, v


def _backward(
    rollout: Rollout, inputs: Sequence[Array], q_bar: Array, v_bar: Array
) -> tuple[Array, Array, Array, Array]:
    """The rollout may have run with other inputs since: it runs again."""
    _forward(rollout, inputs)
    g = rollout.vjp(q_bar=q_bar, v_bar=v_bar)
    return g.q0, g.v0, g.controls, g.theta
