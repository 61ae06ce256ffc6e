"""Roll out many worlds at once: the quadruped pushed with forces drawn at random; which pushes can it take?"""

import numpy as np

import touchstone as ts

WORLDS = 64
model = ts.load("quadruped:flat")
batch = ts.Batch(model, WORLDS, dt=2e-3)
batch.reset(keyframe="home")
batch.step(250)  # half a second to settle

rng = np.random.default_rng(0)
speed = rng.uniform(0.0, 4.0, WORLDS)
batch.v[:, 1] += speed  # a blow from the side, m/s
batch.forget()
batch.step(500)

height = batch.q[:, 2]
upright = 1 - 2 * (batch.q[:, 4] ** 2 + batch.q[:, 5] ** 2)
standing = (height > 0.2) & (upright > 0.8)
for low in np.arange(0.0, 4.0, 1.0):
    chosen = (speed >= low) & (speed < low + 1.0)
    print(f"blows of {low:.0f} to {low + 1:.0f} m/s: {standing[chosen].sum():3d} of {chosen.sum():3d} still stand")
assert batch.ok.any()
assert standing[speed < 0.5].all()
