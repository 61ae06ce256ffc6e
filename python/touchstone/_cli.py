"""The command `touchstone`: runs the native program that the package brings along."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "touchstone"
    if not program.exists():
        sys.exit(f"touchstone: {program} is missing: this installation was built without the command line")
    if "TOUCHSTONE_CUDA_LIBRARY" not in os.environ:
        with contextlib.suppress(ImportError):  # run --device cuda and bench gpu load it
            os.environ["TOUCHSTONE_CUDA_LIBRARY"] = str(importlib.import_module("touchstone_cuda").library_path())
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
