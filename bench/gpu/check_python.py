"""Checks Batch(device="cuda") on a machine with a GPU: tensors of other packages, masks and streams on the device.

    TOUCHSTONE_CUDA_LIBRARY=build/gpu/libtouchstone_cuda.so python bench/gpu/check_python.py [ROBOT.xml ...]

The scene mixed.xml beside it has hulls, cylinders, ellipsoids and contact dimensions 4 and 6.

PyTorch, CuPy and JAX are used where they are installed. Says what was checked; ends with an error at the first thing
that is not as it should be.
"""

from __future__ import annotations

import importlib
import pathlib
import sys
import time
from typing import Any

import numpy as np

import touchstone as ts

ARM = """
<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>
<body name="box" pos="2 0 .1"><freejoint/><geom name="cube" type="box" size=".1 .1 .1" mass="2"/></body>
<body name="upper" pos="0 0 1">
<joint name="shoulder" axis="0 1 0" range="-90 90" damping="0.1"/>
<geom name="a" type="capsule" fromto="0 0 0 0 0 -.4" size=".04"/>
<body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" damping="0.1"/>
<geom name="b" type="capsule" fromto="0 0 0 0 0 -.4" size=".03"/></body></body></worldbody>
<actuator><position joint="shoulder" kp="20" ctrlrange="-1 1"/>
<motor joint="elbow" ctrlrange="-2 2"/></actuator></mujoco>
"""
WORLDS = 512


def package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name}: not installed, left out")
        return None


def controls(model: ts.Model) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1, 1, (WORLDS, model.nu))


def check_steps(model: ts.Model) -> None:
    """The same steps as on the processor."""
    gpu, lanes = (ts.Batch(model, WORLDS, device=device, tolerance=1e-4) for device in ("cuda", "lanes"))
    for batch in (gpu, lanes):
        batch.control = controls(model)
        batch.reset(noise_q=0.1, noise_v=0.1, seed=4)
    np.testing.assert_allclose(gpu.q.numpy(), lanes.q, atol=1e-12)  # noise by a counter
    for batch in (gpu, lanes):
        batch.step(20)
    np.testing.assert_allclose(np.quantile(np.abs(gpu.q.numpy() - lanes.q), 0.99), 0, atol=1e-5)
    assert np.mean(gpu.ok) > 0.99 and np.quantile(np.asarray(gpu.natv), 0.99) <= 1e-4
    sim = gpu.simulator(7)
    np.testing.assert_array_equal(sim.state.q, gpu.q.numpy()[7])
    print("steps: as on the processor")


def check_general() -> None:
    """Hulls, round shapes, torsional and rolling friction: one step from the same states on both."""
    model = ts.load(str(pathlib.Path(__file__).parent / "mixed.xml"))
    gpu, lanes = (ts.Batch(model, WORLDS, device=device, tolerance=1e-4) for device in ("cuda", "lanes"))
    gpu.reset(noise_q=0.05, noise_v=0.1, seed=6)
    worst = []
    for _ in range(10):  # bodies fall on the plane and on each other
        gpu.step(30)
        q, v = gpu.q.numpy(), gpu.v.numpy()
        for batch in (gpu, lanes):
            batch.reset(q=q, v=v)
            batch.step(1)
        worst.append(np.abs(gpu.v.numpy() - lanes.v).max(axis=1))
        assert np.isfinite(gpu.q.numpy()).all() and np.mean(gpu.ok) > 0.9
    difference = np.concatenate(worst)
    np.testing.assert_allclose(np.quantile(difference, 0.5), 0, atol=1e-5)
    np.testing.assert_allclose(np.quantile(difference, 0.9), 0, atol=1e-2)
    print(f"general contacts: velocities as on the processor, median {np.quantile(difference, 0.5):.1e} m/s")


