"""The examples run, and their types are right."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import touchstone as ts

EXAMPLES = ROOT / "examples" / "python"
PACKAGE = Path(ts.__file__).parent


@pytest.mark.parametrize("name", sorted(file.name for file in EXAMPLES.glob("*.py")))
def test_example_runs(name: str, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "PYTHONWARNINGS": "error::UserWarning"}
    run = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


def test_notebook_is_the_first_example_without_outputs() -> None:
    notebook = json.loads((EXAMPLES / "first_steps.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    code = "\n".join("".join(cell["source"]) for cell in cells)
    ast.parse(code)
    scope: dict[str, object] = {}
    exec(compile(code, "first_steps.ipynb", "exec"), scope)
    assert isinstance(scope["sim"], ts.Simulator)


def test_types_of_package_and_examples(tmp_path: Path) -> None:
    environment = os.environ | {"MYPYPATH": str(PACKAGE.parent)}
    config = str(ROOT / "tests" / "python" / "mypy.ini")
    command = [sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", str(ROOT / "build" / "mypy")]
    files = [str(file) for file in sorted(EXAMPLES.glob("*.py"))]
    for what in ([*files], ["-p", "touchstone"]):
        run = subprocess.run([*command, *what], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout


def test_every_public_name_is_documented() -> None:
    for name in ts.__all__:
        thing = getattr(ts, name)
        assert name == "__version__" or thing.__doc__, f"touchstone.{name} has no docstring"
