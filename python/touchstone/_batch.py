"""Many worlds of one model: on the processor's threads, or by the code of a GPU (docs/gpu.md)."""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._device_array import DeviceArray, address_of, is_on_gpu, on_processor

_HOW_TO_GET = (
    "device='cuda' needs the backend touchstone-sim-cuda, which is not installed. Where nvcc is, build it in a clone: "
    "cmake -S bench/gpu -B build/gpu && cmake --build build/gpu, then set TOUCHSTONE_CUDA_LIBRARY to "
    "build/gpu/libtouchstone_cuda.so. device='lanes' runs the same code on the processor"
)


def cuda_library() -> str:
    """The path of the backend for CUDA: TOUCHSTONE_CUDA_LIBRARY, or what touchstone-sim-cuda has installed."""
    path = os.environ.get("TOUCHSTONE_CUDA_LIBRARY", "")
    if path:
        if not os.path.exists(path):
            raise _core.Error(f"TOUCHSTONE_CUDA_LIBRARY is '{path}', and no such file exists; {_HOW_TO_GET}")
        return path
    try:
        return str(importlib.import_module("touchstone_cuda").library_path())
    except ImportError:
        raise _core.Error(_HOW_TO_GET) from None


def _name_nvrtc() -> None:
    """TOUCHSTONE_NVRTC, where nobody has set it and the package index's nvidia-cuda-nvrtc is installed."""
    if "TOUCHSTONE_NVRTC" in os.environ:
        return
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or [] if spec else []:
        found = sorted(Path(folder).glob("*/lib/libnvrtc.so.*"))
        if found:
            os.environ["TOUCHSTONE_NVRTC"] = str(found[-1])
            return


_OF_THE_BATCH = (
    "tolerance",
    "sweeps",
    "more_sweeps",
    "most_sweeps",
    "small_pool",
    "middle_pool",
    "large_pool",
    "specialise",
)  # options that a Simulator does not have, or means otherwise


