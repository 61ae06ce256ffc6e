"""Drifting boxes: our broad phase, Coal's dynamic tree, MuJoCo's broad phase; a program for each, in turn."""

import json
import os
import subprocess

from page import table

ENGINES = {"Touchstone": "", "Coal": "_coal", "MuJoCo": "_mujoco"}
SIZES = {1000: 200, 10000: 50}  # boxes: steps
PATIENCE = 150  # s; MuJoCo compiles a model of 10,000 bodies for minutes


def measure(options):
    """[{boxes, pairs, engine: seconds a step (mean), None without an answer}]."""
    rows = []
    for boxes, steps in SIZES.items():
        row = {"boxes": boxes}
        for engine, suffix in ENGINES.items():
            program = options.build / "bin" / f"bench_collision_broad_phase{suffix}"
            row[engine] = None
            if not program.exists():
                continue
            try:
                result = subprocess.run(
                    [str(program), str(boxes), str(steps)],
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=None if options.full else PATIENCE,
                    preexec_fn=lambda: os.sched_setaffinity(0, {options.processor}),
                )
            except subprocess.TimeoutExpired:
                continue
            answer = json.loads(result.stdout) if result.returncode == 0 else {"complete": False}
            if answer["complete"]:  # the time of wrong answers does not count
                row[engine] = answer["mean"]
                row["pairs"] = answer["pairs"]
        rows.append(row)
    return rows


def text(seconds):
    return "no answer" if seconds is None else f"{1e6 * seconds:.0f}"


def ratio(row):
    peers = [row[engine] for engine in ENGINES if engine != "Touchstone" and row[engine] is not None]
    return f"{row['Touchstone'] / min(peers):.3f}" if peers and row["Touchstone"] is not None else ""


def section(rows):
    head = ["boxes", "pairs", *(f"{engine}, µs" for engine in ENGINES), "ours / fastest peer"]
    cells = [
        [row["boxes"], row.get("pairs", ""), *(text(row[engine]) for engine in ENGINES), ratio(row)] for row in rows
    ]
    return (
        "Broad phase",
        "<p>Boxes of 0.5 to 1 m that drift at up to 1 m/s in a cube, 2 ms a step; mean time of a "
        "step, every box moving. Every engine must find all pairs that overlap. MuJoCo's time is that of its own timer "
        "of the broad phase.</p>" + table(head, cells),
    )


def print_table(rows):
    print("Broad phase, microseconds a step:")
    for row in rows:
        values = ", ".join(f"{engine} {text(row[engine])}" for engine in ENGINES)
        print(f"  {row['boxes']:6d} boxes: {values}; ratio {ratio(row)}")
