"""The narrow phase against Coal, and the experiments of the GJK++ paper with our implementation.

Native code, one thread, one processor. A quick run by default; TOUCHSTONE_BENCH_FULL=1 (or --full) takes the paper's
numbers of pairs, poses and repetitions, which is a matter of hours.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dynamics"))

import broad_phase
import comparison
import study
from engines import machine
from page import page

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared")) / "models"
QUICK = {"pairs": 100, "poses": 5, "repetitions": 10, "rounds": 15, "queries": 200}
FULL = {"pairs": 1000, "poses": 100, "repetitions": 100, "rounds": 61, "queries": 1000}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the programs")
    parser.add_argument("--full", action="store_true", default=bool(os.environ.get("TOUCHSTONE_BENCH_FULL")))
    parser.add_argument("--processor", type=int, default=max(os.sched_getaffinity(0)), help="where to run")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "collision")
    return parser.parse_args()


def run(options, program, *words):
    path = options.build / "bin" / program
    if not path.exists():
        sys.exit(f"{path} does not exist; ./run bench collision builds it")
    result = subprocess.run(
        [str(path), *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, {options.processor}),
    )
    if result.returncode != 0:
        sys.exit(f"{program} failed")
    return json.loads(result.stdout)


def compare(options, size):
    """Our engine for two instruction sets and Coal; None without Coal."""
    folder = options.build / "bin"
    engines = {name: folder / f"bench_collision_engine_{name}.so" for name in ("touchstone", "baseline", "coal")}
    if not engines["coal"].exists():
        print("Coal is not in build/venv-peers: no comparison")
        return None
    modules = [f"{name}={path}" for name, path in engines.items() if path.exists()]
    return run(options, "bench_collision_compare", DATA, size["rounds"], size["queries"], *modules)


def main():
    options = arguments()
    size = FULL if options.full else QUICK
    options.out.mkdir(parents=True, exist_ok=True)
    compared = compare(options, size)
    studied = run(options, "bench_collision_study", DATA, size["pairs"], size["poses"], size["repetitions"])
    boxes = broad_phase.measure(options)
    facts = machine()
    verdicts = study.verdicts(studied)
    sections = [
        *(comparison.sections(compared) if compared else []),
        broad_phase.section(boxes),
        *study.sections(studied, verdicts),
    ]
    (options.out / "collision.json").write_text(
        json.dumps(
            {"machine": facts, "comparison": compared, "boxes": boxes, "study": studied, "verdicts": verdicts}, indent=1
        )
    )
    (options.out / "collision.html").write_text(page("Collision queries", sections, facts))
    if compared:
        comparison.print_table(compared)
    broad_phase.print_table(boxes)
    study.print_verdicts(verdicts)
    print(options.out / "collision.html")
    wrong = comparison.wrong_rows(compared) if compared else []
    if wrong:
        sys.exit("rejected, our answers are wrong: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
