"""MuJoCo's side: random states, and its results for them."""

import mujoco
import numpy as np
from touchstone_dump import States

POINTS = 4


def load(path):
    """The model, with everything off that adds constraint forces: only the smooth dynamics are compared."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


def random_configuration(model, random):
    q = np.zeros(model.nq)
    for joint in range(model.njnt):
        kind, start = model.jnt_type[joint], model.jnt_qposadr[joint]
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            q[start : start + 3] = random.uniform(-2, 2, 3)
            start += 3
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            quaternion = random.standard_normal(4)
            q[start : start + 4] = quaternion / np.linalg.norm(quaternion)
        elif model.jnt_limited[joint] and random.random() < 0.8:  # sometimes beyond the limits
            q[start] = random.uniform(*model.jnt_range[joint])
        else:
            q[start] = random.uniform(-np.pi, np.pi) * (1 if kind == mujoco.mjtJoint.mjJNT_HINGE else 0.1)
    return q


def random_controls(model, random):
    """Half of them inside of their range, the others anywhere."""
    controls = 3 * random.standard_normal(model.nu)
    for i in range(model.nu):
        if model.actuator_ctrllimited[i] and random.random() < 0.5:
            controls[i] = random.uniform(*model.actuator_ctrlrange[i])
    return controls


def random_state(model, random):
    mocap = random.standard_normal((model.nmocap, 7))
    mocap[:, 3:] /= np.linalg.norm(mocap[:, 3:], axis=1, keepdims=True)
    points = np.hstack([random.integers(0, model.nbody, (POINTS, 1)), random.uniform(-1, 1, (POINTS, 3))])
    fields = {
        "q": random_configuration(model, random),
        "v": random.standard_normal(model.nv),
        "activation": random.standard_normal(model.na),
        "a": random.standard_normal(model.nv),
        "tau": random.standard_normal(model.nv),
        "q_other": random_configuration(model, random),
        "h": np.array([random.uniform(0.001, 0.5)]),
        "control": random_controls(model, random),
        "applied_force": random.standard_normal(model.nv),
        "wrenches": random.standard_normal((model.nbody, 6)),
        "mocap": mocap,
    }
    # None on the world, and none on bodies without mass: those have no centre of mass to act at (we take the body's
    # origin, MuJoCo a point that depends on where the body was attached).
    fields["wrenches"][model.body_mass == 0] = 0
    fields["wrenches"][0] = 0
    return fields, points


def random_states(model, count, seed):
    random = np.random.default_rng(seed)
    samples = [random_state(model, random) for _ in range(count)]
    fields = {name: np.array([sample[0][name] for sample in samples]) for name in States.FIELDS}
    return States(fields, np.array([sample[1] for sample in samples]))


def set_state(model, data, states, i):
    mujoco.mj_resetData(model, data)
    data.qpos[:], data.qvel[:], data.act[:] = states["q"][i], states["v"][i], states["activation"][i]
    data.ctrl[:], data.qfrc_applied[:] = states["control"][i], states["applied_force"][i]
    data.xfrc_applied[:] = states["wrenches"][i]
    data.mocap_pos[:], data.mocap_quat[:] = states["mocap"][i][:, :3], states["mocap"][i][:, 3:]
    mujoco.mj_forward(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    mujoco.mj_subtreeVel(model, data)


def mass_matrix(model, data):
    result = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, result)
    return result


def point_jacobians(model, data, function, points):
    """6 rows a point, [linear; angular]."""
    blocks = []
    for body, *position in points:
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        function(model, data, linear, angular, np.array(position), int(body))
        blocks += [linear, angular]
    return np.vstack(blocks)


def integrate(model, q, v, h):
    result = q.copy()
    mujoco.mj_integratePos(model, result, v, h)
    return result


def difference(model, q0, q1):
    result = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, result, 1.0, q0, q1)
    return result


def body_inertia(model, body):
    """About the centre of mass, in the axes of the body."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, model.body_iquat[body])
    axes = matrix.reshape(3, 3)
    return axes @ np.diag(model.body_inertia[body]) @ axes.T


def pose(position, quaternion):
    """Position and rotation matrix in one row, as our program writes poses."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.asarray(quaternion, dtype=float))
    return np.concatenate([position, matrix])


def in_file_frame(model, geom, row):
    """The pose of a mesh geom before MuJoCo moved its frame to the mesh's centre and principal axes."""
    if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
        return row
    mesh = model.geom_dataid[geom]
    shift = pose(model.mesh_pos[mesh], model.mesh_quat[mesh])
    rotation = row[3:].reshape(3, 3) @ shift[3:].reshape(3, 3).T
    return np.concatenate([row[:3] - rotation @ shift[:3], rotation.flatten()])


def mesh_bodies(path):
    """Bodies whose inertia comes from a mesh, by index."""
    spec = mujoco.MjSpec.from_file(str(path))
    model = spec.compile()
    forced = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    result = set()
    for body in spec.bodies:
        if forced or not body.explicitinertial:
            start = model.body_geomadr[body.id]
            kinds = model.geom_type[start : start + model.body_geomnum[body.id]]
            if np.any(kinds == mujoco.mjtGeom.mjGEOM_MESH):
                result.add(body.id)
    return result


def set_inertia(model, body, mass, com, inertia):
    """Gives MuJoCo's body another inertia, and withdraws the shortcuts that its compiler derived from the old one."""
    moments, axes = np.linalg.eigh(np.array(inertia))
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    model.body_mass[body], model.body_ipos[body], model.body_inertia[body] = mass, com, moments
    mujoco.mju_mat2Quat(model.body_iquat[body], axes.flatten())
    model.body_sameframe[body] = 0
    model.geom_sameframe[model.geom_bodyid == body] = 0
    model.site_sameframe[model.site_bodyid == body] = 0
    model.body_simple[body] = 0
