"""Where the models and our program are, and what to say when they are not there."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import touchstone_dump


def pytest_sessionstart(session):
    if not touchstone_dump.PROGRAM.exists():
        pytest.exit(f"{touchstone_dump.PROGRAM} does not exist; build the tests, or set TOUCHSTONE_BUILD", 2)


def pytest_report_header():
    import mujoco
    import pinocchio

    models = touchstone_dump.DATA if touchstone_dump.DATA.exists() else f"{touchstone_dump.DATA} (absent: skipped)"
    return f"peers: MuJoCo {mujoco.__version__}, Pinocchio {pinocchio.__version__}; models: {models}"
