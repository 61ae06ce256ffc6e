"""Build a mechanism in code: a crank-slider with a closed loop that pushes a block over a table."""

import numpy as np

import touchstone as ts

CRANK, ROD = 0.1, 0.3  # lengths, m

b = ts.ModelBuilder("crank-slider", dt=1e-3)
b.add_shape("world", ts.Shape.plane(), name="table", friction=0.4)

back = ts.Transform.from_axis_angle([0, 0, 1], np.pi).quaternion  # the crank starts at its rear dead centre
b.add_body("crank", position=[0, 0, 0.1], quaternion=back)
b.add_joint("crank", "hinge", name="crank", axis=[0, 0, 1])
bar = ts.Transform.from_axis_angle([0, 1, 0], np.pi / 2)  # a capsule lies along z
b.add_shape("crank", ts.Shape.capsule(0.01, CRANK / 2), position=[CRANK / 2, 0, 0], quaternion=bar.quaternion, mass=0.2)

b.add_body("rod", parent="crank", position=[CRANK, 0, 0], quaternion=back)
b.add_joint("rod", "hinge", name="wrist", axis=[0, 0, 1])
b.add_shape("rod", ts.Shape.capsule(0.01, ROD / 2), position=[ROD / 2, 0, 0], quaternion=bar.quaternion, mass=0.3)

b.add_body("slider", position=[ROD - CRANK, 0, 0.1])
b.add_joint("slider", "slide", name="slider", axis=[1, 0, 0])
b.add_shape("slider", ts.Shape.box([0.03, 0.03, 0.03]), mass=0.5, friction=0.4)
b.add_connect("rod", "slider", anchor=[ROD, 0, 0])  # closes the loop
b.add_exclusion("rod", "slider")

b.add_body("block", position=[ROD, 0, 0.1])
b.add_joint("block", "free", name="block")
b.add_shape("block", ts.Shape.box([0.05, 0.05, 0.1]), mass=1.0, friction=0.4)

b.add_velocity_servo("motor", "crank", kv=0.5)  # N m s/rad: small against the inertia over the time step
model = b.build()
print(model)

sim = ts.Simulator(model)
sim.control[0] = -2 * np.pi  # rad/s: one turn a second
trace = ts.record(sim, 2.0, every=10)

crank, slider = trace.q[:, model.joint("crank").q_index], trace.q[:, model.joint("slider").q_index]
exact = np.sqrt(ROD**2 - (CRANK * np.sin(crank)) ** 2) - CRANK * np.cos(crank) - (ROD - CRANK)
print(f"the slider is within {1e3 * np.abs(slider - exact).max():.3f} mm of the closed form")
pushed = sim.pose("block").position[0] - ROD
print(f"the block was pushed by {1e3 * pushed:.1f} mm")
assert np.abs(slider - exact).max() < 1e-3
assert 2 * CRANK - 0.02 <= pushed < 2 * CRANK  # to the end of the stroke, and a little beyond by its own speed
