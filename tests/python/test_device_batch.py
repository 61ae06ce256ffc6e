"""Batches by the code of a GPU, here on the processor: calls, layout and physics are those of Batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import touchstone as ts

BOX = """
<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>
<body name="box" pos="0 0 0.3"><freejoint/><geom name="cube" type="box" size=".1 .1 .1" mass="2"/></body></worldbody>
<keyframe><key name="low" qpos="0 0 .1 1 0 0 0"/></keyframe></mujoco>
"""
ARM = """
<mujoco><option timestep="0.002"/><worldbody><body name="upper" pos="0 0 1">
<joint name="shoulder" axis="0 1 0" range="-90 90" damping="0.1"/>
<geom name="a" type="capsule" fromto="0 0 0 0 0 -.4" size=".04"/>
<body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" damping="0.1"/>
<geom name="b" type="capsule" fromto="0 0 0 0 0 -.4" size=".03"/></body></body></worldbody>
<actuator><position joint="shoulder" kp="20" ctrlrange="-1 1"/>
<motor joint="elbow" ctrlrange="-2 2"/></actuator></mujoco>
"""


def test_steps_as_a_simulator() -> None:
    model = ts.load_string(ARM)
    batch = ts.Batch(model, 3, device="lanes", tolerance=1e-8)
    assert isinstance(batch, ts.DeviceBatch)
    assert (len(batch), batch.device, batch.q.shape, batch.control.shape) == (3, "lanes", (3, 2), (3, 2))
    batch.control = np.array([[0.5, 0.0], [0.0, 1.0], [-0.5, -1.0]])
    batch.step(200)
    assert batch.ok.all() and (batch.natv < 1e-8).all()
    np.testing.assert_allclose(batch.time, 0.4)
    for world in range(3):
        sim = ts.Simulator(model)
        sim.control[:] = batch.control[world]
        sim.step(200)
        np.testing.assert_allclose(batch.q[world], sim.state.q, atol=1e-9)


def test_a_box_rests_with_a_certificate() -> None:
    batch = ts.Batch(ts.load_string(BOX), 4, device="lanes")
    batch.step(1000)
    np.testing.assert_allclose(batch.q[:, 2], 0.1, atol=5e-4)
    assert (np.asarray(batch.contact_count) == 4).all()
    assert (batch.natv < 1e-3).all() and (batch.status == 0).all()
    batch.reset(keyframe="low")
    np.testing.assert_allclose(batch.q[:, 2], 0.1)
    assert (batch.time == 0).all()


def test_arrays_look_into_the_batch() -> None:
    batch = ts.Batch(ts.load_string(BOX), 2, device="lanes")
    batch.q[1, 2] = 2.0
    batch.v[0, 0] = 1.0
    batch.forget()
    batch.step()
    assert batch.q[1, 2] > 1.9
    assert batch.q[0, 0] == pytest.approx(0.002)
    assert batch.q is not batch.q and np.shares_memory(batch.q, batch.q)
    with pytest.raises(ts.Error, match="give one number, 7 for all worlds, or 2 x 7"):
        batch.q = np.zeros(3)


SENSED = """
<mujoco><option timestep="0.002"/>
<asset><hfield name="hills" nrow="9" ncol="9" size="1 1 .1 .1" elevation="0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0
0 0 .2 .2 .2 .2 .2 0 0  0 0 .2 .4 .4 .4 .2 0 0  0 0 .2 .4 .6 .4 .2 0 0  0 0 .2 .4 .4 .4 .2 0 0  0 0 .2 .2 .2 .2 .2 0 0
0 0 0 0 0 0 0 0 0  0 0 0 0 0 0 0 0 0"/></asset>
<worldbody><geom name="ground" type="hfield" hfield="hills"/>
<body name="ball" pos=".1 .2 .4"><freejoint/><geom name="ball" type="sphere" size=".1" mass="1"/>
<site name="skin" type="sphere" size=".11"/>
<body name="arm" pos="0 0 .1" gravcomp="1"><joint name="hinge" axis="0 1 0" actuatorfrcrange="-.5 .5"/>
<geom name="rod" type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".2" contype="0" conaffinity="0"/></body></body>
</worldbody>
<actuator><motor name="turn" joint="hinge"/></actuator>
<sensor><touch name="touch" site="skin"/><accelerometer name="felt" site="skin"/><gyro name="gyro" site="skin"/>
<framepos name="at" objtype="body" objname="arm"/><jointpos name="angle" joint="hinge"/>
<subtreecom name="com" body="ball"/></sensor></mujoco>
"""


def test_sensors_are_those_of_a_simulator_on_a_height_field() -> None:
    model = ts.load_string(SENSED)
    options = {"stabilisation": "baumgarte", "tolerance": 1e-9}
    batch = ts.Batch(model, 2, device="lanes", most_sweeps=5000, **options)
    sim = ts.Simulator(model, **options)
    touched = 0
    for k in range(300):
        control = 0.2 * np.sin(0.1 * k)
        batch.control = [control]
        sim.control[:] = control
        sim.state.q[:], sim.state.v[:] = batch.q[1], batch.v[1]
        sim.step()
        batch.step()
        row = batch.observe()[1]
        np.testing.assert_allclose(row, sim.sensors, rtol=1e-4, atol=1e-3)
        touched += row[batch.sensor_columns["touch"]][0] > 0
    assert touched > 50
    assert batch.sensors.shape == (2, 14)
    assert batch.sensor_columns["com"] == slice(11, 14)
    batch.reset()
    assert (batch.sensors == 0).all()


def test_sensors_that_a_device_cannot_read_are_named() -> None:
    text = SENSED.replace('<gyro name="gyro" site="skin"/>', '<rangefinder name="nose" site="skin"/>')
    batch = ts.Batch(ts.load_string(text), 1, device="lanes")
    batch.step()
    with pytest.raises(ts.Error, match="rangefinder 'nose'"):
        batch.observe()


def test_worlds_with_shapes_of_their_own_size() -> None:
    batch = ts.Batch(ts.load_string(BOX), 3, device="lanes")
    assert batch.shapes == ["floor", "cube"]
    sizes = batch.parameter("shape_size").reshape(3, 2, 3)
    sizes[:, 1] *= np.array([[1.0], [0.5], [2.0]])
    batch.set_parameter("shape_size", sizes)
    batch.step(1000)
    np.testing.assert_allclose(batch.q[:, 2], [0.1, 0.05, 0.2], atol=1e-3)
    sizes[0, 0, 0] += 1.0
    with pytest.raises(ts.Error, match="a plane, a hull or a height field"):
        batch.set_parameter("shape_size", sizes)


def test_parameters_of_worlds() -> None:
    model = ts.load_string(BOX)
    batch = ts.Batch(model, 3, device="lanes")
    batch.set_parameter("gravity", [[0, 0, -9.81], [0, 0, -1.62], [0, 0, 0]])
    assert batch.pairs == [("floor", "cube")]
    assert batch.parameter("friction").shape == (3, 1)
    assert batch.parameter("body_mass")[0, 1] == pytest.approx(2.0)
    batch.step(50)
    np.testing.assert_allclose(batch.v[:, 2], [-0.981, -0.162, 0.0], atol=1e-12)
    wrench = np.zeros((3, 2, 6))
    wrench[2, 1, 0] = 4.0  # N on 2 kg
    batch.set_parameter("applied_wrench", wrench)
    batch.step(50)
    assert batch.v[2, 0] == pytest.approx(0.2)
    batch.set_parameter("gravity", None)
    np.testing.assert_allclose(batch.parameter("gravity"), [[0, 0, -9.81]] * 3)
    with pytest.raises(ts.Error, match="there are body_mass"):
        batch.set_parameter("masses", 1)
    with pytest.raises(ts.Error, match="not negative"):
        batch.set_parameter("body_mass", [0.0, -1.0])


def test_resets() -> None:
    batch = ts.Batch(ts.load_string(ARM), 4, device="lanes")
    batch.step(10)
    moved = batch.q.copy()
    batch.reset(mask=[True, False, False, True], q=[0.3, 0.4])
    np.testing.assert_array_equal(batch.q[[0, 3]], [[0.3, 0.4]] * 2)
    np.testing.assert_array_equal(batch.q[1], moved[1])
    batch.reset(2)
    np.testing.assert_array_equal(batch.q[2], 0)
    batch.reset(noise_q=3.0, noise_v=0.1, seed=5)
    first = batch.q.copy()
    assert np.abs(first[:, 0]).max() <= np.pi / 2 + 1e-12 and len(np.unique(first[:, 1])) == 4
    batch.reset(noise_q=3.0, noise_v=0.1, seed=5)
    np.testing.assert_array_equal(batch.q, first)
    with pytest.raises(ts.Error, match="one for each of the 4 worlds"):
        batch.reset(mask=[True])


class OnGpu:
    """What PyTorch's tensors of a GPU look like; nobody may look at the address."""

    def __init__(self, shape: tuple[int, ...], typestr: str) -> None:
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (64, False), "version": 3}

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def test_arrays_of_a_gpu_are_refused_by_a_batch_on_the_processor() -> None:
    batch = ts.Batch(ts.load_string(ARM), 4, device="lanes")
    with pytest.raises(ts.Error, match=r"mask is in the memory of a GPU.*x\.cpu\(\)"):
        batch.reset(mask=OnGpu((4,), "|b1"))
    with pytest.raises(ts.Error, match="q is in the memory of a GPU"):
        batch.reset(mask=[True, False, False, True], q=OnGpu((4, 2), "<f8"))
    with pytest.raises(ts.Error, match="control is in the memory of a GPU"):
        batch.control = OnGpu((4, 2), "<f8")
    with pytest.raises(ts.Error, match="body_mass is in the memory of a GPU"):
        batch.set_parameter("body_mass", OnGpu((4, 3), "<f8"))

    class Readable(OnGpu):  # as JAX's, which numpy may copy
        def __array__(self, dtype: object = None, copy: object = None) -> Any:
            return np.array([True, False, False, False])

    batch.step(10)
    batch.reset(mask=Readable((4,), "|b1"))
    assert (batch.time > 0).tolist() == [False, True, True, True]


