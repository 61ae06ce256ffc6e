"""MJCF models against MuJoCo: what the file says, and the smooth dynamics at random states."""

import hashlib
from pathlib import Path

import mjcf_static
import mujoco
import mujoco_peer
import numpy as np
import pytest
import touchstone_dump
from compare import Comparison

TOLERANCE = 1e-9  # relative to the largest entry
STATES = 20

SHARED = touchstone_dump.DATA / "mjcf"
OWN = Path(__file__).parent / "models"


def model_files():
    own = [pytest.param(path, id=f"own/{path.stem}") for path in sorted(OWN.glob("*.xml"))]
    if not SHARED.exists():
        reason = f"no models in {SHARED}; set TOUCHSTONE_DATA"
        return [*own, pytest.param(None, id="shared", marks=pytest.mark.skip(reason=reason))]
    paths = [path for path in sorted(SHARED.rglob("*.xml")) if "<mujocoinclude" not in path.read_text()]
    return [*own, *(pytest.param(path, id=str(path.relative_to(SHARED))) for path in paths)]


def seed_of(path):
    return int.from_bytes(hashlib.sha256(path.name.encode()).digest()[:4], "little")


def load_peer(path):
    try:
        return mujoco_peer.load(path)
    except ValueError as error:
        pytest.skip(f"not a model of its own, MuJoCo says: {str(error).splitlines()[0]}")


def check_forces(check, model, data, ours, i, mass):
    check.close("M", mass, mujoco_peer.mass_matrix(model, data))
    check.close("bias", ours["bias"][i], data.qfrc_bias)
    check.close("passive", ours["passive"][i], data.qfrc_passive)
    check.close("actuator length", ours["actuator_length"][i], data.actuator_length)
    check.close("actuator velocity", ours["actuator_velocity"][i], data.actuator_velocity)
    check.close("actuator force", ours["actuator_force"][i], data.actuator_force)
    check.close("actuation", ours["actuation"][i], data.qfrc_actuator)
    check.close("activation rate", ours["activation_rate"][i], data.act_dot)
    check.close("tendon length", ours["tendon_length"][i], data.ten_length)
    check.close("tendon velocity", ours["tendon_velocity"][i], data.ten_velocity)
    check.close("smooth force", ours["smooth_force"][i], data.qfrc_smooth)
    check.close("acceleration", ours["acceleration"][i], data.qacc_smooth)


def check_recursions(check, model, data, states, ours, i):
    """Ours go through one interface, MuJoCo's M and bias say what they must be."""
    if model.nv == 0:
        return
    mass = mujoco_peer.mass_matrix(model, data)
    armature = model.dof_armature
    tendon_armature = np.any(model.tendon_armature != 0)
    a, tau = states["a"][i], states["tau"][i]
    check.close("M a", ours["mass_times_a"][i], mass @ a)
    solved, forward = np.linalg.solve(mass, np.column_stack([tau, tau - data.qfrc_bias])).T
    check.close("M^-1 tau", ours["solved_tau"][i], solved)
    if not tendon_armature and not np.any(model.body_mocapid >= 0):  # neither is in the interface of rnea and aba
        check.close("rnea", ours["rnea"][i], mass @ a - armature * a + data.qfrc_bias)
        check.close("aba", ours["aba"][i], forward)


def check_poses(check, model, data, description, ours, i):
    bodies = np.hstack([data.xpos, data.xmat])
    check.close("body poses", ours["body_poses"][i], bodies)
    sites = ours["site_poses"][i].reshape(-1, 12)[mjcf_static.by_body(description["sites"])]
    check.close("site poses", sites, np.hstack([data.site_xpos, data.site_xmat]).reshape(-1, 12))
    shapes = ours["shape_poses"][i].reshape(-1, 12)[mjcf_static.by_body(description["shapes"])]
    rows = np.hstack([data.geom_xpos, data.geom_xmat])
    expected = [mujoco_peer.in_file_frame(model, geom, rows[geom]) for geom in range(model.ngeom)]
    check.close("shape poses", shapes, np.array(expected).reshape(-1, 12))


def check_whole_model(check, model, data, ours, i):
    weight = model.body_mass * np.linalg.norm(model.opt.gravity)
    gravitational = np.sum(weight * np.linalg.norm(data.xipos, axis=1))  # the sum cancels; this is what is added
    check.close(
        "potential energy", ours["potential_energy"][i], [data.energy[0]], scale=[data.energy[0], gravitational]
    )
    check.close("kinetic energy", ours["kinetic_energy"][i], [data.energy[1]])
    check.close("com", ours["com"][i], data.subtree_com[0], scale=data.xipos)  # a sum that may cancel
    jacobian = np.zeros((3, model.nv))
    mujoco.mj_jacSubtreeCom(model, data, jacobian, 0)
    check.close("com jacobian", ours["com_jacobian"][i], jacobian)
    mass = model.body_subtreemass[0]
    check.close("linear momentum", ours["linear_momentum"][i], mass * data.subtree_linvel[0])
    check.close("angular momentum", ours["angular_momentum"][i], data.subtree_angmom[0])


def check_points(check, model, data, states, ours, i):
    points = states.points[i]
    jacobian = mujoco_peer.point_jacobians(model, data, mujoco.mj_jac, points)
    rate = mujoco_peer.point_jacobians(model, data, mujoco.mj_jacDot, points)
    v, a = states["v"][i], states["a"][i]
    check.close("jacobian", ours["jacobian"][i], jacobian)
    check.close("jacobian rate", ours["jacobian_dot"][i], rate)
    check.close("point velocity", ours["point_velocity"][i].T.flatten(), jacobian @ v)
    check.close("point acceleration", ours["point_acceleration"][i].T.flatten(), jacobian @ a + rate @ v)


def check_manifold(check, model, states, ours, i):
    q, v, h = states["q"][i], states["v"][i], states["h"][i, 0]
    check.close("integrate", ours["integrate"][i], mujoco_peer.integrate(model, q, v, h))
    check.close("difference", ours["difference"][i], mujoco_peer.difference(model, q, states["q_other"][i]))


@pytest.mark.parametrize("path", model_files())
def test_model(path, tmp_path):
    model = load_peer(path)
    check = Comparison(TOLERANCE)
    from_meshes = mujoco_peer.mesh_bodies(path)
    description = touchstone_dump.describe(path)
    if not mjcf_static.check_all(check, model, description, from_meshes):
        check.finish()
    for body in from_meshes:  # compared above, with the tolerance of floats; the dynamics start from the same numbers
        inertia = description["bodies"][body]
        mujoco_peer.set_inertia(model, body, inertia["mass"], inertia["com"], inertia["inertia"])
    states = mujoco_peer.random_states(model, STATES, seed_of(path))
    description, ours = touchstone_dump.compute(path, states, tmp_path)
    data = mujoco.MjData(model)
    for i in range(states.count):
        mujoco_peer.set_state(model, data, states, i)
        mass = touchstone_dump.dense_mass_matrix(description, ours["M"][i])
        check_forces(check, model, data, ours, i, mass)
        check_recursions(check, model, data, states, ours, i)
        check_poses(check, model, data, description, ours, i)
        check_whole_model(check, model, data, ours, i)
        check_points(check, model, data, states, ours, i)
        check_manifold(check, model, states, ours, i)
    check.finish()
