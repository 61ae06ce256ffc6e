"""Recorded contact problems against Siconos, and how the default solver scales.

Native code, one thread, one processor, processor time. The problems are in TOUCHSTONE_DATA/problems (by default
../shared/problems). A quick run by default, with short time limits; TOUCHSTONE_BENCH_FULL=1 (or --full) is patient.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

sys.path += [str(Path(__file__).resolve().parents[1] / name) for name in ("collision", "dynamics")]

from contestants import CERTIFIED, OURS, SICONOS, scale, solve
from engines import machine
from page import page
from summary import exponents, print_tables, ratios, sections

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared")) / "problems"
SIZES = (10, 30, 100, 300, 1000, 3000, 10000)
KINDS = ("chain", "pile", "wall")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the programs")
    parser.add_argument("--full", action="store_true", default=bool(os.environ.get("TOUCHSTONE_BENCH_FULL")))
    parser.add_argument("--processor", type=int, default=max(os.sched_getaffinity(0)), help="where to run")
    parser.add_argument("--problem", action="append", help="only files that begin so (may be repeated)")
    parser.add_argument("--no-scaling", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "fclib")
    options = parser.parse_args()
    options.limit = 60.0 if options.full else 1.0  # s of processor time of one solve
    options.patience = 120.0 if options.full else 4.0  # the same for auto and Siconos' default
    options.scaling_limit = 600.0 if options.full else 15.0
    return options


def measure_problems(options):
    """{problem: {contestant: Answer}}; empty without the files."""
    files = sorted(p for p in DATA.glob("*") if p.suffix in (".dat", ".hdf5")) if DATA.is_dir() else []
    if options.problem:
        files = [p for p in files if p.name.startswith(tuple(options.problem))]
    if not files:
        print(f"no recorded problems in {DATA}; set TOUCHSTONE_DATA to the folder that holds problems/")
        return {}
    contestants = list(OURS)
    if (options.build / "bin" / "bench_fclib_siconos").exists():
        contestants += SICONOS
    else:
        print("no libsiconos-numerics-dev when this was built: our own rows alone")
    results = {}
    for file in files:
        name = file.name.removesuffix(".dat").removesuffix(".hdf5")
        results[name] = {c.name: solve(c, file, options) for c in contestants}
        auto = results[name]["auto"].seconds(1e-6)
        print(f"  {name}: auto {f'{1e3 * auto:.3g} ms' if auto else 'did not solve it'}", flush=True)
    return results


def measure_scaling(options):
    """{kind: [row for each size]}; a kind ends with the first size that is not solved in time."""
    scaling = {}
    for kind in KINDS:
        scaling[kind] = []
        for size in SIZES:
            answer = scale(kind, size, options)
            found = answer.solves.get(1e-6, {})
            scaling[kind].append(
                {
                    "contacts": answer.contacts or size,
                    "seconds": answer.seconds(1e-6),
                    "first": found.get("first"),
                    "natv": found.get("natv"),
                    "problem_memory": answer.memory.get("problem_memory"),
                    "peak_memory": answer.memory.get("peak_memory"),
                    "limit": options.scaling_limit,
                }
            )
            if answer.seconds(1e-6) is None:
                break
    return scaling


def main():
    options = arguments()
    program = options.build / "bin" / "bench_fclib_touchstone"
    if not program.exists():
        sys.exit(f"{program} does not exist; ./run bench fclib builds it")
    options.out.mkdir(parents=True, exist_ok=True)
    results = measure_problems(options)
    scaling = {} if options.no_scaling else measure_scaling(options)
    facts = machine()
    about = (
        "Every solver starts from zero. An answer counts if the solver says that it has succeeded and if our "
        f"certificate natv, relative to the free velocity, is at most {CERTIFIED:g} tolerances. Times are medians of "
        "repeated solves; ours keep their workspace, Siconos its converted matrices. Siconos' Newton and ADMM are "
        "measured with block-sparse and, on small problems, with dense matrices; the faster counts. auto checks the "
        "problem in full before it solves, symmetry and definiteness too; 'auto/data' checks sizes and numbers "
        "only, as the simulator does with problems of its own. Limits of a solve: "
        f"{options.patience:g} s for auto and NSGS (Siconos' default), {options.limit:g} s for the others."
    )
    measured = {
        "machine": facts,
        "results": {p: {n: asdict(a) for n, a in answers.items()} for p, answers in results.items()},
        "ratios": {f"{t:g}": ratios(results, t) for t in (1e-4, 1e-6, 1e-8)} if results else {},
        "scaling": scaling,
        "exponents": exponents(scaling),
    }
    (options.out / "fclib.json").write_text(json.dumps(measured, indent=1))
    (options.out / "fclib.html").write_text(page("Recorded contact problems", sections(results, scaling, about), facts))
    print_tables(results, scaling)
    print(options.out / "fclib.html")


if __name__ == "__main__":
    main()