POSED = """
<mujoco><option timestep="0.002"/><worldbody><body name="hand" mocap="true" pos="3 0 0"/>
<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping="0.1"/>
<geom name="a" type="capsule" fromto="0 0 0 0 0 -.4" size=".04" contype="0" conaffinity="0"/></body></worldbody>
<actuator><general joint="shoulder" dyntype="filter" dynprm="0.1" gainprm="5"/></actuator>
<sensor><jointpos name="angle" joint="shoulder"/></sensor>
<keyframe><key name="up" time="-1" qpos="0.5" qvel="0.25" act="0.75" ctrl="0.1" mpos="1 2 3" mquat="0 1 0 0"/>
</keyframe></mujoco>
"""


def test_a_keyframe_is_that_of_a_simulator() -> None:
    model = ts.load_string(POSED)
    batch, sim = ts.Batch(model, 3, device="lanes", tolerance=1e-9), ts.Simulator(model)
    batch.control = 0.3
    batch.step(5)
    before = {name: np.copy(getattr(batch, name)) for name in ("activation", "mocap", "time")}
    batch.reset(mask=[True, False, True], keyframe="up")
    sim.reset("up")
    for world in (0, 2):
        np.testing.assert_array_equal(batch.q[world], sim.state.q)
        np.testing.assert_array_equal(batch.v[world], sim.state.v)
        np.testing.assert_array_equal(batch.activation[world], sim.state.activation)
        np.testing.assert_array_equal(batch.control[world], sim.control)
        np.testing.assert_array_equal(batch.mocap[world], [1, 2, 3, 0, 1, 0, 0])
        assert batch.time[world] == sim.time == -1.0
    for name, old in before.items():
        np.testing.assert_array_equal(getattr(batch, name)[1], old[1])
    assert batch.control[1, 0] == 0.3
    batch.step()
    sim.step()
    np.testing.assert_allclose(batch.q[2], sim.state.q, atol=1e-12)
    np.testing.assert_allclose(batch.observe()[2], sim.sensors)  # also before time 0
    batch.reset(1, 0)
    assert batch.activation[1, 0] == 0.75
    with pytest.raises(ts.Error, match="a keyframe, or q and v"):
        batch.reset(keyframe="up", q=[0.0])
    with pytest.raises(ts.Error, match="no keyframe is called 'down'"):
        batch.reset(keyframe="down")


