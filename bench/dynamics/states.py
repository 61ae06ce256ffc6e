"""Random states of a case, in our layout and in the peer's, and the comparison of what the engines made of them."""

import subprocess
import sys

import numpy as np
from cases import ROOT
from pinocchio_model import write_model

sys.path.insert(0, str(ROOT / "tests" / "peers"))
from layouts import PinocchioLayout

COUNT = 128
SIZES = {"free": (7, 6), "ball": (4, 3), "hinge": (1, 1), "slide": (1, 1)}


def write_states(path, q, v, a, tau):
    with open(path, "wb") as file:
        np.array([len(q), q.shape[1], v.shape[1]], dtype=np.int64).tofile(file)
        for values in (q, v, a, tau):
            np.ascontiguousarray(values, dtype=np.float64).tofile(file)


def random_states(kinds, seed):
    random = np.random.default_rng(seed)
    columns = []
    for kind in kinds:
        if kind == "free":
            columns.append(random.uniform(-1, 1, (COUNT, 3)))
        if kind in ("free", "ball"):
            quaternion = random.standard_normal((COUNT, 4))
            columns.append(quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True))
        else:
            columns.append(random.uniform(-2, 2, (COUNT, 1)) * (1.0 if kind == "hinge" else 0.05))
    nv = sum(SIZES[kind][1] for kind in kinds)
    return np.hstack(columns), *(random.standard_normal((COUNT, nv)) for _ in range(3))


def our_joints(program, case):
    """(name, type) of our joints in our order."""
    command = [program, "--joints", case.base, str(case.model)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [tuple(line.split(" ")) for line in lines]


class PinocchioCase:
    """Models and states as files in `folder`, and the common numbers of both engines."""

    def __init__(self, case, folder, ours):
        import pinocchio as pin

        free = [pin.JointModelFreeFlyer()] if case.base == "floating" else []
        self.model = pin.buildModelFromUrdf(str(case.model), *free)
        self.peer_model = folder / f"{case.name}.pinocchio"
        write_model(self.model, self.peer_model)
        joints = our_joints(ours, case) if ours else self.joints_of_pinocchio()
        self.layout = PinocchioLayout(self.model, joints)
        self.states = random_states([kind for _, kind in joints], 1)
        self.our_states, self.peer_states = folder / f"{case.name}.states", folder / f"{case.name}.pinocchio_states"
        write_states(self.our_states, *self.states)
        write_states(self.peer_states, *map(np.array, zip(*map(self.convert, *self.states), strict=True)))

    def joints_of_pinocchio(self):
        kinds = {"Fr": "free", "R": "hinge", "P": "slide"}
        names = [joint.shortname()[len("JointModel") :] for joint in self.model.joints]
        kind = [kinds["Fr" if name.startswith("Fr") else name[0]] for name in names]
        return list(zip(self.model.names, kind, strict=True))[1:]

    def convert(self, q, v, a, tau):
        T = self.layout.velocity_map(q)
        return self.layout.q(q), T @ v, self.layout.acceleration(q, v, a), np.linalg.solve(T.T, tau)

    def compare(self, ours, peer):
        """The largest difference relative to the largest entry, for each quantity."""
        n = self.layout.nv
        ours, peer = ours.reshape(COUNT, -1), peer.reshape(COUNT, -1)
        parts = {"rnea": [], "M": [], "aba": [], "solve": []}
        for q, v, mine, other in zip(self.states[0], self.states[1], ours, peer, strict=True):
            T = self.layout.velocity_map(q)
            slices = (slice(0, n), slice(n, n + n * n), slice(n + n * n, 2 * n + n * n), slice(2 * n + n * n, None))
            rnea, mass, aba, solved = (other[part] for part in slices)
            mass = T.T @ mass.reshape(n, n) @ T
            expected = T.T @ rnea, mass, self.layout.acceleration_to_ours(q, v, aba), T.T @ solved
            for key, part, value in zip(parts, slices, expected, strict=True):
                parts[key].append((mine[part], value.flatten()))
        return {key: relative(*zip(*pairs, strict=True)) for key, pairs in parts.items()}


class MujocoCase:
    def __init__(self, case, folder, _ours):
        import mujoco

        self.peer_model = case.model
        model = mujoco.MjModel.from_xml_path(str(case.model))
        self.nv = model.nv
        kinds = [("free", "ball", "slide", "hinge")[int(kind)] for kind in model.jnt_type]
        self.our_states = self.peer_states = folder / f"{case.name}.states"
        write_states(self.our_states, *random_states(kinds, 2))

    def compare(self, ours, peer):
        n = self.nv
        ours, peer = ours.reshape(COUNT, -1), peer.reshape(COUNT, -1)
        parts = {"M": slice(0, n * n), "bias": slice(n * n, n * n + n), "solve": slice(n * n + n, None)}
        return {key: relative(ours[:, part], peer[:, part]) for key, part in parts.items()}


def relative(ours, peer):
    """Difference relative to the largest entry, state by state; the largest."""
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(ours, peer, strict=True))


def prepare(case, folder, ours):
    return (PinocchioCase if case.peer == "pinocchio" else MujocoCase)(case, folder, ours)
