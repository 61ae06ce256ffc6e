"""A drone held in the air by linear-quadratic control: A and B of a step come from sim.jacobians()."""

import numpy as np

import touchstone as ts

DRONE = """<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="drone" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.12 0.12 0.03" mass="0.8"/>
      <site name="front" pos="0.15 0 0"/><site name="left" pos="0 0.15 0"/>
      <site name="back" pos="-0.15 0 0"/><site name="right" pos="0 -0.15 0"/>
    </body>
  </worldbody>
  <actuator>
    <motor site="front" gear="0 0 1 0 0 0.02"/><motor site="left" gear="0 0 1 0 0 -0.02"/>
    <motor site="back" gear="0 0 1 0 0 0.02"/><motor site="right" gear="0 0 1 0 0 -0.02"/>
  </actuator>
</mujoco>"""


def gain(a: np.ndarray, b: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Riccati's recursion until it stays: u = -K x is best for the sum of x'q x + u'r u."""
    p = q
    for _ in range(5000):
        k = np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
        before, p = p, q + a.T @ p @ (a - b @ k)
        if np.abs(p - before).max() < 1e-9 * np.abs(p).max():
            return k
    raise RuntimeError("the recursion does not settle: a state cannot be controlled")


def main() -> None:
    model = ts.load_string(DRONE)
    sim = ts.Simulator(model)
    hover = np.full(4, 0.8 * 9.81 / 4)  # N: the weight, shared by four rotors
    home = sim.state.q.copy()
    sim.control[:] = hover
    sim.step()
    j = sim.jacobians()
    assert j.held_actuators == 0  # thrust that tilts with the body is in A
    k = gain(j.A, j.B, np.diag([10.0] * 3 + [1.0] * 9), 0.1 * np.eye(4))

    sim.reset()
    sim.state.q[:3] += [1.0, -0.5, 0.4]  # m, beside where it should be
    sim.state.q[3:7] = [np.cos(0.3), np.sin(0.3), 0.0, 0.0]  # and tilted by 34 degrees
    errors = []
    for step in range(600):
        x = np.concatenate([model.difference(home, sim.state.q), sim.state.v])
        sim.control[:] = np.clip(hover - k @ x, 0.0, 5.0)  # rotors push one way only
        sim.step()
        errors.append(np.linalg.norm(sim.state.q[:3] - home[:3]))
        if step % 100 == 99:
            print(f"{sim.time:4.1f} s: {errors[-1]:.1e} m from where it should be")
    assert errors[-1] < 1e-3


if __name__ == "__main__":
    main()
