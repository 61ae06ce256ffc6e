"""Ours and Drake on the same scenes, as JSON: motion, velocities after one step from a state, time a step in turns."""

import argparse
import json
import os
import subprocess
from pathlib import Path

import numpy as np
from drake_engine import DrakeScene

MODELS = ("sap", "lagged", "similar")
# Scene, step, steps; the pair of positions that is compared; when the contact sticks.
MOTIONS = {
    "convex/conveyor": (1e-2, 200),
    "convex/sphere": (1e-3, 300),
    "convex/rod": (1e-4, 170),
}
TIMES = {  # step, steps of ours until both begin, steps a turn, turns
    "convex/clutter:n=40": (2e-3, 0, 250, 6),
    "convex/clutter:n=400": (2e-3, 400, 40, 3),
    "convex/clutter:n=1000": (2e-3, 400, 10, 3),
    "convex/clutter:n=2000": (2e-3, 400, 5, 3),
    "convex/grasp:frequency=1": (2e-3, 0, 500, 4),
}
# Drake's collision filter is a table of all pairs of shapes, of which it keeps two: bytes a pair, measured with up to
# 400 objects. 2,000 objects have 10,005 shapes, and take 19 GB before the first step.
BYTES_A_PAIR = 190
SLOW = ("convex/clutter:n=1000", "convex/clutter:n=2000")  # minutes to set up
GRASP_SECONDS = 10.0
BELT_AMPLITUDE, BELT_RATE = 0.2, 2.0 * np.pi


def belt_speed(time, step):
    return BELT_AMPLITUDE * (np.sin(BELT_RATE * time) - np.sin(BELT_RATE * (time - step))) / step


class Ours:
    def __init__(self, build):
        self.program = Path(build) / "bin" / "bench_convex_compare"

    def __call__(self, *arguments, state=None):
        command = [str(self.program), *(str(a) for a in arguments)]
        text = "" if state is None else json.dumps(state)
        return json.loads(subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout)


def compare_motion(ours, scene, model, step, steps):
    mine, loose = (ours("run", scene, model, step, steps, tolerance) for tolerance in (1e-9, 1e-6))
    other = DrakeScene(ours("model", scene), model, step)
    q, v = [], []
    for i in range(1, steps + 1):
        if scene == "convex/conveyor":
            own_q, own_v = other.state()
            own_v[0] = belt_speed(i * step, step)
            other.set_state(own_q, own_v)
        other.advance(1)
        state = other.state()
        q.append(state[0])
        v.append(state[1])
    single = []  # each step again, from our state
    for i in range(1, steps):
        before = np.array(mine["v"][i - 1])
        if scene == "convex/conveyor":
            before[0] = belt_speed((i + 1) * step, step)
        other.set_state(np.array(mine["q"][i - 1]), before)
        other.advance(1)
        single.append(np.abs(other.state()[1] - np.array(mine["v"][i])).max())
    q, mine_q = np.array(q), np.array(mine["q"])
    columns = {"convex/conveyor": [1, 2, 3], "convex/sphere": [0, 1, 2], "convex/rod": [0, 1]}[scene]
    distance = np.abs(q[:, columns] - mine_q[:, columns]).max(axis=1)
    return {
        "scene": scene,
        "model": model,
        "step": step,
        "time": [step * i for i in range(1, steps + 1)],
        "distance": distance.tolist(),
        "single": float(max(single)),
        "own": float(np.abs(np.array(loose["q"])[:, columns] - mine_q[:, columns]).max()),
    }


def compare_steps(ours, scene, model, step, every, count):
    data = ours("model", scene)
    other = DrakeScene(data, model, step)
    worst, typical = [], []
    for entry in ours("steps", scene, model, step, every, count):
        other.set_state(np.array(entry["q"]), np.array(entry["v"]))
        other.advance(1)
        _, v = other.state()
        difference = np.abs(v - np.array(entry["next"]))
        worst.append(float(difference.max()))
        typical.append(float(np.median(difference)))
    return {"model": model, "worst": worst, "median": typical}


def compare_statistics(ours, scene, model, step, steps):
    """Height of the centres at the end, and their speed."""
    other = DrakeScene(ours("model", scene), model, step)
    other.advance(steps)
    q, v = other.state()
    mine = ours("time", scene, model, step, steps)

    def figures(q, v):
        q, v = np.array(q).reshape(-1, 7), np.array(v).reshape(-1, 6)
        return {
            "height": float(q[:, 2].mean()),
            "speed": float(np.abs(v[:, :3]).max()),
            "spread": float(q[:, :2].std()),
        }

    return {"model": model, "ours": figures(mine["q"], mine["v"]), "drake": figures(q, v)}


