"""Touchstone: simulation of robots in contact, with a certificate for every step.

    import touchstone as ts

    sim = ts.Simulator(ts.load("quadruped:flat"), dt=1e-3)
    sim.step(1000)
    print(sim.state.q, sim.contacts.force, sim.report.residuals)

SI units and radians throughout. Arrays of a state look into its memory; contacts and reports are snapshots.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from . import problems as problems
from ._batch import Batch, DeviceBatch
from ._core import (
    Actuator,
    Body,
    Closure,
    ContactForces,
    ContactProblem,
    Contacts,
    Distance,
    DistanceDerivatives,
    Dynamics,
    EnergyAccount,
    Equality,
    Error,
    IkResult,
    IkTarget,
    InputError,
    InternalError,
    Joint,
    Keyframe,
    LoopJoint,
    LoopReading,
    Mechanism,
    Mobility,
    Model,
    ModelBuilder,
    ModelOptions,
    Parameters,
    PinocchioLayout,
    PointContact,
    PoseDerivatives,
    RayHit,
    Recorder,
    Recording,
    Residuals,
    Scene,
    SceneInfo,
    Sensor,
    Shape,
    ShapeElement,
    Simulator,
    Site,
    Snapshot,
    Solution,
    Solver,
    SolverInfo,
    Stages,
    StageTimes,
    State,
    StepGradient,
    StepJacobians,
    StepReport,
    Tendon,
    Transform,
    Viewer,
    close_loops,
    collide,
    distance,
    distance_derivatives,
    energy_gradients,
    forward_dynamics_derivatives,
    from_log_cholesky,
    inverse_contact_dynamics,
    inverse_dynamics_derivatives,
    inverse_kinematics,
    jacobian_derivative,
    load_problem,
    overlaps,
    point_derivatives,
    raycast,
    regressor,
    residuals,
    save_problem,
    scene,
    scenes,
    simulator_options,
    solvers,
    to_log_cholesky,
    to_maximal,
    to_maximal_state,
    to_reduced_state,
    version,
)
from ._device_array import DeviceArray
from ._load import ModelWarning, load, load_string
from ._solve import compare, solve
from ._trace import Trace, record, run

__version__ = version
for _error in (Error, InputError, InternalError):
    _error.__module__ = __name__

__all__ = [
    "Actuator",
    "Batch",
    "Body",
    "Closure",
    "ContactForces",
    "ContactProblem",
    "Contacts",
    "DeviceArray",
    "DeviceBatch",
    "Distance",
    "DistanceDerivatives",
    "Dynamics",
    "EnergyAccount",
    "Equality",
    "Error",
    "IkResult",
    "IkTarget",
    "InputError",
    "InternalError",
    "Joint",
    "Keyframe",
    "LoopJoint",
    "LoopReading",
    "Mechanism",
    "Mobility",
    "Model",
    "ModelBuilder",
    "ModelOptions",
    "ModelWarning",
    "Parameters",
    "PinocchioLayout",
    "PointContact",
    "PoseDerivatives",
    "RayHit",
    "Recorder",
    "Recording",
    "Residuals",
    "Scene",
    "SceneInfo",
    "Sensor",
    "Shape",
    "ShapeElement",
    "Simulator",
    "Site",
    "Snapshot",
    "Solution",
    "Solver",
    "SolverInfo",
    "StageTimes",
    "Stages",
    "State",
    "StepGradient",
    "StepJacobians",
    "StepReport",
    "Tendon",
    "Trace",
    "Transform",
    "Viewer",
    "__version__",
    "close_loops",
    "collide",
    "compare",
    "distance",
    "distance_derivatives",
    "energy_gradients",
    "forward_dynamics_derivatives",
    "from_log_cholesky",
    "inverse_contact_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "jacobian_derivative",
    "load",
    "load_problem",
    "load_string",
    "overlaps",
    "plot",
    "point_derivatives",
    "problems",
    "raycast",
    "record",
    "regressor",
    "residuals",
    "run",
    "save_problem",
    "scene",
    "scenes",
    "simulator_options",
    "solve",
    "solvers",
    "to_log_cholesky",
    "to_maximal",
    "to_maximal_state",
    "to_reduced_state",
]


if TYPE_CHECKING:
    from . import autograd as autograd
    from . import convert as convert
    from . import gym as gym
    from . import plot as plot
else:

    def __getattr__(name: str) -> object:
        """`plot` and `gym` need optional packages, so they are imported when they are used."""
        if name in ("autograd", "convert", "gym", "plot"):
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
