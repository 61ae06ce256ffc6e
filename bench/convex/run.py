"""The experiments of Castro et al. 2025 (compliant contact: SAP, Lagged, Similar) with our simulator, and Drake beside.

One page of plots: figures 3 to 22 of the paper, what it says of each in our words, and whether ours say the same.
tests/scenes/convex_test.cpp checks many of them. Drake's wheel (requirements.txt) is compared if it can be installed:
motion, velocities of single steps, and time a step.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import drake_figures
import figures
from environment import interpreter_with
from look import LOOK, META

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STYLE = f"""{LOOK}
figcaption {{ max-width: 470px; }}
li {{ max-width: 100ch; margin-bottom: 4px; }}
"""
PARTS = {
    "conveyor": figures.conveyor,
    "sphere": figures.sphere,
    "rod": figures.rod,
    "clutter": figures.clutter,
    "stiffness": figures.stiffness,
    "grasp": figures.grasp,
    "limit": figures.limit,
    "solo": figures.solo,
}
DRAKE_ENVIRONMENT = ROOT / "build" / "venv-drake"


def compare_with_drake(options, out):
    """The section about Drake, and a line for the terminal if there is none."""
    python, reason = interpreter_with(HERE / "requirements.txt", DRAKE_ENVIRONMENT)
    if python is None:
        line = f"Drake could not be installed ({reason}): the comparison is left out."
        print(line)
        return f"<h2>Against Drake</h2><p>{line}</p>"
    file = out / "drake.json"
    command = [str(python), str(HERE / "drake_compare.py"), "--build", str(options.build), "--out", str(file)]
    command += ["--quick"] if options.quick else []
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if subprocess.run(command, check=False, env=environment).returncode != 0:
        return "<h2>Against Drake</h2><p>The comparison failed; the terminal says why.</p>"
    return drake_figures.drake(json.loads(file.read_text()))


def page(sections):
    return f"""<!doctype html>
<html lang="en"><head>{META}<title>Touchstone: compliant contact</title><style>{STYLE}</style></head>
<body><h1>Compliant contact</h1><p>The experiments of "Irrotational contact fields" (Castro, Han, Masterjohn) with our
simulator: SAP, Lagged and Similar, with the paper's parameters. With each case stand the paper's statements in our
words and whether our figures agree; the scenes are <code>touchstone view convex/conveyor</code> and so on. "reference"
is the continuous model by another method with tiny steps.</p>{"".join(sections)}</body></html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default_build = os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")
    parser.add_argument("--build", type=Path, default=default_build, help="build folder with the programs")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument(
        "--parts", nargs="*", default=list(PARTS), choices=list(PARTS), help="which cases (default: all)"
    )
    parser.add_argument("--no-drake", action="store_true", help="without the comparison with Drake")
    parser.add_argument("--quick", action="store_true", help="shorter runs of the comparison with Drake")
    parser.add_argument("--reuse", action="store_true", help="draw what an earlier run has left")
    options = parser.parse_args()
    program = Path(options.build) / "bin" / "bench_convex_touchstone"
    if not program.exists():
        sys.exit(f"{program} does not exist; ./run bench convex builds it")
    out = options.out / "convex"
    out.mkdir(parents=True, exist_ok=True)
    sections = []
    for part in options.parts:
        file = out / f"{part}.json"
        if not (options.reuse and file.exists()):
            print(f"{part} ...", flush=True)
            result = subprocess.run([str(program), part], capture_output=True, text=True, check=False)
            if result.returncode != 0:
                sys.exit(f"{program.name} {part}: {result.stderr.strip()}")
            file.write_text(result.stdout)
        sections.append(PARTS[part](json.loads(file.read_text())[part]))
    sections.append(figures.force_laws())
    if not options.no_drake:
        if options.reuse and (out / "drake.json").exists():
            sections.append(drake_figures.drake(json.loads((out / "drake.json").read_text())))
        else:
            sections.append(compare_with_drake(options, out))
    text = page(sections)
    (out / "convex.html").write_text(text)
    print(f"{text.count('>agrees<')} statements of the paper agree, {text.count('>does not agree<')} do not")
    print(out / "convex.html")


if __name__ == "__main__":
    main()