def test_parameters_lie_in_the_memory_of_the_batch() -> None:
    batch = ts.Batch(ts.load_string(BOX), 2, device="lanes")
    gravity, wrench = batch.parameter_array("gravity"), batch.parameter_array("applied_wrench")
    assert gravity.shape == (2, 3) and wrench.shape == (2, 12)
    assert np.shares_memory(gravity, batch.parameter_array("gravity"))
    gravity[1] = 0
    wrench[1, 6] = 4.0  # N on 2 kg
    batch.step(50)
    np.testing.assert_allclose(batch.v[:, 2], [-0.981, 0.0], atol=1e-12)
    assert batch.v[1, 0] == pytest.approx(0.2)
    np.testing.assert_array_equal(batch.parameter("gravity")[1], 0)
    batch.set_parameter("gravity", None)
    assert (gravity[1] == 0).all()  # it is there as long as the batch, but not used
    np.testing.assert_array_equal(batch.parameter("gravity"), [[0, 0, -9.81]] * 2)
    with pytest.raises(ts.Error, match="use set_parameter"):
        batch.parameter_array("shape_size")
    with pytest.raises(ts.Error, match="no parameter 'q'"):
        batch.parameter_array("q")
    mocap = ts.Batch(ts.load_string(POSED), 2, device="lanes").parameter_array("mocap")
    np.testing.assert_array_equal(mocap, [[3, 0, 0, 1, 0, 0, 0]] * 2)


