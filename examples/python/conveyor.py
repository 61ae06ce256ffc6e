"""A conveyor belt that changes its speed, and a turntable: surfaces that move while their bodies rest."""

import numpy as np

import touchstone as ts

builder = ts.ModelBuilder("conveyor")
builder.add_shape(
    "world", ts.Shape.box([2, 0.2, 0.05]), name="belt", position=[0, 0, -0.05], surface_velocity=[0.5, 0, 0]
)
builder.add_shape(
    "world", ts.Shape.cylinder(0.5, 0.05), name="table", position=[0, 2, -0.05], surface_velocity=[0, 0, 0, 0, 0, 2.0]
)
for name, position in {"parcel": [-1, 0, 0.05], "record": [0.3, 2, 0.05]}.items():
    builder.add_body(name, position=position)
    builder.add_joint(name, "free")
    builder.add_shape(name, ts.Shape.box([0.1, 0.1, 0.05]), mass=1.0, friction=0.6)
model = builder.build()

sim = ts.Simulator(model, dt=1e-3)
belt = sim.parameters.shape_surface_velocity[model.shape("belt").index]  # a view: writing to it drives the belt
work = 0.0
for _ in range(2000):
    belt[0] = 0.5 * np.cos(np.pi * sim.time)  # to and fro, with a period of two seconds
    sim.step()
    work += sim.report.energy.surfaces
x, y = sim.state.q[7:9]
print(f"the belt has done {work:.2f} J of work; the record is {np.hypot(x, y - 2):.2f} m from the axis")
assert sim.report.ok