def check_torch(model: ts.Model) -> None:
    torch = package("torch")
    if torch is None:
        return
    batch = ts.Batch(model, WORLDS, device="cuda")
    q, control = torch.from_dlpack(batch.q), torch.from_dlpack(batch.control)
    assert q.is_cuda and q.shape == (WORLDS, model.nq) and q.dtype == torch.float64
    assert q.data_ptr() == batch.q.__cuda_array_interface__["data"][0], "a copy was made"
    control.copy_(torch.as_tensor(controls(model), device="cuda"))
    torch.cuda.synchronize()
    np.testing.assert_array_equal(batch.control.numpy(), controls(model))
    batch.step(50)
    batch.synchronize()
    np.testing.assert_array_equal(q.cpu().numpy(), batch.q.numpy())
    assert (torch.from_dlpack(batch.status) == 0).all() and (torch.from_dlpack(batch.natv) < 1e-3).all()
    # A stream of the user's: what is written there is what the steps start from, and what is read follows them.
    stream = torch.cuda.Stream()
    batch.use_stream(stream.cuda_stream)
    with torch.cuda.stream(stream):
        for k in range(20):
            control.fill_(0.01 * k)
            batch.step(2)
            copy = q.clone()
    stream.synchronize()
    np.testing.assert_array_equal(copy.cpu().numpy(), batch.q.numpy())
    np.testing.assert_allclose(batch.control.numpy(), 0.19)
    # A masked reset with tensors of the GPU.
    mask = torch.zeros(WORLDS, dtype=torch.bool, device="cuda")
    mask[::3] = True
    start = torch.as_tensor(np.tile(np.asarray(model.reference_q), (WORLDS, 1)), device="cuda")
    before = batch.q.numpy()
    torch.cuda.synchronize()
    batch.reset(mask=mask, q=start)
    after = batch.q.numpy()
    np.testing.assert_array_equal(after[::3], start.cpu().numpy()[::3])
    np.testing.assert_array_equal(after[1::3], before[1::3])
    batch.use_stream(0)
    # Parameters where they lie, on the device where they are said to be.
    assert batch.q.__dlpack_device__()[1] == q.get_device() == torch.cuda.current_device()
    wrench = torch.from_dlpack(batch.parameter_array("applied_wrench"))
    wrench[:, -6] = 3.0
    torch.cuda.synchronize()
    np.testing.assert_array_equal(batch.parameter("applied_wrench")[:, -6], 3.0)
    other = ts.Batch(model, WORLDS, device="cuda")
    other.set_parameter("applied_wrench", batch.parameter("applied_wrench"))
    for each in (batch, other):
        each.reset(seed=3, noise_v=0.1)
        each.control = controls(model)
        each.step(20)
    np.testing.assert_array_equal(batch.q.numpy(), other.q.numpy())
    print(f"torch {torch.__version__}: DLPack without a copy, streams, masked reset, parameters")


def check_others(model: ts.Model) -> None:
    batch = ts.Batch(model, WORLDS, device="cuda")
    batch.step(3)
    cupy = package("cupy")
    if cupy is not None:
        v = cupy.asarray(batch.v)
        assert v.data.ptr == batch.v.__cuda_array_interface__["data"][0], "a copy was made"
        np.testing.assert_array_equal(cupy.asnumpy(v), batch.v.numpy())
        v[...] = 0
        cupy.cuda.Device().synchronize()
        assert not batch.v.numpy().any()
        print(f"cupy {cupy.__version__}: __cuda_array_interface__, reads and writes")
    jax = package("jax")
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
        q = jax.dlpack.from_dlpack(batch.q)
        np.testing.assert_array_equal(np.asarray(q), batch.q.numpy())
        print(f"jax {jax.__version__}: DLPack")


def check_parameters(model: ts.Model) -> None:
    gpu, lanes = (ts.Batch(model, WORLDS, device=device, tolerance=1e-4) for device in ("cuda", "lanes"))
    mass = lanes.parameter("body_mass") * np.linspace(1, 2, WORLDS)[:, None]
    for batch in (gpu, lanes):
        batch.set_parameter("body_mass", mass)
        batch.control = controls(model)
        batch.step(20)
    np.testing.assert_allclose(np.quantile(np.abs(gpu.q.numpy() - lanes.q), 0.99), 0, atol=1e-5)
    print("parameters of worlds: as on the processor")


def time_robot(path: str) -> None:
    worlds, steps = 8192, 500
    batch = ts.Batch(ts.load(path), worlds, device="cuda")
    batch.reset(noise_q=0.02, noise_v=0.1, seed=1)
    batch.step(50)
    batch.synchronize()
    start = time.perf_counter()
    batch.step(steps)
    batch.synchronize()
    rate = worlds * steps / (time.perf_counter() - start)
    natv = np.asarray(batch.natv)
    print(f"{path}: {rate / 1e6:.2f} M steps/s from Python, natv p99 {np.quantile(natv, 0.99):.1e}")


def main() -> None:
    model = ts.load_string(ARM)
    check_steps(model)
    check_parameters(model)
    check_general()
    check_torch(model)
    check_others(model)
    for path in sys.argv[1:]:
        time_robot(path)


if __name__ == "__main__":
    main()
