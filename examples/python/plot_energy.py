"""Record a run and plot its energy and certificate. Needs matplotlib: pip install touchstone-sim[plot]

python plot_energy.py [FILE.png]
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import touchstone as ts

sim = ts.Simulator(ts.load("quadruped:flat"), dt=1e-3)
sim.reset("home")
sim.state.q[2] += 0.3  # dropped from 30 cm
trace = ts.record(sim, 1.0, every=2)
print(trace)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ts.plot.energy(trace, ax=axes[0])
ts.plot.residuals(trace, ax=axes[1])
file = sys.argv[1] if len(sys.argv) > 1 else "energy.png"
figure.savefig(file, dpi=120)
print(f"energy fell from {trace.energy[0]:.2f} J to {trace.energy[-1]:.2f} J; see {file}")
