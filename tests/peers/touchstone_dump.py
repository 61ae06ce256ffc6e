"""Runs our program (native/peer_dump.cpp) on a model and states, and gives its results as arrays."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared")) / "models"
PROGRAM = Path(os.environ.get("TOUCHSTONE_BUILD", ROOT / "build" / "release")) / "bin" / "peer_dump"


class LoadError(Exception):
    """Our loader refused the file; the text is its message."""


def run(model, *options):
    command = [str(PROGRAM), str(model), *map(str, options)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    if result.returncode == 1:
        raise LoadError(result.stderr.strip())
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {result.returncode}: {result.stderr[-2000:]}")
    return json.loads(result.stdout)


def describe(model, *options):
    """The model as our loader understands it."""
    return run(model, *options)


class States:
    """Random inputs of the program, one row a state; see StateReader in native/peer_dump.cpp."""

    FIELDS = ("q", "v", "activation", "a", "tau", "q_other", "h", "control", "applied_force", "wrenches", "mocap")

    def __init__(self, fields, points):
        self.fields = {name: np.asarray(fields[name], dtype=float) for name in self.FIELDS}
        self.points = np.asarray(points, dtype=float)  # states x points x [body, x, y, z]
        self.count = len(self.points)

    def __getitem__(self, name):
        return self.fields[name]

    def write(self, path):
        columns = [self.fields[name].reshape(self.count, -1) for name in self.FIELDS]
        columns.append(self.points.reshape(self.count, -1))
        with open(path, "wb") as file:
            np.array([self.count, self.points.shape[1]], dtype=float).tofile(file)
            np.hstack(columns).tofile(file)


def compute(model, states, folder, *options):
    """(description of the model, {field: array with one entry a state})."""
    inputs, outputs = folder / "states.bin", folder / "results.bin"
    states.write(inputs)
    description = run(model, *options, "--states", inputs, "--out", outputs)
    table = np.fromfile(outputs).reshape(states.count, -1)
    outputs.unlink()
    results, start = {}, 0
    for name, (rows, columns) in description["fields"]:
        size = rows * columns
        block = table[:, start : start + size]
        results[name] = block.reshape((states.count, rows) if columns == 1 else (states.count, rows, columns))
        start += size
    assert start == table.shape[1]
    return description, results


def dense_mass_matrix(description, values):
    """From the rows of the sparse layout (Model::row_start)."""
    nv = description["sizes"]["nv"]
    result = np.zeros((nv, nv))
    for i, (start, length) in enumerate(zip(description["row_start"], description["row_length"], strict=False)):
        dofs = description["row_dof"][start : start + length]
        result[i, dofs] = result[dofs, i] = values[start : start + length]
    return result
