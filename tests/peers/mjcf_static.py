"""What MuJoCo's compiler made of a file against what our loader made of it: everything that has no state."""

import mujoco
import mujoco_peer
import numpy as np

JOINT_TYPES = ("free", "ball", "slide", "hinge")
# In the order of our enumerations; see model/elements.hpp.
TRANSMISSIONS = ("JOINT", "JOINTINPARENT", "TENDON", "SITE", "SLIDERCRANK", "BODY")
DYNAMICS = ("NONE", "INTEGRATOR", "FILTER", "FILTEREXACT")
GAINS, BIASES = ("FIXED", "AFFINE"), ("NONE", "AFFINE")
EQUALITIES = ("CONNECT", "WELD", "JOINT", "TENDON")


def code(enumeration, prefix, names, index):
    return int(getattr(enumeration, prefix + names[index]))


def name_of(model, kind, index):
    return mujoco.mj_id2name(model, kind, index)


def check_names(check, what, model, kind, ours):
    """Where MuJoCo has a name we have the same one; we also name what has none."""
    for i, element in enumerate(ours):
        expected = name_of(model, kind, i)
        if expected:
            check.equal(f"{what} name", element["name"], expected)


def by_body(elements):
    """Indices in MuJoCo's order: body by body, in a body as written."""
    return sorted(range(len(elements)), key=lambda i: (elements[i]["body"], i))


def check_sizes(check, model, ours):
    expected = {
        "nbody": model.nbody,
        "njoint": model.njnt,
        "nq": model.nq,
        "nv": model.nv,
        "nu": model.nu,
        "na": model.na,
        "nshape": model.ngeom,
        "nsite": model.nsite,
        "ntendon": model.ntendon,
        "nmocap": model.nmocap,
    }
    for name, value in expected.items():
        check.equal(name, ours["sizes"][name], value)
    return not check.failures


# MuJoCo stores the vertices of meshes as 32-bit floats, before and after it turns them into the principal frame, and
# so rounds the inertia of a mesh by some 1e-8 of itself. (Of "hull" in models/meshes.xml it is 2e-8 off the exact
# value, we are 1.4e-9 off.)
MESH_TOLERANCE = 1e-7


def check_bodies(check, model, ours, from_meshes):
    bodies = ours["bodies"]
    check_names(check, "body", model, mujoco.mjtObj.mjOBJ_BODY, bodies)
    check.equal(
        "body parents", [b["parent"] for b in bodies[1:]], model.body_parentid[1:].tolist()
    )  # the world has none
    check.close("body mass", [b["mass"] for b in bodies], model.body_mass)
    check.close("gravity compensation", [b["gravity_compensation"] for b in bodies], model.body_gravcomp)
    massive = [i for i in range(1, model.nbody) if model.body_mass[i] > 0]  # the world's mass has no effect
    for i in massive:
        label = f"body inertia of {bodies[i]['name']}"
        tolerance = MESH_TOLERANCE if i in from_meshes else None
        check.close(label, bodies[i]["inertia"], mujoco_peer.body_inertia(model, i), tolerance)
        # A centre of mass is measured against the robot, not against its own offset, which may be zero.
        scale = np.append(np.abs(model.body_ipos[massive]).flatten(), 0.01)
        check.close(f"body com of {bodies[i]['name']}", bodies[i]["com"], model.body_ipos[i], tolerance, scale)


def check_joints(check, model, ours):
    joints = ours["joints"]
    check_names(check, "joint", model, mujoco.mjtObj.mjOBJ_JOINT, joints)
    check.equal("joint types", [j["type"] for j in joints], [JOINT_TYPES[k] for k in model.jnt_type])
    check.equal("joint dofs", [j["dof"] for j in joints], model.jnt_dofadr.tolist())
    check.equal("joint bodies", [j["body"] for j in joints], model.jnt_bodyid.tolist())
    check.equal("joint limited", [j["limited"] for j in joints], model.jnt_limited.astype(bool).tolist())
    dofs = model.jnt_dofadr
    columns = {
        "margin": model.jnt_margin,
        "stiffness": model.jnt_stiffness,
        "damping": model.dof_damping[dofs],
        "armature": model.dof_armature[dofs],
        "friction": model.dof_frictionloss[dofs],
    }
    for name, values in columns.items():
        check.close(f"joint {name}", [j[name] for j in joints], values)
    for i, joint in enumerate(joints):
        check_joint(check, model, i, joint)
    check.close("reference configuration", ours["reference_q"], model.qpos0)
    check.close("spring reference", ours["spring_reference"], model.qpos_spring)


