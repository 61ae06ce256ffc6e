"""Every element of a model built in code: what it is afterwards, and what it does."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import touchstone as ts

INERTIA = [0.01, 0.01, 0.01]


def two_slides(**options: bool) -> ts.ModelBuilder:
    """Two masses of 1 kg and 2 kg on rails along x, without gravity."""
    b = ts.ModelBuilder("slides", gravity=[0, 0, 0], dt=1e-3)
    for name, mass, y in (("a", 1.0, 0.0), ("b", 2.0, 1.0)):
        b.add_body(name, position=[0, y, 0], mass=mass, inertia=INERTIA)
        b.add_joint(name, "slide", name=name, axis=[1, 0, 0])
    for name, value in options.items():
        setattr(b.options, name, value)
    return b


def test_tendon_couples_forces_and_is_measured() -> None:
    b = two_slides()
    b.add_tendon("rope", {"a": 1.0, "b": -0.5}, stiffness=100.0, spring_length=0.3, damping=0.5)
    b.add_motor("winch", tendon="rope", gear=2.0)
    b.add_sensor("length", "tendonpos", "rope")
    b.add_sensor("pull", "actuatorfrc", "winch")
    model = b.build()
    assert model.tendon("rope").joints == {"a": 1.0, "b": -0.5}
    assert model.tendon("rope").stiffness == 100.0
    assert (model.actuator("winch").transmission, model.actuator("winch").target) == ("tendon", "rope")
    assert model.sensor("length").object == ("tendon", "rope")
    sim = ts.Simulator(model)
    sim.state.q[:] = [0.2, 0.1]
    sim.control[0] = 3.0
    sim.step()
    assert sim.sensor("length")[0] == pytest.approx(0.2 - 0.05, abs=1e-15)
    # The spring (rest length 0.3 m) and the winch pull along the tendon: 100 * 0.15 + 2 * 3 = 21 N.
    np.testing.assert_allclose(sim.acceleration, [21.0, -0.5 * 21.0 / 2.0], rtol=2e-3)


def test_tendon_limit_holds() -> None:
    b = two_slides()
    b.add_tendon("rope", {"a": 1.0, "b": 1.0}, limits=[-0.1, 0.1])
    model = b.build()
    assert model.tendon("rope").limits == (-0.1, 0.1)
    sim = ts.Simulator(model)
    sim.state.v[:] = 1.0
    sim.step(500)
    assert sim.state.q.sum() == pytest.approx(0.1, abs=2e-3)


def test_tendons_and_joints_are_coupled() -> None:
    b = two_slides()
    b.add_tendon("ta", {"a": 1.0})
    b.add_tendon("tb", {"b": 1.0})
    b.add_tendon_coupling("tb", "ta", [0.0, -2.0], name="pulley")
    model = b.build()
    assert (model.equality("pulley").type, model.equality("pulley").between) == ("tendon", ("tb", "ta"))
    sim = ts.Simulator(model)
    sim.applied_force[0] = 9.0
    sim.step(100)
    # One mass of 1 + 2 * 2^2 = 9 kg, seen from the first slide.
    assert sim.state.v[0] == pytest.approx(0.1, rel=1e-6)
    assert sim.state.v[1] == pytest.approx(-0.2, rel=1e-6)

    b = two_slides()
    b.add_joint_coupling("b", None, [0.25], name="held")
    sim = ts.Simulator(b.build())
    sim.state.q[1] = 0.25
    sim.applied_force[1] = 50.0
    sim.step(100)
    assert sim.state.q[1] == pytest.approx(0.25, abs=1e-9)


def test_contact_pair_has_its_own_numbers() -> None:
    def slide(rule: bool) -> ts.Simulator:
        b = ts.ModelBuilder("pair", dt=1e-3)
        b.add_shape("world", ts.Shape.plane(), name="floor", friction=1.0, contact_affinity=0, contact_type=0)
        b.add_body("box", position=[0, 0, 0.1])
        b.add_joint("box", "free")
        b.add_shape("box", ts.Shape.box([0.1, 0.1, 0.1]), name="box", mass=1.0, contact_affinity=0, contact_type=0)
        if rule:
            b.add_contact_pair("floor", "box", friction=0.2)
        model = b.build()
        assert model.contact_pairs == ([("floor", "box")] if rule else [])
        sim = ts.Simulator(model)
        sim.state.v[0] = 1.0
        sim.step(100)
        return sim

    assert slide(False).state.q[2] < 0.06  # nothing touches: it falls
    sim = slide(True)
    assert sim.state.v[0] == pytest.approx(1.0 - 0.2 * 9.81 * 0.1, rel=1e-6)
    assert sim.state.q[2] == pytest.approx(0.1, abs=1e-5)


def test_exclusion_is_kept() -> None:
    b = two_slides()
    b.add_exclusion("a", "b", name="apart")
    assert b.build().contact_exclusions == [("a", "b")]


def test_sensors_of_all_kinds() -> None:
    b = two_slides()
    b.add_site("tip", "a", position=[0, 0, 0.5], shape=ts.Shape.sphere(0.05), color=[1, 0, 0])
    b.add_motor("push", "b", gear=4.0)
    b.add_shape("b", ts.Shape.sphere(0.1), name="ball")
    b.add_sensor("angle", "jointpos", "a")
    b.add_sensor("site", "framepos", "tip", frame="site")
    b.add_sensor("relative", "framepos", "tip", frame="site", reference="b")
    b.add_sensor("shape", "framelinvel", "ball", frame="shape", cutoff=0.5)
    b.add_sensor("speed", "velocimeter", "tip")
    b.add_sensor("com", "subtreecom", "world")
    b.add_sensor("clock", "clock")
    b.add_sensor("force", "actuatorfrc", "push", noise=0.1)
    model = b.build()
    relative = model.sensor("relative")
    assert (relative.object, relative.reference) == (("site", "tip"), ("body", "b"))
    assert model.sensor("clock").object is None
    assert model.sensor("force").noise == 0.1
    sim = ts.Simulator(model)
    sim.state.q[:] = [0.3, 0.6]
    sim.state.v[:] = [0.1, 0.7]
    sim.control[0] = 0.5
    sim.step()  # sensors are read at the start of the step
    expected = {
        "angle": [0.3],
        "site": [0.3, 0, 0.5],
        "relative": [-0.3, -1.0, 0.5],
        "shape": [0.5, 0, 0],
        "speed": [0.1, 0, 0],
        "com": [(0.3 + 2 * 0.6) / 3, 2 / 3, 0],
        "clock": [0.0],
        "force": [0.5],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(sim.sensor(name), values, atol=1e-12, err_msg=name)


def test_sensors_that_make_no_sense_are_refused() -> None:
    b = two_slides()
    with pytest.raises(ts.Error, match="sensor type 'angle'; there are: jointpos, jointvel"):
        b.add_sensor("s", "angle", "a")
    with pytest.raises(ts.Error, match="there is no joint 'c'; the builder has: a, b"):
        b.add_sensor("s", "jointpos", "c")
    with pytest.raises(ts.Error, match="a touch needs a site"):
        b.add_sensor("s", "touch")
    with pytest.raises(ts.Error, match="attached to nothing"):
        b.add_sensor("s", "clock", "a")
    with pytest.raises(ts.Error, match="only sensors of frames"):
        b.add_sensor("s", "jointpos", "a", reference="b")
    with pytest.raises(ts.Error, match="frame 'camera'"):
        b.add_sensor("s", "framepos", "a", frame="camera")
    b.add_sensor("s", "ballquat", "a")
    with pytest.raises(ts.Error, match="ballquat of a slide joint"):
        b.build()


def test_general_actuators() -> None:
    b = two_slides()
    b.add_site("handle", "a")
    b.add_actuator("lag", "b", gain=4.0, dynamics="filter", time_constant=0.05, activation_range=[-1, 1])
    b.add_actuator("jet", site="handle", gear=[0, 3, 0, 0, 0, 0])
    b.add_actuator("spring", "a", gain=[10.0], bias=[0.0, -10.0, -1.0], force_range=[-5, 5])
    b.add_position_servo("servo", "b", kp=100.0, damping_ratio=1.0)
    model = b.build()
    assert model.na == 1
    assert (model.actuator("lag").dynamics, model.actuator("lag").time_constant) == ("filter", 0.05)
    assert model.actuator("jet").transmission == "site"
    assert model.actuator("spring").force_range == (-5, 5)
    # Critical damping of 2 kg: 2 sqrt(100 * 2).
    assert model.actuator("servo").bias[2] == pytest.approx(-2 * np.sqrt(200.0), rel=1e-9)
    sim = ts.Simulator(model)
    sim.control[:] = [1.0, 1.0, 2.0, 0.0]
    sim.step()
    np.testing.assert_allclose(sim.actuator_force, [0.0, 1.0, 5.0, 0.0], atol=1e-12)
    assert sim.state.activation[0] == pytest.approx(1e-3 / 0.05, rel=0.02)


def test_bad_actuators_are_refused() -> None:
    b = two_slides()
    b.add_site("handle", "a")
    with pytest.raises(ts.Error, match="one of joint, tendon, site and loop_joint"):
        b.add_motor("m")
    with pytest.raises(ts.Error, match="one of joint, tendon, site and loop_joint"):
        b.add_motor("m", "a", site="handle")
    with pytest.raises(ts.Error, match="there is no tendon 'rope'; the builder has: none"):
        b.add_motor("m", tendon="rope")
    with pytest.raises(ts.Error, match="dynamics 'muscle'"):
        b.add_actuator("m", "a", dynamics="muscle")
    with pytest.raises(ts.Error, match="go with a site"):
        b.add_actuator("m", "a", reference_site="handle")
    with pytest.raises(ts.Error, match="gear has 7 numbers"):
        b.add_motor("m", "a", gear=np.ones(7))
    with pytest.raises(ts.Error, match="softness has 1 numbers"):
        b.add_weld("a", "b", softness=[0.02])


def test_meshes_and_height_fields_from_numbers_and_files(tmp_path: Path) -> None:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
    file = tmp_path / "Cube.OBJ"
    file.write_text(
        "\n".join(f"v {x} {y} {z}" for x, y, z in 1000 * corners)
        + "\nf 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
    )
    loaded = ts.Shape.from_file(file, scale=1e-3)
    assert loaded.type == "mesh"
    assert loaded.volume() == pytest.approx(0.008, rel=1e-12)
    with pytest.raises(ts.Error, match=r"nothing\.stl"):
        ts.Shape.from_file(tmp_path / "nothing.stl")

    b = ts.ModelBuilder("ground", dt=1e-3)
    b.add_shape("world", ts.Shape.height_field(np.full((5, 6), 0.2), 4.0, 4.0), name="ground")
    for i, shape in enumerate((ts.Shape.mesh(corners), loaded)):
        b.add_body(f"cube{i}", position=[i - 0.5, 0, 0.3])
        b.add_joint(f"cube{i}", "free")
        b.add_shape(f"cube{i}", shape, density=1000.0)
    sim = ts.Simulator(b.build())
    np.testing.assert_allclose([body.mass for body in sim.model.bodies[1:]], 8.0, rtol=1e-9)
    sim.step(200)
    np.testing.assert_allclose(sim.poses()[1:, 2], 0.3, atol=1e-4)
    assert sim.contacts.force[:, 2].sum() == pytest.approx(16 * 9.81, rel=1e-4)


def test_keyframes_hold_everything() -> None:
    b = two_slides()
    b.add_body("hand", mocap=True)
    b.add_actuator("lag", "a", dynamics="integrator")
    b.add_keyframe("k", q=[0.1, 0.2], v=[1, 2], control=[3], activation=[4], mocap=[[1, 2, 3, 2, 0, 0, 0]], time=5.0)
    model = b.build()
    sim = ts.Simulator(model)
    sim.reset("k")
    assert (sim.time, sim.state.activation[0], sim.control[0]) == (5.0, 4.0, 3.0)
    np.testing.assert_array_equal(model.keyframe("k").v, [1, 2])
    np.testing.assert_array_equal(sim.pose("hand").position, [1, 2, 3])
    with pytest.raises(ts.Error, match="mocap has shape 1 x 3"):
        b.add_keyframe("l", mocap=[[1, 2, 3]])


def test_models_join_and_begin_from_models(quadruped: ts.Model) -> None:
    b = ts.ModelBuilder.from_model(quadruped)
    assert pickle.dumps(b.build()) == pickle.dumps(quadruped)
    b.clear_keyframes()
    b.add_model(quadruped, position=[0, 2, 0], prefix="second/")
    both = b.build()
    assert both.nv == 2 * quadruped.nv
    assert both.total_mass == pytest.approx(2 * quadruped.total_mass)
    sim = ts.Simulator(both)
    assert sim.pose("second/trunk").position[1] == pytest.approx(2.0)
    assert sim.step(10).ok


def test_options_of_a_model() -> None:
    b = two_slides(gravity_enabled=True, actuation_enabled=False, filter_parent_contacts=False)
    b.add_motor("m", "a")
    model = b.build()
    assert not model.options.actuation_enabled
    assert not model.options.filter_parent_contacts
    assert model.options.dt == 1e-3
    sim = ts.Simulator(model)
    sim.control[0] = 1.0
    sim.step()
    assert sim.state.v[0] == 0.0


def test_looks_go_to_the_viewer() -> None:
    b = two_slides()
    b.add_visual_material("gold", [1.0, 0.8, 0.2], specular=0.9)
    b.add_shape("a", ts.Shape.sphere(0.1), name="s", material="gold", color=[1, 0.8, 0.2, 0.5], group=2)
    np.testing.assert_array_equal(b.build().shape("s").color, [1, 0.8, 0.2, 0.5])
    with pytest.raises(ts.Error, match="color has 2 numbers"):
        b.add_visual_material("grey", [0.5, 0.5])
