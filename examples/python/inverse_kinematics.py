"""An arm with six joints goes to a pose, and follows a circle with its hand."""

import numpy as np

import touchstone as ts

ARM = """<mujoco><compiler angle="degree"/>
  <default><joint limited="true" range="-150 150"/><geom contype="0" conaffinity="0"/></default><worldbody>
  <body pos="0 0 0.3"><joint axis="0 0 1"/><geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.05"/>
  <body pos="0 0 0.2"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
  <body pos="0.3 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
  <body pos="0.3 0 0"><joint axis="1 0 0"/><geom type="sphere" size="0.04"/>
  <body><joint axis="0 1 0"/><geom type="sphere" size="0.04"/>
  <body name="hand"><joint axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.02"/>
  </body></body></body></body></body></body></worldbody></mujoco>"""

model = ts.load_string(ARM)
down = [np.cos(np.pi / 4), 0.0, np.sin(np.pi / 4), 0.0]  # the hand's x axis points down
pose = ts.IkTarget("hand", position=[0.35, 0.1, 0.3], rotation=down, point=[0.1, 0, 0])
result = ts.inverse_kinematics(model, [pose])
print(result, np.round(result.q, 4))
assert result.reached

q, worst = result.q, 0.0
for angle in np.linspace(0, 2 * np.pi, 60):
    position = [0.35 + 0.05 * np.cos(angle), 0.1 + 0.05 * np.sin(angle), 0.3]
    result = ts.inverse_kinematics(model, [ts.IkTarget("hand", position, down, point=[0.1, 0, 0])], q)
    q, worst = result.q, max(worst, result.position_error)
print(f"a circle of 60 poses, farthest {worst:.1e} m from it")
assert worst < 1e-6
