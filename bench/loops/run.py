"""Closed chains: the systems of Tsounis et al. 2025, Tab. II, and more, in reduced and in maximal coordinates.

What `touchstone bench loops` measures, and beside it the time of a step of MuJoCo and Kamino: one page. Every solve is
bounded by counted work. TOUCHSTONE_BENCH_FULL=1 takes longer runs, more samples and more work a solve.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import peers

ROOT = Path(__file__).resolve().parents[2]
FULL = os.environ.get("TOUCHSTONE_BENCH_FULL", "") not in ("", "0")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the programs")
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


def measure(program, options):
    """All figures of the suite; its progress goes to the terminal."""
    words = [str(program), "bench", "loops", "--json"]
    words += [f"--system={name}" for name in options.system or []]
    words += ["--full"] if FULL else []
    words += [f"--export={options.export}"] if options.export else []
    result = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {result.returncode}")
    return json.loads(result.stdout)


def main():
    options = arguments()
    programs = Path(options.build) / "bin"
    for name in ("touchstone", "bench_loops_touchstone"):
        if not (programs / name).exists():
            sys.exit(f"{programs / name} does not exist; ./run bench loops builds it")
    folder = options.out / "loops"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "loops.json"
    if not (options.reuse and file.exists()):
        data = measure(programs / "touchstone", options)
        if not options.no_peers:
            data["peers"] = peers.compare(programs / "bench_loops_touchstone", data["systems"], ask)
        file.write_text(json.dumps(data))
    page = options.html or folder / "loops.html"
    words = [str(programs / "touchstone"), "bench", "loops", f"--from={file}", f"--html={page}"]
    sys.exit(subprocess.run(words, check=False).returncode)


if __name__ == "__main__":
    main()
