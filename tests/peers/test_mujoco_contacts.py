"""Contacts of MJCF scenes against MuJoCo: the same pairs touch, equally deep, with the same material.

Where the depths differ by more than the tolerance, the shapes themselves decide. The overlap of two convex shapes along
a direction follows from their support functions, and the depth is its least value over all directions. So the answer
with the smaller overlap along its own normal is the better one: ours must be that one, and our depth that overlap.
"""

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
TOLERANCE = 1e-6  # m

KIND = mujoco.mjtGeom


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


def core_support(model, geom, direction):
    """The farthest point of a geom along a direction, both in its frame; None where there is no formula."""
    size, kind = model.geom_size[geom], model.geom_type[geom]
    unit = direction / np.linalg.norm(direction)
    if kind == KIND.mjGEOM_SPHERE:
        return size[0] * unit
    if kind == KIND.mjGEOM_CAPSULE:
        return size[0] * unit + [0, 0, np.copysign(size[1], direction[2])]
    if kind == KIND.mjGEOM_BOX:
        return np.copysign(size, direction)
    if kind == KIND.mjGEOM_ELLIPSOID:
        return size**2 * unit / np.linalg.norm(size * unit)
    if kind == KIND.mjGEOM_CYLINDER:
        radial = np.hypot(*direction[:2])
        disk = direction[:2] * (size[0] / radial if radial > 0 else 0)
        return np.array([*disk, np.copysign(size[1], direction[2])])
    if kind == KIND.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
        return vertices[np.argmax(vertices @ direction)]
    return None


def reach(model, data, geom, direction):
    """How far a geom reaches along a unit vector of the world."""
    rotation = data.geom_xmat[geom].reshape(3, 3)
    point = core_support(model, geom, rotation.T @ direction)
    return None if point is None else float(direction @ (data.geom_xpos[geom] + rotation @ point))


def overlap(model, data, pair, normal):
    """How far the second geom must move along the normal, which points to it, to come free of the first."""
    first, second = reach(model, data, pair[0], normal), reach(model, data, pair[1], -normal)
    return None if first is None or second is None else first + second


@pytest.mark.parametrize("path", model_files())
def test_contacts(path, tmp_path):
    model = load_peer(path)
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
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
        for contact in ours["contacts"]:
            contact["geoms"] = [geom_of[shape] for shape in contact["shapes"]]
        mine = deepest((tuple(sorted(c["geoms"])), c["distance"], c) for c in ours["contacts"])
        for pair in sorted(theirs.keys() | mine.keys()):
            where = f"state {i}, geoms {pair}"
            compared += compare_pair(check, model, data, where, pair, mine.get(pair), theirs.get(pair))
    check.finish()
    if compared == 0:
        pytest.skip("no two shapes touch in any of the states")


def decide(check, model, data, where, pair, mine, theirs):
    """The depths differ: ours must be right."""
    ours, peer = mine[1], theirs[1]
    our_normal = np.array(ours["normal"]) * (1 if ours["geoms"][0] == pair[0] else -1)
    their_normal = np.array(peer.frame[:3]) * (1 if int(peer.geom[0]) == pair[0] else -1)
    our_overlap, their_overlap = (overlap(model, data, pair, n) for n in (our_normal, their_normal))
    if our_overlap is None or their_overlap is None:
        check.fail(f"{where}: distance {mine[0]:.9g}, MuJoCo's {theirs[0]:.9g}, and no formula to decide")
    elif our_overlap > their_overlap + TOLERANCE or abs(our_overlap + mine[0]) > TOLERANCE:
        check.fail(
            f"{where}: distance {mine[0]:.9g} with overlap {our_overlap:.9g}, "
            f"MuJoCo's {theirs[0]:.9g} with {their_overlap:.9g}"
        )


def below_field(model, data, pair):
    """Whether a geom is against a height field, with its centre below all of the field's surface."""
    fields = [g for g in pair if model.geom_type[g] == KIND.mjGEOM_HFIELD]
    if not fields:
        return False
    other = pair[0] if pair[1] == fields[0] else pair[1]
    rotation = data.geom_xmat[fields[0]].reshape(3, 3)
    return (rotation.T @ (data.geom_xpos[other] - data.geom_xpos[fields[0]]))[2] < 0


def is_deep_in_field(model, pair, mine, theirs):
    """MuJoCo collides with the prisms of a height field one by one, so that deep contacts see their inner walls."""
    if not any(model.geom_type[g] == KIND.mjGEOM_HFIELD for g in pair):
        return False
    small = 0.1 * min(float(model.geom_rbound[g]) for g in pair if model.geom_rbound[g] > 0)
    return min(mine[0], theirs[0]) < -small


def compare_pair(check, model, data, where, pair, mine, theirs):
    if below_field(model, data, pair):
        return 0
    if mine is None or theirs is None:
        distance = (mine or theirs)[0]
        margin = float(model.geom_margin[pair[0]] + model.geom_margin[pair[1]])
        if distance < margin - TOLERANCE:
            check.fail(f"{where}: only {'MuJoCo has' if mine is None else 'we have'} it, at {distance:.3g}")
        return 0
    if abs(mine[0] - theirs[0]) > TOLERANCE and not is_deep_in_field(model, pair, mine, theirs):
        decide(check, model, data, where, pair, mine, theirs)
    ours, peer = mine[1], theirs[1]
    check.equal(f"{where}: dimension", ours["dimension"], int(peer.dim))
    check.close(f"{where}: friction", ours["friction"], peer.friction)
    check.close(f"{where}: solref", ours["solref"], peer.solref)
    check.close(f"{where}: solimp", ours["solimp"], peer.solimp)
    return 1
