"""The command `touchstone`: runs the native program that the package brings along."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "touchstone"
    if not program.exists():
        sys.exit(f"touchstone: {program} is missing: this installation was built without the command line")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