def check_joint(check, model, i, joint):
    name = joint["name"]
    if joint["limited"]:
        check.close(f"range of joint {name}", joint["range"], model.jnt_range[i])
    if joint["type"] in ("hinge", "slide"):
        check.close(f"axis of joint {name}", joint["axis"], model.jnt_axis[i])
    if joint["type"] != "free":
        check.close(f"anchor of joint {name}", joint["anchor"], model.jnt_pos[i], scale=[1])
    limited = bool(model.jnt_actfrclimited[i])
    check.equal(f"actuator force limited of joint {name}", joint["actuator_force_limited"], limited)
    if limited:
        check.close(f"actuator force range of joint {name}", joint["actuator_force_range"], model.jnt_actfrcrange[i])
    compensated = bool(model.jnt_actgravcomp[i])
    check.equal(f"actuator gravity compensation of {name}", joint["actuator_gravity_compensation"], compensated)
    dof = model.jnt_dofadr[i]
    check_impedance(check, f"limit of joint {name}", joint["limit_impedance"], model.jnt_solref[i], model.jnt_solimp[i])
    friction = joint["friction_impedance"]
    check_impedance(check, f"friction of joint {name}", friction, model.dof_solref[dof], model.dof_solimp[dof])


def check_impedance(check, name, ours, solref, solimp):
    check.close(f"solref of {name}", ours["solref"], solref)
    check.close(f"solimp of {name}", ours["solimp"], solimp)


def check_shapes(check, model, ours):
    for geom, index in enumerate(by_body(ours["shapes"])):
        shape = ours["shapes"][index]
        expected = name_of(model, mujoco.mjtObj.mjOBJ_GEOM, geom)
        if expected:
            check.equal("shape name", shape["name"], expected)
        check.equal(f"body of shape {shape['name']}", shape["body"], int(model.geom_bodyid[geom]))
        for name, values in (
            ("contype", model.geom_contype),
            ("conaffinity", model.geom_conaffinity),
            ("condim", model.geom_condim),
            ("priority", model.geom_priority),
            ("group", model.geom_group),
        ):
            check.equal(f"{name} of shape {shape['name']}", shape[name], int(values[geom]))
        check.close(f"friction of shape {shape['name']}", shape["friction"], model.geom_friction[geom])
        check.close(f"margin of shape {shape['name']}", shape["margin"], model.geom_margin[geom])
        check.close(f"gap of shape {shape['name']}", shape["gap"], model.geom_gap[geom])
        impedance = shape["impedance"]
        check_impedance(check, f"shape {shape['name']}", impedance, model.geom_solref[geom], model.geom_solimp[geom])
        if shape["type"] not in ("mesh", "height field", "plane"):
            used = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(shape["type"], 3)
            check.close(f"size of shape {shape['name']}", shape["size"][:used], model.geom_size[geom][:used])


