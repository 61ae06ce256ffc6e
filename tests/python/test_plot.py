"""Plots show the numbers of the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import touchstone as ts

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_plots_of_a_run(box: ts.Model) -> None:
    sim = ts.Simulator(box, dt=1e-3)
    sim.state.v[0] = 1.0
    trace = ts.record(sim, 0.05)
    ax = ts.plot.energy(trace)
    assert [line.get_label() for line in ax.lines] == ["kinetic", "potential", "total"]
    np.testing.assert_allclose(ax.lines[2].get_ydata(), trace.energy)
    assert ax.get_ylabel() == "energy (J)"
    again = ts.plot.residuals(trace, ax=ax)
    assert again is ax
    np.testing.assert_array_equal(ts.plot.penetration(trace).lines[0].get_xdata(), trace.time)
    np.testing.assert_array_equal(ts.plot.contact_forces(trace).lines[0].get_ydata(), trace.normal_force)
    matplotlib.pyplot.close("all")


def test_plots_of_a_recording(box: ts.Model, tmp_path: Path) -> None:
    with ts.Recorder(tmp_path / "run.h5", ts.Simulator(box, dt=1e-3)) as recorder:
        recorder.step(30)
    recording = ts.Recording(tmp_path / "run.h5")
    total = recording.kinetic_energy + recording.potential_energy
    np.testing.assert_allclose(ts.plot.energy(recording).lines[2].get_ydata(), total)
    np.testing.assert_allclose(ts.plot.contact_forces(recording).lines[0].get_ydata()[1:], 9.81, rtol=1e-4)
    for plot in (ts.plot.residuals, ts.plot.penetration):
        np.testing.assert_array_equal(plot(recording).lines[0].get_xdata(), recording.time)
    matplotlib.pyplot.close("all")


def test_plots_of_solvers() -> None:
    answers = ts.compare(ts.problems.box_stack(3), ["nbgs", "ncp-admm", "auto"], record_history=True)
    ax = ts.plot.convergence(answers)
    assert len(ax.lines) >= 2
    np.testing.assert_allclose(ax.lines[0].get_ydata()[-1], max(answers["nbgs"].history[-1], 1e-17))
    # Curves that lie on each other are all seen: whatever is below is wider.
    below = sorted(ax.lines, key=lambda line: line.get_zorder())
    widths = [line.get_linewidth() for line in below]
    assert widths == sorted(widths, reverse=True) and len(set(widths)) == len(widths)
    assert below[-1].get_label() == "nbgs"
    assert {text.get_text() for text in ts.plot.solvers(answers).texts} == set(answers)
    with pytest.raises(ts.Error, match="record_history"):
        ts.plot.convergence({"auto": ts.solve(ts.problems.box_stack(2))})
    matplotlib.pyplot.close("all")
