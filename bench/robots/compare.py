"""Rows of a fresh run of the benchmark that became slower than those of another run.

    python bench/robots/compare.py [BEFORE [AFTER]]

Both are JSON files of `./run bench robots`. BEFORE is by default the run whose table is in docs/benchmarks.md
(measured.json beside this file), AFTER what was written last. Ratios to MuJoCo in the same run are compared where both
have them, since machines differ; times else.
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
    given = sys.argv[1:]
    if len(given) > 2 or any(word.startswith("-") for word in given):
        sys.exit(__doc__)
    paths = [Path(word) for word in given]
    paths += [Path(__file__).with_name("measured.json"), ROOT / "build/bench/robots/robots.json"][len(given) :]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        sys.exit(f"no {' and no '.join(missing)}; ./run bench robots writes {paths[1]}")
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
