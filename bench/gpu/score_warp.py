"""MuJoCo Warp's impulses by our measure: natv of the hard contact problem with its own contacts, rows and inertia.

  python score_warp.py robot.xml robot.npz [--json FILE]      (the file is that of bench_warp.py --dump)

The same problem and the same certificate as bench/robots/score_mujoco.cpp (hard: no softness, Coulomb's cones, our
stabilisation), in double: u = J M^-1 J' lambda + J v_free + bias, natv = d |lambda - P(lambda - u^ / d)| for each
block, u^ with De Saxce's correction, relative to the largest free velocity of a row.
"""

import argparse
import json
from pathlib import Path

import mujoco
import numpy as np

BODY_LENGTH = 0.1  # m, for rows that are angles
ERP, SLOP, RECOVERY = 0.2, 2e-4, 1.0
EQUALITY, FRICTION, LIMIT = (0,), (1, 2), (3, 4, 5)


def project(w, mu):
    """On the cone |w_t| <= mu w_n; the normal is last."""
    t = np.linalg.norm(w[:-1])
    if mu * t <= -w[-1]:
        return np.zeros_like(w)
    if t <= mu * w[-1]:
        return w
    n = (w[-1] + mu * t) / (1 + mu * mu)
    return np.append(w[:-1] * (mu * n / t), n)


class Problem:
    """Blocks of rows: each (kind, rows of J, impulses, bias, lengths, bounds or friction)."""

    def __init__(self, h):
        self.h, self.blocks = h, []

    def add(self, kind, rows, impulse, bias, length=1.0, extra=None):
        rows = np.atleast_2d(rows)
        count = len(rows)
        bias, length = np.broadcast_to(bias, count), np.broadcast_to(length, count)
        self.blocks.append((kind, rows, np.atleast_1d(impulse).astype(float), bias, length, extra))

    def natv(self, inertia, v_free):
        if not self.blocks:
            return 0.0
        J = np.concatenate([b[1] for b in self.blocks])
        impulse = np.concatenate([b[2] for b in self.blocks])
        bias = np.concatenate([b[3] for b in self.blocks])
        length = np.concatenate([b[4] for b in self.blocks])
        JM = np.linalg.solve(inertia, J.T)
        free = (J @ v_free + bias) * length
        u = (J @ (v_free + JM @ impulse) + bias) * length
        diagonal = np.einsum("ij,ji->i", J, JM) * length**2
        impulse = impulse / length
        worst, row = 0.0, 0
        for kind, rows, _, _, _, extra in self.blocks:
            part = slice(row, row + len(rows))
            row += len(rows)
            d = diagonal[part].mean()
            x, speed = d * impulse[part], u[part].copy()
            if kind == "cone":
                speed[-1] += extra * np.linalg.norm(speed[:-1])
                target = project(x - speed, extra)
            elif kind == "equality":
                target = x - speed
            elif kind == "box":
                bound = d * extra / length[part]
                target = np.clip(x - speed, -bound, bound)
            else:
                target = np.maximum(x - speed, 0.0)
            worst = max(worst, float(np.linalg.norm(x - target)))
        return worst / max(np.abs(free).max(), 9.81 * self.h)


def normal_bias(phi, h):
    back = max(ERP * min(0.0, phi + SLOP) / h, -RECOVERY)
    return max(0.0, phi) / h + back


def score_world(model, data, kept, k, world, elliptic):
    h, nv = model.opt.timestep, model.nv
    get = lambda name: kept[f"{name}_{k}"]  # noqa: E731
    data.qpos[:], data.qvel[:] = get("qpos")[world], get("qvel")[world]
    mujoco.mj_forward(model, data)
    inertia = np.zeros((nv, nv))
    mujoco.mj_fullM(model, data, inertia)
    v_free = data.qvel + h * get("qacc_smooth")[world].astype(float)
    J, force = get("J")[world][:, :nv].astype(float), get("force")[world].astype(float)
    kinds, ids, pos = get("type")[world], get("id")[world], get("pos")[world].astype(float)
    margin, loss = get("margin")[world].astype(float), get("loss")[world].astype(float)
    problem = Problem(h)
    length_of = lambda joint: 1.0 if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE else BODY_LENGTH  # noqa: E731
    rows = int(get("nefc")[world])
    i = 0
    while i < rows:
        kind = int(kinds[i])
        if kind in EQUALITY:
            size = 1
            while i + size < rows and kinds[i + size] == kind and ids[i + size] == ids[i]:
                size += 1
            part = slice(i, i + size)
            linear = model.eq_type[ids[i]] == mujoco.mjtEq.mjEQ_CONNECT
            lengths = [1.0 if linear or (size == 6 and r < 3) else BODY_LENGTH for r in range(size)]
            problem.add("equality", J[part], h * force[part], ERP * pos[part] / h, lengths)
            i += size
            continue
        if kind in FRICTION:
            problem.add("box", J[i], h * force[i], 0.0, length_of(model.dof_jntid[ids[i]]), h * loss[i])
        elif kind in LIMIT:
            length = length_of(ids[i]) if kind == 3 else (BODY_LENGTH if kind == 4 else 1.0)
            problem.add("limit", J[i], h * force[i], normal_bias(pos[i] - margin[i], h), length)
        i += 1
    mine = np.flatnonzero((get("worldid") == world) & (get("address")[:, 0] >= 0))
    for c in mine:
        dim, friction, address = int(get("dim")[c]), get("friction")[c].astype(float), get("address")[c]
        if dim == 1:
            continue  # among the limits above
        first = int(address[0])
        bias = normal_bias(pos[first] - margin[first], h)
        tangents = dim - 1
        lengths = [1.0 if t < 2 else BODY_LENGTH for t in range(tangents)] + [1.0]
        if elliptic:
            order = [int(a) for a in address[1:dim]] + [first]
            J_c, impulse = J[order], h * force[order]
        else:
            J_c, impulse = np.zeros((dim, nv)), np.zeros(dim)
            for t in range(tangents):
                plus, minus = int(address[2 * t]), int(address[2 * t + 1])
                J_c[t] = (J[plus] - J[minus]) / (2 * friction[t])
                impulse[t] = h * friction[t] * (force[plus] - force[minus])
                impulse[-1] += h * (force[plus] + force[minus])
            J_c[-1] = 0.5 * (J[int(address[0])] + J[int(address[1])])
        problem.add("cone", J_c, impulse, np.array([0.0] * tangents + [bias]), lengths, friction[0])
    return problem.natv(inertia, v_free)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("dump")
    parser.add_argument("--settings", choices=("default", "tight"), default="default")
    parser.add_argument("--worlds", type=int, default=512)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    model = mujoco.MjModel.from_xml_path(arguments.model)
    data, kept = mujoco.MjData(model), np.load(arguments.dump)
    kept = {name: kept[name] for name in kept.files}
    elliptic = arguments.settings == "tight" or model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    worlds = range(min(arguments.worlds, len(kept["qpos_0"])))
    scores = [score_world(model, data, kept, k, w, elliptic) for k in range(4) for w in worlds]
    p50, p90, p99 = np.quantile(scores, (0.5, 0.9, 0.99))
    line = {"engine": "MuJoCo Warp", "model": Path(arguments.model).stem, "settings": arguments.settings}
    line |= {"steps_scored": len(scores), "natv_p50": float(f"{p50:.2e}"), "natv_p90": float(f"{p90:.2e}")}
    line |= {"natv_p99": float(f"{p99:.2e}"), "natv_worst": float(f"{max(scores):.2e}")}
    print(json.dumps(line), flush=True)
    if arguments.json:
        with open(arguments.json, "a") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
