"""States of MuJoCo and Pinocchio, there and back.

Both packages are used through the objects you pass; neither is imported here. q and v of MuJoCo have our layout, joint
by joint; joints are matched by name, and unnamed ones by their place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core

FloatArray = npt.NDArray[np.float64]

_MUJOCO_TYPES = ("free", "ball", "slide", "hinge")


def _mujoco_joints(model: _core.Model, mj_model: Any) -> list[tuple[_core.Joint, int, int]]:
    """Each of our joints with its first entries in MuJoCo's qpos and qvel."""
    if model.njoint != mj_model.njnt:
        raise _core.Error(
            f"the model has {model.njoint} joints, MuJoCo's has {mj_model.njnt}; load the same file in both"
        )
    places = {}
    for k in range(mj_model.njnt):
        places[mj_model.joint(k).name or model.joint(k).name] = k
    pairs = []
    for joint in model.joints:
        k = places.get(joint.name, -1)
        if k < 0:
            raise _core.Error(f"MuJoCo's model has no joint '{joint.name}'; load the same file in both")
        kind = _MUJOCO_TYPES[int(mj_model.jnt_type[k])]
        if kind != joint.type:
            raise _core.Error(f"joint '{joint.name}' is a {joint.type} joint here and a {kind} joint in MuJoCo")
        pairs.append((joint, int(mj_model.jnt_qposadr[k]), int(mj_model.jnt_dofadr[k])))
    return pairs


def from_mujoco(model: _core.Model, mj_model: Any, mj_data: Any) -> _core.State:
    """The state of an mjData, for a model loaded from the same file."""
    state = _core.State(model)
    for joint, q, v in _mujoco_joints(model, mj_model):
        state.q[joint.q_slice] = mj_data.qpos[q : q + joint.nq]
        state.v[joint.v_slice] = mj_data.qvel[v : v + joint.nv]
    state.time = float(mj_data.time)
    if model.na == mj_model.na:
        state.activation[:] = mj_data.act
    for i in range(model.nmocap):
        state.set_mocap(i, _core.Transform(mj_data.mocap_pos[i], mj_data.mocap_quat[i]))
    return state


def to_mujoco(model: _core.Model, state: _core.State, mj_model: Any, mj_data: Any) -> None:
    """Writes a state into an mjData of the same file; call mujoco.mj_forward afterwards."""
    for joint, q, v in _mujoco_joints(model, mj_model):
        mj_data.qpos[q : q + joint.nq] = state.q[joint.q_slice]
        mj_data.qvel[v : v + joint.nv] = state.v[joint.v_slice]
    mj_data.time = state.time
    if model.na == mj_model.na:
        mj_data.act[:] = state.activation
    for i in range(model.nmocap):
        pose = state.mocap(i)
        mj_data.mocap_pos[i] = pose.position
        mj_data.mocap_quat[i] = pose.quaternion


def pinocchio_layout(model: _core.Model, pin_model: Any) -> _core.PinocchioLayout:
    """The layout of a pinocchio.Model of the same robot: its order of joints, and which are continuous."""
    names = [str(name) for name in list(pin_model.names)[1:]]
    continuous = [joint.nq == 2 and joint.nv == 1 for joint in list(pin_model.joints)[1:]]
    return _core.PinocchioLayout(model, names, continuous)


def from_pinocchio(model: _core.Model, pin_model: Any, q: npt.ArrayLike, v: npt.ArrayLike | None = None) -> _core.State:
    """A state from Pinocchio's q and v."""
    layout = pinocchio_layout(model, pin_model)
    state = _core.State(model)
    state.q[:] = layout.q_from_pinocchio(q)
    if v is not None:
        state.v[:] = layout.v_from_pinocchio(state.q, v)
    return state


def to_pinocchio(model: _core.Model, state: _core.State, pin_model: Any) -> tuple[FloatArray, FloatArray]:
    """Pinocchio's (q, v) of a state."""
    layout = pinocchio_layout(model, pin_model)
    return layout.q_to_pinocchio(state.q), layout.v_to_pinocchio(state.q, state.v)
