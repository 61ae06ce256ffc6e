"""Mass and friction of a box from a noisy recording of how a known force moves it: Gauss-Newton through the contact.

The force first pushes the box and then lets it slide to rest. Sensitivities of the whole trajectory follow from those
of each step, S' = A S + C.
"""

import numpy as np
import numpy.typing as npt

import touchstone as ts

Array = npt.NDArray[np.float64]

BOX = """<mujoco><option timestep="0.005"/><worldbody>
  <geom name="floor" type="plane" size="5 5 1" friction="0.01"/>
  <body name="box" pos="0 0 0.1"><freejoint name="box"/>
  <geom name="box" type="box" size="0.2 0.15 0.1" mass="1" friction="0.5"/></body></worldbody>
  <actuator><motor joint="box" gear="1 0 0 0 0 0"/></actuator></mujoco>"""

STEPS = 160
FORCE = np.where(np.arange(STEPS) < 80, 14.0, 0.0)  # N


def simulate(mass: float, friction: float) -> tuple[Array, Array]:
    """The way of the box (m), and how it changes with mass and friction."""
    sim = ts.Simulator(ts.load_string(BOX), tolerance=1e-12)
    gradient = ts.StepGradient(sim, inertias=["box"], frictions=["box"])
    unit = gradient.theta[:10]  # inertial parameters of a box of 1 kg: those of another one are in proportion
    gradient.theta = np.append(mass * unit, friction)
    directions = np.zeros((11, 2))
    directions[:10, 0], directions[10, 1] = unit, 1.0
    way, slope = np.empty(STEPS), np.empty((STEPS, 2))
    sensitivity = np.zeros((12, 2))
    for k, force in enumerate(FORCE):
        sim.control[:] = force
        sim.step()
        j = gradient.jacobians()
        sensitivity = j.A @ sensitivity + j.C @ directions
        way[k], slope[k] = sim.state.q[0], sensitivity[0]
    return way, slope


def identify(measured: Array, guess: tuple[float, float], iterations: int = 12) -> Array:
    """Mass and friction, by Gauss-Newton in logarithms, which keeps both positive."""
    x = np.log(np.array(guess))
    for _ in range(iterations):
        way, slope = simulate(*np.exp(x))
        step = np.linalg.lstsq(slope * np.exp(x), measured - way, rcond=None)[0]
        x = x + np.clip(step, -0.5, 0.5)
    found: Array = np.exp(x)
    return found


def main() -> None:
    truth = np.array([2.0, 0.35])
    noise = 1e-3 * np.random.default_rng(1).normal(size=STEPS)  # m
    measured = simulate(*truth)[0] + noise
    found = identify(measured, (1.0, 0.6))
    print(f"mass     {found[0]:.3f} kg, true {truth[0]:.3f}")
    print(f"friction {found[1]:.4f}, true {truth[1]:.4f}")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    time = 0.005 * np.arange(1, STEPS + 1)
    figure, axes = plt.subplots()
    axes.plot(time, measured, ".", markersize=3, label="measured")
    axes.plot(time, simulate(1.0, 0.6)[0], "--", label="first guess")
    axes.plot(time, simulate(*found)[0], label="identified")
    axes.set_xlabel("time, s")
    axes.set_ylabel("way, m")
    axes.legend()
    figure.savefig("identify_box.png")


if __name__ == "__main__":
    main()
