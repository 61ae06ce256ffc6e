"""Time of a step against MuJoCo: native code, one thread, the same model file, step and controls.

Our engine runs each model from its first keyframe, and states are taken on the way: none is deeper than the slop. From
each of them both engines take a few steps to warm up and a few that count, and states count where then a like number of
contacts pushes in both. They are processes pinned to one processor and take turns; a row is the median over the rounds
of the processor time of one step; the mean of it and the tail come from single steps, the median over the rounds of
each. Certificates of MuJoCo's solutions are computed by our code.
"""

import argparse
import os
import statistics
import struct
import sys
from pathlib import Path

import report
from cases import DATA, ROOT, cases
from engines import Engine, machine

BATCH_CASES = ("humanoid", "barkour", "allegro")
BATCH_WORLDS, BATCH_STEPS = 64, 200
TOLERANCE = 1e-6  # relative natv that our solver is asked for
CANDIDATES = 3  # for each state that is wanted
ALIKE = 0.2  # difference in contacts that push


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the programs")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--case", action="append", help="only this case (may be repeated)")
    parser.add_argument("--solver", default="auto", help="which of our solvers")
    parser.add_argument("--processor", type=int, default=max(os.sched_getaffinity(0)), help="where to run")
    parser.add_argument("--no-batch", action="store_true", help="leave out the batches")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    return parser.parse_args()


def start_engines(options, processors):
    ours = options.build / "bin" / "bench_robots_touchstone"
    if not ours.exists():
        sys.exit(f"{ours} does not exist; ./run bench robots builds it")
    engines = {"touchstone": Engine("touchstone", ours, processors)}
    peer = options.build / "bin" / "bench_robots_mujoco"
    if peer.exists():
        engines["mujoco"] = Engine("mujoco", peer, processors)
    return engines


def choose_states(source, chosen, target):
    """Some of the states of a file."""
    data = source.read_bytes()
    count, *sizes = struct.unpack("4q", data[:32])
    width = (len(data) - 32) // count
    parts = [data[32 + i * width : 32 + (i + 1) * width] for i in chosen]
    target.write_bytes(struct.pack("4q", len(parts), *sizes) + b"".join(parts))


