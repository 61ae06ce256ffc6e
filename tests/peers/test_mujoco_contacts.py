"""Contacts of MJCF scenes against MuJoCo: the same pairs touch, equally deep, with the same material."""

import json
import subprocess

import mjcf_static
import mujoco
import mujoco_peer
import numpy as np
import pytest
import touchstone_dump
from compare import Comparison
from test_mujoco import load_peer, model_files, seed_of

PROGRAM = touchstone_dump.PROGRAM.parent / "contact_dump"
STATES = 40
DEPTH_TOLERANCE = 1e-6  # m, where both engines are exact

KIND = mujoco.mjtGeom
# Pairs that MuJoCo has formulas for; the others go through its iterative solver, to opt.ccd_tolerance (1e-6 m).
ROUND = {KIND.mjGEOM_SPHERE, KIND.mjGEOM_CAPSULE}


def configurations(model, random):
    """Keyframes, poses near them, and poses anywhere in the joint ranges with the base near the first keyframe."""
    data = mujoco.MjData(model)
    keys = [model.key_qpos[k].copy() for k in range(model.nkey)] or [data.qpos.copy()]
    result = list(keys)
    while len(result) < STATES:
        q = keys[len(result) % len(keys)].copy()
        if len(result) % 2 == 0:
            v = 0.1 * random.standard_normal(model.nv)
            mujoco.mj_integratePos(model, q, v, 1.0)
        else:
            free = mujoco_peer.random_configuration(model, random)
            for joint in range(model.njnt):
                if model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_FREE:
                    start = model.jnt_qposadr[joint]
                    size = 4 if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_BALL else 1
                    q[start : start + size] = free[start : start + size]
        result.append(q)
    return np.array(result)


def our_contacts(path, qs, folder):
    file = folder / "q.bin"
    qs.tofile(file)
    result = subprocess.run([PROGRAM, path, file], capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def deepest(contacts):
    """{pair of geoms: the contact of least distance}."""
    result = {}
    for pair, distance, contact in contacts:
        if pair not in result or distance < result[pair][0]:
            result[pair] = (distance, contact)
    return result


def exact_in_mujoco(model, pair):
    kinds = {int(model.geom_type[g]) for g in pair}
    return kinds <= {int(k) for k in ROUND} or int(KIND.mjGEOM_PLANE) in kinds


@pytest.mark.parametrize("path", model_files())
def test_contacts(path, tmp_path):
    model = load_peer(path)
    model.opt.disableflags = 0
    if model.ngeom == 0 or model.nv == 0:
        pytest.skip("nothing can collide")
    if model.nq == 0 or np.any(model.body_mocapid >= 0):
        pytest.skip("mocap poses are not part of a configuration")
    description = touchstone_dump.describe(path)
    geom_of = {index: geom for geom, index in enumerate(mjcf_static.by_body(description["shapes"]))}
    random = np.random.default_rng(seed_of(path))
    qs = configurations(model, random)
    data = mujoco.MjData(model)
    check = Comparison(1e-9)
    compared = 0
    for i, ours in enumerate(our_contacts(path, qs, tmp_path)):
        data.qpos[:] = qs[i]
        mujoco.mj_fwdPosition(model, data)
        theirs = deepest((tuple(sorted(map(int, c.geom))), c.dist, c) for c in data.contact)
        mine = deepest((tuple(sorted(geom_of[s] for s in c["shapes"])), c["distance"], c) for c in ours["contacts"])
        for pair in sorted(theirs.keys() | mine.keys()):
            compared += compare_pair(check, model, f"state {i}, geoms {pair}", pair, mine.get(pair), theirs.get(pair))
    check.finish()
    if compared == 0:
        pytest.skip("no two shapes touch in any of the states")


def compare_pair(check, model, where, pair, mine, theirs):
    margin = float(model.geom_margin[pair[0]] + model.geom_margin[pair[1]])
    tolerance = DEPTH_TOLERANCE if exact_in_mujoco(model, pair) else 10 * model.opt.ccd_tolerance
    if mine is None or theirs is None:
        distance = (mine or theirs)[0]
        who = "MuJoCo" if mine is None else "we"
        if distance < margin - tolerance:
            check.fail(f"{where}: only {who} found this contact, at distance {distance:.3g}")
        return 0
    if abs(mine[0] - theirs[0]) > tolerance:
        check.fail(f"{where}: distance {mine[0]:.9g}, MuJoCo's {theirs[0]:.9g}")
    ours, peer = mine[1], theirs[1]
    check.equal(f"{where}: dimension", ours["dimension"], int(peer.dim))
    check.close(f"{where}: friction", ours["friction"], peer.friction)
    check.close(f"{where}: solref", ours["solref"], peer.solref)
    check.close(f"{where}: solimp", ours["solimp"], peer.solimp)
    return 1
