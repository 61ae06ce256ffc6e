"""Running a simulation for a while, with progress and a record in memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Callable

import numpy as np
import numpy.typing as npt

from . import _core

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Controller = Callable[[_core.Simulator], None]


class _Worst:
    """The worst figures of some steps."""

    def __init__(self, report: _core.StepReport | None = None) -> None:
        self.natv = self.natv_relative = self.law_natv_relative = self.penetration = 0.0
        if report is not None:
            self.see(report)

    def see(self, report: _core.StepReport) -> None:
        self.natv = max(self.natv, report.residuals.natv)
        self.natv_relative = max(self.natv_relative, report.residuals.natv_relative)
        self.law_natv_relative = max(self.law_natv_relative, report.residuals.law_natv_relative)
        self.penetration = max(self.penetration, report.penetration)


class Trace:
    """What a run left behind, as arrays with one row for each recorded moment; the first is the start.

    time (s), q, v, control; kinetic_energy, potential_energy (J); contacts, iterations; natv (m/s), natv_relative;
    law_natv_relative (of compliant solvers, else 0); penetration (m), normal_force (N, the sum over all contacts).
    natv, natv_relative, law_natv_relative and penetration are the worst of the steps since the row before, so that no
    peak is lost between two rows.
    """

    time: FloatArray
    q: FloatArray
    v: FloatArray
    control: FloatArray
    kinetic_energy: FloatArray
    potential_energy: FloatArray
    contacts: IntArray
    iterations: IntArray
    natv: FloatArray
    natv_relative: FloatArray
    law_natv_relative: FloatArray
    penetration: FloatArray
    normal_force: FloatArray

    def __init__(self, model: _core.Model, rows: int) -> None:
        self.model = model
        self._rows = 0
        for name in ("time", "kinetic_energy", "potential_energy", "natv", "natv_relative", "penetration"):
            setattr(self, name, np.zeros(rows))
        self.law_natv_relative = np.zeros(rows)
        self.normal_force = np.zeros(rows)
        self.contacts = np.zeros(rows, dtype=np.int64)
        self.iterations = np.zeros(rows, dtype=np.int64)
        self.q = np.zeros((rows, model.nq))
        self.v = np.zeros((rows, model.nv))
        self.control = np.zeros((rows, model.nu))

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        if self._rows == 0:
            return "<Trace: empty>"
        return f"<Trace of '{self.model.name}': {self._rows} rows, {self.time[0]:.6g} s to {self.time[-1]:.6g} s>"

    @property
    def energy(self) -> FloatArray:
        """Kinetic and potential energy together, J."""
        return self.kinetic_energy + self.potential_energy

    def _add(self, sim: _core.Simulator, worst: _Worst) -> None:
        i, report = self._rows, sim.report
        self.time[i] = sim.time
        self.q[i] = sim.state.q
        self.v[i] = sim.state.v
        self.control[i] = sim.control
        self.kinetic_energy[i] = sim.kinetic_energy()
        self.potential_energy[i] = sim.potential_energy()
        self.contacts[i] = report.contacts
        self.iterations[i] = report.iterations
        self.natv[i] = worst.natv
        self.natv_relative[i] = worst.natv_relative
        self.law_natv_relative[i] = worst.law_natv_relative
        self.penetration[i] = worst.penetration
        self.normal_force[i] = sim.contacts.local_force[:, 2].sum()
        self._rows += 1

    def _trim(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(self, name, value[: self._rows])


def _chunks(steps: int, every: int) -> Iterator[int]:
    while steps > 0:
        yield min(every, steps)
        steps -= every


class _Progress:
    """tqdm where it is installed, else one line on standard error."""

    def __init__(self, total: float, shown: bool) -> None:
        self._total, self._shown, self._done, self._last = total, shown, 0.0, 0.0
        self._bar = None
        if shown:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=round(total, 6), unit="s", unit_scale=False, bar_format=_BAR)

    def update(self, seconds: float) -> None:
        self._done += seconds
        if self._bar is not None:
            self._bar.update(seconds)
        elif self._shown and time.monotonic() - self._last > 0.1:
            self._last = time.monotonic()
            share = self._done / self._total if self._total > 0 else 1.0
            print(f"\r{self._done:.2f} of {self._total:.2f} s simulated ({share:4.0%})", end="", file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._shown:
            print(file=sys.stderr)


_BAR = "{l_bar}{bar}| {n:.2f}/{total:.2f} s simulated [{elapsed}<{remaining}]"


def run(
    sim: _core.Simulator,
    seconds: float,
    *,
    controller: Controller | None = None,
    every: int = 1,
    progress: bool = False,
) -> _core.StepReport:
    """Simulates for so many seconds; returns the report of the last step.

    controller: called as controller(sim) before each `every` steps; it may write to sim.control.
    progress: shows how far it is (with tqdm if installed). Without a controller the steps are taken in native code.
    Stops when a step diverges; the report says so.
    """
    steps = round(seconds / sim.dt)
    chunk = every if controller is not None else max(1, steps // 100 if progress else steps)
    bar = _Progress(steps * sim.dt, progress)
    report = sim.report
    try:
        for count in _chunks(steps, chunk):
            if controller is not None:
                controller(sim)
            report = sim.step(count)
            bar.update(count * sim.dt)
            if report.diverged:
                break
    finally:
        bar.close()
    return report


def record(
    sim: _core.Simulator,
    seconds: float,
    *,
    every: int | float = 1,
    controller: Controller | None = None,
    progress: bool = False,
) -> Trace:
    """Simulates for so many seconds and keeps every `every`-th step in memory; see Trace, and touchstone.plot.

    controller: called as controller(sim) before each step. Stops when a step diverges.
    """
    steps, every = round(seconds / sim.dt), int(every)
    if every < 1:
        raise _core.Error(f"every is {every}; give the number of steps between rows, 1 or more")
    trace = Trace(sim.model, steps // every + 2)
    bar = _Progress(steps * sim.dt, progress)
    trace._add(sim, _Worst(sim.report))
    try:
        for count in _chunks(steps, every):
            worst = _Worst()
            for _ in range(count):
                if controller is not None:
                    controller(sim)
                report = sim.step()
                worst.see(report)
                if report.diverged:
                    break
            trace._add(sim, worst)
            bar.update(count * sim.dt)
            if report.diverged:
                break
    finally:
        bar.close()
    trace._trim()
    return trace
