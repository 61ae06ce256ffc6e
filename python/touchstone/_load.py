"""Loading models, with Python warnings for what the loader wants the user to know."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Union

from . import _core

StrPath = Union[str, "os.PathLike[str]"]


class ModelWarning(UserWarning):
    """Something a model has that was left out, or is likely to be a mistake."""


def _warn(model: _core.Model, stacklevel: int) -> _core.Model:
    for text in model.warnings:
        warnings.warn(text, ModelWarning, stacklevel=stacklevel + 1)
    return model


def load(
    source: StrPath,
    *,
    allow_ignored: bool = False,
    search_paths: Sequence[StrPath] = (),
    floating_base: bool = False,
    merge_fixed: bool = True,
    mesh_collision: str = "hull",
    loops: StrPath | None = None,
) -> _core.Model:
    """Loads a robot or scene: an MJCF, URDF or scene file, or the name of a scene. A file wins if both exist.

    allow_ignored: load although something that changes the physics must be dropped; each loss is a ModelWarning.
    search_paths: further folders for meshes, includes and ROS packages.
    floating_base: URDF: the root link moves freely.
    merge_fixed: URDF: links behind fixed joints become part of their parent.
    mesh_collision: "hull", "triangles" or "pieces" (convex pieces made by `touchstone decompose`).
    loops: URDF: the file that describes loops, instead of NAME.loops.yaml beside NAME.urdf; "none": no file.

    Raises InputError with file, line, element and remedy. For scenes with their start and controls see `scene`.
    """
    name = os.fspath(source)
    if os.path.splitext(name)[1] in (".yaml", ".yml"):
        return _warn(_core.scene(name).model, 2)
    if not os.path.exists(name) and _is_scene_name(name):
        return _warn(_core.load_scene_model(name), 2)
    model = _core.load_file(
        name,
        allow_ignored=allow_ignored,
        search_paths=[os.fspath(path) for path in search_paths],
        floating_base=floating_base,
        merge_fixed=merge_fixed,
        mesh_collision=mesh_collision,
        loops=_loops(loops),
    )
    return _warn(model, 2)


def _is_scene_name(name: str) -> bool:
    stem = name.split(":", 1)[0]
    if "/" in stem:  # a path, unless there is a scene of that name
        return any(info.name == stem for info in _core.scenes())
    return not os.path.splitext(stem)[1]


def _loops(path: StrPath | None) -> str:
    return "" if path is None else os.fspath(path)


def load_string(
    text: str, *, allow_ignored: bool = False, floating_base: bool = False, loops: StrPath | None = None
) -> _core.Model:
    """Loads MJCF or URDF from a string. MJCF finds no other files; URDF meshes are relative to the working folder."""
    model = _core.load_text(text, allow_ignored=allow_ignored, floating_base=floating_base, loops=_loops(loops))
    return _warn(model, 2)
