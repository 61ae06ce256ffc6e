"""Scenes of our library in Drake, from the data that `bench_convex_compare model` prints: same shapes and materials.

Point contact, as the scenes are made of balls. Drake takes pairs that overlap, and no others.
"""

import time

import numpy as np
from pydrake.common.eigen_geometry import Quaternion
from pydrake.geometry import (
    AddContactMaterial,
    Box,
    CollisionFilterDeclaration,
    Cylinder,
    GeometrySet,
    HalfSpace,
    ProximityProperties,
    Sphere,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import (
    AddMultibodyPlant,
    CoulombFriction,
    MultibodyPlantConfig,
)
from pydrake.multibody.tree import PlanarJoint, PrismaticJoint, RevoluteJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import TrajectorySource
from pydrake.trajectories import PiecewisePolynomial

# Columns: world z, x, y. Drake's planar joint moves along x and y of this frame and turns about its z.
PLANAR = RotationMatrix(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))

PUSH = 2e-3  # s: the pushes of a scene follow each other


def transform(pose):
    w, x, y, z = pose["rotation"]
    return RigidTransform(
        RotationMatrix(Quaternion(np.array([w, x, y, z]) / np.linalg.norm([w, x, y, z]))), pose["position"]
    )


def inertia(body):
    mass, (xx, yy, zz, xy, xz, yz) = body["mass"], body["inertia"]
    unit = UnitInertia(xx / mass, yy / mass, zz / mass, xy / mass, xz / mass, yz / mass)
    about_com = SpatialInertia(mass, [0, 0, 0], unit, skip_validity_check=True)
    return about_com.Shift(-np.array(body["com"]))


def shape_of(data):
    size = data["size"]
    return {
        "plane": lambda: HalfSpace(),
        "sphere": lambda: Sphere(size[0]),
        "box": lambda: Box(*(2.0 * np.array(size))),
        "cylinder": lambda: Cylinder(size[0], 2.0 * size[1]),
    }[data["type"]]()


def properties_of(data):
    properties = ProximityProperties()
    friction = CoulombFriction(data["friction"], data["friction"])
    AddContactMaterial(
        dissipation=data["dissipation"], point_stiffness=data["stiffness"], friction=friction, properties=properties
    )
    properties.AddProperty("material", "relaxation_time", data["relaxation"])
    return properties


def collides(a, b):
    return bool(a[0] & b[1] or b[0] & a[1])


