"""Stepping, inputs, results, against closed forms."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import touchstone as ts


def test_a_resting_box_is_carried(box: ts.Model) -> None:
    sim = ts.Simulator(box, dt=1e-3, tolerance=1e-9)
    report = sim.step(200)
    assert report.ok
    assert report.contacts == 4
    contacts = sim.contacts
    assert len(contacts) == 4
    np.testing.assert_allclose(contacts.force.sum(axis=0), [0, 0, 9.81], atol=1e-6)
    np.testing.assert_allclose(contacts.normal, np.tile([0, 0, 1], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(
        np.einsum("nij,nj->ni", contacts.frame, contacts.local_force), contacts.force, atol=1e-12
    )
    np.testing.assert_allclose(sim.contact_wrench("box")[:3], [0, 0, 9.81], atol=1e-6)
    assert np.all(np.abs(contacts.position[:, :2]) == pytest.approx(0.1, abs=1e-6))
    assert report.residuals.natv_relative < 1e-9


def test_a_sliding_box_brakes_with_coulomb(box: ts.Model) -> None:
    sim = ts.Simulator(box, dt=1e-3, tolerance=1e-9)
    sim.state.v[0] = 2.0
    sim.step(200)
    assert sim.state.v[0] == pytest.approx(2.0 - 0.6 * 9.81 * 0.2, abs=1e-6)
    force = sim.contacts.force.sum(axis=0)
    assert force[0] == pytest.approx(-0.6 * 9.81, rel=1e-6)


@pytest.mark.parametrize("integrator", ["midpoint", "variational"])
def test_free_fall_and_energy(ball: ts.Model, integrator: str) -> None:
    sim = ts.Simulator(ball, dt=1e-4, integrator=integrator)
    sim.reset("up")
    energy = sim.kinetic_energy() + sim.potential_energy()
    assert energy == pytest.approx(2 * 9.81 * 1.0, rel=1e-12)
    sim.step(1000)
    assert sim.time == pytest.approx(0.1, rel=1e-12)
    assert sim.state.q[2] == pytest.approx(1 - 0.5 * 9.81 * 0.01, abs=1e-9)
    assert sim.kinetic_energy() + sim.potential_energy() == pytest.approx(energy, rel=1e-9)
    assert sim.center_of_mass()[2] == pytest.approx(sim.state.q[2], rel=1e-12)


def test_control_and_applied_forces() -> None:
    b = ts.ModelBuilder(gravity=[0, 0, 0])
    b.add_body("cart", mass=2.0, inertia=[1, 1, 1])
    b.add_joint("cart", "slide", axis=[1, 0, 0], name="rail")
    b.add_motor("push", "rail", gear=3.0)
    sim = ts.Simulator(b.build(), dt=1e-3)
    sim.control[0] = 2.0  # 6 N on 2 kg
    sim.step(100)
    assert sim.state.v[0] == pytest.approx(0.3, rel=1e-12)
    sim.control = 0.0
    sim.applied_force[0] = -6.0
    sim.step(100)
    assert sim.state.v[0] == pytest.approx(0.0, abs=1e-12)
    sim.applied_force = [0.0]
    sim.applied_wrench[1, 0] = 2.0
    sim.step(100)
    assert sim.state.v[0] == pytest.approx(0.1, rel=1e-12)
    np.testing.assert_allclose(sim.velocity("cart"), [0.1, 0, 0, 0, 0, 0], atol=1e-12)


def test_a_restored_simulation_goes_on_bit_for_bit(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped)
    sim.step(300)
    snapshot = sim.save()
    sim.step(100)
    q = sim.state.q.copy()
    sim.step(50)
    sim.restore(snapshot)
    assert snapshot.state == sim.state
    sim.step(100)
    np.testing.assert_array_equal(sim.state.q, q)


def test_one_call_or_many_give_the_same(quadruped: ts.Model) -> None:
    a, b = ts.Simulator(quadruped), ts.Simulator(quadruped)
    a.step(250)
    for _ in range(250):
        report = b.step()
    np.testing.assert_array_equal(a.state.q, b.state.q)
    assert report.time == a.report.time
    assert a.step(0).time == a.report.time


def test_reset(ball: ts.Model) -> None:
    sim = ts.Simulator(ball)
    for target in ("up", 0):
        sim.reset(target)
        assert sim.state.q[2] == 1.0
    sim.reset()
    assert sim.state.q[2] == pytest.approx(0.1)
    with pytest.raises(ts.Error, match="no keyframe is called 'down'"):
        sim.reset("down")


@pytest.mark.parametrize("solver", [info.name for info in ts.solvers()])
def test_every_solver_carries_a_box(box: ts.Model, solver: str) -> None:
    sim = ts.Simulator(box, solver=solver, dt=2e-3)
    sim.step(50)
    assert sim.solver == solver
    assert sim.contacts.force[:, 2].sum() == pytest.approx(9.81, rel=2e-3)


def test_solver_options_and_errors(box: ts.Model) -> None:
    sim = ts.Simulator(box, solver="nbgs", relaxation=0.9, erp=0.1, warm_start=False)
    sim.step()
    assert (sim.options["relaxation"], sim.options["erp"], sim.options["warm_start"]) == ("0.9", "0.1", "false")
    assert "restitution_threshold" in ts.simulator_options()
    with pytest.raises(ts.Error, match="nbgs"):
        ts.Simulator(box, solver="nbg")
    with pytest.raises(ts.Error, match=r"maximum_iterations"):
        ts.Simulator(box, solver="nbgs", maximum_iterations=7)
    with pytest.raises(ts.Error, match=r"euler\|midpoint\|variational"):
        ts.Simulator(box, integrator="rk4")
    with pytest.raises(ts.Error, match="time_step is -1"):
        ts.Simulator(box, dt=-1)
    with pytest.raises(TypeError):
        ts.Simulator("box")  # type: ignore[arg-type]


def test_divergence_is_a_status(ball: ts.Model) -> None:
    sim = ts.Simulator(ball)
    sim.applied_force[0] = np.inf
    report = sim.step(5)
    assert report.diverged
    assert not report.ok
    assert report.status == "diverged"
    assert np.isfinite(sim.state.q).all()


def test_reports_and_html(box: ts.Model) -> None:
    sim = ts.Simulator(box)
    report = sim.step(5)
    kept = report.time
    sim.step(5)
    assert report.time == kept  # a snapshot
    assert 0 < report.times.total < 1
    assert set(report.residuals.as_dict()) >= {"natv", "complementarity", "coulomb"}
    for thing in (sim, report, sim.contacts):
        assert "<table>" in thing._repr_html_()
        assert repr(thing).startswith("<")


def test_the_problem_of_a_step_is_the_one_that_was_solved(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped, tolerance=1e-10)
    sim.step(500)
    problem = sim.contact_problem()
    assert problem.nrow == sim.report.rows
    solution = ts.solve(problem, relative_tolerance=1e-12)
    assert solution.solved
    normal = sum(
        solution.impulse[problem.block_rows[i + 1] - 1]
        for i, kind in enumerate(problem.block_types)
        if kind == "coulomb"
    )
    assert normal / sim.dt == pytest.approx(sim.contacts.local_force[:, 2].sum(), rel=1e-5)


def test_raycast(box: ts.Model) -> None:
    sim = ts.Simulator(box)
    sim.step()
    hit = sim.raycast([0, 0, 2], [0, 0, -1])
    assert hit is not None
    shape, distance, point, normal = hit
    assert box.shape(shape).name == "box"
    assert distance == pytest.approx(1.8, abs=1e-3)
    np.testing.assert_allclose(normal, [0, 0, 1], atol=1e-9)
    assert point[2] == pytest.approx(0.2, abs=1e-3)
    assert sim.raycast([0, 0, 2], [0, 0, 1]) is None


def test_the_gil_is_released(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped)
    sim.step(400)
    counted = 0
    done = threading.Event()

    def work() -> None:
        sim.step(3000)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    thread.join()
    assert counted > 20


def test_two_threads_on_one_simulator_are_an_error(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped)
    thread = threading.Thread(target=lambda: sim.step(5000))
    thread.start()
    time.sleep(0.05)
    with pytest.raises(ts.Error, match="another thread"):
        while thread.is_alive():
            sim.step()
    thread.join()


def test_long_calls_can_be_interrupted(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            sim.step(100_000)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert 0 < sim.time < 100
    assert sim.step().ok  # it goes on


def test_record_and_run(box: ts.Model, capsys: pytest.CaptureFixture[str]) -> None:
    sim = ts.Simulator(box, dt=1e-3)
    sim.state.v[0] = 1.0
    trace = ts.record(sim, 0.1, every=10)
    assert len(trace) == 11
    assert trace.time[-1] == pytest.approx(0.1)
    assert trace.q.shape == (11, box.nq)
    np.testing.assert_allclose(np.diff(trace.v[:, 0]), -0.6 * 9.81 * 0.01, rtol=1e-4)
    assert (np.diff(trace.energy) < 0).all()
    assert trace.normal_force[-1] == pytest.approx(9.81, rel=1e-5)
    calls = []
    report = ts.run(sim, 0.05, controller=lambda s: calls.append(s.time), every=5, progress=True)
    assert len(calls) == 10
    assert report.time == pytest.approx(0.15)
    assert "simulated" in capsys.readouterr().err
    with pytest.raises(ts.Error, match="every is 0"):
        ts.record(sim, 1.0, every=0)


def test_trace_keeps_the_worst_of_the_steps_between_rows() -> None:
    def drop() -> ts.Simulator:
        return ts.Simulator(ts.load("quadruped"), dt=2e-3)

    every_step, rows = ts.record(drop(), 1.0), ts.record(drop(), 1.0, every=50)
    for name in ("natv", "natv_relative", "penetration"):
        worst = getattr(every_step, name)[1:].reshape(-1, 50).max(axis=1)
        np.testing.assert_array_equal(getattr(rows, name)[1:], worst)
    assert rows.penetration.max() > every_step.penetration[::50].max()


def test_sensors_and_actuators(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped, dt=1e-3)
    sim.reset("home")
    sim.step(500)
    q = sim.state.q.copy()
    sim.step()
    knee = quadruped.joint("FL_knee")
    assert sim.sensor("FL_knee_position") == pytest.approx(q[knee.q_index])  # at the start of the step
    touch = sum(float(sim.sensor(f"{leg}_touch")[0]) for leg in ("FL", "FR", "RL", "RR"))
    assert touch == pytest.approx(sim.contacts.local_force[:, 2].sum(), rel=1e-6)
    assert sim.sensors.shape == (sum(sensor.dimension for sensor in quadruped.sensors),)
    assert sim.actuator_force.shape == (12,)
    np.testing.assert_allclose(sim.acceleration, 0, atol=0.1)
    with pytest.raises(ts.Error, match="FL_knee_position"):
        sim.sensor("FL_knee_positio")


def test_random_states_repeat(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped)
    sim.reset_random(3)
    q = sim.state.q.copy()
    sim.reset_random(4)
    assert not np.array_equal(q, sim.state.q)
    sim.reset_random(3)
    np.testing.assert_array_equal(q, sim.state.q)


def test_substeps(box: ts.Model) -> None:
    one = ts.Simulator(box, dt=1e-3)
    two = ts.Simulator(box, dt=2e-3, substeps=2)
    for sim in (one, two):
        sim.state.v[0] = 1.0
    one.step(100)
    two.step(50)
    assert two.time == pytest.approx(one.time)
    np.testing.assert_allclose(two.state.q, one.state.q, atol=1e-12)
    problem = two.contact_problem()
    assert problem.time_step == pytest.approx(1e-3)


@pytest.mark.parametrize(("integrator", "ahead"), [("euler", 0.0), ("midpoint", 0.5)])
def test_stages_one_by_one_are_a_step(integrator: str, ahead: float) -> None:
    whole = ts.scene("quadruped").simulator(integrator=integrator)
    parts = ts.scene("quadruped").simulator(integrator=integrator)
    for _ in range(50):
        whole.step()
        stages = parts.stages
        stages.begin(ahead)
        assert stages.free_motion()
        stages.detect()
        stages.assemble()
        stages.solve()
        stages.bound_servos()
        assert not stages.meet()
        stages.integrate()
        stages.account()
        assert np.array_equal(parts.state.q, whole.state.q)
        assert np.array_equal(stages.v_next, whole.state.v)
        assert len(parts.contacts) == len(whole.contacts)
    assert stages.v_free.shape == stages.v_next.shape == (whole.model.nv,)
    with pytest.raises(ts.Error, match="share of the step"):
        stages.begin(1.0)


def test_reset_forgets_inputs_and_keeps_views() -> None:
    sim = ts.scene("quadruped").simulator()
    control, start = sim.control, sim.control.copy()
    control[:] = 3.0
    sim.applied_force[:] = 1.0
    sim.step(5)
    sim.reset()
    assert np.array_equal(sim.control, start)
    assert np.array_equal(control, start)  # the view that was taken before
    assert not sim.applied_force.any()


def test_bodies_at_rest_sleep_until_something_happens(box: ts.Model) -> None:
    sim = ts.Simulator(box, dt=2e-3, sleep=True, sleep_time=0.2)
    report = sim.step(500)
    assert sim.is_asleep("box")
    assert sim.asleep.dtype == np.bool_
    assert sim.asleep.sum() == report.sleep.bodies == 1
    assert report.sleep.residuals.natv == report.residuals.natv
    assert "asleep since" in sim.describe_worst()
    np.testing.assert_allclose(sim.contacts.force.sum(axis=0), [0, 0, 9.81], atol=1e-3)
    snapshot = sim.save()
    sim.applied_force[0] = 0.1
    assert sim.step().sleep.woken == 1
    assert not sim.is_asleep("box")
    sim.restore(snapshot)
    assert sim.is_asleep("box")
    sim.wake()
    assert not sim.asleep.any()
    sim.put_to_sleep("box")
    sim.step(2)
    assert sim.is_asleep("box")
    sim.wake("box")
    assert not sim.asleep.any()
    with pytest.raises(ts.Error, match="sleep=true"):
        ts.Simulator(box).put_to_sleep("box")


def test_stages_with_sleep_give_the_same_bits(box: ts.Model) -> None:
    direct, staged = (ts.Simulator(box, dt=2e-3, sleep=True) for _ in range(2))
    direct.step(400)
    s = staged.stages
    for _ in range(400):
        if s.settle():
            continue
        again = True
        while again:
            s.begin()
            assert s.free_motion()
            s.detect()
            again = s.wake()
        s.assemble()
        s.solve()
        s.bound_servos()
        assert not s.meet()
        s.integrate()
        s.account()
    assert staged.is_asleep("box")
    np.testing.assert_array_equal(direct.state.q, staged.state.q)


@pytest.mark.parametrize("solver", ["sap", "lagged", "similar"])
def test_compliant_contact_sinks_in_by_its_weight(solver: str) -> None:
    b = ts.ModelBuilder("ball")
    b.add_shape("world", ts.Shape.plane(), name="ground")
    b.add_body("ball", position=[0, 0, 0.1])
    b.add_joint("ball", "free", name="root")
    b.add_shape("ball", ts.Shape.sphere(0.1), mass=2.0, stiffness=1e5, dissipation=20.0, relaxation_time=2e-3)
    sim = ts.Simulator(b.build(), solver=solver, dt=1e-3, tolerance=1e-9)
    sim.step(2000)
    assert sim.state.q[2] - 0.1 == pytest.approx(-2.0 * 9.81 / 1e5, rel=1e-3)
    assert sim.report.residuals.law_natv_relative < 1e-7
    assert sim.report.residuals.as_dict()["law_impulse"] < 1e-7


@pytest.mark.parametrize("solver", ["auto", "lagged"])
def test_a_belt_takes_a_box_along(solver: str) -> None:
    b = ts.ModelBuilder("belt")
    b.add_shape("world", ts.Shape.plane(), name="belt", surface_velocity=[0.3, 0, 0])
    b.add_body("box", position=[0, 0, 0.02])
    b.add_joint("box", "free")
    b.add_shape("box", ts.Shape.box([0.1, 0.1, 0.02]), mass=1.0)
    sim = ts.Simulator(b.build(), solver=solver, dt=1e-3)
    sim.step(300)
    assert sim.state.v[0] == pytest.approx(0.3, abs=1e-3)
    belt = sim.parameters.shape_surface_velocity[sim.model.shape("belt").index]
    np.testing.assert_array_equal(belt, [0.3, 0, 0, 0, 0, 0])
    belt[:2] = 0, -0.2
    sim.step()
    assert sim.report.energy.surfaces > 0
    sim.step(300)
    np.testing.assert_allclose(sim.state.v[:2], [0, -0.2], atol=1e-3)


def test_a_bad_surface_velocity_is_named() -> None:
    b = ts.ModelBuilder("belt")
    with pytest.raises(ts.Error, match="surface_velocity has 2 numbers"):
        b.add_shape("world", ts.Shape.plane(), surface_velocity=[0.3, 0])


def test_youngs_modulus() -> None:
    b = ts.ModelBuilder("ball")
    b.add_shape("world", ts.Shape.plane())
    b.add_body("ball", position=[0, 0, 0.1])
    b.add_joint("ball", "free")
    b.add_shape("ball", ts.Shape.sphere(0.1), mass=2.0, youngs_modulus=1e7, poisson_ratio=0.5, dissipation=50.0)
    sim = ts.Simulator(b.build(), solver="lagged", dt=1e-3)
    sim.step(2000)
    stiffness = 4 / 3 * 1e7 / 0.75 * np.sqrt(0.1)
    assert 0.1 - sim.state.q[2] == pytest.approx((2.0 * 9.81 / stiffness) ** (2 / 3), rel=1e-3)


@pytest.mark.parametrize(
    ("material", "message"),
    [
        ({"stiffness": -1.0}, "shape 'foot': stiffness is -1"),
        ({"stiffness": np.nan}, "shape 'foot': stiffness is nan"),
        ({"dissipation": 2.0}, "shape 'foot': dissipation is 2 without stiffness"),
        ({"friction": 1e9}, "shape 'foot': friction is 1000000000"),
        ({"youngs_modulus": 1e9, "poisson_ratio": 0.6}, "shape 'foot': Poisson's ratio is 0.6"),
    ],
)
def test_bad_materials_are_named(material: dict[str, float], message: str) -> None:
    b = ts.ModelBuilder("bad")
    b.add_shape("world", ts.Shape.sphere(0.1), name="foot", **material)  # type: ignore[arg-type]
    with pytest.raises(ts.Error, match=message):
        b.build()


def test_unused_dampers_are_warnings_of_the_simulator() -> None:
    builder = ts.ModelBuilder()
    body = builder.add_body(name="ball")
    builder.add_joint(body, "free", name="free")
    builder.add_shape(body, ts.Shape.sphere(0.1), name="pad", mass=1.0, stiffness=1e5, dissipation=0.5)
    model = builder.build()
    assert model.warnings == []
    with pytest.warns(ts.ModelWarning, match="'pad'.*sap, lagged and similar only"):
        ts.Simulator(model)
    with pytest.warns(ts.ModelWarning, match="has no effect with sap"):
        ts.Simulator(model, solver="sap")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ts.Simulator(model, solver="lagged")
        with pytest.raises(ts.ModelWarning, match="'pad'"):
            ts.Simulator(model)
