#!/usr/bin/env python3
"""Counts what makes the sources hard to read, and fails when a count has grown.

    scripts/measure_house.py        print the counts; exit 1 if one is above its ceiling
    scripts/measure_house.py -v     and what is behind them

When a change brings a count down, lower its ceiling here with it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONG_FUNCTION = 60
LONG_FILE = 500

CEILINGS = {
    f"functions over {LONG_FUNCTION} lines": 8,
    f"files over {LONG_FILE} lines": 1,
    "calls from Simulator::step to a solver": 4,
    "calls from Simulator::step to the inner loop of auto": 12,
    "headers behind sim/simulator.hpp": 19,
    "headers behind solvers/solver.hpp": 14,
    "headers behind model/builder.hpp": 9,
}

# Who calls whom on the way from a step to the solver, and on to the inner loop of the default one: (caller, file of its
# definition, text of the call). The script looks whether it is still so.
TO_SOLVER = [
    ("Simulator::step", "sim/simulator.cpp", "rule_->step("),
    ("SemiImplicitEuler::step", "sim/integrators/semi_implicit_euler.cpp", "stage::solve("),
    ("stage::solve", "sim/stages.cpp", "s.solver.solve_island("),
    ("IslandSolver::solve_island", "sim/island_solver.cpp", "solver_->solve("),
]
TO_INNER_LOOP = [
    *TO_SOLVER,
    ("TypedSolver::solve", "solvers/solver.hpp", "run("),
    ("AutoSolver::run", "solvers/auto/auto.cpp", "solve_part("),
    ("solve_part", "solvers/auto/auto.cpp", "run_pipeline("),
    ("run_pipeline", "solvers/auto/pipeline.cpp", "pipeline.run("),
    ("Pipeline::run", "solvers/auto/pipeline.cpp", "sweep("),
    ("Pipeline::sweep", "solvers/auto/pipeline.cpp", "gauss_seidel_sweep("),
    ("gauss_seidel_sweep", "solvers/gauss_seidel/gauss_seidel.hpp", "local(i, u, next)"),
    ("LocalContacts::operator()", "solvers/gauss_seidel/local_contact.cpp", "solve_contact3("),
]


@cache
def sources() -> list[Path]:
    """Files of the repository that people read: C++, TypeScript, Python."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    folders = ("src/", "apps/", "python/", "web/src/", "scripts/")
    names = [name for name in listed.stdout.splitlines() if name.startswith(folders)]
    return [ROOT / name for name in names if name.endswith((".cpp", ".hpp", ".ts", ".py")) and (ROOT / name).exists()]


NOT_A_FUNCTION = re.compile(
    r" *(namespace|class|struct|enum|union|extern|if|for|while|switch|else|do|try|return|case)\b"
)


def functions(file: Path):
    """(name, lines) of each function; layout is that of clang-format: a body ends where its first line began."""
    lines = file.read_text().splitlines()
    for i, line in enumerate(lines):
        if not line.endswith("{") or line.lstrip().startswith("}"):
            continue
        first = i
        while first > 0 and lines[first].startswith("    "):
            first -= 1
        head = " ".join(lines[first : i + 1])
        name = head.split("(")[0].split()
        if NOT_A_FUNCTION.match(lines[first]) or "(" not in head or not name or "=" in name or "{" in head[:-1]:
            continue
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        end = next((k for k in range(i + 1, len(lines)) if lines[k].rstrip(";,)") == indent + "}"), i)
        yield name[-1], end - first + 1


@cache
def headers_behind(name: str) -> frozenset[str]:
    """Our headers that a header of src/ includes, directly or not."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        file = ROOT / "src" / current
        if current in seen or not file.is_file():
            continue
        seen.add(current)
        waiting += re.findall(r'^#include "touchstone/([^"]+)"', file.read_text(), re.MULTILINE)
    return frozenset(seen - {name})


def broken_links(chain) -> list[str]:
    """Links of a chain of calls that are no longer in the text."""
    broken = []
    for caller, file, call in chain:
        path = ROOT / "src" / file
        if not path.is_file() or call not in path.read_text():
            broken.append(f"{caller} does not call {call}...) in src/{file}; correct the list in this script")
    return broken


def main() -> int:
    verbose = "-v" in sys.argv[1:]
    cpp = [file for file in sources() if file.suffix in (".cpp", ".hpp")]
    long_functions = [
        f"{file.relative_to(ROOT)}: {name}, {lines} lines"
        for file in cpp
        for name, lines in functions(file)
        if lines > LONG_FUNCTION
    ]
    long_files = [
        f"{file.relative_to(ROOT)}: {count} lines"
        for file in sources()
        if (count := len(file.read_text().splitlines())) > LONG_FILE
    ]
    counts = {
        f"functions over {LONG_FUNCTION} lines": long_functions,
        f"files over {LONG_FILE} lines": long_files,
        "calls from Simulator::step to a solver": [caller for caller, _, _ in TO_SOLVER],
        "calls from Simulator::step to the inner loop of auto": [caller for caller, _, _ in TO_INNER_LOOP],
    }
    for ceiling in CEILINGS:
        if ceiling.startswith("headers behind "):
            counts[ceiling] = sorted(headers_behind(ceiling.removeprefix("headers behind ")))
    problems = broken_links(TO_INNER_LOOP)
    for name, found in counts.items():
        print(f"{len(found):4d}  {name} (at most {CEILINGS[name]})")
        if len(found) > CEILINGS[name]:
            problems.append(f"{name}: {len(found)}, at most {CEILINGS[name]}")
        if verbose or len(found) > CEILINGS[name]:
            print("".join(f"        {item}\n" for item in found), end="")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
