"""The speed after an impact against MuJoCo's, for solrefs with a damping ratio below 1.

MuJoCo makes the spring with steps that resolve it; ours are rigid, with the steps of a usual simulation. Both start
a little above the ground, so that the speed of the impact is that of the start.
"""

import json
import subprocess

import mujoco
import numpy as np
import pytest
import touchstone_dump

PROGRAM = touchstone_dump.PROGRAM.parent / "motion_dump"
GAP = 1e-4  # m
TOLERANCE = 0.015  # of the speed: several points of a contact make MuJoCo's spring a little stiffer than it says

BODIES = {
    "sphere": ('type="sphere" size=".05"', 0.05),
    "box": ('type="box" size=".1 .08 .05"', 0.05),
    "capsule": ('type="capsule" size=".05 .1" euler="0 90 0"', 0.05),
    "cylinder": ('type="cylinder" size=".08 .05"', 0.05),
    "ellipsoid": ('type="ellipsoid" size=".1 .1 .05"', 0.05),
}


def direct(w, z):
    return f"{-w * w} {-2 * z * w}"


def standard(w, z):
    return f"{1 / (w * z)} {z}"


def scene(body, floor_solref, solref, solimp, timestep):
    shape, bottom = BODIES[body]
    return f"""<mujoco><option timestep="{timestep}"/><worldbody>
      <geom type="plane" size="5 5 1" solref="{floor_solref}" solimp="{solimp}"/>
      <body pos="0 0 {bottom + GAP}"><freejoint/>
      <geom {shape} mass="1" solref="{solref}" solimp="{solimp}"/></body></worldbody></mujoco>"""


def their_rebound(text, speed):
    """The share of the speed after the contact force has ended; 0 if it does not end."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[2] = -speed
    touched, before = False, speed
    for _ in range(20000):
        mujoco.mj_step(model, data)
        force = data.efc_force[: data.nefc].sum()
        if touched and force <= 0:
            return data.qvel[2] / before
        if force > 0:
            touched = True
        elif not touched:
            before = -data.qvel[2]
    return 0.0


def our_rebound(text, speed, folder):
    model = mujoco.MjModel.from_xml_string(text)
    v = np.zeros(model.nv)
    v[2] = -speed
    (folder / "model.xml").write_text(text)
    state = {"q": model.qpos0.tolist(), "v": v.tolist(), "activation": [], "control": []}
    job = {"cone": "elliptic", "integrator": "euler", "steps": 5, "rigid": True, "states": [state]}
    (folder / "input.json").write_text(json.dumps(job))
    command = [PROGRAM, folder / "model.xml", folder / "input.json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr
    return max(0.0, *(step["v"][2] for step in json.loads(result.stdout)[0])) / speed


def check(body, floor, solref, solimp, frequency, speed, folder):
    fine = scene(body, floor, solref, solimp, 2e-3 / frequency)
    usual = scene(body, floor, solref, solimp, 1e-3)
    theirs, ours = their_rebound(fine, speed), our_rebound(usual, speed, folder)
    assert ours == pytest.approx(theirs, abs=TOLERANCE), (body, floor, solref, solimp, speed)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("body", BODIES)
def test_rebound(body, seed, tmp_path):
    random = np.random.default_rng(seed)
    frequency, ratio = 10 ** random.uniform(2.0, 3.0), random.uniform(0.0, 0.95)
    solref = (direct if seed % 2 else standard)(frequency, max(ratio, 1e-3))
    d = random.uniform(0.9, 0.99)
    solimp = f"{d - 0.03} {d} 0.001"
    check(body, solref, solref, solimp, frequency, random.uniform(0.5, 5.0), tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_mixed_solrefs(seed, tmp_path):
    random = np.random.default_rng(100 + seed)
    frequency = 10 ** random.uniform(2.0, 2.7)
    first = direct(frequency, random.uniform(0.05, 0.5))
    second = [direct(0.5 * frequency, random.uniform(0.1, 0.9)), "0.02 1"][seed % 2]
    if seed >= 4:
        first, second = standard(frequency, 0.2), standard(0.7 * frequency, 0.5)
    check("sphere", first, second, "0.9 0.95 0.001", frequency, random.uniform(1.0, 4.0), tmp_path)


# Where the weight of the body matters: springs that throw it off late, or not at all.
@pytest.mark.parametrize("seed", range(24))
def test_soft_springs(seed, tmp_path):
    random = np.random.default_rng(200 + seed)
    frequency, ratio = 10 ** random.uniform(1.3, 2.3), random.uniform(0.05, 0.95)
    solref = (direct if seed % 2 else standard)(frequency, ratio)
    d = random.uniform(0.85, 0.99)
    check("sphere", solref, solref, f"{d} {d} 0.001", frequency, 10 ** random.uniform(-0.5, 0.3), tmp_path)
