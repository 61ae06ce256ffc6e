"""Friction and inertia of a tossed block from a noisy recording of its flight and landing: gradients through impacts.

Nothing pushes the block, so that its mass does not show; inertias per mass do, by the way it tumbles in flight and is
turned by the ground. The sensitivities of the trajectory follow from those of each step, S' = A S + C.
"""

import numpy as np
import numpy.typing as npt

import touchstone as ts

Array = npt.NDArray[np.float64]

BLOCK = """<mujoco><option timestep="0.004"/><worldbody>
  <geom name="floor" type="plane" size="5 5 1" friction="0.01"/>
  <body name="block" pos="0 0 0.35"><freejoint/>
  <inertial pos="0 0 0" mass="0.5" diaginertia="0.0014 0.0011 0.0008"/>
  <geom name="block" type="box" size="0.06 0.08 0.1" friction="0.3"/></body></worldbody></mujoco>"""

STEPS = 130
VELOCITY = np.array([0.9, 0.4, 0.3, 2.0, 3.0, 1.5])  # m/s and rad/s
MASS = 0.5  # kg
TRUTH = np.array([0.3, 0.0014, 0.0011, 0.0008])  # friction; kg m^2
NAMES = ["friction", "Ixx, kg m^2", "Iyy, kg m^2", "Izz, kg m^2"]
NOISE = np.array([1e-3] * 3 + [4e-3] * 3)  # m and rad


def turn(q: Array, reference: Array) -> Array:
    """The rotation vector from one quaternion to another, in the frame of the first."""
    w = reference[0] * q[0] + reference[1:] @ q[1:]
    xyz = reference[0] * q[1:] - q[0] * reference[1:] - np.cross(reference[1:], q[1:])
    angle = 2.0 * np.arctan2(np.linalg.norm(xyz), abs(w))
    length = np.linalg.norm(xyz)
    return np.zeros(3) if length == 0.0 else np.sign(w) * angle / length * xyz


def simulate(x: Array) -> tuple[Array, Array]:
    """Configurations of the block, and how they change with friction and inertias (STEPS x 6 x 4)."""
    sim = ts.Simulator(ts.load_string(BLOCK), tolerance=1e-12)
    gradient = ts.StepGradient(sim, inertias=["block"], frictions=["block"])
    # mass, mass times centre (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz; then friction
    gradient.theta = np.array([MASS, 0, 0, 0, x[1], 0, x[2], 0, 0, x[3], x[0]])
    directions = np.zeros((11, 4))
    directions[[10, 4, 6, 9], [0, 1, 2, 3]] = 1.0
    sim.state.v[:] = VELOCITY
    path, slope = np.empty((STEPS, 7)), np.empty((STEPS, 6, 4))
    sensitivity = np.zeros((12, 4))
    for k in range(STEPS):
        sim.step()
        j = gradient.jacobians()
        sensitivity = j.A @ sensitivity + j.C @ directions
        path[k], slope[k] = sim.state.q, sensitivity[:6]
    return path, slope


def misfit(measured: Array, path: Array) -> Array:
    """Differences over their noise, STEPS x 6."""
    rows = [np.append(m[:3] - p[:3], turn(m[3:], p[3:])) for m, p in zip(measured, path, strict=True)]
    over_noise: Array = np.array(rows) / NOISE
    return over_noise


def descend(measured: Array, guess: Array, iterations: int) -> tuple[Array, list[float]]:
    """Damped Gauss-Newton in logarithms, which keeps all numbers positive; and the cost after each iteration."""
    x, damping = np.log(guess), 1e-2
    path, slope = simulate(np.exp(x))
    r = misfit(measured, path)
    costs = [float(np.mean(r**2))]
    for _ in range(iterations):
        J = (slope / NOISE[:, None] * np.exp(x)).reshape(-1, 4)
        H, g = J.T @ J, J.T @ r.ravel()
        step = np.linalg.solve(H + damping * np.diag(np.diag(H)), g)
        trial = x + np.clip(step, -0.3, 0.3)
        there = simulate(np.exp(trial))
        other = misfit(measured, there[0])
        if np.mean(other**2) < costs[-1]:
            x, (path, slope), r, damping = trial, there, other, damping / 5
        else:
            damping *= 5
        costs.append(float(np.mean(r**2)))
    found: Array = np.exp(x)
    return found, costs


def identify(measured: Array, guess: Array, iterations: int = 12, starts: int = 12) -> tuple[Array, list[float]]:
    """From the guess, and again from around the best so far: where corners touch down in another order the misfit has
    kinks, at which descending ends."""
    rng = np.random.default_rng(0)
    best, costs = descend(measured, guess, iterations)
    for _ in range(starts - 1):
        found, more = descend(measured, best * np.exp(0.1 * rng.normal(size=4)), iterations)
        if more[-1] < costs[-1]:
            best, costs = found, costs + more[1:]
    return best, costs


def measure(seed: int = 1) -> Array:
    """The true motion with noise."""
    rng = np.random.default_rng(seed)
    path, _ = simulate(TRUTH)
    path[:, :3] += NOISE[0] * rng.normal(size=(STEPS, 3))
    for q in path[:, 3:]:  # q exp(noise)
        half = 0.5 * NOISE[3] * rng.normal(size=3)
        w, v = q[0], q[1:].copy()
        q[0] = w - v @ half
        q[1:] = v + w * half + np.cross(v, half)
        q /= np.linalg.norm(q)
    return path


def main() -> None:
    measured = measure()
    guess = np.array([0.6, 0.001, 0.001, 0.001])
    found, costs = identify(measured, guess)
    for name, value, true in zip(NAMES, found, TRUTH, strict=True):
        print(f"{name:12} {value:.5f}, true {true:.5f}")
    print(f"misfit {costs[0]:.1f} -> {costs[-1]:.3f} (1: noise alone)")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    time = 0.004 * np.arange(1, STEPS + 1)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for k, name in enumerate("xyz"):
        axes[0].plot(time, measured[:, k], ".", markersize=3, color=f"C{k}")
        axes[0].plot(time, simulate(found)[0][:, k], color=f"C{k}", label=name)
        axes[0].plot(time, simulate(guess)[0][:, k], "--", color=f"C{k}", alpha=0.5)
    axes[0].set_xlabel("time, s")
    axes[0].set_ylabel("position, m; dashed: first guess")
    axes[0].legend()
    axes[1].semilogy(costs)
    axes[1].set_xlabel("iteration")
    axes[1].set_ylabel("misfit over noise")
    figure.savefig("identify_cube.png")


if __name__ == "__main__":
    main()
