"""Closed chains: the systems of Tsounis et al. 2025, Tab. II, and more, in reduced and in maximal coordinates.

Contact problems are taken along the motion of each system, sorted into the paper's categories, and solved by all
solvers of its Tab. I and by ours. One page: systems, accuracy, speed, robustness, steadiness of reactions, performance
profiles, convergence, errors of loops, time of a step beside MuJoCo's and Kamino's, and which solver to use when. Every
solve is bounded by counted work. TOUCHSTONE_BENCH_FULL=1 takes longer runs, more samples and more work a solve.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import peers
import report

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("TOUCHSTONE_BENCH_FULL", "") not in ("", "0")
EXTENT = {  # seconds and samples of a recording, work of a solve, seconds of a run for the errors of loops
    False: {"seconds": 1.2, "samples": 6, "work": 1e7, "run": 1.0},
    True: {"seconds": 10.0, "samples": 60, "work": 2e8, "run": 10.0},
}
COORDINATES = ("reduced", "maximal")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the program")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--system", action="append", help="only this scene, such as loops/walker (may be repeated)")
    parser.add_argument("--html", type=Path, help="where the page goes (default: OUT/loops/loops.html)")
    parser.add_argument("--export", type=Path, help="write the samples into this folder as FCLIB files")
    parser.add_argument("--no-peers", action="store_true", help="without MuJoCo and Kamino")
    parser.add_argument("--reuse", action="store_true", help="draw what an earlier run has left")
    return parser.parse_args()


def ask(program, *words):
    """The answer of our program, or None with its message on the terminal."""
    result = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(f"  {' '.join(map(str, words))}: {result.stderr.strip()}")
        return None
    return json.loads(result.stdout)


def measure(program, scene, options):
    """All that is measured of one system with our program."""
    extent = EXTENT[FULL]
    entry = {"measured": {}, "runs": {}}
    for coordinates in COORDINATES:
        words = ["measure", scene, coordinates, extent["seconds"], extent["samples"], extent["work"]]
        if options.export:
            words.append(options.export)
        entry["measured"][coordinates] = ask(program, *words)
    for name, step, closing in (("fine", 1e-3, "closed"), ("coarse", 4e-3, "closed"), ("open", 1e-3, "pass")):
        entry["runs"][name] = ask(program, "run", scene, "reduced", extent["run"], step, closing)
    return entry


def main():
    options = arguments()
    program = Path(options.build) / "bin" / "bench_loops_touchstone"
    if not program.exists():
        sys.exit(f"{program} does not exist; ./run bench loops builds it")
    folder = options.out / "loops"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "loops.json"
    if options.reuse and file.exists():
        data = json.loads(file.read_text())
    else:
        systems = ask(program, "list")
        if systems is None:
            sys.exit("no systems")
        if options.system:
            systems = [system for system in systems if system["scene"] in options.system]
        for system in systems:
            print(system["scene"], flush=True)
            system.update(measure(program, system["scene"], options))
        data = {"systems": systems, "full": FULL, "extent": EXTENT[FULL]}
        data["peers"] = {} if options.no_peers else peers.compare(program, systems, ask)
        file.write_text(json.dumps(data))
    if options.export:
        report_export(data)
    page = options.html or folder / "loops.html"
    page.write_text(report.page(data))
    print(page)


def report_export(data):
    written, refused = 0, {}
    for system in data["systems"]:
        for measured in system["measured"].values():
            exported = (measured or {}).get("export")
            if exported:
                written += exported["written"]
                for reason, count in exported["refused"].items():
                    refused[reason] = refused.get(reason, 0) + count
    print(f"{written} problems written as FCLIB files")
    for reason, count in refused.items():
        print(f"  {count} not: {reason}")


if __name__ == "__main__":
    main()
