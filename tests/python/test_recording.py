"""Recordings and scenes."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import touchstone as ts


def test_a_recording_holds_what_happened(box: ts.Model, tmp_path: Path) -> None:
    file = tmp_path / "run.h5"
    sim = ts.Simulator(box, dt=1e-3)
    sim.state.v[0] = 1.0
    states = [sim.state.copy()]
    with ts.Recorder(file, sim, every=10, scene="a sliding box") as recorder:
        for _ in range(5):
            report = recorder.step(10)
            states.append(sim.state.copy())
    recording = ts.Recording(file)
    assert len(recording) == 6
    assert recording.complete
    assert recording.scene == "a sliding box"
    assert (recording.dt, recording.every) == (1e-3, 10)
    for row, state in enumerate(states):
        np.testing.assert_array_equal(recording.q[row], state.q)
        assert recording.state(row) == state
    assert recording.state(-1) == states[-1]
    assert recording.natv[-1] == report.residuals.natv
    np.testing.assert_allclose(recording.normal_force[1:], 9.81, rtol=1e-4)
    last = recording.contacts_of(-1)
    np.testing.assert_array_equal(recording.contact_force[last], sim.contacts.force)
    assert recording.model.body("box").mass == pytest.approx(1.0)
    assert "6 rows" in repr(recording)
    with pytest.raises(IndexError):
        recording.state(6)


def test_recorded_arrays_are_read_only_and_keep_the_recording(box: ts.Model, tmp_path: Path) -> None:
    file = tmp_path / "run.h5"
    sim = ts.Simulator(box)
    with ts.Recorder(file, sim) as recorder:
        recorder.step(20)
    q = ts.Recording(file).q
    kept = q.copy()
    gc.collect()
    np.testing.assert_array_equal(q, kept)
    with pytest.raises(ValueError, match="read-only"):
        q[0, 0] = 1.0


def test_bad_files_are_refused(box: ts.Model, tmp_path: Path) -> None:
    with pytest.raises(ts.InputError, match="no such file"):
        ts.Recording(tmp_path / "nothing.h5")
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(ts.InputError, match="not a recording"):
        ts.Recording(tmp_path / "text.h5")
    with pytest.raises(ts.InputError):
        ts.Recorder(tmp_path / "no" / "folder.h5", ts.Simulator(box))


@pytest.mark.parametrize("name", [scene.name for scene in ts.scenes()])
def test_every_scene_runs(name: str) -> None:
    scene = ts.scene(name)
    assert scene.model.nv > 0
    sim = scene.simulator()
    start = scene.start
    assert sim.state == start
    report = sim.step(20)
    assert not report.diverged
    sim.reset()
    assert sim.state == start


def test_scene_parameters_and_options() -> None:
    scene = ts.scene("cube-slide:2,friction=0.25")
    sim = scene.simulator(dt=1e-3, solver="nbgs", integrator="midpoint")
    assert (sim.dt, sim.solver) == (1e-3, "nbgs")
    speed = np.linalg.norm(sim.state.v[:3])
    assert speed == pytest.approx(2.0, rel=1e-12)
    sim.step(100)
    assert np.linalg.norm(sim.state.v[:3]) == pytest.approx(2.0 - 0.25 * 9.81 * 0.1, abs=2e-3)
    with pytest.raises(ts.Error, match="cube-slide"):
        ts.scene("cube-slid")
    assert any("friction" in info.parameters for info in ts.scenes())


def test_pushes_of_a_scene_act() -> None:
    sim = ts.scene("cube-drag:8,friction=0.5,angle=0").simulator(dt=1e-3)
    sim.step(100)
    assert sim.state.v[0] == pytest.approx((8.0 - 0.5 * 9.81) * 0.1, rel=1e-3)


def test_scene_files(tmp_path: Path) -> None:
    file = tmp_path / "drop.yaml"
    file.write_text("model: pendulum\ntime_step: 0.0005\n")
    scene = ts.scene(str(file))
    assert scene.simulator().dt == 0.0005
    assert ts.load(file).nv == 1
    file.write_text("modle: pendulum\n")
    with pytest.raises(ts.InputError, match=r"drop\.yaml:1"):
        ts.scene(str(file))
