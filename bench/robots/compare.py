"""Rows of a fresh run of the benchmark that became slower than those of another run.

    python bench/robots/compare.py [BEFORE [AFTER]]

BEFORE is bench/robots/results.json by default, the run behind docs/benchmarks.md; AFTER is what `./run bench robots`
has written last. Ratios to MuJoCo in the same run are compared where both have them, since machines differ; times else.
Exit code 1 if a row is more than a tenth slower.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 1.1


def figures(path):
    """{(row, figure): value}."""
    found = {}
    for row in json.loads(Path(path).read_text())["rows"]:
        ours, peer = row["engines"]["touchstone"], row["engines"].get("default")
        for name in ("seconds", "mean", "p99"):
            found[row["label"], name] = (ours[name], ours[name] / peer[name] if peer else None)
    return found


def main():
    defaults = [ROOT / "bench/robots/results.json", ROOT / "build/bench/robots/robots.json"]
    paths = [*sys.argv[1:3], *defaults[len(sys.argv) - 1 :]][:2]
    before, after = (figures(path) for path in paths)
    slower = 0
    for key in before:
        if key not in after:
            print(f"{key[0]}: not in {paths[1]}")
            continue
        both = before[key][1] is not None and after[key][1] is not None
        old, new = before[key][both], after[key][both]
        if new > LIMIT * old:
            slower += 1
            unit = "times MuJoCo" if both else "s"
            print(f"{key[0]}, {key[1]}: {old:.3g} -> {new:.3g} {unit} ({new / old - 1:+.0%})")
    print(f"{slower} of {len(before)} figures more than a tenth slower")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
