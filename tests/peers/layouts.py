"""Configurations and velocities in our layout (MuJoCo's) and in Pinocchio's, joint by joint and by name.

Ours: free joint q = [x y z, qw qx qy qz], v = [linear velocity of the origin in world, angular velocity in body].
Pinocchio: q = [x y z, qx qy qz qw], v = [linear, angular], both in body; continuous joints q = [cos, sin].
"""

import numpy as np


def rotation_matrix(quaternion):
    """Of a quaternion w x y z."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


class PinocchioLayout:
    """Converts between our layout and that of a Pinocchio model.

    joints: our joints in our order as (name, type) with type "free", "hinge" or "slide". The free joint is matched
    with Pinocchio's free flyer, all others by name.
    """

    def __init__(self, model, joints):
        self.model = model
        self.blocks = []  # (type, q ours, v ours, q Pinocchio, v Pinocchio, configuration entries in Pinocchio)
        q = v = 0
        by_name = {name: i for i, name in enumerate(model.names)}
        for name, kind in joints:
            joint = model.joints[1 if kind == "free" else by_name[name]]
            self.blocks.append((kind, q, v, joint.idx_q, joint.idx_v, joint.nq))
            q += 7 if kind == "free" else 1
            v += 6 if kind == "free" else 1
        self.nq, self.nv = q, v
        assert v == model.nv, f"{v} dofs here, {model.nv} in Pinocchio"

    def q(self, ours):
        result = np.zeros(self.model.nq)
        for kind, q, _, pin_q, _, width in self.blocks:
            if kind == "free":
                result[pin_q : pin_q + 3] = ours[q : q + 3]
                result[pin_q + 3 : pin_q + 7] = ours[[q + 4, q + 5, q + 6, q + 3]]
            elif width == 2:
                result[pin_q : pin_q + 2] = np.cos(ours[q]), np.sin(ours[q])
            else:
                result[pin_q] = ours[q]
        return result

    def velocity_map(self, ours):
        """T(q) with v_pinocchio = T v_ours; forces go the other way, f_ours = T' f_pinocchio."""
        T = np.zeros((self.nv, self.nv))
        for kind, q, v, _, pin_v, _ in self.blocks:
            if kind == "free":
                T[pin_v : pin_v + 3, v : v + 3] = rotation_matrix(ours[q + 3 : q + 7]).T
                T[pin_v + 3 : pin_v + 6, v + 3 : v + 6] = np.eye(3)
            else:
                T[pin_v, v] = 1
        return T

    def velocity_map_rate(self, ours_q, ours_v):
        """dT/dt; only the rotation of free joints changes."""
        rate = np.zeros((self.nv, self.nv))
        for kind, q, v, _, pin_v, _ in self.blocks:
            if kind == "free":
                rotation = rotation_matrix(ours_q[q + 3 : q + 7])
                wx, wy, wz = ours_v[v + 3 : v + 6]
                skew = np.array([[0, -wz, wy], [wz, 0, -wx], [-wy, wx, 0]])
                rate[pin_v : pin_v + 3, v : v + 3] = -skew @ rotation.T
        return rate

    def acceleration(self, ours_q, ours_v, ours_a):
        """Of the generalised velocity: d/dt (T v) = T a + dT/dt v."""
        return self.velocity_map(ours_q) @ ours_a + self.velocity_map_rate(ours_q, ours_v) @ ours_v

    def turned(self, ours_q, vectors):
        """How T x changes along our dofs, one column each. Of free joints only: T turns with their rotation."""
        change = np.zeros((self.nv, self.nv))
        for kind, q, v, _, pin_v, _ in self.blocks:
            if kind == "free":
                local = rotation_matrix(ours_q[q + 3 : q + 7]).T @ vectors[v : v + 3]
                change[pin_v : pin_v + 3, v + 3 : v + 6] = np.cross(local, np.eye(3)).T
        return change

    def turned_back(self, ours_q, pin_vectors):
        """How T' x changes along our dofs, one column each."""
        change = np.zeros((self.nv, self.nv))
        for kind, q, v, _, pin_v, _ in self.blocks:
            if kind == "free":
                across = np.cross(np.eye(3), pin_vectors[pin_v : pin_v + 3]).T
                change[v : v + 3, v + 3 : v + 6] = rotation_matrix(ours_q[q + 3 : q + 7]) @ across
        return change

    def velocity_map_rate_changes(self, ours_q, ours_v):
        """How dT/dt v, which is -w x (R' v) for free joints, changes by q and by v."""
        by_q, by_v = np.zeros((self.nv, self.nv)), np.zeros((self.nv, self.nv))
        for kind, q, v, _, pin_v, _ in self.blocks:
            if kind == "free":
                rotation = rotation_matrix(ours_q[q + 3 : q + 7])
                w, local = ours_v[v + 3 : v + 6], rotation.T @ ours_v[v : v + 3]
                rows = slice(pin_v, pin_v + 3)
                by_q[rows, v + 3 : v + 6] = -np.cross(w, np.cross(local, np.eye(3))).T
                by_v[rows, v : v + 3] = -np.cross(w, rotation).T
                by_v[rows, v + 3 : v + 6] = -np.cross(np.eye(3), local).T
        return by_q, by_v

    def acceleration_to_ours(self, ours_q, ours_v, pin_a):
        offset = self.acceleration(ours_q, ours_v, np.zeros(self.nv))
        return self.velocity_map(ours_q).T @ (pin_a - offset)