class DeviceBatch:
    """Many worlds of one model by the code of a GPU; what Batch(..., device='cuda' or 'lanes') gives.

    Calls and layout are those of Batch. Every step of every world has a certificate (natv, relative) and a status (0
    solved, 1 above the tolerance, 2 too many contacts, 3 diverged; in the last two the state stays). Arrays are numpy's
    on the processor ('lanes') and DeviceArray on a GPU; both look into the memory of the batch.

    Options: dt, tolerance (of natv), sweeps, more_sweeps, most_sweeps (above 0: certified mode), small_pool,
    middle_pool, large_pool (contacts that a world has room for), specialise ('auto': on a GPU kernels are compiled for
    the model where NVRTC is found, once for each model and kept on disk; 'off': never), and those of Simulator that do
    not change the method.
    stabilisation is 'baumgarte' unless given, which is not a Simulator's default: 'position' is the Simulator's pass,
    and costs a third to a half of the steps a second on a GPU (docs/gpu.md).
    """

    STATUS = ("solved", "above the tolerance", "too many contacts", "diverged")

    def __init__(self, model: _core.Model, worlds: int, *, device: str = "lanes", **options: Any) -> None:
        if device not in ("cuda", "lanes"):
            raise _core.Error(f"device '{device}'; there are 'cpu', 'lanes' and 'cuda'")
        for name in ("threads", "solver"):
            if name in options:
                raise _core.Error(f"a batch with device='{device}' has no option '{name}'")
        if isinstance(worlds, bool) or not isinstance(worlds, (int, np.integer)) or worlds < 1:
            raise _core.Error(f"{worlds!r} worlds; give a number from 1")
        options.setdefault("stabilisation", "baumgarte")
        complaints = _core.batch_complaints(model, **options)
        if complaints:
            named = "; ".join(complaints[:5]) + (f"; and {len(complaints) - 5} more" if len(complaints) > 5 else "")
            raise _core.Error(f"device='{device}' does not support: {named}; use device='cpu' (docs/gpu.md)")
        self.device = device
        library = cuda_library() if device == "cuda" else ""
        if library:
            _name_nvrtc()
        self._core = _core.WorldBatch(model, int(worlds), library=library, **options)
        self._in_use: tuple[Any, ...] = ()  # by a reset that a GPU may not have come to yet
        self._options = {name: value for name, value in options.items() if name not in _OF_THE_BATCH}
        if self.kernels.startswith("warning: "):
            warnings.warn(f"kernels are {self.kernels[len('warning: ') :]}", RuntimeWarning, stacklevel=3)

    # --- as Batch ---

    def __len__(self) -> int:
        return self._core.worlds

    @property
    def worlds(self) -> int:
        return self._core.worlds

    @property
    def model(self) -> _core.Model:
        return self._core.model

    @property
    def kernels(self) -> str:
        """Which kernels compute the steps: compiled for this model, or of tables and why."""
        return self._core.kernels

    def step(self, count: int = 1) -> None:
        """So many steps in every world, without holding the GIL. On a GPU this returns before they are done."""
        self._core.step(count)

    def forget(self) -> None:
        """Forgets contacts of all worlds after q or v were written by hand."""
        self._core.forget()

    def _copy(self, name: str) -> npt.NDArray[Any]:
        return np.asarray(self._core.copy(name))

    def _array(self, name: str) -> Any:
        if self.device == "lanes":
            return np.asarray(self._core.tensor(name))
        typestr = "<i4" if name in ("status", "contact_count", "sweeps") else "<f8"
        return DeviceArray(self._core, name, tuple(self._core.shape(name)), typestr)

    def _write(self, name: str, values: npt.ArrayLike) -> None:
        self._core.write(name, on_processor(values, name))

    @property
    def q(self) -> Any:
        """worlds x nq: configurations. After writing by hand call forget()."""
        return self._array("q")

    @q.setter
    def q(self, values: npt.ArrayLike) -> None:
        self._write("q", values)

    @property
    def v(self) -> Any:
        """worlds x nv: velocities."""
        return self._array("v")

    @v.setter
    def v(self, values: npt.ArrayLike) -> None:
        self._write("v", values)

    @property
    def activation(self) -> Any:
        """worlds x na."""
        return self._array("activation")

    @activation.setter
    def activation(self, values: npt.ArrayLike) -> None:
        self._write("activation", values)

    @property
    def loop_q(self) -> Any:
        """worlds x coordinates of loop joints at the start of the last step (State.loop_q), with the turns of angles.

        No columns where nothing acts along such coordinates. A reset sets them to the reference; whoever writes q by
        hand after turns have been counted writes these too.
        """
        return self._array("loop_q")

    @loop_q.setter
    def loop_q(self, values: npt.ArrayLike) -> None:
        self._write("loop_q", values)

    @property
    def control(self) -> Any:
        """worlds x nu."""
        return self._array("control")

    @control.setter
    def control(self, values: npt.ArrayLike) -> None:
        self._write("control", values)

    @property
    def applied_force(self) -> Any:
        """worlds x nv: generalised forces."""
        return self._array("applied_force")

    @applied_force.setter
    def applied_force(self, values: npt.ArrayLike) -> None:
        self._write("applied_force", values)

    @property
    def mocap(self) -> npt.NDArray[np.float64]:
        """worlds x (7 nmocap): position and quaternion (w first) of each mocap body; a copy.

        Assign to move them, or write into parameter_array("mocap"); a reset leaves them where they are, one to a
        keyframe puts them where that has them.
        """
        return self.parameter("mocap")

    @mocap.setter
    def mocap(self, values: npt.ArrayLike) -> None:
        self.set_parameter("mocap", values)

    @property
    def time(self) -> npt.NDArray[np.float64]:
        """s, one a world; a copy."""
        return self._copy("time")

    # --- what every step says ---

    @property
    def natv(self) -> Any:
        """The certificate of each world's last step, relative; infinite where a world stayed where it was."""
        return self._array("natv")

    @property
    def status(self) -> Any:
        """Of each world's last step: see STATUS."""
        return self._array("status")

    @property
    def ok(self) -> npt.NDArray[np.bool_]:
        """Whether the last step of each world was solved to the tolerance; a copy."""
        return np.asarray(self._copy("status") == 0)

    @property
    def contact_count(self) -> Any:
        """Contacts of each world in its last step."""
        return self._array("contact_count")

    @property
    def sweeps(self) -> Any:
        """Sweeps that each world's last step took."""
        return self._array("sweeps")

    @property
    def tiers(self) -> tuple[int, int]:
        """How many worlds needed the second tier in the last step, and the third."""
        return self._core.tiers()

    # --- sensors ---

    def observe(self) -> Any:
        """worlds x numbers: sensors of each world's last step, as Simulator.sensors has them after it.

        In the order of the model: positions and velocities of the start of the step, with its accelerations and forces.
        Ask before q or v are written by hand. Zeros for a world that was reset and has made no step.
        """
        complaints = self._core.sensor_complaints()
        if complaints:
            raise _core.Error(f"device='{self.device}' cannot read {'; '.join(complaints[:5])} (docs/gpu.md)")
        self._core.observe()
        return self._array("sensors")

    @property
    def sensors(self) -> Any:
        """The same as observe()."""
        return self.observe()

    @property
    def sensor_columns(self) -> dict[str, slice]:
        """Where the numbers of each sensor are in a row of observe(), by its name."""
        return {name: slice(first, first + count) for name, first, count in self._core.sensor_columns()}

    # --- resets ---

    def reset(
        self,
        world: int | None = None,
        keyframe: int | str | None = None,
        *,
        mask: npt.ArrayLike | None = None,
        q: npt.ArrayLike | None = None,
        v: npt.ArrayLike | None = None,
        noise_q: float = 0.0,
        noise_v: float = 0.0,
        seed: int = 0,
    ) -> None:
        """Worlds to the reference configuration at rest, a keyframe or given q and v.

        One world, those where mask is true, or all. q, v: one row for all worlds, or one each (of all worlds, whatever
        the mask). noise_q, noise_v (m or rad, m/s or rad/s): each number up to so far from that, joints within their
        limits, by the seed and the number of the world alone; shapes may overlap then. Contacts, activations and times
        are forgotten; a keyframe brings its controls, activations, mocap bodies and time, as in Simulator.reset. Masks
        and states in the memory of a GPU that the batch is on are used there, without a copy: leave them as they are
        until the batch has come to the reset.
        """
        noise = (float(noise_q), float(noise_v), int(seed))
        given = [mask, q, v]
        on_device = self.device == "cuda" and any(x is not None for x in given)
        if on_device and all(x is None or is_on_gpu(x) for x in given):
            if world is not None or keyframe is not None:
                raise _core.Error("give a mask and states, or a world and a keyframe")
            shapes = [(self.worlds,), (self.worlds, self.model.nq), (self.worlds, self.model.nv)]
            kinds = [("|b1", "|u1"), ("<f8",), ("<f8",)]
            where = [address_of(x, shape, kind, self._core.device) for x, shape, kind in zip(given, shapes, kinds)]
            self._core.reset_on_device(where[0], where[1], where[2], *noise)
            self._in_use = tuple(given)
            return
        mask, q, v = (None if x is None else on_processor(x, name) for x, name in zip(given, ("mask", "q", "v")))
        flags = None if mask is None else np.ascontiguousarray(mask, dtype=np.bool_)
        if world is not None:
            if not -self.worlds <= world < self.worlds:
                raise _core.Error(f"world {world}; there are {self.worlds}")
            flags = np.zeros(self.worlds, dtype=np.bool_) if flags is None else flags
            flags[world] = True
        if keyframe is None:
            self._core.reset(flags, q, v, *noise)
            return
        if q is not None or v is not None:
            raise _core.Error("give a keyframe, or q and v")
        self._core.reset_to_keyframe(flags, keyframe, *noise)

    # --- parameters ---

    def set_parameter(self, name: str, values: npt.ArrayLike | None) -> None:
        """Numbers of the model for each world: worlds x width, or one row for all; None: the model's own again.

        body_mass, body_com (3 a body), body_inertia (9 a body, about the centre of mass), joint_stiffness, dof_damping,
        dof_armature, dof_friction, actuator_gain (3 each), actuator_bias (3 each), actuator_force_range (2 each),
        friction and restitution (one for each of `pairs`), shape_size (3 for each of `shapes`, as in the model; planes,
        hulls and height fields keep theirs, masses and inertias do not follow), mocap (see there), gravity (3),
        applied_wrench (6 a body: force and torque in world axes at its centre of mass).
        """
        self._core.set_parameter(name, None if values is None else on_processor(values, name))

    def parameter(self, name: str) -> npt.NDArray[np.float64]:
        """Those that worlds have now, worlds x width; a copy."""
        self._core.parameter_width(name)  # which knows no other names
        return self._copy(name)

    def parameter_array(self, name: str) -> Any:
        """Those of all worlds where they lie, worlds x width, as q and v are: written there, the next step uses them.

        Worlds have numbers of their own then. Nothing checks what is written, so bodies may get a negative mass, and
        dofs whose dry friction is zero in the model have no row for one. shape_size is not among them, as bounds of
        shapes follow it. After set_parameter(name, None) the array is not used until it is asked for again.
        """
        self._core.parameter_width(name)
        return self._array(name)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names of the shapes that can touch: the columns of friction and restitution."""
        return list(self._core.pairs())

    @property
    def shapes(self) -> list[str]:
        """Names of the shapes that can touch anything: the columns of shape_size."""
        return list(self._core.shapes())

    # --- device ---

    def use_stream(self, stream: int) -> None:
        """The CUDA stream (its address) that steps and resets are put on from now on; 0: the batch's own."""
        self._core.use_stream(stream)

    def synchronize(self) -> None:
        """Waits for the steps that are under way."""
        self._core.synchronize()
        self._in_use = ()

    def simulator(self, world: int) -> _core.Simulator:
        """A simulator in the state of a world, with the parameters of the model: to look at, view, record.

        It has the options of the batch (dt, integrator, stabilisation, ...), but its own tolerance.
        """
        if not 0 <= world < self.worlds:
            raise _core.Error(f"world {world}; there are {self.worlds}")
        sim = _core.Simulator(self.model, **self._options)
        self._place(sim, world)
        if self.model.nu:
            sim.control[:] = self._copy("control")[world]
        return sim

    def record(self, world: int, steps: int, path: str | os.PathLike[str], *, every: int = 1) -> _core.Simulator:
        """Steps all worlds and keeps what one of them does in an HDF5 file: `touchstone view FILE`, ts.Recording.

        Controls and forces are those that the batch has now. The recording is made by a simulator whose every step
        starts where the world is, so that contacts, forces and certificates are in it, by the simulator; it has the
        options of the batch and the model's parameters. Returns that simulator, at the world's last state. Reads the
        state after each step: for looking, not for training.
        """
        if steps < 1 or every < 1:
            raise _core.Error(f"record of {steps} steps, every {every}; give numbers from 1")
        sim = self.simulator(world)
        sim.applied_force[:] = self._copy("applied_force")[world]
        with _core.Recorder(path, sim, every=every) as recorder:
            for _ in range(steps):
                recorder.step()
                self.step()
                self._place(sim, world)
        return sim

    def _place(self, sim: _core.Simulator, world: int) -> None:
        sim.state.q[:] = self._copy("q")[world]
        sim.state.v[:] = self._copy("v")[world]
        if self.model.na:
            sim.state.activation[:] = self._copy("activation")[world]
        if self._core.loop_numbers:
            sim.state.loop_q[:] = self._copy("loop_q")[world]
        poses = self.mocap[world].reshape(-1, 7) if len(sim.state.mocap_positions) else []
        for index, pose in enumerate(poses):
            sim.state.set_mocap(index, _core.Transform(pose[:3], pose[3:]))
        sim.state.time = float(self._copy("time")[world])

    def __repr__(self) -> str:
        return f"<DeviceBatch of {self.worlds} worlds of '{self.model.name}' on {self.device}>"


class Batch(_core.Batch):
    """Many worlds of one model. Worlds do not touch each other.

    device: 'cpu' (threads, everything a Simulator can do), 'cuda' (a GPU) or 'lanes' (the code of the GPU on one
    processor). The last two give a DeviceBatch, with the same calls and layout, and refuse what they cannot step; their
    default is stabilisation='baumgarte'.
    """

    def __new__(cls, model: _core.Model, worlds: int, *, device: str = "cpu", **options: Any) -> Any:
        if device != "cpu":
            return DeviceBatch(model, worlds, device=device, **options)
        return super().__new__(cls)

    def __init__(self, model: _core.Model, worlds: int, *, device: str = "cpu", **options: Any) -> None:
        super().__init__(model, worlds, **options)
