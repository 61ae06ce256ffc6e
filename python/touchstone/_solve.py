"""Solving contact problems in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Union

import numpy.typing as npt

from . import _core

OptionValue = Union[bool, int, float, str]


def solve(
    problem: _core.ContactProblem,
    solver: str = "auto",
    *,
    warm_start: npt.ArrayLike | None = None,
    **options: OptionValue,
) -> _core.Solution:
    """Solves a problem and certifies the answer. For many problems keep a `Solver`, which reuses its memory.

    options: those of the solver by name, such as relative_tolerance=1e-10, max_iterations=500, record_history=True.
    Trouble is a status of the solution, not an exception; a wrong name of a solver or option raises Error.
    """
    return _core.Solver(solver, **options).solve(problem, warm_start)


def compare(
    problem: _core.ContactProblem, solvers: Iterable[str] | None = None, **options: OptionValue
) -> dict[str, _core.Solution]:
    """The answers of several solvers (all of them by default) to the same problem, by name."""
    names = [info.name for info in _core.solvers()] if solvers is None else list(solvers)
    return {name: solve(problem, name, **options) for name in names}
