#!/usr/bin/env python3
"""Hashes of where scenes and robots end, for a change that must not change numbers.

    scripts/state_hashes.py build/release/bin/touchstone > before.txt
    (change, build)
    scripts/state_hashes.py build/release/bin/touchstone > after.txt && diff before.txt after.txt

One line a run: hash of the final state and of the closing figures, natv, name. Scenes that the program has, with each
integrator and with softened constraints; robots and cases of TOUCHSTONE_DATA (default: ../shared), where it is there.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

VARIANTS = {
    "euler": [],
    "midpoint": ["--integrator", "midpoint"],
    "variational": ["--integrator", "variational"],
    "softened": ["--option", "constraints=mujoco"],
}
LIMIT_S = 300
FIGURES = ("final", "steps", "status", "natv_relative", "natv_worst", "contacts", "penetration", "violation", "energy")


def scenes(program):
    listed = subprocess.run([program, "scenes"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.strip() and not line.startswith(" ")]


def files(data):
    found = sorted((data / "cases").rglob("*.xml"))
    found += sorted((data / "models").rglob("scene*.xml"))
    found += sorted((data / "models").rglob("*.urdf"))
    return found + sorted((data / "models" / "mjcf" / "mujoco_samples").rglob("*.xml"))


def jobs(program, data, seconds):
    for scene in scenes(program):
        for variant, options in VARIANTS.items():
            yield f"{scene} {variant}", [scene, "--time", str(seconds), *options]
    for i, file in enumerate(files(data)):
        variant = list(VARIANTS)[i % len(VARIANTS)]  # each file in one of the ways
        options = [str(file), "--time", str(seconds / 5), "--allow-ignored", *VARIANTS[variant]]
        if file.suffix == ".urdf":
            options += ["--floating", "--ground", "--hold", "--search-path", str(data / "models" / "urdf")]
        yield f"{file.relative_to(data)} {variant}", options


def run(program, options):
    command = [program, "run", *options, "--json", "--lenient"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "stopped", "-"
    if result.returncode not in (0, 1):
        return hashlib.sha256(result.stderr.encode()).hexdigest()[:16], "refused"
    closing = json.loads(result.stdout)
    text = json.dumps({key: closing[key] for key in FIGURES}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16], closing["natv_relative"]["worst"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program 'touchstone'")
    parser.add_argument("--seconds", type=float, default=0.5, help="simulated time of a scene; robots a fifth of it")
    arguments = parser.parse_args()
    data = Path(os.environ.get("TOUCHSTONE_DATA", Path(__file__).resolve().parents[2] / "shared"))
    if not data.is_dir():
        print(f"no robots: {data} does not exist; set TOUCHSTONE_DATA", file=sys.stderr)
    work = list(jobs(arguments.program, data, arguments.seconds))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda job: run(arguments.program, job[1]), work)
        for (name, _), (digest, natv) in zip(work, answers, strict=True):
            print(digest, natv, name, flush=True)


if __name__ == "__main__":
    main()
