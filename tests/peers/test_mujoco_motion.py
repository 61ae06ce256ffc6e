"""Motions and sensors against MuJoCo, with its softened constraints and our own contacts."""

import json
import subprocess

import mujoco
import numpy as np
import pytest
import touchstone_dump
from compare import Comparison

PROGRAM = touchstone_dump.PROGRAM.parent / "motion_dump"
STEPS = 50
TOLERANCE = 1e-5

CONES = {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC}
INTEGRATORS = {"euler": mujoco.mjtIntegrator.mjINT_EULER, "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST}

SPHERES = """<mujoco><option timestep="0.002" impratio="2"/><worldbody>
  <geom type="plane" size="5 5 1" friction="0.8 0.01 0.003"/>
  <body pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" condim="3"/></body>
  <body pos="1 0 0.1"><freejoint/><geom type="sphere" size="0.1" condim="4"/></body>
  <body pos="2 0 0.1"><freejoint/><geom type="sphere" size="0.1" condim="6"/></body>
  <body pos="3 0 0.1"><freejoint/><geom type="sphere" size="0.1" condim="1"/></body>
</worldbody></mujoco>"""

# Slides with two coefficients of friction, on planes whose tangents follow y, z and the axis of a capsule.
PAIRS = """<mujoco><option timestep="0.002" impratio="2"/><worldbody>
  <geom name="flat" type="plane" size="5 5 1"/>
  <geom name="steep" type="plane" size="5 5 1" pos="0 -3 0" euler="-50 0 20"/>
  <body pos="0 0 0.1"><freejoint/><geom name="a" type="sphere" size="0.1"/></body>
  <body pos="0 -3 0.2"><freejoint/><geom name="b" type="sphere" size="0.1"/></body>
  <body pos="1 0 0.11" euler="85 10 0"><freejoint/><geom name="c" type="capsule" size="0.1 0.2"/></body>
</worldbody><contact>
  <pair geom1="flat" geom2="a" condim="3" friction="1 0.1"/>
  <pair geom1="steep" geom2="b" condim="3" friction="0.2 0.6"/>
  <pair geom1="flat" geom2="c" condim="6" friction="0.7 0.2 0.01 0.004 0.001"/>
</contact></mujoco>"""

CAPSULES = """<mujoco><option timestep="0.002" impratio="2"/><worldbody>
  <geom type="plane" size="5 5 1" friction="0.8 0.01 0.003"/>
  <body pos="0 1 0.11" euler="80 10 0"><freejoint/><geom type="capsule" size="0.1 0.2" condim="3"/></body>
  <body pos="1 1 0.11" euler="90 20 0"><freejoint/><geom type="capsule" size="0.1 0.2" condim="6"/></body>
</worldbody></mujoco>"""

# On hinges, with dampers, springs, limits, dry friction and a servo.
CHAIN = """<mujoco><option timestep="0.002"/><worldbody>
  <geom type="plane" size="5 5 1" friction="0.8 0.01 0.003"/>
  <body pos="2 1 0.465"><joint name="a" axis="0 1 0" damping="0.4" armature="0.01" frictionloss="0.05"/>
    <geom type="capsule" fromto="0 0 0 0.4 0 -0.41" size="0.06"/>
    <body pos="0.4 0 -0.41"><joint name="b" axis="0 1 0" damping="2" stiffness="3" limited="true" range="-30 5"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0.05" size="0.05"/></body></body>
</worldbody><actuator><position joint="a" kp="5" kv="1"/><motor joint="b"/></actuator></mujoco>"""

# MuJoCo's implicitfast has gyroscopic forces of free bodies in its derivatives, ours does not: capsules fly with
# Euler's rule alone.
MOTIONS = [
    pytest.param(SPHERES, "pyramidal", "euler", id="spheres-pyramidal-euler"),
    pytest.param(SPHERES, "elliptic", "euler", id="spheres-elliptic-euler"),
    pytest.param(SPHERES, "pyramidal", "implicitfast", id="spheres-pyramidal-implicitfast"),
    pytest.param(SPHERES, "elliptic", "implicitfast", id="spheres-elliptic-implicitfast"),
    pytest.param(CAPSULES, "elliptic", "euler", id="capsules-elliptic-euler"),
    pytest.param(CAPSULES, "pyramidal", "euler", id="capsules-pyramidal-euler"),
    pytest.param(PAIRS, "elliptic", "euler", id="pairs-elliptic-euler"),
    pytest.param(PAIRS, "pyramidal", "euler", id="pairs-pyramidal-euler"),
    pytest.param(CHAIN, "elliptic", "euler", id="chain-elliptic-euler"),
    pytest.param(CHAIN, "elliptic", "implicitfast", id="chain-elliptic-implicitfast"),
]

SENSORS = """<mujoco><option timestep="0.002"/><worldbody>
  <geom type="plane" size="5 5 1"/>
  <site name="fixed" pos="0.2 0.1 0.3" euler="10 20 30"/>
  <body name="base" pos="0 0 0.2"><freejoint name="base"/>
    <inertial pos="0.02 0.01 -0.01" mass="2" diaginertia="0.02 0.03 0.04"/>
    <geom name="base" type="box" size="0.15 0.1 0.05"/>
    <site name="imu" pos="0.03 0.02 0.01" euler="20 30 40"/>
    <site name="eye" pos="0 0 0.1" euler="180 5 0"/>
    <body name="arm" pos="0.15 0 0"><joint name="shoulder" axis="0 1 0" damping="0.1" limited="true" range="-40 20"/>
      <geom name="arm" type="capsule" fromto="0 0 0 0.3 0 -0.1" size="0.04"/>
      <site name="wrist" pos="0.1 0.01 0" euler="5 6 7"/>
      <body name="hand" pos="0.3 0 -0.1"><joint name="ball" type="ball" damping="0.02"/>
        <geom name="hand" type="sphere" size="0.06"/><site name="palm" type="sphere" size="0.08"/></body></body>
    <body name="leg" pos="-0.15 0 0"><joint name="slide" type="slide" axis="0 0 1" damping="1"/>
      <geom name="leg" type="capsule" fromto="0 0 0 0 0 -0.14" size="0.03"/>
      <site name="foot" type="box" size="0.05 0.05 0.05" pos="0 0 -0.15"/></body></body>
</worldbody>
<tendon><fixed name="cord"><joint joint="shoulder" coef="1"/><joint joint="slide" coef="2"/></fixed></tendon>
<actuator><position name="servo" joint="shoulder" kp="20"/><motor name="push" joint="slide" gear="2"/>
  <motor name="pull" tendon="cord"/></actuator>
<sensor>
  <jointpos joint="shoulder"/><jointvel joint="slide"/><jointactuatorfrc joint="shoulder"/>
  <jointlimitpos joint="shoulder"/><jointlimitvel joint="shoulder"/><jointlimitfrc joint="shoulder"/>
  <tendonpos tendon="cord"/><tendonvel tendon="cord"/><tendonactuatorfrc tendon="cord"/>
  <actuatorpos actuator="servo"/><actuatorvel actuator="push"/><actuatorfrc actuator="servo" cutoff="3"/>
  <ballquat joint="ball"/><ballangvel joint="ball"/>
  <framepos objtype="site" objname="imu"/><framequat objtype="site" objname="wrist"/>
  <framepos objtype="xbody" objname="hand" reftype="site" refname="imu"/>
  <framequat objtype="xbody" objname="hand" reftype="site" refname="imu"/>
  <framexaxis objtype="geom" objname="arm"/><frameyaxis objtype="geom" objname="arm"/>
  <framezaxis objtype="site" objname="wrist" reftype="xbody" refname="base"/>
  <framepos objtype="body" objname="base"/>
  <framelinvel objtype="site" objname="wrist"/><frameangvel objtype="site" objname="wrist"/>
  <framelinvel objtype="site" objname="wrist" reftype="site" refname="imu"/>
  <frameangvel objtype="xbody" objname="hand" reftype="xbody" refname="base"/>
  <framelinacc objtype="site" objname="wrist"/><frameangacc objtype="xbody" objname="hand"/>
  <gyro site="imu"/><accelerometer site="imu"/><velocimeter site="imu"/><magnetometer site="imu"/>
  <accelerometer site="fixed"/>
  <force site="wrist"/><torque site="wrist"/><force site="foot"/><torque site="palm"/>
  <touch site="palm"/><touch site="foot"/><rangefinder site="eye"/>
  <subtreecom body="base"/><subtreelinvel body="arm"/><subtreeangmom body="arm"/><subtreeangmom body="base"/>
  <clock/><e_potential/><e_kinetic/>
</sensor></mujoco>"""


def load(text, cone, integrator):
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.cone, model.opt.integrator = CONES[cone], INTEGRATORS[integrator]
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.iterations, model.opt.ls_iterations = 500, 200
    model.opt.tolerance, model.opt.ls_tolerance = 0, 1e-10
    return model


def ours(text, folder, cone, integrator, steps, states):
    (folder / "model.xml").write_text(text)
    names = ("q", "v", "activation", "control")
    samples = [dict(zip(names, (x.tolist() for x in state), strict=True)) for state in states]
    job = {"cone": cone, "integrator": integrator, "steps": steps, "states": samples}
    (folder / "input.json").write_text(json.dumps(job))
    command = [PROGRAM, folder / "model.xml", folder / "input.json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def start_state(model, random, speed):
    data = mujoco.MjData(model)
    q, v = data.qpos.copy(), speed * random.standard_normal(model.nv)
    return q, v, data.act.copy(), random.standard_normal(model.nu)


@pytest.mark.parametrize(("text", "cone", "integrator"), MOTIONS)
def test_motion(text, cone, integrator, tmp_path):
    model = load(text, cone, integrator)
    random = np.random.default_rng(7)
    states = [start_state(model, random, 1.0) for _ in range(10)]
    check = Comparison(TOLERANCE)
    contacts = 0
    for state, steps in zip(states, ours(text, tmp_path, cone, integrator, STEPS, states), strict=True):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.act[:], data.ctrl[:] = state
        for step in steps:
            mujoco.mj_step(model, data)
            contacts += data.ncon
            check.close("q", step["q"], data.qpos)
            check.close("v", step["v"], data.qvel)
    check.finish()
    assert contacts > 5 * STEPS


def test_sensors(tmp_path):
    model = load(SENSORS, "elliptic", "euler")
    random = np.random.default_rng(11)
    states = [start_state(model, random, 0.5) for _ in range(10)]
    check = Comparison(TOLERANCE)
    touched = 0
    for state, steps in zip(states, ours(SENSORS, tmp_path, "elliptic", "euler", 100, states), strict=True):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.act[:], data.ctrl[:] = state
        for step in steps:
            # Both start each step from the same state, so that differences do not add up.
            mujoco.mj_step(model, data)
            touched += data.ncon > 0
            values = np.array(step["sensors"])
            for i in range(model.nsensor):
                part = slice(model.sensor_adr[i], model.sensor_adr[i] + model.sensor_dim[i])
                name = f"sensor {i} {mujoco.mjtSensor(model.sensor_type[i]).name}"
                expected = data.sensordata[part]
                check.close(name, values[part], expected, scale=[*expected, 1.0])
            data.qpos[:], data.qvel[:] = step["q"], step["v"]
    check.finish()
    assert touched > 100
