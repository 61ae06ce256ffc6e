"""URDF models against Pinocchio: fixed and floating base, links behind fixed joints merged and kept."""

import numpy as np
import pinocchio as pin
import pytest
import touchstone_dump
from compare import Comparison
from layouts import PinocchioLayout
from touchstone_dump import States

TOLERANCE = 1e-10  # relative to the largest entry
STATES = 20
POINTS = 4
DATA = touchstone_dump.DATA
SEARCH = ("--search", DATA / "urdf")


def model_files():
    paths = [*sorted((DATA / "urdf").rglob("*.urdf")), *sorted((DATA / "mjcf").rglob("*.urdf"))]
    if not paths:
        reason = f"no URDF files below {DATA}; set TOUCHSTONE_DATA"
        return [pytest.param(None, id="shared", marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(path, id=path.stem) for path in paths]


class Robot:
    """Both engines' view of one file, and random states in both layouts."""

    def __init__(self, path, floating, merged):
        self.path = path
        self.options = [*SEARCH, *(["--floating"] if floating else []), *([] if merged else ["--keep-fixed"])]
        base = [pin.JointModelFreeFlyer()] if floating else []
        self.model = pin.buildModelFromUrdf(str(path), *base)
        self.data = self.model.createData()
        self.description = touchstone_dump.describe(path, *self.options)
        joints = [(j["name"], j["type"]) for j in self.description["joints"]]
        self.layout = PinocchioLayout(self.model, joints)
        # Links that exist on both sides: body here, frame there.
        self.links = [
            (i, self.model.getFrameId(body["name"], pin.BODY))
            for i, body in enumerate(self.description["bodies"])
            if self.model.existFrame(body["name"], pin.BODY) and body["name"] != "universe"
        ]
        # What is fixed to the world is no part of Pinocchio's sums; of ours it is as long as it is a body of its own.
        self.static = self.model.inertias[0] if floating or not merged else pin.Inertia.Zero()

    def random_q(self, random):
        parts = []
        for joint in self.description["joints"]:
            if joint["type"] == "free":
                quaternion = random.standard_normal(4)
                parts += [random.uniform(-2, 2, 3), quaternion / np.linalg.norm(quaternion)]
            else:
                parts.append(random.uniform(-np.pi, np.pi, 1) * (1 if joint["type"] == "hinge" else 0.1))
        return np.concatenate(parts)

    def random_states(self, count, seed):
        random = np.random.default_rng(seed)
        sizes, nv = self.description["sizes"], self.layout.nv
        q = np.array([self.random_q(random) for _ in range(count)])
        fields = {
            "q": q,
            "v": random.standard_normal((count, nv)),
            "activation": np.zeros((count, 0)),
            "a": random.standard_normal((count, nv)),
            "tau": random.standard_normal((count, nv)),
            "q_other": np.array([self.random_q(random) for _ in range(count)]),
            "h": random.uniform(0.001, 0.5, (count, 1)),
            "control": np.zeros((count, sizes["nu"])),
            "applied_force": np.zeros((count, nv)),
            "wrenches": np.zeros((count, sizes["nbody"], 6)),
            "mocap": np.zeros((count, 0, 7)),
        }
        chosen = random.integers(0, len(self.links), (count, POINTS))
        points = np.array([self.link_origins(q[i], chosen[i]) for i in range(count)])
        return States(fields, points), chosen

    def link_origins(self, q, chosen):
        pin.framesForwardKinematics(self.model, self.data, self.layout.q(q))
        links = [self.links[k] for k in chosen]
        return [[body, *self.data.oMf[frame].translation] for body, frame in links]


def check_structure(check, robot):
    """Every moving link is on both sides, and the masses add up."""
    check.equal("dofs", robot.description["sizes"]["nv"], robot.model.nv)
    total = sum(body["mass"] for body in robot.description["bodies"])
    check.close("mass", [total], [robot.static.mass + pin.computeTotalMass(robot.model)])
    names = {body["name"] for body in robot.description["bodies"]}
    moving = {robot.model.frames[f].name for _, f in robot.links}
    check.equal("links that only we have", sorted(names - moving - {"world"}), [])


def check_dynamics(check, robot, states, ours, i):
    model, data, layout = robot.model, robot.data, robot.layout
    q, v = states["q"][i], states["v"][i]
    T = layout.velocity_map(q)
    pin_q, pin_v = layout.q(q), T @ v
    mass = pin.crba(model, data, pin_q).copy()
    mass = np.triu(mass) + np.triu(mass, 1).T
    expected = T.T @ mass @ T
    check.close("M", touchstone_dump.dense_mass_matrix(robot.description, ours["M"][i]), expected)
    check.close("M a", ours["mass_times_a"][i], expected @ states["a"][i])
    check.close("M^-1 tau", ours["solved_tau"][i], np.linalg.solve(expected, states["tau"][i]))
    torque = pin.rnea(model, data, pin_q, pin_v, layout.acceleration(q, v, states["a"][i]))
    check.close("rnea", ours["rnea"][i], T.T @ torque)
    bias = pin.rnea(model, data, pin_q, pin_v, layout.acceleration(q, v, np.zeros(layout.nv)))
    check.close("bias", ours["bias"][i], T.T @ bias)
    gravity = T.T @ pin.computeGeneralizedGravity(model, data, pin_q)
    # Gravity need not do work on any joint: then the largest entry is rounding.
    weight = sum(inertia.mass for inertia in model.inertias) * np.linalg.norm(model.gravity.linear)
    check.close("gravity", ours["gravity_force"][i], gravity, scale=[*gravity, 1e-3 * weight])
    acceleration = pin.aba(model, data, pin_q, pin_v, T @ states["tau"][i])
    check.close("aba", ours["aba"][i], layout.acceleration_to_ours(q, v, acceleration))


def check_derivatives(check, robot, states, ours, i):
    """Of tau = T' rnea(q, T v, T a + dT/dt v) and a = T' (aba(q, T v, T tau) - dT/dt v): T is orthogonal, and turns."""
    model, data, layout = robot.model, robot.data, robot.layout
    q, v, a, tau = (states[name][i] for name in ("q", "v", "a", "tau"))
    T = layout.velocity_map(q)
    pin_q, pin_v, pin_a = layout.q(q), T @ v, layout.acceleration(q, v, a)
    rate_by_q, rate_by_v = layout.velocity_map_rate_changes(q, v)
    torque = pin.rnea(model, data, pin_q, pin_v, pin_a).copy()
    by_q, by_v, mass = (x.copy() for x in pin.computeRNEADerivatives(model, data, pin_q, pin_v, pin_a))
    mass = np.triu(mass) + np.triu(mass, 1).T
    along_q = by_q @ T + by_v @ layout.turned(q, v) + mass @ (layout.turned(q, a) + rate_by_q)
    check.close("dtau/dq", ours["dtau_dq"][i], T.T @ along_q + layout.turned_back(q, torque))
    check.close("dtau/dv", ours["dtau_dv"][i], T.T @ (by_v @ T + mass @ rate_by_v))
    acceleration = pin.aba(model, data, pin_q, pin_v, T @ tau).copy()
    by_q, by_v, inverse = (x.copy() for x in pin.computeABADerivatives(model, data, pin_q, pin_v, T @ tau))
    inverse = np.triu(inverse) + np.triu(inverse, 1).T
    offset = layout.velocity_map_rate(q, v) @ v
    along_q = by_q @ T + by_v @ layout.turned(q, v) + inverse @ layout.turned(q, tau) - rate_by_q
    check.close("da/dq", ours["da_dq"][i], T.T @ along_q + layout.turned_back(q, acceleration - offset))
    check.close("da/dv", ours["da_dv"][i], T.T @ (by_v @ T - rate_by_v))
    check.close("da/dtau", ours["da_dtau"][i], T.T @ inverse @ T)


def check_points(check, robot, states, chosen, ours, i):
    model, data, layout = robot.model, robot.data, robot.layout
    q, v = states["q"][i], states["v"][i]
    T, T_rate = layout.velocity_map(q), layout.velocity_map_rate(q, v)
    pin_q, pin_v = layout.q(q), T @ v
    pin.computeJointJacobiansTimeVariation(model, data, pin_q, pin_v)
    pin.updateFramePlacements(model, data)
    worlds, rates, locals_ = [], [], []
    for k in chosen[i]:
        frame = robot.links[k][1]
        jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        rate = pin.getFrameJacobianTimeVariation(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        worlds.append(jacobian @ T)
        rates.append(rate @ T + jacobian @ T_rate)
        locals_.append(pin.getFrameJacobian(model, data, frame, pin.LOCAL) @ T)
    check.close("jacobian", ours["jacobian"][i], np.vstack(worlds), scale=[*np.ravel(worlds), 1])
    check.close("jacobian rate", ours["jacobian_dot"][i], np.vstack(rates), scale=[*np.ravel(rates), 1])
    check.close("local jacobian", ours["jacobian_local"][i], np.vstack(locals_), scale=[*np.ravel(locals_), 1])


def check_link_poses(check, robot, states, ours, i):
    pin.framesForwardKinematics(robot.model, robot.data, robot.layout.q(states["q"][i]))
    rows = [
        np.concatenate([robot.data.oMf[f].translation, robot.data.oMf[f].rotation.flatten()]) for _, f in robot.links
    ]
    check.close("link poses", ours["body_poses"][i][[body for body, _ in robot.links]], np.array(rows))


def check_whole_model(check, robot, states, ours, i):
    model, data, layout, static = robot.model, robot.data, robot.layout, robot.static
    q, v = states["q"][i], states["v"][i]
    T = layout.velocity_map(q)
    pin_q, pin_v = layout.q(q), T @ v
    moving_mass = pin.computeTotalMass(model)
    com = pin.centerOfMass(model, data, pin_q).copy()
    jacobian = pin.jacobianCenterOfMass(model, data, pin_q).copy()
    total = moving_mass + static.mass
    expected = (moving_mass * com + static.mass * static.lever) / total
    check.close("com", ours["com"][i], expected, scale=[*expected, 0.1])
    check.close("com jacobian", ours["com_jacobian"][i], moving_mass / total * (jacobian @ T))
    check.close("kinetic energy", ours["kinetic_energy"][i], [pin.computeKineticEnergy(model, data, pin_q, pin_v)])
    potential = pin.computePotentialEnergy(model, data, pin_q) - static.mass * model.gravity.linear @ static.lever
    weight = total * np.linalg.norm(model.gravity.linear)  # the sum over the bodies cancels
    check.close("potential energy", ours["potential_energy"][i], [potential], scale=[potential, weight])
    momentum = pin.computeCentroidalMomentum(model, data, pin_q, pin_v)
    angular = momentum.angular + np.cross(com - ours["com"][i], momentum.linear)  # about the centre that we used
    check.close("linear momentum", ours["linear_momentum"][i], momentum.linear)
    check.close("angular momentum", ours["angular_momentum"][i], angular)


def check_manifold(check, robot, states, ours, i):
    """Pinocchio moves a free base along a screw, we move origin and orientation apart; so SO3 and R3 there."""
    rotations = pin.liegroups.SO3()
    q, other, v, h = states["q"][i], states["q_other"][i], states["v"][i], states["h"][i, 0]
    moved, change = q.copy(), np.zeros_like(v)
    for kind, at, dof, *_ in robot.layout.blocks:
        if kind == "free":
            moved[at : at + 3] += h * v[dof : dof + 3]
            change[dof : dof + 3] = other[at : at + 3] - q[at : at + 3]
            start, end = np.roll(q[at + 3 : at + 7], -1), np.roll(other[at + 3 : at + 7], -1)
            moved[at + 3 : at + 7] = np.roll(rotations.integrate(start, h * v[dof + 3 : dof + 6]), 1)
            change[dof + 3 : dof + 6] = rotations.difference(start, end)
        else:
            moved[at] += h * v[dof]
            change[dof] = other[at] - q[at]
    for kind, at, *_ in robot.layout.blocks:  # q and -q are the same orientation
        if kind == "free" and moved[at + 3 : at + 7] @ ours["integrate"][i][at + 3 : at + 7] < 0:
            moved[at + 3 : at + 7] *= -1
    check.close("integrate", ours["integrate"][i], moved)
    check.close("difference", ours["difference"][i], change)


@pytest.mark.parametrize("merged", [True, False], ids=["merged", "kept"])
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", model_files())
def test_model(path, floating, merged, tmp_path):
    robot = Robot(path, floating, merged)
    check = Comparison(TOLERANCE)
    check_structure(check, robot)
    states, chosen = robot.random_states(STATES, len(path.name))
    robot.description, ours = touchstone_dump.compute(path, states, tmp_path, *robot.options)
    for i in range(states.count):
        check_dynamics(check, robot, states, ours, i)
        check_derivatives(check, robot, states, ours, i)
        check_points(check, robot, states, chosen, ours, i)
        check_link_poses(check, robot, states, ours, i)
        check_whole_model(check, robot, states, ours, i)
        check_manifold(check, robot, states, ours, i)
    check.finish()