class DrakeScene:
    """A scene with q and v in our layout (MuJoCo's)."""

    def __init__(self, data, approximation, step):
        config = MultibodyPlantConfig(
            time_step=step,
            stiction_tolerance=1e-4,
            discrete_contact_approximation=approximation,
            contact_model="point",
            use_sampled_output_ports=False,
        )
        builder = DiagramBuilder()
        self.plant, scene_graph = AddMultibodyPlant(config, builder)
        plant = self.plant
        self.step_size, self.steps = step, 0
        bodies = [plant.world_body()]
        for entry in data["bodies"]:
            bodies.append(plant.AddRigidBody(entry["name"], inertia(entry)))
        self.map_q, self.map_v, self.free = [], [], []  # ours, Drake's
        self.add_joints(data, bodies)
        groups = {}
        for index, entry in enumerate(data["shapes"]):
            geometry = plant.RegisterCollisionGeometry(
                bodies[entry["body"]], transform(entry["pose"]), shape_of(entry), f"shape{index}", properties_of(entry)
            )
            groups.setdefault(tuple(entry["filter"]), []).append(geometry)
        self.couple(data)
        plant.Finalize()
        self.filter(scene_graph, groups)
        if plant.num_actuators() > 0:
            self.drive(data, builder)
        self.diagram = builder.Build()
        self.simulator = Simulator(self.diagram)
        self.context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        self.index_states(bodies)
        self.set_state(np.array(data["q"]), np.array(data["v"]))
        self.simulator.Initialize()

    def add_joints(self, data, bodies):
        plant, q, v = self.plant, 0, 0
        self.joints, self.made, self.actuator = [], {}, {}  # by the index of a joint
        by_body = {}
        for number, joint in enumerate(data["joints"]):
            joint["number"] = number
            by_body.setdefault(joint["body"], []).append(joint)
        for index in range(1, len(bodies)):
            joints, entry = by_body.get(index, []), data["bodies"][index - 1]
            parent, X = bodies[entry["parent"]], transform(entry["pose"])
            types = [joint["type"] for joint in joints]
            if types == ["free"]:
                self.free.append((bodies[index], q, v))
                q, v = q + 7, v + 6
                continue
            if types == ["slide", "slide", "hinge"]:  # along x and z, about y
                X_PF = RigidTransform(X.rotation() @ PLANAR, X.translation())
                made = PlanarJoint(
                    joints[0]["name"],
                    frame_on_parent=self.frame(parent, X_PF, f"{index}p"),
                    frame_on_child=self.frame(bodies[index], RigidTransform(PLANAR, [0, 0, 0]), f"{index}c"),
                    damping=[0, 0, 0],
                )
                self.joints.append((plant.AddJoint(made), [q + 1, q, q + 2], [v + 1, v, v + 2]))
                q, v = q + 3, v + 3
                continue
            (joint,) = joints
            kind = PrismaticJoint if joint["type"] == "slide" else RevoluteJoint
            made = plant.AddJoint(
                kind(
                    joint["name"],
                    frame_on_parent=self.frame(parent, X, f"{index}p"),
                    frame_on_child=bodies[index].body_frame(),
                    axis=joint["axis"],
                    damping=joint["damping"],
                )
            )
            if joint["armature"] > 0 or len(data["control"]) > 0:
                actuator = plant.AddJointActuator(joint["name"], made)
                actuator.set_default_rotor_inertia(joint["armature"])
                actuator.set_default_gear_ratio(1.0)
                self.actuator[joint["number"]] = len(self.actuator)
            self.made[joint["number"]] = made
            self.joints.append((made, [q], [v]))
            q, v = q + 1, v + 1
        self.nq, self.nv = q, v

    def couple(self, data):
        for coupler in data["couplers"]:
            a, b = self.made[coupler["a"]], self.made[coupler["b"]]
            self.plant.AddCouplerConstraint(a, b, coupler["ratio"])

    def drive(self, data, builder):
        """Controls, which are constant, and pushes on bodies that slide, each step as in our runs."""
        steps = max(1, round(len(data["pushes"]) * PUSH / self.step_size))
        control = np.zeros((self.plant.num_actuators(), steps + 1))
        for joint, value in zip(data["motors"], data["control"], strict=True):
            control[self.actuator[joint]] = value
        if data["pushes"]:
            middle = self.step_size * (np.arange(steps + 1) + 0.5)
            starts = np.array([push["start"] for push in data["pushes"]])
            forces = np.array([push["force"] for push in data["pushes"]])
            chosen = forces[np.clip(np.searchsorted(starts, middle + 1e-12, side="right") - 1, 0, len(starts) - 1)]
            body = data["pushes"][0]["body"]
            while body > 0:
                for joint in data["joints"]:
                    if joint["body"] == body and joint["number"] in self.actuator:
                        control[self.actuator[joint["number"]]] += chosen @ np.array(joint["axis"])
                body = data["bodies"][body - 1]["parent"]
        # Steps are at 0, h, 2 h, ... and should not depend on how these are rounded.
        breaks = self.step_size * (np.arange(steps + 1) - 0.5)
        source = builder.AddSystem(TrajectorySource(PiecewisePolynomial.ZeroOrderHold(breaks, control)))
        builder.Connect(source.get_output_port(), self.plant.get_actuation_input_port())

    def frame(self, body, X, name):
        from pydrake.multibody.tree import FixedOffsetFrame

        return self.plant.AddFrame(FixedOffsetFrame(f"frame{name}", body.body_frame(), X))

    def filter(self, scene_graph, groups):
        manager = scene_graph.collision_filter_manager()
        keys = list(groups)
        for i, a in enumerate(keys):
            if not collides(a, a):
                manager.Apply(CollisionFilterDeclaration().ExcludeWithin(GeometrySet(groups[a])))
            for b in keys[i + 1 :]:
                if not collides(a, b):
                    manager.Apply(
                        CollisionFilterDeclaration().ExcludeBetween(GeometrySet(groups[a]), GeometrySet(groups[b]))
                    )

    def index_states(self, bodies):
        self.free_q = np.array([body.floating_positions_start() for body, _, _ in self.free], dtype=int)
        self.free_v = np.array([body.floating_velocities_start_in_v() for body, _, _ in self.free], dtype=int)
        self.own_q = np.array([q for _, q, _ in self.free], dtype=int)
        self.own_v = np.array([v for _, _, v in self.free], dtype=int)

    def rotations(self, q):
        quaternion = np.stack([q[self.own_q + 3 + k] for k in range(4)])
        w, x, y, z = quaternion / np.linalg.norm(quaternion, axis=0)  # Drake's grow longer in a step
        return np.stack(
            [
                np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
                np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1),
                np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1),
            ],
            -2,
        )

    def set_state(self, q, v):
        theirs_q, theirs_v = np.zeros(self.plant.num_positions()), np.zeros(self.plant.num_velocities())
        if len(self.free) > 0:
            R = self.rotations(q)
            for k in range(3):
                theirs_q[self.free_q + 4 + k] = q[self.own_q + k]
                theirs_v[self.free_v + 3 + k] = v[self.own_v + k]
            for k in range(4):
                theirs_q[self.free_q + k] = q[self.own_q + 3 + k]
            spin = np.stack([v[self.own_v + 3 + k] for k in range(3)], -1)
            spin = np.einsum("bij,bj->bi", R, spin)
            for k in range(3):
                theirs_v[self.free_v + k] = spin[:, k]
        for joint, own_q, own_v in self.joints:
            theirs_q[joint.position_start() : joint.position_start() + len(own_q)] = q[own_q]
            theirs_v[joint.velocity_start() : joint.velocity_start() + len(own_v)] = v[own_v]
        self.plant.SetPositionsAndVelocities(self.context, np.concatenate([theirs_q, theirs_v]))

    def state(self):
        theirs_q, theirs_v = self.plant.GetPositions(self.context), self.plant.GetVelocities(self.context)
        q, v = np.zeros(self.nq), np.zeros(self.nv)
        if len(self.free) > 0:
            for k in range(3):
                q[self.own_q + k] = theirs_q[self.free_q + 4 + k]
                v[self.own_v + k] = theirs_v[self.free_v + 3 + k]
            for k in range(4):
                q[self.own_q + 3 + k] = theirs_q[self.free_q + k]
            spin = np.stack([theirs_v[self.free_v + k] for k in range(3)], -1)
            spin = np.einsum("bji,bj->bi", self.rotations(q), spin)
            for k in range(3):
                v[self.own_v + 3 + k] = spin[:, k]
        for joint, own_q, own_v in self.joints:
            q[own_q] = theirs_q[joint.position_start() : joint.position_start() + len(own_q)]
            v[own_v] = theirs_v[joint.velocity_start() : joint.velocity_start() + len(own_v)]
        return q, v

    def advance(self, steps):
        """Processor seconds of so many steps."""
        self.steps += steps
        end = (self.steps - 0.5) * self.step_size  # updates are at 0, h, 2 h, ...
        begin = time.process_time()
        self.simulator.AdvanceTo(end)
        return time.process_time() - begin