def check_actuators(check, model, ours):
    check_names(check, "actuator", model, mujoco.mjtObj.mjOBJ_ACTUATOR, ours["actuators"])
    for i, a in enumerate(ours["actuators"]):
        label = f"of actuator {a['name']}"
        kind = code(mujoco.mjtTrn, "mjTRN_", TRANSMISSIONS, a["transmission"])
        check.equal(f"transmission {label}", kind, int(model.actuator_trntype[i]))
        check.equal(f"target {label}", a["target"], int(model.actuator_trnid[i, 0]))
        dynamics = code(mujoco.mjtDyn, "mjDYN_", DYNAMICS, a["dynamics"])
        check.equal(f"dynamics {label}", dynamics, int(model.actuator_dyntype[i]))
        if DYNAMICS[a["dynamics"]].startswith("FILTER"):
            check.close(f"time constant {label}", a["time_constant"], model.actuator_dynprm[i, 0])
        gain_type = code(mujoco.mjtGain, "mjGAIN_", GAINS, a["gain_type"])
        check.equal(f"gain type {label}", gain_type, int(model.actuator_gaintype[i]))
        check.equal(
            f"bias type {label}",
            code(mujoco.mjtBias, "mjBIAS_", BIASES, a["bias_type"]),
            int(model.actuator_biastype[i]),
        )
        check_actuator_numbers(check, model, i, a, label)


def check_actuator_numbers(check, model, i, a, label):
    check.close(f"gain {label}", a["gain"], model.actuator_gainprm[i, :3])
    check.close(f"bias {label}", a["bias"], model.actuator_biasprm[i, :3])
    check.close(f"gear {label}", a["gear"], model.actuator_gear[i])
    check.close(f"crank length {label}", a["crank_length"], model.actuator_cranklength[i])
    check.equal(f"early activation {label}", a["early"], bool(model.actuator_actearly[i]))
    for name, limited, values in (
        ("control", model.actuator_ctrllimited, model.actuator_ctrlrange),
        ("force", model.actuator_forcelimited, model.actuator_forcerange),
        ("activation", model.actuator_actlimited, model.actuator_actrange),
    ):
        check.equal(f"{name} limited {label}", a[f"{name}_limited"], bool(limited[i]))
        if limited[i]:
            check.close(f"{name} range {label}", a[f"{name}_range"], values[i])


def check_tendons(check, model, ours):
    check_names(check, "tendon", model, mujoco.mjtObj.mjOBJ_TENDON, ours["tendons"])
    for i, t in enumerate(ours["tendons"]):
        label = f"of tendon {t['name']}"
        start, count = model.tendon_adr[i], model.tendon_num[i]
        check.equal(
            f"joints {label}", [x["joint"] for x in t["terms"]], model.wrap_objid[start : start + count].tolist()
        )
        check.close(f"terms {label}", [x["coefficient"] for x in t["terms"]], model.wrap_prm[start : start + count])
        check.equal(f"limited {label}", t["limited"], bool(model.tendon_limited[i]))
        if t["limited"]:
            check.close(f"range {label}", t["range"], model.tendon_range[i])
        for name, values in (
            ("stiffness", model.tendon_stiffness),
            ("damping", model.tendon_damping),
            ("armature", model.tendon_armature),
            ("friction", model.tendon_frictionloss),
            ("spring_length", model.tendon_lengthspring),
        ):
            check.close(f"{name} {label}", t[name], values[i])


def check_equalities(check, model, ours):
    check.equal("equalities", len(ours["equalities"]), model.neq)
    for i, e in enumerate(ours["equalities"][: model.neq]):
        label = f"of equality {e['name']}"
        kind = code(mujoco.mjtEq, "mjEQ_", EQUALITIES, e["type"])
        check.equal(f"type {label}", kind, int(model.eq_type[i]))
        check.equal(f"active {label}", e["active"], bool(model.eq_active0[i]))
        check_impedance(check, label, e["impedance"], model.eq_solref[i], model.eq_solimp[i])
        if EQUALITIES[e["type"]] in ("JOINT", "TENDON"):
            check.equal(f"objects {label}", (e["a"], e["b"]), (int(model.eq_obj1id[i]), int(model.eq_obj2id[i])))
            check.close(f"polynomial {label}", e["polynomial"], model.eq_data[i, :5])
        else:
            check_spatial_equality(check, model, i, e, label)


def transform(pose):
    matrix = mujoco_peer.pose(np.array(pose["position"]), pose["rotation"])
    return matrix[:3], matrix[3:].reshape(3, 3)


