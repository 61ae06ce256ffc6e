"""First steps: load a robot, let it stand, look at contacts and at the certificate."""

import numpy as np

import touchstone as ts

model = ts.load("quadruped:flat")
print(model)
print("knee limits (rad):", model.joint("FL_knee").limits)

sim = ts.Simulator(model, dt=1e-3, solver="auto")
sim.reset("home")
q = sim.state.q  # a view: it follows the simulation
sim.step(1000)

print(f"after {sim.time:.1f} s the trunk is at {q[2]:.3f} m")
print("contact forces (N):")
print(np.round(sim.contacts.force, 2))
weight = model.total_mass * 9.81
print(f"normal forces {sim.contacts.force[:, 2].sum():.3f} N, weight {weight:.3f} N")

report = sim.report
print(f"status {report.status}, natv {report.residuals.natv:.1e} m/s, step {1e6 * report.times.total:.0f} us")
