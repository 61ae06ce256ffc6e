"""Softened constraints against MuJoCo: with its own list of contacts, our assembly must give its J, R and reference
acceleration, and ccp-newton its constraint forces and accelerations.

States come from MuJoCo's own motion under random controls, so that contacts, limits and friction are those that occur.
"""

import json
import subprocess

import mjcf_static
import mujoco
import numpy as np
import pytest
import touchstone_dump
from compare import Comparison
from test_mujoco import OWN, SHARED, seed_of

PROGRAM = touchstone_dump.PROGRAM.parent / "constraint_dump"
STATES = 200
TOLERANCE = 1e-6

TYPE = mujoco.mjtConstraint
KIND = {
    TYPE.mjCNSTR_EQUALITY: "equality",
    TYPE.mjCNSTR_FRICTION_DOF: "joint friction",
    TYPE.mjCNSTR_FRICTION_TENDON: "tendon friction",
    TYPE.mjCNSTR_LIMIT_JOINT: "joint limit",
    TYPE.mjCNSTR_LIMIT_TENDON: "tendon limit",
    TYPE.mjCNSTR_CONTACT_FRICTIONLESS: "contact",
    TYPE.mjCNSTR_CONTACT_PYRAMIDAL: "contact",
    TYPE.mjCNSTR_CONTACT_ELLIPTIC: "contact",
}

SCENES = [
    "mujoco_samples/humanoid/humanoid.xml",
    "google_barkour_vb/scene.xml",
    "agility_cassie/scene.xml",
    "wonik_allegro/scene_right.xml",
    "shadow_hand/scene_right.xml",
    "pal_talos/scene_motor.xml",
]


def scenes():
    own = [pytest.param(path, id=f"own/{path.stem}") for path in sorted(OWN.glob("contact_*.xml"))]
    if not SHARED.exists():
        reason = f"no models in {SHARED}; set TOUCHSTONE_DATA"
        return [*own, pytest.param(None, id="shared", marks=pytest.mark.skip(reason=reason))]
    return [*own, *(pytest.param(SHARED / name, id=name) for name in SCENES)]


def load(path, cone):
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.cone = cone
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.iterations, model.opt.ls_iterations = 500, 200
    model.opt.tolerance, model.opt.ls_tolerance = 0, 1e-10
    return model


def motion(model, random):
    """States with contacts, along motions under random controls that begin at the first keyframe."""
    data = mujoco.MjData(model)
    found = 0
    while found < STATES:
        if model.nkey > 0:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        else:
            mujoco.mj_resetData(model, data)
        data.qvel[:] += 0.2 * random.standard_normal(model.nv)
        for step in range(400):
            if step % 20 == 0:
                limits = model.actuator_ctrlrange
                limited = model.actuator_ctrllimited.astype(bool)
                data.ctrl[:] = np.where(limited, random.uniform(limits[:, 0], limits[:, 1]), random.standard_normal(model.nu))
            mujoco.mj_step(model, data)
            if step % 4 == 0 and data.ncon > 0 and np.all(np.isfinite(data.qpos)):
                yield data
                found += 1
                if found == STATES:
                    return


def contact_list(data, shape_of):
    return [
        {
            "shapes": [shape_of[int(g)] for g in c.geom],
            "position": c.pos.tolist(),
            "frame": c.frame.tolist(),
            "distance": float(c.dist),
            "margin": float(c.includemargin),
            "dimension": int(c.dim),
            "friction": c.friction.tolist(),
            "solref": c.solref.tolist(),
            "solimp": c.solimp.tolist(),
        }
        for c in data.contact
    ]


def dense_jacobian(model, data):
    if not mujoco.mj_isSparse(model):
        return data.efc_J.reshape(-1, model.nv)[: data.nefc].copy()
    J = np.zeros((data.nefc, model.nv))
    for row in range(data.nefc):
        start, count = data.efc_J_rowadr[row], data.efc_J_rownnz[row]
        J[row, data.efc_J_colind[start : start + count]] = data.efc_J[start : start + count]
    return J


def peer_rows(model, data):
    """{(kind, id): the rows of the constraint}."""
    J = dense_jacobian(model, data)
    groups = {}
    for row in range(data.nefc):
        key = (KIND[TYPE(data.efc_type[row])], int(data.efc_id[row]))
        groups.setdefault(key, []).append(row)
    return {
        key: {
            "J": J[rows],
            "R": data.efc_R[rows].copy(),
            "aref": data.efc_aref[rows].copy(),
            "force": data.efc_force[rows].copy(),
        }
        for key, rows in groups.items()
    }


