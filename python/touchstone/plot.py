"""Plots with matplotlib (`pip install touchstone-sim[plot]`).

Every function takes an axes object or makes one, and returns it. Runs are a `Trace` (see `touchstone.record`) or
anything with the same arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from . import _core

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
except ImportError as error:
    raise ImportError("touchstone.plot needs matplotlib: pip install touchstone-sim[plot]") from error

FloatArray = npt.NDArray[np.float64]


class Run(Protocol):
    """What a run must have to be plotted."""

    @property
    def time(self) -> FloatArray: ...
    @property
    def kinetic_energy(self) -> FloatArray: ...
    @property
    def potential_energy(self) -> FloatArray: ...
    @property
    def natv(self) -> FloatArray: ...
    @property
    def penetration(self) -> FloatArray: ...


def _axes(ax: Axes | None, title: str, ylabel: str, xlabel: str = "time (s)") -> Axes:
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    ax.set_title(title)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(True, alpha=0.3)
    return ax


def energy(run: Run, ax: Axes | None = None) -> Axes:
    """Kinetic, potential and total energy over time."""
    ax = _axes(ax, "Energy", "energy (J)")
    time, kinetic, potential = (np.asarray(x) for x in (run.time, run.kinetic_energy, run.potential_energy))
    ax.plot(time, kinetic, label="kinetic")
    ax.plot(time, potential, label="potential")
    ax.plot(time, kinetic + potential, "k", label="total")
    ax.legend()
    return ax


def contact_forces(run: Run, ax: Axes | None = None) -> Axes:
    """The sum of all normal forces over time."""
    force = getattr(run, "normal_force", None)
    if force is None:
        raise _core.Error("this run has no normal_force; record it with touchstone.record")
    ax = _axes(ax, "Contact", "sum of normal forces (N)")
    ax.plot(np.asarray(run.time), np.asarray(force))
    return ax


def residuals(run: Run, ax: Axes | None = None) -> Axes:
    """The certificate over time: natv of the worst island (m/s) on a logarithmic scale."""
    ax = _axes(ax, "Certificate", "natv (m/s)")
    natv = np.asarray(run.natv, dtype=float)
    ax.semilogy(np.asarray(run.time), np.where(natv > 0, natv, np.nan))
    return ax


def penetration(run: Run, ax: Axes | None = None) -> Axes:
    """The deepest contact over time."""
    ax = _axes(ax, "Penetration", "depth (m)")
    ax.plot(np.asarray(run.time), np.asarray(run.penetration))
    return ax


def convergence(solutions: Mapping[str, _core.Solution], ax: Axes | None = None) -> Axes:
    """Relative natv after each iteration; solve with record_history=True (see `touchstone.compare`).

    The first solver is on top; each further one is a little wider, so that curves that lie on each other are seen.
    """
    ax = _axes(ax, "Convergence", "relative natv", "iteration")
    empty = []
    for i, (name, solution) in enumerate(solutions.items()):
        history = solution.history
        if len(history) == 0:
            empty.append(name)
            continue
        iterations, natv = np.arange(1, len(history) + 1), np.maximum(history, 1e-17)
        ax.loglog(iterations, natv, label=name, zorder=2.0 + 0.9 / (1 + i), linewidth=1.5 + 1.2 * i)
    if len(empty) == len(solutions):
        raise _core.Error("no solution has a history; solve with record_history=True")
    ax.legend()
    return ax


def solvers(solutions: Mapping[str, _core.Solution], ax: Axes | None = None) -> Axes:
    """Time against certificate, one mark a solver: the lower left is best."""
    ax = _axes(ax, "Solvers", "natv (m/s)", "time (ms)")
    for name, solution in solutions.items():
        natv = max(solution.residuals.natv, 1e-17)
        ax.loglog([1e3 * solution.seconds], [natv], "o" if solution.solved else "x", label=name)
        ax.annotate(name, (1e3 * solution.seconds, natv), xytext=(4, 4), textcoords="offset points", fontsize="small")
    return ax