def test_options_count_for_what_is_supported() -> None:
    model = ts.load_string(BOX.replace('timestep="0.002"/>', 'timestep="0.002"><flag sleep="enable"/></option>'))
    with pytest.raises(ts.Error, match="does not support: sleep"):
        ts.Batch(model, 1, device="lanes")
    ts.Batch(model, 1, device="lanes", sleep="false").step()


def test_a_world_that_is_lost_has_no_certificate() -> None:
    batch = ts.Batch(ts.load_string(BOX), 2, device="lanes")
    batch.v[1, 3] = 1e200
    batch.step()
    assert batch.status.tolist() == [0, 3] and batch.ok.tolist() == [True, False]
    assert batch.natv[0] < 1e-3 and batch.natv[1] == np.inf


def test_a_world_as_a_simulator() -> None:
    batch = ts.Batch(ts.load_string(ARM), 2, device="lanes")
    batch.control[1] = 0.7
    batch.step(20)
    sim = batch.simulator(1)
    np.testing.assert_array_equal(sim.state.q, batch.q[1])
    assert sim.time == pytest.approx(0.04) and sim.control[0] == 0.7


def test_what_is_not_supported_is_named_before_the_first_step() -> None:
    jet = '<actuator><motor name="jet" site="nozzle"/></actuator></mujoco>'
    nozzle = '<freejoint/><site name="nozzle"/>'
    model = ts.load_string(BOX.replace("<freejoint/>", nozzle).replace("</mujoco>", jet))
    with pytest.raises(ts.Error, match=r"actuator 'jet', which does not act at .*device='cpu'"):
        ts.Batch(model, 2, device="lanes")
    with pytest.raises(ts.Error, match="there are 'cpu', 'lanes' and 'cuda'"):
        ts.Batch(model, 2, device="tpu")
    with pytest.raises(ts.Error, match="no option 'threads'"):
        ts.Batch(ts.load_string(BOX), 2, device="lanes", threads=3)
    with pytest.raises(ts.Error, match="there are 'auto' and 'off'"):
        ts.Batch(ts.load_string(BOX), 2, device="lanes", specialise="always")


def test_batches_say_which_kernels_they_have() -> None:
    batch = ts.Batch(ts.load_string(BOX), 2, device="lanes", specialise="off")
    assert batch.kernels == "of tables, on a lane of the processor"
    batch.simulator(0)  # which has no such option