def our_rows(block, pyramidal, friction):
    """A block as MuJoCo orders it: the normal first, or the edges of the pyramid. An equality has the other sign."""
    J = np.array([row["J"] for row in block["rows"]])
    R, aref, force = (np.array([row[name] for row in block["rows"]]) for name in ("R", "aref", "force"))
    if block["kind"] == "equality":
        return {"J": J, "R": R, "aref": aref, "force": force}
    if block["kind"] != "contact" or len(R) == 1:
        return {"J": J, "R": R, "aref": aref, "force": force}
    if not pyramidal:
        order = [len(R) - 1, *range(len(R) - 1)]
        return {"J": J[order], "R": R[order], "aref": aref[order], "force": force[order]}
    edges = [(j, sign * friction[j]) for j in range(len(R) - 1) for sign in (1, -1)]
    return {
        "J": np.array([J[-1] + mu * J[j] for j, mu in edges]),
        "R": np.full(len(edges), 2 * friction[0] ** 2 * R[-1]),
        "aref": np.array([aref[-1] + mu * aref[j] for j, mu in edges]),
        "force": force,  # of the contact: the edges share it in a way of their own
    }


def compare_state(check, model, data, ours, pyramidal):
    theirs = peer_rows(model, data)
    mine = {}
    for block in ours["blocks"]:
        friction = data.contact[block["index"]].friction if block["kind"] == "contact" else None
        rows = our_rows(block, pyramidal, friction)
        key = (block["kind"], block["index"])
        mine[key] = rows if key not in mine else {name: np.concatenate([mine[key][name], rows[name]]) for name in rows}
    check.equal("constraints", sorted(mine), sorted(theirs))
    scale = {name: max(np.max(np.abs(rows[name]), initial=0) for rows in theirs.values()) for name in ("J", "aref", "force")}
    for key in sorted(mine.keys() & theirs.keys()):
        kind = key[0]
        their, our = theirs[key], mine[key]
        sign = -1 if kind == "equality" and np.sum(their["J"] * our["J"]) < 0 else 1
        check.close(f"{kind} J", sign * our["J"], their["J"], scale=[scale["J"]])
        check.close(f"{kind} R", our["R"], their["R"])
        check.close(f"{kind} aref", sign * our["aref"], their["aref"], scale=[scale["aref"]])
        force = their["force"]
        if kind == "contact" and pyramidal and len(force) > 1:
            wrench = np.zeros(6)
            mujoco.mj_contactForce(model, data, key[1], wrench)
            m = len(our["force"])
            force = np.array([*wrench[1:m], wrench[0]])
        check.close(f"{kind} force", sign * our["force"], force, scale=[scale["force"]])
    check.close("constraint force", ours["constraint_force"], data.qfrc_constraint)
    check.close("acceleration", ours["acceleration"], data.qacc)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("path", scenes())
def test_constraints(path, cone, tmp_path):
    model = load(path, {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC}[cone])
    description = touchstone_dump.describe(path)
    shape_of = dict(enumerate(mjcf_static.by_body(description["shapes"])))
    random = np.random.default_rng(seed_of(path))
    samples, expected = [], []
    for moving in motion(model, random):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.act[:], data.ctrl[:] = moving.qpos, moving.qvel, moving.act, moving.ctrl
        mujoco.mj_forward(model, data)
        if data.ncon == 0:
            continue
        names = {"q": data.qpos, "v": data.qvel, "activation": data.act, "control": data.ctrl}
        samples.append({name: value.tolist() for name, value in names.items()} | {"contacts": contact_list(data, shape_of)})
        expected.append(data)
    file = tmp_path / "states.json"
    file.write_text(json.dumps({"h": model.opt.timestep, "cone": cone, "states": samples}))
    result = subprocess.run([PROGRAM, path, file], capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    check = Comparison(TOLERANCE)
    massive = model.body_mass > 0  # what has no mass has no centre of mass either: each takes a point of its own
    check.close("weights of bodies", np.array(answer["weights"]["body"])[massive], model.body_invweight0[massive])
    check.close("weights of dofs", answer["weights"]["dof"], model.dof_invweight0)
    check.close("weights of tendons", answer["weights"]["tendon"], model.tendon_invweight0)
    for data, ours in zip(expected, answer["states"], strict=True):
        compare_state(check, model, data, ours, cone == "pyramidal")
    check.finish()
