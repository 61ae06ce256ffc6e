"""Measures MuJoCo Warp on the states and controls that gpu_bench reads, for the same run on the same chip.

  python bench_warp.py robot.xml robot.states --worlds 8192 --steps 1000 [--settings tight] [--json FILE] [--dump FILE]

World w starts in state w mod count; controls change every --hold steps, as in gpu_bench. One step is one captured
graph. Room for contacts and rows is what a first run needed. --dump keeps constraints and impulses of 512 worlds at
four instants for score_warp.py. Settings: default (the model's own) and tight (elliptic cones, 100 iterations, a time
constant of two steps, impedance 0.9999).
"""

import argparse
import json
import time
from pathlib import Path

import mujoco
import mujoco_warp as mjw
import numpy as np
import warp as wp


def read_states(path):
    raw = Path(path).read_bytes()
    count, nq, nv, nu = np.frombuffer(raw, np.int32, 4)
    rows = np.frombuffer(raw, np.float64, offset=16).reshape(count, nq + nv + nu)
    return rows[:, :nq], rows[:, nq : nq + nv], rows[:, nq + nv :]


def load(path, settings):
    model = mujoco.MjModel.from_xml_path(str(path))
    if settings == "tight":
        model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        model.opt.iterations = 100
        model.opt.ls_iterations = 50
        for reference in (model.geom_solref, model.jnt_solref, model.eq_solref):
            reference[:] = (2 * model.opt.timestep, 1.0)
        for impedance in (model.geom_solimp, model.jnt_solimp, model.eq_solimp):
            impedance[:, :3] = (0.9999, 0.9999, 0.001)
    return model


class Run:
    def __init__(self, model, states, worlds, nconmax, njmax):
        self.states = states
        self.take = np.arange(worlds)
        self.m = mjw.put_model(model)
        self.m.opt.warn_overflow = 0  # printing would be timed; measure() looks at the counts
        self.d = mjw.make_data(model, nworld=worlds, nconmax=nconmax, njmax=njmax)
        q, v, _ = states
        wp.copy(self.d.qpos, wp.array(self.rows(q, 0), dtype=float))
        wp.copy(self.d.qvel, wp.array(self.rows(v, 0), dtype=float))
        self.control(0)
        mjw.step(self.m, self.d)
        with wp.ScopedCapture() as capture:
            mjw.step(self.m, self.d)
        self.graph = capture.graph
        wp.synchronize()

    def rows(self, part, shift):
        return part[(self.take + shift) % len(part)].astype(np.float32)

    def control(self, shift):
        if self.states[2].shape[1]:
            wp.copy(self.d.ctrl, wp.array(self.rows(self.states[2], shift), dtype=float))

    def step(self, count):
        for _ in range(count):
            wp.capture_launch(self.graph)

    def most(self):
        """Contacts and rows: the mean of all worlds, the most of one."""
        nacon = int(self.d.nacon.numpy()[0])
        return nacon, int(self.d.nefc.numpy().max())


def room_for(model, states, worlds, steps, hold):
    """What the steps of all worlds need: contacts a world on average, rows of any one."""
    run = Run(model, states, worlds, 100, 300)
    run.step(50)
    contacts = rows = 0
    for done in range(0, steps, hold):
        run.control(done + 1)
        run.step(hold)
        now = run.most()
        contacts, rows = max(contacts, now[0]), max(rows, now[1])
    return max(24, int(1.5 * contacts / worlds) + 4), (rows + 24) // 8 * 8


def measure(arguments, model, states):
    nconmax, njmax = room_for(model, states, arguments.worlds, arguments.steps, arguments.hold)
    run = Run(model, states, arguments.worlds, nconmax, njmax)
    run.step(50)
    seconds = contacts = 0.0
    looks = lost = 0
    for done in range(0, arguments.steps, arguments.hold):
        run.control(done + 1)
        wp.synchronize()
        start = time.perf_counter()
        run.step(arguments.hold)
        wp.synchronize()
        seconds += time.perf_counter() - start
        now = run.most()
        contacts += now[0] / arguments.worlds
        lost += now[1] > njmax or now[0] > nconmax * arguments.worlds
        looks += 1
    bad = int(np.isnan(run.d.qpos.numpy()).any(axis=1).sum())
    return {
        "engine": f"MuJoCo Warp {mjw.__version__}" if hasattr(mjw, "__version__") else "MuJoCo Warp",
        "model": Path(arguments.model).stem,
        "worlds": arguments.worlds,
        "steps": arguments.steps,
        "settings": arguments.settings,
        "iterations": int(model.opt.iterations),
        "cone": "elliptic" if model.opt.cone else "pyramidal",
        "nconmax": nconmax,
        "njmax": njmax,
        "steps_per_second": round(arguments.worlds * arguments.steps / seconds),
        "contacts": round(contacts / looks, 2),
        "looks_without_room": lost,
        "nan_worlds": bad,
    }


def dump(arguments, model, states):
    """Constraints and impulses of 512 worlds, before a step is taken with them."""
    run = Run(model, states, 512, 100, 160)
    kept = {}
    for instant in range(4):
        run.step(50 if instant == 0 else 100)
        run.control(25 * instant + 1)
        mjw.forward(run.m, run.d)
        wp.synchronize()
        d, efc, contact = run.d, run.d.efc, run.d.contact
        arrays = {"qpos": d.qpos, "qvel": d.qvel, "ctrl": d.ctrl, "qacc_smooth": d.qacc_smooth, "nefc": d.nefc}
        arrays |= {"nacon": d.nacon, "J": efc.J, "type": efc.type, "id": efc.id, "pos": efc.pos, "force": efc.force}
        arrays |= {"margin": efc.margin, "loss": efc.frictionloss, "dim": contact.dim, "friction": contact.friction}
        arrays |= {"address": contact.efc_address, "worldid": contact.worldid, "contact_type": contact.type}
        for name, array in arrays.items():
            values = array.numpy()
            if name in ("dim", "friction", "address", "worldid", "contact_type"):
                values = values[: int(d.nacon.numpy()[0])]
            kept[f"{name}_{instant}"] = values
    np.savez_compressed(arguments.dump, **kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("states")
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--hold", type=int, default=25)
    parser.add_argument("--settings", choices=("default", "tight"), default="default")
    parser.add_argument("--json")
    parser.add_argument("--dump")
    arguments = parser.parse_args()
    model, states = load(arguments.model, arguments.settings), read_states(arguments.states)
    if arguments.dump:
        dump(arguments, model, states)
    line = json.dumps(measure(arguments, model, states))
    print(line, flush=True)
    if arguments.json:
        with open(arguments.json, "a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
