"""Run by ./run wheel inside a clean environment, outside the repository: the installed wheel must be whole.

usage: wheel_check.py EXAMPLES
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

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


def check_viewer() -> None:
    """The page is inside: from Python, and as a replay of the command."""
    with ts.scene("cube-slide").simulator().view(browser=False) as viewer, urlopen(viewer.url, timeout=20) as answer:
        page = answer.read()
    assert b"touchstone-live" in page, "the viewer's page is missing"
    command = Path(sys.executable).parent / "touchstone"
    subprocess.run([command, "run", "cube-slide", "-q", "--time", "0.2", "--html", "slide.html"], check=True)
    assert b"touchstone-replay" in Path("slide.html").read_bytes()


def check_examples(folder: Path) -> None:
    """All of them; own_solver gets a problem that is made here."""
    Path("problems").mkdir()
    ts.save_problem("problems/stack.hdf5", ts.problems.box_stack(2))
    arguments = {"own_solver.py": ["problems"], "plot_energy.py": ["energy.png"]}
    files = sorted(folder.glob("*.py"))
    assert len(files) >= 7, files
    for file in files:
        command = [sys.executable, file, *arguments.get(file.name, [])]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    check_files()
    check_libraries()
    check_command()
    check_viewer()
    check_examples(Path(sys.argv[1]))
    print(f"touchstone {ts.__version__} in Python {sys.version.split()[0]}: ok")
