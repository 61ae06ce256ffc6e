"""Run by ./run wheel inside a clean environment, outside the repository: the installed wheel must be whole.

usage: wheel_check.py EXAMPLES
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import touchstone as ts

package = Path(ts.__file__).parent


def check_files() -> None:
    assert "site-packages" in str(package), package
    for name in ("py.typed", "_core.pyi", "bin/touchstone"):
        assert (package / name).is_file(), f"{name} is missing"


def check_libraries() -> None:
    """Nothing of the build machine but what manylinux promises everywhere; the rest comes with the wheel."""
    system = re.compile(r"linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|z|gcc_s|stdc\+\+)\.so")
    bundled = str(package.parent)
    for file in (package / "bin/touchstone", *package.glob("_core*.so")):
        for line in subprocess.run(["ldd", file], check=True, capture_output=True, text=True).stdout.splitlines():
            assert system.search(line) or bundled in line, f"{file.name} uses {line.strip()}"


def check_command() -> None:
    command = Path(sys.executable).parent / "touchstone"
    run = subprocess.run([command, "scenes"], check=True, capture_output=True, text=True)
    for scene in ts.scenes():
        assert scene.name in run.stdout, scene.name
    assert subprocess.run([command, "nonsense"], capture_output=True).returncode == 2


def check_examples(folder: Path) -> None:
    for name in ("first_steps", "compare_solvers", "pd_control", "build_mechanism"):
        subprocess.run([sys.executable, folder / f"{name}.py"], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    check_files()
    check_libraries()
    check_command()
    check_examples(Path(sys.argv[1]))
    print(f"touchstone {ts.__version__} in Python {sys.version.split()[0]}: ok")