def available_memory():
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def compare_times(ours, scene, data, model, step, settle, steps, turns):
    other = DrakeScene(data, model, step)
    state, mine, theirs, contacts, iterations = None, [], [], [], []
    if settle > 0:
        state = {key: value for key, value in ours("time", scene, model, step, settle).items() if key in ("q", "v")}
        other.set_state(np.array(state["q"]), np.array(state["v"]))
    for _ in range(turns):
        result = ours("time", scene, model, step, steps, state=state)
        state = {"q": result["q"], "v": result["v"]}
        mine.append(result["seconds"])
        contacts.append(result["contacts"])
        iterations.append(result["iterations"])
        theirs.append(other.advance(steps) / steps)
    return {
        "scene": scene,
        "model": model,
        "step": step,
        "ours": mine,
        "drake": theirs,
        "contacts": contacts,
        "iterations": iterations,
    }


def motions(ours, _options):
    rows = []
    for scene, (step, steps) in MOTIONS.items():
        for model in MODELS:
            run = compare_motion(ours, scene, model, step, steps)
            rows.append(run)
            print(
                f"{scene} {model}: {max(run['distance']):.1e} m apart at most, single steps {run['single']:.1e} m/s, "
                f"ours with another tolerance {run['own']:.1e} m",
                flush=True,
            )
    return rows


def single_steps(ours, options):
    rows = []
    for model in MODELS:
        entry = compare_steps(ours, "convex/clutter:n=40", model, 2e-3, 49, 20 if options.quick else 30)
        rows.append(entry)
        print(f"clutter {model}: one step differs by {max(entry['worst']):.1e} m/s at most", flush=True)
    return rows


def statistics(ours, _options):
    rows = []
    for model in MODELS:
        rows.append(compare_statistics(ours, "convex/clutter:n=40", model, 2e-3, 1500))
        print(f"clutter {model}: {rows[-1]}", flush=True)
    return rows


def times(ours, options):
    rows = []
    for scene, (step, settle, steps, turns) in TIMES.items():
        if (options.scene and scene != options.scene) or (options.quick and scene in SLOW):
            continue
        data = ours("model", scene)
        needed = BYTES_A_PAIR * len(data["shapes"]) ** 2
        if needed > 0.8 * available_memory():
            alone = [ours("time", scene, model, step, settle + steps) for model in MODELS]
            reason = f"Drake needs about {needed / 1e9:.0f} GB for the pairs of {len(data['shapes']):,} shapes"
            rows += [
                {"scene": scene, "model": model, "without": reason, "ours": [result["seconds"]]}
                for model, result in zip(MODELS, alone, strict=True)
            ]
            print(f"{scene}: {reason}, which is not there; ours alone", flush=True)
            continue
        for model in MODELS:
            entry = compare_times(ours, scene, data, model, step, settle, steps, turns)
            rows.append(entry)
            ratio = sum(entry["drake"]) / sum(entry["ours"])
            ours_us, drake_us = (1e6 * np.mean(entry[who]) for who in ("ours", "drake"))
            print(f"{scene} {model}: ours {ours_us:.0f} us, Drake {drake_us:.0f} us, ratio {ratio:.2f}", flush=True)
    return rows


def grasps(ours, options):
    """When the swung rod is lost: as the clutter, one rounding more and it is another moment."""
    rows = []
    for frequency in (1.4, 2.0) if options.quick else (1.4, 1.8, 2.0, 2.4, 3.0):
        for dissipation in (0, 50):
            scene = f"convex/grasp:frequency={frequency},dissipation={dissipation}"
            data = ours("model", scene)
            for model in ("lagged", "similar"):
                for step in (1e-2, 2e-3):
                    mine = ours("lost", scene, model, step, GRASP_SECONDS)
                    other = DrakeScene(data, model, step)
                    time, lost = 0.0, data["q"][-5] - 0.05
                    while time < GRASP_SECONDS - 0.5 * step and other.state()[0][-5] >= lost:
                        other.advance(1)
                        time += step
                    row = {"frequency": frequency, "dissipation": dissipation, "model": model, "step": step}
                    rows.append({**row, "ours": mine, "drake": time, "limit": GRASP_SECONDS})
                    print(f"{scene} {model} {step:g} s: lost at {mine:.3f} s, Drake {time:.3f} s", flush=True)
    return rows


PARTS = {"grasp": grasps, "motion": motions, "steps": single_steps, "statistics": statistics, "times": times}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS), help="the others are kept")
    parser.add_argument("--scene", help="times of this scene alone")
    options = parser.parse_args()
    ours = Ours(options.build)
    out = json.loads(options.out.read_text()) if options.out.exists() else {}
    for part in options.parts:
        made = PARTS[part](ours, options)
        kept = [row for row in out.get(part, []) if row.get("scene") not in {new.get("scene") for new in made}]
        out[part] = kept + made if part == "times" else made
    options.out.write_text(json.dumps(out))


if __name__ == "__main__":
    main()
