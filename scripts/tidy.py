"""Run clang-tidy on source files, what changed last first, skipping those that passed before in the same state.

Files that the build compiles as one (TOUCHSTONE_UNITY) are examined as one: half of the time goes into headers that
they share. The state of a file is its text, the text of all our headers that it reaches, the configuration and the
version of clang-tidy. The version is that of the Python environment, which leaves the headers of
other packages alone; older ones examine all of Eigen again in every file and take longer.
"""

import argparse
import concurrent.futures
import hashlib
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CLANG_TIDY = str(Path(sys.executable).parent / "clang-tidy")
ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "tidy-cache"
PROGRESS_SECONDS = 15.0
MEMBER = re.compile(r'^#include "(/[^"]+\.cpp)"', re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"touchstone/([^"]+)"', re.MULTILINE)


@cache
def reachable(file: Path) -> frozenset[Path]:
    """Return the file and all headers of src/ that it includes, directly or not."""
    seen: set[Path] = set()
    waiting = [file]
    while waiting:
        current = waiting.pop()
        if current in seen or not current.is_file():
            continue
        seen.add(current)
        waiting += [ROOT / "src" / name for name in INCLUDE.findall(current.read_text())]
    return frozenset(seen)


@dataclass(frozen=True)
class Unit:
    """What is examined at once: a file, or a group of them by the file that includes them."""

    file: Path
    members: tuple[Path, ...]

    def parts(self) -> set[Path]:
        return set().union(*(reachable(member) for member in self.members))


def units_of(files: list[Path], build: Path) -> list[Unit]:
    """Return the files in the groups of the build."""
    alone = set(files)
    units = []
    for group in sorted(build.rglob("Unity/unity_*.cxx")):
        members = tuple(path for path in map(Path, MEMBER.findall(group.read_text())) if path in alone)
        if members:
            units.append(Unit(group, members))
            alone.difference_update(members)
    return units + [Unit(file, (file,)) for file in sorted(alone)]


def state(unit: Unit, common: bytes) -> str:
    """Return a name for everything that the result of a unit depends on."""
    digest = hashlib.sha256(common)
    for part in sorted(unit.parts()):
        digest.update(str(part.relative_to(ROOT)).encode() + b"\0" + part.read_bytes() + b"\0")
    return digest.hexdigest()


def last_changed() -> dict[Path, int]:
    """Return a rank for each file of the last changes: 0 for what is not committed, then commit by commit."""
    ranks: dict[Path, int] = {}
    commands = (
        ["git", "ls-files", "-mo", "--exclude-standard"],
        ["git", "log", "-n", "200", "--name-only", "--format="],
    )
    for command in commands:
        for name in subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.split("\n"):
            if name:
                ranks.setdefault(ROOT / name, len(ranks))
    return ranks


def in_order(units: list[Unit]) -> list[Unit]:
    """Return the units, those first that changed last, themselves or by a header."""
    ranks = last_changed()
    return sorted(units, key=lambda unit: min(ranks.get(part, len(ranks)) for part in unit.parts()))


def tidy(unit: Unit, build: Path, common: bytes) -> str:
    """Return what clang-tidy has to say about a unit; nothing if all is well."""
    stamp = CACHE / state(unit, common)
    if stamp.exists():
        return ""
    command = [CLANG_TIDY, "--quiet", "--extra-arg=-w", "-p", str(build), str(unit.file)]  # warnings are the compiler's
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0:
        stamp.touch()
        return ""
    return result.stdout + result.stderr


def main() -> int:
    """Check the files that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="folder with compile_commands.json, made for clang")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", type=Path, nargs="+")
    arguments = parser.parse_args()

    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes()
    failures = 0
    shown = time.monotonic()
    units = in_order(units_of([file.resolve() for file in arguments.files], arguments.build.resolve()))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [pool.submit(tidy, unit, arguments.build, common) for unit in units]
        for done, job in enumerate(concurrent.futures.as_completed(jobs), start=1):
            if time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                print(f"   {100 * done // len(jobs):3} %", flush=True)
            if complaint := job.result():
                failures += 1
                print(complaint, end="", flush=True)
    if failures:
        print(f"clang-tidy complains about {failures} of {len(units)} groups of files", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
