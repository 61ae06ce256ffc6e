"""Time of recorded island problems with their warm starts: how long the slow ones take, and which are not solved.

The problems are in TOUCHSTONE_DATA/island_problems (by default ../shared/island_problems). They are solved as they are,
from zero, and perturbed, so that a method that was tuned on them is tried on others of the kind. Scenes that were
recorded because their problems have no solution are counted apart. Options: --solver NAME, --set NAME=VALUE.
"""

import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared")) / "island_problems"
BUILD = Path(os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release"))
INSOLUBLE = ("squeeze", "overlap", "pinch")
VARIANTS = {"warm": [], "cold": ["--cold"], "perturbed": ["--perturb", "5"]}


def summary(rows):
    """One line of a table: us of processor time, and how many are not solved."""
    times = sorted(float(row[4]) for row in rows)
    at = lambda share: times[min(len(times) - 1, int(share * len(times)))]  # noqa: E731
    figures = [sum(times) / len(times), at(0.5), at(0.9), at(0.99), times[-1]]
    unsolved = sum(row[6] != "solved" for row in rows)
    return " | ".join([str(len(times)), *(f"{figure:,.0f}" for figure in figures), str(unsolved)])


def main():
    files = sorted(DATA.glob("*.tsp.xz"))
    if not files:
        print(f"no recorded islands in {DATA}; set TOUCHSTONE_DATA to the folder that holds island_problems/")
        return
    print("| problems | | number | mean, us | p50 | p90 | p99 | worst | not solved |")
    print("|" + " --- |" * 9)
    with tempfile.TemporaryDirectory() as folder:
        unpacked = []
        for file in files:
            unpacked.append(Path(folder) / file.name.removesuffix(".xz"))
            unpacked[-1].write_bytes(lzma.decompress(file.read_bytes()))
        for name, options in VARIANTS.items():
            command = [BUILD / "bin" / "bench_islands", *unpacked, *options, *sys.argv[1:]]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            rows = [line.split(None, 8) for line in lines]
            insoluble = [row for row in rows if row[0].startswith(INSOLUBLE)]
            print(f"| {name} | soluble | {summary([row for row in rows if row not in insoluble])} |")
            print(f"| | others | {summary(insoluble)} |", flush=True)


if __name__ == "__main__":
    main()
