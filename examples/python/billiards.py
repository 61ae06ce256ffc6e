"""A shot at billiards: the velocity of the cue ball that brings another to a target, by gradients through contacts.

The cue ball slides and rolls, strikes the object ball, which rolls on. Two gradients of the rollout (reverse mode) give
the derivative of where that ball is in the end; Gauss-Newton does the rest.
"""

import numpy as np
import numpy.typing as npt

import touchstone as ts

Array = npt.NDArray[np.float64]

TABLE = """<mujoco><option timestep="0.001"/><worldbody>
  <geom type="plane" size="3 3 1" friction="0.2"/>
  <body name="cue" pos="0 0 0.03"><freejoint/><geom type="sphere" size="0.03" mass="0.17" friction="0.2"/></body>
  <body name="ball" pos="0.4 0.02 0.03"><freejoint/><geom type="sphere" size="0.03" mass="0.17" friction="0.2"/></body>
  </worldbody></mujoco>"""

STEPS = 600
TARGET = np.array([0.75, -0.1])  # m


class Shot:
    def __init__(self) -> None:
        self.sim = ts.Simulator(ts.load_string(TABLE), tolerance=1e-12)
        self.q0 = np.array(self.sim.state.q)
        self.rollout = ts.autograd.Rollout(self.sim, STEPS)

    def path(self, velocity: Array) -> Array:
        """Positions of all balls after a shot, STEPS x nq."""
        v0 = np.zeros(12)
        v0[:2] = velocity
        q, _, _ = self.rollout.run(self.q0, v0)
        return np.array(q)

    def end(self, velocity: Array) -> tuple[Array, Array]:
        """Where the object ball is in the end, and how that changes with the velocity of the cue ball."""
        q = self.path(velocity)
        J = np.empty((2, 2))
        for k in range(2):
            q_bar = np.zeros_like(q)
            q_bar[-1, 7 + k] = 1.0
            J[k] = self.rollout.vjp(q_bar=q_bar).v0[:2]
        return q[-1, 7:9], J


def aim(shot: Shot, velocity: Array, iterations: int = 40) -> tuple[Array, list[float]]:
    """Gauss-Newton; the least distance to the target so far after each iteration.

    Steps in time make the outcome a saw of smooth pieces: the ball is struck in one step or the next, which moves its
    end by up to speed times step. Where no part of a Newton step comes nearer, a whole one is made all the same, into
    another piece.
    """
    place, J = shot.end(velocity)
    best, errors = velocity, [float(np.linalg.norm(TARGET - place))]
    for _ in range(iterations):
        if errors[-1] < 1e-6:
            break
        whole = np.linalg.lstsq(J, TARGET - place, rcond=None)[0]
        whole *= 0.5 / max(0.5, float(np.linalg.norm(whole)))  # m/s
        for share in (1.0, 0.5, 0.25, 0.125, 1.0):
            there, J_there = shot.end(velocity + share * whole)
            if np.linalg.norm(TARGET - there) < np.linalg.norm(TARGET - place):
                break
        velocity, place, J = velocity + share * whole, there, J_there
        error = float(np.linalg.norm(TARGET - place))
        best = velocity if error < errors[-1] else best
        errors.append(min(error, errors[-1]))
    return best, errors


def main() -> None:
    shot = Shot()
    first = np.array([1.5, 0.0])
    velocity, errors = aim(shot, first)
    print(f"velocity {velocity[0]:.4f} {velocity[1]:.4f} m/s, distance to target {errors[0]:.3f} -> {errors[-1]:.1e} m")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for v, style in ((first, "--"), (velocity, "-")):
        q = shot.path(v)
        axes[0].plot(q[:, 0], q[:, 1], style, color="C0", label="cue ball" if style == "-" else None)
        axes[0].plot(q[:, 7], q[:, 8], style, color="C1", label="object ball" if style == "-" else None)
    axes[0].plot(*TARGET, "kx", label="target")
    axes[0].set_xlabel("x, m; dashed: first shot")
    axes[0].set_ylabel("y, m")
    axes[0].set_aspect("equal")
    axes[0].legend()
    axes[1].semilogy(errors, "o-")
    axes[1].set_xlabel("iteration")
    axes[1].set_ylabel("distance to the target, m")
    figure.savefig("billiards.png")


if __name__ == "__main__":
    main()
