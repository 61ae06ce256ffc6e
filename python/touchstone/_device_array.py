"""Arrays in the memory of a GPU: those of a DeviceBatch, and what users give it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core


class DeviceArray:
    """Numbers of all worlds in the memory of a GPU. No copy: torch.from_dlpack, jax.dlpack.from_dlpack, cupy.asarray.

    What is written there is what the next step starts from. numpy() and numpy.asarray copy to the processor.
    """

    def __init__(self, core: _core.WorldBatch, name: str, shape: tuple[int, ...], typestr: str) -> None:
        self._core, self._name = core, name
        self.shape, self._typestr = shape, typestr

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._typestr)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self._core.synchronize()
        address = self._core.address(self._name)
        return {"shape": self.shape, "typestr": self._typestr, "data": (address, False), "version": 3, "strides": None}

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        self._core.synchronize()
        return self._core.tensor(self._name)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self._core.device)  # kDLCUDA

    def numpy(self) -> npt.NDArray[Any]:
        """A copy."""
        return np.asarray(self._core.copy(self._name))

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.asarray(self.numpy(), dtype=dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<DeviceArray {self._name} {self.shape} {self.dtype}>"


def is_on_gpu(array: Any) -> bool:
    """Whether it is an array in the memory of a GPU, whoever's."""
    return hasattr(array, "__cuda_array_interface__")


def on_processor(values: Any, name: str) -> Any:
    """What numpy can read; arrays of a GPU as copies, where their library makes one when asked."""
    if not is_on_gpu(values):
        return values
    try:
        copy = np.asarray(values)
    except Exception:  # each library has its own
        copy = np.asarray(None)
    if copy.dtype == object:
        raise _core.Error(
            f"{name} is in the memory of a GPU; give a copy of the processor here (PyTorch: x.cpu(), CuPy: x.get()). "
            "A batch with device='cuda' takes arrays of the GPU in reset, if mask, q and v are all there, and may be "
            "written where it is, as torch.from_dlpack(batch.control)"
        )
    return copy


def address_of(array: Any, shape: tuple[int, ...], kinds: tuple[str, ...], device: int) -> int:
    """Of a contiguous array on that GPU; 0 for none."""
    if array is None:
        return 0
    about = array.__cuda_array_interface__
    if hasattr(array, "__dlpack_device__") and int(array.__dlpack_device__()[1]) != device:
        raise _core.Error(f"an array of GPU {array.__dlpack_device__()[1]}; this batch is on GPU {device}")
    if tuple(about["shape"]) != shape or about["typestr"] not in kinds or about.get("strides") is not None:
        raise _core.Error(
            f"an array of shape {tuple(about['shape'])} and type {about['typestr']}; "
            f"give a contiguous one of shape {shape} and type {kinds[0]}"
        )
    return int(about["data"][0])
