"""Loading, named access, building in code, pickling."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import BALL_ON_FLOOR, DATA

import touchstone as ts


def test_scenes_load_by_name() -> None:
    names = [scene.name for scene in ts.scenes()]
    assert {"quadruped", "pendulum"} <= set(names)
    for scene in ts.scenes():
        assert scene.description
    assert ts.load("pendulum").nv == 1


def test_named_access(quadruped: ts.Model) -> None:
    knee = quadruped.joint("FL_knee")
    assert knee.limits == (-2.6, -0.2)
    assert knee.type == "hinge"
    np.testing.assert_array_equal(knee.axis, [0, 1, 0])
    assert knee.body.name == "FL_shank"
    assert quadruped.joint(knee.index) == knee
    assert knee in quadruped.joints
    assert quadruped.joint("root").limits is None
    assert quadruped.joint("root").q_slice == slice(0, 7)
    assert quadruped.body("trunk").mass == pytest.approx(5.8, abs=1e-12)  # 4.6 + 0.9 + 0.3 in the file
    assert sum(body.mass for body in quadruped.bodies) == pytest.approx(quadruped.total_mass, rel=1e-14)
    assert [a.target for a in quadruped.actuators][:3] == ["FL_abduction", "FL_thigh", "FL_knee"]


def test_a_wrong_name_gives_near_misses(quadruped: ts.Model) -> None:
    with pytest.raises(ts.Error, match="'FL_knee'"):
        quadruped.joint("FL_kne")
    with pytest.raises(ts.Error, match="joint 99 of a model with 13"):
        quadruped.joint(99)
    with pytest.raises(ValueError, match="quadruped"):
        ts.load("quadrupedd")


def test_an_element_keeps_its_model() -> None:
    joint = ts.load("pendulum").joints[0]
    assert joint.type == "hinge"
    assert "pendulum" in repr(joint)


def test_input_errors_name_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.xml"
    file.write_text('<mujoco>\n<worldbody>\n<body><geom type="sphere" size="-1"/></body>\n</worldbody></mujoco>')
    with pytest.raises(ts.InputError, match=r"bad.xml:3"):
        ts.load(file)
    with pytest.raises(ts.InputError, match=r"missing\.urdf"):
        ts.load("missing.urdf")
    assert issubclass(ts.InputError, ts.Error)
    assert issubclass(ts.Error, ValueError)


def test_advice_is_spelled_as_python_does() -> None:
    with pytest.raises(ts.InputError, match="allow_ignored=True"):
        ts.load_string('<mujoco><option density="1"/></mujoco>')


def test_shapes_that_overlap_are_named_at_load() -> None:
    box = "<collision><geometry><box size='1 1 1'/></geometry></collision>"
    inertia = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    links = "".join(
        f"<link name='{name}'><inertial><mass value='1'/>{inertia}</inertial>{box}</link>" for name in "abc"
    )
    joints = "".join(
        f"<joint name='j{child}' type='revolute'><parent link='{parent}'/><child link='{child}'/>"
        "<limit effort='1' velocity='1' lower='-1' upper='1'/></joint>"
        for parent, child in ("ab", "bc")
    )
    with pytest.warns(ts.ModelWarning, match="overlap"):
        model = ts.load_string(f"<robot name='r'>{links}{joints}</robot>")
    assert any("a_collision" in str(w) and "c_collision" in str(w) for w in model.warnings)


def test_model_warnings_are_python_warnings() -> None:
    text = BALL_ON_FLOOR.replace('<option timestep="0.001"/>', '<option timestep="0.001" nonsense="1"/>')
    with pytest.warns(ts.ModelWarning, match="nonsense") as caught:
        model = ts.load_string(text)
    assert model.warnings
    assert caught[0].filename == __file__


def test_repr_informs(quadruped: ts.Model) -> None:
    assert "nq 19, nv 18" in repr(quadruped)
    html = quadruped._repr_html_()
    assert html.startswith("<table>")
    assert "FL_knee" in html
    odd = ts.ModelBuilder("<b>&").build()
    for page in (odd._repr_html_(), ts.Simulator(odd)._repr_html_()):
        assert "&lt;b&gt;&amp;" in page
        assert "<b>&" not in page


def build_pendulum(mass: float = 2.0, length: float = 0.5) -> ts.Model:
    b = ts.ModelBuilder("pendulum", gravity=[0, 0, -9.81], dt=1e-3)
    b.add_body("arm", mass=mass, com=[0, 0, -length], inertia=[1e-3, 1e-3, 1e-3])
    b.add_joint("arm", "hinge", name="pivot", axis=[0, 1, 0], limits=[-2, 2])
    b.add_motor("motor", "pivot", gear=3.0, control_range=[-1, 1])
    b.add_keyframe("out", q=[1.0])
    return b.build()


def test_builder_makes_what_was_asked() -> None:
    model = build_pendulum()
    assert (model.nq, model.nv, model.nu, model.dt) == (1, 1, 1, 1e-3)
    dynamics = ts.Dynamics(model)
    dynamics.update([0.3])
    # m l^2 + I, and m g l sin q, by hand
    assert dynamics.mass_matrix()[0, 0] == pytest.approx(2 * 0.25 + 1e-3, rel=1e-14)
    assert dynamics.gravity()[0] == pytest.approx(2 * 9.81 * 0.5 * np.sin(0.3), rel=1e-13)
    assert model.actuator("motor").control_range == (-1, 1)


def test_shapes_give_their_mass_to_bodies() -> None:
    b = ts.ModelBuilder()
    b.add_body("block")
    b.add_joint("block", "free")
    b.add_shape("block", ts.Shape.box([0.1, 0.2, 0.3]), density=1000.0)
    b.add_shape("block", ts.Shape.sphere(0.1), mass=5.0, position=[0, 0, 1])
    body = b.build().body("block")
    block = 1000 * 0.2 * 0.4 * 0.6
    assert body.mass == pytest.approx(block + 5.0, rel=1e-14)
    assert body.com[2] == pytest.approx(5.0 / (block + 5.0), rel=1e-13)


def test_builder_errors_say_what_to_do() -> None:
    b = ts.ModelBuilder()
    b.add_body("arm", mass=1.0, inertia=[1, 1, 1])
    with pytest.raises(ts.Error, match="there is no body 'leg'; the builder has: world, arm"):
        b.add_joint("leg")
    with pytest.raises(ts.Error, match="axis"):
        b.add_joint("arm", axis=[0, 0])
    with pytest.raises(ts.Error, match="joint type 'hing'"):
        b.add_joint("arm", "hing")
    b.add_joint("arm", "hinge", limits=[1, -1])
    with pytest.raises(ts.Error, match="lower limit first"):
        b.build()


def test_loop_closed_in_code_holds() -> None:
    b = ts.ModelBuilder("four-bar")
    for name, x in (("left", 0.0), ("right", 1.0)):
        b.add_body(name, position=[x, 0, 0], mass=1.0, com=[0, 0, -0.5], inertia=[0.08, 0.08, 0.001])
        b.add_joint(name, "hinge", axis=[0, 1, 0], name=name)
    b.add_body("bar", parent="left", position=[0, 0, -1], mass=1.0, com=[0.5, 0, 0], inertia=[0.001, 0.08, 0.08])
    b.add_joint("bar", "hinge", axis=[0, 1, 0], name="corner")
    b.add_connect("bar", "right", anchor=[1, 0, 0])
    sim = ts.Simulator(b.build(), dt=1e-3)
    sim.state.v[:] = [1.0, -1.0, 1.0]  # all bars move as a parallelogram
    report = sim.step(500)
    assert report.ok
    end = sim.pose("bar").apply([1, 0, 0])
    np.testing.assert_allclose(end, sim.pose("right").apply([0, 0, -1]), atol=2e-4)
    assert abs(sim.state.q[0]) > 0.1


@pytest.mark.parametrize("name", ["quadruped:flat", "double-pendulum"])
def test_pickled_models_are_the_same_in_every_bit(name: str) -> None:
    model = ts.load(name)
    twin = pickle.loads(pickle.dumps(model))
    assert repr(twin) == repr(model)
    a, b = ts.Simulator(model), ts.Simulator(twin)
    a.step(200)
    b.step(200)
    np.testing.assert_array_equal(a.state.q, b.state.q)
    np.testing.assert_array_equal(a.parameters.dof_damping, b.parameters.dof_damping)
    assert pickle.dumps(twin) == pickle.dumps(model)


def test_pickling_keeps_meshes_and_names() -> None:
    robots = sorted((DATA / "models/urdf").rglob("*.urdf"))
    if not robots:
        pytest.skip("no shared robots")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ts.ModelWarning)
        model = ts.load(robots[0], floating_base=True, allow_ignored=True)
    twin = copy.deepcopy(model)
    assert [s.name for s in twin.shapes] == [s.name for s in model.shapes]
    for mine, theirs in zip(model.shapes, twin.shapes, strict=True):
        np.testing.assert_array_equal(mine.shape.vertices, theirs.shape.vertices)


def test_damaged_pickles_are_refused(ball: ts.Model) -> None:
    blob = ball.__getstate__()
    for bad in (blob[:-5], b"x" + blob[1:], blob + b"y", b""):
        with pytest.raises(ts.Error, match="damaged"):
            ts.Model.__new__(ts.Model).__setstate__(bad)


def test_configuration_manifold(quadruped: ts.Model, rng: np.random.Generator) -> None:
    q0, q1 = quadruped.random_configuration(1), quadruped.random_configuration(2)
    v = quadruped.difference(q0, q1)
    reached = quadruped.integrate(q0, v)
    np.testing.assert_allclose(quadruped.difference(reached, q1), 0, atol=1e-9)
    np.testing.assert_allclose(quadruped.interpolate(q0, q1, 0.0), q0, atol=1e-12)
    with pytest.raises(ts.Error, match="q has"):
        quadruped.integrate(q0[:-1], v)


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    name = b"a\xff\x1b"
    file = tmp_path / "model.xml"
    body = b"<body name='%s'><joint name='%s'/><geom size='0.1'/></body>"
    text = b"<mujoco model='%s'><worldbody>" + body + b"</worldbody></mujoco>"
    file.write_bytes(text % (name, name, name))
    model = ts.load(file)
    assert model.name == "a\\xff\x1b"
    assert model.joints[0].name == "a\\xff\x1b"
    assert model.body("a\\xff\x1b").name == "a\\xff\x1b"
    file.write_bytes((text % (name, name, name)).replace(b"<joint ", b"<joint type='" + name + b"' "))
    with pytest.raises(ts.InputError, match=r"a\\xff\\u001b"):
        ts.load(file)


def test_models_compare_by_what_is_in_them() -> None:
    text = "<mujoco><worldbody><body name='a'><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    one, same = ts.load_string(text), ts.load_string(text)
    other = ts.load_string(text.replace(".1", ".2"))
    assert one == same and hash(one) == hash(same)
    assert one != other
    assert pickle.loads(pickle.dumps(one)) == one
    assert len({one, same, other}) == 2


def test_fields_of_an_element_are_plain_data() -> None:
    model = ts.load_string(
        "<mujoco><worldbody><body name='a' pos='1 2 3'><joint name='j' axis='0 1 0' range='-1 1' limited='true'/>"
        "<geom size='.1' friction='.3'/></body></worldbody></mujoco>"
    )
    joint = model.joint("j").fields()
    assert joint["name"] == "j" and joint["type"] == "hinge" and joint["limited"] is True
    assert joint["axis"] == [0.0, 1.0, 0.0] and joint["range"] == pytest.approx([-0.0174533, 0.0174533], rel=1e-4)
    body = model.body("a").fields()
    assert body["pose"] == {"position": [1.0, 2.0, 3.0], "rotation": [1.0, 0.0, 0.0, 0.0]}
    assert len(body["inertia"]["inertia"]) == 3
    shape = model.shapes[0].fields()
    assert shape["material"]["friction"][0] == 0.3 and shape["shape"]["mesh"] is None
    json.dumps([joint, body, shape])
