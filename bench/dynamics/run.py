"""Rigid-body dynamics against Pinocchio and MuJoCo: native code, one thread, warm caches, random states.

Every engine is a process of its own, pinned to the same processor; they take turns, so that drifts of the clock
frequency fall on all of them. A row is the median over rounds of the processor time of one call. Before anything is
measured, the engines must agree on the numbers; a run in which they differ fails.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import report
from cases import DATA, ROOT, cases
from engines import Engine, machine
from states import prepare

TOLERANCE = 1e-9  # relative to the largest entry


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the programs")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--seconds", type=float, default=0.004, help="length of one measurement")
    parser.add_argument("--case", action="append", help="only this case (may be repeated)")
    parser.add_argument("--processor", type=int, default=max(os.sched_getaffinity(0)), help="where to run")
    parser.add_argument("--peers-only", action="store_true", help="measure the other engines only")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    return parser.parse_args()


def start_engines(options, peers):
    """Ours, and for each peer its programs: by the same compiler, and by clang where there is one."""
    names = ([] if options.peers_only else ["touchstone"]) + sorted(peers)
    engines = {}
    for name in [*names, *(f"{peer}_clang" for peer in sorted(peers))]:
        program = options.build / "bin" / f"bench_dynamics_{name}"
        if program.exists():
            engines[name] = Engine(name, program, options.processor)
        elif name in names:
            sys.exit(f"{program} does not exist; ./run bench dynamics builds it")
    return engines


def peers_of(case, engines):
    return [name for name in engines if name in (case.peer, f"{case.peer}_clang")]


def load(case, engines, folder, options):
    ours = None if options.peers_only else options.build / "bin" / "bench_dynamics_touchstone"
    files = prepare(case, folder, ours)
    for name in peers_of(case, engines):
        engines[name].ask("load", case.name, files.peer_states, case.base, files.peer_model)
    if ours:
        engines["touchstone"].ask("load", case.name, files.our_states, case.base, case.model)
    return files


def check(case, engines, files, folder):
    """Differences between the engines, relative to the largest entry."""
    results = {}
    for name in ("touchstone", *peers_of(case, engines)):
        path = folder / f"{case.name}.{name}.check"
        engines[name].ask("check", case.name, path)
        results[name] = np.fromfile(path)
    ours = results.pop("touchstone")
    compared = [files.compare(ours, values) for values in results.values()]
    return {key: max(parts[key] for parts in compared) for key in compared[0]}


def plan(selected, engines):
    """(case, row of the table, engine, row of the program), what one round measures."""
    steps = []
    for case in selected:
        for name in [name for name in engines if name in ("touchstone", *peers_of(case, engines))]:
            for row in engines[name].ask("rows", case.name).split():
                table_row = row.split("/")[0]
                if table_row in case.rows:
                    steps.append((case, table_row, name, row))
    return sorted(steps, key=lambda step: (selected.index(step[0]), list(step[0].rows).index(step[1])))


def measure(steps, engines, options):
    """{(case, table row, engine): {program row: seconds for each round}}"""
    times = {}
    for turn in range(options.rounds):
        for case, table_row, name, row in steps if turn % 2 == 0 else reversed(steps):
            seconds = float(engines[name].ask("time", case.name, row, options.seconds))
            times.setdefault((case.name, table_row, name), {}).setdefault(row, []).append(seconds)
    return times


def summarize(times):
    """The engine's fastest variant by its median."""
    variant, values = min(times.items(), key=lambda item: np.median(item[1]))
    low, middle, high = np.percentile(values, (25, 50, 75))
    label = variant.split("/")[1] if "/" in variant else ""
    return {"variant": label, "median": middle, "low": low, "high": high, "best": min(values)}


def main():
    options = arguments()
    selected = [case for case in cases() if not options.case or case.name in options.case]
    if not selected:
        sys.exit("no models: set TOUCHSTONE_DATA to the folder that holds models/")
    os.environ["ROS_PACKAGE_PATH"] = str(DATA / "urdf")  # where the meshes of the URDF files are
    folder = options.out / "dynamics"
    folder.mkdir(parents=True, exist_ok=True)
    engines = start_engines(options, {case.peer for case in selected})
    differences, rows = {}, []
    for case in selected:
        files = load(case, engines, folder, options)
        if not options.peers_only:
            differences[case.name] = check(case, engines, files, folder)
    worst = {name: max(parts.values()) for name, parts in differences.items()}
    times = measure(plan(selected, engines), engines, options)
    for case in selected:
        for row, label in case.rows.items():
            entry = {"case": case.name, "robot": case.label, "row": label, "peers": {}}
            for name in peers_of(case, engines):
                entry["peers"][name] = summarize(times[case.name, row, name])
            if (case.name, row, "touchstone") in times:
                entry["touchstone"] = summarize(times[case.name, row, "touchstone"])
            rows.append(entry)
    for engine in engines.values():
        engine.close()
    report.write(rows, differences, machine(), options)
    wrong = [f"{name}: {differences[name]}" for name, value in worst.items() if not value < TOLERANCE]
    if wrong:
        sys.exit("rejected, the engines disagree:\n  " + "\n  ".join(wrong))


if __name__ == "__main__":
    main()