def alike(ours, peer, wanted):
    """Numbers of the states where a like number of contacts pushes in both engines, evenly spread, at most `wanted`;
    where there are few, those that are most alike."""
    difference = [abs(a - b) / max(a, b, 1.0) for a, b in zip(ours, peer, strict=True)]
    found = [i for i, value in enumerate(difference) if value <= ALIKE or abs(ours[i] - peer[i]) <= 1]
    if len(found) < max(1, wanted // 4):
        found = sorted(sorted(range(len(difference)), key=difference.__getitem__)[: max(1, wanted // 4)])
    count = min(wanted, len(found))
    return [found[i * len(found) // count] for i in range(count)]


def prepare(case, engines, folder):
    """Loads the model and the states into all engines."""
    sizes = {}
    for name, engine in engines.items():
        about = engine.ask("load", case.name, case.model, case.step, case.control)
        sizes[name] = tuple(about[key] for key in ("nq", "nv", "nu", "na"))
    if len(set(sizes.values())) != 1:
        sys.exit(f"{case.label}: the engines read different models: {sizes}")
    recorded, states = (folder / f"{case.name}.{kind}" for kind in ("recorded", "states"))
    candidates = CANDIDATES * case.states if "mujoco" in engines else case.states
    engines["touchstone"].ask("record", case.name, case.start, case.end, candidates, recorded)
    for engine in engines.values():
        engine.ask("states", case.name, recorded)
    if "mujoco" not in engines:
        return
    actives = [
        engines[name].ask("time", case.name, variant)["active_of"]
        for name, variant in (("touchstone", "auto"), ("mujoco", "default"))
    ]
    choose_states(recorded, alike(*actives, case.states), states)
    for engine in engines.values():
        engine.ask("states", case.name, states)


def middle(results):
    """The result of median time."""
    return sorted(results, key=lambda result: result["seconds"])[len(results) // 2]


def spread(results):
    times = sorted(result["seconds"] for result in results)
    return times[len(times) // 4], times[-1 - len(times) // 4]


def certificate(values):
    if not values:
        return None
    return {"median": statistics.median(values), "worst": max(values), "count": len(values)}


def tail(results):
    """Mean and 99th percentile of single steps, each the median over the rounds."""
    steps = sorted(statistics.median(values) for values in zip(*(r.pop("steps") for r in results), strict=True))
    return {"mean": statistics.fmean(steps), "p99": steps[min(len(steps) - 1, int(0.99 * len(steps)))]}


def stage_shares(results, seconds):
    """Stages are measured by the wall clock: their shares over all rounds, times the processor time of a step."""
    sums = {name: sum(result["stages"][name] for result in results) for name in results[0]["stages"]}
    total = sum(sums.values()) or 1.0
    return {name: value / total * seconds for name, value in sums.items()}


def measure(case, engines, options):
    contestants = [("touchstone", options.solver)]
    if "mujoco" in engines:
        contestants += [("mujoco", "default"), ("mujoco", "tight")]
    results = {contestant: [] for contestant in contestants}
    for turn in range(min(options.rounds, case.rounds or options.rounds)):
        for contestant in contestants if turn % 2 == 0 else reversed(contestants):
            engine, variant = contestant
            results[contestant].append(engines[engine].ask("time", case.name, variant))
    row = {"case": case.name, "label": case.label, "step": case.step, "engines": {}}
    for (engine, variant), values in results.items():
        single = tail(values)
        entry = {**middle(values), **single}
        entry.pop("active_of")
        natv = entry.pop("natv", [])
        entry["low"], entry["high"] = spread(values)
        entry["stages"] = stage_shares(values, entry["seconds"])
        if engine == "touchstone":
            entry["certificate"] = {"hard": certificate(natv)}
            entry["certificate"]["beyond"] = sum(not value <= TOLERANCE for value in natv)
        else:
            scores = engines[engine].ask("score", case.name, variant)
            entry["certificate"] = {key: certificate(scores[key]) for key in ("hard", "soft")}
        row["engines"]["touchstone" if engine == "touchstone" else variant] = entry
    return row


def measure_batches(selected, options):
    """Steps a second of many worlds, on all processors; the best of three."""
    rows = []
    processors = os.sched_getaffinity(0)
    counts = [n for n in (1, 2, 4, 8, 16, 32) if n <= len(processors)]
    for case in selected:
        if case.name not in BATCH_CASES:
            continue
        engines = start_engines(options, processors)
        for engine in engines.values():
            engine.ask("load", case.name, case.model, case.step, case.control)
        for threads in counts:
            row = {"label": case.label, "worlds": BATCH_WORLDS, "threads": threads}
            results = {name: [] for name in engines}
            for _ in range(3):
                for name, engine in engines.items():
                    answer = engine.ask("batch", case.name, threads, BATCH_WORLDS, BATCH_STEPS)
                    results[name].append(answer["steps_per_second"])
            row.update({name: max(values) for name, values in results.items()})
            rows.append(row)
            figures = ", ".join(f"{name} {row[name]:,.0f}" for name in engines)
            print(f"{case.label}, {BATCH_WORLDS} worlds, {threads} threads: steps/s {figures}", flush=True)
        for engine in engines.values():
            engine.close()
    return rows


def main():
    options = arguments()
    folder = options.out / "robots"
    folder.mkdir(parents=True, exist_ok=True)
    found, missing = cases(folder)
    selected = [case for case in found if not options.case or case.name in options.case]
    if missing:
        print(f"No models in {DATA}: left out are {', '.join(missing)}. Set TOUCHSTONE_DATA to the folder of models/.")
    if not selected:
        sys.exit("nothing to measure")
    rows, version = [], None
    for case in selected:
        engines = start_engines(options, {options.processor})
        if "mujoco" not in engines and not rows:
            print("No MuJoCo (build/venv-peers): our times stand alone.")
        prepare(case, engines, folder)
        if "mujoco" in engines:
            version = engines["mujoco"].ask("load", case.name, case.model, case.step, case.control)["version"]
        rows.append(measure(case, engines, options))
        report.print_row(rows[-1])
        for engine in engines.values():
            engine.close()
    batch = [] if options.no_batch else measure_batches(selected, options)
    report.write(rows, batch, {**machine(), "MuJoCo": version}, options)


if __name__ == "__main__":
    main()