def check_spatial_equality(check, model, i, e, label):
    """Connect and weld: the points that coincide, in each body, and the rotation that is held."""
    sites = model.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE
    first, second = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
    data = model.eq_data[i]
    weld = EQUALITIES[e["type"]] == "WELD"
    position, rotation = transform(e["relative_pose"])
    if sites:
        bodies = int(model.site_bodyid[first]), int(model.site_bodyid[second])
        point_a, point_b = model.site_pos[first], model.site_pos[second]
        frames = [mujoco_peer.pose(np.zeros(3), model.site_quat[s])[3:].reshape(3, 3) for s in (first, second)]
        held = frames[0] @ frames[1].T
    else:
        bodies = first, second
        point_a, point_b = (data[3:6], data[:3]) if weld else (data[:3], data[3:6])
        held = mujoco_peer.pose(np.zeros(3), data[6:10])[3:].reshape(3, 3)
    check.equal(f"bodies {label}", (e["a"], e["b"]), bodies)
    if weld:
        anchor = np.array(e["anchor_a"])
        check.close(f"anchor {label}", anchor, point_b, scale=[1])
        check.close(f"relative position {label}", position + rotation @ anchor, point_a, scale=[1])
        check.close(f"relative rotation {label}", rotation, held)
        check.close(f"torque scale {label}", e["torque_scale"], data[10])
    else:
        check.close(f"first anchor {label}", e["anchor_a"], point_a, scale=[1])
        check.close(f"second anchor {label}", e["anchor_b"], point_b, scale=[1])


def check_keyframes(check, model, ours):
    check.equal("keyframes", len(ours["keyframes"]), model.nkey)
    check_names(check, "keyframe", model, mujoco.mjtObj.mjOBJ_KEY, ours["keyframes"])
    for i, key in enumerate(ours["keyframes"][: model.nkey]):
        label = f"of keyframe {key['name'] or i}"
        check.close(f"time {label}", key["time"], model.key_time[i])
        check.close(f"q {label}", key["q"], model.key_qpos[i])
        check.close(f"v {label}", key["v"], model.key_qvel[i])
        check.close(f"activation {label}", key["activation"], model.key_act[i])
        check.close(f"control {label}", key["control"], model.key_ctrl[i])
        mocap = [np.concatenate([m["position"], m["rotation"]]) for m in key["mocap"]]
        expected = np.hstack([model.key_mpos[i].reshape(-1, 3), model.key_mquat[i].reshape(-1, 4)])
        check.close(f"mocap {label}", np.array(mocap).reshape(-1, 7), expected)


def check_contact_rules(check, model, ours):
    order = by_body(ours["shapes"])
    geom_of = {index: geom for geom, index in enumerate(order)}
    pairs = [sorted(geom_of[s] for s in pair["shapes"]) for pair in ours["contact"]["pairs"]]
    expected = [sorted((int(a), int(b))) for a, b in zip(model.pair_geom1, model.pair_geom2, strict=True)]
    check.equal("contact pairs", sorted(pairs), sorted(expected))
    exclusions = [sorted(e) for e in ours["contact"]["exclusions"]]
    expected = [sorted((int(s) >> 16, int(s) & 0xFFFF)) for s in model.exclude_signature]
    check.equal("contact exclusions", sorted(exclusions), sorted(expected))


def check_all(check, model, ours, from_meshes):
    """False if not even the sizes agree, so that states cannot be compared."""
    if not check_sizes(check, model, ours):
        return False
    off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY  # we have no flag: gravity is zero then
    check.close("gravity", ours["gravity"], np.zeros(3) if off else model.opt.gravity)
    check.close("time step", ours["time_step"], model.opt.timestep)
    check_bodies(check, model, ours, from_meshes)
    check_joints(check, model, ours)
    check_shapes(check, model, ours)
    check_names(check, "site", model, mujoco.mjtObj.mjOBJ_SITE, [ours["sites"][i] for i in by_body(ours["sites"])])
    check_actuators(check, model, ours)
    check_tendons(check, model, ours)
    check_equalities(check, model, ours)
    check_keyframes(check, model, ours)
    check_contact_rules(check, model, ours)
    return True
