"""Python environments of other engines, made at their first use."""

import subprocess
import sys


def interpreter_with(requirements, environment):
    """The interpreter of an environment with what a file of requirements names; or None, and why there is none."""
    python, stamp = environment / "bin" / "python", environment / "installed"
    if stamp.exists() and stamp.read_text() == requirements.read_text():
        return python, ""
    commands = [
        [sys.executable, "-m", "venv", str(environment)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(requirements)],
    ]
    for command in commands:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            return None, (result.stderr.strip().splitlines() or ["no message"])[-1]
    stamp.write_text(requirements.read_text())
    return python, ""
