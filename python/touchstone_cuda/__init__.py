"""The CUDA library that touchstone.Batch(..., device="cuda") loads (docs/gpu.md). It holds nothing else."""

from __future__ import annotations

from pathlib import Path

__all__ = ["library_path"]


def library_path() -> Path:
    """Where the library is."""
    path = Path(__file__).parent / "libtouchstone_cuda.so"
    if not path.exists():
        raise ImportError(f"{path} is missing; build the wheel with scripts/build_cuda_wheel.py and install it")
    return path
