"""A robot under PD control: the quadruped squats and rises by torques computed in Python at 500 Hz."""

import numpy as np

import touchstone as ts

KP, KD = 80.0, 2.0  # N m/rad, N m s/rad

model = ts.load("quadruped:flat")
sim = ts.Simulator(model, dt=1e-3)
sim.reset("home")
sim.parameters.actuator_gain[:] = 0.0  # the servos of the model rest: the torques below do the work
sim.parameters.actuator_bias[:] = 0.0

home, crouch = model.keyframe("home").q[7:], model.keyframe("crouch").q[7:]
q, v, torque = sim.state.q, sim.state.v, sim.applied_force  # views, taken once


def controller(sim: ts.Simulator) -> None:
    blend = 0.3 * (1 - np.cos(2 * np.pi * 0.5 * sim.time))  # 0 to 0.6 and back, every two seconds
    target = (1 - blend) * home + blend * crouch
    torque[6:] = KP * (target - q[7:]) - KD * v[6:]


heights = []
for _ in range(8):
    ts.run(sim, 0.25, controller=controller, every=2)
    heights.append(float(q[2]))
    print(f"{sim.time:4.2f} s: trunk at {heights[-1]:.3f} m, feet carry {sim.contacts.force[:, 2].sum():6.1f} N")
assert min(heights) < heights[-1] - 0.03, "it squats and rises"
assert sim.report.ok