def test_a_missing_backend_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ts.load_string(BOX)
    monkeypatch.delenv("TOUCHSTONE_CUDA_LIBRARY", raising=False)
    with pytest.raises(ts.Error, match=r"cmake -S bench/gpu.*device='lanes'"):
        ts.Batch(model, 2, device="cuda")
    monkeypatch.setenv("TOUCHSTONE_CUDA_LIBRARY", "/no/such/library.so")
    with pytest.raises(ts.Error, match=r"/no/such/library.so"):
        ts.Batch(model, 2, device="cuda")


def test_threads_are_the_default() -> None:
    batch = ts.Batch(ts.load_string(BOX), 2, threads=1)
    assert isinstance(batch, ts.Batch) and batch.threads == 1


def test_a_world_can_be_recorded(tmp_path: Path) -> None:
    batch = ts.Batch(ts.load_string(BOX), 3, device="lanes", most_sweeps=500)
    batch.reset(noise_v=0.5, seed=3)
    path = tmp_path / "world1.h5"
    sim = batch.record(1, 200, path, every=2)
    recording = ts.Recording(path)
    assert len(recording) == 101
    np.testing.assert_allclose(sim.state.q, batch.q[1])
    np.testing.assert_allclose(recording.q[-1], batch.q[1], atol=1e-5)
    assert abs(batch.q[1, 0] - batch.q[0, 0]) > 1e-4
    with pytest.raises(ts.Error, match="world 3"):
        batch.record(3, 1, path)


def test_stabilisation_is_the_simulators() -> None:
    model = ts.load_string(BOX)
    for method in (None, "baumgarte", "position"):
        given = {} if method is None else {"stabilisation": method}
        batch = ts.Batch(model, 1, device="lanes", tolerance=1e-8, most_sweeps=1000, **given)
        sim = ts.Simulator(model, stabilisation=method or "baumgarte")  # the default of batches on a device
        for engine in (batch, sim):
            q = engine.q[0] if engine is batch else engine.state.q
            q[2] = 0.095
        batch.forget()
        batch.step(20)
        sim.step(20)
        np.testing.assert_allclose(batch.q[0], sim.state.q, atol=1e-6)


@pytest.mark.parametrize("method", ["baumgarte", "position"])
def test_a_recording_has_the_options_of_the_batch(tmp_path: Path, method: str) -> None:
    model = ts.load_string(BOX)
    options = {"stabilisation": method, "slop": 2e-4, "dt": 0.004}
    batch = ts.Batch(model, 2, device="lanes", tolerance=1e-8, most_sweeps=1000, **options)
    batch.q[1, 2] = 0.095  # 5 mm in the floor
    batch.forget()
    path = tmp_path / "box.h5"
    sim = batch.record(1, 1, path)
    recording = ts.Recording(path)
    np.testing.assert_allclose(recording.v[-1], batch.v[1], atol=1e-6)
    np.testing.assert_allclose(recording.q[-1], batch.q[1], atol=1e-6)
    assert (batch.v[1, 2] > 0.1) == (method == "baumgarte")  # thrown by Baumgarte's rule, moved by the pass
    assert sim.dt == 0.004


def test_worlds_remember_the_turns_of_loop_joints() -> None:
    b = ts.ModelBuilder("wheel", gravity=[0, 0, 0])
    b.add_body("wheel", mass=1.0, inertia=np.eye(3))
    b.add_joint("wheel", "free", name="free")
    b.add_loop_joint("hinge", 0, "wheel", name="axle")
    b.add_motor("motor", loop_joint="axle", gear=[2.0])
    batch = ts.Batch(b.build(), 2, device="lanes", dt=1e-3)
    batch.control = np.array([[5.0], [2.5]])  # 10 and 5 N m on 1 kg m^2
    batch.step(2000)
    assert batch.loop_q.shape == (2, 1)
    np.testing.assert_allclose(batch.loop_q[:, 0], [20.0, 10.0], atol=0.1)
    assert batch.simulator(1).state.loop_q[0] == batch.loop_q[1, 0]
    batch.reset(mask=np.array([True, False]))
    assert batch.loop_q[0, 0] == 0.0 and batch.loop_q[1, 0] > 9.9
